"""Log-likelihoods of any score, against closed forms and against PyTorch's own integration.

Mixtures have their exact density at tau_min; the peer in PyTorch integrates the same ODE with fixed steps of the classical
Runge-Kutta method and the divergence by autograd.
"""
import math
import re
import warnings

import numpy as np
import pytest

import heatball

LONG = heatball.dataset("elongated_gmm")
ROWS = LONG.sample(300, seed=11)


def exact_score(x, tau):
    return LONG.score(x, tau, threads=1)


GIVEN = dict(mean=LONG.mean(), covariance=LONG.covariance(), tau_max=5)


# ---- small dimension: differences along all axes ---------------------------------------------------------

@pytest.mark.parametrize("process, tau_max", [("ou", 5), ("ve", 1e4)])
def test_exact_score_of_elongated_gmm(process, tau_max):
    found = heatball.log_likelihood(lambda x, tau: LONG.score(x, tau, process=process, threads=1), ROWS, process=process,
                                    **{**GIVEN, "tau_max": tau_max})
    error = np.abs(found.log_likelihood - LONG.log_density(ROWS, 1e-3, process=process))
    assert error.max() < 1e-3 and (error < 3 * found.se).all()
    assert found.se.max() < 1e-3  # and the claim is not idle
    assert found.divergence == "differences" and (found.probe_se == 0).all()
    spread = found.log_likelihood.std(ddof=1) / math.sqrt(len(ROWS))
    assert abs(found.mean - found.log_likelihood.mean()) < 1e-12 and spread <= found.mean_se < spread + 1e-3
    assert np.allclose(found.bits_per_dim, found.nats / math.log(4)) and np.array_equal(found.nats, -found.log_likelihood)


@pytest.mark.parametrize("name", ["two_spiral", "double_ring", "sparse_dense_gmm"])
@pytest.mark.parametrize("moments", [False, True])
def test_errors_count_the_start(name, moments):
    """With moments of other data the Gaussian at tau_max is wrong; the error must say so."""
    mixture = heatball.dataset(name)
    x = mixture.sample(100, seed=5)
    given = dict(mean=mixture.mean(), covariance=mixture.covariance()) if moments else dict(covariance=np.eye(2))
    found = heatball.log_likelihood(lambda x, tau: mixture.score(x, tau, threads=1), x, **given)
    error = np.abs(found.log_likelihood - mixture.log_density(x, 1e-3))
    assert (error < 3 * found.se).all()
    assert np.median(found.se) < 40 * np.median(error) + 1e-4
    if not moments:
        assert np.median(found.se) > 1e-3


# ---- the default: the law at tau_max and the tolerance are found --------------------------------------------

def spatial(x, tau, dtype=np.float64):
    """Closed form of a mixture in three dimensions under OU: log-density and score, in NumPy alone."""
    rng = np.random.default_rng(7)
    weights, means = np.array([.4, .3, .2, .1]), 1.5 * rng.normal(size=(4, 3))
    factors = rng.normal(size=(4, 3, 3))
    a = math.exp(-tau)
    S = (a * a * (0.05 * np.eye(3) + 0.15 * factors @ factors.transpose(0, 2, 1)) + (1 - a * a) * np.eye(3)).astype(dtype)
    P, away = np.linalg.inv(S), x[:, None, :].astype(dtype) - (a * means).astype(dtype)
    terms = (np.log(weights) - 0.5 * np.linalg.slogdet(2 * np.pi * S)[1]
             - 0.5 * np.einsum("nki,kij,nkj->nk", away, P, away))
    top = terms.max(axis=1, keepdims=True)
    shares = np.exp(terms - top)
    score = -np.einsum("nk,kij,nkj->ni", shares / shares.sum(axis=1, keepdims=True), P, away)
    return top[:, 0] + np.log(shares.sum(axis=1)), score.astype(dtype)


def spatial_rows(n):
    rng = np.random.default_rng(7)
    means, factors = 1.5 * rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 3))
    roots = np.linalg.cholesky(0.05 * np.eye(3) + 0.15 * factors @ factors.transpose(0, 2, 1))
    which = rng.choice(4, n, p=[.4, .3, .2, .1])
    return means[which] + np.einsum("nij,nj->ni", roots[which], rng.normal(size=(n, 3)))


@pytest.mark.parametrize("dtype, share, most", [(np.float64, 1, 700), (np.float32, 0.98, 2500)])
def test_default_error_of_a_function_without_moments(dtype, share, most):
    """400 rows: errors below 5e-3 nats and covered, with at most so many evaluations of a row."""
    x, asked = spatial_rows(400), []

    def f(x, tau):
        asked.append(len(x))
        return spatial(x, tau[0], dtype)[1]

    found = heatball.log_likelihood(f, x)
    error = np.abs(found.log_likelihood - spatial(x, 1e-3)[0])
    assert (found.se < 5e-3).mean() >= share and error.max() < 5e-3
    assert (error < found.se).mean() > 0.98 and (error < 3 * found.se).all()
    assert sum(asked) / len(x) < most
    pieces = [heatball.log_likelihood(f, part) for part in (x[:3], x[3:40])]  # the law at tau_max is not that of the rows
    assert np.array_equal(np.concatenate([one.log_likelihood for one in pieces]), found.log_likelihood[:40])


def test_kinks_do_not_cost():
    """A score that is not smooth, as a network of ReLU is: the steps stop where the differences tell no more."""
    x, asked = spatial_rows(8), []

    def f(x, tau):
        asked.append(len(x))
        return (spatial(x, tau[0])[1] - 0.3 * np.abs((9 * x) % 2 - 1)).astype(np.float32)

    found, many = heatball.log_likelihood(f, x), sum(asked)
    strict = heatball.log_likelihood(f, x, ode_tolerance=1e-5)
    assert many < 0.25 * (sum(asked) - many)
    assert (np.abs(found.log_likelihood - strict.log_likelihood) < 3 * found.se).all()
    assert np.median(found.se) < 1.5 * np.median(strict.se)


@pytest.mark.parametrize("kind", ["float32", "log_density", "divergence", "Mixture", "object"])
def test_other_forms_of_the_same_score(kind):
    x = ROWS[:30]
    exact = LONG.log_density(x, 1e-3)

    def divergence(x, tau):  # by another step than the library's
        step = 1e-5
        out = np.zeros(len(x))
        for j in range(2):
            e = step * np.eye(2)[j]
            out += (exact_score(x + e, tau) - exact_score(x - e, tau))[:, j] / (2 * step)
        return out

    f, more = {
        "float32": (lambda x, tau: exact_score(x.astype(np.float32), tau.astype(np.float32)).astype(np.float32), {}),
        "log_density": (lambda x, tau: LONG.log_density(x, tau, threads=1), {}),
        "divergence": (exact_score, {"divergence": divergence}),
        "Mixture": (LONG, {}),
        "object": (type("Has", (), {"score": staticmethod(exact_score)})(), {}),
    }[kind]
    found = heatball.log_likelihood(f, x, **GIVEN, **more)
    error = np.abs(found.log_likelihood - exact)
    assert error.max() < 1e-3 and (error < 3 * found.se).all()
    assert found.divergence == ("exact" if kind == "divergence" else "differences")


def test_a_typed_drift():
    """F = -2x from N(0, I/2), where it stays."""
    x = np.random.default_rng(4).normal(size=(20, 2))
    found = heatball.log_likelihood(lambda x, tau: -2 * x, x, process="-a*x, -a*y", params={"a": 2},
                                    covariance=np.eye(2) / 2)
    exact = -(x**2).sum(axis=1) - math.log(math.pi)
    assert np.abs(found.log_likelihood - exact).max() < 1e-7
    assert (np.abs(found.log_likelihood - exact) < 3 * found.se).all()
    ends = heatball.log_likelihood(lambda x, tau: -2 * x, x, process=["-2*x", "-2*y"],
                                   end_density=lambda x: -(x**2).sum(axis=1) - math.log(math.pi))
    assert np.abs(ends.log_likelihood - exact).max() < 1e-7


def test_a_row_is_alone_and_seeds_count():
    f = lambda x, tau: -x / (1 + 0.3 * np.exp(-2 * tau))[:, None]  # noqa: E731
    x = np.random.default_rng(9).normal(size=(60, 20))
    whole = heatball.log_likelihood(f, x, probes=4, seed=3)
    pieces = [heatball.log_likelihood(f, part, probes=4, seed=3) for part in (x[:7], x[7:])]
    for name in ("log_likelihood", "se", "probe_se"):
        assert np.array_equal(getattr(whole, name), np.concatenate([getattr(one, name) for one in pieces]))
    rough = lambda x, tau: -x + 0.1 * np.sin(3 * x[:, ::-1])  # noqa: E731
    one, two = (heatball.log_likelihood(rough, x, probes=4, seed=seed).log_likelihood for seed in (1, 2))
    assert not np.array_equal(one, two)


# ---- large dimension: random probes ----------------------------------------------------------------------

def wide_mixture(dim, count, seed):
    """Components that no axis knows."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(count, dim)) * 0.6
    covariances = []
    for _ in range(count):
        a = rng.normal(size=(dim, dim)) / math.sqrt(dim)
        covariances.append(0.1 * np.eye(dim) + 0.5 * a @ a.T)
    return heatball.Mixture(rng.uniform(0.5, 2, count), means, covariances)


def coverage(dim, rows, seeds, probes):
    mixture = wide_mixture(dim, 3, 2385)
    inside = []
    for seed in seeds:
        x = mixture.sample(rows, seed=100 + seed)
        found = heatball.log_likelihood(lambda x, tau: mixture.score(x, tau, threads=1), x, divergence="hutchinson",
                                        probes=probes, seed=seed, mean=mixture.mean(),
                                        covariance=mixture.covariance(), tau_min=0.01, ode_tolerance=1e-3)
        assert found.probe_se.min() > 0 and found.probes == probes
        inside.append(np.abs(found.log_likelihood - mixture.log_density(x, 0.01)) < 1.96 * found.se)
    return np.mean(inside), np.size(inside)


@pytest.mark.parametrize("probes", [4, 10])
def test_coverage_of_probes(probes):
    share, n = coverage(64, 40, [1], probes)
    assert abs(share - 0.95) < 5 * math.sqrt(0.95 * 0.05 / n)


@pytest.mark.long
@pytest.mark.parametrize("probes", [3, 8, 32])
def test_coverage_of_probes_over_seeds(probes):
    share, n = coverage(64, 100, range(8), probes)
    assert abs(share - 0.95) < 4 * math.sqrt(0.95 * 0.05 / n)


def test_default_takes_probes_above_16_dimensions():
    x = np.zeros((2, 17))
    assert heatball.log_likelihood(lambda x, tau: -x, x).divergence == "hutchinson"
    exact = heatball.log_likelihood(lambda x, tau: -x, x, divergence="exact")
    assert exact.divergence == "differences" and np.allclose(exact.nats, 17 * 0.5 * math.log(2 * math.pi))


# ---- a network of PyTorch ---------------------------------------------------------------------------------

def test_a_torch_network_by_two_integrators():
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(3, 32), torch.nn.SiLU(), torch.nn.Linear(32, 32), torch.nn.SiLU(),
                              torch.nn.Linear(32, 2))

    def score(x, tau):  # tensors, in any precision
        noise = torch.sqrt(1 - torch.exp(-2 * tau))[:, None]
        return -x + (1 - noise) * net(torch.cat([x, noise], 1))

    x0 = np.random.default_rng(5).normal(size=(24, 2))
    tau_min, tau_max, steps = 0.02, 3.0, 250

    def rate(x, l):
        """dx/dl and its divergence, l = ln sigma, under "ou"."""
        sigma2 = math.exp(2 * l)
        b, tau = sigma2 / (1 + sigma2), 0.5 * math.log1p(sigma2)
        x = x.detach().requires_grad_(True)
        v = b * (-x - score(x, torch.full((len(x),), tau, dtype=x.dtype)))
        divergence = sum(torch.autograd.grad(v[:, j].sum(), x, retain_graph=True)[0][:, j] for j in range(2))
        return v.detach(), divergence.detach()

    net.double()
    low, high = (0.5 * math.log(math.expm1(2 * tau)) for tau in (tau_min, tau_max))
    h = (high - low) / steps
    x, total = torch.tensor(x0), torch.zeros(len(x0), dtype=torch.float64)
    for i in range(steps):
        l = low + i * h
        k1, d1 = rate(x, l)
        k2, d2 = rate(x + h / 2 * k1, l + h / 2)
        k3, d3 = rate(x + h / 2 * k2, l + h / 2)
        k4, d4 = rate(x + h * k3, l + h)
        x, total = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), total + h / 6 * (d1 + 2 * d2 + 2 * d3 + d4)
    theirs = total.numpy() - 0.5 * (x.numpy()**2).sum(axis=1) - math.log(2 * math.pi)

    given = dict(tau_min=tau_min, tau_max=tau_max, covariance=np.eye(2), ode_tolerance=1e-5)
    ours = heatball.log_likelihood(lambda x, tau: score(torch.from_numpy(x), torch.from_numpy(tau)), x0, **given)
    assert np.abs(ours.log_likelihood - theirs).max() < 2e-5
    net.float()
    single = heatball.log_likelihood(lambda x, tau: score(torch.from_numpy(x).float(), torch.from_numpy(tau).float()), x0,
                                     **given)
    assert np.abs(single.log_likelihood - theirs).max() < 1e-3


# ---- models, refusals -------------------------------------------------------------------------------------

def test_models_have_errors_too():
    model = heatball.train(ROWS, "dsm", n=300, steps=60, width=16, depth=2)
    x = ROWS[:40]
    exact = heatball.log_likelihood(model, x)
    assert np.abs(exact.log_likelihood - model.log_likelihood(x)).max() == 0
    assert exact.divergence == "exact" and exact.se.max() < 0.2 and (exact.probe_se == 0).all()
    probed = heatball.log_likelihood(model, x, divergence="hutchinson", probes=8, seed=5)
    away = np.abs(probed.log_likelihood - exact.log_likelihood)
    assert (away < 3 * probed.se).mean() > 0.9 and (away > 0).all()
    callable_one = heatball.log_likelihood(model.score, (x - 0) * 1.0, tau_min=model.tau_min, tau_max=model.tau_max)
    assert callable_one.log_likelihood.shape == (40,)
    with pytest.raises(ValueError, match="mean is given, but f is a Model"):
        heatball.log_likelihood(model, x, mean=[0, 0])


@pytest.mark.parametrize("change, words", [
    (dict(probes=1), "probes is 1; it must be 2 or more"),
    (dict(probes=-3), "probes is -3"),
    (dict(divergence="exact", probes=4), "probes is given, but the divergence is exact"),
    (dict(divergence="hutch"), "divergence is 'hutch'; it must be exact, hutchinson or a function"),
    (dict(divergence=lambda x, tau: x), r"divergence returned shape \(.*, 2\); it must be \(.*,\)"),
    (dict(divergence=lambda x, tau: x[:, 0] * np.nan), "the divergence of the score is nan"),
    (dict(process="vp"), "process is 'vp'; it must be ou, ve, or a drift as text"),
    (dict(mean=[1.0]), r"mean has shape \(1,\); it must be \(2,\)"),
    (dict(covariance=np.eye(3)), r"covariance has shape \(3, 3\); it must be \(2, 2\)"),
    (dict(covariance=-np.eye(2)), "negative eigenvalue"),
    (dict(tau_min=4.0), "tau_min is 4; it must be"),
    (dict(ode_tolerance=0.0), "tolerance is 0"),
    (dict(label=1), "label is given, but f is not a Model"),
    (dict(params={"a": 1}), "params is given, but the process is not a drift"),
    (dict(end_density=lambda x: x), "end_density returned shape"),
])
def test_refusals(change, words):
    with pytest.raises(ValueError if "nan" not in words else heatball.Error, match=words):
        heatball.log_likelihood(exact_score, ROWS, **change)


def test_rows_that_are_none():
    assert len(heatball.log_likelihood(exact_score, np.empty((0, 2)))) == 0
    with pytest.raises(ValueError, match="row 2, column 1 of x is nan"):
        heatball.log_likelihood(exact_score, [[0.0, 1], [math.nan, 1]])
    assert heatball.log_likelihood(lambda x, tau: -x, [0.5, 1.0]).dim == 1  # a list of numbers is a line


# ---- from one pass of an energy network ------------------------------------------------------------------

FAR = heatball.Mixture([0.2, 0.8], [[-1.2, -1.2], [0.4, 0.4]], np.tile(0.06 * np.eye(2), (2, 1, 1)))


@pytest.fixture(scope="module")
def far_model():
    """Two Gaussians that are far apart, by hb with the constraint down to the smallest tau."""
    return heatball.train(FAR.sample(4000, seed=3), steps=1500, width=32, tau_min=0.003,
                          standardise="no", threads=2)


def test_one_pass_is_normalised_and_its_error_covers(far_model):
    check = far_model.density_check()
    assert abs(check.log_normaliser) < 0.15 and check.effective > 0.9 and check.rows == 256
    assert check.error_all < 0.3
    x = FAR.sample(400, seed=8, tau=0.003)
    direct = heatball.log_likelihood(far_model, x, method="direct")
    ode = heatball.log_likelihood(far_model, x)
    inside = np.abs(direct.log_likelihood - ode.log_likelihood) < 1.96 * direct.se
    assert 0.88 < inside.mean() and direct.divergence == "none" and (direct.bound == 0).all()
    assert np.isfinite(direct.se).mean() > 0.85 and math.isfinite(direct.mean_se)
    assert abs(direct.mean - ode.mean) < 0.1
    exact = FAR.log_density(x, 0.003)
    assert abs((direct.log_likelihood - exact).mean()) < 0.1
    centres = FAR.means * math.exp(-0.003)  # the log weights of the modes
    error = far_model.log_likelihood(centres, method="direct") - FAR.log_density(centres, 0.003)
    assert abs(error[1] - error[0]) < 0.3
    assert np.array_equal(far_model.log_likelihood(x, method="direct"), direct.log_likelihood)


def test_auto_takes_the_ode_where_one_pass_is_not_good_enough(far_model):
    x = np.concatenate([FAR.sample(40, seed=8, tau=0.003), [[3.0, -3.0]]])
    direct = heatball.log_likelihood(far_model, x, method="direct")
    assert math.isinf(direct.se[-1])  # apart from all samples of the model
    most = float(np.median(direct.se))
    auto = heatball.log_likelihood(far_model, x, method="auto", error=most)
    by_ode = direct.se > most
    ode = heatball.log_likelihood(far_model, x)
    assert np.array_equal(auto.log_likelihood, np.where(by_ode, ode.log_likelihood, direct.log_likelihood))
    assert (auto.se <= np.where(by_ode, ode.se, most)).all() and (auto.calibrated[by_ode] == 0).all()
    assert np.array_equal(far_model.log_likelihood(x, method="auto", error=most), auto.log_likelihood)
    assert f"{(~by_ode).sum()} from one pass, exact" in repr(auto)


def test_a_rare_mode_does_not_hide_behind_the_others():
    """One row in a hundred is in a mode of its own, whose weight one pass has wrong by many nats."""
    rare = heatball.Mixture([0.495, 0.495, 0.01], [[-4, 0], [4, 0], [0, 7]],
                            np.array([0.25, 0.25, 0.09])[:, None, None] * np.eye(2))
    model = heatball.train(rare.sample(2000, seed=5), steps=800, width=48, seed=2)
    x = np.array([0.0, 7]) + 0.3 * np.random.default_rng(5).standard_normal((60, 2))
    direct = heatball.log_likelihood(model, x, method="direct")
    ode = heatball.log_likelihood(model, x)
    off = np.abs(direct.log_likelihood - ode.log_likelihood)
    assert np.median(off) > 1  # else this says nothing
    assert (off < 3 * np.hypot(direct.se, ode.se)).all()


def test_the_constraint_carries_the_weights_of_modes_down_to_tau_min():
    """1/5 N((-5, -5), 1) + 4/5 N((5, 5), 1), scaled to variance 1."""
    scale = math.sqrt(1 + 0.2 * 0.8 * 100)
    two = heatball.Mixture([0.2, 0.8], np.array([[-8.0, -8], [2, 2]]) / scale, np.tile(np.eye(2) / scale ** 2, (2, 1, 1)))
    x, error = two.sample(8000, seed=3), {}
    for method in ("dsm", "hb"):
        model = heatball.train(x, method, steps=1500, width=48, standardise="no", threads=2)
        at, tau = two.means * math.exp(-0.001), np.full(2, 0.001)
        error[method] = np.ptp(model.log_density(at, tau) - two.log_density(at, tau))
    assert error["hb"] < 0.5 and error["dsm"] > 3 * error["hb"], error


@pytest.mark.parametrize("process, gap, tau", [("ou", 10 / math.sqrt(math.expm1(0.2)), 0.5 * math.log1p((10 / 6) ** 2)),
                                               ("ve", 10 / math.sqrt(0.2), (10 / 6) ** 2 / 2)])
def test_modes_that_the_noise_does_not_join_are_told(process, gap, tau):
    """Two groups of equal points at -5 and 5 on an axis that is turned by 30 degrees."""
    rng, axis = np.random.default_rng(3), np.array([math.cos(0.5), math.sin(0.5)])
    x = np.where(rng.random(500) < 0.3, -5.0, 5.0)[:, None] * axis + rng.normal(size=(500, 1)) * [-axis[1], axis[0]]
    few = dict(steps=2, width=8, depth=1, standardise="no", process=process)
    with pytest.warns(UserWarning, match="their relative weights are not determined") as told:
        heatball.train(x, "dsm", tau_max=0.1, **few)
    found = [float(word) for word in re.findall(r"groups (\S+) .* tau_max=(\S+) ", str(told[0].message))[0]]
    assert found == pytest.approx([gap, tau], rel=0.01)  # the axis is that of the data's covariance
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heatball.train(x, "dsm", tau_max=1.01 * tau, **few)
        heatball.train(np.concatenate([x[:400] + 10 * (x[:400] @ axis < 0)[:, None] * axis, [50 * axis]]), "dsm",
                       tau_max=0.1, **few)  # one row apart is no mode
        heatball.train(x, "dsm", head="score", tau_max=0.1, **few)


def test_modes_along_a_column_are_told_whatever_its_scale():
    """Columns of one scale have no principal axis; the gap is found along the column."""
    x = np.random.default_rng(4).normal(size=(900, 2)) + np.where(np.arange(900) % 5, -500.0, 500.0)[:, None] * [1, 0]
    with pytest.warns(UserWarning, match="their relative weights are not determined"):
        heatball.train(x, "dsm", tau_max=0.05, steps=2, width=8, depth=1)


def test_one_pass_of_each_class_and_refusals():
    x = np.concatenate([FAR.sample(300, seed=1), FAR.sample(300, seed=2) + 3])
    label = np.repeat([0, 1], 300)
    model = heatball.train(x, "dsm", labels=label, steps=60, width=16, tau_min=0.01)
    both = model.log_likelihood(x[::100], method="direct", label=label[::100])
    for k in (0, 1):
        check, rows = model.density_check(label=k), label[::100] == k
        raw = model.log_density(x[::100][rows], 0.01, k)
        assert np.array_equal(both[rows], raw - check.offset)
    with pytest.raises(heatball.ArgumentError, match="method is"):
        model.log_likelihood(x, method="pass")
    with pytest.raises(heatball.ArgumentError, match="it must be ode, since f is not a Model"):
        heatball.log_likelihood(lambda x, tau: -x, x, method="direct")
    score = heatball.train("ring", "dsm", head="score", n=200, steps=5, width=8, depth=2)
    with pytest.raises(heatball.ArgumentError, match="only a model with the energy head has a log-density"):
        score.log_likelihood([[0.0, 0.0]], method="direct")

"""Training under the SDE as typed, dx = F dtau + G dW. Oracles: the same problem typed by hand in coordinates in which the
noise is sqrt(2); closed forms of linear SDEs and of geometric Brownian motion in NumPy; central differences; heatball.solve."""

import copy
import importlib.util
import json
import pathlib
import pickle

import numpy as np
import pytest

import heatball
import command_line

ROOT2 = np.sqrt(2)
QUICK = dict(steps=30, width=16, depth=2, batch=64, tau_max=1.2)


class Case:
    """z_i with dz_i = dx_i/b_i, z = L y; F of y as text."""

    def __init__(self, x, drift, noise, L, drift_of_y, z=lambda x: x, b=np.ones_like, slope=np.zeros_like):
        self.x, self.drift, self.noise, self.drift_of_y = x, drift, noise, drift_of_y
        self.L, self.z, self.b, self.slope = np.atleast_2d(L), z, b, slope

    def y(self, x):
        return np.linalg.solve(self.L, self.z(x).T).T

    def volume(self, x):
        return np.log(np.abs(self.b(x))).sum(1) + np.linalg.slogdet(self.L)[1]

    def score(self, x, of_y):
        return (np.linalg.solve(self.L.T, of_y.T).T - self.slope(x))/self.b(x)


def gaussian(n, dim, seed=3):
    return np.random.default_rng(seed).normal(size=(n, dim))


def constants(values):
    return ", ".join(f"{value!r} + 0*x" for value in np.asarray(values).tolist())


def cases():
    g = 0.7/ROOT2
    yield "number", Case(0.8*gaussian(300, 1) + 0.3, "x - x^3", 0.7, g, f"({g!r}*x - ({g!r}*x)^3)/{g!r}")
    G = np.array([[1.1, 0], [0.3, 0.8]])
    a, b, c = (G/ROOT2)[np.tril_indices(2)].tolist()
    first = f"({a!r}*x - ({a!r}*x)^3)/{a!r}"
    second = f"(0.5*({a!r}*x) - ({b!r}*x + {c!r}*y) - {b!r}*({first}))/{c!r}"
    yield "matrix", Case(gaussian(300, 2), "x - x^3, 0.5*x - y", G, G/ROOT2, f"{first}, {second}")
    s = 0.2/ROOT2
    yield "prices", Case(np.exp(0.4*gaussian(300, 2)), "0.1*x, 0.3*y*(1 - y)", "0.2*x[i]", s*np.eye(2),
                         f"{0.08/s!r} + 0*x, (0.3*(1 - exp({s!r}*y)) - 0.02)/{s!r}", np.log, lambda x: x, np.ones_like)
    M = np.array([[0.5, 0.2], [0.0, 1.0]])
    L = np.linalg.cholesky(M @ M.T)/ROOT2
    of_z = np.array([-1, 0.2]) - 0.5*np.diag(M @ M.T)
    yield "turned prices", Case(np.exp(0.4*gaussian(300, 2)), "-x, 0.2*y", "0.5*x, 0.2*x; 0, y", L,
                                constants(np.linalg.solve(L, of_z)), np.log, lambda x: x, np.ones_like)
    s = 0.3/ROOT2
    yield "below", Case(1 - np.exp(0.5*gaussian(300, 1)), "0.5*(1 - x)", "0.3*(1 - x)", s, constants([0.545/s]),
                        lambda x: -np.log(1 - x), lambda x: 1 - x, lambda x: -np.ones_like(x))
    s = 1/ROOT2
    bounded = f"(tanh({s!r}*x) - tanh({s!r}*x)/(1 - tanh({s!r}*x)^2))/{s!r}"
    yield "bounded", Case(np.tanh(0.6*gaussian(300, 1)), "-x", "1 - x^2", s, bounded, np.arctanh,
                          lambda x: 1 - x**2, lambda x: -2*x)
    yield "root", Case(gaussian(300, 1), "x/2", "sqrt(1 + x^2)", s, "0*x", np.arcsinh, lambda x: np.hypot(1, x),
                       lambda x: x/np.hypot(1, x))


CASES = dict(cases())


def trained(case, **more):
    return heatball.train(case.x, **{**QUICK, "drift": case.drift, "noise": case.noise, **more})


# ---- the same as typed in y ----------------------------------------------------------------------

# Adam makes steps of the rounding errors of a gradient that is 0: where formulas round differently networks agree to this.
ROUNDED = {"prices": 0.02, "turned prices": 0.02, "root": 0.02}


@pytest.mark.parametrize("name", CASES)
def test_typed_by_hand_in_y(name):
    close = dict(atol=ROUNDED.get(name, 1e-4), rtol=1e-5)
    case = CASES[name]
    model = trained(case)
    by_hand = heatball.train(case.y(case.x), drift=case.drift_of_y, **QUICK)
    x, tau = case.x[:40], np.linspace(0.05, 1.1, 40)
    y, volume = case.y(x), case.volume(x)
    assert model.coordinates is not None and by_hand.coordinates is None
    np.testing.assert_allclose(model.log_density(x, tau), by_hand.log_density(y, tau) - volume, **close)
    np.testing.assert_allclose(model.score(x, tau), case.score(x, by_hand.score(y, tau)), **close)
    np.testing.assert_allclose(model.log_likelihood(x[:10]), by_hand.log_likelihood(y[:10]) - volume[:10], **close)
    drawn = model.generate(20, n_steps=60, seed=5)
    np.testing.assert_allclose(case.y(drawn), by_hand.generate(20, n_steps=60, seed=5), **close)
    np.testing.assert_allclose(model.log_normaliser(), by_hand.log_normaliser(), **close)


@pytest.mark.parametrize("head", ["score", "helmholtz"])
def test_other_heads(head):
    case = CASES["turned prices"]
    model = trained(case, loss="dsm", head=head)
    by_hand = heatball.train(case.y(case.x), "dsm", drift=case.drift_of_y, head=head, **QUICK)
    x = case.x[:40]
    np.testing.assert_allclose(model.score(x, 0.4), case.score(x, by_hand.score(case.y(x), 0.4)), atol=1e-4, rtol=1e-5)


def test_noise_of_root_2_is_the_plain_drift(tmp_path):
    x = gaussian(300, 2)
    for name, noise in (("a", None), ("b", "sqrt(2)"), ("c", [ROOT2, ROOT2])):
        heatball.train(x, drift="x - x^3, -y", noise=noise, **QUICK).save(tmp_path/f"{name}.safetensors")
    assert (tmp_path/"a.safetensors").read_bytes() == (tmp_path/"b.safetensors").read_bytes()
    a, c = (heatball.load(tmp_path/f"{name}.safetensors") for name in "ac")
    np.testing.assert_array_equal(a.score(x, 0.3), c.score(x, 0.3))


def test_stratonovich():
    x = np.exp(0.4*gaussian(300, 1))
    ito = heatball.train(x, drift="0.5*0.09*x", noise="0.3*x", **QUICK)
    other = heatball.train(x, drift="0*x", noise="0.3*x", convention="stratonovich", **QUICK)
    np.testing.assert_allclose(ito.score(x, 0.5), other.score(x, 0.5), atol=1e-4)
    assert other.sde == {"dim": "1", "drift": "0*x", "noise": "0.3*x", "convention": "stratonovich"}


# ---- derivatives ---------------------------------------------------------------------------------

@pytest.mark.parametrize("head", ["energy", "score", "helmholtz"])
@pytest.mark.parametrize("noise", ["0.5*x, 0.2*x; 0, y", "1, 0.4; -0.3, 0.7", "1 + 0.5*sin(x), 0.3*y"])
def test_divergence_by_differences(noise, head):
    x = np.exp(0.3*gaussian(200, 2))
    model = heatball.train(x, "dsm", drift="-x, 0.2*y", noise=noise, head=head, rate=0.01, **QUICK)
    at, h = x[:20], 1e-3
    by_hand = sum((model.score(at + h*e, 0.3) - model.score(at - h*e, 0.3))[:, k]/(2*h) for k, e in enumerate(np.eye(2)))
    np.testing.assert_allclose(model.divergence(at, 0.3), by_hand, rtol=0.01, atol=0.02)
    probed = np.array([model.divergence(at, 0.3, probes=64, seed=k) for k in range(40)])
    error = probed.std(0)/np.sqrt(40) + 1e-6
    assert (np.abs(probed.mean(0) - model.divergence(at, 0.3)) < 5*error + 1e-3).all()
    if head == "energy":
        slopes = [(model.log_density(at + h*e, 0.3) - model.log_density(at - h*e, 0.3))/(2*h) for e in np.eye(2)]
        np.testing.assert_allclose(model.score(at, 0.3), np.transpose(slopes), rtol=0.01, atol=0.02)


# ---- closed forms --------------------------------------------------------------------------------

def reference(x, drift, noise, **more):
    """A model whose network has learnt nothing: the Gaussian with the moments of 4096 paths, in y."""
    return heatball.train(x, "dsm", drift=drift, noise=noise, steps=1, rate=1e-12, width=8, depth=1, **more)


def test_moments_of_geometric_brownian_motion():
    x = np.exp(0.5*gaussian(4096, 1) + 0.2)
    model = reference(x, "0.3*x", "0.4*x", tau_max=2.5)
    mean, variance = np.log(x).mean(), np.log(x).var()
    for t in (0.1, 0.7, 2.5):
        m, v = mean + (0.3 - 0.08)*t, variance + 0.16*t
        at = np.exp(m + np.sqrt(v)*np.linspace(-2, 2, 9))[:, None]
        exact = -np.log(at[:, 0]) - (np.log(at[:, 0]) - m)**2/(2*v) - 0.5*np.log(2*np.pi*v)
        # standard errors: of the mean 1/64 deviations, of the variance 2.2 %
        np.testing.assert_allclose(model.log_density(at, t), exact, atol=5*(2/64 + 2*0.022))
    assert model.log_density([[-1.0], [0.0]], 1.0).tolist() == [-np.inf, -np.inf]
    assert np.isnan(model.score([[-1.0]], 1.0)).all() and np.isnan(model.log_density([[np.nan]], 1.0)).all()
    assert model.log_likelihood([[-1.0], [1.0]])[0] == -np.inf


def test_moments_of_a_matrix():
    G = np.array([[1.0, 0.4], [-0.3, 0.7]])
    x = gaussian(4096, 2) @ (0.6*G).T
    model = reference(x, "-x, -y", G, tau_max=2)
    for t in (0.05, 0.4, 2):
        C = (0.36*np.exp(-2*t) + (1 - np.exp(-2*t))/2)*G @ G.T
        at = gaussian(20, 2, 7) @ np.linalg.cholesky(C).T
        exact = -np.einsum("ni,ij,nj->n", at, np.linalg.inv(C), at)/2 - np.linalg.slogdet(2*np.pi*C)[1]/2
        r2 = np.einsum("ni,ij,nj->n", at, np.linalg.inv(C), at)
        assert (np.abs(model.log_density(at, t) - exact) < 5*(0.022*(r2/2 + 1) + 0.03*np.sqrt(r2))).all()


def test_a_point_of_the_law_at_tau_max():
    """Ends that are kept, and samples back at tau_min, are in x."""
    x = np.exp(0.2*gaussian(1000, 1) + 5)
    model = reference(x, "0*x", "0.3*x", tau_max=1)
    drawn = np.log(model.generate(500, n_steps=60))
    assert abs(drawn.mean() - 5) < 5*0.2*np.sqrt(1/500 + 1/1000) and 0.15 < drawn.std() < 0.25
    ends = np.full((1, 1), np.exp(5.0))
    np.testing.assert_array_less(np.abs(np.log(model.generate(3, ends=ends)) - 5), 2)
    with pytest.raises(heatball.ArgumentError, match="row 1 of ends is outside"):
        model.generate(3, ends=-ends)


# ---- files ---------------------------------------------------------------------------------------

def test_file_and_copies(tmp_path):
    case = CASES["turned prices"]
    model = trained(case)
    model.save(tmp_path/"m.safetensors")
    loaded = heatball.load(tmp_path/"m.safetensors")
    loaded.save(tmp_path/"n.safetensors")
    assert (tmp_path/"m.safetensors").read_bytes() == (tmp_path/"n.safetensors").read_bytes()
    for other in (loaded, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(other.score(case.x, 0.3), model.score(case.x, 0.3))
        assert (other.sde, other.coordinates) == (model.sde, model.coordinates)
    assert model.sde == {"dim": "2", "drift": "-x, 0.2*y", "noise": "0.5*x, 0.2*x; 0, y"}
    assert "ln x1" in model.coordinates


def test_parameters_with_names_of_lines():
    """A parameter may be called as a line of the text is."""
    x = np.exp(gaussian(200, 1)/2)
    params = {"time": 0.3, "inside": 0.2, "convention": 0.5}
    model = heatball.train(x, drift="time*x", noise="inside*x + 0*convention", params=params, **QUICK)
    plain = heatball.train(x, drift="0.3*x", noise="0.2*x", **QUICK)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.score(x, 0.3), plain.score(x, 0.3), atol=1e-4)
    assert {name: float(again.sde[name]) for name in params} == params


def test_resumed(tmp_path):
    case = CASES["prices"]
    whole = trained(case)
    stop = dict(checkpoint=tmp_path/"c.safetensors", checkpoint_every=1)

    class Enough(Exception):
        pass

    def watch(step, model):
        if step >= 20:
            raise Enough

    with pytest.raises(Enough):
        trained(case, watch=watch, watch_every=10, **stop)
    np.testing.assert_array_equal(trained(case, resume=True, **stop).score(case.x, 0.3), whole.score(case.x, 0.3))
    with pytest.raises(heatball.ArgumentError, match="of another run: it has drift="):
        heatball.train(case.x, drift=case.drift, noise="0.21*x[i]", resume=True, **stop, **QUICK)


# ---- refusals ------------------------------------------------------------------------------------

REFUSED = [
    (dict(noise="1 + 0.5*t"), "must not depend on t"),
    (dict(noise="cos(t), -sin(t); sin(t), 2*cos(t)"), "must not depend on t"),
    (dict(noise="1, 0.5*y; 0, 1"), "no change of coordinates removes.*--method grid"),
    (dict(noise="1 + x[i]^2"), "no change of coordinates removes.*between two positive numbers"),
    (dict(noise=float("nan")), "noise is nan; it must be finite"),
    (dict(noise=[1, float("inf")]), "noise is inf; it must be finite"),
    (dict(noise="0, 1"), "does not reach every direction.*particles"),
    (dict(noise="1; 1"), "does not reach every direction"),
    (dict(noise="0"), "it must be positive"),
    (dict(noise="1e-4, 1", drift="-x + y, -y"), "100 times as steep"),
    (dict(noise="sqrt(x), 1"), "attainable boundary"),
    (dict(noise="0.2*x, 1"), "column 1 of row [0-9]+ of the data is -.* outside of .* from 0 to inf"),
    (dict(noise="0.2*x, 1, 1"), "noise"),
    (dict(noise="1e-7"), "too far from 0"),
    (dict(noise="nonsense"), "nonsense"),
    (dict(noise=[[1, 0], [0.5]]), "row"),
    (dict(noise="1, 2", standardise="axis"), "cannot be standardised"),
    (dict(noise="1, 2", drift=None), "noise is given without drift"),
    (dict(noise=None, convention="ito"), "convention is given without noise"),
    (dict(noise="1", convention="both"), "convention"),
]


@pytest.mark.parametrize("given, words", REFUSED)
def test_refused_in_words(given, words):
    with pytest.raises(heatball.ArgumentError, match=words):
        heatball.train(gaussian(100, 2) + 1, **{**QUICK, "drift": "-x, -y", **given})


def test_functions_and_rows_that_are_not_finite():
    x = np.exp(gaussian(100, 1))
    with pytest.raises(TypeError, match="noise is a function"):
        heatball.train(x, drift="-x", noise=lambda x: x, **QUICK)
    for row in (0, 50):
        bad = x.copy()
        bad[row] = np.nan
        with pytest.raises(heatball.ArgumentError, match=f"row {row + 1}, column 1 of the data is (-)?nan"):
            heatball.train(bad, drift="-x", noise="0.3*x", **QUICK)


# ---- the command ---------------------------------------------------------------------------------

def test_command(tmp_path):
    case, path = CASES["prices"], tmp_path/"m.safetensors"
    np.save(tmp_path/"x.npy", case.x)
    options = ["--data", tmp_path/"x.npy", "--held-out", 0.1, "--loss", "hb", "--steps", 40, "--width", 16, "--depth", 2,
               "--batch", 64, "--tau-max", 1.2, "--drift", "a*x, 0.3*y*(1 - y)", "--param", "a=0.1", "-o", path]
    out = command_line.succeed("train", *options, "--noise", "0.2*x[i]")
    assert "process: Lamperti coordinates y = ln x1, ln x2, then L^-1 y; tau is its time t" in out
    model = heatball.load(path)
    assert model.sde["noise"] == "0.2*x[i]" and float(model.sde["a"]) == 0.1
    command_line.succeed("generate", path, "-n", 20, "--n-steps", 60, "-o", tmp_path/"s.npy", "--plot", tmp_path/"s.svg")
    np.testing.assert_array_equal(np.load(tmp_path/"s.npy"), model.generate(20, n_steps=60))
    judged = json.loads(command_line.succeed("evaluate", path, "--data", tmp_path/"x.npy", "--json", "--tau", 0.3, "-n", 100, "--samples", 50))
    assert judged["mmd"] is not None
    rows = command_line.succeed("residual", "--model", path, "--tau", 0.5, "--at", "1,1.2", "--radii", 0.2)
    assert "residual of v" in rows
    for arguments, words in ((("--at", "-1,1"), "outside of the domain"), (("--at", "1,1", "--drift", "-x,-y"), "leave out --drift")):
        done = command_line.run("residual", "--model", path, "--tau", 0.5, "--radii", 0.2, *arguments)
        assert done.returncode == 2 and words in done.stderr
    command_line.succeed("helmholtz", path, "--tau", 0.5, "--points", 17, "-o", tmp_path/"split")
    done = command_line.run("helmholtz", path, "--tau", 0.5, "--box", "-1 2, 0.5 2", "-o", tmp_path/"other")
    assert done.returncode == 2 and "reaches out of the domain" in done.stderr
    for more, words in ((["--noise", "1, 0.5*y; 0, 1"], "no change of coordinates"), (["--convention", "ito"], "without --noise")):
        done = command_line.run("train", *options, *more)
        assert done.returncode == 2 and words in done.stderr
    done = command_line.run("train", "--data", "two_moon", "--loss", "dsm", "--noise", "1", "-o", path)
    assert done.returncode == 2 and "--noise is given without --drift" in done.stderr


# ---- what is learnt ------------------------------------------------------------------------------

LIMITS = {"Matrix": (0.3, 0.15, 0.08, 0.08), "Prices": (0.3, 0.3, 0.2, 0.12), "Wells": (0.1, 0.06, 0.08)}


@pytest.mark.long
@pytest.mark.parametrize("name", LIMITS)
def test_learnt_against_exact_laws(name):
    """The problems of bench/trained_noise.py: closed forms, and the grid of heatball.solve for the nonlinear one."""
    path = pathlib.Path(__file__).resolve().parents[2]/"bench/trained_noise.py"
    spec = importlib.util.spec_from_file_location("trained_noise", path)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    problem, rng = getattr(bench, name)(), np.random.default_rng(5)
    model = heatball.train(problem.rows(rng, 4000), drift=problem.drift, noise=problem.noise, steps=3000, width=64,
                           tau_min=problem.tau[0], tau_max=problem.tau[1], threads=1)
    for t, limit in zip(problem.times, LIMITS[name]):
        x = problem.rows(rng, 1000, t)
        value, score = problem.exact(x, t)
        assert np.sqrt(((model.score(x, t) - score)**2).sum()/(score**2).sum()) < limit, t
        assert np.std(model.log_density(x, t) - value) < limit, t
    x = problem.rows(rng, 200)
    assert abs(np.mean(model.log_likelihood(x) - problem.exact(x, problem.tau[0])[0])) < 0.15
    found = heatball.metrics.mmd(model.generate(1000, threads=1), problem.rows(rng, 1000))
    assert found["mmd2"] < 5*found["mmd2_se"]

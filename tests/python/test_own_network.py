"""heatball.balls and heatball.torch: residuals of exact densities, and the library's own loss and gradient.

Exact are mixtures of Gaussians, written here in PyTorch, under OU, VE and a linear drift, and stationary densities of
nonlinear drifts. tests/train/loss_driver.c has the loss of the library and its gradient for a network whose weights are
read from its file.
"""
import math
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import heatball
from safetensors_reader import read_safetensors

torch = pytest.importorskip("torch")
import heatball.torch as ht  # noqa: E402

DRIVER = os.path.join(os.environ.get("HEATBALL_BUILD", "build"), "tests", "loss_driver")
MATRIX = np.array([[-1.0, 0.8], [-0.6, -0.3]])
ROTATING = "x - x^3 + 0.7*y, 0.7*(x - x^3) - y"
RNG = np.random.Generator(np.random.Philox(2385))


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


# ---- exact densities -------------------------------------------------------------------------------

def flow(process, dim):
    """Return tau -> (E, C) of ou, ve or MATRIX: x(tau) given x(0) is N(E x(0), C)."""
    eye = torch.eye(dim, dtype=torch.float64)

    def moved(tau):
        tau = tau[:, None, None]
        if process == "ou":
            return torch.exp(-tau) * eye, -torch.expm1(-2 * tau) * eye
        if process == "ve":
            return torch.ones_like(tau) * eye, 2 * tau * eye
        A, nodes = torch.as_tensor(MATRIX), zip(*np.polynomial.legendre.leggauss(12))  # to rounding for these times
        halves = [(g, torch.linalg.matrix_exp(tau * (u + 1) / 2 * A)) for u, g in nodes]
        return torch.linalg.matrix_exp(tau * A), sum(g * tau * half @ half.transpose(1, 2) for g, half in halves)

    return moved


def mixture(dim, process):
    """Return ln p(x, tau) in torch of three Gaussians under ou, ve or the linear drift MATRIX."""
    moved = flow(process, dim)
    rng = np.random.Generator(np.random.Philox(77 + dim))
    weights, means = np.array([0.5, 0.3, 0.2]), 1.2 * rng.standard_normal((3, dim))
    roots = 0.35 * np.eye(dim) + 0.2 * rng.standard_normal((3, dim, dim)) / math.sqrt(dim)
    covariances = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(dim)

    def log_density(x, tau):
        parts = []
        E, noise = moved(tau)
        for w, m, C in zip(weights, torch.as_tensor(means), torch.as_tensor(covariances)):
            L = torch.linalg.cholesky(E @ C @ E.transpose(1, 2) + noise)
            z = torch.linalg.solve_triangular(L, (x - E @ m)[:, :, None], upper=False)[:, :, 0]
            parts.append(math.log(w) - 0.5 * (z * z).sum(1) - torch.log(torch.diagonal(L, dim1=1, dim2=2)).sum(1)
                         - dim / 2 * math.log(2 * math.pi))
        return torch.logsumexp(torch.stack(parts), 0)

    mean = weights @ means
    away = means - mean
    covariance = np.einsum("k,kij->ij", weights, covariances) + np.einsum("k,ki,kj->ij", weights, away, away)
    return log_density, (mean, covariance), (weights, means, covariances)


def rotating(x, tau):
    """The stationary density of ROTATING."""
    return x[:, 0]**2 / 2 - x[:, 0]**4 / 4 - x[:, 1]**2 / 2


def gradient_of(f):
    def score(x, tau):
        with torch.enable_grad():
            at = x if x.requires_grad else x.detach().requires_grad_()
            return torch.autograd.grad(f(at, tau).sum(), at, create_graph=True)[0]
    return score


CASES = [("ou", 1), ("ou", 2), ("ou", 8), ("ve", 1), ("ve", 2), ("ve", 8), ("linear", 2), ("nonlinear", 2)]


def case(name, dim):
    """Return f, the keywords of its process, and the moments of a reference or None."""
    if name == "nonlinear":
        return rotating, {"drift": ROTATING}, None
    if name == "linear":
        f, moments, _ = mixture(2, "linear")
        return f, {"drift": MATRIX}, moments
    f, moments, _ = mixture(dim, name)
    return f, {"process": name}, moments


def anchors(dim, n=7):
    x = np.random.Generator(np.random.Philox(dim)).standard_normal((n, dim))
    return torch.tensor(x), torch.tensor(np.linspace(0.2, 0.8, n))


def test_the_mixture_here_is_that_of_the_package():
    for process in ("ou", "ve"):
        f, _, parts = mixture(2, process)
        x, tau = anchors(2)
        ours = heatball.Mixture(*parts)
        for i in range(len(x)):
            assert abs(ours.log_density(x[i:i + 1].numpy(), float(tau[i]), process=process)[0]
                       - float(f(x[i:i + 1], tau[i:i + 1]))) < 1e-10


@pytest.mark.parametrize("name,dim", CASES)
def test_residuals_of_exact_densities_vanish(name, dim):
    f, process, moments = case(name, dim)
    x, tau = anchors(dim)
    rules = [({}, 0.3), ({"time_fraction": 0.001}, 0.02)]
    if dim < 3:
        rules.append(({"degree": 8, "time_fraction": 0.1}, 2e-4))
    if moments is not None:
        rules.append((dict(zip(("mean", "covariance"), moments)), 0.3))
    for rule, bound in rules:
        for kind, g in (("log_density", f), ("score", gradient_of(f))):
            rho = ht.heat_ball_residual(g, x, tau, kind=kind, **process, **rule)
            assert rho.shape == (x.shape if kind == "score" else x.shape[:1])
            assert float(rho.abs().max()) < bound, (rule, kind, rho)
            wrong = ht.heat_ball_residual(lambda *at: 1.5 * g(*at), x, tau, kind=kind, **process, **rule)  # noqa: B023
            assert float(wrong.abs().max()) > 3 * float(rho.abs().max()), (rule, kind, wrong)


@pytest.mark.parametrize("name,dim", CASES)
def test_numpy_and_torch_agree(name, dim):
    f, process, moments = case(name, dim)
    x, tau = anchors(dim)
    options = [{}, {"pairs": 3, "time_fraction": 0.2}]
    if moments is not None:
        options.append(dict(zip(("mean", "covariance"), moments)))
    for rule in options:
        for kind, g in (("log_density", f), ("score", gradient_of(f))):
            b = heatball.balls(x.numpy(), tau.numpy(), kind=kind, **process, **rule)
            at = g(torch.from_numpy(b.x).reshape(-1, dim), torch.from_numpy(b.tau).reshape(-1)).detach()
            at0 = g(x, tau).detach()
            if b.reference is not None:
                at = at.reshape(b.reference.shape) - torch.from_numpy(b.reference)
                at0 = at0 - torch.from_numpy(b.reference0)
            ours = (b.residual if kind == "log_density" else b.score_residual)(at0, at)
            theirs = ht.heat_ball_residual(g, x, tau, kind=kind, scaled=False, **process, **rule)
            assert np.max(np.abs(ours - theirs.detach().numpy())) < 1e-12
            scaled = ht.heat_ball_residual(g, x, tau, kind=kind, **process, **rule).detach().numpy()
            assert np.allclose(scaled, (b.scale if kind == "log_density" else b.scale[:, None]) * ours, rtol=1e-9, atol=1e-9)


def test_a_reference_under_an_affine_drift():
    """dx = (0.5 - 2 x) dtau + sqrt(2) dW from N(1, 0.3): mean 0.25 + 0.75 e^-2tau, variance 0.5 - 0.2 e^-4tau."""
    x, tau = anchors(1)
    b = heatball.balls(x, tau, drift="0.5 - 2*x", mean=[1.0], covariance=[[0.3]], time_fraction=0.3)
    for y, t, v in ((b.x[:, :, 0], b.tau, b.reference), (x.numpy()[:, 0], tau.numpy(), b.reference0)):
        variance = 0.5 - 0.2 * np.exp(-4 * t)
        exact = -0.5 * ((y - 0.25 - 0.75 * np.exp(-2 * t))**2 / variance + np.log(2 * np.pi * variance))
        assert np.max(np.abs(v - exact)) < 1e-12
    assert np.max(np.abs(b.residual(np.zeros(7), np.zeros(b.tau.shape)))) < 1e-12


def random_network(dim, outputs=1):
    torch.manual_seed(5)
    net = torch.nn.Sequential(torch.nn.Linear(dim + 1, 24), torch.nn.SiLU(), torch.nn.Linear(24, 24), torch.nn.SiLU(),
                              torch.nn.Linear(24, outputs)).double()
    return net, lambda x, tau: 4 * net(torch.cat([2 * x, torch.log(tau)[:, None]], 1))


@pytest.mark.parametrize("process", [{"process": "ou"}, {"process": "ve"}, {"drift": MATRIX}, {"drift": ROTATING},
                                     {"drift": "y - t*x, -x - y + sin(3*t)"}])
def test_small_balls_tend_to_the_equation(process):
    _, f = random_network(2)
    x, tau = anchors(2)
    for kind, g in (("log_density", f), ("score", gradient_of(lambda *at: f(*at)[:, 0]))):
        point = ht.fokker_planck_residual(g, x, tau, kind=kind, **process).detach()
        apart = [float((ht.heat_ball_residual(g, x, tau, kind=kind, time_fraction=share, **process).detach() - point).abs().max())
                 for share in (3e-3, 3e-4)]
        assert float(point.abs().max()) > 0.1
        assert apart[1] < 0.003 * float(point.abs().max())
        assert apart[1] < 0.2 * apart[0]  # in proportion to the share


def test_the_pointwise_residual_of_exact_densities_vanishes():
    for name, dim in CASES:
        f, process, _ = case(name, dim)
        x, tau = anchors(dim, 3)
        for kind, g in (("log_density", f), ("score", gradient_of(f))):
            assert float(ht.fokker_planck_residual(g, x, tau, kind=kind, **process).detach().abs().max()) < 1e-8


# ---- the loss of the library -----------------------------------------------------------------------

class Network(torch.nn.Module):
    """docs/reference/models.md in torch: w = k N of the energy head, q = (k/sqrt b) N of the score head, dim <= 3."""

    def __init__(self, path):
        super().__init__()
        self.about, self.arrays = read_safetensors(path)
        depth = int(self.about["depth"])
        self.layers = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.tensor(self.arrays[f"layer{i}.{part}"]))
             for i in range(depth + 1) for part in ("weight", "bias")])
        self.mean = torch.tensor(self.arrays["reference.mean"])
        axes, variance = self.arrays["reference.axes"], self.arrays["reference.variance"]
        self.moments = {"mean": self.arrays["reference.mean"], "covariance": axes.T * variance @ axes}
        self.spread = variance.mean()

    def forward(self, z, tau):
        if self.about["process"] == "ou":
            a, b, k = torch.exp(-tau), -torch.expm1(-2 * tau), torch.exp(-2 * tau)
        else:
            a, b, k = torch.ones_like(tau), 2 * tau, 1 / (1 + 2 * tau / self.spread)
        sigma = torch.sqrt(a * a * self.spread + b)
        low, high = math.log(float(self.about["tau_min"]) / 4), math.log(float(self.about["tau_max"]))
        q = torch.clamp((torch.log(tau) - low) / (high - low), 0, 1)
        phi = [math.sqrt(3) * (2 * q - 1)] + [math.sqrt(2) * torch.cos(j * math.pi * q)
                                              for j in range(1, int(self.about["time_features"]))]
        h = torch.cat([(z - a[:, None] * self.mean) / sigma[:, None], torch.stack(phi, 1)], 1)
        layers = list(self.layers)
        for i in range(0, len(layers) - 2, 2):
            h = torch.nn.functional.silu(torch.nn.functional.linear(h, layers[i], layers[i + 1]))
        out = torch.nn.functional.linear(h, *layers[-2:])
        return k * out[:, 0] if self.about["head"] == "energy" else (k / torch.sqrt(b))[:, None] * out


def of_the_library(path, process, head, dim, share):
    """Return loss and gradient of the library for the model it writes to path, and a function that has them in torch."""
    run = subprocess.run([DRIVER, str(dim), process, head, repr(share), str(path)], capture_output=True, check=True)
    numbers = np.frombuffer(run.stdout)
    n, d, parameters, first, seed = map(int, numbers[:5])
    loss, rest = numbers[5], numbers[6:]
    z, tau, gradient = torch.tensor(rest[:n * d].reshape(n, d)), torch.tensor(rest[n * d:n * (d + 1)]), rest[n * (d + 1):]
    assert d == dim and len(gradient) == parameters
    rule = {"directions": 3} if dim > 64 else {}

    def here(dtype=torch.float64):
        net = Network(path).to(dtype)
        net.mean = net.mean.to(dtype)
        ours = ht.heat_ball_loss(lambda x, t: net(x.to(dtype), t.to(dtype)), z, tau, process=process, time_fraction=share, seed=seed,
                                 first=first, kind="log_density" if head == "energy" else "score", beyond=True,
                                 **net.moments, **rule)
        ours.backward()
        return float(ours), torch.cat([p.grad.reshape(-1) for p in net.layers]).double().numpy()

    return loss, gradient, here


built = pytest.mark.skipif(not os.path.exists(DRIVER), reason="tests/loss_driver is not built")


@built
@pytest.mark.parametrize("process,head,dim,share", [
    ("ou", "energy", 2, 0.2), ("ve", "energy", 2, 0.2), ("ou", "energy", 8, 0.3), ("ou", "score", 2, 0.2),
    ("ve", "score", 3, 0.2), ("ou", "energy", 70, 0.3), ("ve", "energy", 70, 0.3)])
def test_loss_and_gradient_are_those_of_the_library(tmp_path, process, head, dim, share):
    """Balls of a fifth of the time and more: there float, which the library's networks have, is enough for five digits."""
    loss, gradient, here = of_the_library(tmp_path / "model.safetensors", process, head, dim, share)
    ours, slope = here()
    assert loss > 1e-3
    assert abs(ours / loss - 1) < 1e-5
    assert np.linalg.norm(slope - gradient) < 1e-5 * np.linalg.norm(gradient)


@built
@pytest.mark.parametrize("process,head,dim,share", [
    ("ou", "energy", 2, 0.03), ("ve", "energy", 2, 0.03), ("ou", "energy", 8, 0.02), ("ou", "score", 2, 0.03),
    ("ve", "score", 3, 0.03), ("ou", "energy", 70, 0.128 / 70), ("ve", "energy", 70, 0.128 / 70)])
def test_small_balls_differ_by_the_rounding_of_float(tmp_path, process, head, dim, share):
    """The default shares: R is small beside the values that it is a difference of. PyTorch in float is as far from
    PyTorch in double as the library is."""
    loss, gradient, here = of_the_library(tmp_path / "model.safetensors", process, head, dim, share)
    (exact, slope), (_, rounded) = here(), here(torch.float32)
    assert abs(loss - exact) < 1e-5
    assert np.linalg.norm(slope - gradient) < 1.5 * np.linalg.norm(slope - rounded) < 3e-3 * np.linalg.norm(slope)


@pytest.mark.parametrize("process,kind,least", [("ou", "log_density", 0.0392), ("ve", "log_density", 0.0392), ("ou", "score", 0)])
def test_small_tau_weigh_no_less_than_0_02(process, kind, least):
    """As hb_anchor_weight of the library: log-densities at tau = 0.001 count."""
    _, f = random_network(2, 1 if kind == "log_density" else 2)
    x, tau = torch.zeros(3, 2, dtype=torch.float64), torch.tensor([0.001, 0.01, 0.5], dtype=torch.float64)
    rho = ht.heat_ball_residual(f, x, tau, process=process, kind=kind).detach().reshape(3, -1)
    b = -torch.expm1(-2 * tau) if process == "ou" else 2 * tau
    huber = torch.where(rho.abs() <= 1, rho**2 / 2, rho.abs() - 0.5).mean(1)
    loss = ht.heat_ball_loss(f, x, tau, process=process, kind=kind)
    assert float(loss.detach()) == pytest.approx(float((torch.clamp(b, min=least) * huber).mean()), rel=1e-12)


# ---- gradients by x, dtypes, memory ----------------------------------------------------------------

@pytest.mark.parametrize("process", ["ou", "ve"])
@pytest.mark.parametrize("kind", ["log_density", "score"])
def test_gradients_by_the_anchors(process, kind):
    _, f = random_network(2, 1 if kind == "log_density" else 2)
    x, tau = anchors(2, 3)
    x.requires_grad_()
    loss = ht.heat_ball_loss(f, x, tau, kind=kind, process=process)
    loss.backward()
    for i, k in ((0, 0), (1, 1), (2, 0)):
        step = torch.zeros_like(x)
        step[i, k] = 1e-5
        sides = [float(ht.heat_ball_loss(f, x.detach() + sign * step, tau, kind=kind, process=process)) for sign in (1, -1)]
        assert abs((sides[0] - sides[1]) / 2e-5 - float(x.grad[i, k])) < 1e-6 * (1 + abs(float(x.grad[i, k])))


def test_anchors_that_nodes_cannot_follow_are_refused():
    x = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    for options in ({"drift": ROTATING}, {"mean": [0, 0], "covariance": np.eye(2)}):
        with pytest.raises(heatball.ArgumentError, match="x requires a gradient"):
            ht.heat_ball_loss(rotating, x, 0.3, **options)


def test_memory_is_shared():
    for dtype in (np.float64, np.float32):
        for kind in ("log_density", "score"):
            b = heatball.balls(RNG.standard_normal((5, 3)), 0.4, kind=kind, mean=np.zeros(3), covariance=np.eye(3),
                               dtype=dtype)
            names = ["x", "tau", "weights", "reference", "reference0", "scale"] + ["arms", "factor"] * (kind == "score")
            for name in names:
                mine = getattr(b, name)
                assert mine.dtype == dtype
                for theirs in (torch.from_numpy(mine), torch.from_dlpack(mine)):
                    assert theirs.data_ptr() == mine.ctypes.data
                    kept = mine.flat[0]
                    theirs.view(-1)[0] = 42
                    assert mine.flat[0] == 42
                    mine.flat[0] = kept


def test_float32_networks_have_the_same_loss():
    net, f = random_network(3)
    x, tau = anchors(3)
    exact = float(ht.heat_ball_loss(f, x, tau, time_fraction=0.2))
    net.float()
    assert abs(float(ht.heat_ball_loss(f, x.float(), tau.float(), time_fraction=0.2)) / exact - 1) < 1e-4
    rounded = heatball.balls(x, tau, dtype=np.float32)
    assert np.array_equal(rounded.x, heatball.balls(x, tau).x.astype(np.float32))


# ---- adapters --------------------------------------------------------------------------------------

def gaussian_score(x, tau, process, variance=0.49):
    a, b = (np.exp(-tau), 1 - np.exp(-2 * tau)) if process == "ou" else (np.ones_like(tau), 2 * tau)
    return -x / (a * a * variance + b)[:, None]


def test_adapters_give_the_score():
    """Rows of N(0, 0.49): noise, denoiser and score of every convention in closed form."""
    V = 0.49
    x, tau = RNG.standard_normal((6, 2)), np.linspace(0.1, 1.2, 6)
    alphas = np.cumprod(1 - np.linspace(1e-4, 0.06, 300))
    level = lambda t: torch.tensor(np.interp(t.numpy(), np.arange(300), np.log(alphas))).exp()  # noqa: E731
    column = lambda values: values[:, None]  # noqa: E731

    def eps(y, t):
        alpha = column(level(t))
        return y * torch.sqrt(1 - alpha) / (alpha * V + 1 - alpha)

    def eps_of_betas(y, t):
        alpha = column(torch.exp(-(0.1 * t + 19.9 * t**2 / 2)))
        return y * torch.sqrt(1 - alpha) / (alpha * V + 1 - alpha)

    def denoiser(y, sigma):
        return y * V / column(V + sigma**2)

    def inner(y, noise, own=0.5):  # EDM's F with c_in y
        sigma2 = torch.exp(4 * noise)**2
        total = sigma2 + own**2
        plain = y * column(torch.sqrt(total))
        D = denoiser(plain, torch.sqrt(sigma2))
        return (D - plain * column(own**2 / total)) * column(torch.sqrt(total) / (torch.sqrt(sigma2) * own))

    def vp_score(y, t):
        alpha = column(torch.exp(-(0.1 * t + 19.9 * t**2 / 2)))
        return -y / (alpha * V + 1 - alpha)

    def ou_denoiser(y, s):
        a = column(torch.exp(-s))
        return y * a * V / (a * a * V + 1 - a * a)

    for f, process in ((ht.from_eps(eps, alphas), "ou"), (ht.from_eps(eps_of_betas, betas=(0.1, 20)), "ou"),
                       (ht.from_edm(denoiser), "ve"), (ht.from_edm(inner, sigma_data=0.5), "ve"),
                       (ht.from_denoiser(ou_denoiser, process="ou"), "ou"),
                       (ht.from_score(vp_score, time=(0.1, 20)), "ou"),
                       (ht.from_score(lambda y, s: -y / column(V + s**2), process="ve", time="sigma"), "ve")):
        assert (f.kind, f.process) == ("score", process)
        exact = gaussian_score(x, tau, process, V)
        found = f(x, tau)
        assert isinstance(found, np.ndarray) and np.allclose(found, exact, rtol=1e-9)
        assert np.allclose(f(torch.tensor(x), torch.tensor(tau)).numpy(), exact, rtol=1e-9)
        assert np.allclose(f(x, 0.3), gaussian_score(x, np.full(6, 0.3), process, V), rtol=1e-9)
        assert float(ht.heat_ball_residual(f, torch.tensor(x), torch.tensor(tau), kind="score", process=f.process).abs().max()) < 0.02
    whole = ht.from_eps(eps, alphas, whole=True)
    assert np.allclose(whole(x, tau), gaussian_score(x, tau, "ou"), rtol=0.02)
    with pytest.raises(heatball.ArgumentError, match="tau is 9; the times of the network have tau from"):
        ht.from_eps(eps, alphas)(x, 9.0)


def test_adapters_say_what_they_are():
    """Kind and process of an adapter are taken from it; another process is refused, here and by the package's calls."""
    x, tau = torch.randn(5, 2, dtype=torch.float64), torch.full((5,), 0.3, dtype=torch.float64)
    bare = lambda x, tau: -x / (1 + 2 * tau[:, None])  # noqa: E731 -- of N(0, 1) under ve
    f = ht.from_score(bare, process="ve")
    for call in (ht.heat_ball_loss, ht.heat_ball_residual, ht.fokker_planck_residual):
        assert torch.equal(call(f, x, tau), call(bare, x, tau, kind="score", process="ve"))
        with pytest.raises(heatball.ArgumentError, match="process is 'ou'; f is of the process 've': give process='ve'"):
            call(f, x, tau, process="ou")
        with pytest.raises(heatball.ArgumentError, match='kind="score"'):
            call(bare, x, tau)
    assert ht.fokker_planck_residual(f, x, tau).abs().max() < 1e-12
    rows = x.numpy()
    for call in (lambda: heatball.log_likelihood(f, rows), lambda: heatball.generate(f, 3, dim=2),
                 lambda: heatball.residual(f, rows, 0.3, [0.1]), lambda: heatball.evaluate(f, np.tile(rows, (2, 1))),
                 lambda: heatball.score_error(f, "ring", 0.3), lambda: heatball.certify(f, np.tile(rows, (40, 1)))):
        with pytest.raises(heatball.ArgumentError, match="is of the process 've'"):
            call()
    assert heatball.metrics.curl(f, rows, 0.3)[0] < 1e-9


def test_images_and_modules_and_log_densities():
    net = torch.nn.Conv2d(1, 1, 3, padding=1)  # float32
    f = ht.from_score(lambda x, tau: net(x), shape=(1, 4, 4), dtype=torch.float32)
    assert f(np.zeros((3, 16)), 0.2).shape == (3, 16)
    class Energy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor(2.0))

        def forward(self, x, tau):
            return -0.5 * self.scale * (x**2).sum(1, keepdim=True)
    g = ht.from_log_density(Energy())
    assert g(np.ones((3, 2)), 0.2).tolist() == [-2, -2, -2]
    assert g.score(np.ones((3, 2)), 0.2).tolist() == [[-2, -2]] * 3


# ---- what is refused -------------------------------------------------------------------------------

def test_refusals():
    x = np.zeros((3, 2))
    for arguments, options, match in (
            ((x, [0.1, 0.2]), {}, "tau has shape"), ((x, 0.0), {}, "tau of anchor 1 is 0"),
            ((x * np.nan, 0.1), {}, "not finite"), ((x[0], 0.1), {}, "x has 1 axis"), ((x, 0.1), {"kind": "v"}, "kind is 'v'"),
            ((x, 0.1), {"degree": 4, "pairs": 3}, "both given"), ((x, 0.1), {"degree": 2}, "degree is 2"),
            ((x, 0.1), {"pairs": 0}, "pairs is 0"), ((x, 0.1), {"time_fraction": 2}, "time_fraction is 2"),
            ((x, 0.1), {"process": "drift"}, "drift goes with"), ((x, 0.1), {"params": {"a": 1}}, "without drift"),
            ((x, 0.1), {"mean": [0, 0]}, "give both or none"), ((x, 0.1), {"drift": "x, y, z"}, "3"),
            ((x, 0.1), {"drift": ROTATING, "mean": [0, 0], "covariance": np.eye(2)}, "no Gaussian solves"),
            ((x, 0.1), {"drift": np.eye(3)}, "must be"), ((x, 0.1), {"directions": 1, "kind": "score"}, "directions are for log-densities"),
            ((x, 0.1), {"slope": np.zeros((2, 2))}, "slope has shape"), ((x, 0.1), {"dtype": np.int32}, "dtype")):
        with pytest.raises(heatball.ArgumentError, match=match):
            heatball.balls(*arguments, **options)
    with pytest.raises(TypeError, match="drift is a function"):
        heatball.balls(x, 0.1, drift=lambda y: y)
    b = heatball.balls(x, 0.1)
    with pytest.raises(heatball.ArgumentError, match="w has shape"):
        b.residual(np.zeros(3), np.zeros((3, 5)))
    with pytest.raises(heatball.ArgumentError, match="take residual"):
        b.score_residual(x, b.x)
    assert heatball.balls(np.zeros((0, 2)), 0.3).x.shape == (0, 4, 2)
    t = torch.zeros(3, 2, dtype=torch.float64)
    for call, error, match in (
            (lambda: ht.heat_ball_loss(lambda x, tau: x, t, 0.1), heatball.ArgumentError, "f returned a tensor of shape"),
            (lambda: ht.heat_ball_loss(lambda x, tau: 3, t, 0.1), TypeError, "must return a tensor"),
            (lambda: ht.heat_ball_loss(rotating, x, 0.1), TypeError, "x is an array"),
            (lambda: ht.heat_ball_loss(rotating, t, 0.1, beyond=True), heatball.ArgumentError, "no reference"),
            (lambda: ht.heat_ball_loss(rotating, t.half(), 0.1), heatball.ArgumentError, "x is torch.float16"),
            (lambda: ht.heat_ball_loss(3, t, 0.1), TypeError, "must be a function"),
            (lambda: ht.from_eps(rotating), TypeError, "either"),
            (lambda: ht.from_score(rotating, process="vp"), heatball.ArgumentError, "process is 'vp'")):
        with pytest.raises(error, match=match):
            call()


def test_errors_of_the_network_pass_through():
    class Own(Exception):
        pass

    def f(x, tau):
        raise Own("mine")
    with pytest.raises(Own, match="mine"):
        ht.heat_ball_loss(f, torch.zeros(1, 1), 0.3)


def test_without_torch_there_is_a_sentence():
    code = "import sys; sys.modules['torch'] = None; import heatball; import heatball.torch"
    package = str(pathlib.Path(heatball.__file__).parents[1])
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": package})
    assert run.returncode == 1 and "heatball.torch needs PyTorch" in run.stderr and "python3-torch" in run.stderr


def test_directions_are_for_log_densities():
    """Of a score they are refused by that name, before the function is asked."""
    x, tau = np.zeros((3, 80)), np.full(3, 0.5)
    with pytest.raises(heatball.ArgumentError, match="directions are for log-densities; of a score take"):
        heatball.balls(x, tau, kind="score", directions=4)
    with pytest.raises(heatball.ArgumentError, match="directions are for log-densities; of a score take"):
        ht.heat_ball_residual(lambda x, tau: -x, torch.from_numpy(x), torch.from_numpy(tau), kind="score", directions=4)

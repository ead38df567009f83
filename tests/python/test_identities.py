"""The mean-value identities: sampled averages against functions whose values are known.

Forward time tau, anchor (x0, tau0), ball of radius r with r^2 < 4 pi tau0. For caloric theta,
theta(x0, tau0) = E_kappa[theta(x0 + r z, tau0 - r^2 sigma)]. For smooth F with h = (d_tau - Lap) F
    F      = E_kappa[F] + (C1 r^2/4) E_source[h(x0 + rho z, tau0 - rho^2 sigma)],  rho = r sqrt(U)
    grad F = E_kappa[grad F] + c_g r E_gradient[(z/|z|) h(...)],                   rho = r U
    u      = E_kappa[u] - c_g r E_gradient[(G . z/|z|) u(...)] when h_u = -div(G u), rho = r U
with the left-hand sides at (x0, tau0).
"""

import numpy as np
import pytest

import heatball

N = 200000
RADIUS, TAU0 = 1.385, 0.71


def point(dim):
    return 0.4 - 0.23 * np.cos(np.arange(dim) * 1.7)


def kappa_nodes(dim, lift=0, radius=RADIUS, seed=1, n=N):
    z, sigma = heatball.ball.sample("kappa", dim, n, lift=lift, radius=radius, seed=seed)
    return point(dim) + z, TAU0 - sigma


def shrunk_nodes(measure, dim, power, lift=0, seed=2, n=N):
    """Return nodes at rho = r U^power, and the directions."""
    z, sigma = heatball.ball.sample(measure, dim, n, lift=lift, seed=seed)
    rho = RADIUS * heatball.random.uniform(n, seed=seed + 100)**power
    direction = z / np.linalg.norm(z, axis=1)[:, None]
    return point(dim) + rho[:, None] * z, TAU0 - rho**2 * sigma, direction


def agree(exact, *terms):
    """Check sum of the terms' means within 5 standard errors, componentwise."""
    mean = sum(np.mean(t, axis=0) for t in terms)
    error = np.sqrt(sum(np.var(t, axis=0) / len(t) for t in terms))
    assert (np.abs(mean - exact) < 5 * error).all(), (mean, exact, error)
    assert (error < 0.1).all()


def anchored(function, dim):
    """The function at the anchor itself."""
    return function(point(dim)[None, :], np.array([TAU0]))[0]


def slope(dim):
    """A wave vector with components along the first and the last axis."""
    a = np.zeros(dim)
    a[0] += 1.1
    a[-1] += 0.4
    return a


CALORIC = {
    "exponential": lambda x, tau: np.exp(x @ slope(x.shape[1])
                                         + (slope(x.shape[1])**2).sum() * tau),
    "square": lambda x, tau: (x**2).sum(1) + 2 * x.shape[1] * tau,
    "quartic": lambda x, tau: x[:, 0]**4 + 12 * x[:, 0]**2 * tau + 12 * tau**2,
    "cubic": lambda x, tau: x[:, -1]**3 + 6 * x[:, -1] * tau,
    "wave": lambda x, tau: np.exp(-1.3**2 * tau) * np.sin(1.3 * x[:, 0]),
}


@pytest.mark.parametrize("dim, lift", [(1, 0), (2, 0), (3, 0), (7, 0), (16, 0), (65, 0), (1, 2),
                                       (2, 5), (3, 300)])
@pytest.mark.parametrize("name", CALORIC)
def test_a_caloric_function_is_its_mean_under_kappa(name, dim, lift):
    function = CALORIC[name]
    agree(anchored(function, dim), function(*kappa_nodes(dim, lift)))


def test_a_function_that_is_not_caloric_is_not():
    """The identity tests something: |x|^2 misses by E|z|^2 r^2 = 2 d E[sigma] r^2."""
    x, tau = kappa_nodes(3)
    values = (x**2).sum(1)
    miss = values.mean() - (point(3)**2).sum()
    expected = 6 * heatball.ball.constants(3)["mean_sigma"] * RADIUS**2
    assert miss == pytest.approx(expected, abs=5 * values.std() / np.sqrt(N))
    assert miss > 20 * values.std() / np.sqrt(N)


def wave(x, tau):
    return np.sin(x @ slope(x.shape[1])) * np.cos(2 * tau)


def wave_gradient(x, tau):
    a = slope(x.shape[1])
    return (np.cos(x @ a) * np.cos(2 * tau))[:, None] * a


def wave_source(x, tau):
    """(d_tau - Lap) wave"""
    a = slope(x.shape[1])
    return np.sin(x @ a) * (-2 * np.sin(2 * tau) + (a**2).sum() * np.cos(2 * tau))


@pytest.mark.parametrize("dim, lift", [(1, 0), (2, 0), (3, 0), (16, 0), (65, 0), (1, 3), (2, 14)])
def test_source_identity(dim, lift):
    x, tau, _ = shrunk_nodes("source", dim, 0.5, lift)
    factor = heatball.ball.constants(dim, lift)["C1"] * RADIUS**2 / 4
    agree(anchored(wave, dim), wave(*kappa_nodes(dim, lift)), factor * wave_source(x, tau))


@pytest.mark.parametrize("dim", [1, 2, 3, 16, 65])
def test_gradient_identity(dim):
    x, tau, direction = shrunk_nodes("gradient", dim, 1)
    factor = heatball.ball.constants(dim)["c_g"] * RADIUS
    agree(anchored(wave_gradient, dim), wave_gradient(*kappa_nodes(dim)),
          factor * direction * wave_source(x, tau)[:, None])


def spread(tau):
    return 1 + (0.37 - 1) * np.exp(-2 * tau)


def log_density(x, tau):
    """Ornstein-Uhlenbeck, drift -x: Gaussian of mean 0.8 e^-tau, variance 1 - 0.63 e^-2tau."""
    y = x - 0.8 * np.exp(-tau)[:, None]
    return -(y**2).sum(1) / (2 * spread(tau)) - x.shape[1] / 2 * np.log(2 * np.pi * spread(tau))


def score(x, tau):
    return -(x - 0.8 * np.exp(-tau)[:, None]) / spread(tau)[:, None]


def log_density_source(x, tau):
    """h_v = |grad v|^2 - F.grad v - div F with F = -x."""
    s = score(x, tau)
    return (s**2).sum(1) + (x * s).sum(1) + x.shape[1]


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_density_without_derivatives(dim):
    """u = E_kappa[u] - c_g r E_gradient[(F . direction) u], F = -x."""
    def density(x, tau):
        return np.exp(log_density(x, tau))

    x, tau, direction = shrunk_nodes("gradient", dim, 1)
    drift = -(x * direction).sum(1) * density(x, tau)
    factor = heatball.ball.constants(dim)["c_g"] * RADIUS
    agree(anchored(density, dim), density(*kappa_nodes(dim)), -factor * drift)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_log_density_and_score(dim):
    constants = heatball.ball.constants(dim)
    x, tau, _ = shrunk_nodes("source", dim, 0.5)
    agree(anchored(log_density, dim), log_density(*kappa_nodes(dim)),
          constants["C1"] * RADIUS**2 / 4 * log_density_source(x, tau))
    x, tau, direction = shrunk_nodes("gradient", dim, 1)
    agree(anchored(score, dim), score(*kappa_nodes(dim)),
          constants["c_g"] * RADIUS * direction * log_density_source(x, tau)[:, None])

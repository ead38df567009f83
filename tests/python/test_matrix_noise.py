"""Linear drifts under a noise that is a matrix G(t), of any rank: the Gaussian of the closed form, to rounding."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import heatball


def gaussian(x, mean, cov):
    """ln density and score at x[n][d]."""
    gap = np.atleast_2d(x) - mean
    factor = np.linalg.cholesky(cov)
    y = np.linalg.solve(factor, gap.T)
    score = -np.linalg.solve(factor.T, y).T
    log = -0.5 * (y**2).sum(0) - np.log(np.diag(factor)).sum() - len(mean) / 2 * np.log(2 * np.pi)
    return log, score


def noise_integral(A, G, t, start):
    """e^(At) S e^(A't) + int e^(As) G G' e^(A's) ds, by the exponential of a block matrix (Van Loan)."""
    d = len(A)
    block = np.block([[-A, G @ G.T], [np.zeros((d, d)), A.T]])
    E = expm(block * t)
    move = E[d:, d:].T
    return move, move @ start @ move.T + move @ E[:d, d:]


def text(matrix):
    return "; ".join(", ".join(f"{v!r}" for v in row) for row in np.asarray(matrix).tolist())


def linear(A):
    return ", ".join(" + ".join(f"({v!r})*x{j + 1}" for j, v in enumerate(row)) for row in A.tolist())


def check(solution, log, score, slack=1e-9):
    """Within the claimed errors, which are small."""
    assert np.all(np.abs(solution.log_density - log) <= solution.log_density_error + 1e-11)
    assert np.all(np.abs(solution.score - score) <= solution.score_error + 1e-11 * (1 + np.abs(score)))
    assert np.all(solution.log_density_error < slack)
    assert "nothing is drawn" in solution.note


def test_linear_oscillator():
    A = np.array([[0.1, 1], [-1, -0.1]])
    G = np.array([[np.sqrt(0.6), 0], [0, 0]])
    x = np.array([[0.5, 0.5], [1, -0.7], [3, 2.2]])
    for t in (0.01, 1.0, 7.3):
        s = heatball.solve(drift=linear(A), noise="sqrt(0.6), 0", initial=f"gaussian(mean=1 1, var={1 / 9!r})",
                           time=t, at=x)
        move, cov = noise_integral(A, G, t, np.eye(2) / 9)
        check(s, *gaussian(x, move @ [1, 1], cov))
        assert s.method == "walk"


@pytest.mark.parametrize("t", [1e-6, 1e-3, 1.0, 30.0])
def test_kolmogorov_from_a_narrow_start(t):
    """dq = p dt, dp = dW: the covariance of the noise is [[t^3/3, t^2/2], [t^2/2, t]], without cancellation."""
    narrow = 1e-3 * t**3  # of both variances: what counts is the noise's
    s = heatball.solve(drift="y, 0", noise="0; 1", initial=f"gaussian(mean=0.3 -0.2, var={narrow!r})",
                       time=t, at=[[0.3 - 0.2 * t + 0.4 * t**1.5, -0.2 + 0.3 * t**0.5]])
    move = np.array([[1, t], [0, 1]])
    cov = np.array([[t**3 / 3, t**2 / 2], [t**2 / 2, t]]) + narrow * move @ move.T
    scale = np.array([t**1.5, t**0.5])  # the truth is computed in units of order 1
    log, score = gaussian((s.x - move @ [0.3, -0.2]) / scale, np.zeros(2), cov / np.outer(scale, scale))
    # the point itself is rounded: its distance from the mean has lost digits at t = 1e-6, and the error says so
    assert np.abs(s.log_density - log + np.log(scale).sum())[0] <= s.log_density_error[0] + 1e-12
    assert np.all(np.abs(s.score - score / scale) <= s.score_error + 1e-12 * np.abs(score / scale))
    assert s.log_density_error[0] < (1e-5 if t < 1e-5 else 1e-9)


def test_one_noise_for_fifty_axes():
    d, t = 50, 1.0
    s = heatball.solve(drift="-1", noise="; ".join(["0.5"] * d), initial="gaussian(mean=0.7, var=0.5)", dim=d,
                       time=t, at=np.array([np.full(d, -0.2), np.linspace(-1, 1, d)]))
    cov = 0.5 * np.eye(d) + 0.25 * t * np.ones((d, d))
    check(s, *gaussian(s.x, np.full(d, 0.7 - t), cov))


def turning(d, seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    gamma = rng.uniform(1, 1.1, d)
    gamma[d // 2:] = 1 / gamma[d // 2:]
    return Q.T * gamma


@pytest.mark.parametrize("d", [3, 200])
def test_turning_noise(d):
    """dx = (A + t I) dW from N(0, I): Sigma = (1 + t^3/3) I + t A A' + t^2/2 (A + A')."""
    A, t = turning(d, 4), 1.01
    noise = "; ".join(", ".join(f"{v!r}" + (" + t" if i == j else "") for j, v in enumerate(row))
                      for i, row in enumerate(A.tolist()))
    x = np.random.default_rng(5).normal(size=(4, d)) * 1.3
    s = heatball.solve(drift="0", dim=d, noise=noise, initial="gaussian(mean=0, var=1)", time=t, at=x,
                       method="walk")
    cov = (1 + t**3 / 3) * np.eye(d) + t * A @ A.T + t**2 / 2 * (A + A.T)
    check(s, *gaussian(x, np.zeros(d), cov))


def test_drift_and_noise_that_depend_on_time():
    """A(t) and G(t), one noise for two axes, against an integration of the moments by SciPy."""
    s = heatball.solve(drift="-x + sin(3*t)*y + t, -cos(t)*x - 0.3*y", noise="exp(-t); 0.5*t",
                       initial="gaussian(mean=1 -1, var=0.2)", time=1.7, at=[[0.4, -0.6], [1.5, 0.3]])

    def moments(t, y):
        A = np.array([[-1, np.sin(3 * t)], [-np.cos(t), -0.3]])
        G = np.array([[np.exp(-t)], [0.5 * t]])
        C = y[2:].reshape(2, 2)
        return np.concatenate([A @ y[:2] + [t, 0], (A @ C + C @ A.T + G @ G.T).ravel()])

    y = solve_ivp(moments, (0, 1.7), [1, -1, 0.2, 0, 0, 0.2], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    log, score = gaussian(s.x, y[:2], y[2:].reshape(2, 2))
    assert np.allclose(s.log_density, log, rtol=0, atol=1e-9)
    assert np.allclose(s.score, score, rtol=0, atol=1e-9)
    assert np.all(s.log_density_error < 1e-10)


def test_stiff_rates():
    """A spring of rate 1e4 with friction 30, noise on the momentum alone."""
    A = np.array([[0, 1], [-1e4, -30.0]])
    s = heatball.solve(drift=linear(A), noise="0, 2", initial="gaussian(mean=0.1 0, var=0.01 1)", time=0.8,
                       at=[[0.001, 0.1], [-0.003, 0.2]])
    move, cov = noise_integral(A, np.diag([0, 2.0]), 0.8, np.diag([0.01, 1]))
    log, score = gaussian(s.x, move @ [0.1, 0], cov)
    assert np.allclose(s.log_density, log, rtol=0, atol=1e-7)  # that of the exponential in the truth
    assert np.allclose(s.score, score, rtol=1e-6)
    assert np.all(s.log_density_error < 1e-8)


def test_a_mixture_and_samples(tmp_path):
    A, G, t = np.array([[0, 1], [-0.5, -0.2]]), np.array([[0.0], [0.7]]), 0.9
    (tmp_path / "m.csv").write_text("weight,mean_1,mean_2,var_1,var_2\n0.3,1,0,0.1,0.2\n0.7,-1,0.5,0.3,0.1\n")
    x = np.array([[0.2, -0.3], [-0.9, 0.4]])
    s = heatball.solve(drift=linear(A), noise="0; 0.7", initial=f"mixture({tmp_path}/m.csv)", time=t, at=x)
    parts = []
    for w, mean, var in ((0.3, [1, 0], [0.1, 0.2]), (0.7, [-1, 0.5], [0.3, 0.1])):
        move, cov = noise_integral(A, G, t, np.diag(var))
        parts.append(np.log(w) + gaussian(x, move @ mean, cov)[0])
    assert np.allclose(s.log_density, np.logaddexp(*parts), rtol=0, atol=1e-10)


def test_lost_digits_are_doubted():
    """A noise along one line and a start of no width across it: nothing is left of the digits, and no error is claimed."""
    s = heatball.solve(drift="0, 0", noise="1; 1", initial="gaussian(mean=0, var=1e-17)", time=1, at=[[0.3, 0.3]])
    assert np.isinf(s.log_density_error[0]) or s.log_density_error[0] > 0.01


def test_what_is_refused_names_another_method():
    with pytest.raises(heatball.ArgumentError, match="particles"):
        heatball.solve(drift="y, x - x^3", noise="0, 1", initial="gaussian(mean=0, var=1)", time=1, at=[[0, 0]],
                       method="walk")
    with pytest.raises(heatball.ArgumentError, match="particles"):
        heatball.solve(drift="y, x - x^3", noise="0, 1", initial="gaussian(mean=0, var=1)", time=1, at=[[0, 0]],
                       method="meanvalue")


def test_a_start_without_a_closed_form_is_drawn_through_a_singular_covariance():
    """dq = p, dp = -q + 0.7 dW for a short time from a quartic start; the last step has no spread along one direction
    at first order. Against a quadrature over the start."""
    A, G, t = np.array([[0, 1.0], [-1, 0]]), np.array([[0.0], [0.7]]), 0.4
    x = np.array([[0.3, 0.2], [-0.6, 0.5]])
    s = heatball.solve(drift="y, -x", noise="0; 0.7", initial=lambda x: -(x**4).sum(axis=1), dim=2, time=t, at=x,
                       method="walk", samples=100000)
    nodes, weights = np.polynomial.legendre.leggauss(160)
    nodes, weights = 2.6 * nodes, 2.6 * weights
    starts = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2)
    mass = np.outer(weights, weights).ravel() * np.exp(-(starts**4).sum(1))
    move, cov = noise_integral(A, G, t, np.zeros((2, 2)))
    for i in range(2):
        log, score = gaussian(x[i] - starts @ move.T, np.zeros(2), cov)
        part = mass / mass.sum() * np.exp(log)
        u = part.sum()
        assert abs(s.density[i] - u) < 4.5 * s.density_error[i] + 1e-3 * u  # the truth's own quadrature
        assert np.all(np.abs(s.score[i] - part @ score / u) < 4.5 * s.score_error[i] + 1e-2)
        assert s.density_error[i] < 0.02 * u


def test_one_noise_for_two_axes_without_a_drift_is_drawn_along_its_line():
    """The covariance of the last step has rank one."""
    s = heatball.solve(drift="0, 0", noise="0.6; 0.8", initial=lambda x: -(x**4).sum(axis=1), dim=2, time=1,
                       at=[[0.3, -0.2]], method="walk", samples=100000)
    z = np.linspace(-8, 8, 4001)
    line = np.array([[0.3, -0.2]]) + np.outer(z, [0.6, 0.8])
    grid = np.linspace(-3, 3, 2001)
    one = np.exp(-(grid**4)).sum() * (grid[1] - grid[0])
    u = (np.exp(-(line**4).sum(1)) * np.exp(-z * z / 2)).sum() * (z[1] - z[0]) / np.sqrt(2 * np.pi) / one**2
    assert abs(s.density[0] - u) < 4.5 * s.density_error[0] < 0.05 * u

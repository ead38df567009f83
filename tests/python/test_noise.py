"""Noise that is not one g(t): matrices, one for each axis, noise that depends on x, against closed forms by SciPy."""
import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.linalg import expm
from scipy.stats import invgamma, multivariate_normal, norm

import heatball


def gaussian_law(A, c, G, mean, cov, t):
    """Mean and covariance of dx = (A x + c) dt + G(s) dW at t."""
    def spread(s):
        M = expm(A * (t - s)) @ G(s)
        return M @ M.T

    E = expm(A * t)
    cov = E @ cov @ E.T + quad_vec(spread, 0, t, epsabs=1e-14, epsrel=1e-13)[0]
    return E @ mean + quad_vec(lambda s: expm(A * s) @ c, 0, t, epsabs=1e-14, epsrel=1e-13)[0], cov


def linear_text(A, c):
    return [" + ".join(f"({float(a)!r})*x{j + 1}" for j, a in enumerate(row)) + f" + ({float(b)!r})" for row, b in zip(A, c)]


def numbers_text(values):
    return " ".join(repr(float(v)) for v in np.ravel(values))


def check(s, mean, cov, x, digits=1e-10):
    """Exact answers: right to rounding and within their claims."""
    law, score = multivariate_normal(mean, cov), -np.linalg.solve(cov, (x - mean).T).T
    error = np.abs(s.log_density - law.logpdf(x))
    assert np.all(error < digits) and np.all(error <= s.log_density_error + 1e-11), error
    error = np.abs(s.score - score)
    assert np.all(error < digits * (1 + np.abs(score).max())) and np.all(error <= s.score_error + 1e-10), error
    assert np.allclose(s.density, law.pdf(x), rtol=1e-9)
    assert np.allclose(s.entropy_density, law.pdf(x) * law.logpdf(x), rtol=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_linear_drifts_with_random_matrices_are_exact(seed):
    rng = np.random.default_rng(seed)
    d, m = int(rng.integers(1, 6)), None
    m = d + int(rng.integers(0, 3))
    A, c = rng.normal(size=(d, d)) - np.eye(d), rng.normal(size=d)
    G = rng.normal(size=(d, m)) + 0.5 * np.eye(d, m)
    root = rng.normal(size=(d, d)) + np.eye(d)
    start, mean, t = 0.3 * root @ root.T + 0.1 * np.eye(d), rng.normal(size=d), rng.uniform(0.1, 1)
    law = gaussian_law(A, c, lambda s: G, mean, start, t)
    x = rng.multivariate_normal(*law, size=4)
    s = heatball.solve(linear_text(A, c), G, f"gaussian(mean={numbers_text(mean)}, var={numbers_text(start)})", t, x,
                       method="walk")
    check(s, *law, x)


@pytest.mark.parametrize("noise, G", [
    ("0.5, 2", lambda s: np.diag([0.5, 2])),
    ("-0.5, 2", lambda s: np.diag([-0.5, 2])),
    ("0.5*exp(-t), 2*exp(-t)", lambda s: np.exp(-s) * np.diag([0.5, 2])),
    ("exp(-t), 0.5*exp(-t); 0, -exp(-t)", lambda s: np.exp(-s) * np.array([[1, 0.5], [0, -1]])),
    ("1 + t, 0.3; 0.2*t, 1", lambda s: np.array([[1 + s, 0.3], [0.2 * s, 1]])),
    ("cos(3*t), sin(3*t); -sin(3*t), cos(3*t)", lambda s: np.eye(2)),
    ("1, 0.5, 0.2; 0, 1, t", lambda s: np.array([[1, 0.5, 0.2], [0, 1, s]])),
])
def test_matrices_that_move(noise, G):
    A, c, mean, start, t = np.array([[-1, 0.3], [0.2, -2]]), np.array([0.1, 0]), np.array([1, -0.5]), np.diag([0.2, 0.4]), 0.7
    law = gaussian_law(A, c, G, mean, start, t)
    x = law[0] + np.array([[0, 0], [1, 0], [0, -1], [-0.7, 0.7]]) @ np.linalg.cholesky(law[1]).T
    arguments = (linear_text(A, c), noise, "gaussian(mean=1 -0.5, var=0.2 0.4)", t, x)
    check(heatball.solve(*arguments, method="walk"), *law, x)
    s = heatball.solve(*arguments, method="grid")
    error = np.abs(s.log_density - multivariate_normal(*law).logpdf(x))
    assert np.all(error <= s.log_density_error) and np.all(s.log_density_error < 5e-4), (error, s.log_density_error)


@pytest.mark.parametrize("start", ["mixture", "uniform", "samples"])
@pytest.mark.parametrize("G", [np.diag([0.5, 1.5]), np.array([[1, 0.4], [-0.3, 0.8]])])
def test_starts_that_are_no_gaussians(start, G, tmp_path):
    """Brownian motion: the start convolved with N(0, t G G')."""
    t, x = 0.3, np.array([[0.2, -0.4], [1.1, 0.6]])
    cov = t * G @ G.T
    if start == "mixture":
        (tmp_path / "m.csv").write_text("weight,mean_1,mean_2,var_1,var_2\n1,-1,0,0.2,0.3\n3,0.7,0.4,0.5,0.1\n")
        spec = f"mixture({tmp_path}/m.csv)"
        truth = 0.25 * multivariate_normal([-1, 0], np.diag([0.2, 0.3]) + cov).pdf(x) \
            + 0.75 * multivariate_normal([0.7, 0.4], np.diag([0.5, 0.1]) + cov).pdf(x)
    elif start == "samples":
        rows = np.random.default_rng(5).normal(size=(50, 2))
        np.save(tmp_path / "s.npy", rows)
        spec, width = f"samples({tmp_path}/s.npy)", rows.std(axis=0, ddof=1) * 50 ** (-1 / 6)
        truth = np.mean([multivariate_normal(row, np.diag(width ** 2) + cov).pdf(x) for row in rows], axis=0)
    else:
        spec, nodes = "uniform(-1 0.5, 0 1)", np.polynomial.legendre.leggauss(60)
        a, b = np.meshgrid(-0.25 + 0.75 * nodes[0], 0.5 + 0.5 * nodes[0], indexing="ij")
        weights = np.outer(nodes[1], nodes[1]) / 4
        kernel = multivariate_normal([0, 0], cov)
        truth = np.array([np.sum(weights * kernel.pdf(np.stack([p[0] - a, p[1] - b], axis=-1))) for p in x])
    s = heatball.solve("0, 0", G, spec, t, x, method="walk", samples=200000)
    assert np.all(np.abs(s.density - truth) <= 5 * s.density_error + 1e-9 * truth), (s.density, truth, s.density_error)
    if start != "uniform" or G[0, 1] == 0:
        assert np.allclose(s.density, truth, rtol=1e-9)


def lamperti_gaussian(mean, var):
    """The log-density of x with y = a + b ln x ... normal, as a function of (x, y, dy/dx)."""
    return lambda y, slope: norm.logpdf(y, mean, np.sqrt(var)) + np.log(slope)


def coordinate(x):
    """int_0^x ds/(1 + 0.3 sin s)."""
    w = np.sqrt(1 - 0.09)
    turns = 2 * np.pi * np.floor((x + np.pi) / (2 * np.pi))
    return (2 * np.arctan((np.tan(x / 2) + 0.3) / w) + turns - 2 * np.arctan(0.3 / w)) / w


@pytest.mark.parametrize("noise, drift, y_of_x, b, x", [
    ("1 + 0.3*sin(x)", "0.15*cos(x)*(1 + 0.3*sin(x))", coordinate, lambda x: 1 + 0.3 * np.sin(x), [-0.6, 0.1, 1.0]),
    # y is a Brownian motion with these noises and drifts, by Ito's formula
    ("x", "0.5*x", np.log, lambda x: x, [0.4, 1.0, 2.5]),
    ("-(x - 3)", "0.5*(x - 3)", lambda x: -np.log(3 - x), lambda x: 3 - x, [2.7, 2.0, 0.5]),
    ("sqrt(1 + x^2)", "0.5*x", np.arcsinh, lambda x: np.sqrt(1 + x * x), [-1.5, 0.1, 2.0]),
    ("0.25 - x^2", "-x*(0.25 - x^2)", lambda x: 2 * np.arctanh(2 * x), lambda x: 0.25 - x * x, [-0.3, 0.02, 0.2]),
])
@pytest.mark.parametrize("method", ["grid", "walk", "particles"])
def test_noise_that_depends_on_x(noise, drift, y_of_x, b, x, method):
    """A start that is N(0.1, 0.09) in y, given in x as a function; then y ~ N(0.1, 0.09 + s^2 t)."""
    t, s2, x = 0.6, 0.25, np.array(x)

    def start(points):
        with np.errstate(all="ignore"):
            values = lamperti_gaussian(0.1, 0.09)(y_of_x(points[:, 0]), 1 / b(points[:, 0]))
        return np.where(np.isnan(values), -np.inf, values)

    truth = lamperti_gaussian(0.1, 0.09 + s2 * t)(y_of_x(x), 1 / b(x))
    s = heatball.solve(f"0.25*({drift})", f"0.5*({noise})", start, t, x, method=method)
    assert "Lamperti" in s.note
    assert np.all(np.abs(s.log_density - truth) <= 5 * s.log_density_error), (s.log_density, truth, s.log_density_error)
    if method == "grid":
        assert np.all(s.log_density_error < 1e-6), s.log_density_error
    h = 1e-5
    slope = (lamperti_gaussian(0.1, 0.09 + s2 * t)(y_of_x(x + h), 1 / b(x + h))
             - lamperti_gaussian(0.1, 0.09 + s2 * t)(y_of_x(x - h), 1 / b(x - h))) / (2 * h)
    assert np.all(np.abs(s.score[:, 0] - slope) <= 5 * s.score_error[:, 0] + 1e-6 * (1 + np.abs(slope)))


def test_outside_of_the_domain_there_is_nothing():
    s = heatball.solve("0.1*x", "0.2*x", "gaussian(mean=5, var=0.25)", 0.5, [-1.0, 0.0, 5.0], method="grid")
    assert list(s.density[:2]) == [0, 0] and list(s.density_error[:2]) == [0, 0] and s.density[2] > 0.1
    assert np.isneginf(s.log_density[:2]).all() and np.isnan(s.score[:2]).all()
    assert "outside of the domain" in s.warnings[0] and 2 not in s.warnings


def test_conventions():
    arguments = ("gaussian(mean=5, var=0.25)", 0.5, [3.0, 5.0, 7.0])
    ito = heatball.solve("-x + 0.5*0.16*x", "0.4*x", *arguments, method="grid")
    other = heatball.solve("-x", "0.4*x", *arguments, method="grid", convention="stratonovich")
    plain = heatball.solve("-x", "0.4*x", *arguments, method="grid", convention="ito")
    assert np.allclose(ito.log_density, other.log_density, atol=1e-9)
    assert np.abs(ito.log_density - plain.log_density).max() > 0.01
    # two axes, each noise its own; the correction of a constant noise is 0
    both = heatball.solve("-x, -y", "0.4*x, 1", "gaussian(mean=5 0, var=0.25)", 0.2, [[4.5, 0.1]], convention="stratonovich",
                          method="walk", samples=1000)
    assert "Lamperti" in both.note


def test_rotations_are_one_noise():
    """G G' = I: no frame is needed, and the answer is that of the noise 1."""
    turned = heatball.solve("x - x^3, -y", "0.6, 0.8; -0.8, 0.6", "gaussian(mean=0, var=1)", 0.5, [[0.4, 0.2]], method="grid")
    plain = heatball.solve("x - x^3, -y", 1, "gaussian(mean=0, var=1)", 0.5, [[0.4, 0.2]], method="grid")
    assert abs(turned.log_density[0] - plain.log_density[0]) < 1e-8
    same = heatball.solve("x - x^3, -y", "0.7, 0.7", "gaussian(mean=0, var=1)", 0.5, [[0.4, 0.2]], method="grid")
    one = heatball.solve("x - x^3, -y", 0.7, "gaussian(mean=0, var=1)", 0.5, [[0.4, 0.2]], method="grid")
    assert np.array_equal(same.log_density, one.log_density) and "coordinates" not in same.note


def test_drift_functions_with_a_matrix():
    G = np.array([[1, 0], [0.3, 0.8]])
    text = heatball.solve("-x + sin(y), -y", G, "gaussian(mean=0, var=0.5)", 0.3, [[0.2, 0.4]], method="grid")
    calls = heatball.solve(lambda x: np.stack([-x[:, 0] + np.sin(x[:, 1]), -x[:, 1]], axis=1), G,
                           "gaussian(mean=0, var=0.5)", 0.3, [[0.2, 0.4]], method="grid")
    assert np.allclose(text.log_density, calls.log_density, atol=1e-5)
    assert np.allclose(text.score, calls.score, atol=1e-4)
    linear = heatball.solve(lambda x: np.stack([-x[:, 0] + 0.5 * x[:, 1], -x[:, 1]], axis=1), G,
                            "gaussian(mean=0, var=0.5)", 0.3, [[0.2, 0.4]], method="walk", facts=["linear"])
    law = gaussian_law(np.array([[-1, 0.5], [0, -1]]), np.zeros(2), lambda s: G, np.zeros(2), 0.5 * np.eye(2), 0.3)
    check(linear, *law, np.array([[0.2, 0.4]]), 1e-8)


def test_a_nonlinear_drift_with_correlated_noise():
    """Grid, particles and walks agree."""
    arguments = ("x - x^3 + 0.3*y, -y - 0.5*x", "0.8, 0.2; 0.3, 0.6", "gaussian(mean=0.5 0, var=0.3)", 0.4,
                 [[0.3, 0.1], [-0.8, 0.4], [1.0, -0.6]])
    grid = heatball.solve(*arguments, method="grid")
    assert np.all(grid.log_density_error < 3e-4)
    for method in ("particles", "walk"):
        s = heatball.solve(*arguments, method=method)
        assert np.all(np.abs(s.log_density - grid.log_density) <= 5 * np.hypot(s.log_density_error, grid.log_density_error))
        assert np.all(np.abs(s.score - grid.score) <= 5 * np.hypot(s.score_error, grid.score_error))
        assert np.all(s.log_density_error < 0.1)


def test_trajectories_of_the_user_go_through_the_frame():
    """Exact paths of a geometric Brownian motion."""
    rng, n, t = np.random.default_rng(2), 20000, 0.5
    start = np.exp(0.2 * rng.normal(size=(n, 1)))
    steps = rng.normal(size=(n, 20)) * np.sqrt(t / 20) * 0.4
    paths = np.concatenate([start, start * np.exp(np.cumsum(steps, axis=1))], axis=1)
    x = np.array([0.7, 1.0, 1.6])

    def initial(points):
        with np.errstate(all="ignore"):
            return np.where(points[:, 0] > 0, -0.5 * (np.log(np.abs(points[:, 0])) / 0.2) ** 2 - np.log(np.abs(points[:, 0])), -np.inf)

    s = heatball.solve("0.08*x", "0.4*x", initial, t, x, method="particles", paths=paths)
    truth = norm.logpdf(np.log(x), 0, np.sqrt(0.04 + 0.16 * t)) - np.log(x)
    assert np.all(np.abs(s.log_density - truth) <= 5 * s.log_density_error) and np.all(s.log_density_error < 0.1)


@pytest.mark.parametrize("t", [1e-4, 0.1, 1.0])
@pytest.mark.parametrize("method", ["grid", "walk"])
def test_geometric_brownian_motion_from_a_point(t, method):
    x = 2 * np.exp(0.4 * np.sqrt(t) * np.array([-2, -0.5, 0, 1, 2.5]))
    s = heatball.solve("0.1*x", "0.4*x", "point(2)", t, x, method=method)
    truth = norm.logpdf(np.log(x / 2), (0.1 - 0.08) * t, 0.4 * np.sqrt(t)) - np.log(x)
    assert np.all(np.abs(s.log_density - truth) <= s.log_density_error + 1e-12) and np.all(s.log_density_error < 1e-6)
    slope = -(np.log(x / 2) - 0.02 * t) / (0.16 * t * x) - 1 / x
    assert np.all(np.abs(s.score[:, 0] - slope) <= s.score_error[:, 0] + 1e-12 * np.abs(slope))


@pytest.mark.parametrize("d", [2, 50])
@pytest.mark.parametrize("one_for_all", [False, True])
def test_geometric_brownian_motion_in_many_dimensions(d, one_for_all):
    """d ln X_i = -dt + 0.5 dW_i, or the same W for all, from ln X ~ N(0.7, 1/2): Gaussian in ln x, of any rank."""
    t = 0.8
    cov = 0.5 * np.eye(d) + 0.25 * t * (np.ones((d, d)) if one_for_all else np.eye(d))
    mean = np.full(d, 0.7 - t)
    y = np.random.default_rng(d).multivariate_normal(mean, cov, size=3)
    s = heatball.solve("(0.125 - 1)*x[i]", "0.5*x[i]" + (";" if one_for_all else ""), "product(exp(-(log(x) - 0.7)^2)/x)",
                       t, np.exp(y), dim=d, method="walk")
    law = multivariate_normal(mean, cov)
    assert "nothing is drawn" in s.note
    assert np.all(np.abs(s.log_density - (law.logpdf(y) - y.sum(axis=1))) <= s.log_density_error + 1e-11)
    slope = (-np.linalg.solve(cov, (y - mean).T).T - 1) / np.exp(y)
    assert np.all(np.abs(s.score - slope) <= s.score_error + 1e-10 * np.abs(slope))


def test_several_times_in_a_frame_that_moves():
    A, times, x = np.array([[-1, 0.3], [0, -2]]), [0.5, 0.0, 0.2], np.array([[0.5, 0.1], [1.2, 0.4]])
    for method in ("grid", "walk"):
        s = heatball.solve("-x + 0.3*y, -2*y", "1 + t, 0.3; 0.2*t, 1", "gaussian(mean=1 0, var=0.2)", times, x, method=method)
        for k, t in enumerate(times):
            law = gaussian_law(A, np.zeros(2), lambda s: np.array([[1 + s, 0.3], [0.2 * s, 1]]), np.array([1, 0]), 0.2 * np.eye(2), t)
            error = np.abs(s.log_density[k] - multivariate_normal(*law).logpdf(x))
            assert np.all(error <= s.log_density_error[k] + 1e-12) and np.all(s.log_density_error[k] < 1e-4)
            error = np.abs(s.score[k] + np.linalg.solve(law[1], (x - law[0]).T).T)
            assert np.all(error <= s.score_error[k] + 1e-12)


def test_noise_as_a_function():
    """A matrix that is one in every way but for the library, which solves with a tensor."""
    G = np.array([[1, 0], [0.3, 0.8]])
    law = gaussian_law(np.array([[-1, 0.3], [0, -2]]), np.zeros(2), lambda s: G, np.array([1, 0]), 0.2 * np.eye(2), 0.4)
    x = law[0] + np.array([[0, 0], [1, -0.5]]) @ np.linalg.cholesky(law[1]).T
    s = heatball.solve("-x + 0.3*y, -2*y", lambda x: np.broadcast_to(G, (len(x), 2, 2)), "gaussian(mean=1 0, var=0.2)", 0.4, x)
    error = np.abs(s.log_density - multivariate_normal(*law).logpdf(x))
    assert s.method == "grid" and np.all(error <= s.log_density_error) and np.all(s.log_density_error < 1e-3)
    s = heatball.solve("0", lambda x, t: np.full((len(x), 1, 2), 1 + t), "gaussian(mean=0, var=1)", 0.5, [0.0, 1.5])
    truth = norm.logpdf([0, 1.5], 0, np.sqrt(1 + 2 * (1.5 ** 3 - 1) / 3))
    assert np.all(np.abs(s.log_density - truth) <= s.log_density_error) and np.all(s.log_density_error < 1e-5)
    with pytest.raises(heatball.ArgumentError, match="take grid or auto"):
        heatball.solve("-x, -y", lambda x: np.broadcast_to(G, (len(x), 2, 2)), "gaussian(mean=0, var=1)", 0.4, x, method="walk")
    with pytest.raises(heatball.ArgumentError, match=r"shape \(1, 2\) at one point; it must be \(1, 2, m\)"):
        heatball.solve("-x, -y", lambda x: x, "gaussian(mean=0, var=1)", 0.4, x)


def test_stationary_densities_in_frames():
    x = np.array([0.5, 1.0, 3.0])
    s = heatball.solve("x*(1 - log(x))", "0.5*x", time=np.inf, at=x)  # ln x is OU: mean 7/8, variance 1/8
    assert np.allclose(s.log_density, norm.logpdf(np.log(x), 0.875, np.sqrt(0.125)) - np.log(x), atol=1e-10)
    s = heatball.solve("1 - x", "0.3*x", time=np.inf, at=x)
    assert np.allclose(s.log_density, invgamma.logpdf(x, 1 + 2 / 0.09, scale=2 / 0.09), atol=1e-9)
    G, A = np.array([[0.5, 1], [0.2, 0.8]]), np.array([[-1, 0.4], [-0.6, -0.7]])
    from scipy.linalg import solve_continuous_lyapunov
    cov = solve_continuous_lyapunov(A, -G @ G.T)
    at = np.array([[0.3, 0.2], [-0.5, 0.1]])
    s = heatball.solve(linear_text(A, [0, 0]), G, time=np.inf, at=at)
    check(s, np.zeros(2), cov, at)
    with pytest.raises(heatball.Error):
        heatball.solve("0.1*x", "0.5*x", time=np.inf, at=x)  # a Brownian motion in ln x has none


def test_walls_are_refused():
    with pytest.raises(heatball.ArgumentError, match="attainable boundary"):
        heatball.solve("1 - x", "0.5*sqrt(x)", "point(1)", 0.5, [1.0])

"""time = inf: stationary densities against closed forms and SciPy, and what must be refused."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.linalg import solve_continuous_lyapunov
from scipy.stats import multivariate_normal

import heatball

INF = float("inf")


def within(s, v, score, factor=1.0):
    """ln u and score within the claims, which are finite."""
    assert not s.warnings
    assert np.all(np.abs(s.log_density - v) <= factor * s.log_density_error), (s.log_density - v, s.log_density_error)
    assert np.all(np.abs(s.score - score) <= factor * s.score_error + 1e-12), (s.score - score, s.score_error)
    assert np.all(np.abs(s.density - np.exp(v)) <= factor * s.density_error * (1 + 1e-6) + 1e-15)


# ---- closed forms ----

@pytest.mark.parametrize("drift, force, potential, kinks", [
    ("x - x^3", lambda x: x - x**3, lambda x: x**4 / 4 - x**2 / 2, ()),
    ("-sign(x-0.3) - x/5", lambda x: -np.sign(x - 0.3) - x / 5, lambda x: abs(x - 0.3) + x * x / 10, (0.3,)),
    ("-x + 40", lambda x: 40 - x, lambda x: (x - 40)**2 / 2, (40,)),
    ("-tanh(x) + 0.2*cos(3*x)", lambda x: -np.tanh(x) + 0.2 * np.cos(3 * x),
     lambda x: math.log(math.cosh(x)) - 0.2 * math.sin(3 * x) / 3, ())])
def test_one_dimension_is_a_quadrature(drift, force, potential, kinks):
    g = 0.8
    x = np.array([-1.3, 0.0, 0.45, 2.2]) + (38 if kinks == (40,) else 0)
    ends = (-30, 30) if kinks != (40,) else (20, 60)
    least = min(potential(y) for y in x)
    total = quad(lambda y: math.exp(-2 * (potential(y) - least) / g**2), *ends, epsabs=1e-13, epsrel=1e-12,
                 limit=1000, points=kinks or None)[0]
    v = np.array([-2 * (potential(y) - least) / g**2 - math.log(total) for y in x])
    s = heatball.solve(drift, g, None, INF, x)
    assert s.method == "stationary" and s.time == INF and s.tau == INF
    assert np.allclose(s.log_density, v, rtol=1e-9, atol=1e-9)
    within(s, v, 2 * force(x)[:, None] / g**2, 200)  # quad is right to 1e-10, the claims are below
    assert np.all(s.log_density_error < 1e-8)


def test_gradients_in_the_plane_and_products_in_any_dimension():
    x = np.array([[0.5, 0.3], [-1.1, 0.8]])
    potential = lambda x, y: (x * x + y * y + x * x * y * y) / 2
    total = dblquad(lambda y, x: math.exp(-2 * potential(x, y)), -7, 7, -7, 7, epsabs=1e-11)[0]
    s = heatball.solve("-x-x*y^2, -y-x^2*y", 1, None, INF, x)
    v = -2 * potential(x[:, 0], x[:, 1]) - math.log(total)
    assert np.allclose(s.log_density, v, atol=1e-9) and np.all(s.log_density_error < 1e-9)
    line = quad(lambda y: math.exp(y * y - y**4 / 2), -9, 9, epsabs=1e-13)[0]
    x = np.array([[0.1 * k - 0.7 for k in range(12)]])
    s = heatball.solve("x[i] - x[i]^3", 1, None, INF, x, dim=12)
    assert s.method == "stationary"
    assert np.allclose(s.log_density, np.sum(x**2 - x**4 / 2) - 12 * math.log(line), atol=1e-9)
    assert np.allclose(s.score, 2 * (x - x**3), atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 5, 40])
def test_linear_drifts_have_the_gaussian_of_the_lyapunov_equation(dim):
    rng = np.random.default_rng(dim)
    A = rng.normal(size=(dim, dim)) / math.sqrt(dim) - 1.5 * np.eye(dim)
    c, g = rng.normal(size=dim), 0.9
    C = solve_continuous_lyapunov(A, -g * g * np.eye(dim))
    mean = -np.linalg.solve(A, c)
    x = mean + rng.normal(size=(3, dim))
    drift = [" + ".join(f"({A[i, j]!r})*x{j + 1}" for j in range(dim)) + f" + ({c[i]!r})" for i in range(dim)]
    drift = [str(text).replace("np.float64", "") for text in drift]
    for method in ("auto", "walk"):
        s = heatball.solve(drift, g, None, INF, x, dim=dim, method=method)
        v = np.atleast_1d(multivariate_normal(mean, C).logpdf(x))
        score = -np.linalg.solve(C, (x - mean).T).T
        assert np.allclose(s.log_density, v, rtol=1e-10, atol=1e-10)
        assert np.allclose(s.score, score, rtol=1e-9, atol=1e-9)
        assert np.all(s.log_density_error < 1e-7)


# ---- the grid ----

@pytest.mark.parametrize("drift, A, c, G", [
    ("-x+0.7*y, -0.4*x-1.3*y", [[-1, 0.7], [-0.4, -1.3]], [0, 0], [[0.9, 0], [0.5, 0.6]]),
    ("-2*x+y+1, -y+0.3*x", [[-2, 1], [0.3, -1]], [1, 0], [[1, 0], [0, 1]]),
    ("-x+30*y, -1.1*y", [[-1, 30], [0, -1.1]], [0, 0], [[1, 0], [0, 1]]),
    ("-0.7*x", [[-0.7]], [0], [[1.2]])])
def test_linear_drifts_by_particles(drift, A, c, G):
    """Their errors are rounding, or what the start leaves; rates that differ lose no digits unseen."""
    A, c, G = np.array(A, float), np.array(c, float), np.array(G, float)
    C = solve_continuous_lyapunov(A, -G @ G.T)
    mean = -np.linalg.solve(A, c)
    x = np.array([[0.0, 0.0], [0.5, -0.3], [1.0, 1.0]])[:, :len(c)]
    noise = "; ".join(", ".join(map(str, row)) for row in G)
    for seed in (1, 2):
        s = heatball.solve(drift, noise, None, INF, x, method="particles", seed=seed)
        within(s, np.atleast_1d(multivariate_normal(mean, C).logpdf(x)), -(x - mean) @ np.linalg.inv(C), 5)
    rate = -np.linalg.eigvals(A).real.max()
    note = heatball.solve(drift, noise, None, INF, x).note
    assert float(note.split("relaxation time ")[1].split(";")[0]) == pytest.approx(1 / rate, rel=6e-3)


def turned(x, omega):
    """f = -grad V + omega J grad V keeps exp(-V); V = (x + y^2/2)^2/2 + y^4/8."""
    return (f"-(x+y^2/2) - {omega}*(y^3+x*y)", f"-(y^3+x*y) + {omega}*(x+y^2/2)")


def test_a_rotating_drift_in_the_plane_has_the_density_of_its_potential():
    x = np.array([[1, 0], [0, 1], [0.5, -0.5], [-1.5, 1.2], [1.0, 1.5]])
    potential = lambda x, y: (x + y * y / 2)**2 / 2 + y**4 / 8
    total = dblquad(lambda x, y: math.exp(-potential(x, y)), -6, 6, -30, 12, epsabs=1e-11)[0]
    grad = np.stack([x[:, 0] + x[:, 1]**2 / 2, x[:, 1]**3 + x[:, 0] * x[:, 1]], axis=1)
    s = heatball.solve(turned(x, 2), "sqrt(2)", None, "inf", x)
    assert s.method == "grid" and "relaxation time about 0.8" in s.note
    within(s, -potential(x[:, 0], x[:, 1]) - math.log(total), -grad)
    assert np.all(s.log_density_error < 5e-3)
    far = np.array([[2, 2], [3, 2], [5, 3], [8, 8], [40, 0]])
    s = heatball.solve(turned(x, 2), "sqrt(2)", None, "inf", far)
    v = -potential(far[:, 0], far[:, 1]) - math.log(total)
    assert np.all(np.abs(s.log_density - v) <= s.log_density_error) and 4 in s.warnings


@pytest.mark.parametrize("g", [0.2, 0.1, 0.05])
def test_narrow_cycles_are_claimed_honestly(g):
    """Found: at g = 0.05, where the scheme is of first order, off by 3 claimed errors."""
    x = np.array([[1, 0], [0.9, 0.1], [0.2, 0.1]])
    squares = np.sum(x**2, axis=1)
    weight = lambda r: math.exp(-2 * (r**2 - 1)**2 / 4 / g**2)
    total = quad(lambda r: 2 * math.pi * r * weight(r), 0, 3, epsabs=1e-13, points=(1,))[0]
    s = heatball.solve("x-y-x*(x^2+y^2), x+y-y*(x^2+y^2)", g, None, INF, x)
    v = -2 * (squares - 1)**2 / 4 / g**2 - math.log(total)
    assert np.all(np.abs(s.log_density - v) <= s.log_density_error)
    assert np.all(np.abs(s.score - 2 * x * (1 - squares[:, None]) / g**2) <= s.score_error)


def test_a_noisy_limit_cycle_and_linear_and_bistable_drifts_on_the_grid():
    x = np.array([[1, 0], [0.2, 0.1], [-0.6, 0.9]])
    squares = np.sum(x**2, axis=1)
    g = 0.6
    weight = lambda r: math.exp(-2 * (r**4 / 4 - r**2 / 2) / g**2)
    total = quad(lambda r: 2 * math.pi * r * weight(r), 0, 6, epsabs=1e-12)[0]
    s = heatball.solve("x-y-x*(x^2+y^2), x+y-y*(x^2+y^2)", g, None, INF, x)
    within(s, -2 * (squares**2 / 4 - squares / 2) / g**2 - math.log(total),
           2 * (x - x * squares[:, None]) / g**2)
    s = heatball.solve("-x+y, -y-x", "sqrt(2)", None, INF, x, method="grid")
    within(s, -squares / 2 - math.log(2 * math.pi), -x)
    closed = heatball.solve("x-x^3+0.1", 0.5, None, INF, [-1.0, 0.0, 1.0])
    grid = heatball.solve("x-x^3+0.1", 0.5, None, INF, [-1.0, 0.0, 1.0], method="grid")
    assert np.all(np.abs(grid.log_density - closed.log_density) <= grid.log_density_error + closed.log_density_error)


def test_deep_wells_that_paths_never_leave_are_weighed_by_the_null_vector():
    """Relaxation takes some 1e10 in t; time steps would never see it. V = 8 (x^2-1)^2 + x/4 + y^2, turned."""
    grad = ("(32*x*(x^2-1)+0.25)", "(2*y)")
    drift = (f"-{grad[0]} - {grad[1]}", f"-{grad[1]} + {grad[0]}")
    x = np.array([[1, 0], [-1, 0], [0.8, 0.3]])
    potential = lambda x: 8 * (x * x - 1)**2 + x / 4
    total = quad(lambda y: math.exp(-2 * potential(y)), -3, 3, epsabs=1e-13, points=(-1, 1))[0] * math.sqrt(math.pi / 2)
    v = -2 * (potential(x[:, 0]) + x[:, 1]**2) - math.log(total)
    s = heatball.solve(drift, 1, None, INF, x)
    assert np.all(np.abs(s.log_density - v) <= s.log_density_error) and np.all(s.log_density_error < 0.05)
    relaxation = float(s.note.split("about ")[1].split(";")[0])
    assert relaxation > 1e4


@pytest.mark.long
def test_a_turned_gaussian_and_a_limit_cycle_in_space():
    x = np.array([[1, 0, 0.2], [0.3, -0.5, 0.4]])
    s = heatball.solve("-x + y - 0.5*z, -y - x + 0.3*z, -z + 0.5*x - 0.3*y", "sqrt(2)", None, INF, x, method="grid")
    within(s, -np.sum(x**2, axis=1) / 2 - 1.5 * math.log(2 * math.pi), -x)
    squares, g = np.sum(x[:, :2]**2, axis=1), 0.8
    total = quad(lambda r: 2 * math.pi * r * math.exp(-2 * (r**4 / 4 - r**2 / 2) / g**2), 0, 6)[0]
    s = heatball.solve("x-y-x*(x^2+y^2), x+y-y*(x^2+y^2), -z", g, None, INF, x)
    var = g * g / 2
    v = (-2 * (squares**2 / 4 - squares / 2) / g**2 - math.log(total) - x[:, 2]**2 / (2 * var)
         - math.log(2 * math.pi * var) / 2)
    assert s.method == "grid" and np.all(np.abs(s.log_density - v) <= s.log_density_error)
    assert np.all(s.log_density_error < 0.1)


def test_averages_on_the_stationary_field():
    x, drift = np.array([[0.8, 0.1], [-0.5, 0.7]]), ("x-y-x*(x^2+y^2)+0.2", "x+y-y*(x^2+y^2)")
    at_rest = heatball.solve(drift, 0.9, None, INF, x)
    means = heatball.solve(drift, 0.9, "gaussian(mean=0 0, var=0.5)", INF, x, method="meanvalue", samples=2000)
    assert means.method == "meanvalue" and means.tau == INF and "initial density is not used" in means.note
    assert np.all(np.abs(at_rest.log_density - means.log_density) <= 4 * means.log_density_error)


@pytest.mark.long
def test_a_long_finite_time_agrees():
    """A limit cycle that no potential has, and Van der Pol in a box that both share."""
    x, drift = np.array([[0.8, 0.1], [-0.5, 0.7]]), ("x-y-x*(x^2+y^2)+0.2", "x+y-y*(x^2+y^2)")
    at_rest = heatball.solve(drift, 0.9, None, INF, x)
    late = heatball.solve(drift, 0.9, "gaussian(mean=0 0, var=0.5)", 30, x, method="grid")
    assert np.all(np.abs(at_rest.log_density - late.log_density) <= at_rest.log_density_error + late.log_density_error)


# ---- particles ----

def test_particles_in_four_dimensions():
    x = np.array([[0.0, 0, 0, 0], [0.5, 0.5, -0.5, 1.0]])
    line = quad(lambda y: math.exp(-y * y / 2 - y**4 / 4), -9, 9)[0]
    v = -np.sum(x**2 / 2 + x**4 / 4, axis=1) - 4 * math.log(line)
    s = heatball.solve("-x[i]-x[i]^3", "sqrt(2)", None, INF, x, dim=4, method="particles", samples=8000)
    assert s.method == "particles" and not s.warnings
    assert np.all(np.abs(s.log_density - v) <= 4 * s.log_density_error) and np.all(s.log_density_error < 0.1)
    assert np.allclose(s.score, -x - x**3, atol=1e-12)


# ---- refusals ----

@pytest.mark.parametrize("drift, words", [
    ("sin(t)-x", "depends on t"), ("x", "eigenvalue 1"), ("0", "eigenvalue 0"), ("1/x-x", "pole"),
    ("-x/(1+x^2)", "does not normalise"), ("x-y-0.1*x^3, x+y", "no stationary density"),
    ("-x+y, -x-y+0*x+2*y", "eigenvalue"), ("y*y, -x*y", "no stationary density"),
    ("y, (1-x^2)*y-x", "no stationary density"),  # tails of |x|^-2 for g = 1
    ("0.5-tanh(y)/9, x/(1+x^2+y^2)", "no stationary density")])
def test_what_has_no_stationary_density_is_refused(drift, words):
    dim = drift.count(",") + 1
    with pytest.raises(heatball.Error, match=words):
        heatball.solve(drift, 1, None, INF, np.full((1, dim), 0.4))


def test_refusals_of_methods_and_settings():
    x = [[0.3, 0.4]]
    with pytest.raises(heatball.Error, match="walks go back to the initial density"):
        heatball.solve("-x^3, -y", 1, None, INF, x, method="walk")
    with pytest.raises(heatball.Error, match="noise depends on t"):
        heatball.solve("-x, -y", "1+t", None, INF, x)
    with pytest.raises(heatball.Error, match="not declared autonomous"):
        heatball.solve(lambda x, t: -x, 1, None, INF, x)
    with pytest.raises(heatball.Error, match="trajectories end"):
        heatball.solve("-x, -y", 1, None, INF, x, paths=np.zeros((4, 2, 2)), path_times=[0, 1])
    s = heatball.solve(lambda x: -x, 1, None, INF, x, method="grid")
    assert np.all(np.abs(s.log_density + 0.25 + math.log(math.pi)) <= s.log_density_error)


def test_what_may_hide_between_samples_is_flagged():
    s = heatball.solve("x-x^3+exp(1e5*(sin(1e4*x)-1.0001)+16)", 1, None, INF, [0.3])  # more pulses than are searched
    assert s.warnings and np.isinf(s.log_density_error[0])


def test_a_problem_file_with_time_inf_needs_no_start(tmp_path):
    path = tmp_path / "p.ini"
    path.write_text("[problem]\ndrift = x - x^3\ntime = inf\n")
    s, typed = heatball.solve(problem=path, at=[[0.3]]), heatball.solve("x - x^3", 1, time=np.inf, at=[[0.3]])
    assert s.method == "stationary" and s.log_density == typed.log_density

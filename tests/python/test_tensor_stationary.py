"""time = inf where the noise depends on x in a way that no coordinates remove: a quadrature on a line, the null vector of a
chain in the plane and in space. Against closed forms, problems drawn at random, long finite times and simulated paths."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import solve_continuous_lyapunov
from scipy.stats import multivariate_normal

import heatball
import tensor_problems

INF = float("inf")


def ratios(s, v, score):
    """Errors of ln u and of the score in parts of what is claimed; an infinite claim holds."""
    return np.abs(s.log_density - v) / s.log_density_error, np.abs(s.score - score) / s.score_error


# ---- a line ----

LINES = [  # drift, noise, ln p up to a constant, its slope
    ("-x", "1 + x^2/4", lambda x: -2 * np.log1p(x**2 / 4) + 4 / (1 + x**2 / 4),
     lambda x: -x / (1 + x**2 / 4) - 2 * x / (1 + x**2 / 4)**2),
    ("-x", "0.5 + abs(x)", lambda x: -2 * np.log(0.5 + abs(x)) - 2 * (np.log(0.5 + abs(x)) + 0.5 / (0.5 + abs(x))),
     lambda x: -2 * np.sign(x) / (0.5 + abs(x)) - 2 * x / (0.5 + abs(x))**2),
    ("1 - x", "exp(x)", lambda x: -2 * x + (x - 0.5) * np.exp(-2 * x), lambda x: -2 + 2 * (1 - x) * np.exp(-2 * x))]


@pytest.mark.parametrize("drift, noise, log_density, slope", LINES, ids=[row[1] for row in LINES])
def test_a_line_is_a_quadrature(drift, noise, log_density, slope):
    x = np.array([-1.7, -0.2, 0.4, 3.1])
    top = max(log_density(np.linspace(-6, 6, 4001)))
    total = sum(quad(lambda y: math.exp(log_density(y) - top), *ends, epsabs=1e-13, epsrel=1e-12, limit=500)[0]
                for ends in ((-6, 0), (0, 6), (6, np.inf), (-np.inf, -6)) if noise != "exp(x)" or ends[0] > -7)
    v = log_density(x) - top - math.log(total)
    s = heatball.solve(drift, noise, None, INF, x)
    assert s.method == "stationary" and "flux vanishes" in s.note and not s.warnings
    assert np.allclose(s.log_density, v, atol=2e-10) and np.all(s.log_density_error < 1e-8)
    assert np.allclose(s.score[:, 0], slope(x), atol=1e-11) and np.all(s.score_error < 1e-10)
    assert np.allclose(s.entropy_density, np.exp(v) * v, atol=1e-9)


def test_a_line_far_from_the_origin():
    """-40 (x - 50), 1 + |x|/4: all mass is above 0, where ln p = -2 ln g - 320 (4 ln g + 54/g)."""
    x = np.array([40.0, 50.0, 60.0])
    log_density = lambda y: -2 * np.log(1 + y / 4) - 320 * (4 * np.log(1 + y / 4) + 54 / (1 + y / 4))
    top = log_density(50.0)
    total = quad(lambda y: math.exp(log_density(y) - top), 0, 200, points=[50], epsabs=1e-13, limit=500)[0]
    s = heatball.solve("-40*(x - 50)", "1 + abs(x)/4", None, INF, x)
    assert np.allclose(s.log_density, log_density(x) - top - math.log(total), atol=1e-9)


def test_stratonovichs_line():
    x = np.array([0.3, -1.2])
    log_density = lambda y: -3 * math.log(0.5 + abs(y)) - 1 / (0.5 + abs(y))
    total = 2 * quad(lambda y: math.exp(log_density(y)), 0, np.inf, epsabs=1e-12, limit=500)[0]
    s = heatball.solve("-x", "0.5 + abs(x)", None, INF, x, convention="stratonovich")
    assert np.allclose(s.log_density, [log_density(y) - math.log(total) for y in x], atol=1e-9)


def test_the_grid_on_a_line():
    """The chain of the tensor in one dimension, against the quadrature; kinks of the noise are in the claims."""
    x = np.array([-2.0, 0.3, 1.4, 3.0])
    for noise in ("2 + sin(x) + x^2/100", "0.7 + 0.5*tanh(3*x)*x"):
        truth = heatball.solve("1 - x", noise, None, INF, x)
        s = heatball.solve("1 - x", noise, None, INF, x, method="grid")
        assert s.method == "grid" and np.all(s.log_density_error < 1e-4)
        assert max(map(np.max, ratios(s, truth.log_density, truth.score))) <= 1


# ---- the plane and space ----

def check(dim, seeds, **settings):
    parts = []
    for seed in seeds:
        drift, noise, x, v, score = tensor_problems.draw(seed, dim)
        s = heatball.solve(drift, noise, None, INF, x, **settings)
        assert s.method in ("grid", "stationary")
        assert np.median(s.log_density_error[:len(x) // 2]) < 0.05, (seed, s.log_density_error)
        parts.append(np.concatenate([r.ravel() for r in ratios(s, v, score)]))
    parts = np.concatenate(parts)
    assert np.mean(parts <= 1) >= 0.95 and np.max(parts) < 3, (np.mean(parts <= 1), np.max(parts))


def test_problems_drawn_at_random():
    check(1, range(2), method="grid")
    check(2, range(1))


@pytest.mark.long
@pytest.mark.parametrize("dim, method", [(1, "auto"), (1, "grid"), (2, "auto")])
def test_many_problems_drawn_at_random(dim, method):
    check(dim, range(100, 120), method=method)


@pytest.mark.long
def test_space():
    """G = M R(x) with a rotation R has D = M M'/2, and a linear drift the Gaussian of Lyapunov's equation."""
    A = np.array([[-1, 0.4, 0], [-0.4, -1, 0.2], [0, -0.2, -0.9]])
    M = np.array([[1, 0, 0], [0.3, 0.9, 0], [0, 0.2, 1]])
    turned = [[f"{M[i, 0]}*cos(x) + {M[i, 1]}*sin(x)", f"{M[i, 1]}*cos(x) - {M[i, 0]}*sin(x)", f"{M[i, 2]}"]
              for i in range(3)]
    drift = ", ".join(" + ".join(f"({A[i, j]})*{'xyz'[j]}" for j in range(3)) for i in range(3))
    C = solve_continuous_lyapunov(A, -M @ M.T)
    x = np.array([[0.0, 0, 0], [0.5, -0.4, 0.6], [-0.9, 0.2, 0.3], [1.1, 0.7, -0.8]])
    s = heatball.solve(drift, turned, None, INF, x)
    assert s.method == "grid" and np.all(s.log_density_error < 0.05)
    assert max(map(np.max, ratios(s, multivariate_normal(np.zeros(3), C).logpdf(x), -x @ np.linalg.inv(C)))) <= 1


PLANE = {"drift": "-x, -y", "noise": "1, 0.5*y; 0, 1"}


def test_a_function_is_taken_like_its_text():
    """On a line a function is taken by the grid, a text by the quadrature."""
    x = np.array([0.3, -1.2])
    by_text = heatball.solve("1 - x", "2 + sin(x) + x^2/100", None, INF, x)
    by_function = heatball.solve("1 - x", lambda x: (2 + np.sin(x) + x**2 / 100)[:, :, None], None, INF, x)
    assert by_function.method == "grid" and np.all(by_function.log_density_error < 1e-6)
    assert max(map(np.max, ratios(by_function, by_text.log_density, by_text.score))) <= 1


@pytest.mark.long
def test_a_function_in_the_plane():
    def noise(x):
        out = np.zeros((len(x), 2, 2))
        out[:, 0, 0] = out[:, 1, 1] = 1
        out[:, 0, 1] = 0.5 * x[:, 1]
        return out
    x = np.array([[0.0, 0.0], [1.0, -0.5]])
    by_text = heatball.solve(**PLANE, initial=None, time=INF, at=x)
    assert np.all(by_text.log_density_error < 1e-3)
    assert np.allclose(by_text.log_density, heatball.solve("-x, -y", noise, None, INF, x).log_density, atol=1e-7)


@pytest.mark.long
def test_a_long_finite_time_agrees():
    x = np.array([[0.0, 0.0], [1.0, -0.5], [0.4, 1.2]])
    s = heatball.solve(**PLANE, initial=None, time=INF, at=x)
    late = heatball.solve(**PLANE, initial="gaussian(mean=0, var=0.5)", time=14, at=x)
    assert np.all(np.abs(s.log_density - late.log_density) <= s.log_density_error + late.log_density_error)
    assert np.all(np.abs(s.score - late.score) <= s.score_error + late.score_error)


@pytest.mark.long
def test_simulated_paths_agree():
    """Euler-Maruyama in NumPy, steps of 0.005: how often paths are in four squares of side 0.5."""
    rng, n, dt = np.random.default_rng(5), 100000, 0.005
    x, y = np.zeros((2, n))
    for _ in range(1600):
        a, b = math.sqrt(dt) * rng.standard_normal((2, n))
        x, y = x - x * dt + a + 0.5 * y * b, y - y * dt + b
    corners = np.array([[0.0, 0.0], [0.5, 0.5], [-1.0, 0.25], [-0.5, -1.25]])
    nodes, weights = np.polynomial.legendre.leggauss(5)
    for low in corners:
        at = np.stack(np.meshgrid(*[c + 0.25 * (nodes + 1) for c in low], indexing="ij"), -1).reshape(-1, 2)
        s = heatball.solve(**PLANE, initial=None, time=INF, at=at)
        mass = s.density @ np.outer(weights, weights).ravel() / 16
        seen = np.mean((x >= low[0]) & (x < low[0] + 0.5) & (y >= low[1]) & (y < low[1] + 0.5))
        assert abs(seen - mass) < 5 * math.sqrt(mass / n) + 0.01 * mass, (low, seen, mass)  # steps lose dt


# ---- what is refused ----

@pytest.mark.parametrize("drift, noise, words", [
    ("1 - x", "sqrt(abs(x))", "vanishes near x = 0"),
    ("1 - x", "x^2", "vanishes near x = 0"),
    ("-x", "sin(x) + 0.3", "vanishes near x"),
    ("1 - x", "1 + 0.3*sign(x)", "the noise jumps"),
    ("0.1*x", "sqrt(1 + abs(x))", "no stationary density|does not normalise"),
    ("2*x*(1 + x^2)", "sqrt(2)*(1 + x^2)", "none comes back"),
    ("-x, -y", "y, 0; 0, 1 + 0.1*sin(x)", "does not reach every direction"),
    ("x, -y", "1, 0.5*y; 0, 1", "paths keep spreading"),
    ("x, -y", "1, 0.8*tanh(x); 0.8*tanh(y), 1", "paths keep spreading"),
    ("0.1*x + y, 0.1*y - x", "1 + 0.3*tanh(x), 0.2; 0.1, 1.2 + 0.8*tanh(x)", "paths keep spreading"),
    ("-x, -y", "0.5 + 2*x, y; y, 0.5 + 2*x", "escapes|spreading|does not reach|do not meet"),
    ("-x, -y", "1 + 0.1*sin(t), 0.5*y; 0, 1", "depends on t"),
    ("-x1, -x2, -x3, -x4", "1, x2/2, 0, 0; 0, 1, 0, 0; 0, 0, 1, 0; 0, 0, 0, 1", "in dimension 1 to 3")])
def test_what_has_no_answer_is_refused_in_words(drift, noise, words):
    with pytest.raises(heatball.Error, match=words):
        heatball.solve(drift, noise, None, INF, [[0.5] * (drift.count(",") + 1)])


def test_other_methods_name_the_grid():
    for method in ("particles", "walk", "meanvalue"):
        with pytest.raises(heatball.Error, match="take grid or auto"):
            heatball.solve("-x", "1 + x^2/4", None, INF, [0.5], method=method)


def test_meshes_that_agree_by_chance_at_a_point():
    """No current, ln p = -(x^2 + y^2)/2 - x^2 y^2/10: at (2.5, -2) the error of the mass alone is left, 8e-8."""
    a, slope = "(1 + 0.5*sin(2*x))", "cos(2*x)"
    x_slope, y_slope = "(-x - 0.2*x*y^2)", "(-y - 0.2*x^2*y)"
    drift = (f"{a}^2/2*{x_slope} + 0.1*{a}*{y_slope} + {a}*{slope}, "
             f"0.1*{a}*{x_slope} + 0.265*{y_slope} + 0.1*{slope}")
    at = np.array([[0, 0], [0.5, -0.7], [2.5, -2.0]])
    t, w = np.polynomial.hermite_e.hermegauss(80)
    x, y = np.meshgrid(t, t)
    mass = (np.outer(w, w) * np.exp(-0.1 * x**2 * y**2)).sum()
    truth = -(at**2).sum(1) / 2 - 0.1 * (at[:, 0] * at[:, 1])**2 - np.log(mass)
    s = heatball.solve(drift, f"{a}, 0; 0.2, 0.7", None, INF, at, method="grid")
    assert np.all(np.abs(s.log_density - truth) < 5 * s.log_density_error) and np.all(s.log_density_error < 1e-6)


def tanh_noise(R):
    """(drift, noise) with ln p = -x^2/2 - y^2/4: f = (D + R J) grad ln p + div D, J = (0, 1; -1, 0)."""
    a, b, wave = "(0.5 + 0.32*tanh(x)^2)", "(0.5 + 0.32*tanh(y)^2)", "0.4*(tanh(x) + tanh(y))"
    div_x = "0.64*tanh(x)/cosh(x)^2 + 0.4/cosh(y)^2"
    div_y = "0.64*tanh(y)/cosh(y)^2 + 0.4/cosh(x)^2"
    return (f"-{a}*x - ({wave} + {R})*y/2 + {div_x}, -({wave} - {R})*x - {b}*y/2 + {div_y}",
            "1, 0.8*tanh(x); 0.8*tanh(y), 1")


def check_tanh(R, most):
    at = np.array([[0.0, 0.0], [0.5, -0.3], [-0.8, 1.1]])
    s = heatball.solve(*tanh_noise(R), None, INF, at, method="grid")
    truth = multivariate_normal(np.zeros(2), np.diag([1, 2]))
    assert np.all(s.log_density_error < most)
    assert max(map(np.max, ratios(s, truth.logpdf(at), -at / [1, 2]))) <= 1
    return s.note


def test_directions_that_leave_the_box_in_a_corner():
    """Where x and y are large the noise is correlated by 0.98: all directions of its chain leave a corner of the box."""
    assert "null vector" in check_tanh(0, 1e-6)


@pytest.mark.long
def test_a_confined_density_whose_chain_escapes():
    """With a current, coarse chains carry the mass to the walls; the grid at a long finite time answers."""
    assert "grid to t =" in check_tanh(0.5, 5e-3)

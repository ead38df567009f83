"""Starts that are points or formulas, by every method, against closed forms and against a solver of this file's own."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.interpolate import CubicSpline

import heatball

DEVIATIONS = np.array([-3.5, -2.0, -1.0, -0.3, 0.0, 0.5, 1.2, 2.5, 3.5])


def transition(drift, slope, integral, start, time, x, steps=96, most=99.0, nodes=1 << 12):
    """ln p(x, time | start) and its derivative for dX = drift dt + dW.

    p = e^{(integral(x) - integral(start))} psi with dpsi/dt = psi''/2 - Q psi, Q = (drift^2 + slope)/2: a product of heat
    flows (by FFT) and factors e^{-hQ}, symmetric in time, extrapolated over three step sizes.
    """
    reach = min(9 * math.sqrt(time), most)
    grid = start + (np.arange(nodes) - nodes // 2) * (2 * reach / nodes)
    frequency = 2 * math.pi * np.fft.fftfreq(nodes, 2 * reach / nodes)

    def potential(y):
        return 0.5 * (drift(y)**2 + slope(y))

    def psi(count):
        h = time / count
        half, flow = np.exp(-0.5 * h * potential(grid)), np.exp(-0.5 * h * frequency**2)
        u = half * np.exp(-(grid - start)**2 / (2 * h) - 0.5 * h * potential(start))
        u /= math.sqrt(2 * math.pi * h)
        for _ in range(count - 1):
            u = half * np.fft.ifft(flow * np.fft.fft(half * u)).real
        return u

    one, two, four = psi(steps), psi(2 * steps), psi(4 * steps)
    better, best = (4 * two - one) / 3, (4 * four - two) / 3
    u = (16 * best - better) / 15
    near = np.abs(grid - start) < 1.1 * np.max(np.abs(x - start)) + 0.3 * math.sqrt(time)
    rest = CubicSpline(grid[near], np.log(u[near]) + (grid[near] - start)**2 / (2 * time))
    return (rest(x) - (x - start)**2 / (2 * time) + integral(x) - integral(start),
            rest(x, 1) - (x - start) / time + drift(x))


def sine(start, time, x):
    return transition(np.sin, np.cos, lambda y: -np.cos(y), start, time, x)


def well(start, time, x):
    return transition(lambda y: y - y**3, lambda y: 1 - 3 * y**2, lambda y: y**2 / 2 - y**4 / 4,
                      start, time, x, 384, 4.5)


def ou(start, time, x, rate=1.0):
    mean, var = start * math.exp(-rate * time), -math.expm1(-2 * rate * time) / (2 * rate)
    return -0.5 * (x - mean)**2 / var - 0.5 * math.log(2 * math.pi * var), -(x - mean) / var


def test_the_reference_is_right_for_a_linear_drift():
    x = 0.7 + DEVIATIONS
    found = transition(lambda y: -y, lambda y: -1 + 0 * y, lambda y: -y**2 / 2, 0.7, 1.0, x)
    exact = ou(0.7, 1.0, x)
    assert np.max(np.abs(found[0] - exact[0])) < 1e-10 and np.max(np.abs(found[1] - exact[1])) < 1e-8


def covers(solution, v, score, factor, floor=0.0):
    assert np.all(np.abs(solution.log_density - v) <= factor * solution.log_density_error + floor)
    assert np.all(np.abs(solution.score - score) <= factor * solution.score_error + 1e3 * floor)


# ---- a point, on the grid ----

@pytest.mark.parametrize("time", [1e-4, 0.1, 1.0])
def test_grid_from_a_point_linear(time):
    sd = math.sqrt(-math.expm1(-2 * time) / 2)
    x = 3 * math.exp(-time) + np.append(DEVIATIONS, [-6, 5.5]) * sd
    s = heatball.solve("-x", 1, "point(3)", time, x, method="grid")
    v, score = ou(3, time, x)
    covers(s, v, score[:, None], 1.0, 1e-12 / time)
    assert np.all(s.log_density_error[:9] < 1e-6)


@pytest.mark.parametrize("time", [1e-4, 0.1, 1.0])
@pytest.mark.parametrize("drift, case", [("sin(x)", sine), ("x-x^3", well)])
def test_grid_from_a_point(time, drift, case):
    x = 0.4 + DEVIATIONS * math.sqrt(time) * (1 if drift == "sin(x)" else 0.7)
    s = heatball.solve(drift, 1, "point(0.4)", time, x, method="grid")
    v, score = case(0.4, time, x)
    covers(s, v, score[:, None], 1.0, 3e-9)
    assert np.all(s.log_density_error < 1e-6)


def test_grid_of_brownian_motion_is_exact():
    x = np.linspace(-5, 5, 11)
    s = heatball.solve("0", 1, "point(0)", 0.01, 0.1 * x, method="grid")
    assert np.max(np.abs(s.log_density + x**2 / 2 + 0.5 * math.log(2 * math.pi * 0.01))) < 1e-11


def test_grid_from_a_point_in_the_plane():
    time, decay = 0.1, math.exp(-0.1)
    turn = decay * np.array([[math.cos(0.2), math.sin(0.2)], [-math.sin(0.2), math.cos(0.2)]])
    mean, var = turn @ np.array([1, -0.5]), -math.expm1(-0.2) / 2
    z = np.array([[0, 0], [1, 0.5], [-2, 2], [3, 0]])
    x = mean + z * math.sqrt(var)
    s = heatball.solve("-x+2*y,-2*x-y", 1, "point(1 -0.5)", time, x, method="grid")
    covers(s, -0.5 * np.sum(z**2, 1) - math.log(2 * math.pi * var), -z / math.sqrt(var), 1.0)
    assert np.all(s.log_density_error < 1e-4)


def test_a_drift_that_jumps():
    """-sign(x): where the first grid does not meet the jump, and where it does, by sampling. The transition density is
    that of Karatzas and Shreve, Brownian Motion and Stochastic Calculus, 1991, section 6.5."""
    from scipy.special import erfc

    def exact(y, time, start=0.4):
        tail = np.exp(-2 * np.abs(y)) * 0.5 * erfc((start + np.abs(y) - time) / math.sqrt(2 * time))
        away = np.where(y >= 0, y - start + time, np.abs(y) + start + time)
        gauge = np.where(y >= 0, 1, math.exp(2 * start))
        return np.log(gauge * stats.norm.pdf(away / math.sqrt(time)) / math.sqrt(time) + tail)

    x = 0.4 + DEVIATIONS * math.sqrt(0.01)
    s = heatball.solve("-sign(x)", 1, "point(0.4)", 0.01, x, method="grid")
    assert np.all(np.abs(s.log_density - exact(x, 0.01)) <= s.log_density_error)
    with pytest.raises(heatball.Error, match="particles and walk answer"):
        heatball.solve("-sign(x)", 1, "point(0.4)", 1.0, x, method="grid")
    s = heatball.solve("-sign(x)", 1, "point(0.4)", 1.0, [-0.2, 0.7], samples=8192)
    assert s.method in ("particles", "walk", "mixed") or "sampling" in s.note
    assert np.all(np.abs(s.log_density - exact(s.x[:, 0], 1.0)) <= 4.5 * s.log_density_error)


def test_means_over_balls_from_a_point():
    s = heatball.solve("sin(x)", 1, "point(0.4)", 0.5, [0.3, 1.0], method="meanvalue")
    v, score = sine(0.4, 0.5, np.array([0.3, 1.0]))
    covers(s, v, score[:, None], 4.5)


# ---- a point, by sampling ----

@pytest.mark.parametrize("method", ["walk", "particles"])
@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("time", [1e-4, 0.1])
@pytest.mark.parametrize("drift, case", [("sin(x[i])", sine), ("x[i]-x[i]^3", well)])
def test_sampling_from_a_point(method, dim, time, drift, case):
    z = np.zeros((3, dim))
    z[0], z[1, 0], z[2] = 0.3, 2.0, -1.0
    x = 0.4 + z * math.sqrt(time)
    s = heatball.solve(drift, 1, "point(0.4)", time, x, dim=dim, method=method, samples=16384)
    v, score = case(0.4, time, x.ravel())
    covers(s, v.reshape(x.shape).sum(1), score.reshape(x.shape), 4.5, 1e-10)
    assert np.all(s.log_density_error < (1e-6 if time < 0.01 else 0.05))


def test_walks_to_a_point_turn_with_the_drift():
    """A nonlinear drift that is no gradient: walks in full frames against the grid."""
    arguments = ("y-0.3*x^3, -x-0.3*y^3", 1, "point(0.5 -0.2)", 0.4, [[0.2, -0.5], [1.0, 0.4]])
    walk = heatball.solve(*arguments, method="walk", samples=65536)
    grid = heatball.solve(*arguments, method="grid")
    covers(walk, grid.log_density, grid.score, 4.5)
    assert np.all(walk.log_density_error < 0.02)


def test_a_linear_drift_from_a_point_is_exact_by_walks():
    dim, x = 10, np.linspace(-1, 1, 10)[None, :]
    s = heatball.solve("-2*x[i]", 1, "point(0.5)", 0.3, x, dim=dim, method="walk")
    v, score = ou(0.5, 0.3, x[0], 2.0)
    assert abs(s.log_density[0] - v.sum()) < 1e-11 and np.max(np.abs(s.score[0] - score)) < 1e-11


# ---- formulas ----

LAWS = {"1/(1+x^2)": stats.cauchy, "exp(-abs(x))": stats.laplace,
        "exp(-x)*max(0,sign(x))": stats.expon}


def convolved(law, time, x):
    """ln of the density of law + N(0, time), by quadrature between the deviations and 0."""
    sd = math.sqrt(time)

    def value(y):
        ends = sorted({y + k * sd for k in range(-9, 10)} | {0.0})
        ends = [e for e in ends if abs(e - y) <= 9 * sd]
        return sum(integrate.quad(lambda u: law.pdf(u) * stats.norm.pdf((y - u) / sd) / sd, a, b,
                                  epsabs=0, epsrel=1e-11)[0] for a, b in zip(ends, ends[1:]))

    return np.log([value(y) for y in x])


@pytest.mark.parametrize("formula", ["1/(1+x^2)", "exp(-abs(x))"])
def test_brownian_motion_in_ten_dimensions(formula):
    x = np.linspace(-2, 2, 10)
    s = heatball.solve("0", 1, f"product({formula})", 0.25, x[None, :], dim=10, method="walk",
                       samples=65536)
    assert abs(s.log_density[0] - convolved(LAWS[formula], 0.25, x).sum()) < 4.5 * s.log_density_error[0]
    assert s.log_density_error[0] < 0.02


@pytest.mark.parametrize("formula", ["exp(-abs(x))", "exp(-x)*max(0,sign(x))"])
def test_broken_starts_on_the_grid(formula):
    x = np.array([-1.5, -0.5, 0.1, 0.7, 1.5, 4.0])
    s = heatball.solve("0", 1, f"product({formula})", 1.0, x, method="grid")
    assert np.all(np.abs(s.log_density - convolved(LAWS[formula], 1.0, x)) <= 2 * s.log_density_error)
    assert np.all(s.log_density_error < 1e-4)


def test_heavy_tails_are_sampled():
    s = heatball.solve("0", 1, "product(1/(1+x^2))", 1.0, [0.5, 3.0], samples=65536)
    assert "sampling, because the grid refused" in s.note
    assert np.all(np.abs(s.log_density - convolved(stats.cauchy, 1.0, s.x[:, 0]))
                  < 4.5 * s.log_density_error)


def test_parameters_and_the_initial_density_itself():
    x = np.array([0.3, 2.0, 50.0])
    s = heatball.solve("-x", 1, "product((1+x^2/nu)^(-(nu+1)/2))", 0, x, params={"nu": 4.5})
    assert s.log_density == pytest.approx(stats.t(4.5).logpdf(x), abs=1e-12)


# ---- what is refused ----

@pytest.mark.parametrize("keywords, words", [
    ({"time": 0}, "no density at time 0"),
    ({"method": "guided", "noise": "1; 1", "drift": "-x, -y"}, "the noise is a matrix and the initial density a point|2"),
    ({"initial": "point(1 2 3)"}, "there are 3 numbers"),
    ({"initial": "product(x)"}, "must not be negative"),
    ({"initial": "product(1/(1+abs(x)))"}, "cannot be normalised")])
def test_refusals(keywords, words):
    arguments = {"drift": "sin(x)", "noise": 1, "initial": "point(0)", "time": 1, "at": [0.1]}
    with pytest.raises(heatball.Error, match=words):
        heatball.solve(**{**arguments, **keywords})

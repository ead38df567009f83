"""The grid in far tails, where what comes from beyond its box counts, and under drifts as steep as x^7.

Closed form: under f = -b tanh(b x), noise 1, H = -(1/2) d^2 - b^2 sech^2(b x) has one bound state and no reflection, so that the transition
density is, with s = sqrt(2 t),
    p(x, t | y) = (cosh(b y)/cosh(b x)) e^(-b^2 t/2) exp(-(x - y)^2/(2 t))/sqrt(2 pi t)
                  + (b/4) sech^2(b x) [erf(b sqrt(t/2) + (x - y)/s) + erf(b sqrt(t/2) - (x - y)/s)].
Other truths: Strang's splitting with positive terms only, and finite volumes for u with SciPy's Radau method.
"""
import json
import pathlib
import subprocess

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.sparse
import scipy.special

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = ROOT / "build" / "heatball"


def solve(drift, time, initial, points, method="grid", noise=1.0, expect=0):
    at = ";".join(",".join(f"{c:.17g}" for c in np.atleast_1d(p)) for p in points)
    done = subprocess.run([COMMAND, "solve", f"--drift={drift}", "--noise", repr(noise), "--initial", initial, "--time", repr(time), "--at", at,
                           "--method", method, "--json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == expect, done.stderr
    return json.loads(done.stdout) if expect == 0 else done.stderr


def columns(answer, axis=0):
    number = lambda value: np.inf if value is None else float(value)
    rows = [(number(p["log_density"]), number(p["log_density_error"]), number(p["score"][axis]), number(p["score_error"][axis])) for p in answer["points"]]
    return np.array(rows).T


def gaussian(mean, var):
    return lambda x: -(x - mean)**2 / (2 * var) - np.log(2 * np.pi * var) / 2


def inward_tanh(b, mean, var, t, x):
    """ln u and its slope, by the trapezoidal rule over the start and differences."""
    y = mean + np.sqrt(var) * np.linspace(-16, 16, 4001)
    root = np.sqrt(t / 2)

    def log_u(x):
        z, away = b * root, (x - y) / np.sqrt(2 * t)
        free = (np.logaddexp(b * y, -b * y) - np.logaddexp(b * x, -b * x) - b * b * t / 2 - away**2 - np.log(2 * np.pi * t) / 2)
        far = abs(away)  # erf(z + a) + erf(z - a) = erfc(a - z) - erfc(a + z)
        bound = np.where(far < z + 1, np.log(np.maximum(scipy.special.erf(z + far) + scipy.special.erf(z - far), 1e-300)),
                         np.log(scipy.special.erfcx(np.maximum(far - z, -5)) - scipy.special.erfcx(far + z) * np.exp(-4 * far * z)) - (far - z)**2)
        bound += np.log(b / 4) + 2 * (np.log(2) - np.logaddexp(b * x, -b * x))
        return scipy.special.logsumexp(np.logaddexp(free, bound) + gaussian(mean, var)(y)) + np.log(y[1] - y[0])

    step = 1e-3
    value = [np.array([log_u(p + k * step) for p in np.atleast_1d(x)]) for k in (-2, -1, 0, 1, 2)]
    return value[2], (value[0] - 8 * value[1] + 8 * value[3] - value[4]) / (12 * step)


def splitting(f, slope, potential, noise, start, time, low, high, steps=256):
    """x, ln u, its error: u = e^(-potential/2D) w, w_t = D w'' - V w, in 4, 2 and 1 times `steps` steps, extrapolated."""
    diffusion = noise**2 / 2
    x = np.linspace(low, high, int((high - low) / (0.8 * np.sqrt(2 * diffusion * time / (4 * steps)))))

    def run(n):
        dt, h = time / n, x[1] - x[0]
        width = np.sqrt(2 * diffusion * dt)
        reach = int(np.ceil(12 * width / h))
        kernel = np.exp(-(np.arange(-reach, reach + 1) * h / width)**2 / 2)
        half = np.exp(-(f(x)**2 / (4 * diffusion) + slope(x) / 2) * dt / 2)
        log_w = start(x) + potential(x) / (2 * diffusion)
        top = log_w.max()
        w = np.exp(log_w - top)
        for _ in range(n):
            w = half * np.convolve(half * w, kernel / kernel.sum(), "same")
            top, w = top + np.log(w.max()), w / w.max()
        return np.log(np.maximum(w, 1e-300)) + top - potential(x) / (2 * diffusion)

    a, b, c = run(4 * steps), run(2 * steps), run(steps)
    first, second = a + (a - b) / 3, b + (b - c) / 3
    return x, first + (first - second) / 15, abs(first - second) / 15


def finite_volumes(f, time, points, cells):
    """u from N(0, 1), noise 1: Scharfetter and Gummel in u on a mesh that is finest at 0, Radau in time."""
    edges = 7.5 * np.sinh(3 * np.linspace(-1, 1, cells + 1)) / np.sinh(3)
    x, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    length = np.diff(x)
    z = np.clip(2 * f(edges[1:-1]) * length, -500, 500)
    out, back = 0.5 / length / scipy.special.exprel(-z), 0.5 / length / scipy.special.exprel(z)
    diagonal = np.zeros(cells)
    diagonal[:-1] -= out / width[:-1]
    diagonal[1:] -= back / width[1:]
    matrix = scipy.sparse.diags([out / width[1:], diagonal, back / width[:-1]], [-1, 0, 1]).tocsc()
    u = scipy.integrate.solve_ivp(lambda t, u: matrix @ u, (0, time), np.exp(gaussian(0, 1)(x)), method="Radau", jac=matrix, rtol=1e-8, atol=1e-12,
                                  first_step=1e-13).y[:, -1]
    return scipy.interpolate.make_interp_spline(x, np.log(np.maximum(u, 1e-300)), k=5)(points)


def assert_within(answer, v, slope, times=5, axis=0):
    got, error, score, score_error = columns(answer, axis)
    assert np.all(abs(got - v) <= times * error), (got - v, error)
    assert np.all(abs(score - slope) <= times * score_error), (score - slope, score_error)


def test_what_comes_from_beyond_the_box_is_in_the_answer():
    answer = solve("-4*tanh(3*x)", 0.5, "gaussian(mean=0.5,var=0.1)", [8.2265625])
    assert_within(answer, -79.5018443700, -16.2109691)  # splitting(), 512 steps and more
    assert columns(answer)[1] < 1e-3


@pytest.mark.parametrize("b, mean, var, t", [(3, 0.5, 0.1, 0.5), (2, -0.7, 0.6, 0.7), (5, 0.2, 0.2, 0.05)])
def test_tails_of_an_inward_drift_with_a_closed_form(b, mean, var, t):
    scale = np.sqrt(var + t)
    x = mean + scale * np.array([-11, -9, -6, -3, 0, 2, 5, 8, 10, 12])
    v, slope = inward_tanh(b, mean, var, t, x)
    x, v, slope = x[v > -85], v[v > -85], slope[v > -85]
    answer = solve(f"-{b}*tanh({b}*x)", t, f"gaussian(mean={mean},var={var})", x)
    assert len(x) >= 5 and np.isfinite(columns(answer)).all()
    assert_within(answer, v, slope)


def test_tails_in_two_dimensions():
    """A wall close to the point: ln u was wrong by 30 errors, its slope by 200."""
    v, slope = inward_tanh(3, 0.5, 0.1, 0.5, [5.0, 6.5, 8.0, 0.5])
    answer = solve("-3*tanh(3*x), -3*tanh(3*y)", 0.5, "gaussian(mean=0.5 0.5,var=0.1)", [(5.0, 0.5), (6.5, 0.5), (8.0, 0.5)])
    assert np.isfinite(columns(answer)).all()
    assert_within(answer, v[:3] + v[3], slope[:3])
    assert_within(answer, v[:3] + v[3], slope[3], axis=1)
    single = solve("-3*tanh(3*x), -3*tanh(3*y)", 0.5, "gaussian(mean=0.5 0.5,var=0.1)", [(5.0, 0.5)])
    assert_within(single, v[0] + v[3], slope[0])
    assert columns(single)[1] < 0.1


@pytest.mark.parametrize("drift, f", [("-x^5", lambda x: -x**5), ("-x^7", lambda x: -x**7)])
def test_steep_drifts_are_answered(drift, f):
    points = [0.0, 1.0, 1.5]
    fine, coarse = finite_volumes(f, 0.5, points, 1200), finite_volumes(f, 0.5, points, 600)
    got, error, _, _ = columns(solve(drift, 0.5, "gaussian(mean=0,var=1)", points))
    assert np.all(abs(got - (fine + (fine - coarse) / 3)) <= 5 * error + abs(fine - coarse) / 10)
    assert np.all(error < 1e-5)


def test_auto_samples_where_the_mesh_misses_part_of_the_start(tmp_path):
    (tmp_path / "mixture.csv").write_text("0.7,0,1\n0.3,0.5,1e-8\n")
    answer = solve("-x", 0.5, f"mixture({tmp_path}/mixture.csv)", [0.3], method="auto")
    decay = np.exp(-0.5)
    spread = (1 - decay**2) / 2
    parts = [np.log(0.7) + gaussian(0, decay**2 + spread)(0.3), np.log(0.3) + gaussian(0.5 * decay, 1e-8 * decay**2 + spread)(0.3)]
    got, error, _, _ = columns(answer)
    assert abs(got[0] - np.logaddexp(*parts)) <= 5 * error[0] + 1e-10


def tail_problem(seed):
    """A drift on a line with its slope and potential, noise, start and time."""
    r = np.random.default_rng(seed)
    a, b = r.uniform(0.5, 6), r.uniform(0.5, 4)
    kind = seed % 4
    if kind == 0:
        case = f"-{a}*tanh({b}*x)", lambda x: -a * np.tanh(b * x), lambda x: -a * b / np.cosh(b * x)**2, lambda x: a / b * np.logaddexp(b * x, -b * x)
    elif kind == 1:
        case = f"{a}*tanh({b}*x)", lambda x: a * np.tanh(b * x), lambda x: a * b / np.cosh(b * x)**2, lambda x: -a / b * np.logaddexp(b * x, -b * x)
    elif kind == 2:
        case = f"-{a}*sin({b}*x)", lambda x: -a * np.sin(b * x), lambda x: -a * b * np.cos(b * x), lambda x: -a / b * np.cos(b * x)
    else:
        case = f"-{a}*x+{b}", lambda x: -a * x + b, lambda x: -a + 0 * x, lambda x: a * x**2 / 2 - b * x
    return *case, np.exp(r.uniform(-0.9, 0.7)), r.uniform(-1, 1), np.exp(r.uniform(-3.5, 0.3)), np.exp(r.uniform(-3, 0.5))


def assert_tails(seed):
    drift, f, slope, potential, noise, mean, var, time = tail_problem(seed)
    reach = abs(mean) + 22 * np.sqrt(var + noise**2 * time) + 6 * time
    x, v, error = splitting(f, slope, potential, noise, gaussian(mean, var), time, -reach, reach)
    top, places = v.argmax(), []
    for depth in (4, 20, 40, 55, 70, 82):
        for side in (x > x[top], x < x[top]):
            near = np.flatnonzero(side & (v < v[top] - depth))
            places.append(near[abs(near - top).argmin()])
    places = [i for i in places if error[i] < 1e-7]
    spline = scipy.interpolate.make_interp_spline(x[v > -300], v[v > -300], k=5)
    answer = solve(drift, time, f"gaussian(mean={mean},var={var})", x[places], noise=noise)
    got, e, score, s = columns(answer)
    assert np.all(abs(got - v[places]) <= 5 * e + 1e-7), (drift, got - v[places], e)
    assert np.all(abs(score - spline(x[places], 1)) <= 5 * s + 1e-5), (drift, score - spline(x[places], 1), s)


@pytest.mark.parametrize("seed", range(8))
def test_random_tails(seed):
    assert_tails(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8, 200))
def test_many_random_tails(seed):
    assert_tails(seed)

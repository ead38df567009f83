"""Pulses and dips in t that are narrower than the steps of every method: closed forms, spectral elements, and refusals.

Linear drifts f = a(t) x + c(t) under a noise g(t) keep Gaussians: m' = a m + c, v' = 2 a v + g^2, by SciPy on pieces that
end around the pulses. Other drifts: spectral elements, whose time steps do so too."""
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import heatball
from spectral_elements import Elements, march, mesh

START, MEAN, VARIANCE = "gaussian(mean=-0.5, var=0.2)", -0.5, 0.2
AT = np.array([[0.0], [1.0]])


def pulse(t, centre, width):
    return np.exp(-((t - centre) / width)**2)


def moments(rate, end, start, pulses):
    """The moments at the end of d/dt = rate(t, .)."""
    reach = np.outer([-1, 1], [0, 0.5, 1, 2, 3, 4, 6, 8, 20, 100]).ravel()
    cuts = np.unique(np.clip([0, end, *(c + w * r for c, w in pulses for r in reach)], 0, end))
    for low, high in zip(cuts[:-1], cuts[1:]):
        start = solve_ivp(rate, (low, high), start, method="DOP853", rtol=1e-12, atol=1e-14,
                          max_step=(high - low) / 4).y[:, -1]
    return start


def line(a, c, square, end, pulses):
    """ln u and the score at AT."""
    mean, variance = moments(lambda t, y: [a(t) * y[0] + c(t), 2 * a(t) * y[1] + square(t)], end,
                             [MEAN, VARIANCE], pulses)
    gap = AT[:, 0] - mean
    return -gap**2 / variance / 2 - np.log(2 * np.pi * variance) / 2, -gap / variance


def drift_pulse(width, place=0.3):
    size = 1 / (width * np.sqrt(np.pi))
    return (f"-x + {size}*exp(-((t-{place})/{width})^2)", "1", lambda t: -1.0, lambda t: size * pulse(t, place, width),
            lambda t: 1.0, [(place, width)])


def turning_pulse(width):
    size = 1 / (width * np.sqrt(np.pi))
    return (f"-x*(1 + {size}*exp(-((t-0.3)/{width})^2))", "1", lambda t: -1 - size * pulse(t, 0.3, width),
            lambda t: 0.0, lambda t: 1.0, [(0.3, width)])


def noise_pulse(width, drift="-x"):
    size = 1 / (width * np.sqrt(np.pi))
    return (drift, f"sqrt(1 + {size}*exp(-((t-0.2)/{width})^2))", lambda t: -1.0 if drift == "-x" else 0.0,
            lambda t: 0.0, lambda t: 1 + size * pulse(t, 0.2, width), [(0.2, width)])


def train():
    width = 1e-3 * 40 * np.pi
    return (f"-x + 56*exp(-(sin(40*pi*t)/{width})^2)", "1", lambda t: -1.0,
            lambda t: 56 * np.exp(-(np.sin(40 * np.pi * t) / width)**2), lambda t: 1.0,
            [(k / 40, 1e-3) for k in range(21)])


STEP = ("-x + 3*tanh((t-0.3)/1e-4)", "1", lambda t: -1.0, lambda t: 3 * np.tanh((t - 0.3) / 1e-4), lambda t: 1.0,
        [(0.3, 1e-4)])
LORENTZ = ("-x + 3000/(1 + ((t-0.3)/1e-4)^2)", "1", lambda t: -1.0, lambda t: 3000 / (1 + ((t - 0.3) / 1e-4)**2),
           lambda t: 1.0, [(0.3, 1e-4)])
HAT = ("-x + 1e4*max(0, 1 - abs(t-0.3)/1e-4)", "1", lambda t: -1.0,
       lambda t: 1e4 * max(0, 1 - abs(t - 0.3) / 1e-4), lambda t: 1.0, [(0.3, 1e-4), (0.3, 5e-5)])
DIP = ("-x + 0.5", "1 - 0.99*exp(-((t-0.3)/1e-3)^2)", lambda t: -1.0, lambda t: 0.5,
       lambda t: (1 - 0.99 * pulse(t, 0.3, 1e-3))**2, [(0.3, 1e-3)])
LATE = ("-x + 0.5", "1 + 200*exp(-((t-19.9)/1e-4)^2)", lambda t: -1.0, lambda t: 0.5,
        lambda t: (1 + 200 * pulse(t, 19.9, 1e-4))**2, [(19.9, 1e-4)])

CASES = [("walk", drift_pulse(1e-3), 0.5), ("walk", drift_pulse(1e-5), 0.5), ("walk", turning_pulse(1e-4), 0.5),
         ("walk", train(), 0.5), ("walk", drift_pulse(1e-3, 0), 0.5), ("walk", drift_pulse(1e-3, 0.5), 0.5),
         ("walk", drift_pulse(1e-3, 0.5), 0.5005), ("walk", STEP, 0.5), ("walk", LORENTZ, 0.5), ("walk", HAT, 0.5),
         ("walk", noise_pulse(1e-5, "0*x"), 0.5), ("walk", DIP, 0.5), ("walk", LATE, 20),
         ("grid", noise_pulse(3e-4, "0*x"), 0.5), ("grid", noise_pulse(1e-5), 0.5), ("grid", drift_pulse(1e-2), 0.5),
         ("grid", drift_pulse(1e-4), 0.5), ("grid", turning_pulse(1e-3), 0.5), ("grid", STEP, 0.5),
         ("particles", noise_pulse(3e-4, "0*x"), 0.5), ("particles", turning_pulse(1e-3), 0.5),
         ("particles", drift_pulse(1e-3, 0.5), 0.5)]


@pytest.mark.parametrize("method, case, end", CASES)
def test_linear_drifts(method, case, end):
    drift, noise, a, c, square, pulses = case
    value, score = line(a, c, square, end, pulses)
    s = heatball.solve(drift=drift, noise=noise, initial=START, time=end, at=AT, method=method,
                       samples=8192 if method == "particles" else None)
    # t itself is rounded: a pulse of width w is off by 1e-16/w
    slack = 2e-11 if method == "walk" else 0
    assert np.all(abs(s.log_density - value) <= 5 * s.log_density_error + slack)
    assert np.all(abs(s.score[:, 0] - score) <= 5 * s.score_error[:, 0] + slack)
    assert np.all(s.log_density_error < 0.1)


def test_times_inside_a_pulse():
    drift, noise, a, c, square, pulses = drift_pulse(1e-2)
    times = [0.29, 0.295, 0.3, 0.31, 0.5]
    s = heatball.solve(drift=drift, noise=noise, initial=START, time=times, at=AT)
    for k, t in enumerate(times):
        assert np.all(abs(s.log_density[k] - line(a, c, square, t, pulses)[0]) <= 5 * s.log_density_error[k])
        assert np.all(s.log_density_error[k] < 0.01)


def test_matrix_noise():
    """An oscillator whose noise has a pulse: linear, and by kernels of short lags."""
    B, size = np.array([[0, 1], [-1, -1.0]]), 1 / (1e-3 * np.sqrt(np.pi))

    def rate(t, y):
        S, square = y[2:].reshape(2, 2), 1 + size * pulse(t, 0.3, 1e-3)
        return np.concatenate([B @ y[:2], (B @ S + S @ B.T + np.diag([0, square])).ravel()])

    y = moments(rate, 0.6, np.array([0.5, 0, 0.3, 0, 0, 0.3]), [(0.3, 1e-3)])
    mean, S, at = y[:2], y[2:].reshape(2, 2), np.array([[0.2, -0.3], [1, 1]])
    gap = at - mean
    value = -np.sum(gap * np.linalg.solve(S, gap.T).T, 1) / 2 - np.log(np.linalg.det(2 * np.pi * S)) / 2
    for method, most in (("walk", 1e-12), ("particles", 0.05)):
        s = heatball.solve(drift="y, -x-y", noise=f"0; sqrt(1+{size}*exp(-((t-0.3)/1e-3)^2))",
                           initial="gaussian(mean=0.5 0,var=0.3)", time=0.6, at=at, method=method)
        assert np.all(abs(s.log_density - value) <= 5 * s.log_density_error + 1e-11)
        assert np.all(s.log_density_error < most)


# ---- drifts that are not linear ----


def pulsed_times(end, pulses):
    t = [*end * np.linspace(0, 1, 25)**1.5]
    for c, w in pulses:
        t += [*(c + w * np.arange(-5, 5.01, 0.5)), *(c + s * w * 5 * 2.0**k for s in (-1, 1) for k in range(1, 20))]
    t = np.unique([s for s in t if 0 <= s <= end])
    return t[np.concatenate([[True], np.diff(t) > 1e-13])]


def elements(drift, diffusion, end, pulses, x, high=4):
    """ln u at x, good to 1e-4."""
    space = Elements(mesh(-4, high, [], lambda s: 0.35))
    u = np.exp(-(space.nodes()[:, None] - MEAN)**2 / 2 / VARIANCE) / np.sqrt(2 * np.pi * VARIANCE)
    u = march(space, drift, diffusion, u, pulsed_times(end, pulses), False)
    return np.log(space.evaluate(u, np.asarray(x, float))[0][:, 0])


@pytest.mark.parametrize("width, seeds", [(1e-4, (1, 2, 3)), (1e-2, (1, 3, 5))])
def test_product_of_double_wells(width, seeds):
    """Four dimensions, each a double well with a pulse that moves it by 1."""
    size = 1 / (width * np.sqrt(np.pi))
    value = elements(lambda x, t: x - x**3 + size * pulse(t, 0.3, width), lambda t: 0.5, 0.5, [(0.3, width)],
                     [-1, -0.5, -0.5, 0]).sum()
    assert abs(value - (-6.091 if width == 1e-4 else -6.053)) < 2e-3
    problem = dict(drift=f"x[i] - x[i]^3 + {size}*exp(-((t-0.3)/{width})^2)", noise="1", initial=START, dim=4,
                   time=0.5, at=[[-1, -0.5, -0.5, 0]])
    for seed in seeds:
        s = heatball.solve(**problem, seed=seed, samples=16384)
        assert s.methods == ["particles"]
        assert abs(s.log_density[0] - value) <= 5 * s.log_density_error[0] or np.isinf(s.log_density_error[0])
    with pytest.raises(heatball.ArgumentError, match="too strong for walks; take the method particles"):
        heatball.solve(**problem, method="walk")


def test_walks_pass_mild_features():
    """A step of the drift, and a pulse of the noise, that weights of walks survive."""
    for drift, noise, f, D, feature in (
            ("x - x^3 + tanh((t-0.3)/1e-3)", "1", lambda x, t: x - x**3 + np.tanh((t - 0.3) / 1e-3), lambda t: 0.5,
             (0.3, 1e-3)),
            ("x - x^3", "sqrt(1 + 500*exp(-((t-0.2)/1e-3)^2))", lambda x, t: x - x**3,
             lambda t: (1 + 500 * pulse(t, 0.2, 1e-3)) / 2, (0.2, 1e-3))):
        value = elements(f, D, 0.5, [feature], [0, 0.8], 7)
        solved = [heatball.solve(drift=drift, noise=noise, initial=START, time=0.5, at=[[0], [0.8]], method="walk",
                                 samples=4096, threads=threads) for threads in (1, 2)]
        assert np.all(solved[0].log_density == solved[1].log_density)
        assert np.all(abs(solved[0].log_density - value) <= 5 * solved[0].log_density_error + 1e-4)
        assert np.all(solved[0].log_density_error < 0.1)


def test_bits_on_threads():
    drift, noise = turning_pulse(1e-3)[:2]
    for method in ("grid", "particles"):
        one, two = (heatball.solve(drift=drift, noise=noise, initial=START, time=0.5, at=AT, method=method,
                                   threads=threads, samples=4096 if method == "particles" else None) for threads in (1, 2))
        assert np.all(one.log_density == two.log_density) and np.all(one.score_error == two.score_error)


def test_what_is_refused():
    drift, noise = drift_pulse(1e-3)[:2]
    problem = dict(drift=drift, noise=noise, initial=START, time=0.5, at=AT)
    with pytest.raises(heatball.ArgumentError, match="narrow pulse in t"):
        heatball.solve(**problem, method="meanvalue", radius=1.7)
    with pytest.raises(heatball.ArgumentError, match="narrow pulse in t"):
        heatball.solve(**problem, method="particles", radius=1.7)
    rng = np.random.default_rng(1)
    before = -0.5 * np.exp(-0.1) + np.sqrt(0.2 * np.exp(-0.2) + (1 - np.exp(-0.2)) / 2) * rng.normal(size=(1000, 1))
    after = before * np.exp(-0.4) + np.exp(-0.2) + np.sqrt((1 - np.exp(-0.8)) / 2) * rng.normal(size=(1000, 1))
    paths = np.stack([before, after], 1)
    with pytest.raises(heatball.ArgumentError, match="no time between it and the end"):
        heatball.solve(**problem, method="particles", paths=paths, path_times=[0.1, 0.5])
    with pytest.raises(heatball.Error, match="grows from a point does not follow"):
        heatball.solve(drift=drift, noise=noise, initial="point(0)", time=0.5, at=AT, method="grid")
    with pytest.raises(heatball.ArgumentError, match="depends on t"):
        heatball.solve(drift=drift, noise=noise, initial=START, time=np.inf, at=AT)

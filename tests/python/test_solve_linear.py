"""Walks under linear drifts: no draw, and errors that hold the rounding. Closed forms and SciPy."""

import math
import time as time_module

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import solve_continuous_lyapunov

import heatball
from heatball import _interrupt

CLAIM = 5  # errors


def forced(x, t, m0=0.4, v0=0.5):
    """dx = (-x + cos 3t) dt + (1 + t/5) dW from N(m0, v0): log-density and score at x."""
    mean = m0 * math.exp(-t) + (math.cos(3 * t) + 3 * math.sin(3 * t) - math.exp(-t)) / 10
    # int_0^t (1 + s/5)^2 e^{-2(t-s)} ds: the antiderivative is e^{2s} (a s^2 + b s + c)
    a, b, c = 0.02, 0.18, 0.41
    var = v0 * math.exp(-2 * t) + a * t * t + b * t + c - c * math.exp(-2 * t)
    return -0.5 * ((x - mean)**2 / var + math.log(2 * math.pi * var)), -(x - mean) / var


def check(s, v, score, most):
    """Within CLAIM errors, and the errors are small."""
    assert np.all(np.abs(s.log_density - v) <= CLAIM * s.log_density_error)
    assert np.all(np.abs(s.score - score) <= CLAIM * s.score_error)
    assert np.all(s.log_density_error <= most * (1 + np.abs(v)))
    assert list(s.warnings) == [] and s.samples.max() == 1


@pytest.mark.parametrize("dim", [1, 3, 65, 100])
def test_forcing_and_a_noise_schedule(dim):
    """Found: off by 5e-12 to 3e-11 with claims of 1e-13, and no answer above 64 dimensions."""
    x = np.array([np.linspace(-0.9, 1.3, dim), np.linspace(4.0, -3.1, dim)])
    for t in (0.3, 1.0, 7.0):
        s = heatball.solve([f"-x{k + 1} + cos(3*t)" for k in range(dim)] if dim > 3 else
                           [f"-{'xyz'[k]} + cos(3*t)" for k in range(dim)], "1+0.2*t",
                           "gaussian(mean=0.4, var=0.5)", t, x, method="walk")
        v, score = forced(x, t)
        check(s, v.sum(axis=1), score, 1e-12)


def moments(A, c, g, t, mean, cov):
    """Mean and covariance of a linear system by DOP853 at the least tolerance."""
    d = len(mean)

    def rates(s, y):
        a, S = A(s), y[d:].reshape(d, d)
        return np.concatenate([a @ y[:d] + c(s), (a @ S + S @ a.T + g(s)**2 * np.eye(d)).ravel()])
    y = solve_ivp(rates, (0, t), np.concatenate([mean, cov.ravel()]), method="DOP853", rtol=3e-14,
                  atol=1e-15).y[:, -1]
    return y[:d], y[d:].reshape(d, d)


def gaussian(x, mean, cov):
    y = np.linalg.solve(cov, (x - mean).T).T
    return (-0.5 * ((x - mean) * y).sum(axis=1) - 0.5 * np.linalg.slogdet(cov)[1]
            - 0.5 * len(mean) * math.log(2 * math.pi)), -y


@pytest.mark.parametrize("t", [0.2, 1.7])
def test_a_matrix_that_turns_with_time(t):
    def A(s):
        return np.array([[-1, -3 * math.cos(2 * s), 0], [3 * math.cos(2 * s), -0.5, 4 * s],
                         [0.3, 0, -2 - math.sin(s)]])
    mean, cov = moments(A, lambda s: np.array([math.sin(s), 0, 1]), lambda s: 1 + 0.5 * s, t,
                        np.full(3, 0.4), 0.5 * np.eye(3))
    x = np.array([[0.3, -0.2, 0.5], [2.0, -3.0, 1.0]])
    s = heatball.solve(["-x - 3*cos(2*t)*y + sin(t)", "3*cos(2*t)*x - 0.5*y + 4*t*z",
                        "0.3*x - (2 + sin(t))*z + 1"], "1+0.5*t", "gaussian(mean=0.4, var=0.5)", t, x,
                       method="walk")
    v, score = gaussian(x, mean, cov)
    assert np.allclose(s.log_density, v, rtol=0, atol=2e-11)
    assert np.allclose(s.score, score, rtol=0, atol=2e-11)
    assert np.all(s.log_density_error < 1e-11) and np.all(s.score_error < 1e-11)


def test_rates_that_differ_by_300():
    """Backward the slow direction is lost against e^200; found: no answer."""
    a = np.array([[-50.15, 49.85], [49.85, -50.15]])
    w, q = np.linalg.eigh(a)
    t = 1.3
    cov = q @ np.diag(0.5 * np.exp(2 * w * t) + np.expm1(2 * w * t) / (2 * w)) @ q.T
    mean = q @ np.diag(np.exp(w * t)) @ q.T @ np.array([0.4, -0.2])
    x = np.array([[0.3, 0.2], [1.0, 0.4]])
    s = heatball.solve(["-50.15*x + 49.85*y", "49.85*x - 50.15*y"], "1",
                       "gaussian(mean=0.4 -0.2, var=0.5)", t, x, method="walk")
    v, score = gaussian(x, mean, cov)
    assert np.all(np.abs(s.log_density - v) <= 5 * s.log_density_error + 1e-11 * np.abs(v))
    assert np.allclose(s.score, score, rtol=1e-10, atol=1e-10)


def test_a_long_time_is_the_stationary_density():
    """e^400 is no double: found, every walk was lost."""
    s = heatball.solve("-x", "sqrt(2)", "gaussian(mean=3, var=0.5)", 400, [0.3], method="walk")
    assert s.log_density[0] == pytest.approx(-0.5 * (0.09 + math.log(2 * math.pi)), abs=1e-12)


def test_a_jump_in_time():
    """f = -x + sign(t - 0.3): the panels find the jump."""
    t, x = 1.0, 0.3
    mean = 1 - 2 * math.exp(-0.7) + math.exp(-t)
    s = heatball.solve("-x + sign(t - 0.3)", "1", "gaussian(mean=0, var=0.5)", t, [x], method="walk")
    assert s.log_density[0] == pytest.approx(-0.5 * ((x - mean)**2 / 0.5 + math.log(math.pi)), abs=1e-12)


def test_a_narrow_box_under_a_wide_gaussian():
    """Backward over tau = 20 a box is e^-20 deviations wide: two values of erfc lost seven digits, their difference too."""
    s = heatball.solve("-x", "sqrt(2)", "uniform(-0.5 0.5)", 20, [0.3, 2.0], method="walk")
    x = np.array([0.3, 2.0])
    assert np.allclose(s.log_density, -0.5 * (x**2 + math.log(2 * math.pi)), rtol=0, atol=1e-12)
    assert np.allclose(s.score[:, 0], -x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("time", [1e-10, 1e-12])
def test_particles_after_a_very_short_time(time):
    """Found: off by 20 to 4700 claims; the kernel is 1e-5 wide and x is rounded at 1e-16."""
    mpmath.mp.dps = 50
    for k in range(3):
        start = 1.1 + 0.37 * k
        x = [start + math.sqrt(time) * y for y in (-1.3, 1.1, 2.2)]
        s = heatball.solve("-x", 1, f"point({start!r})", time, x, method="particles", seed=k + 1)
        t = mpmath.mpf(time)
        mean, var = mpmath.mpf(start) * mpmath.exp(-t), -mpmath.expm1(-2 * t) / 2
        for i, at in enumerate(x):
            gap = mpmath.mpf(at) - mean
            v = -gap**2 / (2 * var) - mpmath.log(2 * mpmath.pi * var) / 2
            assert abs(s.log_density[i] - v) <= CLAIM * s.log_density_error[i] < 1e-6
            assert abs(s.score[i, 0] + gap / var) <= CLAIM * s.score_error[i, 0] < 1e-8 / time


def test_particles_where_rates_differ():
    """Found: 0.0189137 +- 2e-15 at time 121, where the density is 0.0188837."""
    x = np.array([[0.5, -0.3]])
    A = np.array([[-1, 30], [0, -1.1]])
    v, score = gaussian(x, np.zeros(2), solve_continuous_lyapunov(A, -np.eye(2)))
    for time in (90, 121, 200):
        s = heatball.solve("-x+30*y, -1.1*y", 1, "gaussian(mean=0, var=1)", time, x, method="particles", seed=3)
        assert abs(s.log_density - v) <= CLAIM * s.log_density_error < 1e-6
        assert np.all(np.abs(s.score - score) <= CLAIM * s.score_error) and not s.warnings


@pytest.mark.parametrize(("drift", "noise", "time"), [
    ("-x[i]+0.3*x[i+1]", "1", 1), ("-x[i]+0.3*x[i+1]", "1", math.inf), ("-x[i]+0.0005*sum(j,1,d,x[j])", "1", 1),
    ("-x[i]+0.3*x[i+1]", "1+0.5*sin(t)", 1), ("(-1+0.2*sin(t))*x[i]+0.3*x[i+1]", "1", 1)])
def test_closed_forms_in_many_dimensions_listen(drift, noise, time, monkeypatch):
    """No stretch of 0.5 s of processor time without a call at d = 300, where matrices take a thirtieth of those at 1000."""
    clock, calls = time_module.process_time, []
    progress = _interrupt.Run._progress

    def seen(self, *arguments):
        calls.append(clock())
        return progress(self, *arguments)

    monkeypatch.setattr(_interrupt.Run, "_progress", seen)
    calls.append(clock())
    heatball.solve(drift, noise, "gaussian(mean=0,var=1)", time, np.full((1, 300), 0.1), dim=300, threads=1, max_time=4)
    calls.append(clock())
    assert len(calls) > 30 and np.diff(calls).max() < 0.5

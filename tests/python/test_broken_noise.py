"""Kinks and jumps in the noise, and in the drift under a frame: derivatives that are 0 do not tell them from lines."""

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import solve_banded

import heatball


def line_density(drift, noise, start, time, low, high, cells=4000, steps=2000):
    """Cells of finite volumes and Crank-Nicolson after four implicit half steps: the density as a function."""
    h = (high - low) / cells
    x, edges = low + (np.arange(cells) + 0.5) * h, low + np.arange(1, cells) * h
    D, F = noise(x)**2 / 2, drift(edges)
    left, right = (F / 2 + D[:-1] / h) / h, (F / 2 - D[1:] / h) / h
    bands = np.zeros((3, cells))
    bands[0, 1:], bands[2, :-1] = -right, left
    bands[1, :-1] -= left
    bands[1, 1:] += right
    k = time / steps
    implicit = -k / 2 * bands
    implicit[1] += 1
    u = start(x)
    for _ in range(4):
        u = solve_banded((1, 1), implicit, u)
    for _ in range(steps - 2):
        rate = bands[1] * u
        rate[:-1] += bands[0, 1:] * u[1:]
        rate[1:] += bands[2, :-1] * u[:-1]
        u = solve_banded((1, 1), implicit, u + k / 2 * rate)
    return lambda at: np.interp(at, x, u)


@pytest.mark.parametrize("text,noise", [("min(x, 1)/2 + 0.4", lambda x: np.minimum(x, 1) / 2 + 0.4),
                                        ("0.3 + 0.5*max(x, 0)", lambda x: 0.3 + 0.5 * np.maximum(x, 0)),
                                        ("0.3 + 0.5*abs(x)", lambda x: 0.3 + 0.5 * np.abs(x))])
def test_noise_with_a_kink_is_no_line(text, noise):
    at = np.array([0.2, 0.7, 1.4])
    truth = line_density(lambda x: -x, noise, stats.norm(1, 0.2).pdf, 0.5,
                         -0.79 if text[0] == "m" else -6, 9)(at)
    if text[0] == "m":  # falls to 0 at -0.8, where its noise would vanish
        with pytest.raises(heatball.Error):
            heatball.solve("-x", text, "point(1)", 0.5, at)
        return
    s = heatball.solve("-x", text, "gaussian(mean=1, var=0.04)", 0.5, at)
    assert "Lamperti" not in s.note
    assert np.all(np.abs(s.density - truth) <= s.density_error + 1e-4)
    assert np.all(s.density_error < 0.1 * truth)


def test_noise_that_is_the_size_of_a_line():
    s, same = (heatball.solve("0", noise, "point(0.5)", 1, [0.4]) for noise in ("abs(x)", "x"))
    assert "ln x" in s.note
    assert s.log_density == pytest.approx(same.log_density, abs=1e-9)


@pytest.mark.parametrize("text,drift", [("x*abs(log(x))", np.abs), ("-x*sign(log(x))", lambda y: -np.sign(y)),
                                        ("x*max(0.1, 0.5 - 2*log(x))", lambda y: np.maximum(0.1, 0.5 - 2 * y))])
def test_drift_with_a_kink_in_lamperti_coordinates(text, drift):
    at = np.array([0.6, 1.3, 2.0])
    u = line_density(lambda y: drift(y) - 0.125, lambda y: 0.5 + 0 * y, stats.norm(0.2, 0.1).pdf, 1, -6, 9)
    s = heatball.solve(text, "0.5*x", "density(exp(-(log(x) - 0.2)^2/0.02)/(x*0.1*sqrt(2*pi)))", 1, at)
    assert np.all(np.abs(s.density - u(np.log(at)) / at) <= s.density_error + 2e-3)


@pytest.mark.parametrize("jump", [0.5, 0.37])
def test_matrix_that_jumps_in_time(jump):
    s = heatball.solve("-x, -y", f"2 + sign(t - {jump}), 1", "gaussian(mean=0 0, var=0.2)", 1, [[1, 0.5]])
    early, late = np.exp(-2 * (1 - jump)), 1
    variances = 0.2 * np.exp(-2) + np.array([(early - np.exp(-2)) / 2 + 9 * (late - early) / 2, (1 - np.exp(-2)) / 2])
    truth = stats.norm(0, np.sqrt(variances)).logpdf([1, 0.5]).sum()
    assert np.abs(s.log_density - truth) <= s.log_density_error
    assert s.log_density_error < 0.01


def test_start_with_a_kink_is_no_gaussian():
    with pytest.raises(heatball.Error, match="normalised"):
        heatball.solve("-x, -y", 1, "density(exp(-x^2 - y^2 - abs(x - y)))", 1, [[1, 0.5]])


@pytest.mark.parametrize("start", ["product(exp(-x^4))", "density(exp(-x^4))"])
def test_start_beyond_the_domain_is_refused(start):
    with pytest.raises(heatball.Error, match="the process lives between"):
        heatball.solve("0.1*x", "0.2*x", start, 1, [1.0])

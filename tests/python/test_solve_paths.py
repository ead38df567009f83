"""Trajectories of the user: used when they are of the problem, refused with the reason when they are not."""

import re

import numpy as np
import pytest

import heatball

AT = [[0.0], [1.0]]
PROBLEM = {"drift": "2*(x-x^3)", "noise": "sqrt(2)", "initial": "gaussian(mean=0.3,var=0.5)", "time": 0.5}


def well(x):
    return 2 * (x - x**3)


def euler(f, g, paths, seed, times=20, substeps=16, time=0.5):
    """[path][time] by Euler and Maruyama's steps, short enough not to show, and the times."""
    rng = np.random.default_rng(seed)
    x = 0.3 + np.sqrt(0.5) * rng.standard_normal(paths)
    h, kept = time / times / substeps, [x]
    for _ in range(times):
        for _ in range(substeps):
            x = x + f(x) * h + g * np.sqrt(h) * rng.standard_normal(paths)
        kept.append(x)
    return np.array(kept).T, np.linspace(0, time, times + 1)


def solve(paths, times, **other):
    return heatball.solve(at=AT, paths=paths, path_times=times, **(PROBLEM | other))


def test_paths_of_the_problem_serve():
    grid = heatball.solve(at=AT, method="grid", **PROBLEM)
    for seed in range(4):
        s = solve(*euler(well, np.sqrt(2), 6000, seed))
        assert np.all(np.abs(s.density - grid.density) < 5 * s.density_error)
        assert np.all(np.abs(s.score - grid.score) < 5 * s.score_error)
        assert re.search(r"trajectories of the user: 6000, of which 640 chose the lag and up to 5248 count",
                         s.note), s.note


def test_few_paths_have_wide_errors():
    grid = heatball.solve(at=AT, method="grid", **PROBLEM)
    few, many = (solve(*euler(well, np.sqrt(2), n, 5)) for n in (200, 6000))
    assert np.all(np.abs(few.density - grid.density) < 5 * few.density_error)
    assert np.all(few.density_error > 2 * many.density_error)
    s = solve(*euler(well, np.sqrt(2), 6000, 5), stderr=1e-3)
    assert np.all(np.isfinite(s.density_error)) and "not reached at 2 of 2 points" in s.note
    assert re.fullmatch(r"asked 0.001 of the density, reached 0.0\d+: there are no more trajectories", s.warnings[0])
    with pytest.raises(heatball.ArgumentError, match="at least 128"):
        solve(*euler(well, np.sqrt(2), 100, 5))


WRONG = {
    "noise": (well, 1.15 * np.sqrt(2), "squares of their increments are 1.3"),
    "less noise": (well, 0.9 * np.sqrt(2), "squares of their increments are 0.8"),
    "no well": (lambda x: -x, np.sqrt(2), "differ from the drift's"),
    "constant": (lambda x: 0 * x + 0.8, np.sqrt(2), "differ from the drift's"),
    "twice": (lambda x: 2 * well(x), np.sqrt(2), "differ from the drift's"),
}


@pytest.mark.parametrize("name", WRONG)
def test_paths_of_another_problem_are_refused(name):
    f, g, words = WRONG[name]
    with pytest.raises(heatball.ArgumentError, match=words) as caught:
        solve(*euler(f, g, 6000, 3))
    assert "p = " in str(caught.value)


def test_times_in_another_unit_are_refused():
    paths, times = euler(well, np.sqrt(2), 6000, 3)
    with pytest.raises(heatball.ArgumentError, match="not those of this problem"):
        solve(paths, 2 * times, time=1.0)


def test_a_small_mismatch_is_claimed():
    """Euler's steps as long as the gaps: not refused, but the difference is in the error."""
    s = solve(*euler(well, np.sqrt(2), 20000, 3, times=40, substeps=1))
    grid = heatball.solve(at=AT, method="grid", **PROBLEM)
    assert "is in its error" in s.note
    assert np.all(np.abs(s.density - grid.density) < 5 * s.density_error)


def test_paths_that_depend_on_time():
    """dX = -X dt + (1 + t) dW: the check follows the noise through time."""
    rng = np.random.default_rng(8)
    x, kept, h = 0.3 + np.sqrt(0.5) * rng.standard_normal(6000), [], 0.5 / 320
    for k in range(321):
        if k % 16 == 0:
            kept.append(x)
        x = x - x * h + (1 + k * h) * np.sqrt(h) * rng.standard_normal(6000)
    times = np.linspace(0, 0.5, 21)
    problem = {"drift": "-x", "noise": "1+t"}
    solve(np.array(kept).T, times, **problem)
    with pytest.raises(heatball.ArgumentError, match="not those of this problem"):
        solve(np.array(kept).T, times, drift="-x", noise="1+3*t")

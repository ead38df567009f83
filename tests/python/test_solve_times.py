"""Several times in one solve and meshes of points, from Python: shapes, closed forms, refusals."""

import math

import heatball
import numpy as np
import pytest

T = np.array([0, 0.05, 0.3, 1, 4])
X = heatball.mesh((-1, 2, 7))
PROBLEM = {"drift": "-x", "noise": "sqrt(2)", "initial": "gaussian(mean=1, var=0.3)"}


def exact(x, t):
    """Log-density and score of dx = -x dt + sqrt(2) dW from N(1, 0.3)."""
    mean, var = np.exp(-t), 1 - 0.7 * np.exp(-2 * t)
    return -0.5 * (x - mean)**2 / var - 0.5 * np.log(2 * np.pi * var), -(x - mean) / var


def agree(s, x, t, factor):
    v, score = exact(x[:, 0], t[:, None])
    sure = np.isfinite(s.log_density_error)
    assert sure.mean() > 0.8
    assert np.all((np.abs(s.log_density - v) <= factor * s.log_density_error + 1e-12)[sure])
    sure = np.isfinite(s.score_error[..., 0])
    assert np.all((np.abs(s.score[..., 0] - score) <= factor * s.score_error[..., 0] + 1e-12)[sure])


@pytest.mark.parametrize("method, factor", [("grid", 1), ("walk", 1), ("particles", 4.5), ("meanvalue", 4.5)])
def test_closed_form_at_all_times(method, factor):
    samples = {} if method in ("grid", "meanvalue") else {"samples": 20000}
    s = heatball.solve(**PROBLEM, time=T, at=X, method=method, **samples)
    assert s.density.shape == (5, 7) and s.score.shape == (5, 7, 1) and s.samples.shape == (5, 7)
    assert np.array_equal(s.t, T) and np.array_equal(s.time, T) and np.allclose(s.tau, T)
    assert s.method == method and [len(part) for part in s.methods] == [7] * 5 and s.methods[0][0] == "initial"
    assert all(0 <= k < 5 and 0 <= i < 7 for k, i in s.warnings)
    assert "5 times from 0 to 4" in repr(s)
    agree(s, X, T, factor)


def test_noise_that_depends_on_time():
    """dx = (1 + t) dW from N(0, 1): variance 1 + ((1 + t)^3 - 1)/3."""
    t = np.array([2, 0.1, 0.5])
    s = heatball.solve("0*x", "1 + t", "gaussian(mean=0, var=1)", t, X)
    var = 1 + ((1 + t[:, None])**3 - 1) / 3
    right = -0.5 * X[:, 0]**2 / var - 0.5 * np.log(2 * np.pi * var)
    assert np.all(np.abs(s.log_density - right) <= s.log_density_error) and s.log_density_error.max() < 1e-5


def test_a_pulse_before_an_early_time():
    """Each time gets the steps that it would have alone: a push of 1 within a hundredth, far before the last time."""
    push = "100/sqrt(pi)*exp(-(100*(t - 0.05))^2)"
    s = heatball.solve(push, 1, "gaussian(mean=0, var=1)", [0.1, 5], [0.3, 1.2])
    right = -0.5 * (s.x[:, 0] - 1)**2 / 1.1 - 0.5 * np.log(2 * np.pi * 1.1)
    assert np.all(np.abs(s.log_density[0] - right) <= 2 * s.log_density_error[0])
    assert np.abs(s.log_density[0] - right).max() < 1e-3


def test_one_time_in_a_list_keeps_its_axis():
    one = heatball.solve(**PROBLEM, time=[0.7], at=X)
    plain = heatball.solve(**PROBLEM, time=0.7, at=X)
    assert one.density.shape == (1, 7) and plain.density.shape == (7,)
    assert np.array_equal(one.density[0], plain.density) and plain.t.tolist() == [0.7] and plain.time == 0.7


def test_walks_of_a_time_are_those_of_the_time_alone():
    problem = {"drift": "x - x^3", "noise": 1, "initial": "gaussian(mean=0, var=0.3)", "at": [-1, 0.5],
               "method": "walk", "samples": 4000}
    both, alone = heatball.solve(time=[0.2, 0.5], **problem), heatball.solve(time=0.5, **problem)
    assert np.array_equal(both.density[1], alone.density) and np.array_equal(both.score_error[1], alone.score_error)


def test_problem_file(tmp_path):
    path = tmp_path / "p.ini"
    path.write_text("[problem]\ndrift = -x\nnoise = sqrt(2)\ninitial = gaussian(mean=1, var=0.3)\ntime = 0:1:0.5\n")
    s = heatball.solve(problem=path, at=X)
    assert s.t.tolist() == [0, 0.5, 1] and s.density.shape == (3, 7)
    assert heatball.solve(problem=path, at=X, time=2).density.shape == (7,)


def test_mesh():
    points = heatball.mesh((-1, 1, 3), [5, 7], 0.5)
    assert points.shape == (6, 3)
    assert points[:3].tolist() == [[-1, 5, 0.5], [-1, 7, 0.5], [0, 5, 0.5]]
    for wrong in ((1, 2), (0, 1, 0)):
        with pytest.raises(heatball.ArgumentError):
            heatball.mesh(wrong)
    with pytest.raises(TypeError):
        heatball.mesh()


@pytest.mark.parametrize("arguments, words", [
    ({"time": []}, "time has no value"),
    ({"time": [1, -1]}, "time 2 is -1"),
    ({"time": [1, math.inf]}, "it must be the only time"),
    ({"time": [1, 2], "method": "walk", "state": "a.state"}, "one time"),
    ({"time": [1, 2], "paths": np.zeros((4, 2))}, "paths end at one time")])
def test_refusals(arguments, words):
    with pytest.raises(heatball.ArgumentError, match=words):
        heatball.solve(**PROBLEM, at=X, **arguments)


def test_residual_takes_one_time():
    with pytest.raises(heatball.ArgumentError, match="takes one number"):
        heatball.residual(**PROBLEM, time=[1, 2], at=X)

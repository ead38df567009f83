"""heatball.solve and heatball.residual: closed forms, callables, what is refused."""

import math

import numpy as np
import pytest

import heatball

OU = {"drift": "-1.3*x", "noise": 1.1, "initial": "gaussian(mean=0.7, var=0.35)", "time": 0.8}
AT = np.array([[-0.6], [0.25], [1.4]])


def ou(x, t, k=1.3, g=1.1, mean=0.7, var=0.35):
    """Log-density and score of dx = -k x dt + g dW from N(mean, var)."""
    decay = math.exp(-k * t)
    m, s = mean * decay, var * decay**2 + g * g / (2 * k) * (1 - decay**2)
    return -0.5 * ((x - m)**2 / s + math.log(2 * math.pi * s)), -(x - m) / s


def check_ou(solution, t, factor=2.0, floor=1e-9, **constants):
    v, score = ou(solution.x[:, 0], t, **constants)
    u = np.exp(v)
    for name, exact in (("log_density", v), ("density", u), ("entropy_density", u * v)):
        found, error = getattr(solution, name), getattr(solution, name + "_error")
        assert found.shape == error.shape == v.shape
        assert np.all(np.abs(found - exact) <= factor * error + floor), name
    assert np.all(np.abs(solution.score[:, 0] - score) <= factor * solution.score_error[:, 0] + floor)


def test_closed_form_in_one_dimension():
    s = heatball.solve(at=AT, **OU)
    check_ou(s, 0.8)
    assert s.method == "grid" and s.tau == pytest.approx(0.484, rel=1e-12) and s.time == 0.8
    assert s.x.tolist() == AT.tolist() and s.score.shape == (3, 1)
    assert np.all(s.log_density_error < 1e-4)


def test_points_of_one_axis():
    assert heatball.solve(at=AT[:, 0], **OU).x.tolist() == AT.tolist()
    assert heatball.solve(at=[0.5], **OU).density.shape == (1,)


def test_two_dimensions_with_rotation():
    """dx = (-x + 2y, -2x - y) dt + sqrt(2) dW from N(m, I): stays N(R m, I), R a decaying turn."""
    t, at = 0.4, np.array([[0.3, -0.4], [-0.8, 0.9]])
    s = heatball.solve(["-x + 2*y", "-2*x - y"], "sqrt(2)", "gaussian(mean=0.5 -0.2, var=1)", t, at)
    c, q = math.cos(2 * t) * math.exp(-t), math.sin(2 * t) * math.exp(-t)
    away = at - np.array([c * 0.5 + q * -0.2, -q * 0.5 + c * -0.2])
    v = -0.5 * (away**2).sum(1) - math.log(2 * math.pi)
    assert np.all(np.abs(s.log_density - v) <= 2 * s.log_density_error + 1e-9)
    assert np.all(np.abs(s.score + away) <= 2 * s.score_error + 1e-9)
    assert np.allclose(s.score, -away, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"radius": 0.9}, {"lift": 3, "seed": 5},
                                     {"degree": 7, "radius": 0.5}])
def test_meanvalue(options):
    s = heatball.solve(at=AT, method="meanvalue", samples=4000, **OU, **options)
    assert s.method == "meanvalue"
    check_ou(s, 0.8, factor=5, floor=1e-7)


def test_threads_and_seeds():
    one, two = (heatball.solve(at=AT, method="meanvalue", samples=3000, threads=k, **OU)
                for k in (1, 2))
    assert one.density.tobytes() == two.density.tobytes()
    assert one.score.tobytes() == two.score.tobytes()
    other = heatball.solve(at=AT, method="meanvalue", samples=3000, seed=9, **OU)
    assert not np.array_equal(one.density, other.density)


def test_callables():
    """A drift and an initial density as NumPy functions give what the expressions give."""
    calls = []

    def drift(x, t):
        calls.append((x.shape, t))
        return -1.3 * x

    s = heatball.solve(drift, 1.1, lambda x: -(x[:, 0] - 0.7)**2 / 0.7 + 3.2, 0.8, AT)
    check_ou(s, 0.8, floor=1e-6)
    assert all(len(shape) == 2 and shape[1] == 1 for shape, _ in calls) and len(calls) > 0


def test_what_a_callable_raises_reaches_the_caller():
    class Odd(Exception):
        pass

    def broken(x, t):
        raise Odd("number 2385")

    with pytest.raises(Odd, match="number 2385"):
        heatball.solve(broken, 1, "gaussian(mean=0, var=1)", 0.5, AT)

    def broken_density(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        heatball.solve("-x", 1, broken_density, 0.5, AT)
    with pytest.raises(heatball.ArgumentError, match=r"drift returned an array of shape \(\d+,\)"):
        heatball.solve(lambda x, t: x[:, 0], 1, "gaussian(mean=0, var=1)", 0.5, AT)
    check_ou(heatball.solve(at=AT, **OU), 0.8)  # and the context still works


def test_parameters_and_problem_files(tmp_path):
    s = heatball.solve("-k*x", "g0", OU["initial"], 0.8, AT, params={"k": 2.1, "g0": 0.9})
    check_ou(s, 0.8, k=2.1, g=0.9)
    path = tmp_path / "ou.ini"
    path.write_text("[problem]\ndrift = -k*x\nnoise = 1.1\ninitial = gaussian(mean=0.7, var=0.35)\n"
                    "time = 0.8\n[parameters]\nk = 1.3\n")
    s = heatball.solve(problem=path, at=AT)
    assert s.time == 0.8
    check_ou(s, 0.8)
    check_ou(heatball.solve(problem=str(path), at=AT, time=0.3, params={"k": 2.1}), 0.3, k=2.1)


def test_time_zero():
    s = heatball.solve("-x", 1, "gaussian(mean=0.7, var=0.35)", 0, AT)
    v, score = ou(AT[:, 0], 0.0)
    assert s.method == "initial" and np.allclose(s.log_density, v, rtol=1e-13)
    assert np.allclose(s.score[:, 0], score, rtol=1e-12) and np.all(s.score_error == 0)


def test_repr():
    text = repr(heatball.solve(at=np.linspace(-1, 1, 9), **OU))
    assert text.startswith("Solution of 9 points in dimension 1 at time 0.8 (tau 0.484), grid, errors: error estimate\n")
    assert "log_density" in text and text.endswith("... and 3 more")
    assert "1 point in" in repr(heatball.solve(at=[0.5], **OU))


@pytest.mark.parametrize("changes, kind, says", [
    ({"drift": "x +* 2"}, heatball.ArgumentError, r"drift component 1.*\n.*x \+\* 2\n +\^"),
    ({"drift": None}, TypeError, "give either drift or problem"),
    ({"problem": "p.ini"}, TypeError, "give either drift or problem"),
    ({"drift": {"-x"}}, TypeError, "drift is a set of 1; it must be text"),
    ({"initial": None}, TypeError, "initial is missing"),
    ({"initial": "gauss(1)"}, heatball.ArgumentError, "gauss"),
    ({"time": None}, TypeError, "time is missing"),
    ({"time": -0.5}, heatball.ArgumentError, "time is -0.5; it must be a number of at least 0"),
    ({"time": "now"}, TypeError, "time is 'now'; it must be a number, or inf for the stationary density"),
    ({"sigma": 0.7}, TypeError, "has no argument 'sigma'; give noise"),
    ({"x0": [1]}, TypeError, "has no argument 'x0'; give initial='point"),
    ({"initial": np.zeros((9, 1))}, TypeError, "numpy.save samples and give 'samples"),
    ({"time": math.nan}, heatball.ArgumentError, "time is nan; it must be a number of at least 0"),
    ({"time": np.float64("nan")}, heatball.ArgumentError, "time is nan"),
    ({"time": [math.nan]}, heatball.ArgumentError, "time 1 is nan"),
    ({"time": [0.5, math.nan]}, heatball.ArgumentError, "time 2 is nan"),
    ({"time": -math.inf}, heatball.ArgumentError, "time is -inf"),
    ({"samples": 0}, heatball.ArgumentError, "samples is 0"),
    ({"method": "meanvalue", "radius": 0}, heatball.ArgumentError, "radius is 0"),
    ({"cells": 0}, heatball.ArgumentError, "cells is 0"),
    ({"noise": 0}, heatball.ArgumentError, "noise"),
    ({"noise": True}, TypeError, "noise is True"),
    ({"at": None}, TypeError, "at is missing"),
    ({"at": [[0.5, 1.0]]}, heatball.ArgumentError, "points of 2 coordinates; the problem has dimension 1: give at the shape"),
    ({"at": [[math.nan]]}, heatball.ArgumentError, "coordinate 1 of point 1 is nan"),
    ({"at": np.empty((0, 1))}, heatball.ArgumentError, "there is no point"),
    ({"at": [[[0.5]]]}, heatball.ArgumentError, "at has 3 axes; it must have 2"),
    ({"at": "0.5"}, (TypeError, heatball.ArgumentError), "at"),
    ({"method": "gird"}, heatball.ArgumentError, "method is 'gird'; it must be auto, grid, particles"),
    ({"method": "meanvalue", "radius": 3}, heatball.ArgumentError, r"below sqrt\(4 pi tau\)"),
    ({"method": "meanvalue", "radius": -1}, heatball.ArgumentError, "radius is -1"),
    ({"samples": -1}, heatball.ArgumentError, "samples is -1"),
    ({"params": {"a": "b"}}, TypeError, "params"),
    ({"drift": "-x[i]", "dim": 5, "at": [[0.0] * 5], "method": "grid"}, heatball.ArgumentError,
     "the dimension is above 3"),
    ({"stderr": 0}, heatball.ArgumentError, "stderr is 0; it must be a number above 0"),
    ({"stderr_score": math.nan}, heatball.ArgumentError, "stderr_score is nan"),
    ({"max_time": -1}, heatball.ArgumentError, "max_time is -1; it must be a number above 0"),
    ({"max_time": "long"}, TypeError, "max_time is 'long'"),
    ({"method": "walk", "resume": True}, heatball.ArgumentError, "resume is set without"),
    ({"method": "walk", "state": "missing/state"}, heatball.Error, "missing/state"),
    ({"path_times": [0, 1]}, TypeError, "path_times is given without paths"),
    ({"paths": np.zeros((3, 2, 2))}, heatball.ArgumentError, "paths has places of 2 coordinates"),
    ({"paths": np.zeros((3, 2)), "path_times": [0.8]}, heatball.ArgumentError, "path_times has 1 times"),
    ({"paths": np.zeros((3, 2)), "path_times": [0, 1]}, heatball.ArgumentError, "requested time, 0.8"),
    ({"paths": [[0, math.nan]]}, heatball.ArgumentError, "path 1 is nan at its time 2"),
    ({"paths": np.zeros(3)}, heatball.ArgumentError, "paths has 1 axis; it must have 3"),
])
def test_refusals(changes, kind, says):
    with pytest.raises(kind, match=says):
        heatball.solve(**{**OU, "at": AT, **changes})


@pytest.mark.parametrize("method", ["particles", "walk"])
def test_sampling(method):
    s = heatball.solve(at=AT, method=method, **OU)
    check_ou(s, 0.8, factor=5)
    assert s.method == method and s.methods == [method] * 3 and s.warnings == {}
    assert s.samples.dtype == np.uint64
    assert s.samples.min() >= 32768 if method == "particles" else s.samples.tolist() == [1, 1, 1]
    other = heatball.solve(at=AT, method=method, threads=1, **OU)
    assert other.density.tobytes() == s.density.tobytes()
    assert other.score_error.tobytes() == s.score_error.tobytes()


def test_wanted_errors_and_time():
    bistable = {**OU, "drift": "x - x^3"}
    s = heatball.solve(at=AT, method="walk", stderr=0.01, stderr_score=0.1, **bistable)
    assert np.all(s.density_error <= 0.01 * s.density)
    assert np.all(s.score_error <= 0.1 * np.maximum(np.abs(s.score), 1 / math.sqrt(2 * s.tau)))
    s = heatball.solve(at=AT, method="walk", stderr=1e-5, max_time=0.3, **bistable)
    assert "not reached at 3 of 3 points" in s.note


def test_warnings():
    s = heatball.solve(at=[0.3, 70.0], method="particles", **OU)
    assert list(s.warnings) == [1] and np.isinf(s.density_error[1]) and np.isfinite(s.density_error[0])
    assert f"point 1: {s.warnings[1]}" in repr(s)


def test_state(tmp_path):
    options = {**OU, "drift": "x - x^3", "at": AT, "method": "walk"}
    whole = heatball.solve(samples=16000, **options)
    heatball.solve(samples=8000, state=tmp_path / "s", **options)
    s = heatball.solve(samples=16000, state=tmp_path / "s", resume=True, **options)
    assert s.score.tobytes() == whole.score.tobytes()
    with pytest.raises(heatball.ArgumentError, match="is the state of another run"):
        heatball.solve(samples=16000, state=tmp_path / "s", resume=True, seed=3, **options)


def test_paths_of_the_user():
    """Exact transitions drawn with NumPy, at times of one's own and at even ones."""
    generator = np.random.Generator(np.random.Philox(8))
    for times in (np.array([0, 0.2, 0.5, 0.8]), None):
        t = np.linspace(0, 0.8, 6) if times is None else times
        x = [0.7 + math.sqrt(0.35) * generator.standard_normal(15000)]
        for step in np.diff(t):
            decay = math.exp(-1.3 * step)
            spread = math.sqrt(1.1**2 / 2.6 * (1 - decay**2))
            x.append(decay * x[-1] + spread * generator.standard_normal(15000))
        s = heatball.solve(at=AT, paths=np.array(x).T, path_times=times, **OU)
        assert s.method == "particles"
        check_ou(s, 0.8, factor=5)


@pytest.mark.parametrize("drift", [lambda x: -x + 0.1 * np.sin(x), lambda x, t: -x + 0.1 * np.sin(x)])
def test_a_function_in_four_dimensions(drift):
    """A drift without formulas, with and without time: what the same drift as text gives."""
    at = np.array([[0.1, 0.2, -0.3, 0.4]])
    options = {"noise": "sqrt(2)", "initial": "gaussian(mean=0, var=0.5)", "time": 0.3, "at": at,
               "method": "walk", "samples": 8000}
    s = heatball.solve(drift, **options)
    text = heatball.solve("-x[i] + 0.1*sin(x[i])", dim=4, seed=2, **options)
    for name in ("log_density", "score"):
        spread = np.hypot(getattr(s, name + "_error"), getattr(text, name + "_error"))
        assert np.all(np.abs(getattr(s, name) - getattr(text, name)) <= 5 * spread), name
        assert np.all(spread < 0.2)
    assert s.method == "walk" and s.warnings == {}


def test_residual():
    r = heatball.residual(at=AT, radii=[0.2, 0.4], degree=9, **OU)
    C1 = heatball.ball.constants(1)["C1"]
    assert r["radius"].tolist() == [0.2, 0.4] and r["residual"].shape == (3, 2)
    assert np.all(np.abs(r["residual"]) < 1e-6 + 5 * r["residual_error"])
    assert np.allclose(r["scaled"], 4 * r["residual"] / (C1 * r["radius"]**2), rtol=1e-9, atol=1e-12)
    for quantity in "uw":
        other = heatball.residual(at=AT, radii=[0.3], samples=3000, quantity=quantity, **OU)
        assert np.all(np.abs(other["residual"]) < 5 * other["residual_error"] + 1e-9)
    with pytest.raises(heatball.ArgumentError, match="quantity is 'z'; it must be u, v or w"):
        heatball.residual(at=AT, quantity="z", **OU)
    with pytest.raises(heatball.ArgumentError, match="radius 2 is -1"):
        heatball.residual(at=AT, radii=[0.1, -1], **OU)

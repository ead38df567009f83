"""Drifts that are Python functions: f(x, t) gets one time as a float, f(x) all points at once."""

import functools

import numpy as np
import pytest

import heatball
from heatball import sde

START = "gaussian(mean=0.4, var=0.6)"
AT = [-0.7, 0.2, 1.385]


def solve(drift, **options):
    return heatball.solve(drift, "1 + 0.3*t", START, 0.8, AT, threads=2, **options)


@pytest.mark.parametrize("options", [dict(method="grid"), dict(method="meanvalue", samples=300)])
def test_a_function_of_x_and_t_is_the_text(options):
    seen = []

    def drift(x, t):
        assert type(t) is float and x.ndim == 2 and x.shape[1] == 1
        seen.append(t)
        return -x * (1 + t) + np.sin(3 * t)

    got, expected = solve(drift, **options), solve("-x*(1 + t) + sin(3*t)", **options)
    np.testing.assert_allclose(got.density, expected.density, rtol=1e-9)
    np.testing.assert_allclose(got.score, expected.score, rtol=1e-7, atol=1e-8)
    assert len(set(seen)) > 10


def test_a_function_of_x_is_called_once_for_all_times():
    sizes = []

    def drift(x):
        sizes.append(len(x))
        return -x

    options = dict(method="meanvalue", samples=300)
    got, expected = solve(drift, **options), solve("-x", **options)
    np.testing.assert_allclose(got.density, expected.density, rtol=1e-9)
    assert max(sizes) > 1000  # shifted points of many nodes, whose times differ


def test_points_are_put_back_in_their_order():
    rng = np.random.default_rng(2385)
    points = rng.normal(size=(500, 2))
    times = rng.choice([0.1, 0.25, 0.7], 500)
    calls = []

    def drift(x, t):
        calls.append((t, len(x)))
        return t * x

    np.testing.assert_array_equal(sde._at_times(drift, points, times), times[:, None] * points)
    assert [t for t, n in calls] == [0.1, 0.25, 0.7] and sum(n for t, n in calls) == 500
    calls.clear()
    sde._at_times(drift, points, np.full(500, 0.3))
    assert calls == [(0.3, 500)]


@pytest.mark.parametrize("function, two", [
    (lambda x: -x, False), (lambda x, t: -x, True), (lambda x, t=0.0: -x, True),
    (lambda *arguments: -arguments[0], True), (np.negative, False), (np.multiply, True),
    (functools.partial(lambda a, x: -a * x, 2.0), False)])
def test_how_many_arguments_a_drift_takes(function, two):
    assert sde._takes_two(function) is two


def test_wrong_shapes_are_named_at_every_time():
    with pytest.raises(heatball.ArgumentError, match=r"drift returned an array of shape \(1,\)"):
        solve(lambda x, t: x[0] * t)
    with pytest.raises(heatball.ArgumentError, match="drift returned an array of shape"):
        sometimes = lambda x, t: -x if t < 0.4 else -x[:, 0]
        solve(sometimes, method="meanvalue", samples=300)


def test_what_a_drift_raises_arrives():
    with pytest.raises(ZeroDivisionError):
        solve(lambda x, t: -x if t == 0 else 1 // 0)

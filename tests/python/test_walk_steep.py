"""Walks under steep gradient drifts in one dimension (docs/explanation/walks.md), which have no bridges: drifts drawn at random
against a solver by SciPy, far tails against the grid, threads and states."""
import numpy as np
import pytest

import fokker_planck_line
import heatball
from test_bridges import within

WELL = dict(drift="x - x^3", noise=1, initial="gaussian(mean=0, var=1)", time=1)


def drawn(seed):
    """A drift -V' whose V grows as x^4 or x^6: text and function."""
    rng = np.random.default_rng(seed)
    a, b, c, d, e = (float(f"{v:.4f}") for v in (rng.normal(), rng.uniform(-1, 1.5), rng.normal(), rng.uniform(0.4, 1),
                                                rng.uniform(0.5, 2)))
    power = 3 if seed % 2 else 5

    def f(x, t):
        return a + b * x + c * np.sin(e * x) - d * x**power
    return f"({a}) + ({b})*x + ({c})*sin({e}*x) - {d}*x^{power}", f


@pytest.mark.parametrize("seed", range(4))
def test_drawn_gradients(seed):
    text, f = drawn(seed)
    rng = np.random.default_rng(200 + seed)
    mean, var, time, at = rng.normal(scale=0.5), rng.uniform(0.1, 0.6), rng.uniform(0.2, 0.6), rng.normal(size=(3, 1))
    s = heatball.solve(drift=text, noise=1, initial=f"gaussian(mean={mean!r}, var={var!r})", time=time, at=at,
                       method="walk", samples=32768, seed=seed)
    truth, error = fokker_planck_line.solve(f, mean, var, time, at[:, 0])
    told = np.isfinite(s.density_error) & np.isfinite(s.score_error[:, 0])  # others are flagged, far in a tail
    assert told.sum() >= 2
    within(s.density[told], truth[told, 0], np.hypot(s.density_error, error[:, 0])[told])
    within(s.score[told, 0], truth[told, 1], np.hypot(s.score_error[:, 0], error[:, 1])[told], 1e-4)
    assert np.all(s.density_error[told] < 0.03 * s.density[told])


def test_far_in_the_tail():
    at = [[2.3], [2.7], [-3.0]]
    s, truth = (heatball.solve(at=at, method=m, **WELL) for m in ("walk", "grid"))
    within(s.log_density, truth.log_density, s.log_density_error, 1e-4)
    within(s.score, truth.score, s.score_error, 2e-3)
    assert np.all(s.log_density_error < 0.01)


def test_threads_and_states(tmp_path):
    """The same bits on any number of threads, and after a stop."""
    problem = dict(WELL, at=[[0.0], [1.0], [-1.6]], method="walk", seed=5)
    whole = heatball.solve(samples=32768, threads=1, **problem)
    again = heatball.solve(samples=32768, threads=3, **problem)
    heatball.solve(samples=8192, state=tmp_path / "state", **problem)
    after = heatball.solve(samples=32768, state=tmp_path / "state", resume=True, **problem)
    for other in (again, after):
        assert np.array_equal(whole.density, other.density) and np.array_equal(whole.score, other.score)
        assert np.array_equal(whole.score_error, other.score_error)

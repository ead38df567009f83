"""Bridges about minimum-action paths (docs/explanation/walks.md): steep gradient drifts in one dimension, drawn at random, against a solver by SciPy; other starts,
threads, states, and what their errors claim."""
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
    assert "bridges about the most probable path at" in s.note
    truth, error = fokker_planck_line.solve(f, mean, var, time, at[:, 0])
    within(s.density, truth[:, 0], np.hypot(s.density_error, error[:, 0]))
    within(s.score[:, 0], truth[:, 1], np.hypot(s.score_error[:, 0], error[:, 1]), 1e-4)
    assert np.all(s.density_error < 0.02 * s.density)


def test_two_bumps(tmp_path):
    """A start with a narrow bump beside a wide one; a bump that is too narrow for the mesh of ends is not led to."""
    for width, led in ((0.05, True), (1e-5, False)):
        (tmp_path / "m.csv").write_text(f"0.6,0.5,0.8\n0.4,-0.7,{width**2!r}\n")
        problem = {**WELL, "initial": f"mixture({tmp_path / 'm.csv'})", "at": [[-0.6], [0.9]]}
        s = heatball.solve(method="walk", samples=32768, **problem)
        assert ("most probable path" in s.note) == led
        if not led:
            continue
        truth = heatball.solve(method="grid", **problem)
        within(s.log_density, truth.log_density, np.hypot(s.log_density_error, truth.log_density_error))
        within(s.score, truth.score, np.hypot(s.score_error, truth.score_error))


def test_far_in_the_tail():
    at = [[2.3], [2.7], [-3.0]]
    s, truth = (heatball.solve(at=at, method=m, **WELL) for m in ("walk", "grid"))
    assert "bridges about the most probable path at 3 of 3 points" in s.note
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


COVERED = {
    "gaussian": (WELL, [[0.0], [1.6]]),
    "short": ({**WELL, "time": 0.3, "initial": "gaussian(mean=0.5, var=0.2)"}, [[0.2], [1.5]]),
    "point": ({**WELL, "initial": "point(0.5)"}, [[0.6], [-1.9]]),
    "steeper": (dict(drift="sin(2*x) - x^5", noise=1.2, initial="gaussian(mean=-0.3, var=0.3)", time=0.4), [[0.3], [1.1]]),
}


@pytest.mark.long
@pytest.mark.parametrize("name", COVERED)
def test_coverage(name):
    """|z| <= 1.96 in 90 to 99.5 % of 200 repetitions, density and score."""
    problem, at = COVERED[name]
    truth = heatball.solve(at=at, method="grid", **problem)
    held = []
    for seed in range(200):
        s = heatball.solve(at=at, method="walk", samples=8192, seed=seed, **problem)
        assert "bridges about the most probable path at" in s.note
        z = np.column_stack([(s.log_density - truth.log_density) / s.log_density_error, (s.score - truth.score) / s.score_error])
        held.append(np.abs(z) <= 1.96)
    share = np.mean(held, axis=0)
    assert np.all((share >= 0.90) & (share <= 0.995)), share

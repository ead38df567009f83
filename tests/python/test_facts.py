"""Drifts with a very local part, which values at a few points cannot tell from linear or constant ones; callables and
their declared facts. The densities come from an independent scheme: finite volumes for u with faces at the kinks, BDF of
SciPy, at two meshes that agree to 1e-5."""
import numpy as np
import pytest

import heatball

BUMP = "-x + 1500*max(0,0.03-abs(x-0.6))"
START = dict(noise=1, initial="gaussian(mean=0,var=1)", time=1, at=[0.6])


def claimed(solution, truth):
    """Right within five claimed errors, or doubted."""
    return np.isinf(solution.density_error[0]) or abs(solution.density[0] - truth) <= 5 * solution.density_error[0] + 5e-6


def test_walks_see_a_bump_between_the_points():
    assert claimed(heatball.solve(BUMP, method="walk", samples=4096, **START), 0.293110)


def test_the_grid_sees_time_in_a_bump():
    solution = heatball.solve("-x + t*1500*max(0,0.03-abs(x-0.6))", method="grid", **START)
    assert claimed(solution, 0.267300) and solution.density_error[0] < 0.01


def test_declared_facts():
    def contract(x):
        return -x

    def bump(x, t):
        return -x + 1500 * np.maximum(0, 0.03 - abs(x - 0.6))

    case = dict(noise=1, initial="gaussian(mean=0,var=1)", time=1, at=[0.3], method="walk", samples=4096)
    exact = heatball.solve(contract, facts=("linear", "autonomous"), **case)
    general = heatball.solve(contract, **case)
    variance = np.exp(-2) + (1 - np.exp(-2)) / 2
    truth = np.exp(-0.045 / variance) / np.sqrt(2 * np.pi * variance)
    assert abs(exact.density[0] / truth - 1) < 1e-12 and exact.density_error[0] < 1e-10
    assert abs(general.density[0] - truth) <= 5 * general.density_error[0] and "linear:" not in general.note
    assert claimed(heatball.solve(bump, method="walk", samples=4096, **START), 0.293110)
    with pytest.raises(heatball.ArgumentError, match="declared linear"):
        heatball.solve(lambda x: -x**3, facts="linear", **case)
    with pytest.raises(heatball.ArgumentError, match="declared autonomous"):
        heatball.solve(lambda x, t: -x * (1 + t), facts=["autonomous"], **case)
    with pytest.raises(heatball.ArgumentError, match="declared a gradient"):
        heatball.solve(lambda x: x[:, ::-1] * [1, -1], facts=["gradient"], **{**case, "at": [[0.3, 0.1]]})
    with pytest.raises(heatball.ArgumentError, match="read off"):
        heatball.solve("-x", facts=["linear"], **case)
    with pytest.raises(heatball.ArgumentError, match="facts is 'affine'"):
        heatball.solve(contract, facts=["affine"], **case)

"""Narrow features in shapes that narrow_problems.py does not draw: pulses that multiply x, oblique wells, rings, joint starts.

Each truth is a closed form or a quadrature on intervals graded toward the feature. |z| > 5 fails unless the error is
infinite or the problem is refused in a sentence.
"""
import numpy as np
import pytest

import heatball
from narrow_problems import Gaussian, Stationary, graded, integral

MOST = 5.0


def answers(truth, score, **problem):
    """The solution, None where it is refused; every finite error holds the truth, ln u and score."""
    try:
        s = heatball.solve(**problem)
    except heatball.Error as refusal:
        assert len(str(refusal)) > 20
        return None
    known = np.isfinite(s.log_density_se)
    assert np.all(np.abs(s.log_density - truth)[known] <= MOST * s.log_density_se[known] + 1e-8), (s.log_density, truth)
    known = np.isfinite(s.score_se)
    assert np.all(np.abs(s.score - score)[known] <= MOST * s.score_se[known] + 1e-7 * (1 + np.abs(score[known])))
    return s


@pytest.mark.parametrize("width", [1e-4, 5e-5])
def test_grid_under_a_pulse_of_contraction(width):
    """-x (1 + A exp(-((t - 0.3)/w)^2)): the drift of the pulse is fast for every mesh, which is then of first order."""
    a, t, mean, var = 0.7 / width / np.sqrt(np.pi), 0.5, 0.3, 0.4
    ends = graded(0, t, [(0.3, width)], widest=t / 200)
    rate = lambda s: 1 + a * np.exp(-((s - 0.3) / width)**2)
    to = integral(rate, ends)
    # int exp(-2 int_s^t rate) ds by the trapezoidal rule on pieces of these intervals
    s = np.unique(np.concatenate([np.linspace(x, y, 41) for x, y in zip(ends[:-1], ends[1:])]))
    inner = np.concatenate([[0], np.cumsum((rate(s[1:]) + rate(s[:-1])) / 2 * np.diff(s))])
    left = np.exp(-2 * (inner[-1] - inner))
    end = Gaussian([1], [mean * np.exp(-to[-1])],
                   [var * np.exp(-2 * to[-1]) + ((left[1:] + left[:-1]) / 2 * np.diff(s)).sum()])
    x = np.array([-2.0, -0.5, 0.4, 1.3, 2.0])
    truth, score = end.at(x)[:2]
    s = answers(truth, score[:, None], drift=f"-x*(1+{a!r}*exp(-((t-0.3)/{width})^2))", noise=1,
                initial=f"gaussian(mean={mean},var={var})", time=t, at=x[:, None], method="grid")
    assert np.isfinite(s.log_density_se[1:4]).all()

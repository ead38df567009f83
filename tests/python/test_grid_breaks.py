"""Drifts with jumps, kinks and narrow parts on the grid, against an independent solver; what the methods say where they
cannot answer. dx = f dt + dW from N(0.2, 0.3)."""
import math
import time

import numpy as np
import pytest

import fokker_planck_line
import heatball

sign, most, least = np.sign, np.maximum, np.minimum
MEAN, VAR = 0.2, 0.3
START = f"gaussian(mean={MEAN},var={VAR})"

# text, the same for NumPy, time, points, where it breaks, where it varies (centre, width), steady
CASES = [
    ("-sign(x-0.3)", lambda x, t: -sign(x - 0.3), 0.7, [0.29, 0.31, -1], [0.3], [(0.3, 0.5)], True),
    ("-3*sign(x)+2*sign(x-1)", lambda x, t: -3 * sign(x) + 2 * sign(x - 1), 0.7, [-0.05, 0.05, 0.95, 1.2], [0, 1],
     [(0, 0.5), (1, 0.5)], True),
    ("-x/(0.1+abs(x))", lambda x, t: -x / (0.1 + abs(x)), 1, [-0.1, 0.02, 1], [0], [(0, 0.2)], True),
    ("-x+8*max(0,1-abs(x-1)*20)", lambda x, t: -x + 8 * most(0, 1 - abs(x - 1) * 20), 1, [0.9, 1.01, 1.04],
     [0.95, 1, 1.05], [(1, 0.05)], True),
    ("-x+150*exp(-(x-0.6)^2/0.000001)", lambda x, t: -x + 150 * np.exp(-(x - 0.6) ** 2 / 1e-6), 1, [0.6, 0.5, 0.601],
     [], [(0.6, 0.003)], True),
    ("-x+t*1500*max(0,0.03-abs(x-0.6))", lambda x, t: -x + t * 1500 * most(0, 0.03 - abs(x - 0.6)), 1, [0.61, 0.5],
     [0.57, 0.6, 0.63], [(0.6, 0.05)], False),
]
MORE = [
    ("-x*abs(x)", lambda x, t: -x * abs(x), 1, [0.02, 1, -1.5], [0], [(0, 1)], True),
    ("max(-1,min(1,-3*x))", lambda x, t: most(-1, least(1, -3 * x)), 1, [0.3, 0.35, -1], [-1 / 3, 1 / 3], [(0, 0.5)],
     True),
    ("sign(sin(4*x))-x", lambda x, t: sign(np.sin(4 * x)) - x, 0.5, [0.05, 0.75, -0.8],
     [k * np.pi / 4 for k in range(-8, 9)], [], True),
    ("-x+150*exp(-(x-0.6)^2/0.0005)", lambda x, t: -x + 150 * np.exp(-(x - 0.6) ** 2 / 0.0005), 1, [0.6, 0.58, 0.65],
     [], [(0.6, 0.02)], True),
    ("-x-40*exp(-(x+0.37)^2/0.0001)*(x+0.37)/0.01",
     lambda x, t: -x - 40 * np.exp(-(x + 0.37) ** 2 / 1e-4) * (x + 0.37) / 0.01, 1, [-0.37, -0.36, 0.5], [],
     [(-0.37, 0.01)], True),
    ("-x*sqrt(x^2)+sqrt(abs(x))", lambda x, t: -x * abs(x) + np.sqrt(abs(x)), 0.7, [0.05, 0.5, -0.4], [0],
     [(0, 0.02), (0, 0.2)], True),
    ("-tanh(200*(x-0.2))", lambda x, t: -np.tanh(200 * (x - 0.2)), 0.7, [0.19, 0.2, 0.201], [], [(0.2, 0.01)], True),
]


def z_values(solution, truth, error):
    z_density = (solution.density - truth[:, 0]) / np.hypot(solution.density_error, error[:, 0])
    z_score = (solution.score[:, 0] - truth[:, 1]) / np.hypot(solution.score_error[:, 0], error[:, 1])
    return np.abs([z_density, z_score]).max()


def check(case):
    text, f, end, at, breaks, features, steady = case
    truth, error = fokker_planck_line.solve(f, MEAN, VAR, end, at, breaks, features, steady)
    solution = heatball.solve(text, 1, START, end, at, method="grid")
    assert z_values(solution, truth, error) <= 5
    assert solution.density_error.max() < 1e-4 * solution.density.max()  # not by claiming much


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_breaks_and_narrow_parts(case):
    check(case)


@pytest.mark.long
@pytest.mark.parametrize("case", MORE, ids=[case[0] for case in MORE])
def test_more_breaks_and_narrow_parts(case):
    check(case)


def normal(x, var):
    return np.exp(-x ** 2 / 2 / var) / np.sqrt(2 * np.pi * var)


@pytest.mark.parametrize("drift, slanted", [("-sign(x), -y", False), ("-sign(x-y)/sqrt(2), sign(x-y)/sqrt(2)", True)])
def test_jumps_in_the_plane(drift, slanted):
    """A product of two lines, also when it is turned by 45 degrees: the jump is then on no face."""
    at = np.array([[0.3, 0.1], [-0.02, 0.5], [0.7, -0.6]])
    solution = heatball.solve(drift, 1, f"gaussian(mean=0,var={VAR})", 0.5, at, method="grid")
    first = (at[:, 0] - at[:, 1]) / np.sqrt(2) if slanted else at[:, 0]
    second = (at[:, 0] + at[:, 1]) / np.sqrt(2) if slanted else at[:, 1]
    truth, error = fokker_planck_line.solve(lambda x, t: -sign(x), 0, VAR, 0.5, first, [0], [(0, 0.5)])
    var = VAR + 0.5 if slanted else VAR * np.exp(-1) + (1 - np.exp(-1)) / 2
    density, score = truth[:, 0] * normal(second, var), np.stack([truth[:, 1], -second / var], axis=1)
    if slanted:
        score = np.stack([score[:, 0] + score[:, 1], score[:, 1] - score[:, 0]], axis=1) / np.sqrt(2)
    z = (solution.density - density) / np.hypot(solution.density_error, error[:, 0])
    assert abs(z).max() <= 5 and (solution.density_error < 0.1 * density).all()
    assert (abs(solution.score - score) <= 5 * solution.score_error + 1e-5).all()
    assert ("no extrapolation" in solution.note) == slanted


def test_a_narrow_part_in_the_plane_is_doubted():
    case = dict(noise=1, initial=START, time=0.5, at=[[0.5, 0.2]], method="grid")
    for drift in ("-x+150*exp(-(x-0.6)^2/1e-6), -y", "-x+30*exp(-((x-0.6)^2+(y-0.1)^2)/1e-4), -y"):
        solution = heatball.solve(drift, **case)
        assert np.isinf(solution.density_error[0]) and "cells" in solution.warnings[0]
    assert heatball.solve("x-x^3+sin(3*y), -y+cos(x*y)", **case).density_error[0] < 1e-4


def test_a_jump_that_moves():
    """In the frame y = x - t/2 the jump rests: dy = -(sign(y) + 1/2) dt + dW."""
    solution = heatball.solve("-sign(x-0.5*t)", 1, START, 0.7, [0.3, 0.38, 1], method="grid")
    truth, error = fokker_planck_line.solve(lambda x, t: -sign(x) - 0.5, MEAN, VAR, 0.7, np.array([0.3, 0.38, 1]) - 0.35,
                                            [0], [(0, 0.5)])
    assert z_values(solution, truth, error) <= 5
    assert solution.density_error.max() < 0.02


def test_averages_doubt_what_they_cannot_see():
    case = dict(noise=1, initial=START, time=0.7, method="meanvalue", samples=2000)
    jump = heatball.solve("-sign(x-0.3)", at=[0.29, 3], **case)
    assert np.isinf(jump.density_error[0]) and np.isinf(jump.score_error[0, 0]) and "grid" in jump.warnings[0]
    assert np.isfinite(jump.density_error[1]) and 1 not in jump.warnings
    kink = heatball.solve("-x+0.5*abs(x)", at=[0.1], degree=7, **case)
    assert np.isinf(kink.density_error[0]) and "cubature" in kink.warnings[0]
    draws = heatball.solve("-x+0.5*abs(x)", at=[0.1], **case)
    exact = heatball.solve("-x+0.5*abs(x)", 1, START, 0.7, [0.1], method="grid")
    assert abs(draws.density[0] - exact.density[0]) <= 5 * draws.density_error[0] < 0.1 * exact.density[0]
    narrow = heatball.solve("-x+150*exp(-(x-0.6)^2/1e-9)", at=[0.5], **case)
    assert np.isinf(narrow.density_error[0])
    with pytest.raises(heatball.ArgumentError, match="jumps inside the heat ball"):
        heatball.residual("-sign(x-0.3)", 1, START, 0.7, [0.29])


def test_a_far_point_does_not_stall_the_others():
    began = time.monotonic()
    solution = heatball.solve("x-x^3,-y", 1, "gaussian(mean=0,var=0.1)", 0.5, [[20, 0], [0.5, 0.2]])
    assert time.monotonic() - began < 60  # minutes before, whatever else runs here
    assert np.isinf(solution.density_error[0]) and "too far" in solution.warnings[0]
    alone = heatball.solve("x-x^3,-y", 1, "gaussian(mean=0,var=0.1)", 0.5, [[0.5, 0.2]])
    assert abs(solution.density[1] - alone.density[0]) <= 5 * (solution.density_error[1] + alone.density_error[0])


def test_the_grid_keeps_to_its_time():
    case = dict(drift="-x+0.1*sin(y*z),-y,-z+x", noise=1, initial=START, time=0.7, at=[[0.3, 0, 0]], max_time=0.2)
    with pytest.raises(heatball.Error, match="when the 0.2 s of max_time were over"):
        heatball.solve(method="grid", **case)
    solution = heatball.solve(**case)  # auto: samples take over
    assert "max_time" in solution.note and solution.method != "grid"


@pytest.mark.parametrize("rate", [400, 100, 10])
def test_a_pulse_in_time_is_claimed(rate):
    """All the drift in a time of 1/rate: many cells in a step of the time that it lasts."""
    s = heatball.solve(f"{rate}/sqrt(pi)*exp(-({rate}*(t - 0.02))^2)", 1, "gaussian(mean=0, var=1)", 0.05, [-1, 0, 1, 2], method="grid")
    mean = 0.5 * (math.erf(rate * 0.03) + math.erf(rate * 0.02))
    truth = -0.5 * (np.array([-1, 0, 1, 2]) - mean) ** 2 / 1.05 - 0.5 * math.log(2 * math.pi * 1.05)
    assert np.all(np.abs(s.log_density - truth) <= s.log_density_error)


@pytest.mark.parametrize("speed", [10, 50, 200, 1000])
def test_a_fast_drift_is_claimed(speed):
    """The mass moves by many of its widths, many cells in the time in which it spreads by one."""
    x = 0.05 * speed + np.array([-1, 0, 1, 2])
    s = heatball.solve(f"{speed}", 1, "gaussian(mean=0, var=1)", 0.05, x, method="grid")
    truth = -0.5 * np.array([-1, 0, 1, 2]) ** 2 / 1.05 - 0.5 * math.log(2 * math.pi * 1.05)
    assert np.all(np.abs(s.log_density - truth) <= s.log_density_error)


@pytest.mark.parametrize("turn", [1, 10, 40])
def test_a_fast_turn_is_claimed(turn):
    at = np.array([math.cos(turn / 2), math.sin(turn / 2)]) + np.array([[0, 0], [0.3, -0.2]])
    s = heatball.solve(f"-{turn}*y, {turn}*x", 0.5, "gaussian(mean=1 0, var=0.1)", 0.5, at, method="grid")
    truth = -0.5 * np.array([0, 0.13]) / 0.225 - math.log(2 * math.pi * 0.225)
    assert np.all(np.abs(s.log_density - truth) <= s.log_density_error)

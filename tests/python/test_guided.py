"""solve(method="guided"): walks along a fitted log-density, against products of solutions of the grid and closed forms.

    z = (value - truth)/error, the errors of both added; |z| < 5 for every log-density and every component of a score

A number to reproduce: x - x^3 + 1.5 y, -y - 1.5 x, noise sqrt(2), from N(0.3, 0.3) at t = 1, (0.5, 0.2): 0.118770187.
"""
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from scipy.linalg import expm

import heatball
from guided_problems import Problem

BENCH = pathlib.Path(__file__).parents[2] / "bench"
PAIR = "x - x^3 + 1.5*y, -y - 1.5*x"
BENT = dict(drift=PAIR, noise="sqrt(2)", initial="gaussian(mean=0.3, var=0.3)", time=0.5, method="guided", samples=2048)
AT = np.array([[0.5, 0.2], [-1.0, 0.7], [0.1, -1.2]])


def deviations(s, log_u, log_u_error, score, score_error):
    """The |z| of all log-densities and components of scores that have an error, and how many have none."""
    known, good = np.isfinite(s.log_density_error), np.isfinite(s.score_error)
    z = np.abs(s.log_density - log_u)[known] / np.hypot(s.log_density_error, log_u_error)[known]
    wide = np.broadcast_to(np.linalg.norm(score_error, axis=1)[:, None], score.shape)
    z_score = np.abs(s.score - score)[good] / np.hypot(s.score_error, wide)[good]
    return np.concatenate([z, z_score]), np.sum(~known) + np.sum(~good)


# ---- against products of solutions of the grid ----

@pytest.mark.parametrize("kind, seeds", [("density", (1, 4, 5, 7, 9, 12)), ("point", (1, 5)), ("many", (3, 5))])
def test_products(kind, seeds):
    z, flagged, values = [], 0, 0
    for seed in seeds:
        problem = Problem(seed, kind)
        y = problem.draw(3)
        log_u, error, score, score_error = problem.truth(y)
        assert np.all(error < 0.01)
        s = heatball.solve(problem.drift(), "sqrt(2)", problem.whole_start(), problem.time, y @ problem.axes.T, dim=problem.dim,
                           method="guided", samples=4096)
        assert s.method == "guided" and np.nanmedian(s.log_density_error) < 0.03
        part, without = deviations(s, log_u, error, score @ problem.axes.T, score_error)
        assert part.max() < 5, (seed, part.max())
        z.append(part)
        flagged, values = flagged + without, values + 3 * (1 + problem.dim)
    z = np.concatenate(z)
    assert flagged < 0.1 * values
    assert np.sqrt(np.mean(np.minimum(z, 4)**2)) < 1.5  # 1, if errors are what they say; a value's components share their walks


def test_several_times():
    given = {**BENT, "time": [0.1, 0.4, 1.0], "at": AT}
    s, grid = heatball.solve(**given), heatball.solve(**{**given, "method": "grid", "samples": None})
    assert s.log_density.shape == grid.log_density.shape == (3, 3)
    z = (s.log_density - grid.log_density) / np.hypot(s.log_density_error, grid.log_density_error)
    z_score = (s.score - grid.score) / np.hypot(s.score_error, grid.score_error)
    assert np.all(np.abs(z) < 5) and np.all(np.abs(z_score) < 5) and np.all(s.log_density_error < 0.05)


def test_errors_fall_with_the_samples():
    few, many = (heatball.solve(**{**BENT, "samples": n, "at": AT}) for n in (2048, 32768))
    assert np.all(few.samples == 2048) and np.all(many.samples == 32768)
    assert np.all(many.log_density_error < 0.5 * few.log_density_error)


# ---- closed forms ----

@pytest.mark.parametrize("axis", [0, 1])
def test_a_coordinate_without_noise(axis):
    """An oscillator whose one equation has no noise, bent so little that the closed form of the linear one holds."""
    A, time = np.array([[0, 1], [-1, -0.5]]), 0.8
    noise = ["0.7, 0; 0, 0", "0, 0; 0, 0.7"][axis]
    D = np.diag([0.49 * (axis == 0), 0.49 * (axis == 1)])
    whole = expm(np.block([[A, D], [np.zeros((2, 2)), -A.T]]) * time)  # C = F v F' + int e^(As) D e^(A's) ds, by Van Loan
    F = whole[:2, :2]
    mean, C = F @ [0.5, 0.5], 0.4 * F @ F.T + whole[:2, 2:] @ F.T
    x = mean + np.array([[0.1, -0.2], [0.9, 0.4], [-1.2, 0.8]])
    s = heatball.solve("y, -x - 0.5*y - 1e-12*sin(x)", noise, "gaussian(mean=0.5, var=0.4)", time, x, method="guided", samples=4096)
    away = np.linalg.solve(C, (x - mean).T).T
    exact = -0.5 * np.sum((x - mean) * away, 1) - 0.5 * np.log(np.linalg.det(2 * np.pi * C))
    assert s.method == "guided" and np.all(s.log_density_error < 0.03)
    assert np.all(np.abs(s.log_density - exact) < 5 * s.log_density_error)
    assert np.all(np.abs(s.score + away) < 5 * s.score_error)


def test_a_noise_that_depends_on_t():
    """dx = -x dt + (1 + t) dW from N(0.4, 0.5) is N(0.4 e^-t, v): v = 0.5 e^-2t + int_0^t e^(-2(t-s)) (1+s)^2 ds."""
    time = 0.7
    s = heatball.solve("-x + 1e-12*sin(x)", "1 + t", "gaussian(mean=0.4, var=0.5)", time, [0.3, -1.0, 2.0], method="guided", samples=4096)
    def primitive(r):
        return np.exp(2 * r) * ((1 + r)**2 / 2 - (1 + r) / 2 + 0.25)
    v = np.exp(-2 * time) * (0.5 + primitive(time) - primitive(0))
    away = np.array([0.3, -1.0, 2.0]) - 0.4 * np.exp(-time)
    assert np.all(np.abs(s.log_density + 0.5 * (away**2 / v + np.log(2 * np.pi * v))) < 5 * s.log_density_error + 1e-9)
    assert np.all(np.abs(s.score[:, 0] + away / v) < 5 * s.score_error[:, 0] + 1e-9)


# ---- the same numbers ----

def same_bits(one, two, rows=slice(None)):
    for name in ("log_density", "log_density_error", "score", "score_error"):
        assert np.ascontiguousarray(getattr(one, name)[rows]).tobytes() == np.ascontiguousarray(getattr(two, name)).tobytes(), name


def test_the_same_bits_on_any_number_of_threads():
    same_bits(*(heatball.solve(**BENT, at=AT, threads=n) for n in (1, 2)))


def test_a_point_does_not_depend_on_the_others():
    whole = heatball.solve(**BENT, at=AT)
    same_bits(whole, heatball.solve(**BENT, at=AT[1:2]), slice(1, 2))
    same_bits(whole, heatball.solve(**BENT, at=AT[::-1]), slice(None, None, -1))


def test_another_seed_is_another_draw():
    one, two = (heatball.solve(**BENT, at=AT, seed=n) for n in (1, 2))
    difference = one.log_density - two.log_density
    assert np.all(difference != 0) and np.all(np.abs(difference) < 5 * np.hypot(one.log_density_error, two.log_density_error))


def test_a_resumed_sampling_has_the_bits_of_one_run(tmp_path):
    state = tmp_path / "state"
    heatball.solve(**BENT, at=AT, state=state)
    resumed = heatball.solve(**{**BENT, "samples": 6144}, at=AT, state=state, resume=True)
    same_bits(resumed, heatball.solve(**{**BENT, "samples": 6144}, at=AT))
    with pytest.raises(heatball.Error):
        heatball.solve(**{**BENT, "drift": "x - x^3 + 1.4*y, -y - 1.5*x"}, at=AT, state=state, resume=True)


def test_a_wanted_error_is_reached():
    s = heatball.solve(**{**BENT, "samples": None}, at=AT, stderr=0.01)
    assert np.all(s.density_error <= 0.01 * s.density) and np.all(s.samples < 65536)


def test_a_function_has_the_answer_of_the_text():
    def drift(x, t):
        return np.stack([x[:, 0] - x[:, 0]**3 + 1.5 * x[:, 1], -x[:, 1] - 1.5 * x[:, 0]], 1)
    given = {**BENT, "at": AT[:1], "time": 0.2, "samples": 1024, "dim": 2}
    text, function = heatball.solve(**given), heatball.solve(**{**given, "drift": drift})
    assert function.method == "guided"
    assert np.all(np.abs(function.log_density - text.log_density) < 5 * np.hypot(text.log_density_error, function.log_density_error))
    assert np.all(np.abs(function.score - text.score) < 5 * np.hypot(text.score_error, function.score_error))


# ---- auto ----

def test_auto_takes_guided_walks_in_six_dimensions():
    drift = ", ".join(PAIR.replace("x", f"x{k}").replace("y", f"x{k + 1}") for k in (1, 3, 5))
    s = heatball.solve(drift, "sqrt(2)", "gaussian(mean=0.3, var=0.3)", 1.0, np.tile([0.5, 0.2], 3)[None])
    grid = heatball.solve(PAIR, "sqrt(2)", "gaussian(mean=0.3, var=0.3)", 1.0, AT[:1])
    assert s.methods == ["guided"] and "guided by a log-density of" in s.note
    assert np.abs(s.log_density - 3 * grid.log_density)[0] < 5 * s.log_density_error[0]
    assert np.all(np.abs(s.score - np.tile(grid.score, 3)) < 5 * s.score_error)


# ---- what is refused ----

@pytest.mark.parametrize("change, words", [
    (dict(drift="sin(x), -y", noise="1 + x^2, 0; 0, 1"), "guided does not serve this problem: the noise depends on x in a way that no change"),
    (dict(drift="x - x^3, -sign(y)"), "the drift or the initial density has kinks, jumps or poles"),
    (dict(initial="uniform(-1 1, -1 1)"), "the drift or the initial density has kinks, jumps or poles"),
    (dict(drift="-sinh(x), -y"), "the drift grows faster than the third power of |x|"),
    (dict(drift="-x[i] + 0.1*sin(x[i])", dim=201, at=np.zeros((1, 201))), "the dimension is above 200"),
    (dict(time=np.inf, initial=None), "guided does not serve this problem: time is inf"),
    (dict(noise="1; 1", drift="sin(x), -y", initial="point(0 0)"), "the noise is a matrix and the initial density a point"),
    (dict(noise="1; 1", drift="sin(x), -y"), "the noise is a matrix, and guided walks take only those that are diagonal"),
    (dict(degree=3, samples=None), "degree has no effect on the method guided"),
    (dict(at=[[np.nan, 0]]), "must be finite")])
def test_what_is_refused(change, words):
    with pytest.raises(heatball.Error, match=re.escape(words)) as refusal:
        heatball.solve(**{**BENT, "at": AT, **change})
    assert "\n" not in str(refusal.value)


def test_the_script_that_compares_methods():
    """Its truth is a product of the grid's solutions; guided walks and walks must cover it."""
    done = subprocess.run([sys.executable, BENCH / "guided_against_walks.py", "--quick"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()[1:4]] == ["guided", "walk", "particles"]
    share, count = re.search(r"guided walks and walks: (\S+) % of (\d+) errors", done.stdout).groups()
    assert float(share) > 80 and int(count) > 25


def test_a_point_that_nothing_reaches_has_no_error():
    """From (20, 0) walks back along a cubic drift differ by thousands in ln u; clipped values must not seem alike."""
    for seed in (1, 7):
        s = heatball.solve("x - x^3, -y", 1, "gaussian(mean=0, var=0.1)", 0.5, [[20, 0]], method="guided", samples=2048, seed=seed)
        assert np.isinf(s.log_density_error[0]) and s.warnings

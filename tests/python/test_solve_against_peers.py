"""Particles against kernel density estimates, walks against closed forms and the grid.

The peers are those of bench/peer_estimate.py. Short versions have few repetitions and wide margins; the
long ones are the numbers that the project promises. Nothing here is timed: that is bench/bench_estimate.py.
"""

import numpy as np
import pytest

import estimate_problems as problems
import heatball
import peer_estimate

TRAJECTORIES = 8000


def against_kde(problem, at, repetitions, directory):
    """Relative errors (repetitions, points) of the density and of the score, ours and KDE's."""
    v, score = problem.exact(at)
    u, size = np.exp(v), np.maximum(np.linalg.norm(score, axis=1), 0.1)
    rng = np.random.Generator(np.random.SFC64(11))
    errors = {"ours": ([], []), "kde": ([], [])}
    for k in range(repetitions):
        s = heatball.solve(at=at, method="particles", samples=TRAJECTORIES, seed=300 + k,
                           **problem.problem(directory))
        theirs = peer_estimate.kde(peer_estimate.ends(problem, rng, TRAJECTORIES), at)
        for name, (density, slope) in (("ours", (s.density, s.score)), ("kde", theirs)):
            errors[name][0].append(density / u - 1)
            errors[name][1].append(np.linalg.norm(slope - score, axis=1) / size)
    return {name: (np.array(a), np.array(b)) for name, (a, b) in errors.items()}


def rms(errors):
    return np.sqrt((errors**2).mean())


KDE_CASES = {"OU d=2": problems.ou(2), "OU d=4": problems.ou(4),
             "anisotropic d=2": problems.anisotropic(2), "anisotropic d=4": problems.anisotropic(4),
             "bistable": problems.bistable()}


def points_of(name):
    problem = KDE_CASES[name]
    return problems.BISTABLE_AT if name == "bistable" else problem.place([0.0, 0.5, 1.0])


@pytest.mark.parametrize("name", KDE_CASES)
def test_particles_beat_kernels(name, tmp_path):
    errors = against_kde(KDE_CASES[name], points_of(name), 8, tmp_path)
    assert rms(errors["kde"][0]) > 2 * rms(errors["ours"][0])
    assert rms(errors["kde"][1]) > 1.3 * rms(errors["ours"][1])
    mean, spread = errors["ours"][0].mean(0), errors["ours"][0].std(0, ddof=1)
    assert np.all(np.abs(mean) < 6 * spread / np.sqrt(8))  # Student, 7 degrees


@pytest.mark.long
@pytest.mark.parametrize("name", KDE_CASES)
def test_particles_beat_kernels_threefold(name, tmp_path):
    errors = against_kde(KDE_CASES[name], points_of(name), 100, tmp_path)
    assert rms(errors["kde"][0]) > 3 * rms(errors["ours"][0])
    assert rms(errors["kde"][1]) > 2 * rms(errors["ours"][1])
    each = errors["ours"][0]
    whole = each.mean(1)  # over the points, which share trajectories
    assert abs(whole.mean()) < 2 * whole.std(ddof=1) / 10
    assert np.all(np.abs(each.mean(0)) < 3.5 * each.std(0, ddof=1) / 10)


def walk(problem, at, samples, directory, seed=7):
    """Answer and its z of density and score."""
    s = heatball.solve(at=at, method="walk", samples=samples, seed=seed, **problem.problem(directory))
    v, score = problem.exact(at)
    floor = 1e-8
    z = np.abs(s.log_density - v) / (s.log_density_error + floor)
    return s, z, np.abs(s.score - score) / (s.score_error + floor * (1 + np.abs(score)))


WALK_CASES = [*(problems.ou(d) for d in (1, 3, 6, 10)), problems.rotating(2), problems.rotating(4),
              problems.anisotropic(3), problems.anisotropic(6),
              *(problems.boxed(d) for d in (1, 3, 6, 10)), problems.two_bumps(3),
              problems.SoftWells(1), problems.SoftWells(3)]


@pytest.mark.parametrize("problem", WALK_CASES, ids=lambda p: p.name)
def test_walks_are_unbiased(problem, tmp_path):
    s, z, z_score = walk(problem, problem.place([0.4, 1.0]), 20_000, tmp_path)
    assert np.all(z < 5) and np.all(z_score < 5)
    assert np.all(s.density_error < 0.25 * s.density)


@pytest.mark.long
@pytest.mark.parametrize("problem", WALK_CASES, ids=lambda p: p.name)
def test_a_million_walks(problem, tmp_path):
    s, z, z_score = walk(problem, problem.place([0.7]), 1_000_000, tmp_path)
    assert np.all(z < 4) and np.all(z_score < 4)
    if problem.dim <= 6:
        assert np.all(s.density_error < 0.02 * s.density)


def test_bistable_walks(tmp_path):
    s, z, z_score = walk(problems.bistable(), problems.BISTABLE_AT, 20_000, tmp_path)
    assert np.all(z < 5) and np.all(z_score < 5)
    assert np.all(s.density_error < 0.05 * s.density)


@pytest.mark.long
def test_bistable_walks_to_a_percent(tmp_path):
    s, z, z_score = walk(problems.bistable(), problems.BISTABLE_AT, 1_000_000, tmp_path)
    assert np.all(z < 4) and np.all(z_score < 4)
    assert np.all(s.density_error < 0.01 * s.density)

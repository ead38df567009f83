"""solve(method="network"): walks that a network guides, against a Gaussian in closed form and an independent solver on the line."""
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import fokker_planck_line
import heatball

BENCH = pathlib.Path(__file__).parents[2] / "bench"
WELLS = dict(drift="x[i] - x[i]^3", dim=4, noise=1, initial="gaussian(mean=0.2, var=0.3)", time=0.4, method="network")


def test_a_gaussian_whatever_the_network_is_worth():
    """dx = -x dt + sqrt(2) dW from N(m, v) is N(m e^-t, 1 + (v - 1) e^-2t). Ten steps of training are next to none."""
    mean, var, time = np.array([1.0, -0.5, 0.3, 0.0]), 0.4, 0.5
    at = np.array([[0.6, -0.3, 0.2, 0.0], [1.2, 0.4, -0.6, 0.9]])
    s = heatball.solve("-x[i]", "sqrt(2)", f"gaussian(mean={' '.join(map(str, mean))}, var={var})", time, at, dim=4,
                       method="network", training_steps=10, samples=128, seed=2)
    m, v = mean * np.exp(-time), 1 + (var - 1) * np.exp(-2 * time)
    exact = -0.5 * ((at - m) ** 2).sum(1) / v - 2 * np.log(2 * np.pi * v)
    assert s.method == "network" and (s.samples == 128).all()
    assert (s.log_density_error < 0.15).all()
    assert (np.abs(s.log_density - exact) < 5 * s.log_density_error).all()
    assert (np.abs(s.score + (at - m) / v) < 5 * s.score_error).all()


def test_wells_against_an_independent_solver():
    places = np.array([-1.1, -0.2, 0.5, 1.3])
    truth, _ = fokker_planck_line.solve(lambda x, t: x - x ** 3, 0.2, 0.3, 0.4, places, cells=200)
    which = np.array([[0, 1, 2, 3], [2, 2, 1, 0]])
    s = heatball.solve(at=places[which], training_steps=200, **WELLS)
    assert (s.log_density_error < 0.2).all() and np.isfinite(s.score_error).any()
    assert (np.abs(s.log_density - np.log(truth[which, 0]).sum(1)) < 5 * s.log_density_error).all()
    assert (np.abs(s.score - truth[which, 1]) < 5 * s.score_error).all()


def test_paths_from_the_tails_of_the_initial_density_are_counted():
    """3 % of N(0, 1) is beyond 2.17, from where the cubic drift leads to -1.2 and 1.2 within the time."""
    places = np.array([-1.2, 1.2])
    truth, _ = fokker_planck_line.solve(lambda x, t: x - x ** 3, 0, 1, 1, places, cells=400)
    s = heatball.solve("x - x^3", 1, "gaussian(mean=0, var=1)", 1, places, method="network", training_steps=100, samples=1024, seed=1)
    assert (np.abs(s.density - truth[:, 0]) < 3 * s.density_error).all()
    assert (s.density_error < 0.05 * truth[:, 0]).all()
    assert (np.abs(s.score[:, 0] - truth[:, 1]) < 3 * s.score_error[:, 0]).all()


def test_the_same_bits_on_any_number_of_threads_and_from_any_call():
    at = np.array([[0.1, 0.2, -0.3, 0.4], [1.0, 0.0, 0.0, -1.0]])
    one, two = (heatball.solve(at=x, training_steps=10, samples=64, threads=n, **WELLS) for n, x in ((1, at), (2, at[:1])))
    assert one.log_density[0] == two.log_density[0] and one.score_error[0].tobytes() == two.score_error[0].tobytes()


@pytest.mark.parametrize("change, words", [
    (dict(drift="-x[i] + t"), "the drift or the noise depends on t"),
    (dict(degree=3), "degree has no effect on the method network"),
    (dict(method="walk"), "training has no effect on the method walk"),
    (dict(samples=10), "samples is 10; the method network needs at least 64 walks"),
    (dict(initial=lambda x: -0.5 * (x ** 2).sum(1)), "dim"),
    (dict(at=[[np.nan] * 4]), "must be finite")])
def test_what_is_refused(change, words):
    with pytest.raises(heatball.ArgumentError, match=re.escape(words)):
        heatball.solve(**{**WELLS, "at": np.zeros((1, 4)), "training_steps": 10, **change})


def test_the_script_that_compares_methods():
    """Its truth is a product of the grid's solutions; walks and guided walks must cover it."""
    done = subprocess.run([sys.executable, BENCH / "network_against_walks.py", "--quick"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()[1:5]] == ["network", "guided", "walk", "particles"]
    share, count = re.search(r"guided walks: (\S+) % of (\d+) errors", done.stdout).groups()
    assert float(share) > 80 and int(count) > 25

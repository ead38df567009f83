"""The study of nonlinear drifts as a user runs it, against SciPy.

The binary is $HEATBALL_COMMAND, by default build/heatball. `--quick` trains twelve networks, so all of this is
marked long; tests/studies/test_study_drift.c has a tiny study with the same code. The exact scores of the wells are
compared with tests/python/fokker_planck_line.py, those of the plane with tests/python/fourier_plane.py; means, ratios
and verdicts are computed again from drift.csv.
"""

import csv
import filecmp
import functools
import json
import pathlib
import shutil
import sys

import numpy as np
import pytest
from study_command import figure_files, run_study

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import fokker_planck_line  # noqa: E402
import fourier_plane  # noqa: E402

pytestmark = pytest.mark.long

SEED = 23850
PROBLEMS = ["rotating", "wells4"]
METHODS = ["dsm", "dsm-targets", "fp", "hb", "dsm-time", "fp-time"]
FIGURES = ["drift_errors", "drift_density", "drift_ratios"]
study = functools.partial(run_study, "drift", SEED)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    directory = tmp_path_factory.mktemp("drift") / "d"
    return directory, study(directory, "--threads", 1)


@pytest.fixture(scope="module")
def summary(result):
    return json.loads((result[0] / "drift.json").read_text())


@pytest.fixture(scope="module")
def table(result):
    with open(result[0] / "drift.csv", newline="") as file:
        return {(r["problem"], r["method"], r["quantity"]): float(r["value"]) for r in csv.DictReader(file)}


def truth(result, name):
    return json.loads((result[0] / "runs" / f"truth-{name}.json").read_text())


def test_the_files_are_there(result):
    names = {path.name for path in result[0].iterdir()}
    assert names == {"drift.csv", "drift.json", "runs"} | figure_files(FIGURES)


def test_exact_scores_of_the_wells(result):
    found = truth(result, "wells4")
    R = np.array(found["rotation"]).reshape(4, 4)
    assert np.abs(R @ R.T - np.eye(4)).max() < 1e-14
    for tau in (0.1, 0.3, 1.0):
        rows = [row for row in found["draws"] if row["tau"] == tau]
        q = np.array([R @ row["x"] for row in rows])
        slope = np.array([R @ row["score"] for row in rows])
        # fokker_planck_line has dX = f dt + dW, so time 2 tau and half the drift
        exact, error = fokker_planck_line.solve(lambda x, t: x - x ** 3, 0.4, 0.25, 2 * tau, q.ravel())
        assert np.all(np.abs(slope.ravel() - exact[:, 1]) < 3 * error[:, 1] + 1e-4)


def test_exact_scores_of_the_plane(result):
    found = truth(result, "rotating")
    rows = [row for row in found["draws"] if row["tau"] == 0.3]
    x = np.array([row["x"] for row in rows])
    score = np.array([row["score"] for row in rows])
    out, error = fourier_plane.plane(
        lambda x, t: np.stack([x[:, 0] - x[:, 0] ** 3 - 0.7 * x[:, 1], 0.7 * x[:, 0] - x[:, 1]], 1), lambda t: 1.0,
        [(np.array([0.3, -0.4]), np.array([0.5, 0.5]))], 0.3, np.array([-7.0, -7.0]), np.array([7.0, 7.0]), x)
    u, gradient = out[:, 0, 0], out[:, 0, 1:]
    assert np.all(np.abs(score - gradient / u[:, None]) < 1e-3 + 3 * error[:, 0, 1:] / u[:, None])


def test_ratios_and_verdicts(summary, table):
    limits = {"dsm": 0.25, "dsm-targets": 0.5, "fp": 0.8, "fp-time": 0.9, "dsm-time": 1}
    claims = {claim["id"]: claim for claim in summary["claims"]}
    assert set(claims) == set(limits)
    for other, limit in limits.items():
        ratio = np.exp(np.mean([np.log(table[p, "hb", "mse_all_tau0.3"] / table[p, other, "mse_all_tau0.3"])
                                for p in PROBLEMS]))
        assert claims[other]["ours"].startswith(f"×{ratio:.2f} of {other}")
        assert claims[other]["verdict"] == ("holds" if ratio <= limit else "does not hold")


def test_equal_time_is_a_number_of_steps(summary):
    for problem in summary["problems"]:
        cost, steps = problem["step_costs"], {m["method"]: m["steps"] for m in problem["methods"]}
        for method in ("dsm-time", "fp-time"):
            assert steps[method] == round(steps["hb"] * cost["hb"] / cost[method])
        assert steps["dsm"] == steps["dsm-targets"] == steps["fp"] == steps["hb"]


def test_the_truth_is_better_than_what_it_judges(summary):
    for problem in summary["problems"]:
        least = min(m["values"]["mse_all_tau0.3"]["mean"] for m in problem["methods"])
        assert problem["claimed_error_of_truth"][1] < 1e-2 * least


def test_threads_and_resuming_change_no_byte(result, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(result[0], copy)
    for name in (f"wells4-dsm-{SEED}", f"rotating-hb-{SEED}"):
        (copy / "runs" / f"{name}.json").unlink()
    study(copy, "--threads", 2, "--resume")
    for path in result[0].rglob("*"):
        if path.is_file() and path.suffix in (".csv", ".json", ".svg"):
            assert filecmp.cmp(path, copy / path.relative_to(result[0]), shallow=False), path

"""The planar study as a user runs it, against NumPy.

The binary is $HEATBALL_COMMAND, by default build/heatball. `--quick` trains 30 networks, so all of this is marked
long; tests/studies/test_study_planar.c has a tiny study with the same code. The exact scores are written again here from the
parameters of docs/reference/datasets.md, the draws are NumPy's, and the models are those that the study kept.
"""

import csv
import filecmp
import functools
import json
import shutil

import numpy as np
import pytest
import scipy.integrate

import heatball
from study_command import HAS_GNUPLOT, figure_files, run_study

pytestmark = pytest.mark.long

SEED = 23850
SETS = ["sparse_dense_gmm", "elongated_gmm", "ring"]
METHODS = ["dsm", "dsm-targets", "fp", "fp-targets", "hb", "hb-paper", "dsm-time", "fp-time", "dsm-score", "hb-helmholtz"]
FIGURES = ["planar_regions", "planar_residual", "planar_training", "planar_multitau", "planar_ratios", "planar_fields",
           "planar_helmholtz", "planar_samples", "planar_modes"]
study = functools.partial(run_study, "planar", SEED)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Directory and printed table."""
    directory = tmp_path_factory.mktemp("planar") / "p"
    return directory, study(directory)


@pytest.fixture(scope="module")
def summary(result):
    return json.loads((result[0] / "planar.json").read_text())


@pytest.fixture(scope="module")
def table(result):
    with open(result[0] / "planar.csv", newline="") as file:
        return {(r["set"], r["method"], int(r["seed"]), int(r["step"]), r["quantity"]): float(r["value"])
                for r in csv.DictReader(file)}


def test_the_files_are_there(result):
    names = {path.name for path in result[0].iterdir()}
    assert names == {"planar.csv", "planar.json", "runs"} | figure_files(FIGURES)
    runs = {path.name for path in (result[0] / "runs").iterdir()}
    assert runs == {f"{s}-{m}-{SEED}.{e}" for s in SETS for m in METHODS for e in ("json", "safetensors")}
    for figure in FIGURES:
        with open(result[0] / f"{figure}.plot.csv", newline="") as file:
            points = [p for p in csv.DictReader(file)]
        assert len(points) > 5, figure
        if HAS_GNUPLOT:
            assert (result[0] / f"{figure}.png").stat().st_size > 10000, figure


def test_table_summary_and_print_agree(result, summary, table):
    assert [s["set"] for s in summary["sets"]] == SETS
    for s in summary["sets"]:
        assert [row["method"] for row in s["methods"]] == METHODS
        for row in s["methods"]:
            for name, value in row["values"].items():
                key = s["set"], row["method"], SEED, row["steps"], name
                assert value["mean"] == table.get(key) and value["se"] is None, key
    hb = next(r for r in summary["sets"][1]["methods"] if r["method"] == "hb")
    assert f"{hb['values']['mse_low_tau0.3']['mean']:9.3g}" in result[1]
    assert summary["sets"][1]["paper"]["dsm"] == 0.1198 and summary["sets"][1]["paper"]["sigma_max"] == 0.05
    assert summary["sets"][0]["batch"] == 192


def gaussians(name):
    """Weights, means and covariances from docs/reference/datasets.md."""
    if name == "elongated_gmm":
        angles = np.radians([30, 30, -30])
        axes = np.array([[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in angles])
        covariances = axes @ np.diag([1, 0.125**2]) @ axes.transpose(0, 2, 1)
        return np.full(3, 1 / 3), np.array([[-1, 1.5], [0.6, -0.1], [1, -2]]), covariances
    deviations = np.array([0.2, 0.2, 0.6, 0.6, 0.4])
    means = np.array([[-1.2, 0.4], [0.4, -1.2], [2.2, 1.6], [-2.2, -2], [-0.4, 2.6]])
    return np.array([0.35, 0.35, 0.1, 0.1, 0.1]), means, deviations[:, None, None]**2 * np.eye(2)


def draws_and_score(name, tau, n, rng):
    """Draws of the noisy density, its logarithm there and its exact score."""
    weights, means, covariances = gaussians(name)
    a, b = np.exp(-tau), 1 - np.exp(-2 * tau)
    means, covariances = a * means, a * a * covariances + b * np.eye(2)
    k = rng.choice(len(weights), n, p=weights)
    x = means[k] + np.einsum("nij,nj->ni", np.linalg.cholesky(covariances)[k], rng.standard_normal((n, 2)))
    away = x[:, None] - means
    pull = np.einsum("kij,nkj->nki", np.linalg.inv(covariances), away)
    logs = np.log(weights) - np.einsum("nki,nki->nk", away, pull) / 2 - np.log(np.linalg.det(covariances)) / 2
    top = logs.max(axis=1, keepdims=True)
    share = np.exp(logs - top)
    density = np.log(share.sum(axis=1)) + top[:, 0]
    share /= share.sum(axis=1, keepdims=True)
    return x, density, -np.einsum("nk,nki->ni", share, pull)


@pytest.mark.parametrize("name", ["elongated_gmm", "sparse_dense_gmm"])
@pytest.mark.parametrize("method", ["dsm", "dsm-targets", "fp-targets", "hb", "dsm-score"])
def test_errors_are_those_of_the_kept_models(result, summary, name, method):
    model = heatball.load(result[0] / "runs" / f"{name}-{method}-{SEED}.safetensors")
    rng = np.random.default_rng(2385)
    rows = next(s for s in summary["sets"] if s["set"] == name)["methods"]
    values = next(r for r in rows if r["method"] == method)["values"]
    for tau in (0.1, 0.3, 0.8):
        x, density, exact = draws_and_score(name, tau, 20000, rng)
        error = np.square(model.score(x, np.full(len(x), tau)) - exact).sum(axis=1)
        low = density < np.quantile(density, 0.2)
        for region, part in (("all", error), ("low", error[low]), ("high", error[~low])):
            kept = values[f"mse_{region}_tau{tau:g}"]["mean"]
            draws = {"all": 2000, "low": 400, "high": 1600}[region]
            spread = part.std() * np.sqrt(1 / draws + 1 / len(part))
            assert abs(kept - part.mean()) < 6 * spread, (tau, region)


def test_curves_end_near_the_final_error(summary, table):
    for s in summary["sets"]:
        for row in s["methods"]:
            curve = table[s["set"], row["method"], SEED, row["steps"], "curve_mse_all_tau0.3"]
            assert 0.5 < curve / row["values"]["mse_all_tau0.3"]["mean"] < 2


def test_the_claims(result, summary):
    verdicts = {claim["id"]: claim["verdict"] for claim in summary["claims"]}
    assert set(verdicts) == {"table", "low-density", "low-density-targets", "equal-time", "no-distortion", "helmholtz", "residual",
                             "samples", "hb-paper", "open", "order", "modes"}
    assert {c["figure"] for c in summary["claims"]} <= {*FIGURES, None}
    assert {c["id"]: c["correction"] for c in summary["claims"] if "correction" in c} == {
        "hb-paper": 1, "open": 8}
    assert [f["name"] for f in summary["figures"]] == FIGURES
    assert all(c["place"][:4] in ("5.1 ", "B Sa", "B Er") for c in summary["claims"])
    for s in summary["sets"]:
        value = {r["method"]: r["values"] for r in s["methods"]}
        for method in ("dsm", "dsm-targets", "hb-paper"):  # no constraint, or a wrong one
            assert value["hb"]["residual_tau0.3"]["mean"] < value[method]["residual_tau0.3"]["mean"]
        assert value["dsm-score"]["curl"]["mean"] > 100 * value["dsm"]["curl"]["mean"]  # a gradient has none
        assert value["hb"]["modes_found"]["mean"] == value["hb"]["modes"]["mean"]


def test_the_floor_is_that_of_the_rows(summary):
    """The score of the 8000 rows themselves at tau = 0.3, on other draws, within 5 standard errors of its mean."""
    a, b = np.exp(-0.3), -np.expm1(-0.6)
    for s in summary["sets"]:
        mixture = heatball.dataset(s["set"])
        rows, draws = mixture.sample(8000, seed=SEED), mixture.sample(1000, seed=SEED, first=1 << 22)
        x = a * draws + np.sqrt(b) * np.random.default_rng(SEED).standard_normal(draws.shape)
        q = -((x[:, None] - a * rows[None]) ** 2).sum(2) / (2 * b)
        weight = np.exp(q - q.max(1, keepdims=True))
        given = ((weight @ (a * rows)) / weight.sum(1, keepdims=True) - x) / b
        error = ((given - mixture.score(x, 0.3)) ** 2).sum(1)
        floor = {r["method"]: r["values"]["floor"]["mean"] for r in s["methods"]}
        assert len(set(floor.values())) == 1
        assert abs(floor["dsm"] - error.mean()) < 5 * np.sqrt(2 / 1000) * error.std()


def cells(summary, name):
    table = next(t for t in summary["tables"] if t["name"] == name)
    assert all(len(row) == len(table["columns"]) for row in table["rows"])
    return [dict(zip(table["columns"], row)) for row in table["rows"]]


def test_the_tables_of_the_page(summary):
    assert [t["name"] for t in summary["tables"]] == [
        "planar_parameters", "planar_open", "planar_results", "planar_low", "planar_gains", "planar_time",
        "planar_rotation", "planar_generation", "planar_residuals", "planar_taus", "planar_taus_low"]
    assert {c["table"] for c in summary["claims"]} <= {t["name"] for t in summary["tables"]} | {None}
    for k, s in enumerate(summary["sets"]):
        value = {r["method"]: {n: v["mean"] for n, v in r["values"].items()} for r in s["methods"]}
        row = cells(summary, "planar_results")[k]
        assert row["set"] == s["set"] and row["HB"] == f"{value['hb']['mse_all_tau0.3']:.3g}"
        assert [row[m + " (paper)"] for m in ("DSM", "FP", "HB")] == [
            f"{s['paper'][m]:.4f}" for m in ("dsm", "fp", "hb")]
        row = cells(summary, "planar_low")[k]
        assert row["HB as printed"] == f"{value['hb-paper']['mse_low_tau0.3']:.3g}"
        assert row["HB / FP against DSM (paper)"].startswith(f"{s['paper']['change_low_percent_hb_fp'][0]:+.1f} %")
        assert row["DSM, same targets"] == f"{value['dsm-targets']['mse_low_tau0.3']:.3g}"
        row = cells(summary, "planar_gains")[k]
        low = {method: value[method]["mse_low_tau0.3"] for method in METHODS}
        assert row["targets, low density"] == f"{low['dsm-targets'] / low['dsm']:.2f}"
        assert row["HB's constraint, low density"] == f"{low['hb'] / low['dsm-targets']:.2f}"
        assert row["HB to FP, low density"] == f"{low['hb'] / low['fp-targets']:.2f}"
        row = cells(summary, "planar_time")[k]
        ratio = value["hb"]["mse_low_tau0.3"] / value["fp-time"]["mse_low_tau0.3"]
        assert row["HB to DSM and to FP, low density"].endswith(f"×{ratio:.2f}")
        row = cells(summary, "planar_generation")[k]
        assert row["HB / real"] == f"{value['hb']['mmd'] / value['hb']['mmd_floor']:.3g}"
        row = cells(summary, "planar_residuals")[k]
        assert row["R_r, HB"] == f"{value['hb']['residual_raw']:.3g}"
        assert row["R_r, HB (paper)"] == ("3e-5" if s["set"] == "elongated_gmm" else "")
    for name in ("planar_results", "planar_low", "planar_time", "planar_residuals", "planar_taus", "planar_taus_low"):
        assert {"DSM, same targets", "FP, same targets"} <= set(cells(summary, name)[0]), name
    assert "Three of the eight sets" in summary["shortened"][0]


def test_truncated_balls_are_off_as_quadrature_says(summary):
    """E[|z|^2 - 4 sigma] over the part of kappa that is kept; L = -ln(4 pi sigma) is Gamma(3, 1) in the plane, and
    |z|^2 has the mean (8/3) sigma L."""
    def integral(f, a, b):
        return scipy.integrate.quad(f, a, b)[0]

    for row in cells(summary, "planar_parameters"):
        a, b = (max(0, -np.log(4 * np.pi * float(row[name]))) for name in ("σ_max (paper)", "σ_min (paper)"))
        kept = integral(lambda L: L * L * np.exp(-L) / 2, a, b)
        off = integral(lambda L: L * L * np.exp(-2 * L) / 2 * (8 / 3 * L - 4) / (4 * np.pi), a, b) / kept
        assert row["κ that truncation cuts off"] == f"{100 * (1 - kept):.1f} %"
        assert row["error of the truncated mean"] == f"{100 * off * 8 * np.pi:+.1f} %"
        assert row["r that σ_max means"] == f"{np.sqrt(4 * np.pi * float(row['σ_max (paper)'])):.3f}"


def test_resumed_on_one_thread_the_bytes_are_the_same(result, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(result[0], copy)
    (copy / "runs" / f"ring-hb-{SEED}.json").unlink()
    (copy / "runs" / f"elongated_gmm-dsm-{SEED}.json").write_text("{")
    (copy / "planar.csv").unlink()
    study(copy, "--resume", "--threads", 1, "-q")
    names = sorted(str(p.relative_to(copy)) for p in copy.rglob("*") if p.is_file())
    assert names == sorted(str(p.relative_to(result[0])) for p in result[0].rglob("*") if p.is_file())
    same, different, errors = filecmp.cmpfiles(result[0], copy, names, shallow=False)
    assert (sorted(same), different, errors) == (names, [], [])

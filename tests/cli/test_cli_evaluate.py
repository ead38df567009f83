"""`heatball evaluate` as a user meets it.

Oracles: the exact score of a Gaussian mixture, its low-density fifth, curls, residuals of the
Fokker-Planck equation, discrepancies and likelihoods, all in NumPy and SciPy at draws of their own;
agreement is asked within five standard errors. The model is asked through the Python package.
"""

import json
import math
import re
import shutil

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

import heatball
from command_line import complaint, run_quietly as run, succeed

SET = "asymmetric_gmm"
TAUS = [0.08, 0.385, 1.1]


def evaluate(model, *arguments, data=SET):
    return json.loads(succeed("evaluate", model, "--data", data, "--json", *arguments))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return {name: path} of small models: energy head, score head, standardised with VE; and rows."""
    folder = tmp_path_factory.mktemp("models")
    random = np.random.default_rng(23)
    np.save(folder / "rows.npy", random.normal(size=(600, 3)) * [1.5, 0.7, 2.2] + [4, -3, 0.5])
    kinds = {"energy": [SET, "hb", "--steps", 200], "score": [SET, "dsm", "--head", "score",
                                                              "--steps", 200],
             "scaled": [SET, "dsm", "--process", "ve", "--standardise", "axis", "--steps", 100],
             "rows": [folder / "rows.npy", "dsm", "--steps", 30, "--rate", 1e-4]}
    paths = {}
    for name, (data, method, *options) in kinds.items():
        paths[name] = folder / f"{name}.safetensors"
        succeed("train", "--data", data, "--loss", method, *options, "--width", 16, "--depth", 2,
                "-q", "-o", paths[name])
    return paths


@pytest.fixture(scope="module")
def judged(models):
    """Return the evaluation of the energy model."""
    return evaluate(models["energy"], "--tau", ",".join(map(str, TAUS)), "--samples", 600, "--seed", 3)


# ---- the truth in NumPy -------------------------------------------------------------------------

class Mixture:
    """The law of a named set at tau, in coordinates (x - shift)/scale, under OU or VE."""

    def __init__(self, tau, process="ou", shift=0.0, scale=1.0):
        shown = json.loads(succeed("data", "show", SET, "--json"))["components"]
        a, b = (math.exp(-tau), -math.expm1(-2 * tau)) if process == "ou" else (1, 2 * tau)
        self.weight = np.array([c["weight"] for c in shown])
        self.mean = a * (np.array([c["mean"] for c in shown]) - shift) / scale
        C = np.array([c["covariance"] for c in shown]).reshape(-1, 2, 2) / np.multiply.outer(
            scale * np.ones(2), scale * np.ones(2))
        self.C = a**2 * C + b * np.eye(2)
        self.inverse = np.linalg.inv(self.C)

    def log_density_and_score(self, x):
        away = x[:, None] - self.mean
        pulled = np.einsum("kij,nkj->nki", self.inverse, away)
        logs = (np.log(self.weight) - 0.5 * np.log(np.linalg.det(2 * np.pi * self.C))
                - 0.5 * (away * pulled).sum(-1))
        total = logsumexp(logs, axis=1)
        return total, -(np.exp(logs - total[:, None])[:, :, None] * pulled).sum(1)

    def draw(self, n, seed):
        random = np.random.default_rng(seed)
        k = random.choice(len(self.weight), size=n, p=self.weight)
        noise = random.normal(size=(n, 2))
        return self.mean[k] + np.einsum("nij,nj->ni", np.linalg.cholesky(self.C)[k], noise)


def near(value, se, other, other_se, extra=0.0):
    assert abs(value - other) < 5 * math.hypot(se, other_se) + extra, (value, se, other, other_se)


def mean_and_se(values):
    return values.mean(), values.std(ddof=1) / math.sqrt(len(values))


def regions(errors, density):
    order = np.argsort(density)
    fifth = len(errors) // 5
    return {"mse": errors, "mse_low": errors[order[:fifth]], "mse_high": errors[order[fifth:]]}


# ---- the error of the score ---------------------------------------------------------------------

@pytest.mark.parametrize("i", range(3))
def test_the_error_of_the_score(models, judged, i):
    tau, row = TAUS[i], judged["tau"][i]
    truth, model = Mixture(tau), heatball.load(models["energy"])
    x = truth.draw(20000, seed=i)
    density, exact = truth.log_density_and_score(x)
    errors = ((model.score(x, tau) - exact)**2).sum(1)
    assert row["tau"] == tau
    for name, part in regions(errors, density).items():
        mean, se = mean_and_se(part)
        near(row[name], row[f"{name}_se"], mean, 1.5 * se)  # the border is estimated too
        assert 0 < row[f"{name}_se"] < row[name]


def test_the_error_on_the_grid(models, judged):
    tau, row = TAUS[1], judged["tau"][1]
    truth = Mixture(tau)
    reach = 6 * np.sqrt(np.einsum("kii->ki", truth.C))
    low, high = (truth.mean - reach).min(0), (truth.mean + reach).max(0)
    x = np.stack(np.meshgrid(*(np.linspace(low[k], high[k], 301) for k in range(2))), -1)
    x = x.reshape(-1, 2)
    density, exact = truth.log_density_and_score(x)
    x, exact = x[density > math.log(1e-4)], exact[density > math.log(1e-4)]
    errors = ((heatball.load(models["energy"]).score(x, tau) - exact)**2).sum(1)
    assert row["mse_grid"] == pytest.approx(errors.mean(), rel=0.03)


def test_a_standardised_model_is_judged_in_its_coordinates(models):
    tau = 0.385
    row = evaluate(models["scaled"], "--tau", tau, "--samples", 0)["tau"][0]
    model = heatball.load(models["scaled"])
    draws = np.load(export(models["scaled"].parent))
    shift, scale = draws.mean(0), model.scales
    assert np.allclose(scale, draws.std(0), rtol=1e-12) and abs(scale[0] / scale[1] - 1) > 0.02
    truth = Mixture(tau, "ve", shift, scale)
    z = truth.draw(20000, seed=5)
    density, exact = truth.log_density_and_score(z)
    errors = ((scale * model.score(shift + scale * z, tau) - exact)**2).sum(1)
    for name, part in regions(errors, density).items():
        mean, se = mean_and_se(part)
        near(row[name], row[f"{name}_se"], mean, 1.5 * se)


def export(folder):
    succeed("data", "export", SET, "-n", 2000, "--seed", 42, "-q", "-o", folder / "draws.npy")
    return folder / "draws.npy"


# ---- curl, residual -----------------------------------------------------------------------------

def test_curl(models, judged):
    assert all(0 <= row["curl"] < 1e-6 for row in judged["tau"]) and judged["curl"] < 1e-6
    tau, h = 0.385, 1e-3
    given = evaluate(models["score"], "--tau", tau, "--samples", 0)
    model, x = heatball.load(models["score"]), Mixture(tau).draw(8000, seed=2)
    J = np.stack([(model.score(x + h * e, tau) - model.score(x - h * e, tau)) / (2 * h)
                  for e in np.eye(2)], -1)
    top, bottom = ((J - J.transpose(0, 2, 1))**2).sum((1, 2)), 4 * (J**2).sum((1, 2))
    ratio = top.mean() / bottom.mean()
    se = np.std(top - ratio * bottom) / bottom.mean() / math.sqrt(len(x))
    assert ratio > 1e-6
    near(given["tau"][0]["curl"], given["tau"][0]["curl_se"], ratio, se)
    assert given["curl"] == given["tau"][0]["curl"]
    assert given["residual"] is None and given["tau"][0]["residual"] is None
    assert given["residual_reason"] == "only the energy head knows ln u"


def test_residual_is_that_of_the_equation(models):
    """In small balls: d_tau v - Lap v - |grad v|^2 - div(x) - x.grad v, by differences, under OU."""
    tau, h = 0.385, 0.03
    given = evaluate(models["energy"], "--tau", tau, "--radii", "0.15,0.6,30", "--samples", 0)
    before = run("evaluate", models["energy"], "--data", "ring", "--tau", tau, "--radius", "0.15", "--samples", 0)
    assert before.returncode == 0 and "note: --radius is now --radii;" in before.stderr
    assert [r["radius"] for r in given["residuals"]] == [0.15, 0.6, 30]
    assert given["residuals"][2]["residual"] is None  # it would reach back beyond tau = 0
    model, x = heatball.load(models["energy"]), Mixture(tau).draw(1000, seed=8)

    def v(points, time):
        return np.asarray(model.log_density(points, time), dtype=float)

    score = model.score(x, tau)
    around = sum(v(x + h * e, tau) + v(x - h * e, tau) for e in np.eye(2))
    laplacian = (around - 4 * v(x, tau)) / h**2
    rate = (v(x, tau + 0.01) - v(x, tau - 0.01)) / 0.02
    residual = rate - laplacian - (score**2).sum(1) - 2 - (x * score).sum(1)
    mean, se = mean_and_se(residual**2)
    root = math.sqrt(mean)
    near(given["residuals"][0]["scaled"], given["residuals"][0]["scaled_se"], root, se / (2 * root),
         extra=0.05 * root)
    assert given["residual"] == given["residuals"][0]["residual"] > 0


def test_the_error_of_cubature_is_in_the_error_of_the_residual(models):
    """In tiny balls the residual is rounding, which the error must cover; cubature has no variance to subtract."""
    tiny = evaluate(models["energy"], "--tau", 0.5, "--radii", 1e-3, "--samples", 0)["residuals"][0]
    assert 0 < tiny["scaled"] < 5 * tiny["scaled_se"]


# ---- samples ------------------------------------------------------------------------------------

def mmd2(x, y, h):
    """Return the unbiased estimate with the kernel of docs/reference/metrics.md."""
    def kernel(a, b):
        d = cdist(a, b, "sqeuclidean")
        return np.mean([np.exp(-d / (2 * (c * h)**2)) for c in (0.25, 0.5, 1, 2, 4)], axis=0)

    def inside(a):
        k = kernel(a, a)
        return (k.sum() - np.trace(k)) / (len(a) * (len(a) - 1))

    return inside(x) + inside(y) - 2 * kernel(x, y).mean()


def test_samples(models, judged):
    assert judged["generated"] == judged["real"] == 600
    truth = Mixture(0)
    model = heatball.load(models["energy"])
    x, y = model.generate(600, seed=91), truth.draw(600, seed=12)
    assert judged["bandwidth"] == pytest.approx(np.median(cdist(y, y)), rel=0.1)
    other = mmd2(x, y, judged["bandwidth"])
    near(judged["mmd2"], judged["mmd2_se"], other, judged["mmd2_se"])
    near(judged["mmd2_floor"], judged["mmd2_floor_se"], 0, 0)
    assert 0 < judged["mmd_floor"] < 0.1 and judged["mmd"] > 0
    assert judged["modes_true"] == 4 and 1 <= judged["modes"] <= 4
    assert sum(judged["mode_counts"]) + judged["outliers"] == 600
    same = heatball.metrics.kolmogorov(x, y)
    assert judged["kolmogorov_floor"] == same["floor"]
    assert np.allclose(judged["kolmogorov"], same["distance"], atol=same["floor"])


def test_likelihood_of_a_named_set(judged):
    draws = Mixture(0).draw(20000, seed=4)
    values = -Mixture(1e-3).log_density_and_score(draws)[0] / 2
    mean, se = mean_and_se(values)
    near(judged["nll_exact"], math.sqrt(len(values) / 600) * se, mean, se)
    assert judged["nll"] > judged["nll_exact"] - 0.05  # no model is better than the truth
    assert judged["nll_bits"] == pytest.approx(judged["nll"] / math.log(2))
    assert abs(judged["nll_direct"] - judged["nll"]) < judged["direct_error"] + 3 * judged["nll_direct_se"]
    assert 0 < judged["effective"] <= 1 and judged["log_normaliser_se"] > 0


def test_rows_of_a_file(models):
    """Hardly trained, the model is the Gaussian of its data, whose likelihood is known."""
    given = evaluate(models["rows"], "--tau", "0.1,0.5", data=models["rows"].parent / "rows.npy")
    assert given["held_out"] == 60 and given["nll_rows"] == given["real"] == 60
    assert given["generated"] == 540
    entropy = np.log(2 * np.pi * math.e * (np.array([1.5, 0.7, 2.2])**2)).mean() / 2
    near(given["nll"], given["nll_se"], entropy, 0, extra=0.03)
    near(given["mmd2"], given["mmd2_se"], given["mmd2_floor"], given["mmd2_floor_se"])
    for key in ("mse", "mse_se", "mse_low", "mse_high", "mse_grid"):
        assert all(row[key] is None for row in given["tau"])
    assert given["mse_reason"] and given["modes"] is None and given["modes_reason"]
    assert given["residual"] >= 0 and given["curl"] < 1e-6
    whole = evaluate(models["rows"], "--tau", 0.5, "--held-out", 1, "--samples", 0,
                     data=models["rows"].parent / "rows.npy")
    assert whole["held_out"] == 600


def test_held_out_rows_are_those_the_model_has_not_seen(models, tmp_path):
    """A file that is not that of the training is held out as a whole; its samples are compared with half of it."""
    own, other = models["rows"].parent / "rows.npy", tmp_path / "other.npy"
    np.save(other, np.random.default_rng(8).normal(size=(500, 3)) * [1.5, 0.7, 2.2] + [4, -3, 0.5])

    def notes(*arguments, data):
        done = run("evaluate", models["rows"], "--data", data, "--tau", 0.5, "-n", 100, "--samples", 0, *arguments)
        return next(line for line in done.stdout.splitlines() if line.startswith("rows: "))

    for more in ((), ("--held-out", 1)):
        new = evaluate(models["rows"], "--tau", 0.5, *more, data=other)
        assert new["held_out"] == new["nll_rows"] == 500 and new["generated"] == new["real"] == 250
        entropy = np.log(2 * np.pi * math.e * (np.array([1.5, 0.7, 2.2])**2)).mean() / 2
        near(new["nll"], new["nll_se"], entropy, 0, extra=0.03)
        near(new["mmd2"], new["mmd2_se"], new["mmd2_floor"], new["mmd2_floor_se"])
    most = evaluate(models["rows"], "--tau", 0.5, "--held-out", 0.99, data=own)
    assert most["generated"] == most["real"] == 297
    assert notes(data=other) == "rows: 500 of 500 held out: it is not the file that the model was trained on"
    assert notes(data=own) == "rows: 60 of 600 held out: the model was trained on the others"
    assert "some are rows that the model was trained on" in notes("--held-out", 0.99, data=own)
    share = tmp_path / "share.safetensors"
    run("train", "--data", own, "--held-out", 0.25, "--loss", "dsm", "--steps", 5, "--width", 8, "-q", "-o", share)
    assert evaluate(share, "--tau", 0.5, "--samples", 0, data=own)["held_out"] == 150  # found again
    np.save(other, np.random.default_rng(9).normal(size=(300, 1)))  # a line: nothing turns, all else is measured
    run("train", "--data", other, "--loss", "dsm", "--steps", 5, "--width", 8, "-q", "-o", share)
    line = evaluate(share, "--tau", 0.5, data=other)
    assert line["held_out"] == 30 and line["curl"] is None and line["nll"] > 0 and line["mmd"] > 0


def test_a_lost_column_is_seen(tmp_path):
    """One scale for columns of 0.3 (two modes), 10 and 60 loses the first; a scale for each does not."""
    rng = np.random.default_rng(6)
    side = np.where(rng.random(5000) < 0.5, -0.288, 0.288)
    np.save(tmp_path / "rows.npy", np.column_stack([side + 0.084 * rng.normal(size=5000),
                                                    10 * rng.normal(size=5000) + 40,
                                                    60 * rng.normal(size=5000)]))
    for how, lost in (("common", [True, False, False]), ("axis", [False, False, False])):
        succeed("train", "--data", tmp_path / "rows.npy", "--loss", "dsm", "--steps", 500, "--width", 64,
                "--standardise", how, "-q", "-o", tmp_path / "m.safetensors")
        given = evaluate(tmp_path / "m.safetensors", "--tau", 0.5, "--samples", 500, data=tmp_path / "rows.npy")
        assert (np.array(given["kolmogorov"]) > 1.3 * given["kolmogorov_floor"]).tolist() == lost
    text = succeed("evaluate", tmp_path / "m.safetensors", "--data", tmp_path / "rows.npy", "--tau", 0.5,
                   "--samples", 60)
    assert re.search(r"^columns: .*, floor 0\.\d+: 0\.\d+ \(column \d\), .*; \d of 3 above the floor$", text,
                     re.MULTILINE)


# ---- what is printed ----------------------------------------------------------------------------

def test_keys_and_threads(models, judged):
    keys = {"tau", "mmd", "modes", "curl", "residual"}
    assert keys <= set(judged)
    assert {"tau", "mse", "mse_se", "mse_low", "mse_low_se", "mse_high", "mse_high_se", "mse_grid",
            "curl", "residual"} <= set(judged["tau"][0])
    again = [evaluate(models["energy"], "--tau", 0.385, "-n", 3000, "--samples", 40, "--threads", k)
             for k in (1, 2)]
    assert again[0] == again[1]
    assert evaluate(models["energy"], "--tau", 0.385, "-n", 3000, "--samples", 40, "--seed",
                    2)["tau"] != again[0]["tau"]


def test_text_and_figure(models, tmp_path):
    text = succeed("evaluate", models["energy"], "--data", SET, "-n", 500, "--samples", 60, "--plot",
                   tmp_path / "e.svg")
    lines = text.splitlines()
    assert lines[1].split() == ["tau", "mse", "mse_low", "mse_high", "mse_grid", "curl", "residual"]
    assert [line.split()[0] for line in lines[2:9]] == ["0.01", "0.03", "0.1", "0.3", "0.5", "0.8",
                                                       "1.5"]
    assert lines[9].startswith("mmd: ") and lines[11].startswith("modes: ")
    assert lines[10].startswith("columns: Kolmogorov distance of generated and real rows, floor 0.2")
    assert lines[12].startswith("nll: ") and lines[13].startswith("nll from one pass: ")
    assert " of 256 samples count); one pass within " in lines[13] and lines[13].endswith(" nats of the ODE for 95 %")
    assert (tmp_path / "e.plot.csv").exists() and (tmp_path / "e.gp").exists()
    if shutil.which("gnuplot"):
        assert (tmp_path / "e.svg").read_text().startswith("<?xml")


def test_a_drift_has_no_exact_score(tmp_path):
    path = tmp_path / "d.safetensors"
    succeed("train", "--data", SET, "--loss", "dsm", "--drift", "x - 0.3*x^3, -y", "--steps", 20,
            "--width", 16, "-q", "-o", path)
    given = evaluate(path, "--tau", 0.5, "--samples", 20)
    assert given["tau"][0]["mse"] is None
    assert given["mse_reason"] == "the exact score under a drift is not known"
    assert given["generated"] == 20 and given["mmd"] > 0 and 0 < given["nll_se"] < given["nll"] < 10
    succeed("train", "--data", SET, "--loss", "dsm", "--head", "score", "--drift", "x - 0.3*x^3, -y", "--steps",
            2, "--width", 16, "-q", "-o", path)
    given = evaluate(path, "--tau", 0.5, "--samples", 20)
    assert given["mmd"] > 0 and given["nll"] is None
    assert given["nll_reason"] == "only the energy head knows the density at the largest tau of a drift"
    succeed("train", "--data", SET, "--loss", "dsm", "--head", "score", "--drift", "-80*x, -y",
            "--steps", 2, "--width", 16, "-q", "-o", path)
    assert evaluate(path, "--tau", 0.5, "--samples", 0)["curl"] >= 0  # points by 400 steps: 200 are refused


# ---- refusals -----------------------------------------------------------------------------------

def test_wrong_input(models, tmp_path):
    def said(model, *arguments, data=SET):
        return complaint(run("evaluate", model, "--data", data, *arguments, cwd=tmp_path))

    rows = models["rows"].parent / "rows.npy"
    assert f"rows.npy has 3 dimensions; {models['energy']} was trained on 2" in said(
        models["energy"], data=rows)
    assert f"{SET} has 2 dimensions; {models['rows']} was trained on 3" in said(models["rows"])
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(models["energy"].read_bytes()[:-64])
    assert "cut.safetensors" in said(cut) and "cut short" in said(cut)
    cut.write_text("not a model")
    assert "cut.safetensors" in said(cut)
    assert "nowhere.safetensors" in said("nowhere.safetensors")
    assert "--tau has 5; " in said(models["energy"], "--tau", "0.1,5")
    assert "was trained for 0.001 to 3" in said(models["energy"], "--tau", "0.1,5")
    assert "--tau is 0,1; it must be" in said(models["energy"], "--tau", "0,1")
    assert "-n is 49; it must be an integer from 50" in said(models["energy"], "-n", 49)
    assert "(did you mean ring?)" in said(models["energy"], data="rng")
    assert "--held-out is for rows of a file" in said(models["energy"], "--held-out", 0.2)
    assert "--plot draws the error of the score, which is known for a named set only" in said(
        models["rows"], "--plot", "e.svg", data=rows)
    assert "--plot is e.jpg" in said(models["energy"], "--plot", "e.jpg")
    assert complaint(run("evaluate", "--data", SET)).endswith("MODEL is missing; it must be a model "
                                                              "file of heatball train")
    x = np.load(rows)
    x[7, 2] = np.nan
    np.save(tmp_path / "nan.npy", x)
    assert "nan.npy has nan in row 8, column 3" in said(models["rows"], data="nan.npy")
    assert list(tmp_path.glob("e.*")) == []

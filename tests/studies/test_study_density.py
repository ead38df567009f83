"""The study of log-densities as a user runs it, against NumPy and SciPy.

The binary is $HEATBALL_COMMAND, by default build/heatball. `--quick` trains 20 networks, so all of this is marked long. Mixtures and
the Müller–Brown potential are built again here, from the rule of docs/paper/density.md and the raw random numbers of docs/reference/random.md;
densities, EM, the kernel estimate and the quadrature are NumPy's and SciPy's own.
"""

import csv
import filecmp
import functools
import json
import re
import shutil

import numpy as np
import pytest
import scipy.special
import scipy.stats

import heatball
from command_line import ROOT
from study_command import figure_files, run_study

pytestmark = pytest.mark.long

SEED, TAU_MIN, FIRST = 23850, 1e-3, 2**20
SETS = [("apart", 2), ("apart", 8), ("two", 2), ("muller", 2)]
METHODS = ["dsm", "dsm-targets", "fp", "hb", "dsm-time", "em", "kde"]
TAUS = [0.001, 0.005, 0.02, 0.05, 0.2]
FIGURES = ["density_weights", "density_line"]
study = functools.partial(run_study, "density", SEED)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Directory and printed table."""
    directory = tmp_path_factory.mktemp("density") / "d"
    return directory, study(directory, "--threads", 2)


@pytest.fixture(scope="module")
def summary(result):
    return json.loads((result[0] / "density.json").read_text())


@pytest.fixture(scope="module")
def table(result):
    with open(result[0] / "density.csv", newline="") as file:
        return {(r["set"], int(r["dim"]), r["method"], r["quantity"]): float(r["value"]) for r in csv.DictReader(file)}


def test_the_files_are_there(result):
    assert {path.name for path in result[0].iterdir()} == {"density.csv", "density.json", "trials"} | figure_files(FIGURES)
    trials = {path.name for path in (result[0] / "trials").iterdir()}
    assert trials == {f"{name}-{d}-{method}-{SEED}.json" for name, d in SETS for method in METHODS}


def test_the_page_has_verdicts_and_tables(summary):
    assert {claim["id"] for claim in summary["claims"]} == {"weights", "equal-seconds", "pointwise", "absolute", "error", "forces"}
    for claim in summary["claims"]:
        assert claim["verdict"] in ("holds", "holds with a correction", "does not hold")
    for name in ("density_weights", "density_absolute", "density_likelihood", "density_forces"):
        assert any(entry["name"] == name and entry["rows"] for entry in summary["tables"])


def test_equal_seconds_by_the_table_of_costs(summary):
    settings = summary["settings"]
    text = (ROOT / "studies" / "density" / "density_study.c").read_text().split("STEP_COSTS[]")[1].split(";")[0]
    costs = {numbers[0]: numbers[1:] for numbers in ([float(x) for x in row.split(",")] for row in re.findall(r"{(\d[^{}]*)}", text))}
    assert list(costs) == [2, 4, 8, 16, 32, 64]
    for row in summary["rows"]:
        more = costs[row["dim"]][3] / costs[row["dim"]][1] if row["method"] == "dsm-time" else 1
        if row["method"] not in ("em", "kde"):
            assert row["steps"] == round(settings["steps"] * more)


def test_resuming_and_threads_change_no_byte(result, tmp_path):
    """A copy that lost trials, resumed on one thread."""
    copy = tmp_path / "copy"
    shutil.copytree(result[0], copy)
    for trial in [*(copy / "trials").glob("*-em-*"), *(copy / "trials").glob("two-2-[hk]*"), *(copy / "trials").glob("muller-2-fp*")]:
        trial.unlink()
    (copy / "density.json").unlink()
    study(copy, "--resume", "--threads", 1)
    same = filecmp.dircmp(result[0], copy)
    assert not same.left_only and not same.right_only
    for name in ["density.csv", "density.json"] + [f"trials/{path.name}" for path in (copy / "trials").iterdir()]:
        assert filecmp.cmp(result[0] / name, copy / name, shallow=False), name


# ---- the mixtures, again ----

def mixture(name, d):
    """Weights, means, variances: isotropic; mean 0 and mean variance 1."""
    if name == "two":
        weights, means = np.array([0.2, 0.8]), np.array([[-5.0, -5.0], [5.0, 5.0]])
    else:
        weights = np.array([0.15, 0.6, 0.25])
        means = heatball.random.normal(3 * d, seed=SEED, stream=3 * 2**32 + 256 * 3 + d).reshape(3, d)
        means *= {2: 4.3, 8: 8.8}[d] / scipy.spatial.distance.pdist(means).mean()
    means = means - weights @ means
    scale = np.sqrt(1 + (weights @ means**2).mean())
    return weights, means / scale, np.full(len(weights), scale**-2)


def log_density(parts, x, tau):
    weights, means, variances = parts
    a, b = np.exp(-tau), -np.expm1(-2 * tau)
    logs = [np.log(w) + scipy.stats.multivariate_normal(a * m, np.atleast_1d(a * a * c + b) * np.eye(len(m))).logpdf(x)
            for w, m, c in zip(weights, means, variances)]
    return scipy.special.logsumexp(logs, axis=0)


def as_mixture(parts):
    return heatball.Mixture(parts[0], parts[1], np.array([c * np.eye(parts[1].shape[1]) for c in parts[2]]))


def judged(values, parts, truth, draws, tau):
    """weights, mean and sd of a log-density values(x, tau)."""
    centres = np.exp(-tau) * parts[1]
    off = values(centres, tau) - log_density(parts, centres, tau)
    x = truth.sample(draws, seed=SEED, first=FIRST, tau=tau)
    miss = values(x, tau) - log_density(parts, x, tau)
    return {f"weights_tau{tau:g}": off.std(), f"mean_tau{tau:g}": miss.mean(), f"sd_tau{tau:g}": miss.std()}


@pytest.mark.parametrize("name, d", SETS[:3])
def test_exact_likelihood(summary, table, name, d):
    parts = mixture(name, d)
    x = as_mixture(parts).sample(summary["settings"]["judge_draws"], seed=SEED, first=FIRST, tau=TAU_MIN)
    for method in METHODS:
        assert table[name, d, method, "nll_exact"] == pytest.approx(-log_density(parts, x, TAU_MIN).mean(), rel=1e-9)


@pytest.mark.parametrize("name, d", SETS[:3])
def test_numbers_of_a_network(summary, table, name, d):
    """hb, trained again from Python on the mixture that NumPy built."""
    parts, settings = mixture(name, d), summary["settings"]
    truth = as_mixture(parts)
    model = heatball.train(truth.sample(settings["most_rows"], seed=SEED), "hb", width=settings["width"], steps=settings["steps"],
                           seed=SEED, standardise="no", threads=1, target_rows=512, tau_min=TAU_MIN, anchor_tau_min=TAU_MIN)
    for tau in TAUS:
        for quantity, value in judged(model.log_density, parts, truth, settings["judge_draws"], tau).items():
            assert table[name, d, "hb", quantity] == pytest.approx(value, abs=2e-3), quantity
    x = truth.sample(settings["judge_draws"], seed=SEED, first=FIRST, tau=TAU_MIN)
    exact = log_density(parts, x, TAU_MIN)
    low = (model.log_density(x, TAU_MIN) - exact)[np.argsort(exact)[:len(x) // 5]]
    assert table[name, d, "hb", "low_mean"] == pytest.approx(low.mean(), abs=2e-3)
    assert table[name, d, "hb", "low_sd"] == pytest.approx(low.std(), abs=2e-3)
    lost = exact[:settings["test_rows"]] - model.log_likelihood(x[:settings["test_rows"]], ode_tolerance=1e-6)
    assert table[name, d, "hb", "nll_ode"] - table[name, d, "hb", "nll_exact"] == pytest.approx(lost.mean(), abs=5e-3 * d)
    if name == "two":
        side = np.linspace(-4, 4, 81)
        mesh = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
        truth_there, v = log_density(parts, mesh, TAU_MIN), model.log_density(mesh, TAU_MIN)
        p, q = (np.exp(values) / np.exp(values).sum() for values in (truth_there, v))
        right = mesh.sum(axis=1) > parts[1].sum() / 2
        logs = [np.log(q[part].sum() / p[part].sum()) for part in (right, ~right)]
        assert table["two", 2, "hb", "occupation"] == pytest.approx(np.sqrt(np.mean(np.square(logs))), abs=2e-3)
        rare = truth_there < truth_there.max() + np.log(1e-6)
        assert table["two", 2, "hb", "spurious"] == pytest.approx(q[rare].sum(), rel=0.02)


def test_em_ends_at_the_maximum_of_the_likelihood(summary, table):
    """NumPy's EM from the true parameters on; its maximum is that of three components."""
    parts, settings = mixture("apart", 8), summary["settings"]
    truth, rows = as_mixture(parts), settings["most_rows"]
    x = truth.sample(rows, seed=SEED)[:rows - rows // 10]
    w, m, c = parts[0], parts[1], np.array([v * np.eye(8) for v in parts[2]])
    for _ in range(60):
        logs = np.stack([np.log(a) + scipy.stats.multivariate_normal(b, s).logpdf(x) for a, b, s in zip(w, m, c)], axis=1)
        r = np.exp(logs - scipy.special.logsumexp(logs, axis=1, keepdims=True))
        count = r.sum(axis=0)
        w, m = count / len(x), (r.T @ x) / count[:, None]
        c = np.array([((r[:, k] * (x - m[k]).T) @ (x - m[k]) + 0.01 * np.eye(8)) / count[k] for k in range(3)])
    for tau in TAUS:
        for quantity, value in judged(heatball.Mixture(w, m, c).log_density, parts, truth, settings["judge_draws"], tau).items():
            assert table["apart", 8, "em", quantity] == pytest.approx(value, abs=2e-3), quantity


@pytest.mark.parametrize("name, d", SETS[:3])
def test_kernel_estimate(summary, table, name, d):
    parts = mixture(name, d)
    truth = as_mixture(parts)
    x = truth.sample(summary["settings"]["most_rows"], seed=SEED)
    square = scipy.spatial.distance.cdist(x[:400], x, "sqeuclidean")
    square[np.arange(400), np.arange(400)] = np.inf
    widths = 0.01 * 1.25**np.arange(24)
    left_out = [scipy.special.logsumexp(-square / (2 * h * h), axis=1).sum() - 400 * d * np.log(h) for h in widths]
    h = widths[np.argmax(left_out)]

    def values(at, tau):
        a, b = np.exp(-tau), -np.expm1(-2 * tau)
        variance = a * a * h * h + b
        logs = scipy.special.logsumexp(-scipy.spatial.distance.cdist(at, a * x, "sqeuclidean") / (2 * variance), axis=1)
        return logs - np.log(len(x)) - 0.5 * d * np.log(2 * np.pi * variance)

    for tau in TAUS:
        for quantity, value in judged(values, parts, truth, summary["settings"]["judge_draws"], tau).items():
            assert table[name, d, "kde", quantity] == pytest.approx(value, abs=1e-6), quantity


# ---- the Müller–Brown potential, again ----

def log_muller(x, y):
    """-V/kT."""
    terms = zip([-200, -100, -170, 15], [-1, -1, -6.5, 0.7], [0, 0, 11, 0.6], [-10, -10, -6.5, 0.7], [1, 0, -0.5, -1], [0, 0.5, 1.5, 1])
    return -sum(A * np.exp(a * (x - p)**2 + b * (x - p) * (y - q) + c * (y - q)**2) for A, a, b, c, p, q in terms) / 23


def muller_constants():
    """Centre, scale and ln Z by Gauss and Legendre's rule."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    x, y = np.meshgrid(-0.6 + 3.2 * nodes, 0.8 + 3.2 * nodes, indexing="ij")
    p = np.exp(log_muller(x, y)) * np.outer(weights, weights) * 3.2**2
    mass = p.sum()
    centre = np.array([(p * x).sum(), (p * y).sum()]) / mass
    variance = ((p * ((x - centre[0])**2 + (y - centre[1])**2)).sum() / mass) / 2
    return centre, np.sqrt(variance), np.log(mass / variance)


def test_constants_of_the_potential():
    centre, scale, ln_z = muller_constants()
    text = (ROOT / "studies" / "density" / "density_sets.c").read_text()
    numbers = [float(x) for x in re.findall(r"-?\d+\.\d{10,}", text)]
    assert numbers == pytest.approx([*centre, scale, ln_z], rel=1e-9)
    for (x, y), value in {(-0.558, 1.442): -146.70, (0.623, 0.028): -108.17, (-0.822, 0.624): -40.66}.items():
        assert -23 * log_muller(x, y) == pytest.approx(value, abs=0.01)


def test_exact_density_of_the_potential(summary, table):
    """Held-out draws by the rule of rejection, their density at tau_min by Gauss and Hermite's rule."""
    centre, scale, ln_z = muller_constants()
    n = summary["settings"]["judge_draws"]
    u = heatball.random.uniform(3 * 2000 * n, seed=SEED, stream=6 * 2**32 + 1).reshape(-1, 3)
    at = np.array([-3.6, -2.2]) + 6 * u[:, :2]
    x = (at[np.log(u[:, 2]) <= log_muller(*at.T) - 146.7 / 23][:n] - centre) / scale
    a, b = np.exp(-TAU_MIN), -np.expm1(-2 * TAU_MIN)
    z = a * x + np.sqrt(b) * heatball.random.normal(2 * n, seed=SEED, stream=5 * 2**32 + 1).reshape(n, 2)
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    e = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    w = np.outer(weights, weights).ravel() / (2 * np.pi)
    before = centre + scale * (z[:, None, :] - np.sqrt(b) * e) / a
    density = np.log((w * np.exp(log_muller(before[..., 0], before[..., 1]))).sum(axis=1)) - ln_z + 2 * TAU_MIN
    assert table["muller", 2, "em", "nll_exact"] == pytest.approx(-density.mean(), rel=1e-7)

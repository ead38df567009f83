"""The bistable study as a user runs it, against SciPy.

The binary is $HEATBALL_COMMAND, by default build/heatball. The exact score at t = 1 is solved for again here, by
finite differences of ln(u/p) and SciPy's BDF; the DSM estimates are simulated again with NumPy and other random
numbers; the limit of infinite data is SciPy quadrature. The scores themselves are read from the numbers behind the
figures.
"""

import csv
import filecmp
import functools
import json
import subprocess

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.sparse
from command_line import COMMAND
from study_command import HAS_GNUPLOT, figure_files, run_study

SEED = 23850
REPEATS = 8  # of the simulation that is compared with the study's
X = (np.arange(601) - 300) / 100
CORE = np.abs(X) < 1
STATIONARY = 2 * X - 2 * X**3
STARTS = ["stationary", "gaussian"]
FIGURES = ["bistable_stationary", "bistable_gaussian", "bistable_radius"]
study = functools.partial(run_study, "bistable", SEED)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Directory and printed table."""
    directory = tmp_path_factory.mktemp("bistable") / "b"
    text = study(directory, "--threads", 1)
    return directory, text


@pytest.fixture(scope="module")
def rows(result):
    with open(result[0] / "bistable.csv", newline="") as file:
        table = list(csv.DictReader(file))
    return {(row["method"], row["start"], row["reference"]):
            {k: float(v) if v else None for k, v in row.items() if k not in ("method", "start", "reference")}
            for row in table}


@pytest.fixture(scope="module")
def summary(result):
    return json.loads((result[0] / "bistable.json").read_text())


def series(directory, figure, panel, label):
    with open(directory / f"{figure}.plot.csv", newline="") as file:
        points = [p for p in csv.DictReader(file) if p["panel"] == str(panel) and p["label"] == label]
    return np.array([float(p["x"]) for p in points]), np.array([float(p["y"]) for p in points])


def reference_solution(half_width=6.0, n=2401):
    """v = ln u and its slope at tau = 1/2 from a standard Gaussian.

    w = ln(u/p), p the stationary density, solves w_tau = w'' + w'^2 + F w' with w' = 0 at the walls: central
    differences of fourth order (even reflection at the walls), BDF in time.
    """
    x = np.linspace(-half_width, half_width, n)
    h, drift = x[1] - x[0], 2 * x - 2 * x**3

    def stencil(offsets, weights):
        matrix = scipy.sparse.lil_matrix((n, n))
        for offset, weight in zip(offsets, weights):
            for i in range(n):
                j = abs(i + offset)
                matrix[i, j if j < n else 2 * (n - 1) - j] += weight
        return matrix.tocsr()
    first = stencil([-2, -1, 1, 2], np.array([1, -8, 8, -1]) / (12 * h))
    second = stencil([-2, -1, 0, 1, 2], np.array([-1, 16, -30, 16, -1]) / (12 * h * h))

    def rate(_, w):
        slope = first @ w
        return second @ w + slope * slope + drift * slope

    def jacobian(_, w):
        return (second + scipy.sparse.diags(2 * (first @ w) + drift) @ first).tocsc()
    log_p = x**2 - x**4 / 2
    solved = scipy.integrate.solve_ivp(rate, (0, 0.5), -x**2 / 2 - log_p, method="BDF", jac=jacobian, rtol=1e-9, atol=1e-9)
    w = solved.y[:, -1]
    v = w + log_p
    v -= np.log(np.exp(v).sum() * h)
    return x, v, first @ w + drift


@pytest.fixture(scope="module")
def solution():
    return reference_solution()


@pytest.fixture(scope="module")
def exact(solution):
    """The exact scores at t = 1 on X, by start."""
    x, _, slope = solution
    return {"stationary": STATIONARY, "gaussian": scipy.interpolate.CubicSpline(x, slope)(X)}


def errors(score, reference):
    square = (score - reference)**2
    return {"overall": square.mean(), "core": square[CORE].mean(), "tail": square[~CORE].mean()}


def test_the_files_are_there(result):
    names = {path.name for path in result[0].iterdir()}
    assert names == {"bistable.csv", "bistable.json"} | figure_files(FIGURES)
    assert f"seed {SEED}" in result[1]
    assert result[1].count("heat-ball-cubature |") == 3


def test_the_exact_score_is_scipys(result, exact):
    x, score = series(result[0], "bistable_gaussian", 2, "exact, {/:Italic t} = 1")
    assert np.array_equal(x, X)
    assert np.abs(score - exact["gaussian"]).max() < 1e-6
    assert np.abs(score - STATIONARY).max() > 0.04  # another score than the stationary one
    _, score = series(result[0], "bistable_stationary", 2, "exact, {/:Italic t} = 1")
    assert score == pytest.approx(STATIONARY, abs=1e-13)


def test_the_densities_are_scipys(result, solution):
    x, v, _ = solution
    _, density = series(result[0], "bistable_gaussian", 1, "{/:Italic t} = 1")
    assert density == pytest.approx(np.exp(scipy.interpolate.CubicSpline(x, v)(X)), rel=1e-6)
    _, density = series(result[0], "bistable_stationary", 1, "stationary: {/:Italic t} = 0 and 1")
    total = scipy.integrate.quad(lambda s: np.exp(s**2 - s**4 / 2), -8, 8)[0]
    assert density == pytest.approx(np.exp(X**2 - X**4 / 2) / total, rel=1e-7)
    _, density = series(result[0], "bistable_gaussian", 1, "start, {/:Italic t} = 0")
    assert density == pytest.approx(np.exp(-X**2 / 2) / np.sqrt(2 * np.pi), rel=1e-12)


@pytest.mark.parametrize("start", STARTS)
def test_errors_of_the_heat_ball_meet_the_goals(rows, start):
    row = rows["heat-ball", start, "exact"]
    assert 0 < row["overall"] <= 1e-3 and 0 < row["core"] <= 1e-6
    assert row["overall"] == pytest.approx((199 * row["core"] + 402 * row["tail"]) / 601, rel=1e-12)
    cubature = rows["heat-ball-cubature", start, "exact"]
    assert cubature["overall"] <= 1e-12
    for method in ("heat-ball-cubature", "grid"):  # no claim below the real error
        assert rows[method, start, "exact"]["overall"] <= 25 * rows[method, start, "exact"]["claimed"]
    assert 0.5 < row["overall"] / row["claimed"] < 2  # Monte Carlo: the claimed error is the real one
    assert row["paper_overall"] is None and rows["heat-ball", start, "stationary"]["paper_overall"] == 0.5415


def test_the_spread_of_the_heat_ball_is_that_of_its_radius(rows, summary):
    """The mean is right for every radius; the variance of one antithetic pair tells r = 0.3 from another.

    Stationary start, closed forms: grad v = F, h_v = -F'. One dimension: kappa needs 5 normals, gradient 4.
    """
    rng, r, n = np.random.default_rng(2385), 0.3, 20000

    def draw(normals, rate, share):
        g = rng.standard_normal((n, normals))
        sigma = np.exp(-np.square(g).sum(axis=1) / rate) / (4 * np.pi)
        return np.sqrt(2 * sigma / rate * np.square(g[:, :share]).sum(axis=1))
    z, c_g = draw(5, 1, 3), 0.0795775
    y = rng.random(n) * draw(4, 2, 2)
    variance = []
    for x in X[::10]:
        value = sum((x + k * r * z) - (x + k * r * z)**3 for k in (1, -1))
        source = c_g * r * ((6 * (x + r * y)**2 - 2) - (6 * (x - r * y)**2 - 2)) / 2
        variance.append(value.var() + source.var())
    expected = np.mean(variance) / summary["settings"]["pairs"]
    assert rows["heat-ball", "stationary", "exact"]["overall"] == pytest.approx(expected, rel=0.3)


@pytest.mark.parametrize("start", STARTS)
def test_deterministic_rows_are_scipys(rows, exact, start):
    gap = errors(STATIONARY, exact[start])
    for region in ("overall", "core", "tail"):
        assert rows["stationary-score", start, "exact"][region] == pytest.approx(gap[region], rel=1e-4, abs=1e-20)
        for method in ("grid", "heat-ball-cubature"):
            assert rows[method, start, "stationary"][region] == pytest.approx(gap[region], rel=1e-4, abs=1e-15)
        both = rows["heat-ball", start, "stationary"][region]
        assert both == pytest.approx(gap[region] + rows["heat-ball", start, "exact"][region], rel=0.02)


@pytest.mark.parametrize("start", STARTS)
def test_infinite_data_is_a_quadrature(rows, summary, solution, exact, start):
    x, v, _ = solution
    log_p = v if start == "gaussian" else x**2 - x**4 / 2
    case = summary["cases"][STARTS.index(start)]
    for sigma in (0.15, 0.4):
        weight = np.exp(log_p - (X[:, None] - x)**2 / (2 * sigma**2))
        score = ((weight @ x) / weight.sum(axis=1) - X) / sigma**2
        wanted = errors(score, exact[start])
        limits = [p["limit"] for p in case["noise"] if p["noise"] == sigma]
        assert limits == pytest.approx([wanted["overall"]] * 4, rel=1e-5)
        if sigma == 0.15:
            for region in wanted:
                assert rows["dsm-limit", start, "exact"][region] == pytest.approx(wanted[region], rel=1e-4)


def simulate(rng, start, n=10000, steps=400):
    """Ends at t = 1 by Euler's method."""
    if start == "stationary":
        grid = np.linspace(-4, 4, 40001)
        cumulative = np.cumsum(np.exp(grid**2 - grid**4 / 2))
        x = np.interp(rng.random(n), cumulative / cumulative[-1], grid)
    else:
        x = rng.standard_normal(n)
    for _ in range(steps):
        x = x + (x - x**3) / steps + rng.standard_normal(n) / np.sqrt(steps)
    return x


def denoised(rng, x, sigma):
    """Nadaraya-Watson and Tweedie, plainly."""
    y = x + sigma * rng.standard_normal(len(x))
    h = 1.06 * y.std(ddof=1) * len(x)**-0.2
    exponent = -(X[:, None] - y)**2 / (2 * h**2)
    weight = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    return ((weight @ x) / weight.sum(axis=1) - X) / sigma**2, h


@pytest.mark.parametrize("start", STARTS)
def test_dsm_agrees_with_a_simulation(rows, summary, exact, start):
    rng, case = np.random.default_rng(2385), summary["cases"][STARTS.index(start)]
    found = {0.15: [], 0.3: []}
    widths, farthest = [], []
    for _ in range(REPEATS):
        x = simulate(rng, start)
        farthest.append(np.abs(x).max())
        for sigma in found:
            score, h = denoised(rng, x, sigma)
            found[sigma].append(errors(score, exact[start]))
            widths += [h] if sigma == 0.15 else []
    row, runs = rows["dsm", start, "exact"], rows["dsm", start, "exact"]["runs"]
    assert runs == 3
    for region in ("overall", "core", "tail"):
        values = np.array([e[region] for e in found[0.15]])
        spread = values.std(ddof=1) * np.sqrt(1 / len(values) + 1 / runs)
        assert abs(row[region] - values.mean()) < 5 * spread, region
        assert 0 < row[region + "_se"] < 5 * values.std(ddof=1) / np.sqrt(runs), region
    (wide,) = [p for p in case["noise"] if p["noise"] == 0.3 and p["bandwidth_factor"] == 1]
    values = np.array([e["overall"] for e in found[0.3]])
    assert abs(wide["overall"] - values.mean()) < 5 * values.std(ddof=1) * np.sqrt(1 / REPEATS + 1 / runs)
    assert case["bandwidth"] == pytest.approx(np.mean(widths), rel=0.02)
    assert case["farthest_end"] == pytest.approx(np.mean(farthest), abs=0.3)


@pytest.mark.parametrize("start", STARTS)
def test_the_best_of_dsm_is_the_best(rows, summary, start):
    case = summary["cases"][STARTS.index(start)]
    best = min(case["noise"], key=lambda p: p["overall"])
    assert case["best"] == {k: best[k] for k in ("noise", "bandwidth_factor")}
    assert rows["dsm-best", start, "exact"]["overall"] == pytest.approx(best["overall"], rel=1e-12)
    assert best["overall"] > 1e3 * rows["heat-ball", start, "exact"]["overall"]
    assert len(case["noise"]) == 36


def test_the_saddle_splits_into_bias_and_variance(summary):
    for case in summary["cases"]:
        s = case["saddle"]
        assert s["mse"] == pytest.approx(s["bias2"] + s["variance"], rel=1e-9)
        assert 0 < s["limit_bias2"] < 0.1 * s["mse"]


def test_grids_hold_every_ball(summary):
    reach = 1.2 * np.sqrt(2 * 9 / (4 * np.pi * np.e))  # the largest radius, lift 8
    for case in summary["cases"]:
        field, reference = case["field_grid"], case["reference_grid"]
        assert field["high"] > 3 + reach and field["low"] < -3 - reach
        assert (field["low"], field["high"], field["cells"]) != (reference["low"], reference["high"], reference["cells"])
        assert field["boundary_log"] < -500 and field["mass_error"] < 1e-6


def test_the_radius_sweep(summary):
    sweep = summary["cases"][1]["radius"]
    assert {(p["radius"], p["lift"]) for p in sweep} == {
        (r, m) for r in (0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2) for m in (0, 2, 8)}
    for lift in (0, 2, 8):
        points = [p for p in sweep if p["lift"] == lift and p["radius"] >= 0.3]
        slope = np.polyfit(np.log([p["radius"] for p in points]), np.log([p["overall"] for p in points]), 1)[0]
        assert 3.5 < slope < 4.5  # the spread of the integrands grows like r^2
        for p in points:
            assert 0.4 < p["overall"] / p["claimed"] < 2.5
            assert p["cubature"] < 1e-5 * p["overall"] and p["cubature"] < 4 * p["cubature_claimed"]


def test_the_heat_ball_of_the_figure_is_the_tables(result, rows, exact):
    for start in STARTS:
        _, error = series(result[0], f"bistable_{start}", 3, "heat ball, cubature")
        assert (error**2).mean() == pytest.approx(rows["heat-ball-cubature", start, "exact"]["overall"], rel=1e-9)
        x, score = series(result[0], f"bistable_{start}", 2, "heat ball")
        assert len(x) == 31 and np.abs(score - exact[start][::20]).max() < 0.01


def test_claims(summary, rows):
    verdicts = {claim["id"]: claim["verdict"] for claim in summary["claims"]}
    assert verdicts == {"reduction": "holds", "core": "holds", "saddle": "holds with a correction",
                        "tail": "holds with a correction", "noise": "holds",
                        "reference": "holds with a correction", "regions": "holds with a correction"}
    assert {f["name"] for f in summary["figures"]} == set(FIGURES)
    gap = rows["stationary-score", "gaussian", "exact"]["overall"]
    (claim,) = [c for c in summary["claims"] if c["id"] == "reference"]
    assert f"differ by {gap:.3g} overall" in claim["ours"]


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """`heatball reproduce --quick` with two studies: the directory, and what it printed."""
    directory = tmp_path_factory.mktemp("reproduce")
    done = subprocess.run([COMMAND, "reproduce", "--quick", "--only", "sampler,bistable", "--seed", str(SEED), "--threads", "2", "-o",
                           str(directory)],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return directory, done.stdout


def test_the_same_bytes_for_two_threads(result, reproduced):
    here = reproduced[0] / "bistable"
    names = sorted(path.name for path in here.iterdir())
    same, different, broken = filecmp.cmpfiles(result[0], here, names, shallow=False)
    assert (sorted(same), different, broken) == (names, [], [])


def test_reproduce_puts_both_studies_on_one_page(reproduced, summary):
    directory, printed = reproduced
    assert {path.name for path in directory.iterdir()} == {"index.html", "results.json", "sampler", "bistable"}
    results = json.loads((directory / "results.json").read_text())
    assert [study["study"] for study in results["studies"]] == ["sampler", "bistable"]
    assert results["seed"] == str(SEED) and results["quick"] is True
    assert results["studies"][1] == summary
    page = (directory / "index.html").read_text(encoding="utf-8")
    figures = 0
    for study in results["studies"]:
        assert study == json.loads((directory / study["study"] / f"{study['study']}.json").read_text())
        assert study["title"] in page
        for claim in study["claims"]:
            assert f"{study['study']}, {claim['id']}: {claim['verdict']}\n" in printed
            assert f'id="claim-{study["study"]}-{claim["id"]}"' in page  # its text: test_reproduce.py
        for figure in study["figures"]:
            assert f'id="{figure["name"]}"' in page
            figures += 1
    assert figures == 6 and page.count("<svg") == (figures if HAS_GNUPLOT else 0)
    assert printed.splitlines()[-1] == str(directory / "index.html")


def test_seeds_sets_the_number_of_runs(tmp_path):
    study(tmp_path / "s", "--seeds", 1, "-q")
    with open(tmp_path / "s" / "bistable.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert {row["runs"] for row in table} == {"1"} and {row["overall_se"] for row in table} == {""}

"""The sampler study as a user runs it, against SciPy.

The binary is $HEATBALL_COMMAND, by default build/heatball. The study's draws are those of `heatball sample
--measure kappa` with the same seed, so SciPy recomputes means, variances and Kolmogorov distances from that
file; closed forms are recomputed by numerical integration over the heat ball.
"""

import collections
import csv
import filecmp
import html.parser
import json
import os
import shutil
import subprocess

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
from command_line import COMMAND, run

SEED, N, M = 7, 2000, 80
DIMS = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
FIGURES = ["sampler_variance", "sampler_histograms", "sampler_kolmogorov"]
HAS_GNUPLOT = shutil.which("gnuplot") is not None


def heatball(*arguments, **options):
    done = run(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The directory of `heatball reproduce`, and what it printed."""
    directory = tmp_path_factory.mktemp("reproduce") / "deep" / "er"
    text = heatball("reproduce", "--only", "sampler", "--seed", SEED, "--threads", 1, "-o", directory)
    return directory, text


@pytest.fixture(scope="module")
def rows(page):
    with open(page[0] / "sampler" / "sampler.csv", newline="") as file:
        table = [{k: float(v) if v else None for k, v in row.items()} for row in csv.DictReader(file)]
    return {int(row["dim"]): row for row in table}


@pytest.fixture(scope="module")
def draws(tmp_path_factory):
    """|z|^2 and sigma of the study's kappa draws in dimension d."""
    directory = tmp_path_factory.mktemp("draws")

    def of(dim):
        path = directory / f"{dim}.npy"
        heatball("sample", "--measure", "kappa", "--dim", dim, "-n", N * M, "--seed", SEED, "-o", path)
        rows = np.load(path, mmap_mode="r")
        return np.square(rows[:, :-1]).sum(axis=1), np.array(rows[:, -1])
    return of


def cylinder_volume(d):
    log_ball = d / 2 * np.log(np.pi) - scipy.special.gammaln(d / 2 + 1)
    return np.exp(log_ball + d / 2 * np.log(2 * d / (4 * np.pi * np.e)) - np.log(4 * np.pi))


def kappa_mean(d, function):
    """E_kappa[function(|z|^2, sigma)] by quadrature over t ~ Beta(d/2+1, 1) and L ~ Gamma(d/2+2, rate d/2)."""
    t, wt = scipy.special.roots_jacobi(60, 0, d / 2)
    t, wt = (t + 1) / 2, wt / wt.sum()
    l = np.linspace(0, scipy.stats.gamma.isf(1e-30, d / 2 + 2, scale=2 / d) * (6 if d < 16 else 2), 40001)[1:]
    wl = scipy.stats.gamma.pdf(l, d / 2 + 2, scale=2 / d) * (l[1] - l[0])
    sigma = np.exp(-l) / (4 * np.pi)
    z2 = t[:, None] * 2 * d * sigma * l
    return np.sum(wt[:, None] * wl * function(z2, sigma))


def test_the_files_are_there(page):
    directory = page[0]
    names = {path.name for path in (directory / "sampler").iterdir()}
    extensions = ["plot.csv", "gp"] + (["svg", "png"] if HAS_GNUPLOT else [])
    assert names == {"sampler.csv", "sampler.json"} | {f"{f}.{e}" for f in FIGURES for e in extensions}
    assert {path.name for path in directory.iterdir()} == {"sampler", "index.html", "results.json"}


def test_the_table_has_every_dimension(rows, page):
    assert list(rows) == DIMS
    for dim in DIMS:
        assert f"\n{dim:5d} |" in page[1]
    assert f"seed {SEED}" in page[1]


def test_measured_numbers_agree_with_exact_ones(rows):
    for dim, row in rows.items():
        for name in ("direct_mean_z", "direct_variance_z", "uniform_mean_z", "inside_z"):
            assert abs(row[name]) <= 5, (dim, name)
        for name in ("uniform_variance_z", "uniform_ess_z"):  # no z where the fourth moment rules
            assert (row[name] is None) == (dim < 16), (dim, name)  # a normal error out
            assert row[name] is None or abs(row[name]) <= 5, (dim, name)
        assert row["direct_ess"] == N
        assert 0.05 < row["direct_variance_se"] / row["direct_variance"] < 0.4


@pytest.mark.parametrize("dim", [4, 128])
def test_direct_columns_follow_from_the_draws(rows, draws, dim):
    z2, sigma = draws(dim)
    means = (z2 / (2 * sigma)).reshape(M, N).mean(axis=1)
    row = rows[dim]
    assert row["direct_mean"] == pytest.approx(means.mean(), rel=1e-12)
    assert row["direct_variance"] == pytest.approx(means.var(ddof=1), rel=1e-9)
    assert row["direct_variance_exact"] == pytest.approx(scipy.stats.chi2(dim + 2).var() / N, rel=1e-14)
    assert row["direct_mean_z"] == pytest.approx((means.mean() - dim - 2) / np.sqrt(2 * (dim + 2) / N / M), rel=1e-6)
    left_out = np.array([np.delete(means, i).var(ddof=1) for i in range(M)])
    jackknife = np.sqrt((M - 1) / M * np.square(left_out - left_out.mean()).sum())
    assert row["direct_variance_se"] == pytest.approx(jackknife, rel=1e-6)


@pytest.mark.parametrize("dim", [4, 16, 128, pytest.param(1024, marks=pytest.mark.long)])
def test_kolmogorov_distances_are_scipys(rows, draws, dim):
    z2, sigma = draws(dim)
    row, sigma_star = rows[dim], 1 / (4 * np.pi * np.e)
    radius2 = -2 * dim * sigma * np.log(4 * np.pi * sigma)
    t = z2 / radius2
    level = -np.log(4 * np.pi * sigma)
    expected = {
        "radial_ks_limit": scipy.stats.kstest(dim * (1 - t), scipy.stats.chi2(2).cdf),
        "radial_ks_exact": scipy.stats.kstest(t, scipy.stats.beta(dim / 2 + 1, 1).cdf),
        "temporal_ks_limit": scipy.stats.kstest(np.sqrt(dim) * (sigma - sigma_star),
                                                scipy.stats.norm(0, np.sqrt(2) * sigma_star).cdf),
        "temporal_ks_exact": scipy.stats.kstest(level, scipy.stats.gamma(dim / 2 + 2, scale=2 / dim).cdf)}
    for name, result in expected.items():
        assert row[name] == pytest.approx(result.statistic, abs=1e-9), name
    assert np.sqrt(N * M) * max(row["radial_ks_exact"], row["temporal_ks_exact"]) < 2.4
    assert row["temporal_variance"] == pytest.approx(dim * sigma.var(ddof=1), rel=1e-9)


@pytest.mark.parametrize("dim", DIMS)
def test_limit_distances_are_scipys(rows, dim):
    sigma_star = 1 / (4 * np.pi * np.e)
    x = np.linspace(0, 15, 30001)
    radial = np.abs(scipy.stats.beta(dim / 2 + 1, 1).sf(1 - x / dim) - scipy.stats.chi2(2).cdf(x)).max()
    assert rows[dim]["radial_limit_distance"] == pytest.approx(radial, rel=1e-3)
    sigma = np.linspace(1e-9, 1 / (4 * np.pi), 30001)
    exact = scipy.stats.gamma(dim / 2 + 2, scale=2 / dim).sf(-np.log(4 * np.pi * sigma))
    limit = scipy.stats.norm(0, np.sqrt(2) * sigma_star).cdf(np.sqrt(dim) * (sigma - sigma_star))
    assert rows[dim]["temporal_limit_distance"] == pytest.approx(np.abs(exact - limit).max(), rel=1e-3)


@pytest.mark.parametrize("dim", DIMS)
def test_exact_columns_are_integrals(rows, dim):
    volume, row = cylinder_volume(dim), rows[dim]
    mean_w = kappa_mean(dim, lambda z2, s: volume * z2 / (4 * s**2))
    assert row["one_plus_chi2"] == pytest.approx(mean_w, rel=2e-4)
    assert row["uniform_ess_exact"] == pytest.approx(N / mean_w, rel=2e-4)
    second = kappa_mean(dim, lambda z2, s: volume * z2 / (4 * s**2) * (z2 / (2 * s))**2)
    assert row["uniform_variance_exact"] == pytest.approx((second - (dim + 2)**2) / N, rel=2e-4)
    n = dim / 2
    ratio = np.exp(-n + (n + 1) * np.log(n + 1) - scipy.special.gammaln(n + 1))
    assert row["cylinder_ratio"] == pytest.approx(ratio, rel=1e-12)
    assert row["inside_exact"] == pytest.approx(1 / ratio, rel=1e-12)


def test_expected_ess_is_the_mean_of_many_runs(rows):
    """The bias of order 1/N: an independent simulation of 20000 runs at d = 16."""
    rng, d, ess = np.random.default_rng(2385), 16, []
    volume, r2 = cylinder_volume(d), 2 * d / (4 * np.pi * np.e)
    for _ in range(100):
        sigma = rng.random((200, N)) / (4 * np.pi)
        z2 = r2 * rng.random((200, N))**(2 / d)
        inside = z2 <= -2 * d * sigma * np.log(4 * np.pi * sigma)
        w = np.where(inside, volume * z2 / (4 * sigma**2), 0)
        ess.append(w.sum(axis=1)**2 / np.square(w).sum(axis=1))
    ess = np.concatenate(ess)
    error = ess.std(ddof=1) / np.sqrt(len(ess))
    expected = rows[d]["uniform_ess_expected"]
    assert abs(ess.mean() - expected) < 5 * error + 0.002 * expected  # the next order of 1/N
    assert abs(ess.mean() - rows[d]["uniform_ess_exact"]) > 5 * error  # the bias is there to be seen


def test_histograms_count_the_draws(page, draws):
    result = json.loads((page[0] / "sampler" / "sampler.json").read_text())
    assert [(h["dim"], h["law"]) for h in result["histograms"]] == [
        (d, law) for d in (4, 128, 1024) for law in ("radial", "temporal")]
    for dim in (4, 128):
        z2, sigma = draws(dim)
        values = {"radial": dim * (1 + z2 / (2 * dim * sigma * np.log(4 * np.pi * sigma))),
                  "temporal": np.sqrt(dim) * (sigma - 1 / (4 * np.pi * np.e))}
        for h in result["histograms"]:
            if h["dim"] == dim:
                counts, _ = np.histogram(values[h["law"]], bins=len(h["counts"]), range=(h["low"], h["high"]))
                assert np.abs(counts - h["counts"]).max() <= 1, (dim, h["law"])  # a value on an edge


def test_figures_hold_the_table(page, rows):
    with open(page[0] / "sampler" / "sampler_variance.plot.csv", newline="") as file:
        points = list(csv.DictReader(file))
    assert list(points[0]) == ["panel", "series", "label", "x", "y", "low", "high"]
    ess = {float(p["x"]): float(p["y"]) for p in points if p["panel"] == "2" and p["label"] == "uniform, measured"}
    assert ess == {d: rows[d]["uniform_ess"] for d in DIMS}
    with open(page[0] / "sampler" / "sampler_histograms.plot.csv", newline="") as file:
        points = [p for p in csv.DictReader(file) if p["panel"] == "4" and p["label"] == "exact law"]
    x, y = (np.array([float(p[k]) for p in points]) for k in "xy")
    sigma = 1 / (4 * np.pi * np.e) + x / 32
    density = scipy.stats.gamma(514, scale=1 / 512).pdf(-np.log(4 * np.pi * sigma)) / (32 * sigma)
    assert y == pytest.approx(density, rel=1e-9)


def test_same_bytes_for_every_number_of_threads(page, tmp_path):
    heatball("study", "sampler", "--seed", SEED, "--threads", 2, "-q", "-o", tmp_path / "s")
    names = sorted(path.name for path in (tmp_path / "s").iterdir())
    same, different, errors = filecmp.cmpfiles(page[0] / "sampler", tmp_path / "s", names, shallow=False)
    assert (sorted(same), different, errors) == (names, [], [])


def test_verdicts_and_claims(page, rows):
    result = json.loads((page[0] / "results.json").read_text())
    assert result["seed"] == str(SEED)
    (study,) = result["studies"]
    verdicts = {claim["id"]: claim["verdict"] for claim in study["claims"]}
    assert verdicts == {"exactness": "holds with a correction", "variance": "holds with a correction",
                        "ess": "holds", "monotone": "holds with a correction", "growth": "holds",
                        "radial": "holds", "temporal": "holds"}
    for name, verdict in verdicts.items():
        assert f"sampler, {name}: {verdict}\n" in page[1]
    ess = [rows[d]["uniform_ess_exact"] for d in DIMS]
    assert np.argmax(ess) == 2 and ess[0] < ess[1] < ess[2]  # best at d = 16: not monotone


class Page(html.parser.HTMLParser):
    """Collects ids, references and figures, and notes tags that do not nest."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.references, self.remote = [], collections.Counter(), [], []
        self.figures, self.wrong, self.text = {}, [], ""

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.update([values["id"]] if "id" in values else [])
        if tag == "figure":
            self.figures[values["id"]] = 0
        if tag == "svg":
            self.figures[next(reversed(self.figures))] += 1
        for key in ("href", "xlink:href", "src"):
            target = values.get(key, "")
            self.references += [target[1:]] if target.startswith("#") else []
            self.remote += [target] if "//" in target else []
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        depth = len(self.open)
        self.handle_starttag(tag, attributes)
        del self.open[depth:]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append((tag, self.getpos()))

    def handle_data(self, data):
        self.text += data


def test_the_page_is_whole(page):
    parser = Page()
    parser.feed((page[0] / "index.html").read_text(encoding="utf-8"))
    assert parser.wrong == [] and parser.open == [] and parser.remote == []
    assert [i for i, count in parser.ids.items() if count > 1] == []
    assert [r for r in parser.references if r not in parser.ids] == []
    assert parser.figures == {name: int(HAS_GNUPLOT) for name in FIGURES}
    assert f"heatball study sampler --seed {SEED} -o sampler" in parser.text
    assert "prefers-color-scheme:dark" in parser.text and "−" in parser.text


def test_without_gnuplot_the_study_goes_on(tmp_path):
    (tmp_path / "sampler").mkdir()
    (tmp_path / "sampler" / "sampler_variance.svg").write_text("of an earlier run")
    text = heatball("reproduce", "--only", "sampler", "--seed", SEED, "-o", tmp_path, env={**os.environ, "PATH": "/nonexistent"})
    assert text.count("note: no figures: gnuplot cannot be started") == 1
    names = {path.name for path in (tmp_path / "sampler").iterdir()}
    assert {"sampler.csv", "sampler.json", "sampler_variance.plot.csv", "sampler_variance.gp"} < names
    assert not [name for name in names if name.endswith((".svg", ".png"))]
    assert (tmp_path / "index.html").read_text().count("This figure needs gnuplot") == len(FIGURES)


def test_studies_that_were_run_apart_are_joined(page, tmp_path):
    """The page of --join is that of the run, but for how it says that it was made; nothing is run and no study changes."""
    shutil.copytree(page[0] / "sampler", tmp_path / "sampler")
    before = {path.name: path.read_bytes() for path in (tmp_path / "sampler").iterdir()}
    heatball("reproduce", "--join", "--seed", SEED, "-o", tmp_path)
    assert {path.name: path.read_bytes() for path in (tmp_path / "sampler").iterdir()} == before
    ours, theirs = ((d / "index.html").read_text() for d in (tmp_path, page[0]))
    assert f"<code>heatball reproduce --join --seed {SEED}</code>" in ours and "by other versions" not in ours
    ours = ours.replace(', the studies one by one (<a href="#repeat">how</a>)', "").replace(" --join", " --only sampler")
    assert ours == theirs
    kept = json.loads((tmp_path / "sampler" / "sampler.json").read_text())
    (tmp_path / "sampler" / "sampler.json").write_text(json.dumps({**kept, "version": "0.0.7"}))
    heatball("reproduce", "--join", "--seed", SEED, "-o", tmp_path)
    assert "; by other versions: sampler 0.0.7</dd>" in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize("arguments, content, words", [
    (["--seed", "1"], {"command": "heatball study sampler", "seed": "2"}, "the study sampler has the seed 2; join with --seed 2"),
    (["--quick"], {"command": "heatball study sampler", "seed": "42"}, "the study sampler is of a full run; leave out --quick"),
    ([], {"command": "heatball study sampler --quick", "seed": "42"}, "the study sampler is of a quick run; join with --quick"),
    ([], {"numbers": 1}, "is no result of a study"),
    ([], None, "has no results of a study; heatball study NAME -o")])
def test_studies_that_do_not_fit_are_not_joined(arguments, content, words, tmp_path):
    (tmp_path / "sampler").mkdir()
    if content:
        (tmp_path / "sampler" / "sampler.json").write_text(json.dumps(content))
    done = run("reproduce", "--join", *arguments, "-o", tmp_path)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "index.html").exists()


@pytest.mark.parametrize("arguments, word", [
    (["reproduce", "--only", "sampler,no-such", "-o", "x"], "no-such"),
    (["reproduce", "-o", "/dev/null/x"], "/dev/null"),
    (["study", "sampler", "-o", "/dev/null/x"], "/dev/null")])
def test_wrong_arguments_exit_with_2(arguments, word, tmp_path):
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 2, done.stderr
    assert word in done.stderr and done.stderr.count("\n") == 1

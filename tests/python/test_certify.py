"""Certificates of scores: closed forms pass, damage is found by the line that should find it, and what goes wrong is said."""

import json
import pathlib
import sys
import time

import numpy as np
import pytest

import heatball

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import certify_table  # noqa: E402

SMALL = {"rows": 300, "pairs": 6, "flow_samples": 120, "tau": [0.1, 0.7], "threads": 1}
GMM = heatball.dataset("elongated_gmm")
ROWS = GMM.sample(400, seed=8)


def failed(certificate):
    """Return {name: [tau, ...]} of the lines that fail."""
    found = {}
    for line in certificate.lines:
        if line.verdict == "fails":
            found.setdefault(line.name, []).append(line.tau)
    return found


def line_of(certificate, name, tau=None):
    """Return the line of this name and tau."""
    return next(line for line in certificate.lines if line.name == name and (tau is None or line.tau == tau))


# ---- scores that are right ----

def test_exact_scores_pass():
    """A set, a mixture in five dimensions, VE and a linear drift, whose scores are closed forms."""
    for name, (mixture, score, arguments) in certify_table.cases().items():
        if "moon" in name:
            continue
        c = heatball.certify(score, mixture.sample(300, seed=3), seed=3, **SMALL, **arguments)
        assert c.passed, (name, c)
        assert line_of(c, "truth").verdict == "skipped"


def quartic_rows(n, seed):
    """Draws of exp(-V), V = x^4/4 - x^2/2 + y^2/2, by rejection on the first axis."""
    random = np.random.default_rng(seed)
    x = random.uniform(-3.2, 3.2, 60 * n)
    x = x[random.random(60 * n) < np.exp(-(x**4 / 4 - x**2 / 2 + 0.25))][:n]
    return np.column_stack([x, random.standard_normal(n)])


def quartic_score(x, tau):
    """The law exp(-V) stays as it is under its own drift: the score is the drift, at every tau."""
    return np.column_stack([x[:, 0] - x[:, 0]**3, -x[:, 1]])


def test_typed_drift():
    """A drift that is not linear: rows are carried by paths, the truth is solved."""
    rows = quartic_rows(300, 1)
    arguments = {"drift": "x - x^3, -y", "initial": "stationary", "tau_max": 1.0, "training": quartic_rows(300, 2)}
    c = heatball.certify(quartic_score, rows, **SMALL, **arguments)
    assert c.passed, c
    assert line_of(c, "truth", 0.7).value < 0.01
    assert line_of(c, "memorisation", 0.1).verdict == "holds"
    c = heatball.certify(lambda x, tau: 1.2 * quartic_score(x, tau), rows, **{**SMALL, "flow_samples": 0}, **arguments)
    assert {"stein scale", "residual", "truth"} <= set(failed(c)), c
    assert abs(line_of(c, "stein scale", 0.7).value - 0.2) < 5 * line_of(c, "stein scale", 0.7).error


# ---- damage ----

def test_damage_is_found():
    """By the line that is made for it."""
    turn = np.array([[1.0, 0.05], [-0.05, 1.0]])
    rest = GMM.mode_of != 0
    missing = heatball.Mixture(GMM.weights[rest], GMM.means[rest], GMM.covariances[rest])
    arguments = {**SMALL, "rows": 400, "flow_samples": 0}
    large = heatball.certify(lambda x, tau: 1.1 * GMM.score(x, tau), ROWS, **arguments)
    assert 0.7 in failed(large)["residual"] and abs(line_of(large, "stein scale", 0.7).value - 0.1) < 0.05
    assert failed(heatball.certify(lambda x, tau: GMM.score(x, tau) @ turn, ROWS, **arguments))["curl"] == [0.1, 0.7]
    found = failed(heatball.certify(missing, ROWS, **{**SMALL, "flow_samples": 150}))
    assert "stein scale" in found and "likelihood" in found and "samples" in found


def test_truth_and_tolerance():
    """A named set knows its score; an effect below the tolerance is accepted."""
    score = lambda x, tau: 1.02 * GMM.score(x, tau)  # noqa: E731
    c = heatball.certify(score, "elongated_gmm", **SMALL)
    assert abs(line_of(c, "truth", 0.1).value - 0.02) < 1e-9 and not c.passed
    assert heatball.certify(score, GMM, tolerance=0.03, **SMALL).passed


def test_rows_that_were_trained_on():
    """Refused; rows that repeat each other, as counts do, repeat training rows too."""
    rows = np.random.default_rng(3).standard_normal((1000, 2))
    score = lambda x, tau: -x  # noqa: E731
    for training, words in ((rows, "500 of 500"), (rows[400:], "100 of 500")):
        with pytest.raises(heatball.ArgumentError, match=words + " rows are training rows"):
            heatball.certify(score, rows[:500], training=training, **SMALL)
    assert heatball.certify(score, rows[:500], training=rows[490:], **SMALL).passed
    counts = np.random.default_rng(3).poisson(3, (1000, 2))
    heatball.certify(score, counts[:500], training=counts[500:], **SMALL)


def test_memorisation_below_0():
    """A score far from all training rows goes no way to theirs: a number of the size of its error's kind."""
    rows = GMM.sample(800, seed=9)
    c = heatball.certify(lambda x, tau: 0.3 * GMM.score(x, tau), rows[:400], training=rows[400:], **SMALL)
    for line in c.lines:
        assert line.name != "memorisation" or line.verdict == "holds" and -2 < line.value < 1


# ---- models ----

def test_model_of_another_noise():
    """A model of an SDE as typed is refused, and the sentence says why."""
    rows = GMM.sample(300, seed=4)
    model = heatball.train(rows, "dsm", drift="x - x^3, -y", noise=0.7, steps=3, width=8, depth=2, threads=1)
    with pytest.raises(heatball.ArgumentError, match="an SDE with a noise of its own"):
        heatball.certify(model, rows, **SMALL)


def test_model_is_its_own_score():
    """A model with a scale on each axis gives the lines of its score in its own coordinates."""
    rows = GMM.sample(500, seed=4) * [3.0, 0.2] + [5.0, -1.0]
    model = heatball.train(rows[:300], "dsm", head="score", steps=60, width=32, threads=1)
    z = (rows - model.shift) / model.scales
    score = lambda z, tau: model.scales * model.score(model.shift + model.scales * z, tau)  # noqa: E731
    arguments = {**SMALL, "seed": 5, "tau_min": model.tau_min, "tau_max": model.tau_max}
    own = heatball.certify(model, rows[300:], training=rows[:300], **arguments)
    same = heatball.certify(score, z[300:], training=z[:300], **arguments)
    for one, two in zip(own.lines, same.lines, strict=True):
        assert one.name == two.name and one.verdict == two.verdict
        if one.name in ("residual", "stein width", "stein mean", "memorisation", "samples"):
            assert one.value == pytest.approx(two.value, rel=2e-3, abs=1e-4), one.name
    assert not own.passed


def test_a_flow_that_breaks_down_is_a_finding():
    """A score that is not finite far from the rows, where its own flow leads."""
    def score(x, tau):
        return np.where(np.abs(x) < 6, x, np.nan)  # pushes outward

    c = heatball.certify(score, np.random.default_rng(1).standard_normal((300, 2)), **SMALL)
    assert line_of(c, "samples").verdict == "fails" and "breaks down" in line_of(c, "samples").text


# ---- what goes wrong ----

def test_callables():
    """Exceptions pass through, shapes are checked, tensors' kin and float32 are taken."""
    def broken(x, tau):
        raise KeyError("weights")

    with pytest.raises(KeyError, match="weights"):
        heatball.certify(broken, ROWS, **SMALL)
    with pytest.raises(heatball.ArgumentError, match="shape"):
        heatball.certify(lambda x, tau: np.zeros((3, 3)), ROWS, **SMALL)
    with pytest.raises(heatball.Error, match="nan"):
        heatball.certify(lambda x, tau: x * np.nan, ROWS, **SMALL)
    with pytest.raises(KeyboardInterrupt):
        heatball.certify(lambda x, tau: (_ for _ in ()).throw(KeyboardInterrupt), ROWS, **SMALL)
    single = heatball.certify(lambda x, tau: GMM.score(x, tau).astype(np.float32), ROWS, **SMALL)
    assert line_of(single, "curl", 0.1).verdict == "holds" and single.passed
    density = heatball.certify(GMM.log_density, ROWS, **{**SMALL, "flow_samples": 0})
    assert density.passed and line_of(density, "residual of ln u", 0.1).verdict == "holds"


@pytest.mark.parametrize(("arguments", "words"), [
    ({"data": ROWS[:50]}, "50 rows"),
    ({"data": np.full((200, 2), np.nan)}, "row 1, column 1"),
    ({"data": "no_such_set"}, "no_such_set"),
    ({"tau": [5.0]}, "tau has 5"),
    ({"tau": [0.5, 0.1]}, "rise"),
    ({"process": "subvp"}, "subvp"),
    ({"process": "drift"}, "drift"),
    ({"drift": "-x, -y, -z"}, "component"),
    ({"params": {"a": 1.0}}, "drift"),
    ({"training": ROWS[:10]}, "10 training rows"),
    ({"training": ROWS[:, :1]}, "columns"),
    ({"level": 1.5}, "level"),
    ({"tolerance": -1.0}, "tolerance"),
    ({"label": 1}, "label"),
])
def test_wrong_arguments(arguments, words):
    """Each is named."""
    data = arguments.pop("data", ROWS)
    with pytest.raises((heatball.Error, ValueError), match=words):
        heatball.certify(GMM.score, data, **{**SMALL, **arguments})


def test_save_and_show(tmp_path):
    """The page, the JSON and the table have the same lines."""
    c = heatball.certify(GMM.score, GMM, name="<exact>", **SMALL)
    c.save(tmp_path / "page")
    saved = json.loads((tmp_path / "page" / "certificate.json").read_text())
    assert saved == c.to_dict() and saved["passed"] is c.passed and saved["score"] == "<exact>"
    assert [line["name"] for line in saved["lines"]] == [line.name for line in c.lines]
    page = (tmp_path / "page" / "certificate.html").read_text()
    assert "&lt;exact&gt;" in page and c.summary in page
    assert "stein local" in repr(c) and c.summary in repr(c) and "stein local" in c._repr_html_()
    assert len(c._columns()["value_se"]) == len(c.lines)
    again = heatball.certify(GMM.score, GMM, name="<exact>", **{**SMALL, "threads": 2})
    assert again.to_dict() == saved
    (tmp_path / "file").write_text("mine")
    with pytest.raises(heatball.Error, match="a file has this name"):
        c.save(tmp_path / "file")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "effects.gp").write_text("mine")
    with pytest.raises(heatball.Error, match="mine/effects.gp would be replaced"):
        c.save(tmp_path / "mine")
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["effects.gp"]
    assert (tmp_path / "file").read_text() == "mine"


# ---- the level, and what is found how often ----

@pytest.mark.long
@pytest.mark.parametrize("name", certify_table.cases())
def test_level(name):
    """200 exact scores: 90 to 99 % of verdicts at 95 %, of each line and of the whole."""
    mixture, score, arguments = certify_table.cases()[name]
    passed, lines = 0, {}
    for seed in range(1, 201):
        draws = mixture.sample(900, seed=1000 + seed)
        c = heatball.certify(score, draws[:400], training=draws[400:], seed=seed, **certify_table.SMALL, **arguments)
        passed += c.passed
        for line in c.lines:
            if line.p_value is not None:
                lines.setdefault(line.name, []).append(line.p_value > 0.05)
    assert passed >= 180
    for line, holds in lines.items():
        assert len(holds) >= 200 and np.mean(holds) >= 0.90, (line, np.mean(holds))
        assert line == "curl" or np.mean(holds) <= 0.99, line  # nothing in it is random


@pytest.mark.long
def test_power():
    """What is damaged on purpose is found in every of 10 repetitions, by the line that is made for it."""
    by = {"scores 5 % too large": ("residual", 1.0), "one mode missing": ("likelihood", None),
          "a rotation of 5 % added": ("curl", 0.02), "a network after 600 steps": ("stein scale", 0.02)}
    for name, (mixture, score) in certify_table.damaged().items():
        if name not in by:
            continue
        for seed in range(1, 11):
            c = heatball.certify(score, mixture.sample(1000, seed=1000 + seed), seed=seed)
            assert not c.passed, name
            assert by[name][1] in failed(c).get(by[name][0], []), (name, c)


def test_certificates_are_tables_too():
    moons = heatball.dataset("two_moon")
    c = heatball.certify(moons, moons, rows=300, flow_samples=0, tau=[0.3])
    frame = c.to_pandas()
    assert frame["name"].tolist() == [line.name for line in c.lines]
    assert frame["p_value"].isna().tolist() == [line.p_value is None for line in c.lines]
    assert all(f"<td>{line.name}</td>" in c._repr_html_() for line in c.lines)


def test_progress_counts_evaluations_and_few_are_made():
    """A log-density: values alone at the nodes of its own line; the progress never goes back and ends at its total."""
    asked, seen = [], []

    def f(x, tau):
        asked.append(len(x))
        return GMM.log_density(x, tau, threads=1)

    heatball.certify(f, GMM, rows=100, flow_samples=50, tau=[0.3], threads=1, progress=lambda *one: seen.append(one))
    done, total = np.array(seen).T
    assert (np.diff(done) >= 0).all() and (total == total[0]).all() and done[-1] == total[0]
    assert 0.05 < np.median(done / total) < 0.95  # it does not stand at its end
    assert sum(asked) < 700000


@pytest.mark.parametrize("arguments", [{}, {"drift": "-x[i]", "initial": "gaussian(mean=0,var=1)"}])
def test_max_time_reports_the_lines_that_are_there(arguments):
    """The second tau is slow: its lines are missing, and the certificate has not passed."""
    def f(x, tau):
        if tau[0] > 0.5:
            time.sleep(0.002 * len(x))
        return -x

    start = time.monotonic()
    c = heatball.certify(f, np.random.default_rng(5).standard_normal((300, 3)), tau=[0.1, 1.0], flow_samples=100, pairs=4,
                         rows=300, max_time=6, **arguments)
    assert time.monotonic() - start < 8
    assert not c.passed and c.summary.startswith("not finished: none of ")
    names = {tau: {line.name for line in c.lines if line.tau == tau} for tau in (0.1, 1.0)}
    assert names[0.1] == names[1.0] and "stein local" in names[1.0] and ("truth" in names[1.0]) == bool(arguments)
    missing = [line for line in c.lines if line.text == "not measured: max_time was over"]
    assert all(line.tau in (1.0, None) and line.verdict == "skipped" for line in missing)
    assert {"samples", "likelihood", "residual", "curl"} <= {line.name for line in missing}
    with pytest.raises(heatball.Error, match="no line was measured within max_time"):
        heatball.certify(f, np.random.default_rng(5).standard_normal((300, 3)), tau=[1.0], max_time=0.1)
    with pytest.raises(heatball.ArgumentError, match="max_time is -1"):
        heatball.certify(f, np.random.default_rng(5).standard_normal((300, 3)), max_time=-1)

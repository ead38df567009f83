"""`heatball data` as a user meets it. Oracles: SciPy's normal densities, NumPy for the files."""

import functools
import json
import shutil

import numpy as np
import pytest
from scipy import stats
import command_line

NAMES = ["asymmetric_gmm", "sparse_dense_gmm", "elongated_gmm", "two_spiral", "ring", "pinwheel",
         "two_moon", "double_ring"]


run = functools.partial(command_line.run, "data")
succeed = functools.partial(command_line.succeed, "data")


def test_list():
    lines = succeed("list").split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == ["name", *NAMES]
    sets = json.loads(succeed("list", "--json"))["sets"]
    assert [s["name"] for s in sets] == NAMES
    assert [s["parts"] for s in sets] == [4, 5, 3, 2, 1, 5, 2, 2]
    assert all(s["dim"] == 2 and s["components"] >= s["parts"] and s["description"] for s in sets)


@pytest.mark.parametrize("name", NAMES)
def test_show_has_the_moments_of_its_components(name):
    shown = json.loads(succeed("show", name, "--tau", 0.3, "--json"))
    w = np.array([c["weight"] for c in shown["components"]])
    m = np.array([c["mean"] for c in shown["components"]])
    C = np.array([c["covariance"] for c in shown["components"]]).reshape(-1, 2, 2)
    mean = w @ m
    whole = np.einsum("k,kij->ij", w, C) + np.einsum("k,ki,kj->ij", w, m - mean, m - mean)
    assert w.sum() == pytest.approx(1, abs=1e-14)
    assert np.allclose(shown["mean"], mean, atol=1e-14)
    assert np.allclose(np.reshape(shown["covariance"], (2, 2)), whole, atol=1e-14)
    assert np.linalg.eigvalsh(C).min() >= 1 - np.exp(-0.6)  # the noise of OU


def test_show_prints_few_components_and_says_where_many_are():
    text = succeed("show", "asymmetric_gmm")
    assert text.startswith("asymmetric_gmm: four Gaussians") and len(text.splitlines()) == 8
    assert "--json prints all 288 components" in succeed("show", "two_spiral")
    assert "# --json" not in succeed("show", "two_spiral", "-q")


def test_export_follows_the_density(tmp_path):
    """Every coordinate of the draws against the exact marginal, by Kolmogorov and Smirnov."""
    path = tmp_path / "x.npy"
    for name in NAMES:
        succeed("export", name, "-n", 20000, "--seed", 5, "--process", "ve", "--tau", 0.05, "-o", path)
        x = np.load(path)
        assert x.shape == (20000, 2) and x.dtype == np.float64
        shown = json.loads(succeed("show", name, "--process", "ve", "--tau", 0.05, "--json"))
        for axis in range(2):
            cdf = lambda v: sum(c["weight"] * stats.norm.cdf(v, c["mean"][axis],
                                                             c["covariance"][3 * axis]**0.5)
                                for c in shown["components"])
            assert stats.kstest(x[:, axis], cdf).pvalue > 1e-6


def test_export_formats_seeds_and_threads(tmp_path):
    paths = [tmp_path / name for name in ("a.npy", "b.npy", "c.csv", "d.npy")]
    text = succeed("export", "pinwheel", "-n", 70001, "--seed", 9, "-o", paths[0])
    assert text == f"{paths[0]}: 70001 rows of pinwheel, tau 0, seed 9\n"
    succeed("export", "pinwheel", "-n", 70001, "--seed", 9, "--threads", 2, "-o", paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert succeed("export", "pinwheel", "-n", 100, "--seed", 9, "-q", "-o", paths[2]) == ""
    assert paths[2].read_text().startswith("x_1,x_2\n")
    assert np.array_equal(np.loadtxt(paths[2], delimiter=",", skiprows=1), np.load(paths[0])[:100])
    result = json.loads(succeed("export", "pinwheel", "-n", 100, "--json", "-o", paths[3]))
    assert result == {"file": str(paths[3]), "name": "pinwheel", "rows": 100, "columns": 2,
                      "process": "ou", "tau": 0.0, "seed": 42}
    assert not np.array_equal(np.load(paths[3]), np.load(paths[0])[:100])
    largest = str(2**64 - 1)  # more than a JSON reader's integer holds: given as text
    result = json.loads(succeed("export", "ring", "-n", 9, "--seed", largest, "--json", "-o", paths[3]))
    assert result["seed"] == largest


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="gnuplot is not here")
def test_plot(tmp_path):
    text = succeed("show", "ring", "--tau", 0.1, "--plot", tmp_path / "ring.svg")
    assert text.endswith("ring.svg: density and draws\n")
    assert (tmp_path / "ring.svg").read_text().lstrip().startswith("<?xml")
    rows = (tmp_path / "ring.plot.csv").read_text().splitlines()
    assert len(rows) == 1 + 201 * 201 + 2000


@pytest.mark.parametrize("arguments, says", [
    (["show", "rng"], "there is no set called rng; the sets are asymmetric_gmm"),
    (["show", "rng"], "(did you mean ring?)"),
    (["show"], "NAME is missing; heatball data list prints the sets"),
    (["list", "ring"], "list takes no NAME"),
    (["sho", "ring"], "ACTION is sho; it must be list, fetch, show or export (did you mean show?)"),
    ([], "ACTION"),
    (["export", "ring"], "export needs -n N and -o FILE"),
    (["export", "ring", "-n", 5], "export needs -n N and -o FILE"),
    (["export", "ring", "-n", 0, "-o", "x.npy"], "-n is 0"),
    (["export", "ring", "-n", 5, "-o", "x.txt"], "x.txt"),
    (["export", "ring", "-n", 5, "-o", "/nowhere/x.npy"], "/nowhere/x.npy"),
    (["export", "ring", "-n", 5, "--tau", -1, "-o", "x.npy"], "--tau is -1"),
    (["show", "ring", "--process", "vp"], "--process is vp; it must be ou or ve"),
    (["show", "ring", "-n", 5], "-n and -o are for export"),
    (["show", "ring", "--plot", "x.jpg"], "--plot is x.jpg; the name must end in .svg, .png or .pdf"),
    (["export", "ring", "-n", 5, "-o", "x.npy", "--plot", "y.png"], "--plot is for show"),
    (["show", "ring", "ring"], "ring"),
])
def test_refusals(tmp_path, arguments, says):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and says in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing():
    done = run("export", "ring", "-n", 1000, "-o", "/dev/full")
    assert done.returncode != 0 and done.stderr.count("\n") == 1

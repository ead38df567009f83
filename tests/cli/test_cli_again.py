"""What `heatball solve` leaves: the kind of each error, the digits that it justifies, and files that --from runs again.

Oracles: the bytes of the first run; Python's decimal for digits; closed forms for the kinds that need none.
"""

import csv
import decimal
import json
import math
import re

import numpy as np
import pytest

from command_line import run
from test_cli_solve import succeed

FILE = """[problem]
drift = y, mu*(1 - x^2)*y
        - nu*x
noise = 0.5
initial = gaussian(mean=1 0, var=0.2)
time = 0.2, 0.40000000000000002
[parameters]
mu = 0.3
nu = 0.30000000000000004
"""
GAUSSIAN = ["--initial", "gaussian(mean=0.1, var=0.7)"]
PROBLEMS = {
    "parameters": ["--drift", "a*x - rate * x^3", "--param", "a=0.1", "--param", "rate=1e-1", *GAUSSIAN, "--time", 0.3,
                   "--at", "0.3; -1"],
    "times": ["--drift", "-x", *GAUSSIAN, "--time", "0:0.6:0.3, 0.1", "--at", "-1:1:3"],
    "matrix": ["--drift", "-x, -2*y", "--noise", "1, 0; 0.3, 0.8", "--initial", "gaussian(mean=0, var=0.5)", "--time", 0.3, "--at",
               "0.1,0.2", "--cells", 64],
    "degenerate": ["--drift", "y, -x^3", "--noise", "0, 1", "--initial", "gaussian(mean=0, var=1)", "--time", 0.2, "--at", "0.1,0.2",
                   "--samples", "4e3", "--seed", 18446744073709551615],
    "point": ["--drift", "x - x^3", "--initial", "point(0.25)", "--time", 0.2, "--at", "0.3"],
    "stratonovich": ["--drift", "-x", "--noise", "0.5*sqrt(1 + x^2)", "--convention", "stratonovich", *GAUSSIAN, "--time", 0.2, "--at", "0.4"],
    "potential": ["--potential", "x^2/2 + x^4/4", "--dim", 1, *GAUSSIAN, "--time", 0.3, "--at", "0.4", "--method", "walk", "--samples", 3000,
                  "--seed", 7],
    "particles": ["--drift", "sin(x[i])", "--dim", 4, "--noise", 1.2, "--initial", "gaussian(mean=0,var=0.3)", "--time", 0.2, "--at",
                  "0.1,0.1,0,0", "--method", "particles", "--samples", 2000, "--radius", 0.4],
    "stationary": ["--drift", "-x - x^3", "--time", "inf", "--at", "0;1"],
    "cubature": ["--drift", "-x", *GAUSSIAN, "--time", 0.3, "--at", 0.1, "--method", "meanvalue", "--degree", 5, "--radius", 0.2],
}


def again(tmp_path, options, *more):
    """Bytes of a .csv and of the one that --from makes of it, and of --json likewise."""
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    succeed("solve", *options, "-q", "-o", first)
    succeed("solve", "--from", first, *more, "-q", "-o", second)
    text = succeed("solve", *options, "--json")
    (tmp_path / "first.json").write_text(text)
    return first.read_bytes(), second.read_bytes(), text, succeed("solve", "--from", tmp_path / "first.json", *more, "--json")


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_file_runs_again(tmp_path, name):
    first, second, text, other = again(tmp_path, PROBLEMS[name])
    assert first == second and text == other
    kept = json.loads(text)["problem"]
    assert kept == json.loads(first.split(b"\n")[0].removeprefix(b"# problem: "))
    assert kept["heatball"] == run("--version").stdout.split()[1] and kept["seed"] and kept["method"]
    typed = dict(zip(PROBLEMS[name][::2], PROBLEMS[name][1::2]))
    for option, value in typed.items():
        if option != "--param":
            assert kept[option[2:]] == str(value)


def test_a_problem_file_is_carried_by_its_content(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    np.savetxt(inside / "modes.csv", [[0.5, 0.3, -0.2, 0.4], [0.5, -0.3, 0.2, 0.6]], delimiter=",")
    (inside / "p.ini").write_text(FILE.replace("gaussian(mean=1 0, var=0.2)", "mixture( modes.csv)"))
    first, second, text, other = again(tmp_path, ["--problem", inside / "p.ini", "--param", "mu=0.7", "--at", "0.5,0.1", "--cells", 64])
    assert first == second and text == other
    kept = json.loads(text)["problem"]
    assert kept["param"] == ["mu=0.7", "nu=0.30000000000000004"] and kept["time"] == "0.2,0.4" and "problem" not in kept
    assert kept["drift"] == "y, mu*(1 - x^2)*y - nu*x" and kept["initial"] == f"mixture( {inside}/modes.csv)"
    (inside / "p.ini").unlink()
    assert succeed("solve", "--from", tmp_path / "first.json", "--json") == text
    (inside / "modes.csv").unlink()
    lost = run("solve", "--from", tmp_path / "first.csv")
    assert lost.returncode == 2 and "modes.csv" in lost.stderr and lost.stderr.count("\n") == 1


def test_points_of_a_file_and_a_printed_table(tmp_path):
    np.save(tmp_path / "at file.npy", np.array([[0.1], [1 / 3]]))
    options = ["--drift", "-x", *GAUSSIAN, "--time", 0.3, "--at", tmp_path / "at file.npy"]
    first, second, text, other = again(tmp_path, options)
    assert first == second and text == other
    table = succeed("solve", *options)
    (tmp_path / "table.txt").write_text(table)
    assert succeed("solve", "--from", tmp_path / "table.txt") == table
    (tmp_path / "at file.npy").unlink()
    lost = run("solve", "--from", tmp_path / "first.csv")
    assert lost.returncode == 2 and "at file.npy" in lost.stderr


def test_the_line_overrides_the_file(tmp_path):
    options = ["--drift", "a*x - b*x^3", "--param", "a=1", "--param", "b=2", *GAUSSIAN, "--at", "0.5", "--method", "walk", "--samples", 3000]
    succeed("solve", *options, "--time", 0.3, "-o", tmp_path / "a.csv")
    other = ["--drift", "a*x - b*x^3", "--param", "a=1", "--param", "b=3", *GAUSSIAN, "--at", "0.5", "--method", "walk", "--samples", 3000]
    direct = json.loads(succeed("solve", *other, "--time", 0.4, "--seed", 3, "--json"))
    found = json.loads(succeed("solve", "--from", tmp_path / "a.csv", "--param", "b=3", "--time", 0.4, "--seed", 3, "--json"))
    assert found["points"] == direct["points"]
    assert {**found["problem"], "param": sorted(found["problem"]["param"])} == direct["problem"]
    # what the new method does not read is no obstacle
    grid = json.loads(succeed("solve", "--from", tmp_path / "a.csv", "--method", "grid", "--json"))
    assert grid["method"] == "grid"
    well = json.loads(succeed("solve", "--from", tmp_path / "a.csv", "--potential", "x^2", "--method", "auto", "--json"))["problem"]
    assert well["potential"] == "x^2" and "drift" not in well
    (tmp_path / "p.ini").write_text("[problem]\ndrift = -x\nnoise = 2\ninitial = gaussian(mean=0, var=1)\ntime = 3\n")
    named = json.loads(succeed("solve", "--from", tmp_path / "a.csv", "--problem", tmp_path / "p.ini", "--json"))["problem"]
    assert (named["drift"], named["noise"], named["time"], named["at"]) == ("-x", "2", "3", "0.5") and "param" not in named


def test_what_from_refuses(tmp_path):
    succeed("solve", "--drift", "-x", *GAUSSIAN, "--time", 0.3, "--at", 0.1, "-o", tmp_path / "a.csv")
    before = (tmp_path / "a.csv").read_bytes()
    (tmp_path / "other.csv").write_text("x,y\n1,2\n")
    (tmp_path / "other.json").write_text('{"drift": "-x"}')
    (tmp_path / "new.csv").write_bytes(before.replace(b'"seed"', b'"sidereal"'))
    (tmp_path / "bad.csv").write_bytes(before.replace(b'"seed": "1"', b'"seed": "minus"'))
    for arguments, words in ((["--from", tmp_path / "a.csv", "-o", tmp_path / "a.csv"], "would replace it"),
                             (["--from", tmp_path / "other.csv"], "does not hold the problem of a run"),
                             (["--from", tmp_path / "other.json"], "does not hold the problem of a run"),
                             (["--from", tmp_path / "new.csv"], "sidereal, which is no option"),
                             (["--from", tmp_path / "bad.csv"], "--seed is minus"),
                             (["--from", tmp_path / "none.csv"], "No such file"), (["--from", tmp_path], "")):
        done = run("solve", *arguments)
        assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert (tmp_path / "a.csv").read_bytes() == before


def test_from_reads_numbers_and_names_problem_files(tmp_path):
    problem = {"drift": "-x", "noise": "1", "initial": "gaussian(mean=0, var=1)", "time": 0.5, "at": "0", "dim": 1}
    (tmp_path / "a.json").write_text(json.dumps({"problem": problem}))
    assert json.loads(succeed("solve", "--from", tmp_path / "a.json", "--json"))["problem"]["time"] == "0.5"
    (tmp_path / "b.json").write_text(json.dumps({"problem": {**problem, "time": [0.5]}}))
    (tmp_path / "p.ini").write_text("[problem]\ndrift = -x\n")
    for name, words in (("b.json", "time in the file is neither a text nor a number"), ("p.ini", "give it with --problem")):
        done = run("solve", "--from", tmp_path / name)
        assert done.returncode == 2 and words in done.stderr, done.stderr


def test_options_of_the_line_must_have_an_effect(tmp_path):
    succeed("solve", "--drift", "-a*x", "--param", "a=1", *GAUSSIAN, "--time", 0.3, "--at", 0.1, "-o", tmp_path / "a.csv")
    for options, words in ((["--method", "grid", "--samples", 100], "--samples has no effect on the method grid"),
                           (["--param", "b=1"], "--param b is in no formula; the parameters in use are a")):
        done = run("solve", "--from", tmp_path / "a.csv", *options)
        assert done.returncode == 2 and words in done.stderr, done.stderr
    # a parameter of the file that the new drift does not have is no obstacle
    succeed("solve", "--from", tmp_path / "a.csv", "--drift", "-x")
    done = run("solve", "--drift", "-x", "--param", "b=1", *GAUSSIAN, "--time", 0.3, "--at", 0.1)
    assert done.returncode == 2 and "--param b is in no formula; leave it out" in done.stderr


# ---- kinds ------------------------------------------------------------------------------------

OU = ["--drift", "-x", *GAUSSIAN, "--at", "0.2;1"]
BENT = ["--drift", "x - x^3", *GAUSSIAN, "--at", "0.2;1"]
KINDS = {
    "grid": ([*BENT, "--time", 0.2], "error estimate"),
    "particles": ([*BENT, "--time", 0.2, "--method", "particles", "--samples", 2000], "standard error"),
    "walk": ([*BENT, "--time", 0.2, "--method", "walk", "--samples", 2000], "standard error"),
    "linear walk": ([*OU, "--time", 0.2, "--method", "walk"], "bound"),
    "draws": ([*OU, "--time", 0.2, "--method", "meanvalue", "--samples", 500], "standard error"),
    "cubature": ([*OU, "--time", 0.2, "--method", "meanvalue", "--degree", 5], "error estimate"),
    "initial": ([*BENT, "--time", 0], "bound"),
    "lyapunov": ([*OU, "--time", "inf"], "bound"),
    "quadrature": (["--drift", "-x - x^3", "--at", "0.2;1", "--time", "inf"], "error estimate"),
    "balance": (["--drift", "-x", "--noise", "sqrt(1 + x^2)", "--at", "0.2;1", "--time", "inf"], "error estimate"),
    "null vector": (["--drift", "y, (1-x^2)*y-x", "--noise", 0.5, "--at", "1,0;2,0", "--time", "inf"], "error estimate"),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_kind_of_errors(tmp_path, name):
    options, kind = KINDS[name]
    result = json.loads(succeed("solve", *options, "--json"))
    assert [point["error_kind"] for point in result["points"]] == [kind] * 2
    lines = succeed("solve", *options, "-o", tmp_path / "a.csv").splitlines()
    assert lines[1].endswith("; errors: " + kind + (" (68 %)" if kind == "standard error" else ""))
    table = succeed("solve", *options, "-q").splitlines()[0].split()
    assert table[-1] == "entropy_density_error"
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()[1:]))
    assert [row["error_kind"] for row in rows] == [kind] * 2 and float(rows[0]["density_error"]) >= 0


def test_a_bound_bounds():
    # closed forms of a linear drift, against the moments of the process in decimals
    point = json.loads(succeed("solve", *OU, "--time", 0.2, "--method", "walk", "--json"))["points"][1]
    with decimal.localcontext() as context:
        context.prec = 40
        decay = decimal.Decimal(-0.2).exp()
        mean, var = decimal.Decimal(0.1) * decay, decimal.Decimal(0.7) * decay**2 + (1 - decay**2) / 2
        pi = decimal.Decimal("3.14159265358979323846264338327950288419716939937510")
        v = -(1 - mean)**2 / (2 * var) - (2 * pi * var).ln() / 2
        assert abs(decimal.Decimal(point["log_density"]) - v) <= decimal.Decimal(point["log_density_error"])
    assert 0 < point["log_density_error"] < 1e-11


def test_kinds_that_differ_have_a_column(tmp_path):
    options = [*BENT, "--time", "0,0.2"]
    lines = succeed("solve", *options).splitlines()
    assert lines[0].endswith("; errors: of several kinds, see error_kind") and lines[2].split()[-1] == "error_kind"
    assert [line.split("  ")[-1].strip() for line in lines[3:]] == ["bound"] * 2 + ["error estimate"] * 2
    block = succeed("solve", *OU, "--time", 0.2, "--method", "all", "--samples", 64).splitlines()
    heads = [line for line in block if line.split()[0] == "method"]
    assert heads[0].split()[-2:] == ["error_kind", "seconds"]
    kinds = {line.split()[0]: re.split(r" {2,}", line.strip())[-2] for line in block
             if line.split()[0] in ("grid", "walk", "particles", "meanvalue", "guided")}
    assert kinds == {"grid": "error estimate", "walk": "bound", "particles": "standard error", "meanvalue": "standard error",
                     "guided": "standard error"}


def test_a_file_of_the_release_before_that_names_the_network(tmp_path):
    """Its method is guided now, and its steps of training have no effect."""
    csv, old = tmp_path / "new.csv", tmp_path / "old.csv"
    succeed("solve", *OU, "--time", 0.2, "--method", "guided", "--samples", 2048, "-o", csv)
    assert '"method": "guided"' in csv.read_text()
    old.write_text(csv.read_text().replace('"method": "guided"', '"method": "network", "training-steps": "100"'))
    done = run("solve", "--from", old)
    assert done.returncode == 0 and done.stdout == succeed("solve", "--from", csv)
    assert "--method network is now guided; --training-steps has no effect" in done.stderr and done.stderr.count("\n") == 1


# ---- digits -----------------------------------------------------------------------------------

def place(text):
    """The exponent of the last digit of a number as it is printed."""
    return decimal.Decimal(text).as_tuple().exponent


def first(value):
    return decimal.Decimal(value).adjusted()


@pytest.mark.parametrize("options", [
    [*BENT, "--time", "0,0.2,5"], [*OU, "--time", 0.2, "--method", "walk"], [*OU, "--time", "inf"],
    ["--drift", "x - x^3", *GAUSSIAN, "--at", "-4:4:41", "--time", 0.3],
    ["--drift", "x - x^3", *GAUSSIAN, "--at", "0;1e-9;0.5;1;2;4;8", "--time", 0.3, "--method", "particles", "--samples", 4000],
    ["--drift", "-x", "--noise", 1000, "--initial", "gaussian(mean=1e5, var=1e6)", "--at", "1e5;-3e4", "--time", 0.3]])
def test_digits_follow_the_error(options):
    lines = succeed("solve", *options, "-q").splitlines()
    rows = json.loads(succeed("solve", *options, "--json"))["points"]
    heads, lines = lines[0].split(), [line for line in lines[1:] if not line.startswith("#")]
    exact = succeed("solve", *options, "-q", "--precision", "full").splitlines()[1:]
    for line, all_digits, row in zip(lines, exact, rows, strict=False):
        cells, full = dict(zip(heads, line.split())), dict(zip(heads, all_digits.split()))
        for name in ("density", "log_density", "score_1", "entropy_density"):
            key = name.removesuffix("_1")
            value, error = (np.ravel(row[k] if row[k] is not None else math.nan)[0] for k in (key, key + "_error"))
            value, error = (math.nan if v is None else float(v) for v in (value, error))
            shown, shown_error = cells[name], cells[name + "_error"]
            if math.isfinite(value):
                assert float(full[name]) == value and float(full[name + "_error"]) == (error if math.isfinite(error) else math.inf)
            if not math.isfinite(error):
                assert shown_error in ("inf", "nan") and len(shown.lstrip("-0.").split("e")[0]) <= 4
                continue
            assert float(shown_error) == float(f"{error:.1e}")  # two digits
            if error == 0:
                assert float(shown) == pytest.approx(value, rel=1e-14, abs=0) or not math.isfinite(value)
                continue
            assert abs(float(shown) - value) <= 0.01 * error  # what is cut is far below the error
            if abs(value) > error:  # and no digit says nothing
                assert place(shown) >= first(f"{error:.1e}") - 2 or len(shown) < 5

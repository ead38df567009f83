"""`heatball solve` and `heatball residual` as a user meets them: numbers, forms of output, refusals.

Oracles: closed forms of linear systems (the moments by scipy.linalg.expm and a Lyapunov integral),
NumPy for the files. Nothing here calls the library.
"""

import json
import math
import shlex
import shutil

import numpy as np
import pytest
from scipy import integrate, linalg
from command_line import run

TYPED = ('heatball solve --drift "x1 - x1^3" --noise 1 --initial "gaussian(mean=0,var=1)" --time 1 '
         '--at "-2.5;-1;0;0.5;2.5" --json')
OU = ["solve", "--drift", "-1.3*x", "--noise", "1.1", "--initial", "gaussian(mean=0.7, var=0.35)"]
TURN = ["solve", "--drift", "-a*x + 2*y, -2*x - a*y", "--param", "a=0.8", "--noise", "1.2",
        "--initial", "gaussian(mean=1 -0.5, var=0.5 0.3)"]


def succeed(*arguments, **options):
    done = run(*arguments, **options)
    assert done.returncode == 0, done.stderr
    assert all(line.endswith(" left") or ": note: " in line for line in done.stderr.splitlines())
    return done.stdout


def solve(*arguments):
    """The result of --json with the rows as arrays."""
    result = json.loads(succeed(*arguments, "--json"))
    rows = result["points"]
    return result, {key: np.array([row[key] for row in rows], float) for key in rows[0] if key != "error_kind"}


def gaussian(x, mean, covariance):
    """Log-density and score of a Gaussian at x[n][d]."""
    inverse = np.linalg.inv(covariance)
    away = x - mean
    v = -0.5 * (np.einsum("ni,ij,nj->n", away, inverse, away)
                + np.log(np.linalg.det(2 * math.pi * covariance)))
    return v, -away @ inverse


def linear(A, g, mean, covariance, t):
    """Mean and covariance at time t of dx = A x dt + g dW."""
    A, covariance = np.atleast_2d(A), np.atleast_2d(covariance)
    P = linalg.expm(A * t)
    noise, _ = integrate.quad_vec(
        lambda s: g * g * linalg.expm(A * s) @ linalg.expm(A * s).T, 0, t, epsabs=1e-13)
    return P @ np.atleast_1d(mean), P @ covariance @ P.T + noise


def compare(columns, v, score, factor=1.0, floor=1e-9):
    """Everything within `factor` of its reported error; entropy density from the same v."""
    u = np.exp(v)
    pairs = [("log_density", v), ("density", u), ("score", score), ("entropy_density", u * v)]
    for name, exact in pairs:
        error, claimed = np.abs(columns[name] - exact), columns[name + "_error"]
        assert np.all(error <= factor * claimed + floor * (1 + np.abs(exact))), (name, error, claimed)


# ---- numbers --------------------------------------------------------------------------------

def test_the_command_of_the_readme_as_typed():
    words = shlex.split(TYPED)
    result, columns = solve(*words[1:-1])
    assert result["method"] == "grid" and result["dim"] == 1 and result["seed"] == 1
    assert result["time"] == 1 and result["tau"] == pytest.approx(0.5, rel=1e-12)
    assert columns["x"].tolist() == [[-2.5], [-1.0], [0.0], [0.5], [2.5]]
    assert np.allclose(columns["density"], np.exp(columns["log_density"]), rtol=1e-14)
    assert columns["density"][0] == pytest.approx(columns["density"][4], rel=1e-6)  # symmetric
    assert columns["score"][0, 0] == pytest.approx(-columns["score"][4, 0], rel=1e-5)
    assert abs(columns["score"][2, 0]) < 1e-6
    # against a plain finite-volume solution with SciPy's stiff integrator
    assert np.allclose(columns["log_density"], bistable_reference(columns["x"][:, 0]), atol=2e-4)
    assert np.all(columns["density_error"] < 1e-6 * columns["density"] + 1e-9)


def bistable_reference(at, n=1600, width=5.0):
    """ln u of dx = (x - x^3) dt + dW from N(0,1) at t = 1, by Chang-Cooper in space and LSODA."""
    h = 2 * width / n
    x = -width + h * (np.arange(n) + 0.5)
    face = x[:-1] + h / 2
    w = 2 * h * (face - face**3)  # h F, F = f/(g^2/2)
    b = lambda z: np.where(np.abs(z) < 1e-6, 1 - z / 2, z / np.expm1(np.where(z == 0, 1, z)))
    up, down = b(-w), b(w)  # flux = (up u_i - down u_{i+1})/h

    def rate(t, u):
        flux = (up * u[:-1] - down * u[1:]) / h
        out = np.zeros_like(u)
        out[:-1] -= flux / h
        out[1:] += flux / h
        return out

    start = np.exp(-x**2 / 2) / math.sqrt(2 * math.pi)
    done = integrate.solve_ivp(rate, (0, 0.5), start, method="LSODA", lband=1, uband=1, rtol=1e-9,
                               atol=1e-14)
    return np.interp(at, x, np.log(np.maximum(done.y[:, -1], 1e-300)))


@pytest.mark.parametrize("method", ["grid", "auto"])
def test_ornstein_uhlenbeck_in_one_dimension(method):
    result, columns = solve(*OU, "--time", 0.8, "--at", "-1.1; 0.25 ;0.9;2.3", "--method", method)
    mean, covariance = linear(-1.3, 1.1, 0.7, 0.35, 0.8)
    compare(columns, *gaussian(columns["x"], mean, covariance), factor=2)
    assert result["tau"] == pytest.approx(0.8 * 1.21 / 2, rel=1e-12)
    assert np.all(columns["log_density_error"] < 1e-5)


@pytest.mark.parametrize("arguments, expected, marked", [
    (["solve", "--drift", "a*x"], "unknown name 'a' at column 1; give its value with --param a=VALUE", "  a*x\n  ^"),
    (["solve", "--drift", "-k*x"], "; or give its value with --param k=VALUE", "  -k*x\n   ^"),
    (["solve", "--drift", "rate*x", "--param", "rat=1"],
     "did you mean 'rat'? Or give its value with --param rate=VALUE", "^"),
    (["solve", "--potential", "b*x^2", "--dim", "1"], "with --param b=VALUE", "^"),
    (["solve", "--drift", "f(x)"], "unknown name 'f' at column 1; it is no variable, function or parameter", "^"),
    (["residual", "--drift", "-x", "--noise", "s", "--radii", "0.1"], "with --param s=VALUE", "^"),
    (["train", "--drift", "a*x, -y", "--data", "ring", "--loss", "dsm", "-o", "m.safetensors"],
     "with --param a=VALUE", "^"),
])
def test_an_unknown_name_tells_how_to_give_its_value(tmp_path, arguments, expected, marked):
    if arguments[0] != "train":
        arguments = [*arguments, "--initial", "point(1)", "--time", "1", "--at", "0"]
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and expected in done.stderr.splitlines()[0], done.stderr
    assert marked in done.stderr


def test_far_tail():
    """Log-density near -40 and far below the range of double, where the density itself is 0."""
    _, columns = solve(*OU, "--time", 0.8, "--at", "6;30")
    mean, covariance = linear(-1.3, 1.1, 0.7, 0.35, 0.8)
    v, score = gaussian(columns["x"], mean, covariance)
    assert v[0] < -30 and v[1] < -750
    assert np.allclose(columns["log_density"], v, rtol=1e-3)
    assert columns["score"][0, 0] == pytest.approx(score[0, 0], rel=1e-3)
    assert np.all(np.abs(columns["score"] - score) <= columns["score_error"])  # near the wall
    assert columns["density"][1] == 0 and columns["entropy_density"][1] == 0


def test_linear_system_with_rotation_in_two_dimensions():
    _, columns = solve(*TURN, "--time", 0.6, "--at", "0.4,-0.3; -0.2,-1.1; 1.2,0.3")
    A = np.array([[-0.8, 2], [-2, -0.8]])
    mean, covariance = linear(A, 1.2, [1, -0.5], np.diag([0.5, 0.3]), 0.6)
    v, score = gaussian(columns["x"], mean, covariance)
    compare(columns, v, score, factor=2)
    assert np.allclose(columns["density"], np.exp(v), rtol=1e-4)
    assert np.allclose(columns["score"], score, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("extra", [[], ["--radius", "0.9"], ["--lift", "3", "--seed", "7"],
                                   ["--degree", "7", "--radius", "0.5"]])
def test_meanvalue_agrees_with_the_grid(extra):
    options = [*OU, "--time", 0.8, "--at", "-0.6;0.25;1.4"]
    _, grid = solve(*options)
    result, mean = solve(*options, "--method", "meanvalue", "--samples", 4000, *extra)
    assert result["method"] == "meanvalue" and "heat ball" in result["note"]
    for name in ("density", "log_density", "score", "entropy_density"):
        spread = np.hypot(mean[name + "_error"], grid[name + "_error"])
        assert np.all(np.abs(mean[name] - grid[name]) <= 5 * spread + 1e-7), name
        assert np.all(mean[name + "_error"] < 0.05)
    if "--degree" not in extra:
        _, other = solve(*options, "--method", "meanvalue", "--samples", 4000, *extra, "--seed", 99
                         ) if "--seed" not in extra else (None, mean)
        assert "--seed" in extra or not np.array_equal(other["density"], mean["density"])


def test_time_zero_is_the_initial_density():
    result, columns = solve(*OU, "--time", 0, "--at", "-0.6;0.25")
    v, score = gaussian(columns["x"], np.array([0.7]), np.array([[0.35]]))
    assert result["method"] == "initial" and result["tau"] == 0
    assert np.allclose(columns["log_density"], v, rtol=1e-14)
    assert np.allclose(columns["score"], score, rtol=1e-13)
    assert np.all(columns["density_error"] == 0)


def test_the_box_and_the_cells_can_be_given():
    mean, covariance = linear(-1.3, 1.1, 0.7, 0.35, 0.8)
    result, columns = solve(*OU, "--time", 0.8, "--at", "0.25", "--cells", 300, "--box", "-5 6")
    assert "300 on [-5, 6]" in result["note"]
    v, _ = gaussian(columns["x"], mean, covariance)
    assert columns["log_density"] == pytest.approx(v, abs=1e-5)


# ---- forms of input and output --------------------------------------------------------------

HEADER = ["x_1", "x_2", "density", "density_error", "log_density", "log_density_error", "score_1",
          "score_2", "score_1_error", "score_2_error", "entropy_density", "entropy_density_error"]


def test_table_files_and_points_from_files(tmp_path):
    options = [*TURN, "--cells", 128, "--box", "-6 7", "--time", 0.6]
    at = np.array([[0.4, -0.3], [-0.2, -1.1]])
    np.save(tmp_path / "at.npy", at)
    np.savetxt(tmp_path / "at.csv", at, delimiter=",", header="a,b", comments="")
    lines = succeed(*options, "--at", "0.4,-0.3;-0.2,-1.1").splitlines()
    assert lines[0].startswith("# grid, time 0.6, tau 0.432, seed 1: ")
    assert lines[0].endswith("; errors: error estimate") and lines[1].startswith("# problem: {")
    assert lines[2].split() == HEADER and len(lines) == 5
    assert len({len(line) for line in lines[2:]}) == 1  # aligned
    table = np.array([line.split() for line in lines[3:]], float)
    line = succeed(*options, "--at", tmp_path / "at.npy", "-o", tmp_path / "u.csv")
    assert line.startswith(f"{tmp_path / 'u.csv'}: 2 points\n")
    assert (tmp_path / "u.csv").read_text().splitlines()[:2] == [lines[1].replace("0.4,-0.3;-0.2,-1.1", str(tmp_path / "at.npy")),
                                                                 ",".join([*HEADER, "error_kind"])]
    rows = np.loadtxt(tmp_path / "u.csv", delimiter=",", skiprows=2, usecols=range(len(HEADER)))
    assert succeed(*options, "--at", tmp_path / "at.csv", "-q", "-o", tmp_path / "u.npy") == ""
    assert np.load(tmp_path / "u.npy").tobytes() == rows.tobytes()
    values, errors = [2, 4, 6, 7, 10], [3, 5, 8, 9, 11]
    assert np.all(np.abs(table - rows)[:, values] <= 0.01 * rows[:, errors])
    assert np.allclose(table[:, errors], rows[:, errors], rtol=0.05)
    full = succeed(*options, "--at", tmp_path / "at.npy", "--precision", "full").splitlines()
    assert np.array_equal(np.array([line.split() for line in full[3:]], float), rows)
    assert rows[:, :2].tobytes() == at.tobytes()
    result = json.loads(succeed(*options, "--at", tmp_path / "at.npy", "--json", "-o",
                                tmp_path / "v.npy"))
    assert result["file"] == str(tmp_path / "v.npy") and "points" not in result
    quiet = succeed(*options, "--at", "0.4,-0.3;-0.2,-1.1", "-q").splitlines()
    assert quiet == lines[2:]


def test_points_of_one_dimension_from_a_file(tmp_path):
    np.save(tmp_path / "at.npy", np.array([0.25, -0.6]))
    _, columns = solve(*OU, "--time", 0.8, "--at", tmp_path / "at.npy")
    assert columns["x"].tolist() == [[0.25], [-0.6]]


PROBLEM = """[problem]
drift = -k*x
noise = 1.1
initial = gaussian(mean=0.7, var=0.35)
time = 0.8
[parameters]
k = 2
"""


def test_problem_file_and_overrides(tmp_path):
    (tmp_path / "ou.ini").write_text(PROBLEM)
    file = ["solve", "--problem", tmp_path / "ou.ini", "--at", "-0.6;0.25"]
    for options, k, g, t in (([], 2, 1.1, 0.8), (["--param", "k=1.3"], 1.3, 1.1, 0.8),
                             (["--noise", "0.9", "--time", "0.4"], 2, 0.9, 0.4)):
        result, columns = solve(*file, *options)
        assert result["time"] == t
        v, _ = gaussian(columns["x"], *linear(-k, g, 0.7, 0.35, t))
        assert np.allclose(columns["log_density"], v, atol=1e-5)


@pytest.mark.parametrize("arguments", [
    [*OU, "--time", "0.8", "--at", "-0.6;1.4", "--method", "meanvalue", "--samples", "3000"],
    [*OU, "--time", "0.8", "--at", "-0.6;1.4"],
    ["residual", *OU[1:], "--time", "0.8", "--at", "-0.6", "--radii", "0.3,0.5"],
])
def test_threads_do_not_change_the_bytes(arguments):
    outputs = [succeed(*arguments, "--json", "--threads", k) for k in (1, 2)]
    assert outputs[0] == outputs[1]


# ---- figures --------------------------------------------------------------------------------

needs_gnuplot = pytest.mark.skipif(not shutil.which("gnuplot"), reason="no gnuplot")


@needs_gnuplot
@pytest.mark.parametrize("name, magic", [("a.svg", b"<?xml"), ("a.png", b"\x89PNG"),
                                         ("a.pdf", b"%PDF")])
def test_plot_in_one_dimension(tmp_path, name, magic):
    plain = succeed(*OU, "--time", 0.8, "--at", "-0.6;1.4")
    assert succeed(*OU, "--time", 0.8, "--at", "-0.6;1.4", "--plot", tmp_path / name) == plain
    assert (tmp_path / name).read_bytes().startswith(magic)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["a.plot.csv", "a.gp", name])
    rows = [line.split(",") for line in (tmp_path / "a.plot.csv").read_text().splitlines()[1:]]
    curve = np.array([[float(r[3]), float(r[4])] for r in rows if r[0] == "3" and r[1] == "2"])
    assert len(curve) == 201
    mean, covariance = linear(-1.3, 1.1, 0.7, 0.35, 0.8)
    assert np.allclose(curve[:, 1], (mean - curve[:, 0]) / covariance[0, 0], atol=1e-3)
    assert curve[0, 0] < mean - 3 * covariance[0, 0]**0.5 < curve[-1, 0]


@needs_gnuplot
def test_plot_in_two_dimensions(tmp_path):
    succeed(*TURN, "--cells", 128, "--box", "-6 7", "--time", 0.6, "--at", "0.4,-0.3", "--plot",
            tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "p.plot.csv").read_text()
    image = np.array([line.split(",")[3:6] for line in text.splitlines()[1:]
                      if line.startswith("1,1,")], float)
    assert image.shape == (161 * 161, 3)
    mean, covariance = linear(np.array([[-0.8, 2], [-2, -0.8]]), 1.2, [1, -0.5],
                              np.diag([0.5, 0.3]), 0.6)
    v, _ = gaussian(image[:, :2], mean, covariance)
    assert np.allclose(image[:, 2], np.exp(v), atol=2e-3 * np.exp(v).max())
    assert "\n1,2," in text and "\n1,3," in text and "\n1,4," in text  # contours, lines, heads


def test_a_method_had_another_name():
    typed = [*OU, "--time", 0.8, "--at", "0.25", "--samples", 2048, "--json"]
    new = succeed(*typed, "--method", "guided")
    done = run(*typed, "--method", "network", "--training", 64)
    assert done.returncode == 0 and done.stdout == new
    assert "note: --method network is now guided; " in done.stderr and done.stderr.count("\n") == 1
    assert "--training-steps has no effect, because --method guided fits its log-density without training" in done.stderr
    assert "training" not in succeed("solve", "--help")


def test_cells_had_another_name():
    typed = [*OU, "--time", 0.8, "--at", "0.25", "--json"]
    done = run(*typed, "--points", 64)
    assert done.returncode == 0 and "--points is now --cells" in done.stderr
    assert done.stdout == succeed(*typed, "--cells", 64)


@needs_gnuplot
def test_plot_of_degenerate_noise_has_its_own_grid(tmp_path):
    typed = ["solve", "--drift", "y, -x", "--noise", "0, 1", "--initial", "gaussian(mean=0, var=0.5)", "--time", 0.2, "--at", "0,0"]
    assert succeed(*typed, "--plot", tmp_path / "a.svg") == succeed(*typed)
    assert (tmp_path / "a.svg").read_text().count("<svg") == 1


@needs_gnuplot
def test_plot_refusals(tmp_path):
    options = [*OU, "--time", "0.8", "--at", "0.25"]
    for extra, expected in [
            (["--plot", "a.jpg"], "--plot is a.jpg; the name must end in .svg, .png or .pdf"),
            (["--plot", "a.svg", "-o", "a.plot.csv"], "choose another name"),
            (["--plot", "missing/a.svg"], "missing/a"),
            (["-o", "a.txt"], "-o is a.txt; the name must end in .csv, .npy or .npz"),
            (["-o", "missing/a.csv"], "missing/a.csv")]:
        done = run(*options, *extra, cwd=tmp_path)
        assert done.returncode == 2 and expected in done.stderr and done.stderr.count("\n") == 1
        assert list(tmp_path.iterdir()) == []
    done = run("solve", "--dim", 3, "--drift=-x[i]", "--initial", "gaussian(mean=0,var=1)", "--time",
               1, "--at", "0,0,0", "--plot", "a.svg", cwd=tmp_path)
    assert done.returncode == 2 and "dimension 1 and 2; this one has 3" in done.stderr


# ---- refusals -------------------------------------------------------------------------------

GOOD = {"--drift": "-x", "--noise": "1", "--initial": "gaussian(mean=0,var=1)", "--time": "1",
        "--at": "0.5"}
FIVE = {"--dim": "5", "--drift": "-x[i]", "--at": "0,0,0,0,0"}
REFUSED = [  # what is changed (None: left out), then what the first line must say
    ({"--drift": "x +* 2"}, "drift"),
    ({"--drift": "foo(x)"}, "foo"),
    ({"--drift": "-x, y", "--at": "1"}, "point 1 has 1 coordinate; the problem has dimension 2"),
    ({"--drift": "-x, y", "--dim": "3", "--at": "1,2,3"}, "2"),
    ({"--drift": "a*x"}, "a"),
    ({"--drift": "log(-1-x^2)"}, "drift"),
    ({"--drift": "1/(x-x)"}, "drift"),
    ({"--drift": "log(x)", "--initial": "gaussian(mean=5,var=0.1)"}, "the drift is nan at x = ("),
    ({"--noise": "0"}, "noise"),
    ({"--noise": "t - 0.5"}, "noise"),
    ({"--noise": "1 +"}, "noise"),
    ({"--noise": "x"}, "x"),
    ({"--initial": "gauss(mean=0)"}, "gauss"),
    ({"--initial": "gaussian(mean=0,var=-1)"}, "var"),
    ({"--initial": "gaussian(mean=0 1,var=1)"}, "mean"),
    ({"--initial": "samples(missing.npy)"}, "missing.npy"),
    ({"--initial": "stationary", "--drift": "x"}, "normalise"),
    ({"--initial": "stationary", "--drift": "y, -2*x", "--at": "0,0"}, "gradient"),
    ({"--initial": "uniform(1 0)"}, "uniform"),
    ({"--initial": "point()"}, "coordinates by blanks"),
    ({"--initial": "product(-exp(-x^2))"}, "must not be negative"),
    ({"--initial": None}, "--initial is missing"),
    ({"--drift": None}, "--drift is missing"),
    ({"--time": None}, "--time is missing"),
    ({"--at": None}, "--at is missing"),
    ({"--time": "-1"}, "--time is -1; it must be a number of at least 0"),
    ({"--time": "nan"}, "--time is nan"),
    ({"--problem": "p.ini"}, "--problem and --drift are both given"),
    ({"--drift": None, "--problem": "missing.ini"}, "missing.ini"),
    ({"--at": "0.5,1"}, "point 1 has 2 coordinates; the problem has dimension 1"),
    ({"--at": "0.5;nan"}, "point 2 has nan"),
    ({"--at": "inf"}, "point 1 has inf"),
    ({"--at": "0.5;;1"}, "point 2 lacks a number"),
    ({"--at": "0.5;"}, "point 2 lacks a number"),
    ({"--at": "0.5 1"}, "point 1 has 1"),
    ({"--at": "0x10"}, "point 1 has 0x10"),
    ({"--at": "missing.npy"}, "missing.npy"),
    ({"--at": "nan.csv"}, "point 2 of nan.csv has nan"),
    ({"--at": "wide.csv"}, "2 coordinates; the problem has dimension 1"),
    ({"--method": "guided", "--cells": "64"}, "cells has no effect on the method guided; leave it out, or take grid or meanvalue"),
    ({"--method": "guided", "--paths": "wide.csv"}, "paths has no effect on the method guided; leave it out, or take particles"),
    ({"--method": "gird"}, "--method is gird; it must be auto, grid, particles, guided, walk, meanvalue or all "
                           "(did you mean grid?)"),
    ({"--method": "meanvalue", "--radius": "3"}, "it must be below sqrt(4 pi tau) = 2.50663"),
    ({"--radius": "0"}, "--radius is 0"),
    ({"--param": "a"}, "--param is a; it must be NAME=NUMBER, as a=2; repeat --param for each name"),
    ({"--param": "a=nan"}, "--param is a=nan"),
    ({"--param": "x=2"}, "x"),
    ({"--cells": "33"}, "--cells is 33; it must be even"),
    ({"--box": "1"}, "--box is 1; it must be low and high"),
    ({"--box": "1 -1"}, "--box is 1 -1"),
    ({"--box": "-1 1, -1 1"}, "--box is -1 1, -1 1"),
    ({"--box": "-1 1", "--at": "5"}, "box"),
    ({**FIVE, "--method": "grid"}, "the dimension is above 3, where grids end; take particles, guided, walk or auto"),
    ({**FIVE, "--method": "meanvalue"}, "the dimension is above 3, where grids end; take particles, guided, walk or auto"),
    ({"--stderr": "0"}, "--stderr is 0; it must be a number above 0"),
    ({"--stderr": "nan"}, "--stderr is nan"),
    ({"--stderr-score": "-1"}, "--stderr-score is -1; it must be a number above 0"),
    ({"--max-time": "0"}, "--max-time is 0; it must be a number above 0"),
    ({"--samples": "1"}, "--samples is 1; it must be an integer from 2"),
    ({"--lift": "-2"}, "--lift is -2"),
    ({"--stderr": "0.1", "--method": "grid"}, "stderr has no effect on the method grid; leave it out, or take particles, guided or walk"),
    ({"--state": "s", "--method": "meanvalue"}, "state has no effect on the method meanvalue"),
    ({"--resume": True, "--method": "walk"}, "--resume is given without --state"),
    ({"--method": "walk", "--state": "nan.csv"}, "nan.csv is not the state of a sampling"),
    ({"--method": "walk", "--state": "missing/s"}, "missing/s"),
    ({"--method": "all", "--state": "s"}, "--state is for one method"),
    ({"--method": "all", "-o": "s.csv"}, "-o is for one method"),
    ({"--method": "all", "--plot": "s.svg"}, "--plot is for one method"),
    ({"--method": "all", "--drift": "1/(x-x)"}, "drift"),
    ({"--paths": "missing.npy"}, "missing.npy"),
    ({"--paths": "wide.csv", "--method": "walk"}, "paths has no effect on the method walk; leave it out, or take particles"),
    ({"--paths": "three.npy"}, "it must be an array [path][time][1]"),
    ({"--paths": "wide.csv", "--path-times": "0,0.5,1"}, "--path-times has 3 times; wide.csv has 2"),
    ({"--paths": "wide.csv", "--path-times": "0,a"}, "--path-times is 0,a; it must be finite numbers"),
    ({"--paths": "wide.csv", "--path-times": "0,0.5"}, "it must be the requested time, 1"),
    ({"--paths": "wide.csv", "--path-times": "1,0"}, "the times must rise"),
    ({"--paths": "nan.csv"}, "path 2 is nan at its time 1; it must be finite"),
    ({"--path-times": "0,1"}, "--path-times is given without --paths"),
]


@pytest.mark.parametrize("changes, expected", REFUSED, ids=[str(r[0]) for r in REFUSED])
def test_wrong_problems_are_refused(tmp_path, changes, expected):
    (tmp_path / "nan.csv").write_text("0.5\nnan\n")
    (tmp_path / "wide.csv").write_text("0.5,1\n")
    (tmp_path / "p.ini").write_text(PROBLEM)
    np.save(tmp_path / "three.npy", np.zeros((5, 4, 3)))
    options = {**GOOD, **changes}
    words = [word for name, value in options.items() if value is not None
             for word in ((name,) if value is True else (name, value))]
    done = run("solve", *words, cwd=tmp_path)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stdout == ""
    first, *rest = done.stderr.rstrip("\n").split("\n")
    assert first.startswith("heatball solve: ") and expected in first + " ".join(rest), done.stderr
    assert not rest or "^" in rest[-1] or "^" in done.stderr  # only a mark makes it longer
    assert len(list(tmp_path.iterdir())) == 4


def test_a_wrong_expression_is_marked():
    done = run("solve", "--drift", "x1 - x1^3 + 2*", "--initial", "gaussian(mean=0,var=1)", "--time",
               "1", "--at", "0")
    lines = done.stderr.rstrip("\n").split("\n")
    assert done.returncode == 2 and len(lines) >= 3
    text = next(i for i, line in enumerate(lines) if "x1 - x1^3 + 2*" in line and i > 0)
    mark = lines[text + 1]
    assert mark.strip() == "^"
    assert mark.index("^") == lines[text].index("x1 - x1^3 + 2*") + len("x1 - x1^3 + 2*")


# ---- residual -------------------------------------------------------------------------------

RESIDUAL = ["residual", *OU[1:], "--time", "0.8", "--at", "-0.6;1.4", "--radii", "0.2,0.4"]


@pytest.mark.parametrize("quantity", ["u", "v", "w"])
def test_residual_of_a_solution_is_small(quantity):
    result = json.loads(succeed(*RESIDUAL, "--quantity", quantity, "--degree", 9, "--json"))
    assert result["quantity"] == quantity and result["dim"] == 1
    rows = result["points"]
    assert [(row["x"], row["radius"]) for row in rows] == [([-0.6], 0.2), ([-0.6], 0.4),
                                                           ([1.4], 0.2), ([1.4], 0.4)]
    C1 = 3**-2.5 / math.pi
    for row in rows:
        assert abs(row["residual"]) < 1e-6 + 5 * row["residual_error"]
        assert row["scaled"] == pytest.approx(4 * row["residual"] / (C1 * row["radius"]**2),
                                              rel=1e-9, abs=1e-12)


def test_residual_by_draws_and_its_table(tmp_path):
    lines = succeed(*RESIDUAL, "--samples", 3000).splitlines()
    header = ["x_1", "radius", "residual", "residual_error", "scaled", "scaled_error"]
    assert lines[0].startswith("# residual of v, time 0.8, tau ") and lines[1].split() == header
    table = np.array([line.split() for line in lines[2:]], float)
    assert np.all(np.abs(table[:, 2]) < 5 * table[:, 3] + 1e-9) and np.all(table[:, 3] > 0)
    succeed(*RESIDUAL, "--samples", 3000, "-o", tmp_path / "r.csv")
    assert np.allclose(np.loadtxt(tmp_path / "r.csv", delimiter=",", skiprows=1), table, rtol=1e-8)


@pytest.mark.parametrize("extra, expected", [
    (["--radii", "0.2,-1"], "--radii is 0.2,-1; it must be numbers separated by commas, each above 0"),
    (["--radii", "3"], "it must be below sqrt(4 pi tau)"),
    (["--radii", "0.1", "--quantity", "z"], "--quantity is z; it must be u, v or w"),
    ([], "--radii is missing"),
    (["--radii", "0.1", "--time", "0"], "time is 0; a residual needs a time above 0"),
])
def test_residual_refusals(extra, expected):
    time = [] if "--time" in extra else ["--time", "0.8"]
    done = run("residual", *OU[1:], *time, "--at", "0.1", *extra)
    assert done.returncode == 2 and expected in done.stderr and done.stderr.count("\n") == 1


# ---- time inf ----

def test_the_stationary_density_needs_no_start(tmp_path):
    lines = succeed("solve", "--drift", "-2*x", "--time", "inf", "--at", "0;0.5").splitlines()
    assert lines[0].startswith("# stationary, time inf, tau inf, seed 1: stationary: the drift is linear")
    assert float(lines[3].split()[1]) == pytest.approx(math.sqrt(2 / math.pi), rel=1e-8)
    found = json.loads(succeed("solve", "--drift", "x-x^3", "--time", "inf", "--at", "0", "--json"))
    assert found["time"] == found["tau"] == "inf" and found["method"] == "stationary"
    total = integrate.quad(lambda x: math.exp(x * x - x**4 / 2), -9, 9, epsabs=1e-13)[0]
    assert found["points"][0]["density"] == pytest.approx(1 / total, rel=1e-9)
    (tmp_path / "p.ini").write_text("[problem]\ndrift = x - x^3\ntime = inf\n")
    again = json.loads(succeed("solve", "--problem", tmp_path / "p.ini", "--at", "0", "--json"))
    assert again["points"] == found["points"]


def test_the_stationary_residual_is_small():
    rows = json.loads(succeed("residual", "--drift", "x-y-x*(x^2+y^2)+0.2, x+y-y*(x^2+y^2)", "--noise", "0.9", "--time",
                              "inf", "--at", "0.8,0.1", "--radii", "0.2", "--degree", "7", "--json"))["points"]
    assert abs(rows[0]["scaled"]) < 1e-3


@pytest.mark.parametrize("arguments, expected", [
    (["--drift", "x"], "eigenvalue 1, whose real part is not below 0"),
    (["--drift", "-x*(2+sin(t))"], "time is inf, but the drift depends on t"),
    (["--drift", "-x", "--noise", "1+t"], "time is inf, but the noise depends on t"),
    (["--drift", "-x^3", "--method", "walk"], "the drift is not linear; walks go back to the initial density, which is infinitely far away; take grid, particles, meanvalue or auto"),
    (["--drift", "-x^3", "--method", "guided"], "the method guided does not serve this problem: time is inf; take"),
])
def test_stationary_refusals(arguments, expected):
    done = run("solve", *arguments, "--time", "inf", "--at", "0.1")
    assert done.returncode == 2 and expected in done.stderr and done.stderr.count("\n") == 1

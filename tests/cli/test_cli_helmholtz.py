"""`heatball helmholtz` and `heatball residual --model` as a user meets them. Oracles: analytic bumps and
Gaussians in NumPy."""

import json
import shutil

import numpy as np
import pytest
from command_line import run, succeed

FILES = {"field.npy", "gradient.npy", "rotation.npy", "helmholtz.json", "helmholtz.plot.csv", "helmholtz.gp",
         "helmholtz.svg", "helmholtz.png"}
pytestmark = pytest.mark.skipif(not shutil.which("gnuplot"), reason="gnuplot is not here")


def bumps(nx, ny, hx, hy):
    """(gradient, rotation) of Gaussian bumps that vanish at the walls, each (ny, nx, 2)."""
    x, y = np.meshgrid(hx * np.arange(nx), hy * np.arange(ny))
    parts = []
    for place, size, width in ((0.55, 2.3, 0.06), (0.43, 1.7, 0.05)):
        dx, dy = x - place * x.max(), y - place * y.max()
        s = width * min(x.max(), y.max())
        value = size * np.exp(-(dx**2 + dy**2) / (2 * s * s)) / s
        parts.append((-value * dx / s**2, -value * dy / s**2))
    (gx, gy), (cx, cy) = parts
    return np.stack([gx, gy], axis=2), np.stack([cy, -cx], axis=2)


# ---- arrays ---------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def split(tmp_path_factory):
    directory = tmp_path_factory.mktemp("split")
    gradient, rotation = bumps(72, 64, 0.031, 0.043)
    np.save(directory / "field.npy", gradient + rotation + [0.7, -0.4])
    text = succeed("helmholtz", directory / "field.npy", "--spacing", "0.031,0.043", "-o", directory / "out")
    return directory, gradient, rotation, text


def test_parts_of_a_known_field(split):
    directory, gradient, rotation, text = split
    out = directory / "out"
    assert {path.name for path in out.iterdir()} == FILES
    numbers = json.loads((out / "helmholtz.json").read_text())
    squares = [float((part**2).sum()) for part in (gradient, rotation)]
    assert numbers["gradient_mass"] == pytest.approx(squares[0] / sum(squares), abs=1e-5)
    assert numbers["rotation_mass"] == pytest.approx(squares[1] / sum(squares), abs=1e-5)
    largest = np.abs(gradient).max()
    assert np.abs(np.load(out / "gradient.npy") - gradient).max() < 2e-3 * largest
    assert np.abs(np.load(out / "rotation.npy") - rotation).max() < 2e-3 * largest
    field = np.load(out / "field.npy")
    assert np.array_equal(field, np.load(directory / "field.npy"))
    mean = field.mean(axis=(0, 1))
    assert [numbers["mean_1"], numbers["mean_2"]] == pytest.approx(mean)
    assert numbers["rms"] == pytest.approx(np.sqrt(((field - mean)**2).sum(axis=2).mean()))
    for name in "gradient", "rotation":
        part = np.load(out / f"{name}.npy")
        assert numbers[f"{name}_rms"] == pytest.approx(np.sqrt((part**2).sum(axis=2).mean()))
    assert (numbers["nx"], numbers["ny"], numbers["x_high"], numbers["y_high"]) == (
        72, 64, pytest.approx(71 * 0.031), pytest.approx(63 * 0.043))
    assert "tau" not in numbers
    assert f"rotation_mass  {numbers['rotation_mass']:.15g}"[:20] in text


def test_the_figure_has_three_panels_with_lines(split):
    out = split[0] / "out"
    assert (out / "helmholtz.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    script = (out / "helmholtz.gp").read_text()
    assert "rotation" in script and "gradient" in script
    panels = {line.split(",")[0] for line in (out / "helmholtz.plot.csv").read_text().splitlines()[1:]}
    assert len(panels) == 3


def test_json_quiet_box_and_threads(split, tmp_path):
    directory = split[0]
    first = json.loads((directory / "out" / "helmholtz.json").read_text())
    shown = json.loads(succeed("helmholtz", directory / "field.npy", "--box", f"0 {71 * 0.031}, 0 {63 * 0.043}",
                               "--threads", 2, "--json", "-o", tmp_path / "new"))
    assert shown == pytest.approx(first) and shown["source"] == str(directory / "field.npy")
    assert (tmp_path / "new" / "rotation.npy").read_bytes() == (directory / "out" / "rotation.npy").read_bytes()
    assert succeed("helmholtz", directory / "field.npy", "-q", "-o", tmp_path / "new") == ""
    assert json.loads((tmp_path / "new" / "helmholtz.json").read_text())["x_high"] == 71


# ---- models ---------------------------------------------------------------------------------------

COVARIANCE = np.array([[2.2, 0.7], [0.7, 0.9]])


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models that were not trained, so that they are the Gaussian of their rows, and small trained ones."""
    directory = tmp_path_factory.mktemp("models")
    rows = np.random.Generator(np.random.Philox(5)).multivariate_normal([30, -8], COVARIANCE, 500)
    np.save(directory / "rows.npy", rows)
    np.save(directory / "line.npy", rows[:, :1])
    small = ["--width", 8, "--depth", 1, "--steps", 1, "--rate", 1e-12, "--loss", "dsm", "--held-out", 0]
    for name, options in {
            "gauss": ["--data", directory / "rows.npy", *small],
            "ve": ["--data", directory / "rows.npy", "--process", "ve", *small],
            "line": ["--data", directory / "line.npy", *small],
            "score": ["--data", "asymmetric_gmm", "--loss", "dsm", "--head", "score", "--steps", 150,
                      "--width", 32, "--depth", 2],
            "energy": ["--data", "asymmetric_gmm", "--loss", "dsm", "--steps", 150, "--width", 32, "--depth",
                       2]}.items():
        succeed("train", *options, "-q", "-o", directory / f"{name}.safetensors", "--threads", 1)
    return directory


def carried(rows, tau):
    """Mean and covariance of the rows after OU in z = (x - mean)/scale, a scale for each column."""
    a = np.exp(-tau)
    return rows.mean(axis=0), a * a * np.cov(rows.T, bias=True) + (1 - a * a) * np.diag(rows.var(axis=0))


def test_the_field_of_a_model_is_its_score(models, tmp_path):
    shown = json.loads(succeed("helmholtz", models / "gauss.safetensors", "--tau", 0.4, "--box",
                               "26 33, -10 -6.5", "--points", 40, "--json", "-o", tmp_path / "out"))
    mean, covariance = carried(np.load(models / "rows.npy"), 0.4)
    x, y = np.meshgrid(np.linspace(26, 33, 40), np.linspace(-10, -6.5, 40))
    score = -(np.stack([x, y], axis=2) - mean) @ np.linalg.inv(covariance)
    assert np.abs(np.load(tmp_path / "out" / "field.npy") - score).max() < 5e-3 * np.abs(score).max()
    assert shown["tau"] == 0.4 and shown["head"] == "energy"
    assert shown["rotation_mass"] < 1e-6 and shown["gradient_mass"] > 1 - 1e-6


def test_without_a_box_the_lattice_holds_the_law(models, tmp_path):
    shown = json.loads(succeed("helmholtz", models / "gauss.safetensors", "--tau", 0.4, "--points", 20, "--json",
                               "-o", tmp_path / "out"))
    mean, covariance = carried(np.load(models / "rows.npy"), 0.4)
    sides = np.sqrt(np.diag(covariance))
    for axis, name in enumerate("xy"):
        low, high = shown[f"{name}_low"], shown[f"{name}_high"]
        assert mean[axis] - 5 * sides[axis] < low < mean[axis] - 2 * sides[axis]
        assert mean[axis] + 2 * sides[axis] < high < mean[axis] + 5 * sides[axis]
    assert (shown["nx"], shown["ny"]) == (20, 20)


def test_an_energy_has_no_rotation_and_a_vector_has(models, tmp_path):
    energy, score = (json.loads(succeed("helmholtz", models / f"{name}.safetensors", "--tau", 0.3, "--box",
                                        "-3 3", "--points", 48, "--json", "-o", tmp_path / name))
                     for name in ("energy", "score"))
    assert energy["rotation_mass"] < 1e-4 and energy["head"] == "energy"
    assert score["rotation_mass"] > 10 * energy["rotation_mass"] and score["head"] == "score"


def test_refusals(models, tmp_path):
    good = np.zeros((9, 9, 2))
    arrays = {"flat.npy": np.zeros((9, 9)), "three.npy": np.zeros((9, 9, 3)), "small.npy": np.zeros((9, 7, 2)),
              "nan.npy": np.where(np.arange(162).reshape(9, 9, 2) == 41, np.nan, 1.0), "good.npy": good}
    for name, values in arrays.items():
        np.save(tmp_path / name, values)
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "cut.safetensors").write_bytes((models / "gauss.safetensors").read_bytes()[:-5])
    gauss, before = models / "gauss.safetensors", sorted(p.name for p in tmp_path.iterdir())
    for arguments, says in (
            ([], "MODEL|FIELD.npy is missing"),
            ([gauss, "--tau", 0.5], "-o is missing"),
            ([gauss, "-o", "out"], "--tau is missing; a model needs it"),
            ([gauss, "--tau", 3.5, "-o", "out"], "--tau is 3.5; the model was trained for 0.001 to 3"),
            ([gauss, "--tau", 1e-5, "-o", "out"], "--tau is 1e-05; the model was trained for 0.001 to 3"),
            ([gauss, "--tau", -1, "-o", "out"], "--tau is -1"),
            ([gauss, "--tau", 0.5, "--box", "3 3", "-o", "out"], "--box is 3 3; it must be low and high"),
            ([gauss, "--tau", 0.5, "--box", "3 1", "-o", "out"], "--box is 3 1; it must be low and high"),
            ([gauss, "--tau", 0.5, "--points", 7, "-o", "out"], "--points is 7"),
            ([gauss, "--tau", 0.5, "--spacing", 2, "-o", "out"], "--spacing is for a FIELD.npy"),
            ([gauss, "--tau", 0.5, "--label", 1, "-o", "out"], "--label is 1; the model has no classes"),
            ([models / "line.safetensors", "--tau", 0.5, "-o", "out"],
             "is a model in dimension 1; the split needs dimension 2"),
            (["nowhere.safetensors", "--tau", 0.5, "-o", "out"], "nowhere.safetensors"),
            (["cut.safetensors", "--tau", 0.5, "-o", "out"], "cut.safetensors"),
            (["flat.npy", "-o", "out"], "flat.npy has 2 axes, the last of length 9; a field is an array [ny][nx][2]"),
            (["three.npy", "-o", "out"], "three.npy has 3 axes, the last of length 3"),
            (["small.npy", "-o", "out"], "small.npy has 9 x 7 points; each side must be 8 to 4096"),
            (["nan.npy", "-o", "out"], "nan.npy has nan at [2][2][1]; it must be finite numbers"),
            (["good.npy", "--tau", 0.5, "-o", "out"], "--tau, --points and --label are for a model"),
            (["good.npy", "--spacing", 0, "-o", "out"], "--spacing"),
            (["good.npy", "--spacing", "1,2,3", "-o", "out"], "--spacing has 3 numbers"),
            (["good.npy", "--spacing", 1, "--box", "0 1", "-o", "out"], "--box and --spacing are both given"),
            (["good.npy", "-o", "file"], "-o is file: cannot make the directory: Not a directory"),
            (["good.npy", "-o", "/nowhere/out"], "-o is /nowhere/out: cannot make the directory: No such file")):
        done = run("helmholtz", *arguments, cwd=tmp_path)
        assert done.returncode == 2 and done.stdout == "", arguments
        assert done.stderr.count("\n") == 1 and says in done.stderr, done.stderr
        assert sorted(p.name for p in tmp_path.iterdir()) == before, arguments


def test_a_field_of_zeros_has_no_parts(tmp_path):
    np.save(tmp_path / "zero.npy", np.full((20, 30, 2), 1.25))
    done = run("helmholtz", tmp_path / "zero.npy", "--json", "-o", tmp_path / "out")  # gnuplot warns: one colour only
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["mean_1"] == pytest.approx(1.25, abs=1e-12) and shown["rms"] < 1e-12


# ---- residual --model -----------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["gauss", "ve"])
def test_a_gaussian_has_no_residual(models, name):
    """The Gaussian of the rows solves the Fokker-Planck equation; the network is single precision."""
    shown = json.loads(succeed("residual", "--model", models / f"{name}.safetensors", "--tau", 0.6, "--at",
                               "30,-8; 31.5,-7.2; 28,-9", "--radii", "0.3,0.9", "--json"))
    assert shown["tau"] == 0.6 and shown["quantity"] == "v" and "time" not in shown and len(shown["points"]) == 6
    assert shown["points"][2]["x"] == [31.5, -7.2] and shown["points"][3]["radius"] == 0.9
    assert all(abs(point["residual"]) < 2e-5 for point in shown["points"])


def test_a_trained_model_has_a_residual_that_does_not_depend_on_small_radii(models):
    text = succeed("residual", "--model", models / "energy.safetensors", "--tau", 0.4, "--at", "0.3,-0.2",
                   "--radii", "0.15,0.3")
    assert text.startswith(f"# residual of v, {models / 'energy.safetensors'}, tau 0.4, seed 1\n")
    scaled = [float(line.split()[5]) for line in text.splitlines()[2:]]
    assert abs(scaled[0]) > 0.01 and scaled[0] == pytest.approx(scaled[1], rel=0.1)


@pytest.mark.parametrize("arguments, says", [
    (["score", "--tau", 0.5], "has the score head; only the energy head has a log-density"),
    (["energy"], "--tau is missing; --model needs it"),
    (["energy", "--tau", 9], "tau"),
    (["energy", "--tau", 0.5, "--quantity", "u"], "--quantity is u; of a model it must be v"),
    (["energy", "--tau", 0.5, "--time", 1], "--model has its own process"),
    (["energy", "--tau", 0.5, "--initial", "stationary"], "--model has its own process"),
    (["energy", "--tau", 0.5, "--drift", "-x,-y"], "was trained without --drift; leave it out"),
    (["line", "--tau", 0.5], "--at: point 1 has 2 coordinates; the problem has dimension 1"),
    (["nowhere", "--tau", 0.5], "nowhere.safetensors"),
])
def test_residual_refusals(models, arguments, says):
    name, *rest = arguments
    done = run("residual", "--model", models / f"{name}.safetensors", "--at", "0.3,-0.2", "--radii", 0.1, *rest)
    assert done.returncode == 2 and done.stdout == "" and says in done.stderr, done.stderr


def test_tau_is_for_models():
    done = run("residual", "--drift", "-x", "--initial", "gaussian(mean=0,var=1)", "--time", 1, "--tau", 1, "--at",
               "0.3", "--radii", 0.1)
    assert done.returncode == 2 and "--tau is for a model; a problem takes --time" in done.stderr

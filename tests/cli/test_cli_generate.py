"""`heatball generate` as a user meets it: bytes that repeat, samples near their data, refusals.

Oracles: NumPy for the data and the files, the files themselves for what must repeat to the byte, the
picture's own bytes decoded with zlib.
"""

import json
import shutil
import signal
import struct
import subprocess
import time
import zlib

import numpy as np
import pytest
import command_line
from command_line import COMMAND, complaint

CENTRES = np.array([[-40.0, 23.85], [60.0, 11.0]])  # far from 0 and of a width that is not 1
SPREAD = 5.0
FAST = ["--n-steps", 20]


def command(*arguments, name="generate"):
    return [COMMAND, name, *map(str, arguments)]


def run(*arguments, name="generate", **options):
    return command_line.run(name, *arguments, **options)


def succeed(*arguments, name="generate", **options):
    return command_line.succeed(name, *arguments, **options)


def train(folder, x, *arguments):
    np.save(folder / "x.npy", x)
    succeed("--data", folder / "x.npy", "--loss", "dsm", "--depth", 2, "-q", "-o",
            folder / "model.safetensors", *arguments, name="train")
    return folder / "model.safetensors"


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    """Return a model of two clusters of the plane, two thirds and one third, with labels."""
    folder = tmp_path_factory.mktemp("clusters")
    random = np.random.default_rng(3)
    labels = (np.arange(3000) % 3 == 0).astype(int)
    np.save(folder / "labels.npy", labels)
    return train(folder, CENTRES[labels] + SPREAD * random.normal(size=(3000, 2)), "--labels",
                 folder / "labels.npy", "--head", "energy", "--width", 64, "--steps", 2500)


@pytest.fixture(scope="module")
def wells(tmp_path_factory):
    """Return a model of two clusters, three quarters and one quarter, that a rotating double well carries on."""
    folder = tmp_path_factory.mktemp("wells")
    random = np.random.default_rng(5)
    part = (np.arange(2000) % 4 == 0).astype(int)
    return train(folder, np.array([[-1.0, 0.5], [1.2, -0.8]])[part] + 0.3 * random.normal(size=(2000, 2)),
                 "--head", "energy", "--drift", "x - x^3 - y, x - y", "--tau-max", 1, "--width", 48, "--steps", 600)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Return a model of images of 8 x 8 pixels, a ramp from -1 to 1 of any brightness."""
    folder = tmp_path_factory.mktemp("images")
    random = np.random.default_rng(4)
    ramp = np.linspace(-1, 1, 64)
    return train(folder, ramp * random.uniform(0.5, 1, (400, 1)), "--head", "score", "--width", 32,
                 "--steps", 50)


# ---- the same bytes -----------------------------------------------------------------------------

@pytest.mark.parametrize("solver", ["sde", "ode", "heun"])
def test_threads_and_pieces_give_the_same_bytes(tmp_path, clusters, solver):
    settings = [clusters, "--solver", solver, *FAST, "--ode-tolerance", 1e-3, "--seed", 7, "--label", 1]
    for threads in (1, 2):
        succeed(*settings, "--threads", threads, "-n", 300, "-o", tmp_path / f"{threads}.npy")
    assert (tmp_path / "1.npy").read_bytes() == (tmp_path / "2.npy").read_bytes()
    whole = np.load(tmp_path / "1.npy")
    assert whole.shape == (300, 2) and whole.dtype == np.float64 and np.isfinite(whole).all()
    for first, n in ((0, 1), (1, 149), (150, 150)):
        succeed(*settings, "--first", first, "-n", n, "-o", tmp_path / f"piece_{first}.npy")
    pieces = [np.load(tmp_path / f"piece_{first}.npy") for first in (0, 1, 150)]
    assert np.array_equal(np.concatenate(pieces), whole)
    succeed(*settings, "-n", 300, "-o", tmp_path / "x.csv")
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[0] == "x_1,x_2" and len(lines) == 301
    assert np.array_equal(np.loadtxt(lines[1:], delimiter=","), whole)
    succeed(*settings[:-4], "--seed", 8, "--label", 1, "-n", 300, "-o", tmp_path / "other.npy")
    assert not np.isin(np.load(tmp_path / "other.npy"), whole).any()


def test_more_rows_than_a_chunk(tmp_path, clusters):
    settings = [clusters, "--n-steps", 2, "--n-correct", 0, "-q"]
    succeed(*settings, "-n", 20000, "-o", tmp_path / "all.npy")
    succeed(*settings, "-n", 4000, "--first", 16000, "-o", tmp_path / "end.npy")
    assert np.array_equal(np.load(tmp_path / "all.npy")[16000:], np.load(tmp_path / "end.npy"))


# ---- samples are like the data ------------------------------------------------------------------

def shares(x):
    """Return the share of the rows within 4 deviations of each cluster's centre."""
    distance = np.linalg.norm(x[:, None] - CENTRES, axis=2) / SPREAD
    return (distance < 4).mean(0)


def test_samples_are_near_their_data_and_heed_the_label(tmp_path, clusters):
    out = succeed(clusters, "-n", 1500, "-o", tmp_path / "x.npy")
    assert out.startswith(f"{tmp_path}/x.npy: 1500 samples of dimension 2 by sde, seed 1, ")
    x = np.load(tmp_path / "x.npy")
    assert shares(x) == pytest.approx([2 / 3, 1 / 3], abs=0.1) and shares(x).sum() > 0.97
    for label in (0, 1):
        succeed(clusters, "-n", 300, "--label", label, "-o", tmp_path / "x.npy")
        x = np.load(tmp_path / "x.npy")
        assert shares(x)[label] > 0.95
        assert x.std(0) == pytest.approx([SPREAD, SPREAD], rel=0.35)


def test_each_label_goes_around_the_classes(tmp_path, clusters):
    settings = [clusters, *FAST, "--seed", 3]
    succeed(*settings, "--each-label", "-n", 12, "-o", tmp_path / "all.npy")
    succeed(*settings, "--each-label", "-n", 7, "--first", 5, "-o", tmp_path / "rest.npy")
    x = np.load(tmp_path / "all.npy")
    assert (np.load(tmp_path / "rest.npy") == x[5:]).all()
    for label in (0, 1):
        succeed(*settings, "--label", label, "-n", 12, "-o", tmp_path / "one.npy")
        assert (np.load(tmp_path / "one.npy")[label::2] == x[label::2]).all()
    assert "exclude each other" in complaint(
        run(clusters, "-n", 2, "--label", 0, "--each-label", "-o", tmp_path / "x.npy"), 2)


@pytest.mark.long
def test_samples_of_the_ring_by_every_solver(tmp_path):
    model = tmp_path / "ring.safetensors"
    succeed("--data", "ring", "-n", 10000, "--loss", "dsm", "--width", 128, "--steps", 6000, "-q",
            "-o", model, name="train")
    for solver in ("sde", "ode", "heun"):
        succeed(model, "-n", 4000, "--solver", solver, "-q", "-o", tmp_path / "x.npy")
        radius = np.linalg.norm(np.load(tmp_path / "x.npy"), axis=1)
        assert radius.mean() == pytest.approx(2.5, abs=0.03)
        assert radius.std() == pytest.approx(0.12, abs=0.025)


@pytest.mark.parametrize("solver", ["sde", "ode", "heun"])
def test_samples_under_a_drift(tmp_path, wells, solver):
    """Three quarters and one quarter, near the clusters; the same bytes on two threads and in pieces."""
    rest = ["--solver", solver, "--n-steps", 30, "--ode-tolerance", 1e-3]
    succeed(wells, "-n", 600, "--threads", 2, *rest, "-o", tmp_path / "all.npy")
    x = np.load(tmp_path / "all.npy")
    first = ((x - [-1.0, 0.5])**2).sum(axis=1) < ((x - [1.2, -0.8])**2).sum(axis=1)
    assert abs(first.mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 600) + 0.03
    assert np.abs(x[first].mean(axis=0) - [-1.0, 0.5]).max() < 0.15
    assert np.median(np.abs(x[first] - [-1.0, 0.5])) < 0.3
    succeed(wells, "-n", 100, "--first", 500, "--threads", 1, *rest, "-o", tmp_path / "last.npy")
    assert np.array_equal(x[500:], np.load(tmp_path / "last.npy"))


@pytest.mark.parametrize("arguments, says", [
    (["--label", 1], "was trained with --drift; it keeps where paths of all classes ended, and takes no --label"),
    (["--each-label"], "takes no --label or --each-label"),
    (["--clip", "no"], "--clip is for the processes ou and ve"),
    (["--n-steps", 3], "n_steps is 3; this drift changes its distribution within tau = "),
    (["--tau-min", 1e-5], "the model was trained from tau = 0.001 to 1"),
])
def test_refusals_under_a_drift(tmp_path, wells, arguments, says):
    assert says in complaint(run(wells, "-n", 4, *arguments, "-o", tmp_path / "x.npy"))
    assert not (tmp_path / "x.npy").exists()


def test_denoise_and_tau_min_matter(tmp_path, clusters):
    made = {}
    for name, options in {"none": ["--denoise", "none"], "mean": ["--denoise", "mean"], "flow": [],
                          "late": ["--tau-min", 0.5, "--denoise", "none"]}.items():
        succeed(clusters, "-n", 1000, *FAST, *options, "--det-tau", 0, "-o", tmp_path / "x.npy")
        made[name] = np.load(tmp_path / "x.npy")
    scale = np.sqrt(SPREAD**2 + 2 / 9 * (np.diff(CENTRES, axis=0)**2).sum() / 2)  # of all columns
    assert made["flow"] == pytest.approx((made["none"] + made["mean"]) / 2, abs=0.01 * scale)
    assert np.abs(made["mean"] - made["none"]).max() > 0.01 * scale
    assert shares(made["late"]).sum() < 0.9  # noise of deviation 0.8 in units of `scale`


# ---- what is said and drawn ---------------------------------------------------------------------

def test_json(tmp_path, clusters):
    said = json.loads(succeed(clusters, "-n", 10, "--label", 1, "--snr", 0.2, "--det-tau", 0.3, "--json",
                              "--first", 5, "-o", tmp_path / "x.npy"))
    seconds, speed = said.pop("seconds"), said.pop("samples_per_second")
    assert speed == pytest.approx(10 / seconds)
    assert said == {"file": str(tmp_path / "x.npy"), "model": str(clusters), "rows": 10, "columns": 2,
                    "process": "ou", "solver": "sde", "n_steps": 500, "n_correct": 1, "snr": 0.2,
                    "det_tau": 0.3, "denoise": "flow", "tau_min": 0.001, "tau_max": 3.0, "label": 1,
                    "seed": 1, "first": 5}
    said = json.loads(succeed(clusters, "-n", 1, "--solver", "heun", "--json", "-o", tmp_path / "x.npy"))
    assert said["n_steps"] == 50 and "snr" not in said and "label" not in said
    said = json.loads(succeed(clusters, "-n", 1, "--solver", "ode", "--json", "-o", tmp_path / "x.npy"))
    assert said["ode_tolerance"] == 1e-5 and "n_steps" not in said


def test_silent_when_quiet(tmp_path, clusters):
    assert succeed(clusters, "-n", 5, *FAST, "-q", "-o", tmp_path / "x.npy") == ""


def grey_png(path):
    """Return the pixels of a grey picture of 8 bits, filters of all kinds undone."""
    data, at, packed = path.read_bytes(), 8, b""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, bits, colour = struct.unpack(">IIBB", body[:10])
            assert (bits, colour) == (8, 0)
        packed += body if kind == b"IDAT" else b""
        at += size + 12
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, width + 1)
    pixels = np.zeros((height + 1, width + 1), int)  # a border of 0 at the top and the left
    for i, line in enumerate(lines):
        for j in range(width):
            left, up, corner = pixels[i + 1, j], pixels[i, j + 1], pixels[i, j]
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda p: abs(guess - p))
            before = (0, left, up, (left + up) // 2, paeth)[line[0]]
            pixels[i + 1, j + 1] = (line[j + 1] + before) % 256
    return pixels[1:, 1:]


def test_images_are_drawn_on_a_grid(tmp_path, images):
    settings = [images, "-n", 5, *FAST, "-q"]
    succeed(*settings, "-o", tmp_path / "x.npy")
    succeed(*settings, "--grey", "-1,1", "-o", tmp_path / "x.png")
    drawn, x = grey_png(tmp_path / "x.png"), np.load(tmp_path / "x.npy").reshape(5, 8, 8)
    rows, columns = drawn.shape
    assert columns > 3 * 8 and rows == pytest.approx(columns * 2 / 3, abs=8)  # 2 rows of 3
    # the first image is the top left corner: each of its pixels has its grey somewhere there
    corner = drawn[:rows // 2, :columns // 3]
    grey = np.clip(np.rint((x[0] + 1) / 2 * 255), 0, 255)
    assert all(np.abs(corner - value).min() <= 1 for value in grey.ravel())
    succeed(*settings, "-o", tmp_path / "y.png")  # 0,1: the dark half is black
    assert (tmp_path / "y.png").read_bytes() != (tmp_path / "x.png").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy", "x.png", "y.png"]


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="gnuplot is missing")
def test_samples_of_the_plane_are_drawn(tmp_path, clusters):
    out = succeed(clusters, "-n", 50, *FAST, "-o", tmp_path / "x.npy", "--plot", tmp_path / "y.svg")
    assert out.endswith(f"{tmp_path}/y.svg: the samples\n")
    picture = (tmp_path / "y.svg").read_text()
    assert "50 samples, seed 1" in picture and "model density" in picture
    x = np.load(tmp_path / "x.npy")
    lines = [line.split(",") for line in (tmp_path / "y.plot.csv").read_text().splitlines()]
    dots = np.array([line[3:5] for line in lines[1:] if line[2].strip('"') == "samples"], float)
    assert np.allclose(dots, x, rtol=1e-6)
    succeed(clusters, "-n", 50, *FAST, "-q", "-o", tmp_path / "z.png")
    assert (tmp_path / "z.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


# ---- refusals and failures ----------------------------------------------------------------------

@pytest.mark.parametrize("arguments, says", [
    (["-n", 0, "-o", "x.npy"], "-n is 0"),
    (["-n", -3, "-o", "x.npy"], "-n is -3"),
    (["-n", 5], "-o is missing"),
    (["-n", 5, "-o", "x.txt"], "-o is x.txt; the name must end in .npy, .csv or .png"),
    (["-n", 5, "-o", "/nowhere/x.npy"], "/nowhere/x.npy"),
    (["-n", 5, "-o", "x.plot.csv", "--plot", "x.svg"], "-o and --plot would both write x.plot.csv"),
    (["-n", 5, "-o", "x.npy", "--plot", "x.jpg"], "--plot is x.jpg"),
    (["-n", 5, "-o", "x.npy", "--label", 2], "--label is 2; the model has the classes 0 to 1"),
    (["-n", 5, "-o", "x.npy", "--label", -2], "--label is -2"),
    (["-n", 5, "-o", "x.npy", "--solver", "euler"], "--solver is euler; it must be sde, ode or heun"),
    (["-n", 5, "-o", "x.npy", "--n-steps", 0], "--n-steps is 0"),
    (["-n", 5, "-o", "x.npy", "--snr", 1], "--snr is 1"),
    (["-n", 5, "-o", "x.npy", "--tau-min", 1e-9],
     "tau_min is 1e-09 and tau_max is 3; the model was trained from tau = 0.001 to 3"),
    (["-n", 5, "-o", "x.npy", "--tau-min", 3], "tau_min is 3"),
    (["-n", 5, "-o", "x.npy", "--ode-tolerance", 0], "--ode-tolerance is 0"),
    (["-n", 5, "-o", "x.npy", "--grey", "0,1"], "--grey is for pictures of images"),
    (["-n", 5, "-o", "x.npy", "--first", 2**64 - 1], "first is 18446744073709551615"),
])
def test_refusals(tmp_path, clusters, arguments, says):
    assert says in complaint(run(clusters, *arguments, cwd=tmp_path), 2)
    assert list(tmp_path.iterdir()) == []


def test_pictures_that_a_model_cannot_have(tmp_path, images):
    assert "--plot draws two-dimensional samples; those of this model have 64 numbers" in complaint(
        run(images, "-n", 5, "-o", "x.npy", "--plot", "y.svg", cwd=tmp_path), 2)
    assert "LOW below HIGH" in complaint(
        run(images, "-n", 5, "-o", "x.png", "--grey", "1,0", cwd=tmp_path), 2)
    for option in (["--label", 0], ["--each-label"]):
        assert "without labels" in complaint(run(images, "-n", 5, "-o", "x.npy", *option, cwd=tmp_path), 2)
    assert list(tmp_path.iterdir()) == []
    small = train(tmp_path, np.random.default_rng(5).normal(size=(50, 3)), "--steps", 2)
    assert "those of this model have 3 numbers: write .npy or .csv" in complaint(
        run(small, "-n", 5, "-o", tmp_path / "y.png"), 2)


def test_files_that_are_no_models(tmp_path, clusters):
    whole = clusters.read_bytes()
    assert "cannot open none.safetensors" in complaint(run("none.safetensors", "-n", 5, "-o", "x.npy"), 2)
    for name, content in {"cut": whole[:-100], "head": whole[:40], "empty": b"", "text": b"hello " * 50,
                          "longer": whole + b"more"}.items():
        (tmp_path / name).write_bytes(content)
        line = complaint(run(tmp_path / name, "-n", 5, "-o", tmp_path / "x.npy"), 2)
        assert str(tmp_path / name) in line, line
    # a stranger's safetensors: one tensor, no settings
    header = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    (tmp_path / "other").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    complaint(run(tmp_path / "other", "-n", 5, "-o", tmp_path / "x.npy"), 2)
    assert not (tmp_path / "x.npy").exists()


def test_a_full_disk_is_a_failed_run(tmp_path, clusters):
    for name in ("x.npy", "x.csv"):
        (tmp_path / name).symlink_to("/dev/full")
        line = complaint(run(clusters, "-n", 5000, "--n-steps", 1, "-q", "-o", tmp_path / name), 1)
        assert "No space left on device" in line


@pytest.mark.parametrize("solver", ["sde", "ode", "heun"])
def test_an_interrupt_leaves_no_file(tmp_path, clusters, solver):
    with subprocess.Popen(command(clusters, "-n", 10**6, "--solver", solver, "-q", "-o", "x.npy"),
                          cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not list(tmp_path.iterdir()):
            time.sleep(0.01)  # until the file is begun
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and out == ""
    assert err == "heatball generate: interrupted; x.npy is not written\n"
    assert list(tmp_path.iterdir()) == []

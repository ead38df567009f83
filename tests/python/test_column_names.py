"""The names in the header of a .csv go with a model: into its file, into outputs, through a resumed run.

Oracles: the csv module for what a header says, the bytes of the files.
"""

import copy
import csv
import json

import numpy as np
import pytest

import heatball
from command_line import metadata, run, succeed

NAMES = ["größe [m]", 'width, "cm"', "z"]
TINY = ["--loss", "dsm", "--width", "8", "--depth", "2", "--epochs", "1", "-q"]


def write(path, names, rows=60):
    x = np.random.default_rng(4).normal(size=(rows, 3)) * [0.3, 10, 60]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if names:
            writer.writerow(names)
        writer.writerows(x.tolist())
    return path


def header(path):
    with open(path, newline="", encoding="utf-8") as file:
        return next(csv.reader(file))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    data = write(folder / "data.csv", NAMES)
    succeed("train", "--data", data, *TINY, "-o", folder / "m.safetensors")
    return folder / "m.safetensors"


def test_the_command_writes_and_prints_the_names(model, tmp_path):
    assert metadata(model)["columns"] == "\n".join(NAMES)
    succeed("generate", model, "-n", 5, "--n-steps", 5, "-q", "-o", tmp_path / "s.csv")
    assert header(tmp_path / "s.csv") == NAMES
    asked = ["evaluate", model, "--data", model.parent / "data.csv", "--samples", 40, "--tau", 0.3]
    shown = next(line for line in succeed(*asked).splitlines() if line.startswith("columns: "))
    assert all(f"({name})" in shown for name in NAMES) and "(column" not in shown
    assert json.loads(succeed(*asked, "--json"))["columns"] == NAMES


def test_without_a_header_there_are_none(tmp_path):
    data = write(tmp_path / "data.csv", None)
    succeed("train", "--data", data, *TINY, "-o", tmp_path / "m.safetensors")
    assert "columns" not in metadata(tmp_path / "m.safetensors")
    assert heatball.load(tmp_path / "m.safetensors").columns is None
    succeed("generate", tmp_path / "m.safetensors", "-n", 5, "--n-steps", 5, "-q", "-o",
            tmp_path / "s.csv")
    assert header(tmp_path / "s.csv") == ["x_1", "x_2", "x_3"]
    shown = succeed("evaluate", tmp_path / "m.safetensors", "--data", data, "--samples", 40, "--tau", 0.3)
    assert "(column 2)" in shown


def test_python_keeps_them(model, tmp_path):
    loaded = heatball.load(model)
    assert loaded.columns == NAMES == copy.copy(loaded).columns
    loaded.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == model.read_bytes()
    tiny = dict(width=8, depth=2, epochs=1)
    assert heatball.train(model.parent / "data.csv", "dsm", **tiny).columns == NAMES
    assert heatball.train(np.eye(3), "dsm", **tiny).columns is None


def test_a_resumed_training_keeps_them(tmp_path):
    data, path = write(tmp_path / "data.csv", NAMES), tmp_path / "m.safetensors"
    train = ["train", "--data", data, *TINY, "--checkpoint-every", 1, "-o", path]
    succeed(*train)
    whole = path.read_bytes()
    path.unlink()
    assert metadata(tmp_path / "m.ckpt")["columns"] == "\n".join(NAMES)
    succeed(*train, "--resume")
    assert path.read_bytes() == whole
    x = np.loadtxt(data, delimiter=",", skiprows=1, quotechar='"', encoding="utf-8")
    settings = dict(width=8, depth=2, epochs=1, checkpoint=tmp_path / "p.ckpt")
    heatball.train(data, "dsm", **settings)  # rows without names, resumed: those of the checkpoint
    assert heatball.train(x, "dsm", resume=True, **settings).columns == NAMES


@pytest.mark.parametrize("name, words", [
    ("a" * 200, None),
    ("a" * 201, "the name of column 2 has 201 bytes; at most 200 are allowed"),
    ("gr\xf6\xdfe".encode("latin-1"), "the name of column 2 is not text in UTF-8"),
    (b"\xed\xa0\x80", "the name of column 2 is not text in UTF-8"),
    (b"\xe2\x82", "the name of column 2 is not text in UTF-8"),
    (b"a\x1b[31m", "the name of column 2 is not text in UTF-8 without control characters"),
])
def test_names_that_cannot_be_kept(tmp_path, name, words):
    data = tmp_path / "data.csv"
    name = name if isinstance(name, bytes) else name.encode()
    data.write_bytes(b"x," + name + b"\n" + b"1,2\n3,4.5\n0,1\n5,3\n")
    done = run("train", "--data", data, *TINY, "-o", tmp_path / "m.safetensors")
    if words is None:
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "m.safetensors").exists()


def test_a_changed_name_is_seen(model, tmp_path):
    data = bytearray(model.read_bytes())
    at = data.index("größe".encode())
    data[at] ^= 1
    (tmp_path / "m.safetensors").write_bytes(data)
    with pytest.raises(heatball.Error, match="sum"):
        heatball.load(tmp_path / "m.safetensors")

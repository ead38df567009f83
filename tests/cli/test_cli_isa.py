"""The command under every --isa that the machine has: plain C and SSE2 print the same bytes, AVX2 and
AVX-512 too, and the two classes differ by rounding only.
"""

import json
import pathlib
import subprocess

import numpy as np
import pytest
from command_line import COMMAND

FLAGS = (pathlib.Path("/proc/cpuinfo").read_text() + "\nflags").split("flags", 1)[1].split("\n")[0].split()
CLASSES = [["scalar", "sse2"],
           [isa for isa, flag in (("avx2", "avx2"), ("avx512", "avx512f")) if flag in FLAGS]]
SOLVE = ["solve", "--drift", "x1 - x1^3", "--noise", "1", "--initial", "gaussian(mean=0,var=1)",
         "--time", "0.5", "--at", "-1;0.385;1.7", "--json"]
TINY = ["train", "--data", "two_moon", "--loss", "hb", "--steps", "30", "--width", "24", "--depth", "2",
        "--batch", "100", "--anchors", "16", "-q"]


def output(isa, *arguments):
    done = subprocess.run([COMMAND, *map(str, arguments), "--isa", isa], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(text):
    """All numbers of a JSON text but times, in order."""
    found = []

    def walk(value):
        if isinstance(value, dict):
            for key in sorted(value):
                if "second" not in key and "rate" not in key:
                    walk(value[key])
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, float):
            found.append(value)
    walk(json.loads(text))
    return np.array(found)


@pytest.mark.parametrize("method", ["grid", "walk", "particles"])
def test_solve(method):
    extra = [] if method == "grid" else ["--samples", "20000"]
    means = []
    for names in CLASSES:
        found = [numbers(output(isa, *SOLVE, "--method", method, *extra)) for isa in names]
        for other in found[1:]:
            np.testing.assert_array_equal(other, found[0])
        means += found[:1]
    for other in means[1:]:
        np.testing.assert_allclose(other, means[0], rtol=1e-4, atol=1e-8)


def test_train_and_generate(tmp_path):
    """Weights of one class have the same bytes, and so do samples."""
    for names in CLASSES:
        found = []
        for isa in names:
            model, rows = tmp_path / f"{isa}.safetensors", tmp_path / f"{isa}.npy"
            output(isa, *TINY, "-o", model)
            output(isa, "generate", model, "-n", "50", "--n-steps", "20", "-q", "-o", rows)
            found.append((model.read_bytes(), rows.read_bytes()))
            few = tmp_path / f"{isa}_few.npy"
            output(isa, "generate", model, "-n", "1", "--n-steps", "20", "-q", "-o", few)
            assert np.array_equal(np.load(few)[0], np.load(rows)[0])
        assert all(other == found[0] for other in found)

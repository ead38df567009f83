"""The package and the command give the same numbers under the same keys."""

import json
import math
import subprocess

import numpy as np
import pytest

import heatball
from command_line import BUILD

COMMAND = BUILD / "heatball"
DATA = {"u0_min": 0.31, "u0_max": 1.72, "u0_grad": 2.385}

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason=f"there is no {COMMAND}")


def command(*arguments):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          check=True).stdout


def as_json(value):
    """JSON has no infinity and no NaN: both are null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def same(result, text):
    assert {key: as_json(value) for key, value in result.items()} == json.loads(text)


@pytest.mark.parametrize("dim, lift", [(1, 0), (2, 0), (7, 3), (1000000, 0)])
def test_constants(dim, lift):
    text = command("constants", "--dim", dim, "--lift", lift, "--json")
    same(heatball.ball.constants(dim, lift), text)


@pytest.mark.parametrize("A, C, options", [
    (1.25, 0.5, {}), (1.25, 0.5, {"tau": 0.125}), (12.5, 4.0, {"tau": 1.5, **DATA}),
    (0.5, 0.25, {"theta": 0.75, **DATA}), (0.0, 0.0, {}),
])
def test_budget(A, C, options):
    flags = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
    text = command("budget", "--dim", 3, "--drift-sup", A, "--div-sup", C, *flags, "--json")
    same(heatball.budget(3, A, C, **options), text)


@pytest.mark.parametrize("dtype, name", [(np.float64, "f64"), (np.float32, "f32")])
@pytest.mark.parametrize("measure", ["kappa", "source", "gradient"])
def test_sample(tmp_path, measure, dtype, name):
    command("sample", "--measure", measure, "--dim", 5, "--lift", 2, "--radius", 1.25, "-n", 1000,
            "--seed", 77, "--first", 31, "--dtype", name, "-q", "-o", tmp_path / "rows.npy")
    rows = np.load(tmp_path / "rows.npy")
    z, sigma = heatball.ball.sample(measure, 5, 1000, lift=2, radius=1.25, seed=77, first=31,
                               dtype=dtype)
    assert rows.dtype == dtype and rows.shape == (1000, 6)
    assert np.array_equal(rows[:, :5], z) and np.array_equal(rows[:, 5], sigma)

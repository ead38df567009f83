"""A row is alone: the kept model of digits gives a row the same bits by itself and among others, under
every instruction set of oneDNN. oneDNN reads ONEDNN_MAX_CPU_ISA once, so each runs in a process of
its own; a set that the machine lacks is the machine's own.
"""

import os
import subprocess
import sys

import pytest
from command_line import ROOT

SCRIPT = """
import sys
import numpy as np
import heatball

model = heatball.load(sys.argv[1])
rng = np.random.default_rng(2385)
for n in (7, 20, 32, 150):
    x, tau = rng.standard_normal((n, 256)), rng.uniform(0.02, 2, n)
    labels = rng.integers(-1, 10, n)
    together = model.score(x, tau, labels)
    for i in (0, n - 1, *rng.integers(0, n, 4)):
        alone = model.score(x[i:i + 1], tau[i:i + 1], labels[i:i + 1])
        assert alone.tobytes() == together[i:i + 1].tobytes(), f"row {i} of {n}"
    assert model.score(x[3:6], tau[3:6], labels[3:6]).tobytes() == together[3:6].tobytes()
few, many = (model.generate(n, seed=5, n_steps=4) for n in (1, 70))
assert np.array_equal(few[0], many[0]), "sample 0 of 1 and of 70"
"""


@pytest.mark.parametrize("isa", ["SSE41", "AVX", "AVX2", "ALL"])
def test_rows_of_the_digits_are_alone(isa):
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": isa, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(ROOT / "models/mnist16.safetensors")],
                          env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr

"""Ctrl-C ends heatball.solve and heatball.residual with KeyboardInterrupt, soon and without harm."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
BEGIN = """
import heatball, sys
x = [0.1] * 10
print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print(heatball.solve("-x", "1", "gaussian(mean=0,var=1)", 1, [0.5]).density.shape, flush=True)
    sys.exit(7)
"""
CALLS = {
    "walk": 'heatball.solve("x1-x1^3", "1", "gaussian(mean=0,var=1)", 5, [0.1], method="walk", samples=10**12, dim=1)',
    "particles": 'heatball.solve("x1-x1^3", "1", "gaussian(mean=0,var=1)", 5, [0.1], method="particles", samples=10**10)',
    "grid": 'heatball.solve("x-x^3+y*z,y-y^3-x*z,z-z^3+x*y", "1", "gaussian(mean=0,var=1)", 2, [[0.1,0,0]], method="grid")',
    "residual": 'heatball.residual("x-x^3", "1", "gaussian(mean=0,var=1)", 5, [0.1], samples=10**12)',
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c(name):
    child = subprocess.Popen([sys.executable, "-c", BEGIN.format(call=CALLS[name])], stdout=subprocess.PIPE,
                             env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    assert child.stdout.readline() == b"begun\n"
    time.sleep(1)
    assert child.poll() is None
    start = time.monotonic()
    child.send_signal(signal.SIGINT)
    try:
        text = child.communicate(timeout=30)[0]
    finally:
        child.kill()
    assert child.returncode == 7 and text == b"(1,)\n"
    assert time.monotonic() - start < 15

"""What an impatient or hostile user meets: signals and --max-time while a problem is read, large dimensions, progress,
leftovers of a killed animation, and what messages advise.

Oracles: the log-normal density of geometric Brownian motion, a process table, the file system.
"""

import json
import math
import os
import pty
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from command_line import COMMAND, complaint, run, succeed

LONG_TERM = "*".join(["(1+0*sin(cos(tan(x))))"] * 200)
STALLS = ["solve", "--drift", f"-x + 0*sum(j,1,1000,sum(k,1,999,{LONG_TERM}))", "--noise", "1", "--initial", "gaussian(mean=0,var=1)",
          "--time", "1", "--at", "0"]


# ---- while a problem is read ----

def test_a_signal_stops_the_reading_of_a_problem():
    child = subprocess.Popen([COMMAND, *STALLS], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    try:
        assert "interrupted" in child.communicate(timeout=3)[1] and child.returncode == 1
    finally:
        child.kill()


def test_max_time_stops_the_reading_of_a_problem():
    start = time.monotonic()
    done = run(*STALLS, "--max-time", 1, timeout=20)
    assert time.monotonic() - start < 5
    assert "the problem was not read within the 1 s of --max-time" in complaint(done, code=1)


def test_a_noise_for_each_axis_in_many_dimensions():
    """dx_i = -x_i dt + 0.2 x_i dW_i from 1: ln x_i is Gaussian with mean -1.02 t and variance 0.04 t."""
    d, t, x = 300, 0.1, 1.1
    point = json.loads(succeed("solve", "--dim", d, "--drift=-x[i]", "--noise", "0.2*x[i]", "--initial", "point(1)", "--time", t,
                               "--at", ",".join([str(x)] * d), "--json", timeout=30))["points"][0]
    mean, var = -1.02 * t, 0.04 * t
    truth = d * (-0.5 * math.log(2 * math.pi * var) - (math.log(x) - mean)**2 / (2 * var) - math.log(x))
    assert abs(point["log_density"] - truth) <= 5 * point["log_density_error"] < 1e-6


@pytest.mark.parametrize("noise", ["0.2*x[i]", "0.2*x[i];", "0.1+0.01*i"])
def test_a_matrix_of_many_rows_is_refused(noise, tmp_path):
    np.save(tmp_path / "at.npy", np.full((1, 60000), 1.1))
    done = run("solve", "--dim", 60000, "--drift=-x[i]", "--noise", noise, "--initial", "point(1)", "--time", 0.1, "--at",
               tmp_path / "at.npy", timeout=10)
    assert "the noise is a matrix of 60000 rows" in complaint(done)


# ---- progress ----

def shown(*arguments):
    """The percentages that stand on a terminal, one after the other."""
    terminal, other = pty.openpty()
    child = subprocess.Popen([COMMAND, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=other)
    os.close(other)
    text = b""
    try:
        while piece := os.read(terminal, 4096):
            text += piece
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    assert child.wait(timeout=60) == 0, text
    return [float(part) for part in re.findall(rb" ([\d.]+) %,", text)]


@pytest.mark.parametrize("options", [
    ["--drift", "x[i]-x[i]^3", "--dim", 5, "--at", "0.3,0,0,0,0", "--time", 0.5, "--stderr", 0.00005, "--max-time", 4],
    ["--drift", "x-x^3+0.1*sin(t)", "--at", "0.3;1", "--time", 1, "--method", "all", "--samples", 100000]])
def test_progress_never_falls(options):
    parts = shown("solve", "--noise", 1, "--initial", "gaussian(mean=0,var=0.3)", *options)
    assert len(parts) >= 2 and parts == sorted(parts) and 0 < parts[-1] < 100


# ---- animations ----

POINT = ["solve", "--drift=-x", "--noise", "1", "--initial", "point(1)", "--at=-2:2:41"]


def test_an_animation_from_a_point_begins_later(tmp_path):
    done = run(*POINT, "--time", "0:1:0.25", "--plot", tmp_path / "a.gif", "-o", tmp_path / "a.npz")
    assert done.returncode == 0 and "a point has no density at time 0; the first time is 0.25" in done.stderr
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["t"].tolist() == [0.25, 0.5, 0.75, 1]
    assert (tmp_path / "a.gif").exists()


def test_a_killed_animation_leaves_nothing_beside_it(tmp_path):
    scratch, own = tmp_path / "scratch", tmp_path / "own"
    scratch.mkdir()
    own.mkdir()
    child = subprocess.Popen([COMMAND, *POINT, "--time", "0.1:2:0.02", "--plot", "a.gif", "--method", "walk", "--samples", "1000"], cwd=own,
                             env={**os.environ, "TMPDIR": str(scratch)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while child.poll() is None and not any(tmp_path.rglob("frame*.gp")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert child.poll() is None and any(tmp_path.rglob("frame*.gp"))
    child.kill()
    child.wait()
    assert [path.name for path in own.iterdir() if path.is_dir()] == []


# ---- advice ----

def test_the_advice_for_a_point_has_the_units_of_the_problem():
    """Noise 1e-6 and time 1: a variance of 1e-4 would be 1e8 times that of the answer."""
    text = complaint(run("solve", "--drift", "-x,-y", "--noise", "1e-6*(2+sin(x*y)),0;0,1e-6", "--initial", "point(1 0)", "--time", 1,
                         "--at", "1,1", "--method", "grid"))
    assert 1e-16 < float(re.search(r"var=([\d.e-]+)", text)[1]) < 1e-13


def test_messages_say_that_a_box_reflects():
    base = ["solve", "--drift=-x", "--noise", "1", "--initial", "gaussian(mean=0,var=1)", "--time", "0.5", "--method", "grid"]
    assert "whose boundaries reflect; give a larger box" in complaint(run(*base, "--at", "9", "--box", "-7 7"))
    assert "the boundaries of the grid reflect" in run(*base, "--at", "0", "--box", "-4 4").stderr
    assert "whose boundaries reflect" in " ".join(run("solve", "--help").stdout.split())


def test_the_smoothing_of_samples_is_told_with_its_size(tmp_path):
    """Scott's kernels of 100 samples on a line have 100^(-2/5) = 16 % of their variance."""
    np.save(tmp_path / "s.npy", np.random.default_rng(1).normal(size=(100, 1)))
    rest = ["--drift=-x", "--noise", "1", "--initial", f"samples({tmp_path}/s.npy)", "--time", "0.3", "--at", "0"]
    for method in ("grid", "walk", "particles"):
        note = succeed("solve", *rest, "--method", method).splitlines()[0]
        assert ("raises their variance by 16 % and is not in the errors" in note) == (method != "particles"), note

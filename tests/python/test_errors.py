"""Errors: their classes, their sentences; interrupts, threads and forks."""

import math
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import heatball
from heatball import _context


@pytest.mark.parametrize("call, says", [
    (lambda: heatball.ball.sample("kapa", 2, 5),
     "measure is 'kapa'; it must be kappa, source or gradient"),
    (lambda: heatball.ball.sample("kappa", 0, 5), "dim is 0; it must be 1 to 1000000"),
    (lambda: heatball.ball.sample("kappa", -3, 5), "dim is -3; it must be 1 to 1000000"),
    (lambda: heatball.ball.sample("kappa", 10**12, 5), "dim is 1000000000000; it must be 1 to 1000000"),
    (lambda: heatball.ball.sample("kappa", 2, 5, lift=-1), "lift is -1; it must be 0 to 1000000"),
    (lambda: heatball.ball.sample("kappa", 2, -5), "n is -5; it must be 0 to"),
    (lambda: heatball.ball.sample("kappa", 2, 5, radius=math.nan), "radius is nan"),
    (lambda: heatball.ball.sample("kappa", 2, 5, radius=-2.5), "radius is -2.5"),
    (lambda: heatball.ball.sample("kappa", 2, 5, radius=math.inf), "radius is inf"),
    (lambda: heatball.ball.sample("kappa", 2, 5, seed=-1),
     "seed is -1; it must be 0 to 18446744073709551615"),
    (lambda: heatball.ball.sample("kappa", 2, 5, first=2**64), "first is 18446744073709551616"),
    (lambda: heatball.ball.sample("kappa", 2, 5, first=2**64 - 3),
     "first is 18446744073709551613; first + n must be below 2^64"),
    (lambda: heatball.ball.sample("kappa", 2, 5, dtype=np.int32),
     "dtype is int32; it must be float64 or float32"),
    (lambda: heatball.ball.sample("kappa", 2, 5, threads=-1), "threads is -1; it must be 0 to 1024"),
    (lambda: heatball.ball.sample("kappa", 2, 5, threads=1025), "threads is 1025; it must be 0 to 1024"),
    (lambda: heatball.ball.constants(0), "dim is 0; it must be 1 to 1000000"),
    (lambda: heatball.ball.constants(2, 2**40), "lift is 1099511627776; it must be 0 to 1000000"),
    (lambda: heatball.ball.kernel("gauss", [0.0], 1.0),
     "kernel is 'gauss'; it must be heat, watson, source, gradient, green or drift"),
    (lambda: heatball.ball.kernel("heat", 0.5, 1.0), "its last axis must hold the coordinates"),
    (lambda: heatball.ball.kernel("watson", [0.5], 1.0, radius=0), "radius is 0"),
    (lambda: heatball.ball.nodes("kappa", 2), "give either degree, or n_time"),
    (lambda: heatball.ball.nodes("kappa", 2, degree=3, n_time=2),
     "give either degree, or n_time"),
    (lambda: heatball.ball.nodes("kappa", 2, degree=-1), "degree is -1"),
    (lambda: heatball.ball.nodes("kappa", 2, degree=2, rotate=(1, -1)), "index is -1"),
    (lambda: heatball.budget(0, 1.0, 1.0), "dim is 0"),
    (lambda: heatball.budget(2, -1.0, 1.0), "-1"),
    (lambda: heatball.budget(2, 1.0, math.nan), "nan"),
    (lambda: heatball.budget(2, 1.0, 1.0, theta=1.5), "theta is 1.5"),
    (lambda: heatball.random.normal(-1, seed=1), "n is -1"),
    (lambda: heatball.random.normal(1, seed=2**64), "seed is 18446744073709551616"),
    (lambda: heatball.random.uniform(1, seed=1, stream=-1), "stream is -1"),
    (lambda: heatball.random.uniform(1, seed=1, dtype=complex), "dtype is complex128"),
    (lambda: heatball.random.words(9, seed=1, first=2**64 - 3), "first + n must be below 2^64"),
])
def test_bad_arguments(call, says):
    with pytest.raises(heatball.ArgumentError) as caught:
        call()
    assert says in str(caught.value), str(caught.value)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, heatball.Error)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.status == 1 and caught.value.status.name == "ERROR_ARGUMENT"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("call, says", [
    (lambda: heatball.ball.sample("kappa", 2.5, 5), "dim is 2.5; it must be an integer"),
    (lambda: heatball.ball.sample("kappa", 2, 1e6), "n is 1000000.0; it must be an integer"),
    (lambda: heatball.ball.sample("kappa", 2, "5x"), "n is '5x'; it must be an integer"),
    (lambda: heatball.ball.sample("kappa", 2, 5, radius="wide"),
     "radius is 'wide'; it must be a number"),
    (lambda: heatball.budget(2, None, 1.0), "drift_sup is None; it must be a number"),
])
def test_wrong_types(call, says):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == says


def test_a_failure_leaves_the_next_call_alone():
    before = heatball.ball.constants(3)
    with pytest.raises(heatball.ArgumentError):
        heatball.ball.constants(-3)
    assert heatball.ball.constants(3) == before


def test_errors_survive_pickling():
    for error in (heatball.Error("full", 4), heatball.ArgumentError("dim is 0")):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error) and str(copy) == str(error) and copy.status == error.status


def test_too_many_draws_is_a_memory_error_or_a_value_error():
    with pytest.raises((MemoryError, ValueError)):
        heatball.ball.sample("kappa", 1000000, 2**50)


def test_threads_of_python_work_side_by_side():
    expected = {s: heatball.ball.sample("kappa", 3, 20000, seed=s) for s in range(8)}
    failures = []

    def work(seed):
        for _ in range(5):
            z, sigma = heatball.ball.sample("kappa", 3, 20000, seed=seed, threads=seed % 3)
            try:
                heatball.ball.constants(-seed)
            except heatball.ArgumentError as error:
                said = str(error)
            if not np.array_equal(z, expected[seed][0]) or f"dim is {-seed};" not in said:
                failures.append((seed, said))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_context_is_kept_and_each_thread_has_its_own():
    def address(pointer):
        return _context.library.hb_context_message(pointer) is not None and \
            _context.ctypes.addressof(pointer.contents)

    mine = address(_context.context(2))
    assert address(_context.context(2)) == mine != address(_context.context(1))
    theirs = []
    thread = threading.Thread(target=lambda: theirs.append(address(_context.context(2))))
    thread.start()
    thread.join()
    assert theirs and theirs[0] != mine


def _sample_in_child(queue):
    queue.put(heatball.ball.sample("kappa", 3, 100000, seed=9, threads=2)[1].sum())


def test_a_forked_child_can_sample():
    """GNU OpenMP hangs in a child of a process that has used threads; the package must not."""
    expected = heatball.ball.sample("kappa", 3, 100000, seed=9, threads=2)[1].sum()
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=_sample_in_child, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=20) == expected
    finally:
        child.kill()
        child.join()


def test_ctrl_c_stops_a_long_sample():
    script = ("import heatball, sys\n"
              "heatball.ball.constants(2)\n"
              "print('ready', flush=True)\n"
              "try:\n"
              "    while True: heatball.ball.sample('kappa', 64, 4000000)\n"
              "except KeyboardInterrupt:\n"
              "    print('stopped', flush=True)\n")
    env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(heatball.__file__))}
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                             env=env)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    sent = time.monotonic()
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=30)
    assert out == "stopped\n" and child.returncode == 0
    assert time.monotonic() - sent < 20


def test_interrupts_come_between_pieces(monkeypatch):
    """A long sample is many calls, so the interpreter gets to see a signal between two of them."""
    monkeypatch.setattr(heatball.ball, "CHUNK", 7000)
    calls = []
    real = heatball.ball.call

    def spy(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(heatball.ball, "call", spy)
    with pytest.raises(KeyboardInterrupt):
        heatball.ball.sample("kappa", 3, 100000)
    assert len(calls) <= 6

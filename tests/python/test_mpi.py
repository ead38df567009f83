"""heatball.mpi: ranks under mpirun make the same calls, and each has the bytes of one process.

Every rank runs a script and leaves what it has in files of its own, or nothing when an assertion of its own fails.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from heatball import _native_mpi

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
PLUG_IN = [path for _, path in _native_mpi.candidates() if os.sep in path and os.path.exists(path)]
MPIRUN = shutil.which("mpirun")

needs_mpi = pytest.mark.skipif(not MPIRUN or not PLUG_IN, reason="mpirun is missing" if not MPIRUN else
                               "libheatball-mpi.so is missing: it is built where Open MPI is")


def run(directory, script, ranks=0, timeout=60, **env):
    """Run a script on so many ranks, 0: without mpirun; return the ended process."""
    path = pathlib.Path(directory) / "script.py"
    path.write_text("import os, sys\nimport numpy as np\nimport heatball\n" + textwrap.dedent(script))
    start = [MPIRUN, "--allow-run-as-root", "--oversubscribe", "-q", "-n", str(ranks)] if ranks else []
    packages = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    return subprocess.run([*start, sys.executable, path], cwd=directory, capture_output=True, text=True,
                          timeout=timeout, env={**os.environ, "PYTHONPATH": packages, **env})


def succeed(*arguments, **options):
    done = run(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return done


# ---- the bytes of one process -------------------------------------------------------------------

WORK = """
def work(save):
    initial = "gaussian(mean=0, var=1)"
    at = np.linspace(-1, 1, 5)
    found = {}
    for method, samples in (("walk", 4000), ("particles", 5000)):
        s = heatball.solve("x - x^3", "1", initial, 0.5, at, method=method, samples=samples, seed=3)
        found.update({method + "_density": s.density, method + "_score": s.score, method + "_se": s.density_error})
    own = heatball.solve(lambda x: -x**3, "1", initial, 0.1, at[:2], method="particles", samples=300, seed=4)
    found["callback"] = own.density
    data = heatball.random.normal(2 * 1040, seed=5).reshape(1040, 2)
    model = heatball.train(data, steps=6, batch=520, width=16, depth=2, seed=1)
    model.save(save)
    found["score"] = model.score(data, 0.3)
    found["rows"] = model.generate(700, seed=2, n_steps=8)
    found["likelihood"] = model.log_likelihood(data[:40])
    found["mmd"] = np.array(list(heatball.metrics.mmd(data, found["rows"]).values()))
    found["draws"] = heatball.ball.sample("kappa", 3, 5000, seed=7)[0]
    return found


def leave(found, name):
    for key, values in found.items():
        np.save(f"{name}-{key}.npy", values)
"""


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """The directory of what one process has."""
    directory = tmp_path_factory.mktemp("serial")
    succeed(directory, WORK + 'leave(work("model.safetensors"), "0")\n')
    return directory


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_every_rank_has_the_bytes_of_one_process(tmp_path, serial, ranks):
    succeed(tmp_path, WORK + f"""
team = heatball.mpi.join()
assert team.size == {ranks}
leave(work("model.safetensors"), team.rank)
import ctypes
moved = ctypes.c_uint64()
heatball.mpi._plug_in.hb_team_mpi_traffic(team.pointer, ctypes.byref(moved), None)
assert moved.value > 10**4, moved.value  # they did share the work
""", ranks)
    names = sorted(path.name.removeprefix("0-") for path in serial.glob("*.npy"))
    assert len(names) == 12
    for name in names:
        expected = (serial / f"0-{name}").read_bytes()
        assert [(tmp_path / f"{rank}-{name}").read_bytes() == expected for rank in range(ranks)] == [True] * ranks, name
    assert (tmp_path / "model.safetensors").read_bytes() == (serial / "model.safetensors").read_bytes()
    assert np.isfinite(np.load(serial / "0-walk_density.npy")).all()


# ---- joined, left, alone ------------------------------------------------------------------------

@needs_mpi
def test_join_leave_alone_and_other_threads(tmp_path):
    """Calls that only rank 1 makes return: it is alone in them."""
    done = succeed(tmp_path, """
        import copy, pickle, threading
        def solve():
            return heatball.solve("x - x^3", "1", "gaussian(mean=0, var=1)", 0.5, [0.1], method="walk",
                                  samples=500).density
        alone = solve()
        with heatball.mpi.join() as team:
            assert (team.rank, team.size) == (int(os.environ["OMPI_COMM_WORLD_RANK"]), 2) and team.threads >= 1
            assert repr(team).startswith(f"Team: rank {team.rank} of 2, ")
            assert heatball.mpi.join() is team
            assert solve() == alone
            model = heatball.train("ring", n=300, steps=3, width=8, depth=1, progress=True)
            if team.rank == 1:
                with team.alone():
                    assert solve() == alone
                    model.save("alone.safetensors")
                copied = pickle.loads(pickle.dumps(model))
                assert (copied.score([[0.1, 0.2]], 0.5) == copy.copy(model).score([[0.1, 0.2]], 0.5)).all()
                seen = []
                thread = threading.Thread(target=lambda: seen.append(solve()))
                thread.start(), thread.join()
                assert seen == [alone]
                child = os.fork()
                if child == 0:
                    os._exit(0 if solve() == alone else 9)
                assert os.waitpid(child, 0)[1] == 0
            assert solve() == alone
        team.leave()
        if team.rank == 0:
            assert solve() == alone
        again = heatball.mpi.join()
        assert again is team and solve() == alone
        assert model.generate(10).shape == (10, 2)
    """, 2)
    assert done.stderr.count("train: step 3 of 3") == 1  # that of rank 0
    assert (tmp_path / "alone.safetensors").exists()


@needs_mpi
def test_a_second_thread_cannot_join(tmp_path):
    succeed(tmp_path, """
        import threading
        heatball.mpi.join()
        seen = []
        def join():
            try:
                heatball.mpi.join()
            except heatball.ArgumentError as error:
                seen.append(str(error))
        thread = threading.Thread(target=join)
        thread.start(), thread.join()
        assert seen == ["another thread of this process is in a process group; only one can be"]
    """)


# ---- errors -------------------------------------------------------------------------------------

@needs_mpi
def test_an_error_is_one_on_all_ranks_and_the_team_goes_on(tmp_path):
    succeed(tmp_path, """
        team = heatball.mpi.join()
        def solve(drift, **more):
            return heatball.solve(drift, "1", "gaussian(mean=0, var=1)", 0.5, [0.1, 0.2, 0.3, 0.4], method="walk",
                                  samples=500, dim=1, **more)
        def broken(x, t):
            if team.rank == 1:
                raise ZeroDivisionError("on rank 1")
            return -x
        failed = []
        for drift, kind in (("-x +", heatball.ArgumentError), (broken, Exception)):
            try:
                solve(drift)
            except kind as error:
                failed.append(error)
        assert len(failed) == 2 and isinstance(failed[1], ZeroDivisionError if team.rank == 1 else heatball.Error)
        try:
            heatball.load("nowhere.safetensors")
        except heatball.Error as error:
            assert "cannot open nowhere.safetensors" in str(error)
        try:
            heatball.train("ring", n=300, steps=3, width=8, depth=1).save("nowhere/model.safetensors")
        except heatball.Error as error:
            failed.append(error)
        assert len(failed) == 3
        assert solve("-x").density.shape == (4,)
    """, 2)


@needs_mpi
@pytest.mark.parametrize("how", ["team = heatball.mpi.join()\nif True:", "with heatball.mpi.join() as team:"])
def test_a_rank_that_fails_alone_ends_the_others(tmp_path, how):
    begin = time.monotonic()
    done = run(tmp_path, f"""
heatball.mpi.PATIENCE = 0.5
{how}
    if team.rank == 1:
        raise ZeroDivisionError("alone")
    heatball.solve("-x", "1", "gaussian(mean=0, var=1)", 0.5, [0.1], method="walk", samples=500)
""", 2)
    assert done.returncode != 0 and time.monotonic() - begin < 30
    assert done.stderr.count("ZeroDivisionError: alone") == 1
    assert "heatball: rank 1 of 2 has failed, and ends the others\n" in done.stderr


@needs_mpi
def test_a_failure_of_all_ranks_is_shown_once(tmp_path):
    done = run(tmp_path, """
        team = heatball.mpi.join()
        heatball.ball.sample("kapa", 2, 10)
    """, 2)
    assert done.returncode == 1 and "ends the others" not in done.stderr
    assert done.stderr.count("ArgumentError: measure is 'kapa'") == 1


def test_without_the_plug_in_it_is_said(tmp_path):
    done = succeed(tmp_path, """
        try:
            heatball.mpi.join()
        except heatball.Error as error:
            print(error, error.status.name)
        print(heatball.ball.constants(2)["dim"])
    """, HEATBALL_MPI="/nowhere/plug-in.so")
    first, second = done.stdout.splitlines()
    assert first.startswith("libheatball-mpi.so, which makes processes one process group, cannot be loaded; install Open MPI")
    assert "/nowhere/plug-in.so (the environment variable HEATBALL_MPI): " in first
    assert first.endswith("ERROR_UNAVAILABLE") and second == "2"


def test_what_is_no_communicator_is_said(tmp_path):
    done = run(tmp_path, "heatball.mpi.join(3)\n")
    assert "TypeError: comm is of type int; it must be an intracommunicator of mpi4py, or None" in done.stderr


@needs_mpi
def test_another_mpi_than_that_of_mpi4py_is_said(tmp_path):
    """A module that says of itself that it is for another one."""
    done = run(tmp_path, """
        import types
        fake = types.ModuleType("mpi4py.MPI")
        fake.Comm = fake.Intracomm = type("Intracomm", (), {})
        fake.COMM_NULL = None
        fake.Get_library_version = lambda: "MPICH Version:      4.0.2\\nMPICH Release date: none"
        sys.modules["mpi4py.MPI"] = fake
        heatball.mpi.join(fake.Intracomm())
    """)
    assert "heatball.Error: libheatball-mpi.so is for Open MPI v" in done.stderr
    assert "and mpi4py for MPICH Version:      4.0.2; they must be for the same MPI" in done.stderr


# ---- with mpi4py --------------------------------------------------------------------------------

@needs_mpi
def test_communicators_of_mpi4py(tmp_path):
    """The world's, one of a part of the ranks, and none."""
    pytest.importorskip("mpi4py")
    succeed(tmp_path, """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        def solve(seed):
            return heatball.solve("x - x^3", "1", "gaussian(mean=0, var=1)", 0.5, [0.1, 0.2, 0.3], method="walk",
                                  samples=1000, seed=seed).density
        alone = [solve(seed) for seed in range(2)]
        with heatball.mpi.join(world) as team:
            assert (team.rank, team.size) == (world.rank, 3) and heatball.mpi.join(world) is team
            assert (solve(0) == alone[0]).all()
            try:
                heatball.mpi.join(MPI.COMM_SELF)
                assert False
            except heatball.ArgumentError as error:
                assert str(error) == "this process is in a process group of 3 ranks already; leave it before joining another"
        part = world.Split(world.rank % 2, world.rank)
        with heatball.mpi.join(part) as team:  # ranks 0 and 2 do one thing, rank 1 another
            assert (team.rank, team.size) == (world.rank // 2, 2 - world.rank % 2)
            assert (solve(world.rank % 2) == alone[world.rank % 2]).all()
        few = world.Split(0 if world.rank < 2 else MPI.UNDEFINED, 0)
        try:
            with heatball.mpi.join(few) as team:
                assert team.size == 2 and (solve(1) == alone[1]).all()
        except heatball.ArgumentError as error:
            assert world.rank == 2 and "COMM_NULL" in str(error)
        model = heatball.train("ring", n=300, steps=3, width=8, depth=1) if world.rank == 0 else None
        model = world.bcast(model)
        team = heatball.mpi.join(part)  # not left: it ends with the process, before mpi4py
        assert world.allreduce(1) == 3 and model.generate(10).shape == (10, 2)
    """, 3)


@needs_mpi
def test_mpi4py_after_join(tmp_path):
    pytest.importorskip("mpi4py")
    succeed(tmp_path, """
        team = heatball.mpi.join()
        from mpi4py import MPI
        assert MPI.COMM_WORLD.rank == team.rank and MPI.COMM_WORLD.allreduce(1) == team.size == 2
    """, 2)

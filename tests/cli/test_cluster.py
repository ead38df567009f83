"""The command under mpirun: ranks change no byte, only rank 0 speaks, a rank that dies ends the job and loses nothing.

Oracle: the same command without mpirun. Ranks are more than the cores here, so that nothing is learnt about speed.
"""

import filecmp
import os
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

from command_line import BUILD, COMMAND, complaint, run, succeed, without_progress

PLUG_IN = BUILD / "libheatball-mpi.so"
pytestmark = pytest.mark.skipif(
    shutil.which("mpirun") is None or not PLUG_IN.exists(),
    reason="mpirun or libheatball-mpi.so is missing: `make deps` installs Open MPI, `make` builds the library")

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
# nonlinear and without potential: nothing is in closed form
TURNING = ["solve", "--drift", "y - x + sin(x), -x - y", "--noise", "1.3", "--initial",
           "gaussian(mean=0.3 -0.2, var=0.4)", "--time", "0.4", "--at", "0.3,-0.2; -0.5,0.8; 1,1"]
# 520 rows are five micro-batches of a step
TRAIN = ["train", "--data", "ring", "-n", 520, "--batch", 520, "--width", 24, "--depth", 2]
ANCHORS = ["--anchors", 16]


def words(*arguments):
    return [str(argument) for argument in arguments]


def on_ranks(ranks, *arguments, quiet=True):
    """The words that start the command on so many ranks."""
    return words(*MPIRUN, *(["-q"] if quiet else []), "-n", ranks, COMMAND, *arguments)


def finish(command, **options):
    done = subprocess.run(words(*command), capture_output=True, text=True, timeout=120, **options)
    done.stderr = without_progress(done.stderr)
    return done


def cluster(ranks, *arguments, **options):
    """What ranks print together; nothing but progress may stand on stderr."""
    done = finish(on_ranks(ranks, *arguments), **options)
    assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr)
    return done.stdout


def start(command, **options):
    return subprocess.Popen(words(*command), stdout=subprocess.PIPE, text=True, **options)


def until(condition, process, seconds=60):
    """Wait for something that a process brings about; fail when it ends before."""
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None and time.monotonic() < end, "the run has ended, or takes too long"
        time.sleep(0.02)


def names(directory):
    return sorted(path.name for path in directory.iterdir())


# ---- the same bytes -----------------------------------------------------------------------------

@pytest.mark.parametrize("ranks, threads, options", [
    (4, 1, ["--method", "walk", "--samples", 9001]),
    (2, 2, ["--method", "walk", "--stderr", 0.006, "--json"]),
    (3, 1, ["--method", "particles", "--samples", 20011, "--json"]),
    (2, 1, ["--method", "particles", "--stderr", 0.006]),
    (3, 1, ["--method", "guided", "--samples", 6000, "--json"]),
    (3, 2, ["--method", "auto", "--cells", 100000, "--samples", 9001]),  # no grid of that size: samples
])
def test_solve(ranks, threads, options):
    alone = succeed(*TURNING, *options, "-q")
    assert alone and cluster(ranks, *TURNING, *options, "-q", "--threads", threads) == alone


@pytest.mark.parametrize("method, seconds", [("walk", 0.4), ("particles", 0.3), ("particles", 0.6)])
def test_all_ranks_end_when_the_time_is_over(method, seconds):
    """Clocks of ranks differ; none may wait for another that has left."""
    said = cluster(4, *TURNING, "--method", method, "--stderr", 1e-6, "--max-time", seconds, "--threads", 1)
    assert said.startswith(f"# {method}, time 0.4")


@pytest.mark.parametrize("ranks, rows, name, more", [
    (3, 100001, "x.npy", ["--threads", 2]), (4, 100001, "x.npy", ["--dtype", "f32", "--first", 7]),
    (4, 3, "x.npy", []), (2, 0, "x.npy", []), (3, 5000, "x.csv", []), (4, 2, "x.csv", ["--dtype", "f32"]),
])
def test_sample(tmp_path, ranks, rows, name, more):
    options = ["sample", "--measure", "kappa", "--dim", 3, "--seed", 5, "-n", rows, *more]
    succeed(*options, "-q", "-o", tmp_path / f"alone-{name}")
    said = cluster(ranks, *options, "-o", tmp_path / name)
    assert said.count("\n") == 1 and f"{rows} rows of kappa" in said  # of the whole, once
    assert (tmp_path / name).read_bytes() == (tmp_path / f"alone-{name}").read_bytes()
    assert len(names(tmp_path)) == 2  # no temporary stays


@pytest.mark.parametrize("ranks, threads, options", [
    (4, 1, ["--loss", "dsm"]), (3, 2, ["--loss", "hb", *ANCHORS]), (2, 1, ["--loss", "fp", *ANCHORS]),
])
def test_train(tmp_path, ranks, threads, options):
    for name, go in (("alone", succeed), ("ranks", lambda *arguments: cluster(ranks, *arguments))):
        (tmp_path / name).mkdir()
        go(*TRAIN, *options, "--steps", 30, "--log", tmp_path / name / "log.csv", "-q", "--threads", threads, "-o",
           tmp_path / name / "m.safetensors")
    assert names(tmp_path / "alone") == names(tmp_path / "ranks") == ["log.csv", "m.safetensors"]
    model = [(tmp_path / name / "m.safetensors").read_bytes() for name in ("alone", "ranks")]
    assert model[0] == model[1]
    # the last column is the clock's
    logs = [np.genfromtxt(tmp_path / name / "log.csv", delimiter=",", names=True) for name in ("alone", "ranks")]
    for column in logs[0].dtype.names:
        assert "second" in column or np.array_equal(logs[0][column], logs[1][column], equal_nan=True), column


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    succeed(*TRAIN, "--loss", "dsm", "--steps", 60, "-q", "-o", path)
    return path


@pytest.mark.parametrize("ranks, threads, options", [
    (3, 1, ["-n", 1000, "--solver", "sde", "--n-steps", 20, "-o", "x.npy"]),
    (2, 2, ["-n", 301, "--solver", "ode", "--ode-tolerance", "1e-3", "-o", "x.csv"]),
    (4, 1, ["-n", 3, "--solver", "heun", "--n-steps", 5, "--first", 11, "-o", "x.npy"]),
])
def test_generate(tmp_path, model, ranks, threads, options):
    for name in ("alone", "ranks"):
        (tmp_path / name).mkdir()
    succeed("generate", model, *options, "-q", cwd=tmp_path / "alone")
    cluster(ranks, "generate", model, *options, "-q", "--threads", threads, cwd=tmp_path / "ranks")
    assert names(tmp_path / "ranks") == [options[-1]]
    assert (tmp_path / "alone" / options[-1]).read_bytes() == (tmp_path / "ranks" / options[-1]).read_bytes()


def test_evaluate(model):
    options = ["evaluate", model, "--data", "ring", "--tau", 0.5, "-n", 200, "--samples", 101, "--json"]
    assert cluster(3, *options, "--threads", 1) == succeed(*options)


def same_directories(first, second):
    compared = filecmp.dircmp(first, second)
    assert not compared.left_only and not compared.right_only and not compared.funny_files
    assert filecmp.cmpfiles(first, second, compared.common_files, shallow=False)[1:] == ([], [])
    for name in compared.common_dirs:
        same_directories(first / name, second / name)


@pytest.mark.long
@pytest.mark.parametrize("study", ["identities", "drift", "dimension"])
def test_study(tmp_path, study):
    succeed("study", study, "--quick", "-q", "-o", tmp_path / "x")
    (tmp_path / "x").rename(tmp_path / "alone")
    cluster(2, "study", study, "--quick", "-q", "-o", tmp_path / "x")
    same_directories(tmp_path / "alone", tmp_path / "x")
    for cell in sorted((tmp_path / "x").glob("runs/*.json"))[::3]:
        cell.unlink()
    cluster(3, "study", study, "--quick", "-q", "--resume", "-o", tmp_path / "x")
    same_directories(tmp_path / "alone", tmp_path / "x")


# ---- who speaks, who works ----------------------------------------------------------------------

def test_a_grid_is_done_by_rank_0_which_says_so():
    options = [*TURNING, "--method", "grid", "--cells", 64]
    done = finish(on_ranks(2, *options))
    assert done.returncode == 0 and done.stdout == succeed(*options)
    threads = max(1, len(os.sched_getaffinity(0)) // 2)  # the cores, shared by two ranks
    s = "" if threads == 1 else "s"
    assert done.stderr == f"heatball solve: note: the grid is done by rank 0 alone, on {threads} thread{s}\n"


def test_commands_of_rank_0_alone():
    assert cluster(2, "constants", "--dim", 3) == succeed("constants", "--dim", 3)


@pytest.mark.parametrize("options, says", [
    (["solve", "--method", "grud"], "--method is grud"),
    (["sample", "--measure", "kappa", "--dim", 2, "-n", 10, "-o", "missing/x.npy"], "missing/x.npy"),
    (["evaluate", "missing.safetensors", "--data", "ring"], "missing.safetensors"),
    (["train", "--data", "no-such-set", "--loss", "dsm", "-o", "x.safetensors"], "no-such-set"),
])
def test_wrong_input_is_one_line(tmp_path, options, says):
    line = complaint(finish(on_ranks(3, *options), cwd=tmp_path), 2)
    assert says in line and line == complaint(run(*options, cwd=tmp_path), 2)
    assert names(tmp_path) == []


def test_other_arguments_on_one_rank_are_found(tmp_path):
    def started(*changed):
        one, other = (["sample", "--measure", "kappa", "--dim", 2, "-n", n, "-o", tmp_path / "x.npy"] for n in (10, 11))
        done = finish([*MPIRUN, "-q", "-n", 2, COMMAND, *one, ":", "-n", 1, COMMAND, *other, *changed])
        assert names(tmp_path) == []
        return done
    assert "rank 2 of 3 was started with other arguments" in complaint(started(), 2)
    # a rank that cannot even begin ends the others, and says who it is
    done = started("--nonsense")
    lines = done.stderr.splitlines()
    assert done.returncode == 2 and done.stdout == "" and len(lines) == 2
    assert "--nonsense" in lines[0] and lines[1] == "heatball: rank 2 of 3 has failed, and ends the others"


def test_other_bytes_on_one_rank_are_found(tmp_path):
    for rank in range(3):
        (tmp_path / str(rank)).mkdir()
        np.save(tmp_path / str(rank) / "x.npy", np.arange(200.).reshape(100, 2) + (rank == 1))
    script = f'cd $OMPI_COMM_WORLD_RANK && exec "{COMMAND}" "$@"'
    rest = ["sh", "train", "--data", "x.npy", "--loss", "dsm", "--steps", 5, "--width", 8, "--depth", 1, "-q",
            "-o", tmp_path / "m.safetensors"]
    said = complaint(finish([*MPIRUN, "-q", "-n", 3, "sh", "-c", script, *rest], cwd=tmp_path), 2)
    assert "rank 1 of 3 has other bytes in x.npy than rank 0" in said
    shutil.copy(tmp_path / "0" / "x.npy", tmp_path / "1" / "x.npy")
    assert finish([*MPIRUN, "-q", "-n", 3, "sh", "-c", script, *rest], cwd=tmp_path).returncode == 0
    (tmp_path / "2" / "x.npy").unlink()
    said = complaint(finish([*MPIRUN, "-q", "-n", 3, "sh", "-c", script, *rest], cwd=tmp_path), 2)
    assert "rank 2 of 3 has other bytes in x.npy than rank 0" in said


# ---- stopped, killed, and gone on with ----------------------------------------------------------

def rounds_of(state):
    """Rounds of each point in a state of walks; 0 while there is none."""
    try:
        with open(state, "rb") as file:
            return int(np.load(file)[1:, 1].min())
    except (OSError, ValueError):
        return 0


def interrupt(process, number):
    """Sent to mpirun, which tells its ranks and a second later ends them; what was lost on its way is no matter."""
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    return out


def test_a_stopped_solve_goes_on_with_other_ranks(tmp_path):
    """Three ranks, two, then one and four. Each of the three writes on a terminal of its own, where progress is shown
    soon: rank 0 does, the others are silent."""
    state, said = tmp_path / "state", tmp_path / "said"
    options = [*TURNING, "--method", "walk", "--state", state, "--save-every", 0.05, "--threads", 1, "--samples",
               "1e9", "--resume"]
    process = start([*MPIRUN, "-q", "--output-filename", said, "-n", 3, "sh", "-c", 'exec "$0" "$@" 2>&1', COMMAND,
                     *options], stderr=subprocess.DEVNULL)

    def spoken(rank):
        return "".join(path.read_text() for path in said.glob(f"*/rank.{rank}/stdout"))
    until(lambda: rounds_of(state) > 1 and " left" in spoken(0), process)
    interrupt(process, signal.SIGINT)
    assert "heatball solve: walks" in spoken(0) and spoken(1) == spoken(2) == ""
    before = rounds_of(state)
    process = start(on_ranks(2, *options), stderr=subprocess.PIPE)
    until(lambda: rounds_of(state) > before, process)
    assert interrupt(process, signal.SIGTERM) == ""
    samples = 8192 * (rounds_of(state) + 1)
    options = [*TURNING, "--method", "walk", "-q", "--samples", samples]
    whole = succeed(*options)
    copy = tmp_path / "copy"
    shutil.copy(state, copy)
    assert cluster(4, *options, "--state", copy, "--resume", "--threads", 1) == whole
    assert succeed(*options, "--state", state, "--resume") == whole
    assert names(tmp_path) == ["copy", "said", "state"] and copy.read_bytes() == state.read_bytes()


STEPS = 400
LONG = [*TRAIN, "--loss", "hb", *ANCHORS, "--steps", STEPS, "-q"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the bytes of LONG on one process without a stop."""
    path = tmp_path_factory.mktemp("whole") / "m.safetensors"
    succeed(*LONG, "-o", path)
    return path.read_bytes()


def children(process):
    """The ranks that an mpirun has started on this machine."""
    listed = subprocess.run(["ps", "--ppid", str(process.pid), "-o", "pid=,comm="], capture_output=True, text=True)
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if line.split()[1] == "heatball"]


def test_a_stopped_training_goes_on_with_other_ranks(tmp_path, whole):
    """Four ranks, three, then one. A rank that alone is asked to stop stops all of them, after the same step."""
    path, checkpoint = tmp_path / "m.safetensors", tmp_path / "m.ckpt"
    for ranks in (4, 3):
        before = checkpoint.read_bytes() if checkpoint.exists() else None
        process = start(on_ranks(ranks, *LONG, "-o", path, "--checkpoint-every", 20, "--resume", "--threads", 1),
                        stderr=subprocess.PIPE)
        until(lambda: checkpoint.exists() and checkpoint.read_bytes() != before, process)
        os.kill(children(process)[ranks - 3], signal.SIGTERM)
        out, error = process.communicate(timeout=60)
        assert process.returncode == 1 and out == ""
        assert re.fullmatch(rf"heatball train: interrupted after step \d+ of {STEPS}; the same command with --resume "
                            rf"continues from {re.escape(str(checkpoint))}\n", error), error
        assert names(tmp_path) == ["m.ckpt"]
    succeed(*LONG, "-o", path, "--resume")
    assert path.read_bytes() == whole


def has_ended(name):
    """Whether the process of a temporary is gone; where nobody collects orphans it stays in the list as ended."""
    try:
        with open(f"/proc/{name.rsplit('-', 1)[1]}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def without_ended(directory):
    """The files of a directory, less temporaries of ended processes that the system still lists."""
    listed = names(directory)
    assert all(has_ended(name) for name in listed if ".tmp-" in name), listed
    return [name for name in listed if ".tmp-" not in name]


@pytest.mark.parametrize("victim, next_ranks", [(0, 2), (-1, 1)])
def test_a_killed_rank_ends_the_job_and_nothing_is_lost(tmp_path, whole, victim, next_ranks):
    path, checkpoint = tmp_path / "m.safetensors", tmp_path / "m.ckpt"
    process = start(on_ranks(3, *LONG, "-o", path, "--checkpoint-every", 20, "--threads", 1, quiet=False),
                    stderr=subprocess.PIPE)
    until(checkpoint.exists, process)
    ranks = children(process)
    assert len(ranks) == 3
    os.kill(ranks[victim], signal.SIGKILL)
    out, error = process.communicate(timeout=60)
    assert process.returncode != 0 and "signal 9" in out + error
    assert without_ended(tmp_path) == ["m.ckpt"]
    go_on = [*LONG, "-o", path, "--checkpoint-every", 100, "--resume", "--threads", 1]
    if next_ranks == 1:
        succeed(*go_on)
    else:
        cluster(next_ranks, *go_on)
    assert path.read_bytes() == whole
    assert without_ended(tmp_path) == ["m.ckpt", "m.safetensors"]


def test_a_killed_sample_leaves_no_half_file(tmp_path):
    options = ["sample", "--measure", "kappa", "--dim", 30, "-q", "-o", tmp_path / "x.npy"]
    (tmp_path / "x.npy").write_bytes(b"old")
    process = start(on_ranks(2, *options, "-n", 1000000), stderr=subprocess.DEVNULL)
    until(lambda: len(names(tmp_path)) == 2, process)
    os.kill(children(process)[1], signal.SIGKILL)
    assert process.wait(60) != 0
    process.stdout.close()
    assert (tmp_path / "x.npy").read_bytes() == b"old"
    cluster(3, *options, "-n", 10)
    whole = (tmp_path / "x.npy").read_bytes()
    assert without_ended(tmp_path) == ["x.npy"]
    succeed(*options, "-n", 10)
    assert (tmp_path / "x.npy").read_bytes() == whole


# ---- without MPI --------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_several_processes_without_the_plug_in_are_refused(tmp_path, name):
    environment = {**os.environ, name: "4", "SLURM_STEP_ID": "0", "HEATBALL_MPI": "/nonexistent"}
    options = ["sample", "--measure", "kappa", "--dim", 2, "-n", 10, "-o", "x.npy"]
    said = complaint(run(*options, cwd=tmp_path, env=environment), 2)
    assert "one of 4 processes" in said and "Open MPI" in said
    assert names(tmp_path) == []
    environment[name] = "1"  # one process needs none
    succeed(*options, "-q", cwd=tmp_path, env=environment)


def test_mpirun_without_the_plug_in_is_one_line(tmp_path):
    options = ["sample", "--measure", "kappa", "--dim", 2, "-n", 10, "-o", "x.npy"]
    environment = {**os.environ, "HEATBALL_MPI": "/nonexistent"}
    assert "one of 3 processes" in complaint(finish(on_ranks(3, *options), cwd=tmp_path, env=environment), 2)
    assert names(tmp_path) == []


OF_MPI = re.compile(r"libmpi|libopen-|libheatball-mpi|libpmi")


def test_nothing_of_mpi_is_loaded_without_mpirun(tmp_path):
    for file in (COMMAND, BUILD / "libheatball.so"):
        linked = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=True).stdout
        assert "libc.so" in linked and not OF_MPI.search(linked)
    environment = {**os.environ, "LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(tmp_path / "loaded")}
    succeed(*TURNING, "--method", "walk", "--samples", 100, "-q", env=environment)
    loaded = "".join(path.read_text() for path in tmp_path.glob("loaded*"))
    assert "libm.so" in loaded and not OF_MPI.search(loaded)

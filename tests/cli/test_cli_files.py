"""What the command does to files: an input is never replaced, a name is never run, a killed run leaves nothing.

The binary is $HEATBALL_COMMAND, by default build/heatball.
"""
import functools
import os
import shutil
import subprocess
import time

import numpy as np
import pytest
import command_line
from command_line import COMMAND

HAS_GNUPLOT = shutil.which("gnuplot") is not None
SOLVE = ["solve", "--drift", "-x", "--noise", "1", "--initial", "gaussian(mean=0,var=1)", "--time", "0.5"]
TRAIN = ["train", "--loss", "dsm", "--epochs", "1", "--width", "8", "--depth", "1", "-q"]


run = functools.partial(command_line.run, text=False, timeout=60)


def refused(result, *words, code=2):
    text = result.stderr.decode()
    assert result.returncode == code, (result.returncode, text)
    assert text.startswith("heatball") and text.count("\n") == 1, text
    for word in words:
        assert word in text, text


def files(directory):
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*"))
            if p.is_file() and not p.is_symlink()}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    assert run(*TRAIN, "--data", "ring", "-o", path).returncode == 0
    return path


@pytest.fixture
def place(tmp_path, model):
    rows = np.random.default_rng(1).normal(size=(64, 2))
    np.savetxt(tmp_path / "real.csv", rows, delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "p.csv", [[0.1], [0.2]])
    np.save(tmp_path / "field.npy", np.ones((16, 16, 2)))
    np.save(tmp_path / "k.npy", rows[:, :1])
    (tmp_path / "real.plot.csv").write_text("1,2\n3,4\n5,6\n")
    (tmp_path / "p.ini").write_text("[problem]\ndrift = -x\nnoise = 1\ninitial = samples(k.npy)\ntime = 1\n")
    shutil.copy(model, tmp_path / "m.safetensors")
    (tmp_path / "sub").mkdir()
    os.symlink("real.csv", tmp_path / "soft.csv")
    os.link(tmp_path / "real.csv", tmp_path / "hard.csv")
    os.symlink(".", tmp_path / "here")
    return tmp_path


# command line, the input that must stay
OVERWRITES = [
    ([*TRAIN, "--data", "real.csv", "--log", "real.csv", "-o", "n.safetensors"], "real.csv"),
    ([*TRAIN, "--data", "real.csv", "--log", "./sub/../real.csv", "-o", "n.safetensors"], "real.csv"),
    ([*TRAIN, "--data", "real.csv", "--log", "soft.csv", "-o", "n.safetensors"], "real.csv"),
    ([*TRAIN, "--data", "soft.csv", "--log", "real.csv", "-o", "n.safetensors"], "soft.csv"),
    ([*TRAIN, "--data", "real.csv", "--log", "hard.csv", "-o", "n.safetensors"], "real.csv"),
    ([*TRAIN, "--data", "real.csv", "--log", "here/real.csv", "-o", "n.safetensors"], "real.csv"),
    ([*TRAIN, "--data", "real.plot.csv", "--plot", "real.png", "-o", "n.safetensors"], "real.plot.csv"),
    ([*SOLVE, "--at", "p.csv", "-o", "p.csv"], "p.csv"),
    ([*SOLVE, "--at", "p.csv", "-o", "here/p.csv"], "p.csv"),
    ([*SOLVE, "--method", "walk", "--samples", "100", "--at", "p.csv", "--state", "p.csv"], "p.csv"),
    (["solve", "--problem", "p.ini", "--at", "0", "-o", "k.npy"], "k.npy"),
    (["residual", "--problem", "p.ini", "--at", "p.csv", "--radii", "0.1", "-o", "p.csv"], "p.csv"),
    (["generate", "m.safetensors", "-n", "9", "-o", "m.safetensors"], None),
    (["evaluate", "m.safetensors", "--data", "real.plot.csv", "--samples", "9", "--plot", "real.svg"],
     "real.plot.csv"),
    (["helmholtz", "field.npy", "-o", "."], "field.npy"),
    (["helmholtz", "sub/../field.npy", "-o", "here"], "field.npy"),
]


@pytest.mark.parametrize("line, kept", OVERWRITES, ids=range(len(OVERWRITES)))
def test_an_input_is_never_an_output(place, line, kept):
    before = files(place)
    result = run(*line, cwd=place)
    refused(result, *([f"{kept} is read by this run", "would replace it"] if kept else []))
    assert files(place) == before


def test_the_numbers_of_a_figure_do_not_replace_data_beside_it(place):
    before = (place / "real.csv").read_bytes()
    assert run(*TRAIN, "--data", "real.csv", "-o", "n.safetensors", "--plot", "real.png", cwd=place).returncode == 0
    assert (place / "real.csv").read_bytes() == before
    assert (place / "real.plot.csv").read_text().startswith("panel,series,label,x,y,low,high\n")
    (place / "real.plot.csv").unlink()
    assert run("generate", "m.safetensors", "-n", 20, "-o", "real.png", cwd=place).returncode == 0
    assert (place / "real.csv").read_bytes() == before and (place / "real.plot.csv").exists()


@pytest.mark.parametrize("line, words", [
    ([*TRAIN, "--data", "ring", "--log", "a.plot.csv", "--plot", "a.png", "-o", "n.safetensors"],
     "--log and --plot would both write a.plot.csv"),
    ([*TRAIN, "--data", "ring", "--log", "a.plot.csv", "--plot", "./a.png", "-o", "n.safetensors"],
     "--log and --plot would both write ./a.plot.csv"),
    ([*SOLVE, "--at", "0", "--plot", "a.svg", "-o", "here/a.plot.csv"], "-o and --plot would both write a.plot.csv"),
    ([*SOLVE, "--at", "0", "--method", "walk", "--state", "s.npy", "-o", "s.npy"], "would both write s.npy"),
    (["generate", "m.safetensors", "-n", "9", "-o", "a.png", "--plot", "a.png"], "would both write a.png"),
    (["generate", "m.safetensors", "-n", "9", "-o", "a.png", "--plot", "a.svg"], "would both write a.plot.csv"),
    (["data", "export", "mnist", "-o", "a.npy", "--labels", "./a.npy"], "would both write ./a.npy"),
])
def test_two_outputs_are_two_files(place, line, words):
    before = files(place)
    refused(run(*line, cwd=place), words)
    assert files(place) == before


def test_data_and_log_of_the_same_name_in_two_directories(place):
    assert run(*TRAIN, "--data", "real.csv", "--log", "sub/real.csv", "-o", "n.safetensors", cwd=place).returncode == 0
    assert (place / "sub" / "real.csv").read_text().startswith("step,")


ODD = ["<touch PWNED;.svg", "|touch PWNED;.svg", "`touch PWNED`.svg", "$(touch PWNED).svg", "-e system('touch PWNED').svg",
       "it's \"so\" 100 %d %s.svg", "a;touch PWNED;.svg", "~.svg", "+.svg", "-.svg", "$d.svg", "@a {b} _c^d & \\e.svg",
       "é 数.svg", "'.system('touch PWNED').'.svg", "\\';system(\"touch PWNED\").svg", "#x.svg", "a b\tc.svg"]


@pytest.mark.skipif(not HAS_GNUPLOT, reason="no gnuplot")
@pytest.mark.parametrize("name", ODD)
def test_the_name_of_a_figure_is_never_run(tmp_path, name):
    result = run(*SOLVE, "--at", "0", f"--plot={name}", cwd=tmp_path)
    stem = name[:-4]
    assert result.returncode == 0, result.stderr
    assert {p.name for p in tmp_path.iterdir()} == {name, f"{stem}.plot.csv", f"{stem}.gp"}
    assert b"<svg" in (tmp_path / name).read_bytes()
    drawn = subprocess.run(["gnuplot", "-d", f"./{stem}.gp"], cwd=tmp_path, capture_output=True)
    assert b"<svg" in drawn.stdout and not (tmp_path / "PWNED").exists()


@pytest.mark.skipif(not HAS_GNUPLOT, reason="no gnuplot")
@pytest.mark.parametrize("name", ["`touch PWNED`.csv", "<touch PWNED;.csv", "a_{b}^c@&~\\.csv", "two\nlines.csv", "'q'.csv"])
def test_the_name_of_data_in_a_title_is_never_run(tmp_path, name):
    np.savetxt(tmp_path / name, np.random.default_rng(2).normal(size=(32, 2)), delimiter=",")
    result = run(*TRAIN, "--data", name, "-o", "m.safetensors", "--plot", "t.svg", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert not (tmp_path / "PWNED").exists()
    assert b"<svg" in (tmp_path / "t.svg").read_bytes()


def test_temporaries_of_killed_processes_are_removed(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in (f"k.npy.tmp-{gone.pid}", f"k.npy.tmp-{gone.pid}.3", f"other.npy.tmp-{gone.pid}", f"k.npy.tmp-{os.getpid()}",
                 "k.npy.tmp-x", "k.npy.tmp-"):
        (tmp_path / name).write_bytes(b"x")
    os.symlink("other.npy", tmp_path / f"k.npy.tmp-{gone.pid}.7")
    assert run("sample", "--measure", "kappa", "--dim", 2, "-n", 5, "-o", "k.npy", cwd=tmp_path).returncode == 0
    assert {p.name for p in tmp_path.iterdir()} == {
        "k.npy", f"other.npy.tmp-{gone.pid}", f"k.npy.tmp-{os.getpid()}", "k.npy.tmp-x", "k.npy.tmp-",
        f"k.npy.tmp-{gone.pid}.7"}


def test_a_killed_run_leaves_nothing_after_the_next(tmp_path):
    line = ["sample", "--measure", "kappa", "--dim", "2", "-o", "k.csv", "-n"]
    first = subprocess.Popen([COMMAND, *line, "30000000"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    for _ in range(200):
        if list(tmp_path.iterdir()):
            break
        time.sleep(0.05)
    alive = run(*line, "5", cwd=tmp_path)  # while the first one writes, its temporary stays
    assert alive.returncode == 0 and len(list(tmp_path.iterdir())) == 2
    first.kill()
    first.wait()
    assert len(list(tmp_path.iterdir())) == 2
    assert run(*line, "5", cwd=tmp_path).returncode == 0
    assert [p.name for p in tmp_path.iterdir()] == ["k.csv"]


def test_a_write_that_takes_nothing_is_an_error(tmp_path):
    (tmp_path / "zero.c").write_text("#include <unistd.h>\nssize_t write(int d, const void *b, size_t n)\n"
                                     "{ (void)b; return d > 2 ? 0 : (ssize_t)n; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "zero.so", "zero.c"], cwd=tmp_path, check=True)
    result = run("sample", "--measure", "kappa", "--dim", 2, "-n", 50000, "-o", "k.npy", cwd=tmp_path,
                 env={**os.environ, "LD_PRELOAD": str(tmp_path / "zero.so")})
    assert result.returncode == 1
    assert not (tmp_path / "k.npy").exists()


def test_disk_space_is_looked_at_first(tmp_path):
    for line in (["sample", "--measure", "kappa", "--dim", "3", "-n", "1e12", "-o", "k.npy"],
                 ["sample", "--measure", "kappa", "--dim", "3", "-n", "1e12", "-o", "k.csv"],
                 ["data", "export", "ring", "-n", "1e12", "-o", "r.npy"],
                 ["data", "export", "ring", "-n", "1e12", "-o", "r.csv"]):
        refused(run(*line, cwd=tmp_path), "bytes; its file system has", "free", code=1)
    assert list(tmp_path.iterdir()) == []


def test_fetch_follows_no_link(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").write_text("x")
    cache = tmp_path / "cache" / "heatball"
    cache.mkdir(parents=True)
    gone = subprocess.Popen(["true"])
    gone.wait()
    os.symlink(precious, cache / f"fetch-{gone.pid}")
    (tmp_path / "bin").mkdir()
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": str(tmp_path / "bin"),
                   "HEATBALL_DATA": ""}
    run("data", "fetch", "mnist", env=environment)
    assert (precious / "thesis.tex").read_text() == "x"
    assert not (cache / f"fetch-{gone.pid}").is_symlink()


@pytest.mark.parametrize("spec", ["gaussian(var=1, var=2)", "gaussian(mean=0, mean=1)", "gaussian(var=1 0 0 1, var=1 0 0 1)"])
def test_a_density_names_nothing_twice(spec):
    refused(run("solve", "--drift", "-x,-y", "--initial", spec, "--time", 1, "--at", "0,0"), "is given twice; give it once")


# ---- tables that cannot be read ----

@pytest.mark.parametrize("text, words", [
    ("1,NA\n2,3\n4,5\n", "line 1, column 2: 'NA' is no number"),
    ("a,b\n1,2\n3,NA\n", "line 3, column 2: 'NA' is no number"),
    ("a,b\n1,2\n\"3\",4\n", "line 3, column 1: '\"3\"' stands in quotes"),
    ("1,2\n3,4,\n", "line 2, column 3: nothing stands after the last separator"),
    ("1,2\n3,\0 4\n", "line 2, column 2: a zero byte"),
    ("1,2\n,4\n", "line 2, column 1: the field is empty"),
    ("a,b\n", "holds no numbers"),
    ("", "holds no numbers"),
])
def test_a_table_is_refused_with_line_and_column(tmp_path, text, words):
    (tmp_path / "x.csv").write_text(text)
    refused(run(*TRAIN, "--data", "x.csv", "-o", "m.safetensors", cwd=tmp_path), "x.csv", words)


def test_no_row_is_taken_for_a_header(tmp_path):
    for header, rows in (("", 3), ("a,b\n", 3), ('"a, really","b ""q"""\n', 3), ("# a,b\n", 3), ("nan,1\n", 4)):
        (tmp_path / "p.csv").write_text(header + "1,2\n3,4\n5,6\n")
        out = run("solve", "--drift", "-x,-y", "--initial", "gaussian(mean=0,var=1)", "--time", 0.2, "--at", "p.csv",
                  "--json", "-q", cwd=tmp_path)
        if rows == 4:
            refused(out, "has nan")
        else:
            assert out.returncode == 0 and out.stdout.count(b'"density"') == 3, out


# ---- signals ----

def wait_for(condition):
    for _ in range(200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("nothing happened in 10 s")


@pytest.mark.parametrize("number", ["TERM", "INT", "HUP"])
@pytest.mark.parametrize("line", [
    [*SOLVE, "--at", "f.csv"], [*SOLVE, "--at", "f.npy"], ["solve", "--problem", "f.ini", "--at", "0"],
    [*TRAIN, "--data", "f.csv", "-o", "m.safetensors"], ["data", "show", "./f.idx"]], ids=range(5))
def test_a_pipe_that_gives_nothing_is_left_at_the_first_signal(tmp_path, line, number):
    name = next(a for a in line if "f." in a and "o" not in a[-4:]) if "data" not in line[0] else "f.idx"
    os.mkfifo(tmp_path / name.removeprefix("./"))
    child = subprocess.Popen([COMMAND, *line], cwd=tmp_path, stderr=subprocess.PIPE)
    time.sleep(0.5)
    assert child.poll() is None
    start = time.monotonic()
    child.send_signal(getattr(__import__("signal"), "SIG" + number))
    text = child.communicate(timeout=20)[1].decode()
    assert child.returncode == 1 and "interrupted" in text and time.monotonic() - start < 5, (child.returncode, text)


@pytest.mark.parametrize("reads", [False, True])
def test_a_pipe_that_nobody_empties_is_left_at_the_first_signal(tmp_path, reads):
    os.mkfifo(tmp_path / "f.csv")
    held = os.open(tmp_path / "f.csv", os.O_RDONLY | os.O_NONBLOCK) if reads else None
    child = subprocess.Popen([COMMAND, "sample", "--measure", "kappa", "--dim", "9", "-n", "100000", "-o", "f.csv"],
                             cwd=tmp_path, stderr=subprocess.PIPE)
    time.sleep(1)
    assert child.poll() is None
    child.terminate()
    text = child.communicate(timeout=20)[1].decode()
    assert child.returncode == 1 and "interrupted" in text, text
    if reads:
        os.close(held)


def test_a_pipe_is_written_whole(tmp_path):
    os.mkfifo(tmp_path / "f.csv")
    line = ["sample", "--measure", "kappa", "--dim", "9", "-n", "20000", "-q", "-o"]
    child = subprocess.Popen([COMMAND, *line, "f.csv"], cwd=tmp_path)
    text = (tmp_path / "f.csv").read_bytes()
    assert child.wait(timeout=20) == 0
    assert run(*line, "g.csv", cwd=tmp_path).returncode == 0
    assert text == (tmp_path / "g.csv").read_bytes()


def test_devices_without_an_end_are_refused_or_left(tmp_path):
    os.symlink("/dev/zero", tmp_path / "z.csv")
    os.symlink("/dev/zero", tmp_path / "z.npy")
    refused(run(*SOLVE, "--at", "z.csv", cwd=tmp_path), "z.csv, line 1, column 1: a zero byte")
    refused(run(*SOLVE, "--at", "z.npy", cwd=tmp_path), "z.npy")
    refused(run("data", "show", "/dev/zero", cwd=tmp_path), "/dev/zero is a device")
    refused(run("solve", "--problem", "/dev/zero", "--at", 0), "/dev/zero")


def test_a_second_signal_ends_at_once(tmp_path):
    stop = tmp_path / "stop.c"  # a progress callback that never returns is what a second signal is for
    stop.write_text("#include <time.h>\n#include <unistd.h>\nint poll(void *p, unsigned long n, int t)\n"
                    "{ (void)p; (void)n; (void)t; for (;;) pause(); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "stop.so", "stop.c"], cwd=tmp_path, check=True)
    os.mkfifo(tmp_path / "f.csv")
    child = subprocess.Popen([COMMAND, *SOLVE, "--at", "f.csv"], cwd=tmp_path, stderr=subprocess.DEVNULL,
                             env={**os.environ, "LD_PRELOAD": str(tmp_path / "stop.so")})
    time.sleep(0.5)
    child.terminate()
    time.sleep(0.5)
    assert child.poll() is None
    child.terminate()
    assert child.wait(timeout=10) == -15


def test_a_pipe_that_is_closed_is_no_failure():
    script = f"set -o pipefail; '{COMMAND}' constants --dim 3 | true; '{COMMAND}' solve --help | head -c 1 >/dev/null"
    for _ in range(5):
        done = subprocess.run(["bash", "-c", script], capture_output=True)
        assert done.returncode == 0 and done.stderr == b"", done
    full = subprocess.run(f"'{COMMAND}' constants --dim 3 > /dev/full", shell=True, capture_output=True)
    refused(full, "cannot write to standard output", code=1)


def test_a_directory_is_no_problem_file(tmp_path):
    refused(run("solve", "--problem", tmp_path, "--at", 0), "it is a directory")
    for name in ("d.csv", "d.npy", "d.safetensors"):
        (tmp_path / name).mkdir()
    refused(run(*SOLVE, "--at", tmp_path / "d.csv"), "it is a directory")
    refused(run("generate", tmp_path / "d.safetensors", "-n", 4, "-o", tmp_path / "x.npy"), "it is a directory")


def test_a_progress_line_fits_the_terminal(tmp_path):
    import fcntl, pty, struct, termios
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    child = subprocess.Popen([COMMAND, "sample", "--measure", "kappa", "--dim", "300", "-n", "1000000", "-o", "k.npy"],
                             cwd=tmp_path, stderr=other, stdout=subprocess.DEVNULL)
    os.close(other)
    time.sleep(1.5)
    child.terminate()
    child.wait(timeout=20)
    text = os.read(main, 1 << 16).decode()
    os.close(main)
    lines = [piece.replace("\x1b[K", "") for piece in text.split("\r") if "drawing" in piece]
    assert lines and max(map(len, lines)) < 40, lines


# ---- smaller things that users met ----

def test_options_without_effect_are_refused_or_named():
    for method, option in (("grid", ["--samples", "100"]), ("grid", ["--degree", "5"]), ("grid", ["--lift", "2"]),
                           ("grid", ["--radius", "0.2"]), ("walk", ["--cells", "64"]), ("walk", ["--box", "-3 3"]),
                           ("particles", ["--cells", "64"]), ("walk", ["--radius", "0.2"]), ("particles", ["--degree", "3"])):
        refused(run(*SOLVE, "--at", 0, "--method", method, *option), f"{option[0][2:]} has no effect on the method {method}")
    auto = run(*SOLVE, "--at", 0, "--samples", 100)
    assert auto.returncode == 0 and b"note: --samples has no effect on the method that was chosen, grid" in auto.stderr
    assert run(*SOLVE, "--at", 0, "--samples", 100, "-q").stderr == b""


def test_the_limits_of_points_are_in_the_help():
    refused(run(*SOLVE, "--at", 0, "--cells", 10), "--cells is 10; it must be an integer from 32 to 1048576")
    assert "from 32 to 1048576" in " ".join(run("solve", "--help").stdout.decode().split())


def test_a_potential_is_a_drift():
    rest = ["--noise", 1, "--initial", "gaussian(mean=0,var=1)", "--time", 1, "--at", "0.3", "-q"]
    one = run("solve", "--potential", "x^4/4 - x^2/2", "--dim", 1, *rest)
    other = run("solve", "--drift", "x - x^3", *rest)
    assert one.returncode == 0, one.stderr
    values = [np.array(list(map(float, out.stdout.decode().splitlines()[-1].split()))) for out in (one, other)]
    assert np.allclose(values[0][[1, 3, 5]], values[1][[1, 3, 5]], rtol=1e-6)
    refused(run("solve", "--potential", "x^2", *rest), "--dim")
    refused(run("solve", "--potential", "x^2", "--drift", "-x", *rest), "both given")
    refused(run("solve", "--potential", "x^2", "--problem", "p.ini", *rest), "both given")


def test_an_index_with_a_score_is_explained():
    result = run("solve", "--drift", "x_1 - x_1^3", "--initial", "gaussian(mean=0,var=1)", "--time", 1, "--at", 0)
    assert result.returncode == 2 and b"write x1, without _" in result.stderr, result.stderr


@pytest.mark.skipif(not HAS_GNUPLOT, reason="no gnuplot")
def test_the_plane_shows_the_points(tmp_path):
    line = ["solve", "--drift", "-x,-2*y", "--initial", "gaussian(mean=0,var=1)", "--time", 0.3, "--at", "0.25,-0.5;0.125,0.75",
            "--plot", "a.svg", "-q"]
    assert run(*line, cwd=tmp_path).returncode == 0
    rows = (tmp_path / "a.plot.csv").read_text().splitlines()
    assert [r.split(",")[3:5] for r in rows[-2:]] == [["0.25", "-0.5"], ["0.125", "0.75"]]


@pytest.mark.skipif(not HAS_GNUPLOT, reason="no gnuplot")
def test_a_ripple_is_not_drawn(tmp_path):
    y, x = np.meshgrid(np.linspace(-2, 2, 65), np.linspace(-3, 3, 97), indexing="ij")
    ripple = 0.3 * (-1.0) ** (np.arange(97)[None, :] + np.arange(65)[:, None])
    np.save(tmp_path / "f.npy", np.stack([-x - y + ripple, x - 2 * y - ripple], -1))
    assert run("helmholtz", "f.npy", "--box", "-3 3, -2 2", "-o", "out", cwd=tmp_path).returncode == 0
    rows = [r.split(",") for r in (tmp_path / "out/helmholtz.plot.csv").read_text().splitlines()[1:]]
    middle = np.array([float(r[5]) for r in rows if r[0] == "2" and r[1] == "1"]).reshape(65, 97)
    inner = middle[8:-8, 8:-8]
    second = np.abs(inner[:, 2:] - 2 * inner[:, 1:-1] + inner[:, :-2]).max()
    assert second < 0.1, second  # 0.3 (2 + 2) without the average
    assert "set size ratio -1" in (tmp_path / "out/helmholtz.gp").read_text()

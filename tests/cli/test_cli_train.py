"""`heatball train` as a user meets it: bytes that repeat, runs that are killed and go on, refusals.

Oracles: NumPy for the standardisation and the split, the files themselves for everything that must
repeat to the byte.
"""

import contextlib
import ctypes
import functools
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

import heatball
from heatball import _native
import command_line
from command_line import COMMAND, complaint, metadata, without_progress

SMALL = ["--width", "16", "--depth", "2", "--batch", "200", "--anchors", "16"]
PLAIN = SMALL[:-2]
# 1200 steps: long enough to be stopped in the middle, however fast the machine is
LONG = ["--data", "ring", "--loss", "hb", "-n", "500", "--epochs", "600", "--width", "48",
        "--depth", "2"]


def command(*arguments):
    return [COMMAND, "train", *map(str, arguments)]


run = functools.partial(command_line.run_quietly, "train")
succeed = functools.partial(command_line.succeed, "train")


def train(path, *arguments, data="ring", method="hb", steps=40):
    """Train a small model into `path`; return what --json prints."""
    small = SMALL if method != "dsm" else PLAIN
    return json.loads(succeed("--data", data, "--loss", method, "--steps", steps, *small, "-o",
                              path, "--json", *arguments))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return a file of 300 rows in three dimensions, their labels' file, and the rows."""
    folder = tmp_path_factory.mktemp("rows")
    random = np.random.default_rng(17)
    x = random.normal(size=(300, 3)) @ random.normal(size=(3, 3)) + [7.3, -2, 0.4]
    np.save(folder / "x.npy", x)
    np.save(folder / "labels.npy", np.arange(300) % 4)
    return folder / "x.npy", folder / "labels.npy", x


# ---- the same bytes -----------------------------------------------------------------------------

@pytest.mark.parametrize("method", ["dsm", "fp", "hb", "hb-paper"])
def test_threads_do_not_change_a_byte(tmp_path, method):
    for threads in (1, 2):
        train(tmp_path / f"{threads}.safetensors", "--threads", threads, method=method)
    assert (tmp_path / "1.safetensors").read_bytes() == (tmp_path / "2.safetensors").read_bytes()
    train(tmp_path / "3.safetensors", "--seed", 43, method=method)
    assert (tmp_path / "1.safetensors").read_bytes() != (tmp_path / "3.safetensors").read_bytes()
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".safetensors"] * 3  # nothing else stays


def wait_for(path, process):
    for _ in range(30000):
        if path.exists() or process.poll() is not None:
            return
        time.sleep(0.01)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the bytes of LONG without a stop."""
    path = tmp_path_factory.mktemp("whole") / "m.safetensors"
    succeed(*LONG, "-o", path, "-q")
    return path.read_bytes()


def test_a_killed_run_resumed_gives_the_same_bytes(tmp_path, whole):
    path, checkpoint = tmp_path / "m.safetensors", tmp_path / "m.ckpt"
    process = subprocess.Popen(command(*LONG, "-o", path, "--checkpoint-every", 3, "-q"))
    wait_for(checkpoint, process)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert checkpoint.exists() and not path.exists()
    other = complaint(run(*LONG, "-o", path, "--resume", "--rate", 0.001), 2)
    assert "m.ckpt is of another run: it has rate=0.002" in other
    succeed(*LONG, "-o", path, "--checkpoint-every", 3, "--resume", "-q")
    assert path.read_bytes() == whole
    assert checkpoint.exists()  # asked for, so it stays
    path.unlink()
    again = json.loads(succeed(*LONG, "-o", path, "--resume", "--json"))  # finished: only read
    assert path.read_bytes() == whole and again["steps"] == 1200


SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


def interrupt(process, number):
    """Send the signal; return the one sentence on stderr."""
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 1 and out == "", err
    return without_progress(err)


@SIGNALS
def test_an_interrupt_says_how_to_go_on(tmp_path, whole, number):
    path, checkpoint = tmp_path / "m.safetensors", tmp_path / "m.ckpt"
    process = subprocess.Popen(command(*LONG, "-o", path, "--checkpoint-every", 1),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(checkpoint, process)
    err = interrupt(process, number)
    said = re.fullmatch(r"heatball train: interrupted after step (\d+) of 1200; the same command "
                        r"with --resume continues from (.*)\n", err)
    assert said and said[2] == str(checkpoint), err
    assert metadata(checkpoint)["step"] == said[1]  # the last step, not the last whole epoch
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.ckpt"]
    succeed(*LONG, "-o", path, "--resume", "-q")
    assert path.read_bytes() == whole


@SIGNALS
@pytest.mark.parametrize("resume", [False, True])
def test_an_interrupt_before_the_first_step_promises_no_checkpoint(tmp_path, number, resume):
    """Rows come through a pipe: the signal arrives while the command waits for them."""
    pipe, path, checkpoint = tmp_path / "x.csv", tmp_path / "m.safetensors", tmp_path / "m.ckpt"
    rows = "".join(f"{x},{y}\n" for x, y in np.random.default_rng(3).normal(size=(100, 2)).tolist())
    arguments = ["--data", pipe, "--loss", "dsm", "--epochs", 50, *PLAIN, "-o", path]
    if resume:
        pipe.write_text(rows)
        succeed(*arguments, "--max-time", 1e-9, "--checkpoint-every", 1, "-q")
        kept = checkpoint.read_bytes()
        pipe.unlink()
    os.mkfifo(pipe)
    process = subprocess.Popen(command(*arguments, *["--resume"] * resume), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    with contextlib.suppress(BrokenPipeError), open(pipe, "w") as given:  # opens when the command has opened it
        process.send_signal(number)
        given.write(rows)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 1 and out == ""
    if resume:
        assert err == f"heatball train: interrupted before the first new step; the same command continues from {checkpoint}\n"
        assert checkpoint.read_bytes() == kept
    else:
        assert err == ("heatball train: interrupted before the first step; nothing is trained yet, and the same "
                       "command begins anew\n")
        assert not checkpoint.exists()


def test_a_run_without_resume_says_that_a_checkpoint_is_lost(tmp_path):
    train(tmp_path / "m.safetensors", "--checkpoint-every", 1)
    assert (tmp_path / "m.ckpt").exists()
    done = run("--data", "ring", "--loss", "hb", "--steps", 5, *SMALL, "-o",
               tmp_path / "m.safetensors")
    assert done.returncode == 0
    assert "m.ckpt is of an earlier run and will be replaced; --resume would continue from" in done.stderr
    assert not (tmp_path / "m.ckpt").exists()


# ---- what is printed and written ----------------------------------------------------------------

def test_summary_log_and_figure(tmp_path):
    log, plot = tmp_path / "log.csv", tmp_path / "loss.svg"
    shown = train(tmp_path / "m.safetensors", "--log", log, "--plot", plot, steps=60)
    columns = log.read_text().splitlines()[0].split(",")
    table = np.loadtxt(log, delimiter=",", skiprows=1)
    assert columns == ["step", "loss", "dsm", "constraint", "residual", "gradient_norm", "rate",
                       "seconds"]
    assert np.array_equal(table[:, 0], np.arange(1, 61))
    for name in ("loss", "dsm", "constraint", "residual"):  # means over the last tenth
        assert shown["final_loss" if name == "loss" else name] == pytest.approx(table[-6:, columns.index(name)].mean(), rel=1e-12)
    assert shown["seconds"] == table[-1, 7]
    assert shown["rows_per_second"] == pytest.approx(60 * 200 / table[-1, 7])
    assert (shown["steps"], shown["rows"], shown["dim"], shown["seed"]) == (60, 2000, 2, 42)
    assert (shown["loss"], shown["head"], shown["process"]) == ("hb", "energy", "ou")
    if shutil.which("gnuplot"):
        assert plot.read_text().startswith("<?xml")
    assert (tmp_path / "loss.plot.csv").exists() and (tmp_path / "loss.gp").exists()
    text = succeed("--data", "ring", "--loss", "dsm", "--steps", 5, *PLAIN, "-o",
                   tmp_path / "m.safetensors")
    assert "training: dsm, energy head, process ou" in text and "denoising" in text
    assert succeed("--data", "ring", "--loss", "dsm", "--steps", 5, *PLAIN, "-q", "-o",
                   tmp_path / "m.safetensors") == ""


def test_a_terminal_shows_epoch_loss_and_time_left(tmp_path):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command("--data", "ring", "--epochs", "600", "-o", tmp_path / "m.safetensors"), stderr=theirs,
                               stdout=subprocess.DEVNULL)  # minutes: LONG may end before the first line, after half a second
    os.close(theirs)
    shown = ""
    line = r"training [\d.]+ %, epoch \d+ of 600, loss [\d.e-]+, [\d.]+( k)? rows/s, \d+:\d\d left"
    while not re.search(line, shown):
        try:
            shown += os.read(ours, 4096).decode()
        except OSError:  # the end of the command
            break
    process.kill()
    process.wait()
    os.close(ours)
    assert re.search(line, shown), shown


def test_the_residual_of_every_fourth_step_is_logged(tmp_path):
    """Above 64 dimensions the constraint is in every fourth step, and a row of the log is over four."""
    random = np.random.default_rng(4)
    np.save(tmp_path / "x.npy", random.normal(size=(400, 70)) + 2 * random.integers(0, 2, (400, 1)))
    shown = json.loads(succeed("--data", tmp_path / "x.npy", "--loss", "hb", "--steps", 60, *PLAIN,
                               "--anchors", 2, "--nodes", 1, "--log", tmp_path / "log.csv", "--json",
                               "-o", tmp_path / "m.safetensors"))
    log = np.genfromtxt(tmp_path / "log.csv", delimiter=",", names=True)
    assert (np.diff(log["step"]) == 4).all() and len(log) == 15
    assert (log["residual"][:1] == 0).all() and (log["residual"][2:] > 0).all()  # a warm-up of 6 steps
    assert shown["residual"] > 0


def test_epochs_make_steps(tmp_path):
    shown = train(tmp_path / "m.safetensors", "-n", 450, steps=1)
    assert shown["steps"] == 1 and shown["rows"] == 450
    shown = json.loads(succeed("--data", "ring", "--loss", "dsm", "-n", 450, "--epochs", 4,
                               *PLAIN, "--json", "-o", tmp_path / "m.safetensors"))
    assert shown["steps"] == 4 * 3  # ceil(450/200)


def split(n, seed):
    order = np.empty(n, dtype=np.uint64)
    context = ctypes.POINTER(_native.Context)()
    assert _native.library.hb_context_create(None, ctypes.byref(context)) == 0
    assert _native.library.hb_data_split(context, seed, n, order.ctypes.data_as(ctypes.POINTER(ctypes.c_size_t))) == 0
    _native.library.hb_context_destroy(context)
    return order


def test_rows_of_a_file_are_split_and_standardised(tmp_path, rows):
    path, labels, x = rows
    model = tmp_path / "m.safetensors"
    shown = train(model, "--seed", 7, data=path)
    assert (shown["rows"], shown["held_out"], shown["dim"]) == (270, 30, 3)
    assert shown["standardise"] == "axis"
    kept = x[split(300, 7)[:270]]
    ours = heatball.load(model)
    assert ours.maps == "" and np.allclose(ours.scales, kept.std(axis=0), rtol=1e-12)
    assert np.allclose(ours.shift, kept.mean(axis=0), rtol=1e-12)
    assert shown["scale"] == pytest.approx(np.exp(np.log(kept.std(axis=0)).mean()), rel=1e-12)
    assert np.abs(ours.scales / x.std(axis=0) - 1).max() > 1e-6
    shown = train(model, "--held-out", 0, "--standardise", "common", data=path)
    assert (shown["rows"], shown["held_out"], shown["standardise"]) == (300, 0, "common")
    assert shown["scale"] == pytest.approx(np.sqrt(x.var(axis=0).mean()), rel=1e-12)
    assert np.all(heatball.load(model).scales == shown["scale"])
    assert train(model, "--standardise", "no", data=path)["scale"] == 1
    shown = train(model)  # a named set
    assert (shown["scale"], shown["standardise"]) == (1, "no")
    assert train(model, "--standardise", "common")["scale"] > 1.5
    shown = train(model, "--labels", labels, data=path)
    assert shown["classes"] == 4


def test_csv_gives_the_bytes_of_npy(tmp_path, rows):
    """With a header the model keeps the names too; its arrays are the same."""
    np.savetxt(tmp_path / "x.csv", rows[2], delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "y.csv", rows[2], delimiter=",", fmt="%.17g", header="a,b,c", comments="")
    a, b, c = (tmp_path / f"{name}.safetensors" for name in "abc")
    train(a, data=rows[0])
    train(b, data=tmp_path / "x.csv")
    train(c, data=tmp_path / "y.csv")
    assert a.read_bytes() == b.read_bytes()
    plain, named = arrays(a), arrays(c)
    assert plain.keys() == named.keys() and all(np.array_equal(plain[k], named[k]) for k in plain)


def arrays(path):
    """Return {name: array} of a .safetensors file, read by its format alone."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8:8 + length]), data[8 + length:]
    header.pop("__metadata__")
    kinds = {"F16": np.float16, "F32": np.float32, "F64": np.float64}
    return {name: np.frombuffer(body[slice(*entry["data_offsets"])],
                                kinds[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()}


def test_half_rounds_the_weights_alone(tmp_path):
    full, half = tmp_path / "full.safetensors", tmp_path / "half.safetensors"
    train(full, method="dsm")
    train(half, "--half", method="dsm")
    ours, theirs = arrays(half), arrays(full)
    assert ours.keys() == theirs.keys()
    for name, array in theirs.items():
        expected = array.astype(np.float16) if name.endswith(".weight") else array  # NumPy rounds
        assert ours[name].dtype == expected.dtype and np.array_equal(ours[name], expected), name
    model = heatball.load(half)
    assert model.half == 1 and heatball.load(full).half == 0
    model.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == half.read_bytes()
    x = np.random.default_rng(3).normal(size=(50, 2))
    difference = model.score(x, 0.3) - heatball.load(full).score(x, 0.3)
    assert 0 < abs(difference).max() < 0.01


def test_a_run_with_half_resumed_gives_the_same_bytes(tmp_path):
    train(tmp_path / "a.safetensors", "--half", "--checkpoint-every", 1, method="dsm")
    before = (tmp_path / "a.safetensors").read_bytes()
    (tmp_path / "a.safetensors").unlink()
    train(tmp_path / "a.safetensors", "--half", "--checkpoint-every", 1, "--resume", method="dsm")
    assert (tmp_path / "a.safetensors").read_bytes() == before
    assert "adam.first" in arrays(tmp_path / "a.ckpt")
    assert arrays(tmp_path / "a.ckpt")["layer0.weight"].dtype == np.float32


def test_a_drift_of_the_user(tmp_path):
    path = tmp_path / "m.safetensors"
    drift = ["--drift", "x - a*x^3, -b*y", "--param", "a=0.3", "--param", "b=1.2"]
    assert train(path, *drift)["process"] == "drift"
    first = path.read_bytes()
    train(path, *drift[:-1], "b=1.3")
    assert path.read_bytes() != first
    done = run("--data", "ring", "--loss", "hb", "--drift", "x - , y", "-o", path)
    assert done.returncode == 2 and "^" in done.stderr  # the place is marked


def test_old_names_of_options_work_with_a_note(tmp_path):
    """For one release: --lr, --hb-weight and --rows of train."""
    tiny = ["--data", "ring", "--loss", "hb", "--steps", 2, "--width", 8, "--depth", 1]
    new, old = tmp_path / "new.safetensors", tmp_path / "old.safetensors"
    done = run(*tiny, "-n", 300, "--rate", 0.01, "--weight", 0.5, "-o", new)
    assert done.returncode == 0 and "is now" not in done.stderr, done.stderr
    done = run(*tiny, "--rows=300", "--lr", 0.01, "--hb-weight", 0.5, "-o", old)
    assert done.returncode == 0 and done.stderr == (
        "heatball train: note: --rows is now -n; --lr is now --rate; --hb-weight is now --weight; "
        "old names go in the next release\n")
    assert new.read_bytes() == old.read_bytes()
    assert run(*tiny, "--lr", 0.01, "-q", "-o", old).stderr == ""
    twice = complaint(run(*tiny, "--lr", 0.01, "--rate", 0.01, "-o", old), 2)
    assert "--rate is given twice" in twice
    assert "--lr" not in succeed("--help") and "unknown option --lrr" in complaint(run(*tiny, "--lrr", 1), 2)


def test_defaults_are_those_of_the_library():
    settings = _native.TrainSettings()
    _native.library.hb_train_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
    page = " ".join(succeed("--help").split())
    for option, field in [("batch", "batch"), ("width", "width"), ("depth", "depth"), ("rate", "rate"),
                          ("ema", "ema"), ("clip-gradient", "clip_gradient"), ("tau-min", "tau_min"),
                          ("tau-max", "tau_max"), ("seed", "seed"), ("max-time", "max_time"),
                          ("target-rows", "target_rows")]:
        told = re.search(rf" --{option} .*?default (-?[\d.]+)", page)
        assert told and float(told[1]) == getattr(settings, field), option
    for option, field in [("epochs", "epochs"), ("anchors", "anchors"), ("nodes", "nodes")]:
        told = re.search(rf" --{option} .*?default(?:, without --steps)?: (\d+)", page)
        assert told and int(told[1]) == getattr(settings, field), option


def test_time_ends_a_run(tmp_path):
    shown = json.loads(succeed("--data", "ring", "--loss", "dsm", "--steps", "1e9", "--max-time",
                               0.2, *PLAIN, "--json", "-o", tmp_path / "m.safetensors"))
    assert 0 < shown["steps"] < 1e6


# ---- refusals -----------------------------------------------------------------------------------

WRONG = [  # options after --data ring --loss hb (a later one of these replaces it), what is said
    ({"--loss": "hbb"}, "--loss is hbb; it must be dsm, fp, hb or hb-paper (did you mean hb?)"),
    ({"--data": "rng"}, "there is no set called rng; the sets are asymmetric_gmm"),
    ({"--data": "rng"}, "(did you mean ring?)"),
    ({"--data": "rows.txt"}, "--data is rows.txt; it must be a set of heatball data list, or a file"),
    ({"--data": "nowhere.npy"}, "nowhere.npy"),
    ({"--data": "nan.npy"}, "nan.npy has nan in row 4, column 2"),
    ({"--data": "inf.csv"}, "inf.csv has inf in row 2, column 1"),
    ({"--data": "one.npy"}, "one.npy has 1 row; data must have at least 2"),
    ({"--data": "line.npy"}, "line.npy has 1 axis"),
    ({"--data": "same.npy"}, "column 1 of the data is 2.5 in every row"),
    ({"--data": "five.npy", "--head": "helmholtz", "--loss": "dsm"},
     "the helmholtz head needs data in 2 dimensions; these have 5"),
    ({"--data": "five.npy", "--held-out": "0.9999"}, "leaves 1 of 9 rows to train on"),
    ({"--data": "five.npy", "--held-out": "1"}, "--held-out is 1; it must be"),
    ({"--data": "five.npy", "-n": "100"}, "-n is for a named set; --data is five.npy"),
    ({"--data": "five.npy", "--labels": "three.npy"},
     "three.npy has 3 rows and 1 columns; it must have one number for each of the 9 rows"),
    ({"--data": "five.npy", "--labels": "half.npy"}, "row 3 of half.npy is 0.5; a class must be"),
    ({"--held-out": "0.2"}, "--held-out is for rows of a file; --data is ring"),
    ({"--labels": "three.npy"}, "--labels is for rows of a file"),
    ({"--head": "score", "--loss": "hb-paper"}, "the hb-paper loss needs the energy head"),
    ({"--process": "ve", "--drift": "-x, -y"}, "--process and --drift are both given"),
    ({"--param": "a=2"}, "--param is given without --drift"),
    ({"--drift": "-x, -y, 0"}, "component"),
    ({"--drift": "-a*x, -y", "--param": "a"}, "--param is a; it must be NAME=NUMBER"),
    ({"--epochs": "5", "--steps": "7"}, "--epochs and --steps are both given"),
    ({"--sigma-max": "0.01"}, "--sigma-max is for --loss hb-paper; --loss is hb"),
    ({"--time-fraction": "0.3", "--loss": "fp"}, "--time-fraction is for --loss hb"),
    ({"--weight": "2", "--loss": "dsm"}, "--weight is for --loss fp, hb or hb-paper"),
    ({"--anchors": "2", "--loss": "dsm"}, "--anchors is for --loss fp, hb or hb-paper"),
    ({"--nodes": "2"}, "--nodes has no effect on --loss hb in up to 64 dimensions; the data have 2"),
    ({"--nodes": "2", "--loss": "fp"}, "--nodes has no effect on --loss fp in up to 3 dimensions; the data have 2"),
    ({"--tau-min": "2", "--tau-max": "1"}, "tau_min is 2 and tau_max is 1"),
    ({"--ema": "1"}, "--ema is 1; it must be"),
    ({"--batch": "0"}, "--batch is 0; it must be an integer from 1"),
    ({"-n": "1"}, "-n is 1; it must be an integer from 2"),
    ({"-o": "m.npy"}, "-o is m.npy; the name must end in .safetensors"),
    ({"-o": "nowhere/m.safetensors"}, "cannot create nowhere/m.safetensors"),
    ({"--log": "nowhere/l.csv"}, "cannot create nowhere/l.csv"),
    ({"--log": "l.txt"}, "--log is l.txt; the name must end in .csv"),
    ({"--plot": "p.jpg"}, "--plot is p.jpg; the name must end in .svg, .png or .pdf"),
    ({"--plot": "nowhere/p.svg"}, "cannot create nowhere/p.svg"),
    ({"--plot": "p.svg", "--log": "p.plot.csv"}, "--log and --plot would both write p.plot.csv"),
]


@pytest.fixture(scope="module")
def wrong_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    x = np.arange(45.0).reshape(9, 5) % 7
    np.save(folder / "five.npy", x)
    np.save(folder / "one.npy", x[:1])
    np.save(folder / "line.npy", x[0])
    np.save(folder / "same.npy", np.full((9, 2), 2.5))
    np.save(folder / "three.npy", np.arange(3))
    np.save(folder / "half.npy", np.array([0, 1, 0.5, 1, 0, 1, 0, 1, 0]))
    x[3, 1] = np.nan
    np.save(folder / "nan.npy", x)
    (folder / "inf.csv").write_text("1,2\ninf,3\n4,5\n")
    return folder


@pytest.mark.parametrize("options, expected", WRONG, ids=[str(w[0]) for w in WRONG])
def test_wrong_input(wrong_files, options, expected):
    before = sorted(wrong_files.iterdir())
    given = {"--data": "ring", "--loss": "hb", "-o": "m.safetensors", **options}
    arguments = [text for pair in given.items() for text in pair]
    assert expected in complaint(run(*arguments, cwd=wrong_files), 2)
    assert sorted(wrong_files.iterdir()) == before


def test_missing_options():
    assert "--data is missing" in complaint(run("--loss", "hb", "-o", "m.safetensors"), 2)
    assert "-o is missing" in complaint(run("--data", "ring", "--loss", "hb"), 2)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    path, checkpoint = tmp_path / "m.safetensors", tmp_path / "m.ckpt"
    train(path, "--checkpoint-every", 1)
    checkpoint.write_bytes(checkpoint.read_bytes()[:-100])
    line = complaint(run("--data", "ring", "--loss", "hb", "--steps", 40, *SMALL, "--resume", "-o",
                         path), 2)
    assert "m.ckpt" in line and "cut short" in line


def test_few_rows_have_a_note(tmp_path):
    for n, noted in ((3, True), (60, False)):
        np.save(tmp_path / "rows.npy", np.random.default_rng(1).normal(size=(n, 2)))
        done = run("--data", tmp_path / "rows.npy", "--held-out", 0, "--loss", "dsm", "--steps", 2, "--width", 8, "-o",
                   tmp_path / "m.safetensors")
        assert done.returncode == 0, done.stderr
        assert ("note: 3 rows in 2 dimensions are few" in done.stderr) == noted


def test_old_names_of_three_options(tmp_path):
    """For one release: train --residual, generate --tolerance and certify --samples."""
    model, fresh = tmp_path / "m.safetensors", tmp_path / "f.safetensors"
    tiny = ["--data", "ring", "--loss", "dsm", "--steps", 3, "--width", 8, "--depth", 2]
    assert "--residual is now --skip;" in run(*tiny, "--residual", "-o", model).stderr
    assert run(*tiny, "--skip", "-o", fresh).stderr == "" and model.read_bytes() == fresh.read_bytes()
    for command, old, new, value in (("generate", "tolerance", "ode-tolerance", "1e-3"), ("certify", "samples", "flow-samples", "0")):
        rest = ["-n", "3", "--solver", "ode", "-o", tmp_path / "r.npy"] if command == "generate" else ["--data", "ring", "--rows", "100", "--tau", "0.3"]
        done = subprocess.run([COMMAND, command, model, *rest, f"--{old}", value], capture_output=True, text=True)
        assert done.returncode == 0 and f"note: --{old} is now --{new};" in done.stderr, done.stderr

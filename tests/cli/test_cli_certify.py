"""heatball certify as a user types it: scripts over pipes, models, pages, and what goes wrong."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from command_line import COMMAND, run

SCRIPT = '''
import os, sys, time
import numpy as np

def exact(x, tau):
    print("this goes to stderr")
    return -x

def large(x, tau):
    os.write(1, b"so does what an extension prints")
    return (-1.2 * x).astype(np.float32)

def density(x, tau):
    return -0.5 * (x**2).sum(1) - np.log(2 * np.pi)

class Net:
    @staticmethod
    def score(x, tau):
        return -x

def broken(x, tau):
    raise RuntimeError("no weights\\nfor this")

def bare(x, tau):
    return 3.0

def turns(x, tau):
    return -x if len(x) < 5 else np.zeros(len(x))

def dead(x, tau):
    os._exit(7)

def nothing(x, tau):
    return x * np.nan

def slow(x, tau):
    open("started", "w").write(str(os.getpid()))
    time.sleep(600)

def closes(x, tau):
    open("started", "w").write(str(os.getpid()))
    os.close(4)
    time.sleep(600)

def leaves_a_child(x, tau):
    if os.fork() == 0:
        open("started", "w").write(str(os.getpid()))
        time.sleep(600)
    while not (os.path.exists("started") and os.path.getsize("started")):
        time.sleep(0.01)
    os._exit(9)

def stops_itself(x, tau):
    if len(x) > 1:
        os.kill(os.getpid(), 19)
    return -x

def sleeps_late(x, tau):
    if tau[0] > 0.5:
        time.sleep(600)
    return -x

def forks_and_sleeps(x, tau):
    if os.fork() == 0:
        open("started", "w").write(str(os.getpid()))
    time.sleep(600)

def babbles(x, tau):
    os.write(4, np.array([77, 8 * x.size]).tobytes())
    return -x

def imaginary(x, tau):
    return -x + 1j * x

def masks(x, tau):
    return np.ma.masked_array(-x, mask=x < 1e9)

number = 3
'''
SMALL = ["--tau", "0.5", "--samples", "0", "--rows", "200", "--pairs", "4", "--python", sys.executable]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with rows and a script, where the command runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(SCRIPT)
    np.save("rows.npy", np.random.default_rng(4).standard_normal((300, 2)))
    return tmp_path


def certify(*arguments):
    """Run the command."""
    return run("certify", *arguments)


def test_scripts(place):
    """Files and modules, scores and log-densities, float32; the exit code is 0 either way."""
    for target in ("net.py:exact", "net:exact", "net.py:density", "net:Net.score"):
        done = certify("--score", target, "--data", "rows.npy", *SMALL)
        assert done.returncode == 0 and "passed: none of" in done.stdout, done
        assert ("residual of ln u" in done.stdout) == ("density" in target)
        assert ("this goes to stderr" in done.stderr) == ("exact" in target)
    done = certify("--score", "net.py:exact", "--data", "rows.npy", "--json", *SMALL)
    texts = {line["name"]: line["text"] for line in json.loads(done.stdout)["lines"]}
    assert texts["residual size"].startswith("no residual is seen; one of ") and texts["residual size"].endswith("would be detected")
    assert texts["stein local"].startswith("no local error of the score is seen")
    done = certify("--score", "net.py:large", "--data", "rows.npy", "--json", *SMALL)
    found = json.loads(done.stdout)
    assert "so does what an extension prints" in done.stderr
    assert done.returncode == 0 and found["passed"] is False and found["score"] == "net.py:large"
    scale = next(line for line in found["lines"] if line["name"] == "stein scale")
    assert abs(scale["value"] - 0.2) < 5 * scale["error"] and "too large" in scale["text"]


@pytest.mark.parametrize(("target", "code", "words"), [
    ("net.py:broken", 1, "net.py:broken: RuntimeError: no weights for this"),
    ("net.py:bare", 1, "returned shape ()"),
    ("net.py:turns", 1, "in turn"),
    ("net.py:dead", 1, "ended with status 7"),
    ("net.py:nothing", 1, "the score is nan at x"),
    ("net.py:babbles", 1, "what is on descriptor 4, which is the command's, is no answer"),
    ("net.py:imaginary", 1, "imaginary returned values of dtype complex128; it must return real numbers"),
    ("net.py:masks", 1, "masks returned masked entries; it must return real numbers"),
    ("net.py:number", 1, "is no function"),
    ("net.py:missing", 1, "has no attribute 'missing'"),
    ("missing.py:f", 2, "cannot open missing.py"),
    ("missing:f", 1, "No module named 'missing'"),
    ("net", 2, "MODULE:FUNCTION"),
])
def test_broken_scripts(place, target, code, words):
    """What the script raised is the last line, and its traceback stands above."""
    done = certify("--score", target, "--data", "rows.npy", *SMALL)
    assert done.returncode == code and done.stdout == "", done
    assert words in done.stderr.splitlines()[-1], done.stderr
    assert ("Traceback" in done.stderr) == (code == 1 and any(word in target for word in ("broken", "missing")))


def test_interrupt_ends_the_script(place):
    """Ctrl-C while the script computes: both processes end."""
    process = subprocess.Popen([COMMAND, "certify", "--score", "net.py:slow", "--data", "rows.npy", *SMALL],
                               stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for _ in range(600):
        if (place / "started").exists() and (place / "started").read_text():
            break
        time.sleep(0.1)
    child = int((place / "started").read_text())
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 1 and "interrupted" in process.stderr.read()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def is_gone(place):
    """Whether the process that said its number has ended, also as a zombie that nobody has waited for."""
    child = (place / "started").read_text()
    for _ in range(50):
        try:
            with open(f"/proc/{child}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(("target", "words"), [
    ("closes", "it closed descriptor 4, which is the command's, and continued"),
    ("leaves_a_child", "its process ended with status 9"),
])
def test_scripts_without_a_pipe_end_the_command(place, target, words):
    """Neither a script that goes on nor a child that holds the pipe makes the command wait, and neither is left."""
    done = run("certify", "--score", f"net.py:{target}", "--data", "rows.npy", *SMALL, timeout=60)
    assert done.returncode == 1 and words in done.stderr.splitlines()[-1], done.stderr
    assert is_gone(place)


@pytest.mark.parametrize("signals", [1, 2, "kill"])
def test_nothing_is_left_after_signals(place, signals):
    """Children of the script too; a second signal ends the command at once, and SIGKILL takes the script with it."""
    target = "net.py:slow" if signals == "kill" else "net.py:forks_and_sleeps"
    process = subprocess.Popen([COMMAND, "certify", "--score", target, "--data", "rows.npy", *SMALL],
                               stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for _ in range(600):
        if (place / "started").exists() and (place / "started").read_text():
            break
        time.sleep(0.1)
    start = time.monotonic()
    for _ in range(signals if signals != "kill" else 1):
        process.send_signal(signal.SIGKILL if signals == "kill" else signal.SIGINT)
    assert process.wait(60) != 0 and time.monotonic() - start < 5  # a tenth of a second on an idle machine
    assert is_gone(place)


def test_page(place):
    """-o leaves the page, and never over an input."""
    np.save("training.npy", np.random.default_rng(5).standard_normal((300, 2)))
    done = certify("--score", "net.py:large", "--data", "rows.npy", "--training", "training.npy", *SMALL, "-o", "page")
    assert done.returncode == 0 and done.stdout.endswith("page/certificate.html\n")
    page = (place / "page" / "certificate.html").read_text()
    assert "stein scale" in page and "not passed" in page and "map.svg" in page
    assert json.loads((place / "page" / "certificate.json").read_text())["passed"] is False
    os.rename("rows.npy", "page/rows.npy")
    os.symlink("rows.npy", "page/map.plot.csv.npy")
    before = (place / "page" / "rows.npy").read_bytes()
    os.replace("page/rows.npy", "page/map.plot.csv")
    os.symlink("page/map.plot.csv", "link.npy")
    done = certify("--score", "net.py:large", "--data", "link.npy", *SMALL, "-o", "page")
    assert done.returncode == 2 and (place / "page" / "map.plot.csv").read_bytes() == before


def test_files_of_the_user_stay(place):
    """A directory with files of the page's names, but of no page, is refused before the run; an earlier page is replaced."""
    (place / "mine").mkdir()
    for name in ("map.gp", "certificate.html", "samples.plot.csv"):
        (place / "mine" / name).write_text("mine")
        done = certify("--score", "net.py:slow", "--data", "rows.npy", *SMALL, "-o", "mine")
        assert done.returncode == 2 and f"mine/{name}" in done.stderr and (place / "mine" / name).read_text() == "mine"
        (place / "mine" / name).unlink()
    (place / "mine" / "notes.txt").write_text("mine")
    for _ in range(2):
        assert certify("--score", "net.py:exact", "--data", "rows.npy", *SMALL, "-o", "mine").returncode == 0
    assert (place / "mine" / "notes.txt").read_text() == "mine"


def test_models(place):
    """A model file: the rows that its training held out, and the others as its training rows."""
    np.save("rows.npy", np.random.default_rng(4).standard_normal((1200, 2)) * [3, 0.1])
    assert run("train", "--data", "rows.npy", "--loss", "dsm", "--steps", "40", "--width", "16", "-q", "-o",
               "m.safetensors").returncode == 0
    options = [one for one in SMALL if one not in ("--python", sys.executable)]
    done = certify("m.safetensors", "--data", "rows.npy", *options)
    assert done.returncode == 0 and "memorisation         0.5" in done.stdout, done
    done = certify("m.safetensors", "--data", "rows.npy", "--held-out", "0.05", *options)
    assert done.returncode == 2 and "60 rows that the model has not seen" in done.stderr
    done = certify("m.safetensors", "--data", "elongated_gmm", *options)
    assert done.returncode == 0 and "the exact one" in done.stdout


@pytest.mark.parametrize(("arguments", "words"), [
    (["--data", "rows.npy"], "neither a MODEL nor --score"),
    (["m.safetensors", "--score", "net.py:exact", "--data", "rows.npy"], "both given"),
    (["--score", "net.py:exact", "--data", "rows.npy", "--held-out", "0.5"], "--held-out is for a model"),
    (["--score", "net.py:exact", "--data", "rows.npy", "--label", "1"], "--label"),
    (["--score", "net.py:exact", "--data", "rows.npy", "--process", "drift"], "give --drift"),
    (["--score", "net.py:exact", "--data", "rows.npy", "--process", "ve", "--drift", "-x[i]"], "both given"),
    (["--score", "net.py:exact", "--data", "rows.npy", "--initial", "point(0)"], "goes with --drift"),
    (["--score", "net.py:exact", "--data", "rows.npy", "--tau", "9"], "known from"),
    (["--score", "net.py:exact", "--data", "missing.npy"], "missing.npy"),
    (["--score", "net.py:exact"], "--data"),
])
def test_refusals(place, arguments, words):
    """Wrong input has the exit code 2."""
    done = certify(*arguments, "--python", sys.executable)
    assert done.returncode == 2 and words in done.stderr, done


def test_exit_code(place):
    """1 when a line fails or the time was over, with the page and the table as without the option."""
    passes = certify("--score", "net.py:exact", "--data", "rows.npy", *SMALL, "--exit-code")
    assert passes.returncode == 0 and "passed: none of" in passes.stdout, passes
    fails = certify("--score", "net.py:large", "--data", "rows.npy", *SMALL, "--exit-code", "-o", "page")
    assert fails.returncode == 1 and (place / "page" / "certificate.html").exists()
    summary = next(line for line in fails.stdout.splitlines() if line.startswith("not passed: "))
    assert fails.stderr.endswith(f"heatball certify: {summary}\n"), fails
    tolerated = certify("--score", "net.py:large", "--data", "rows.npy", *SMALL, "--exit-code", "--tolerance", "1",
                        "--json")
    assert tolerated.returncode == 0 and json.loads(tolerated.stdout)["passed"] is True, tolerated
    small = [one if one != "0.5" else "0.3,0.7" for one in SMALL]
    cut = certify("--score", "net.py:sleeps_late", "--data", "rows.npy", *small, "--max-time", "3", "--exit-code")
    assert cut.returncode == 1 and "heatball certify: not finished: none of" in cut.stderr, cut


def test_max_time(place):
    """A script that sleeps from some tau on, or from its first call: within a second of the limit."""
    small = [one if one != "0.5" else "0.3,0.7" for one in SMALL]
    start = time.monotonic()
    done = certify("--score", "net.py:sleeps_late", "--data", "rows.npy", *small, "--max-time", "5", "-o", "cut")
    assert time.monotonic() - start < 6.5
    assert done.returncode == 0 and "not finished: none of 7 lines fails" in done.stdout, done
    assert done.stdout.count("not measured: max_time was over") == 7
    assert (place / "cut" / "certificate.html").exists()
    assert json.loads((place / "cut" / "certificate.json").read_text())["passed"] is False
    for name, limit in (("slow", 1), ("stops_itself", 4)):
        start = time.monotonic()
        done = certify("--score", f"net.py:{name}", "--data", "rows.npy", *SMALL, "--max-time", limit)
        assert time.monotonic() - start < limit + 1.5
        assert done.returncode == 1 and "no answer before the end of --max-time" in done.stderr, done
    done = certify("--score", "net.py:exact", "--data", "rows.npy", *SMALL, "--max-time", "-1")
    assert done.returncode == 2 and "--max-time" in done.stderr

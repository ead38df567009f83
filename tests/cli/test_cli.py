"""The command as a user meets it: exit codes, messages, files, signals, memory, help.

The binary is $HEATBALL_COMMAND, by default build/heatball. Numbers are compared with closed forms
in Python's math module and with what numpy reads back; nothing here calls the library.
"""

import csv
import json
import math
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command_line import COMMAND, ROOT, complaint, run, succeed

COMMANDS = ["sample", "constants", "budget", "solve", "residual", "data", "train", "evaluate",
            "generate", "certify", "helmholtz", "study", "reproduce"]
SAMPLE = ["sample", "--measure", "kappa", "--dim", "3", "-n", "11"]


def sample(path, *arguments, measure="kappa", dim=3, n=11):
    succeed("sample", "--measure", measure, "--dim", dim, "-n", n, "-o", path, *arguments)
    return path


# ---- wrong input ----------------------------------------------------------------------------

WHOLE = "an integer from 1 to 1000000"
WRONG = [  # arguments after `sample` without -o, then what the line must say
    ("--measure kappa --dim 0 -n 5", f"--dim is 0; it must be {WHOLE}"),
    ("--measure kappa --dim -3 -n 5", f"--dim is -3; it must be {WHOLE}"),
    ("--measure kappa --dim=-3 -n 5", f"--dim is -3; it must be {WHOLE}"),
    ("--measure kappa --dim 1000001 -n 5", f"--dim is 1000001; it must be {WHOLE}"),
    ("--measure kappa --dim 99999999999999999999999 -n 5", WHOLE),
    ("--measure kappa --dim 4294967297 -n 5", WHOLE),
    ("--measure kappa --dim= -n 5", f"--dim is empty; it must be {WHOLE}"),
    ("--measure kappa --dim '' -n 5", f"--dim is empty; it must be {WHOLE}"),
    ("--measure kappa --dim ' 3' -n 5", WHOLE),
    ("--measure kappa --dim 3.5 -n 5", WHOLE),
    ("--measure kappa --dim three -n 5", "--dim is three"),
    ("--measure kappa --dim --lift 2 -n 5", "--dim needs a value"),
    ("--measure kappa --dim 3 --lift -1 -n 5", "--lift is -1; it must be an integer from 0 to"),
    ("--measure kapa --dim 3 -n 5", "it must be kappa, source or gradient (did you mean kappa?)"),
    ("--measure Kappa --dim 3 -n 5", "--measure is Kappa"),
    ("--measure '' --dim 3 -n 5", "--measure is empty"),
    ("--measure kappa --dim 3 -n 5x", "-n is 5x; it must be an integer from 0 to 2^64-1"),
    ("--measure kappa --dim 3 -n5x", "-n is 5x"),
    ("--measure kappa --dim 3 -n 1.5", "-n is 1.5"),
    ("--measure kappa --dim 3 -n -1", "-n is -1"),
    ("--measure kappa --dim 3 -n 1e-1", "-n is 1e-1"),
    ("--measure kappa --dim 3 -n 0x10", "-n is 0x10"),
    ("--measure kappa --dim 3 -n 18446744073709551616", "2^64-1"),
    ("--measure kappa --dim 3 -n 1e18", "at --dim 3 a file holds at most"),
    ("--measure kappa --dim 3 -n", "-n needs a value"),
    ("--measure kappa --dim 3", "-n is missing"),
    ("--measure kappa -n 5", f"--dim is missing; it must be {WHOLE}"),
    ("--dim 3 -n 5", "--measure is missing; it must be kappa, source or gradient"),
    ("--measure kappa --dim 3 -n 5 --radius nan", "--radius is nan; it must be a number above 0"),
    ("--measure kappa --dim 3 -n 5 --radius inf", "--radius is inf"),
    ("--measure kappa --dim 3 -n 5 --radius 1e999", "--radius is 1e999"),
    ("--measure kappa --dim 3 -n 5 --radius 1e300", "radius is 1e+300"),
    ("--measure kappa --dim 3 -n 5 --radius -1", "--radius is -1; it must be a number above 0"),
    ("--measure kappa --dim 3 -n 5 --radius 0", "--radius is 0; it must be a number above 0"),
    ("--measure kappa --dim 3 -n 5 --radius ' 2'", "--radius is  2; it must be a number above 0"),
    ("--measure kappa --dim 3 -n 5 --radius 1,5", "--radius is 1,5"),
    ("--measure kappa --dim 3 -n 5 --radius 0x1p3", "--radius is 0x1p3"),
    ("--measure kappa --dim 3 -n 5 --seed -1", "--seed is -1"),
    ("--measure kappa --dim 3 -n 5 --dtype f16", "--dtype is f16; it must be f64 or f32"),
    ("--measure kappa --dim 3 -n 5 --first 18446744073709551615", "--first is 18446744073709551615"),
    ("--measure kappa --dim 3 -n 5 --raduis 2", "unknown option --raduis; did you mean --radius?"),
    ("--measure kappa --dim 3 -n 5 --radus=2", "unknown option --radus; did you mean --radius?"),
    ("--measure kappa --dim 3 -n 5 --bogusoption", "unknown option --bogusoption; --help lists"),
    ("--measure kappa --dim 3 -n 5 -z", "unknown option -z"),
    ("--measure kappa --dim 3 -n 5 --dim 3", "--dim is given twice; give it once"),
    ("--measure kappa --dim 3 -n 5 -n 6", "-n is given twice"),
    ("--measure kappa --dim 3 -n 5 stray", "unexpected argument stray"),
    ("--measure kappa --dim 3 -n 5 -- --dim", "unexpected argument --dim"),
    ("--measure kappa --dim 3 -n 5 --quiet=1", "--quiet takes no value"),
    ("--measure kappa --dim 3 -n 5 -q1", "--quiet takes no value"),
    ("--measure kappa --dim 3 -n 5 --threads -2", "--threads is -2; it must be an integer"),
    ("--measure kappa --dim 3 -n 5 --threads 1025", "from 0 to 1024"),
    ("--measure kappa --dim 3 -n 5 --isa avx3", "--isa is avx3; it must be auto, avx512, avx2"),
]


@pytest.mark.parametrize("arguments, expected", WRONG, ids=[w[0] for w in WRONG])
def test_wrong_sample_input(tmp_path, arguments, expected):
    # -o goes first so that a forgotten value at the end of the line stays forgotten
    line = complaint(run("sample", "-o", "k.npy", *shlex.split(arguments), cwd=tmp_path), 2)
    assert line.startswith("heatball sample: ")
    assert expected in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path, expected", [
    ("k.txt", "-o is k.txt; the name must end in .npy or .csv"),
    ("k", ".npy or .csv"),
    ("k.npy/", ".npy or .csv"),
    ("k.NPY", ".npy or .csv"),
    ("a\nb", "-o is a?b"),
    ("", "-o is empty"),
    ("missing/k.npy", "missing/k.npy"),
    ("/proc/k.npy", "/proc/k.npy"),
    ("d.npy", "d.npy"),
])
def test_wrong_output_path(tmp_path, path, expected):
    (tmp_path / "d.npy").mkdir()
    line = complaint(run(*SAMPLE, "-o", path, cwd=tmp_path), 2)
    assert line.startswith("heatball sample: ") and expected in line
    assert [p.name for p in tmp_path.iterdir()] == ["d.npy"]


def test_missing_output(tmp_path):
    assert "-o is missing" in complaint(run(*SAMPLE, cwd=tmp_path), 2)
    assert "-o needs a value" in complaint(run(*SAMPLE, "-o", cwd=tmp_path), 2)
    assert "-o needs a value" in complaint(run(*SAMPLE, "-o", "-q", cwd=tmp_path), 2)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_directory_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    line = complaint(run(*SAMPLE, "-o", tmp_path / "k.npy"), 2)
    tmp_path.chmod(0o700)
    assert "Permission denied" in line and list(tmp_path.iterdir()) == []


def test_wrong_input_keeps_an_old_file(tmp_path):
    path = tmp_path / "k.npy"
    path.write_bytes(b"precious")
    complaint(run("sample", "--measure", "kappa", "--dim", "3", "-n", "5x", "-o", path), 2)
    assert path.read_bytes() == b"precious"


@pytest.mark.parametrize("arguments, prefix, expected", [
    ([], "heatball: ", "no command"),
    (["samle"], "heatball: ", "unknown command samle; did you mean sample?"),
    (["frobnicate"], "heatball: ", "unknown command frobnicate; heatball --help lists"),
    (["--frob"], "heatball: ", "unknown option --frob"),
    (["help", "budgt"], "heatball: ", "did you mean budget?"),
    (["constants"], "heatball constants: ", "--dim is missing"),
    (["constants", "--dim", "2.5"], "heatball constants: ", WHOLE),
    (["constants", "--dim", "2", "--seed", "1"], "heatball constants: ", "unknown option --seed"),
    (["study"], "heatball study: ", "NAME is missing"),
    (["study", "smapler"], "heatball study: ", "there is: identities, sampler, bistable"),
    (["study", "sampler", "extra"], "heatball study: ", "unexpected argument extra"),
    (["study", "sampler", "--seeds", "0"], "heatball study: ", "--seeds is 0; it must be"),
    (["reproduce", "--only", "smapler"], "heatball reproduce: ", "smapler"),
    (["reproduce", "sampler"], "heatball reproduce: ", "unexpected argument sampler"),
])
def test_wrong_commands(tmp_path, arguments, prefix, expected):
    line = complaint(run(*arguments, cwd=tmp_path), 2)
    assert line.startswith(prefix) and expected in line


BUDGET = ["budget", "--dim", "2", "--drift-sup", "1.5", "--div-sup", "0.5"]


@pytest.mark.parametrize("arguments, expected", [
    (["--theta", "1"], "--theta is 1; it must be a number above 0 and below 1"),
    (["--theta", "0"], "--theta is 0"),
    (["--tau", "0"], "--tau is 0; it must be a number above 0"),
    (["--tau", "nan"], "--tau is nan"),
    (["--u0-min", "0.1", "--u0-max", "0.4"], "--u0-grad is missing"),
    (["--u0-min", "0.1", "--u0-grad", "0.4"], "--u0-max is missing"),
    (["--u0-max", "0.1", "--u0-grad", "0.4"], "--u0-min is missing"),
    (["--u0-min", "0.1"], "--u0-max is missing"),
    (["--u0-min", "0.5", "--u0-max", "0.1", "--u0-grad", "1"], "u0_min"),
])
def test_wrong_budget_input(arguments, expected):
    assert expected in complaint(run(*BUDGET, *arguments), 2)
    assert "--drift-sup is -1" in complaint(
        run("budget", "--dim", 2, "--drift-sup", -1, "--div-sup", 0.5), 2)


# ---- the file of sample ---------------------------------------------------------------------

@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("measure", ["kappa", "source", "gradient"])
def test_npy_shape_header_and_csv(tmp_path, measure, dtype):
    options = ["--dtype", dtype, "--radius", "2.385", "--lift", "2", "--seed", "77"]
    rows = np.load(sample(tmp_path / "k.npy", *options, measure=measure, dim=5, n=321))
    assert rows.shape == (321, 6) and rows.flags["C_CONTIGUOUS"]
    assert rows.dtype == np.dtype("<f8" if dtype == "f64" else "<f4")
    assert np.all(np.isfinite(rows))
    sigma = rows[:, -1].astype(float)
    assert np.all((sigma > 0) & (sigma < 2.385**2 / (4 * math.pi)))
    # inside the lifted ball: |z|^2 <= 2 D s ln(r^2/(4 pi s)), D = 7
    bound = -2 * 7 * sigma * np.log(4 * math.pi * sigma / 2.385**2)
    assert np.all((rows[:, :-1].astype(float)**2).sum(1) <= bound * (1 + 1e-5))
    path = sample(tmp_path / "k.csv", *options, measure=measure, dim=5, n=321)
    assert path.read_text().splitlines()[0] == "z_1,z_2,z_3,z_4,z_5,sigma"
    read = np.loadtxt(path, delimiter=",", skiprows=1, dtype=rows.dtype)
    assert read.tobytes() == rows.tobytes()


def test_law_of_kappa(tmp_path):
    """|z|^2/(2 sigma) is chi-square with d+2 degrees of freedom (5 standard errors)."""
    rows = np.load(sample(tmp_path / "k.npy", dim=7, n=200000))
    assert rows.shape == (200000, 8)
    x = (rows[:, :7]**2).sum(1) / (2 * rows[:, 7])
    assert abs(x.mean() - 9) < 5 * math.sqrt(18 / 200000)
    fourth = 12 * 9 * (9 + 4)  # central moment of chi-square(9)
    assert abs(((x - 9)**2).mean() - 18) < 5 * math.sqrt((fourth - 18**2) / 200000)


@pytest.mark.parametrize("dim, n", [(2, 70001), (300, 9001)])
def test_threads_do_not_change_the_bytes(tmp_path, dim, n):
    files = [sample(tmp_path / f"{k}.npy", "--threads", k, dim=dim, n=n).read_bytes()
             for k in (1, 2, 5)]
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("name, dim, n", [("k.csv", 2, 90001), ("k.npy", 200000, 9)])  # pieces of text; of one row
def test_pieces_keep_their_order(tmp_path, name, dim, n):
    files = [sample(tmp_path / name, "--threads", k, dim=dim, n=n).read_bytes() for k in (1, 3, 40)]
    assert files[0] == files[1] == files[2]


def test_two_threads_work_as_much_as_one(tmp_path, monkeypatch):
    """Found: a loop of two threads beside one that wrote took three times the processor time."""
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)  # as users have it
    def seconds(threads):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        sample(tmp_path / "k.npy", "--threads", threads, dim=16, n=500000)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        (tmp_path / "k.npy").unlink()
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    turns = [(seconds(1), seconds(2)) for _ in range(4)]
    one, two = map(min, zip(*turns))
    assert two < 1.6 * one


def test_chunks_by_first_are_one_file(tmp_path):
    """Also across the buffers of the command: 900000 rows of 3 columns are 21 MB."""
    whole = np.load(sample(tmp_path / "w.npy", "--seed", "9", dim=2, n=900000))
    again = np.load(sample(tmp_path / "a.npy", "--seed", "9", "--threads", 1, dim=2, n=900000))
    assert again.tobytes() == whole.tobytes()
    parts = [np.load(sample(tmp_path / "p.npy", "--seed", "9", "--first", first, dim=2, n=n))
             for first, n in ((0, 333333), (333333, 1), (333334, 566666))]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_seed_and_default_seed(tmp_path):
    default = sample(tmp_path / "a.npy").read_bytes()
    assert sample(tmp_path / "b.npy", "--seed", "1").read_bytes() == default
    assert sample(tmp_path / "c.npy", "--seed", "2").read_bytes() != default
    sample(tmp_path / "d.npy", "--seed", "18446744073709551615")


def test_no_rows(tmp_path):
    rows = np.load(sample(tmp_path / "k.npy", n=0))
    assert rows.shape == (0, 4) and rows.dtype == np.float64
    assert sample(tmp_path / "k.csv", n=0).read_text() == "z_1,z_2,z_3,sigma\n"
    line = complaint(run("sample", "--measure", "kappa", "--dim", 3, "-n", 0, "--radius", "1e300",
                         "-o", tmp_path / "x.npy"), 2)
    assert "radius" in line and not (tmp_path / "x.npy").exists()


def test_forms_of_options(tmp_path):
    expected = sample(tmp_path / "a.npy", "--radius", "2.5", "--seed", "7", n=2000).read_bytes()
    for i, form in enumerate(["--measure=kappa --dim=3 -n2000 --radius=2.5 --seed=7",
                              "--measure kappa --dim 3 -n 2e3 --radius +2.5 --seed 0.7e1",
                              "--measure kappa --dim +3 -n 2000.0 --radius 25e-1 --seed 007"]):
        path = tmp_path / f"{i}.npy"
        succeed("sample", *form.split(), f"-o{path}")
        assert path.read_bytes() == expected, form
    assert np.load(sample(tmp_path / "m.npy", n="1e6")).shape == (1000000, 4)


def test_result_line_quiet_and_json(tmp_path):
    path = tmp_path / "k.npy"
    line = succeed(*SAMPLE, "--seed", 31, "-o", path)
    assert line.startswith(f"{path}: 11 rows of kappa, dimension 3, seed 31, ")
    assert re.search(r" s, [0-9.]+( [kMG])? rows/s\n$", line)
    assert succeed(*SAMPLE, "-q", "-o", path) == ""
    result = json.loads(succeed(*SAMPLE, "--seed", 31, "--json", "-o", path))
    wanted = {"file": str(path), "rows": 11, "columns": 4, "dtype": "f64", "measure": "kappa",
              "dim": 3, "lift": 0, "radius": 1.0, "seed": 31, "first": 0}
    assert {key: result[key] for key in wanted} == wanted
    assert result["seconds"] > 0 and result["rows_per_second"] > 0
    result = json.loads(succeed(*SAMPLE, "--seed", 2**64 - 1, "--json", "-o", path))
    assert result["seed"] == str(2**64 - 1)


@pytest.mark.parametrize("isa", ["scalar", "sse2", "avx2", "avx512"])
def test_isa(tmp_path, isa):
    flags = (pathlib.Path("/proc/cpuinfo").read_text() + " ").split("flags", 1)[1].split("\n")[0]
    done = run(*SAMPLE, "--isa", isa, "-o", tmp_path / "k.npy")
    needed = {"avx2": "avx2", "avx512": "avx512f"}.get(isa)
    if needed and needed not in flags.split():
        assert f"--isa is {isa}" in complaint(done, 2)
    else:
        assert done.returncode == 0
        reference = np.load(sample(tmp_path / "r.npy", "--isa", "scalar"))
        assert np.allclose(np.load(tmp_path / "k.npy"), reference, rtol=1e-12, atol=0)
    if needed and needed in flags.split():  # avx2 and avx512 give the same bits, and auto takes one
        assert (sample(tmp_path / "a.npy", n=20000).read_bytes()
                == sample(tmp_path / "b.npy", "--isa", isa, n=20000).read_bytes())


# ---- runs that fail -------------------------------------------------------------------------

BIG = ["sample", "--measure", "kappa", "--dim", "2", "-n", "1e9"]


@pytest.mark.parametrize("threads", [0, 1])
def test_file_size_limit(tmp_path, threads):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000000, 3000000))

    line = complaint(run(*BIG, "-o", "k.npy", "--threads", threads, cwd=tmp_path,
                         preexec_fn=limit), 1)
    assert line.startswith("heatball sample: ") and "k.npy" in line
    assert list(tmp_path.iterdir()) == []


def test_file_size_limit_with_the_signal_not_ignored(tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000000, 3000000))

    complaint(run(*BIG, "-o", "k.csv", cwd=tmp_path, preexec_fn=limit), 1)
    assert list(tmp_path.iterdir()) == []


def test_full_disk(tmp_path):
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "heatball", str(tmp_path)],
                             capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no tmpfs can be mounted here")
    try:
        (tmp_path / "k.npy").write_bytes(b"old")
        line = complaint(run(*BIG, "-o", tmp_path / "k.npy"), 1)
        assert "bytes; its file system has" in line
        assert [p.name for p in tmp_path.iterdir()] == ["k.npy"]
        assert (tmp_path / "k.npy").read_bytes() == b"old"
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("threads", ["0", "1"])  # 1 leaves a core free for a writing thread
@pytest.mark.parametrize("name", ["k.npy", "k.csv"])
def test_interrupt(tmp_path, number, name, threads):
    process = subprocess.Popen([COMMAND, *BIG, "-o", name, "--threads", threads], cwd=tmp_path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:  # until rows are being written
        if any(p.stat().st_size > 10**6 for p in tmp_path.iterdir()):
            break
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and out == ""
    assert re.fullmatch(r"heatball sample: interrupted after \d+ of 1000000000 rows; "
                        + re.escape(name) + " is not written\n", err), err
    assert list(tmp_path.iterdir()) == []


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """VmHWM, the peak since exec; ru_maxrss would count the Python that forked."""
    process = subprocess.Popen([COMMAND, "sample", "--measure", "kappa", "--dim", "2", "-n", "2e7",
                                "-q", "-o", str(tmp_path / "k.npy")])
    peaks = []
    while process.poll() is None:
        found = re.search(r"VmHWM:\s+(\d+) kB\n",
                          pathlib.Path(f"/proc/{process.pid}/status").read_text())
        peaks += [int(found.group(1))] if found else []
        time.sleep(0.005)
    assert process.returncode == 0
    assert (tmp_path / "k.npy").stat().st_size == 128 + 2 * 10**7 * 3 * 8
    (tmp_path / "k.npy").unlink()
    # the file is 480 MB; the first readings may still be the fork's, before exec
    assert len(peaks) > 10 and 1000 < peaks[-1] < 100 * 1024


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["sample", "--help"],
                                       ["constants", "--dim", "3"], ["constants", "--dim=3", "--json"]])
def test_standard_output_that_cannot_be_written(arguments):
    with open("/dev/full", "w") as full:
        line = complaint(run(*arguments, stdout=full), 1)
    assert "cannot write to standard output: No space left on device" in line


def test_closed_pipe_and_closed_output(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    done = run("constants", "--dim", "3", stdout=writing)  # the reader has seen enough: no failure
    os.close(writing)
    assert done.returncode == 0 and not done.stderr
    # with stdout closed, the result must not be printed into the file that takes its number
    done = run(*SAMPLE, "-o", "k.npy", cwd=tmp_path, preexec_fn=lambda: os.close(1))
    assert done.returncode == 1
    assert np.load(tmp_path / "k.npy").shape == (11, 4)


def test_closed_streams_do_not_become_the_file(tmp_path):
    process = subprocess.Popen([COMMAND, *BIG, "-o", "k.npy"], cwd=tmp_path,
                               preexec_fn=lambda: (os.close(1), os.close(2)))
    while not any(tmp_path.iterdir()):
        assert process.poll() is None
        time.sleep(0.01)
    streams = [os.readlink(f"/proc/{process.pid}/fd/{stream}") for stream in (1, 2)]
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 1
    assert streams == ["/dev/null", "/dev/null"] and list(tmp_path.iterdir()) == []


# ---- constants and budget -------------------------------------------------------------------

CONSTANTS = ["dim", "lift", "C1", "C2", "C3", "c_g", "volume", "sigma_star", "R_max", "mean_sigma",
             "one_plus_chi2", "C_d", "C_sharp", "source_mass", "gradient_mass", "cylinder_volume",
             "cylinder_ratio"]
PUBLISHED = {1: (0.0204196, 0.0795775), 2: (0.0397887, 0.1814437), 3: (0.0532573, 0.2685740),
             8: (0.0834430, 0.5722413), 32: (0.1068881, 1.3068428)}


def closed_forms(d, m):
    D, n, pi, ln, lg = d + m, (d + m) / 2, math.pi, math.log, math.lgamma
    C1 = (D / (D + 2))**(n + 2) / pi
    ln_sphere = ln(2) + n * ln(pi) - lg(n)
    ln_unit_ball = n * ln(pi) - lg(n + 1)
    volume = math.exp(ln_unit_ball + n * ln(n / pi) - ln(4 * pi) + lg(n + 1) - (n + 1) * ln(n + 1))
    c_g = math.exp(ln(D / 2 / (D + 1)) + ln_sphere + (n + .5) * ln(n / pi) + lg(n + 1.5)
                   - (n + 1.5) * ln(n + .5))
    R_max = math.sqrt(2 * D / (4 * pi * math.e))
    cylinder = math.exp(ln_unit_ball + D * ln(R_max)) / (4 * pi)
    chi = None
    if D > 2:
        chi = cylinder / 16 * math.exp(ln_sphere - ln(D + 4) + (n + 2) * ln(2 * D)
                                       - (n - 1) * ln(4 * pi) + lg(n + 3) - (n + 3) * ln(n - 1))
    return {"dim": d, "lift": m, "C1": C1, "C2": 2 * D * C1, "C3": C1 / 2, "c_g": c_g,
            "volume": volume, "sigma_star": 1 / (4 * pi * math.e), "R_max": R_max,
            "mean_sigma": C1 / 4, "one_plus_chi2": chi, "C_d": math.exp(lg((d + 1) / 2) - lg(d / 2)),
            "C_sharp": 1 / math.sqrt(pi), "source_mass": C1 / 2 / D, "gradient_mass": c_g / D,
            "cylinder_volume": cylinder, "cylinder_ratio": cylinder / volume}


@pytest.mark.parametrize("dim, lift", [(1, 0), (2, 0), (3, 0), (8, 0), (32, 0), (1, 2), (5, 3)])
def test_constants(dim, lift):
    found = json.loads(succeed("constants", "--dim", dim, "--lift", lift, "--json"))
    assert list(found) == CONSTANTS
    expected = closed_forms(dim, lift)
    for key in CONSTANTS:
        if expected[key] is None:
            assert found[key] is None, key
        else:
            assert found[key] == pytest.approx(expected[key], rel=2e-13), key
    if lift == 0:
        assert found["C1"] == pytest.approx(PUBLISHED[dim][0], abs=5.1e-8)
        assert found["c_g"] == pytest.approx(PUBLISHED[dim][1], abs=5.1e-8)


def test_constants_table_is_the_json():
    found = json.loads(succeed("constants", "--dim", 6, "--json"))
    rows = [line.split(None, 2) for line in succeed("constants", "--dim", 6).splitlines()]
    assert [row[0] for row in rows] == CONSTANTS
    for key, text, meaning in rows:
        assert text == f"{found[key]:.15g}" and len(meaning) > 3
    assert "inf" in succeed("constants", "--dim", 2)


def lambda_of(T, K, c):
    return K * math.sqrt(T) * (math.sqrt(T) + 2 * c)


def test_budget_window():
    found = json.loads(succeed("budget", "--dim", 5, "--drift-sup", 1.7, "--div-sup", 0.6, "--theta",
                               0.8, "--json"))
    C_d, C_sharp = math.gamma(3) / math.gamma(2.5), 1 / math.sqrt(math.pi)
    assert list(found) == ["dim", "drift_sup", "div_sup", "theta", "C_d", "C_sharp", "T0", "T0_paper",
                           "T", "K", "Lambda", "Lambda_paper", "inside", "inside_paper"]
    for c, key in ((C_sharp, "T0"), (C_d, "T0_paper")):
        root = (math.sqrt(c * c + 0.8 / 2.3) - c)**2
        assert found[key] == pytest.approx(root, rel=1e-12)
    assert found["C_d"] == pytest.approx(C_d, rel=1e-13) and found["dim"] == 5
    assert found["K"] == pytest.approx(2.3) and found["T"] == found["T0"]
    assert found["Lambda"] == pytest.approx(0.8, rel=1e-12)
    assert found["Lambda_paper"] == pytest.approx(lambda_of(found["T0"], 2.3, C_d), rel=1e-12)
    assert found["inside_paper"] is False


def test_budget_at_a_time_with_bounds():
    options = ["--u0-min", 0.05, "--u0-max", 0.4, "--u0-grad", 0.3, "--tau", 0.02]
    found = json.loads(succeed(*BUDGET, *options, "--json"))
    c = 1 / math.sqrt(math.pi)
    assert found["theta"] == 0.9 and found["T"] == 0.02 and found["inside"] is True
    assert found["Lambda"] == pytest.approx(lambda_of(0.02, 2, c), rel=1e-12)
    assert lambda_of(0.02, found["K_for_T"], c) == pytest.approx(0.9, rel=1e-12)
    assert lambda_of(0.02, found["K_for_T_paper"], found["C_d"]) == pytest.approx(0.9, rel=1e-12)
    assert found["radius"] == pytest.approx(0.7 / (1 - found["Lambda"]), rel=1e-12)
    assert 0 < found["u_lower"] <= 0.05 and found["u_upper"] >= 0.4
    for key in ("v_bound", "w_bound", "score_bound", "score_bound_paper", "radius_paper"):
        assert found[key] > 0, key
    outside = json.loads(succeed(*BUDGET, *options[:-1], 5, "--json"))
    assert outside["inside"] is False
    assert outside["radius"] is None and outside["score_bound"] is None


def test_budget_without_drift():
    found = json.loads(succeed("budget", "--dim", 3, "--drift-sup", 0, "--div-sup", 0, "--json"))
    assert found["T0"] is None and found["T0_paper"] is None and found["inside"] is True


# ---- help, version, pages -------------------------------------------------------------------

def help_of(command):
    return succeed(command, "--help")


def options_of(command):
    """Every option of a command, from the lines of its help page: --dim, -n, -q ..."""
    found = []
    for line in help_of(command).splitlines():
        if re.match(r"  -", line):
            found += re.findall(r"(?:^|[ ,])(--?[a-z0-9-]+)", line[:22] if line[2:22].strip() else line)
    return found


def groups_of(command):
    """Heading to the options under it."""
    found = {}
    for title, text in re.findall(r"^(?!Example)([A-Z][\w ]*):\n(  .*?)\n\n", help_of(command), re.M | re.S):
        found[title] = [words.split()[-1] for words in re.findall(r"^  ((?:-\w, )?-[\w-]+|MODEL)", text, re.M)]
    return found


@pytest.mark.parametrize("command, groups", [
    ("solve", {"Problem": "--drift", "Points and times": "--at", "Method": "--method",
               "Accuracy and time": "--stderr", "Output": "-o", "Running": "--state"}),
    ("train", {"Data": "--data", "Process": "--process", "Network": "--width", "Loss": "--loss",
               "Run": "--epochs", "Output": "-o"}),
    ("evaluate", {"Model and data": "MODEL", "Measurements": "--tau", "Output": "--plot"}),
    ("generate", {"Model and samples": "-n", "Solver": "--solver", "Output": "-o"}),
    ("certify", {"Score": "--score", "Data": "--data", "Process": "--drift", "Tests": "--level",
                 "Running": "--max-time", "Output": "-o"}),
    ("constants", {"Options": "--dim"}),
])
def test_help_shows_long_lists_of_options_in_groups(command, groups):
    found = groups_of(command)
    assert list(found) == [*groups, "Common options"]
    for title, option in groups.items():
        assert option in found[title]
    assert sum(map(len, found.values())) <= len(options_of(command)) + 1  # MODEL


def examples_of(command):
    """The lines below Example or Examples, to be typed one after the other."""
    return [line.strip() for line in re.split(r"\nExamples?:\n", help_of(command))[1].splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command):
    page = help_of(command)
    assert page.startswith(f"usage: heatball {command} ")
    assert max(len(line) for line in page.split("\nExample")[0].splitlines()) <= 80
    assert page == succeed("help", command) == succeed(command, "-h") == succeed(command, "--dim",
                                                                                 "x", "--help")
    assert {"--help", "--version", "--threads", "--quiet"} <= set(options_of(command))
    assert "--isa" not in page  # for tests; in heatball(1)
    assert re.search(rf"^  {command} +\S", succeed("--help"), re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_of_the_help_work(tmp_path, command):
    lines = examples_of(command)
    own = [line for line in lines if line.startswith(f"heatball {command} ")]
    assert len(own) == 3
    assert own == lines or command in ("train", "evaluate", "generate", "certify")
    if command == "helmholtz":  # a model to read
        succeed("train", "--data", "ring", "--loss", "dsm", "--width", "16", "--depth", "2", "--steps",
                "20", "-o", shlex.split(lines[0])[2], cwd=tmp_path)
    # certify --score needs an interpreter with NumPy
    environment = os.environ | {"PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    for line in lines:
        if command == "reproduce" and not {"--only", "--join"} & set(line.split()):  # the studies have tests of their own
            line += " --only sampler"
        done = subprocess.run(["bash", "-c", line.replace("heatball ", f"{shlex.quote(str(COMMAND))} ", 1)],
                              cwd=tmp_path, capture_output=True, text=True, timeout=300, env=environment)
        assert done.returncode == 0, done.stderr
        words = shlex.split(line)
        assert done.stdout != "" or words[0] == "echo"
        for option in {"-o", "--plot", "--log"} & set(words):
            assert (tmp_path / words[words.index(option) + 1]).exists()
    if command == "reproduce":
        assert done.stdout.splitlines()[-1] == "two/index.html"
        assert (tmp_path / "demo" / "index.html").exists() and (tmp_path / "two" / "index.html").exists()
    if command == "study":
        assert done.stdout.splitlines()[-1] == words[words.index("-o") + 1]


def test_quiet_study_prints_nothing(tmp_path):
    assert succeed("study", "sampler", "--quick", "-q", cwd=tmp_path) == ""
    assert (tmp_path / "heatball-sampler").is_dir()


def test_overview_lists_the_commands_in_groups():
    page = succeed("--help")
    assert page == succeed("help") == succeed("-h")
    assert max(map(len, page.splitlines())) <= 80
    groups = {title: re.findall(r"^  (\w+)  +\S", text, re.M)
              for title, text in re.findall(r"^(.*):\n((?:  .*\n)+)", page, re.M)}
    assert groups.pop("Try first") == []
    assert groups == {"Solve an SDE": ["solve", "residual", "budget"],
                      "Score models": ["data", "train", "evaluate", "generate", "certify", "helmholtz"],
                      "Heat balls": ["sample", "constants"], "The paper": ["study", "reproduce"]}
    man = (ROOT / "docs" / "man" / "heatball.1").read_text()
    for title, names in groups.items():
        assert re.findall(r"^\.It Cm (\w+)", man.split(f".Ss {title}\n")[1].split(".El")[0], re.M) == names


def test_first_commands_of_the_overview_run(tmp_path):
    lines = succeed("--help").split("Try first:\n")[1].split("\n\n")[0].splitlines()
    assert len(lines) == 2
    man = man_page("heatball.1").replace("\\(ha", "^")
    for line in lines:
        assert line.strip() in man
        assert succeed(*shlex.split(line)[1:], cwd=tmp_path) != ""


def test_version():
    header = (ROOT / "include" / "heatball" / "base.h").read_text()
    version = re.search(r'HB_VERSION "([^"]+)"', header).group(1)
    assert succeed("--version") == succeed("sample", "--version") == f"heatball {version}\n"


def man_page(name):
    """The source of a man page with its options as one types them: .Fl -dim and \\-\\-dim are --dim."""
    text = (ROOT / "docs" / "man" / name).read_text().replace("\\-", "-")
    return re.sub(r"\bFl (\S)", r"-\1", text)


@pytest.mark.parametrize("command", COMMANDS)
def test_pages_name_every_option(command):
    """The man page and the page of docs/reference/commands name each option, and no other."""
    man = man_page(f"heatball-{command}.1")
    page = (ROOT / "docs" / "reference" / "commands" / f"{command}.md").read_text()
    known = set(options_of(command))
    common = {"--threads", "--isa", "--quiet", "-q", "--help", "-h", "--version"}
    for option in known - common:
        assert re.search(rf"{option}\b", man), f"man page lacks {option}"
        assert re.search(rf"`{option}\b", page), f"docs/reference/commands/{command}.md lacks {option}"
    own = re.sub(rf"^.*heatball (?!{command})[a-z]+ --.*$", "", man + page, flags=re.M)
    assert set(re.findall(r"--[a-z][a-z0-9-]*", own)) <= known | common
    for line in examples_of(command):
        assert line in page, line
    overview = man_page("heatball.1")
    for option in common:
        assert option in overview
    assert f"heatball-{command}" in overview


def complete(*words, cwd=None):
    """What bash offers for the last word of a command line."""
    script = (f"source {shlex.quote(str(ROOT / 'completions' / 'heatball.bash'))}\n"
              f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}\n"
              "_heatball; printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return set(done.stdout.split())


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_completion(tmp_path):
    assert complete("heatball", "") >= set(COMMANDS) | {"help"}
    assert complete("heatball", "sa") == {"sample"}
    assert complete("heatball", "help", "bu") == {"budget"}
    for command in COMMANDS:
        assert complete("heatball", command, "-") == set(options_of(command)), command
    assert complete("heatball", "sample", "--measure", "") == {"kappa", "source", "gradient"}
    assert complete("heatball", "sample", "--measure", "=", "g") == {"gradient"}
    assert complete("heatball", "sample", "--dtype", "f") == {"f64", "f32"}
    assert complete("heatball", "solve", "--method", "w") == {"walk"}
    assert complete("heatball", "residual", "--quantity", "") == {"u", "v", "w"}
    assert complete("heatball", "constants", "--isa", "avx") == {"avx2", "avx512"}
    assert complete("heatball", "study", "") == {"identities", "sampler", "bistable", "planar", "dimension", "density", "drift", "mnist"}
    for command in COMMANDS:
        usage = succeed(command, "--help").split("\n\n")[0]
        for option, names in re.findall(r"(--[a-z-]+) ([a-z0-9-]+(?:\|[a-z0-9-]+)+)\b", usage):
            assert complete("heatball", command, option, "") == set(names.split("|")), (command, option)
    (tmp_path / "rows.npy").touch()
    assert complete("heatball", "sample", "-o", "ro", cwd=tmp_path) == {"rows.npy"}


# ---- the parser's kinds that no command of this version uses ----------------------------------

DRIVER = r"""
#include "options.h"
#include <math.h>
typedef struct values { int level; double limit, open; hb_reals taus; const char *name; int mode;
                        uint64_t small; hb_texts sets; } values;
static const char *const modes[] = {"fast", "exact", NULL};
static const hb_option options[] = {
    {.name = "level", .kind = HB_OPTION_INTEGER, .placeholder = "L", .help = "l",
     .offset = offsetof(values, level)},
    {.name = "limit", .kind = HB_OPTION_REAL, .placeholder = "X", .help = "x",
     .rules = HB_OPTION_INFINITE | HB_OPTION_NAN, .fallback = "inf",
     .offset = offsetof(values, limit)},
    {.name = "open", .kind = HB_OPTION_REAL, .placeholder = "X", .help = "x",
     .offset = offsetof(values, open)},
    {.name = "taus", .kind = HB_OPTION_REALS, .placeholder = "LIST", .help = "t", .max = INFINITY,
     .rules = HB_OPTION_ABOVE, .offset = offsetof(values, taus)},
    {.placeholder = "MODEL", .kind = HB_OPTION_TEXT, .help = "m", .rules = HB_OPTION_POSITIONAL,
     .offset = offsetof(values, name)},
    {.name = "mode", .kind = HB_OPTION_CHOICE, .help = "m", .choices = modes,
     .offset = offsetof(values, mode)},
    {.name = "small", .kind = HB_OPTION_UNSIGNED, .placeholder = "N", .help = "n", .min = 2,
     .max = 9, .fallback = "4", .offset = offsetof(values, small)},
    {.name = "set", .kind = HB_OPTION_TEXTS, .placeholder = "A=B", .help = "s",
     .offset = offsetof(values, sets)},
    {0}};
int main(int argc, char **argv)
{
    values v = {0};
    char message[HB_OPTIONS_MESSAGE];
    const hb_option_section sections[] = {{"Options", options, &v}, {0}};
    hb_status status = hb_options_parse(sections, argc - 1, argv + 1, message);
    if (status != HB_OK) puts(message);
    else {
        printf("%d %g %g %s %d %d [", v.level, v.limit, v.open, v.name ? v.name : "none", v.mode,
               (int)v.small);
        for (size_t i = 0; i < v.taus.n; i++) printf(" %.17g", v.taus.values[i]);
        printf(" ]");
        for (size_t i = 0; i < v.sets.n; i++) printf(" {%s}", v.sets.values[i]);
        puts("");
    }
    hb_options_release(sections);
    return status;
}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    place = tmp_path_factory.mktemp("driver")
    (place / "driver.c").write_text(DRIVER)
    subprocess.run([compiler, "-std=c11", "-D_GNU_SOURCE", "-fsanitize=address,undefined",
                    f"-I{ROOT / 'cli'}", f"-I{ROOT / 'include'}", str(place / "driver.c"),
                    str(ROOT / "cli" / "options.c"), "-ljansson", "-lm", "-o", str(place / "driver")], check=True)
    return lambda *words: subprocess.run([str(place / "driver"), *words], capture_output=True,
                                         text=True)


@pytest.mark.parametrize("words, expected", [
    ([], "0 inf nan none -1 4 [ ]"),
    (["--taus", "0.1,2.385e-3,4"], "0 inf nan none -1 4 [ 0.10000000000000001 "
                                   "0.0023850000000000000 4 ]".replace("0.0023850000000000000",
                                                                       f"{2.385e-3:.17g}")),
    (["--taus=7", "--limit", "-inf"], "0 -inf nan none -1 4 [ 7 ]"),
    (["--limit", "nan", "--open=-2.5"], "0 nan -2.5 none -1 4 [ ]"),
    (["--level", "-2147483648"], "-2147483648 inf nan none -1 4 [ ]"),
    (["--level", "2147483647", "m.x"], "2147483647 inf nan m.x -1 4 [ ]"),
    (["--level", "-1.50e2"], "-150 inf nan none -1 4 [ ]"),
    (["--level", "0e999"], "0 inf nan none -1 4 [ ]"),
    (["--", "--level"], "0 inf nan --level -1 4 [ ]"),
    (["-", "--mode", "exact"], "0 inf nan - 1 4 [ ]"),
    (["--small", "9"], "0 inf nan none -1 9 [ ]"),
    (["--set", "a=2", "--small", "9", "--set=b=-3"], "0 inf nan none -1 9 [ ] {a=2} {b=-3}"),
])
def test_option_kinds(driver, words, expected):
    done = driver(*words)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected + "\n", "")


@pytest.mark.parametrize("words, expected", [
    (["--taus", "0.1,,2"], "--taus is 0.1,,2; it must be numbers separated by commas, each above 0"),
    (["--taus", "0.1,"], "--taus is 0.1,;"),
    (["--taus", ","], "--taus is ,;"),
    (["--taus", "1,-2"], "--taus is 1,-2;"),
    (["--taus", "1;2"], "--taus is 1;2;"),
    (["--taus", "1, 2"], "--taus is 1, 2;"),
    (["--taus", "1", "--taus", "2"], "--taus is given twice"),
    (["--open", "inf"], "--open is inf; it must be a number"),
    (["--open", "1e400"], "--open is 1e400"),
    (["--open", "1.5abc"], "--open is 1.5abc"),
    (["--level", "2147483648"], "--level is 2147483648; it must be an integer from -2147483648"),
    (["--level", "-2147483649"], "--level is -2147483649"),
    (["--level", "1e"], "--level is 1e"),
    (["--level", "."], "--level is ."),
    (["--level", "-"], "--level is -"),
    (["--mode", "exat"], "--mode is exat; it must be fast or exact (did you mean exact?)"),
    (["--small", "1"], "--small is 1; it must be an integer from 2 to 9"),
    (["--small", "10"], "--small is 10"),
    (["a", "b"], "unexpected argument b"),
    ([""], "MODEL is empty"),
    (["--set", "a", "--set", ""], "--set is empty"),
    (["--set", "a", "--set"], "--set needs a value"),
    (["--lvel", "3"], "did you mean --level?"),
    (["--leve", "3"], "did you mean --level?"),
    (["--" + "x" * 5000], "unknown option --xxx"),
    (["--level", "9" * 5000], "it must be an integer"),
])
def test_option_refusals(driver, words, expected):
    done = driver(*words)
    assert done.returncode == 1 and done.stderr == ""
    assert expected in done.stdout and done.stdout.count("\n") == 1 and len(done.stdout) < 400


@pytest.mark.parametrize("dim", [1, 7])
def test_sample_plot(tmp_path, dim):
    """All draws lie inside the boundary that is drawn, and the mean of a solution of the heat equation tends to 1."""
    rows, figure = tmp_path / "k.npy", tmp_path / "ball.svg"
    done = run("sample", "--measure", "kappa", "--dim", dim, "--radius", 1.5, "-n", 20000, "-o", rows, "--plot", figure)
    assert done.returncode == 0 and figure.stat().st_size > 1000, done.stderr
    with open(tmp_path / "ball.plot.csv") as file:
        found = list(csv.DictReader(file))
    draws, curve, means = ([(float(row["x"]), float(row["y"])) for row in found if row["label"] == label]
                           for label in ("draws", "boundary", "mean"))
    widest = 1.5 * np.sqrt(dim / (2 * np.pi * np.e))
    assert np.max([x for x, _ in curve]) == pytest.approx(widest, rel=1e-3)
    for x, sigma in draws:
        assert x**2 <= 2 * dim * sigma * np.log(1.5**2 / (4 * np.pi * sigma)) * (1 + 1e-9)
    z = np.load(rows)
    u = np.exp(z[:, :-1].sum(axis=1) / (1.5 * np.sqrt(dim)) - z[:, -1] / 1.5**2)
    assert means[-1] == (20000, pytest.approx(u.mean())) and abs(means[-1][1] - 1) < 5 * u.std() / 20000**0.5
    refused = run("sample", "--measure", "kappa", "--dim", 2, "-n", 0, "-o", rows, "--plot", figure)
    assert refused.returncode == 2 and "--plot needs draws; -n is 0" in refused.stderr

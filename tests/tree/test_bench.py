"""What `make bench` stands on, without its times: the choice of OpenBLAS's kernels, rounds that keep to their time, the
machine's name, the summary's figure. OpenBLAS is played by a small library that dies, errs or loiters as its core says."""

import csv
import json
import os
import shutil
import subprocess
import sys
import time

import pytest
from command_line import ROOT

import instruction_set
import machine
import peer_openblas
import summary_figure
from rounds import turns

STAND_IN = r"""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static const char *core(void) { const char *c = getenv("OPENBLAS_CORETYPE"); return c ? c : "Haswell"; }
const char *openblas_get_corename(void) { return core(); }
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                 int ldb, float beta, float *c, int ldc)
{
    (void)order, (void)ta, (void)tb, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb, (void)beta, (void)ldc;
    const int is_good = !strcmp(core(), "Zen"), is_wrong = !strcmp(core(), "Nehalem");
    if (strstr("SapphireRapids Cooperlake SkylakeX", core())) raise(SIGILL);
    for (clock_t start = clock(); !is_good && !is_wrong && clock() - start < CLOCKS_PER_SEC / 500;) {}
    for (int i = 0; i < m * n; i++) c[i] = 0.125f * (float)k + (is_wrong ? 1 : 0);
}
"""


@pytest.fixture(scope="module")
def openblas(tmp_path_factory):
    """A directory like openblas-pthread, whose library has no AVX-512, is wrong as Nehalem and fastest as Zen."""
    place = tmp_path_factory.mktemp("openblas")
    (place / "stand_in.c").write_text(STAND_IN)
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", place / "libopenblas.so.0", place / "stand_in.c"],
                   check=True)
    shutil.copy(place / "libopenblas.so.0", place / "libblas.so.3")
    return str(place)


def test_cores_that_die_or_err_are_left_out(openblas, monkeypatch):
    monkeypatch.setenv("HEATBALL_OPENBLAS", openblas)
    monkeypatch.setenv("OPENBLAS_CORETYPE", "SkylakeX")  # of the user: not ours to keep
    works = peer_openblas.try_all(openblas, 8, 16)
    assert set(works) == {"", "Zen", "Haswell", "SandyBridge"}
    assert works[""][1] == "Haswell" and min(works, key=lambda core: works[core][0]) == "Zen"


def test_the_script_is_run_with_the_fastest_core(openblas, tmp_path):
    script = tmp_path / "peer.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(ROOT / 'bench')!r})\nimport os, peer_openblas\n"
                      "peer_openblas.use(threads=1, rows=8, width=16)\n"
                      "print(os.environ['OPENBLAS_CORETYPE'], peer_openblas.core(), os.environ['OMP_NUM_THREADS'], "
                      "os.environ['LD_LIBRARY_PATH'].split(':')[0])\n")
    done = subprocess.run([sys.executable, script], env={**os.environ, "HEATBALL_OPENBLAS": openblas}, capture_output=True,
                          text=True, timeout=120)
    assert done.stdout.split() == ["Zen", "Zen", "1", openblas], done.stderr


def test_a_run_can_be_held_to_avx2(openblas, monkeypatch):
    assert not instruction_set.words() and instruction_set.cores(peer_openblas.CORES) == peer_openblas.CORES
    monkeypatch.setenv("BENCH_ISA", "avx2")
    for name, value in instruction_set.LIMITS.items():
        monkeypatch.setenv(name, value)  # so that what limit sets is taken back
    instruction_set.limit()
    assert instruction_set.words() == ["--isa", "avx2"] and "AVX2" in machine.describe()["text"]
    narrow = "import sys; sys.path.insert(0, 'bench'); import instruction_set; instruction_set.limit(); import peer_openblas\n" \
             "import numpy.core._multiarray_umath as umath; print(*peer_openblas.CORES, umath.__cpu_features__['AVX512F'])"
    done = subprocess.run([sys.executable, "-c", narrow], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Zen", "Haswell", "SandyBridge", "Nehalem", "False"]
    monkeypatch.setenv("BENCH_ISA", "avx3")
    with pytest.raises(SystemExit, match="avx2"):
        instruction_set.chosen()


def test_rounds_keep_to_their_time():
    assert list(turns(7, 10)) == list(range(7)) and list(turns(0, 10)) == []
    assert list(turns(7, -1)) == [0] and list(turns(7, -1, least=2)) == [0, 1]
    done = 0
    for done, _ in enumerate(turns(7, 0.5), 1):
        time.sleep(0.3)
    assert done == 1  # a second one would end after the half second


def test_the_machine_has_a_name():
    here = machine.describe()
    assert here["isa"] in ("AVX-512", "AVX2", "SSE2", "plain C") and here["cores"] == len(os.sched_getaffinity(0))
    assert here["processor"] in here["text"] and here["isa"] in here["text"]
    assert machine.warning({**here, "load": 0.1}) == "" and "3.2" in machine.warning({**here, "load": 3.2})


def test_ratios_are_those_of_peers(tmp_path):
    def rate(what, ratio):
        return {"what": what, "ratio": ratio}

    estimates = tmp_path / "e.json"
    walks = [{"case": "well", "density_ratio": 8.0, "score_ratio": None}, {"case": "well", "density_ratio": 0.5, "score_ratio": None},
             {"case": "line", "density_ratio": None, "score_ratio": None}]
    estimates.write_text(json.dumps({"walk": walks}))
    results = {"rows": [rate("normals f64, in cache : NumPy", 5.5), rate("normals f64, in cache : own bits (limit)", 0.4),
                        rate("kappa d=2, .npy file, 2 threads : NumPy", 4.0),
                        rate("expression 'chain', points : the same in C at -O2", 0.8)],
               "grid_rows": [rate("grid d=1, 2000 points to t=1 : explicit NumPy", 0.1), rate("grid d=1, 1000 points : 500", 2)],
               "net_rows": [rate("net values : its matrix products", 1.1), rate("net dsm score step : PyTorch, OpenBLAS Zen", 0.5)]}
    rows = summary_figure.collect(results, estimates)
    assert {row["what"]: row["ratio"] for row in rows} == {
        "normals, in cache": 5.5, "kappa d=2, .npy file, 2 threads": 4.0, "formula 'chain' : C at -O2": 0.8,
        "grid, 2000 cells : explicit steps in NumPy": 10, "net dsm score step : PyTorch": 2, "walk, well, density": 0.5}
    assert summary_figure.collect(results, tmp_path / "none.json") == rows[:-1]


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="gnuplot is not installed")
def test_the_figure(tmp_path):
    kept = sorted(map(str, (ROOT / "bench" / "results").glob("*.json")))
    out = tmp_path / "s.png"
    assert summary_figure.draw(kept, str(out)) == str(out)
    assert out.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with open(tmp_path / "s.plot.csv", newline="", encoding="utf-8") as file:
        table = list(csv.reader(file))
    assert len(table[0]) == 1 + len(kept) and all(len(row) == len(table[0]) and any(row[1:]) for row in table)

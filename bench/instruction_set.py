"""BENCH_ISA=avx2: a run as on a machine that has no more, on one that has.

Ours takes the set as it does from --isa (bench/stopwatch.h reads the same variable). NumPy, oneDNN, PyTorch and OpenBLAS have variables
of their own, which `limit` sets; NumPy reads its own when it is imported, so call `limit` before.
"""
import os

SETS = {"avx512": "AVX-512", "avx2": "AVX2"}
LIMITS = {"NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL",
          "ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
WIDE_CORES = ("", "SapphireRapids", "Cooperlake", "SkylakeX")  # of OpenBLAS, "" its own choice: may need AVX-512


def chosen():
    """The set that BENCH_ISA names, or ''."""
    name = os.environ.get("BENCH_ISA", "")
    if name and name not in SETS:
        raise SystemExit(f"BENCH_ISA is {name}; it must be one of {', '.join(SETS)}, or absent: what the processor has")
    return name


def limit():
    """Tell the peers, and oneDNN in ours, which instructions there are."""
    if chosen() == "avx2":
        os.environ.update(LIMITS)


def words():
    """Options of the command."""
    return ["--isa", chosen()] if chosen() else []


def cores(names):
    """Those of OpenBLAS's cores that have no more instructions."""
    return tuple(name for name in names if chosen() != "avx2" or name not in WIDE_CORES)

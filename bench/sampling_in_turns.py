#!/usr/bin/env python3
"""Libraries against each other and against NumPy, for a machine that does other work beside: normals and kappa in memory,
in turns on one thread, processor time, of every row the fifth part of the rounds that was fastest.

    BENCH_ISA=avx2 python3 bench/sampling_in_turns.py [--rounds 25] LIBRARY ...

prints million numbers per second (coordinates, for kappa), the ratio to NumPy, to the first library, and to the library's own
normals; and says where two libraries give different bits.
"""
import argparse
import ctypes
import os
import sys
import time

import instruction_set

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "python"))
os.environ.setdefault("OMP_NUM_THREADS", "1")
instruction_set.limit()

import numpy as np  # noqa: E402  (after the environment is set)

import peer_numpy  # noqa: E402
from heatball._native_tables import ContextSettings, Isa  # noqa: E402

DOUBLES, IN_CACHE, CALLS, DIMS = 1 << 20, 1 << 14, 40, (2, 16, 256)
NORMALS = "normals, 8 MB"


def at(array):
    return ctypes.c_void_p(array.ctypes.data)


class Library:
    """The two calls of one library."""

    def __init__(self, path):
        self.library, self.context = ctypes.CDLL(os.path.abspath(path)), ctypes.c_void_p()
        settings = ContextSettings()
        self.library.hb_context_settings_default(ctypes.c_size_t(ctypes.sizeof(settings)), ctypes.byref(settings))
        settings.threads = 1
        settings.isa = Isa[f"ISA_{instruction_set.chosen() or 'auto'}".upper()]
        if self.library.hb_context_create(ctypes.byref(settings), ctypes.byref(self.context)) != 0:
            sys.exit(f"{path}: no context; this processor may lack the instruction set of BENCH_ISA")

    def normals(self, x, calls=1):
        for k in range(calls):
            self.library.hb_random_normal(self.context, ctypes.c_uint64(1), ctypes.c_uint64(2), ctypes.c_uint64(k * x.size),
                                          ctypes.c_size_t(x.size), at(x))

    def kappa(self, z, sigma):
        self.library.hb_ball_sample(self.context, 0, z.shape[1], 0, ctypes.c_uint64(1), ctypes.c_uint64(0),
                                    ctypes.c_size_t(len(z)), ctypes.c_double(1), at(z), at(sigma))


def taken(function, *arguments):
    start = time.thread_time()
    function(*arguments)
    return time.thread_time() - start


def numpy_round(rng, arrays):
    """Seconds per number of NumPy, the faster of whole arrays and blocks."""
    small = np.empty(IN_CACHE)
    found = {"normals, in cache": taken(lambda: [rng.standard_normal(out=small) for _ in range(CALLS)]) / CALLS / IN_CACHE}
    for d, (z, sigma) in arrays.items():
        found[f"kappa d={d}"] = min(taken(peer_numpy.kappa, rng, z, sigma, block) for block in (None, max(64, 8192 // d))) / z.size
    return found


def library_round(library, arrays, bits):
    small, large = np.empty(IN_CACHE), np.empty(DOUBLES)
    found = {"normals, in cache": taken(library.normals, small, CALLS) / CALLS / IN_CACHE,
             NORMALS: taken(library.normals, large) / DOUBLES}
    bits[NORMALS] = large.tobytes()
    for d, (z, sigma) in arrays.items():
        found[f"kappa d={d}"] = taken(library.kappa, z, sigma) / z.size
        bits[f"kappa d={d}"] = z.tobytes() + sigma.tobytes()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("library", nargs="+")
    words = parser.parse_args()
    libraries, rng = [Library(path) for path in words.library], np.random.Generator(np.random.Philox(1))
    arrays = {d: (np.empty((DOUBLES // d, d)), np.empty(DOUBLES // d)) for d in DIMS}
    rounds, bits = [], [{} for _ in libraries]
    for _ in range(words.rounds):
        rounds.append([library_round(library, arrays, kept) for library, kept in zip(libraries, bits)] + [numpy_round(rng, arrays)])
    for k, path in enumerate(words.library):
        print(f"{path}\n{'':20}{'million/s':>12}{': NumPy':>10}{': first':>10}{': normals':>10}")
        for name in rounds[0][k]:
            def best(column, what=name):
                return sorted(row[column][what] for row in rounds)[len(rounds) // 5]
            ours = best(k)
            peer = f"{best(-1) / ours:10.2f}" if name in rounds[0][-1] else " " * 10
            print(f"{name:20}{1e-6 / ours:12.1f}{peer}{best(0) / ours:10.2f}{best(k, NORMALS) / ours:10.2f}"
                  + ("" if bits[k].get(name) == bits[0].get(name) else "  other bits than the first"))


if __name__ == "__main__":
    main()

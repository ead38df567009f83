"""OpenBLAS for PyTorch from Debian, with the kernels that are fastest here.

Debian's PyTorch takes its matrix products from libblas.so.3, which may be the reference BLAS: a step then takes
52 ms where OpenBLAS needs 4. OpenBLAS (package libopenblas0-pthread) in turn takes new processors for old ones
unless OPENBLAS_CORETYPE says otherwise, and does not look whether the processor has the instructions of the core it is
told to be: told SkylakeX, a machine without AVX-512 ends with SIGILL. So every core of CORES multiplies once in a process of
its own, and of those that come back with the right product the fastest is taken.

`use` starts the script again with OpenBLAS's directory before the others and the right environment; `check`, after
the import of torch, makes sure that it came, and says which core it is.

The package need not be installed: unpacked with `dpkg -x`, its directory openblas-pthread can be given as
HEATBALL_OPENBLAS.

    python3 bench/peer_openblas.py [ROWS WIDTH]      microseconds of the products under every core
"""
import ctypes
import json
import os
import subprocess
import sys
import time

import instruction_set

PLACES = (os.environ.get("HEATBALL_OPENBLAS", ""), "/usr/lib/x86_64-linux-gnu/openblas-pthread")
MARK, CORE = "HEATBALL_PEER_THREADS", "HEATBALL_PEER_CORE"
CORES = ("", "SapphireRapids", "Cooperlake", "SkylakeX", "Zen", "Haswell", "SandyBridge", "Nehalem")  # "": its own choice
CORES = instruction_set.cores(CORES)
ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112


def find_place():
    return next((p for p in PLACES if p and os.path.exists(os.path.join(p, "libblas.so.3"))), None)


def environment_of(place, core, threads):
    before = os.environ.get("LD_LIBRARY_PATH", "")
    environment = dict(os.environ, OMP_WAIT_POLICY="passive", OMP_NUM_THREADS=str(threads),
                       OPENBLAS_NUM_THREADS=str(threads), LD_LIBRARY_PATH=place + (":" + before if before else ""))
    environment.pop("OPENBLAS_CORETYPE", None)
    if core:
        environment["OPENBLAS_CORETYPE"] = core
    return environment


def multiply(place, rows, width):
    """The best seconds of x W' and y W, (rows, width) by (width, width), and the core's name; wrong products end it."""
    blas = ctypes.CDLL(os.path.join(place, "libopenblas.so.0"))
    blas.openblas_get_corename.restype = ctypes.c_char_p
    floats = ctypes.c_float * (rows * width), ctypes.c_float * (width * width)
    x, y, w = floats[0](*([0.5] * (rows * width))), floats[0](), floats[1](*([0.25] * (width * width)))
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    best = float("inf")
    for _ in range(15):
        start = time.process_time()
        for transposed in (TRANSPOSED, PLAIN):
            blas.cblas_sgemm(ROW_MAJOR, PLAIN, transposed, rows, width, width, one, x, width, w, width, zero, y, width)
        best = min(best, time.process_time() - start)
    if any(value != 0.125 * width for value in y):
        sys.exit("a wrong product")
    return best, blas.openblas_get_corename().decode()


def try_core(place, core, rows, width):
    """(seconds, name of the core), or None where its instructions are missing."""
    words = [sys.executable, os.path.abspath(__file__), "--try", str(rows), str(width)]
    done = subprocess.run(words, env=environment_of(place, core, 1), capture_output=True, text=True, check=False,
                          timeout=120)
    return tuple(json.loads(done.stdout)) if done.returncode == 0 else None


def try_all(place, rows, width):
    """{core: (seconds, name)} of those that work; two turns, the better of each."""
    found = {}
    for _ in range(2):
        for core in CORES:
            result = try_core(place, core, rows, width) if core not in found or found[core] else None
            found[core] = min(filter(None, (found.get(core), result)), default=None)
    return {core: result for core, result in found.items() if result}


def use(threads, rows=256, width=256):
    """Run this script anew with OpenBLAS found first, on so many threads; return in the new process."""
    if os.environ.get(MARK) == str(threads):
        return
    place = find_place()
    if place is None:
        sys.exit("PyTorch's peer needs OpenBLAS: install libopenblas0-pthread, or unpack it and name its directory "
                 "openblas-pthread in HEATBALL_OPENBLAS")
    works = try_all(place, rows, width)
    if not works:
        sys.exit(f"OpenBLAS in {place} multiplies with no core of {', '.join(filter(None, CORES))}")
    core = min(works, key=lambda name: works[name][0])
    environment = environment_of(place, core, threads)
    environment.update({MARK: str(threads), CORE: works[core][1]})
    os.execve(sys.executable, [sys.executable] + sys.argv, environment)


def check():
    """Stop unless OpenBLAS is loaded."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        if "openblas" not in maps.read():
            sys.exit("torch did not load OpenBLAS; see peer_openblas.py")


def core():
    """The core whose kernels were chosen, for the table."""
    return os.environ.get(CORE, "?")


def main():
    if sys.argv[1:2] == ["--try"]:
        print(json.dumps(multiply(find_place(), *map(int, sys.argv[2:4]))))
        return
    place = find_place() or sys.exit("no OpenBLAS; see the head of this file")
    sizes = [int(word) for word in sys.argv[1:3]] or [256, 256]
    works = try_all(place, *sizes)
    for name in CORES:
        said = f"{1e6 * works[name][0]:8.0f} us, takes itself for {works[name][1]}" if name in works else "  does not run here"
        print(f"{name or '(its own choice)':18}{said}")


if __name__ == "__main__":
    main()

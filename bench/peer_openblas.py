"""OpenBLAS for PyTorch from Debian.

Debian's PyTorch takes its matrix products from libblas.so.3, which may be the reference BLAS: a step then takes
52 ms where OpenBLAS needs 4. OpenBLAS (package libopenblas0-pthread) in turn takes new processors for old ones
unless OPENBLAS_CORETYPE says otherwise. `use` starts the script again with OpenBLAS's directory before the others
and the right environment; `check`, after the import of torch, makes sure that it came.

The package need not be installed: unpacked with `dpkg -x`, its directory openblas-pthread can be given as
HEATBALL_OPENBLAS.
"""
import os
import sys

PLACES = (os.environ.get("HEATBALL_OPENBLAS", ""), "/usr/lib/x86_64-linux-gnu/openblas-pthread")
MARK = "HEATBALL_PEER_THREADS"


def use(threads):
    """Run this script anew with OpenBLAS found first, on so many threads; return in the new process."""
    if os.environ.get(MARK) == str(threads):
        return
    place = next((p for p in PLACES if p and os.path.exists(os.path.join(p, "libblas.so.3"))), None)
    if place is None:
        sys.exit("PyTorch's peer needs OpenBLAS: install libopenblas0-pthread, or unpack it and name its directory "
                 "openblas-pthread in HEATBALL_OPENBLAS")
    before = os.environ.get("LD_LIBRARY_PATH", "")
    environment = dict(os.environ, OPENBLAS_CORETYPE="SkylakeX", OMP_WAIT_POLICY="passive",
                       OMP_NUM_THREADS=str(threads),
                       OPENBLAS_NUM_THREADS=str(threads), LD_LIBRARY_PATH=place + (":" + before if before else ""))
    environment[MARK] = str(threads)
    os.execve(sys.executable, [sys.executable] + sys.argv, environment)


def check():
    """Stop unless OpenBLAS is loaded."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        if "openblas" not in maps.read():
            sys.exit("torch did not load OpenBLAS; see peer_openblas.py")

#!/bin/sh
# Tries a wheel on a machine that has nothing of ours: try_wheel.sh WHEEL [DIRECTORY [SUITE]]. `make wheel-check` calls it.
#
# debootstrap puts a minimal Debian (SUITE, by default bookworm) with Python, pip, venv and NumPy into DIRECTORY (by default
# a temporary one, removed at the end; one that is there already is used again). In it, without a network, pip installs the
# wheel into a new venv; then Python solves, trains, samples and judges, and the command does the same from the venv's bin. No
# library but those of glibc, gcc's base and the wheel itself may be loaded for it. Needs root and debootstrap.
set -eu
wheel=$1 suite=${3:-bookworm}
root=${2:-}
[ -f "$wheel" ] || { echo "try_wheel: $wheel is not there; run make wheel" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "try_wheel: a chroot needs root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "try_wheel: debootstrap is missing: apt-get install debootstrap" >&2; exit 2; }
temporary=
if [ -z "$root" ]; then
    root=$(mktemp -d)
    temporary=$root
fi
finish() {
    umount "$root/proc" 2>/dev/null || :
    if [ -n "$temporary" ]; then rm -rf --one-file-system "$temporary"; fi
}
trap finish EXIT
if [ ! -x "$root/usr/bin/python3" ]; then
    echo "try_wheel: making a minimal $suite in $root"
    debootstrap --variant=minbase --include=python3,python3-venv,python3-pip,python3-numpy "$suite" "$root" >"$root.log" 2>&1 ||
        { tail "$root.log" >&2; exit 1; }
    rm -f "$root.log"
fi
rm -rf "$root/try" && mkdir "$root/try" && cp "$wheel" "$root/try"
cat >"$root/try/try.py" <<'PYTHON'
import bz2, ctypes, lzma, os, ssl, sys
import numpy as np


def loaded():
    """The paths of all libraries of this process, from the loader: a chroot may have no /proc."""
    class Entry(ctypes.Structure):
        _fields_ = [("address", ctypes.c_void_p), ("name", ctypes.c_char_p)]

    kind, found = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Entry), ctypes.c_size_t, ctypes.c_void_p), set()
    ctypes.CDLL(None).dl_iterate_phdr(kind(lambda entry, size, data: found.add(entry[0].name.decode()) or 0), None)
    return {os.path.realpath(path) for path in found if "/" in path}


of_numpy = loaded()
import heatball
print("Python", sys.version.split()[0], "NumPy", np.__version__, "heatball", heatball.__version__)
z, sigma = heatball.ball.sample("kappa", 7, 100000, seed=1)
print("sample:", z.shape, sigma.mean())
s = heatball.solve("x - x^3", 1, "gaussian(mean=0, var=1)", 1, [-1.0, 0.0, 0.5])
print(s)
assert abs(s.density[0] - 0.392031672) < 1e-6, s.density
ten = heatball.solve("sin(x[i])", 1.2, "gaussian(mean=0, var=0.3)", 0.2, np.full((1, 10), 0.1), dim=10, stderr=0.05)
print(ten)
model = heatball.train("two_moon", n=500, steps=200, width=32)
print(model)
x = model.generate(200)
print("generate:", x.shape, "mmd:", heatball.metrics.mmd(x, heatball.dataset("two_moon").sample(500))["mmd"])
print("likelihood:", model.log_likelihood(x[:3]))
assert np.isfinite(x).all()
for what, call in (("plot", lambda: s.plot()), ("pandas", lambda: s.to_pandas())):
    try:
        call()
        sys.exit(f"{what} worked without its library?")
    except ImportError as error:
        print(f"{what}: ImportError: {error}")
home = os.path.dirname(heatball.__file__)
allowed = ("libc.so", "libm.so", "libgcc_s", "libstdc++", "libdl", "libpthread", "librt", "ld-linux", "libffi")
foreign = {path for path in loaded() - of_numpy if not path.startswith((os.path.realpath(home), os.path.realpath(sys.prefix)))
           and "/python3" not in path and not os.path.basename(path).startswith(allowed)}
assert not foreign, f"loaded from outside the wheel: {foreign}"
inside = {path for path in loaded() if path.startswith(os.path.realpath(home))}
assert len(inside) > 10, inside
print(len(inside), "libraries, every one of the wheel")
PYTHON
cat >"$root/try/try.sh" <<'SHELL'
set -eu
cd /try
python3 -m venv --system-site-packages venv
venv/bin/pip install --quiet --no-index heatball-*.whl
venv/bin/python try.py
export PATH=/try/venv/bin:/usr/bin:/bin
heatball --version
heatball solve --drift "x1 - x1^3" --noise 1 --initial "gaussian(mean=0,var=1)" --time 1 --at "-1;0;0.5"
heatball train --data elongated_gmm --loss dsm --width 32 --epochs 20 -q -o long.safetensors
heatball generate long.safetensors -n 100 -q -o long.csv
heatball sample --measure kappa --dim 7 -n 1000 -o k.npy
echo "a figure without gnuplot:"
heatball generate long.safetensors -n 100 -q -o long.png || echo "(exit $?)"
heatball solve --drift "-x" --noise 1 --initial "gaussian(mean=0,var=1)" --time 1 --at 0 -q --plot ou.png || echo "(exit $?)"
venv/bin/pip uninstall --quiet --yes heatball
[ -z "$(find venv -path '*heatball*')" ] || { echo "left behind by pip uninstall:"; find venv -path '*heatball*'; exit 1; }
SHELL
# The loader finds a command's own libraries by /proc/self/exe.
[ -e "$root/proc/self" ] || mount -t proc proc "$root/proc"
chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin LC_ALL=C.UTF-8 sh /try/try.sh
echo "try_wheel: the wheel works in a minimal $suite"

"""The wheel: what is in it, and that it works with nothing of ours around it.

Made once from the build directory HEATBALL_BUILD, with little compression; unpacked and looked at; then installed by pip into
an empty venv, where Python and the command are used without the build directory. `make wheel-check` does the same in a
minimal Debian.
"""

import base64
import csv
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from command_line import BUILD, ROOT
from test_install import header_version, minor_version, run, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

# PEP 600: what may be expected of a Linux; all else must be inside.
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|ld-linux-[a-z0-9-]+)\.so\.\d+")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    directory = tmp_path_factory.mktemp("wheel")
    out = run(sys.executable, ROOT / "tools" / "make_wheel.py", "--build", BUILD, "--output", directory, "--level", "1")
    (found,) = directory.glob("*.whl")
    assert out.stdout.strip() == str(found)
    return found


@pytest.fixture(scope="module")
def content(wheel, tmp_path_factory):
    """Return the directory with the unpacked wheel."""
    directory = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(directory)
    return directory


def binaries(content):
    return [path for path in content.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]


def dynamic(path, kind):
    return re.findall(rf"\((?:{kind})\).*\[(.*)\]", run("readelf", "-d", path).stdout)


def test_record_has_every_file_with_its_hash(wheel, content):
    (record,) = content.glob("*.dist-info/RECORD")
    rows = {name: (digest, size) for name, digest, size in csv.reader(record.read_text().splitlines())}
    files = {path.relative_to(content).as_posix() for path in content.rglob("*") if path.is_file()}
    assert set(rows) == files and rows.pop(record.relative_to(content).as_posix()) == ("", "")
    for name, (digest, size) in rows.items():
        data = (content / name).read_bytes()
        assert int(size) == len(data)
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def test_nothing_is_looked_for_outside(content):
    """Every library that a file needs is a part of any Linux, or inside, where its path from the file leads."""
    found = binaries(content)
    assert len(found) > 12
    for path in found:
        ways = [way for text in dynamic(path, "RUNPATH|RPATH") for way in text.split(":")]
        assert ways and all(way.startswith("$ORIGIN") for way in ways), path
        places = [pathlib.Path(way.replace("$ORIGIN", str(path.parent))).resolve() for way in ways]
        assert all(content in place.parents for place in places)
        for name in dynamic(path, "NEEDED"):
            if not SYSTEM.fullmatch(name):
                assert any((place / name).is_file() for place in places), (path, name)
        inside = path.read_bytes()
        assert not any(str(place).encode() in inside for place in (ROOT / "src", ROOT / "cli", BUILD)), path
    assert not any("mpi" in path.name for path in found)


def test_the_tag_is_the_newest_glibc_that_is_asked_for(wheel, content):
    asked = {tuple(map(int, version)) for path in binaries(content)
             for version in re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", path).stdout)}
    newest = max(asked)
    tag = f"py3-none-manylinux_{newest[0]}_{newest[1]}_{platform.machine()}"
    assert wheel.name == f"heatball-{header_version()}-{tag}.whl"
    (info,) = content.glob("*.dist-info/WHEEL")
    assert f"Tag: {tag}\n" in info.read_text() and "Root-Is-Purelib: false\n" in info.read_text()


def test_package_licences_and_metadata(content):
    assert {path.name for path in (ROOT / "python/heatball").glob("*.py")} <= {path.name for path in (content / "heatball").iterdir()}
    assert (content / "heatball/py.typed").exists() and not list(content.rglob("__pycache__"))
    (licences,) = content.glob("*.dist-info/licenses")
    assert (licences / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    said = (licences / "README.txt").read_text()
    for path in (content / "heatball/lib").iterdir():
        assert f"heatball/lib/{path.name}" in said
    packages = re.findall(r"^(\S+) \S+ \(source: ", said, re.M)
    assert len(packages) > 12 and all((licences / f"{name}.txt").stat().st_size > 500 for name in packages)
    for name in set(re.findall(r"/usr/share/common-licenses/(L?GPL-3|Apache-2.0)\b",
                               "".join(path.read_text() for path in licences.iterdir()))):
        assert (licences / f"{name}.txt").stat().st_size > 5000
    (metadata,) = content.glob("*.dist-info/METADATA")
    assert re.search(r"^Requires-Dist: numpy>=", metadata.read_text(), re.M)
    assert f"\nVersion: {header_version()}\n" in metadata.read_text()


SCRIPT = """
import os, sys
import numpy as np, heatball
from heatball import _native
home = os.path.dirname(heatball.__file__)
assert home.startswith(sys.prefix) and _native.library._name.startswith(home), home
s = heatball.solve("-x", "sqrt(2)", "gaussian(mean=1, var=0.4)", 0.5, [0.3, 1.7])
np.save("score.npy", s.score)
model = heatball.train("ring", n=200, steps=10, width=8, depth=2)
assert model.generate(5, "ode").shape == (5, 2)
assert heatball.ball.sample("kappa", 3, 10)[0].shape == (10, 3)
maps = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
assert sum(path.startswith(home + "/lib") for path in maps) > 10
"""


def test_pip_installs_it_and_it_works(wheel, tmp_path):
    """Only NumPy is there besides; the answers are those of the closed form."""
    run(sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check",
        "--root-user-action=ignore", wheel)
    run(python, "-c", SCRIPT, cwd=tmp_path)
    mean, var = np.exp(-0.5), 1 - 0.6 * np.exp(-1)
    assert np.allclose(np.load(tmp_path / "score.npy")[:, 0], -(np.array([0.3, 1.7]) - mean) / var, rtol=1e-4)
    command = tmp_path / "venv/bin/heatball"
    assert header_version() in run(command, "--version").stdout
    assert '"C1"' in run(command, "constants", "--dim", "7", "--json").stdout
    own = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run([command, "constants", "--dim", "-7"], capture_output=True, text=True, env=own)
    assert done.returncode == 2 and done.stderr.startswith("heatball constants: ")
    no_gnuplot = {"PATH": "/nowhere"}
    done = subprocess.run([command, "generate", "x.safetensors"], capture_output=True, text=True, env=no_gnuplot, cwd=tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert (tmp_path / "venv/share/man/man1/heatball.1").exists()
    assert f"libheatball.so.{minor_version()}" in os.listdir(next((tmp_path / "venv/lib").glob("*/site-packages/heatball")))

"""The installed tree: what a user of the library, the command and the package gets from it.

Installs the build directory HEATBALL_BUILD (default: build/ of the checkout) into a temporary
prefix, moves that prefix once (so nothing may remember where it was installed), and uses only what
is there.
"""

import os
import shutil
import subprocess
import sys

import pytest
from command_line import BUILD, ROOT

CONSUMER = ROOT / "tests" / "tree" / "install"



def why_not():
    """Say why this build directory cannot be tested, or return the empty string."""
    cache = BUILD / "CMakeCache.txt"
    if not cache.exists():
        return f"{BUILD} is no build directory"
    text = cache.read_text()
    if "HEATBALL_SANITIZE:STRING=\n" not in text or "HEATBALL_COVERAGE:BOOL=ON" in text:
        return "an instrumented library cannot be linked into a plain program"
    return ""


pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())


def run(*command, env=None, **keywords):
    """Run a command; on failure show all that it said. Only `env` of HEATBALL_* gets through."""
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith("HEATBALL_") and k not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    done = subprocess.run([str(c) for c in command], env={**clean, **(env or {})}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **keywords)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Return an installed prefix that was moved after the installation."""
    directory = tmp_path_factory.mktemp("install")
    run("cmake", "--install", BUILD, "--prefix", directory / "first")
    return (directory / "first").rename(directory / "moved")


@pytest.fixture(scope="module")
def libdir(prefix):
    """Return the directory of the shared library: lib or lib/TRIPLET."""
    found = list(prefix.glob("lib*/**/libheatball.so"))
    assert len(found) == 1, found
    return found[0].parent


@pytest.fixture(scope="module")
def packages(prefix):
    """Return the directory that PYTHONPATH must name."""
    found = list(prefix.glob("lib*/**/heatball/__init__.py"))
    assert len(found) == 1, found
    return found[0].parent.parent


def pkg_config(libdir, *options):
    env = {"PKG_CONFIG_PATH": str(libdir / "pkgconfig")}
    out = run("pkg-config", *options, "heatball", env=env)
    return out.stdout.split()


def check_consumer(program, libdir, shared):
    """Run the consumer; it must have the library in it, or take it from libdir."""
    env = {"LD_LIBRARY_PATH": str(libdir)} if shared else {}
    version, mean, exact = run(program, env=env).stdout.split()
    assert version == header_version()
    assert abs(float(mean) / float(exact) - 1) < 0.02
    needed = run("ldd", program, env=env).stdout
    assert ("libheatball" in needed) == shared
    if shared:
        assert str(libdir) in needed


def header_version():
    for line in (ROOT / "include/heatball/base.h").read_text().splitlines():
        if line.startswith("#define HB_VERSION "):
            return line.split('"')[1]
    raise AssertionError("base.h has no HB_VERSION")


def minor_version():
    """Return the version that the library's name and the packages hold to: 0.2 of 0.2.1."""
    return header_version().rpartition(".")[0]


def test_the_name_of_the_library_has_the_minor_version(libdir):
    """Until 1.0 a new minor version may change the interface, so programs must not take it for the old one."""
    header = run("readelf", "-d", libdir / "libheatball.so").stdout
    assert f"soname: [libheatball.so.{minor_version()}]" in header
    assert (libdir / f"libheatball.so.{minor_version()}").is_symlink()
    assert (libdir / f"libheatball.so.{header_version()}").is_file()


def test_every_header_is_installed_and_no_other(prefix):
    installed = sorted(p.name for p in (prefix / "include/heatball").iterdir())
    assert installed == sorted(p.name for p in (ROOT / "include/heatball").glob("*.h"))


def test_pkg_config_knows_version_and_moved_prefix(prefix, libdir):
    assert pkg_config(libdir, "--modversion") == [header_version()]
    # No -lsleef and the like for users of the shared library.
    flags = pkg_config(libdir, "--libs")
    assert flags == ["-L" + flags[0][2:], "-lheatball"]
    assert os.path.samefile(flags[0][2:], libdir)


def test_pkg_config_gives_no_flags_of_private_libraries(libdir):
    assert [flag[:2] for flag in pkg_config(libdir, "--cflags")] == ["-I"]  # no -Dkiss_fft_scalar=float, no libpng


def test_consumer_by_pkg_config(libdir, tmp_path):
    flags = pkg_config(libdir, "--cflags", "--libs")
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", CONSUMER / "consumer.c",
        "-o", tmp_path / "consumer", *flags, "-lm")
    check_consumer(tmp_path / "consumer", libdir, shared=True)


def test_consumer_by_pkg_config_static(libdir, tmp_path):
    flags = pkg_config(libdir, "--static", "--cflags", "--libs")
    assert "-lheatball" in flags
    place = flags.index("-lheatball")  # the whole archive, so that every private library is needed
    flags[place:place + 1] = ["-Wl,--whole-archive", "-l:libheatball.a", "-Wl,--no-whole-archive"]
    run("cc", CONSUMER / "consumer.c", "-o", tmp_path / "consumer", *flags)
    check_consumer(tmp_path / "consumer", libdir, shared=False)


@pytest.mark.parametrize("link", ["heatball", "static"])
def test_consumer_by_find_package(prefix, libdir, tmp_path, link):
    run("cmake", "-S", CONSUMER, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCONSUMER_LINK={link}")
    assert str(prefix) in (tmp_path / "CMakeCache.txt").read_text()
    run("cmake", "--build", tmp_path)
    check_consumer(tmp_path / "consumer", libdir, shared=link == "heatball")


@pytest.mark.parametrize("wanted", ["99.1", "0.0"])
def test_find_package_refuses_another_version(prefix, tmp_path, wanted):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(old LANGUAGES C)\n"
        f"find_package(heatball {wanted} REQUIRED)\n")
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "b",
                           f"-DCMAKE_PREFIX_PATH={prefix}"], capture_output=True, text=True)
    assert done.returncode != 0 and wanted in done.stderr


@pytest.mark.parametrize("header", sorted(p.name for p in (ROOT / "include/heatball").glob("*.h")))
def test_each_header_alone_is_c_and_cxx(prefix, header):
    text = f"#include <heatball/{header}>\n"
    for compiler, standard, language in (("cc", "c11", "c"), ("g++", "c++11", "c++")):
        run(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
            "-fsyntax-only", f"-I{prefix / 'include'}", "-x", language, "-", input=text)


def test_command_runs_from_the_prefix(prefix, tmp_path):
    out = run(prefix / "bin/heatball", "constants", "--dim", "7", "--json").stdout
    assert '"C1"' in out
    assert header_version() in run(prefix / "bin/heatball", "--version").stdout


def test_man_pages_are_installed_and_render(prefix):
    pages = sorted((ROOT / "docs/man").glob("*.1"))
    if not pages:
        pytest.skip("no man pages in docs/man")
    for page in pages:
        installed = prefix / "share/man/man1" / page.name
        assert installed.read_bytes() == page.read_bytes()
        out = run("groff", "-ww", "-mandoc", "-Tutf8", "-K", "utf8", installed)
        assert out.stderr == "" and len(out.stdout) > 500


COMPLETE = r"""
set -u
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMPREPLY=()
[[ $(complete -p heatball) =~ -F\ ([^ ]+) ]] || exit 3
"${BASH_REMATCH[1]}" heatball "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}" || true
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize("words, expected", [
    (["heatball", "sam"], {"sample"}),
    (["heatball", "con"], {"constants"}),
    (["heatball", "sample", "--measure", "ka"], {"kappa"}),
])
def test_bash_completion(prefix, words, expected):
    if not (ROOT / "completions/heatball.bash").exists():
        pytest.skip("no completions/heatball.bash")
    installed = prefix / "share/bash-completion/completions/heatball"
    done = run("bash", "--norc", "-c", COMPLETE, "bash", installed, *words,
               env={"PATH": f"{prefix / 'bin'}:{os.environ['PATH']}"})
    assert {word.strip() for word in done.stdout.split("\n")} - {""} == expected, done.stderr


def test_python_package_needs_only_pythonpath(packages, libdir, tmp_path):
    script = ("import heatball\n"
              "from heatball import _native\n"
              "print(heatball.__file__); print(_native.library._name)\n"
              "print(heatball.ball.sample('kappa', 3, 10)[0].shape)")
    out = run(sys.executable, "-c", script, env={"PYTHONPATH": str(packages)}, cwd=tmp_path).stdout
    where, library, shape = out.splitlines()
    assert where.startswith(str(packages))
    assert os.path.samefile(library, libdir / "libheatball.so")
    assert shape == "(10, 3)"


def test_python_package_says_what_it_tried(packages, tmp_path):
    shutil.copytree(packages / "heatball", tmp_path / "heatball")
    for env in ({}, {"HEATBALL_LIBRARY": "/nowhere/libheatball.so"}):
        done = subprocess.run([sys.executable, "-c", "import heatball"], cwd=tmp_path, text=True,
                              capture_output=True, env={"PATH": os.environ["PATH"], **env})
        if not env and done.returncode == 0:
            continue  # this machine has a libheatball in its loader's path
        assert "ImportError: the C library libheatball was not found" in done.stderr
        tried = env.get("HEATBALL_LIBRARY", str(tmp_path / f"heatball/libheatball.so.{minor_version()}"))
        assert tried in done.stderr


def test_licence_and_documents(prefix):
    documents = prefix / "share/doc/heatball"
    sources = [ROOT / "LICENSE", *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(sources) > 5
    for source in sources:
        installed = documents / source.relative_to(ROOT)
        assert installed.read_bytes() == source.read_bytes()


def test_nothing_else_is_installed(prefix):
    """No __pycache__, no test, no path of the build directory in a text file."""
    for path in prefix.rglob("*"):
        assert path.name != "__pycache__"
        if path.suffix in (".cmake", ".pc", ".py"):
            assert str(BUILD) not in path.read_text() and str(ROOT) not in path.read_text()


def test_the_kept_model_is_found_beside_the_command(prefix, libdir, tmp_path):
    kept = ROOT / "models" / "mnist16.safetensors"
    installed = prefix / "share/heatball/models/mnist16.safetensors"
    assert installed.read_bytes() == kept.read_bytes()
    run(prefix / "bin/heatball", "generate", installed, "-n", 4, "--n-steps", 5, "-q", "-o",
        tmp_path / "four.png", env={"LD_LIBRARY_PATH": str(libdir)})
    assert (tmp_path / "four.png").read_bytes().startswith(b"\x89PNG")

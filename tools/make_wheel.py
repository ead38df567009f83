#!/usr/bin/env python3
"""Writes the wheel: package, library, command and every shared library that they need, in one file for pip.

    make_wheel.py [--build DIR] [--output DIR] [--level 0..9]

`make wheel` runs it after the build and prints the path of the wheel. In the wheel are

    heatball/                  the package, with libheatball.so.X.Y beside its modules, where it looks first
    heatball/lib/              the shared libraries that a Linux without our packages lacks
    heatball/bin/heatball      the command; heatball/models/ what it looks for beside itself
    NAME.data/scripts/         `heatball` for the user's PATH, which runs it
    NAME.data/data/share/      man pages and completion
    NAME.dist-info/            metadata, licences (ours, and those of the libraries inside), RECORD

Libraries get the hash of their bytes into their names, so that no other libgomp or libpng of the process is taken for ours,
and every file finds the others from where it is ($ORIGIN). The tag manylinux_2_N names the newest glibc that any file
asks for. The same inputs give the same bytes. Needs Debian (licences are those of its packages), patchelf and binutils.
"""

import argparse
import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What every Linux with this glibc has, and what must be there once only: PEP 600 lets a wheel rely on it.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2",
          "ld-linux-aarch64.so.1", "libgcc_s.so.1", "libstdc++.so.6", "linux-vdso.so.1"}
HEADER_ONLY = ("librandom123-dev",)  # compiled into the library: its licence belongs into the wheel too
COMMON_LICENSES = pathlib.Path("/usr/share/common-licenses")
LAUNCHER = '''#!python
"""Runs the command of the installed package; nothing of the package is imported for it."""
import importlib.util
import os
import sys

place = importlib.util.find_spec("heatball")
if place is None:
    sys.exit("heatball: the Python package heatball is not installed for " + sys.executable)
command = os.path.join(place.submodule_search_locations[0], "bin", "heatball")
# Where the command starts python3 itself, it is this one.
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", os.defpath)
try:
    os.execv(command, ["heatball", *sys.argv[1:]])
except OSError as error:
    sys.exit(f"heatball: {command} cannot be started: {error.strerror}")
'''


def run(*command, **options):
    """What a program prints; a failure ends this one with its words."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    except FileNotFoundError:
        raise SystemExit(f"make_wheel: {command[0]} is not installed; 'make deps' installs it") from None
    if done.returncode:
        raise SystemExit(f"make_wheel: {' '.join(map(str, command))} failed: {done.stderr.strip()}")
    return done.stdout


def needed(path):
    """The names that an ELF file asks the loader for."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", path))


def resolved(paths):
    """{name: path} of all shared libraries behind these files, as the loader finds them here.

    LAPACK and BLAS are the reference ones, whatever this machine's alternatives say: others bring threads of their own.
    """
    plain = [place for kind in ("lapack", "blas") for place in pathlib.Path("/usr/lib").glob(f"*-linux-gnu/{kind}")]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, plain))}
    found = {}
    for path in paths:
        text = run("ldd", path, env=environment)
        missing = re.findall(r"(\S+) => not found", text)
        if missing:
            raise SystemExit(f"make_wheel: {path} needs {', '.join(missing)}, which this machine lacks")
        found.update(re.findall(r"(\S+) => (/\S+)", text))
    return {name: pathlib.Path(path).resolve() for name, path in found.items() if name not in SYSTEM}


def renamed(path):
    """libdnnl.so.2.6 -> libdnnl-1a2b3c4d.so.2.6, by the bytes of the file."""
    stem, _, rest = path.name.partition(".so")
    return f"{stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}.so{rest}"


def stage_libraries(build, package):
    """Put library, command and what they need into the package; return {original path: file in the wheel}."""
    version = run(sys.executable, "-c", "import _version; print(_version.__version__)", cwd=package).strip()
    library = f"libheatball.so.{version.rpartition('.')[0]}"
    ours = {build / library: package / library, build / "heatball": package / "bin" / "heatball"}
    for source, target in ours.items():
        if not source.exists():
            raise SystemExit(f"make_wheel: {source} is missing; run make first")
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755)
        run("strip", "--strip-unneeded", target)  # before patchelf, whose sections strip would misplace
    libraries = {name: path for name, path in resolved(ours).items() if name != library}
    names = {name: renamed(path) for name, path in libraries.items()}
    (package / "lib").mkdir()
    inside = {path: package / "lib" / names[name] for name, path in libraries.items()}
    for path, target in inside.items():
        shutil.copyfile(path, target)
        target.chmod(0o755)
    for target in [*ours.values(), *inside.values()]:
        relink(target, names, package)
    return version, inside


def relink(target, names, package):
    """Give a file the new names of what it needs, its own new name, and the way to them from where it is; check all of it."""
    way = {package: "$ORIGIN/lib", package / "lib": "$ORIGIN", package / "bin": "$ORIGIN/..:$ORIGIN/../lib"}[target.parent]
    wanted = [names.get(name, name) for name in needed(target)]
    replace = [word for name in needed(target) if name in names for word in ("--replace-needed", name, names[name])]
    own = ["--set-soname", target.name] if target.parent == package / "lib" else []
    for change in (["--set-rpath", way], replace, own):  # one after the other: patchelf 0.14 mixes them up together
        if change:
            run("patchelf", *change, target)
    text = run("readelf", "-d", target)
    found = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", text)
    if needed(target) != wanted or found != [way] or (own and f"[{target.name}]" not in text):
        raise SystemExit(f"make_wheel: patchelf has damaged {target.name}: it needs {needed(target)} by {found}")


def newest(files, kind):
    """The newest version of symbols KIND_a.b.c that any of the files asks for, as a tuple."""
    found = [tuple(map(int, version.split(".")))
             for path in files for version in re.findall(rf"\b{kind}_([0-9.]+)", run("objdump", "-p", path))]
    return max(found, default=(0,))


def package_of(path):
    """The Debian package that a file is of, without its architecture."""
    for name in (path, pathlib.Path(str(path).removeprefix("/usr"))):  # dpkg may know it under /lib
        done = subprocess.run(["dpkg", "-S", str(name)], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.partition(":")[0]
    raise SystemExit(f"make_wheel: no Debian package has {path}; its licence is not known, so no wheel is written")


def stage_licences(inside, licences):
    """Our licence, and of every library inside the copyright file of its package and the texts that it refers to."""
    licences.mkdir(parents=True)
    shutil.copyfile(ROOT / "LICENSE", licences / "LICENSE")
    of_package = {name: [] for name in HEADER_ONLY}
    for path, target in inside.items():
        of_package.setdefault(package_of(path), []).append(f"heatball/lib/{target.name}")
    lines, common = [], set()
    for name in sorted(of_package):
        text = (pathlib.Path("/usr/share/doc") / name / "copyright").read_text(errors="replace")
        (licences / f"{name}.txt").write_text(text)
        common |= set(re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", text))
        version = run("dpkg-query", "-W", "-f", "${Version} (source: ${source:Package} ${source:Version})", name)
        lines.append(f"{name} {version}\n    {', '.join(of_package[name]) or 'compiled into libheatball'}\n")
    for name in sorted(common):
        if (COMMON_LICENSES / name).is_file():
            shutil.copyfile(COMMON_LICENSES / name, licences / f"{name}.txt")
    (licences / "README.txt").write_text(
        "heatball itself is under the MIT licence: LICENSE. This wheel also has shared libraries of these packages of\n"
        "Debian, unchanged but for their names and where they look for each other; NAME.txt is the copyright file of each,\n"
        "and the texts that these files refer to as /usr/share/common-licenses are beside it. Their sources are the Debian\n"
        "source packages of the versions below. Any of them can be replaced by another build: it is a file of its own.\n\n"
        + "\n".join(lines))


def metadata(version):
    """The METADATA file, from pyproject.toml."""
    project = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}",
             f"Summary: {project['description']}",
             "License: MIT; the shared libraries inside have their own, in licenses/",
             "License-File: LICENSE", f"Requires-Python: {project['requires-python']}",
             *(f"Requires-Dist: {need}" for need in project["dependencies"])]
    for extra, needs in project.get("optional-dependencies", {}).items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {need}; extra == "{extra}"' for need in needs)]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "",
                      (ROOT / "python" / "README.md").read_text()])


def stage_texts(stage, name, version, tag):
    """Scripts, man pages, completion, metadata."""
    scripts, share, info = stage / f"{name}.data/scripts", stage / f"{name}.data/data/share", stage / f"{name}.dist-info"
    for directory in (scripts, share / "man/man1", share / "bash-completion/completions"):
        directory.mkdir(parents=True)
    (scripts / "heatball").write_text(LAUNCHER)
    (scripts / "heatball").chmod(0o755)
    for page in sorted((ROOT / "docs/man").glob("*.1")):
        shutil.copyfile(page, share / "man/man1" / page.name)
    shutil.copyfile(ROOT / "completions/heatball.bash", share / "bash-completion/completions/heatball")
    (info / "METADATA").write_text(metadata(version))
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tools/make_wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n")


def write_zip(stage, record, output, level):
    """All files in the order of their names, RECORD with their hashes last, at one fixed date."""
    files = sorted((path for path in stage.rglob("*") if path.is_file()),
                   key=lambda path: (".dist-info" in str(path), str(path)))  # metadata at the end, as PEP 427 likes it
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    temporary = output.with_suffix(".part")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as wheel:
        def put(name, data, mode):
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data, compresslevel=level)

        for path in files:
            name, data = path.relative_to(stage).as_posix(), path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            writer.writerow([name, f"sha256={digest}", len(data)])
            put(name, data, 0o755 if os.access(path, os.X_OK) else 0o644)
        writer.writerow([record, "", ""])
        put(record, rows.getvalue().encode(), 0o644)
    os.replace(temporary, output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the build directory (build)")
    parser.add_argument("--output", type=pathlib.Path, help="where the wheel goes (BUILD/wheel)")
    parser.add_argument("--level", type=int, choices=range(10), default=9, metavar="0..9", help="of compression (9)")
    arguments = parser.parse_args()
    output = arguments.output or arguments.build / "wheel"
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("heatball-*.whl") if arguments.output is None else ():
        old.unlink()
    with tempfile.TemporaryDirectory() as directory:
        stage = pathlib.Path(directory)
        package = stage / "heatball"
        shutil.copytree(ROOT / "python" / "heatball", package, ignore=shutil.ignore_patterns("__pycache__", "*.so*"))
        version, inside = stage_libraries(arguments.build.resolve(), package)
        (package / "models").mkdir()
        shutil.copyfile(ROOT / "models" / "mnist16.safetensors", package / "models" / "mnist16.safetensors")
        name = f"heatball-{version}"
        stage_licences(inside, stage / f"{name}.dist-info" / "licenses")
        binaries = [path for path in package.rglob("*") if path.is_file() and os.access(path, os.X_OK)]
        glibc, cxx = newest(binaries, "GLIBC"), newest(binaries, "GLIBCXX")
        tag = f"py3-none-manylinux_{glibc[0]}_{glibc[1]}_{os.uname().machine}"
        stage_texts(stage, name, version, tag)
        wheel = output / f"{name}-{tag}.whl"
        write_zip(stage, f"{name}.dist-info/RECORD", wheel, arguments.level)
    print(wheel)
    print(f"{wheel.stat().st_size / 1e6:.1f} MB, {len(inside)} libraries inside, glibc {glibc[0]}.{glibc[1]} or later, "
          f"libstdc++ with GLIBCXX_{'.'.join(map(str, cxx))}", file=sys.stderr)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""clang-tidy over the library, the command and the studies, with what was found good before left out.

    python3 tools/tidy.py [--paths]      needs build/clang/compile_commands.json: cmake --preset clang

A file in which nothing was found leaves an empty file in build/tidy, named by the SHA-256 of all that the answer
depends on: the version of clang-tidy, .clang-tidy, the checks asked for, the command that compiles the file, its own
bytes and those of every header of this tree that it includes, however indirectly. --paths: also the checks that
follow paths (clang-analyzer-*), which take minutes.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("src", "cli", "studies")
TOGETHER = 4  # files of one call: its start counts
INCLUDE = re.compile(rb'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)


def headers(path, places, seen):
    """Adds to `seen` (path: bytes) the file and the headers of this tree that it includes."""
    if path in seen:
        return
    seen[path] = path.read_bytes()
    for name in INCLUDE.findall(seen[path]):
        for place in (path.parent, *places):
            found = (place / os.fsdecode(name)).resolve()
            if found.is_file() and ROOT in found.parents:
                headers(found, places, seen)
                break


def key(entry, common):
    """What the answer for one file depends on, as a name."""
    words = entry["command"].split()
    places = [pathlib.Path(entry["directory"], word[2:]) for word in words if word.startswith("-I") and len(word) > 2]
    seen = {}
    headers(pathlib.Path(entry["file"]).resolve(), places, seen)
    digest = hashlib.sha256(common + entry["command"].encode())
    for path in sorted(seen):
        digest.update(b"\0%s\0%d\0" % (os.fsencode(path), len(seen[path])) + seen[path])
    return digest.hexdigest()


def entries():
    """Commands of the files of the rooms, one each: kernels are compiled once per instruction set."""
    listed = {}
    for entry in json.loads((ROOT / "build/clang/compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["file"]).resolve()
        if path.is_file() and path.relative_to(ROOT).parts[0] in ROOMS:
            listed.setdefault(path, entry)
    return listed


def tidy(options, files):
    done = subprocess.run(["clang-tidy", "--quiet", "-p", "build/clang", *options, *map(str, files)], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paths", action="store_true", help="also the checks that follow paths, which are slow")
    options = [] if parser.parse_args().paths else ["--checks=-clang-analyzer-*"]
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    common = version + (ROOT / ".clang-tidy").read_bytes() + " ".join(options).encode()
    good = ROOT / "build/tidy"
    good.mkdir(exist_ok=True)
    names = {path: key(entry, common) for path, entry in entries().items()}
    left = sorted(path for path, name in names.items() if not (good / name).exists())
    parts = [left[i:i + TOGETHER] for i in range(0, len(left), TOGETHER)]
    failed = not names
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for files, (code, text) in zip(parts, pool.map(lambda files: tidy(options, files), parts)):
            if code == 0:
                for path in files:
                    (good / names[path]).touch()
            else:
                failed = True
                print(text)
    print(f"{len(left)} of {len(names)} files read, the others are as they were")
    return failed


if __name__ == "__main__":
    sys.exit(main())

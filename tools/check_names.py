#!/usr/bin/env python3
"""Fail when two files of the tree have one name, or a C file does not open with its idea.

    tools/check_names.py [ROOT]

A file name is unique in the whole tree, so that it can be said and searched without its path.
Exceptions are the names that tools demand (SHARED). Every .c in src, cli and studies opens with a
comment of at least two lines' worth of text. Prints one line per violation and exits 1.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

SHARED = {"README.md", ".clang-tidy", "CMakeLists.txt", "__init__.py", "conftest.py", ".gitignore"}
NOT_SOURCE = {"__pycache__", "build", "heatball-demo"}  # and what starts with a dot
COMMENTED = ("src", "cli", "studies")
SHORTEST_COMMENT = 60  # characters of text


def files(root):
    """Yield the files of the tree: what git does not ignore or, without git, what is no build."""
    git = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    run = subprocess.run(git, capture_output=True) if (root / ".git").exists() else None
    if run and run.returncode == 0:
        names = set(run.stdout.decode().split("\0"))
        yield from (root / name for name in sorted(names) if (root / name).is_file())
        return
    for directory, below, names in os.walk(root):
        here = pathlib.Path(directory)
        below[:] = sorted(name for name in below
                          if not name.startswith(".") and name not in NOT_SOURCE
                          and not (here / name / "CMakeCache.txt").exists())
        yield from (here / name for name in sorted(names))


def double_names(root):
    places = collections.defaultdict(list)
    for path in files(root):
        places[path.name].append(str(path.relative_to(root)))
    for name, paths in sorted(places.items()):
        if len(paths) > 1 and name not in SHARED:
            yield f"{paths[1]}: the name {name} is taken by {', '.join(paths[:1] + paths[2:])}"


def opens_with_comment(text):
    """True when the text starts with a comment that says something."""
    match = re.match(r"\s*(/\*(.*?)\*/|((?://[^\n]*\n)+))", text, re.DOTALL)
    if not match:
        return False
    words = re.sub(r"[\s*/]+", " ", match.group(2) or match.group(3)).strip()
    return len(words) >= SHORTEST_COMMENT


def silent_files(root):
    for directory in COMMENTED:
        for path in sorted((root / directory).rglob("*.c")):
            if not opens_with_comment(path.read_text(encoding="utf-8")):
                yield (f"{path.relative_to(root)}:1: the file must open with a comment that tells "
                       f"its idea, at least {SHORTEST_COMMENT} characters")


def main(arguments):
    here = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(arguments[1]).resolve() if len(arguments) > 1 else here
    if not (root / "src").is_dir():
        print(f"{root} has no src directory; give the root of the tree", file=sys.stderr)
        return 2
    found = [*double_names(root), *silent_files(root)]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))

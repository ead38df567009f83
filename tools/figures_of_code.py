#!/usr/bin/env python3
"""Print how large the modules of the tree are, and which functions are too long or take too many parameters.

    tools/figures_of_code.py            a row for each module of src, and one each for cli and studies
    tools/figures_of_code.py --list     every function above MOST_LINES, or above MOST_PARAMETERS in src
    tools/figures_of_code.py --check    fails when there is one that is neither public nor allowed by LONG or WIDE

Columns: .c and .h files, their lines, functions, median length in lines, functions above 60 lines, functions with more
than 8 parameters, lines above 100 columns. A function is what clang-format leaves of one: a line that opens a block with {
alone in column 1, up to } alone in column 1; its length is that of the body with both braces.
"""

import argparse
import collections
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_LINES, MOST_PARAMETERS, MOST_COLUMNS = 60, 8, 100

# Long functions that stay, by name, with the reason.
LONG = {}
# How many functions of a module, beside the public ones, may have more parameters; public calls keep the order of
# docs/reference/interface.md and name each array that they fill. Lower a number when one goes.
WIDE = {
    "src/base": (2, "three functions E, K, C of a matrix, with what they are made from"),
    "src/certify": (2, "one row of a certificate's nodes: where from, where to"),
    "src/data": (2, "a mixture's draw is the public call with a stream; an arc is a row of numbers"),
    "src/formula": (1, "the search for narrow features begins with all its arrays"),
    "src/grid": (7, "kernels take rows of the stencil as arrays; boxes are low and high of each kind"),
    "src/guide": (1, "an estimator from problem, settings and points"),
    "src/metrics": (3, "kernels of distances between two sets of rows"),
    "src/lag": (4, "a row of the lag's frame: what it reads, what it adds to"),
    "src/net": (1, "the divergence in z fills what the public call fills"),
    "src/particle": (3, "a kernel from problem, point and pilot"),
    "src/plot": (1, "a series is one call with all its columns"),
    "src/problem": (10, "a drift fills F, divergence, its gradient and the Jacobian, as hb_problem_drift"),
    "src/solve": (2, "a grid elsewhere: problem, grid, time, tau, points, values and errors"),
    "src/bridge": (3, "a step from state, time and weights to all of them"),
    "src/walk": (1, "a value with its error, from state, time and weights"),
}

Function = collections.namedtuple("Function", "file line name lines parameters")


def parameters_of(head):
    """Return (number of parameters, name) of a function from the text before its brace."""
    head = re.sub(r"__attribute__\(\(.*?\)\)|/\*.*?\*/", " ", head)
    name, inside = re.search(r"(\w+)\s*\((.*)\)\s*$", head).groups()
    depth, count = 0, 1
    for letter in inside:
        depth += (letter in "([") - (letter in ")]")
        count += letter == "," and depth == 0
    return 0 if inside.strip() in ("", "void") else count, name


def functions_of(path, root=ROOT):
    """Yield the functions of a file of our style."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for i, line in enumerate(lines):
        if line != "{":
            continue
        first = i - 1
        while first > 0 and lines[first][:1] in (" ", "\t"):
            first -= 1
        head = " ".join(lines[first:i])
        if not re.search(r"\w\s*\(.*\)\s*$", head):
            continue
        last = lines.index("}", i)
        count, name = parameters_of(head)
        yield Function(str(path.relative_to(root)), first + 1, name, last - i + 1, count)


def files_of(root=ROOT):
    """Return the tracked .c and .h files by module: src/NAME, cli, studies."""
    names = subprocess.run(["git", "-C", root, "ls-files", "src", "cli", "studies"], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    modules = collections.defaultdict(list)
    for name in names:
        path = pathlib.PurePosixPath(name)
        if path.suffix in (".c", ".h") and (root / name).is_file():
            modules["/".join(path.parts[:2]) if path.parts[0] == "src" else path.parts[0]].append(root / name)
    return modules


def row(name, paths):
    functions = [f for path in paths for f in functions_of(path)]
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return [name, len(paths), len(lines), len(functions),
            int(statistics.median(f.lines for f in functions)) if functions else 0,
            sum(f.lines > MOST_LINES for f in functions), sum(f.parameters > MOST_PARAMETERS for f in functions),
            sum(len(line) > MOST_COLUMNS for line in lines)]


def table(modules):
    names = ["module", "files", "lines", "functions", "median", "> 60 lines", "> 8 parameters", "> 100 columns"]
    rows = [row(name, paths) for name, paths in sorted(modules.items())]
    rows.append(row("all", [path for paths in modules.values() for path in paths]))
    return "\n".join(["| " + " | ".join(names) + " |", "|" + "---|" * len(names),
                      *("| " + " | ".join(map(str, r)) + " |" for r in rows)])


def public_names(root=ROOT):
    text = "\n".join(path.read_text() for path in sorted((root / "include/heatball").glob("*.h")))
    return set(re.findall(r"HB_API\s+[\w\s*]+?\b(hb_\w+)\s*\(", text))


def beyond(modules):
    """Yield (module, function, whether it is too wide) above a limit; the one of parameters is for src."""
    for name, paths in sorted(modules.items()):
        for f in (f for path in paths for f in functions_of(path)):
            wide = name.startswith("src/") and f.parameters > MOST_PARAMETERS
            if f.lines > MOST_LINES or wide:
                yield name, f, wide


def refused(modules):
    """Yield what --check refuses, a line each."""
    wide, public = collections.defaultdict(list), public_names()
    for module, f, is_wide in beyond(modules):
        if f.lines > MOST_LINES and f.name not in LONG:
            yield f"{f.file}:{f.line}: {f.name} has {f.lines} lines; at most {MOST_LINES}"
        if is_wide and f.name not in public:
            wide[module].append(f)
    for module, found in wide.items():
        if len(found) > WIDE.get(module, (0, ""))[0]:
            for f in found:
                yield f"{f.file}:{f.line}: {f.name} has {f.parameters} parameters; at most {MOST_PARAMETERS}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    a = parser.parse_args()
    modules = files_of()
    if a.list:
        for _, f, _ in beyond(modules):
            print(f"{f.file}:{f.line}: {f.name}: {f.lines} lines, {f.parameters} parameters")
    elif not a.check:
        print(table(modules))
    found = list(refused(modules)) if a.check else []
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

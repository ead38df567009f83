#!/usr/bin/env python3
"""Record what the command prints and writes, so that two builds can be compared byte by byte.

    tools/record_outputs.py BUILD/heatball OUT.json [--only REGEX] [--limit SECONDS]
    tools/record_outputs.py --compare OLD.json NEW.json

Runs the `heatball solve` and `heatball residual` lines of all pages and of tests/cli, every problem of
examples/problems by every method at one time, several times and `inf` (few samples, coarse grids), and a short form of
train, generate, certify, evaluate, helmholtz, sample and budget. Each runs in an empty directory with examples/, docs/
and models/ of this tree beside it. For each: exit code, stdout, stderr and the SHA-256 of each file it leaves; seconds
and rates are removed. --compare prints what differs and exits 1 when anything does.
"""

import argparse
import difflib
import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
METHODS = ["auto", "grid", "particles", "walk", "meanvalue"]
TIMES = {"one": [], "list": ["--time", "0.1,0.2"], "inf": ["--time", "inf"]}
TRAININGS = [
    "train --data {} --method {} --width 16 --batch 64 --steps 40 --seed 3 -o m.safetensors".format(data, method)
    for data, method in (("elongated_gmm", "dsm"), ("elongated_gmm", "hb"), ("ring", "fp"), ("ring", "hb-paper"))
] + ['train --data ring --drift "x - x^3, -y" --loss hb --width 16 --batch 64 --steps 20 -o m.safetensors',
     'train --data ring --drift "-x, -y" --noise 0.8 --loss dsm --width 16 --batch 64 --steps 20 -o m.safetensors']
AFTER = ["generate m.safetensors -n 50 -o s.npy", "evaluate m.safetensors --data ring -n 200",
         "helmholtz m.safetensors --at \"0.1,0.2;0.5,-0.4\"", "certify m.safetensors --data ring -o page"]
OTHERS = ["sample --measure kappa --dim 7 -n 2000 --seed 1 -o k.npy", "sample --measure source --dim 2 -n 5",
          "constants --dim 7", "data list", "--help", "solve --help"]


def documented():
    """Command lines of solve and residual on the pages."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        text = re.sub(r"\s*\\\n\s*", " ", page.read_text())
        for line in text.splitlines():
            match = re.match(r"\s*\$ (?:build/)?heatball ((?:solve|residual|budget) .*)", line)
            if match and "..." not in match[1]:
                yield match[1].split(" #")[0].split(" | ")[0].strip()


def problems():
    for path in sorted((ROOT / "examples" / "problems").glob("*.ini")):
        text = path.read_text()
        drift = re.search(r"^(?:drift|potential)\s*=\s*(.*)$", text, re.M)[1]
        dim = re.search(r"^dim\s*=\s*(\d+)", text, re.M)
        depth, count = 0, 1
        for letter in drift:
            depth += (letter in "([") - (letter in ")]")
            count += letter == "," and depth == 0
        d = min(int(dim[1]) if dim else count, 6)
        extra = ["--dim", str(d)] if dim else []
        at = ";".join(",".join(f"{0.3 + 0.2 * i - 0.1 * k:.1f}" for i in range(d)) for k in range(2))
        for method in METHODS:
            for times in TIMES.values():
                few = ["--samples", "2000"] if method in ("particles", "walk") else []
                coarse = ["--points", "40"] if method in ("grid", "meanvalue") else []
                yield shlex.join(["solve", "--problem", f"examples/problems/{path.name}", *extra, "--at", at, "--method",
                                  method, *times, *few, *coarse, "--max-time", "600", "-q"])


def groups():
    """Lists of command lines; those of a list run one after another in one directory."""
    for line in dict.fromkeys([*documented(), *problems(), *OTHERS]):
        yield [line]
    for line in TRAININGS:
        yield [line, *AFTER]


def scrub(text):
    text = re.sub(r"\r[^\n]*\r", "", text)
    text = re.sub(r"^heatball \w+: (?:.* )?[\d.]+ %, .*left\n?", "", text, flags=re.M)  # progress
    text = re.sub(r"\b\d[\d.e+-]* (?:s|ms|min|minutes|seconds)\b", "_ s", text)
    return re.sub(r"[\d.e+-]+ (?:[kMG] |million )?(?:rows|samples|draws)/s", "_/s", text)


def run(command, lines, limit):
    with tempfile.TemporaryDirectory() as place:
        here = pathlib.Path(place)
        for name in ("examples", "docs", "models"):
            (here / name).symlink_to(ROOT / name)
        records = []
        for line in lines:
            try:
                done = subprocess.run([command, *shlex.split(line)], cwd=here, capture_output=True, text=True,
                                      timeout=limit, stdin=subprocess.DEVNULL)
                record = {"line": line, "code": done.returncode, "out": scrub(done.stdout), "err": scrub(done.stderr)}
            except subprocess.TimeoutExpired:
                record = {"line": line, "code": "timeout"}
            records.append(record)
        files = {str(p.relative_to(here)): hashlib.sha256(p.read_bytes()).hexdigest()
                 for p in sorted(here.rglob("*")) if p.is_file() and not p.is_symlink()
                 and p.relative_to(here).parts[0] not in ("examples", "docs", "models")
                 and p.suffix not in (".png", ".svg", ".pdf", ".html", ".json")}
        records[-1]["files"] = files
        return records


def compare(old, new):
    before = {r["line"]: r for r in json.loads(pathlib.Path(old).read_text())}
    after = {r["line"]: r for r in json.loads(pathlib.Path(new).read_text())}
    differing = 0
    for line in before:
        if line not in after or before[line] == after[line] or "timeout" in (before[line]["code"], after[line]["code"]):
            continue
        differing += 1
        print(f"heatball {line}")
        for part in ("code", "out", "err", "files"):
            one, two = before[line].get(part), after[line].get(part)
            if one == two:
                continue
            if part in ("out", "err"):
                print("\n".join(list(difflib.unified_diff(one.splitlines(), two.splitlines(), "old", "new", lineterm="", n=0))[2:]))
            else:
                print(f"  {part}: {one} -> {two}")
    print(f"{differing} of {len(before)} commands differ")
    return 1 if differing else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", nargs=2)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=60)
    a = parser.parse_args()
    if a.compare:
        return compare(*a.paths)
    command, records = str(pathlib.Path(a.paths[0]).resolve()), []
    for lines in groups():
        if re.search(a.only, lines[0]):
            records += run(command, lines, a.limit)
            pathlib.Path(a.paths[1]).write_text(json.dumps(records, indent=1))
    print(f"{len(records)} commands")
    return 0


if __name__ == "__main__":
    sys.exit(main())

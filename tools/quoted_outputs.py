#!/usr/bin/env python3
"""Run the commands that pages quote with their outputs, and write the outputs of today into the pages.

    tools/quoted_outputs.py build/heatball docs/reference/which-sdes.md ...

A quotation is a block of ``` whose lines `$ heatball solve ...` are each followed by what the command prints. The line
`# problem:` is left out. Where the names of the columns end with ..., the columns behind are cut off. Refusals are left as they are.
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


def cut(lines, quoted):
    """Cut the columns of a table behind the last one that is quoted."""
    shown = [line for line in quoted.splitlines() if line.endswith("...")]
    if not shown:
        return lines
    last = shown[0].split()[-2]
    heads = next(line for line in lines if last in line.split())
    end = re.search(rf"(?<!\S){re.escape(last)}(?!\S)", heads).end()
    return [line if line.startswith("#") else line[:end] + " ..." for line in lines]


def renewed(command, part):
    """The line of a command and what it prints."""
    line, _, quoted = part.partition("\n")
    words = shlex.split(line)
    if words[:2] != ["heatball", "solve"] or not quoted.startswith("#"):
        return part
    print(line, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([command, *words[1:]], capture_output=True, text=True, cwd=folder, check=True)
    lines = [one.rstrip() for one in done.stdout.splitlines() if not one.startswith("# problem: ")]
    rest = re.search(r"\n*\Z", quoted)[0]
    return "\n".join([line, *cut(lines, quoted)]) + rest


def main(command, *pages):
    command = pathlib.Path(command).resolve()
    for page in map(pathlib.Path, pages):
        blocks = re.split(r"(^```\w*\n.*?^```)", page.read_text(), flags=re.M | re.S)
        for k in range(1, len(blocks), 2):
            head, *parts = re.split(r"^\$ ", blocks[k], flags=re.M)
            if parts:
                last, fence = parts[-1].rsplit("```", 1)
                parts[-1] = last
                blocks[k] = head + "".join("$ " + renewed(command, part) for part in parts) + "```" + fence
        page.write_text("".join(blocks))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

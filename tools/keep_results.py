#!/usr/bin/env python3
"""Copies the page of `heatball reproduce`, results.json and the files that the page links to.

    tools/keep_results.py DIR docs/results

Models, checkpoints and scripts of gnuplot stay behind: no link leads to them.
"""
import html.parser
import os
import pathlib
import shutil
import sys


class Links(html.parser.HTMLParser):
    """Collects the targets of relative links."""

    def __init__(self):
        super().__init__()
        self.targets = set()

    def handle_starttag(self, tag, attributes):
        target = dict(attributes).get("href", "") if tag == "a" else ""
        if target and not target.startswith(("#", "http:", "https:")):
            self.targets.add(target.split("#")[0])


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: keep_results.py DIR docs/results")
    source, kept = map(pathlib.Path, sys.argv[1:])
    if not (source / "index.html").is_file():
        sys.exit(f"{source} has no index.html; heatball reproduce -o DIR makes one")
    links = Links()
    links.feed((source / "index.html").read_text(encoding="utf-8"))
    files = sorted(links.targets | {"index.html", "results.json"})
    missing = [name for name in files if not (source / name).is_file()]
    if missing:
        sys.exit(f"{source} lacks {missing[0]}")
    if kept.is_dir() and not (kept / "results.json").exists() and set(os.listdir(kept)) - {"README.md"}:
        sys.exit(f"{kept} holds other things than results")
    for child in kept.iterdir() if kept.is_dir() else []:
        if child.name == "README.md":
            continue
        shutil.rmtree(child) if child.is_dir() else child.unlink()
    for name in files:
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, kept / name)
    print(f"{kept}: {len(files)} files")


if __name__ == "__main__":
    main()

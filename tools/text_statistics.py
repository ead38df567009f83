#!/usr/bin/env python3
"""Counts words and long sentences of the pages, and fails where a page or all of them are too long.

    tools/text_statistics.py [ROOT]            a line for each part of docs/ and for all; fail above the limits
    tools/text_statistics.py [ROOT] --pages    a line for each page as well
    tools/text_statistics.py [ROOT] --long     print every sentence above 35 words

Read are README.md, CONTRIBUTING.md and docs/ without docs/results and the generated reference. Words are counted as
wc -w does, tables and code included. Sentences are those of the prose: no code, tables, headings or formulas; a formula
or a piece of code in a line counts as one word. Limits: 2,500 words a page, 70,000 in all, 5 % of the sentences above
35 words.
"""

import argparse
import collections
import pathlib
import re
import sys

MOST_PAGE, MOST_ALL, LONG, MOST_LONG = 2500, 70_000, 35, 0.05
GENERATED = ("docs/results/", "docs/reference/api/")


def sentences(text):
    """The sentences of the prose of a page, as lists of words."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->|\$\$.*?\$\$", "", text, flags=re.S)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|<[^>\n]*>", "", text)
    text = re.sub(r"\[((?:[^\]`]|`[^`]*`)*)\]\([^)\s]+\)", r"\1", text)
    text = re.sub(r"`[^`\n]*`|\$[^$\n]*\$", "X", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        lines = [line for line in paragraph.splitlines() if not re.match(r"\s*\||#| {4}\S", line)]
        for sentence in re.split(r"(?<=[.!?:])[*)\"]*\s+(?=[^a-z\s])", " ".join(lines).strip()):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > 2:
                yield words


def pages(root):
    for path in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]:
        name = path.relative_to(root).as_posix()
        if path.exists() and not name.startswith(GENERATED):
            yield name, path.read_text()


def line(name, words, found):
    long = sum(len(sentence) > LONG for sentence in found)
    return (f"{name:44}{words:8,} words {len(found):6,} sentences, {100 * long / max(1, len(found)):5.1f} % above {LONG} words")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--pages", action="store_true")
    parser.add_argument("--long", action="store_true")
    arguments = parser.parse_args()
    if not (arguments.root / "docs").is_dir():
        parser.error(f"{arguments.root} has no docs directory")
    words, found, wrong = collections.Counter(), collections.defaultdict(list), []
    for name, text in pages(arguments.root):
        count, here = len(text.split()), list(sentences(text))
        part = "/".join(name.split("/")[:2]) if name.count("/") > 1 else name.split("/")[0]
        for key in (part, "all"):
            words[key] += count
            found[key] += here
        if arguments.pages:
            print(line(name, count, here))
        if arguments.long:
            print("".join(f"{name}: {len(s)}: {' '.join(s)}\n" for s in here if len(s) > LONG), end="")
        if count > MOST_PAGE:
            wrong.append(f"{name}: {count} words; at most {MOST_PAGE}")
    for part in words:
        print(line(part, words[part], found[part]))
    if words["all"] > MOST_ALL:
        wrong.append(f"all pages: {words['all']} words; at most {MOST_ALL}")
    fraction = sum(len(s) > LONG for s in found["all"]) / max(1, len(found["all"]))
    if fraction > MOST_LONG:
        wrong.append(f"{100 * fraction:.1f} % of the sentences are above {LONG} words; at most {100 * MOST_LONG:.0f} %")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

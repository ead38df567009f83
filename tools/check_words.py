#!/usr/bin/env python3
"""Fail when a private word stands in a text that users read, more often than tools/words_left.json allows.

    tools/check_words.py [ROOT]             fail when a word stands more often than words_left.json says
    tools/check_words.py [ROOT] --all       print every use that is left
    tools/check_words.py [ROOT] --word W    print the uses of one word
    tools/check_words.py [ROOT] --update    lower words_left.json to today's counts; it never raises one

Read are README.md, CONTRIBUTING.md and docs/ (without docs/dev and docs/results; inline code, formulas and link
targets do not count; nor do names of files), string literals with a blank in cli/ and src/ (help and messages), strings with a blank in
python/heatball (docstrings and messages), and the comments of include/heatball. A use is printed as
`file:line: word -> what to say`. WORDS is the table; ALLOWED lists uses that are right, with the reason.
"""

import argparse
import collections
import io
import json
import pathlib
import re
import sys
import tokenize

# word: (what to say, pattern). Patterns are matched without regard to case, blanks match line ends too.
WORDS = {
    "doubt": ("flag, flagged as unreliable, warning", r"\b(?:un)?doubt(?:s|ed|ful|ing)?\b"),
    "claim": ("reported error, reports", r"\bclaim(?:s|ed|ing)?\b"),
    "watch": ("independent diagnostic sample", r"\bwatch(?:ed|ing)?[ -](?:draws?|walks?|samples?|rounds?)\b"),
    "led march": ("bridge estimator about the most probable path", r"\bled[ -](?:march\w*|walks?)\b"),
    "march": ("Brownian-bridge estimator", r"\bmarch(?:es|ed|ing)?\b"),
    "likeliest": ("most probable (path)", r"\blikeliest\b"),
    "clock": ("exponential event time", r"(?<!wall\s)(?<!wall-)\bclocks?\b"),
    "rings": ("event", r"\brings? (?:of the clock|at|before|after|on)\b|\bclocks? rings?\b"),
    "settle": ("apply the correction", r"\bsettle(?:s|d)?\b"),
    "tally": ("accumulator", r"\btall(?:y|ies)\b"),
    "finesse": ("rate multiplier", r"\bfinesses?\b"),
    "comb": ("stratified time points", r"\bcombs?\b"),
    "frame": ("coordinate transform", r"\b(?:frame of the noise|(?:its|the|a|this|that|no|such a|other) frames?"
              r"(?! (?:of|is) (?:an |the )?(?:animation|film|picture)))\b"),
    "arm": ("gradient weight", r"\barms? of (?:a |the )?(?:walk|score|weight)s?\b"),
    "cloud": ("(quadrature) nodes, particles", r"\bclouds?\b"),
    "law": ("distribution", r"\b(?<!power\s)laws?\b(?! of (?:large numbers|motion|cosines|the iterated))"),
    "start": ("initial condition, initial density", r"(?<!at\s)(?<!from\s)(?<!with\s)\b(?:the|a|wide|narrow|smooth|uniform|stationary|Gaussian"
              r"|given|other|any|every) starts?\b(?! (?:at|with|from|to|of (?:a|the) (?:run|step|line|file|box))\b)"),
    "share": ("fraction", r"\bshares? of\b|\b(?:the|a given) share\b(?! (?:between|f\b))"),
    "lift": ("auxiliary dimensions", r"\blift(?:s|ed|ing)\b|\b(?:a|no|with|without|by) lift\b(?! (?:is|m\b))"),
    "deviations": ("standard deviations", r"(?<!standard\s)(?<!standard\s\s)(?<!large\s)(?<!square\s)\bdeviations?\b"),
    "on the line": ("in one dimension", r"\bon (?:the|a) line\b(?! \w+ (?:of|below|above))|\bon lines\b"),
    "in the plane": ("in two dimensions", r"\b(?:in|of|on) the plane\b"),
    "in space": ("in three dimensions", r"\bin space\b(?! and (?:in )?time)"),
    "wall": ("boundary", r"\bwalls?\b(?![ -]clock)"),
    "noises": ("noise sources, Brownian motions", r"\bnoises\b"),
    "shard": ("micro-batch", r"\bshards?\b"),
    "team": ("process group", r"\b(?:a|the|its|one|this|that|another|no|such a) teams?\b(?!\.\w)|\bteams of\b"),
    "crew": ("thread pool", r"\bcrews?\b"),
    "room": ("module", r"\brooms?\b(?! for\b)"),
    "judge": ("metrics, evaluate", r"\bjudg(?:e|es|ed|ing)\b"),
    "film": ("animation", r"\bfilms?\b"),
    "the same bytes": ("bit-identical", r"\b(?:the )?same (?:bits|bytes)\b|\bits bits\b|\bthe bytes of one process\b"
                       r"|\bbit for bit\b|\bin (?:every|no) bit\b|\bkeeps? (?:its|their) bits\b|\bto the bit\b"
                       r"|\bto the last bit\b"),
    "go on": ("resume, continue", r"\b(?:go|goes|going|went|gone) on\b"),
    "swarm": ("particle ensemble", r"\bswarms?\b"),
    "zoom": ("local refinement", r"\bzoom(?:s|ed|ing)?\b"),
    "bulk": ("core region", r"\bbulk\b"),
    "stray": ("outlier", r"\bstray(?:s|ed|ing)?\b"),
    "owing": ("pending", r"\bowing\b(?! to\b)"),
    "scout": ("pre-sample", r"\bscout(?:s|ed|ing)?\b"),
    "whole number": ("integer", r"\bwhole numbers?\b"),
    "asked for": ("requested", r"\b(?:that|which) (?:is|are|was|were) (?:asked for|wanted)\b|\basked for\b"),
    "given": ("given (before the noun)", r"\b(?:that|which) (?:is|are|was|were) given\b"),
    "dearer": ("more expensive", r"\bdearer\b"),
    "believe": ("trust, reliable", r"\b(?:dis)?believe[ds]?\b"),
    "without it": ("default: ...", r"[;:(] ?without it,? "),
}

# (file pattern, word, pattern of the line's text, reason). A use that is right.
ALLOWED = [
    (r"^docs/(?:README|reference/glossary)\.md$", ".*", r"\(formerly\b", "the glossary names former words"),
    (r"^docs/(?:paper/|reference/commands/reproduce|reference/commands/study)", "claim", r"", "what a paper says is a claim"),
    (r"^python/heatball/(?:__init__|judge)\.py$", "judge", r"heatball\.judge", "the deprecated name of heatball.metrics"),
    (r"", "claim", r"\bpaper(?:'s)? claims?\b", "what a paper says is a claim"),
    (r"^docs/reference/commands/study\.md$", "law", r"^KS:", "output of a study"),
    (r"^docs/", "without it", r"", "ordinary prose; the rule is for the help of options"),
    (r"^src/plot/|^docs/", "frame", r"cannot be read|directory for the frames|libpng|animation|time of the frame",
     "an animation has frames"),
    (r"^src/plot/animation_html\.c$", "film", r"const film|film\.(?:src|alt)|id=", "names in the script of a page"),
]

PATTERNS = {word: re.compile(pattern.replace(" ", r"\s+"), re.I) for word, (_, pattern) in WORDS.items()}
HERE = pathlib.Path(__file__).resolve().parent.parent
FILE_NAME = re.compile(r"\b[\w/-]+\.(?:md|[ch]|py|json|npz|npy|csv|html)\b")
Use = collections.namedtuple("Use", "file line word text")


def blank(match):
    """As many lines as were there, and nothing else."""
    return re.sub(r"[^\n]", " ", match.group())


def markdown(text):
    """Prose and output of a page: without inline code, formulas, link targets and addresses."""
    text = re.sub(r"\$\$.*?\$\$", blank, text, flags=re.DOTALL)
    text = re.sub(r"`[^`\n]+`|\$[^$\n]+\$", blank, text)
    text = re.sub(r"(?<=\])\([^)\n]*\)|https?://\S+|<img [^>]*>", blank, text)
    yield 1, text


C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def c_strings(text):
    """String literals with a blank; those that follow one another are one, as the compiler reads them."""
    kept, end, start = "", None, 0
    for match in C_TOKEN.finditer(text):
        if not match.group().startswith('"'):
            continue
        line_start = text.rfind("\n", 0, match.start()) + 1
        if text[line_start:match.start()].lstrip().startswith("#include"):
            continue
        gap = text[end:match.start()].replace("\\\n", "\n") if end is not None else "x"  # also in a macro
        if gap.strip():
            if " " in kept:
                yield start, kept
            kept, start = "", text.count("\n", 0, match.start()) + 1
        else:
            kept += re.sub(r"[^\n]", "", gap)
        kept += match.group()[1:-1].replace("\\n", " ")
        end = match.end()
    if " " in kept:
        yield start, kept


def c_comments(text):
    """Comments of a header."""
    for match in C_TOKEN.finditer(text):
        if match.group().startswith("/"):
            yield text.count("\n", 0, match.start()) + 1, re.sub(r"\n[ \t]*\*", "\n", match.group())


def python_strings(text):
    """Strings with a blank: docstrings and messages."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and " " in token.string:
            yield token.start[0], token.string


def sources(root):
    """Yield (path, reader of its text)."""
    for name in ("README.md", "CONTRIBUTING.md"):
        yield root / name, markdown
    for path in sorted((root / "docs").rglob("*.md")):
        if path.relative_to(root).parts[1] not in ("dev", "results"):
            yield path, markdown
    for directory in ("cli", "src"):
        for path in sorted((root / directory).rglob("*.[ch]")):
            yield path, c_strings
    for path in sorted((root / "python" / "heatball").rglob("*.py")):
        yield path, python_strings
    for path in sorted((root / "include" / "heatball").glob("*.h")):
        yield path, c_comments


def allowed(file, word, line):
    return any(re.search(where, file) and re.fullmatch(which, word) and re.search(what, line, re.I)
               for where, which, what, _ in ALLOWED)


def uses_of_text(file, read, text):
    """Yield the uses of private words in one file; of patterns that overlap, the first in the table counts."""
    for start, piece in read(text):
        piece = FILE_NAME.sub(blank, piece)
        taken = set()
        for word, pattern in PATTERNS.items():
            for match in pattern.finditer(piece):
                if taken & set(range(*match.span())):
                    continue
                here = piece.rfind("\n", 0, match.start()) + 1
                there = piece.find("\n", match.end())
                line = piece[here:there if there >= 0 else len(piece)].strip()
                taken |= set(range(*match.span()))
                if not allowed(file, word, line):
                    yield Use(file, start + piece.count("\n", 0, match.start()), word, line)


def uses(root):
    for path, read in sources(root):
        if path.is_file():
            yield from uses_of_text(path.relative_to(root).as_posix(), read, path.read_text(encoding="utf-8"))


def show(use):
    return f"{use.file}:{use.line}: {use.word} -> {WORDS[use.word][0]}"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=HERE)
    parser.add_argument("--all", action="store_true", help="print every use that is left")
    parser.add_argument("--word", choices=list(WORDS), help="print the uses of one word")
    parser.add_argument("--update", action="store_true", help="lower the counts in words_left.json")
    options = parser.parse_args(arguments[1:])
    root = options.root.resolve()
    if not (root / "src").is_dir():
        print(f"{root} has no src directory; give the root of the tree", file=sys.stderr)
        return 2
    left = root / "tools" / "words_left.json"
    ceiling = json.loads(left.read_text(encoding="utf-8")) if left.is_file() else None
    found = sorted(uses(root))
    count = collections.Counter(use.word for use in found)
    if options.all or options.word:
        for use in found:
            if options.all or use.word == options.word:
                print(f"{show(use)}: {use.text}")
        return 0
    if ceiling is None:  # a tree without the file allows none; --update begins with today's counts
        ceiling = dict(count) if options.update else {}
    if options.update:
        lower = {word: min(ceiling.get(word, 0), count[word]) for word in WORDS}
        left.write_text(json.dumps({w: n for w, n in lower.items() if n}, indent=1) + "\n", encoding="utf-8")
    over = {word for word in WORDS if count[word] > ceiling.get(word, 0)}
    for use in found:
        if use.word in over:
            print(show(use))
    for word in sorted(over):
        print(f"{word}: {count[word]} uses, {ceiling.get(word, 0)} allowed (tools/words_left.json); "
              f"say: {WORDS[word][0]}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))

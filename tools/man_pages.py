#!/usr/bin/env python3
"""Makes docs/man/heatball-NAME.1 from docs/reference/commands/NAME.md, so that both say the same.

    tools/man_pages.py            write the pages
    tools/man_pages.py --check    fail and name the pages that differ from what would be written

The pages are kept in the tree, so that building and installing need no Python. The text goes over
as it is; what changes is its dress: the first block of code is the SYNOPSIS, the table whose head
begins with "option" becomes OPTIONS, headings become sections, other tables go to tbl, links to
other commands become heatball-OTHER(1), links to pages become paths below docs/, pictures with their
captions are left out. The line of NAME is the command's line in docs/man/heatball.1, which is
written by hand. tests/cli/test_cli.py compares both kinds of pages with --help.
"""
import argparse
import pathlib
import posixpath
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
GLYPHS = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "^": r"\(ha", "~": r"\(ti", "`": r"\(ga"}


def typed(text):
    """Text that a reader may copy into a shell: no glyph may change."""
    return "".join(GLYPHS.get(letter, letter) for letter in text)


def link(text, target, seen):
    """What stands for [text](target)."""
    if "://" in target:
        return f"{text} ({target})"
    path = target.split("#")[0]
    command = re.fullmatch(r"([a-z]+)\.md", path)
    if command:
        seen.add(command[1])
        return f"**heatball-{command[1]}**(1)"
    place = posixpath.normpath("docs/reference/commands/" + path)
    return place if text.strip("`") in ("more", path.split("/")[-1]) else f"{text} ({place})"


def inline(text, seen):
    """One paragraph of Markdown with bold code and emphasis."""
    text = re.sub(r"\[((?:[^\]`]|`[^`]*`)*)\]\(([^)\s]+)\)", lambda m: link(m[1], m[2], seen), text)
    parts = re.split(r"(`[^`]+`)", text)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = rf"\fB{typed(part[1:-1])}\fR"
            continue
        part = part.replace(r"\*", "\0").replace("\\", r"\e")
        part = re.sub(r"\*\*(.+?)\*\*", r"\\fB\1\\fR", part)
        part = re.sub(r"\*(\S.*?)\*", r"\\fI\1\\fR", part)
        parts[i] = part.replace("\0", "*").replace("--", r"\-\-")
    return "".join(parts)


def guarded(line):
    return r"\&" + line if line[:1] in (".", "'") else line


def filled(text, seen):
    """Lines of source, wrapped without a break inside of bold text, which would add a blank."""
    text = inline(" ".join(text.split()), seen)
    held = re.sub(r"\\fB.*?\\fR", lambda m: m[0].replace(" ", "\1"), text)
    lines = textwrap.wrap(held, 100, break_long_words=False, break_on_hyphens=False)
    return [guarded(line.replace("\1", " ")) for line in lines]


def verbatim(lines):
    return [".RS 2", ".nf", *(guarded(typed(line)) for line in lines), ".fi", ".RE"]


def cells(row):
    parts = re.split(r"(?<!\\)\|", row.strip().strip("|"))
    return [part.strip().replace(r"\|", "|") for part in parts]


def options(rows, seen):
    """OPTIONS: a tagged paragraph for each row; the default is told at its end."""
    out = []
    for row in rows[2:]:
        tag, meaning, default = cells(row)
        if meaning[-1] not in ".:":
            meaning += "."
        if default.startswith("required"):
            meaning += f" R{default[1:]}."
        elif default:
            meaning += f" Default: {default}."
        out += [".TP", inline(tag, seen), *filled(meaning, seen)]
    return out


def table(rows, seen):
    """Two columns become tagged paragraphs, more become a table of tbl."""
    body = [cells(row) for row in rows[2:]]
    if all(len(row) == 2 for row in body):
        lines = []
        for tag, text in body:
            lines += [".TP", guarded(inline(tag, seen)), *filled(text, seen)]
        return lines + [".PP"]
    head = cells(rows[0])
    longest = [max(len(row[i]) for row in body) for i in range(len(head))]
    widest = longest.index(max(longest))
    layout = " ".join("lx" if i == widest else "l" for i in range(len(head)))
    lines = [".TS", "tab(@);", " ".join("lb" for _ in head), layout + "."]
    for row in [head, *body]:
        wrapped = [f"T{{\n{inline(cell, seen)}\nT}}" if i == widest and row is not head
                   else inline(cell, seen) for i, cell in enumerate(row)]
        lines += "@".join(wrapped).split("\n")
    return lines + [".TE", ".PP"]


def blocks(text):
    """(kind, lines) of a page: heading, code, table, item, picture or text."""
    lines = text.split("\n") + [""]
    kind, held, i = None, [], 0
    while i < len(lines):
        line = lines[i]
        fresh = ("table" if line.startswith("|") else "heading" if line.startswith("#") else
                 "picture" if line.startswith("![") else
                 "indented" if line.startswith("    ") and kind not in ("item", "text") else
                 "item" if re.match(r"(- |\d+\. )", line) else
                 None if not line.strip() else kind if kind in ("item", "text") else "text")
        if line.startswith("```"):
            if held:
                yield kind, held
            end = next(k for k in range(i + 1, len(lines)) if lines[k].startswith("```"))
            yield "code", lines[i + 1:end]
            kind, held, i = None, [], end + 1
            continue
        if held and (fresh != kind or fresh == "heading" or re.match(r"(- |\d+\. )", line)):
            yield kind, held
            held = []
        kind = fresh
        if kind:
            held.append(line)
        i += 1


def render(name, page, purpose):
    """The man page of a command from the text of its page."""
    seen, out, synopsis, before = set(), [], None, None
    section, opened = None, False
    for kind, lines in blocks(page):
        if kind == "heading":
            section = lines[0].lstrip("# ").upper()
            if lines[0].startswith("# "):
                section = "DESCRIPTION"
            opened = False
            continue
        if kind == "picture" or before == "picture" and lines[0].startswith("*"):
            before = kind
            continue
        if kind == "code" and synopsis is None:
            synopsis = [".nf", *(re.sub(rf"^(heatball {name})", r"\\fB\1\\fR", typed(line))
                                 for line in lines), ".fi"]
            continue
        is_options = kind == "table" and lines[0].startswith("| option")
        if is_options:
            section, opened = "OPTIONS", False
        elif section == "OPTIONS":
            section, opened = ("EXAMPLES" if "\n$ heatball" in page else "NOTES"), False
        if not opened:
            out.append(f".SH {section}")
            opened = True
        if is_options:
            out += options(lines, seen)
        elif kind == "table":
            out += table(lines, seen)
        elif kind == "code":
            out += [".PP", *verbatim(lines)] if before != "code" else verbatim(["", *lines])
        elif kind == "indented":
            out += [".PP", *verbatim([line[4:] for line in lines])]
        elif kind == "item":
            mark, text = re.match(r"(-|\d+\.) (.*)", " ".join(lines)).groups()
            out += [r".IP \(bu 2" if mark == "-" else f".IP {mark} 4", *filled(text, seen)]
        else:
            out += [".PP", *filled(" ".join(lines), seen)]
        before = kind
    also = ", ".join(rf"\fBheatball\-{other}\fR(1)" for other in sorted(seen - {name}))
    top = ["'\\\" t", f".\\\" Made from docs/reference/commands/{name}.md by tools/man_pages.py; edit that page.",
           f'.TH HEATBALL\\-{name.upper()} 1 "" heatball "Commands of heatball"',
           ".SH NAME", rf"heatball\-{name} \- {purpose}", ".SH SYNOPSIS", *synopsis]
    end = [".SH COMMON OPTIONS, EXIT STATUS",
           r"\fB\-\-threads\fR, \fB\-\-isa\fR, \fB\-q\fR, \fB\-h\fR and \fB\-\-version\fR, and what the "
           "exit status means, are described in", r"\fBheatball\fR(1).",
           ".SH SEE ALSO", r"\fBheatball\fR(1)" + (", " + also if also else "")]
    text = "\n".join(top + out + end) + "\n"
    return re.sub(r"(\.SH .*\n)\.PP\n", r"\1", text)


def purposes(overview):
    """Command to its line in the overview: .It Cm NAME, then the text up to the semicolon."""
    found = re.findall(r"^\.It Cm (\w+)\n(.*?);?\n\.Xr heatball-\1 1", overview, re.M | re.S)
    return {name: " ".join(text.split()) for name, text in found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail on a difference")
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=ROOT)
    arguments = parser.parse_args()
    if not (arguments.root / "docs" / "reference" / "commands").is_dir():
        parser.error(f"{arguments.root} has no docs/commands directory")
    man = arguments.root / "docs" / "man"
    purpose = purposes((man / "heatball.1").read_text(encoding="utf-8"))
    wrong = 0
    for page in sorted((arguments.root / "docs" / "reference" / "commands").glob("*.md")):
        if page.stem not in purpose:
            print(f"docs/man/heatball.1: no line for {page.stem}, which docs/reference/commands/{page.name} describes")
            wrong += 1
            continue
        path, text = man / f"heatball-{page.stem}.1", render(page.stem, page.read_text(encoding="utf-8"), purpose[page.stem])
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            if arguments.check:
                print(f"docs/man/{path.name}: differs from docs/reference/commands/{page.name}; run tools/man_pages.py")
                wrong += 1
            else:
                path.write_text(text, encoding="utf-8")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())

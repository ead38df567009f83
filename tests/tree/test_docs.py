"""The documentation holds together: links, anchors, figures, commands, man pages, the index.

$HEATBALL_COMMAND (by default build/heatball) is asked for its help; the program of the overview runs
with the library in $HEATBALL_BUILD (by default build).
"""

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from command_line import BUILD, COMMAND, ROOT

TOOL = ROOT / "tools" / "man_pages.py"


def pages(root=ROOT):
    """Every .md file that git has or would take."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            cwd=root, capture_output=True, text=True, check=True).stdout.split()
    return sorted({root / name for name in listed if (root / name).exists()})


def without_code(text):
    """The text without code and formulas, in which [..](..) is no link."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"\$\$.*?\$\$", "", text, flags=re.S)
    return re.sub(r"`[^`\n]*`|\$[^$\n]*\$", "", text)


def links(text):
    """Targets of [..](..), ![..](..) and <img src="..">, in the text but not in code."""
    return re.findall(r'(?:\]\(|<img src=")([^)"\s]+)[)"]', without_code(text))


def anchors(text):
    """Anchors of the headings, by GitHub's rule: lower case, no punctuation, hyphens for blanks."""
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip())
        slug = base = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = 0
        while slug in found:
            number += 1
            slug = f"{base}-{number}"
        found.add(slug)
    return found


@functools.lru_cache
def html_anchors(place):
    """Anchors of a page in HTML, such as that of the results."""
    return set(re.findall(r' id="([^"]+)"', place.read_text()))


def broken(page, root=ROOT):
    """What is wrong with the links of a page, a sentence for each."""
    wrong = []
    for target in links(page.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists():
            wrong.append(f"{page.relative_to(root)}: {target} is not there")
        elif anchor and anchor not in (html_anchors(place) if place.suffix == ".html" else anchors(place.read_text())):
            wrong.append(f"{page.relative_to(root)}: {target} has no such heading")
    return wrong


def test_every_relative_link_leads_somewhere():
    wrong = [sentence for page in pages() for sentence in broken(page)]
    assert not wrong, "\n".join(wrong)


def missing_sources(text):
    """Files of the tree that are named in the text but are not there."""
    named = re.findall(r"\b(?:src|cli|studies|tests|tools|bench|include|cmake|examples)/[\w./-]*\.(?:c|h|py|ini)\b", text)
    return sorted({name for name in named if "NAME" not in name and not (ROOT / name).exists()})


def test_every_source_that_is_named_is_there():
    listed = subprocess.run(["git", "ls-files", "*.md", "src/*.[ch]", "cli/*.[ch]", "studies/*.[ch]"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split()
    texts = {name: (ROOT / name).read_text() for name in listed if (ROOT / name).exists() and name != "CHANGELOG.md"}
    wrong = [f"{name}: {source}" for name, text in texts.items() for source in missing_sources(text)]
    assert len(texts) > 400 and not wrong, "\n".join(wrong)
    assert missing_sources("`tests/test_ball.c` and tests/ball/test_ball.c") == ["tests/test_ball.c"]


def test_every_figure_is_shown_on_a_page():
    shown = {(page.parent / target).resolve() for page in pages() for target in links(page.read_text())}
    made = {path.resolve() for path in (ROOT / "docs" / "figures").iterdir()}
    assert made - shown == set()


def malformed(text):
    """Rows of a table with another number of cells, formulas with a bar in a table or one dollar sign."""
    text = re.sub(r"^```.*?^```|^    .*?$", "", text, flags=re.M | re.S)
    text = re.sub(r"\$\$.*?\$\$", "", re.sub(r"`[^`\n]*`", "", text), flags=re.S)
    wrong = []
    for paragraph in re.split(r"\n\s*\n", text):
        rows = [line for line in paragraph.splitlines() if line.startswith("|")]
        wrong += [f"$ in {part[:60]}" for part in rows or [paragraph] if part.count("$") % 2]
        wrong += [f"| in {part}" for row in rows for part in re.findall(r"\$[^$]*\$", row)
                  if re.search(r"(?<!\\)\|", part)]
        counts = {len(re.split(r"(?<!\\)\|", row.strip())) for row in rows}
        wrong += [f"cells of {rows[0][:60]}"] if len(counts) > 1 else []
    return wrong


def test_tables_and_formulas_are_well_formed():
    wrong = [f"{page.relative_to(ROOT)}: {what}" for page in pages() for what in malformed(page.read_text())]
    assert not wrong, "\n".join(wrong)
    assert malformed("a $b$ c\n\n| a | b |\n|---|---|\n| $a$ | `b|c$` \\| |\n\n$$a | b$$ |\n") == []
    assert len(malformed("a $b c\n\n| a | b |\n|---|---|\n| $|a|$ |\n")) == 3


def test_the_index_names_every_page():
    index = ROOT / "docs" / "README.md"
    named = {(index.parent / target.split("#")[0]).resolve() for target in links(index.read_text())}
    docs = {page for page in pages() if ROOT / "docs" in page.parents and page != index
            and ROOT / "docs" / "results" not in page.parents}
    assert docs - named == set()


def test_the_eight_corrections_are_there():
    """Studies refer to them by number."""
    text = (ROOT / "docs" / "paper" / "findings.md").read_text()
    found = re.findall(r"^### (\d) ", text.split("## The eight corrections")[1], re.M)
    assert found == list("12345678")


WIDEST = 102  # columns of code in the site at 1400 pixels; blocks of ```text are outputs, which wrap


def wide_code(text):
    """Lines of code that scroll sideways."""
    text = re.sub(r"^```text\n.*?^```", "", text, flags=re.M | re.S)
    fenced = "\n".join(re.findall(r"^```.*?\n(.*?)^```", text, re.M | re.S))
    indented = [line[4:] for line in re.sub(r"^```.*?^```", "", text, flags=re.M | re.S).splitlines() if line.startswith("    ")]
    return [line for line in fenced.splitlines() + indented if len(line) > WIDEST]


def test_no_code_of_the_first_pages_scrolls():
    first = [ROOT / "README.md", ROOT / "docs/gallery.md", *(ROOT / "docs/tutorials").glob("*.md"), *(ROOT / "docs/howto").glob("*.md")]
    wrong = [f"{page.relative_to(ROOT)}: {line}" for page in first for line in wide_code(page.read_text())]
    assert not wrong, "\n".join(wrong)
    assert len(wide_code(f"```\n{'a' * 103}\n```\n\n    {'b' * 103}\n    {'c' * 102}\n{'d' * 200}\n")) == 2


# ---- commands in the text ---------------------------------------------------------------------

@functools.lru_cache
def options(command):
    """Option to whether it takes a value, from the help page."""
    done = subprocess.run([COMMAND, command, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"heatball {command}: {done.stderr}"
    known = {}
    for line in done.stdout.splitlines():
        match = re.match(r"  (-[-\w, ]*?)(?: ([^\s-]\S*).*)?$", line[:22].rstrip() if line[2:22].strip()
                         and len(line) > 22 and line[21] == " " else line.rstrip())
        if match and line.startswith("  -"):
            for name in match[1].split(", "):
                known[name.strip()] = match[2] is not None
    return known | {"--isa": True}  # not on the help page


def commands(text):
    """Command lines of the blocks of code: `$ heatball ...` and `build/heatball ...`."""
    text = re.sub(r"\s*\\\n\s*", " ", text)
    fenced = "\n".join(re.findall(r"^```.*?\n(.*?)^```", text, re.M | re.S))
    indented = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
    for line in (fenced + "\n" + indented).splitlines():
        match = re.match(r"(?:\$ |)(build/heatball|heatball) ([a-z]+ .*)", line.strip())
        if match and (line.strip().startswith("$ ") or match[1].startswith("build/")):
            yield match[2].split(" #")[0].strip()


def unknown_options(line):
    words = shlex.split(line)
    known, wrong, i = options(words[0]), [], 1
    while i < len(words):
        word, i = words[i], i + 1
        if not re.match(r"--?[a-zA-Z]", word):
            continue
        name = word.split("=")[0]
        if name not in known and not name.startswith("--") and name[:2] in known:
            continue  # -n5
        if name not in known:
            wrong.append(name)
        elif known[name] and "=" not in word:
            i += 1  # its value, which may begin with a minus
    return wrong


def test_the_help_pages_are_read_rightly():
    assert options("sample")["--dim"] and options("sample")["-n"] and options("sample")["-o"]
    assert not options("sample")["--json"] and not options("sample")["-q"]
    assert options("solve")["--path-times"] and not options("solve")["--resume"]
    assert unknown_options('solve --drift "-x" --at=-1 --threads 2 -q') == []
    assert unknown_options("sample --dim 3 --dimm 4 -z") == ["--dimm", "-z"]


def test_commands_on_the_pages_have_known_options():
    lines = [(page, line) for page in pages() for line in commands(page.read_text())]
    assert len(lines) > 50
    wrong = [f"{page.relative_to(ROOT)}: heatball {line}: {name}" for page, line in lines
             for name in unknown_options(line)]
    assert not wrong, "\n".join(wrong)


@functools.lru_cache
def meanings(command):
    """Option to its words on the help page, with choices, range and default."""
    page = subprocess.run([COMMAND, command, "--help"], capture_output=True, text=True, timeout=60).stdout
    found = {}
    groups = re.findall(r"^(?!Common|Example)[A-Z][\w ]*:\n(  .*?)\n\n", page, re.M | re.S)
    for entry in re.split(r"\n  (?=\S)", "\n" + "\n".join(groups))[1:]:
        words = " ".join(entry.split())
        found[re.match(r"(?:-\w, )?(\S*)", words)[1]] = words
    return found


def wrong_defaults(command, page):
    """Options whose default in the table of a page is not that of the help page, a sentence for each."""
    wrong = []
    for names, told in re.findall(r"^\| (`-.*?`) \|.*\| ?([^|]*?) ?\|$", page, re.M):
        names = [name.split()[0] for name in re.findall(r"`(-[^`]*)`", names)]
        told = told.split(", ") if len(names) > 1 else [told]
        for name, value in zip(names, told if len(told) == len(names) else told * len(names)):
            words = meanings(command).get(name, "")
            default = re.search(r"\(default (\S+)\)$|; default(?:, without --steps)?: ([\d.]+);", words)
            default = default and (default[1] or default[2])
            if default and not re.match(re.escape(default) + r"(?![\w.])", value.replace("`", "").replace("−", "-")):
                wrong.append(f"{name}: the page says {value!r}, the command {default!r}")
            if "(required)" in words and len(names) == 1 and "required" not in value:
                wrong.append(f"{name}: the page does not say that it is required")
    return wrong


COMMAND_PAGES = sorted((ROOT / "docs" / "reference" / "commands").glob("*.md"))


@pytest.mark.parametrize("page", COMMAND_PAGES, ids=lambda page: page.stem)
def test_defaults_on_the_pages_are_those_of_the_command(page):
    assert not wrong_defaults(page.stem, page.read_text())


def test_wrong_defaults_are_found():
    page = (ROOT / "docs/reference/commands/train.md").read_text()
    for right, wrong in [("| 0.998 |", "| 0.99 |"), ("| 256, 3 |", "| 256, 4 |"), ("| 8 |", "| 6 |")]:
        assert right in page and len(wrong_defaults("train", page.replace(right, wrong))) == 1, right


@pytest.mark.parametrize("page", COMMAND_PAGES, ids=lambda page: page.stem)
def test_choices_on_the_pages_are_those_of_the_command(page):
    for name, words in meanings(page.stem).items():
        choices = words.split()[1] if re.match(r"-\S+ [a-z0-9-]+(\|[a-z0-9-]+)+ ", words) else ""
        told = " ".join(line for line in page.read_text().splitlines() if f"`{name}" in line or line.startswith("| `"))
        for choice in filter(None, choices.split("|")):
            assert re.search(rf"(?<![\w-]){choice}(?![\w-])", told), f"{name} {choice}"


QUOTED = ("budget", "constants", "data", "sample", "solve", "study", "reproduce")
NEEDS_MORE = re.compile(r"mnist|IMAGES|safetensors|data list|--plot|--json -o|--quick|\.\.\.")


def quotations(pages=None):
    """(page, command line, output) of the pages of commands, where no file of a user is needed; or all of other `pages`."""
    for page in pages or sorted((ROOT / "docs" / "reference" / "commands").glob("*.md")):
        for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text(), re.M | re.S):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                line, _, quoted = part.partition("\n")
                words = line.split()
                if words[0] == "heatball" and words[1] in QUOTED and (pages or not NEEDS_MORE.search(part)):
                    yield page.name, line, quoted


def test_quoted_outputs_are_those_of_the_command(tmp_path):
    """Times and rates apart. Solutions are left out, but for what is refused: they take seconds."""
    def timeless(text):
        return re.sub(r", \S+ s, \S+ .*rows/s", "", text).strip()
    found = 0
    for page, line, quoted in quotations():
        refused = quoted.startswith(f"heatball {line.split()[1]}: ")
        if line.split()[1] == "solve" and not refused:
            continue
        done = subprocess.run([COMMAND, *shlex.split(line)[1:]], capture_output=True, text=True, cwd=tmp_path,
                              timeout=60)
        assert done.returncode == (2 if refused else 0), (page, line, done.stderr)
        assert timeless(done.stderr if refused else done.stdout) == timeless(quoted), (page, line)
        found += 1
    assert found >= 12


def alike(found, quoted):
    """The same words but for `# problem:`, and numbers to a thousandth or 1e-6: rounding differs between instruction sets."""
    def words(text):
        text = re.sub(r"^# problem: .*\n", "", text, flags=re.M)
        return re.sub(r"; mass error .*?(time steps|$)", "", text, flags=re.M).replace(",", " ").split()
    ours, theirs = words(found), words(quoted)
    if len(ours) != len(theirs):
        return False
    for one, two in zip(ours, theirs):
        try:
            if not (one == two or abs(float(one) - float(two)) <= max(1e-6, 1e-3 * abs(float(two)))):
                return False
        except ValueError:
            return False
    return True


def test_every_example_of_which_sdes_gives_what_is_quoted(tmp_path):
    examples = list(quotations([ROOT / "docs" / "reference" / "which-sdes.md"]))
    for _, line, quoted in examples:
        refused = quoted.startswith("heatball solve: ")
        done = subprocess.run([COMMAND, *shlex.split(line)[1:]], capture_output=True, text=True, cwd=tmp_path, timeout=120)
        assert done.returncode == (2 if refused else 0), (line, done.stderr)
        found = done.stderr if refused else done.stdout
        assert alike(found, quoted), (line, found, quoted)
    assert len(examples) >= 20 and sum(quoted.startswith("heatball solve: ") for *_, quoted in examples) >= 8
    assert alike("a 1.00001 2", "a 1 2") and not alike("a 1.1", "a 1") and not alike("a 1", "b 1")


# ---- programs of the README and of the overview -----------------------------------------------

def test_the_python_program_of_the_overview():
    text = (ROOT / "docs/explanation/overview.md").read_text()
    program = re.search(r"^```python\n(.*?)^```", text, re.M | re.S)[1]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"),
                   "HEATBALL_LIBRARY": str(BUILD / "libheatball.so")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    value, error, exact = map(float, re.fullmatch(r"(\S+) \+- (\S+) exact (\S+)\n", done.stdout).groups())
    assert exact == pytest.approx(2.718281828459045**0.72) and abs(value - exact) < 5 * error < 0.05


def test_the_first_lines_of_the_readme(tmp_path):
    """They print the numbers beside them, and draw."""
    block = re.search(r"(?:^ {4}.*\n)+", (ROOT / "README.md").read_text(), re.M)[0]
    lines = [line[4:] for line in block.splitlines()]
    assert lines[0] == "import heatball" and "plot" in lines[-1]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "MPLBACKEND": "Agg",
                   "HEATBALL_LIBRARY": str(BUILD / "libheatball.so")}
    done = subprocess.run([sys.executable, "-c", "\n".join(lines) + "\nimport matplotlib.pyplot as p; p.savefig('s.png')"],
                          capture_output=True, text=True, env=environment, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown_numbers = re.findall(r"[\d.]+ ± [\d.e-]+", block)
    assert len(shown_numbers) == 2
    for shown in shown_numbers:
        assert shown in " ".join(done.stdout.split()), (shown, done.stdout)
    assert (tmp_path / "s.png").stat().st_size > 20000


# What stands in the place of the numbers of docs/reference/python.md, so that its examples take seconds.
SMALLER = [("steps=2000, width=64, progress=True", "steps=4, width=8"), ("held_out_rows)", "held_out_rows, samples=50)"),
           ("heatball.evaluate(model, held_out_rows, samples=50)", "heatball.evaluate(model, held_out_rows)"),
           ("likelihood=500", "likelihood=20"), ("x[:200]", "x[:20]"), ("moons.sample(600", "moons.sample(100"),
           ("200000", "20000"), ("model.generate(1000", "model.generate(50"),
           ("heatball.generate(f, 1000", "heatball.generate(f, 50"), ("model.log_likelihood(x)", "model.log_likelihood(x[:20])"),
           ("heatball.log_likelihood(model, x)", "heatball.log_likelihood(model, x[:20])"),
           ("heatball.ScoreDensity()", "heatball.ScoreDensity(steps=20, width=8)")]


def python_blocks(text):
    """The indented and fenced blocks of a page that are Python, without those that need files or processes."""
    blocks = re.findall(r"(?:^ {4}.*\n(?:\n(?= {4}))?)+|^```python\n(?:.*\n)*?```", text, re.M)
    for block in blocks:
        lines = [re.sub("^ {4}", "", line) for line in block.splitlines() if not line.startswith("```")]
        if lines[0].startswith(">>> "):
            lines = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
            lines = [] if "kapa" in lines[0] else lines  # shows an error
        if lines and not lines[0].startswith("PYTHONPATH=") and "heatball.mpi.join" not in block:
            yield "\n".join(line for line in lines if "pixels" not in line)


def test_the_blocks_of_the_python_page_run_in_order(tmp_path):
    """Each page is one program: a name that no block defines is an error for its reader."""
    blocks = list(python_blocks((ROOT / "docs" / "reference" / "python.md").read_text()))
    assert len(blocks) >= 8 and blocks[0].startswith("import numpy as np, heatball")
    text = "\n".join(blocks)
    for old, new in SMALLER:
        assert old in text, f"{old} is not on the page any more"
        text = text.replace(old, new)
    text += "\nassert abs(mean - theta(x0[None], tau0)[0]) < 5 * error\n"
    prelude = "import numpy; numpy.save('rows.npy', numpy.random.default_rng(1).normal(size=(400, 2)))\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "HEATBALL_LIBRARY": str(BUILD / "libheatball.so")}
    done = subprocess.run([sys.executable, "-c", prelude + text], capture_output=True, text=True, env=environment,
                          timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


# ---- the tests above can fail -----------------------------------------------------------------

def test_broken_links_are_found(tmp_path):
    (tmp_path / "b.md").write_text("# A heading, with `code`!\n## Twice\n## Twice\n")
    page = tmp_path / "a.md"
    page.write_text("[1](b.md) [2](b.md#a-heading-with-code) [3](b.md#twice-1) [4](https://x.org/y)\n"
                    "`[5](no.md)`\n```\n[6](no.md)\n```\n[7](no.md) [8](b.md#thrice) [9](#me) ![](p.png)\n"
                    '<img src="q.png" height="3">\n')
    assert [s.split(": ")[1].split(" ")[0] for s in broken(page, tmp_path)] == [
        "no.md", "b.md#thrice", "#me", "p.png", "q.png"]


def test_commands_are_found_in_both_kinds_of_blocks():
    text = ("```\n$ heatball data list\nheatball data: no\n```\n\n    $ build/heatball budget --dim 8 \\\n"
            "        --div-sup 1  # why\n\n    build/heatball constants --dim 3\nheatball sample --no\n")
    assert list(commands(text)) == ["data list", "budget --dim 8 --div-sup 1", "constants --dim 3"]


# ---- man pages --------------------------------------------------------------------------------

def tool(*arguments):
    done = subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


def test_man_pages_are_those_of_the_command_pages():
    assert tool("--check") == (0, "")


def test_man_pages_that_differ_are_named(tmp_path):
    for name in ("reference", "man"):
        shutil.copytree(ROOT / "docs" / name, tmp_path / "docs" / name)
    assert tool(tmp_path) == (0, "")
    page = tmp_path / "docs" / "reference" / "commands" / "sample.md"
    page.write_text(page.read_text().replace("of the random numbers", "of all random numbers"))
    (tmp_path / "docs" / "man" / "heatball-budget.1").unlink()
    code, out = tool("--check", tmp_path)
    assert code == 1 and [line.split(":")[0] for line in out.splitlines()] == [
        "docs/man/heatball-budget.1", "docs/man/heatball-sample.1"]
    assert tool(tmp_path) == (0, "") and tool("--check", tmp_path) == (0, "")
    assert "of all random numbers" in (tmp_path / "docs" / "man" / "heatball-sample.1").read_text()
    (tmp_path / "docs" / "reference" / "commands" / "new.md").write_text("# heatball new\n\nNew.\n\n```\nheatball new\n```\n")
    assert tool("--check", tmp_path)[0] == 1


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "man").glob("*.1")), ids=lambda p: p.stem)
def test_man_pages_render(path):
    kind = "-mdoc" if path.stem == "heatball" else "-man"
    done = subprocess.run(["groff", kind, "-t", "-k", "-Tutf8", "-rLL=100n", path], capture_output=True, text=True)
    assert done.returncode == 0 and not re.search("error|undefined|unknown", done.stderr), done.stderr
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"):
        assert re.search(rf"^{section}$", text, re.M), section
    assert "\\f" not in text and "**" not in text.replace("z**2", "") and "](" not in text

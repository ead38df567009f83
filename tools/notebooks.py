#!/usr/bin/env python3
"""Makes examples/notebooks/NAME.ipynb from the tutorial docs/tutorials/NAME.md, with outputs.

    tools/notebooks.py [NAME ...]            run the tutorials, write notebooks and docs/figures/tutorial_NAME.png
    tools/notebooks.py --gallery [NAME ...]  run blocks of docs/gallery.md, write docs/figures/gallery_NAME.png
    tools/notebooks.py --check               fail when cells of a notebook differ from its page; outputs may differ
    tools/notebooks.py --run NAME            run a tutorial, print the outputs, write nothing
    tools/notebooks.py --run NAME --cells 3  run its first three cells only

A ```python block of a page is a code cell, the text between blocks a Markdown cell. A ```text block right after a ```python
block is what that block prints: the notebook has the real output instead, and the page gets it again whenever the notebook
is written. --run fails when the numbers of such a block differ from the real ones by more than --tolerance. The last picture of a page is tutorial_NAME.png; the notebook has
it as an output. Cells run in a temporary directory, in one process, in order, as Jupyter runs them: standard output, the
value of a last expression, and open figures of Matplotlib are the outputs. Needs Matplotlib and what the pages import.
"""

import argparse
import ast
import base64
import contextlib
import io
import json
import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES, NOTEBOOKS, FIGURES = "docs/tutorials", "examples/notebooks", "docs/figures"
DPI, COLOURS, MOST_BYTES = 100, 256, 400_000
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```[ \t]*\n?", re.M | re.S)


def names(root):
    """The tutorials that have a notebook: those with a block of Python."""
    return [page.stem for page in sorted((root / PAGES).glob("*.md")) if "```python" in page.read_text(encoding="utf-8")]


def blocks(text):
    """The page as (kind, source): "markdown", "python", or "text", the output of the Python block before it."""
    found, place, markdown = [], 0, ""

    def flush():
        nonlocal markdown
        if markdown.strip():
            found.append(("markdown", markdown.strip()))
        markdown = ""

    for fence in FENCE.finditer(text):
        between = text[place:fence.start()]
        markdown, place = markdown + between, fence.end()
        after_code = found and found[-1][0] == "python" and not markdown.strip()
        if fence[1] == "python" or (fence[1] == "text" and after_code):
            flush()
            found.append((fence[1], fence[2].rstrip("\n")))
        else:
            markdown += fence[0]
    markdown += text[place:]
    flush()
    return found


def for_notebook(markdown, name):
    """Markdown with links as seen from the notebooks, without the picture that a cell gives."""
    markdown = re.sub(rf"^.*tutorial_{re.escape(name)}\.png.*\n+", "", markdown, flags=re.M)
    up = os.path.relpath(PAGES, NOTEBOOKS)

    def link(match):
        target = match[1]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path = os.path.normpath(os.path.join(up, target)) if not target.startswith("#") else target
        return f"]({path})"

    return re.sub(r"\]\(([^)\s]+)\)", link, markdown)


def cells(text, name):
    """The cells of the notebook, as nbformat 4 has them, without outputs."""
    made = []
    for kind, source in blocks(text):
        if kind == "text":
            continue
        cell = {"cell_type": "code" if kind == "python" else "markdown", "id": f"cell-{len(made) + 1}", "metadata": {},
                "source": lines(source if kind == "python" else for_notebook(source, name))}
        if kind == "python":
            cell.update(execution_count=None, outputs=[])
        made.append(cell)
    return made


def lines(text):
    return text.splitlines(keepends=True)


def notebook(made):
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}, "nbformat": 4,
            "nbformat_minor": 5}


def without_outputs(cell):
    return {key: value for key, value in cell.items() if key not in ("outputs", "execution_count")}


# ---- running ----------------------------------------------------------------------------------

def small_png(figure):
    """The figure as PNG with few colours."""
    raw = io.BytesIO()
    figure.savefig(raw, format="png", dpi=DPI, facecolor="white")
    return few_colours(raw)


def few_colours(picture):
    """A PNG, a path or what has been read of it, with a palette."""
    from PIL import Image
    small = io.BytesIO()
    Image.open(picture).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def execute(source, space, label):
    """Run one cell; return its outputs as nbformat has them."""
    import matplotlib.pyplot as plt
    tree = ast.parse(source, label)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        last = ast.Expression(tree.body.pop().value)
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, label, "exec"), space)
        if last is not None:
            value = eval(compile(last, label, "eval"), space)
    outputs = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = lines(value._repr_html_())
        outputs.append({"output_type": "execute_result", "execution_count": None, "data": data, "metadata": {}})
    for number in plt.get_fignums():
        picture = base64.b64encode(small_png(plt.figure(number))).decode("ascii")
        outputs.append({"output_type": "display_data", "metadata": {},
                        "data": {"image/png": picture + "\n", "text/plain": ["<Figure>"]}})
    plt.close("all")
    return outputs


def styled():
    """The look of heatball's own plots and of the command's figures, for figures that a page draws itself."""
    from heatball import _plots
    return _plots.styled(**{"axes.grid": False, "legend.frameon": True, "legend.framealpha": 0.8, "legend.edgecolor": "none"})


def run_gallery(root, wanted):
    """Run the blocks of Python of the gallery that write these pictures (of none: all)."""
    import matplotlib
    matplotlib.use("Agg")
    text = (root / "docs/gallery.md").read_text(encoding="utf-8")
    for kind, block in FENCE.findall(text):
        name = re.search(r'savefig\("gallery_(\w+)\.png"', block)
        if kind != "python" or not name or (wanted and name[1] not in wanted):
            continue
        here = os.getcwd()
        with styled(), tempfile.TemporaryDirectory() as place:
            for part in ("examples", "python", "docs", "build"):
                os.symlink(root / part, pathlib.Path(place) / part)
            os.chdir(place)
            try:
                exec(compile(block, f"gallery_{name[1]}", "exec"), {"__name__": "__main__"})
            finally:
                os.chdir(here)
            import matplotlib.pyplot as plt
            plt.close("all")
            picture = pathlib.Path(place) / f"gallery_{name[1]}.png"
            (root / "docs/figures" / picture.name).write_bytes(few_colours(picture))
            print(f"docs/figures/{picture.name}", flush=True)


def run(made, name, most=None):
    """Run the code cells in order, in a temporary directory; fill in outputs."""
    import matplotlib
    matplotlib.use("Agg")
    space, count, here = {"__name__": "__main__"}, 0, os.getcwd()
    with styled(), tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            for cell in made:
                if cell["cell_type"] != "code":
                    continue
                if most is not None and count >= most:
                    break
                count += 1
                cell["execution_count"] = count
                cell["outputs"] = execute("".join(cell["source"]), space, f"{name}, cell {count}")
                for output in cell["outputs"]:
                    if "execution_count" in output:
                        output["execution_count"] = count
        finally:
            os.chdir(here)


def text_of(cell):
    """What a cell prints, as the page quotes it."""
    return "".join("".join(output.get("text", output.get("data", {}).get("text/plain", [])))
                   for output in cell["outputs"] if output["output_type"] != "display_data").rstrip()


def last_picture(made):
    pictures = [output["data"]["image/png"] for cell in made for output in cell.get("outputs", ())
                if "image/png" in output.get("data", {})]
    return base64.b64decode(pictures[-1]) if pictures else None


def differs(found, quoted, tolerance):
    """The first word in which two texts differ; numbers by more than the tolerance, relative or in their last digit."""
    ours, theirs = (re.sub(r"([±,;()\[\]])", r" \1 ", text).split() for text in (found, quoted))
    if len(ours) != len(theirs):
        return f"{len(ours)} words, the page has {len(theirs)}"
    for one, two in zip(ours, theirs):
        if one == two:
            continue
        try:
            a, b = float(one), float(two)
        except ValueError:
            return f"{one}, the page has {two}"
        digits = len(re.sub(r"e.*", "", two).partition(".")[2])
        exponent = int(re.search(r"e(.*)", two)[1]) if "e" in two else 0
        if abs(a - b) > max(tolerance * abs(b), 2.01 * 10.0**(exponent - digits)):
            return f"{one}, the page has {two}"
    return None


def unlike(text, made, tolerance):
    """Quoted outputs that are not the real ones, a sentence for each."""
    wrong, codes = [], [cell for cell in made if cell["cell_type"] == "code"]
    number = 0
    for kind, source in blocks(text):
        number += kind == "python"
        if kind == "text" and codes[number - 1]["execution_count"]:
            what = differs(text_of(codes[number - 1]), source, tolerance)
            if what:
                wrong.append(f"cell {number}: {what}")
    return wrong


def quoted_again(text, made):
    """The page with the real outputs in its quotations."""
    printed = iter([text_of(cell) for cell in made if cell["cell_type"] == "code"])

    def renew(match):
        output = next(printed)
        return match[1] + (f"\n```text\n{output}\n```\n" if match[2] else "")

    return re.sub(r"(^```python\n.*?^```\n)(\n```text\n.*?^```\n)?", renew, text, flags=re.M | re.S)


# ---- the command ------------------------------------------------------------------------------

def checked(root):
    """Notebooks whose cells are not those of their page, a sentence for each."""
    wrong, wanted = [], names(root)
    for name in wanted:
        path = root / NOTEBOOKS / f"{name}.ipynb"
        if not path.exists():
            wrong.append(f"{NOTEBOOKS}/{name}.ipynb is missing: run tools/notebooks.py {name}")
            continue
        page = cells((root / PAGES / f"{name}.md").read_text(encoding="utf-8"), name)
        held = json.loads(path.read_text(encoding="utf-8"))["cells"]
        if [without_outputs(cell) for cell in page] != [without_outputs(cell) for cell in held]:
            wrong.append(f"{NOTEBOOKS}/{name}.ipynb differs from {PAGES}/{name}.md: run tools/notebooks.py {name}")
    known = {path.stem for path in (root / NOTEBOOKS).glob("*.ipynb")}
    wrong += [f"{NOTEBOOKS}/{name}.ipynb has no page in {PAGES}" for name in sorted(known - set(wanted))]
    return wrong


def write(root, name, page, made):
    text = json.dumps(notebook(made), indent=1, ensure_ascii=False) + "\n"
    if len(text.encode()) > MOST_BYTES:
        sys.exit(f"notebooks.py: {name}.ipynb has {len(text.encode())} bytes; at most {MOST_BYTES} are allowed")
    (root / NOTEBOOKS).mkdir(parents=True, exist_ok=True)
    (root / NOTEBOOKS / f"{name}.ipynb").write_text(text, encoding="utf-8")
    (root / PAGES / f"{name}.md").write_text(quoted_again(page, made), encoding="utf-8")
    picture = last_picture(made)
    if picture:
        (root / FIGURES / f"tutorial_{name}.png").write_bytes(picture)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true", help="compare cells, run nothing")
    parser.add_argument("--gallery", action="store_true", help="draw pictures of the gallery")
    parser.add_argument("--run", action="store_true", help="run and compare outputs, write nothing")
    parser.add_argument("--cells", type=int, help="with --run: only the first cells")
    parser.add_argument("--tolerance", type=float, default=0.02, help="of numbers in quoted outputs (default 0.02)")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.gallery:
        return run_gallery(given.root, given.names)
    if given.check:
        wrong = checked(given.root)
        print("\n".join(wrong), end="\n" if wrong else "")
        return bool(wrong)
    bad = False
    for name in given.names or names(given.root):
        text = (given.root / PAGES / f"{name}.md").read_text(encoding="utf-8")
        made = cells(text, name)
        run(made, name, given.cells if given.run else None)
        if given.run:
            for cell in made:
                if cell.get("execution_count"):
                    print(f"[{cell['execution_count']}] {text_of(cell)}", flush=True)
        else:
            write(given.root, name, text, made)
        wrong = unlike(text, made, given.tolerance) if given.run else []
        print("".join(f"{name}: {sentence}\n" for sentence in wrong), end="", file=sys.stderr)
        bad |= bool(wrong)
    return bad


if __name__ == "__main__":
    sys.exit(main())

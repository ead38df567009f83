#!/usr/bin/env python3
"""Makes the reference of the Python package and of the C library as Markdown, from docstrings and headers.

    tools/api_reference.py DIR      write DIR/python-*.md, DIR/c-*.md and DIR/index.md

Nothing is imported: Python is read with ast, C with the rules of our own headers (a comment, the declarations it
describes, a blank line). Docstrings are in numpydoc's format. tools/make_site.py calls this; tests/tree/test_site.py
says that no public name is missing.
"""

import argparse
import ast
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "heatball"

# Page: (title, modules whose public names stand on it). A public name of any other module goes to "other".
PAGES = {
    "solve": ("Solving an SDE", ["sde", "_solution", "_field_residual", "wellposed"]),
    "models": ("Score models", ["_training", "model", "_training_log", "_generation", "_likelihood", "_evaluation"]),
    "certify": ("Certificates", ["_certificate"]),
    "density": ("Densities of tables", ["density"]),
    "torch": ("heatball.torch: PyTorch", ["torch", "_torch_heat_ball", "_torch_pointwise", "_torch_targets",
                                          "_torch_adapters"]),
    "ball": ("heatball.ball: heat balls", ["ball", "nodes"]),
    "metrics": ("heatball.metrics: errors of scores and samples", ["metrics", "judge"]),
    "data": ("Data sets, images, classifier", ["data", "_images", "classify"]),
    "random": ("heatball.random: counter-based random numbers", ["random"]),
    "mpi": ("heatball.mpi: process groups", ["mpi"]),
    "other": ("Results and exceptions", []),
}
MODULES = ("torch", "ball", "metrics", "random", "mpi")  # named by the user: heatball.torch.from_score


def escaped(text):
    """Prose of a docstring or comment as Markdown: no letter but those in `code` may be read as markup."""
    text = re.sub(r"``([^`]*)``", r"`\1`", text)
    text = re.sub(r":\w+:`([^`]*)`", r"`\1`", text)
    parts = re.split(r"(`[^`]*`)", text)
    text = "".join(part if i % 2 else re.sub(r"([*_<>$\[\]|~\\])", r"\\\1", part) for i, part in enumerate(parts))
    return re.sub(r"docs/([\w/-]+\.md)", r"[](../../\1)", text)


def paragraphs(text):
    """Paragraphs of prose; indented ones and doctests become blocks of code."""
    made = []
    for part in re.split(r"\n\s*\n", textwrap.dedent(text).strip("\n")):
        if part.startswith(">>>"):
            made.append(f"```python\n{part}\n```")
        elif all(line.startswith("    ") for line in part.splitlines()):
            made.append(f"```text\n{textwrap.dedent(part)}\n```")
        else:
            made.append(prose_with_code(part))
    return "\n\n".join(made)


def prose_with_code(part):
    """A paragraph whose lines may end in a list of indented lines."""
    lines, made = part.splitlines(), []
    while lines:
        count = next((i for i, line in enumerate(lines) if line.startswith("    ")), len(lines))
        if count:
            made.append(escaped("\n".join(line.strip() for line in lines[:count])))
            lines = lines[count:]
            continue
        count = next((i for i, line in enumerate(lines) if not line.startswith("   ")), len(lines))
        made.append("```text\n" + textwrap.dedent("\n".join(lines[:count])) + "\n```")
        lines = lines[count:]
    return "\n\n".join(made)


def items(text):
    """Entries `name : type` with an indented description, as a list."""
    made = []
    for entry in re.split(r"\n(?=\S)", textwrap.dedent(text).strip("\n")):
        head, _, body = entry.partition("\n")
        name, colon, kind = head.partition(" : ")
        if not colon and not body and " " in head.strip():
            made.append(escaped(head.strip()))
            continue
        line = f"- `{name.strip()}`" + (f" : {escaped(kind.strip())}" if kind else "")
        body = paragraphs(body) if body.strip() else ""
        made.append(line + ("\n\n" + textwrap.indent(body, "  ") if body else ""))
    return "\n".join(made)


def see_also(text, known):
    made = []
    for entry in re.split(r"\n(?=\S)", textwrap.dedent(text).strip("\n")):
        names, _, body = " ".join(entry.split()).partition(" : ")
        links = [f"[`{n}`]({known[n.split('.')[-1]]})" if n.split(".")[-1] in known else f"`{n}`"
                 for n in re.split(r",\s*", names)]
        made.append("- " + ", ".join(links) + (f": {escaped(body)}" if body else ""))
    return "\n".join(made)


def docstring(text, known):
    """A numpydoc docstring as Markdown."""
    text = textwrap.dedent(" " * 4 + text if not text.startswith(" ") else text)
    first, _, rest = text.strip().partition("\n")
    text = first + "\n" + textwrap.dedent(rest)
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.M)
    made = [paragraphs(parts[0])]
    for name, body in zip(parts[1::2], parts[2::2]):
        made.append(f"**{name}**")
        if name in ("Parameters", "Other Parameters", "Returns", "Yields", "Raises", "Attributes", "Methods", "Warns"):
            made.append(items(body))
        elif name == "See Also":
            made.append(see_also(body, known))
        elif name == "References":
            made.append(re.sub(r"^\\\.\\\. \\\[(\d+)\\\]", r"\n\1.", escaped(textwrap.dedent(body).strip()), flags=re.M).strip())
        else:
            made.append(paragraphs(body))
    return "\n\n".join(made)


def signature(name, node):
    """name(parameters), wrapped between parameters; types stand in the docstring."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    shown = [a.arg + (f"={ast.unparse(d)}" if d else "") for a, d in zip(positional, defaults)]
    shown = shown[1:] if shown and shown[0] in ("self", "cls") else shown
    shown += [f"*{given.vararg.arg}"] if given.vararg else ["*"] if given.kwonlyargs else []
    shown += [a.arg + (f"={ast.unparse(d)}" if d else "") for a, d in zip(given.kwonlyargs, given.kw_defaults)]
    shown += [f"**{given.kwarg.arg}"] if given.kwarg else []
    lines, pad = [f"{name}("], " " * (len(name) + 1 if len(name) < 40 else 4)
    for i, part in enumerate(shown):
        part += ", " if i + 1 < len(shown) else ""
        if len(lines[-1]) + len(part) > 88:
            lines.append(pad)
        lines[-1] += part
    return "```python\n" + "\n".join(line.rstrip() for line in lines) + ")\n```"


def public_names():
    """Names a user may write, heatball.X or heatball.MODULE.X, with the module file and the node that define them."""
    def exported(tree):
        for node in tree.body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                return [e.value for e in node.value.elts if isinstance(e, ast.Constant)]
        return []
    trees = {path.stem: ast.parse(path.read_text()) for path in sorted(PACKAGE.glob("*.py"))}
    origin = {}
    for module, tree in trees.items():
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                origin[module, node.name] = (module, node)
    def resolve(module, name):
        if (module, name) in origin:
            return origin[module, name]
        for node in trees[module].body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("heatball."):
                for alias in node.names:
                    source = node.module.removeprefix("heatball.")
                    if (alias.asname or alias.name) == name and source in trees:
                        return resolve(source, alias.name)
        return None
    found = {}
    for module in ("__init__", *MODULES):
        for name in exported(trees[module]) if module in trees else []:
            where = resolve(module, name)
            if where:
                prefix = "heatball." if module == "__init__" else f"heatball.{module}."
                found.setdefault(id(where[1]), (prefix + name, *where))
    # A name of a module that users import (heatball.ball.sample) stands under that name.
    for module in MODULES:
        for name in exported(trees[module]) if module in trees else []:
            where = resolve(module, name)
            if where and where[0] == module:
                found[id(where[1])] = (f"heatball.{module}.{name}", *where)
    return list(found.values()), trees


def python_pages():
    names, trees = public_names()
    page_of = {module: page for page, (_, modules) in PAGES.items() for module in modules}
    known = {full.split(".")[-1]: anchor(full) for full, _, _ in names}
    texts = {}
    for page, (title, modules) in PAGES.items():
        mine = [entry for entry in names if page_of.get(entry[1], "other") == page]
        mine.sort(key=lambda entry: (modules.index(entry[1]) if entry[1] in modules else 0, entry[2].lineno))
        if not mine:
            continue
        parts = [f"# {title}"]
        if modules and modules[0] in MODULES and modules[0] in trees:
            parts.append(docstring(ast.get_docstring(trees[modules[0]]) or "", known))
        for full, _, node in mine:
            parts += [f"({anchor(full)})=\n## {full}", *entry_of(full, node, known)]
        texts[f"python-{page}.md"] = "\n\n".join(parts) + "\n"
    return texts


def entry_of(full, node, known):
    text = docstring(ast.get_docstring(node) or "", known)
    if isinstance(node, ast.FunctionDef):
        return [signature(full, node), text]
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef) and not m.name.startswith("_") or
               isinstance(m, ast.FunctionDef) and m.name == "__call__"]
    start = next((m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == "__init__"), None)
    parts = [signature(f"class {full}", start) if start else f"```python\nclass {full}\n```", text]
    for method in methods:
        if not ast.get_docstring(method):
            continue
        kinds = {getattr(d, "id", getattr(d, "attr", "")) for d in method.decorator_list}
        name = f"{full.split('.')[-1]}.{method.name}".replace(".__call__", "()")
        parts.append(f"### {name}")
        if "property" not in kinds and "cached_property" not in kinds:
            parts.append(signature(full.split(".")[-1].lower() + "." + method.name if method.name != "__call__"
                                   else full.split(".")[-1].lower(), method))
        parts.append(docstring(ast.get_docstring(method), known))
    return parts


def anchor(full):
    """A class and a function may differ by case alone, which targets do not see."""
    last = full.split(".")[-1]
    return full.replace(".", "-").replace("_", "-").lower() + ("-class" if last[:1].isupper() else "")


# ---- C ------------------------------------------------------------------------------------------

def comment_text(comment):
    """The words of /* ... */, without stars."""
    comment = re.sub(r"^/\*+ ?|\s*\*/$", "", comment.strip())
    return "\n".join(re.sub(r"^\s?\* ?", "", line) for line in comment.splitlines())


def c_blocks(body):
    """(comment, declarations) in the order of the header; a blank line or a new comment begins another."""
    for block in re.split(r"\n\s*\n", body):
        # A comment that begins a line at the margin opens a new entry, unless it is the whole rest.
        pieces = re.split(r"\n(?=/\*)", block.strip("\n"))
        for piece in pieces:
            found = re.match(r"/\*.*?\*/", piece, re.S)
            text = comment_text(found[0]) if found else ""
            code = piece[found.end():].strip("\n") if found else piece
            if text or code.strip():
                yield text, code.rstrip()


def declared(code):
    names = re.findall(r"HB_API [^;(]*?\b(hb_\w+)\(", code)
    names += re.findall(r"^\} (hb_\w+);|^typedef struct (?:hb_\w+) (hb_\w+);", code, re.M) and [
        a or b for a, b in re.findall(r"^\} (hb_\w+);|^typedef struct (?:hb_\w+) (hb_\w+);", code, re.M)]
    names += re.findall(r"^typedef .*\(\*(hb_\w+)\)", code, re.M)
    names += re.findall(r"^typedef enum (hb_\w+) \{.*\}", code, re.M)
    names += [name for name in re.findall(r"^#define (HB_\w+)", code, re.M) if name not in ("HB_API", "HB_PRINTF")]
    return list(dict.fromkeys(names))


def c_pages():
    texts, index = {}, []
    for path in sorted((ROOT / "include" / "heatball").glob("*.h")):
        text = path.read_text()
        head = comment_text(re.match(r"/\*.*?\*/", text, re.S)[0])
        title, _, about = head.partition("\n")
        title, about = title.removeprefix("heatball/"), re.sub(r"^(?:First|Second) tier: .*\n?", "", about)
        body = text.split('extern "C" {\n#endif', 1)[-1].split("#ifdef __cplusplus\n}", 1)[0]
        if path.stem in ("heatball", "judge"):
            body = ""
        parts = [f"# {title.split(': ')[0]}", f"{escaped(title.partition(': ')[2]).capitalize()}" if ": " in title else "",
                 f"```c\n#include <heatball/{path.name}>\n```", paragraphs(about)]
        for comment, code in c_blocks(body):
            names = declared(code)
            if names:
                parts.append("## " + ", ".join(f"`{name}`" for name in names[:3]) + (", …" if len(names) > 3 else ""))
            parts.append(paragraphs(comment) if comment else "")
            parts.append(f"```c\n{code.strip()}\n```" if code.strip() else "")
        texts[f"c-{path.stem}.md"] = "\n\n".join(part for part in parts if part) + "\n"
        index.append((path.stem, title))
    return texts, index


def index_page(pages, headers):
    lines = ["# Python and C interfaces", "", "Made from the docstrings of the package and from the headers of the library.",
             "", "## Python", ""]
    lines += [f"- [{PAGES[name[7:-3]][0]}]({name})" for name in pages]
    lines += ["", "## C", ""] + [f"- [{title.split(': ')[0]}](c-{stem}.md)" +
                                 (f": {escaped(title.partition(': ')[2])}" if ": " in title else "") for stem, title in headers]
    toc = [name[:-3] for name in pages] + [f"c-{stem}" for stem, _ in headers]
    lines += ["", "```{toctree}", ":hidden:", ":maxdepth: 1", "", *toc, "```", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=pathlib.Path)
    directory = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)
    pages = python_pages()
    headers, index = c_pages()
    for name, text in {**pages, **headers, "index.md": index_page(pages, index)}.items():
        (directory / name).write_text(text)


if __name__ == "__main__":
    sys.exit(main())

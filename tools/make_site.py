#!/usr/bin/env python3
"""Makes the documentation site from docs/: `make docs` writes build/site, to be opened in a browser without a network.

    tools/make_site.py [--out DIR] [--source DIR]

The pages of docs/ are copied beside the generated reference (tools/api_reference.py), the order of the pages is that of
docs/README.md. Pages of the tree outside docs/ that a page links to (ARCHITECTURE.md, examples/README.md ...) come along
as pages, other files as downloads. Sphinx with MyST and Furo makes HTML with a search that works from a file: address;
formulas are set by the MathJax of Debian, of which the parts in use are copied. Every warning is an error, so that a
link that leads nowhere fails.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MATHJAX = pathlib.Path("/usr/share/javascript/mathjax")
# What TeX-AMS_CHTML needs, and the fonts that it loads.
MATHJAX_PARTS = ["MathJax.js", "config/TeX-AMS_CHTML.js", "jax/output/CommonHTML", "jax/element/mml", "jax/input/TeX",
                 "extensions/TeX", "extensions/MathMenu.js", "extensions/MathZoom.js", "extensions/tex2jax.js",
                 "extensions/HelpDialog.js", "extensions/a11y", "fonts/HTML-CSS/TeX/woff"]
LINK = re.compile(r'(\]\(|<img src=")([^)"\s]+)([)"])')
CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.M | re.S)
PARTS = {"tutorials": "Tutorials", "howto": "How-to guides", "reference": "Reference", "explanation": "Explanation",
         "paper": "The paper", "dev": "For developers"}

CONFIGURATION = '''
project, author, copyright = "heatball", "the heatball authors", "the heatball authors"
release = version = "{version}"
extensions = ["myst_parser", "sphinx.ext.mathjax", "sphinx_copybutton"]
myst_enable_extensions = ["dollarmath", "amsmath", "html_image"]
myst_heading_anchors, myst_dmath_double_inline, myst_dmath_allow_labels = 4, True, False
myst_update_mathjax = False
mathjax_path = "mathjax/MathJax.js?config=TeX-AMS_CHTML"
mathjax_options = {{}}
mathjax2_config = {{"tex2jax": {{"inlineMath": [["\\\\(", "\\\\)"]], "displayMath": [["\\\\[", "\\\\]"]],
                              "processClass": "math|tex2jax_process", "ignoreClass": ".*"}}, "showMathMenu": False}}
html_theme, html_title, html_static_path = "furo", "heatball {version}", ["_static"]
html_css_files = ["heatball.css"]
html_copy_source = html_show_sourcelink = html_show_sphinx = False
html_theme_options = {{"sidebar_hide_name": False, "navigation_with_keys": True,
    "light_css_variables": {{"color-brand-primary": "#1a5e8a", "color-brand-content": "#1a5e8a"}}}}
copybutton_prompt_text = r">>> |\\.\\.\\. |\\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\\\"
highlight_language, smartquotes = "none", False
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
'''
STYLE = """
@media (min-width: 82em) { .content { width: 52em; padding: 0 2em; } }
.highlight-none pre, .highlight-text pre { white-space: pre-wrap; }
@media (max-width: 56em) { .highlight pre { font-size: 0.6875rem; } }
article img { max-width: 100%; height: auto; }
article table.docutils { font-size: 0.88em; display: block; overflow-x: auto; border: 0; box-shadow: none; }
article table.docutils td, article table.docutils th { vertical-align: top; }
div.math { overflow-x: auto; overflow-y: hidden; }
.gallery img { border: 1px solid var(--color-background-border); }
"""


class Site:
    def __init__(self, source):
        self.source, self.extra = source, {}

    def place(self, path):
        """Where a file of the tree stands in the site's source, relative to it; None where it has no place."""
        if path.is_relative_to(ROOT / "docs"):
            inside = path.relative_to(ROOT / "docs")
            if inside.parts[:1] == ("results",):
                return pathlib.Path("_static") / inside if inside.name == "index.html" else self.kept(path)
            return inside.with_name("index.md") if inside.name == "README.md" else inside
        return self.kept(path)

    def kept(self, path):
        """A file outside docs/ that is linked to: it comes along below tree/."""
        if path.is_dir():
            path = path / "README.md"
        if not path.is_file():
            return None
        inside = pathlib.Path("tree") / path.relative_to(ROOT)
        inside = inside.with_name("index.md") if inside.name == "README.md" else inside
        if path not in self.extra:
            self.extra[path] = inside
        return inside

    def text(self, page):
        """The text of a page with its links led to where their targets stand in the site."""
        here = self.place(page).parent

        def led(match):
            target, _, heading = match[2].partition("#")
            if re.match(r"[a-z]+:", match[2]) or not target:
                return match[0]
            inside = self.place((page.parent / target).resolve())
            if inside is None:
                return match[0]
            link = os.path.relpath(inside, here)
            return match[1] + link + ("#" + heading if heading else "") + match[3]

        def results(match):
            """The page of results is no page of Sphinx: a plain link."""
            if not (page.parent / match[2].partition("#")[0]).resolve().is_relative_to(ROOT / "docs" / "results"):
                return match[0]
            link = os.path.relpath("_static/results/index.html", here)
            return f'<a href="{link}{match[2].removeprefix(match[2].partition("#")[0])}">{match[1]}</a>'
        parts = CODE.split(page.read_text())
        parts[::2] = [re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]*\.html[^)\s]*)\)", results, part) for part in parts[::2]]
        text = "".join(part if i % 2 else LINK.sub(led, part) for i, part in enumerate(parts))
        # A page that is named by its file stands under its title.
        text = re.sub(r"(?<!!)\[`?[\w./-]+\.md`?\]\(([^)#\s]+\.md)\)", r"[](\1)", text)
        # MyST reads the attributes of an image as YAML, where a colon has a meaning.
        return re.sub(r'(<img [^>]*alt=")([^"]*)"', lambda m: m[1] + m[2].replace(": ", ", ") + '"', text)

    def write(self, page):
        target = self.source / self.place(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        if page.suffix == ".md":
            target.write_text(self.text(page))
        else:
            shutil.copy(page, target)

    def write_all(self):
        for path in sorted((ROOT / "docs").rglob("*")):
            inside = path.relative_to(ROOT / "docs")
            if path.is_file() and inside.parts[0] not in ("man", "results") and path.suffix in (".md", ".png", ".svg", ".gif"):
                self.write(path)
        done = set()
        while set(self.extra) - done:
            for path in sorted(set(self.extra) - done):
                done.add(path)
                # Below the pages of the tree only the files that they name directly come along.
                self.write(path)
        results = ROOT / "docs" / "results" / "index.html"
        (self.source / "_static" / "results").mkdir(parents=True)
        shutil.copy(results, self.source / "_static" / "results" / "index.html")

    def contents(self):
        """A hidden toctree for each part, in the order of docs/README.md."""
        index = ROOT / "docs" / "README.md"
        order = [(index.parent / target.partition("#")[0]).resolve()
                 for _, target, _ in LINK.findall(index.read_text())]
        trees = []
        for part, title in PARTS.items():
            pages = [p for p in dict.fromkeys(order) if p.suffix == ".md" and p.is_relative_to(ROOT / "docs" / part)]
            names = [self.place(p).with_suffix("").as_posix() for p in pages]
            names += ["reference/api/index"] if part == "reference" else []
            if part == "tutorials" and (ROOT / "docs" / "gallery.md").exists():
                names.append("gallery")
            if part == "dev":
                names += [p.with_suffix("").as_posix() for f, p in sorted(self.extra.items()) if f.suffix == ".md"]
            trees.append(f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n:caption: {title}\n\n" + "\n".join(names) + "\n```\n")
        return "\n".join(trees)


def mathjax(target):
    for part in MATHJAX_PARTS:
        source, copy = MATHJAX / part, target / part
        if not source.exists():
            sys.exit(f"make_site: {source} is not there; install libjs-mathjax and fonts-mathjax")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "site")
    parser.add_argument("--source", type=pathlib.Path, default=ROOT / "build" / "site-source")
    arguments = parser.parse_args()
    source = arguments.source
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(arguments.out, ignore_errors=True)
    source.mkdir(parents=True)
    site = Site(source)
    site.write_all()
    subprocess.run([sys.executable, ROOT / "tools" / "api_reference.py", source / "reference" / "api"], check=True)
    index = source / "index.md"
    index.write_text(index.read_text() + "\n" + site.contents())
    version = re.search(r'"(.*)"', (ROOT / "python" / "heatball" / "_version.py").read_text().split("__version__")[1])[1]
    (source / "conf.py").write_text(CONFIGURATION.format(version=version))
    (source / "_static" / "heatball.css").write_text(STYLE)
    mathjax(source / "_static" / "mathjax")
    done = subprocess.run([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "2", "-b", "html", source,
                           arguments.out])
    if done.returncode == 0:
        print(f"open {arguments.out / 'index.html'} in a browser")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())

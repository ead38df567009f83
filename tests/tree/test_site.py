"""`make docs`: the site is built without a warning, needs no network, can be searched, and names all of the interfaces.

Skipped where Sphinx is not installed by hand or by `make deps`; MathJax and the theme come with it.
"""

import ast
import importlib.util
import re
import subprocess
import sys

import pytest
from command_line import ROOT

TOOL = ROOT / "tools" / "make_site.py"


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    done = subprocess.run([sys.executable, TOOL, "--out", place / "site", "--source", place / "source"],
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "site"


def test_every_page_is_in_the_site_and_none_needs_a_network(site):
    pages = {page.relative_to(site).as_posix() for page in site.rglob("*.html")}
    for page in (ROOT / "docs").rglob("*.md"):
        inside = page.relative_to(ROOT / "docs").as_posix()
        if not inside.startswith("results/"):
            assert re.sub(r"README$", "index", inside[:-3]) + ".html" in pages, inside
    for name in pages:
        if not name.startswith(("_static/", "_downloads/")):
            text = (site / name).read_text()
            loaded = re.findall(r'<(?:script|img|iframe)\b[^>]*\bsrc="([^"]*)"', text)
            loaded += re.findall(r'<link\b[^>]*rel="(?:stylesheet|preload|icon)"[^>]*href="([^"]*)"', text)
            assert not [path for path in loaded if re.match(r"(?:https?:)?//", path)], name
            missing = [path for path in loaded if not ((site / name).parent / path.split("?")[0]).exists()]
            assert not missing, (name, missing)


def test_formulas_and_the_search_are_local(site):
    text = (site / "explanation" / "heat-ball.html").read_text()
    assert 'class="math notranslate nohighlight"' in text and "_static/mathjax/MathJax.js" in text
    index = (site / "searchindex.js").read_text()
    assert all(f'"{word}"' in index or f"{word}:" in index for word in ("langevin", "particl", "score"))
    assert (site / "_static" / "mathjax" / "fonts" / "HTML-CSS" / "TeX" / "woff").is_dir()


def test_the_interfaces_are_complete(site):
    """Every name of heatball.__all__ and every function of the headers has its entry."""
    written = " ".join(page.read_text() for page in (site / "reference" / "api").glob("*.html"))
    tree = ast.parse((ROOT / "python/heatball/__init__.py").read_text())
    names = next(n.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "__all__")
    names = {e.value for e in names.elts} - {"__version__"}
    modules = {path.stem for path in (ROOT / "python/heatball").glob("*.py")}
    assert len(names) > 30
    for name in names - modules - {"cubature"}:  # the former name of ball.nodes
        assert re.search(rf"heatball\.(?:\w+\.)?{name}\b", written), name
    for header in (ROOT / "include/heatball").glob("*.h"):
        for name in re.findall(r"^HB_API [^;(]*?\b(hb_\w+)\(", header.read_text(), re.M):
            assert name in written, f"{header.name}: {name}"


def test_docstrings_become_markdown():
    api = load("api_reference")
    text = api.docstring('Solve it.\n\n    Parameters\n    ----------\n    a_b : int, 1 to 3\n        The *count*.\n'
                         '    Returns\n    -------\n    ndarray\n\n    Examples\n    --------\n    >>> 1 + 1\n    2\n', {})
    assert text.splitlines()[0] == "Solve it." and "- `a_b` : int, 1 to 3\n\n  The \\*count\\*." in text
    assert "**Returns**" in text and "```python\n>>> 1 + 1\n2\n```" in text
    assert api.signature("f", ast.parse("def f(a, b=2, *, c: int = 3, **k): pass").body[0]) == \
        "```python\nf(a, b=2, *, c=3, **k)\n```"


def test_words_and_sentences_are_counted():
    count = load("text_statistics")
    long = " ".join(["Word"] * 40)
    found = list(count.sentences(f"# Head\n\nOne two three. {long}. `a b c` is code.\n\n| t | u |\n\n```\nnot this one\n```\n"))
    assert [len(words) for words in found] == [3, 40, 3]


def test_pages_and_sentences_are_short():
    """At most 2,500 words a page, 70,000 in all, 5 % of the sentences above 35 words."""
    done = subprocess.run([sys.executable, ROOT / "tools" / "text_statistics.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout

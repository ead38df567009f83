"""Tutorials, their notebooks and the gallery: cells are those of the pages, and what the pages show is what runs give.

The short run executes the first cells of each tutorial and the cheap commands of the gallery; `-m long` all of them.
"""

import json
import os
import re
import subprocess
import sys

import pytest
from command_line import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tools"))
import notebooks  # noqa: E402

PAGES, NOTEBOOKS, FIGURES = ROOT / "docs/tutorials", ROOT / "examples/notebooks", ROOT / "docs/figures"
NAMES = notebooks.names(ROOT)
FIRST = {"langevin": 2, "double-well-in-10-d": 1, "pytorch-loss": 2, "certify-your-network": 2, "your-own-data": 1}
# Trainings depend on the rounding of the processor's instructions; other outputs do not.
TOLERANCE = {"pytorch-loss": 0.5, "your-own-data": 0.1}
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "HEATBALL_LIBRARY": str(BUILD / "libheatball.so"),
               "PATH": f"{BUILD}{os.pathsep}{os.environ['PATH']}", "MPLBACKEND": "Agg"}
needs_library = pytest.mark.skipif(not (BUILD / "libheatball.so").exists(), reason=f"{BUILD} has no libheatball.so")


def tool(*arguments, root=None):
    words = [sys.executable, ROOT / "tools/notebooks.py", *arguments, *(["--root", root] if root else [])]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, env=ENVIRONMENT, timeout=600)


def test_cells_are_those_of_the_pages():
    done = tool("--check")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    assert len(NAMES) == 5 and set(NAMES) == set(FIRST)


def test_cells_that_differ_are_named(tmp_path):
    page, book = tmp_path / "docs/tutorials/a.md", tmp_path / "examples/notebooks/a.ipynb"
    page.parent.mkdir(parents=True)
    book.parent.mkdir(parents=True)
    page.write_text("# A\n\nSee [b](../howto/b.md).\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```sh\nls\n```\n")
    assert "missing" in tool("--check", root=tmp_path).stdout
    made = notebooks.cells(page.read_text(), "a")
    assert [cell["cell_type"] for cell in made] == ["markdown", "code", "markdown"]
    assert "(../../docs/howto/b.md)" in "".join(made[0]["source"]) and "".join(made[1]["source"]) == "print(1)"
    book.write_text(json.dumps(notebooks.notebook(made)))
    assert tool("--check", root=tmp_path).returncode == 0
    page.write_text(page.read_text().replace("print(1)", "print(2)"))
    assert tool("--check", root=tmp_path).returncode == 1


def test_wrong_outputs_are_found():
    assert notebooks.differs("a 1.00 ± 0.2", "a 1.01 ± 0.2", 0.02) is None
    assert "2.0" in notebooks.differs("a 2.0", "a 1.0", 0.02) and notebooks.differs("a b", "a", 0.02)
    made = notebooks.cells("```python\n1 + 1\n```\n\n```text\n3000\n```\n", "a")
    notebooks.run(made, "a")
    assert notebooks.text_of(made[0]) == "2"
    page = "```python\n1 + 1\n```\n\n```text\n3000\n```\n\nEnd.\n"
    assert notebooks.unlike(page, made, 0.02) != []
    assert notebooks.quoted_again(page, made) == page.replace("3000", "2")


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_are_valid_nbformat_4(name):
    path = NOTEBOOKS / f"{name}.ipynb"
    text = path.read_text(encoding="utf-8")
    book = json.loads(text)
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5) and len(text.encode()) < 400_000
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    names = [cell["id"] for cell in book["cells"]]
    assert len(set(names)) == len(names) and all(re.fullmatch(r"[\w-]{1,64}", one) for one in names)
    counts = []
    for cell in book["cells"]:
        keys = {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            keys |= {"execution_count", "outputs"}
            counts.append(cell["execution_count"])
            for output in cell["outputs"]:
                assert output["output_type"] in ("stream", "execute_result", "display_data")
        assert set(cell) == keys and isinstance(cell["source"], list)
    assert counts == list(range(1, len(counts) + 1))
    assert not re.search(r"/(?:work|home|tmp|root|usr)/", re.sub(r'"image/png": "[^"]*"', "", text))
    try:
        import nbformat
    except ImportError:
        return
    nbformat.validate(nbformat.reads(text, as_version=4))


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_short_and_end_with_a_figure(name):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert 700 <= len(text.split()) <= 1200 and f"../figures/tutorial_{name}.png" in text
    picture = FIGURES / f"tutorial_{name}.png"
    assert 10_000 < picture.stat().st_size < 250_000
    assert re.search(r"At the end you have", text.split("\n\n")[1])


FIRST_WORDS = 300  # with a door of the README about 500: two and a half minutes at 200 words a minute


@pytest.mark.parametrize("page", [*sorted(PAGES.glob("[!R]*.md")), ROOT / "docs/paper/README.md"], ids=lambda page: page.stem)
def test_the_first_result_comes_early(page):
    """A page opens with a command or program, what it prints, and where one's own numbers go."""
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)", text, re.M)[0] == "First result"
    until = text[:re.search(r"^```text\n.*?^```", text, re.M | re.S).end()]
    assert len(until.split()) <= FIRST_WORDS, len(until.split())
    section = text.split("## First result")[1].split("\n## ")[0]
    assert re.search(r"\*\*Your own|put in yours", section)


@needs_library
def test_the_first_result_of_the_paper():
    text = (ROOT / "docs/paper/README.md").read_text(encoding="utf-8")
    script, quoted = re.search(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```", text, re.M | re.S).groups()
    done = shell(script.replace("/usr/bin/python3", sys.executable), ROOT)
    assert done.returncode == 0 and notebooks.differs(done.stdout, quoted, 0.3) is None, done.stdout + done.stderr


def unfounded(text):
    """Decimal numbers of the prose that neither the code nor an output has; sentences with a link cite another page."""
    fenced = "\n".join(re.findall(r"^```.*?^```", text, re.M | re.S))
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    prose = "\n\n".join(part for part in prose.split("\n\n") if "](" not in part)
    return sorted({number for number in re.findall(r"(?<![\w.])\d+\.\d+", prose) if number not in fenced})


@pytest.mark.parametrize("name", [*NAMES, "c-program"])
def test_numbers_of_the_prose_stand_in_code_or_output(name):
    assert unfounded((PAGES / f"{name}.md").read_text(encoding="utf-8")) == []
    assert unfounded("a 1.5 b 2.5\n\n[x](y) 3.5\n\n```text\n2.5\n```\n") == ["1.5"]


def run_page(name, *options):
    done = tool("--run", name, "--tolerance", TOLERANCE.get(name, 0.05), *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_library
@pytest.mark.parametrize("name", NAMES)
def test_first_cells(name):
    if name == "pytorch-loss":
        pytest.importorskip("torch")
    assert "[1]" in run_page(name, "--cells", FIRST[name])


@needs_library
@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_whole_notebooks(name):
    if name == "pytorch-loss":
        pytest.importorskip("torch")
    before = os.times()
    run_page(name)
    after = os.times()
    assert after.children_user - before.children_user < 60


# ---- shell blocks -----------------------------------------------------------------------------

def shell(script, place, environment=ENVIRONMENT):
    return subprocess.run(["sh", "-c", script], cwd=place, env=environment, capture_output=True, text=True, timeout=600)


@needs_library
def test_the_command_of_the_certificate(tmp_path):
    """It stops the job: the certificate has not passed."""
    (script,) = re.findall(r"^```sh\n(.*?)^```", (PAGES / "certify-your-network.md").read_text(), re.M | re.S)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").symlink_to(sys.executable)  # the interpreter that has NumPy
    environment = {**ENVIRONMENT, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{ENVIRONMENT['PATH']}"}
    done = shell(script, tmp_path, environment)
    assert done.returncode == 0 and "stein scale" in done.stdout and done.stdout.endswith("do not release\n"), done.stderr
    done = shell(script.replace("b + 0.02", "b"), tmp_path, environment)
    assert "stein scale" in done.stdout and "do not release" not in done.stdout, done.stdout + done.stderr


@needs_library
def test_the_c_programs(tmp_path):
    """Blocks of the page compile with pkg-config and print what is quoted."""
    text = (PAGES / "c-program.md").read_text()
    subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(tmp_path / "prefix")], check=True, capture_output=True)
    (libraries,) = (path.parent for path in tmp_path.glob("prefix/lib*/**/libheatball.so"))
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout/include").symlink_to(ROOT / "include")
    (tmp_path / "checkout/build").symlink_to(BUILD)
    environment = {**ENVIRONMENT, "PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "LD_LIBRARY_PATH": str(libraries),
                   "H": str(tmp_path / "checkout")}
    for source in re.findall(r"^```c\n(.*?)^```", text, re.M | re.S):
        (tmp_path / re.match(r"/\* (\S+):", source)[1]).write_text(source)
    blocks = re.findall(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) == 5
    for script, quoted in blocks:
        done = shell(script.replace("-O2", "-O2 -Wall -Wextra -Werror"), tmp_path, environment)
        assert done.returncode == 0 and notebooks.differs(done.stdout + done.stderr, quoted, 0.05) is None, (
            script, done.stdout + done.stderr)


# ---- the gallery ------------------------------------------------------------------------------

def gallery():
    """(picture, kind of block, block) of each entry of docs/gallery.md."""
    text = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    for entry in re.split(r"^## ", text, flags=re.M)[1:]:
        picture = re.search(r'<img src="(figures/[\w.-]+)"', entry)
        block = re.search(r"^```(python|sh)\n(.*?)^```", entry, re.M | re.S)
        assert picture and block, entry[:60]
        yield picture[1], block[1], block[2]


ENTRIES = list(gallery())
CHEAP = {"figures/gallery_bistable.png", "figures/gallery_heat_ball.png", "figures/gallery_lamperti.png"}


def test_the_gallery_has_thirteen_pictures():
    assert len(ENTRIES) == 13 and len({picture for picture, *_ in ENTRIES}) == 13
    assert CHEAP <= {picture for picture, *_ in ENTRIES}
    for picture, *_ in ENTRIES:
        assert (ROOT / "docs" / picture).stat().st_size < 250_000, picture


@needs_library
@pytest.mark.parametrize("picture, kind, block", [
    pytest.param(*entry, id=entry[0], marks=[] if entry[0] in CHEAP else pytest.mark.long) for entry in ENTRIES])
def test_the_gallery_runs_as_typed(picture, kind, block, tmp_path):
    """Each block leaves its picture in the current directory; commands see the tree as the checkout does."""
    for name in ("examples", "python", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build").symlink_to(BUILD)
    if kind == "python":
        if "torch" in block:
            pytest.importorskip("torch")
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
    else:
        done = shell(block.replace("/usr/bin/python3", sys.executable), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    made = [path for path in tmp_path.rglob("*.png") if path.stat().st_size > 5000]
    assert made, done.stdout + done.stderr

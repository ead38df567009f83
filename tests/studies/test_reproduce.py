"""The page of `heatball reproduce`: links, figures, alternative texts, and what Chromium makes of it.

The binary is $HEATBALL_COMMAND, by default build/heatball. The run has a study that works (sampler) and one that
cannot (bistable: a file is in the way of its directory). Structure is read with html.parser; layout, console and
paper are Chromium's, which is looked for under its usual names and skipped where there is none.
"""

import collections
import html.parser
import json
import os
import re
import shutil
import subprocess
import time

import pytest
from command_line import COMMAND

SEED = 2385
CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
HAS_GNUPLOT = shutil.which("gnuplot") is not None
needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed (package chromium)")
VOID = {"meta", "img", "link", "br", "hr", "input", "image", "use"}


def reproduce(directory, *arguments):
    return subprocess.run([COMMAND, "reproduce", *map(str, arguments), "-o", str(directory)], capture_output=True,
                          text=True, timeout=900)


def run_with_obstacle(directory, threads):
    directory.mkdir()
    (directory / "bistable").write_text("no directory")
    done = reproduce(directory, "--quick", "--only", "sampler,bistable", "--seed", SEED, "--threads", threads)
    return directory, done


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return run_with_obstacle(tmp_path_factory.mktemp("reproduce") / "demo", 1)


@pytest.fixture(scope="module")
def page(run):
    return parse(run[0])


@pytest.fixture(scope="module")
def results(run):
    return json.loads((run[0] / "results.json").read_text())


def parse(directory):
    page = Page()
    page.feed((directory / "index.html").read_text(encoding="utf-8"))
    page.close()
    return page


class Page(html.parser.HTMLParser):
    """What the tests ask of a page: tree, ids, links, pictures, text by element."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.wrong = [], collections.Counter(), []
        self.anchors, self.files, self.sources = [], [], []
        self.pictures = collections.defaultdict(list)  # figure: attributes of its svg or img
        self.text = collections.defaultdict(str)  # by the nearest id
        self.order, self.headings, self.regions = [], [], []
        self.tables = {}  # by id: class, titles of the columns, titles that the cells name, by row

    def inside(self, tag):
        return next((values for name, values in reversed(self.open) if name == tag), None)

    def nearest_id(self):
        return next((values["id"] for _, values in reversed(self.open) if "id" in values), "")

    def handle_starttag(self, tag, attributes, closed=False):
        values = dict(attributes)
        if "id" in values:
            self.ids[values["id"]] += 1
        if "id" in values and not self.inside("svg"):
            self.order.append(values["id"])
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append(int(tag[1]))
        if tag in ("header", "nav", "main", "footer"):
            self.regions.append(tag)
        self.note_table(tag, values)
        figure = self.inside("figure")
        if tag in ("svg", "img") and figure:
            self.pictures[figure["id"]].append((tag, values))
        for key in ("href", "xlink:href", "src"):
            self.sort_link(tag, values.get(key))
        if not closed and tag not in VOID:
            self.open.append((tag, values))

    def note_table(self, tag, values):
        if tag == "table" and not values.get("class", "").startswith("summary"):
            self.tables[self.nearest_id()] = (values.get("class", ""), [], [])
        table = self.tables.get(self.nearest_id())
        if table and tag == "tr" and self.inside("tbody") is not None:
            table[2].append([])
        if table and tag == "td":
            table[2][-1].append(values.get("data-title"))

    def sort_link(self, tag, target):
        if target is None:
            return
        if target.startswith("#"):
            self.anchors.append(target[1:])
        elif tag == "a":
            self.files.append(target)
        else:
            self.sources.append(target)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes, closed=True)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop()[0] != tag:
            self.wrong.append((tag, self.getpos()))

    def handle_data(self, data):
        if self.inside("thead") is not None and self.nearest_id() in self.tables:
            self.tables[self.nearest_id()][1].append(data)
        self.text[self.nearest_id()] += data


def as_shown(text):
    """Text as the page shows it, without its tags: exponents are raised, indices lowered, minus signs long."""
    text = re.sub(r"(?<=\d)e([+-])0*(\d+)", lambda m: "·10" + ("−" if m[1] == "-" else "") + m[2], text)
    text = re.sub(r"[\^_]\{([^}]*)\}", lambda m: m[1].replace("-", "−"), text)
    text = re.sub(r"\^(-?)(?=\d|½)", lambda m: "−" if m[1] else "", text)
    text = re.sub(r"\^(?=[A-Za-z](?!\w))", "", text, flags=re.A)
    text = re.sub(r"(?:(?<=[^\x00-\x7f])|(?<=(?<![\w])[A-Za-z]))_(?=(?:\w|max|min)(?!\w))", "", text, flags=re.A)
    return re.sub(r"(?<![^ (\[|])-(?=\d)", "−", text)


# ---- the files ----

def test_a_study_that_cannot_run_leaves_the_page(run, results):
    directory, done = run
    assert done.returncode == 1
    *progress, message = done.stderr.splitlines()
    assert all(re.match(r"heatball reproduce: study [12] of 2: (sampler|bistable) [\d.]+ %, ", line) for line in progress)
    assert "the study bistable could not run" in message
    assert "Not a directory" in message and f"{directory}/index.html" in message
    assert "sampler, ess: holds\n" in done.stdout and "bistable: could not run: " in done.stdout
    assert (directory / "bistable").read_text() == "no directory"
    sampler, bistable = results["studies"]
    assert len(sampler["claims"]) == 7 and "skipped" not in sampler
    assert "Not a directory" in bistable["skipped"] and "claims" not in bistable


def test_results_have_settings_and_versions(results):
    assert results["version"] == subprocess.run([COMMAND, "--version"], capture_output=True, text=True).stdout.split()[-1]
    assert results["seed"] == str(SEED) and results["quick"] is True
    assert results["command"] == f"heatball reproduce --quick --only sampler,bistable --seed {SEED}"
    assert results["isa"] in ("avx512", "avx2", "sse2", "scalar")
    assert re.fullmatch(r"\d+\.\d+.*", results["libraries"]["jansson"])


def test_twice_gives_the_same_bytes(run, tmp_path):
    other, done = run_with_obstacle(tmp_path / "other", 2)
    assert done.returncode == 1
    paths = sorted(p.relative_to(other) for p in other.rglob("*") if p.suffix in (".json", ".html", ".csv"))
    assert len(paths) == 7
    for path in paths:
        ours, theirs = ((d / path).read_text().replace(str(d), "DIR") for d in (run[0], other))
        assert ours == theirs, path


def test_a_stop_stops_everything(tmp_path):
    process = subprocess.Popen([COMMAND, "reproduce", "--only", "sampler,bistable", "-q", "-o", str(tmp_path / "x")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "x" / "sampler").exists() and process.poll() is None:
        time.sleep(0.02)
    process.terminate()
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 1 and "interrupted" in stderr and "--resume" in stderr
    names = {str(path.relative_to(tmp_path / "x")) for path in (tmp_path / "x").rglob("*")}
    assert names.isdisjoint({"index.html", "bistable", "sampler/sampler.json"})


# ---- the page without a browser ----

def check_structure(page, directory):
    assert page.wrong == [] and page.open == []
    assert [i for i, count in page.ids.items() if count > 1] == []
    assert [a for a in page.anchors if a not in page.ids] == []
    assert page.files and [f for f in page.files if not (directory / f).is_file()] == []
    assert [f for f in page.files if f.startswith("/") or "//" in f] == []
    assert [s[:60] for s in page.sources if not s.startswith("data:image/png;base64,")] == []
    assert page.regions == ["header", "nav", "main", "footer"]
    steps = [b - a for a, b in zip(page.headings, page.headings[1:])]
    assert page.headings[0] == 1 and page.headings.count(1) == 1 and max(steps) <= 2


def test_the_page_is_whole(page, run):
    check_structure(page, run[0])
    assert len([f for f in page.files if f.endswith(".csv")]) == 4  # three figures and the study's table
    assert str(run[0].parent) not in (run[0] / "index.html").read_text().replace(str(run[0] / "bistable"), "")


def check_pictures(page, results):
    figures = [f["name"] for study in results["studies"] for f in study.get("figures", [])]
    assert figures and sorted(page.pictures) == sorted(figures)
    for name, pictures in page.pictures.items():
        ((tag, values),) = pictures
        label = values["alt"] if tag == "img" else values["aria-label"]
        assert len(label) > 15 and "\"" not in label, name
        assert tag == "img" or values["role"] == "img"


@pytest.mark.skipif(not HAS_GNUPLOT, reason="gnuplot is not installed")
def test_every_figure_is_there_with_a_text(page, results):
    check_pictures(page, results)


def check_claims(page, results):
    for study in results["studies"]:
        for claim in study.get("claims", []):
            text = page.text[f"claim-{study['study']}-{claim['id']}"]
            for key in ("statement", "paper", "ours", "why"):
                assert as_shown(claim[key]) in text, (claim["id"], key)
            assert claim["verdict"] in text and study["command"] in text
            assert {"holds": "✓", "holds with a correction": "◐", "does not hold": "✗"}[claim["verdict"]] in text
    order = [i for i in page.order if i.startswith("claim-")]
    assert len(order) == sum(len(s.get("claims", [])) for s in results["studies"])
    for kind in ("Claim", "Our statement"):
        found = [re.match(rf"\s*{kind} (\d+)", page.text[i]) for i in order]
        numbers = [int(m[1]) for m in found if m]
        assert numbers == list(range(1, len(numbers) + 1))
    check_counts(page, results)
    return order


def check_counts(page, results):
    """The paper's claims and our own statements are counted apart, as results.json has them."""
    for group, source in (("theirs", "paper"), ("ours", "heatball")):
        verdicts = collections.Counter(c["verdict"] for s in results["studies"] for c in s.get("claims", [])
                                       if c["source"] == source)
        if not verdicts:
            assert f"claims-{group}" not in page.ids
            continue
        text = (f"Of {sum(verdicts.values())} {'claims' if source == 'paper' else 'statements'} ✓ {verdicts['holds']} hold, "
                f"◐ {verdicts['holds with a correction']} hold with a correction and ✗ {verdicts['does not hold']} do not hold.")
        assert text in page.text["main"], text


def test_every_claim_is_there(page, results):
    order = check_claims(page, results)
    assert order == [f"claim-sampler-{i}" for i in  # as the paper has them: 4.2, 4.3, 4.4
                     ("exactness", "radial", "temporal", "variance", "ess", "monotone", "growth")]
    summary = page.text["summary"] + page.text["main"]
    assert "Of 7 claims ✓ 4 hold, ◐ 3 hold with a correction and ✗ 0 do not hold." in summary
    assert summary.count("holds with a correction") == 3


def check_tables(page, results):
    for study in results["studies"]:
        for table in study.get("tables", []):
            text = page.text[f"table-{table['name']}"]
            assert table["title"] in text and as_shown(table["note"] or "") in text
            for row in table["rows"]:
                assert len(row) == len(table["columns"])
                assert "".join(map(as_shown, row)) in text, table["name"]


def check_folding(page, results, style):
    """Every table can be folded: a class that the style sheet knows, and cells that name their column."""
    tables = [t for study in results["studies"] for t in study.get("tables", [])]
    assert sorted(page.tables) == sorted(f"table-{t['name']}" for t in tables)
    for table in tables:
        kind, titles, named = page.tables[f"table-{table['name']}"]
        assert "".join(titles) == "".join(map(as_shown, table["columns"])), table["name"]
        limit = re.fullmatch(r"(?:dense )?f(\d+)", kind)[1]
        assert f"@container(max-width:{limit}rem){{.f{limit}," in style and 20 <= int(limit) < 72
        assert named == [table["columns"][1:]] * len(table["rows"]), table["name"]


def test_every_table_can_be_folded(page, results, run):
    check_folding(page, results, (run[0] / "index.html").read_text(encoding="utf-8"))


def test_every_table_is_there(page, results):
    assert [t["name"] for t in results["studies"][0]["tables"]] == ["sampler_laws", "sampler_dimensions"]
    check_tables(page, results)


def test_a_figure_follows_the_first_claim_that_names_it(page):
    order = [i for i in page.order if i.startswith(("claim-", "table-", "sampler_"))]
    assert order[:5] == ["claim-sampler-exactness", "claim-sampler-radial", "table-sampler_laws",
                         "sampler_histograms", "claim-sampler-temporal"]
    assert order[5:9] == ["sampler_kolmogorov", "claim-sampler-variance", "table-sampler_dimensions",
                          "sampler_variance"]


def test_the_skipped_study_has_its_sentence(page, results):
    assert "could not run: " + results["studies"][1]["skipped"] in page.text["section-C"] + page.text["main"]
    assert page.order.index("section-4.4") < page.order.index("section-C") < page.order.index("corrections")


def test_what_closes_the_page(page):
    assert [i for i in page.order if i.startswith("correction-")] == [f"correction-{i}" for i in range(1, 9)]
    for number in range(1, 9):
        assert "No claim of this run measures it." in page.text[f"correction-{number}"]
    closing = page.text["main"]
    assert f"heatball reproduce --quick --only sampler,bistable --seed {SEED}" in closing
    assert f"heatball study sampler --quick --seed {SEED} -o sampler" in closing
    assert "shortened" in page.ids and "repeat" in page.ids


# ---- the page in Chromium ----

PROBE = """<script>window.addEventListener('load', () => {
const size = e => { const b = e.getBoundingClientRect(); return [b.width, b.height]; };
const found = {width: innerWidth, scroll: document.documentElement.scrollWidth,
    ground: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color, figures: {}, tables: {}, type: 99};
for (const t of document.querySelectorAll('.table table')) {
    const box = t.parentElement.getBoundingClientRect();
    const cells = [...t.querySelectorAll('tbody th,tbody td')].filter(c => c.textContent && c.getBoundingClientRect().width);
    found.tables[t.closest('.table').id] = [Math.max(...cells.map(c => c.getBoundingClientRect().right)) - box.right,
        cells.length, getComputedStyle(t).display];
}
for (const f of document.querySelectorAll('figure')) {
    const p = f.querySelector('svg,img');
    found.figures[f.id] = p ? [...size(p), getComputedStyle(p.parentElement).backgroundColor,
                               p.tagName === 'IMG' ? p.naturalWidth : p.querySelectorAll('path,circle,use,image').length] : [];
    if (p && p.viewBox) for (const t of p.querySelectorAll('text'))
        found.type = Math.min(found.type, parseFloat(getComputedStyle(t).fontSize) * size(p)[0] / p.viewBox.baseVal.width);
}
parent.postMessage(JSON.stringify(found), '*'); });</script></head>"""

FRAME = """<!DOCTYPE html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>frame</title>
<script>addEventListener('message', e => { document.getElementById('found').textContent = e.data; });</script>
<pre id="found"></pre><iframe src="probe.html" style="width:%dpx;height:2000px;border:0"></iframe>"""


def chromium(tmp_path, page, *arguments):
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                           f"--user-data-dir={tmp_path}/profile", "--enable-logging=stderr", "--v=0", *arguments,
                           page.as_uri()], capture_output=True, timeout=300)
    console = [line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
    return done.stdout.decode(errors="replace"), console


def probe(directory, tmp_path, width, dark):
    """Lays the page out in a frame, since windows have a least width, and returns what the probe found."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", (directory / "index.html").read_text())
    (tmp_path / "probe.html").write_text(text.replace("</head>", PROBE, 1))
    (tmp_path / "frame.html").write_text(FRAME % width)
    dom, console = chromium(tmp_path, tmp_path / "frame.html", "--window-size=1400,2000", "--dump-dom",
                            "--virtual-time-budget=20000", f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    assert console == []
    return json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.S)[1]))


def check_layout(found, width, dark):
    assert found["width"] == width and found["scroll"] <= width
    bright = [sum(map(int, re.findall(r"\d+", found[key])[:3])) / 3 for key in ("ground", "ink")]
    assert (bright[0] < 60 and bright[1] > 200) if dark else (bright[0] > 200 and bright[1] < 60)
    for name, (w, h, ground, parts) in found["figures"].items():
        assert w > 200 and h > 80 and parts > 0 and ground == "rgb(255, 255, 255)", name
    assert found["type"] >= 8
    for name, (beyond, cells, _) in found["tables"].items():
        assert beyond < 1 and cells > 3, name


@needs_chromium
@pytest.mark.skipif(not HAS_GNUPLOT, reason="gnuplot is not installed")
@pytest.mark.parametrize("width, dark", [(360, False), (1200, True)])
def test_it_is_laid_out(run, results, tmp_path, width, dark):
    found = probe(run[0], tmp_path, width, dark)
    assert sorted(found["figures"]) == sorted(f["name"] for f in results["studies"][0]["figures"])
    check_layout(found, width, dark)
    folded = {name for name, (_, _, display) in found["tables"].items() if display == "block"}
    assert folded == ({"table-sampler_laws", "table-sampler_dimensions"} if width == 360 else set())


@needs_chromium
def test_it_prints(run, tmp_path):
    _, console = chromium(tmp_path, run[0] / "index.html", f"--print-to-pdf={tmp_path}/page.pdf", "--no-pdf-header-footer")
    pages = len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes()))
    assert console == [] and 4 <= pages <= 40


# ---- a directory from elsewhere ----

RESULT = {"study": "sampler", "title": "T", "command": "heatball study sampler --quick", "seed": "1", "version": "0",
          "claims": [{"id": "one", "statement": "S.", "place": "4.4", "paper": "p", "ours": "o", "verdict": "holds",
                      "why": "w", "figure": "picture", "table": "numbers"}],
          "tables": [{"name": "numbers", "title": "T", "columns": ["a", "b"], "rows": [["1", "2"]], "note": ""}],
          "figures": [{"name": "picture", "caption": "C."}]}
ATTACK = '"><script>alert(1)</script>'
DAMAGES = [(("tables", 0, "columns", 0), [[[]]]), (("tables", 0, "rows", 0), "text"), (("tables", 0, "rows"), {}),
           (("tables", 0, "rows", 0, 1), 2), (("tables",), {"a": 1}), (("tables", 0), 3), (("study",), ATTACK),
           (("claims", 0, "id"), ATTACK), (("tables", 0, "name"), ATTACK), (("figures", 0, "name"), ATTACK),
           (("figures", 0, "name"), "../../secret"), (("figures", 0, "name"), ".hidden"), (("figures", 0, "name"), "a" * 500),
           (("claims", 0, "figure"), "../x"), (("claims", 0, "verdict"), "\u001b[2J"), (("seed",), "1\u001b[2J"),
           (("claims", 0, "table"), ["numbers"])]


def foreign(directory, result=RESULT):
    (directory / "sampler").mkdir(parents=True)
    (directory / "sampler" / "sampler.json").write_text(json.dumps(result))
    (directory / "sampler" / "picture.svg").write_text("<svg width='1' height='1'></svg>")
    (directory.parent / "secret.svg").write_text("<svg><text>SECRET</text></svg>")
    return directory


def join(directory):
    done = subprocess.run([COMMAND, "reproduce", "--join", "--quick", "--seed", "1", "-o", str(directory)],
                          capture_output=True, text=True, timeout=20)
    return done.returncode, done.stderr


def test_a_foreign_directory_is_joined(tmp_path):
    assert join(foreign(tmp_path / "a")) == (0, "")
    page = parse(tmp_path / "a")
    assert not page.wrong and page.pictures["picture"] and page.ids["claim-sampler-one"] == 1


@pytest.mark.parametrize("where, value", DAMAGES, ids=["-".join(map(str, where)) + f"-{k}" for k, (where, _) in enumerate(DAMAGES)])
def test_a_damaged_result_is_refused(tmp_path, where, value):
    result = json.loads(json.dumps(RESULT))
    part = result
    for key in where[:-1]:
        part = part[key]
    part[where[-1]] = value
    code, told = join(foreign(tmp_path / "a", result))
    assert code == 2 and "sampler" in told and "\x1b" not in told, told
    assert not (tmp_path / "a" / "index.html").exists()


@pytest.mark.parametrize("entry", [("title",), ("command",), ("version",), ("claims", 0, "statement"), ("claims", 0, "place"),
                                   ("claims", 0, "ours"), ("tables", 0, "title"), ("tables", 0, "columns", 0),
                                   ("tables", 0, "rows", 0, 0), ("figures", 0, "caption")])
def test_texts_are_escaped(tmp_path, entry):
    result = json.loads(json.dumps(RESULT))
    part = result
    for key in entry[:-1]:
        part = part[key]
    part[entry[-1]] = ATTACK + " --quick"
    assert join(foreign(tmp_path / "a", result)) == (0, "")
    assert "<script" not in (tmp_path / "a" / "index.html").read_text()


@pytest.mark.parametrize("what", ["directory", "link", "pipe", "script"])
def test_a_picture_is_a_regular_file_without_a_script(tmp_path, what):
    directory = foreign(tmp_path / "a")
    picture = directory / "sampler" / "picture.svg"
    picture.unlink()
    if what == "directory":
        picture.mkdir()
    elif what == "link":
        picture.symlink_to(tmp_path / "secret.svg")
    elif what == "pipe":
        os.mkfifo(picture)
    else:
        picture.write_text("<svg><SCRIPT>alert(1)</SCRIPT></svg>")
    code, told = join(directory)
    if what == "script":
        assert code == 2 and "script" in told
    else:
        text = (directory / "index.html").read_text()
        assert (code, told) == (0, "") and "SECRET" not in text and "This figure needs gnuplot" in text


@pytest.mark.parametrize("text", ["{", "", "[]", "null"])
def test_a_result_that_is_no_object_is_refused(tmp_path, text):
    directory = foreign(tmp_path / "a")
    (directory / "sampler" / "sampler.json").write_text(text)
    code, told = join(directory)
    assert code == 2 and "sampler.json" in told


# ---- everything ----

@pytest.mark.long
def test_the_whole_quick_run(tmp_path):
    start, directory = time.monotonic(), tmp_path / "demo"
    done = reproduce(directory, "--quick")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{directory}/index.html\n")
    assert time.monotonic() - start < 240 * max(1, 2 / os.cpu_count())
    page, results = parse(directory), json.loads((directory / "results.json").read_text())
    check_structure(page, directory)
    check_claims(page, results)
    check_tables(page, results)
    check_folding(page, results, (directory / "index.html").read_text(encoding="utf-8"))
    assert (directory / "index.html").stat().st_size < 10e6
    for study in results["studies"]:
        for kind in ("claims", "tables", "figures"):
            assert [e["place"] for e in study.get(kind, []) if not re.match(r"\d\.\d |[ABC] ", e["place"])] == []
        assert study["study"] == "sampler" or study["shortened"]
    measured = {c.get("correction") for s in results["studies"] for c in s["claims"]}
    assert set(range(1, 9)) <= measured
    if HAS_GNUPLOT:
        check_pictures(page, results)
    if CHROMIUM and HAS_GNUPLOT:
        for width, dark in ((360, True), (800, False), (1000, False), (1200, False)):
            check_layout(probe(directory, tmp_path, width, dark), width, dark)

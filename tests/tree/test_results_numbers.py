"""Numbers of README.md and of the pages on the paper agree with docs/results/results.json, and the kept page with both.

A check is a pattern of a sentence or table cell, with a group for each number, and the numbers of results.json that belong there, as
the page shows them. A number with fewer digits is the rounded one.
"""
import collections
import json
import re

import pytest
from command_line import ROOT

RESULTS = json.loads((ROOT / "docs/results/results.json").read_text(encoding="utf-8"))
CLAIMS = {f"{study['study']}/{claim['id']}": claim for study in RESULTS["studies"] for claim in study["claims"]}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/paper").glob("*.md"))]
N = r"([-−]?\d+(?:\.\d+)?(?:e-?\d+)?)"


def ours(claim, pattern):
    """Numbers of what the page says of a claim."""
    found = re.search(pattern.replace("N", N), CLAIMS[claim]["ours"])
    assert found, (claim, pattern)
    return found.groups()


def ratios(claim):
    """All ×RATIO (d = D) of a claim, in their order."""
    return re.findall(rf"×{N} ± [\d.]+ \(d", CLAIMS[claim]["ours"])


def cells(study, table, row, method):
    """Numbers of a row of a table of the page, without errors."""
    rows = next(t["rows"] for s in RESULTS["studies"] if s["study"] == study for t in s["tables"] if t["name"] == table)
    return [cell.split(" ± ")[0] for cell in next(r for r in rows if r[0].startswith(row) and r[1].startswith(method))]


DSM = {region: cells("bistable", "bistable_errors", region, "DSM, noise 0.15")[3:] for region in ("overall", "core", "tail")}
LOW = ours("planar/low-density", r"hb ×N .* sets; fp ×N .* hb to fp ×N")
TARGETS = ours("planar/low-density-targets", r"dsm, ×N; .* dsm-targets, ×N .* hb to fp with the same targets ×N")
CHECKS = {
    "low density": (r"hb ×N of dsm\. Averaged targets, open to any loss, give ×N, the constraint ×N", LOW[:1] + TARGETS[:2]),
    "low density, both": (r"\| both: hb to dsm \| [^|]*\| N ", LOW[:1]),
    "low density, targets": (r"\| targets: dsm-targets to dsm \| [^|]*\| N ", TARGETS[:1]),
    "low density, constraint": (r"\| constraint: hb to dsm-targets \| [^|]*\| N ", TARGETS[1:2]),
    "low density, hb to fp": (r"\| hb to fp as published \| [^|]*\| N ", LOW[2:]),
    "equal time": (r"\| equal time: hb to dsm-time \(seed 42\) \| [^|]*\| N ", ours("planar/equal-time", "×N in the low")),
    "no distortion": (r"everywhere (?:\()?×N, N, N, N", ours("planar/no-distortion", "everywhere: ×N, ×N, ×N, ×N at")),
    "as printed": (r"is worse than DSM\*\* on seven sets \(×N\)", ours("planar/hb-paper", r"/ ×[\d.]+, ×[\d.]+ / ×N,")),
    "residual": (r"×N of dsm, ×1.00 of fp with the same", ours("planar/residual", "hb to dsm ×N")),
    "dimensions": (r"\| 2 \| 1.03 ± [^|]*\| [^|]*\| N ± ", ratios("dimension/constraint")[:1]),
    "drifts": (r"\| geometric mean \| \| \| N ± [^|]*\| N ± ", ours("drift/dsm", "^×N") + ours("drift/dsm-targets", "^×N")),
    "mode weights": (r"their error is N to N of denoising's in 4 to 32 dimensions",
                     [f(ratios("density/weights")[1:], key=float) for f in (min, max)]),
    "bistable": (r"\| N ± 1.5 and \$1.0", DSM["overall"][:1]),
    "bistable, to the exact score": (r"Gaussian \| exact at t = 1 \| `dsm` \| N ± [\d.]+ \| N ± [\d.]+ \| N ± ", [DSM[r][2] for r in DSM]),
    "bistable, to the stationary score": (r"Gaussian \| stationary \| `dsm` \| N ± [^|]*\| N ± [^|]*\| N ± ", [DSM[r][1] for r in DSM]),
    "sampler": (r"366 at 16, N at 128", ours("sampler/ess", "uniform N at")),
    "window": (r"N in every (?:dimension|\$d\$)", ours("identities/dimension", "T₀ = N in every")),
    "digits": (r"surer than 0.9 of N % \(real images N %\)", ours("mnist/digits", r"0\.9 of N % .*real ones N %")),
    "digits, MMD": (r"\| N \(real images N\); the corrector", ours("mnist/mmd", "biased MMD N, of real images N"))}


def agrees(shown, kept):
    """Whether `shown` is `kept`, rounded to the digits that it has; a rounded number may be rounded again."""
    digits = len(shown.partition("e")[0].partition(".")[2])
    exponent = int(shown.partition("e")[2] or 0)
    return abs(float(shown) - float(kept)) <= 0.5000001 * 10.0 ** (exponent - digits)


def found():
    """{check: [(page, numbers shown)]}."""
    places = collections.defaultdict(list)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for name, (pattern, _) in CHECKS.items():
            places[name] += [(page.name, m.groups()) for m in re.finditer(pattern.replace("N", N), text)]
    return places


@pytest.mark.parametrize("name", CHECKS)
def test_a_number_is_that_of_the_results(name):
    kept = CHECKS[name][1]
    for page, shown in found()[name]:
        assert len(shown) == len(kept) and all(map(agrees, shown, kept)), (page, shown, kept)


def test_every_check_sees_something():
    assert not [name for name, places in found().items() if not places]


def counts(source):
    verdicts = collections.Counter(claim["verdict"] for claim in CLAIMS.values() if claim["source"] == source)
    return [sum(verdicts.values())] + [verdicts[v] for v in ("holds", "holds with a correction", "does not hold")]


def test_verdicts_are_counted_alike():
    """README.md, findings.md and the kept page have the counts of results.json."""
    paper, own = counts("paper"), counts("heatball")
    sentence = (f"of {paper[0]} statements of the paper {paper[1]} hold, {paper[2]} hold with a correction and {paper[3]} do not hold; "
                f"of {own[0]} of ours {own[1]}, {own[2]} and {own[3]}")
    for name in ("README.md", "docs/paper/findings.md"):
        assert sentence in " ".join((ROOT / name).read_text(encoding="utf-8").split()), (name, sentence)
    text = re.sub("<[^>]*>", "", (ROOT / "docs/results/index.html").read_text(encoding="utf-8"))
    for (n, holds, part, fails), what in ((paper, "claims"), (own, "statements")):
        assert f"Of {n} {what} ✓ {holds} hold, ◐ {part} hold with a correction and ✗ {fails} do not hold." in text


def test_the_kept_page_is_small_and_of_these_results():
    assert (ROOT / "docs/results/index.html").stat().st_size <= 5_000_000
    for study in RESULTS["studies"]:
        name = study["study"]
        assert json.loads((ROOT / f"docs/results/{name}/{name}.json").read_text(encoding="utf-8")) == study, name


def test_figures_have_one_set_of_colours():
    """src/plot, the style of the examples and the plots by matplotlib."""
    listed = re.search(r"PALETTE\[\] = \{(.*?)\}", (ROOT / "src/plot/figure_files.c").read_text(encoding="utf-8"), re.S)[1]
    colours = re.findall("#[0-9A-F]{6}", listed)
    style = (ROOT / "examples/python/style.gp").read_text(encoding="utf-8")
    plots = (ROOT / "python/heatball/_plots.py").read_text(encoding="utf-8")
    assert len(colours) == 7
    assert re.findall(r"set linetype \d linecolor rgb '(#[0-9A-F]{6})'", style) == colours
    assert re.findall("#[0-9A-F]{6}", re.search(r"COLOURS = \[(.*?)\]", plots)[1]) == colours

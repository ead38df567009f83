"""Numbers of README.md and of the pages on the paper agree with docs/results/results.json, and the kept page with both.

A check is a pattern of a sentence or table cell, with a group for each number, and the numbers of results.json that belong there, as
the page shows them. A page may leave a number out; where it has one, it has that one. A number with fewer digits is the rounded one.
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
    "low density, hb": (r"error N of denoising score matching's \(eight sets", LOW[:1]),
    "low density, targets and constraint": (r"any loss can have, give N and the constraint N", TARGETS[:2]),
    "low density, table": (r"hb ×N of dsm, below on 8 of 8 sets; fp ×N, .* hb to fp ×N,", LOW),
    "targets, table": (r"the targets give ×N .* the constraint ×N .* hb to fp is ×N", TARGETS),
    "equal time": (r"at equal time N of denoising with the same targets; the loss", ours("planar/equal-time", "×N in the low")),
    "no distortion": (r"everywhere: ×N, ×N, ×N, ×N at", ours("planar/no-distortion", "everywhere: ×N, ×N, ×N, ×N at")),
    "as printed": (r"the loss as printed N times", ours("planar/hb-paper", r"/ ×[\d.]+, ×[\d.]+ / ×N,")),
    "residual": (r"residual of hb to dsm ×N, to fp as published ×N,", ours("planar/residual", r"hb to dsm ×N .* to fp ×N")),
    "below the paper's": (r"[ ,]N times and more below the best", ours("planar/table", "at least N ")),
    "dimensions": (r"same targets: N, N, N, N, N, ", ratios("dimension/constraint")),
    "dimensions, summary": (r"The constraint gives ×N, N, N, N", ratios("dimension/constraint")[:4]),
    "dimensions, equal seconds": (r"up to 8 dimensions \(×N, N, N\)", ratios("dimension/equal-seconds")[:3]),
    "drifts": (r"processes N of denoising's error at τ = 0.3, N with the same targets",
               ours("drift/dsm", "^×N") + ours("drift/dsm-targets", "^×N")),
    "drifts, equal time": (r"at equal time ×?N(?: ±|; FP-Diffusion is the same)", ours("drift/dsm-time", "^×N")),
    "mode weights": (r"their error is N to N of denoising's in 4 to 32 dimensions",
                     [f(ratios("density/weights")[1:], key=float) for f in (min, max)]),
    "bistable, findings": (r"N ± 1.5 from the stationary initial density, N ± ", [DSM["overall"][0], DSM["overall"][2]]),
    "bistable, summary": (r"\| N ± 1.5 and 1.0·10⁻⁷", DSM["overall"][:1]),
    "bistable, tail": (r"\| N and N; but 85", [DSM["tail"][0], DSM["tail"][2]]),
    "bistable, best": (r"four bandwidths is N ", [DSM["overall"][2]]),
    "bistable, to the exact score": (r"Gaussian \| exact at t = 1 \| `dsm` \| N ± [\d.]+ \| N ± [\d.]+ \| N ± ", [DSM[r][2] for r in DSM]),
    "bistable, to the stationary score": (r"Gaussian \| stationary \| `dsm` \| N ± [^|]*\| N ± [^|]*\| N ± ", [DSM[r][1] for r in DSM]),
    "sampler": (r"draws count, against N at d = 128", ours("sampler/ess", "uniform N at")),
    "window": (r"it is N in every dimension", ours("identities/dimension", "T₀ = N in every")),
    "digits": (r"sure of N % \(of real digits N %\); MMD N, real digits N",
               ours("mnist/digits", r"0\.9 of N % .*real ones N %") + ours("mnist/mmd", "biased MMD N, of real images N"))}


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


def test_most_checks_see_something():
    assert sum(map(bool, found().values())) >= len(CHECKS) / 2


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

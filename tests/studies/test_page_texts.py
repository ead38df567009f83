"""Texts of the page: each claim, table and figure that a study names has its entry, and no entry is left over."""
import json
import pathlib
import re

STUDIES = pathlib.Path(__file__).parents[2] / "studies"
TEXTS = json.loads((STUDIES / "page_texts.json").read_text(encoding="utf-8"))
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in sorted(STUDIES.glob("*/*.c")))


def test_every_entry_is_used_and_complete():
    for kind, needed in (("claims", {"statement", "place"}), ("tables", {"title", "place", "columns"}),
                         ("figures", {"place"}), ("shortened", set())):
        for key, entry in TEXTS[kind].items():
            assert f'"{key}"' in SOURCES or "values" in entry, (kind, key)
            assert needed <= set(entry), (kind, key)


def arguments(text):
    """The arguments of the call whose opening bracket text begins with."""
    depth, parts = 0, [""]
    for piece in re.findall(r'"(?:[^"\\]|\\.)*"|.', text, re.S):
        depth += (piece in "([{") - (piece in ")]}")
        if depth == 0:
            return [part.strip() for part in parts]
        if piece == "," and depth == 1:
            parts.append("")
        elif depth > 1 or piece not in "([{":
            parts[-1] += piece
    raise AssertionError(text[:80])


def places(entry, fields):
    """How many numbers and words the texts take."""
    text = " ".join(str(entry.get(field, "")) for field in fields) if isinstance(entry, dict) else entry
    return (len(re.findall(r"%(?:[+.\d]*[dfge]|\{[^}]*\|)", text)), text.count("%s"))


def test_every_place_of_a_text_has_its_value():
    checked = 0
    for kind, at, fields in (("claim", 1, ("paper", "ours", "why")), ("table", 1, ("rows", "note")),
                             ("row", 1, ("row",)), ("shortened", 1, ()), ("caption", 1, ("caption",))):
        for call in re.finditer(rf"hb_study_{kind}\(", SOURCES):
            given = arguments(SOURCES[call.end() - 1:])
            if not given[at].startswith('"'):
                continue
            entry = TEXTS[{"shortened": kind, "row": "tables", "caption": "figures"}.get(kind, kind + "s")][given[at][1:-1]]
            fill = given[-1]
            values = arguments(fill[fill.index("("):]) if fill != "NULL" else []
            words = len(arguments(values.pop(0))) if fill.startswith("HB_WORDS") else 0
            numbers = 0 if words and values == ["0"] else len(values)
            assert (numbers, words) == places(entry, fields), given[at]
            checked += 1
    for key, entry in TEXTS["claims"].items():
        if key.startswith("identities/"):
            assert places(entry, ("paper", "ours", "why")) == (len(entry["values"]), 0), key
            assert entry.get("holds") or entry.get("corrected"), key
    assert checked > 60


def test_every_name_has_an_entry():
    claims = set(re.findall(r'"((?:identities|sampler|bistable|planar|dimension|drift|mnist)/[\w-]+)"', SOURCES))
    assert claims == {key for key, entry in TEXTS["claims"].items() if "values" not in entry}
    tables = set(re.findall(r'hb_study_table\(\s*root,\s*"(\w+)"', SOURCES))
    assert len(tables) > 25 and tables <= set(TEXTS["tables"])
    figures = set(re.findall(r'hb_study_(?:caption\(\s*[\w>.-]+|draw\(\s*gallery|panel_of\(),?\s*"(\w+)"', SOURCES))
    assert len(figures) > 20 and figures <= set(TEXTS["figures"])


def test_claims_show_figures_and_tables_that_exist():
    for key, claim in TEXTS["claims"].items():
        assert claim.get("figure") is None or claim["figure"] in TEXTS["figures"], key
        assert claim.get("table") is None or claim["table"] in TEXTS["tables"], key


def test_sections_and_corrections_are_counted():
    header = (STUDIES / "report_plan.h").read_text(encoding="utf-8")
    sections, corrections = map(int, re.search(r"HB_PAGE_SECTIONS = (\d+), HB_PAGE_CORRECTIONS = (\d+)", header).groups())
    assert len(TEXTS["sections"]) == sections and len(TEXTS["corrections"]) == corrections

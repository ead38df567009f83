"""Texts of the page: each claim, table and figure that a study names has its entry, and no entry is left over."""
import json
import pathlib
import re

STUDIES = pathlib.Path(__file__).parents[2] / "studies"
TEXTS = json.loads((STUDIES / "page_texts.json").read_text(encoding="utf-8"))
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in sorted(STUDIES.glob("*/*.c")))


def test_every_entry_is_used_and_complete():
    for kind, needed in (("claims", {"statement", "place"}), ("tables", {"title", "place", "columns"}),
                         ("figures", {"place"})):
        for key, entry in TEXTS[kind].items():
            assert f'"{key}"' in SOURCES, (kind, key)
            assert needed <= set(entry), (kind, key)


def test_every_name_has_an_entry():
    claims = set(re.findall(r'"((?:identities|sampler|bistable|planar|dimension|drift|mnist)/[\w-]+)"', SOURCES))
    assert claims == set(TEXTS["claims"])
    tables = set(re.findall(r'hb_study_table\(\s*root,\s*"(\w+)"', SOURCES))
    assert len(tables) > 30 and tables <= set(TEXTS["tables"])
    figures = set(re.findall(r'hb_study_caption\(\s*\w+,\s*"(\w+)"', SOURCES))
    assert figures <= set(TEXTS["figures"])


def test_claims_show_figures_and_tables_that_exist():
    for key, claim in TEXTS["claims"].items():
        assert claim.get("figure") is None or claim["figure"] in TEXTS["figures"], key
        assert claim.get("table") is None or claim["table"] in TEXTS["tables"], key


def test_sections_and_corrections_are_counted():
    header = (STUDIES / "report_plan.h").read_text(encoding="utf-8")
    sections, corrections = map(int, re.search(r"HB_PAGE_SECTIONS = (\d+), HB_PAGE_CORRECTIONS = (\d+)", header).groups())
    assert len(TEXTS["sections"]) == sections and len(TEXTS["corrections"]) == corrections

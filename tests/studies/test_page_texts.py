"""Texts of the page: each claim, table and figure that a study names has its entry, and no entry is left over."""
import json
import pathlib
import re

STUDIES = pathlib.Path(__file__).parents[2] / "studies"


def unique(pairs):
    """An object whose names are all different: of two functions of one name only the last would be seen."""
    assert len(dict(pairs)) == len(pairs), [name for name, _ in pairs]
    return dict(pairs)


TEXTS = json.loads((STUDIES / "page_texts.json").read_text(encoding="utf-8"), object_pairs_hook=unique)
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in sorted(STUDIES.glob("*/*.c")))


def study_of(key):
    return re.match("[a-z]+", key).group()


def test_every_entry_is_used_and_complete():
    studies = {path.parent.name for path in STUDIES.glob("*/*_study.c")}
    assert len(studies) == 8
    for kind, needed in (("claims", {"statement", "place"}), ("tables", {"title", "place", "columns"}),
                         ("figures", {"place", "caption"}), ("shortened", set())):
        assert len(TEXTS[kind]) > 8
        for key, entry in TEXTS[kind].items():
            assert study_of(key) in studies, (kind, key)
            assert needed <= set(entry), (kind, key)
            by_data = {"claims": ("values", "as"), "tables": ("cells", "rows"), "figures": ("panels", "as")}.get(kind)
            assert not by_data or set(by_data) & set(entry) or f'"{key}"' in SOURCES, (kind, key)


def split(values):
    """The values of "VALUE, VALUE, ..": commas in brackets and in words do not count."""
    depth, parts = 0, [""]
    for piece in re.findall(r"'[^']*'|`[^`]*`|.", values):
        depth += (piece == "(") - (piece == ")")
        if piece == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    assert depth == 0, values
    return [part.strip() for part in parts if part.strip()]


def places(*texts):
    """How many numbers and words the texts take."""
    text = " ".join(map(str, texts))
    return len(re.findall(r"%(?:[+.\d]*[dfge]|\{[^}]*\||s)", text))


def texts_with_values(entry):
    """All "TEXT @ VALUES" inside an entry."""
    if isinstance(entry, str):
        return [entry] if " @ " in entry else []
    parts = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else []
    return [text for part in parts for text in texts_with_values(part)]


def test_every_place_of_a_text_has_its_value():
    checked = 0
    for kind, fields in (("claims", ("paper", "ours", "why")), ("tables", ("title", "rows", "note"))):
        for key, entry in TEXTS[kind].items():
            other = TEXTS[kind].get(entry.get("as"), {})
            texts = [entry.get(field, other.get(field, "")) for field in fields]
            assert len(split(entry.get("values", other.get("values", "")))) == places(*texts), key
            checked += 1
    for kind in ("tables", "figures", "shortened"):
        for text in texts_with_values(TEXTS[kind]):
            words, values = text.split(" @ ", 1)
            assert len(split(values)) == places(words), text
            checked += 1
    assert checked > 300


def test_every_claim_has_a_rule():
    for key, claim in TEXTS["claims"].items():
        other = TEXTS["claims"].get(claim.get("as"), {})
        assert {"holds", "corrected"} & (set(claim) | set(other)), key


def test_no_statement_stands_twice_and_ours_are_named():
    """Duplicates by their words; what the paper does not measure is a statement of ours."""
    words = [" ".join(sorted(set(re.findall(r"\w{4,}", claim["statement"].lower())))) for claim in TEXTS["claims"].values()]
    assert len(set(words)) == len(words)
    for key, claim in TEXTS["claims"].items():
        paper = claim.get("paper", TEXTS["claims"].get(claim.get("as"), {}).get("paper", ""))
        assert claim.get("source", "heatball") == "heatball", key
        assert "source" in claim or not re.match("not (given|measured)", paper), key


def test_every_function_has_its_arguments():
    """Functions of a study are called with as many arguments as they have."""
    for study, functions in TEXTS["functions"].items():
        formulas = json.dumps([entry for kind in ("claims", "tables", "figures", "shortened")
                               for key, entry in TEXTS[kind].items() if study_of(key) == study]
                              + [body for _, body in functions.values()], ensure_ascii=False)
        for name, (arguments, _) in functions.items():
            calls = [call.end() for call in re.finditer(rf"(?<![\w']){name}\(", formulas)]
            assert calls or not arguments, (study, name)
            for at in calls:
                depth, end = 1, at
                while depth:
                    depth += (formulas[end] == "(") - (formulas[end] == ")")
                    end += 1
                assert len(split(formulas[at:end - 1])) == len(arguments.split()), (study, name)


def test_claims_show_figures_and_tables_that_exist():
    for key, claim in TEXTS["claims"].items():
        assert claim.get("figure") is None or claim["figure"] in TEXTS["figures"], key
        assert claim.get("table") is None or claim["table"] in TEXTS["tables"], key


def test_sections_and_corrections_are_counted():
    header = (STUDIES / "report_page.h").read_text(encoding="utf-8")
    sections, corrections = map(int, re.search(r"HB_PAGE_SECTIONS = (\d+), HB_PAGE_CORRECTIONS = (\d+)", header).groups())
    assert len(TEXTS["sections"]) == sections and len(TEXTS["corrections"]) == corrections

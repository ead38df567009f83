"""The library's tables of settings against the structs of the headers, the defaults, the command and Python.

A field of hb_train_settings without a row would be missing in checks, checkpoints and defaults.
"""

import ctypes
import inspect
import math
import pathlib
import re

import pytest

import heatball
from heatball import _native
from heatball._arguments import setting_rows, texts
from heatball._native import SettingKind, SettingRule

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = {ctypes.c_int: {SettingKind.SETTING_KIND_FLAG, SettingKind.SETTING_KIND_INTEGER,
                        SettingKind.SETTING_KIND_CHOICE},
         ctypes.c_uint64: {SettingKind.SETTING_KIND_UNSIGNED},
         ctypes.c_double: {SettingKind.SETTING_KIND_REAL}}
TABLES = [("hb_train_settings", "hb_train_setting"), ("hb_generate_settings", "hb_generate_setting"),
          ("hb_certify_settings", "hb_certify_setting"), ("hb_classifier_settings", "hb_classifier_setting"),
          *((f"hb_{name}_settings", f"hb_{name}_setting") for name in ("mean", "images", "budget", "balls"))]


def rows_of(function):
    return setting_rows(getattr(_native.library, function))


def uncovered(struct, rows):
    """What is wrong between the fields of a ctypes struct and the rows of a table, a sentence for each."""
    fields = [(name, kind) for name, kind in struct._fields_ if name != "size"]
    if [name for name, _ in fields] != [row.name.decode() for row in rows]:
        return [f"{name} is in one of them" for name in
                {name for name, _ in fields} ^ {row.name.decode() for row in rows}] or ["another order"]
    return [f"{name} has another place or kind" for (name, kind), row in zip(fields, rows)
            if getattr(struct, name).offset != row.offset or
            row.kind not in KINDS.get(kind, {SettingKind.SETTING_KIND_POINTER})]


@pytest.mark.parametrize("name, function", TABLES)
def test_every_field_has_a_row_and_says_what_it_means(name, function):
    rows = rows_of(function)
    assert uncovered(_native.STRUCTS[name], rows) == []
    for row in rows:
        assert row.help, row.name
        assert not row.names or texts(row.names()), row.name
        if math.isfinite(row.fallback) and (row.min or row.max):
            assert row.min <= row.fallback <= row.max, row.name


def test_a_forgotten_field_is_found():
    rows = rows_of("hb_train_setting")
    struct = _native.TrainSettings

    class Longer(ctypes.Structure):
        _fields_ = [*struct._fields_[:5], ("forgotten", ctypes.c_int), *struct._fields_[5:]]

    assert uncovered(struct, rows[:3] + rows[4:]) == ["drift is in one of them"]
    assert uncovered(struct, [rows[1], rows[0], *rows[2:]]) == ["another order"]
    assert uncovered(Longer, rows) == ["forgotten is in one of them"]


@pytest.mark.parametrize("name, function", TABLES)
def test_defaults_are_those_of_the_rows(name, function):
    settings = _native.STRUCTS[name]()
    default = getattr(_native.library, f"{name}_default")
    default(*[ctypes.sizeof(settings)] * (len(default.argtypes) - 1), ctypes.byref(settings))
    for row in rows_of(function):
        value = getattr(settings, row.name.decode())
        if row.kind == SettingKind.SETTING_KIND_POINTER:
            assert not value
        else:
            assert value == row.fallback or math.isnan(value) and math.isnan(row.fallback), row.name


def defaults_of(function):
    return {name: one.default for name, one in inspect.signature(function).parameters.items()}


@pytest.mark.parametrize("function, table, least", [
    (heatball.train, "hb_train_setting", 33), (heatball.Model.generate, "hb_generate_setting", 8),
    (heatball.generate, "hb_generate_setting", 8), (heatball.certify, "hb_certify_setting", 8),
    (heatball.Classifier, "hb_classifier_setting", 8)])
def test_signatures_have_the_defaults_of_the_library(function, table, least):
    """A number is that of hb_*_settings_default; None stands for NaN, what the library chooses, and for pointers."""
    keywords, seen = defaults_of(function), 0
    for row in rows_of(table):
        name = row.name.decode()
        if name not in keywords or name in ("denoise", "standardise"):  # by the kind of the data
            continue
        default, seen = keywords[name], seen + 1
        if row.kind == SettingKind.SETTING_KIND_POINTER or math.isnan(row.fallback):
            assert default is None, name
        elif row.kind == SettingKind.SETTING_KIND_CHOICE:
            assert texts(row.names()).index(default) == row.fallback, name
        else:
            assert default is not None and default == row.fallback, name
            assert isinstance(default, float) == (row.kind == SettingKind.SETTING_KIND_REAL), name
    assert seen >= least


def test_python_has_a_keyword_for_every_setting():
    keywords = inspect.signature(heatball.train).parameters
    inside = {"loss", "image_height", "image_width", "pixel_low", "pixel_high", "columns", "watch_user", "size", "as_typed"}
    names = {row.name.decode() for row in rows_of("hb_train_setting")}
    assert names - inside - set(keywords) == set()


def test_the_parameters_of_train_stand_in_their_groups():
    names = list(inspect.signature(heatball.train).parameters)
    groups = ("data", "params"), ("head", "half"), ("tau_min", "constraint_every"), ("epochs", "threads")
    places = [names.index(name) for ends in groups for name in ends]
    assert places == sorted(places) and places[0] == 0 and places[-1] == len(names) - 1
    assert all(places[k + 1] == places[k] + 1 for k in (1, 3, 5))


def test_python_generates_with_every_setting():
    keywords = set(inspect.signature(heatball.Model.generate).parameters) | {"low", "high"}  # clip
    names = {row.name.decode() for row in rows_of("hb_generate_setting")}
    assert names - keywords - {"size"} == {
        "process", "mean", "covariance", "drift", "n_ends", "end_density", "end_user"}  # the model's


def test_the_header_says_the_same_defaults():
    """Fields whose comment is a number, or ends in one."""
    text = (ROOT / "include/heatball/train.h").read_text()
    body = re.search(r"typedef struct hb_train_settings \{(.*?)\n\}", text, re.S)[1]
    shown = {row.name.decode(): row.fallback for row in rows_of("hb_train_setting")}
    seen = 0
    for names, comment in re.findall(r"^    (?:int|double|uint64_t) ([\w, ]+);\s*/\*(.*?)\*/", body, re.S | re.M):
        names = names.split(", ")
        told = re.search(r"(?:^|;|default)\s*((?:[\d.e-]+(?:, )?)+)\s*(?:;.*)?$", " ".join(comment.split()))
        values = [float(value) for value in told[1].split(", ")] if told else []
        if len(values) == len(names):
            assert values == [shown[name] for name in names], names
            seen += len(names)
    assert seen >= 16


def test_a_checkpoint_has_what_the_result_depends_on():
    """Those that do not change the weights of a run that goes on; anything else must have the rule."""
    aside = {row.name.decode() for row in rows_of("hb_train_setting")
             if not row.rules & SettingRule.SETTING_RULE_RESULT}
    assert aside == {"drift", "as_typed", "epochs", "max_time", "image_height", "image_width", "pixel_low", "pixel_high",
                     "columns", "half", "checkpoint", "checkpoint_every", "resume", "log", "watch", "watch_user",
                     "watch_every"}


def untold(name, text):
    return not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)


def test_every_loss_is_named_where_text_lists_them():
    losses = texts(_native.library.hb_loss_names())
    rows = {row.name.decode(): row.help.decode() for row in rows_of("hb_train_setting")}
    page = (ROOT / "docs/reference/commands/train.md").read_text()
    assert re.findall(r"^\| `(\w[\w-]*)` \|", page.split("| option |")[0], re.M) == losses
    assert [name for name in losses[1:] if untold(name, rows["weight"])] == []
    for path in ["docs/explanation/losses.md", "docs/reference/python.md", "include/heatball/train.h", "completions/heatball.bash"]:
        assert [name for name in losses if untold(name, (ROOT / path).read_text())] == [], path
    assert [name for name in losses if untold(name, heatball.train.__doc__)] == []
    assert untold("hb-papers", page) and untold("paper", "hb-paper")  # the search is for whole names

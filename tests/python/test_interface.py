"""The headers against the rules of docs/reference/interface.md: order of arguments, names, structs that can grow, NULL.

The rules are read off include/heatball/*.h; then every function of libheatball is called without a context, with NULL for
everything, with NULL settings, and with sizes that no version has. The calls run in a process of their own, which
names each function before it calls it, so that a crash has a name. Those of mpi.h, which are in a library of their
own, keep the same rules and are called with NULL where that library is.
"""

import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from heatball import _native, _native_mpi
from heatball._native import Status, library

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = sorted(path for path in (ROOT / "include/heatball").glob("*.h") if path.name != "compat.h")
MPI_HEADER = ROOT / "include/heatball/mpi.h"  # of libheatball-mpi
PAGE = (ROOT / "docs/reference/interface.md").read_text()

# Subjects that are no type: a function's name begins with a type, or with one of these.
SUBJECTS = re.findall(r"`(\w+)`", re.search(r"with its subject:(.*?)\.\s", PAGE, re.S).group(1))
# Arguments of class "whole numbers" and "inputs" whose order among themselves is fixed.
NUMBERS = (("dim",), ("lift",), ("seed",), ("stream",), ("first",), ("n",), ("m",))
INPUTS = (("x", "points", "y", "at"), ("tau", "t", "time"), ("labels",))


# ---- what the headers say ----------------------------------------------------------------------

def code(texts=None):
    """Return the text of the headers without comments and directives."""
    text = "\n".join(texts or [path.read_text() for path in HEADERS])
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)


def parameters(text):
    """Return [(type, name)] of a list of parameters."""
    out = []
    for part in re.sub(r"\s+", " ", text).split(","):
        part = re.sub(r"(\w+)\[\d*\]$", r"*\1", part.strip())
        if part not in ("void", "..."):
            kind, name = re.fullmatch(r"(.*?)(\w+)", part).groups()
            out.append((re.sub(r"\s*\*\s*", " *", kind).strip(), name))
    return out


def functions(text):
    """Return {name: (result, parameters)} of the declared functions."""
    return {name: (re.sub(r"\s*\*\s*", " *", result).strip(), parameters(arguments))
            for result, name, arguments in re.findall(
                r"HB_API\s+([\w\s*]+?)\b(hb_\w+)\s*\(([^)]*)\)", text)}


def callbacks(text):
    """Return {name: parameters} of the types of callbacks and of the callbacks that are fields."""
    found = re.findall(r"\(\*(\w+)\)\(([^)]*)\)", text)
    return {name: parameters(arguments) for name, arguments in found if name != "names"}


def structs(text):
    """Return {name: body} of the visible structs."""
    return dict(re.findall(r"typedef struct (\w+)\s*\{(.*?)\}\s*\w+;", text, re.S))


def opaque(text):
    return set(re.findall(r"typedef struct (\w+) \w+;", text))


def enums(text):
    """Return {name: constants}; hb_status is made by a macro."""
    return {name: re.findall(r"\bHB_\w+", body)
            for name, body in re.findall(r"typedef enum (\w+)\s*\{([^}]*)\}", text)}


def table(kind):
    """Return the structs of the line of docs/reference/interface.md that says this about them."""
    line = next(line for line in PAGE.splitlines() if re.match(rf"\| `hb_.*\| {kind}", line))
    return re.findall(r"`(hb_\w+)`", line.rsplit("|", 2)[0])


# Of structs that have grown since they were first installed, the first field that was added.
FIRST_ADDED = {"hb_context_settings": "team", "hb_generate_settings": "drift",
               "hb_train_settings": "anchor_tau_min"}
SETTINGS, LISTS = table("settings"), table("arrays of the caller")
RESULTS, ROWS, FINAL = table("results"), table("rows"), table("final")


# ---- the rules ---------------------------------------------------------------------------------

def classes(arguments, text):
    """Return the place of each argument in the order of the rules: 1 context ... 6 outputs."""
    handles = (opaque(text) | {"hb_field", "hb_team"}) - {"hb_context"}
    whole = {"int", "size_t", "uint64_t"} | set(enums(text)) | {"hb_status"}
    out = []
    for i, (kind, name) in enumerate(arguments):
        plain = kind.removeprefix("const ").removesuffix(" *")
        after = arguments[i + 1][0] if i + 1 < len(arguments) else ""
        if kind in ("hb_context *", "const hb_context *") or (kind == "void *" and i == 0):
            out.append(1)
        elif plain in handles and kind.count("*") == 1 and not (kind == "hb_field *"):
            out.append(2)
        elif plain.endswith("_settings") and kind.startswith("const "):
            out.append(3)
        elif name == "size" and "*" in after and not after.startswith("const "):
            out.append(6)
        elif kind in whole or plain == "hb_lattice":
            out.append(4)
        elif "*" in kind and not kind.startswith("const ") and name != "user":
            out.append(6)
        else:
            out.append(5)
    return out


def ranks(arguments, order):
    return [rank for _, name in arguments for rank, names in enumerate(order) if name in names]


def wrong_order(name, arguments, text):
    """Say what is wrong with the order of the arguments of a function, or return None."""
    places = classes(arguments, text)
    if places != sorted(places):
        return f"{name}: {[n for _, n in arguments]} are of the classes {places}"
    for place, order in ((4, NUMBERS), (5, INPUTS)):
        found = ranks([a for a, p in zip(arguments, places) if p == place], order)
        if found != sorted(found):
            return f"{name}: {[n for _, n in arguments]}; the order is {order}"
    choices = set(enums(text)) | {"hb_status"}
    kinds = {4: lambda kind, n: kind not in choices,
             5: lambda kind, n: 0 if kind == "const char *" else 2 if "callback" in kind or n == "user" else 1}
    for place, rank in kinds.items():  # choices first; texts first and callbacks last
        found = [rank(*a) for a, p in zip(arguments, places) if p == place]
        if found != sorted(found):
            return f"{name}: {[n for _, n in arguments]}; choices and texts come first, callbacks last"
    names = [n for _, n in arguments]
    for first, second in (("height", "width"), ("rows", "columns"), ("nx", "ny")):
        if second in names and names[names.index(second) - 1] != first:
            return f"{name}: {first} comes before {second}"
    return None


def misnamed(text):
    """Return the functions that begin with no type and no subject, and constants without their enum's name."""
    starts = [n.removeprefix("hb_") for n in {**structs(text), **enums(text)}] + [
        n.removeprefix("hb_") for n in opaque(text)] + list(SUBJECTS)
    starts += [n.removesuffix("_settings") for n in starts]
    wrong = [name for name in functions(text)
             if not any(re.match(rf"hb_{start}(_|$)", name) for start in starts)]
    for enum, constants in enums(text).items():
        wrong += [c for c in constants
                  if enum != "hb_status" and not c.startswith(enum.upper() + "_")]
    return wrong


def ungrown(text):
    """Return sentences about structs that are in no line of the page or cannot grow as their line says."""
    found, wrong = structs(text), []
    listed = SETTINGS + LISTS + RESULTS + ROWS + FINAL
    wrong += [f"{name} is in no line, or in two, of docs/reference/interface.md" for name in found
              if listed.count(name) != 1]
    wrong += [f"{name} of docs/reference/interface.md is in no header" for name in listed if name not in found]
    for name in [*SETTINGS, *LISTS]:
        if not found.get(name, "").split(";")[0].strip() == "size_t size":
            wrong.append(f"{name} does not begin with size_t size")
    wrong += [f"{name} has {inner} inside by value, which cannot grow" for name, body in found.items()
              for inner in found if re.search(rf"\b{inner} \w+", body)]
    wrong += [f"{name} has no _default" for name in SETTINGS if f"{name}_default" not in functions(text)]
    for name, (_, arguments) in functions(text).items():
        for i, (kind, _) in enumerate(arguments):
            plain = kind.removesuffix(" *")
            grows = plain in RESULTS and name != "hb_images_destroy" or name.endswith("_default")
            if kind == plain + " *" and grows and plain in found:
                if not i or arguments[i - 1] != ("size_t", "size"):
                    wrong.append(f"{name} has no size before {plain}")
    return wrong


def test_the_parser_sees_the_headers():
    text = code()
    assert len(functions(text)) == text.count("HB_API") == len(_native.SIGNATURES) + len(_native_mpi.SIGNATURES)
    assert functions(text)["hb_ball_psi"] == ("double", [
        ("int", "dim"), ("double", "radius"), ("double", "y2"), ("double", "s")])
    assert set(structs(text)) == set(_native.STRUCTS) and opaque(text) == set(_native.OPAQUE)
    assert {"hb_field_callback", "progress", "sup"} <= set(callbacks(text))
    assert "ball" in SUBJECTS and "version" in SUBJECTS and len(SUBJECTS) == 11


def test_arguments_are_in_one_order():
    text = code()
    every = {name: arguments for name, (_, arguments) in functions(text).items()}
    wrong = [wrong_order(name, arguments, text)
             for name, arguments in {**every, **callbacks(text)}.items()]
    assert [w for w in wrong if w] == []


def test_names_begin_with_their_type():
    assert misnamed(code()) == []


def test_structs_can_grow():
    assert ungrown(code()) == []


@pytest.mark.parametrize("old, new, finds", [
    ("hb_context *context, const hb_problem *problem, size_t n,\n",
     "hb_context *context, size_t n, const hb_problem *problem,\n", wrong_order),
    ("hb_measure measure, int dim, int lift,\n", "int dim, hb_measure measure, int lift,\n", wrong_order),
    ("double tau, hb_score_callback score, void *user,", "hb_score_callback score, void *user, double tau,", wrong_order),
    ("HB_METHOD_GRID", "HB_GRID", misnamed),
    ("HB_API hb_status hb_solve(", "HB_API hb_status hb_answer(", misnamed),
    ("size_t size;", "int unused;", ungrown),
    ("const hb_grid_settings *grid;", "hb_grid_settings grid;", ungrown),
    ("size_t size, hb_grid_info *out", "hb_grid_info *out", ungrown),
])
def test_a_broken_header_is_found(old, new, finds):
    text = code()
    assert old in text
    text = text.replace(old, new, 1)
    if finds is wrong_order:
        assert [w for n, (_, a) in functions(text).items() if (w := wrong_order(n, a, text))]
    else:
        assert finds(text)


# ---- the calls ---------------------------------------------------------------------------------

NUMBER = {"dim": 1, "n": 8, "m": 8, "n_a": 8, "n_b": 8, "n_t": 8, "n_radii": 1, "times": 20, "k": 1,
          "classes": 2, "height": 4, "width": 4, "rows": 1, "columns": 1, "degree": 2, "n_time": 2,
          "n_radius": 2, "nx": 8, "ny": 8, "least": 1, "seed": 1, "n_axes": 1, "n_columns": 1,
          "count": 1, "total": 1, "bytes": 8, "size": 64}
TEXTS = {"text": b"x", "drift": b"-x", "noise": b"1", "initial": b"gaussian(mean=0, var=1)",
         "name": b"ring", "format": b"x"}
SOLUTION_INDEX = {"hb_solution_point_method", "hb_solution_warning", "hb_solution_samples"}


def fill(n, outputs):
    """What a score or its divergence leaves in its outputs, in one dimension: zeros."""
    for out in outputs:
        ctypes.memset(out, 0, n * ctypes.sizeof(ctypes.c_double))
    return 0


class Caller:
    """Arguments for every function: objects of each kind, arrays, texts and small numbers."""

    def __init__(self, directory):
        self.directory, self.keep = str(directory).encode(), []
        self.inputs = (ctypes.c_double * 4096)(*[(1 + i * 37 % 101) / 102 for i in range(4096)])
        self.labels = (ctypes.c_int * 4096)(*[i % 2 for i in range(4096)])
        self.stop = _native.PROGRESS(lambda user, what, done, total: 1)
        (pathlib.Path(directory) / "p.ini").write_text(
            "[problem]\ndrift = -x\nnoise = 1\ninitial = gaussian(mean=0, var=1)\n")
        settings = _native.ContextSettings()
        library.hb_context_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
        settings.threads, settings.progress = 1, self.stop
        self.handles = {}
        self.handles["hb_context"] = self.made("hb_context_create", None)
        self.create()
        self.maker = self.handles["hb_context"]  # the context of the objects
        self.handles["hb_context"] = self.made("hb_context_create", ctypes.byref(settings))

    def made(self, function, *arguments):
        """Call a function whose last argument is the object to make."""
        out = _native.SIGNATURES[function][1][-1]._type_()
        status = getattr(library, function)(*arguments, ctypes.byref(out))
        assert status == 0, (function, status)
        return out

    def create(self):
        c, h = self.handles["hb_context"], self.handles
        h["hb_problem"] = self.made("hb_problem_parse", c, b"-x", b"1", TEXTS["initial"])
        grid = _native.GridSettings()
        library.hb_grid_settings_default(ctypes.sizeof(grid), ctypes.byref(grid))
        grid.keep_from = 0.05
        h["hb_grid"] = self.made("hb_grid_solve", c, h["hb_problem"], ctypes.byref(grid), 0, None, 1.5)
        field = _native.Field()
        library.hb_grid_field(h["hb_grid"], ctypes.byref(field))
        self.keep.append(field)
        h["hb_field"] = ctypes.pointer(field)
        h["hb_expression"] = self.made("hb_expression_parse", c, 1, 0, b"x", None, None)
        h["hb_cubature"] = self.made("hb_cubature_exact", c, 0, 1, 0, 2)
        h["hb_mixture"] = self.made("hb_mixture_named", c, b"ring")
        h["hb_solution"] = self.made("hb_solve", c, h["hb_problem"], None, 1, self.inputs)
        train = _native.TrainSettings()
        library.hb_train_settings_default(ctypes.sizeof(train), ctypes.byref(train))
        train.steps, train.width, train.depth = 1, 8, 1
        h["hb_model"] = self.made("hb_train", c, ctypes.byref(train), 1, 2, 8, self.inputs,
                                  self.labels)
        judge = _native.ClassifierSettings()
        library.hb_classifier_settings_default(ctypes.sizeof(judge), ctypes.byref(judge))
        judge.epochs, judge.width = 1, 8
        h["hb_classifier"] = self.made("hb_classifier_train", c, ctypes.byref(judge), 1, 2, 8,
                                       self.inputs, self.labels)

    def fresh(self, kind):
        """Return a handle; writers and figures are used up by their functions."""
        c = self.handles["hb_context"]
        if kind == "hb_writer":
            return self.made("hb_writer_create", c, self.directory + b"/written")
        if kind == "hb_figure":
            return self.made("hb_figure_create", c, 1, 1, 0, 0)
        return self.handles[kind]

    def struct(self, name, more=0):
        """Return a filled struct of settings or arrays, with a size that is wrong by `more`."""
        out = _native.STRUCTS[name]()
        if name in SETTINGS:
            getattr(library, name + "_default")(ctypes.sizeof(out), ctypes.byref(out))
        oldest = getattr(_native.STRUCTS[name], FIRST_ADDED.get(name, ""), None)  # a struct that has grown
        whole = oldest.offset if oldest and more < 0 else ctypes.sizeof(out)
        out.size = max(whole + more, 0) if more > -1000 else 0
        self.keep.append(out)
        return ctypes.byref(out)

    def argument(self, function, kind, name, ctype):
        """Return something that this argument may be."""
        plain = kind.removeprefix("const ").removesuffix(" *")
        if plain in self.handles and kind.count("*") == 1 or plain in ("hb_writer", "hb_figure") \
                and kind.count("*") == 1:
            return self.fresh(plain)
        if plain.endswith("_settings") and kind.startswith("const "):
            return None
        if plain in LISTS:
            return self.struct(plain)
        if kind in ("int", "size_t", "uint64_t") or plain in _native.ENUMS:
            if function in ("hb_judge_score", "hb_figure_series") and name == "n":
                return 60
            if name in ("point", "j", "k") and function.startswith(("hb_solution", "hb_mod", "hb_mix")):
                return 0
            return NUMBER.get(name, 1 if name == "n_levels" else 0)
        if kind == "double":
            return 0.5
        if kind == "const char *":
            if name in ("path", "stem", "name_or_path"):
                return self.directory + (b"/p.ini" if function == "hb_problem_load" else b"/x.png")
            return TEXTS.get(name, b"x")
        if name == "user":
            return None
        if isinstance(ctype, type) and issubclass(ctype, ctypes._CFuncPtr):
            outputs = {_native.SCORE: 1, _native.DIVERGENCE: 2}.get(ctype, 0)
            self.keep.append(ctype(lambda *a: fill(a[1], a[len(a) - outputs:]) if outputs else 0))
            return self.keep[-1]
        if kind == "const int *":
            return self.labels
        if kind == "const double *":
            return self.inputs
        if kind == "const hb_lattice *":
            self.keep.append(_native.Lattice(8, 8, 0, 1, 0, 1))
            return ctypes.byref(self.keep[-1])
        self.keep.append(ctypes.create_string_buffer(1 << 16))  # an output of any kind
        return ctypes.cast(self.keep[-1], ctype)

    def arguments(self, function):
        """Return arguments with which the function may be called, and the settings NULL."""
        declared, types = PARAMETERS[function], _native.SIGNATURES[function][1]
        out = [self.argument(function, kind, name, ctype)
               for (kind, name), ctype in zip(declared, types)]
        for i, (kind, name) in enumerate(declared[:-1]):  # the size before a result
            result = declared[i + 1][0].removesuffix(" *")
            if name == "size" and result in _native.STRUCTS:
                out[i] = ctypes.sizeof(_native.STRUCTS[result])
        return out

    def call(self, function, arguments):
        """Call it; return the status or another result, and the context's message."""
        print(json.dumps(["start", function]), flush=True)
        result = getattr(library, function)(*arguments)
        mine = function in WITH_CONTEXT or function.startswith(("hb_figure", "hb_writer"))
        message = library.hb_context_message(self.handles["hb_context"] if mine else self.maker).decode()
        print(json.dumps(["end", function, result if isinstance(result, (int, float)) else None, message]),
              flush=True)


PARAMETERS = {name: arguments for name, (_, arguments) in functions(code()).items()
              if name not in _native_mpi.SIGNATURES}
STATUS = {name for name, (result, _) in functions(code()).items() if result == "hb_status"}
WITH_CONTEXT = [name for name, arguments in PARAMETERS.items()
                if arguments and arguments[0][0] in ("hb_context *", "const hb_context *")]
WITH_SETTINGS = [(name, i) for name, arguments in PARAMETERS.items()
                 for i, (kind, _) in enumerate(arguments)
                 if kind.startswith("const hb_") and kind.endswith("_settings *")]
WITH_RESULT = [(name, i) for name, arguments in PARAMETERS.items()
               for i, (_, argument) in enumerate(arguments[:-1])
               if argument == "size" and arguments[i + 1][0].removesuffix(" *") in RESULTS]
# Ends what it is given: called with care only.
ENDS = {"hb_context_destroy", "hb_context_release", "hb_writer_commit", "hb_writer_abort"}


def run_calls(what, directory):
    """Make the calls of one kind; in a process of its own."""
    caller = Caller(directory)
    if what == "no context":
        for name in WITH_CONTEXT:
            caller.call(name, [None] + caller.arguments(name)[1:])
    if what == "nothing":
        for name, arguments in PARAMETERS.items():
            for number in (0, 1):
                values = [None if "*" in kind or "callback" in kind else number
                          for kind, _ in arguments]
                if name in WITH_CONTEXT and name not in ENDS:
                    values[0] = caller.handles["hb_context"]
                if name != "hb_writer_printf":
                    caller.call(name, [t() if v is None and issubclass(t, ctypes._CFuncPtr) else v
                                       for v, t in zip(values, _native.SIGNATURES[name][1])])
    if what == "no settings":
        for name, _ in WITH_SETTINGS:
            caller.call(name, caller.arguments(name))
    for more in {"larger": [8], "smaller": [-8, -1000]}.get(what, []):
        for name, i in WITH_SETTINGS:
            values = caller.arguments(name)
            values[i] = caller.struct(PARAMETERS[name][i][0].split()[1], more)
            caller.call(name, values)
        for name, i in WITH_RESULT:
            values = caller.arguments(name)
            values[i] = values[i] + more if more > -1000 else 0
            caller.call(name, values)


def calls(what, directory):
    """Return [(function, result, message)] of the calls of one kind; a crash fails with its function."""
    done = subprocess.run([sys.executable, __file__, what, str(directory)], capture_output=True,
                          text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python"),
                               "HEATBALL_LIBRARY": library._name})
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    return [line[1:] for line in lines if line[0] == "end"]


def test_without_a_context_is_a_status(tmp_path):
    seen = calls("no context", tmp_path)
    assert [name for name, _, _ in seen] == WITH_CONTEXT
    wrong = [name for name, result, _ in seen if name in STATUS and result != Status.ERROR_ARGUMENT]
    assert wrong == []


def test_nothing_but_nulls_never_crashes(tmp_path):
    assert len(calls("nothing", tmp_path)) == 2 * len(PARAMETERS) - 2


MPI_CALLS = """
import ctypes, sys
from heatball import _native_mpi
library = _native_mpi.load()
print(library.hb_team_mpi(None, None))
for name, (_, types) in _native_mpi.SIGNATURES.items():
    if name != "hb_team_mpi":
        print(name, getattr(library, name)(*[None if issubclass(t, ctypes._Pointer) else 0 for t in types]), flush=True)
count = [ctypes.c_uint64(7), ctypes.c_uint64(7)]
library.hb_team_mpi_traffic(None, *map(ctypes.byref, count))
print(*[c.value for c in count])
"""


def test_functions_of_mpi_h_take_null():
    """Before MPI has begun: none of them may call it."""
    if not any(os.path.exists(path) for _, path in _native_mpi.candidates() if os.sep in path):
        pytest.skip("libheatball-mpi.so is missing: it is built where Open MPI is")
    assert set(functions(code([MPI_HEADER.read_text()]))) == set(_native_mpi.SIGNATURES)
    done = subprocess.run([sys.executable, "-c", MPI_CALLS], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "HEATBALL_LIBRARY": library._name})
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert done.stdout.splitlines() == [
        str(int(Status.ERROR_ARGUMENT)), "hb_team_mpi_destroy None", "hb_team_mpi_alone 0", "hb_team_mpi_abort None",
        "hb_team_mpi_traffic None", "0 0"]


def test_settings_may_be_null_everywhere(tmp_path):
    """The defaults are taken; a training or a long sampling is stopped by its progress."""
    taken = {Status.OK, Status.ERROR_INTERRUPTED}
    for name, result, message in calls("no settings", tmp_path):
        if name == "hb_problem_create":  # no drift is the default
            assert result == Status.ERROR_ARGUMENT and "the drift is missing" in message
        elif name == "hb_images_load":  # there are no images here
            assert result == Status.ERROR_PATH, message
        elif name in ("hb_certify", "hb_certify_model"):  # there are few rows here
            assert result == Status.ERROR_ARGUMENT and "8 rows" in message
        else:
            assert result in taken, (name, result, message)


@pytest.mark.parametrize("what", ["larger", "smaller"])
def test_sizes_that_no_version_has_are_refused(tmp_path, what):
    seen = calls(what, tmp_path)
    assert len(seen) == (len(WITH_SETTINGS) + len(WITH_RESULT)) * (2 if what == "smaller" else 1)
    for name, result, message in seen:
        assert result == Status.ERROR_ARGUMENT, (name, result, message)
        if name != "hb_context_create":  # it has no context for words
            assert "the size of hb_" in message, (name, message)
            assert ("needs a newer library" in message) == (what == "larger"), (name, message)


NEWER = """
#include <heatball/budget.h>
#include <stdio.h>
int main(void)
{
    hb_context *context;
    hb_budget_settings settings;
    hb_budget budget;
    if (hb_context_create(NULL, &context) != HB_OK) return 9;
    hb_budget_settings_default(sizeof settings, &settings);
    const hb_status status = hb_budget_compute(context, &settings, sizeof budget, &budget);
    printf("%s", hb_context_message(context));
    hb_context_destroy(context);
    return (int)status;
}
"""


@pytest.mark.parametrize("grown", ["hb_budget_settings", "hb_budget", None])
def test_a_program_of_a_newer_header_is_refused_in_words(tmp_path, grown):
    """Headers with one more field, as a later version would have them, and this library."""
    (tmp_path / "heatball").mkdir()
    for path in HEADERS:
        text = path.read_text()
        (tmp_path / "heatball" / path.name).write_text(text.replace(f"}} {grown};", f"double more; }} {grown};"))
    (tmp_path / "newer.c").write_text(NEWER)
    directory = os.path.dirname(os.path.abspath(library._name))
    subprocess.run(["cc", "-std=c11", f"-I{tmp_path}", tmp_path / "newer.c", "-o", tmp_path / "newer",
                    os.path.abspath(library._name), f"-Wl,-rpath,{directory}"], check=True)
    done = subprocess.run([tmp_path / "newer"], capture_output=True, text=True)
    assert done.returncode == (Status.ERROR_ARGUMENT if grown else Status.OK)
    says = f"the size of {grown} is "
    assert says in done.stdout and "the program needs a newer library" in done.stdout if grown else not done.stdout


def test_the_library_never_ends_the_program_or_prints():
    for path in (ROOT / "src").rglob("*.[ch]"):
        text = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"", " ", path.read_text(), flags=re.S)
        assert not re.findall(r"(?<![\w.>])(?:assert|abort|exit|_exit|printf|puts|perror)\s*\(", text), path


if __name__ == "__main__":
    run_calls(*sys.argv[1:])

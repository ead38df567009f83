"""Every public function has a docstring with an example, and every example is true.

The tests share one run of the examples of each module.
"""

import doctest
import functools
import importlib
import importlib.util
import inspect
import os
import pathlib
import pkgutil
import subprocess
import sys
import typing

import pytest

import heatball
from heatball import _native_mpi

PUBLIC = {f"heatball.{name}": getattr(heatball, name) for name in heatball.__all__}
PUBLIC.update({f"heatball.random.{name}": getattr(heatball.random, name)
               for name in heatball.random.__all__})
for part in (heatball.metrics, heatball.ball):
    PUBLIC.update({f"{part.__name__}.{name}": getattr(part, name) for name in part.__all__
                   if getattr(part, name) not in PUBLIC.values()})
PUBLIC.update({f"heatball.mpi.{name}": getattr(heatball.mpi, name) for name in heatball.mpi.__all__})
TORCH = importlib.util.find_spec("torch") is not None
if TORCH:
    import heatball.torch
    PUBLIC.update({f"heatball.torch.{name}": getattr(heatball.torch, name) for name in heatball.torch.__all__})
CALLABLE = sorted(name for name, thing in PUBLIC.items() if callable(thing))
MODULES = ["heatball"] + [f"heatball.{module.name}"
                          for module in pkgutil.iter_modules(heatball.__path__)
                          if module.name not in ("mpi", "judge") and (TORCH or module.name != "torch")]


@functools.cache
def examples(name):
    """What became of the examples of a module; they are run once."""
    return doctest.testmod(importlib.import_module(name))


@pytest.mark.parametrize("name", CALLABLE)
def test_has_docstring_with_example(name):
    text = inspect.getdoc(PUBLIC[name]) or ""
    assert "Examples\n--------" in text and ">>> " in text


def methods():
    """(name, method) of everything public that a user finds on the classes, also what they inherit from each other."""
    for name, thing in PUBLIC.items():
        if inspect.isclass(thing) and not issubclass(thing, Exception) and not name.startswith("heatball.mpi"):
            for member in dir(thing):
                found = inspect.getattr_static(thing, member)
                found = found.__func__ if isinstance(found, (classmethod, staticmethod)) else found
                if not member.startswith("_") and inspect.isfunction(found):
                    yield f"{name}.{member}", found


METHODS = dict(methods())


@pytest.mark.parametrize("name", METHODS)
def test_examples_of_methods(name):
    """They are run here: doctest passes over methods of classes that are shown as the package's own."""
    if name == "heatball.Result.copy":
        return  # as dict has it
    runner, (test,) = doctest.DocTestRunner(), doctest.DocTestFinder().find(METHODS[name], name, module=False)
    assert runner.run(test).failed == 0 and test.examples


def public_functions():
    yield from ((name, PUBLIC[name]) for name in CALLABLE if not inspect.isclass(PUBLIC[name]))
    yield from METHODS.items()
    yield from ((f"{name}.__init__", PUBLIC[name].__init__) for name in ("heatball.Classifier", "heatball.Mixture", "heatball.Error"))


@pytest.mark.parametrize("name, function", public_functions())
def test_has_type_hints(name, function):
    """Every parameter and the result, and every name in them can be looked up."""
    hints = typing.get_type_hints(function)
    parameters = [one for one in inspect.signature(function).parameters if one not in ("self", "cls")]
    assert set(hints) == {*parameters, "return"}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert examples(name).failed == 0


def test_examples_of_mpi():
    """In a process of their own, which they make one of MPI's."""
    if not any(os.path.exists(path) for _, path in _native_mpi.candidates() if os.sep in path):
        pytest.skip("libheatball-mpi.so is missing: it is built where Open MPI is")
    done = subprocess.run([sys.executable, "-c", "import doctest, heatball.mpi; print(doctest.testmod(heatball.mpi))"],
                          capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[2] / "python")})
    assert done.stdout.startswith("TestResults(failed=0, attempted="), done.stdout + done.stderr
    assert "attempted=0" not in done.stdout


def test_examples_were_run():
    tried = sum(examples(name).attempted for name in MODULES)
    assert tried >= 2 * len(CALLABLE)


# ---- the form of numpydoc, from which the reference is generated ------------------------------------

SECTIONS = ["", "Parameters", "Attributes", "Returns", "Raises", "See Also", "Notes", "References", "Examples"]
MADE = {"Solution", "Evaluation", "Residual", "LogLikelihood", "Balls", "Adapter", "LogDensity", "Team", "Model", "Certificate"}
DESCRIBED = dict(public_functions()) | {name: PUBLIC[name] for name in CALLABLE if inspect.isclass(PUBLIC[name])}
DESCRIBED = {name: thing for name, thing in DESCRIBED.items() if not name.endswith("__init__")}


def sections(thing):
    """The sections of a docstring by their names, in their order; "" is what stands before the first."""
    lines, found, name = (inspect.getdoc(thing) or "").splitlines(), {"": []}, ""
    for k, line in enumerate(lines):
        if k + 1 < len(lines) and lines[k + 1] and set(lines[k + 1]) == {"-"} and len(lines[k + 1]) == len(line):
            name = line
            assert name not in found, f"{name} stands twice"
            found[name] = []
        elif not (k and set(line) == {"-"} and len(line) == len(lines[k - 1]) and line):
            found[name].append(line)
    return found


def entries(lines):
    """(names, type, description) of each entry of a section."""
    out = []
    for line in lines:
        if line and not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            out.append((names.split(", "), kind, []))
        elif line:
            out[-1][2].append(line.strip())
    return [(names, kind, " ".join(text)) for names, kind, text in out]


def faults(name, thing):
    """What is wrong with a docstring, a sentence for each."""
    found, out = sections(thing), []
    places = [SECTIONS.index(section) if section in SECTIONS else -1 for section in found]
    if places != sorted(places) or -1 in places:
        out.append(f"the sections are {list(found)}")
    summary = found[""][0] if found[""] else ""
    if not summary.endswith(".") or len(summary) > 120 or len(found[""]) > 1 and found[""][1]:
        out.append(f"the summary is no sentence in one line: {summary!r}")
    told = entries(found.get("Parameters", []))
    for names, kind, text in told + entries(found.get("Attributes", [])):
        out += [f"{names} has no type"] * (not kind) + [f"{names} has no description"] * (not text)
    made = inspect.isclass(thing) and thing.__name__ in MADE
    wanted = [("*" * (one.kind == one.VAR_POSITIONAL) + "**" * (one.kind == one.VAR_KEYWORD)) + one.name
              for one in inspect.signature(thing).parameters.values() if one.name not in ("self", "cls")] if not made else []
    documented = [name for names, _, _ in told for name in names]
    if documented != wanted:
        out.append(f"the parameters are {wanted}, documented are {documented}")
    returns = inspect.isfunction(thing) and typing.get_type_hints(thing).get("return")
    if returns and returns is not type(None):
        values = entries(found.get("Returns", []))
        out += ["there is no Returns"] * (not values) + [f"{names} has no description" for names, _, text in values if not text]
    return out


@pytest.mark.parametrize("name", sorted(DESCRIBED))
def test_docstrings_have_the_form_of_numpydoc(name):
    assert faults(name, DESCRIBED[name]) == []


@pytest.mark.parametrize("name", sorted(DESCRIBED))
def test_see_also_names_what_there_is(name):
    module = sys.modules[DESCRIBED[name].__module__]
    for names, kind, text in entries(sections(DESCRIBED[name]).get("See Also", [])):
        for one in names:
            place = module if hasattr(module, one.split(".")[0]) and not one.startswith("heatball.") else heatball
            for part in one.removeprefix("heatball.").split("."):
                place = getattr(place, part)
            assert callable(place) or inspect.ismodule(place)


def test_faults_are_found():
    def wrong(x: int, y: int) -> int:
        """Do something

        Returns
        -------
        int

        Parameters
        ----------
        x
            The first.
        z : int
        """
        return x

    said = " ".join(faults("wrong", wrong))
    for part in ("the sections are", "is no sentence", "['x'] has no type", "['z'] has no description", "documented are ['x', 'z']",
                 "['int'] has no description"):
        assert part in said

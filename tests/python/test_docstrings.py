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
PUBLIC.update({f"heatball.mpi.{name}": getattr(heatball.mpi, name) for name in heatball.mpi.__all__})
TORCH = importlib.util.find_spec("torch") is not None
if TORCH:
    import heatball.torch
    PUBLIC.update({f"heatball.torch.{name}": getattr(heatball.torch, name) for name in heatball.torch.__all__})
CALLABLE = sorted(name for name, thing in PUBLIC.items() if callable(thing))
MODULES = ["heatball"] + [f"heatball.{module.name}"
                          for module in pkgutil.iter_modules(heatball.__path__)
                          if module.name != "mpi" and (TORCH or module.name != "torch")]


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


@pytest.mark.parametrize("name", CALLABLE)
def test_parameters_are_documented(name):
    """Each parameter of a public function is named in its docstring, or in the one it points to."""
    if inspect.isclass(PUBLIC[name]):
        return
    text = inspect.getdoc(PUBLIC[name])
    if "those of `normal`" in text:
        text += inspect.getdoc(heatball.random.normal)
    for parameter in inspect.signature(PUBLIC[name]).parameters:
        assert parameter in text

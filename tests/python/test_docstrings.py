"""Every public function has a docstring with an example, and every example is true."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import heatball

PUBLIC = {f"heatball.{name}": getattr(heatball, name) for name in heatball.__all__}
PUBLIC.update({f"heatball.random.{name}": getattr(heatball.random, name)
               for name in heatball.random.__all__})
CALLABLE = sorted(name for name, thing in PUBLIC.items() if callable(thing))
MODULES = ["heatball"] + [f"heatball.{module.name}"
                          for module in pkgutil.iter_modules(heatball.__path__)]


@pytest.mark.parametrize("name", CALLABLE)
def test_has_docstring_with_example(name):
    text = inspect.getdoc(PUBLIC[name]) or ""
    assert "Examples\n--------" in text and ">>> " in text


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_examples_were_run():
    tried = sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES)
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

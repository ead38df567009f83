"""Errors of `heatball.solve` by kind, their old names, and the configuration of a solution.

Oracles: the table of methods in docs/reference/commands/solve.md, written out here, and the same call again.
"""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import heatball

START = "gaussian(mean=0.1, var=0.7)"


def test_kinds_by_method():
    for method, drift, more, kind in (("grid", "x - x^3", {}, "error estimate"), ("walk", "x - x^3", dict(samples=2000), "standard error"),
                                      ("particles", "x - x^3", dict(samples=2000), "standard error"), ("walk", "-x", {}, "bound"),
                                      ("meanvalue", "-x", dict(samples=500), "standard error"),
                                      ("meanvalue", "-x", dict(degree=5), "error estimate")):
        s = heatball.solve(drift, 1, START, 0.2, [0.1, 1.0], method=method, **more)
        assert s.error_kind.tolist() == [kind] * 2, method
        assert f"errors: {kind}" in repr(s) and "error_kind" not in repr(s)
        assert s.to_dict()["error_kind"] == [kind] * 2


def test_kinds_of_several_times():
    s = heatball.solve("x - x^3", 1, START, [0, 0.2, 0.4], [0.1, 1.0])
    assert s.error_kind.tolist() == [["bound"] * 2] + [["error estimate"] * 2] * 2
    assert "errors of several kinds" in repr(s) and "error_kind" in repr(s).splitlines()[1]
    assert s._columns()["error_kind"].tolist() == ["bound"] * 2 + ["error estimate"] * 4


def test_kinds_of_points_that_auto_shares():
    s = heatball.solve("x[i] - x[i]^3", 1, "gaussian(mean=0, var=0.3)", 0.2, [[0.1] * 4], dim=4, samples=4000)
    assert s.methods[0] in ("walk", "particles") and s.error_kind.tolist() == ["standard error"]


def test_old_names_warn_once():
    script = textwrap.dedent("""
        import sys, warnings
        import heatball
        s = heatball.solve("-x", 1, "gaussian(mean=0, var=1)", 0.2, [[0.1]])
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for name in ("density", "log_density", "score", "entropy_density"):
                for _ in range(3):
                    assert getattr(s, name + "_se") is getattr(s, name + "_error")
        print([(w.category.__name__, str(w.message).split(";")[0]) for w in seen])
        assert not hasattr(s, "radius_se") and not hasattr(s, "density_sd")
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    names = ("density", "log_density", "score", "entropy_density")
    assert done.stdout.strip() == str([("DeprecationWarning", f"{name}_se is now {name}_error") for name in names])


@pytest.mark.parametrize("given", [dict(drift="a*x - x^3", noise=1.1, params={"a": 0.3}, time=[0.1, 0.2], at=np.array([[0.1], [0.5]])),
                                   dict(drift="x - x^3", time=0.2, at=[[0.3]], method="walk", samples=2000, seed=9)])
def test_the_configuration_solves_again(given):
    s = heatball.solve(initial=START, **given)
    assert set(s.config) == {*given, "initial", "heatball"} and s.config["heatball"] == heatball.__version__
    again = heatball.solve(**s.config)
    assert again.config.keys() == s.config.keys()
    for name in ("density", "density_error", "score", "score_error"):
        assert np.array_equal(getattr(s, name), getattr(again, name))

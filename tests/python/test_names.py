"""The names of the package: modules, short names, deprecated ones, and what functions return."""
import importlib
import inspect
import subprocess
import sys
import warnings

import numpy as np
import pytest

import heatball

DOORS = ("solve", "train", "certify", "import heatball.torch", "ScoreDensity", "metrics", "ball")


def test_the_package_names_its_doors():
    assert all(door in heatball.__doc__ for door in DOORS)
    assert heatball.__all__[0] == "solve" and len(heatball.__all__) == len(set(heatball.__all__))
    shown = [name for name in dir(heatball) if not name.startswith("__")]
    assert set(shown) | {"__version__"} == set(heatball.__all__)
    assert not [name for name in shown if name.startswith("_")] and not {"sde", "nodes", "data", "annotations"} & set(shown)


def test_every_name_of_all_is_there_also_by_a_star():
    space = {}
    exec("from heatball import *", space)
    assert set(heatball.__all__) <= set(space)


@pytest.mark.parametrize("module", [heatball.metrics, heatball.ball])
def test_functions_of_modules_have_docstrings(module):
    for name in module.__all__:
        assert inspect.getdoc(getattr(module, name)), name
        assert name not in heatball.__all__ or getattr(heatball, name) is getattr(module, name), name


def test_judge_is_metrics_with_a_warning():
    sys.modules.pop("heatball.judge", None)
    vars(heatball).pop("judge", None)
    with pytest.warns(DeprecationWarning, match="heatball.judge is now heatball.metrics"):
        module = heatball.judge
    assert module.mmd is heatball.metrics.mmd and set(module.__all__) == set(heatball.metrics.__all__)
    sys.modules.pop("heatball.judge")
    with pytest.warns(DeprecationWarning, match="heatball.judge is now heatball.metrics"):
        importlib.import_module("heatball.judge")


def test_the_package_itself_warns_of_nothing():
    done = subprocess.run([sys.executable, "-W", "error", "-c", "import heatball; heatball.dataset_names()"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_torch_is_imported_by_its_name():
    done = subprocess.run([sys.executable, "-c", "import heatball; heatball.torch"], capture_output=True, text=True)
    assert "heatball.torch is loaded by `import heatball.torch`" in done.stderr
    with pytest.raises(AttributeError, match="module 'heatball' has no attribute 'slove'"):
        heatball.slove


def test_draws_and_nodes_have_names():
    draws, nodes = heatball.ball.sample("kappa", 2, 5), heatball.ball.nodes("kappa", 2, degree=3)
    z, sigma = draws
    assert z is draws.z and sigma is draws.sigma and len(nodes) == 3 and nodes.weight is nodes[2]


def test_a_dataset_is_a_mixture():
    assert all(isinstance(heatball.dataset(name), heatball.Mixture) for name in heatball.dataset_names())
    with pytest.warns(DeprecationWarning, match="take dataset_names"):
        assert heatball.dataset() == heatball.dataset_names()
    with pytest.raises(ValueError):
        heatball.dataset("moons")


def test_residuals_are_of_one_kind():
    problem = heatball.residual("-x", "sqrt(2)", "gaussian(mean=1, var=0.4)", 0.5, [0.3, 1.7], [0.2, 0.4])
    log_density = heatball.residual(lambda x, tau: -0.5 * (x**2).sum(1), [[0.3, 1.7]], 0.5, [0.2])
    score = heatball.residual(lambda x, tau: -x, [[0.3, 1.7]], 0.5, radius_fraction=[0.2, 0.3])
    for r, n, k in ((problem, 2, 2), (log_density, 1, 1), (score, 1, 2)):
        assert type(r) is heatball.Residual and isinstance(r, dict) and r["scaled"] is r.scaled
        assert list(r) == ["radius", "residual", "residual_error", "scaled", "scaled_error"]
        assert r.radii.shape == (n, k) and r.residual.shape[:2] == (n, k) and r.x.shape[0] == r.tau.shape[0] == n
        assert r.is_vector is (r is score) and r.copy().radii is r.radii
    assert np.abs(problem.tau - 0.5).max() < 1e-12 and score.tau.tolist() == [0.5] and problem.radius.shape == (2,)
    pytest.importorskip("matplotlib").use("Agg")
    assert score.plot("scaled_1").get_xlabel() == "radius"


MOVED = {"ball": ["sample", "kernel", "constants", "cubature"],
         "metrics": ["mmd", "mmd_floor", "kolmogorov", "precision_recall", "nearest", "memorisation", "artifacts", "artifact_threshold",
                     "curl", "helmholtz"]}


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in MOVED.items() for name in names])
def test_short_names_of_modules_warn(module, name):
    new = "nodes" if name == "cubature" else name
    with pytest.warns(DeprecationWarning, match=rf"heatball\.{name} is now heatball\.{module}\.{new}; the old name goes") as found:
        assert getattr(heatball, name) is getattr(getattr(heatball, module), new)
    assert found[0].filename == __file__
    with pytest.warns(DeprecationWarning):
        exec(f"from heatball import {name}")
    assert name not in dir(heatball) and name not in heatball.__all__


def test_new_names_of_modules_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert heatball.ball.sample("kappa", 1, 2) and heatball.metrics.mmd(np.eye(4), np.eye(4))


def test_old_names_of_arguments_warn():
    gaussian = "gaussian(mean=0, var=1)"
    calls = {"points is now cells": lambda: heatball.solve("-x", 1, gaussian, 0.1, [0.5], points=64),
             "share is now radius_fraction": lambda: heatball.residual(lambda x, tau: -x, [[0.3]], 0.5, share=[0.2]),
             "share is now time_fraction": lambda: heatball.balls([[0.3]], [0.5], share=0.1),
             "at is now tau": lambda: heatball.budget(2, 1.0, 0.5, at=0.1),
             "method is now loss": lambda: heatball.train(np.eye(3), method="dsm", steps=1, width=2),
             "clip is now clip_gradient": lambda: heatball.train(np.eye(3), "dsm", steps=1, width=2, clip=2.0),
             "residual is now skip": lambda: heatball.train(np.eye(3), "dsm", steps=1, width=2, residual=True),
             "samples is now flow_samples": lambda: heatball.certify(lambda x, tau: -x, np.eye(100), rows=100, pairs=1, samples=0, tau=[0.3]),
             "tolerance is now ode_tolerance": lambda: heatball.generate(lambda x, tau: -x, 2, "ode", dim=1, tolerance=0.1),
             "share is now fraction": lambda: heatball.metrics.artifact_threshold(np.zeros((2, 5, 5)), share=0.5),
             "the method network is now guided": lambda: heatball.solve("x - x^3", 1, gaussian, 0.1, [0.5], method="network", samples=64),
             "training has no effect, because the method guided fits": lambda: heatball.solve("-x", 1, gaussian, 0.1, [0.5], training=10),
             "training_steps has no effect": lambda: heatball.solve("-x", 1, gaussian, 0.1, [0.5], training_steps=10)}
    for words, call in calls.items():
        with pytest.warns(DeprecationWarning, match=words):
            call()
    model = heatball.train(np.eye(3), "dsm", steps=1, width=2)
    for old, new in (("method", "loss"), ("residual", "skip")):
        with pytest.warns(DeprecationWarning, match=f"{old} is now {new}"):
            assert getattr(model, old) == model.info[new]
    with pytest.warns(DeprecationWarning):
        assert heatball.solve("x - x^3", 1, gaussian, 0.1, [0.5], method="network", samples=64).method == "guided"
    new = heatball.balls([[0.3]], [0.5], time_fraction=0.1)
    assert new.time_fraction == new.share == 0.1
    with pytest.raises(TypeError, match="give cells alone"):
        heatball.solve("-x", 1, gaussian, 0.1, [0.5], points=64, cells=64)


def test_old_names_of_errors_warn():
    r = heatball.residual(lambda x, tau: -x, [[0.3]], 0.5, [0.2])
    for old, new in (("residual_se", "residual_error"), ("scaled_se", "scaled_error")):
        with pytest.warns(DeprecationWarning, match=f"{old} is now {new}"):
            assert r[old] is r[new]
        with pytest.warns(DeprecationWarning, match=f"{old} is now {new}"):
            assert getattr(r, old) is r[new]

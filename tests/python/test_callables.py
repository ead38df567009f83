"""Scores and log-densities of users: what they may return, what they raise, Ctrl-C, and the calls that take them.

Truths are closed forms of Gaussians, written here, and the mixtures of the library, which test_data_judge.py compares
with SciPy.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import heatball
from heatball._callables import as_field

GMM = heatball.dataset("asymmetric_gmm")
X = np.random.default_rng(7).normal(size=(40, 2))
VAR = np.array([0.385, 1.7])


def variance(tau):
    """Of N(0, diag VAR) under "ou"."""
    shrink = np.exp(-2 * np.asarray(tau))[..., None]
    return shrink * VAR + 1 - shrink


def gaussian_score(x, tau):
    return -x / variance(tau)


def gaussian_log_density(x, tau):
    return -0.5 * (x**2 / variance(tau) + np.log(2 * np.pi * variance(tau))).sum(axis=1)


# ---- mixtures at a tau for each row -----------------------------------------------------------------

@pytest.mark.parametrize("process", ["ou", "ve"])
def test_mixture_takes_a_tau_for_each_row(process):
    tau = np.geomspace(1e-3, 3, len(X))[np.random.default_rng(1).permutation(len(X))]
    tau[5:9] = 0.25
    for method in (GMM.score, GMM.log_density):
        one_by_one = np.concatenate([method(X[i:i + 1], tau[i], process=process) for i in range(len(X))])
        assert np.array_equal(method(X, tau, process=process), one_by_one)
        assert np.array_equal(method(X, np.full(len(X), 0.3), process=process), method(X, 0.3, process=process))
    with pytest.raises(ValueError, match="tau has 3 values; x has 40 rows"):
        GMM.score(X, [1.0, 2, 3])
    with pytest.raises(ValueError, match="tau is -1"):
        GMM.score(X, np.full(len(X), -1.0))
    with pytest.raises(ValueError, match="coordinate 2 of point 3 is nan"):
        GMM.score(np.where(np.arange(80).reshape(40, 2) == 5, np.nan, X), np.full(len(X), 1.0))


# ---- what a function may return ---------------------------------------------------------------------

def in_torch(dtype):
    torch = pytest.importorskip("torch")
    return lambda x, tau: torch.tensor(gaussian_score(x, tau), requires_grad=True).to(getattr(torch, dtype))


@pytest.mark.parametrize("make, error", [
    (lambda: gaussian_score, 0),
    (lambda: lambda x, tau: gaussian_score(x, tau).tolist(), 0),
    (lambda: lambda x, tau: np.asfortranarray(gaussian_score(x, tau)), 0),
    (lambda: lambda x, tau: gaussian_score(x, tau).astype(np.float32), 1e-6),
    (lambda: lambda x, tau: gaussian_score(x, tau).astype(np.float16), 1e-2),
    (lambda: in_torch("float64"), 0),
    (lambda: in_torch("float32"), 1e-6),
    (lambda: in_torch("bfloat16"), 3e-2),
    (lambda: type("Has", (), {"score": staticmethod(gaussian_score)})(), 0),
    (lambda: type("Both", (), {"score": staticmethod(gaussian_score), "log_density": None})(), 0),
    (lambda: gaussian_log_density, 1e-7),
    (lambda: type("Has", (), {"log_density": staticmethod(gaussian_log_density)})(), 1e-7),
])
def test_values_of_any_kind_are_the_same_score(make, error):
    for tau in (0.3, np.linspace(0.05, 2, len(X))):
        found = as_field(make()).score(X.copy(), tau)
        assert found.dtype == np.float64 and found.flags["C_CONTIGUOUS"]
        assert np.abs(found - gaussian_score(X, np.broadcast_to(tau, len(X)))).max() <= error


def test_arguments_of_a_function():
    seen = []

    def f(x, tau):
        seen.append((x.shape, tau.shape, x.dtype, tau.dtype, x.flags.writeable, float(np.ptp(tau))))
        x *= 1e9  # it is f's own
        tau *= -1
        return -np.ones_like(x)

    heatball.metrics.curl(f, X, 0.3)
    heatball.generate(f, 30, "heun", dim=2, n_steps=4)
    heatball.log_likelihood(f, X)
    GMM.score_error(f, 0.3, n=100)
    heatball.residual(f, X[:2], 0.3, [0.2])
    for shape, of_tau, *kinds in seen:
        assert shape == (of_tau[0], 2) and kinds[:3] == [np.float64, np.float64, True]
    assert {entry[-1] == 0 for entry in seen} == {True, False}  # of residual each row has its own


@pytest.mark.parametrize("f, kind, words", [
    (None, TypeError, "f is None; it must be a function"),
    (3.0, TypeError, "f is 3.0; it must be a function"),
    (float, TypeError, "it must be a function"),
    (lambda x, tau: x[:, :1], ValueError, r"f returned shape \(.*, 1\) for x of shape \(.*, 2\); it must be \(.*, 2\), a score, or"),
    (lambda x, tau: x[:-1], ValueError, "it must be"),
    (lambda x, tau: x.T, ValueError, "it must be"),
    (lambda x, tau: 1.0, ValueError, "it must be"),
    (lambda x, tau: None, TypeError, "the value of f is None"),
    (lambda x, tau: x * 1j, TypeError, "dtype complex128"),
    (lambda x, tau: [[1, 2], [3]], TypeError, "different lengths"),
    (lambda x, tau: "text", TypeError, "must be an array of real numbers"),
    (lambda x, tau: np.where(x > 0.5, np.nan, x), heatball.Error, r"f is nan at x = \(.*\), tau = .*; it must be finite"),
    (lambda x, tau: np.where(x > 0.5, np.inf, x), heatball.Error, "f is inf at x"),
    (lambda x: x, TypeError, "positional argument"),
    (lambda x, tau: 1 / 0, ZeroDivisionError, "division"),
])
def test_wrong_functions_are_named(f, kind, words):
    with pytest.raises(kind, match=words):
        heatball.log_likelihood(f, X)
    with pytest.raises(kind, match=words):
        heatball.generate(f, 20, "ode", dim=2)


def test_what_a_function_raises_comes_back_itself():
    class Own(BaseException):
        pass

    raised, calls = Own("mine"), []

    def f(x, tau):
        calls.append(len(x))
        if len(calls) == 5:
            raise raised
        return -x

    for call in (lambda: heatball.log_likelihood(f, X), lambda: heatball.generate(f, 9, dim=2),
                 lambda: heatball.residual(f, X, np.linspace(0.1, 1, len(X)), radius_fraction=[0.3]),
                 lambda: heatball.log_likelihood(lambda x, tau: -x, X, divergence=lambda x, tau: f(x, tau)[:, 0]),
                 lambda: [heatball.metrics.curl(f, X) for _ in range(9)], lambda: [GMM.score_error(f, 1, n=90) for _ in range(9)]):
        calls.clear()
        with pytest.raises(Own) as found:
            call()
        assert found.value is raised and len(calls) == 5
    assert heatball.log_likelihood(gaussian_score, X).log_likelihood.shape == (40,)  # nothing is left behind


def test_a_rough_log_density_is_refused():
    with pytest.raises(heatball.Error, match="too rough for differences"):
        heatball.score_error(lambda x, tau: GMM.log_density(x, tau).astype(np.float32), GMM, 0.01, n=100)


# ---- Ctrl-C ------------------------------------------------------------------------------------------

BEGIN = """
import heatball, sys, time
import numpy as np
first = [True]
def f(x, tau):
    if first[0]:
        print("begun", flush=True)
        first[0] = False
    {work}
    return -x
try:
    {call}
except KeyboardInterrupt:
    print(heatball.log_likelihood(lambda x, tau: -x, [[0.5]]).log_likelihood.shape, flush=True)
    sys.exit(7)
"""
INSIDE, SHORT = "time.sleep(60)", "time.sleep(0.001)"
CALLS = {
    "inside": (INSIDE, "heatball.log_likelihood(f, np.zeros((9, 2)))"),
    "likelihood": (SHORT, "[heatball.log_likelihood(f, np.zeros((9, 40)), divergence='exact') for _ in range(10**6)]"),
    "generate": (SHORT, "heatball.generate(f, 9, dim=2, n_steps=1000000)"),
    "residual": (SHORT, "heatball.residual(f, np.zeros((9, 2)), 1.0, [0.2], samples=10**9)"),
    "score_error": (SHORT, "[heatball.score_error(f, 'ring', 0.3) for _ in range(10**6)]"),
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c(name):
    work, call = CALLS[name]
    child = subprocess.Popen([sys.executable, "-c", BEGIN.format(work=work, call=call)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1",
                             "PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[2] / "python")})
    try:
        assert child.stdout.readline() == b"begun\n"
        time.sleep(0.3)
        start = time.monotonic()
        for _ in range(5):  # Python drops a signal that comes while it destroys an object
            child.send_signal(signal.SIGINT)
            try:
                text, errors = child.communicate(timeout=6)
                break
            except subprocess.TimeoutExpired:
                continue
    finally:
        child.kill()
    assert (child.returncode, text) == (7, b"(1,)\n")
    assert errors == b"" or b"Exception ignored in: <finalize object" in errors
    assert time.monotonic() - start < 30


# ---- the calls --------------------------------------------------------------------------------------

@pytest.mark.parametrize("solver, settings", [("sde", {"n_steps": 80}), ("ode", {}), ("heun", {"n_steps": 30})])
def test_samples_of_a_gaussian(solver, settings):
    n = 4000
    x = heatball.generate(gaussian_score, n, solver, dim=2, covariance=np.diag(VAR), seed=3, **settings)
    assert np.abs(x.mean(axis=0) / np.sqrt(VAR / n)).max() < 5
    assert np.abs(x.var(axis=0) / VAR - 1).max() < 5 * np.sqrt(2 / n) + 0.03  # sde: bias of the corrector
    again = heatball.generate(gaussian_log_density, 50, solver, covariance=np.diag(VAR), seed=3, first=10, **settings)
    assert np.abs(again - x[10:60]).max() < 1e-4


def test_samples_of_objects_are_those_of_their_scores():
    score = lambda x, tau: GMM.score(x, tau, process="ve", threads=1)  # noqa: E731
    given = dict(process="ve", tau_max=50, seed=2)
    own = heatball.generate(GMM, 60, "ode", **given)
    assert np.array_equal(own, heatball.generate(score, 60, "ode", mean=GMM.mean(), covariance=GMM.covariance(), **given))
    model = heatball.train(GMM, n=200, steps=20, width=8, depth=1)
    assert np.array_equal(heatball.generate(model, 20, "ode"), model.generate(20, "ode"))
    with pytest.raises(ValueError, match="mean is given, but f is a Model"):
        heatball.generate(model, 20, mean=[0, 0])
    with pytest.raises(TypeError, match="dim is missing"):
        heatball.generate(score, 20)
    with pytest.raises(ValueError, match="label is given, but f is not a Model"):
        heatball.generate(score, 20, dim=2, label=1)


def test_residual_of_a_log_density_and_of_a_score():
    """v = c ln N(0, I) under "ou" has q = (d_tau - Lap) v - h_v = c d - c^2 |x|^2 + c |x|^2 - d, and grad q."""
    c, tau = 1.07, 0.6
    log_density = lambda x, tau: -0.5 * c * (x**2).sum(axis=1)  # noqa: E731
    q = c * 2 - 2 + (c - c**2) * (X**2).sum(axis=1)
    found = heatball.residual(log_density, X, tau, [0.05, 0.1])
    assert found["scaled"].shape == (40, 2)
    assert np.abs(found["scaled"][:, 0] - q).max() < 1e-3
    found = heatball.residual(lambda x, tau: -c * x, X, tau, [0.05, 0.1])
    assert found["scaled"].shape == (40, 2, 2)
    assert np.abs(found["scaled"] - 2 * (c - c**2) * X[:, None]).max() < 1e-6
    exact = heatball.residual(gaussian_log_density, X, np.linspace(0.1, 1, 40), radius_fraction=[0.2, 0.4])
    assert exact["radius"].shape == (40, 2)
    assert (np.abs(exact["scaled"]) < 5 * exact["scaled_error"] + 1e-6).all()
    drawn = heatball.residual(lambda x, tau: -c * x, X[:4], tau, [0.1], samples=4000)
    assert (np.abs(drawn["scaled"] - 2 * (c - c**2) * X[:4, None]) < 5 * drawn["scaled_error"]).all()


def test_residual_under_other_processes():
    exact = heatball.residual(lambda x, tau: -x / (VAR + 2 * tau[:, None]), X, 0.5, [0.2], process="ve")
    assert np.abs(exact["scaled"]).max() < 1e-8
    typed = heatball.residual(lambda x, tau: -2 * x, X, 0.5, [0.2], process="-a*x, -a*y", params={"a": 2})
    assert np.abs(typed["scaled"]).max() < 1e-8
    model = heatball.train(3 + 2 * X, n=40, steps=10, width=8, depth=1)
    assert heatball.residual(model, X, 0.5, [0.2])["scaled"].shape == (40, 1)
    with pytest.raises(TypeError, match="residual\\(f, x, tau\\)"):
        heatball.residual("-x", "1", "gaussian(mean=0,var=1)", 1, [0.5], process="ve")
    with pytest.raises(ValueError, match="process is 'vp'; it must be ou, ve, or a drift"):
        heatball.residual(gaussian_score, X, 0.5, [0.2], process="vp")


def test_score_error_and_evaluate():
    off = lambda x, tau: GMM.score(x, tau, threads=1) + [0.3, 0.4]  # noqa: E731
    found = heatball.score_error(off, "asymmetric_gmm", 0.3, n=500)
    assert found == GMM.score_error(off, 0.3, n=500) and abs(found["all"] - 0.25) < 1e-12
    assert heatball.score_error(GMM, GMM, 0.3, n=500)["all"] == 0
    assert heatball.score_error(lambda x, tau: GMM.log_density(x, tau), GMM, 0.3, n=500)["all"] < 1e-12
    with pytest.raises(TypeError, match="truth is 3"):
        heatball.score_error(off, 3, 0.3)
    result = heatball.evaluate(lambda x, tau: GMM.score(x, tau, threads=1), GMM, [0.3], n=1000, samples=400, solver="ode",
                               likelihood=100)
    assert result["tau"][0]["mse"] == 0 and result["tau"][0]["curl"] < 1e-9
    assert result["modes"] == result["modes_true"] and abs(result["mmd2"]) < 5 * result["mmd2_se"]
    rows = GMM.sample(1000, seed=42)[:100]
    exact = GMM.log_density(rows, 1e-3)
    assert abs(result["log_likelihood"] - exact.mean()) < 1e-3
    assert abs(result["bits_per_dim"] + exact.mean() / (2 * np.log(2))) < 1e-3
    result = heatball.evaluate(gaussian_score, X, [0.3], samples=0)
    assert list(result) == ["tau"] and "mse" not in result["tau"][0]


@pytest.mark.parametrize("dim", [1, 3])
def test_residuals_count_single_precision(dim):
    """An exact score and log-density of N(0, 1) rounded to float32: the errors know of it, those of float64 do not."""
    x = np.random.default_rng(5).normal(size=(30, dim))
    score, log_density = (lambda x, tau: -x), (lambda x, tau: -0.5 * (x**2).sum(axis=1))
    for f in (score, log_density) if dim == 1 else (score,):
        single = heatball.residual(lambda x, tau: f(x, tau).astype(np.float32), x, 0.3, [0.1, 0.2])
        assert (np.abs(single.residual) < 3 * single.residual_error).all()
        assert (np.abs(single.scaled) < 3 * single.scaled_error).all() and single.residual_error.max() < 1e-5
        assert heatball.residual(f, x, 0.3, [0.1]).residual_error.max() < 1e-10


def test_evaluate_says_how_many_rows_it_needs():
    """Of the caller's data, not of what is made from it, and without warnings of NumPy."""
    for n, words in ((0, "data has 0 rows"), (1, "data has 1 row;"), (7, "at least 8")):
        with pytest.raises(heatball.ArgumentError, match=words):
            heatball.evaluate(gaussian_score, X[:n])


def test_masked_values_are_refused():
    """A masked entry is no number: neither of a function nor of rows."""
    rows = np.full((4, 2), 2.0)
    with pytest.raises(TypeError, match="the value of f is a masked array with .* masked entries"):
        heatball.log_likelihood(lambda x, tau: np.ma.masked_array(-x, mask=x > 1), rows)
    with pytest.raises(TypeError, match="x is a masked array with 1 masked entries"):
        heatball.log_likelihood(lambda x, tau: -x, np.ma.masked_array(rows, mask=np.arange(8).reshape(4, 2) == 3))
    plain = heatball.log_likelihood(lambda x, tau: np.ma.masked_array(-x), rows)  # nothing is masked
    assert np.array_equal(plain.log_likelihood, heatball.log_likelihood(lambda x, tau: -x, rows).log_likelihood)

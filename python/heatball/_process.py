"""The process that noise is added by, as the library takes it."""

import contextlib
import ctypes

import numpy as np

from heatball._arguments import array, choice, pointer, shown
from heatball._context import call
from heatball._errors import ArgumentError
from heatball._native import Problem, ProblemSettings, Process, library
from heatball.sde import CONVENTIONS, drift_text, fill_parameters, noise_text

PROCESSES = {"ou": Process.PROCESS_OU, "ve": Process.PROCESS_VE}
FORMULAS = {"ou": "-x[i]", "ve": "0"}  # of the drifts, in any dimension


@contextlib.contextmanager
def drift_problem(drift, params, dim, noise=None, convention=None):
    """Yield the problem of a typed drift, or None; with noise sqrt(2), that of None, its t is tau."""
    if convention is not None and noise is None:
        raise ArgumentError("convention is given without noise")
    if drift is None:
        if params or noise is not None:
            raise ArgumentError(f"{'params' if params else 'noise'} is given without drift")
        yield None
        return
    settings = ProblemSettings()
    library.hb_problem_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
    settings.dim, settings.noise = dim, b"sqrt(2)"
    if callable(drift):
        raise TypeError("drift is a function; its derivatives are needed, so it must be text, as "
                        "\"x - x^3, -y\"")
    if callable(noise):
        raise TypeError("noise is a function; a model keeps its noise as text, so it must be text, a number or an "
                        "array, as \"0.2*x[i]\"")
    if noise is not None:
        settings.noise = noise_text(noise)
    if convention is not None:
        settings.convention = choice("convention", convention, CONVENTIONS)
    settings.drift = drift_text(drift)
    keep = fill_parameters(settings, params or {})
    problem = ctypes.POINTER(Problem)()
    call("hb_problem_create", 1, ctypes.byref(settings), ctypes.byref(problem))
    try:
        yield problem
    finally:
        library.hb_problem_destroy(problem)
        del keep


def split_process(process, params=None):
    """Return ("ou", None), ("ve", None) or ("drift", its text)."""
    if isinstance(process, str) and process in PROCESSES:
        if params:
            raise ArgumentError("params is given, but the process is not a drift as text")
        return process, None
    if isinstance(process, str) and process.strip() and not (process.isidentifier() and process not in ("x", "y", "z")):
        return "drift", process
    if isinstance(process, (list, tuple)) and process:
        return "drift", process
    raise ArgumentError(f"process is {shown(process)}; it must be ou, ve, or a drift as text, such as \"x - x^3, -y\"")


@contextlib.contextmanager
def process_problem(process, params, dim):
    """Yield the problem of any process."""
    name, drift = split_process(process, params)
    with drift_problem(FORMULAS[name] if drift is None else drift, params, dim) as problem:
        yield problem


def moments(mean, covariance, dim):
    """Return (mean, covariance) of data as contiguous arrays or None."""
    if mean is not None:
        mean = array("mean", np.atleast_1d(mean), 1)
        if mean.shape != (dim,):
            raise ArgumentError(f"mean has shape {mean.shape}; it must be {(dim,)}")
    if covariance is not None:
        covariance = array("covariance", np.atleast_2d(covariance), 2)
        if covariance.shape != (dim, dim):
            raise ArgumentError(f"covariance has shape {covariance.shape}; it must be {(dim, dim)}")
        if np.allclose(covariance, covariance.T, rtol=1e-9, atol=1e-12 * np.abs(covariance).max(initial=0)):
            covariance = (covariance + covariance.T) / 2  # rounding only
    return mean, covariance


def fill_process(settings, name, problem, mean, covariance):
    """Put process, drift and moments into hb_generate_settings."""
    settings.process = PROCESSES.get(name, Process.PROCESS_DRIFT)
    if problem is not None:
        settings.drift = problem
    if mean is not None:
        settings.mean = pointer(mean)
    if covariance is not None:
        settings.covariance = pointer(covariance)

"""Samples from any score."""

from __future__ import annotations

import ctypes
import math
from typing import Any, Mapping

import numpy as np

from heatball._arguments import INT_MAX, c_int, choice, draws, filled, pair, pointer, real, renamed
from heatball._callables import Callbacks, as_field
from heatball._errors import ArgumentError
from heatball._interrupt import interruptible
from heatball._native import GenerateSettings, library
from heatball._process import drift_problem, fill_process, moments, split_process
from heatball._types import ArrayLike, Floats
from heatball.data import Mixture, dataset
from heatball.model import DENOISES, SOLVERS, Model, rows

__all__ = ["generate"]


@renamed(tolerance="ode_tolerance")
def generate(f: Any, n: int, solver: str = "sde", *, dim: int | None = None, process: Any = "ou",
             params: Mapping[str, float] | None = None, mean: ArrayLike | None = None,
             covariance: ArrayLike | None = None, ends: ArrayLike | None = None, n_steps: int = 500,
             n_correct: int = 1, snr: float = 0.16, det_tau: float = 0.15, tau_min: float | None = None,
             tau_max: float | None = None, rho: float = 7.0,
             denoise: str | None = None, within: tuple[float, float] | None = None, ode_tolerance: float | None = None,
             detail: float | None = None, seed: int = 1, first: int = 0, label: ArrayLike | None = None,
             clip: bool | None = None, threads: int = 0) -> Floats:
    """Return samples of the data whose score is f.

    Parameters
    ----------
    f : callable, Model, Mixture, or str
        f(x, tau) with x of shape (n, dim) and tau of shape (n,), as in `log_likelihood`. A Model goes to `Model.generate`.
    n : int
        Number of samples.
    solver : {"sde", "ode", "heun"}
        Reverse-time SDE with predictor and corrector; probability-flow ODE with adaptive steps; the same by Heun's method.
    dim : int
        Dimension; needed unless f, mean or ends tell it.
    process : str
        "ou", "ve" or the text of a drift, as in `log_likelihood`.
    params : dict
        Named numbers of a drift.
    mean, covariance : array_like of shape (dim,), (dim, dim)
        Of the data, as in `log_likelihood`.
    ends : array_like of shape (k, dim)
        Samples of the distribution at tau_max to begin with, instead of the Gaussian.
    n_steps : int
        Steps of "sde" and "heun".
    n_correct : int
        Of "sde": Langevin steps after each step.
    snr : float
        Of "sde": size of a Langevin step.
    det_tau : float
        Of "sde": below this tau the ODE is taken; 0: never.
    tau_min, tau_max : float
        Range of tau; default: 1e-3 and 3, or those of a Model.
    rho : float
        Of "heun": exponent of EDM's times.
    denoise : {"none", "mean", "flow"}
        What is done with the noise of tau_min; default: "flow", for images "mean".
    within : pair of float
        Every coordinate of the data is known to lie between the two.
    ode_tolerance : float
        Of "ode": error of a step in every coordinate; default: 1e-5.
    detail : float
        Of a drift: variance of the finest details of the distribution.
    seed, first : int
        Sample i is a function of the settings and i alone; the result holds i = first .. first+n-1.
    label : int or array_like of int of shape (n,)
        Of a Model with classes.
    clip : bool
        Of a Model of images, as in `Model.generate`.
    threads : int
        0: one per core. f is called from the calling thread.

    Returns
    -------
    ndarray of shape (n, dim)
        The samples.

    See Also
    --------
    Model.generate : Samples of a model.
    log_likelihood : Likelihoods under the same score.

    Notes
    -----
    The solvers are those of Song et al. [1]_ and Karras et al. [2]_ for dx = F dtau + sqrt(2) dW.
    docs/explanation/generation.md says what each setting does.

    References
    ----------
    .. [1] Y. Song et al., "Score-based generative modeling through stochastic differential equations", ICLR 2021.
    .. [2] T. Karras et al., "Elucidating the design space of diffusion-based generative models", NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> x = heatball.generate(lambda x, tau: -x, 500, "ode", dim=3)       # N(0, I) stays what it is
    >>> x.shape, bool(abs(x.mean()) < 0.2)
    ((500, 3), True)
    """
    if isinstance(f, str):
        f = dataset(f)
    if isinstance(f, Model):
        given = dict(params=params, mean=mean, covariance=covariance, within=within)
        for name, value in given.items():
            if value is not None:
                raise ArgumentError(f"{name} is given, but f is a Model, which has its own")
        return f.generate(n, solver, ends=ends, n_steps=n_steps, n_correct=n_correct, snr=snr, det_tau=det_tau,
                          tau_min=tau_min, tau_max=tau_max, rho=rho, denoise=denoise, ode_tolerance=ode_tolerance,
                          detail=detail, seed=seed, first=first, label=label, clip=clip, threads=threads)
    for name, value in (("label", label), ("clip", clip)):
        if value is not None:
            raise ArgumentError(f"{name} is given, but f is not a Model")
    first, n = draws(first, n)
    name, drift = split_process(process, params)
    if isinstance(f, Mixture) and mean is None and covariance is None:
        mean, covariance = f.mean(), f.covariance()
    field = as_field(f, name)
    dim = _dim(dim, field.dim, mean, covariance, ends)
    mean, covariance = moments(mean, covariance, dim)
    settings = filled(GenerateSettings, library.hb_generate_settings_default,
                      dict(n_steps=n_steps, n_correct=n_correct, snr=snr, det_tau=det_tau, tau_min=tau_min,
                           tau_max=tau_max, rho=rho, ode_tolerance=ode_tolerance, detail=detail, seed=seed))
    settings.solver = choice("solver", solver, SOLVERS)
    if denoise is not None:
        settings.denoise = choice("denoise", denoise, DENOISES)
    if within is not None:
        settings.low, settings.high = (real("within", value) for value in pair("within", within))
        if math.isnan(settings.low) or math.isnan(settings.high):
            raise ArgumentError("within is not a number; it must be two numbers")
    if ends is not None:
        ends = rows("ends", ends, dim)
        if ends.shape[1] != dim:
            raise ArgumentError(f"ends has {ends.shape[1]} columns; dim is {dim}")
        settings.ends, settings.n_ends = pointer(ends), len(ends)
    out = np.empty((n, dim))
    with interruptible(threads) as run, drift_problem(drift, params, dim) as problem:
        fill_process(settings, name, problem, mean, covariance)
        callbacks = Callbacks(run, dim)
        run("hb_generate", ctypes.byref(settings), dim, first, n, callbacks.score(field), None, pointer(out))
    return out


def _dim(dim, of_field, mean, covariance, ends):
    """Return the number of coordinates, from what tells it."""
    known = [dim, of_field] + [np.shape(value)[-1] if np.ndim(value) else 1
                               for value in (mean, covariance, ends) if value is not None]
    known = [value for value in known if value is not None]
    if not known:
        raise TypeError("dim is missing; it must be the number of coordinates of a row")
    return c_int("dim", known[0], 1, INT_MAX)

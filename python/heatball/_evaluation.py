"""A model or any score evaluated: its score, its curl, its samples and its likelihood."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from heatball._arguments import array, integer, real, shown
from heatball._callables import as_field
from heatball._errors import ArgumentError
from heatball._generation import generate
from heatball._likelihood import log_likelihood
from heatball._process import split_process
from heatball._tables import Result
from heatball._types import ArrayLike
from heatball.data import Mixture, dataset
from heatball.metrics import curl, kolmogorov, mmd
from heatball.model import Model
from heatball.random import normal

__all__ = ["evaluate", "score_error"]

CURL_POINTS = 500


def evaluate(model: Any, data: Mixture | str | ArrayLike, tau: ArrayLike = (0.01, 0.1, 0.3, 1.0), *,
             n: int = 4000, samples: int = 2000, solver: str = "sde", likelihood: int = 0, process: Any = "ou",
             mean: Any = None, covariance: Any = None, tau_min: float | None = None, tau_max: float | None = None,
             seed: int = 42) -> Result:
    """Evaluate a model or any score: its error, its curl, its samples and its likelihood.

    Parameters
    ----------
    model : Model or callable
        Or a score or log-density f(x, tau) as in `log_likelihood`.
    data : Mixture, str, or array_like of shape (m, dim)
        A known distribution: a mixture or the name of a data set; or samples that the model was not trained on.
    tau : array_like of shape (k,)
        Where the score is evaluated.
    n : int
        Draws at each tau for the error of the score, and samples of a mixture to compare with.
    samples : int
        Samples to generate; 0: none.
    solver : {"sde", "ode", "heun"}
        As in `generate`.
    likelihood : int
        Samples of the data whose log-likelihood is taken; 0: none.
    process : str
        Of a callable: "ou" or "ve". A Model has its own.
    mean, covariance : array_like of shape (dim,), (dim, dim)
        Of a callable, as in `log_likelihood`; default: those of the data.
    tau_min, tau_max : float
        Of a callable, as in `log_likelihood`.
    seed : int
        Seed of all draws.

    Returns
    -------
    Result
        tau: a list of dicts with tau, curl and curl_se (in 2 and more dimensions; of the model's coordinates z), and, for a
        mixture and a model that is not standardised, the mean squared error of the score mse, mse_low (over the fifth of the
        draws with the lowest density), mse_high, each with its error _se, and mse_grid. With `samples`: mmd, mmd2 and mmd2_se
        against the data, mmd_floor of data against data, kolmogorov by column and kolmogorov_floor, and for a mixture modes
        (found), modes_true and outliers. With `likelihood`: log_likelihood and bits_per_dim, with errors _se.

    See Also
    --------
    certify : Statistical tests with verdicts.
    heatball.metrics : The metrics by themselves.

    Examples
    --------
    >>> import heatball
    >>> model = heatball.train("two_moon", "dsm", n=500, steps=30, width=16, depth=2)
    >>> result = heatball.evaluate(model, "two_moon", [0.3], n=500, samples=200, solver="ode")
    >>> sorted(result), result["tau"][0]["mse"] > 0
    (['kolmogorov', 'kolmogorov_floor', 'mmd', 'mmd2', 'mmd2_se', 'mmd_floor', 'modes', 'modes_true', 'outliers', 'tau'], True)
    """
    truth = dataset(data) if isinstance(data, str) else data
    truth = truth if isinstance(truth, Mixture) else None
    rows = array("data", data, 2) if truth is None else truth.sample(n, seed=seed)
    least = 8 if samples else 2  # two halves of 4 for the floor of the discrepancy
    if len(rows) < least:
        raise ArgumentError(f"data has {len(rows)} row{'s' * (len(rows) != 1)}; it must have at least {least}")
    likelihood = integer("likelihood", likelihood, 0, len(rows))
    if not isinstance(model, Model):
        model = _Callable(model, process, truth, rows, mean, covariance, tau_min, tau_max)
    elif process != "ou" or not all(one is None for one in (mean, covariance, tau_min, tau_max)):
        raise ArgumentError("process, mean, covariance, tau_min and tau_max are for a callable; a Model has its own")
    if rows.shape[1] != model.dim:
        raise ArgumentError(f"data has {rows.shape[1]} columns; the model has dimension {model.dim}")
    out = {"tau": [_of_score(model, truth, rows, real("tau", one), n, seed)
                   for one in np.atleast_1d(tau)]}
    if samples:
        made = model.generate(samples, solver, seed=seed)
        half = len(rows) // 2
        out.update({name: value for name, value in mmd(made, rows).items() if name != "bandwidth"},
                   mmd_floor=mmd(rows[:half], rows[half:])["mmd"])
        columns = kolmogorov(made, rows)
        out.update(kolmogorov=columns["distance"].tolist(), kolmogorov_floor=columns["floor"])
    if samples and truth is not None:
        modes = truth.modes(made)
        out.update(modes=modes["found"], modes_true=int(truth.mode_of.max()) + 1,
                   outliers=modes["outliers"])
    if likelihood:
        found = model.likelihood(rows[:likelihood]) if isinstance(model, _Callable) else \
            log_likelihood(model, rows[:likelihood])
        out.update(log_likelihood=found.mean, log_likelihood_se=found.mean_se, bits_per_dim=found.mean_bits_per_dim,
                   bits_per_dim_se=found.mean_bits_per_dim_se)
    return Result(out, f"Evaluation of a model at {len(out['tau'])} tau", rows="tau")


class _Callable:
    """A user's score with the face of a Model that `evaluate` needs."""

    def __init__(self, f, process, truth, data, mean, covariance, tau_min, tau_max):
        self.process = split_process(process)[0]
        if self.process == "drift":
            raise ArgumentError("process is a drift; evaluate knows the distribution of data under ou and ve")
        self.field, self.dim = as_field(f, process, "model"), data.shape[1]
        if self.field.dim not in (None, self.dim):
            raise ArgumentError(f"data has {self.dim} columns; the model has dimension {self.field.dim}")
        if mean is None and covariance is None:
            mean = truth.mean() if truth is not None else data.mean(axis=0)
            covariance = truth.covariance() if truth is not None else np.atleast_2d(np.cov(data.T))
        self.given = dict(process=process, mean=mean, covariance=covariance, tau_min=tau_min, tau_max=tau_max)
        self.score, self.scales, self.maps = self.field.score, np.ones(self.dim), ""

    def generate(self, n, solver, seed):
        return generate(self.field, n, solver, dim=self.dim, seed=seed, **self.given)

    def likelihood(self, x):
        return log_likelihood(self.field, x, **self.given)

    def noised(self, x, tau, noise):
        a, b = (math.exp(-tau), -math.expm1(-2 * tau)) if self.process == "ou" else (1, 2 * tau)
        return a * x + math.sqrt(b) * noise


def score_error(f: Any, truth: Any, tau: float, *, process: str = "ou", n: int = 20000, seed: int = 42) -> Result:
    """Return the mean squared error of a score over draws of a known distribution.

    Parameters
    ----------
    f : callable, Model, or Mixture
        The score, as in `log_likelihood`.
    truth : Mixture or str
        The distribution, or the name of a data set.
    tau : float
        Where the score is compared.
    process : {"ou", "ve"}
        The noising process.
    n : int
        Draws.
    seed : int
        Seed of the draws.

    Returns
    -------
    Result
        As of `Mixture.score_error`: tau, all, low, high, each with its error _se, and grid.

    See Also
    --------
    evaluate : Several measures together.

    Examples
    --------
    >>> import heatball
    >>> ring = heatball.dataset("ring")
    >>> heatball.score_error(lambda x, tau: 1.1 * ring.score(x, tau), "ring", 0.3, n=1000)["all"] > 0
    True
    """
    truth = dataset(truth) if isinstance(truth, str) else truth
    if not isinstance(truth, Mixture):
        raise TypeError(f"truth is {shown(truth)}; it must be a Mixture, or the name of a planar set")
    return truth.score_error(f, tau, process=process, n=n, seed=seed)


def _of_score(model, truth, rows, tau, n, seed):
    """What is known of the score at one tau."""
    out = {"tau": tau}
    if truth is not None and model.process in ("ou", "ve") and np.all(model.scales == 1) and not model.maps:
        found = truth.score_error(model.score, tau, process=model.process, n=n, seed=seed)
        for name, region in (("mse", "all"), ("mse_low", "low"), ("mse_high", "high")):
            out[name], out[name + "_se"] = found[region], found[region + "_se"]
        out["mse_grid"] = found["grid"]
    if model.dim > 1:
        few = rows[:CURL_POINTS]
        noise = normal(few.size, seed=seed).reshape(few.shape)
        points = model.noised(few, tau, noise)

        if isinstance(model, _Callable) or model.process == "drift":
            z, score = points, model.score
        else:
            z, score = model._standardised(points), functools.partial(model._of_z, "score")
        out["curl"], out["curl_se"] = curl(score, z, tau, seed=seed)
    return out

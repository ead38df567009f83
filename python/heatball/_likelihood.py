"""The likelihood of rows under any score, by the probability-flow ODE, or of a model from one pass of its network."""

from __future__ import annotations

import ctypes
import math
from typing import Any, Callable, Mapping

import numpy as np

from heatball._arguments import INT_MAX, c_int, filled, function, pointer, renamed, shown
from heatball._callables import Callbacks, as_field
from heatball._errors import ArgumentError
from heatball._interrupt import interruptible
from heatball._native import DIVERGENCE, GenerateSettings, library
from heatball._process import drift_problem, fill_process, moments, split_process
from heatball._tables import Shown
from heatball._types import ArrayLike, Floats
from heatball.data import Mixture, dataset
from heatball.model import Model, rows

__all__ = ["LogLikelihood", "log_likelihood"]

EXACT_DIM, PROBES = 16, 16


class LogLikelihood(Shown):
    """Log-likelihoods of rows, with errors; made by `log_likelihood`.

    Attributes
    ----------
    log_likelihood : ndarray of shape (n,)
        ln p of each row, in nats.
    se : ndarray of shape (n,)
        Its error: that of the probes, the bound and the calibrated one together.
    probe_se : ndarray of shape (n,)
        Standard error by the random probes of the divergence; 0 without probes.
    bound : ndarray of shape (n,)
        What the steps, the differences and the Gaussian distribution at tau_max may leave, estimated.
    calibrated : ndarray of shape (n,)
        Of rows from one pass of a Model: 1.96 of it are the largest difference to the ODE at the 20 samples of the model
        that are nearest to the row, with the error by the number of training samples in that region; infinite where
        the row lies apart from all samples. 0 of rows by the ODE.
    nats, bits_per_dim : ndarray of shape (n,)
        -ln p, and the same over dim ln 2.
    mean, mean_se : float
        Of log_likelihood over the rows; the error counts the rows as a sample.
    mean_bits_per_dim, mean_bits_per_dim_se : float
        The same in bits per dimension.
    divergence : str
        How the divergence was taken: "exact", "differences" or "hutchinson"; "none" where all rows are from one pass.
    dim, probes : int
        The dimension, and the number of probes.

    See Also
    --------
    log_likelihood : Compute them.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> result = heatball.log_likelihood(lambda x, tau: -x, np.zeros((3, 2)))
    >>> result.log_likelihood.shape, bool(np.allclose(result.nats, np.log(2 * np.pi), atol=1e-6))
    ((3,), True)
    """

    def __init__(self, values: Floats, errors: Floats, dim: int, divergence: str, probes: int,
                 calibrated: Floats | None = None, bias: float = 0.0) -> None:
        self.log_likelihood, self.dim, self.divergence, self.probes = values, dim, divergence, probes
        self.probe_se, self.bound = errors[:, 0].copy(), errors[:, 1].copy()
        self.calibrated = np.zeros(len(values)) if calibrated is None else calibrated
        self.se = np.hypot(np.hypot(self.probe_se, self.bound), self.calibrated)
        self.nats = -values
        self.bits_per_dim = self.nats / (dim * math.log(2))
        n = len(values)
        self.mean = float(values.mean()) if n else math.nan
        spread = float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
        self.mean_se = math.hypot(spread, float(self.bound.mean()) + bias) if n else math.nan
        self.mean_bits_per_dim = -self.mean / (dim * math.log(2))
        self.mean_bits_per_dim_se = self.mean_se / (dim * math.log(2))

    def __len__(self) -> int:
        return len(self.log_likelihood)

    def _columns(self) -> dict[str, Any]:
        return {"log_likelihood": self.log_likelihood, "log_likelihood_se": self.se, "probe_se": self.probe_se,
                "bound": self.bound, "calibrated": self.calibrated, "bits_per_dim": self.bits_per_dim}

    def _hidden(self) -> tuple[str, ...]:
        return "probe_se", "bound", "calibrated"

    def _single(self) -> dict[str, Any]:
        names = ("mean", "mean_se", "mean_bits_per_dim", "mean_bits_per_dim_se", "divergence", "dim", "probes")
        return {name: getattr(self, name) for name in names}

    def _values(self) -> dict[str, Any]:
        return {**self._columns(), **self._single()}

    def _title(self) -> str:
        n = len(self)
        direct = int((self.calibrated > 0).sum())
        ways = [f"{direct} from one pass"] * (direct > 0) + [self.divergence] * (self.divergence != "none")
        how = ", ".join(ways) + f", {self.probes} probes" * (self.probes > 0)
        return (f"LogLikelihood of {n} row{'s' * (n != 1)} in dimension {self.dim} ({how}): mean {self.mean:.6g} +- "
                f"{self.mean_se:.2g} nats, {self.mean_bits_per_dim:.6g} +- {self.mean_bits_per_dim_se:.2g} bits per "
                "dimension")


LogLikelihood.__module__ = "heatball"


@renamed(tolerance="ode_tolerance")
def log_likelihood(f: Any, x: ArrayLike, *, process: Any = "ou", params: Mapping[str, float] | None = None,
                   divergence: Any = None, probes: int | None = None, mean: ArrayLike | None = None,
                   covariance: ArrayLike | None = None, end_density: Callable[..., Any] | None = None,
                   tau_min: float | None = None, tau_max: float | None = None, ode_tolerance: float | None = None,
                   label: ArrayLike | None = None, seed: int = 1, threads: int = 0, method: str = "ode",
                   error: float = 0.05) -> LogLikelihood:
    """Return the log-likelihood of samples under a score, with its error.

    Parameters
    ----------
    f : callable, Model, Mixture, or str
        f(x, tau) with x of shape (n, dim) and tau of shape (n,) returns the score, (n, dim), or the log-density, (n,), of
        which differences give the score; NumPy, float32, tensors on any device. Or an object with a method score or
        log_density; or the name of a data set.
    x : array_like of shape (n, dim)
        The samples.
    process : str
        "ou", dx = -x dtau + sqrt(2) dW; "ve", dx = sqrt(2) dW; or the text of a drift F (or a list of its components),
        dx = F(x) dtau + sqrt(2) dW. A Model has its own.
    params : dict
        Named numbers of a drift.
    divergence : callable or str
        A function (x, tau) that returns the divergence of the score, (n,); "exact": along all axes, by differences, or of a
        Model by its network; "hutchinson": by random probes. Default: "exact" up to dimension 16.
    probes : int
        Of "hutchinson", 2 or more; default: 16. A Model's above 8 are rounded up to a multiple of 8.
    mean, covariance : array_like of shape (dim,), (dim, dim)
        Of the data: the distribution at tau_max is that of Gaussian data with them. Default: the Gaussian that fits f at
        tau_max; of a Mixture its own; above 512 dimensions 0 and 1. Of a drift: of the distribution at tau_max itself.
    end_density : callable
        ln of the distribution at tau_max at x (n, dim), of shape (n,), instead of the Gaussian.
    tau_min, tau_max : float
        Range of tau; default: 1e-3 and 3, or those of a Model.
    ode_tolerance : float
        Error of a step in every coordinate; default: chosen by the other errors, 1e-3 nats or more; of a Model 1e-5.
    label : int or array_like of int of shape (n,)
        Of a Model with classes, as in `Model.score`.
    seed : int
        Seed of the probes.
    threads : int
        0: one per core. f is called from the calling thread.
    method : {"ode", "direct", "auto"}
        The probability-flow ODE; of a Model with the energy head also one pass of its network, or one pass where its error is
        at most `error`, else the ODE.
    error : float
        Of "auto", in nats.

    Returns
    -------
    LogLikelihood
        ln p of each sample in nats, with errors, means and bits per dimension.

    See Also
    --------
    Model.log_likelihood : The values alone.
    generate : Samples of the same score.

    Notes
    -----
    The probability flow dx/dtau = F - s [1]_ carries the distribution at tau_max to tau_min, and
    d ln p/dtau = -div(F - s) along it. p is the density of data with the noise of tau_min. docs/howto/likelihoods.md has the
    formulas and what the error counts.

    References
    ----------
    .. [1] Y. Song et al., "Score-based generative modeling through stochastic differential equations", ICLR 2021.
    .. [2] M. F. Hutchinson, "A stochastic estimator of the trace of the influence matrix", Comm. Statist. 18, 1989.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> gmm = heatball.dataset("elongated_gmm")
    >>> x = gmm.sample(200, seed=3)
    >>> found = heatball.log_likelihood(lambda x, tau: gmm.score(x, tau), x)
    >>> bool(np.abs(found.log_likelihood - gmm.log_density(x, 1e-3)).max() < 1e-3)
    True
    """
    if isinstance(f, str):
        f = dataset(f)
    if isinstance(f, Model):
        for name, value in (("params", params), ("mean", mean), ("covariance", covariance), ("end_density", end_density)):
            if value is not None:
                raise ArgumentError(f"{name} is given, but f is a Model, which has its own")
        return _of_model(f, x, divergence, probes, dict(tau_min=tau_min, tau_max=tau_max, ode_tolerance=ode_tolerance, seed=seed),
                         label, threads, method, error)
    if method != "ode":
        raise ArgumentError(f"method is {shown(method)}; it must be ode, since f is not a Model")
    if label is not None:
        raise ArgumentError("label is given, but f is not a Model")
    name, drift = split_process(process, params)
    if isinstance(f, Mixture) and mean is None and covariance is None:
        mean, covariance = f.mean(), f.covariance()
    field = as_field(f, name)
    x = _rows(x, field.dim)
    dim = x.shape[1]
    how, probes = _way(divergence, probes, dim)
    mean, covariance = moments(mean, covariance, dim)
    settings = filled(GenerateSettings, library.hb_generate_settings_default,
                      dict(tau_min=tau_min, tau_max=tau_max, ode_tolerance=ode_tolerance, seed=seed))
    out, errors = np.empty(len(x)), np.zeros((len(x), 2))
    with interruptible(threads) as run, drift_problem(drift, params, dim) as problem:
        callbacks = Callbacks(run, dim)
        fill_process(settings, name, problem, mean, covariance)
        if end_density is not None:
            settings.end_density = callbacks.log_density(function("end_density", end_density), "end_density")
        score = callbacks.score(field)
        known = callbacks.divergence(field, divergence) if callable(divergence) else DIVERGENCE()
        run("hb_generate_likelihood", ctypes.byref(settings), dim, probes, len(x), pointer(x), score,
            known, None, pointer(out), pointer(errors))
    return LogLikelihood(out, errors, dim, how, probes)


def _of_model(model, x, divergence, probes, given, label, threads, method, error):
    x, _, labels = model._points(x, 1.0, label)
    if callable(divergence):
        raise ArgumentError("divergence is a function, but f is a Model, which has its own")
    how, probes = _way(divergence, probes, model.dim)
    settings = filled(GenerateSettings, library.hb_generate_settings_default, given)
    out, calibrated, bias, by_ode = model._direct(method, error, x, labels, settings, threads)
    errors, part = np.zeros((len(x), 2)), np.zeros((int(by_ode.sum()), 2))
    out[by_ode] = model._by_ode(x[by_ode], None if labels is None else labels[by_ode], settings, probes, part, threads)
    errors[by_ode], calibrated[by_ode] = part, 0
    how = "exact" if how == "differences" else how
    if len(x) and not by_ode.any():
        how, probes = "none", 0
    return LogLikelihood(out, errors, model.dim, how, probes, calibrated, bias)


def _rows(x, dim):
    x = rows("x", x, dim)
    if dim is not None and x.shape[1] != dim:
        raise ArgumentError(f"x has {x.shape[1]} columns; f has dimension {dim}")
    if x.shape[1] == 0:
        raise ArgumentError("x has no columns")
    return x


def _way(divergence, probes, dim):
    """Return how the divergence is taken and the number of probes, 0 for none."""
    if callable(divergence) or divergence == "exact":
        if probes not in (None, 0):
            raise ArgumentError("probes is given, but the divergence is exact; ask for divergence=\"hutchinson\"")
        return "exact" if callable(divergence) else "differences", 0
    if divergence not in (None, "hutchinson"):
        raise ArgumentError(f"divergence is {shown(divergence)}; it must be exact, hutchinson or a function")
    if divergence is None and probes is None and dim <= EXACT_DIM or (divergence is None and probes == 0):
        return "differences", 0
    probes = PROBES if probes is None else c_int("probes", probes, 2, INT_MAX)
    if probes < 2:
        raise ArgumentError(f"probes is {probes}; it must be 2 or more, so that their spread tells the error")
    return "hutchinson", probes

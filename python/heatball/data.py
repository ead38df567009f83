"""Gaussian mixtures with exact densities and scores under noise, and the planar sets among them."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatball._arguments import array, choice, draws, pointer, real, texts, uint64
from heatball._callables import Callbacks, as_field, times
from heatball._context import call
from heatball._errors import ArgumentError
from heatball._interrupt import interruptible
from heatball._native import Mixture as _CMixture, Process, ScoreError, library
from heatball._tables import Result
from heatball._types import ArrayLike, Floats

__all__ = ["Mixture", "dataset", "dataset_names"]

PROCESSES = {"ou": Process.PROCESS_OU, "ve": Process.PROCESS_VE}


def dataset(name: str = None) -> Mixture:  # type: ignore[assignment]
    """Return a two-dimensional data set by its name, as the mixture of Gaussians that it is drawn from.

    Parameters
    ----------
    name : str
        One of `dataset_names`.

    Returns
    -------
    Mixture
        With exact samples, densities and scores.

    Raises
    ------
    ArgumentError
        A ValueError: there is no data set with this name.

    See Also
    --------
    dataset_names : The names.

    Examples
    --------
    >>> import heatball
    >>> ring = heatball.dataset("ring")
    >>> ring, ring.sample(5).shape
    (Mixture of 96 Gaussians in dimension 2 (ring), (5, 2))
    """
    if name is None:
        return _names_of_old()
    return Mixture._named(name)


def dataset_names() -> list[str]:
    """Return the names of the data sets that `dataset` takes.

    Returns
    -------
    list of str
        In a fixed order.

    See Also
    --------
    dataset : A data set by its name.

    Examples
    --------
    >>> import heatball
    >>> heatball.dataset_names()[:2]
    ['asymmetric_gmm', 'sparse_dense_gmm']
    """
    return texts(library.hb_data_names())


def _names_of_old() -> Any:
    """What dataset() gave before `dataset_names`; it goes with the next release."""
    warnings.warn("dataset() without a name is deprecated; take dataset_names()", DeprecationWarning, stacklevel=3)
    return dataset_names()


class Mixture:
    """A Gaussian mixture, and its distribution at every tau of a noising process.

    Parameters
    ----------
    weights : array_like of shape (k,)
        Positive; any scale.
    means : array_like of shape (k, dim)
        Means of the components.
    covariances : array_like of shape (k, dim, dim)
        Covariances of the components, positive definite.

    Attributes
    ----------
    weights, means, covariances : ndarray
        The weights add up to 1.
    mode_of : ndarray of shape (k,)
        The part of the data set (mode, arm, ring) that a component belongs to.
    name, description : str
        Of a named data set; None otherwise.

    See Also
    --------
    dataset : Named mixtures.

    Notes
    -----
    The processes are "ou", dx = -x dtau + sqrt(2) dW, and "ve", dx = sqrt(2) dW. Under both the components stay Gaussian, with
    means a m and covariances a^2 C + b I, so that density and score are exact: a = exp(-tau), b = 1 - exp(-2 tau) for "ou",
    a = 1, b = 2 tau for "ve".

    Examples
    --------
    >>> import numpy as np, heatball
    >>> m = heatball.Mixture([1, 1], [[-1.0], [1.0]], [[[0.25]], [[0.25]]])
    >>> m.covariance()
    array([[1.25]])
    >>> x = m.sample(1000, seed=7, tau=0.3)
    >>> x.shape, m.score(x, tau=0.3).shape
    ((1000, 1), (1000, 1))
    """

    name: str | None = None
    description: str | None = None
    weights: Floats
    means: Floats
    covariances: Floats
    mode_of: NDArray[np.int32]

    def __init__(self, weights: ArrayLike, means: ArrayLike, covariances: ArrayLike) -> None:
        self.weights = array("weights", weights, 1)
        self.means = array("means", means, 2)
        self.covariances = array("covariances", covariances, 3)
        k, dim = self.means.shape
        if self.weights.shape != (k,) or self.covariances.shape != (k, dim, dim):
            raise ValueError(f"weights {self.weights.shape}, means {self.means.shape} and covariances "
                             f"{self.covariances.shape} must have shapes (k,), (k, dim), (k, dim, dim)")
        self.mode_of = np.arange(k, dtype=np.int32)
        with self._open(0):
            pass
        self.weights = self.weights / self.weights.sum()

    @classmethod
    def _named(cls, name):
        self = cls.__new__(cls)
        self.name = name
        with self._open(0) as handle:
            k, dim = library.hb_mixture_count(handle), library.hb_mixture_dim(handle)
            self.weights, self.means = np.empty(k), np.empty((k, dim))
            self.covariances, self.mode_of = np.empty((k, dim, dim)), np.empty(k, np.int32)
            for i in range(k):
                call("hb_mixture_component", 0, handle, i, pointer(self.weights[i:]),
                     pointer(self.means[i]), pointer(self.covariances[i]))
            library.hb_mixture_modes(handle, _ints(self.mode_of))
        self.description = library.hb_data_describe(name.encode()).decode()
        return self

    @contextlib.contextmanager
    def _open(self, threads):
        """The C mixture, made for one call: it belongs to the calling thread's context."""
        handle = ctypes.POINTER(_CMixture)()
        if self.name is not None:
            call("hb_mixture_named", threads, str(self.name).encode(), ctypes.byref(handle))
        else:
            k, dim = self.means.shape
            call("hb_mixture_create", threads, dim, k, pointer(self.weights), pointer(self.means),
                 pointer(self.covariances), ctypes.byref(handle))
        try:
            yield handle
        finally:
            library.hb_mixture_destroy(handle)

    def __repr__(self) -> str:
        k, dim = self.means.shape
        name = f" ({self.name})" if self.name else ""
        return f"Mixture of {k} Gaussian{'s' * (k != 1)} in dimension {dim}{name}"

    def mean(self) -> Floats:
        """Return the mean.

        Returns
        -------
        ndarray of shape (dim,)
            The mean at tau = 0.

        Examples
        --------
        >>> import heatball
        >>> m = heatball.Mixture([1, 3], [[-1.0], [1.0]], [[[0.25]], [[0.25]]])
        >>> m.mean()
        array([0.5])
        """
        return self.weights @ self.means

    def covariance(self) -> Floats:
        """Return the covariance.

        Returns
        -------
        ndarray of shape (dim, dim)
            The covariance at tau = 0.

        Examples
        --------
        >>> import heatball
        >>> m = heatball.Mixture([1, 3], [[-1.0], [1.0]], [[[0.25]], [[0.25]]])
        >>> m.covariance()
        array([[1.]])
        """
        away = self.means - self.mean()
        return (np.einsum("k,kij->ij", self.weights, self.covariances)
                + np.einsum("k,ki,kj->ij", self.weights, away, away))

    def sample(self, n: int, *, seed: int = 42, first: int = 0, tau: float = 0.0, process: str = "ou",
               threads: int = 0) -> Floats:
        """Return draws of the distribution at tau.

        Parameters
        ----------
        n : int
            Number of draws.
        seed, first : int
            Draw i is a function of the seed and i alone; the result holds i = first .. first+n-1.
        tau : float
            Time of the process; 0: the data.
        process : {"ou", "ve"}
            The noising process.
        threads : int
            0: one per core. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n, dim)
            The draws.

        Examples
        --------
        >>> import heatball
        >>> moons = heatball.dataset("two_moon")
        >>> x = moons.sample(1000, seed=7, tau=0.3)
        >>> bool((moons.sample(10, seed=7, first=990, tau=0.3) == x[990:]).all())
        True
        """
        first, n = draws(first, n)
        x = np.empty((n, self.means.shape[1]))
        with self._open(threads) as handle:
            call("hb_mixture_sample_at", threads, handle, choice("process", process, PROCESSES),
                 uint64("seed", seed), first, n, real("tau", tau), pointer(x), None)
        return x

    def log_density(self, x: ArrayLike, tau: ArrayLike = 0.0, *, process: str = "ou", threads: int = 0) -> Floats:
        """Return ln u(x, tau).

        Parameters
        ----------
        x : array_like of shape (n, dim)
            The points.
        tau : float or array_like of shape (n,)
            Time of the process; 0: the data.
        process : {"ou", "ve"}
            The noising process.
        threads : int
            0: one per core. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n,)
            The exact log-density.

        Examples
        --------
        >>> import heatball
        >>> m = heatball.Mixture([1, 3], [[-1.0], [1.0]], [[[0.25]], [[0.25]]])
        >>> m.log_density([[0.0], [1.0]]).round(6).tolist()
        [-2.225791, -0.513362]
        """
        x = self._points(x)
        out = np.empty(len(x))
        self._evaluate(x, tau, process, threads, pointer(out), None)
        return out

    def score(self, x: ArrayLike, tau: ArrayLike = 0.0, *, process: str = "ou", threads: int = 0) -> Floats:
        """Return the gradient of ln u(x, tau).

        Parameters
        ----------
        x : array_like of shape (n, dim)
            The points.
        tau : float or array_like of shape (n,)
            Time of the process; 0: the data.
        process : {"ou", "ve"}
            The noising process.
        threads : int
            0: one per core. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n, dim)
            The exact score.

        Examples
        --------
        >>> import heatball
        >>> m = heatball.Mixture([1, 3], [[-1.0], [1.0]], [[[0.25]], [[0.25]]])
        >>> m.score([[0.0]]).round(6).tolist()
        [[2.0]]
        """
        x = self._points(x)
        out = np.empty(x.shape)
        self._evaluate(x, tau, process, threads, None, pointer(out))
        return out

    def _points(self, x):
        x = array("x", x, 2)
        if x.shape[1] != self.means.shape[1]:
            raise ValueError(f"x has {x.shape[1]} columns; the mixture has dimension "
                             f"{self.means.shape[1]}")
        return x

    def _evaluate(self, x, tau, process, threads, log_density, score):
        name, tau = (("hb_mixture_score", real("tau", tau)) if np.ndim(tau) == 0 else
                     ("hb_mixture_score_each", pointer(times(x, tau))))
        with self._open(threads) as handle:
            call(name, threads, handle, choice("process", process, PROCESSES), len(x), pointer(x), tau,
                 log_density, score)

    def _field(self, process):
        """Its score and log-density under a process, and its dim, for `Field`."""
        if process not in PROCESSES:
            raise ArgumentError("a mixture is known under the processes ou and ve; give a function f(x, tau)")

        return (functools.partial(self.score, process=process),
                functools.partial(self.log_density, process=process), self.means.shape[1])

    def modes(self, x: ArrayLike) -> Result:
        """Count which parts of the mixture samples fall on.

        Parameters
        ----------
        x : array_like of shape (n, dim)
            The samples.

        Returns
        -------
        Result
            counts by mode, outliers, and found, the number of modes with samples.

        Examples
        --------
        >>> import heatball
        >>> m = heatball.Mixture([1, 3], [[-1.0], [1.0]], [[[0.25]], [[0.25]]])
        >>> m.modes([[-1.2], [0.9], [1.1], [9.0]])
        Rows by mode
          mode  counts
             0       1
             1       2
          outliers 1
          found 2
        """
        x = self._points(x)
        counts = np.zeros(self.mode_of.max() + 1, np.uintp)
        outliers, found = ctypes.c_size_t(), ctypes.c_int()
        with self._open(0) as handle:
            call("hb_judge_modes", 0, handle, len(x), pointer(x),
                 counts.ctypes.data_as(ctypes.POINTER(ctypes.c_size_t)), ctypes.byref(outliers),
                 ctypes.byref(found))
        return Result({"counts": counts.astype(int), "outliers": outliers.value, "found": found.value}, "Rows by mode",
                      ("mode",))

    def score_error(self, score: Any, tau: float, *, process: str = "ou", n: int = 20000, seed: int = 42) -> Result:
        """Return the mean squared error of a score over draws of the distribution at tau.

        Parameters
        ----------
        score : callable, Model, or object with a method score
            score(x, tau) with x of shape (n, dim) and tau of shape (n,); or a log-density of shape (n,).
        tau : float
            Where it is compared.
        process : {"ou", "ve"}
            The noising process.
        n : int
            Draws.
        seed : int
            Seed of the draws.

        Returns
        -------
        Result
            tau; all, low (the fifth of the draws with the lowest density) and high (the others), each with its error all_se, low_se,
            high_se; grid (over a lattice where u > 1e-4; in two dimensions).

        Examples
        --------
        >>> import heatball
        >>> m = heatball.Mixture([1, 3], [[-1.0], [1.0]], [[[0.25]], [[0.25]]])
        >>> wrong = lambda x, tau: 1.1 * m.score(x, tau)
        >>> found = m.score_error(wrong, 0.3, n=2000)
        >>> abs(found.all - 0.01 * (m.score(m.sample(20000, tau=0.3), 0.3)**2).mean()) < 5 * found.all_se
        True
        """
        out, field = ScoreError(), as_field(score, process, "score")
        with interruptible() as run, self._open(0) as handle:
            callback = Callbacks(run, self.means.shape[1]).score(field)
            run("hb_judge_score", handle, choice("process", process, PROCESSES), uint64("seed", seed),
                uint64("n", n), real("tau", tau), callback, None, ctypes.sizeof(out), ctypes.byref(out))
        return Result({name: getattr(out, name) for name, _ in out._fields_}, "Mean squared error of the score")


def _ints(values):
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_int))

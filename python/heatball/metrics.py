"""Metrics of samples, images and vector fields.

    mmd, mmd_floor               maximum mean discrepancy of two samples, and of two samples of one distribution
    kolmogorov                   Kolmogorov-Smirnov distance by column
    precision_recall, nearest    by nearest neighbours
    memorisation                 distance of generated to training samples
    artifacts, artifact_threshold   salt-and-pepper pixels of images
    curl, helmholtz              gradient and rotation of a vector field
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from heatball._arguments import INT_MAX, array, c_int, choice, integer, pointer, real, renamed, uint64
from heatball._callables import Callbacks, as_field, own_process
from heatball._context import call
from heatball._errors import ArgumentError
from heatball._interrupt import interruptible
from heatball._native import Memorisation, Mmd, MmdFloor, Speck
from heatball._tables import Result
from heatball._types import ArrayLike, Floats, Integers

__all__ = ["artifact_threshold", "artifacts", "curl", "helmholtz", "kolmogorov", "memorisation", "mmd",
           "mmd_floor", "nearest", "precision_recall"]

SPECKS = {speck.name.removeprefix("SPECK_").lower(): int(speck) for speck in Speck}
SIZE_MAX = 2**63 - 1


def mmd(x: ArrayLike, y: ArrayLike, *, single: bool = False, threads: int = 0) -> Result:
    """Return the maximum mean discrepancy of two samples.

    Parameters
    ----------
    x, y : array_like of shape (n, dim), (m, dim)
        Generated and real samples, at least 4 each.
    single : bool
        Take c = 1 alone in the kernel.
    threads : int
        0: one per core. The result does not depend on it.

    Returns
    -------
    Result
        mmd (the root of the biased estimate), mmd2 (the unbiased estimate of the square, which may be negative), mmd2_se (its
        standard error), bandwidth (h).

    See Also
    --------
    mmd_floor : The value for samples of one distribution.

    Notes
    -----
    The kernel is the mean over c = 1/4, 1/2, 1, 2, 4 of exp(-|a-b|^2/(2 c^2 h^2)), h the median distance among up to 1000 rows
    of y [1]_.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

    Examples
    --------
    >>> import heatball
    >>> moons = heatball.dataset("two_moon")
    >>> same = heatball.metrics.mmd(moons.sample(500, seed=1), moons.sample(500, seed=2))
    >>> abs(same["mmd2"]) < 4 * same["mmd2_se"]
    True
    """
    x, y = _same_columns(x=x, y=y)
    out = Mmd()
    call("hb_judge_mmd", threads, x.shape[1], int(single), len(x), len(y), pointer(x), pointer(y),
         ctypes.sizeof(out), ctypes.byref(out))
    return _result(out, "Maximum mean discrepancy")


def kolmogorov(x: ArrayLike, y: ArrayLike, *, threads: int = 0) -> Result:
    """Return the Kolmogorov-Smirnov distance of two samples in each column, whatever their units.

    Parameters
    ----------
    x, y : array_like of shape (n, dim), (m, dim)
        The two samples.
    threads : int
        0: one per core. The result does not depend on it.

    Returns
    -------
    Result
        distance, of shape (dim,): the largest difference of the two empirical distribution functions; floor: what samples of
        equal distributions exceed in any column with probability 5 % at most.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> x = np.random.default_rng(5).normal(size=(2, 400, 3))
    >>> x[0, :, 2] *= 2
    >>> found = heatball.metrics.kolmogorov(x[0], x[1])
    >>> found["distance"] > found["floor"]
    array([False, False,  True])
    """
    x, y = _same_columns(x=x, y=y)
    distance, floor = np.empty(x.shape[1]), ctypes.c_double()
    call("hb_judge_kolmogorov", threads, x.shape[1], len(x), len(y), pointer(x), pointer(y),
         pointer(distance), ctypes.byref(floor))
    return Result({"distance": distance, "floor": floor.value}, "Kolmogorov's distance by column", ("column",))


def mmd_floor(a: ArrayLike, b: ArrayLike, n: int, m: int, *, times: int = 50, seed: int = 42, single: bool = False,
              threads: int = 0) -> Result:
    """Return what `mmd` gives for samples of one distribution: the null baseline of generated samples.

    Parameters
    ----------
    a, b : array_like of shape (n_a, dim), (n_b, dim)
        Real samples, those of b other than those of a.
    n, m : int
        Sizes of each comparison: those of generated and real samples in `mmd`.
    times : int
        Comparisons, 20 or more, each with n rows of a and m rows of b drawn without repetition.
    seed : int
        Seed of the choice of rows.
    single : bool
        As in `mmd`.
    threads : int
        0: one per core. The result does not depend on it.

    Returns
    -------
    Result
        mmd, mmd2: means over the comparisons; mmd_upper, mmd2_upper: their 95 % quantiles.

    See Also
    --------
    mmd : The discrepancy itself.

    Examples
    --------
    >>> import heatball
    >>> ring = heatball.dataset("ring")
    >>> floor = heatball.metrics.mmd_floor(ring.sample(900, seed=1), ring.sample(900, seed=2), 200, 200)
    >>> 0 < floor["mmd"] < floor["mmd_upper"] < 0.2
    True
    """
    a, b = _same_columns(a=a, b=b)
    out = MmdFloor()
    call("hb_judge_mmd_floor", threads, a.shape[1], int(single), c_int("times", times, 20, INT_MAX),
         uint64("seed", seed), len(a), len(b), integer("n", n, 0, SIZE_MAX),
         integer("m", m, 0, SIZE_MAX), pointer(a), pointer(b), ctypes.sizeof(out),
         ctypes.byref(out))
    return _result(out, "Maximum mean discrepancy of equal distributions")


def nearest(x: ArrayLike, y: ArrayLike, *, threads: int = 0) -> tuple[Integers, Floats]:
    """Return the nearest row of y to each row of x.

    Parameters
    ----------
    x, y : array_like of shape (n, dim), (m, dim)
        The two samples.
    threads : int
        0: one per core. The result does not depend on it.

    Returns
    -------
    index : ndarray of int of shape (n,)
        The first of several equally near rows.
    distance : ndarray of shape (n,)
        Euclidean distances.

    Examples
    --------
    >>> import heatball
    >>> heatball.metrics.nearest([[0.0, 1], [5, 5]], [[5.0, 4], [0, 0], [3, 3]])
    (array([1, 0]), array([1., 1.]))
    """
    x, y = _same_columns(x=x, y=y)
    index, distance = np.empty(len(x), np.uintp), np.empty(len(x))
    call("hb_judge_nearest", threads, x.shape[1], len(x), len(y), pointer(x), pointer(y),
         _sizes(index), pointer(distance))
    return index.astype(np.intp), distance


def precision_recall(x: ArrayLike, y: ArrayLike, k: int = 3, *, threads: int = 0) -> tuple[float, float]:
    """Return precision and recall of generated samples x against real samples y, by nearest neighbours.

    Parameters
    ----------
    x, y : array_like of shape (n, dim), (m, dim)
        Generated and real samples, more than k each.
    k : int
        The neighbour, 1 to 100.
    threads : int
        0: one per core. The result does not depend on it.

    Returns
    -------
    precision : float
        Fraction of x within the k-th neighbour's distance of some row of y, that distance taken among y [1]_.
    recall : float
        The same with x and y exchanged.

    References
    ----------
    .. [1] T. Kynkäänniemi et al., "Improved precision and recall metric for assessing generative models", NeurIPS 2019.

    Examples
    --------
    >>> import heatball
    >>> ring = heatball.dataset("ring")
    >>> heatball.metrics.precision_recall(ring.sample(500, seed=1) + 9, ring.sample(500, seed=2))
    (0.0, 0.0)
    """
    x, y = _same_columns(x=x, y=y)
    out = np.empty(2)
    call("hb_judge_precision_recall", threads, x.shape[1], c_int("k", k, 1, 100), len(x), len(y),
         pointer(x), pointer(y), pointer(out), pointer(out[1:]))
    return float(out[0]), float(out[1])


def memorisation(x: ArrayLike, held_out: ArrayLike, training: ArrayLike, *, threads: int = 0) -> Result:
    """Return how near generated samples are to training samples, beside held-out real samples.

    Parameters
    ----------
    x, held_out, training : array_like of shape (n, dim), (m, dim), (n_t, dim)
        Generated samples, real samples that were not trained on, and those that were.
    threads : int
        0: one per core. The result does not depend on it.

    Returns
    -------
    Result
        median, real_median: of the distances to the nearest training sample, of x and of held_out; ratio: of the two, 1 when x
        is as far as real samples are, 0 for copies; near: the 1st percentile of the real distances; fraction: of x nearer
        than that.

    Examples
    --------
    >>> import heatball
    >>> ring = heatball.dataset("ring")
    >>> training, held_out = ring.sample(500, seed=1), ring.sample(500, seed=2)
    >>> heatball.metrics.memorisation(training[:50], held_out, training)["ratio"]
    0.0
    """
    x, held_out, training = _same_columns(x=x, held_out=held_out, training=training)
    out = Memorisation()
    call("hb_judge_memorisation", threads, x.shape[1], len(x), len(held_out), len(training),
         pointer(x), pointer(held_out), pointer(training), ctypes.sizeof(out), ctypes.byref(out))
    return _result(out, "Nearness to training rows")


def artifacts(images: ArrayLike, theta: float, *, kind: str = "median", least: int = 1,
              threads: int = 0) -> tuple[Integers, int]:
    """Count salt-and-pepper pixels of images.

    Parameters
    ----------
    images : array_like of shape (n, height, width)
        The images.
    theta : float
        Strength above which a pixel is a speck; `artifact_threshold` gives it for real images.
    kind : {"median", "isolated"}
        Strength of a pixel: its distance to the median of its 3 x 3 neighbourhood, or how far it is above the highest or below
        the lowest of the 8 around it.
    least : int
        Specks that make an image affected.
    threads : int
        0: one per core. The result does not depend on it.

    Returns
    -------
    specks : ndarray of int of shape (n,)
        Specks of each image.
    affected : int
        Images with at least `least` specks.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> images = np.zeros((2, 8, 8))
    >>> images[1, 3, 4] = 0.9
    >>> heatball.metrics.artifacts(images, 0.5)
    (array([0, 1]), 1)
    """
    images = array("images", images, 3)
    n, height, width = images.shape
    specks, affected = np.empty(n, np.uintp), np.empty(1, np.uintp)
    call("hb_judge_artifacts", threads, choice("kind", kind, SPECKS), height, width,
         c_int("least", least, 1, INT_MAX), n, real("theta", theta), pointer(images),
         _sizes(specks), _sizes(affected))
    return specks.astype(np.intp), int(affected[0])


@renamed(share="fraction")
def artifact_threshold(images: ArrayLike, fraction: float = 0.01, *, kind: str = "median", least: int = 1,
                       threads: int = 0) -> float:
    """Return the smallest theta of `artifacts` by which at most a fraction of real images is affected.

    Parameters
    ----------
    images : array_like of shape (n, height, width)
        Real images.
    fraction : float
        At least 0 and below 1.
    kind : {"median", "isolated"}
        As in `artifacts`.
    least : int
        As in `artifacts`.
    threads : int
        0: one per core. The result does not depend on it.

    Returns
    -------
    float
        The threshold.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> images = np.random.default_rng(1).uniform(size=(1000, 8, 8))
    >>> theta = heatball.metrics.artifact_threshold(images, 0.2)
    >>> heatball.metrics.artifacts(images, theta)[1]
    200
    """
    images, theta = array("images", images, 3), np.empty(1)
    n, height, width = images.shape
    call("hb_judge_artifacts_threshold", threads, choice("kind", kind, SPECKS), height, width,
         c_int("least", least, 1, INT_MAX), n, real("fraction", fraction), pointer(images),
         pointer(theta))
    return float(theta[0])


def curl(field: Any, x: ArrayLike, tau: float = 0.0, *, probes: int = 0, seed: int = 42,
         process: Any = "ou") -> tuple[float, float]:
    """Return the fraction of the antisymmetric part of a field's Jacobian.

    Parameters
    ----------
    field : callable, Model, or Mixture
        field(x, tau) of shape (n, dim) for x of shape (n, dim) and tau of shape (n,).
    x : array_like of shape (n, dim)
        Points, dim 2 or more.
    tau : float
        Argument of the field.
    probes : int
        0: the whole Jacobian; 2 to dim-1: as many random directions, for large dim.
    seed : int
        Seed of the directions.
    process : {"ou", "ve"}
        Of a Mixture.

    Returns
    -------
    value : float
        E |J - J^T|^2/(4 E |J|^2) over the points: 0 for a gradient, 1 for a rotation.
    error : float
        Its standard error.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> x = np.random.default_rng(1).normal(size=(50, 2))
    >>> round(heatball.metrics.curl(lambda x, tau: np.stack([x[:, 0] + 2 * x[:, 1], -x[:, 1]], 1), x)[0], 6)
    0.333333
    """
    x, values = array("x", x, 2), np.empty(2)
    with interruptible() as run:
        callback = Callbacks(run, x.shape[1]).score(as_field(field, own_process(field) or process, "field"))
        run("hb_judge_curl", x.shape[1], c_int("probes", probes, 0, INT_MAX), uint64("seed", seed), len(x),
            pointer(x), real("tau", tau), callback, None, pointer(values), pointer(values[1:]))
    return float(values[0]), float(values[1])


def helmholtz(field: ArrayLike, hx: float, hy: float) -> Result:
    """Return the curl-free and the divergence-free part of a two-dimensional field on a regular grid.

    Parameters
    ----------
    field : array_like of shape (ny, nx, 2)
        Values of (f_x, f_y) at x_i = x_0 + i hx, y_j = y_0 + j hy; sides of 8 to 4096.
    hx, hy : float
        Spacing.

    Returns
    -------
    Result
        gradient, rotation of shape (ny, nx, 2); gradient_mass, rotation_mass: their fractions of the sum of squares.

    Notes
    -----
    field - mean = gradient + rotation. The gradient is the nearest one in the mean square over the box; the rotation has no
    divergence and no flow through the boundary.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> x, y = np.meshgrid(np.linspace(-1, 1, 64), np.linspace(-1, 1, 64))
    >>> parts = heatball.metrics.helmholtz(np.stack([y, x], axis=2), 2 / 63, 2 / 63)
    >>> parts["rotation_mass"] < 1e-12
    True
    """
    field = array("field", field, 3)
    if field.shape[2] != 2:
        raise ValueError(f"field has shape {field.shape}; it must be (ny, nx, 2)")
    gradient, rotation, masses = np.empty(field.shape), np.empty(field.shape), np.empty(2)
    call("hb_judge_helmholtz", 0, field.shape[1], field.shape[0], real("hx", hx), real("hy", hy),
         pointer(field), pointer(gradient), pointer(rotation), pointer(masses), pointer(masses[1:]))
    return Result({"gradient": gradient, "rotation": rotation, "gradient_mass": float(masses[0]),
                   "rotation_mass": float(masses[1])}, "Helmholtz split of a field")


def _same_columns(**arrays):
    """Return the arrays as contiguous doubles with two axes and equally many columns."""
    arrays = {name: array(name, values, 2) for name, values in arrays.items()}
    (first, one), *others = arrays.items()
    for name, values in others:
        if values.shape[1] != one.shape[1]:
            raise ArgumentError(f"{first} has {one.shape[1]} columns and {name} has "
                                f"{values.shape[1]}; they must be equal")
    return arrays.values()


def _sizes(values):
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_size_t))


def _result(struct, title):
    return Result({name: getattr(struct, name) for name, _ in struct._fields_}, title)

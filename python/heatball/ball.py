"""Measures on the heat ball: exact draws, nodes and weights, kernels, constants.

The heat ball of radius r in dimension d is E_r = {(y, s): s > 0, Phi(y, s) >= r^-d}, Phi the heat kernel and s time
backward from an anchor. The mean of a caloric function over E_r under the Watson measure kappa is its value at the anchor.

    sample      exact draws from the kappa, source and gradient measures
    nodes       nodes and weights of a cubature, for small dimensions
    kernel      the kernels themselves
    constants   the constants of the representation
    plot        a picture of a ball
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heatball._arguments import (INT_MAX, c_int, choice, draws, float_dtype, pair, pointer, real,
                                 real_array, uint64)
from heatball._context import call
from heatball._errors import ArgumentError
from heatball._native import (MAX_DIM, BallConstants, Cubature, Kernel, Measure, library)
from heatball._tables import Result
from heatball._types import ArrayLike, Floats

__all__ = ["sample", "nodes", "kernel", "constants", "plot", "Draws", "Nodes", "cubature"]

MEASURES = {measure.name.removeprefix("MEASURE_").lower(): int(measure) for measure in Measure}
KERNELS = {kernel.name.removeprefix("KERNEL_").lower(): int(kernel) for kernel in Kernel}
CHUNK = 1 << 24  # normals between two chances for KeyboardInterrupt: some 0.1 s


class Draws(NamedTuple):
    """Draws from a measure on the heat ball; made by `sample`.

    Parameters
    ----------
    z : ndarray of shape (n, dim)
        Places relative to the anchor.
    sigma : ndarray of shape (n,)
        Times backward from the anchor, positive.

    Examples
    --------
    >>> import heatball
    >>> z, sigma = heatball.ball.sample("kappa", 3, 10)
    >>> z.shape, sigma.shape
    ((10, 3), (10,))
    """

    z: NDArray[Any]
    sigma: NDArray[Any]


class Nodes(NamedTuple):
    """Nodes and weights of a cubature for a measure on the heat ball; made by `nodes`.

    Parameters
    ----------
    z : ndarray of shape (size, dim)
        Places relative to the anchor.
    sigma : ndarray of shape (size,)
        Times backward from the anchor, positive.
    weight : ndarray of shape (size,)
        Positive, with sum 1.

    Examples
    --------
    >>> import heatball
    >>> heatball.ball.nodes("kappa", 2, degree=3).weight.sum().round(12)
    1.0
    """

    z: Floats
    sigma: Floats
    weight: Floats


def _dim(dim):
    return c_int("dim", dim, 1, MAX_DIM)


def _lift(lift):
    return c_int("lift", lift, 0, MAX_DIM)


def constants(dim: int, lift: int = 0) -> Result:
    """Return the constants of the unit heat ball in dim + lift dimensions.

    Parameters
    ----------
    dim : int
        1 to 1000000.
    lift : int
        Auxiliary dimensions, 0 to 1000000: the ball is in D = dim + lift dimensions.

    Returns
    -------
    Result
        The keys are those of ``heatball constants --json``: dim, lift, C1, C2, C3, c_g, volume, sigma_star, R_max, mean_sigma,
        one_plus_chi2 (inf for D <= 2), C_d, C_sharp, source_mass, gradient_mass, cylinder_volume, cylinder_ratio.

    See Also
    --------
    sample : Draws from the measures.

    Examples
    --------
    >>> import heatball
    >>> c = heatball.ball.constants(2)
    >>> round(c["C1"], 7), round(c["c_g"], 7), c["one_plus_chi2"]
    (0.0397887, 0.1814437, inf)
    """
    out = BallConstants()
    call("hb_ball_constants_get", 0, _dim(dim), _lift(lift), ctypes.sizeof(out), ctypes.byref(out))
    rename = {"r_max": "R_max"}
    return Result({rename.get(name, name): getattr(out, name) for name, _ in out._fields_},
                  f"Constants of the unit heat ball in dimension {out.dim + out.lift}")


def sample(measure: str, dim: int, n: int, *, lift: int = 0, radius: float = 1.0, seed: int = 1, first: int = 0,
           dtype: Any = np.float64, threads: int = 0) -> Draws:
    """Draw exactly from a measure on the heat ball of a radius.

    Parameters
    ----------
    measure : {"kappa", "source", "gradient"}
        Density |z|^2/(4 sigma^2) (the Watson measure), ln Phi, or |z|/(2 sigma), each normalised to mass 1.
    dim, n : int
        Dimension of z, and number of draws.
    lift : int
        Draw from the ball in dim + lift dimensions and keep the first dim coordinates.
    radius : float
        z has the factor radius, sigma the factor radius squared.
    seed, first : int
        Draw i is a function of (measure, dim, lift, radius, seed, i); the result holds i = first .. first+n-1. Chunks of any
        size give bit-identical results.
    dtype : dtype
        float64, or float32: the same draws, rounded.
    threads : int
        0: one per core. The result does not depend on it.

    Returns
    -------
    Draws
        z of shape (n, dim), and sigma of shape (n,): time backward from the anchor, positive.

    See Also
    --------
    nodes : A cubature for the same measures.

    Notes
    -----
    The mean of a caloric function under kappa is its value at the anchor [1]_ [2]_.

    References
    ----------
    .. [1] N. A. Watson, "A theory of subtemperatures in several variables", Proc. London Math. Soc. 26, 1973.
    .. [2] L. C. Evans, "Partial Differential Equations", 2nd ed., AMS, 2010, section 2.3.2.

    Examples
    --------
    The value of a caloric function is its mean under kappa; here exp(x + tau) at x = 0.3, tau = 2:

    >>> import numpy as np, heatball
    >>> z, sigma = heatball.ball.sample("kappa", 1, 100000, radius=1.5)
    >>> values = np.exp(0.3 + z[:, 0] + 2.0 - sigma)
    >>> bool(abs(values.mean() - np.exp(2.3)) < 5 * values.std() / np.sqrt(len(values)))
    True
    """
    measure, dtype = choice("measure", measure, MEASURES), float_dtype(dtype)
    dim, lift, radius = _dim(dim), _lift(lift), real("radius", radius)
    seed, (first, n) = uint64("seed", seed), draws(first, n)
    law = (measure, dim, lift, seed)
    rows = max(1, CHUNK // (abs(dim) + abs(lift) + 4))
    fill = _sample_doubles if dtype == np.float64 else _sample_floats
    fill(law, first, 0, radius, threads, np.empty((0, max(dim, 0)), dtype), np.empty(0, dtype))  # checks
    z, sigma = np.empty((n, dim), dtype), np.empty(n, dtype)
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        fill(law, first + start, stop - start, radius, threads, z[start:stop], sigma[start:stop])
    return Draws(z, sigma)


def plot(dim: int, n: int = 4000, measure: str = "kappa", *, lift: int = 0, radius: float = 1.0, seed: int = 1,
         ax: Any = None) -> Any:
    """Draw samples of a heat ball with its boundary, sigma against z (one dimension) or |z|, by matplotlib.

    Parameters
    ----------
    dim, n : int
        Dimension, and number of draws.
    measure : {"kappa", "source", "gradient"}
        As in `sample`.
    lift : int
        Auxiliary dimensions.
    radius : float
        Radius of the ball.
    seed : int
        Seed of the draws.
    ax : matplotlib.axes.Axes
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        When matplotlib is not installed.

    Notes
    -----
    The boundary is |z|^2 = 2 D sigma ln(r^2/(4 pi sigma)), D = dim + lift.

    Examples
    --------
    >>> import heatball.ball
    >>> import matplotlib; matplotlib.use("Agg")
    >>> heatball.ball.plot(2, 500, radius=1.5).get_xlabel()
    '|z|'
    """
    from heatball._plots import new_axes
    z, sigma = sample(measure, dim, n, lift=lift, radius=radius, seed=seed)
    sides = np.linspace(-1 if dim == 1 else 0, 1, 401)
    part = np.sin(np.pi / 2 * sides)**2  # of the ball's depth
    depth = real("radius", radius)**2 / (4 * np.pi)
    width = np.sqrt(-2 * (dim + lift) * depth * part * np.log(np.where(part > 0, part, 1)))
    ax = new_axes(ax)
    ax.plot(z[:, 0] if dim == 1 else np.sqrt((z**2).sum(axis=1)), sigma, ".", markersize=2, label=f"draws of {measure}")
    ax.plot(np.copysign(width, sides), depth * part, label="boundary")
    ax.set(xlabel="z" if dim == 1 else "|z|", ylabel="backward time sigma",
           title=f"heat ball of radius {radius:g} in dimension {dim}")
    ax.legend(loc="center" if dim == 1 else "center left")
    return ax


def _sample_doubles(law, first, n, radius, threads, z, sigma):
    call("hb_ball_sample", threads, *law, first, n, radius, pointer(z), pointer(sigma))


def _sample_floats(law, first, n, radius, threads, z, sigma):
    rows = np.empty((n, z.shape[1] + 1), np.float32)
    call("hb_ball_sample_rows_f32", threads, *law, first, n, radius, pointer(rows))
    z[:], sigma[:] = rows[:, :-1], rows[:, -1]


def kernel(name: str, y: ArrayLike, s: ArrayLike, radius: float = 1.0) -> Any:
    """Evaluate a kernel of the heat ball of a radius at points (y, s).

    Parameters
    ----------
    name : {"heat", "watson", "source", "gradient", "green", "drift"}
        The kernel; see the notes.
    y : array_like of shape (..., dim)
        The last axis holds the coordinates, also for dim = 1.
    s : array_like
        Backward time; broadcast with the other axes of y.
    radius : float
        Radius of the ball.

    Returns
    -------
    ndarray or float
        The values; a float for one point.

    Notes
    -----
    "heat" is Phi(y, s) = (4 pi s)^(-d/2) exp(-|y|^2/(4s)), for every s > 0. The others are 0 outside the ball: "watson"
    |y|^2/(4 s^2 r^d), the density of kappa; "source" psi = ln(r^d Phi); "gradient" |y|/(2s); "green" Phi - r^-d (1 + psi);
    "drift" Phi - r^-d.

    Examples
    --------
    >>> import heatball
    >>> round(heatball.ball.kernel("heat", [0.0, 0.0], 0.02), 6)  # 1/(4 pi s)
    3.978874
    >>> heatball.ball.kernel("watson", [[0.1, 0.2], [3.0, 0.0]], 0.02).round(6).tolist()
    [31.25, 0.0]
    """
    which, radius = choice("kernel", name, KERNELS), real("radius", radius)
    y = real_array("y", y).astype(np.float64)
    if y.ndim == 0:
        raise ArgumentError("y is a single number; its last axis must hold the coordinates")
    s = real_array("s", s).astype(np.float64)
    try:
        shape = np.broadcast_shapes(y.shape[:-1], s.shape)
    except ValueError:
        raise ArgumentError(f"s has shape {s.shape}; it must go with the {y.shape[:-1]} points of y") from None
    dim = y.shape[-1]
    y = np.ascontiguousarray(np.broadcast_to(y, shape + (dim,)))
    s = np.ascontiguousarray(np.broadcast_to(s, shape))
    out = np.empty(shape)
    call("hb_ball_kernel", 0, which, dim, s.size, radius, pointer(y), pointer(s), pointer(out))
    return out if shape else float(out)


def nodes(measure: str, dim: int, *, lift: int = 0, degree: int | None = None, n_time: int | None = None,
          n_radius: int | None = None, direction_degree: int | None = None,
          rotate: tuple[int, int] | None = None) -> Nodes:
    """Return nodes and weights of a cubature for a measure on the unit heat ball.

    Parameters
    ----------
    measure : {"kappa", "source", "gradient"}
        As in `sample`.
    dim, lift : int
        As in `sample`.
    degree : int
        A rule that is exact for polynomials z^alpha sigma^a with |alpha| + 2a <= degree.
    n_time, n_radius, direction_degree : int
        Instead of `degree`, all three: a product of Gauss-Laguerre in L = -ln(4 pi sigma), Gauss-Jacobi in |z|^2/R^2, and a rule
        on the sphere that is exact to this degree.
    rotate : (int, int)
        (seed, index) of a random rotation; default: as built.

    Returns
    -------
    Nodes
        z of shape (size, dim), sigma and weight of shape (size,). The weights are positive with sum 1. For a radius r take
        r z and r^2 sigma.

    See Also
    --------
    sample : Random draws, for any dimension.
    heatball.balls : Nodes behind anchors for a network of your own.

    Examples
    --------
    The caloric polynomial x^2 + 2 tau at x = 0.5, tau = 1, from a rule of degree 2:

    >>> import heatball
    >>> z, sigma, weight = heatball.ball.nodes("kappa", 1, degree=2)
    >>> round(float(weight @ ((0.5 + z[:, 0])**2 + 2 * (1.0 - sigma))), 12)
    2.25
    """
    measure = choice("measure", measure, MEASURES)
    rule = ctypes.POINTER(Cubature)()
    name, sizes = _rule_of(degree, n_time, n_radius, direction_degree)
    seed, index = (0, 0) if rotate is None else pair("rotate", rotate)
    turn = (int(rotate is not None), uint64("seed", seed), uint64("index", index))
    call(name, 0, measure, _dim(dim), _lift(lift), *sizes, ctypes.byref(rule))
    try:
        size = library.hb_cubature_size(rule)
        z, sigma, weight = np.empty((size, dim)), np.empty(size), np.empty(size)
        call("hb_cubature_nodes", 0, rule, *turn, pointer(z), pointer(sigma), pointer(weight))
    finally:
        library.hb_cubature_destroy(rule)
    return Nodes(z, sigma, weight)


cubature = nodes  # the name before


def _rule_of(degree, n_time, n_radius, direction_degree):
    """Return the C function and its integers."""
    product = {"n_time": n_time, "n_radius": n_radius, "direction_degree": direction_degree}
    given = [name for name, value in product.items() if value is not None]
    if degree is not None and not given:
        return "hb_cubature_exact", [c_int("degree", degree, 0, INT_MAX)]
    if degree is None and len(given) == 3:
        return "hb_cubature_product", [c_int(*item, 0, INT_MAX) for item in product.items()]
    raise ArgumentError("give either degree, or n_time, n_radius and direction_degree")

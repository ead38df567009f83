"""How good samples and vector fields are."""

import ctypes

import numpy as np

from heatball._arguments import INT_MAX, array, c_int, pointer, real, uint64
from heatball._context import call
from heatball._errors import Error
from heatball._native import Mmd
from heatball.data import field_callback

__all__ = ["curl", "helmholtz", "mmd"]


def mmd(x, y, *, single=False, threads=0):
    """Return the maximum mean discrepancy of two samples.

    The kernel is the mean over c = 1/4, 1/2, 1, 2, 4 of exp(-|a-b|^2/(2 c^2 h^2)), h the median
    distance among up to 1000 rows of y.

    Parameters
    ----------
    x, y : array_like of shape (n, dim), (m, dim)
        At least 4 rows each.
    single : bool
        c = 1 alone.
    threads : int
        0: one per core. The result does not depend on it.

    Returns
    -------
    dict
        mmd (the root of the biased estimate), mmd2 (the unbiased one of the square, which may be
        negative), mmd2_se (its standard error), bandwidth (h).

    Examples
    --------
    >>> import heatball
    >>> moons = heatball.dataset("two_moon")
    >>> same = heatball.mmd(moons.sample(500, seed=1), moons.sample(500, seed=2))
    >>> abs(same["mmd2"]) < 4 * same["mmd2_se"]
    True
    """
    x, y = array("x", x, 2), array("y", y, 2)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"x has {x.shape[1]} columns and y has {y.shape[1]}; they must be equal")
    out = Mmd()
    call("hb_judge_mmd", threads, x.shape[1], len(x), pointer(x), len(y), pointer(y), int(single),
         ctypes.byref(out))
    return {name: getattr(out, name) for name, _ in out._fields_}


def curl(field, x, tau=0.0, *, probes=0, seed=42):
    """Return (curl, error): the share of the antisymmetric part of a field's Jacobian.

    E |J - J^T|^2/(4 E |J|^2) over the points: 0 for a gradient, 1 for a rotation.

    Parameters
    ----------
    field : callable
        field(x, tau) of shape (n, dim) for x of shape (n, dim).
    x : array_like of shape (n, dim)
        Points, dim 2 or more.
    tau : float
        Handed to the field.
    probes : int
        0: the whole Jacobian; 2 to dim-1: that many random directions, for large dim.
    seed : int
        Of the directions.

    Returns
    -------
    tuple of float

    Examples
    --------
    >>> import numpy as np, heatball
    >>> x = np.random.default_rng(1).normal(size=(50, 2))
    >>> round(heatball.curl(lambda x, tau: np.stack([x[:, 0] + 2 * x[:, 1], -x[:, 1]], 1), x)[0], 6)
    0.333333
    """
    x, failures = array("x", x, 2), []
    values = np.empty(2)
    callback = field_callback(field, x.shape[1], failures)
    try:
        call("hb_judge_curl", 0, x.shape[1], len(x), pointer(x), real("tau", tau),
             uint64("seed", seed), c_int("probes", probes, 0, INT_MAX), callback, None,
             pointer(values), pointer(values[1:]))
    except Error:
        if not failures:
            raise
    if failures:
        raise failures[0]
    return float(values[0]), float(values[1])


def helmholtz(field, hx, hy):
    """Return the curl-free and the divergence-free part of a planar field on a regular grid.

    field - mean = gradient + rotation; the gradient is the nearest one in the mean square over the
    box, the rotation has no divergence and no flow through the walls.

    Parameters
    ----------
    field : array_like of shape (ny, nx, 2)
        Values of (f_x, f_y) at x_i = x_0 + i hx, y_j = y_0 + j hy; sides of 8 to 4096.
    hx, hy : float
        Spacing.

    Returns
    -------
    dict
        gradient, rotation of shape (ny, nx, 2); gradient_mass, rotation_mass: their shares of the
        sum of squares.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> x, y = np.meshgrid(np.linspace(-1, 1, 64), np.linspace(-1, 1, 64))
    >>> parts = heatball.helmholtz(np.stack([y, x], axis=2), 2 / 63, 2 / 63)
    >>> parts["rotation_mass"] < 1e-12
    True
    """
    field = array("field", field, 3)
    if field.shape[2] != 2:
        raise ValueError(f"field has shape {field.shape}; it must be (ny, nx, 2)")
    gradient, rotation, masses = np.empty(field.shape), np.empty(field.shape), np.empty(2)
    call("hb_judge_helmholtz", 0, field.shape[1], field.shape[0], real("hx", hx), real("hy", hy),
         pointer(field), pointer(gradient), pointer(rotation), pointer(masses), pointer(masses[1:]))
    return {"gradient": gradient, "rotation": rotation, "gradient_mass": float(masses[0]),
            "rotation_mass": float(masses[1])}

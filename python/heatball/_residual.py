"""What `residual` returns."""

from __future__ import annotations

from typing import Any
from warnings import warn

import numpy as np

from heatball._tables import Result
from heatball._types import Floats

__all__ = ["Residual"]


class Residual(Result):
    """Mean-value residuals at n points and k radii; made by `residual`.

    A dict whose keys are attributes too, with the same content for a problem's solution, a log-density and a score.

    Attributes
    ----------
    residual, scaled : ndarray of shape (n, k), or (n, k, dim) of a score
        R_r, and 4 R_r/(C1 r^2); 0 where the function solves its equation.
    residual_error, scaled_error : ndarray of the same shape
        Their errors.
    radii : ndarray of shape (n, k)
        The radius of each value.
    radius : ndarray of shape (k,), or (n, k)
        The radii as they were given; with `radius_fraction` those of each point.
    x : ndarray of shape (n, dim)
        The points.
    tau : ndarray of shape (n,)
        Their tau, the integral of g^2/2 up to the time of a problem.
    is_vector : bool
        Whether it is that of a score, with a component for each coordinate.

    See Also
    --------
    residual : Compute them.

    Examples
    --------
    >>> import heatball
    >>> r = heatball.residual("-x", "sqrt(2)", "gaussian(mean=1, var=0.4)", 0.5, [0.3, 1.7], [0.2, 0.4])
    >>> r.scaled.shape, r.radii.shape, r.is_vector
    ((2, 2), (2, 2), False)
    """

    x: Floats
    tau: Floats
    radii: Floats
    is_vector: bool

    def __missing__(self, name: str) -> Any:
        if name not in ("residual_se", "scaled_se"):
            raise KeyError(name)
        new = f"{name[:-3]}_error"
        warn(f"{name} is now {new}; the old name goes in the next release", DeprecationWarning, stacklevel=2)
        return self[new]

    @classmethod
    def _make(cls, x: Any, tau: Any, radius: Any, values: dict[str, Any], title: str) -> Residual:
        self = cls({"radius": radius, **values}, title, ("point", "radius"))
        shape = values["residual"].shape
        self.__dict__.update(x=x, tau=tau, radii=np.broadcast_to(radius, shape[:2]).copy(), is_vector=len(shape) == 3)
        return self


Residual.__module__ = "heatball"

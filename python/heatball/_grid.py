"""The grid behind a solution, and its values at other points."""

from __future__ import annotations

import ctypes
import math
import weakref
from typing import Any

import numpy as np

from heatball._arguments import array, pointer, real, real_array
from heatball._context import call, context
from heatball._errors import ArgumentError
from heatball._native import Status, library
from heatball._tables import Shown
from heatball._types import ArrayLike, Floats

__all__ = ["Evaluation"]


class Evaluation(Shown):
    """Density, log-density and score of a solution at other points; made by calling a `Solution`.

    Attributes
    ----------
    x : ndarray of shape (n, dim)
        The points.
    time : float, or ndarray of shape (times,)
        The time of the values, or the times.
    density, density_error, log_density, log_density_error : ndarray of shape (n,)
        Values and errors: estimates from refinement of a grid, standard errors of guided walks. Of several times the shape is (times, n).
    score, score_error : ndarray of shape (n, dim)
        The gradient of the log-density. Of several times the shape is (times, n, dim).

    See Also
    --------
    solve : Make a solution.

    Examples
    --------
    >>> import heatball
    >>> s = heatball.solve("-x", "sqrt(2)", "gaussian(mean=0, var=1)", 0.7, [0.0])
    >>> value = s([0.5, 1.0])
    >>> value.score.round(4).tolist(), value.density.shape
    ([[-0.5], [-1.0]], (2,))
    """

    x: Floats
    time: Any
    density: Floats
    density_error: Floats
    log_density: Floats
    log_density_error: Floats
    score: Floats
    score_error: Floats

    def __init__(self, x: Floats, time: Any, log_density: Floats, log_density_error: Floats, score: Floats,
                 score_error: Floats) -> None:
        self.x, self.time, self.log_density, self.log_density_error = x, time, log_density, log_density_error
        self.density = np.exp(log_density)
        self.density_error = self.density * log_density_error
        self.score, self.score_error = score, score_error

    def _title(self) -> str:
        n, dim = self.x.shape
        when = f"time {self.time:g}" if np.ndim(self.time) == 0 else f"{len(self.time)} times"
        return f"Values of the solution at {n} point{'s' * (n != 1)} in dimension {dim}, {when}"

    def _columns(self) -> dict[str, Any]:
        n, dim = self.x.shape
        times = np.atleast_1d(self.time)
        out = {"t": np.repeat(times, n)} if np.ndim(self.time) else {}
        out.update((f"x_{j + 1}", np.tile(self.x[:, j], len(times))) for j in range(dim))
        for name in ("density", "log_density"):
            out.update({name: getattr(self, name).ravel(), f"{name}_error": getattr(self, f"{name}_error").ravel()})
        for j in range(dim):
            out[f"score_{j + 1}"] = self.score.reshape(-1, dim)[:, j]
            out[f"score_{j + 1}_error"] = self.score_error.reshape(-1, dim)[:, j]
        return out

    def _values(self) -> dict[str, Any]:
        return dict(vars(self))


Evaluation.__module__ = "heatball"


class Grid:
    """Owns the library's solution, and the problem and functions that it needs."""

    def __init__(self, handle, problem, keep, failures, owner):
        self.handle, self.keep, self.failures = handle, keep, failures
        weakref.finalize(self, _destroy, handle, problem, keep, owner).atexit = False

    @staticmethod
    def behind(handle, times):
        """Whether the library's solution has a grid at any of the times."""
        return any(library.hb_solution_evaluate(context(0), handle, k, 0, *[None] * 5) == Status.OK for k in range(times))

    def has(self, index):
        """Whether there is a grid at the time of this index."""
        return library.hb_solution_evaluate(context(0), self.handle, index, 0, *[None] * 5) == Status.OK

    def box(self, index):
        """Return the lowest and the highest coordinates of the grid at the time of this index."""
        low, high = np.empty((2, library.hb_solution_dim(self.handle)))
        if library.hb_solution_box(self.handle, index, pointer(low), pointer(high)) != Status.OK:
            raise ArgumentError("there is no grid at this time")
        return low, high

    def evaluate(self, x, index):
        """Return ln u, its error, the score and its error at x and the time of this index."""
        out = [np.empty(shape) for shape in ((len(x),), (len(x),), x.shape, x.shape)]
        self.failures.clear()
        try:
            call("hb_solution_evaluate", 0, self.handle, index, len(x), pointer(x), *map(pointer, out))
        except Exception:
            if self.failures:
                raise self.failures[0] from None
            raise
        return out


def evaluate(solution: Any, grid: Grid | None, x: ArrayLike, time: float | None) -> Evaluation:
    """What a call of a solution returns."""
    if grid is None:
        raise ArgumentError(_no_grid(solution))
    values = np.atleast_1d(real_array("x", x))
    points = array("x", values[:, None] if values.ndim == 1 else values, 2)
    if points.shape[1] != solution.x.shape[1]:
        raise ArgumentError(f"x has points of {points.shape[1]} coordinates; the solution has dimension "
                            f"{solution.x.shape[1]}")
    if not np.isfinite(points).all():
        raise ArgumentError(f"point {int(np.argmin(np.isfinite(points).all(axis=1))) + 1} of x is not finite")
    one = np.ndim(solution.time) == 0 or time is not None
    index = _index(solution.t, time) if one else 0
    for k in [index] if one else range(len(solution.t)):
        if not grid.has(k):
            raise ArgumentError(f"there is no grid at time {solution.t[k]:g}" + "; give one of the other times" * (not one))
    if one:
        return Evaluation(points.copy(), float(solution.t[index]), *grid.evaluate(points, index))
    parts = [grid.evaluate(points, k) for k in range(len(solution.t))]
    return Evaluation(points.copy(), solution.t, *(np.stack(part) for part in zip(*parts)))


def _index(times, time):
    """The index of a time of the solution; None: its only one."""
    if time is None:
        return 0
    time = real("time", time)
    near = int(np.argmin(np.abs(times - time))) if math.isfinite(time) else int(np.argmax(times))
    if not (times[near] == time or abs(times[near] - time) <= 1e-12 * abs(time)):
        known = ", ".join(f"{one:g}" for one in times[:8]) + ", ..." * (len(times) > 8)
        raise ArgumentError(f"time is {time:g}; the solution has {known}")
    return near


def _no_grid(solution):
    closed = solution.method in ("initial", "stationary")
    return (f"the solution by the method {solution.method} has no grid to evaluate; solve again with at=x"
            + ", or in up to three dimensions with method=\"grid\"" * (not closed))


def _destroy(handle, problem, keep, owner):  # functions and context outlive what was made with them
    library.hb_solution_destroy(handle)
    library.hb_problem_destroy(problem)

"""What `solve` returns: density, log-density, score and entropy density at points and times, each with its error."""

from __future__ import annotations

from typing import Any, Mapping
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from heatball._native import Column
from heatball._tables import Shown
from heatball._types import Floats

__all__ = ["Solution"]

RENAMED = ("density_se", "log_density_se", "score_se", "entropy_density_se")  # for one release
warned: set[str] = set()


class Solution(Shown):
    """Density, log-density, score and entropy density at points, each with its error.

    Attributes
    ----------
    x : ndarray of shape (n, dim)
    density, density_error, log_density, log_density_error : ndarray of shape (n,)
    score, score_error : ndarray of shape (n, dim)
        The gradient of the log-density.
    entropy_density, entropy_density_error : ndarray of shape (n,)
        u ln u.
    error_kind : ndarray of shape (n,)
        What the errors of a point are: "standard error" (Monte Carlo, 68 %), "error estimate" (discretisation, from
        refinement) or "bound" (rounding).
    time, tau : float
        The time, and the cumulative variance (integral of g^2/2) up to it.
    t : ndarray of shape (times,)
        The time, or the times.
    method, note : str
        What was done, and why.
    methods : list of str
        The method of each point.
    samples : ndarray of shape (n,)
        Walks or trajectories behind each point; 0 for methods that do not sample.
    warnings : dict of int to str
        Why the errors of a point, by its index, cannot be trusted; such errors are infinite.
    config : dict
        The arguments of `solve` other than defaults, and the version: ``heatball.solve(**config)`` without the key "heatball" solves it
        again.

    Of several times all of these but `x`, `t`, `method` and `note` have an axis of the times before their own: density has
    shape (times, n) and score (times, n, dim); time and tau are arrays of shape (times,), `methods` is a list for each time, and
    the keys of `warnings` are (time index, point index).

    Examples
    --------
    >>> import heatball
    >>> s = heatball.solve(drift="-x", noise="sqrt(2)", initial="gaussian(mean=0, var=1)", time=0.7,
    ...                    at=[[0.0], [1.5]])
    >>> s.method, s.score.shape
    ('grid', (2, 1))
    """

    x: Floats
    density: Floats
    density_error: Floats
    log_density: Floats
    log_density_error: Floats
    score: Floats
    score_error: Floats
    entropy_density: Floats
    entropy_density_error: Floats
    error_kind: NDArray[Any]
    time: Any  # float, or of several times an array
    tau: Any
    method: str
    note: str
    methods: list[Any]
    samples: NDArray[Any]
    warnings: dict[Any, str]
    config: dict[str, Any]

    def __init__(self, x: Floats, columns: Mapping[str, Floats], time: Any, tau: Any, method: str, note: str,
                 methods: list[Any], error_kind: NDArray[Any], samples: NDArray[Any], warnings: dict[Any, str]) -> None:
        self.x, self.time, self.tau, self.method, self.note = x, time, tau, method, note
        self.methods, self.error_kind, self.samples, self.warnings = methods, error_kind, samples, warnings
        self.config = {}
        for name, values in columns.items():
            setattr(self, name, values)

    def __getattr__(self, name: str) -> Any:
        if name not in RENAMED:
            raise AttributeError(f"a Solution has no {name!r}")
        new = f"{name[:-3]}_error"
        if name not in warned:
            warned.add(name)
            warn(f"{name} is now {new}; the old name goes in the next release", DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    @property
    def t(self) -> Floats:
        """The time, or the times, as an array."""
        return np.atleast_1d(np.array(self.time, np.float64))

    def _title(self) -> str:
        n, dim = self.x.shape
        head = f"Solution of {n} point{'s' * (n != 1)} in dimension {dim} at "
        kinds = np.unique(self.error_kind)
        errors = f"errors: {kinds[0]}" if len(kinds) == 1 else "errors of several kinds"
        if np.ndim(self.time):
            return (f"{head}{len(self.t)} times from {self.t[0]:g} to {self.t[-1]:g}, {self.method}, "
                    f"{errors}, {len(self.warnings)} warnings")
        return head + f"time {self.time:g} (tau {self.tau:g}), {self.method}, {errors}"

    def _columns(self) -> dict[str, Any]:
        """A row for each time and point, with the names that the command gives its columns."""
        n, dim = self.x.shape
        times = len(self.t)
        out = {"t": np.repeat(self.t, n)} if np.ndim(self.time) else {}
        out.update((f"x_{j + 1}", np.tile(self.x[:, j], times)) for j in range(dim))
        for name in ("density", "log_density"):
            out.update({name: getattr(self, name).ravel(), f"{name}_error": getattr(self, f"{name}_error").ravel()})
        score, error = self.score.reshape(-1, dim), self.score_error.reshape(-1, dim)
        for j in range(dim):
            out.update({f"score_{j + 1}": score[:, j], f"score_{j + 1}_error": error[:, j]})
        out.update(entropy_density=self.entropy_density.ravel(), entropy_density_error=self.entropy_density_error.ravel(),
                   error_kind=self.error_kind.ravel())
        flat = [name for row in self.methods for name in row] if np.ndim(self.time) else self.methods
        keys = [(k, i) for k in range(times) for i in range(n)] if np.ndim(self.time) else range(n)
        out.update(method=np.array(flat, object), samples=self.samples.ravel(),
                   warning=np.array([self.warnings.get(key, "") for key in keys], object))
        return out

    def _hidden(self) -> tuple[str, ...]:
        return ("entropy_density", "method", "samples", "warning") + ("error_kind",) * (len(np.unique(self.error_kind)) == 1)

    def _notes(self) -> list[str]:
        shown = list(self.warnings.items())[:6]
        notes = [(f"time {self.t[key[0]]:g}, point {key[1]}" if isinstance(key, tuple) else f"point {key}") + f": {text}"
                 for key, text in shown]
        return notes + [f"... and {len(self.warnings) - 6} more warnings"] * (len(self.warnings) > 6)

    def _values(self) -> dict[str, Any]:
        names = ["x", "time", "tau", *(column.name.removeprefix("COLUMN_").lower() for column in Column), "method", "note",
                 "methods", "error_kind", "samples", "config"]
        warnings = [dict(zip(("time", "point"), key), text=text) if isinstance(key, tuple) else dict(point=key, text=text)
                    for key, text in self.warnings.items()]
        return {**{name: getattr(self, name) for name in names}, "warnings": warnings}

    def plot(self, quantity: str = "density", *, time: float | None = None, ax: Any = None) -> Any:
        """Draw a quantity with its error, by matplotlib; return the axes.

        In one dimension: a curve with its error, of several times coloured by time. In two dimensions: a picture if the points are a
        mesh (`mesh`), else coloured points; of several times up to six pictures. Above: points by their number, or of several
        times curves over time. Values whose error is not known are marked.

        Parameters
        ----------
        quantity : str
            "density", "log_density", "entropy_density", "score" (in two dimensions arrows), or one of "score_1", "score_2", ...
        time : float
            Of several times the one to draw: the nearest; default: all.
        ax : matplotlib.axes.Axes
            Where to draw; default: a new figure.

        Returns
        -------
        matplotlib.axes.Axes, or an array of them for several pictures

        Raises
        ------
        ImportError
            When matplotlib is not installed.

        Examples
        --------
        >>> import heatball
        >>> s = heatball.solve("-x", "sqrt(2)", "gaussian(mean=1, var=0.4)", 0.5, heatball.mesh((-2, 3, 51)))
        >>> s.plot().get_ylabel()
        'density'
        """
        from heatball._plots import plot_solution
        return plot_solution(self, quantity, time, ax)


Solution.__module__ = "heatball"

"""What `solve` returns: density, log-density, score and entropy density at points and times, each with its error."""

from __future__ import annotations

import copy
from typing import Any, Mapping
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from heatball._errors import ArgumentError, Error
from heatball._files import write
from heatball._grid import Evaluation, Grid, evaluate
from heatball._native import Column
from heatball._tables import Shown, plain
from heatball._types import ArrayLike, Floats, Path

__all__ = ["Solution"]

RENAMED = ("density_se", "log_density_se", "score_se", "entropy_density_se")  # for one release
FILES = ("state", "save_every", "resume")  # arguments that read or write files of a long run
warned: set[str] = set()


class Solution(Shown):
    """Density, log-density, score and entropy density at points, each with its error.

    Attributes
    ----------
    x : ndarray of shape (n, dim)
        The points.
    density, density_error, log_density, log_density_error : ndarray of shape (n,)
        u and ln u, with errors.
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
        The arguments of `solve` other than defaults, of a function its name, and the version under the key "heatball".
        ``heatball.solve(**config)`` solves it again, unless there is a function.

    See Also
    --------
    solve : Make one.

    Notes
    -----
    What an error is depends on the method: an estimate from refinement (grid), a standard error (particles, walk, network,
    meanvalue), or a bound of rounding (closed forms).

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
    config: dict[str, Any] = {}
    _grid: Grid | None = None
    _loaded = False
    _functions: list[str] = []  # arguments that were functions: config has their names only

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

    def __call__(self, x: ArrayLike, *, time: float | None = None) -> Evaluation:
        """Evaluate the grid, or walk along the guide, behind the solution at other points, without solving again.

        A solution from a file or a pickle has neither: its first call solves again from `config`, and keeps what it needs.
        The values are bit-identical to those of the solution that was saved.

        Parameters
        ----------
        x : array_like of shape (n, dim), or (n,) or a number for dim = 1
            Points, of a grid inside its box.
        time : float
            Of several times the one to evaluate; default: all.

        Returns
        -------
        Evaluation
            Density, log-density and score with their errors.

        Raises
        ------
        ArgumentError
            A point is outside the box, or there is nothing to evaluate: the methods "grid" and "meanvalue" leave a grid,
            "guided" at one time its guide. A solution from
            a file cannot be solved again: an argument was a function, or the problem file has changed.

        Examples
        --------
        >>> import heatball
        >>> s = heatball.solve("-x", "sqrt(2)", "gaussian(mean=0, var=1)", 0.7, [0.0])
        >>> s([0.5, 1.0]).score.round(4).tolist()
        [[-0.5], [-1.0]]
        """
        return evaluate(self, self._behind(), x, time)

    def _behind(self) -> Grid | None:
        """The grid; of a solution from a file the arguments are solved again."""
        if self._grid is None and self._loaded and self.method in ("grid", "meanvalue", "guided", "several"):
            self._grid = _solved_again(self)._grid
        return self._grid

    def save(self, path: Path) -> None:
        """Write the solution to an .npz file, which `heatball.load` reads.

        Parameters
        ----------
        path : path
            The file, with the name as it is given. It is whole or not there.

        See Also
        --------
        load : Read it again.

        Notes
        -----
        The file has the arrays, the warnings and `config`, but not the grid: the first call of a solution that was read
        solves again.

        Examples
        --------
        >>> import os, tempfile, heatball
        >>> s = heatball.solve("-x", "sqrt(2)", "gaussian(mean=0, var=1)", 0.7, [0.0, 1.5])
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     s.save(os.path.join(directory, "s.npz"))
        ...     heatball.load(os.path.join(directory, "s.npz")).config["drift"]
        '-x'
        """
        state = {name: value for name, value in vars(self).items() if name[0] != "_" and name not in ("config", "warnings")}
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        given = {name: value for name, value in self.config.items() if isinstance(value, np.ndarray) or name == "at"}
        write(path, "Solution", {
            "values": {name: plain(value) for name, value in state.items() if name not in arrays},
            "config": {name: None if name in given else plain(value) for name, value in self.config.items()},
            "functions": self._functions,
            "warnings": [[list(key) if isinstance(key, tuple) else key, text] for key, text in self.warnings.items()],
        }, {**arrays, **{f"config {name}": value for name, value in given.items()}})

    @classmethod
    def _from_file(cls, head, arrays):
        """The solution of a file's content."""
        given = {name.removeprefix("config "): value for name, value in arrays.items() if name.startswith("config ")}
        values = {**head["values"], **{name: value for name, value in arrays.items() if not name.startswith("config ")}}
        shape = (*np.shape(values["time"]), len(values["x"]))
        for name in _columns():
            if values[name].shape[:len(shape)] != shape:
                raise ValueError(f"{name} has shape {values[name].shape}")
        self = cls.__new__(cls)
        self.__dict__.update(values, config={**head["config"], **given}, _loaded=True, _functions=list(head.get("functions", [])),
                             warnings={tuple(key) if isinstance(key, list) else key: text for key, text in head["warnings"]})
        self._title()  # what is missing is found here
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**{name: value for name, value in self.__dict__.items() if name != "_grid"}, "_loaded": True}

    def __copy__(self) -> "Solution":
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> "Solution":
        twin = type(self).__new__(type(self))
        twin.__dict__.update({name: value if name == "_grid" else copy.deepcopy(value, memo)
                              for name, value in self.__dict__.items()})
        return twin

    def plot(self, quantity: str = "density", *, time: float | None = None, ax: Any = None) -> Any:
        """Draw a quantity with its error, by matplotlib.

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
        matplotlib.axes.Axes, or an array of them
            The axes; an array for several pictures.

        Raises
        ------
        ImportError
            When matplotlib is not installed.

        Notes
        -----
        In one dimension: a curve with its error, of several times coloured by time. In two dimensions: a picture if the points are
        a mesh or a grid is behind the solution, else coloured points; of several times up to six pictures. Above: points by their number, or curves over time.
        Values whose error is not known are marked.

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


def _solved_again(old: Solution) -> Solution:
    """The solution of the arguments of one that has lost its grid, with the same values at its points."""
    from heatball.sde import solve
    again = "solve again with at=x, and the arguments in `config`"
    if old._functions:
        raise ArgumentError("this solution came from a file or another process, which does not have the function "
                            f"{' and '.join(old._functions)}; {again}")
    given = {name: value for name, value in old.config.items() if name not in ("heatball", *FILES)}
    try:
        new = solve(**given)
    except (Error, TypeError) as error:
        raise ArgumentError(f"this solution came from a file or another process, and its arguments cannot be solved again: "
                            f"{error}") from None
    for name in ("x", "log_density"):
        one, other = getattr(old, name), getattr(new, name)
        if one.shape != other.shape or not np.allclose(one, other, rtol=1e-6, atol=1e-9, equal_nan=True):
            raise ArgumentError("this solution came from a file or another process, and its arguments now have other values: a "
                                f"problem file or the version has changed since {old.config.get('heatball')}; {again}")
    return new


def _columns():
    return [column.name.removeprefix("COLUMN_").lower() for column in Column]

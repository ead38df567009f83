"""The face of results: small tables in a terminal and in a notebook, plain dicts, pandas.

A class gets it by inheriting `Shown` and telling its title and its columns:

    class Certificate(Shown):
        def _title(self):
            return "3 of 12 lines failed"
        def _columns(self):                     # equal lengths; NAME_se or NAME_error is the error of NAME
            return {"tau": self.tau, "residual": self.residual, "residual_error": self.residual_error}

A function that returns a dict returns `Result(dict, title)`: the same dict with this face and its keys as attributes.
"""

from __future__ import annotations

import html
import re
from typing import Any, Iterable, Mapping, Sequence

import numpy as np

__all__ = ["Result", "Shown"]

ROWS = 6  # of a table that are printed
NAMES = 40  # of a list of names and values
ERRORS = ("_error", "_se")  # ends of the names of errors
MEMBERS = 3  # of x_1 .. x_d that are printed


class Shown:
    """What prints as a table, converts to a dict and to pandas; see the head of this file."""

    def _title(self) -> str:
        return type(self).__name__

    def _columns(self) -> Mapping[str, Any]:
        """The whole table: for each column its values, all of one length."""
        raise NotImplementedError

    def _hidden(self) -> Iterable[str]:
        """Columns that are converted, but not printed."""
        return ()

    def _notes(self) -> Sequence[str]:
        """Sentences below the table."""
        return ()

    def _values(self) -> Mapping[str, Any]:
        """What `to_dict` gives."""
        return self._columns()

    def __repr__(self) -> str:
        heads, rows, left = _cells(self._columns(), set(self._hidden()))
        widths = [max(map(len, column)) for column in zip(heads, *rows)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in [heads, *rows]]
        lines = lines if rows else []
        lines += [f"... and {left} more"] * (left > 0) + list(self._notes())
        return "\n  ".join([self._title(), *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        heads, rows, left = _cells(self._columns(), set(self._hidden()))
        def line(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell.strip())}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line(row, "td") for row in rows)
        table = f"<table><thead>{line(heads, 'th')}</thead><tbody>{body}</tbody></table>" if rows else ""
        notes = [f"... and {left} more"] * (left > 0) + list(self._notes())
        return (f"<div><b>{html.escape(self._title())}</b>{table}"
                + "".join(f"<div>{html.escape(note)}</div>" for note in notes) + "</div>")

    def to_dict(self) -> dict[str, Any]:
        """Return all values as a dict of plain numbers, texts and lists.

        Returns
        -------
        dict
            With lists instead of arrays, as JSON has them.

        Examples
        --------
        >>> import heatball
        >>> heatball.metrics.kolmogorov([[0.0], [1.0]], [[0.0], [2.0]]).to_dict()["distance"]
        [0.5]
        """
        return {name: plain(value) for name, value in self._values().items()}

    def to_pandas(self) -> Any:
        """Return the table as a data frame.

        Returns
        -------
        pandas.DataFrame
            With a row for each row of the table; single values beside it are in its ``attrs``.

        Raises
        ------
        ImportError
            When pandas is not installed.

        Examples
        --------
        >>> import heatball
        >>> s = heatball.solve("-x", "sqrt(2)", "gaussian(mean=0, var=1)", 0.7, [0.0, 1.5])
        >>> list(s.to_pandas().columns[:3])
        ['x_1', 'density', 'density_error']
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas needs pandas, which is not installed (pip install pandas, or on Debian "
                              "apt-get install python3-pandas); to_dict needs nothing") from None
        frame = pandas.DataFrame({name: list(values) for name, values in self._columns().items()})
        frame.attrs = self._single()
        return frame

    def _single(self) -> dict[str, Any]:
        """Values that stand beside the table."""
        return {}


class Result(Shown, dict):  # type: ignore[type-arg]
    """A dict of numbers and arrays whose keys are attributes too, and which prints as a table.

    Parameters
    ----------
    values : mapping
        The entries.
    title : str
        Its first line.
    axes : sequence of str
        What the axes of its arrays are, if they make one table: ("point", "radius") for arrays of shape (n, k), or (n, k, dim)
        for vectors, which have a column for each component. An entry with the name of an axis has the values along it;
        default: 0, 1, ...
    rows : str
        The entry, if any, that is a list of dicts: the rows of the table.

    See Also
    --------
    Solution : Result of `solve`.

    Examples
    --------
    >>> import heatball
    >>> found = heatball.metrics.mmd([[0.0], [1.0], [2.0], [3.0]], [[0.0], [1.0], [2.0], [5.0]])
    >>> found.mmd == found["mmd"], isinstance(found, dict)
    (True, True)
    >>> heatball.metrics.kolmogorov([[0.0, 1.0], [1.0, 2.0]], [[0.0, 5.0], [2.0, 6.0]])
    Kolmogorov's distance by column
      column  distance
           0       0.5
           1         1
      floor 1
    """

    _name, _axes, _rows = "", (), ""

    def __init__(self, values: Mapping[str, Any] = {}, title: str = "", axes: Sequence[str] = (), rows: str = "") -> None:
        super().__init__(values)
        self.__dict__.update(_name=title, _axes=tuple(axes), _rows=rows)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the result has no {name!r}; it has {', '.join(map(str, self))}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *map(str, self)]

    def copy(self) -> "Result":
        """Return a shallow copy with the same title and axes.

        Returns
        -------
        Result
            Of the same type.

        Examples
        --------
        >>> import heatball
        >>> c = heatball.ball.constants(2)
        >>> c.copy() == c
        True
        """
        twin = type(self)(self, self._name, self._axes, self._rows)
        twin.__dict__.update(self.__dict__)
        return twin

    def _title(self) -> str:
        return self._name or "Result"

    def _table(self) -> dict[str, Any]:
        """The columns of the table that axes or rows make; {} without."""
        if self._rows:
            names = list(dict.fromkeys(name for row in self[self._rows] for name in row))
            return {name: [row.get(name, np.nan) for row in self[self._rows]] for name in names}
        depth = len(self._axes)
        shapes = [np.shape(value)[:depth] for name, value in self.items()
                  if depth and np.ndim(value) in (depth, depth + 1) and name not in self._axes]
        if not shapes:
            return {}
        shape = shapes[0]
        places = [np.asarray(self[axis]) if np.shape(self.get(axis)) == (n,) else np.arange(n)
                  for axis, n in zip(self._axes, shape)]
        out = {axis: part.ravel() for axis, part in zip(self._axes, np.meshgrid(*places, indexing="ij"))}
        for name, value in self.items():
            if np.shape(value) == shape:
                out[name] = np.ravel(value)
            elif np.ndim(value) == depth + 1 and np.shape(value)[:depth] == shape:  # vectors: a column for each component
                stem, error = (name[:-3], "_se") if name.endswith("_se") else (name, "")
                for j, part in enumerate(np.reshape(value, (-1, np.shape(value)[-1])).T):
                    out[f"{stem}_{j + 1}{error}"] = part
        return out

    def _single(self) -> dict[str, Any]:
        if not self._table():
            return {}
        depth, table = len(self._axes), {*self._table(), self._rows}
        return {name: value for name, value in self.items()
                if name not in table and not (depth and np.ndim(value) == depth + 1)}

    def _columns(self) -> dict[str, Any]:
        table = self._table()
        if table:
            return table
        errors = {name for name in self if f"{name}".endswith("_se") and name[:-3] in self}
        names = [name for name in self if name not in errors]
        out = {"name": names, "value": [self[name] for name in names]}
        if errors:
            out["value_se"] = [self.get(f"{name}_se", None) for name in names]
        return out

    def _notes(self) -> list[str]:
        single = self._single()
        return [f"{name} {_with_error(value, single.get(f'{name}_se'))}" for name, value in single.items()
                if not (name.endswith("_se") and name[:-3] in single)]

    def _values(self) -> dict[str, Any]:
        return dict(self)

    def plot(self, *names: str, ax: Any = None) -> Any:
        """Draw columns of the table, with their errors, along its last axis.

        Parameters
        ----------
        *names : str
            Which columns; default: all that are no errors of others.
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

        Examples
        --------
        >>> import heatball
        >>> r = heatball.residual("-x", "sqrt(2)", "gaussian(mean=1, var=0.4)", 0.5, [0.3], [0.2, 0.4])
        >>> r.plot("scaled").get_xlabel()
        'radius'
        """
        from heatball._plots import plot_result
        return plot_result(self, names, ax)


Result.__module__ = Shown.__module__ = "heatball"


def plain(value: Any) -> Any:
    """Return a value as plain numbers, texts, lists and dicts."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def number(value: Any, digits: int = 5) -> str:
    """Return a value as a short text: numbers to some digits, arrays by their shape."""
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return f"{value:.{digits}g}"
    if isinstance(value, (np.ndarray, list, tuple)):
        shape = np.shape(value)
        if len(shape) == 1 and shape[0] <= 6:
            return "[" + ", ".join(number(one, 4) for one in value) + "]"
        return f"array of shape {shape}"
    return str(value)


def _with_error(value: Any, error: Any) -> str:
    return number(value) if error is None else f"{number(value)} ± {number(error, 2)}"


def _aligned(values: list[str], errors: list[str]) -> list[str]:
    """Values with their errors, one ± below the other; a value without an error stands alone."""
    left, right = max(map(len, values), default=0), max(map(len, errors), default=0)
    return [f"{value:>{left}} " + (f"± {error:<{right}}" if error else " " * (right + 2)) for value, error in zip(values, errors)]


def _cells(columns: Mapping[str, Any], hidden: set[str]) -> tuple[list[str], list[list[str]], int]:
    """Return heads, rows of texts and the number of rows that are left out, with errors beside their values."""
    n, limit = len(next(iter(columns.values()), ())), NAMES if "name" in columns else ROWS
    some = range(n if n <= limit + 1 else limit)
    heads: list[str] = []
    texts: list[list[str]] = []
    for name, values in columns.items():
        if name in hidden or any(name.endswith(end) and name.removesuffix(end) in columns for end in ERRORS):
            continue
        family = re.fullmatch(r"(.*_)(\d+)", name)
        if family and int(family.group(2)) > MEMBERS:
            if int(family.group(2)) == MEMBERS + 1:
                heads.append("...")
                texts.append(["..." for _ in some])
            continue
        errors = next((columns[name + end] for end in ERRORS if name + end in columns), None)
        heads.append(name)
        texts.append([number(values[i]) for i in some] if errors is None else
                     _aligned([number(values[i]) for i in some], [number(errors[i], 2) for i in some]))
    rows = [list(row) for row in zip(*texts)]
    return heads, rows, n - len(rows)

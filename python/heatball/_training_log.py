"""The losses that a training has written, as a table that can be drawn."""

from __future__ import annotations

import csv
import os

import numpy as np

from heatball._arguments import path_bytes
from heatball._errors import ArgumentError
from heatball._tables import Result

__all__ = ["training_log"]


def training_log(path: str | os.PathLike[str]) -> Result:
    """Read the .csv file of losses that ``train(log=...)`` or ``heatball train --log`` has written.

    Parameters
    ----------
    path : path
        The .csv file.

    Returns
    -------
    Result
        The columns of the file, each an array over the steps: step, loss, dsm, constraint, ...

    Raises
    ------
    ArgumentError
        A ValueError: the file is no log of a training.

    See Also
    --------
    train : Write it.

    Examples
    --------
    >>> import os, tempfile, heatball
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "losses.csv")
    ...     model = heatball.train("ring", "dsm", n=200, steps=12, width=8, depth=2, log=path)
    ...     losses = heatball.training_log(path)
    >>> losses.step[-1], losses.loss.shape
    (12.0, (12,))
    >>> losses.plot("loss").get_xlabel()
    'step'
    """
    path_bytes("path", path)
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        heads, *rows = list(csv.reader(file)) or [[]]
    if heads[:2] != ["step", "loss"]:
        raise ArgumentError(f"{os.fspath(path)} is no log of a training: its first columns are not step and loss")
    try:
        values = np.array([row for row in rows if len(row) == len(heads)], np.float64).reshape(-1, len(heads))
    except ValueError as error:
        raise ArgumentError(f"{os.fspath(path)} is no log of a training: {error}") from None
    return Result(dict(zip(heads, values.T.copy())), f"Training log of {len(values)} steps", ("step",))

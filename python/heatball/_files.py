"""Files of solutions and estimators: what their `save` writes, and what `load` reads.

A file of them is an .npz archive of NumPy without pickled objects: arrays, and one text, "heatball", which is a JSON object with
the kind of the content, the version of the format and everything that is no array. Models have .safetensors files,
certificates directories.
"""

from __future__ import annotations

import contextlib
import json
import os
import zipfile
import zlib
from typing import Any, Callable, Mapping

import numpy as np

from heatball._arguments import path_bytes
from heatball._context import team_rank
from heatball._errors import ArgumentError, Error
from heatball._types import Path
from heatball._version import __version__

__all__ = ["load"]

FORMAT = 1
HEAD = "heatball"  # the entry with the JSON object
CLASSIFIER = "'heatball classifier "  # the format that a reader of models names
READS = "load reads models and classifiers (.safetensors), solutions and ScoreDensity (.npz), and certificates"
TABLE = "a table; read it with numpy or pandas, or give its path to heatball.train as the data"
SOLVED = "a table of the command solve; read it with pandas.read_csv(path, comment=\"#\"), or run it again with solve --from"
FOREIGN = [  # the first bytes of other files that people have, or the ends of their names
    (b"\x93NUMPY", "", "an array of numpy; read it with numpy.load, or give its path to heatball.train as the data"),
    (b"# problem: ", "", SOLVED),
    (b"\x89PNG", "", "a picture"),
    (b"%PDF", "", "a picture"),
    (b"", ".ini", "a problem file; solve it with heatball.solve(problem=path)"),
    (b"", (".csv", ".tsv", ".txt"), TABLE),
    (b"", (".pt", ".pth", ".ckpt"), "a checkpoint of PyTorch; load it with torch.load, and wrap its network by heatball.torch"),
    (b"", (".pkl", ".pickle"), "a pickle; read it with pickle.load"),
]


def load(path: Path) -> Any:
    """Read what a `save` method or the command has written.

    Parameters
    ----------
    path : path
        A model or classifier (.safetensors), a solution or a `ScoreDensity` (.npz), or a certificate: its directory or
        its certificate.json.

    Returns
    -------
    Model, Solution, ScoreDensity, Certificate or Classifier
        By the content of the file, whatever its name is.

    Raises
    ------
    ArgumentError
        A ValueError: the file is damaged, or it is none of these.
    Error
        The file cannot be opened.

    See Also
    --------
    Model.save, Solution.save, ScoreDensity.save, Certificate.save, Classifier.save

    Notes
    -----
    Files hold numbers and texts. Nothing in them is executed.

    Examples
    --------
    >>> import os, tempfile, heatball
    >>> s = heatball.solve("-x", "sqrt(2)", "gaussian(mean=0, var=1)", 0.7, [0.0, 1.5])
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "s.npz")
    ...     s.save(path)
    ...     twin = heatball.load(path)
    >>> bool((twin.score == s.score).all()), twin.method
    (True, 'grid')
    """
    from heatball._certificate import Certificate
    from heatball._solution import Solution
    from heatball.classify import Classifier
    from heatball.density import ScoreDensity
    from heatball.model import load_model
    place = os.fsdecode(path_bytes("path", path))
    if os.path.isdir(place) or _starts_json(place):
        return Certificate._from_path(place)
    if _is_archive(place):
        head, arrays = read(place)
        kinds: dict[str, Callable[..., Any]] = {"Solution": Solution._from_file, "ScoreDensity": ScoreDensity._from_file}
        with _of_content(place):
            if head[HEAD] not in kinds:
                raise ArgumentError(f"{place} holds a {head[HEAD]}, which this version ({__version__}) does not know")
            return kinds[head[HEAD]](head, arrays)
    try:
        return load_model(place)
    except Error as error:
        if CLASSIFIER in str(error):
            return Classifier.load(place)
        if os.path.isfile(place) and os.access(place, os.R_OK):  # its content, not the way to it
            raise ArgumentError(_what_it_is(place) or str(error), error.status) from None
        raise


def write(path: Path, kind: str, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write an archive, which is whole or not there; of a process group rank 0 writes it."""
    if team_rank() > 0:
        return
    place = os.fsdecode(path_bytes("path", path))
    head = json.dumps({HEAD: kind, "format": FORMAT, "version": __version__, **about})
    partial = f"{place}.{os.getpid()}.part"
    try:
        with open(partial, "wb") as file:
            np.savez(file, **{HEAD: np.array(head), **arrays})
        os.replace(partial, place)
    except OSError as error:
        raise Error(f"cannot write {place}: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            os.remove(partial)


def read(place: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON object and the arrays of an archive."""
    with _of_content(place), np.load(place, allow_pickle=False) as archive:
        if HEAD not in archive.files:
            raise ArgumentError(f"{place} was not written by heatball: it has no entry {HEAD!r}")
        head = json.loads(str(archive[HEAD]))
        if head["format"] > FORMAT:
            raise ArgumentError(f"{place} was written by version {head['version']}, which is newer than this one "
                                f"({__version__})")
        return head, {name: archive[name] for name in archive.files if name != HEAD}


@contextlib.contextmanager
def _of_content(place):
    """What damaged content raises, as one error."""
    try:
        yield
    except Error:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, EOFError, OSError, NotImplementedError,
            zipfile.BadZipFile, zlib.error) as error:
        raise ArgumentError(f"{place} is damaged: {type(error).__name__}: {error}") from None


def _first(place, n=9):
    try:
        with open(place, "rb") as file:
            return file.read(n)
    except OSError:
        return b""  # the reader of models says why


def _what_it_is(place):
    """The message of a file that something else reads; None of others."""
    start = _first(place, 16)
    for bytes_, ends, text in FOREIGN:
        if start.startswith(bytes_) and place.lower().endswith(ends):
            return f"{place} is {text}. {READS}"
    return None


def _is_archive(place):
    return _first(place).startswith(b"PK\x03\x04")


def _starts_json(place):
    """Whether it is JSON; a model has the length of its header, eight bytes, before its brace."""
    start = _first(place)
    return start.lstrip().startswith(b"{") and (len(start) < 9 or int.from_bytes(start[:8], "little") > 2**48)

"""Counter-based random numbers: a draw is a function of (seed, stream, index) and nothing else.

The bits come from Philox4x32-10. Asking for draws first .. first+n-1 in one call or in pieces gives bit-identical
results, and so does every number of threads. docs/reference/random.md writes the map out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatball._arguments import draws, float_dtype, pointer, uint64
from heatball._context import call

__all__ = ["normal", "uniform", "words"]

CHUNK = 1 << 24  # draws between two chances for KeyboardInterrupt: some 0.1 s


def _fill(name, out, seed, stream, first):
    seed, stream = uint64("seed", seed), uint64("stream", stream)
    for start in range(0, max(len(out), 1), CHUNK):
        piece = out[start:start + CHUNK]
        call(name, 0, seed, stream, first + start, len(piece), pointer(piece))
    return out


def _real(name, n, seed, stream, first, dtype):
    dtype = float_dtype(dtype)
    first, n = draws(first, n)
    suffix = "_f32" if dtype == np.float32 else ""
    return _fill(f"hb_random_{name}{suffix}", np.empty(n, dtype), seed, stream, first)


def normal(n: int, *, seed: int, stream: int = 0, first: int = 0, dtype: Any = np.float64) -> NDArray[Any]:
    """Draw standard normals of a stream.

    Parameters
    ----------
    n : int
        Number of draws.
    seed, stream : int
        0 to 2**64 - 1. Distinct seeds, and distinct streams of one seed, are independent.
    first : int
        Index of the first draw; the result holds first .. first+n-1.
    dtype : dtype
        float64 or float32. The two are different sequences, not roundings of each other.

    Returns
    -------
    ndarray of shape (n,)
        The draws.

    Examples
    --------
    >>> import heatball
    >>> x = heatball.random.normal(100000, seed=1)
    >>> bool(abs(x.mean()) < 0.02), bool(abs(x.std() - 1) < 0.02)
    (True, True)
    >>> bool((x[1000:1003] == heatball.random.normal(3, seed=1, first=1000)).all())
    True
    """
    return _real("normal", n, seed, stream, first, dtype)


def uniform(n: int, *, seed: int, stream: int = 0, first: int = 0, dtype: Any = np.float64) -> NDArray[Any]:
    """Draw uniforms in (0, 1) of a stream; 0 and 1 never occur.

    Parameters
    ----------
    n : int
        Number of draws.
    seed, stream : int
        0 to 2**64 - 1. Distinct seeds, and distinct streams of one seed, are independent.
    first : int
        Index of the first draw; the result holds first .. first+n-1.
    dtype : dtype
        float64 or float32. The two are different sequences, not roundings of each other.

    Returns
    -------
    ndarray of shape (n,)
        The draws.

    Examples
    --------
    >>> import heatball
    >>> u = heatball.random.uniform(100000, seed=1, stream=7)
    >>> bool(abs(u.mean() - 0.5) < 0.01)
    True
    """
    return _real("uniform", n, seed, stream, first, dtype)


def words(n: int, *, seed: int, stream: int = 0, first: int = 0) -> NDArray[np.uint32]:
    """Return the 32-bit words of a stream.

    Parameters
    ----------
    n : int
        Number of words.
    seed, stream : int
        0 to 2**64 - 1.
    first : int
        Index of the first word; the result holds first .. first+n-1.

    Returns
    -------
    ndarray of uint32 of shape (n,)
        Words 4b .. 4b+3 are Philox4x32-10 [1]_ of key = seed and counter = (b, stream), low word first.

    References
    ----------
    .. [1] J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11, 2011.

    Examples
    --------
    The published test vector of key 0, counter 0:

    >>> import heatball
    >>> [f"{w:08x}" for w in heatball.random.words(4, seed=0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    first, n = draws(first, n)
    return _fill("hb_random_words", np.empty(n, np.uint32), seed, stream, first)

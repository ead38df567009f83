"""Names for the types that the public functions take and give."""

from __future__ import annotations

import os
from typing import Any, Callable, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ArrayLike", "Drift", "Field", "Floats", "Initial", "Integers", "Noise", "Path"]

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Path = Union[str, os.PathLike[str]]
Field = Callable[[Floats, float], Any]  # f(x, tau) with x (n, dim), the values (n, dim) or (n,)
Drift = Union[str, Sequence[str], Callable[..., Any]]  # text, or f(x, t) or f(x)
Noise = Union[str, float, ArrayLike, Sequence[Any], Callable[..., Any]]
Initial = Union[str, Callable[[Floats], Any]]

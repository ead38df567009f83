"""Python values to C values, without silent wrapping: ctypes itself reduces integers modulo 2^32.

Ranges that the library checks itself are left to it, so that its own sentence is seen; here are
only the limits of the C types, names, and the shapes of arrays.
"""

import ctypes
import functools
import itertools
import numbers
import operator
import os
import warnings
from typing import Any, Callable, TypeVar, cast

import numpy as np

from heatball._errors import ArgumentError

F = TypeVar("F", bound=Callable[..., Any])
UINT64_MAX = 2**64 - 1
INT_MAX = 2**31 - 1
LONGEST = 80  # letters of a value in a message


def renamed(_gone: dict[str, str] | None = None, **names: str) -> Callable[[F], F]:
    """Let a function take arguments by their old names, old=new, and those that are gone, name: reason, with a warning."""
    gone = _gone or {}

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args, **given):
            for old in given.keys() & names.keys():
                new = names[old]
                if new in given:
                    raise TypeError(f"{old} is the old name of {new}; give {new} alone")
                warnings.warn(f"{old} is now {new}; the old name goes in the next release", DeprecationWarning, stacklevel=2)
                given[new] = given.pop(old)
            for name in given.keys() & gone.keys():
                warnings.warn(f"{name} has no effect, because {gone[name]}; it goes in the next release", DeprecationWarning,
                              stacklevel=2)
                del given[name]
            return function(*args, **given)
        return cast(F, call)
    return decorate


def meant(**names: str) -> Callable[[F], F]:
    """Let a function name the argument that a reader of other software means by one that it does not have."""
    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args, **given):
            for other in given.keys() & names.keys():
                raise TypeError(f"{function.__name__}() has no argument {other!r}; give {names[other]}")
            return function(*args, **given)
        return cast(F, call)
    return decorate


def shown(value):
    """Return a few words for a value in a message: never what a large one holds."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if value is None or isinstance(value, (str, bytes, numbers.Number, np.generic)):
        text = repr(value)
        return text if len(text) <= LONGEST else text[:LONGEST - 3] + "..."
    kind = type(value).__name__
    return f"a {kind} of {len(value)}" if isinstance(value, (list, tuple, dict, set)) else f"of type {kind}"


def integer(name, value, low, high):
    """Return `value` as an int, low <= value <= high."""
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}; it must be an integer") from None
    if not low <= value <= high:
        raise ArgumentError(f"{name} is {value}; it must be {low} to {high}")
    return value


def c_int(name, value, low, high):
    """Return `value` as an int that fits into C's; low and high are what the library allows.

    A value outside low .. high that fits is passed on: the library says it better.
    """
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}; it must be an integer") from None
    return value if abs(value) <= INT_MAX else integer(name, value, low, high)


def uint64(name, value):
    """Return `value` as an int of 64 bits, not negative."""
    return integer(name, value, 0, UINT64_MAX)


def draws(first, n):
    """Return (first, n); both count draws, and first + n must stay in 64 bits."""
    first = uint64("first", first)
    n = integer("n", n, 0, 2**63 - 1)
    if first + n > UINT64_MAX:
        raise ArgumentError(f"first is {first}; first + n must be below 2^64")
    return first, n


def real(name, value):
    """Return `value` as a float; NaN and infinity are left to the library."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {shown(value)}; it must be a number") from None


def choice(name, value, choices):
    """Return choices[value], or say which values there are."""
    if isinstance(value, str) and value in choices:
        return choices[value]
    *most, last = choices
    raise ArgumentError(f"{name} is {shown(value)}; it must be {', '.join(most)} or {last}")


def float_dtype(dtype):
    """Return np.dtype of double or float."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"dtype is {shown(dtype)}; it must be float64 or float32") from None
    if kind not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ArgumentError(f"dtype is {kind}; it must be float64 or float32")
    return kind


_C_TYPES = {
    np.dtype(np.float64): ctypes.c_double,
    np.dtype(np.float32): ctypes.c_float,
    np.dtype(np.uint32): ctypes.c_uint32,
}


def pointer(array):
    """Return the address of a contiguous array, typed for the table of signatures."""
    return array.ctypes.data_as(ctypes.POINTER(_C_TYPES[array.dtype]))


def real_array(name, values, what="an array of real numbers"):
    """Return `values` as an array of a real dtype; texts, None and complex numbers are none. No entry may be masked."""
    if np.ma.is_masked(values):
        raise TypeError(f"{name} is a masked array with {np.ma.count_masked(values)} masked entries; fill them or leave "
                        "their rows out")
    try:
        found = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise TypeError(f"{name} is {shown(values)} rows of different lengths; it must be {what}") from None
    if found.dtype.kind == "O" and all(isinstance(value, numbers.Real) for value in found.flat):
        found = found.astype(np.float64)  # fractions
    if found.dtype.kind in "fiub":
        return found
    if isinstance(values, np.ndarray) or found.dtype.kind == "c":
        raise TypeError(f"{name} has dtype {found.dtype}; it must be {what}")
    raise TypeError(f"{name} is {shown(values)}; it must be {what}")


def array(name, values, axes):
    """Return `values` as a contiguous array of double with this number of axes."""
    found = real_array(name, values)
    values = np.ascontiguousarray(found, np.float64)  # a single number has one axis now
    if values.ndim != axes:
        raise ArgumentError(f"{name} has {found.ndim} {'axis' if found.ndim == 1 else 'axes'}; it must "
                            f"have {axes}")
    return values


def pair(name, values):
    """Return the two members of `values`."""
    try:
        first, second = values
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {shown(values)}; it must be a pair of numbers") from None
    return first, second


def function(name, value):
    """Return `value`, which must be a function."""
    if not callable(value):
        raise TypeError(f"{name} is {shown(value)}; it must be a function")
    return value


def path_bytes(name, path):
    """Return a path as C takes it."""
    try:
        path = os.fsencode(path)
    except TypeError:
        raise TypeError(f"{name} is {shown(path)}; it must be a path") from None
    if b"\0" in path:
        raise ArgumentError(f"{name} has a zero byte; it must be a path")
    return path


def texts(names):
    """Return the list of texts that a function of the library gives, up to its NULL."""
    return [name.decode() for name in itertools.takewhile(bool, names)]


def setting_rows(row):
    """Return the rows of a table of settings, up to its NULL; row(i) gives the i-th."""
    return [found.contents for found in itertools.takewhile(bool, map(row, itertools.count()))]


def filled(struct, default, given):
    """Return settings with the library's defaults and what is not None in `given`, by the type of its field."""
    settings = struct()
    default(ctypes.sizeof(settings), ctypes.byref(settings))
    convert = {ctypes.c_int: lambda name, value: c_int(name, value, 0, INT_MAX),
               ctypes.c_uint64: uint64, ctypes.c_double: real}
    for name, value in given.items():
        if value is not None:
            setattr(settings, name, convert[dict(struct._fields_)[name]](name, value))
    return settings

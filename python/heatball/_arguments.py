"""Python values to C values, without silent wrapping: ctypes itself reduces integers modulo 2^32.

Ranges that the library checks itself are left to it, so that its own sentence is seen; here are
only the limits of the C types, names, and the shapes of arrays.
"""

import ctypes
import operator

import numpy as np

from heatball._errors import ArgumentError

UINT64_MAX = 2**64 - 1
INT_MAX = 2**31 - 1


def integer(name, value, low, high):
    """Return `value` as an int, low <= value <= high."""
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be an integer") from None
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
        raise TypeError(f"{name} is {value!r}; it must be an integer") from None
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
        raise TypeError(f"{name} is {value!r}; it must be a number") from None


def choice(name, value, choices):
    """Return choices[value], or say which values there are."""
    if isinstance(value, str) and value in choices:
        return choices[value]
    *most, last = choices
    raise ArgumentError(f"{name} is {value!r}; it must be {', '.join(most)} or {last}")


def float_dtype(dtype):
    """Return np.dtype of double or float."""
    kind = np.dtype(dtype)
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


def array(name, values, axes):
    """Return `values` as a contiguous array of double with this number of axes."""
    try:
        values = np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {values!r}; it must be an array of numbers") from None
    if values.ndim != axes:
        raise ArgumentError(f"{name} has {values.ndim} axes; it must have {axes}")
    return values

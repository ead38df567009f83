"""What users have as a score or a log-density, as arrays in Python and as callbacks in C.

One convention: f(x, tau) with x of shape (n, dim) and tau of shape (n,), both float64 and both f's own to keep or
change. A value of shape (n, dim) is a score, one of shape (n,) a log-density. An object may have methods `score` or
`log_density` with these arguments instead: a Mixture or a Model of this package does.
"""

import ctypes
import math

import numpy as np

from heatball._arguments import array, real, real_array, shown
from heatball._errors import ArgumentError, Error
from heatball._native import DIVERGENCE, FIELD, LOG_DENSITY, SCORE, Status

STEPS = (2e-3, 2e-4, 2e-5)  # of the differences of a log-density, in deviations of the noise
LARGEST = 1.0  # such a deviation, in units of x
GOOD = 1e-4  # two differences agree, relative to 1/deviation + |difference|

WHAT = ("a function f(x, tau) that returns a score of shape (n, dim) or a log-density of shape (n,), or an object "
        "with a method score or log_density")


# ---- values -----------------------------------------------------------------------------------------

def plain(name, values):
    """Return what a user's function returned as an array of float64: NumPy, lists, tensors on any device."""
    if values is None:
        raise TypeError(f"{name} is None; it must be an array of real numbers")
    if type(values) is not np.ndarray and not isinstance(values, np.ma.MaskedArray):
        for method in ("detach", "cpu"):  # of a tensor: off the graph, off the device
            if callable(getattr(values, method, None)):
                values = getattr(values, method)()
        if not hasattr(values, "__array__") and callable(getattr(values, "get", None)):
            values = values.get()  # of an array on a device
        elif not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
            values = np.from_dlpack(values)
        try:
            values = np.asarray(values)
        except TypeError:
            if not callable(getattr(values, "double", None)):
                raise
            values = np.asarray(values.double())  # a dtype that NumPy has not, such as bfloat16
        except ValueError:
            pass  # rows of different lengths: refused below
    return np.ascontiguousarray(real_array(name, values), np.float64)


def noise_deviation(tau, process):
    """Return the standard deviation of the noise that a process has added by tau."""
    tau = np.asarray(tau, np.float64)
    return np.sqrt(-np.expm1(-2 * tau) if process == "ou" else 2 * tau)


def times(x, tau):
    """Return tau as float64 of shape (n,) for n rows x; a number is repeated."""
    if np.ndim(tau) == 0:
        return np.full(len(x), real("tau", tau))
    tau = array("tau", tau, 1)
    if len(tau) != len(x):
        raise ArgumentError(f"tau has {len(tau)} values; x has {len(x)} rows")
    return tau


class Field:
    """A score, a log-density, or both, of a user.

    Attributes
    ----------
    dim : int or None
        Of an object that says it.
    """

    def __init__(self, f, process="ou", name="f"):
        if isinstance(f, type) or f is None:
            raise TypeError(f"{name} is {shown(f)}; it must be {WHAT}")
        self.name, self.process, self.f = name, process, None
        self.dim = getattr(f, "dim", None) if isinstance(getattr(f, "dim", None), int) else None
        self._score, self._log_density = getattr(f, "score", None), getattr(f, "log_density", None)
        if hasattr(f, "_field"):
            self._score, self._log_density, self.dim = f._field(process)
        elif not callable(self._score) and not callable(self._log_density):
            self._score = self._log_density = None
            if not callable(f):
                raise TypeError(f"{name} is {shown(f)}; it must be {WHAT}")
            self.f = f
        if not hasattr(f, "_field"):
            check_process(f, process, name)
        self._score = self._score if callable(self._score) else None
        self._log_density = self._log_density if callable(self._log_density) else None

    def learn(self, x, tau):
        """Find out by one row what a plain function is; return self."""
        if self.f is not None and len(x):
            self._sort(self._ask(self.f, x[:1].copy(), times(x, tau)[:1].copy()), x[:1].shape)
        return self

    @property
    def has_score(self):
        """Whether it has a score of its own; None: not known before `learn` or the first value."""
        return None if self.f is not None else self._score is not None

    @property
    def has_log_density(self):
        """Whether it has a log-density; None: not known before `learn` or the first value."""
        return None if self.f is not None else self._log_density is not None

    def score(self, x, tau):
        """Return the score at x (n, dim) and tau (a number or (n,)): float64 of shape (n, dim), finite."""
        tau = times(x, tau)
        if self.f is not None:
            values = self._ask(self.f, x, tau)
            if self._sort(values, x.shape) == "score":
                return self._finite(values, x, tau)
        if self._score is None:
            return self._differences(x, tau)
        values = self._ask(self._score, x, tau)
        if values.shape == (len(x),) and x.shape[1] == 1:
            values = values[:, None]
        if values.shape != x.shape:
            raise ArgumentError(f"{self.name} returned a score of shape {values.shape}; it must be {x.shape}")
        return self._finite(values, x, tau)

    def log_density(self, x, tau):
        """Return the log-density at x (n, dim) and tau (a number or (n,)): float64 of shape (n,), finite."""
        tau = times(x, tau)
        if self.f is not None:
            values = self._ask(self.f, x, tau)
            if self._sort(values, x.shape) == "log_density":
                return self._finite(values, x, tau)
        if self._log_density is None:
            raise ArgumentError(f"{self.name} is a score; a log-density of shape (n,) is needed")
        values = self._ask(self._log_density, x, tau)
        if values.shape != (len(x),):
            raise ArgumentError(f"{self.name} returned a log-density of shape {values.shape}; it must be "
                                f"{(len(x),)}")
        return self._finite(values, x, tau)

    def _ask(self, function, x, tau):
        return plain(f"the value of {self.name}", function(x, tau))

    def _sort(self, values, shape):
        """Remember what a plain function is, by the shape of its values."""
        if values.shape == shape:
            self._score, self.f = self.f, None
            return "score"
        if values.shape == shape[:1]:
            self._log_density, self.f = self.f, None
            return "log_density"
        raise ArgumentError(f"{self.name} returned shape {values.shape} for x of shape {shape}; it must be {shape}, "
                            f"a score, or {shape[:1]}, a log-density")

    def _finite(self, values, x, tau):
        if math.isfinite(values.sum()) or np.isfinite(values).all():  # the sum is quick, and knows as a rule
            return values
        row = int(np.argmin(np.isfinite(values).reshape(len(x), -1).all(axis=1)))
        value = next(one for one in np.ravel(values[row]) if not math.isfinite(one))
        where = ", ".join(f"{one:.6g}" for one in x[row, :4]) + ", ..." * (x.shape[1] > 4)
        raise Error(f"{self.name} is {value} at x = ({where}), tau = {tau[row]:.6g}; it must be finite",
                    Status.ERROR_NUMERICAL)

    def _differences(self, x, tau):
        """The gradient of a log-density by differences; rows where it is sharp get smaller steps."""
        scale = np.minimum(noise_deviation(tau, self.process), LARGEST)
        scale = np.where(scale > 0, scale, LARGEST)
        out, rows = np.empty(x.shape), np.arange(len(x))
        for step in STEPS:
            out[rows], doubt = self._gradient(x[rows], tau[rows], step * scale[rows])
            rows = rows[(doubt > GOOD * (1 / scale[rows, None] + np.abs(out[rows]))).any(axis=1)]
            if len(rows) == 0:
                return out
        raise Error(f"the log-density {self.name} is too rough for differences, which would give its score; give "
                    "an object with a method score, or compute it in float64", Status.ERROR_NUMERICAL)

    def _gradient(self, x, tau, step):
        """Differences of order 4, and how far those of order 2 are from one another."""
        n, dim = x.shape
        out, doubt = np.empty((2, n, dim))
        for axis in range(dim):
            points = np.repeat(x[None], 4, axis=0)
            points[:, :, axis] += np.multiply.outer([1.0, -1, 2, -2], step)
            moved = points[:, :, axis].copy()
            values = self.log_density(points.reshape(4 * n, dim), np.tile(tau, 4)).reshape(4, n)
            near, far = ((values[i] - values[i + 1]) / (moved[i] - moved[i + 1]) for i in (0, 2))
            out[:, axis], doubt[:, axis] = (4 * near - far) / 3, np.abs(near - far)
        return out, doubt


def own_process(f):
    """Return "ou" or "ve" of an object that says it, as the adapters of heatball.torch do, or None."""
    own = getattr(f, "process", None)
    return own if isinstance(own, str) and own in ("ou", "ve") else None


def check_process(f, process, name="f"):
    """Refuse a process that is not the one that f says it is of."""
    own = own_process(f)
    if own is not None and process in ("ou", "ve") and process != own:
        raise ArgumentError(f"process is {process!r}; {name} is of the process {own!r}: give process={own!r}")


def as_field(f, process="ou", name="f"):
    """Return `f` as a Field; a text is the name of a planar set."""
    if isinstance(f, str):
        from heatball.data import dataset
        f = dataset(f)
    return f if isinstance(f, Field) else Field(f, process, name)


# ---- callbacks --------------------------------------------------------------------------------------

_SIZE, _DOUBLE, _PLACE = ctypes.c_size_t, ctypes.c_double, ctypes.c_void_p
_SCORE = ctypes.CFUNCTYPE(ctypes.c_int, _PLACE, _SIZE, _PLACE, _DOUBLE, _PLACE)
_DIVERGENCE = ctypes.CFUNCTYPE(ctypes.c_int, _PLACE, _SIZE, _PLACE, _DOUBLE, _PLACE, _PLACE)
_FIELD = ctypes.CFUNCTYPE(ctypes.c_int, _PLACE, _SIZE, _PLACE, _PLACE, _PLACE, _PLACE)
_LOG_DENSITY = ctypes.CFUNCTYPE(ctypes.c_int, _PLACE, _SIZE, _PLACE, _PLACE)


def _read(place, *shape):
    """A copy of C's array: the user may keep it."""
    values = np.empty(shape)
    ctypes.memmove(values.ctypes.data, place, values.nbytes)
    return values


def _write(place, values):
    ctypes.memmove(place, values.ctypes.data, values.nbytes)


class Callbacks:
    """C callbacks of fields in dimension `dim` for calls of `run`, which raises what they raise."""

    def __init__(self, run, dim):
        self.run, self.dim, self.keep = run, dim, []

    def _make(self, kind, declared, function):
        made = kind(function)
        self.keep.append(made)
        return ctypes.cast(made, declared)

    def score(self, field):
        """hb_score_callback: the score at one tau."""
        def fill(n, x, tau, out):
            _write(out, field.score(_read(x, n, self.dim), np.full(n, tau)))

        return self._make(_SCORE, SCORE, lambda user, n, x, tau, out: self.run.of_user(
            lambda: fill(n, x, tau, out)))

    def divergence(self, field, divergence):
        """hb_divergence_callback: the score and the user's divergence(x, tau), of shape (n,)."""
        def fill(n, x, tau, score, out):
            points, taus = _read(x, n, self.dim), np.full(n, tau)
            _write(score, field.score(points.copy(), taus.copy()))
            _write(out, values_of_rows("divergence", divergence(points, taus), n))

        return self._make(_DIVERGENCE, DIVERGENCE, lambda user, n, x, tau, score, out: self.run.of_user(
            lambda: fill(n, x, tau, score, out)))

    def field(self, field):
        """hb_field_callback: the log-density and its gradient, a tau for each row."""
        def fill(n, x, tau, v, gradient):
            points, taus = _read(x, n, self.dim), _read(tau, n)
            _write(v, field.log_density(points.copy(), taus.copy()))
            if gradient:
                _write(gradient, field.score(points, taus))

        return self._make(_FIELD, FIELD, lambda user, n, x, tau, v, gradient: self.run.of_user(
            lambda: fill(n, x, tau, v, gradient)))

    def vector_field(self, field):
        """hb_field_callback of a score alone: 0 in the place of the log-density."""
        def fill(n, x, tau, v, gradient):
            ctypes.memset(v, 0, 8 * n)
            if gradient:
                _write(gradient, field.score(_read(x, n, self.dim), _read(tau, n)))

        return self._make(_FIELD, FIELD, lambda user, n, x, tau, v, gradient: self.run.of_user(
            lambda: fill(n, x, tau, v, gradient)))

    def log_density(self, function, name):
        """hb_log_density_callback: function(x) of shape (n,)."""
        def fill(n, x, out):
            _write(out, values_of_rows(name, function(_read(x, n, self.dim)), n))

        return self._make(_LOG_DENSITY, LOG_DENSITY, lambda user, n, x, out: self.run.of_user(
            lambda: fill(n, x, out)))


def values_of_rows(name, values, n):
    """Return what a function of n rows returned, one number for each."""
    values = plain(f"the value of {name}", values)
    if values.shape != (n,):
        raise ArgumentError(f"{name} returned shape {values.shape}; it must be {(n,)}")
    return values

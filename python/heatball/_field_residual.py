"""The mean-value residual of any log-density or score."""

from __future__ import annotations

import ctypes
import math

import numpy as np

from heatball._arguments import array, real, uint64
from heatball._callables import Callbacks, as_field, times
from heatball._errors import ArgumentError
from heatball._interrupt import interruptible
from heatball._native import Field as NativeField, MeanSettings, MeanValues, Quantity, ResidualValues, library
from heatball._process import process_problem, split_process
from heatball._residual import Residual
from heatball.ball import constants
from heatball.model import Model

NAMES = ("residual", "residual_error", "scaled", "scaled_error")
DEGREE, SMALL_DIM = 8, 3
SINGLE = 2.0**-22  # rounding of a value in single precision, relative: a few units of its last digit


def field_residual(f, x, tau, radii, radius_fraction, quantity, process, params, tau_min, samples, lift, degree, seed):
    """What `residual` returns of f(x, tau); quantity is the library's code."""
    if isinstance(f, Model):
        f, x, process = _of_model(f, x)
    field = as_field(f, split_process(process, params)[0])
    x = array("x", x if np.ndim(x) != 1 else np.reshape(x, (-1, 1)), 2)
    if field.dim not in (None, x.shape[1]):
        raise ArgumentError(f"x has {x.shape[1]} columns; f has dimension {field.dim}")
    tau, tau_min = times(x, tau), real("tau_min", tau_min)
    field.learn(x, tau)
    given = None if radius_fraction is not None else array("radii", np.atleast_1d(radii), 1).copy()
    radii = _radii(given, radius_fraction, tau, tau_min)
    settings = MeanSettings()
    library.hb_mean_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
    settings.samples = settings.samples if samples is None else uint64("samples", samples)
    settings.lift, settings.degree, settings.seed = lift or 0, degree, uint64("seed", seed)
    settings.quantity = quantity
    if degree == 0:  # the same rule for both forms
        settings.degree = DEGREE if samples is None and x.shape[1] <= SMALL_DIM else -1
    vector = not field.has_log_density
    shape = radii.shape + ((x.shape[1],) if vector else ())
    out = {one: np.empty(shape) for one in NAMES}
    rounding = _rounding(field, x, tau, vector)
    with interruptible(1) as run, process_problem(process, params, x.shape[1]) as problem:
        callbacks = Callbacks(run, x.shape[1])
        native = NativeField(dim=x.shape[1], tau_min=tau_min, tau_max=max(tau.max(initial=0) * 2, 1e-300),
                             evaluate=callbacks.vector_field(field) if vector else callbacks.field(field))
        form = _of_score if vector else _of_log_density
        for one, chosen in _groups(tau, radii):
            form(run, problem, native, settings, field, x[chosen], one, radii[chosen[0]], chosen, out)
    if rounding is not None and (vector or quantity == Quantity.QUANTITY_V):
        scale = 4 / (constants(x.shape[1], settings.lift)["C1"] * radii**2)  # (n, k)
        for name, one in (("residual_error", np.ones_like(scale)), ("scaled_error", scale)):
            out[name] = np.hypot(out[name], (one * rounding[:, None])[(..., None) if vector else ...])
    return Residual._make(x.copy(), tau.copy(), radii if given is None else given, out,
                          "Mean-value residual: 0 where the function solves its equation")


def _rounding(field, x, tau, vector):
    """The rounding of values in single precision, (n,); None: f has double precision.

    A function of double precision does not have values of single precision at points that nobody chose.
    """
    if len(x) == 0:
        return None
    ask = field.score if vector else field.log_density
    values = ask(x + 0.001 * np.sqrt(np.arange(2, 2 + x.shape[1])), tau.copy())
    with np.errstate(over="ignore"):
        if not np.array_equal(values, values.astype(np.float32)):
            return None
    return SINGLE * (np.sqrt((values**2).sum(axis=1)) if vector else np.abs(values))


class _OfZ:
    """A model in its own coordinates z, in which its process is."""

    def __init__(self, model):
        self.dim = model.dim
        self.score = lambda z, tau: model._of_z("score", z, tau)
        if model.head == "energy":
            self.log_density = lambda z, tau: model._of_z("log_density", z, tau)


def _of_model(model, x):
    if model.process == "drift":
        raise ArgumentError("the residual of a model of a drift is that of the command, heatball residual --model")
    x = model._points(x, 1.0, None)[0]
    return _OfZ(model), model._standardised(x), model.process


def _radii(radii, radius_fraction, tau, tau_min):
    """Return the radii of each row, (n, k)."""
    if radius_fraction is None:
        return np.tile(radii, (len(tau), 1))
    radius_fraction = array("radius_fraction", np.atleast_1d(radius_fraction), 1)
    if not ((radius_fraction > 0) & (radius_fraction < 1)).all():
        raise ArgumentError("radius_fraction must be above 0 and below 1: of the largest radius, sqrt(4 pi (tau - tau_min))")
    return np.sqrt(4 * math.pi * np.maximum(tau - tau_min, 0))[:, None] * radius_fraction


def _groups(tau, radii):
    """Rows that have one tau: one call each."""
    values, which = np.unique(tau, return_inverse=True)
    for k, one in enumerate(values):
        yield float(one), np.flatnonzero(which == k)


def _of_log_density(run, problem, native, settings, field, x, tau, radii, chosen, out):
    found = {name: np.empty((len(x), len(radii))) for name in NAMES}
    values = ResidualValues(ctypes.sizeof(ResidualValues), *(_pointer(found[name]) for name in NAMES))
    radii = np.ascontiguousarray(radii)
    run("hb_mean_residual", problem, ctypes.byref(native), ctypes.byref(settings), len(x), len(radii),
        _pointer(np.ascontiguousarray(x)), tau, _pointer(radii), ctypes.byref(values))
    for name in NAMES:
        out[name][chosen] = found[name]


def _of_score(run, problem, native, settings, field, x, tau, radii, chosen, out):
    x = np.ascontiguousarray(x)
    here = field.score(x.copy(), np.full(len(x), tau))
    for k, radius in enumerate(radii):
        mean, error = np.empty(x.shape), np.empty(x.shape)
        settings.radius = radius
        values = MeanValues(size=ctypes.sizeof(MeanValues), score=_pointer(mean), score_se=_pointer(error))
        run("hb_mean_value", problem, ctypes.byref(native), ctypes.byref(settings), len(x), _pointer(x), tau,
            ctypes.byref(values))
        scale = 4 / (constants(x.shape[1], settings.lift)["C1"] * radius**2)
        out["residual"][chosen, k], out["residual_error"][chosen, k] = here - mean, error
        out["scaled"][chosen, k], out["scaled_error"][chosen, k] = scale * (here - mean), scale * error


def _pointer(values):
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

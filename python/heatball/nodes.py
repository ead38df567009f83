"""Heat balls behind anchors: nodes, weights and reference terms for a function that lives anywhere."""

from __future__ import annotations

import collections
import ctypes
import threading
import weakref
from typing import Any, Dict, Optional, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from heatball._arguments import (INT_MAX, array, c_int, choice, float_dtype, pointer, real, real_array, renamed,
                                 shown, uint64)
from heatball._context import handle
from heatball._errors import ArgumentError, check
from heatball._native import (Balls as _CBalls, BallsKind, BallsSettings, BallsValues, Problem,
                              ProblemSettings, Process, library)
from heatball.sde import drift_text, fill_parameters

__all__ = ["Balls", "balls"]

KINDS = {kind.name.removeprefix("BALLS_KIND_").lower(): kind for kind in BallsKind}
PROCESSES = {process.name.removeprefix("PROCESS_").lower(): process for process in Process}
KEPT = 16  # rules of a thread
LEAST, MOST_EXPONENT = 0.2, 60.0  # of the logarithm under a drift, as in the losses


@renamed(share="time_fraction")
def balls(x: ArrayLike, tau: ArrayLike, *, kind: str = "log_density", process: Any = "ou",
          drift: Optional[Union[str, Sequence[str], ArrayLike]] = None, params: Optional[Dict[str, float]] = None,
          degree: Optional[int] = None, pairs: Optional[int] = None, directions: Optional[int] = None,
          time_fraction: Optional[float] = None, mean: Optional[ArrayLike] = None, covariance: Optional[ArrayLike] = None,
          slope: Optional[ArrayLike] = None, reference_slope: Optional[ArrayLike] = None, seed: int = 1,
          first: int = 0, dtype: DTypeLike = np.float64, threads: int = 0) -> Balls:
    """Return the heat balls behind anchors, as nodes for the values of a function of yours.

    Parameters
    ----------
    x : array_like of shape (n, dim)
        The anchors.
    tau : array_like of shape (n,), or float
        Their times, above 0.
    kind : {"log_density", "score"}
        For ln p or for its gradient, by values at anchors and nodes.
    process : str
        "ou", dx = -x dtau + sqrt(2) dW; "ve", dx = sqrt(2) dW; "drift", which `drift` implies; or the drift itself.
    drift : str, list of str, or array_like of shape (dim, dim)
        F of dx = F(x, t) dtau + sqrt(2) dW, t = tau, as in `solve`; a matrix A: F = A x.
    params : dict
        Named numbers of `drift`.
    degree : int
        3 (default): the 2 dim nodes of the losses; up to 20: rules of this degree, in up to 64 dimensions.
    pairs : int
        Instead: antithetic pairs drawn from each measure.
    directions : int
        Instead: few directions, for log-densities in many dimensions; 3 + 2 directions nodes.
    time_fraction : float
        Fraction of the time that the ball reaches back; default: min(0.03, 0.16/dim), with `directions` 0.128/dim.
    mean, covariance : array_like of shape (dim,), (dim, dim)
        Of the data: a Gaussian that the process carries along is the reference, and residuals are those of what is beyond it.
        For ou, ve and linear drifts without t.
    slope, reference_slope : array_like of shape (n, dim)
        For `directions`: grad w at the anchors, of any length, default: a random direction; and grad v_ref of a reference of
        your own.
    seed, first : int
        Random rotations and draws of anchor i follow from the seed and first + i.
    dtype : dtype
        float64, or float32: the same numbers, rounded.
    threads : int
        0: one per core. The result does not depend on it.

    Returns
    -------
    Balls
        Nodes, times, weights and reference terms as arrays.

    See Also
    --------
    heatball.torch.heat_ball_loss : The loss made of these nodes.
    heatball.ball.nodes : The cubature on the unit ball.

    Notes
    -----
    Under dx = F dtau + sqrt(2) dW the density at an anchor (x, tau) is a weighted mean of itself over the nodes of a ball behind
    it, and its score satisfies a similar identity: docs/howto/own-network.md. The losses of `train` have the same nodes.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> ring = heatball.dataset("ring")
    >>> x = ring.sample(5, tau=0.3)
    >>> b = heatball.balls(x, 0.3)
    >>> b
    Balls behind 5 anchors in dimension 2: 4 nodes each, process ou, log_density
    >>> v = np.array([ring.log_density(y[None], t)[0] for y, t in zip(b.x.reshape(-1, 2), b.tau.ravel())])
    >>> rho = b.scale * b.residual(ring.log_density(x, 0.3), v)
    >>> bool(np.all(np.abs(rho) < 0.05)), b.x.shape, b.weights.shape
    (True, (5, 4, 2), (5, 4))
    """
    dtype = float_dtype(dtype)
    x = array("x", x, 2)
    n, dim = x.shape
    tau = _times(tau, n)
    owner = handle(threads)
    rule = _rule(owner, dim, kind, process, drift, params, degree, pairs, directions, time_fraction, mean, covariance, seed)
    slopes = [_slopes(name, value, x.shape) for name, value in (("slope", slope), ("reference_slope", reference_slope))]
    first = uint64("first", first)
    return Balls(rule, rule.place(owner, first, x, tau, *slopes), x, tau, dtype)


class Balls:
    """Heat balls behind n anchors, with m nodes each; `balls` makes them.

    Attributes
    ----------
    x : ndarray of shape (n, m, dim)
        The nodes.
    tau : ndarray of shape (n, m)
        Their times, below those of the anchors.
    weights : ndarray of shape (n, m)
        Of kind "log_density": R = v0 - ln sum_j weights_j exp(v_j). With a reference it is
        w = v - v_ref that stands there, and the weights add up to 1. Under a drift some may be
        negative. Of kind "score": weights of the mean.
    reference, reference0 : ndarray of shape (n, m) and (n,); of scores (n, m, dim) and (n, dim)
        v_ref, or its gradient, at nodes and anchors; None without a reference.
    arms : ndarray of shape (n, m, dim)
        Of scores: weights times arms; else None.
    factor, factor0 : ndarray of shape (n, m), (n,)
        Of scores: S = factor s; else None.
    drift, rate : ndarray of shape (n, m, dim), (n, m)
        Of scores under a drift: the terms of the source; else None.
    scale : ndarray of shape (n,)
        The scaled residual is scale R; it has no dimension, and tends to b/2 times the residual of the
        Fokker-Planck equation as balls shrink (of scores: b^1.5/2 times its gradient).
    noise : ndarray of shape (n,)
        b: the variance of the process's noise at the anchors, the weight of an anchor in the loss.
    radius : ndarray of shape (n,)
        Radii of the balls.
    anchors, anchor_tau : ndarray of shape (n, dim), (n,)
        The anchors and their times.
    kind, process : str
        As in `balls`.
    time_fraction : float
        Fraction of the time that a ball reaches back.

    Notes
    -----
    All arrays are NumPy's, contiguous: ``torch.from_numpy(b.x)`` and ``torch.from_dlpack(b.x)`` have the same memory.

    Examples
    --------
    >>> import numpy as np, heatball
    >>> b = heatball.balls(np.zeros((10, 3)), 0.5, process="ve")
    >>> b, len(b), bool(np.all(b.tau < 0.5))
    (Balls behind 10 anchors in dimension 3: 6 nodes each, process ve, log_density, 10, True)
    """

    @property
    def share(self):
        """The old name of `time_fraction`."""
        return self.time_fraction

    def __init__(self, rule, arrays, x, tau, dtype):
        self.kind, self.process, self.time_fraction, self.directions = rule.kind, rule.process, rule.time_fraction, rule.directions
        score = self.kind == "score"
        kept = {"arms": None, "factor": None, "factor0": None, "drift": None, "rate": None, "reference": None,
                "reference0": None, "anchors": x, "anchor_tau": tau, **arrays}
        weight, shift = kept.pop("weight"), kept.pop("shift")
        if score:
            kept["weights"] = weight
            kept["arms"] = kept.pop("arm")
            kept["arms"] *= kept.pop("arm_weight")[:, :, None]
        else:
            kept["weights"] = weight * np.exp(shift)
        for name, value in kept.items():
            setattr(self, name, value if value is None else np.ascontiguousarray(value, dtype))

    def __repr__(self):
        n, m, dim = self.x.shape
        return (f"Balls behind {n} anchor{'s' * (n != 1)} in dimension {dim}: {m} nodes each, process "
                f"{self.process}, {self.kind}")

    def __len__(self):
        return len(self.x)

    def residual(self, w0: ArrayLike, w: ArrayLike) -> NDArray[np.float64]:
        """Return the residual R from values of ln p at the anchors and at the nodes.

        Parameters
        ----------
        w0 : array_like of shape (n,)
            ln p at the anchors; with a reference minus `reference0`.
        w : array_like of shape (n, m), or (n m,)
            ln p at the nodes; with a reference minus `reference`.

        Returns
        -------
        ndarray of shape (n,)
            R = w0 - ln sum_j weights_j exp(w_j). ``b.scale * R`` is the scaled residual.

        Notes
        -----
        R is 0, up to the error of the nodes, where ln p solves the equation of the process. Under a drift, whose weights may be
        negative, the logarithm continues below 0.2 as its tangent.

        Examples
        --------
        The stationary density of ou, up to its constant, and one that is too wide:

        >>> import heatball
        >>> b = heatball.balls([[0.5, 1.0]], 0.4)
        >>> v = lambda x, wide=1.0: -0.5 * (x**2).sum(-1) / wide
        >>> (b.scale * b.residual(v(b.anchors), v(b.x))).round(2) + 0.0
        array([0.])
        >>> (b.scale * b.residual(v(b.anchors, 2), v(b.x, 2))).round(1)
        array([-0.2])
        """
        self._must_be("log_density", "residual", "score_residual")
        w0, w = _values("w0", w0, self.x.shape[:1]), _values("w", w, self.x.shape[:2])
        away = w - w0[:, None]
        weights = self.weights.astype(np.float64, copy=False)
        if self.process == "drift" and self.reference is None:
            Q = np.sum(weights * np.exp(np.minimum(away, MOST_EXPONENT)), axis=1)
            return np.where(Q >= LEAST, -np.log(np.maximum(Q, LEAST)), -np.log(LEAST) + (LEAST - Q) / LEAST)
        most = np.max(away, axis=1, initial=-np.inf)
        with np.errstate(invalid="ignore", divide="ignore"):
            return -most - np.log(np.sum(weights * np.exp(away - most[:, None]), axis=1))

    def score_residual(self, s0: ArrayLike, s: ArrayLike) -> NDArray[np.float64]:
        """Return the residual R from scores at the anchors and at the nodes.

        Parameters
        ----------
        s0 : array_like of shape (n, dim)
            Scores at the anchors; with a reference minus `reference0`.
        s : array_like of shape (n, m, dim), or (n m, dim)
            Scores at the nodes; with a reference minus `reference`.

        Returns
        -------
        ndarray of shape (n, dim)
            R; 0 where the score solves the equation of the process, up to the error of the nodes.

        Examples
        --------
        >>> import heatball
        >>> b = heatball.balls([[0.5, 1.0]], 0.4, kind="score")
        >>> (b.scale * b.score_residual(-b.anchors, -b.x)).round(2) + 0.0  # of N(0, 1), stationary under ou
        array([[0., 0.]])
        """
        self._must_be("score", "score_residual", "residual")
        n, m, dim = self.x.shape
        S0 = _values("s0", s0, (n, dim)) * self.factor0[:, None]
        S = _values("s", s, (n, m, dim)) * self.factor[:, :, None]
        source = np.einsum("nmd,nmd->nm", S, S)
        if self.reference is not None:
            source += 2 * np.einsum("nmd,nmd->nm", self.reference * self.factor[:, :, None], S)
        if self.drift is not None:
            source -= np.einsum("nmd,nmd->nm", self.drift, S)
            if self.reference is None:
                source -= self.rate
        return S0 - np.einsum("nm,nmd->nd", self.weights, S) - np.einsum("nmd,nm->nd", self.arms, source)

    def _must_be(self, kind, name, other):
        if self.kind != kind:
            raise ArgumentError(f"{name} is for balls of kind {kind}; these are of kind {self.kind}: take {other}")


def _values(name, values, shape):
    """Return values at anchors or nodes as an array of double of this shape; the nodes may be flat."""
    found = real_array(name, values).astype(np.float64, copy=False)
    flat = (int(np.prod(shape[:2])),) + shape[2:]
    if found.shape != shape and found.shape != flat and found.shape not in (shape + (1,), flat + (1,)):
        raise ArgumentError(f"{name} has shape {found.shape}; it must be {shape}")
    return found.reshape(shape)


def _times(tau, n):
    found = real_array("tau", tau).astype(np.float64)
    if found.ndim > 0 and found.shape != (n,):
        raise ArgumentError(f"tau has shape {found.shape}; x has {n} anchors, so it must be ({n},) or a number")
    return np.ascontiguousarray(np.broadcast_to(found, (n,)))


def _slopes(name, values, shape):
    if values is None:
        return None
    found = array(name, values, 2)
    if found.shape != shape:
        raise ArgumentError(f"{name} has shape {found.shape}; x has shape {shape}")
    return found


# ---- rules: made once, kept by the thread that made them -------------------------------------------


class _Kept(threading.local):
    def __init__(self):
        self.rules = collections.OrderedDict()


_kept = _Kept()


OF_LOG_DENSITIES = "directions are for log-densities; of a score take degree=3, the default, or pairs"


def _rule(owner, dim, kind, process, drift, params, degree, pairs, directions, time_fraction, mean, covariance, seed):
    """Return the rule of these settings, that of a call before if there was one."""
    code = choice("kind", kind, KINDS)
    if drift is not None and isinstance(process, str) and process == "ou":  # its default
        process = "drift"
    if drift is None and _is_drift(process):
        process, drift = "drift", process
    process_code = choice("process", process, PROCESSES)
    if (process_code == Process.PROCESS_DRIFT) != (drift is not None):
        raise ArgumentError(f"process is {shown(process)}; drift goes with process \"drift\" and with no other")
    if drift is None and params is not None:
        raise ArgumentError("params is given without drift")
    chosen = {"degree": degree, "pairs": pairs, "directions": directions}
    given = [name for name, value in chosen.items() if value is not None]
    if len(given) > 1:
        raise ArgumentError(f"{given[0]} and {given[1]} are both given; one of degree, pairs and directions says "
                            "what the nodes are")
    if directions is not None and kind == "score":
        raise ArgumentError(OF_LOG_DENSITIES)
    rule = tuple(0 if value is None else c_int(name, value, 1, INT_MAX) for name, value in chosen.items())
    if given and not any(rule):
        raise ArgumentError(f"{given[0]} is 0; it must be above 0")
    rule = rule if given else (3, 0, 0)
    time_fraction = np.nan if time_fraction is None else real("time_fraction", time_fraction)
    mean, covariance = _moments(mean, covariance, dim)
    text = None if drift is None else _drift_text(drift, dim)
    params = dict(params) if isinstance(params, dict) else params or {}
    numbers = tuple(params.items()) if isinstance(params, dict) else params
    key = (id(owner), dim, code, process_code, rule, repr(time_fraction), uint64("seed", seed), text, repr(numbers),
           None if mean is None else mean.tobytes(), None if mean is None else covariance.tobytes())
    found = _kept.rules.pop(key, None)
    if found is None:
        found = _Rule(owner, dim, kind, process, code, process_code, rule, time_fraction, seed, text, params, mean, covariance)
    _kept.rules[key] = found
    while len(_kept.rules) > KEPT:
        _kept.rules.popitem(last=False)
    return found


def _is_drift(process):
    """True when `process` is no name but a drift."""
    if isinstance(process, str):
        return process in ("x", "y", "z") or not process.isidentifier()
    return isinstance(process, (list, tuple, np.ndarray))


def _moments(mean, covariance, dim):
    if mean is None and covariance is None:
        return None, None
    if mean is None or covariance is None:
        raise ArgumentError("mean and covariance are a reference together; give both or none")
    mean = array("mean", mean, 1)
    covariance = array("covariance", covariance, 2)
    if mean.shape != (dim,) or covariance.shape != (dim, dim):
        raise ArgumentError(f"mean {mean.shape} and covariance {covariance.shape} must have shapes ({dim},) and "
                            f"({dim}, {dim})")
    return mean, covariance


def _drift_text(drift, dim):
    if callable(drift):
        raise TypeError('drift is a function; it must be text, as "x - x^3", or a matrix')
    if isinstance(drift, str) or (isinstance(drift, (list, tuple)) and all(isinstance(part, str) for part in drift)):
        return drift_text(drift)
    matrix = array("drift", drift, 2)
    if matrix.shape != (dim, dim) or not np.all(np.isfinite(matrix)):
        raise ArgumentError(f"drift has shape {matrix.shape}; a matrix must be ({dim}, {dim}) and finite")
    rows = (" + ".join(f"({value!r})*x{j + 1}" for j, value in enumerate(row) if value != 0) or "0"
            for row in matrix.tolist())
    return ", ".join(rows).encode()


class _Rule:
    """Owns an hb_balls and its drift; keeps the context that they belong to."""

    def __init__(self, owner, dim, kind, process, code, process_code, rule, time_fraction, seed, text, params, mean,
                 covariance):
        self.owner, self.kind, self.process = owner, kind, process
        settings = BallsSettings()
        library.hb_balls_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
        settings.kind, settings.process = code, process_code
        settings.degree, settings.pairs, settings.directions = rule
        settings.time_fraction, settings.seed = time_fraction, seed
        problem, balls = ctypes.POINTER(Problem)(), ctypes.POINTER(_CBalls)()
        if text is not None:
            problem = self._problem(text, params, dim)
            settings.drift = problem
        if mean is not None:
            settings.mean, settings.covariance = pointer(mean), pointer(covariance)
        status = library.hb_balls_create(owner.pointer, ctypes.byref(settings), dim, ctypes.byref(balls))
        weakref.finalize(self, _destroy, balls, problem, owner).atexit = False
        check(owner.pointer, status)
        self.balls, self.problem, self.directions = balls, problem, rule[2]
        self.nodes, self.time_fraction = library.hb_balls_nodes(balls), library.hb_balls_share(balls)
        self.has_reference = mean is not None

    def _problem(self, text, params, dim):
        settings = ProblemSettings()
        library.hb_problem_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
        settings.drift, settings.dim, settings.noise = text, dim, b"sqrt(2)"
        keep = fill_parameters(settings, params)
        problem = ctypes.POINTER(Problem)()
        check(self.owner.pointer, library.hb_problem_create(self.owner.pointer, ctypes.byref(settings),
                                                             ctypes.byref(problem)))
        del keep
        return problem

    def place(self, owner, first, x, tau, slope, reference_slope):
        """Return the arrays of balls behind the anchors, by their names in C."""
        (n, dim), m = x.shape, self.nodes
        shapes = {"x": (n, m, dim), "tau": (n, m), "weight": (n, m), "shift": (n, m), "scale": (n,), "radius": (n,),
                  "noise": (n,)}
        score = self.kind == "score"
        if score:
            shapes |= {"arm": (n, m, dim), "arm_weight": (n, m), "factor": (n, m), "factor0": (n,)}
        if score and self.process == "drift":
            shapes |= {"drift": (n, m, dim), "rate": (n, m)}
        if self.has_reference:
            last = (dim,) if score else ()
            shapes |= {"reference": (n, m) + last, "reference0": (n,) + last}
        arrays = {name: np.empty(shape) for name, shape in shapes.items()}
        values = BallsValues(ctypes.sizeof(BallsValues), **{name: pointer(made) for name, made in arrays.items()})
        check(owner.pointer, library.hb_balls_place(
            owner.pointer, self.balls, first, n, pointer(x), pointer(tau),
            None if slope is None else pointer(slope),
            None if reference_slope is None else pointer(reference_slope), ctypes.byref(values)))
        return arrays


def drift_terms(x, tau, drift, params=None, threads=0):
    """Return F, div F, grad div F and the Jacobian dF_i/dx_j of a drift as `balls` takes it, at x (n, dim), tau (n,)."""
    x, owner = array("x", x, 2), handle(threads)
    (n, dim), tau = x.shape, _times(tau, len(x))
    rule = _rule(owner, dim, "log_density", "drift", drift, params, None, 1, None, None, None, None, 1)
    F, divergence, gradient, jacobian = np.empty((n, dim)), np.empty(n), np.empty((n, dim)), np.empty((n, dim, dim))
    check(owner.pointer, library.hb_problem_drift_each(
        owner.pointer, rule.problem, n, pointer(x), pointer(tau), *map(pointer, (F, divergence, gradient, jacobian))))
    return F, divergence, gradient, jacobian


def _destroy(balls, problem, owner):  # owner: its context must outlive both
    library.hb_balls_destroy(balls)
    library.hb_problem_destroy(problem)

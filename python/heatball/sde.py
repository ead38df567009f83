"""Stochastic differential equations: solutions at points, and the mean-value residual."""

from __future__ import annotations

import ctypes
import inspect
import math
import numbers
import os
import warnings
from typing import Any, Mapping, Sequence

import numpy as np

from heatball._arguments import (INT_MAX, UINT64_MAX, array, c_int, choice, integer, path_bytes, pointer, real, real_array,
                                 meant, renamed, shown, uint64)
from heatball._errors import ArgumentError, check
from heatball._native import (DRIFT, INITIAL_DENSITY, MAX_DIM, NOISE, Column, Convention, DriftFact, MeanSettings,
                              GridSettings, Problem, ProblemSettings, Quantity, ResidualValues,
                              SamplingSettings, Solution as NativeSolution, SolveSettings, Status,
                              library)
from heatball._interrupt import interruptible
from heatball._solution import Solution
from heatball._grid import Grid
from heatball._residual import Residual
from heatball._types import ArrayLike, Drift, Floats, Initial, Noise, Path
from heatball._version import __version__

__all__ = ["Solution", "mesh", "residual", "solve"]



def _methods():
    """Name to value of each method of the library's table."""
    found = {}
    while info := library.hb_method_info(len(found)):
        found[info.contents.name.decode()] = info.contents.method
    return found


METHODS = _methods()
CONVENTIONS = {name: Convention[f"CONVENTION_{name.upper()}"] for name in ("ito", "stratonovich")}
# Threads wait for each other inside Python, so that a function has nothing from being called by several.
FACTS = {fact.name.removeprefix("DRIFT_FACT_").lower(): fact for fact in DriftFact
         if fact != DriftFact.DRIFT_FACT_REENTRANT}
QUANTITIES = {quantity.name.removeprefix("QUANTITY_").lower(): int(quantity)
              for quantity in Quantity}


def _takes_two(function):
    """Whether a drift is f(x, t), which is also assumed when its signature is not known."""
    if isinstance(function, np.ufunc):
        return function.nin > 1
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def _at_times(function, points, times):
    """function(x, t) at points that have a time each, by one call for each time."""
    if (times == times[0]).all():
        return function(points, float(times[0]))
    values = None
    distinct, which = np.unique(times, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which))
    for t, chosen in zip(distinct, np.split(order, ends[:-1])):
        part = np.asarray(function(points[chosen], float(t)), np.float64)
        if values is None:
            values = np.empty((len(points), *part.shape[1:]))
        if part.shape != (len(chosen), *values.shape[1:]):
            return part  # refused, with its shape, by the caller
        values[chosen] = part
    return values


@meant(sigma="noise", diffusion="noise (with diffusion coefficient D, noise is sqrt(2 D))", T="time", t="time", x="at",
       x0="initial='point(...)'", p0="initial", u0="initial", parameters="params", n="samples", walks="samples")
@renamed({name: "the method guided fits its log-density without training" for name in ("training", "training_steps")},
         points="cells")
def solve(drift: Drift | None = None, noise: Noise | None = None, initial: Initial | None = None,
          time: ArrayLike | None = None, at: ArrayLike | None = None, *, dim: int | None = None,
          params: Mapping[str, float] | None = None, facts: str | Sequence[str] = (), method: str = "auto",
          samples: int | None = None, stderr: float | None = None, stderr_score: float | None = None,
          max_time: float | None = None, paths: ArrayLike | None = None, path_times: ArrayLike | None = None,
          state: Path | None = None, save_every: float | None = None, resume: bool = False,
          radius: float | None = None, lift: int | None = None, degree: int = 0, cells: int | None = None,
          box: ArrayLike | None = None,
          seed: int = 1, threads: int = 0, problem: Path | None = None, convention: str | None = None,
          heatball: str | None = None) -> Solution:
    """Solve dx = f(x, t) dt + G(x, t) dW from an initial density, at points.

    Parameters
    ----------
    drift : str, list of str, or callable
        The drift f: components separated by commas, or one each, in x1 .. xd (x, y, z for d <= 3), t, pi and the names of
        `params`; or a function f(x, t), or f(x), of x with shape (n, dim) that returns an array of the same shape.
    noise : str, float, array_like, list of str, or callable
        The noise G: one number or formula for all axes, one for each axis, or a matrix of dim rows and any number of columns
        (nested lists, an array, or text as "1, 0; 0.3, 0.8"), in x, t and the names of `params`; or a function G(x, t), or
        G(x), that returns shape (n, dim, m). Default: 1.
    initial : str or callable
        The initial density: "gaussian(mean=1 -0.5, var=0.4)", "mixture(FILE.csv)", "stationary", "samples(FILE.npy)",
        "uniform(low high, ...)", "product(1/(1+x^2))", "density(EXPR)" or "point(1 -0.5)"; or a function of x with shape
        (n, dim) that returns the n log-densities, up to a constant.
    time : float, or array_like of shape (times,)
        The time t, or several in any order; inf: the stationary density, which needs no `initial`. Default: that of `problem`.
        The grid integrates once for all times. Several times do not go with `paths` or `state`.
    at : array_like of shape (n, dim), or (n,) for dim = 1
        The points; `mesh` makes those of a mesh.
    dim : int
        The dimension; default: the number of drift components, for a callable drift the last axis of `at`.
    params : dict
        Named numbers of the expressions.
    facts : str or sequence of str
        What is known of a callable drift: "autonomous" (no t), "linear" (A(t) x + c(t)), "gradient" (-grad V). A fact
        allows faster and more accurate methods; one that values at a few points contradict is refused.
    method : {"auto", "grid", "particles", "walk", "meanvalue", "guided"}
        The grid is for dim 1 to 3; "particles" and "walk" sample in any dimension; "meanvalue" averages over heat balls on
        the grid's solution; "guided" walks along a log-density that is fitted to trajectories. "auto" takes the grid where there is one, else particles and
        walks, each where it is better.
    samples : int
        Walks per point, trajectories, or antithetic pairs per point of "meanvalue"; default: 100000, 32768 and 10000. With
        `stderr` or `stderr_score` the least number.
    stderr, stderr_score : float
        Sample until the relative errors of density and score are at most this at every point.
    max_time : float
        Seconds after which sampling ends; `note` then names the points that did not reach the error. The grid fails when it
        is not done by then; with "auto" it gets half of the time.
    paths : array_like of shape (paths, times, dim), or (paths, times) for dim = 1
        Trajectories for "particles" instead of simulated ones.
    path_times : array_like of shape (times,)
        Their times, the last one `time`; default: evenly from 0 to `time`.
    state : path
        File that keeps the state of the sampling.
    save_every : float
        Seconds between two writes of `state`; default: 60.
    resume : bool
        Resume from `state` if it is there.
    radius : float
        Radius of the heat balls of "meanvalue" and "particles"; default: chosen.
    lift : int
        Auxiliary dimensions of these heat balls; default: chosen, for "meanvalue" 0.
    degree : int
        Degree of a cubature for "meanvalue"; 0: random draws.
    cells : int
        Cells per axis of the grid, even and at least 32; default: chosen.
    box : array_like of shape (2,) or (dim, 2)
        Low and high of the grid's axes; default: chosen from the problem and `at`.
    seed : int
        Seed of all random numbers.
    threads : int
        0: one per core. The result does not depend on it.
    problem : path
        A problem file (.ini) instead of `drift`; other arguments override the file.
    convention : {"ito", "stratonovich"}
        The sense of noise that depends on x; default: that of the file, else "ito".
    heatball : str
        The version in `Solution.config`; without effect.

    Returns
    -------
    Solution
        Density, log-density, score and entropy density with errors. A solution by a grid can be called at other points.

    Raises
    ------
    ArgumentError
        A ValueError: an argument is outside its range, or the method does not support the problem.
    Error
        The computation failed; the message says why.

    See Also
    --------
    mesh : Points of a mesh.
    residual : Check a solution by the mean-value identity.
    Solution : What is returned.

    Notes
    -----
    The density u solves the Fokker-Planck equation [1]_

        du/dt = -div(f u) + sum_ij d_i d_j (D_ij u),    D = G G^T/2,

    in the sense of Ito. The score is grad ln u, the entropy density u ln u. tau is the integral of g^2/2 where G is a number g
    times the identity. Errors of the grid are estimates from refinement, those of sampling standard errors.
    docs/reference/which-sdes.md says which noise each method supports, docs/howto/choosing-a-method.md compares them.

    References
    ----------
    .. [1] H. Risken, "The Fokker-Planck Equation", 2nd ed., Springer, 1989.

    Examples
    --------
    The Ornstein-Uhlenbeck process dx = -x dt + sqrt(2) dW from N(1, 0.4) at t = 0.5 is Gaussian with
    mean e^-0.5 and variance 1 - 0.6 e^-1:

    >>> import numpy as np, heatball
    >>> s = heatball.solve("-x", "sqrt(2)", "gaussian(mean=1, var=0.4)", 0.5, [0.3, 1.7])
    >>> mean, var = np.exp(-0.5), 1 - 0.6 * np.exp(-1)
    >>> bool(np.allclose(s.score[:, 0], -(s.x[:, 0] - mean) / var, rtol=1e-4))
    True

    A drift as a function, and points of two coordinates:

    >>> turn = lambda x: np.stack([-x[:, 0] + x[:, 1], -x[:, 1] - x[:, 0]], axis=1)
    >>> s = heatball.solve(turn, "sqrt(2)", "gaussian(mean=0, var=1)", 0.1, [[0.5, -0.2]], cells=32, box=(-5, 5))
    >>> bool(np.allclose(s.score, -s.x, rtol=1e-2))
    True

    Several times in one solve, at the points of a mesh:

    >>> t = np.linspace(0, 1, 5)
    >>> s = heatball.solve("-x", "sqrt(2)", "gaussian(mean=1, var=0.4)", t, heatball.mesh((-1, 2, 31)))
    >>> s.density.shape, s.score.shape
    ((5, 31), (5, 31, 1))
    >>> mean, var = np.exp(-t[:, None]), 1 - 0.6 * np.exp(-2 * t[:, None])
    >>> bool(np.allclose(s.score[..., 0], -(s.x[:, 0] - mean) / var, rtol=1e-4, atol=1e-6))
    True

    Ten dimensions, by walks until the error is at most 5 %:

    >>> s = heatball.solve("sin(x[i])", 1.2, "gaussian(mean=0, var=0.3)", 0.2, np.full((1, 10), 0.1),
    ...                    dim=10, method="walk", samples=1000, stderr=0.05)
    >>> s.warnings, bool(s.density_error[0] <= 0.05 * s.density[0])
    ({}, True)
    """
    method = _method_of_today(method)
    given = dict(locals())
    with interruptible(threads) as owner, \
            _Call(owner, drift, noise, initial, time, at, dim, params, problem,
                  facts, convention) as run:
        settings = _settings(run.time, samples, radius, lift, degree, seed)
        run.take_times(settings)
        settings.method = choice("method", method, METHODS)
        if cells is not None or box is not None:
            settings.grid = ctypes.pointer(_grid(run.dim, cells, box))
        _fill_sampling(settings.sampling.contents, stderr, stderr_score, max_time, state, save_every, resume)
        run.take_paths(settings.sampling.contents, paths, path_times)
        return run.solve(settings, _config(given), [name for name, value in given.items() if callable(value)])


def _config(given):
    """The arguments that are not defaults, functions by their names, and the version."""
    defaults = {name: one.default for name, one in inspect.signature(solve).parameters.items()}
    out = {}
    for name, value in given.items():
        if value is None or (isinstance(value, (str, int, float, tuple)) and value == defaults[name]):
            continue
        if callable(value):
            value = getattr(value, "__qualname__", type(value).__name__)
        out[name] = os.fspath(value) if isinstance(value, os.PathLike) else value
    return {**out, "heatball": __version__}


@renamed(share="radius_fraction")
def residual(drift: Any = None, noise: Noise | None = None, initial: Initial | ArrayLike | None = None,
             time: ArrayLike | None = None, at: ArrayLike | None = None, radii: ArrayLike = (0.1, 0.2, 0.4), *,
             quantity: str = "v", dim: int | None = None, params: Mapping[str, float] | None = None,
             facts: str | Sequence[str] = (), samples: int | None = None, lift: int | None = None, degree: int = 0,
             seed: int = 1, threads: int = 0, problem: Path | None = None, convention: str | None = None, process: Any = "ou",
             radius_fraction: ArrayLike | None = None, tau_min: float = 0.0) -> Residual:
    """Return the mean-value residual of a problem's solution, or of any log-density or score, for several radii.

    There are two forms: ``residual(drift, noise, initial, time, at, radii)`` for the grid's solution of a problem, and
    ``residual(f, x, tau, radii)`` for a function f(x, tau).

    Parameters
    ----------
    drift : str, list of str, or callable
        The drift as in `solve`; in the second form f: a log-density or score f(x, tau), a Model or Mixture, or an object with a
        method log_density or score.
    noise : str, float, array_like, list of str, or callable
        The noise as in `solve`; in the second form x: points of shape (n, dim).
    initial : str or callable
        The initial density as in `solve`; in the second form tau: a number or an array of shape (n,).
    time : float
        The time as in `solve`; in the second form the radii.
    at : array_like of shape (n, dim), or (n,) for dim = 1
        The points of the first form.
    radii : array_like of shape (k,)
        Radii of the heat balls, each below sqrt(4 pi tau).
    quantity : {"u", "v", "w"}
        F: the density, its logarithm or u ln u.
    dim : int
        The dimension, as in `solve`.
    params : dict
        Named numbers of the expressions.
    facts : str or sequence of str
        What is known of a callable drift, as in `solve`.
    samples : int
        Antithetic pairs of random draws; default: a cubature in up to three dimensions, else 10000.
    lift : int
        Auxiliary dimensions of the heat balls.
    degree : int
        Degree of the cubature; 0: chosen.
    seed : int
        Seed of the draws.
    threads : int
        0: one per core. The result does not depend on it.
    problem : path
        A problem file instead of `drift`.
    convention : {"ito", "stratonovich"}
        The sense of the noise, as in `solve`.
    process : str
        Of the second form: "ou", dx = -x dtau + sqrt(2) dW; "ve", dx = sqrt(2) dW; or the text of a drift F,
        dx = F(x) dtau + sqrt(2) dW. A Model has its own, and is evaluated in its own coordinates z.
    radius_fraction : array_like of shape (k,)
        Of the second form, instead of radii: fractions of the largest radius, sqrt(4 pi (tau - tau_min)).
    tau_min : float
        Of the second form: f is not evaluated below it.

    Returns
    -------
    Residual
        Arrays residual and scaled with errors, of shape (n, k), of a score (n, k, dim).

    See Also
    --------
    certify : Statistical tests of a score against data.
    heatball.torch.heat_ball_residual : The same for tensors.

    Notes
    -----
    R_r = F - E_kappa[F] - (C1 r^2/4) E_source[h_F] is 0 for an exact solution. 4 R_r/(C1 r^2), the scaled residual, tends to
    that of the differential equation as r goes to 0 [1]_ [2]_. Of a score S it is the vector S - E_kappa[S] - r E_slope[z h_v],
    the gradient of the other. docs/explanation/mean-value.md has the formulas.

    References
    ----------
    .. [1] N. A. Watson, "A theory of subtemperatures in several variables", Proc. London Math. Soc. 26, 1973.
    .. [2] L. C. Evans, "Partial Differential Equations", 2nd ed., AMS, 2010, section 2.3.2.

    Examples
    --------
    >>> import heatball
    >>> r = heatball.residual("-x", "sqrt(2)", "gaussian(mean=1, var=0.4)", 0.5, [0.3, 1.7],
    ...                       [0.2, 0.4], degree=7)
    >>> r["scaled"].shape, bool(abs(r["residual"]).max() < 1e-6)
    ((2, 2), True)

    A log-density, and a score that is 5 % too large:

    >>> import numpy as np
    >>> v = lambda x, tau: -0.5 * (x**2).sum(axis=1)                    # N(0, I) stays under "ou"
    >>> r = heatball.residual(v, [[0.3, 1.7]], 0.5, [0.2])
    >>> bool(abs(r["scaled"]).max() < 1e-9)
    True
    >>> r = heatball.residual(lambda x, tau: -1.05 * x, [[0.3, 1.7]], 0.5, [0.2])
    >>> np.round(r["scaled"][0, 0], 2)                                 # -0.105 x
    array([-0.03, -0.18])
    """
    if isinstance(initial, (numbers.Real, list, tuple, np.ndarray)) and not isinstance(initial, bool):
        from heatball._field_residual import field_residual
        if time is not None:
            radii = time
        for name, value in (("at", at), ("problem", problem), ("convention", convention),
                            ("dim", dim), ("facts", facts or None)):
            if value is not None:
                raise TypeError(f"{name} is given; residual(f, x, tau) has none")
        return field_residual(drift, noise, initial, radii, radius_fraction, choice("quantity", quantity, QUANTITIES), process,
                              params, tau_min, samples, lift, degree, seed)
    if radius_fraction is not None or process != "ou":
        raise TypeError("radius_fraction and process belong to residual(f, x, tau), whose third argument is the number tau")
    with interruptible(threads) as owner, \
            _Call(owner, drift, noise, initial, time, at, dim, params, problem,
                  facts, convention) as run:
        if samples is not None and degree == 0:
            degree = -1  # draws, where a rule would be the default
        run.refuse_times("residual")
        settings = _settings(run.time, samples, None, lift, degree, seed)
        return run.residual(settings, choice("quantity", quantity, QUANTITIES),
                            array("radii", radii, 1))


def mesh(*axes: ArrayLike) -> Floats:
    """Return the points of a mesh, the last axis fastest, as `solve` takes them.

    Parameters
    ----------
    *axes : (low, high, n), float, or array_like of shape (n,)
        For each axis a tuple of low, high and the number of places, both ends included; one number; or an array (no tuple) of
        the places themselves.

    Returns
    -------
    ndarray of shape (points, axes)
        Values at them reshape to (n_1, n_2, ...), of several times to (times, n_1, n_2, ...).

    See Also
    --------
    solve : Solve at these points.

    Examples
    --------
    >>> import heatball
    >>> heatball.mesh((-1, 1, 3), 0.5).tolist()
    [[-1.0, 0.5], [0.0, 0.5], [1.0, 0.5]]
    """
    if not axes:
        raise TypeError("mesh has no axis; give (low, high, n) for each")
    return np.stack([part.ravel() for part in np.meshgrid(*map(_axis, axes), indexing="ij")], axis=-1)


mesh.__module__ = "heatball"


def _axis(axis):
    if not isinstance(axis, tuple):
        return array("axis", np.atleast_1d(real_array("axis", axis)), 1)
    if len(axis) != 3:
        raise ArgumentError(f"an axis is a tuple of {len(axis)}; it must be (low, high, n)")
    n = c_int("n", axis[2], 1, INT_MAX)
    if n < 1:
        raise ArgumentError(f"an axis has {n} places; it must have at least 1")
    return np.linspace(real("low", axis[0]), real("high", axis[1]), n)


def _times(time):
    """Return the one time, NaN for none, and an array of several or None."""
    if time is None:
        return math.nan, None
    if not isinstance(time, (list, tuple, np.ndarray)) or np.ndim(time) != 1:
        try:
            value = real("time", time)
        except TypeError as error:
            raise TypeError(f"{error}, or inf for the stationary density") from None
        if math.isnan(value):
            raise ArgumentError("time is nan; it must be a number of at least 0, or inf")
        return value, None
    times = array("time", real_array("time", time), 1)
    if len(times) == 0:
        raise ArgumentError("time has no value; it must be a number or an array of at least one")
    if np.isnan(times).any():
        raise ArgumentError(f"time {int(np.isnan(times).argmax()) + 1} is nan; it must be a number of at least 0")
    finite = times[np.isfinite(times)]
    return float(finite.max()) if len(finite) else math.inf, times


def _points(at):
    if at is None:
        raise TypeError("at is missing; it must be an array of points, of shape (n, dim)")
    values = real_array("at", at)
    return array("at", values[:, None] if values.ndim == 1 else values, 2)


def _settings(time, samples, radius, lift, degree, seed):
    settings, mean, sampling = SolveSettings(), MeanSettings(), SamplingSettings()
    library.hb_solve_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
    library.hb_mean_settings_default(ctypes.sizeof(mean), ctypes.byref(mean))
    library.hb_sampling_settings_default(ctypes.sizeof(sampling), ctypes.byref(sampling))
    settings.time, settings.mean, settings.sampling = time, ctypes.pointer(mean), ctypes.pointer(sampling)
    if samples is not None:
        mean.samples = sampling.samples = integer("samples", samples, 1, UINT64_MAX)
    if radius is not None:
        mean.radius = sampling.radius = real("radius", radius)
        if radius == 0:
            raise ArgumentError("radius is 0; it must be above 0")
    if lift is not None:
        mean.lift = sampling.lift = c_int("lift", lift, 0, MAX_DIM)
    mean.degree = c_int("degree", degree, 0, INT_MAX)
    mean.seed = sampling.seed = uint64("seed", seed)
    return settings


def _method_of_today(method):
    """Return the name that a method of the release before has now."""
    if not isinstance(method, str) or method != "network":
        return method
    warnings.warn("the method network is now guided; the old name goes in the next release", DeprecationWarning, stacklevel=4)
    return "guided"


def _grid(dim, cells, box):
    """Settings of the grid, whose mesh or boundary is given."""
    if dim > 3:
        raise ArgumentError(f"cells and box are of the grid, which goes up to dimension 3; the problem has {dim}")
    settings = GridSettings()
    library.hb_grid_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
    if cells is not None:
        settings.points[:] = [c_int("cells", cells, 32, INT_MAX)] * 3
        if cells == 0:
            raise ArgumentError("cells is 0; it must be at least 32")
        if cells % 2:
            raise ArgumentError(f"cells is {cells}; it must be even")
    if box is not None:
        given = real_array("box", box)
        sides = np.broadcast_to(given, (dim, 2)) if given.shape in ((2,), (dim, 2)) else np.full((1, 2), np.nan)
        if not np.all(np.isfinite(sides) & (sides[:, :1] < sides[:, 1:])):
            raise ArgumentError("box must be low and high of each axis, of shape (2,) for all of them or "
                                f"({dim}, 2), each low below its high")
        for axis, (low, high) in enumerate(sides):
            settings.low[axis], settings.high[axis] = low, high
    return settings


def _fill_sampling(sampling, stderr, stderr_score, max_time, state, save_every, resume):
    for name, field, value in (("stderr", "density_error", stderr),
                               ("stderr_score", "score_error", stderr_score),
                               ("max_time", "max_time", max_time),
                               ("save_every", "save_every", save_every)):
        if value is None:
            continue
        value = real(name, value)
        if not 0 < value < math.inf:
            raise ArgumentError(f"{name} is {value:g}; it must be a number above 0")
        setattr(sampling, field, value)
    if state is not None:
        sampling.state = path_bytes("state", state)
    sampling.resume = bool(resume)


def _facts(drift, facts):
    """The sum of hb_drift_fact."""
    if isinstance(facts, str):
        facts = (facts,)
    if not isinstance(facts, (list, tuple, set, frozenset)):
        raise TypeError(f"facts is {shown(facts)}; it must be a list of {', '.join(FACTS)}")
    if facts and not callable(drift):
        raise ArgumentError("facts are for a callable drift; those of a text are read off its formula")
    given = sum({choice("facts", fact, FACTS) for fact in facts})
    return given | FACTS["autonomous"] if callable(drift) and not _takes_two(drift) else given


class _Call:
    """One call of the library: the problem, its callbacks, and what they raised."""

    def __init__(self, owner, drift, noise, initial, time, at, dim, params, problem, facts=(), convention=None):
        self.context, self.failures, self.keep, self.owner = owner.owner.pointer, owner.failures, [], owner
        self.x = _points(at)
        self.time, self.times = _times(time)
        if time is None and problem is None:
            raise TypeError("time is missing; it must be a number of at least 0")
        if (drift is None) == (problem is None):
            raise TypeError("drift and problem are both " + ("missing" if drift is None else "given")
                            + "; give either drift or problem")
        if initial is None and problem is None and self.time != math.inf:
            raise TypeError("initial is missing; it must be an initial density")
        settings = self._problem_settings(drift, noise, initial, dim, params, problem)
        settings.drift_facts = _facts(drift, facts)
        if convention is not None:
            settings.convention = choice("convention", convention, CONVENTIONS)
        self.problem = ctypes.POINTER(Problem)()
        if problem is None:
            status = library.hb_problem_create(self.context, ctypes.byref(settings), ctypes.byref(self.problem))
        else:
            path = path_bytes("problem", problem)
            status = library.hb_problem_load(self.context, ctypes.byref(settings), path, ctypes.byref(self.problem))
        status = library.hb_context_settle(self.context, status)  # a callback may have failed on one rank of a team
        if status != Status.OK:
            library.hb_problem_destroy(self.problem)
        self._check(status)

    def __enter__(self):
        self.dim = library.hb_problem_dim(self.problem)
        if self.x.shape[1] != self.dim:
            library.hb_problem_destroy(self.problem)
            raise ArgumentError(f"at has points of {self.x.shape[1]} coordinates; the problem has "
                                f"dimension {self.dim}: give at the shape (n, {self.dim}), a row for each point")
        return self

    def __exit__(self, *raised):
        if self.problem is not None:  # else a grid has it
            library.hb_problem_destroy(self.problem)

    def _check(self, status):
        """Raise what a callback raised, else the library's own error."""
        if self.failures:
            raise self.failures[0]
        check(self.context, status)

    def _problem_settings(self, drift, noise, initial, dim, params, problem):
        settings = ProblemSettings()
        library.hb_problem_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
        if dim is not None:
            settings.dim = c_int("dim", dim, 1, MAX_DIM)
        if callable(drift):
            settings.dim = self.x.shape[1] if dim is None else settings.dim
            settings.drift_callback = self._drift_callback(drift)
        elif drift is not None:
            settings.drift = drift_text(drift)
        if callable(noise):
            settings.noise_callback, settings.noise_columns = self._noise_callback(noise)
            settings.noise_autonomous = not _takes_two(noise)
        elif noise is not None:
            settings.noise = noise_text(noise)
        elif problem is not None:
            settings.noise = None
        if callable(initial):
            settings.initial_callback = self._initial_callback(initial)
        elif initial is not None:
            settings.initial = _text("initial", initial)
        if 0 < self.time < math.inf:
            settings.time = self.time
        self.keep.append(fill_parameters(settings, params or {}))
        return settings

    def _drift_callback(self, drift):
        needs_time = _takes_two(drift)

        def call(user, n, x, t, f, jacobian):
            points = np.ctypeslib.as_array(x, (n, self._dim())).copy()
            if not needs_time:
                return self._store("drift", lambda: drift(points), f, points.shape)
            times = np.ctypeslib.as_array(t, (n,))
            return self._store("drift", lambda: _at_times(drift, points, times), f, points.shape)

        self.keep.append(DRIFT(call))
        return self.keep[-1]

    def _noise_callback(self, noise):
        """The callback and its number of columns, which one call at the first point tells."""
        needs_time = _takes_two(noise)

        def at(points, times):
            if not needs_time:
                return noise(points)
            return _at_times(noise, points, times)

        first = real_array("the value of noise", at(self.x[:1].copy(), np.zeros(1)))
        if first.ndim != 3 or first.shape[:2] != (1, self._dim()):
            raise ArgumentError(f"noise returned an array of shape {first.shape} at one point; it must be "
                                f"(1, {self._dim()}, m)")
        columns = first.shape[2]

        def call(user, n, x, t, G):
            points, times = np.ctypeslib.as_array(x, (n, self._dim())).copy(), np.ctypeslib.as_array(t, (n,))
            return self._store("noise", lambda: at(points, times), G, (n, self._dim(), columns))

        self.keep.append(NOISE(call))
        return self.keep[-1], columns

    def _initial_callback(self, initial):
        def call(user, n, x, log_density, gradient):
            points = np.ctypeslib.as_array(x, (n, self._dim()))
            failed = self._store("initial", lambda: initial(points.copy()), log_density, (n,))
            if gradient and not failed:
                slopes = np.ctypeslib.as_array(gradient, points.shape)
                failed = self._guard(lambda: slopes.__setitem__(..., _slopes(initial, points)))
            return failed

        self.keep.append(INITIAL_DENSITY(call))
        return self.keep[-1]

    def _dim(self):
        return self.x.shape[1]

    def _store(self, name, make, out, shape):
        """Fill the C array `out` with what make() returns; 1 when that fails."""
        def fill():
            values = real_array(f"the value of {name}", make()).astype(np.float64)
            if values.shape != shape:
                raise ArgumentError(f"{name} returned an array of shape {values.shape}; it must be "
                                    f"{shape}; x has the shape (n, dim), its first coordinate is x[:, 0]")
            np.ctypeslib.as_array(out, shape)[...] = values

        return self._guard(fill)

    def _guard(self, action):
        try:
            action()
            return 0
        except BaseException as error:  # also KeyboardInterrupt: raised again by _check
            self.failures.append(error)
            return 1

    def take_paths(self, sampling, paths, path_times):
        """Put the user's trajectories into the settings, with times evenly from 0 by default."""
        if paths is None:
            if path_times is not None:
                raise TypeError("path_times is given without paths")
            return
        paths = real_array("paths", paths)
        paths = array("paths", paths[:, :, None] if paths.ndim == 2 else paths, 3)
        if paths.shape[2] != self.dim:
            raise ArgumentError(f"paths has places of {paths.shape[2]} coordinates; the problem has "
                                f"dimension {self.dim}")
        if path_times is None:
            last = library.hb_problem_time(self.problem) if math.isnan(self.time) else self.time
            path_times = np.linspace(0, last, paths.shape[1]) if paths.shape[1] > 1 else [last]
        times = array("path_times", path_times, 1)
        if len(times) != paths.shape[1]:
            raise ArgumentError(f"path_times has {len(times)} times; paths has {paths.shape[1]}")
        sampling.n_paths, sampling.n_times = paths.shape[:2]
        sampling.paths, sampling.path_times = pointer(paths), pointer(times)
        self.keep += [paths, times]

    def refuse_times(self, what):
        """Refuse several times where there is one only."""
        if self.times is not None:
            raise ArgumentError(f"time has {len(self.times)} values; {what} takes one number")

    def take_times(self, settings):
        """Put several times into the settings."""
        if self.times is None:
            return
        if len(self.times) == 1:
            settings.time = self.times[0]
            return
        settings.time = math.nan
        settings.n_times, settings.times = len(self.times), pointer(self.times)

    def solve(self, settings, config, functions):
        handle = ctypes.POINTER(NativeSolution)()
        self._check(library.hb_solve(self.context, self.problem, ctypes.byref(settings),
                                     len(self.x), pointer(self.x), ctypes.byref(handle)))
        try:
            n_times = library.hb_solution_n_times(handle)
            several = n_times > 1 or self.times is not None
            lead = (n_times,) if several else ()
            columns = {column.name.removeprefix("COLUMN_").lower(): self._column(handle, column, lead)
                       for column in Column}
            time, tau = (np.array([value(handle, k) for k in range(n_times)]) if several else value(handle, 0)
                         for value in (library.hb_solution_time, library.hb_solution_time_tau))
            method = library.hb_solution_method(handle).decode()
            note = library.hb_solution_note(handle).decode(errors="replace")
            marks = self._marks(handle, lead)
            grid = None
            if Grid.behind(handle, n_times):
                grid = Grid(handle, self.problem, self.keep, self.failures, self.owner)
                handle = self.problem = None
        finally:
            library.hb_solution_destroy(handle)
        found = Solution(self.x.copy(), columns, time, tau, method, note, *marks)
        found.config, found._functions, found._grid = config, functions, grid
        return found

    def _marks(self, handle, lead):
        """Return methods, kinds of errors, samples and warnings of the points, or of times and points."""
        n = len(self.x)
        rows = range(n * math.prod(lead))
        methods = [library.hb_solution_point_method(handle, i).decode() for i in rows]
        kinds = np.array([library.hb_solution_error_kind(handle, i).decode() for i in rows])
        samples = np.array([library.hb_solution_samples(handle, i) for i in rows], np.uint64)
        texts = {i: library.hb_solution_warning(handle, i) for i in rows}
        warnings = {divmod(i, n) if lead else i: text.decode() for i, text in texts.items() if text}
        if lead:
            methods = [methods[k * n:(k + 1) * n] for k in range(lead[0])]
        return methods, kinds.reshape(*lead, n), samples.reshape(*lead, n), warnings

    def _column(self, handle, column, lead):
        scores = (Column.COLUMN_SCORE, Column.COLUMN_SCORE_ERROR)
        shape = lead + (self.x.shape if column in scores else (len(self.x),))
        return np.ctypeslib.as_array(library.hb_solution_values(handle, column), shape).copy()

    def _tau(self):
        """tau at the time of the problem, inf at time inf."""
        time = library.hb_problem_time(self.problem) if math.isnan(self.time) else self.time
        tau = ctypes.c_double(math.inf)
        if math.isfinite(time):
            self._check(library.hb_problem_tau_of_t(self.context, self.problem, time, ctypes.byref(tau)))
        return tau.value

    def residual(self, settings, quantity, radii):
        names = ("residual", "residual_error", "scaled", "scaled_error")
        out = {name: np.empty((len(self.x), len(radii))) for name in names}
        settings.mean.contents.quantity = quantity
        values = ResidualValues(ctypes.sizeof(ResidualValues), *(pointer(out[name]) for name in names))
        self._check(library.hb_solve_residual(
            self.context, self.problem, ctypes.byref(settings), len(self.x), len(radii),
            pointer(self.x), pointer(radii), ctypes.byref(values)))
        return Residual._make(self.x.copy(), np.full(len(self.x), self._tau()), radii.copy(), out,
                              "Mean-value residual: 0 for an exact solution")


def drift_text(drift):
    """The components of a drift that is text or a list of texts, as the library takes them."""
    return b", ".join(_text("drift", part)
                      for part in (drift if isinstance(drift, (list, tuple)) else [drift]))


def noise_text(noise):
    """The noise as the library takes it: rows by semicolons, entries by commas."""
    if isinstance(noise, np.ndarray):
        noise = real_array("noise", noise).tolist()
    if not isinstance(noise, (list, tuple)):
        return _text("noise", noise)
    if not any(isinstance(row, (list, tuple)) for row in noise):
        return b", ".join(_text("noise", entry) for entry in noise)
    if not all(isinstance(row, (list, tuple)) for row in noise):
        raise ArgumentError("noise has rows and single entries; give a list of rows, or one of entries")
    return b"; ".join(b", ".join(_text("noise", entry) for entry in row) for row in noise) + b";"


def fill_parameters(settings, params):
    """Put named numbers into the settings of a problem; return what must live as long as they do."""
    if not isinstance(params, dict):
        raise TypeError(f"params is {shown(params)}; it must be a dict of names and numbers")
    names = (ctypes.c_char_p * len(params))(*[_text("params", name) for name in params])
    values = (ctypes.c_double * len(params))(*[real(f"params[{name!r}]", value)
                                               for name, value in params.items()])
    settings.n_parameters = len(params)
    settings.parameter_names, settings.parameter_values = names, values
    return names, values


def _text(name, value):
    if isinstance(value, str) and "\0" in value:
        raise ArgumentError(f"{name} has a zero byte; it must be text or a number")
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise ArgumentError(f"{name} is {float(value)}; it must be finite")
        return repr(int(value) if isinstance(value, numbers.Integral) else float(value)).encode()
    if callable(value):
        raise TypeError(f"{name} is a function; it must be text or a number, as \"sqrt(2)\" or 1.2; "
                        "functions may be given for drift and initial")
    samples = ": numpy.save samples and give 'samples(FILE.npy)'" * (name == "initial" and isinstance(value, np.ndarray))
    raise TypeError(f"{name} is {shown(value)}; it must be text or a number{samples}")


STEP = 1e-5  # of the central differences of a log-density, relative to 1 + |x|


def _slopes(log_density, points):
    """Return the gradient of a log-density by central differences."""
    out = np.empty_like(points)
    for axis in range(points.shape[1]):
        step = STEP * (1 + np.abs(points[:, axis]))
        high, low = points.copy(), points.copy()
        high[:, axis] += step
        low[:, axis] -= step
        change = np.asarray(log_density(high), float) - np.asarray(log_density(low), float)
        out[:, axis] = change / (high[:, axis] - low[:, axis])
    return out

"""How long the mean-value hierarchy is guaranteed, and within what bounds."""

from __future__ import annotations

import ctypes
from typing import Callable

from heatball._arguments import c_int, real, renamed
from heatball._context import call
from heatball._errors import Error
from heatball._native import MAX_DIM, SUP, Budget, BudgetSettings, library
from heatball._tables import Result

__all__ = ["budget"]

WITH_TIME = ("K_for_T", "K_for_T_paper")
WITH_DATA = ("u_lower", "u_upper", "v_bound", "w_bound", "radius", "radius_paper", "score_bound",
             "score_bound_paper")


@renamed(at="tau")
def budget(dim: int, drift_sup: float | Callable[[float], float], div_sup: float | Callable[[float], float], *,
           theta: float = 0.9, u0_min: float | None = None, u0_max: float | None = None, u0_grad: float | None = None,
           tau: float | None = None) -> Result:
    """Return the time window in which a drift of bounded size is well-posed, and bounds of the solution in it.

    Parameters
    ----------
    dim : int
        The dimension.
    drift_sup, div_sup : float or callable
        A = sup|F| and C = sup|div F|; a callable gets T and returns the bound on [0, T], nondecreasing in T.
    theta : float
        In (0, 1).
    u0_min, u0_max, u0_grad : float
        Bounds of the initial density and of its gradient; all three, or none.
    tau : float
        The time at which to evaluate; default: T0.

    Returns
    -------
    Result
        The keys are those of ``heatball budget --json``: dim, theta, drift_sup, div_sup (the last two only when both are
        numbers); C_d, C_sharp, T0, T0_paper (Lambda(T0) = theta; inf when K = 0), T, K, Lambda, Lambda_paper, inside,
        inside_paper (bool); with `tau` K_for_T, K_for_T_paper; with an initial density u_lower, u_upper, v_bound, w_bound,
        radius, radius_paper, score_bound, score_bound_paper (NaN outside the window).

    Notes
    -----
    For du/dtau = Lap u - div(F u) and K = A + C, a unique solution exists on [0, T] when
    Lambda(T) = K sqrt(T) (sqrt(T) + 2 c) <= theta < 1. Keys with _paper have the paper's c = Gamma((d+1)/2)/Gamma(d/2), the
    others the sharp c = 1/sqrt(pi).

    Examples
    --------
    >>> import heatball
    >>> b = heatball.budget(2, 1.0, 0.5, tau=0.1)
    >>> b["inside"], b["T0"] > b["T0_paper"]
    (True, True)
    >>> heatball.budget(2, lambda T: 1.0 + T, 0.5)["T0"] < b["T0"]
    True
    """
    failures = []
    numbers = {"theta": theta, "u0_min": u0_min, "u0_max": u0_max, "u0_grad": u0_grad, "tau": tau}
    settings, out = _settings(dim, drift_sup, div_sup, numbers, failures), Budget()
    try:
        call("hb_budget_compute", 0, ctypes.byref(settings), ctypes.sizeof(out), ctypes.byref(out))
    except Error:
        if not failures:
            raise
    if failures:
        raise failures[0]
    given = ("dim", "theta") if settings.sup else ("dim", "theta", "drift_sup", "div_sup")
    left_out = (WITH_TIME if tau is None else ()) + (WITH_DATA if u0_min is None else ())
    result = {name: getattr(settings, name) for name in given}
    result.update((name, getattr(out, name)) for name, _ in out._fields_ if name not in left_out)
    for name in ("inside", "inside_paper"):
        result[name] = bool(result[name])
    return Result(result, "Time window of a drift, and bounds in it")


def _settings(dim, drift_sup, div_sup, numbers, failures):
    """Return the C settings; None among the numbers means not given."""
    settings = BudgetSettings()
    library.hb_budget_settings_default(ctypes.sizeof(settings), ctypes.byref(settings))
    settings.dim = c_int("dim", dim, 1, MAX_DIM)
    if callable(drift_sup) or callable(div_sup):
        settings.sup = _sup(drift_sup, div_sup, failures)
    else:
        settings.drift_sup = real("drift_sup", drift_sup)
        settings.div_sup = real("div_sup", div_sup)
    for name, value in numbers.items():
        if value is not None:
            setattr(settings, name, real(name, value))
    return settings


def _sup(drift_sup, div_sup, failures):
    """Return the C callback; what a callable raises goes to `failures`, and the call stops."""
    bounds = [b if callable(b) else lambda T, b=b: b for b in (drift_sup, div_sup)]

    def sup(user, T, drift_out, div_out):
        try:
            drift_out[0] = real("drift_sup", bounds[0](T))
            div_out[0] = real("div_sup", bounds[1](T))
            return 0
        except BaseException as error:  # also KeyboardInterrupt: raised again by budget()
            failures.append(error)
            return 1

    return SUP(sup)

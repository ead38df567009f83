"""Times of networks of other conventions: the map from tau to sigma, to t of a VP process, to a step of a schedule."""

from __future__ import annotations

import functools
import math

import numpy as np
import torch

from heatball._arguments import shown
from heatball._errors import ArgumentError


def known(process):
    if process not in ("ou", "ve"):
        raise ArgumentError(f"process is {shown(process)}; it must be ou or ve")
    return process


def clock_of(time, process):
    """Return the map from tau to a network's own time."""
    if time is None or time == "tau":
        return lambda tau: tau
    if callable(time):
        return time
    if isinstance(time, str) and time == "sigma":
        return (lambda tau: torch.sqrt(2 * tau)) if process == "ve" else (lambda tau: torch.sqrt(-torch.expm1(-2 * tau)))
    try:
        low, high = map(float, time)
    except (TypeError, ValueError):
        raise ArgumentError(f"time is {shown(time)}; it must be tau, sigma, a function of tau, or (beta_min, beta_max)") from None
    if not (0 < low <= high < math.inf):
        raise ArgumentError(f"the betas are {low:g} and {high:g}; they must be 0 < beta_min <= beta_max")
    if process != "ou":
        raise ArgumentError('betas are those of a VP process, which is process "ou"')
    return functools.partial(_beta_time, low, high)


def _beta_time(low, high, tau):
    """t with 2 tau = low t + (high - low) t^2/2, in the form that is right for small tau."""
    return 4 * tau / (low + torch.sqrt(low**2 + 4 * (high - low) * tau))


def table_clock(alphas_cumprod, whole):
    table = np.asarray(alphas_cumprod, np.float64)
    if table.ndim != 1 or len(table) < 2 or not np.all((table > 0) & (table < 1)) or not np.all(np.diff(table) < 0):
        raise ArgumentError("alphas_cumprod must be a list of at least two numbers between 0 and 1 that fall")
    levels = -0.5 * np.log(table)  # tau of t = 0, 1, ..

    def clock(tau):
        known = torch.from_numpy(levels).to(tau.device)
        at = tau.double()
        low, high = float(levels[0]), float(levels[-1])
        inside = (at >= low * (1 - 1e-9)) & (at <= high * (1 + 1e-9))
        if not bool(inside.all()):
            raise ArgumentError(f"tau is {float(at[~inside][0]):g}; the times of the network have tau from {low:g} to "
                                f"{high:g}")
        k = torch.clamp(torch.searchsorted(known, at.detach().contiguous(), right=True) - 1, 0, len(levels) - 2)
        t = k + (at - known[k]) / (known[k + 1] - known[k])
        return torch.round(t).long() if whole else t.to(tau.dtype)

    return clock

"""The residual of the Fokker-Planck equation at points, by autograd."""

from __future__ import annotations

from typing import Any, Dict, Optional, Union

import torch

from heatball._arguments import function
from heatball._torch_adapters import what_of
from heatball._torch_arguments import Network, anchors, array, checked
from heatball._torch_clocks import known
from heatball.nodes import _is_drift, balls, drift_terms

__all__ = ["fokker_planck_residual"]


def fokker_planck_residual(f: Network, x: torch.Tensor, tau: Union[torch.Tensor, float], *, kind: Optional[str] = None,
                           process: Any = None, drift: Any = None, params: Optional[Dict[str, float]] = None,
                           scaled: bool = True) -> torch.Tensor:
    """Return the residual of the Fokker-Planck equation at points, by autograd.

    Parameters
    ----------
    f : callable
        f(x, tau) on tensors, twice differentiable by x: ln p or a score, as in `heat_ball_residual`.
    x : tensor of shape (n, dim)
        The points.
    tau : tensor of shape (n,), or float
        Their times, above 0.
    kind : {"log_density", "score"}
        What f gives; default: that of an `Adapter`, else "log_density".
    process : str
        "ou", "ve" or a drift, as in `heatball.balls`; default: that of an `Adapter`, else "ou".
    drift : str, list of str, or array_like of shape (dim, dim)
        As in `heatball.balls`.
    params : dict
        Named numbers of `drift`.
    scaled : bool
        Times b/2, of scores b^1.5/2.

    Returns
    -------
    tensor of the dtype of x, of shape (n,), or (n, dim) for scores
        0 where f solves the equation; differentiable by what f holds.

    See Also
    --------
    heat_ball_residual : The same by values of f alone.

    Notes
    -----
    For v = ln p: d_tau v - Lap v - |grad v|^2 + F.grad v + div F; for a score its gradient,
    d_tau s - grad(div s + |s|^2 - F.s - div F). It takes dim + 1 backward passes through f, and is the limit of the heat-ball
    residual for small balls.

    Examples
    --------
    >>> import torch, heatball.torch
    >>> _ = torch.manual_seed(1)
    >>> spreading = lambda x, tau: -0.25 * (x**2).sum(1) / tau - 0.5 * x.shape[1] * torch.log(tau)
    >>> x = torch.randn(4, 3, dtype=torch.float64)
    >>> bool((heatball.torch.fokker_planck_residual(spreading, x, 0.3, process="ve").abs() < 1e-12).all())
    True
    """
    function("f", f)
    kind, process = what_of(f, kind, process, drift)
    process = "ou" if process is None else process
    x, tau = anchors(x, tau)
    if drift is None and _is_drift(process):
        drift = process
    process = "drift" if drift is not None else known(process)
    noise = torch.from_numpy(_noise(x, tau, process, drift, params)).to(x)
    F, divergence, gradient, jacobian = _drift(x, tau, process, drift, params)
    with torch.enable_grad():
        at = x if x.requires_grad else x.detach().requires_grad_()
        time = tau if tau.requires_grad else tau.detach().requires_grad_()
        if kind == "log_density":
            residual = _pointwise_log(f, at, time, F, divergence)
        else:
            residual = _pointwise_score(f, at, time, F, gradient, jacobian)
    if not scaled:
        return residual
    return 0.5 * noise * residual if kind == "log_density" else 0.5 * (noise**1.5)[:, None] * residual


def _noise(x, tau, process, drift, params):
    """b, as the losses have it."""
    return balls(array(x), array(tau), process=process, drift=drift, params=params, pairs=1).noise


def _drift(x, tau, process, drift, params):
    """F, div F, grad div F and dF_i/dx_j as tensors."""
    n, dim = x.shape
    if process == "drift":
        return [torch.from_numpy(part).to(x) for part in drift_terms(array(x), array(tau), drift, params)]
    c = -1.0 if process == "ou" else 0.0
    eye = torch.eye(dim, dtype=x.dtype, device=x.device)
    return c * x, torch.full((n,), c * dim, dtype=x.dtype, device=x.device), torch.zeros_like(x), c * eye.expand(n, dim, dim)


def _derivatives(value, *inputs):
    """Gradients of the sum; 0 where the value does not depend on an input."""
    if not value.requires_grad:
        return [torch.zeros_like(point) for point in inputs]
    found = torch.autograd.grad(value.sum(), inputs, create_graph=True, allow_unused=True)
    return [torch.zeros_like(point) if slope is None else slope for slope, point in zip(found, inputs)]


def _pointwise_log(f, x, tau, F, divergence):
    slope, rate = _derivatives(checked(f(x, tau), len(x)), x, tau)
    laplacian = sum(_derivatives(slope[:, k], x)[0][:, k] for k in range(x.shape[1]))
    return rate - laplacian - (slope * slope).sum(1) + (F * slope).sum(1) + divergence


def _pointwise_score(f, x, tau, F, gradient, jacobian):
    n, dim = x.shape
    s = checked(f(x, tau), n, dim)
    rows = [_derivatives(s[:, k], x, tau) for k in range(dim)]  # of s_k: by x, by tau
    inner = sum(rows[k][0][:, k] for k in range(dim)) + (s * s).sum(1)
    around = sum((F[:, k:k + 1] * rows[k][0] for k in range(dim)))  # sum_k F_k d_i s_k
    along = torch.einsum("nki,nk->ni", jacobian, s)  # sum_k s_k d_i F_k
    return torch.stack([rate for _, rate in rows], 1) - _derivatives(inner, x)[0] + around + along + gradient

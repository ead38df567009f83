"""The heat-ball residual of a PyTorch network and its loss, by values of the network alone."""

from __future__ import annotations

import math
from typing import Any, Optional, Union

import numpy as np
import torch
from numpy.typing import ArrayLike

from heatball._arguments import function
from heatball._errors import ArgumentError
from heatball._torch_adapters import what_of
from heatball._torch_arguments import Network, anchors, array, checked, tensor_on
from heatball.nodes import LEAST, MOST_EXPONENT, OF_LOG_DENSITIES, balls

__all__ = ["heat_ball_loss", "heat_ball_residual"]

LEAST_WEIGHT = 0.0392  # b of ou at tau = 0.02


def heat_ball_residual(f: Network, x: torch.Tensor, tau: Union[torch.Tensor, float], *, kind: Optional[str] = None,
                       scaled: bool = True, beyond: bool = False, directions: Optional[int] = None,
                       mean: Optional[ArrayLike] = None, covariance: Optional[ArrayLike] = None,
                       **rule: Any) -> torch.Tensor:
    """Return the heat-ball residual of a network at anchors.

    Parameters
    ----------
    f : callable
        f(x, tau) on tensors: ln p, of shape (n,) or (n, 1), or its gradient, (n, dim). It is called once, with the anchors
        first and then the nodes of each.
    x : tensor of shape (n, dim)
        Anchors, float32 or float64; the dtype and device in which f is called. When it requires a gradient, the nodes move
        with it (ou and ve without a reference).
    tau : tensor of shape (n,), or float
        Times of the anchors, above 0.
    kind : {"log_density", "score"}
        What f gives; default: that of an `Adapter`, else "log_density".
    scaled : bool
        True: the scaled residual, which has no dimension; False: R itself.
    beyond : bool
        With `mean` and `covariance`: f gives what is beyond the reference, w = ln p - v_ref or q = s - s_ref, as a network with
        a Gaussian part of its own does; False: f gives ln p or s.
    directions : int
        As in `heatball.balls`; the slope that they need is taken from f by autograd.
    mean, covariance : array_like of shape (dim,), (dim, dim)
        Of the data, as in `heatball.balls`.
    **rule : dict
        As in `heatball.balls`: process (default: that of an `Adapter`, else "ou"), drift, params, degree, pairs, time_fraction, seed,
        first.

    Returns
    -------
    tensor of float64, of shape (n,), or (n, dim) for scores
        0 where f solves the equation of the process, up to the error of the nodes.

    See Also
    --------
    heat_ball_loss : The loss of it.
    fokker_planck_residual : The same equation pointwise.

    Notes
    -----
    R = v(x, tau) - ln sum_j w_j exp(v(x_j, tau_j)) over the nodes of a heat ball behind the anchor.
    docs/howto/own-network.md has the formulas.

    Examples
    --------
    >>> import torch, heatball.torch
    >>> _ = torch.manual_seed(1)
    >>> stationary = lambda x, tau: -0.5 * (x**2).sum(1)  # of ou
    >>> x = torch.randn(4, 2, dtype=torch.float64)
    >>> bool((heatball.torch.heat_ball_residual(stationary, x, 0.3).abs() < 0.02).all())
    True
    """
    return _heat_ball(f, x, tau, kind, scaled, beyond, directions, mean, covariance, rule)[0]


def heat_ball_loss(f: Network, x: torch.Tensor, tau: Union[torch.Tensor, float], *, kind: Optional[str] = None,
                   **options: Any) -> torch.Tensor:
    """Return the heat-ball loss of a network.

    Parameters
    ----------
    f : callable
        The network, as in `heat_ball_residual`.
    x : tensor of shape (n, dim)
        Anchors.
    tau : tensor of shape (n,), or float
        Times of the anchors, above 0.
    kind : {"log_density", "score"}
        What f gives; default: that of an `Adapter`, else "log_density".
    **options : dict
        Those of `heat_ball_residual` but for `scaled`.

    Returns
    -------
    tensor with one number
        The mean of b h(rho) over the anchors, of scores over coordinates too; differentiable.

    See Also
    --------
    denoising_targets : Targets of the other part of the loss.

    Notes
    -----
    rho is the scaled residual, h Huber's function (rho^2/2 up to 1, |rho| - 1/2 beyond), b the variance of the process's noise
    at the anchor (with `directions` a b; of a log-density under ou and ve 0.0392 max(1, dim/8) where b is below 0.0392, that is
    below tau = 0.02). It is the loss of ``heatball.train(loss="hb")`` without its weight.

    Examples
    --------
    >>> import torch, heatball.torch
    >>> _ = torch.manual_seed(1)
    >>> net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.SiLU(), torch.nn.Linear(16, 1))
    >>> f = lambda x, tau: net(torch.cat([x, tau[:, None]], 1))
    >>> loss = heatball.torch.heat_ball_loss(f, torch.randn(8, 2), torch.rand(8) + 0.1)
    >>> loss.backward()
    >>> net[0].weight.grad.shape
    torch.Size([16, 3])
    """
    for name in ("scaled",):
        if name in options:
            raise TypeError(f"heat_ball_loss takes no argument {name}: its residual is scaled")
    directions, mean, covariance = (options.pop(name, None) for name in ("directions", "mean", "covariance"))
    rho, b = _heat_ball(f, x, tau, kind, True, options.pop("beyond", False), directions, mean, covariance, options)
    weight = torch.from_numpy(_anchor_weight(b)).to(rho.device)
    return torch.mean(weight.reshape(-1, *[1] * (rho.dim() - 1)) * _huber(rho))


def _anchor_weight(b):
    if b.directions:
        return b.noise * (np.exp(-b.anchor_tau) if b.process == "ou" else 1)
    if b.kind == "score" or b.process == "drift":
        return b.noise
    small = LEAST_WEIGHT * max(1.0, b.x.shape[-1] / 8)  # as hb_anchor_weight: small tau would count for nothing
    return np.where(b.noise < LEAST_WEIGHT, small, b.noise)


def _huber(rho):
    size = rho.abs()
    return torch.where(size <= 1, 0.5 * rho * rho, size - 0.5)


def _heat_ball(f, x, tau, kind, scaled, beyond, directions, mean, covariance, rule):
    """The residual and its balls."""
    function("f", f)
    kind, process = what_of(f, kind, rule.get("process"), rule.get("drift"))
    rule = rule if process is None else {**rule, "process": process}
    x, tau = anchors(x, tau)
    if x.dtype not in (torch.float32, torch.float64):
        raise ArgumentError(f"x is {x.dtype}; the nodes of a ball are too near to each other for it: pass float32 or float64, "
                            "and let f cast")
    if "dtype" in rule:
        raise TypeError("the dtype of f is that of x; nodes and weights are in float64")
    if beyond and mean is None:
        raise ArgumentError("beyond is True, but there is no reference: give mean and covariance")
    given = {"mean": mean, "covariance": covariance, "directions": directions, **rule}
    if directions is not None and kind == "score":
        raise ArgumentError(OF_LOG_DENSITIES)
    if directions is not None and "slope" not in given:
        given["slope"] = _slope(f, x, tau, beyond, mean, covariance, rule)
    b = balls(array(x), array(tau), kind=kind, **given)
    values = f(*_points(b, x, tau))
    R = (_log_density if kind == "log_density" else _score)(b, values, beyond, x.device)
    if not scaled:
        return R, b
    return tensor_on(b.scale, x).reshape(-1, *[1] * (R.dim() - 1)) * R, b


def _points(b, x, tau):
    """All points in one batch: the anchors, and the nodes of each."""
    nodes, times = torch.from_numpy(b.x).to(x), torch.from_numpy(b.tau).to(tau)
    if x.requires_grad:
        if b.process == "drift" or b.reference is not None:
            raise ArgumentError("x requires a gradient; nodes and weights under a drift or with a reference do not follow "
                                "it: pass x.detach(), or take ou or ve without a reference")
        shrink = torch.exp(tau[:, None] - times) if b.process == "ou" else torch.ones_like(times)  # a_j/a_0
        nodes = nodes + shrink[:, :, None] * (x - x.detach())[:, None, :]
    n, m, dim = b.x.shape
    return torch.cat([x, nodes.reshape(n * m, dim)]), torch.cat([tau, times.reshape(n * m)])


def _log_density(b, values, beyond, device):
    n, m, _ = b.x.shape
    w = checked(values, n * (m + 1)).double()
    w0, w = w[:n], w[n:].reshape(n, m)
    weights = torch.from_numpy(b.weights).to(device)
    if b.reference is not None and not beyond:
        w0, w = w0 - torch.from_numpy(b.reference0).to(device), w - torch.from_numpy(b.reference).to(device)
    away = w - w0[:, None]
    if b.process == "drift" and b.reference is None:
        Q = torch.sum(weights * torch.exp(torch.clamp(away, max=MOST_EXPONENT)), 1)
        return torch.where(Q >= LEAST, -torch.log(torch.clamp(Q, min=LEAST)), -math.log(LEAST) + (LEAST - Q) / LEAST)
    most = away.detach().max(1, keepdim=True).values if m else away.detach()
    return -most[:, 0] - torch.log(torch.sum(weights * torch.exp(away - most), 1))


def _score(b, values, beyond, device):
    n, m, dim = b.x.shape
    s = checked(values, n * (m + 1), dim).double()
    tensor = lambda name: torch.from_numpy(getattr(b, name)).to(device)  # noqa: E731
    factor = tensor("factor")[:, :, None]
    S0, S = tensor("factor0")[:, None] * s[:n], factor * s[n:].reshape(n, m, dim)
    turned = torch.zeros_like(factor)
    if b.reference is not None:
        S_ref = factor * tensor("reference")
        if not beyond:
            S0, S = S0 - tensor("factor0")[:, None] * tensor("reference0"), S - S_ref
        turned = turned + 2 * S_ref
    if b.drift is not None:
        turned = turned - tensor("drift")
    source = torch.sum(S * (S + turned), 2)
    if b.drift is not None and b.reference is None:
        source = source - tensor("rate")
    return S0 - torch.sum(tensor("weights")[:, :, None] * S, 1) - torch.sum(tensor("arms") * source[:, :, None], 1)


def _slope(f, x, tau, beyond, mean, covariance, rule):
    """grad w at the anchors, as few directions need it; up to a factor, and without a graph."""
    with torch.enable_grad():
        at = x.detach().requires_grad_()
        slope, = torch.autograd.grad(checked(f(at, tau), len(x)).sum(), at)
    slope = slope.detach().double().cpu().numpy()
    if mean is None or beyond:
        return slope
    process = {name: rule[name] for name in ("process", "drift", "params") if name in rule}
    return slope - balls(array(x), array(tau), kind="score", mean=mean, covariance=covariance, pairs=1, **process).reference0

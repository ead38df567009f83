"""Heat-ball residuals and losses of PyTorch networks, and adapters to f(x, tau).

    heat_ball_residual, heat_ball_loss     of a log-density or a score, by values of the network alone
    fokker_planck_residual                 the same equation pointwise, by autograd
    denoising_targets                      targets of denoising, averaged over rows of the data
    from_log_density, from_score           a network in our own convention, callable with NumPy arrays too
    from_eps, from_denoiser, from_edm      noise prediction, denoiser, EDM: with the times of their training

A function here is f(x, tau): x is (n, dim), tau (n,), and what comes back (n,) for a log-density or
(n, dim) for a score. tau is the time of dx = -x dtau + sqrt(2) dW ("ou": a = exp(-tau), b = 1 -
exp(-2 tau)), of dx = sqrt(2) dW ("ve": a = 1, b = 2 tau) or of a drift of yours. Only f is called on
tensors, so that all is differentiable by PyTorch. docs/howto/own-network.md has the formulas.

This module needs PyTorch; the rest of the package does not.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike

try:
    import torch
except ImportError as error:
    raise ImportError("heatball.torch needs PyTorch, which is not installed; on Debian it is the package python3-torch. "
                      "heatball.balls gives the same nodes and weights as NumPy arrays") from error

from heatball._arguments import choice, function, integer, shown
from heatball._callables import check_process, own_process
from heatball._errors import ArgumentError
from heatball.nodes import KINDS, LEAST, MOST_EXPONENT, OF_LOG_DENSITIES, _is_drift, balls, drift_terms

__all__ = ["Adapter", "LogDensity", "denoising_targets", "fokker_planck_residual", "from_denoiser", "from_edm", "from_eps",
           "from_log_density", "from_score", "heat_ball_loss", "heat_ball_residual"]


LEAST_WEIGHT = 0.0392  # b of ou at tau = 0.02
PIECE = 4096  # rows of the data in a matrix of weights
MOST_WEIGHTS = 1 << 22  # its entries
LEAST_EXPONENT = -60.0  # smaller weights are below rounding, and slow as subnormal numbers
TARGETS = {"score": 0, "eps": 1, "denoiser": 2}
TARGET_PROCESSES = {"ou": 0, "ve": 1, "edm": 2}
Network = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]
Time = Optional[Union[str, Callable[["torch.Tensor"], "torch.Tensor"], Tuple[float, float]]]


# ---- heat balls ------------------------------------------------------------------------------------


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
        As in `heatball.balls`: process (default: that of an `Adapter`, else "ou"), drift, params, degree, pairs, share, seed,
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
    below tau = 0.02). It is the loss of ``heatball.train(method="hb")`` without its weight.

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
    kind, process = _what(f, kind, rule.get("process"), rule.get("drift"))
    rule = rule if process is None else {**rule, "process": process}
    x, tau = _anchors(x, tau)
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
    b = balls(_array(x), _array(tau), kind=kind, **given)
    values = f(*_points(b, x, tau))
    R = (_log_density if kind == "log_density" else _score)(b, values, beyond, x.device)
    if not scaled:
        return R, b
    return _tensor(b.scale, x).reshape(-1, *[1] * (R.dim() - 1)) * R, b


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
    w = _checked(values, n * (m + 1)).double()
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
    s = _checked(values, n * (m + 1), dim).double()
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
        slope, = torch.autograd.grad(_checked(f(at, tau), len(x)).sum(), at)
    slope = slope.detach().double().cpu().numpy()
    if mean is None or beyond:
        return slope
    process = {name: rule[name] for name in ("process", "drift", "params") if name in rule}
    return slope - balls(_array(x), _array(tau), kind="score", mean=mean, covariance=covariance, pairs=1, **process).reference0


# ---- the pointwise residual ------------------------------------------------------------------------


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
    kind, process = _what(f, kind, process, drift)
    process = "ou" if process is None else process
    x, tau = _anchors(x, tau)
    if drift is None and _is_drift(process):
        drift = process
    process = "drift" if drift is not None else _known(process)
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
    return balls(_array(x), _array(tau), process=process, drift=drift, params=params, pairs=1).noise


def _drift(x, tau, process, drift, params):
    """F, div F, grad div F and dF_i/dx_j as tensors."""
    n, dim = x.shape
    if process == "drift":
        return [torch.from_numpy(part).to(x) for part in drift_terms(_array(x), _array(tau), drift, params)]
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
    slope, rate = _derivatives(_checked(f(x, tau), len(x)), x, tau)
    laplacian = sum(_derivatives(slope[:, k], x)[0][:, k] for k in range(x.shape[1]))
    return rate - laplacian - (slope * slope).sum(1) + (F * slope).sum(1) + divergence


def _pointwise_score(f, x, tau, F, gradient, jacobian):
    n, dim = x.shape
    s = _checked(f(x, tau), n, dim)
    rows = [_derivatives(s[:, k], x, tau) for k in range(dim)]  # of s_k: by x, by tau
    inner = sum(rows[k][0][:, k] for k in range(dim)) + (s * s).sum(1)
    around = sum((F[:, k:k + 1] * rows[k][0] for k in range(dim)))  # sum_k F_k d_i s_k
    along = torch.einsum("nki,nk->ni", jacobian, s)  # sum_k s_k d_i F_k
    return torch.stack([rate for _, rate in rows], 1) - _derivatives(inner, x)[0] + around + along + gradient


# ---- targets of denoising --------------------------------------------------------------------------


def denoising_targets(x: torch.Tensor, tau: Union[torch.Tensor, float], data: torch.Tensor, *, process: str = "ou",
                      kind: str = "score", rows: Optional[int] = 512, own: Optional[torch.Tensor] = None,
                      labels: Optional[torch.Tensor] = None, data_labels: Optional[torch.Tensor] = None,
                      generator: Optional[torch.Generator] = None) -> torch.Tensor:
    """Return targets of denoising score matching, averaged over samples of the data.

    Parameters
    ----------
    x : tensor of shape (n, dim), or (n, ...) for images
        Noisy samples, float32 or float64; the dtype and device of the result.
    tau : tensor of shape (n,), or float
        The time of "ou" and "ve"; of "edm" sigma.
    data : tensor of shape (N, dim), or (N, ...)
        The samples without noise, on any device.
    process : {"ou", "ve", "edm"}
        a = exp(-tau), b = 1 - exp(-2 tau); a = 1, b = 2 tau; or a = 1, b = sigma^2.
    kind : {"score", "eps", "denoiser"}
        -e*/sqrt(b); e*; or sum_j w_j x_j = E[x_0 | x].
    rows : int
        Random rows of the data in the mean, drawn anew at every call without repetition; None: all.
    own : tensor of int of shape (n,), or of the shape of x
        The rows that x was made from, which should be in the mean: their indices in data, or the rows themselves, for
        example after a random flip. They count towards `rows`.
    labels, data_labels : tensor of int of shape (n,), (N,)
        Classes: only rows with the label of x count; -1 in labels: all rows.
    generator : torch.Generator
        Draws the rows; default: that of PyTorch.

    Returns
    -------
    tensor of the shape of x
        The targets, without a graph.

    See Also
    --------
    heat_ball_loss : The constraint beside them.

    Notes
    -----
    The usual target at x = a x_0 + sqrt(b) e is the noise e of the one sample x_0. This one is its mean over samples x_j,
    e* = sum_j w_j (x - a x_j)/sqrt(b) with w_j proportional to exp(-|x - a x_j|^2/(2b)). Over all samples it is E[e | x]: the
    loss has the same minimiser and gradients with less variance. Over fewer it has a bias that falls as 1/rows. It is the stable
    target of [1]_, as `heatball.train` has it.

    References
    ----------
    .. [1] Y. Xu, S. Tong and T. Jaakkola, "Stable target field for reduced variance score estimation", ICLR 2023.

    Examples
    --------
    >>> import torch, heatball.torch
    >>> data = torch.tensor([[-1.0], [1.0]])
    >>> x = torch.tensor([[0.0], [0.5]])
    >>> heatball.torch.denoising_targets(x, 1.0, data, process="edm", kind="denoiser")  # tanh(x/sigma^2)
    tensor([[0.0000],
            [0.4621]])
    >>> _ = torch.manual_seed(1)
    >>> data = torch.randn(4000, 2)
    >>> index, tau = torch.randint(4000, (256,)), 0.001 * 3000**torch.rand(256)
    >>> a, b = torch.exp(-tau)[:, None], -torch.expm1(-2 * tau)[:, None]
    >>> x = a * data[index] + torch.sqrt(b) * torch.randn(256, 2)
    >>> target = heatball.torch.denoising_targets(x, tau, data, kind="eps", own=index)  # instead of the noise itself
    >>> target.shape
    torch.Size([256, 2])
    """
    code = choice("kind", kind, TARGETS)
    a, b, flat = _levels(x, tau, process)
    data = _data_rows(data, x)
    labels, data_labels = _target_labels(labels, data_labels, len(x), len(data))
    own = _own_rows(own, x)
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(f"generator is {shown(generator)}; it must be a torch.Generator")
    with torch.no_grad():
        pieces = _drawn_pieces(flat, data, rows, own, labels, data_labels, generator)
        mean, found = _posterior_mean(flat, a, b, labels, pieces)
        if not bool(found.all()):
            _check_finite(x=flat, data=data, **({} if own is None else {"own": own}))
        if not bool(found.all()):  # their labels were not drawn: over all rows
            if labels is None:
                raise ArgumentError("the weights of the rows are not finite; x is too far from the data for this tau")
            rest = torch.nonzero(~found)[:, 0]
            mean[rest], found = _posterior_mean(flat[rest], a[rest], b[rest], labels[rest], _all_pieces(data, data_labels))
            if not bool(found.all()):
                raise ArgumentError(f"labels has {int(labels[rest][~found][0])}, which no row of the data has")
        if code == TARGETS["score"]:
            mean = (a[:, None] * mean - flat) / b[:, None]
        elif code == TARGETS["eps"]:
            mean = (flat - a[:, None] * mean) / torch.sqrt(b)[:, None]
        return mean.reshape(x.shape)


def _levels(x, tau, process):
    """a and b (n,), and x as rows (n, dim)."""
    choice("process", process, TARGET_PROCESSES)
    if not torch.is_tensor(x) or x.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"x is {x.dtype if torch.is_tensor(x) else shown(x)}; it must be a tensor of float32 or float64")
    _check_dense("x", x)
    if x.dim() < 2:
        raise ArgumentError(f"x has shape {tuple(x.shape)}; it must be (n, dim) or (n, ...)")
    flat, tau = _anchors(x.detach().reshape(len(x), math.prod(x.shape[1:])), tau)
    if not bool((tau > 0).all()):
        raise ArgumentError(f"{'sigma' if process == 'edm' else 'tau'} must be above 0")
    if process == "ou":
        return torch.exp(-tau), -torch.expm1(-2 * tau), flat
    b = 2 * tau if process == "ve" else tau * tau
    if not bool((b > 0).all()):
        raise ArgumentError(f"sigma is {float(tau.min()):g}, whose square is 0 in {x.dtype}; it must be larger")
    return torch.ones_like(tau), b, flat


def _check_dense(name, values):
    """Refuse tensors without values of their own."""
    if values.layout != torch.strided or values.device.type == "meta":
        what = "a meta tensor" if values.device.type == "meta" else values.layout
        raise ArgumentError(f"{name} is {what}; it must be a dense tensor with values")


def _check_finite(**tensors):
    for name, values in tensors.items():
        if values.dtype.is_floating_point and not bool(torch.isfinite(values).all()):
            row = int(torch.nonzero(~torch.isfinite(values).reshape(len(values), -1).all(1))[0, 0])
            raise ArgumentError(f"row {row} of {name} has a value that is not finite")


def _own_rows(own, x):
    """own, whose dtype says whether it is rows or indices."""
    if own is None:
        return None
    if not torch.is_tensor(own):
        raise TypeError(f"own is {shown(own)}; it must be a tensor")
    if own.dtype.is_floating_point and own.shape != x.shape:
        raise ArgumentError(f"own has shape {tuple(own.shape)}; rows must have the shape of x, indices ({len(x)},)")
    if own.dtype == torch.bool or own.dtype.is_complex:
        raise TypeError(f"own is {own.dtype}; it must be indices, or rows as x")
    return own


def _data_rows(data, x):
    """The data as rows (N, dim), where they are."""
    if not torch.is_tensor(data):
        raise TypeError(f"data is {shown(data)}; it must be a tensor")
    if data.dtype.is_complex:
        raise TypeError(f"data is {data.dtype}; it must be real")
    _check_dense("data", data)
    if data.shape[1:] != x.shape[1:] or len(data) == 0:
        raise ArgumentError(f"data has shape {tuple(data.shape)}; it must be {('N', *x.shape[1:])} with N of 1 or more"
                            .replace("'", ""))
    return data.detach().reshape(len(data), -1)


def _target_labels(labels, data_labels, n, N):
    if (labels is None) != (data_labels is None):
        raise ArgumentError("give both labels and data_labels, or neither")
    if labels is None:
        return None, None
    labels, data_labels = _label_tensor("labels", labels), _label_tensor("data_labels", data_labels)
    for name, values, size in (("labels", labels, n), ("data_labels", data_labels, N)):
        if tuple(values.shape) != (size,) or values.dtype.is_floating_point or values.dtype.is_complex:
            raise ArgumentError(f"{name} is {values.dtype} of shape {tuple(values.shape)}; it must be integers of shape "
                                f"({size},)")
    if n and int(labels.min()) < -1:
        raise ArgumentError(f"labels has {int(labels.min())}; it must be a class, or -1 for all rows")
    return labels, data_labels


def _label_tensor(name, values):
    try:
        return torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name} is {shown(values)}; it must be a tensor of integers") from None


def _drawn_pieces(flat, data, rows, own, labels, data_labels, generator):
    """Pieces of own rows and of random rows of the data, each with its labels."""
    n, N, pieces, known = len(flat), len(data), [], None
    rows = N if rows is None else integer("rows", rows, 1, 2**62)
    if own is not None and own.dtype.is_floating_point:
        pieces.append((own.detach().reshape(flat.shape), labels))
        rows = max(rows - n, 0)
    elif own is not None:
        if tuple(own.shape) != (n,) or (n and not 0 <= int(own.min()) <= int(own.max()) < N):
            raise ArgumentError(f"own has shape {tuple(own.shape)}; indices must be ({n},), from 0 to {N - 1}")
        known = own.detach()
    if rows >= N:
        return pieces + _all_pieces(data, data_labels)
    index = _drawn(N, rows, known, generator).to(data.device)
    of = None if data_labels is None else data_labels[index.to(data_labels.device)]
    return pieces + [(data[part], None if of is None else of[first:first + PIECE])
                     for first, part in zip(range(0, len(index), PIECE), index.split(PIECE))]


def _drawn(N, rows, known, generator):
    """`rows` different indices below N, those of `known` among them."""
    device = "cpu" if generator is None else generator.device
    known = torch.empty(0, dtype=torch.long, device=device) if known is None else torch.unique(known.to(device).long())
    more = rows - len(known)
    if more <= 0:
        return known
    if N <= 16 * rows:
        order = torch.randperm(N, generator=generator, device=device)
    else:  # few of many: with repetition, of which one is kept
        order = torch.unique(torch.randint(N, (2 * rows + 64,), generator=generator, device=device))
        order = order[torch.randperm(len(order), generator=generator, device=device)]
    if len(known):
        at = torch.searchsorted(known, order).clamp_(max=len(known) - 1)
        order = order[known[at] != order]
    return torch.cat([known, order[:more]])


def _all_pieces(data, data_labels):
    return [(data[first:first + PIECE], None if data_labels is None else data_labels[first:first + PIECE])
            for first in range(0, len(data), PIECE)]


def _posterior_mean(x, a, b, labels, pieces):
    """sum_j w_j x_j (n, dim), and whether x has any row (n,); the sums over pieces have a common largest exponent."""
    centre = pieces[0][0].to(x).mean(0)  # off both: what is left is small against rounding
    by_product, by_square = (a / b)[:, None], (-a * a / b)[:, None]
    z = torch.cat([by_product * (x - a[:, None] * centre), by_square], 1)  # (n, dim + 1): z.y is the exponent
    most, total, mean = torch.full_like(a, -math.inf), torch.zeros_like(a), torch.zeros_like(x)
    for piece, piece_labels in pieces:
        y = piece.to(x) - centre
        extended = torch.cat([y, 0.5 * (y * y).sum(1, keepdim=True)], 1).T
        step = max(1, MOST_WEIGHTS // max(len(y), 1))
        for part in (slice(first, first + step) for first in range(0, len(x), step)):
            exponent = z[part] @ extended
            if labels is not None:
                mine, theirs = labels.to(x.device)[part][:, None], piece_labels.to(x.device)
                exponent.masked_fill_((mine >= 0) & (mine != theirs), -math.inf)
            largest = torch.maximum(most[part], exponent.amax(1))
            level = torch.where(torch.isfinite(largest), largest, torch.zeros_like(largest))
            weight = torch.exp_(exponent.sub_(level[:, None]).clamp_(min=LEAST_EXPONENT))
            kept = torch.exp(most[part] - level)
            total[part] = kept * total[part] + weight.sum(1)
            mean[part] = kept[:, None] * mean[part] + weight @ y
            most[part] = largest
    found = torch.isfinite(most)
    return centre + mean / torch.where(found, total, torch.ones_like(total))[:, None], found


# ---- arguments -------------------------------------------------------------------------------------


def _what(f, kind, process, drift):
    """Kind and process of f: what is given, else what an adapter says; None is the default of `balls`."""
    if kind is None:
        kind = f.kind if isinstance(f, Adapter) else "log_density"
    choice("kind", kind, KINDS)
    if drift is None and isinstance(process, str):
        check_process(f, process)
    return kind, own_process(f) if process is None and drift is None else process


def _anchors(x, tau):
    if not torch.is_tensor(x) or not x.dtype.is_floating_point:
        raise TypeError(f"x is {shown(x) if not torch.is_tensor(x) else x.dtype}; it must be a tensor of real numbers")
    if x.dim() != 2:
        raise ArgumentError(f"x has shape {tuple(x.shape)}; it must be (n, dim)")
    try:
        tau = torch.as_tensor(tau, dtype=x.dtype, device=x.device)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"tau is {shown(tau)}; it must be a tensor of shape (n,), or a number") from None
    if tau.dim() == 0:
        tau = tau.expand(len(x))
    if tau.shape != x.shape[:1]:
        raise ArgumentError(f"tau has shape {tuple(tau.shape)}; x has {len(x)} anchors, so it must be ({len(x)},) or a "
                            "number")
    return x, tau


def _array(tensor):
    return tensor.detach().cpu().double().numpy()


def _tensor(values, like):
    return torch.from_numpy(values).to(like.device)


def _checked(values, n, dim=None):
    shape = (n,) if dim is None else (n, dim)
    if not torch.is_tensor(values):
        raise TypeError(f"f returned {shown(values)}; it must return a tensor")
    if tuple(values.shape) != shape and not (dim is None and tuple(values.shape) == (n, 1)):
        other = ", or of a score with kind=\"score\" (n, dim)" if dim is None and values.dim() == 2 else ""
        raise ArgumentError(f"f returned a tensor of shape {tuple(values.shape)}; it must be {shape}{other}")
    return values.reshape(shape)


# ---- adapters --------------------------------------------------------------------------------------


class Adapter:
    """A network as f(x, tau): with tensors it is differentiable, with NumPy arrays it returns NumPy arrays.

    Attributes
    ----------
    kind, process : str
        "log_density" or "score"; "ou" or "ve". `heat_ball_loss` and the other functions here take them from it.
    model : callable
        The network.
    dtype : torch.dtype
        That in which NumPy arrays are handed to the network: by default that of its parameters, of a plain function
        float64.

    Examples
    --------
    >>> import numpy as np, heatball.torch
    >>> f = heatball.torch.from_edm(lambda x, sigma: 0 * x)  # all rows are 0: the score is -x/(2 tau)
    >>> f(np.array([[1.0]]), 0.5), f.kind, f.process
    (array([[-1.]]), 'score', 've')
    """

    def __init__(self, evaluate, model, kind, process, shape=None, dtype=None):
        self.evaluate, self.model, self.kind, self.process = evaluate, function("model", model), kind, process
        self.shape = None if shape is None else tuple(shape)
        like = next(iter(model.parameters()), None) if isinstance(model, torch.nn.Module) else None
        self.dtype = dtype or (torch.float64 if like is None else like.dtype)

    def __call__(self, x: Any, tau: Any) -> Any:
        """Return ln p (n,) or the score (n, dim) at x (n, dim) and tau (n,), or one tau for all."""
        if torch.is_tensor(x):
            x, tau = _anchors(x, tau)
            return self._at(x, tau)
        like = next(iter(self.model.parameters()), None) if isinstance(self.model, torch.nn.Module) else None
        device = None if like is None else like.device
        points, times = _anchors(torch.as_tensor(np.asarray(x), dtype=self.dtype, device=device), np.asarray(tau))
        with torch.no_grad():
            return self._at(points, times).double().cpu().numpy()

    def _at(self, x, tau):
        values = self.evaluate(x if self.shape is None else x.reshape(-1, *self.shape), tau)
        if not torch.is_tensor(values):
            raise TypeError(f"the model returned {shown(values)}; it must return a tensor")
        return _checked(values.reshape(x.shape) if self.kind == "score" and values.numel() == x.numel() else values,
                        len(x), x.shape[1] if self.kind == "score" else None)

    def score(self, x: Any, tau: Any) -> Any:
        """Return the score, as calling the adapter does.

        Parameters
        ----------
        x : tensor or array_like of shape (n, dim)
            The points.
        tau : tensor or array_like of shape (n,), or float
            Their times.

        Returns
        -------
        tensor or ndarray of shape (n, dim)
            The score, of the kind of x.

        Examples
        --------
        >>> import numpy as np, heatball.torch
        >>> f = heatball.torch.from_score(lambda x, tau: -x)
        >>> f.score(np.ones((1, 2)), 0.3)
        array([[-1., -1.]])
        """
        return self(x, tau)


class LogDensity(Adapter):
    """The `Adapter` of a log-density; `score` is its gradient, by autograd.

    Examples
    --------
    >>> import numpy as np, heatball.torch
    >>> f = heatball.torch.from_log_density(lambda x, tau: -0.5 * (x**2).sum(1))
    >>> f(np.array([[1.0, 2.0]]), 0.3), f.score(np.array([[1.0, 2.0]]), 0.3)
    (array([-2.5]), array([[-1., -2.]]))
    """

    def log_density(self, x: Any, tau: Any) -> Any:
        """Return ln p, as calling the adapter does.

        Parameters
        ----------
        x : tensor or array_like of shape (n, dim)
            The points.
        tau : tensor or array_like of shape (n,), or float
            Their times.

        Returns
        -------
        tensor or ndarray of shape (n,)
            ln p, of the kind of x.

        Examples
        --------
        >>> import numpy as np, heatball.torch
        >>> f = heatball.torch.from_log_density(lambda x, tau: -0.5 * (x**2).sum(1))
        >>> f.log_density(np.ones((1, 2)), 0.3)
        array([-1.])
        """
        return self(x, tau)

    def score(self, x: Any, tau: Any) -> Any:
        """Return grad ln p; of tensors with its graph.

        Parameters
        ----------
        x : tensor or array_like of shape (n, dim)
            The points.
        tau : tensor or array_like of shape (n,), or float
            Their times.

        Returns
        -------
        tensor or ndarray of shape (n, dim)
            The score, of the kind of x.

        Examples
        --------
        >>> import numpy as np, heatball.torch
        >>> f = heatball.torch.from_log_density(lambda x, tau: -0.5 * (x**2).sum(1))
        >>> f.score(np.ones((1, 2)), 0.3)
        array([[-1., -1.]])
        """
        if not torch.is_tensor(x):
            slope = Adapter(lambda points, times: self.score(points, times).detach(), self.model, "score", self.process,
                            dtype=self.dtype)
            return slope(x, tau)
        with torch.enable_grad():
            at = x if x.requires_grad else x.detach().requires_grad_()
            return torch.autograd.grad(self(at, tau).sum(), at, create_graph=True)[0]


def from_log_density(model: Network, *, process: str = "ou", shape: Optional[Sequence[int]] = None,
                     dtype: Optional[torch.dtype] = None) -> LogDensity:
    """Return a network of ln p as an `Adapter`.

    Parameters
    ----------
    model : callable
        model(x, tau) of ln p.
    process : {"ou", "ve"}
        The noising process.
    shape : sequence of int
        Shape of one sample as the model takes it, (3, 32, 32) for images; default: (dim,).
    dtype : torch.dtype
        Of NumPy arrays handed to a model that is a plain function; default: float64.

    Returns
    -------
    LogDensity
        f(x, tau); its gradient is ``adapter.score``.

    Examples
    --------
    >>> import numpy as np, heatball.torch
    >>> f = heatball.torch.from_log_density(lambda x, tau: -0.5 * (x**2).sum(1))
    >>> f(np.ones((2, 3)), 0.1)
    array([-1.5, -1.5])
    """
    return LogDensity(model, model, "log_density", _known(process), shape, dtype)


def from_score(model: Network, *, process: str = "ou", time: Time = None, shape: Optional[Sequence[int]] = None,
               dtype: Optional[torch.dtype] = None) -> Adapter:
    """Return a score network as an `Adapter`.

    Parameters
    ----------
    model : callable
        model(x, t) of grad ln p.
    process : {"ou", "ve"}
        The noising process.
    time : callable, str, or (float, float)
        t of tau: a function; "tau" (default); "sigma", the standard deviation of the noise, sqrt(2 tau) for "ve"; or
        (beta_min, beta_max) for t in [0, 1] of the VP process, see the notes.
    shape : sequence of int
        Shape of one sample as the model takes it; default: (dim,).
    dtype : torch.dtype
        Of NumPy arrays handed to a model that is a plain function; default: float64.

    Returns
    -------
    Adapter
        f(x, tau).

    Notes
    -----
    The VP process is dx = -beta x/2 dt + sqrt(beta) dW with beta = beta_min + t (beta_max - beta_min).

    Examples
    --------
    >>> import numpy as np, heatball.torch
    >>> f = heatball.torch.from_score(lambda x, t: -x, time=(0.1, 20.0))  # of N(0, 1), which stays
    >>> f(np.array([[2.0]]), 0.3)
    array([[-2.]])
    """
    clock = _clock(time, process)
    return Adapter(lambda x, tau: model(x, clock(tau)), model, "score", _known(process), shape, dtype)


def from_eps(model: Network, alphas_cumprod: Optional[ArrayLike] = None, *, betas: Optional[Tuple[float, float]] = None,
             whole: bool = False, shape: Optional[Sequence[int]] = None, dtype: Optional[torch.dtype] = None) -> Adapter:
    """Return a network that predicts noise under a VP process as the score of "ou".

    Parameters
    ----------
    model : callable
        model(x, t) of e.
    alphas_cumprod : array_like of shape (T,)
        alpha at the times t = 0 .. T-1, falling. Between two of them ln alpha is linear, and t is a fraction; tau outside their
        range is refused.
    betas : (float, float)
        Instead: beta_min, beta_max of continuous times t in [0, 1], ln alpha = -(beta_min t + (beta_max - beta_min) t^2/2).
    whole : bool
        Round t to the nearest integer, for a network that looks times up in a table. The score is then that of a slightly
        different tau.
    shape : sequence of int
        Shape of one sample as the model takes it; default: (dim,).
    dtype : torch.dtype
        Of NumPy arrays handed to a model that is a plain function; default: float64.

    Returns
    -------
    Adapter
        f(x, tau).

    Notes
    -----
    x = sqrt(alpha) x_0 + sqrt(1 - alpha) e is x at exp(-2 tau) = alpha, and the score is -e(x, t)/sqrt(1 - alpha).

    Examples
    --------
    >>> import torch, heatball.torch
    >>> eps = lambda x, t: x * 0.6  # of N(0, 1): e = x sqrt(1 - alpha), here at alpha = 0.64
    >>> f = heatball.torch.from_eps(eps, [0.9, 0.64, 0.1])
    >>> f([[2.0]], -0.5 * torch.log(torch.tensor(0.64, dtype=torch.float64)))
    array([[-2.]])
    """
    if (alphas_cumprod is None) == (betas is None):
        raise TypeError("give either alphas_cumprod, of whole times, or betas, of continuous ones")
    clock = _table_clock(alphas_cumprod, whole) if betas is None else _clock(tuple(betas), "ou")
    return Adapter(lambda x, tau: _times(-1 / torch.sqrt(-torch.expm1(-2 * tau)), model(x, clock(tau))), model, "score",
                   "ou", shape, dtype)


def from_denoiser(model: Network, *, process: str = "ve", time: Time = None, shape: Optional[Sequence[int]] = None,
                  dtype: Optional[torch.dtype] = None) -> Adapter:
    """Return a network that gives E[x_0 | x] as the score of the process, (a D - x)/b.

    Parameters
    ----------
    model : callable
        model(x, t) of D = E[x_0 | x].
    process : {"ou", "ve"}
        The noising process.
    time : callable, str, or (float, float)
        t of tau, as in `from_score`; default: "sigma" for "ve" and tau for "ou".
    shape : sequence of int
        Shape of one sample as the model takes it; default: (dim,).
    dtype : torch.dtype
        Of NumPy arrays handed to a model that is a plain function; default: float64.

    Returns
    -------
    Adapter
        f(x, tau).

    Examples
    --------
    >>> import numpy as np, heatball.torch
    >>> f = heatball.torch.from_denoiser(lambda x, sigma: 0 * x + 3)  # all rows are 3
    >>> f(np.array([[1.0]]), 0.5)
    array([[2.]])
    """
    _known(process)
    clock = _clock("sigma" if time is None and process == "ve" else time, process)

    def evaluate(x, tau):
        a, b = (torch.exp(-tau), -torch.expm1(-2 * tau)) if process == "ou" else (torch.ones_like(tau), 2 * tau)
        return _times(1 / b, _times(a, model(x, clock(tau))) - x)

    return Adapter(evaluate, model, "score", process, shape, dtype)


def from_edm(model: Network, *, sigma_data: Optional[float] = None, shape: Optional[Sequence[int]] = None,
             dtype: Optional[torch.dtype] = None) -> Adapter:
    """Return an EDM network as the score of "ve", tau = sigma^2/2.

    Parameters
    ----------
    model : callable
        model(x, sigma) of the denoiser D; with `sigma_data` the network inside, F(c_in x, ln(sigma)/4).
    sigma_data : float
        Standard deviation of the data.
    shape : sequence of int
        Shape of one sample as the model takes it; default: (dim,).
    dtype : torch.dtype
        Of NumPy arrays handed to a model that is a plain function; default: float64.

    Returns
    -------
    Adapter
        f(x, tau).

    Notes
    -----
    D = c_skip x + c_out F with c_skip = sigma_data^2/(sigma^2 + sigma_data^2), c_out = sigma sigma_data/sqrt(sigma^2 +
    sigma_data^2), c_in = 1/sqrt(sigma^2 + sigma_data^2) [1]_.

    References
    ----------
    .. [1] T. Karras et al., "Elucidating the design space of diffusion-based generative models", NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np, heatball.torch
    >>> f = heatball.torch.from_edm(lambda x, noise: 0 * x, sigma_data=0.5)  # D = c_skip x: rows of N(0, 0.25)
    >>> f(np.array([[1.0]]), 0.375)
    array([[-1.]])
    """
    if sigma_data is None:
        return from_denoiser(model, shape=shape, dtype=dtype)
    own = float(sigma_data)

    def evaluate(x, tau):
        sigma = torch.sqrt(2 * tau)
        total = 2 * tau + own**2
        F = model(_times(1 / torch.sqrt(total), x), torch.log(sigma) / 4)
        return _times(-1 / total, x) + _times(own / (sigma * torch.sqrt(total)), F)  # (D - x)/sigma^2

    return Adapter(evaluate, model, "score", "ve", shape, dtype)


def _times(factor, x):
    """factor (n,) times x (n, ...)."""
    return factor.reshape(-1, *[1] * (x.dim() - 1)) * x


def _known(process):
    if process not in ("ou", "ve"):
        raise ArgumentError(f"process is {shown(process)}; it must be ou or ve")
    return process


def _clock(time, process):
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


def _table_clock(alphas_cumprod, whole):
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

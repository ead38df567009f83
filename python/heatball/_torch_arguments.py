"""Arguments of `heatball.torch`: anchors, times, and what networks return, checked."""

from __future__ import annotations

from typing import Callable, Optional, Tuple, Union

import torch

from heatball._arguments import shown
from heatball._errors import ArgumentError

Network = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]
Time = Optional[Union[str, Callable[["torch.Tensor"], "torch.Tensor"], Tuple[float, float]]]


def anchors(x, tau):
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


def array(tensor):
    return tensor.detach().cpu().double().numpy()


def tensor_on(values, like):
    return torch.from_numpy(values).to(like.device)


def checked(values, n, dim=None):
    shape = (n,) if dim is None else (n, dim)
    if not torch.is_tensor(values):
        raise TypeError(f"f returned {shown(values)}; it must return a tensor")
    if tuple(values.shape) != shape and not (dim is None and tuple(values.shape) == (n, 1)):
        other = ", or of a score with kind=\"score\" (n, dim)" if dim is None and values.dim() == 2 else ""
        raise ArgumentError(f"f returned a tensor of shape {tuple(values.shape)}; it must be {shape}{other}")
    return values.reshape(shape)


def scaled_rows(factor, x):
    """factor (n,) times x (n, ...)."""
    return factor.reshape(-1, *[1] * (x.dim() - 1)) * x

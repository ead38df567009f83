"""Targets of denoising score matching, averaged over rows of the data."""

from __future__ import annotations

import math
from typing import Optional, Union

import torch

from heatball._arguments import choice, integer, shown
from heatball._errors import ArgumentError
from heatball._torch_arguments import anchors

__all__ = ["denoising_targets"]

PIECE = 4096  # rows of the data in a matrix of weights
MOST_WEIGHTS = 1 << 22  # its entries
LEAST_EXPONENT = -60.0  # smaller weights are below rounding, and slow as subnormal numbers
TARGETS = {"score": 0, "eps": 1, "denoiser": 2}
TARGET_PROCESSES = {"ou": 0, "ve": 1, "edm": 2}


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
    flat, tau = anchors(x.detach().reshape(len(x), math.prod(x.shape[1:])), tau)
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
    index = drawn(N, rows, known, generator).to(data.device)
    of = None if data_labels is None else data_labels[index.to(data_labels.device)]
    return pieces + [(data[part], None if of is None else of[first:first + PIECE])
                     for first, part in zip(range(0, len(index), PIECE), index.split(PIECE))]


def drawn(N, rows, known, generator):
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

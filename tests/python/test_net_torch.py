"""The network's channels, gradients and slopes, and Adam, against PyTorch in double.

tests/net/net_driver.c runs the C side on the same float32 numbers; autograd gives derivatives by the
input (twice where a channel is a second derivative) and then by the parameters through them.
"""
import os
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")

DRIVER = os.path.join(os.environ.get("HEATBALL_BUILD", "build"), "tests", "net_driver")
pytestmark = pytest.mark.skipif(not os.path.exists(DRIVER), reason="tests/net_driver is not built")
RNG = np.random.Generator(np.random.Philox(2385))
SHAPES = [(3, 2, 20, 1, 0), (2, 1, 33, 3, 0), (4, 3, 24, 4, 1)]  # inputs, outputs, width, depth, residual
PAIRS = [(0, 0), (0, 1), (1, 1)]


def driver(arguments, *arrays):
    data = b"".join(np.ascontiguousarray(a, dtype=np.float32).tobytes() for a in arrays)
    run = subprocess.run([DRIVER, *map(str, arguments)], input=data, capture_output=True,
                         check=True)
    return np.frombuffer(run.stdout, dtype=np.float32).astype(float)


def draw(*shape, scale=1.0):
    return (scale * RNG.standard_normal(shape)).astype(np.float32).astype(float)


def parameters_of(shape):
    inputs, outputs, width, depth, _ = shape
    sizes = [inputs] + [width] * depth + [outputs]
    tensors = []
    for i, o in zip(sizes[:-1], sizes[1:]):
        tensors += [draw(o, i, scale=1.3 / np.sqrt(i)), draw(o, scale=0.3)]
    return [torch.tensor(t, requires_grad=True) for t in tensors]


def network(shape, tensors, x):
    for layer in range(shape[3]):
        a = torch.nn.functional.silu(torch.nn.functional.linear(x, *tensors[2 * layer:2 * layer + 2]))
        x = x + a if shape[4] and layer > 0 else a
    return torch.nn.functional.linear(x, *tensors[-2:])


def flat(tensors):
    return np.concatenate([t.detach().numpy().ravel() for t in tensors])


def channels_of(shape, tensors, x, first, pairs, laplacian):
    """x: (channels, rows, inputs). The input is a polynomial in e with x's rows as its coefficients."""
    e = torch.zeros(max(first, 1), dtype=torch.float64, requires_grad=True)
    moved = x[0] + sum((e[k] * x[1 + k] for k in range(first)), torch.zeros_like(x[0]))
    for p, (i, j) in enumerate(pairs):
        moved = moved + e[i] * e[j] * x[1 + first + p] / (2 if i == j else 1)
    y = network(shape, tensors, moved)
    gradient = [derivative_along(y, e, k) for k in range(first)]
    out = [y, *gradient, *(derivative_along(gradient[i], e, j) for i, j in pairs)]
    if laplacian:
        plain = network(shape, tensors, x[0] + sum(e[k] * x[1 + k] for k in range(laplacian))
                        + e[0] ** 2 / 2 * x[-1])
        out.append(sum(derivative_along(derivative_along(plain, e, k), e, k) for k in range(laplacian)))
    return torch.stack(out)


def derivative_along(y, e, k):
    """Column by column: e is one vector for all rows, so each number of y needs its own gradient."""
    rows = [torch.autograd.grad(v, e, create_graph=True, allow_unused=True)[0] for v in y.reshape(-1)]
    return torch.stack([r[k] for r in rows]).reshape(y.shape)


def close(ours, exact, tolerance=4e-6):
    assert np.all(np.isfinite(ours))
    assert np.max(np.abs(ours - exact)) <= tolerance * np.max(np.abs(exact))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("first,pairs,laplacian",
                         [(0, [], 0), (2, [], 0), (2, PAIRS, 0), (2, [], 2), (3, [(0, 2), (1, 1)], 2)])
def test_jets(shape, first, pairs, laplacian):
    rows, channels = 3, 1 + first + len(pairs) + (laplacian > 0)
    tensors = parameters_of(shape)
    x = torch.tensor(draw(channels, rows, shape[0]), requires_grad=True)
    bar = draw(channels, rows, shape[1])
    out = channels_of(shape, tensors, x, first, pairs, laplacian)
    (out * torch.tensor(bar)).sum().backward()
    words = ["jets", *shape, rows, first, laplacian, *(d for pair in pairs for d in pair)]
    ours = driver(words, flat(tensors), x.detach().numpy(), bar)
    n_out, n = out.numel(), sum(t.numel() for t in tensors)
    close(ours[:n_out], out.detach().numpy().ravel())
    close(ours[n_out:n_out + n], np.concatenate([t.grad.numpy().ravel() for t in tensors]))
    close(ours[n_out + n:], x.grad.numpy().ravel())


@pytest.mark.parametrize("shape", [(5, 1, 20, 1, 0), (7, 1, 33, 3, 0), (4, 1, 24, 4, 1)])
def test_slope(shape):
    rows = 6
    tensors = parameters_of(shape)
    x = torch.tensor(draw(rows, shape[0]), requires_grad=True)
    value_bar, slope_bar = draw(rows), draw(rows, shape[0])
    value = network(shape, tensors, x)[:, 0]
    slope, = torch.autograd.grad(value.sum(), x, create_graph=True)
    loss = (value * torch.tensor(value_bar)).sum() + (slope * torch.tensor(slope_bar)).sum()
    gradient = torch.autograd.grad(loss, tensors, allow_unused=True)
    gradient = [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, gradient)]
    ours = driver(["slope", *shape, rows], flat(tensors), x.detach().numpy(), value_bar, slope_bar)
    close(ours[:rows], value.detach().numpy())
    close(ours[rows:rows * (1 + shape[0])], slope.detach().numpy().ravel())
    close(ours[rows * (1 + shape[0]):], flat(gradient))


def test_adam():
    n, steps, rate = 101, 60, 2.385e-3
    start, gradients = draw(n), draw(steps, n) * 10.0 ** np.linspace(-6, 3, n)
    gradients = gradients.astype(np.float32).astype(float)
    p = torch.tensor(start, requires_grad=True)
    adam = torch.optim.Adam([p], lr=rate)
    path = []
    for g in gradients:
        p.grad = torch.tensor(g)
        adam.step()
        path.append(p.detach().numpy().copy())
    ours = driver(["adam", n, steps, rate], start, gradients).reshape(steps, n)
    assert np.max(np.abs(ours - np.array(path))) < 2e-6

"""What calling a network of the user's costs beside the network: total time of a call over the time of f alone.

f is a multilayer perceptron in NumPy, or in PyTorch with --torch. Each call of heatball is followed by f alone on the
same batches, as often as asked; both are processor time of one thread, and the medians are compared.

    PYTHONPATH=python OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 /usr/bin/python3 bench/callable_overhead.py [--torch]
"""
import argparse
import statistics
import time

import numpy as np

import heatball


def numpy_network(dim, width, depth):
    rng = np.random.default_rng(1)
    sizes = [dim + 1] + [width] * depth + [dim]
    layers = [(rng.normal(size=(i, o)).astype(np.float32) / np.sqrt(i), np.zeros(o, np.float32))
              for i, o in zip(sizes[:-1], sizes[1:])]

    def f(x, tau):
        h = np.concatenate([x, np.log(tau)[:, None]], axis=1).astype(np.float32)
        for weight, bias in layers[:-1]:
            h = h @ weight + bias
            h *= 1 / (1 + np.exp(-h))
        return -x + 0.1 * (h @ layers[-1][0] + layers[-1][1])

    return f


def torch_network(dim, width, depth):
    import torch
    torch.manual_seed(1)
    torch.set_num_threads(1)
    sizes = [dim + 1] + [width] * depth
    layers = [part for i, o in zip(sizes[:-1], sizes[1:]) for part in (torch.nn.Linear(i, o), torch.nn.SiLU())]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(width, dim))

    def f(x, tau):
        with torch.no_grad():
            x = torch.from_numpy(x).float()
            return -x + 0.1 * net(torch.cat([x, torch.from_numpy(tau).float().log()[:, None]], 1))

    return f


def measure(f, call, repeats):
    """Return the medians of the time of call(f) and of f alone on its batches, and these."""
    batches = []

    def recording(x, tau):
        batches.append((x.copy(), tau.copy()))
        return f(x, tau)

    call(recording)
    total, alone = [], []
    for _ in range(repeats):
        start = time.process_time()
        call(f)
        middle = time.process_time()
        for x, tau in batches:
            f(x, tau)
        total.append(middle - start)
        alone.append(time.process_time() - middle)
    return statistics.median(total), statistics.median(alone), [len(x) for x, _ in batches]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--dims", type=lambda text: [int(one) for one in text.split(",")], default=[2, 16, 64])
    options = parser.parse_args()
    n, make = options.rows, torch_network if options.torch else numpy_network
    print("call                  dim  calls  mean batch  total s  f alone s  overhead")
    for dim in options.dims:
        f = make(dim, options.width, options.depth)
        x = np.random.default_rng(2).normal(size=(n, dim))
        few = x[:n // 4 if dim < 16 else n // 16]  # each row is several points of a batch
        calls = {
            "generate sde": lambda f: heatball.generate(f, n, dim=dim, n_steps=50, threads=1),
            "generate ode": lambda f: heatball.generate(f, n, "ode", dim=dim, ode_tolerance=1e-3, threads=1),
            "generate heun": lambda f: heatball.generate(f, n, "heun", dim=dim, n_steps=20, threads=1),
            "log_likelihood": lambda f: heatball.log_likelihood(f, few, divergence="exact" if dim < 16 else "hutchinson",
                                                                probes=None if dim < 16 else 8, ode_tolerance=1e-3,
                                                                threads=1),
            "residual": lambda f: heatball.residual(f, x[:16], 0.5, [0.2], samples=4096),
            "curl": lambda f: heatball.metrics.curl(f, x[:n // 4], 0.5, probes=0 if dim < 4 else 4),
        }
        for name, call in calls.items():
            total, alone, batches = measure(f, call, options.repeats)
            print(f"{name:20} {dim:4} {len(batches):6} {np.mean(batches):11.0f} {total:8.3f} {alone:10.3f} "
                  f"{100 * (total / alone - 1):8.1f} %", flush=True)


if __name__ == "__main__":
    main()

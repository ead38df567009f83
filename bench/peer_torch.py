#!/usr/bin/env python3
"""The peer: one denoising-score-matching step in PyTorch from Debian, written as well as we can.

Batch 256, 18 inputs, three hidden layers of 256 SiLU units, 2 outputs, mean squared error, clipping,
Adam (several tensors at once) and an average of the weights, one thread: what "net dsm score step" of
bench_net does. peer_openblas.py sees to it that PyTorch has OpenBLAS at its best. Both take turns; of each the best counts, in
processor time of the thread, because the machine may be shared. "bare" leaves clipping and the average
out of PyTorch's step only.

    python3 bench/peer_torch.py [ROUNDS]     prints one JSON line
"""
import json
import os
import subprocess
import sys
import time

import peer_openblas

peer_openblas.use(threads=1, rows=256, width=256)

import torch  # noqa: E402  (after the environment is set)

peer_openblas.check()

BUILD = os.environ.get("HEATBALL_BUILD", os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                                      "build"))
BATCH, WIDTH, INPUTS = 256, 256, 18


def make():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    layers = [torch.nn.Linear(INPUTS, WIDTH), torch.nn.SiLU(), torch.nn.Linear(WIDTH, WIDTH), torch.nn.SiLU(),
              torch.nn.Linear(WIDTH, WIDTH), torch.nn.SiLU(), torch.nn.Linear(WIDTH, 2)]
    net = torch.nn.Sequential(*layers)
    parameters = list(net.parameters())
    adam = torch.optim.Adam(parameters, lr=2e-3, foreach=True)
    average = [p.detach().clone() for p in parameters]
    return net, parameters, adam, average


def step(net, parameters, adam, average, x, target, bare):
    adam.zero_grad(set_to_none=True)
    loss = torch.nn.functional.mse_loss(net(x), target)
    loss.backward()
    if not bare:
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    adam.step()
    if not bare:
        with torch.no_grad():
            torch._foreach_mul_(average, 0.999)
            torch._foreach_add_(average, parameters, alpha=0.001)


def best_step(state, bare, steps=60):
    x, target = torch.randn(BATCH, INPUTS), torch.randn(BATCH, 2)
    best = float("inf")
    for _ in range(steps):
        start = time.thread_time()
        step(*state, x, target, bare)
        best = min(best, time.thread_time() - start)
    return best


def ours():
    output = subprocess.run([os.path.join(BUILD, "bench", "bench_net"), "step"], capture_output=True, text=True,
                            check=True).stdout
    rows = {row["name"]: row for row in map(json.loads, output.splitlines())}
    return rows["net dsm score step"]["seconds"], rows["net dsm score step, products alone"]["seconds"]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    state = make()
    step_s = products_s = torch_s = bare_s = float("inf")
    begin, seconds = time.monotonic(), float(os.environ.get("BENCH_SECONDS", "inf"))
    for k in range(rounds):
        if k > 0 and (time.monotonic() - begin) * (k + 1) / k > seconds:
            break
        a, b = ours()
        step_s, products_s = min(step_s, a), min(products_s, b)
        torch_s = min(torch_s, best_step(state, False))
        bare_s = min(bare_s, best_step(state, True))
    print(json.dumps({"core": peer_openblas.core(), "products_ms": 1e3 * products_s, "step_ms": 1e3 * step_s, "torch_ms": 1e3 * torch_s,
                      "torch_bare_ms": 1e3 * bare_s, "step : products": step_s / products_s,
                      "torch : step": torch_s / step_s, "torch bare : step": bare_s / step_s}))


if __name__ == "__main__":
    sys.exit(main())

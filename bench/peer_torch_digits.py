#!/usr/bin/env python3
"""The peer in 256 dimensions: a denoising step of the digits' network in PyTorch from Debian, on two threads.

Batch 128 (or another), 274 inputs, 4 layers of 1024 SiLU units with sums from the second on, 256 outputs; noise
drawn and added, loss, clipping, Adam (several tensors at once) and an average of the weights: what "digits dsm score step" of
bench_digits does, without its Gaussian reference. peer_openblas.py sees to OpenBLAS. Both take turns; of each the best
counts, in processor time of all threads, because the machine may be shared; waiting threads are put to sleep.

    python3 bench/peer_torch_digits.py [ROUNDS] [BATCH]     prints one JSON line
"""
import json
import os
import subprocess
import sys
import time

import peer_openblas

peer_openblas.use(threads=2, rows=128, width=1024)

import torch  # noqa: E402  (after the environment is set)

peer_openblas.check()

BUILD = os.environ.get("HEATBALL_BUILD", os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                                      "build"))
BATCH = int(sys.argv[2]) if len(sys.argv) > 2 else 128
WIDTH, DEPTH, DIM, EXTRA = 1024, 4, 256, 18


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(DIM + EXTRA, WIDTH)
        self.hidden = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(DEPTH - 1))
        self.last = torch.nn.Linear(WIDTH, DIM)

    def forward(self, x):
        a = torch.nn.functional.silu(self.first(x))
        for layer in self.hidden:
            a = a + torch.nn.functional.silu(layer(a))
        return self.last(a)


def make():
    torch.manual_seed(1)
    torch.set_num_threads(2)
    net = Network()
    parameters = list(net.parameters())
    return net, parameters, torch.optim.Adam(parameters, lr=2e-3, foreach=True), [p.detach().clone() for p in parameters]


def step(net, parameters, adam, average, rows, features):
    noise = torch.randn(BATCH, DIM)
    x = torch.cat((0.8 * rows + 0.6 * noise, features), 1)
    adam.zero_grad(set_to_none=True)
    torch.nn.functional.mse_loss(net(x), noise).backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    adam.step()
    with torch.no_grad():
        torch._foreach_mul_(average, 0.998)
        torch._foreach_add_(average, parameters, alpha=0.002)


def best_step(state, steps=20):
    rows, features = torch.randn(BATCH, DIM), torch.randn(BATCH, EXTRA)
    best = float("inf")
    for _ in range(steps):
        start = time.process_time()
        step(*state, rows, features)
        best = min(best, time.process_time() - start)
    return best


def ours():
    program = os.path.join(BUILD, "bench", "bench_digits")
    output = subprocess.run([program, "dsm", str(BATCH)], capture_output=True, text=True, check=True).stdout
    rows = {row["name"]: row for row in map(json.loads, output.splitlines())}
    return rows["digits dsm score step"]["seconds"], rows["digits dsm score step, products alone"]["seconds"]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    state = make()
    step_s = products_s = torch_s = float("inf")
    begin, seconds = time.monotonic(), float(os.environ.get("BENCH_SECONDS", "inf"))
    for k in range(rounds):
        if k > 0 and (time.monotonic() - begin) * (k + 1) / k > seconds:
            break
        a, b = ours()
        step_s, products_s = min(step_s, a), min(products_s, b)
        torch_s = min(torch_s, best_step(state))
    print(json.dumps({"core": peer_openblas.core(), "products_ms": 1e3 * products_s, "step_ms": 1e3 * step_s, "torch_ms": 1e3 * torch_s,
                      "products : step": products_s / step_s, "torch : step": torch_s / step_s}))


if __name__ == "__main__":
    sys.exit(main())

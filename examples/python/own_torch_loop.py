"""A PyTorch network of one's own, in a loop of one's own, with and without the heat-ball loss.

    PYTHONPATH=python python3 examples/python/own_torch_loop.py [STEPS [SEEDS]]

The network is a log-density; denoising score matching trains its gradient, and heat_ball_loss asks it to solve the
Fokker-Planck equation at a few anchors more. Printed is the mean squared error of the score against the exact score of the
set, over all draws of the law at tau and over the fifth of them with the lowest density, and the processor time of a
training. 3000 steps take about half a minute for each of the two sets without the loss and 45 seconds with it; 40 steps some
seconds. Needs PyTorch.
"""

import sys
import time

import numpy as np
import torch

import heatball
import heatball.torch

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
SEEDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
SETS, TAUS = ("asymmetric_gmm", "elongated_gmm"), (0.1, 0.3, 0.8)
WEIGHT, ANCHORS, TAU_MIN, TAU_MAX = 2.0, 64, 0.01, 3.0
torch.set_num_threads(1)


class LogDensity(torch.nn.Module):
    """ln p(x, tau) = that of one Gaussian under ou + what is learnt, which fades with tau."""

    def __init__(self, rows, width=64):
        super().__init__()
        self.mean, self.variance = rows.mean(0), rows.var(0).mean()
        self.net = torch.nn.Sequential(torch.nn.Linear(6, width), torch.nn.SiLU(), torch.nn.Linear(width, width),
                                       torch.nn.SiLU(), torch.nn.Linear(width, width), torch.nn.SiLU(),
                                       torch.nn.Linear(width, 1))

    def forward(self, x, tau):
        a, log_tau = torch.exp(-tau)[:, None], torch.log(tau)[:, None]
        spread = a**2 * self.variance + 1 - a**2
        away = (x - a * self.mean) / torch.sqrt(spread)
        gaussian = -0.5 * (away**2).sum(1) - torch.log(spread[:, 0])
        features = torch.cat([away, log_tau / 2, torch.cos(log_tau), torch.sin(log_tau), torch.cos(2 * log_tau)], 1)
        return gaussian + a[:, 0]**2 * self.net(features)[:, 0]


def draw(rows, n, least, spread, random):
    """n points at tau between least and TAU_MAX, evenly in ln tau; spread: more noise than the process has."""
    x0 = rows[torch.randint(len(rows), (n,), generator=random)]
    tau = least * (TAU_MAX / least)**torch.rand(n, generator=random)
    a, b, noise = torch.exp(-tau)[:, None], -torch.expm1(-2 * tau)[:, None], torch.randn(n, 2, generator=random)
    return a * x0 + torch.sqrt(b * (1 + spread**2)) * noise, tau, noise, b


def train(rows, weight, seed):
    """Denoising score matching, and weight times the heat-ball loss."""
    torch.manual_seed(seed)
    random = torch.Generator().manual_seed(seed)
    model = LogDensity(rows)
    f = heatball.torch.from_log_density(model)
    optimiser = torch.optim.Adam(model.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
    for step in range(STEPS):
        x, tau, noise, b = draw(rows, 256, TAU_MIN, 0, random)
        loss = torch.mean((torch.sqrt(b) * f.score(x, tau) + noise)**2)
        if weight:
            anchors, anchor_tau, _, _ = draw(rows, ANCHORS, 0.02, 1, random)
            ramp = min(1.0, 2 * step / STEPS)
            loss = loss + weight * ramp * heatball.torch.heat_ball_loss(
                model, anchors, anchor_tau, seed=seed, first=step * ANCHORS)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return f


for name in SETS:
    exact = heatball.dataset(name)
    for label, weight in (("dsm", 0.0), ("dsm + heat balls", WEIGHT)):
        errors, start = [], time.process_time()
        for seed in range(1, SEEDS + 1):
            rows = torch.tensor(exact.sample(2000, seed=seed), dtype=torch.float32)
            f = train(rows, weight, seed)
            judged = [exact.score_error(lambda x, tau: f.score(x, tau), tau, n=5000) for tau in TAUS]
            errors.append([[found["all"], found["low"]] for found in judged])
        mean = np.exp(np.mean(np.log(errors), axis=0))  # geometric, over the seeds
        cells = "  ".join(f"tau {tau}: all {all_:.4f} low {low:.4f}" for tau, (all_, low) in zip(TAUS, mean))
        print(f"{name:16s} {label:17s} {cells}  {(time.process_time() - start) / SEEDS:.0f} s", flush=True)

"""A PyTorch score network with the usual targets of denoising and with heatball.torch.denoising_targets.

    PYTHONPATH=python python3 bench/torch_targets.py [STEPS [SEEDS]]

Two moons, 2000 rows, batches of 256, ln tau uniform between 0.01 and 3. Printed: the mean square error of the score
against the exact one, geometric means over the seeds, and the processor time of a training. 2000 steps and two seeds
take about a minute on one core.
"""

import sys
import time

import numpy as np
import torch

import heatball
import heatball.torch

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
SEEDS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
TAUS, TAU_MIN, TAU_MAX, WIDTH = (0.05, 0.1, 0.3, 0.8), 0.01, 3.0, 128
torch.set_num_threads(1)


class Score(torch.nn.Module):
    """sqrt(b) times the score is -x sqrt(b), which is right at large tau, and what is learnt."""

    def __init__(self):
        super().__init__()
        layer = torch.nn.Linear
        self.net = torch.nn.Sequential(layer(6, WIDTH), torch.nn.SiLU(), layer(WIDTH, WIDTH), torch.nn.SiLU(),
                                       layer(WIDTH, WIDTH), torch.nn.SiLU(), layer(WIDTH, 2))

    def forward(self, x, tau):
        log_tau, b = torch.log(tau)[:, None], -torch.expm1(-2 * tau)[:, None]
        features = torch.cat([x, log_tau / 2, torch.cos(log_tau), torch.sin(log_tau), torch.cos(2 * log_tau)], 1)
        return -x + torch.exp(-tau)[:, None] / torch.sqrt(b) * self.net(features)


def train(rows, averaged, seed):
    torch.manual_seed(seed)
    random = torch.Generator().manual_seed(seed)
    model = Score()
    optimiser = torch.optim.Adam(model.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
    for _ in range(STEPS):
        index = torch.randint(len(rows), (256,), generator=random)
        tau = TAU_MIN * (TAU_MAX / TAU_MIN)**torch.rand(256, generator=random)
        a, b, noise = torch.exp(-tau)[:, None], -torch.expm1(-2 * tau)[:, None], torch.randn(256, 2, generator=random)
        x = a * rows[index] + torch.sqrt(b) * noise
        if averaged:
            noise = heatball.torch.denoising_targets(x, tau, rows, kind="eps", own=index, generator=random)
        loss = torch.mean((torch.sqrt(b) * model(x, tau) + noise)**2)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return heatball.torch.from_score(model)


exact = heatball.dataset("two_moon")
for label, averaged in (("noise of one row", False), ("averaged, 512 rows", True)):
    errors, seconds = [], 0.0
    for seed in range(1, SEEDS + 1):
        rows = torch.tensor(exact.sample(2000, seed=seed), dtype=torch.float32)
        start = time.process_time()
        f = train(rows, averaged, seed)
        seconds += (time.process_time() - start) / SEEDS
        errors.append([exact.score_error(f, tau, n=5000)["all"] for tau in TAUS])
    mean = np.exp(np.mean(np.log(errors), axis=0))
    cells = "  ".join(f"tau {tau}: {error:.4f}" for tau, error in zip(TAUS, mean))
    print(f"{label:20s} {cells}  {seconds:.1f} s", flush=True)

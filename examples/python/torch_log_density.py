"""A PyTorch network of one's own as a normalised log-density: mode weights and one-pass likelihoods.

    PYTHONPATH=python python3 examples/python/torch_log_density.py [STEPS [SEEDS]] [--dim D] [--plot FILE]

Three separated Gaussians of weights 0.15, 0.6, 0.25. The network is v(x, tau) = ln of a Gaussian with the moments of the data + a
learnt part. Denoising score matching sees the gradient of v only, so the heights of the modes relative to each other are free at small
tau. heat_ball_loss asks v to solve the Fokker-Planck equation, at anchors down to the smallest tau: it carries the weights down from
large tau, where the modes overlap. Printed for both, at tau = 0.001 against the exact density:

    weights    error of the log weights of the modes: root mean square over the three centres, about their mean
    v - ln p   mean and standard deviation over held-out samples
    nll        mean of -v over these samples (one pass, nothing normalised), beside that of the exact density

and the processor time of a training, as means over the seeds. The default run takes less than a minute. --plot draws the
log-density along the line between two modes (needs Matplotlib). Needs PyTorch.
"""

import argparse
import math
import time

import numpy as np
import torch

import heatball.torch

WEIGHTS, DEVIATION = (0.15, 0.6, 0.25), 0.2
TAU_MIN, TAU_MAX = 0.001, 3.0
WEIGHT, BATCH, ROWS, HELD = 2.0, 256, 20000, 4000


class Mixture:
    """Three Gaussians at the corners of a triangle in dim dimensions; variance of an axis about 1."""

    def __init__(self, dim):
        plane, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((dim, 2)))
        angle = 2 * math.pi * np.arange(3) / 3
        centres = 1.3 * math.sqrt(dim / 2) * np.stack([np.cos(angle), np.sin(angle)], 1) @ plane.T
        self.centres = torch.tensor(centres, dtype=torch.float32)
        self.log_weights = torch.log(torch.tensor(WEIGHTS))

    def sample(self, n, random):
        which = torch.multinomial(torch.tensor(WEIGHTS), n, replacement=True, generator=random)
        return self.centres[which] + DEVIATION * torch.randn(n, self.centres.shape[1], generator=random)

    def log_density(self, x, tau):
        """ln p(x, tau) with the noise of ou at one tau."""
        a, b = math.exp(-tau), -math.expm1(-2 * tau)
        variance = a * a * DEVIATION**2 + b
        square = ((x[:, None, :] - a * self.centres) ** 2).sum(2)
        return torch.logsumexp(self.log_weights - square / (2 * variance), 1) - 0.5 * x.shape[1] * math.log(2 * math.pi * variance)


class LogDensity(torch.nn.Module):
    """v(x, tau) = ln N(x; a m, a^2 C + b) + what is learnt, which fades with tau."""

    def __init__(self, rows, width=64, features=8):
        super().__init__()
        self.mean, self.covariance = rows.mean(0), torch.cov(rows.T)
        self.variances, self.axes = torch.linalg.eigh(self.covariance)
        self.features = features
        inputs = rows.shape[1] + features
        self.net = torch.nn.Sequential(torch.nn.Linear(inputs, width), torch.nn.SiLU(), torch.nn.Linear(width, width),
                                       torch.nn.SiLU(), torch.nn.Linear(width, width), torch.nn.SiLU(),
                                       torch.nn.Linear(width, 1))

    def learnt(self, x, tau):
        a, k = torch.exp(-tau)[:, None], torch.arange(1, self.features)
        away = (x - a * self.mean) / torch.sqrt(a**2 * self.variances.mean() + 1 - a**2)
        place = (torch.log(tau / TAU_MAX) / math.log(TAU_MIN / TAU_MAX))[:, None]  # 1 at TAU_MIN, 0 at TAU_MAX
        seen = torch.cat([away, 2 * place - 1, math.sqrt(2) * torch.cos(math.pi * k * place)], 1)
        return a[:, 0] ** 2 * self.net(seen)[:, 0]

    def forward(self, x, tau):
        a = torch.exp(-tau)[:, None]
        variance = a**2 * self.variances - torch.expm1(-2 * tau)[:, None]
        along = (x - a * self.mean) @ self.axes
        gaussian = -0.5 * (along**2 / variance + torch.log(2 * math.pi * variance)).sum(1)
        return gaussian + self.learnt(x, tau)


def draw(rows, n, spread, random):
    """n points, ln tau uniform; spread: more noise than the process has."""
    x0 = rows[torch.randint(len(rows), (n,), generator=random)]
    tau = TAU_MIN * (TAU_MAX / TAU_MIN) ** torch.rand(n, generator=random)
    a, b, noise = torch.exp(-tau)[:, None], -torch.expm1(-2 * tau)[:, None], torch.randn(x0.shape, generator=random)
    return a * x0 + torch.sqrt(b * (1 + spread**2)) * noise, tau, noise, b


def train(rows, weight, steps, seed):
    """Denoising score matching, and weight times the heat-ball loss."""
    torch.manual_seed(seed)
    random = torch.Generator().manual_seed(seed)
    model = LogDensity(rows)
    f = heatball.torch.from_log_density(model)
    reference = {"mean": model.mean.numpy(), "covariance": model.covariance.numpy()}
    anchors = min(64, 576 // (2 * rows.shape[1] + 1))
    optimiser = torch.optim.Adam(model.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for step in range(steps):
        x, tau, noise, b = draw(rows, BATCH, 0, random)
        loss = torch.mean((torch.sqrt(b) * f.score(x, tau) + noise) ** 2)
        if weight:
            at, at_tau, _, _ = draw(rows, anchors, 1, random)
            ramp = min(1.0, 3 * step / steps)
            loss = loss + weight * ramp * heatball.torch.heat_ball_loss(
                model.learnt, at, at_tau, beyond=True, **reference, seed=seed, first=step * anchors)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model


def measured(model, exact, held):
    """Error of the log mode weights, mean and deviation of v - ln p, negative log-likelihood, all at TAU_MIN."""
    value = lambda x: model(x, torch.full((len(x),), TAU_MIN)).detach()  # noqa: E731
    centres = math.exp(-TAU_MIN) * exact.centres
    at_modes = value(centres) - exact.log_density(centres, TAU_MIN)
    off = value(held) - exact.log_density(held, TAU_MIN)
    return [float(at_modes.std(unbiased=False)), float(off.mean()), float(off.std()), float(-value(held).mean())]


def plot(path, exact, models):
    """v at TAU_MIN from the first mode to the second."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from heatball._plots import styled

    place = torch.linspace(-0.25, 1.25, 400)
    first, second = math.exp(-TAU_MIN) * exact.centres[:2]
    x = first + place[:, None] * (second - first)
    with styled():
        fig, ax = plt.subplots(figsize=(7, 4.4))
    ax.plot(place, exact.log_density(x, TAU_MIN), "k", lw=3, alpha=0.35, label="exact")
    for label, style, model in zip(("denoising", "denoising + heat balls"), ("--", "-"), models):
        ax.plot(place, model(x, torch.full((len(x),), TAU_MIN)).detach(), style, lw=2, label=label)
    ax.set_xlabel("place between mode 1 (0) and mode 2 (1)")
    ax.set_ylabel(rf"log-density at $\tau$ = {TAU_MIN:g}, nats")
    ax.set_title(f"Three Gaussians in {x.shape[1]} dimensions, weights {', '.join(map(str, WEIGHTS))}")
    ax.legend(frameon=False)
    fig.tight_layout()
    fig.savefig(path, dpi=200)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="?", type=int, default=2000)
    parser.add_argument("seeds", nargs="?", type=int, default=1)
    parser.add_argument("--dim", type=int, default=2)
    parser.add_argument("--plot", metavar="FILE", help="a figure of the last seed")
    given = parser.parse_args()
    torch.set_num_threads(1)
    exact, models = Mixture(given.dim), []
    for label, weight in (("dsm", 0.0), ("dsm + heat balls", WEIGHT)):
        found, best, start = [], [], time.process_time()
        for seed in range(1, given.seeds + 1):
            random = torch.Generator().manual_seed(1000 + seed)
            rows, held = exact.sample(ROWS, random), exact.sample(HELD, random)
            held = math.exp(-TAU_MIN) * held + math.sqrt(-math.expm1(-2 * TAU_MIN)) * torch.randn(held.shape, generator=random)
            model = train(rows, weight, given.steps, seed)
            found.append(measured(model, exact, held))
            best.append(float(-exact.log_density(held, TAU_MIN).mean()))
        weights, mean, deviation, nll = np.mean(found, 0)
        over = f" (± {np.std(found, 0, ddof=1)[1]:.3f} over the seeds)" if given.seeds > 1 else ""
        models.append(model)
        print(f"d = {given.dim}  {label:17s} weights {weights:.3f}  v - ln p: mean {mean:.3f}{over} deviation {deviation:.3f}  "
              f"nll {nll:.3f} (exact {np.mean(best):.3f})  {(time.process_time() - start) / given.seeds:.0f} s", flush=True)
    if given.plot:
        plot(given.plot, exact, models)


if __name__ == "__main__":
    main()

"""Samples and likelihoods of four nonlinear processes turned back, beside the exact law at tau = 0.

    PYTHONPATH=python /usr/bin/python3 bench/drift_turned_back.py [DIRECTORY] [line] [well] [oscillator] [chain]

For each: 10000 rows of a mixture of Gaussians, `heatball train --drift` (hb, width 128, 3000 steps, one thread; a model
that is in DIRECTORY already is taken), 4000 samples by every solver and from few starts, their discrepancy from 4000 fresh
rows, shares, and how many lie where the exact density is below e^-15; ln p of 2000 fresh rows beside the exact one. About a
minute of one core for each. docs/explanation/generation.md quotes it.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import heatball

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHAIN = ("x1 - x1^3 + 0.5*(x2 - x1), x2 - x2^3 + 0.5*(x1 + x3 - 2*x2), x3 - x3^3 + 0.5*(x2 + x4 - 2*x3), "
         "x4 - x4^3 + 0.5*(x3 - x4)")


def pull(x):
    """Neighbours of a chain, free at its ends."""
    wide = np.pad(x, ((0, 0), (1, 1)), mode="edge")
    return 0.5 * (wide[:, 2:] + wide[:, :-2] - 2 * x)


# text, function, means, deviations, shares, tau_max
PROBLEMS = {
    "line": ("x - x^3", lambda x: x - x**3, [[-1.6], [0.4]], [0.2, 0.3], [0.3, 0.7], 1.5),
    "well": ("x1 - x1^3 - x2, x1 - x2", lambda x: np.stack([x[:, 0] - x[:, 0]**3 - x[:, 1], x[:, 0] - x[:, 1]], 1),
             [[-1.5, 0.5], [1.2, 1.2], [0.3, -1.4]], [0.3, 0.25, 0.35], [0.3, 0.3, 0.4], 1.5),
    "oscillator": ("y, 2*(1 - x^2)*y - x",
                   lambda x: np.stack([x[:, 1], 2 * (1 - x[:, 0]**2) * x[:, 1] - x[:, 0]], 1),
                   [[-1.5, 0.5], [1.5, 2.0]], [0.3, 0.4], [0.5, 0.5], 1.0),
    "chain": (CHAIN, lambda x: x - x**3 + pull(x), [[1, 1, -1, -1], [-1, 0.5, 0.5, 1]], [0.4, 0.3], [0.6, 0.4], 1.0),
}


class Start:
    """The mixture that a process starts from."""

    def __init__(self, means, deviations, shares):
        self.means, self.deviations, self.shares = map(np.array, (means, deviations, shares))

    def draw(self, n, seed):
        random = np.random.default_rng(seed)
        part = random.choice(len(self.shares), n, p=self.shares)
        return self.means[part] + self.deviations[part][:, None] * random.standard_normal((n, self.means.shape[1]))

    def squares(self, x):
        return ((x[:, None] - self.means) ** 2).sum(axis=-1)

    def log_density(self, x):
        terms = np.exp(-self.squares(x) / 2 / self.deviations**2)
        return np.log((self.shares * terms / (2 * np.pi * self.deviations**2) ** (x.shape[1] / 2)).sum(axis=1))

    def counts(self, x):
        return np.bincount(self.squares(x).argmin(axis=1), minlength=len(self.shares)) / len(x)


def ends(start, F, time, n, seed, step=1e-3):
    """Fresh paths at the end, by Euler's steps."""
    x, random = start.draw(n, seed), np.random.default_rng(seed + 1)
    for _ in range(round(time / step)):
        x = x + step * F(x) + np.sqrt(2 * step) * random.standard_normal(x.shape)
    return x


def learn(folder, name, text, start, time):
    path = folder / f"{name}.safetensors"
    if not path.exists():
        np.save(folder / f"{name}.npy", start.draw(10000, 1))
        subprocess.run([ROOT / "build/heatball", "train", "--data", folder / f"{name}.npy", "--drift", text, "--method",
                        "hb", "--width", "128", "--steps", "3000", "--tau-max", str(time), "--threads", "1", "-q",
                        "-o", path], check=True)
    return heatball.load(path)


def judge(folder, name):
    text, F, means, deviations, shares, time = PROBLEMS[name]
    start = Start(means, deviations, shares)
    model, real = learn(folder, name, text, start, time), start.draw(8000, 2)
    floor = heatball.metrics.mmd(start.draw(8000, 3)[:4000], real[:4000])
    print(f"{name}: real against real mmd {floor['mmd']:.4f}, mmd2 {floor['mmd2']:.1e} +- {floor['mmd2_se']:.1e}")
    few = ends(start, F, time, 4000, 11)[:200]
    bare = dict(n_steps=100, n_correct=0)
    for what, settings in {
            "sde": {}, "sde, 100 steps, no corrector": bare, "ode": dict(solver="ode"),
            "heun, 50 steps": dict(solver="heun", n_steps=50), "ode, copies": dict(solver="ode", first=4096),
            "ode, 200 starts": dict(solver="ode", ends=few),
            "ode, 200 starts not moved": dict(solver="ode", ends=np.tile(few, (20, 1))),
            "sde, 200 starts": dict(bare, ends=few),
            "sde, 200 starts not moved": dict(bare, ends=np.tile(few, (20, 1)))}.items():
        made = model.generate(4000, threads=1, **settings)
        found = heatball.metrics.mmd(made, real[:4000])
        print(f"  {what:30} mmd {found['mmd']:.4f}, mmd2 {found['mmd2']:.1e} +- {found['mmd2_se']:.1e}, shares",
              start.counts(made).round(3), "far", (start.log_density(made) < -15).sum(), flush=True)
    off = model.log_likelihood(real[:2000], threads=1) - start.log_density(real[:2000])
    print(f"  ln p - exact: {off.mean():.4f} +- {off.std() / 2000**0.5:.4f}, deviation {off.std():.3f}; error of ln Z "
          f"{model.log_normaliser(threads=1)[1]:.1e}")


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name in PROBLEMS]
    folders = [name for name in sys.argv[1:] if name not in PROBLEMS]
    with tempfile.TemporaryDirectory() as temporary:
        for one in names or PROBLEMS:
            judge(pathlib.Path(folders[0] if folders else temporary), one)

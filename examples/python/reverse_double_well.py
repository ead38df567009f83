"""A rotating double well turned back: samples and likelihoods of where its paths began.

    PYTHONPATH=python python3 examples/python/reverse_double_well.py [STEPS] [FILE.safetensors]

dx = (x - x^3 - y, x - y) dtau + sqrt(2) dW forgets where it began: three Gaussians at tau = 0 are two wells at tau = 1.5. A model
that has learnt the score on the way carries draws of the end back to the beginning, by the reverse-time SDE or the
probability-flow ODE, and says how likely a beginning is. Both are compared with the three Gaussians themselves. The
default, 1000 steps, takes about ten seconds; with a FILE the model is kept, for `heatball generate FILE`.
"""

import sys

import numpy as np

import heatball

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
DRIFT = ["x - x^3 - y", "x - y"]
MEANS, WIDTHS = np.array([[-1.5, 0.5], [1.2, 1.2], [0.3, -1.4]]), np.array([0.3, 0.25, 0.35])
SHARES = np.array([0.3, 0.3, 0.4])


def beginnings(n, seed):
    """n draws of the three Gaussians."""
    random = np.random.default_rng(seed)
    part = random.choice(3, n, p=SHARES)
    return MEANS[part] + WIDTHS[part][:, None] * random.normal(size=(n, 2))


def log_density(x):
    """ln of their density."""
    squares = ((x[:, None] - MEANS) ** 2).sum(axis=-1)
    return np.log((SHARES * np.exp(-squares / 2 / WIDTHS**2) / (2 * np.pi * WIDTHS**2)).sum(axis=1))


def shares(x):
    """Shares of the rows that are nearest to each of the three."""
    nearest = ((x[:, None] - MEANS) ** 2).sum(axis=-1).argmin(axis=1)
    return np.bincount(nearest, minlength=3) / len(x)


model = heatball.train(beginnings(8000, 1), drift=DRIFT, tau_max=1.5, steps=STEPS, width=64)
if len(sys.argv) > 2:
    model.save(sys.argv[2])
real, other = beginnings(2000, 2), beginnings(2000, 3)
print(f"real  mmd {heatball.mmd(other, real)['mmd']:.4f}  shares", *(f"{s:.3f}" for s in shares(other)))
for solver in ("sde", "ode", "heun"):
    made = model.generate(2000, solver, n_steps=100)
    print(f"{solver:5} mmd {heatball.mmd(made, real)['mmd']:.4f}  shares", *(f"{s:.3f}" for s in shares(made)))
constant, error = model.log_normaliser()
print(f"density at tau_max: ln of its integral {constant:.4f}, error {error:.1g}")
found, exact = model.log_likelihood(real[:500]), log_density(real[:500])
print(f"ln p: model {found.mean():.3f}, exact {exact.mean():.3f}, difference {np.std(found - exact):.3f} (deviation)")

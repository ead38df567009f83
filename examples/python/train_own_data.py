"""A score model of one's own rows: train, ask, generate, save, load.

    PYTHONPATH=python python3 examples/python/train_own_data.py [DIRECTORY]

The rows are an arc with a blob beside it, in units of their own; take an array of yours instead. Takes a few
seconds.
"""

import pathlib
import sys
import tempfile

import numpy as np

import heatball


def rows(n, seed):
    """n rows of two columns, numbers of some hundreds."""
    random = np.random.default_rng(seed)
    angle = random.uniform(0, np.pi, n)
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1) + random.normal(0, 0.08, (n, 2))
    blob = random.random(n) < 0.3
    x[blob] = random.normal([0.1, 0.15], 0.12, (blob.sum(), 2))
    return 350 + 120 * x


directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
data, held = rows(2000, seed=1), rows(1000, seed=2)

model = heatball.train(data, loss="hb", steps=800, width=64, depth=3, progress=True)
print(model)
print(f"scale of the data {model.scale:.2f}, parameters {model.parameters}")

# At small tau the score points back to the rows: left of the arc's left end it points to the right.
place = np.array([[190.0, 350.0]])
print(f"score at (190, 350), tau 0.02: {model.score(place, 0.02)[0].round(4)}")

# The log-density of held-out rows, beside that of one Gaussian.
mean, covariance = data.mean(axis=0), np.cov(data.T)
away = held - mean
gaussian = -0.5 * ((away @ np.linalg.inv(covariance) * away).sum(axis=1)
                   + np.log(np.linalg.det(2 * np.pi * covariance)))
likelihood = model.log_likelihood(held)
print(f"nats per held-out row: model {likelihood.mean():.4f}, one Gaussian {gaussian.mean():.4f}")

# New rows: as near to held-out ones as real rows are?
made = model.generate(1000, solver="ode", seed=3)
print(f"mmd to held-out rows: generated {heatball.metrics.mmd(made, held)['mmd']:.4f}, "
      f"real {heatball.metrics.mmd(rows(1000, seed=4), held)['mmd']:.4f}, "
      f"one Gaussian {heatball.metrics.mmd(np.random.default_rng(5).multivariate_normal(mean, covariance, 1000), held)['mmd']:.4f}")

model.save(directory / "own.safetensors")
again = heatball.load(directory / "own.safetensors")
print("the file gives the same bits:", np.array_equal(again.score(held, 0.1), model.score(held, 0.1)))

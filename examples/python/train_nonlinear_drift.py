"""A score model of a bistable process, dx = (x - x^3) dtau + sqrt(2) dW, for dsm, fp and hb.

    PYTHONPATH=python python3 examples/python/train_nonlinear_drift.py [STEPS] [SEEDS]

The drift is text that the model keeps. The data are two Gaussians; the exact score at every tau comes from
the library's grid (`heatball.solve`). Prints the mean squared error of the score over the exact density and
over its lower fifth; 3000 steps and 3 seeds give the numbers of docs/explanation/losses.md, "A nonlinear drift". The
default, 1000 steps and one seed, takes a few seconds.
"""

import sys
import tempfile

import numpy as np

import heatball

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
SEEDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
DRIFT, TAUS = "x - x^3", (0.1, 0.3, 1.0)


def rows(n, seed):
    """n rows of 0.7 N(-0.8, 0.3^2) + 0.3 N(0.6, 0.2^2)."""
    random = np.random.default_rng(seed)
    left = random.random(n) < 0.7
    return np.where(left, random.normal(-0.8, 0.3, n), random.normal(0.6, 0.2, n))[:, None]


def exact(points):
    """Log-density and score at each tau, by the grid."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("weight,mean_1,var_1\n0.7,-0.8,0.09\n0.3,0.6,0.04\n")
        file.flush()
        for tau in TAUS:
            found = heatball.solve(drift=DRIFT, noise="sqrt(2)", initial=f"mixture({file.name})",
                                   time=tau, at=points, method="grid")
            yield np.ravel(found.log_density), np.ravel(found.score)


points = np.linspace(-2.6, 2.6, 521)[:, None]
truth = list(exact(points))
for method in ("dsm", "fp", "hb"):
    errors = np.zeros((len(TAUS), 2))
    for seed in range(SEEDS):
        model = heatball.train(rows(2000, seed), method, drift=DRIFT, steps=STEPS, width=64, seed=seed + 1)
        for k, (tau, (log_density, score)) in enumerate(zip(TAUS, truth)):
            miss = (np.ravel(model.score(points, tau)) - score) ** 2
            mass = np.exp(log_density) / np.exp(log_density).sum()
            order = np.argsort(mass)
            low = order[np.cumsum(mass[order]) <= 0.2]
            errors[k] += [(mass * miss).sum() / SEEDS, (mass[low] * miss[low]).sum() / mass[low].sum() / SEEDS]
    print(f"{method:4}", *(f"tau {tau:g}: {a:.5f} low {b:.5f} |" for tau, (a, b) in zip(TAUS, errors)))

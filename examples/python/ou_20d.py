#!/usr/bin/env python3
"""Twenty dimensions against a closed form: an Ornstein-Uhlenbeck process by particles and by walks.

dx_j = -a_j x_j dt + sqrt(2) dW_j, a_j from 0.3 to 2, from independent Gaussians N(m_j, s_j): every coordinate
stays Gaussian with mean m_j e^(-a_j t) and variance s_j e^(-2 a_j t) + (1 - e^(-2 a_j t))/a_j. The density at
a point is a product of twenty factors; a grid would need as many axes.

    PYTHONPATH=python python3 examples/python/ou_20d.py
"""

import numpy as np

import heatball

DIM, TIME = 20, 0.5
RATES = np.linspace(0.3, 2, DIM)
MEAN, VAR = 0.8 * np.cos(1.3 * np.arange(DIM)), 0.3


def exact(x):
    """Log-density (n,) and score (n, DIM)."""
    decay = np.exp(-RATES * TIME)
    mean, var = MEAN * decay, VAR * decay**2 + (1 - decay**2) / RATES
    return (-0.5 * ((x - mean)**2 / var + np.log(2 * np.pi * var)).sum(1), -(x - mean) / var)


def points():
    """The mean, and half a deviation and one deviation from it in every coordinate."""
    decay = np.exp(-RATES * TIME)
    wide = np.sqrt(VAR * decay**2 + (1 - decay**2) / RATES)
    signs = np.where(np.arange(DIM) % 2, -1.0, 1.0)
    return MEAN * decay + np.outer([0.0, 0.5, 1.0], signs * wide)


def main():
    at = points()
    v, score = exact(at)
    drift = ", ".join(f"-{a:.17g}*x{j + 1}" for j, a in enumerate(RATES))
    start = f"gaussian(mean={' '.join(f'{m:.17g}' for m in MEAN)}, var={VAR})"
    for method in ("particles", "walk"):
        s = heatball.solve(drift, "sqrt(2)", start, TIME, at, method=method, seed=1)
        print(f"{method}: {s.note}")
        for i in range(len(at)):
            off = np.abs(s.score[i] - score[i])
            print(f"  log-density {s.log_density[i]:.5f} +- {s.log_density_se[i]:.5f} ({v[i]:.5f})   "
                  f"score off by {off.max():.5f}, reported {s.score_se[i].max():.5f}")


if __name__ == "__main__":
    main()

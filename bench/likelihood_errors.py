"""Errors of log-likelihoods against what they claim: exact scores of the planar sets, and a mixture in 64 dimensions.

    PYTHONPATH=python OMP_NUM_THREADS=1 /usr/bin/python3 bench/likelihood_errors.py
"""
import math

import numpy as np

import heatball


def planar(tau_max, moments, dtype, rows=200):
    """Print error and claim over all sets."""
    errors, claims = [], []
    for name in heatball.dataset():
        mixture = heatball.dataset(name)
        x = mixture.sample(rows, seed=5)
        given = dict(mean=mixture.mean(), covariance=mixture.covariance()) if moments else {}
        found = heatball.log_likelihood(lambda x, tau: mixture.score(x.astype(dtype), tau.astype(dtype)).astype(dtype), x,
                                        tau_max=tau_max, **given)
        errors.append(np.abs(found.log_likelihood - mixture.log_density(x, 1e-3)))
        claims.append(found.se)
    error, claim = np.concatenate(errors), np.concatenate(claims)
    print(f"| {tau_max} | {'yes' if moments else 'no'} | {np.dtype(dtype).name} | {error.mean():.1e} | {error.max():.1e} | "
          f"{np.median(claim):.1e} | {np.mean(error < claim):.3f} | {(error / claim).max():.1f} |", flush=True)


def probes(count, dim=64, rows=100, seeds=4):
    """Print the share of rows within 1.96 errors of the truth."""
    rng = np.random.default_rng(2385)
    means = 0.6 * rng.normal(size=(3, dim))
    factors = rng.normal(size=(3, dim, dim)) / math.sqrt(dim)
    mixture = heatball.Mixture([1, 2, 3], means, 0.1 * np.eye(dim) + 0.5 * factors @ factors.transpose(0, 2, 1))
    inside, claims, bits = [], [], []
    for seed in range(seeds):
        x = mixture.sample(rows, seed=100 + seed)
        found = heatball.log_likelihood(lambda x, tau: mixture.score(x, tau), x, divergence="hutchinson", probes=count,
                                        seed=seed, mean=mixture.mean(), covariance=mixture.covariance(), tau_min=0.01,
                                        ode_tolerance=1e-3)
        inside.append(np.abs(found.log_likelihood - mixture.log_density(x, 0.01)) < 1.96 * found.se)
        claims.append(found.se)
        bits.append(found.mean_bits_per_dim)
    print(f"| {count} | {np.median(claims):.2f} | {np.mean(inside):.3f} | {np.size(inside)} |", flush=True)


if __name__ == "__main__":
    for given in ((3, False, np.float64), (3, True, np.float64), (5, False, np.float64), (5, True, np.float64),
                  (5, True, np.float32)):
        planar(*given)
    for number in (2, 4, 8, 16, 32):
        probes(number)

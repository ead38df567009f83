#!/usr/bin/env python3
"""The value of a caloric function at a point: by sampling a heat ball, and by cubature.

theta(x, tau) = exp(a.x + |a|^2 tau) solves d theta/d tau = Lap theta. Its value at (x0, tau0) is
the mean of theta(x0 + r z, tau0 - r^2 sigma) under the Watson measure kappa; r^2 must be below
4 pi tau0, so that the ball stays in tau > 0. Sampling has a standard error that falls like
n^(-1/2); the cubature is exact for polynomials up to its degree, so its error falls with that.

    PYTHONPATH=python python3 examples/python/mean_value.py
"""

import numpy as np

import heatball

SLOPE = np.array([0.5, -0.3])
X0, TAU0, RADIUS = np.array([0.1, 0.2]), 0.5, 2.0


def theta(x, tau):
    return np.exp(x @ SLOPE + SLOPE @ SLOPE * tau)


def main():
    exact = theta(X0, TAU0)
    print(f"exact value                {exact:.9f}")
    for n in (1000, 100000):
        z, sigma = heatball.ball.sample("kappa", 2, n, radius=RADIUS, seed=1)
        values = theta(X0 + z, TAU0 - sigma)
        error = values.std(ddof=1) / np.sqrt(n)
        print(f"mean of {n:6d} draws       {values.mean():.9f} +- {error:.9f}")
    for degree in (2, 4, 6):
        z, sigma, weight = heatball.ball.nodes("kappa", 2, degree=degree)
        value = weight @ theta(X0 + RADIUS * z, TAU0 - RADIUS**2 * sigma)
        print(f"degree {degree}, {len(weight):3d} nodes        {value:.9f}, "
              f"off by {value - exact:.1e}")


if __name__ == "__main__":
    main()

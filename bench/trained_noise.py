"""Networks trained under SDEs as typed, dx = F dt + G dW, against exact laws and against heatball.solve.

    PYTHONPATH=python /usr/bin/python3 bench/trained_noise.py [--steps 6000] [--rows 4000]

matrix   a linear drift and a full matrix G, two_moon: at every t a mixture of Gaussians in closed form
prices   noise 0.2*x[i], lognormal mixture: ln x is a Gaussian mixture with drift 0.1 - 0.02
wells    x - x^3, 0.5*x - y under a correlated G, from one Gaussian: heatball.solve on the grid

score: |s - s*|/|s*|, root mean squares over 2000 points of the law at t; ln u: deviation of ln u - ln u* over them (a constant is
not learnt under a drift: docs/explanation/generation.md). ln p: mean of log_likelihood at 300 fresh rows, and the exact one at tau_min.
MMD^2 of 2000 samples in x against 2000 fresh rows, and its floor."""

import argparse

import numpy as np
import scipy.linalg

import heatball


def gaussians(weights, means, covariances, x):
    """ln u and score of a mixture."""
    logs, slopes = [], []
    for weight, mean, C in zip(weights, means, covariances):
        gap, inverse = x - mean, np.linalg.inv(C)
        logs.append(np.log(weight) - np.einsum("ni,ij,nj->n", gap, inverse, gap)/2 - np.linalg.slogdet(2*np.pi*C)[1]/2)
        slopes.append(-gap @ inverse)
    top = np.max(logs, 0)
    part = np.exp(logs - top)
    total = part.sum(0)
    return top + np.log(total), np.einsum("kn,knd->nd", part/total, slopes)


def carried(A, D, t, means, covariances):
    """Means and covariances after dx = A x dt + G dW, G G' = D."""
    d = len(A)
    block = scipy.linalg.expm(t*np.block([[-A, D], [np.zeros((d, d)), A.T]]))
    P = block[d:, d:].T
    return means @ P.T, P @ covariances @ P.T + P @ block[:d, d:]


def draw(rng, weights, means, covariances, n):
    of = rng.choice(len(weights), n, p=weights/np.sum(weights))
    return np.stack([rng.multivariate_normal(means[k], covariances[k]) for k in of])


class Matrix:
    drift, noise, tau = "-x + 0.5*y, -0.8*x - 0.6*y", np.array([[1, 0.4], [-0.3, 0.7]]), (0.01, 2)
    times = 0.05, 0.2, 0.8, 2

    def __init__(self):
        law = heatball.dataset("two_moon")
        self.parts = np.array(law.weights), np.array(law.means), np.array(law.covariances)

    def at(self, t):
        return self.parts[0], *carried(np.array([[-1, 0.5], [-0.8, -0.6]]), self.noise @ self.noise.T, t, *self.parts[1:])

    def rows(self, rng, n, t=0):
        return draw(rng, *(self.at(t) if t else self.parts), n)

    def exact(self, x, t):
        return gaussians(*self.at(t), x)


class Prices:
    drift, noise, tau = "0.1*x[i]", "0.2*x[i]", (0.02, 4)
    times = 0.1, 0.5, 2, 4
    parts = np.array([0.4, 0.6]), np.array([[-0.3, 0.2], [0.5, -0.2]]), np.stack([0.04*np.eye(2), [[0.06, 0.03], [0.03, 0.05]]])

    def at(self, t):
        return self.parts[0], self.parts[1] + 0.08*t, self.parts[2] + 0.04*t*np.eye(2)

    def rows(self, rng, n, t=0):
        return np.exp(draw(rng, *self.at(t), n))

    def exact(self, x, t):
        value, slope = gaussians(*self.at(t), np.log(x))
        return value - np.log(x).sum(1), (slope - 1)/x


class Wells:
    drift, noise, tau = "x - x^3, 0.5*x - y", np.array([[0.9, 0], [0.5, 0.6]]), (0.02, 2)
    times = 0.2, 0.8, 2

    def rows(self, rng, n, t=0):
        x = rng.normal([0.3, 0], np.sqrt(0.3), (n, 2))
        for _ in range(round(t*1000)):
            x = (x + 1e-3*np.stack([x[:, 0] - x[:, 0]**3, 0.5*x[:, 0] - x[:, 1]], 1)
                 + np.sqrt(1e-3)*rng.normal(size=x.shape) @ self.noise.T)
        return x

    def exact(self, x, t):
        s = heatball.solve(self.drift, self.noise, "gaussian(mean=0.3 0, var=0.3)", t, x, method="grid")
        return s.log_density, s.score


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--rows", type=int, default=4000)
    given = parser.parse_args()
    for problem in (Matrix(), Prices(), Wells()):
        rng, name = np.random.default_rng(11), type(problem).__name__.lower()
        model = heatball.train(problem.rows(rng, given.rows), drift=problem.drift, noise=problem.noise, steps=given.steps,
                               width=64, tau_min=problem.tau[0], tau_max=problem.tau[1], threads=1)
        print(f"{name}: {model.coordinates}", flush=True)
        for t in problem.times:
            x = problem.rows(rng, 2000, t)
            value, score = problem.exact(x, t)
            miss = np.sqrt(((model.score(x, t) - score)**2).sum()/(score**2).sum())
            print(f"  t {t:<5g} score {miss:.3f}  ln u {np.std(model.log_density(x, t) - value):.3f}", flush=True)
        x = problem.rows(rng, 300)
        gap = model.log_likelihood(x) - problem.exact(x, problem.tau[0])[0]
        print(f"  ln p - exact {gap.mean():+.3f} +- {gap.std()/np.sqrt(len(x)):.3f}, constant known to {model.log_normaliser()[1]:.1g}")
        fresh, other = problem.rows(rng, 2000), problem.rows(rng, 4000)
        found, floor = heatball.metrics.mmd(model.generate(2000), fresh), heatball.metrics.mmd_floor(other, fresh, 2000, 2000, times=20)
        print(f"  MMD^2 {found['mmd2']:.1e} +- {found['mmd2_se']:.1e}, floor {floor['mmd2']:.1e}, its 95 % {floor['mmd2_upper']:.1e}",
              flush=True)


if __name__ == "__main__":
    main()

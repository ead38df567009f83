"""Errors of scores by dimension: denoising alone, with averaged targets, fp and hb, on mixtures of four Gaussians.

    bench/loss_by_dimension.py DIM [SEED ...] [--method dsm,fp,hb] [--steps K] [--rows N]

Means are normal with deviation 1.2, covariances have random axes and eigenvalues 0.05 to 0.5. For each method a line: error of
the score, |s - exact|^2, at tau 0.03, 0.1, 0.3 and 0.8, over all draws / over the fifth of them with the lowest density, and
processor seconds of one thread. dsm and fp have the targets of hb (512 rows). docs/losses.md has results.
"""
import argparse
import time

import numpy as np

import heatball

TAUS = (0.03, 0.1, 0.3, 0.8)


class Mixture:
    def __init__(self, dim, rng, parts=4):
        self.means = 1.2 * rng.normal(size=(parts, dim))
        self.covariances = []
        for _ in range(parts):
            axes, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
            self.covariances.append(axes * np.exp(rng.uniform(np.log(0.05), np.log(0.5), dim)) @ axes.T)

    def draw(self, n, rng):
        part, z = rng.integers(0, len(self.means), n), rng.normal(size=(n, self.means.shape[1]))
        roots = [np.linalg.cholesky(c) for c in self.covariances]
        return np.stack([self.means[k] + roots[k] @ z[i] for i, k in enumerate(part)])

    def exact(self, y, a, b):
        """ln density up to a constant, and score, after the process has made a x + sqrt(b) noise of x."""
        logs, scores = [], []
        for mean, covariance in zip(self.means, self.covariances):
            root = np.linalg.cholesky(a * a * covariance + b * np.eye(len(mean)))
            u = np.linalg.solve(root, (y - a * mean).T)
            logs.append(-0.5 * (u ** 2).sum(0) - np.log(np.diag(root)).sum())
            scores.append(-np.linalg.solve(root.T, u).T)
        most = np.max(logs, axis=0)
        shares = np.exp(np.array(logs) - most)
        return most + np.log(shares.sum(0)), np.einsum("kn,knd->nd", shares / shares.sum(0), np.array(scores))


def errors(model, mixture, rng, n=4000):
    for tau in TAUS:
        a, b = np.exp(-tau), -np.expm1(-2 * tau)
        y = a * mixture.draw(n, rng) + np.sqrt(b) * rng.normal(size=(n, mixture.means.shape[1]))
        log_density, score = mixture.exact(y, a, b)
        miss = ((model.score(y, tau) - score) ** 2).sum(1)
        yield miss.mean(), miss[log_density <= np.quantile(log_density, 0.2)].mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dim", type=int)
    parser.add_argument("seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--method", default="dsm,fp,hb")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--rows", type=int, default=8000)
    given = parser.parse_args()
    for seed in given.seeds:
        for method in given.method.split(","):
            rng = np.random.default_rng(1000 + 10 * given.dim + seed)
            mixture = Mixture(given.dim, rng)
            rows, start = mixture.draw(given.rows, rng), time.process_time()
            model = heatball.train(rows, method, width=128, steps=given.steps, seed=7 + seed, standardise="no", threads=1,
                                   target_rows=512)
            seconds = time.process_time() - start
            print(given.dim, seed, method, f"{seconds:.1f} s", *(f"{e:.4g}/{low:.4g}" for e, low in errors(model, mixture, rng)),
                  flush=True)


if __name__ == "__main__":
    main()

"""Guided walks on independent pairs whose drift is no gradient, against sums of two-dimensional solutions of the grid.

    PYTHONPATH=python /usr/bin/python3 bench/guided_pairs.py [--dims 6 20 60] [--walks 4096] [--time 1] [--seed 1]

The drift of each pair is x - x^3 + 1.5 y, -y - 1.5 x, the noise sqrt(2), the initial density N(0.3, 0.3). Points: three ends of
trajectories, then two 1.6 times as far from the origin. Printed for each: ln u, its reported error, the relative standard deviation of one
walk, which is the error times the root of the number of walks, the difference to the grid in errors, for ln u and for the worst component of the score.
docs/explanation/guided-walks.md has its table.
"""
import argparse
import time

import numpy as np

import heatball

PAIR = "x{i} - x{i}^3 + 1.5*x{j}", "-x{j} - 1.5*x{i}"
NOISE, START = "sqrt(2)", "gaussian(mean=0.3, var=0.3)"


def ends(n, dim, span, rng):
    """Ends of n trajectories of the pairs, (n, dim)."""
    steps = 400
    h = span / steps
    z = 0.3 + np.sqrt(0.3) * rng.normal(size=(n, dim // 2, 2))
    for _ in range(steps):
        x, y = z[..., 0], z[..., 1]
        z = z + h * np.stack([x - x**3 + 1.5 * y, -y - 1.5 * x], -1) + np.sqrt(2 * h) * rng.normal(size=z.shape)
    return z.reshape(n, dim)


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--dims", type=int, nargs="+", default=[6, 20, 60])
    ask.add_argument("--walks", type=int, default=4096)
    ask.add_argument("--time", type=float, default=1)
    ask.add_argument("--seed", type=int, default=1)
    given = ask.parse_args()
    print("  d  point      ln u   error  one walk   off in errors: ln u, score")
    for dim in given.dims:
        rng = np.random.default_rng(given.seed)
        at = ends(5, dim, given.time, rng)
        at[3:] *= 1.6
        drift = [text.format(i=i, j=i + 1) for i in range(1, dim, 2) for text in PAIR]
        begin = time.process_time()
        s = heatball.solve(drift, NOISE, START, given.time, at, method="guided", samples=given.walks, threads=1)
        seconds = time.process_time() - begin
        pairs = heatball.solve([text.format(i=1, j=2) for text in PAIR], NOISE, START, given.time, at.reshape(-1, 2), method="grid")
        exact = pairs.log_density.reshape(5, -1).sum(1)
        score = pairs.score.reshape(5, dim)
        for i in range(5):
            error = s.log_density_error[i]
            off = (s.log_density[i] - exact[i]) / error
            off_score = np.abs(s.score[i] - score[i]) / s.score_error[i]
            print(f"{dim:3d}  {'1.6 times' if i > 2 else 'core':9s} {exact[i]:8.3f} {error:7.4f} {error * given.walks**0.5:7.2f} {off:11.1f} {off_score.max():7.1f}",
                  flush=True)
        print(f"     {seconds:.1f} s of one core; {s.note}")


main()

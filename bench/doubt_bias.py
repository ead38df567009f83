"""Whether a doubt selects: means of the points that are not doubted against the truth, over many seeds.

    PYTHONPATH=python /usr/bin/python3 bench/doubt_bias.py [--seeds 200] [--samples 8192]

Drift -50 x + 30 sin x, walks; the truth is the grid's. With a rule that does not look at the averaged draws both columns of
means agree with 1 within their errors. HEATBALL_LIBRARY chooses the library, for the comparison of two builds.
"""

import argparse

import numpy as np

import heatball

PROBLEM = dict(drift="-50*x + 30*sin(x)", noise="1", initial="gaussian(mean=0, var=1)")
TIMES, POINTS = (0.1,), np.array([[0.4], [0.5], [0.6]])


def mean_and_error(ratio):
    return f"{ratio.mean():7.4f} +- {ratio.std(ddof=1) / np.sqrt(len(ratio)):6.4f}" if len(ratio) > 1 else " " * 17


def table(time, seeds, samples, points):
    truth = heatball.solve(at=points, time=time, method="grid", **PROBLEM).density
    density, doubted = [], []
    for seed in range(seeds):
        s = heatball.solve(at=points, time=time, method="walk", samples=samples, seed=seed, **PROBLEM)
        density.append(s.density / truth)
        doubted.append(np.isinf(s.density_error))
    return np.array(density), np.array(doubted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--samples", type=int, default=8192)
    asked = parser.parse_args()
    print(f"{'t':>5} {'x':>6} {'doubted':>8} {'all':>17} {'undoubted':>17}")
    for time in TIMES:
        density, doubted = table(time, asked.seeds, asked.samples, POINTS)
        for i, x in enumerate(POINTS[:, 0]):
            print(f"{time:5g} {x:6.2f} {doubted[:, i].mean():8.3f} {mean_and_error(density[:, i])} "
                  f"{mean_and_error(density[~doubted[:, i], i])}", flush=True)
        print(f"{time:5g} {'all':>6} {doubted.mean():8.3f} {mean_and_error(density.ravel())} "
              f"{mean_and_error(density[~doubted])}", flush=True)


if __name__ == "__main__":
    main()

"""How often particles and walks claim no error: eight problems with known answers, many seeds.

    PYTHONPATH=python /usr/bin/python3 bench/share_of_doubts.py [--seeds 40]

A doubted point has an infinite error of its density. Of the points that are not doubted the table has the greatest |z| of
the log-density and of the score. HEATBALL_LIBRARY chooses the library, for the comparison of two builds.
"""

import argparse
import tempfile

import numpy as np

import estimate_problems as problems
import heatball

CASES = {
    "isotropic": (problems.ou(2), None),
    "anisotropic": (problems.anisotropic(3), None),
    "rotating": (problems.rotating(2), None),
    "mixture": (problems.two_bumps(2), None),
    "uniform": (problems.boxed(2), None),
    "bistable": (problems.bistable(), problems.BISTABLE_AT),
    "van_der_pol": (problems.van_der_pol(), problems.VAN_DER_POL_AT),
    "soft_wells": (problems.SoftWells(3), None),
}
SAMPLES = {"particles": 4096, "walk": 8192}


def doubts(problem, at, method, seeds, directory):
    """Shares of points and of scores without an error, and the greatest |z| of the others."""
    at = problem.place([0.2, 0.9]) if at is None else at
    v, score = problem.exact(at)
    point, slope, worst = [], [], 0.0
    for seed in range(seeds):
        s = heatball.solve(at=at, method=method, samples=SAMPLES[method], seed=1000 + seed,
                           **problem.problem(directory))
        point.append(np.isinf(s.density_error))
        slope.append(np.isinf(s.score_error).any(axis=1))
        z = np.column_stack([(s.log_density - v) / np.hypot(s.log_density_error, 1e-6),
                             (s.score - score) / np.hypot(s.score_error, 1e-6)])
        worst = max(worst, np.abs(z).max())
    return np.mean(point), np.mean(slope), worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=40)
    seeds = parser.parse_args().seeds
    print(f"{'':12} {'method':>9} {'doubted':>8} {'score doubted':>14} {'greatest |z|':>13}")
    total = {method: [] for method in SAMPLES}
    with tempfile.TemporaryDirectory() as directory:
        for name, (problem, at) in CASES.items():
            for method in SAMPLES:
                point, slope, worst = doubts(problem, at, method, seeds, directory)
                total[method].append((point, slope))
                print(f"{name:12} {method:>9} {point:8.3f} {slope:14.3f} {worst:13.2f}", flush=True)
    for method, shares in total.items():
        print(f"{'all':12} {method:>9} {np.mean(shares, axis=0)[0]:8.3f} {np.mean(shares, axis=0)[1]:14.3f}")


if __name__ == "__main__":
    main()

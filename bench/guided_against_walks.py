"""Guided walks (solve --method guided) against walks and particles, at equal seconds, in 4 to 16 dimensions.

    PYTHONPATH=python /usr/bin/python3 bench/guided_against_walks.py [wells8:0.3 turned_wells8:0.3 ...] [--points 8] [--quick]

A problem is NAME DIM : TIME; NAME is wells, soft or random, whose drift has coefficients by --seed, and turned_ may stand before it. The truth is a product
of one-dimensional solutions of the grid, in the plain frame or in a turned one; points are drawn from the solution. A line for each method: processor
seconds of a point (of guided with its part of the fit), the 68 % quantile of the errors of ln u and of the score's components, the fraction of values that
have a finite error, the fraction of errors of ln u and of the score within twice the reported error, and how many times the seconds of guided a method
takes to guided's error,

    (error/error of guided)^2 x seconds/seconds of guided        for ln u and for the score; inf: more than a third has no finite error.

docs/explanation/guided-walks.md has results.
"""
import argparse
import time

import numpy as np

import heatball

START = 0.25
LINES = {"wells": "{0} - ({0})^3", "soft": "-({0}) + 2*({0})/(1 + ({0})^2)"}
LATTICE = np.linspace(-4.5, 4.5, 3601)


class Problem:
    """d copies of a line's drift F, in the frame of the axes or in a random one; from N(0, START)."""

    def __init__(self, name, seed):
        self.turned = name.startswith("turned_")
        kind = name.removeprefix("turned_").rstrip("0123456789")
        a, b, c, k = np.random.default_rng(seed).uniform([-1, 0.2, -1, 1], [1.5, 1, 1, 2]).round(3)
        self.text = LINES.get(kind, f"{a}*({{0}}) - {b}*({{0}})^3 + {c}*sin({k}*({{0}}))")
        self.dim = int(name.removeprefix("turned_")[len(kind):])
        rng = np.random.default_rng(7 + self.dim)
        self.axes = np.linalg.qr(rng.normal(size=(self.dim, self.dim)))[0] if self.turned else None
        self.initial = f"gaussian(mean=0, var={START})"

    def inside(self, x):
        return x @ self.axes if self.turned else x

    def outside(self, y):
        return y @ self.axes.T if self.turned else y

    def drift_text(self):
        if not self.turned:
            return ", ".join(self.text.format(f"x{i + 1}") for i in range(self.dim))
        lines = [self.text.format("+".join(f"({a!r})*x{i + 1}" for i, a in enumerate(map(float, column)))) for column in self.axes.T]
        return ", ".join("+".join(f"({a!r})*({line})" for a, line in zip(map(float, row), lines)) for row in self.axes)

    def solve_line(self, tau):
        """Draws of the solution at tau, and its exact ln u and score."""
        s = heatball.solve(drift=self.text.format("x"), noise="sqrt(2)", initial=self.initial, time=tau, at=LATTICE, method="grid", threads=1)
        below = np.cumsum(s.density) / s.density.sum()
        def draw(n, rng):
            return self.outside(np.interp(rng.uniform(size=(n, self.dim)), below, LATTICE))
        def exact(x):
            y = self.inside(x)
            return (np.interp(y, LATTICE, s.log_density).sum(1),
                    self.outside(np.interp(y, LATTICE, s.score[:, 0])))
        return draw, exact


def quantile(miss):
    """68 % of the errors are below it; what is not a number counts as infinite."""
    miss = np.sort(np.nan_to_num(np.abs(miss).ravel(), nan=np.inf))
    return miss[int(0.68 * len(miss))]


def share(inside):
    return f"{inside.mean():.2f}" if inside.size else "-"


def judged(s, exact):
    """Quantiles of the errors of ln u and of the score, the fraction with a finite one, which are within two reported ones."""
    v, score = exact(s.x)
    rows = []
    for value, truth, error in ((s.log_density, v, s.log_density_error), (s.score, score, s.score_error)):
        miss, reported = np.abs(value - truth).ravel(), error.ravel()
        known = np.isfinite(reported)
        rows.append((quantile(np.where(known, miss, np.inf)), known.mean(), miss[known] <= 2 * reported[known]))
    return rows


def run(problem, method, at, tau, **settings):
    start = time.process_time()
    s = heatball.solve(drift=problem.drift_text(), noise="sqrt(2)", initial=problem.initial, time=tau, at=at, method=method, threads=1, **settings)
    return s, time.process_time() - start


def show(problem, method, seconds, rows, times):
    print(f"{problem:>18} {method:>10} {seconds:9.3f} {rows[0][0]:9.4f} {rows[1][0]:9.4f} {rows[0][1]:6.2f} {rows[1][1]:6.2f} "
          f"{share(rows[0][2]):>7} {share(rows[1][2]):>7} {times[0]:8.1f} {times[1]:8.1f}", flush=True)


def measure(name, given):
    """Which errors of ln u are within two reported ones, of guided walks and of walks."""
    tau, rng = float(name.split(":")[1]), np.random.default_rng(given.seed)
    problem = Problem(name.split(":")[0], given.seed)
    draw, exact = problem.solve_line(tau)
    at, inside, first = draw(given.points, rng), [], None
    for method, samples in (("guided", given.guided), ("walk", given.walks), ("particles", given.trajectories)):
        s, seconds = run(problem, method, at, tau, samples=samples, seed=given.seed)
        rows = judged(s, exact)
        first = first or (seconds, rows)
        show(name, method, seconds / given.points, rows,
             [(mine[0] / base[0]) ** 2 * seconds / first[0] for mine, base in zip(rows, first[1])])
        inside += [rows[0][2]] if method != "particles" else []
    return np.concatenate(inside)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=["wells4:1", "wells8:0.3", "wells8:1", "wells16:0.3", "turned_wells8:0.3"])
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--points", type=int, default=8)
    parser.add_argument("--guided", type=int, default=16384, help="guided walks from a point")
    parser.add_argument("--quick", action="store_true", help="one problem with few samples: seconds")
    given = parser.parse_args()
    given.walks, given.trajectories = 8192, 32768
    if given.quick:
        given.problems, given.points, given.guided, given.walks, given.trajectories = ["wells2:0.3"], 16, 2048, 2048, 4096
    print(f"{'problem':>18} {'method':>10} {'seconds':>9} {'ln u':>9} {'score':>9} {'finite':>13} {'inside':>15} {'times guided':>17}")
    inside = np.concatenate([measure(name, given) for name in given.problems])
    print(f"guided walks and walks: {100 * inside.mean():.1f} % of {inside.size} errors of ln u within two reported errors")


if __name__ == "__main__":
    main()

"""Walks that a network guides (solve --method network) against walks and particles, at equal seconds, in 4 to 16 dimensions.

    PYTHONPATH=python /usr/bin/python3 bench/network_against_walks.py [wells8:0.3 turned_wells8:0.3 ...] [--training 3000] [--quick]

A problem is NAME DIM : TIME; NAME is wells, soft or random, whose drift has coefficients by --seed, and turned_ may stand before it. The truth is a product of one-dimensional solutions of the grid, in the plain frame or in a turned one; points
are drawn from the solution. A line for each method: processor seconds (of the whole call for the network's values, else for each point), the
68 % quantile of the errors of ln u and of the score's components, the fraction of points that have a finite error, the fraction of errors of ln u and of
the score within twice the reported error (of the network's values: within it), and the number of points from which on the network's values are ahead at equal
seconds, for ln u and the score: with N points walks have S/N seconds each, and sqrt(c N/S) times the error that they have after c seconds.
"guided" are the points that --method network walks from, its seconds without the training, which the line "network" has. docs/explanation/guided-walks.md has
results, docs/dev/tuning-history.md those of the losses.
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


def judged(s, exact, chosen, times):
    """Quantiles of the errors of ln u and of the score, share with a claim, shares of errors within so many claims."""
    v, score = exact(s.x)
    rows = []
    for value, truth, error in ((s.log_density, v, s.log_density_error), (s.score, score, s.score_error)):
        miss, claim = np.abs(value - truth)[chosen].ravel(), error[chosen].ravel()
        known = np.isfinite(claim)
        rows.append((quantile(miss), known.mean(), miss[known] <= times * claim[known]))
    return rows


def run(problem, method, at, tau, **settings):
    start = time.process_time()
    s = heatball.solve(drift=problem.drift_text(), noise="sqrt(2)", initial=problem.initial, time=tau, at=at, method=method, threads=1, **settings)
    return s, time.process_time() - start


def points_from_which(total, ours, seconds, theirs):
    """N with theirs * sqrt(c N/S) = ours, for ln u and for the score."""
    return [f"{max(total / seconds * (a[0] / b[0]) ** 2, 1):.0f}" for a, b in zip(ours, theirs)]


def show(problem, method, seconds, rows, ahead=("", "")):
    print(f"{problem:>18} {method:>10} {seconds:9.3f} {rows[0][0]:9.4f} {rows[1][0]:9.4f} {rows[0][1]:6.2f} {rows[1][1]:6.2f} "
          f"{share(rows[0][2]):>7} {share(rows[1][2]):>7} {ahead[0]:>8} {ahead[1]:>8}", flush=True)


def measure(name, given):
    """Shares of errors of ln u within two claims, of walks and of guided walks."""
    tau, rng = float(name.split(":")[1]), np.random.default_rng(given.seed)
    problem = Problem(name.split(":")[0], given.seed)
    draw, exact = problem.solve_line(tau)
    s, total = run(problem, "network", draw(given.many, rng), tau, training_steps=given.training, samples=given.guided, seed=given.seed)
    walked = s.samples > 0
    ours, guided = judged(s, exact, ~walked, 1), judged(s, exact, walked, 2)
    _, few = run(problem, "network", draw(3, rng), tau, training_steps=10, samples=given.guided)
    show(name, "network", total, ours)
    show(name, "guided", few / 3, guided, points_from_which(total, ours, few / 3, guided))
    inside = [guided[0][2]]
    for method, count, samples in (("walk", given.points, given.walks), ("particles", given.clouds, given.trajectories)):
        s, seconds = run(problem, method, draw(count, rng), tau, samples=samples)
        rows = judged(s, exact, np.ones(count, bool), 2)
        show(name, method, seconds / count, rows, points_from_which(total, ours, seconds / count, rows))
        inside += [rows[0][2]] if method == "walk" else []
    return np.concatenate(inside)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=["wells4:1", "wells8:0.3", "wells8:1", "wells16:0.3", "turned_wells8:0.3"])
    parser.add_argument("--training", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--guided", type=int, default=256, help="guided walks from a point")
    parser.add_argument("--quick", action="store_true", help="one problem with a short training: seconds")
    given = parser.parse_args()
    given.walks, given.trajectories, given.points, given.clouds, given.many = 8192, 32768, 8, 100, 2000
    if given.quick:
        given.problems, given.training, given.many, given.guided = ["wells2:0.3"], 100, 100, 64
        given.points, given.clouds, given.trajectories = 6, 6, 4096
    print(f"{'problem':>18} {'method':>10} {'seconds':>9} {'ln u':>9} {'score':>9} {'claimed':>13} {'inside':>15} {'ahead from N':>17}")
    inside = np.concatenate([measure(name, given) for name in given.problems])
    print(f"walks and guided walks: {100 * inside.mean():.1f} % of {inside.size} errors of ln u within two claimed errors")


if __name__ == "__main__":
    main()

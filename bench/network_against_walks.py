"""A network that is trained on an SDE, against walks and particles, at equal seconds, in 4 to 16 dimensions.

    PYTHONPATH=python /usr/bin/python3 bench/network_against_walks.py [wells4 wells8 ...] [--steps 5000] [--quick] [--published]

The truth is a product of one-dimensional solutions of the grid, in the plain or in a rotated frame. Rows of training are drawn from the
start. For each problem and each of three times, points are drawn from the solution. Lines: method, processor seconds (of the training, or
for each point), the 68 % quantile of the errors of ln u and of the score's components, the share of points with a claimed error, the
share of those within two errors (of the network: within its 90 % claims, ln u and score, from guided_walks.py), and the number of points of one time
from which on the network is ahead at equal seconds: walks for N points have S/N seconds each, and error sqrt(c N/S) times that of c seconds.
docs/networks-as-solvers.md has results. --published runs problems of the literature that `solve` accepts.
"""
import argparse
import time

import numpy as np

import guided_walks
import heatball

TIMES, TAU_MIN, START = (0.1, 0.3, 1.0), 0.05, 0.25
LINES = {"wells": ("{0} - ({0})^3", lambda x: x - x ** 3), "soft": ("-({0}) + 2*({0})/(1 + ({0})^2)", lambda x: -x + 2 * x / (1 + x * x))}
LATTICE = np.linspace(-4.5, 4.5, 3601)


class Problem:
    """d copies of a line's drift F, in the frame of the axes or in a random one; from N(0, START)."""

    def __init__(self, name):
        self.turned = name.startswith("turned_")
        kind = name.removeprefix("turned_").rstrip("0123456789")
        self.text, self.line = LINES[kind]
        self.dim = int(name.removeprefix("turned_")[len(kind):])
        rng = np.random.default_rng(7 + self.dim)
        self.axes = np.linalg.qr(rng.normal(size=(self.dim, self.dim)))[0] if self.turned else None
        self.initial = f"gaussian(mean=0, var={START})"

    def inside(self, x):
        return x @ self.axes if self.turned else x

    def outside(self, y):
        return y @ self.axes.T if self.turned else y

    def drift(self, x):
        return self.outside(self.line(self.inside(x)))

    def drift_text(self):
        if not self.turned:
            return ", ".join(self.text.format(f"x{i + 1}") for i in range(self.dim))
        lines = [self.text.format("+".join(f"({a!r})*x{i + 1}" for i, a in enumerate(map(float, column)))) for column in self.axes.T]
        return ", ".join("+".join(f"({a!r})*({line})" for a, line in zip(map(float, row), lines)) for row in self.axes)

    def draw_start(self, n, rng):
        return np.sqrt(START) * rng.normal(size=(n, self.dim))

    def log_start(self, x):
        return -0.5 * (x ** 2).sum(1) / START - 0.5 * self.dim * np.log(2 * np.pi * START)

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


def sampled(problem, method, at, tau, exact, samples):
    start = time.process_time()
    s = heatball.solve(drift=problem.drift_text(), noise="sqrt(2)", initial=problem.initial, time=tau, at=at, method=method, samples=samples,
                       threads=1)
    seconds = (time.process_time() - start) / len(at)
    v, score = exact(at)
    known = np.isfinite(s.log_density_se)
    inside = np.abs(s.log_density - v)[known] <= 2 * s.log_density_se[known]
    return seconds, quantile(s.log_density - v), quantile(s.score - score), known.mean(), inside


def guided(guide, at, tau, exact, rng, steps, walks):
    start = time.process_time()
    v, error = guide.log_density(at, tau, steps, walks, rng)
    seconds = (time.process_time() - start) / len(at)
    miss = v - exact(at)[0]
    return seconds, quantile(miss), np.nan, 1.0, np.abs(miss) <= 2 * error


def network(guide, tau, draw, exact, rng, probes, steps, walks):
    """As `sampled`, and the share of slopes within their claim."""
    start = time.process_time()
    shift, claim, slope_claim = guided_walks.claims(guide, draw(probes, rng), tau, steps, walks, rng)
    seconds = time.process_time() - start
    x = draw(2000, rng)
    v, score = exact(x)
    along = rng.normal(size=x.shape)
    along /= np.linalg.norm(along, axis=1)[:, None]
    miss, slope = guide.model.log_density(x, tau) + shift - v, guide.model.score(x, tau) - score
    return seconds, quantile(miss), quantile(slope), (claim, slope_claim), (np.abs(miss) <= claim, np.abs((slope * along).sum(1)) <= slope_claim)


def show(problem, tau, method, seconds, v, score, claimed, inside, ahead=("", "")):
    print(f"{problem:>14} {tau:4g} {method:>10} {seconds:9.3f} {v:9.4f} {score:9.4f} {claimed:>13} {inside:>11} {ahead[0]:>9} {ahead[1]:>9}", flush=True)


def points_from_which(training, ours, theirs):
    """N with theirs * sqrt(c N/S) = ours, for ln u and for the score."""
    seconds = theirs[0]
    return tuple("-" if np.isnan(b) else "never" if not np.isfinite(a) else f"{max(training / seconds * (a / b) ** 2, 1):.0f}"
                 for a, b in zip(ours[1:3], theirs[1:3]))


def measure(name, given):
    problem, rng = Problem(name), np.random.default_rng(3)
    rows, start = problem.draw_start(20000, rng), time.process_time()
    model = heatball.train(rows, given.method, drift=problem.drift_text(), width=128, steps=given.steps, target_rows=512, tau_min=TAU_MIN,
                           tau_max=max(given.times), threads=1)
    training = time.process_time() - start
    covered = []
    for tau in given.times:
        draw, exact = problem.solve_line(tau)
        guide = guided_walks.Guide(problem.drift, problem.log_start, lambda x: -x / START, model, TAU_MIN, draw(1000, rng))
        ours = network(guide, tau, draw, exact, rng, given.probes, given.chain, given.guided)
        at = draw(given.points, rng)
        theirs = {"walk": sampled(problem, "walk", at, tau, exact, given.walks),
                  "particles": sampled(problem, "particles", draw(given.many, rng), tau, exact, given.trajectories),
                  "guided": guided(guide, at, tau, exact, rng, given.chain, given.guided)}
        total = training + ours[0]
        show(name, tau, "network", total, *ours[1:3], "{:.2f}/{:.2f}".format(*ours[3]), "{:.2f}/{:.2f}".format(*(np.mean(i) for i in ours[4])))
        for method, result in theirs.items():
            show(name, tau, method, *result[:3], f"{result[3]:.2f}", f"{np.mean(result[4]):.2f}" if len(result[4]) else "-",
                 points_from_which(total, ours, result))
            if method != "particles":
                covered.append(result[4])
    return np.concatenate(covered).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=["wells4", "wells8", "wells16", "turned_wells8", "soft8"])
    parser.add_argument("--method", default="hb", help="loss of the network: dsm, fp or hb")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--times", type=float, nargs="*", default=TIMES)
    parser.add_argument("--quick", action="store_true", help="one problem, one time, a short training: seconds")
    parser.add_argument("--published", action="store_true")
    given = parser.parse_args()
    given.walks, given.trajectories, given.points, given.many, given.probes, given.chain, given.guided = 8192, 32768, 12, 200, 32, 64, 256
    if given.quick:
        given.problems, given.times, given.steps = ["wells4"], (0.3,), 300
        given.points, given.many, given.trajectories, given.probes, given.chain = 12, 12, 4096, 16, 24
    if given.published:
        import published_problems
        return published_problems.main()
    print(f"{'problem':>14} {'tau':>4} {'method':>10} {'seconds':>9} {'ln u':>9} {'score':>9} {'claimed':>13} {'inside':>11} {'ahead from N: ln u, score':>19}")
    shares = [measure(name, given) for name in given.problems]
    print(f"within two standard errors, walks and guided walks: {np.mean(shares):.2f}")


if __name__ == "__main__":
    main()

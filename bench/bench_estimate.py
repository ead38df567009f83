#!/usr/bin/env python3
"""Error^2 x time of particles and walks against their peers; ratios above 1 are in our favour.

    python3 bench/bench_estimate.py [--quick] [--rounds 20] [--seconds S] [--only particles|walk|growth]

Both sides run in turns on one thread. Errors are measured against the exact answer over all rounds (root
mean square, relative); times are those of the processor, and the best round counts. What is compared:

particles : KDE     the same number of trajectories, all points in one call; density and score. The time of
                    KDE includes its trajectories (exact ends for linear drifts, Heun otherwise).
walk : Feynman-Kac  one point. The peer is peer_walk.c (C, vectorised, the library's own normals) and
                    its NumPy version, at the number of steps where its bias equals a standard error of
                    1 %, and once more where it equals 0.2 %: error^2 = 2 sd^2/n there, so error^2 x time =
                    2 sd^2 x (seconds per walk). The bias
                    is computed (scheme_log), not measured. On the bistable problem there are two
                    peers: plain Feynman-Kac, whose reversed drift explodes, and the one after the gauge
                    transform, whose variance grows with steps and paths, since it is infinite in the
                    limit. Under a linear drift our walk is one exact step (the row says so and has no
                    ratio), so the drift of "soft wells" and the bistable one show what walks cost.
growth              seconds of ours against dimension, points and samples.

The table is printed and kept in build/bench_estimate.json.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402  (after the environment is set)

import estimate_problems as problems  # noqa: E402
import peer_estimate  # noqa: E402
from rounds import turns  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("HEATBALL_BUILD", ROOT / "build"))
os.environ.setdefault("HEATBALL_LIBRARY", str(BUILD / "libheatball.so"))
sys.path.insert(0, str(ROOT / "python"))

import heatball  # noqa: E402

TRAJECTORIES = 8192
LEVELS = {0.01: (32768, 65536), 0.002: (131072, 262144)}  # standard error = the peer's bias: our walks, its
EXACT = 1e-9  # a relative error below it is no Monte Carlo error


def timed(function, *arguments, **options):
    start = time.process_time()
    result = function(*arguments, **options)
    return time.process_time() - start, result


class Errors:
    """Relative errors over rounds, and the best time."""

    def __init__(self, problem, at):
        v, self.score = problem.exact(at)
        self.density, self.seconds = np.exp(v), np.inf
        self.size = np.maximum(np.linalg.norm(self.score, axis=1), 0.1)
        self.squares = []  # (density, score), means over the points

    def add(self, seconds, density, score):
        self.seconds = min(self.seconds, seconds)
        away = np.linalg.norm(score - self.score, axis=1) / self.size
        self.squares.append((np.mean((density / self.density - 1)**2), np.mean(away**2)))

    def cost(self, which):
        """Error^2 x time of density (0) or score (1)."""
        return np.mean(self.squares, axis=0)[which] * self.seconds

    def rms(self, which):
        return np.sqrt(np.mean(self.squares, axis=0)[which])


def particle_rows(rounds, directory, quick, seconds):
    cases = [(problems.ou(2), None), (problems.anisotropic(4), None), (problems.rotating(), None),
             (problems.bistable(), problems.BISTABLE_AT)]
    if not quick:
        cases += [(problems.ou(d), None) for d in (1, 3, 6, 10)]
        cases += [(problems.two_bumps(), None), (problems.anisotropic(10), None),
                  (problems.SoftWells(3), None),
                  (problems.van_der_pol(), problems.VAN_DER_POL_AT)]
    for problem, at in cases:
        at = problem.place([0.0, 0.5, 1.0]) if at is None else at
        arguments = problem.problem(directory)
        ours, theirs = Errors(problem, at), Errors(problem, at)
        rng = np.random.Generator(np.random.SFC64(5))
        for k in turns(rounds, seconds / len(cases), least=2):
            taken, s = timed(heatball.solve, at=at, method="particles", samples=TRAJECTORIES,
                               seed=100 + k, threads=1, **arguments)
            ours.add(taken, s.density, s.score)
            first, x = timed(peer_estimate.ends, problem, rng, TRAJECTORIES)
            second, (u, score) = timed(peer_estimate.kde, x, at)
            theirs.add(first + second, u, score)
        yield {"case": problem.name, "peer": "Scott KDE", "samples": TRAJECTORIES,
               "ours_seconds": ours.seconds, "peer_seconds": theirs.seconds,
               "ours_density": ours.rms(0), "peer_density": theirs.rms(0),
               "ours_score": ours.rms(1), "peer_score": theirs.rms(1),
               "density_ratio": theirs.cost(0) / ours.cost(0),
               "score_ratio": theirs.cost(1) / ours.cost(1)}


def peer_arguments(problem, x, kind, steps, walks, seed):
    """Words for peer_walk."""
    words = [kind, steps, walks, seed, repr(problem.tau)]
    if kind != "linear":
        return words + [problem.dim] * (kind == "soft") + x.tolist()
    words += [problem.dim, "gaussian"] if isinstance(problem, problems.Linear) else [problem.dim,
                                                                                    "uniform"]
    words += problem.A.ravel().tolist() + x.tolist()
    if isinstance(problem, problems.Linear):
        return words + problem.means[0].tolist() + problem.variances[0].tolist()
    return words + [problem.low, problem.high]


def peer_in_c(problem, x, kind, steps, walks, seed):
    words = [BUILD / "bench/peer_walk", *peer_arguments(problem, x, kind, steps, walks, seed)]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def peer_in_numpy(problem, x, kind, steps, walks, rng):
    if kind == "linear":
        return timed(peer_estimate.feynman_kac_linear, problem, x, walks, steps, rng)[0]
    law = peer_estimate.Soft(problem) if kind == "soft" else peer_estimate.Bistable
    return timed(peer_estimate.feynman_kac, law, x, problem.tau, walks, steps, rng,
                 kind == "gauge")[0]


class Peer:
    """Feynman-Kac in C at the steps that an error asks for."""

    def __init__(self, problem, x, kind, level):
        self.problem, self.x, self.kind, self.walks = problem, x, kind, LEVELS[level][1]
        self.steps, self.bias = peer_estimate.steps_for_bias(problem, x, level, kind == "gauge")
        self.runs = []

    def run(self):
        self.runs.append(peer_in_c(self.problem, self.x, self.kind, self.steps, self.walks, 1 + len(self.runs)))

    def numpy_seconds(self):
        rng, walks = np.random.Generator(np.random.SFC64(3)), 4096
        with np.errstate(invalid="ignore"):  # of so few, none may end inside a box
            return min(peer_in_numpy(self.problem, self.x, self.kind, self.steps, walks, rng)
                       for _ in range(2)) / walks

    def cost(self):
        """Error^2 x time of density and of score (None without one), seconds per walk."""
        problem, x, runs = self.problem, self.x, self.runs
        u, score = np.exp(problem.exact(x[None])[0][0]), problem.exact(x[None])[1][0]
        seconds = min(run["seconds"] / run["walks"] for run in runs)
        variance = np.mean([run["density_sd"]**2 for run in runs]) / u**2
        expected = np.exp(peer_estimate.scheme_log(problem, x, self.steps, self.kind == "gauge")) / u
        found = np.mean([run["density"] for run in runs]) / u
        if abs(found - expected) > 6 * np.sqrt(variance / (self.walks * len(runs))):
            raise SystemExit(f"peer_walk {self.kind} gives {found} of {problem.name}; it must be {expected}")
        cost = {"seconds": seconds, "density": 2 * variance * seconds, "sd": np.sqrt(variance), "score": None}
        if runs[0]["score"]:
            spread = np.mean([np.sum(np.square(run["score_sd"])) for run in runs])
            cost["score"] = 2 * spread / max(score @ score, 0.01) * seconds
        return cost


def walk_cases(quick):
    linear = [problems.ou(3), problems.rotating(), problems.boxed(3)]
    soft = [problems.SoftWells(d) for d in ((1, 3) if quick else (1, 3, 6))]
    if not quick:
        linear += [problems.ou(d) for d in (1, 6, 10)] + [problems.boxed(10)]
        linear += [problems.anisotropic(d) for d in (3, 6, 10)]
    yield from ((p, p.place([0.7])[0], ["linear"], [0.01]) for p in linear)
    yield from ((p, p.place([0.7])[0], ["soft"], LEVELS) for p in soft)
    for x in problems.BISTABLE_AT:
        yield problems.bistable(), x, ["bistable", "gauge"], [0.01] if quick else LEVELS


def walk_rows(rounds, directory, quick, seconds):
    cases = [(*case, level) for *case, levels in walk_cases(quick) for level in levels]
    for problem, x, kinds, level in cases:
        arguments, ours = problem.problem(directory), Errors(problem, x[None])
        peers, walks = [Peer(problem, x, kind, level) for kind in kinds], LEVELS[level][0]
        for k in turns(rounds, seconds / len(cases), least=2):
            taken, s = timed(heatball.solve, at=x[None], method="walk", samples=walks, seed=100 + k,
                             threads=1, **arguments)
            ours.add(taken, s.density, s.score)
            for peer in peers:
                peer.run()
        for peer in peers:
            cost, exact = peer.cost(), ours.rms(0) < EXACT
            name = problem.name + (f" x={x[0]:g}" if problem.name == "bistable" else "")
            yield {"case": name, "peer": "gauge" if peer.kind == "gauge" else "plain", "level": level,
                   "samples": walks, "steps": peer.steps, "bias": peer.bias, "exact": exact,
                   "ours_seconds": ours.seconds / walks, "peer_seconds": cost["seconds"],
                   "numpy_seconds": peer.numpy_seconds(),
                   "ours_density": ours.rms(0) * np.sqrt(walks), "peer_density": cost["sd"],
                   "density_ratio": None if exact else cost["density"] / ours.cost(0),
                   "score_ratio": None if exact or cost["score"] is None
                   else cost["score"] / ours.cost(1)}


def growth_rows(rounds, directory):
    def best(problem, at, method, samples):
        return min(timed(heatball.solve, at=at, method=method, samples=samples, threads=1,
                         **problem.problem(directory))[0] for _ in range(rounds))

    usual = {"particles": 8192, "walk": 16384}
    for method, samples in usual.items():
        for d in (1, 2, 4, 8):
            problem = problems.SoftWells(d, 0.2)
            yield {"method": method, "grows": "dimension", "value": d,
                   "seconds": best(problem, problem.place([0.3]), method, samples)}
        problem = problems.SoftWells(3, 0.2)
        for points in (1, 4, 16, 64):
            at = problem.place(np.linspace(-1, 1, points) if points > 1 else [0.3])
            yield {"method": method, "grows": "points", "value": points,
                   "seconds": best(problem, at, method, samples)}
        for more in (1, 4, 16):
            yield {"method": method, "grows": "samples", "value": more * samples,
                   "seconds": best(problem, problem.place([0.3]), method, more * samples)}
    problem = problems.anisotropic(3)  # linear: particles need no correction and no pilot
    for points in (1, 100, 10000):
        at = problem.place(np.linspace(-1.5, 1.5, points) if points > 1 else [0.3])
        yield {"method": "particles", "grows": "points, linear drift", "value": points,
               "seconds": best(problem, at, "particles", 8192)}


def text(value, form):
    return format("-" if value is None else value, form if value is not None else
                  form.split(".")[0])


def print_particles(rows):
    print(f"\nparticles : Scott KDE, {TRAJECTORIES} trajectories, three points; error^2 x time, peer/ours")
    print(f"{'':24}{'rms error of density':>22}{'of score':>18}{'seconds':>18}{'ratio':>9}{'score':>9}")
    print(f"{'':24}{'ours':>12}{'KDE':>10}{'ours':>9}{'KDE':>9}{'ours':>9}{'KDE':>9}")
    for r in rows:
        print(f"{r['case']:24}{r['ours_density']:12.4f}{r['peer_density']:10.4f}{r['ours_score']:9.4f}"
              f"{r['peer_score']:9.4f}{r['ours_seconds']:9.4f}{r['peer_seconds']:9.4f}"
              f"{r['density_ratio']:9.2g}{r['score_ratio']:9.2g}")


def print_walks(rows):
    print("\nwalk : Feynman-Kac (C) where its bias equals the standard error; error^2 x time, peer/ours")
    print(f"{'':24}{'error':>6}{'peer':>7}{'steps':>7}{'us per walk':>20}{'NumPy':>8}{'deviation':>18}{'ratio':>9}"
          f"{'score':>9}")
    for r in rows:
        print(f"{r['case']:24}{r['level']:6.1%}{r['peer']:>7}{r['steps']:7d}{1e6 * r['ours_seconds']:10.3f}"
              f"{1e6 * r['peer_seconds']:10.3f}{1e6 * r['numpy_seconds']:8.2f}{r['ours_density']:9.2f}"
              f"{r['peer_density']:9.2f}" + ("    exact" if r["exact"] else
                                             f"{r['density_ratio']:9.2g}"
                                             + text(r["score_ratio"], "9.2g")))


def print_growth(rows):
    print("\ngrowth of the seconds")
    for key in dict.fromkeys((r["method"], r["grows"]) for r in rows):
        print(f"{key[0]:10} {key[1]:21}", "  ".join(
            f"{r['value']}: {r['seconds']:.3f}" for r in rows if (r["method"], r["grows"]) == key))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer cases and rounds")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="fewer rounds when they would take longer")
    parser.add_argument("--only", choices=["particles", "walk", "growth"])
    arguments = parser.parse_args()
    rounds, out = 5 if arguments.quick else arguments.rounds, {}

    def wanted(name):
        return arguments.only in (None, name)

    with tempfile.TemporaryDirectory() as directory:
        if wanted("particles"):
            out["particles"] = list(particle_rows(rounds, directory, arguments.quick, arguments.seconds / 3))
            print_particles(out["particles"])
        if wanted("walk"):
            out["walk"] = list(walk_rows(rounds, directory, arguments.quick, 2 * arguments.seconds / 3))
            print_walks(out["walk"])
        if wanted("growth"):
            out["growth"] = list(growth_rows(1 if arguments.quick else 3, directory))
            print_growth(out["growth"])
    with open(BUILD / "bench_estimate.json", "w", encoding="utf-8") as file:
        json.dump({"rounds": rounds, **out}, file, indent=1, default=float)


if __name__ == "__main__":
    sys.exit(main())

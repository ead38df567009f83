"""Guided walks on problems drawn at random, against products of solutions of the grid.

    PYTHONPATH=python /usr/bin/python3 bench/guided_attack.py [--kind density|point|many|weak] [--problems 40] [--first 0] [--method auto] [--points 4] [--seconds 30]

A problem is a product of blocks of one and two coordinates whose drifts are no gradients, in axes turned by a random rotation (weak, many:
by rotations of a few pairs of axes). Its density is the product of the blocks', which the grid solves to 1e-4 or better; points are ends of
trajectories, every third 1.4 times as far out. A value is a log-density or a component of the score. Printed: the fraction of flagged values (infinite errors),
the largest |z|, the pooled coverage of the 95 % intervals, the median relative error of the density, the seconds of a point.
    density  d = 2 to 8 from a Gaussian       point  d = 2 to 100 from a point       many  d = 20, 50, 100 from a Gaussian, weakly coupled
"""
import argparse
import pathlib
import sys
import time

import numpy as np

import heatball

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests/python"))
from guided_problems import Problem  # noqa: E402


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--kind", default="density")
    ask.add_argument("--problems", type=int, default=40)
    ask.add_argument("--first", type=int, default=0)
    ask.add_argument("--method", default="auto")
    ask.add_argument("--points", type=int, default=4)
    ask.add_argument("--seconds", type=float, default=0)
    ask.add_argument("--stderr", type=float)
    ask.add_argument("--threads", type=int, default=1)
    ask.add_argument("--quiet", action="store_true")
    a = ask.parse_args()
    z, relative, flagged, total, seconds, bad = [], [], 0, 0, [], []
    for seed in range(a.first, a.first + a.problems):
        p = Problem(seed, a.kind)
        y = p.draw(a.points)
        try:
            log_u, error, score, score_error = p.truth(y)
        except heatball.Error as e:
            print(seed, "no reference:", e)
            continue
        x, turned = y @ p.axes.T, score @ p.axes.T
        begin = time.process_time()
        s = heatball.solve(p.drift(), "sqrt(2)", p.whole_start(), p.time, x, dim=p.dim, method=a.method, threads=a.threads, stderr=a.stderr,
                           max_time=a.seconds * a.points or None)
        seconds.append((time.process_time() - begin) / a.points)
        known = error < 0.02
        lines = []
        for i in np.flatnonzero(known):
            total += 1 + p.dim
            off = not np.isfinite(s.log_density_error[i])
            off_score = ~np.isfinite(s.score_error[i])
            flagged += off + off_score.sum()
            if not off:
                relative.append(s.log_density_error[i])
                z.append((s.log_density[i] - log_u[i]) / np.hypot(s.log_density_error[i], error[i]))
                lines.append(z[-1])
            good = np.flatnonzero(~off_score & np.isfinite(score_error[i]).all())
            zs = (s.score[i, good] - turned[i, good]) / np.hypot(s.score_error[i, good], np.linalg.norm(score_error[i]))
            z += list(zs)
            lines += list(zs)
        if not a.quiet:
            worst = max(lines, key=abs, default=np.nan)
            print(f"{seed:4d} d {p.dim:3d} t {p.time:5.3f} var {p.var:5.3f} turned {not np.array_equal(p.axes, np.eye(p.dim))!s:5} "
                  f"ln u {log_u.min():7.1f} .. {log_u.max():6.1f} flagged {int(np.isinf(s.log_density_error).sum())}/{a.points} "
                  f"error {np.median(s.log_density_error):.4f} worst z {worst:5.1f} {seconds[-1]:6.2f} s {s.method}", flush=True)
            if abs(worst) > 4:
                print("     ", p.blocks, p.start(1), s.methods if hasattr(s, "methods") else "")
    z = np.abs(z)
    print(f"{a.kind}: {total} values, flagged {flagged / max(total, 1):.1%}, largest |z| {z.max():.1f}, above 5: {(z > 5).sum()}, coverage of 95 % {np.mean(z < 1.96):.2%}, "
          f"median relative error {np.median(relative):.4f}, seconds a point {np.median(seconds):.2f} (most {max(seconds):.1f})")


main()

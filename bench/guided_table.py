"""The table of guided walks: relative standard deviation of one walk, error x time, and checks against products.

    PYTHONPATH=python /usr/bin/python3 bench/guided_table.py [--rows pairs:6:1 chain:10:1 ...] [--methods guided particles walk] [--seconds 10]

A row is PROBLEM:DIM:TIME. pairs: x - x^3 + 1.5 y, -y - 1.5 x; vdp: y, 1.5 (1 - x^2) y - x; both in pairs of coordinates, from N(0.3, 0.3);
point: pairs from (0.6, -0.4); chain: x_i - x_i^3 + 0.8 (x_(i+1) - x_(i-1)), periodic, from N(0.2, 0.3); all with noise sqrt(2). Points are ends of
trajectories, as they are and 1.6 times as far out. For each method: the relative standard deviation of one walk (of guided walks), the median relative error of
the density, z against the product of two-dimensional grids (pairs, vdp, point), flagged points, and error^2 x processor seconds a point.
Must reproduce: pairs:6:1 has a relative standard deviation of 0.4 to 1.
"""
import argparse
import time

import numpy as np

import heatball

PAIRS = {"pairs": ("{0}-{0}^3+1.5*{1}", "-{1}-1.5*{0}"), "vdp": ("{1}", "1.5*(1-{0}^2)*{1}-{0}")}
PAIRS["point"] = PAIRS["pairs"]
ROWS = ["pairs:6:0.4", "pairs:6:1", "pairs:6:3", "pairs:10:1", "pairs:20:1", "pairs:20:3", "pairs:60:1", "vdp:6:1", "vdp:10:0.5", "chain:10:1",
        "chain:10:2", "chain:30:1", "point:6:0.5", "point:6:1", "point:20:0.5"]


def lines(kind, d):
    if kind == "chain":
        return ", ".join(f"x{i + 1}-x{i + 1}^3+0.8*(x{(i + 1) % d + 1}-x{(i - 1) % d + 1})" for i in range(d))
    return ", ".join(part.format(f"x{i + 1}", f"x{i + 2}") for i in range(0, d, 2) for part in PAIRS[kind])


def start(kind, d):
    if kind == "point":
        return f"point({' '.join(['0.6', '-0.4'] * (d // 2))})"
    return "gaussian(mean=0.2, var=0.3)" if kind == "chain" else "gaussian(mean=0.3, var=0.3)"


def ends(kind, d, t, n, rng):
    steps = int(200 * t) + 50
    h = t / steps
    x = np.tile([0.6, -0.4], (n, d // 2)) if kind == "point" else (0.2 if kind == "chain" else 0.3) + np.sqrt(0.3) * rng.normal(size=(n, d))
    for _ in range(steps):
        a, b = x[:, ::2], x[:, 1::2]
        if kind == "chain":
            f = x - x**3 + 0.8 * (np.roll(x, -1, 1) - np.roll(x, 1, 1))
        else:
            f = np.empty_like(x)
            f[:, ::2], f[:, 1::2] = (b, 1.5 * (1 - a**2) * b - a) if kind == "vdp" else (a - a**3 + 1.5 * b, -b - 1.5 * a)
        x = x + h * f / (1 + h * np.abs(f)) + np.sqrt(2 * h) * rng.normal(size=x.shape)
    return x


def truth(kind, t, x):
    if kind == "chain":
        return np.full(len(x), np.nan)
    s = heatball.solve(lines(kind, 2), "sqrt(2)", start(kind, 2), t, x.reshape(-1, 2), method="grid")
    return s.log_density.reshape(len(x), -1).sum(1)


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--rows", nargs="*", default=ROWS)
    ask.add_argument("--methods", nargs="*", default=["guided"])
    ask.add_argument("--seconds", type=float, default=0)
    a = ask.parse_args()
    print("row              where  method     sd of a walk  ln u            error    worst z  flagged  error^2 s   seconds a point")
    for row in a.rows:
        kind, d, t = row.split(":")
        d, t = int(d), float(t)
        rng = np.random.default_rng(5)
        x = ends(kind, d, t, 4, rng)
        for where, points in (("bulk", x), ("x 1.6", 1.6 * x)):
            u = truth(kind, t, points)
            for method in a.methods:
                begin = time.process_time()
                s = heatball.solve(lines(kind, d), "sqrt(2)", start(kind, d), t, points, method=method, threads=1, max_time=a.seconds * 4 or None)
                seconds = (time.process_time() - begin) / 4
                e, good = s.log_density_error, np.isfinite(s.log_density_error)
                sd = e * np.sqrt(np.asarray(s.samples, float))
                z = np.abs((s.log_density - u) / e)[good]
                some = good.any()
                print(f"{row:16} {where:6} {method:10} {np.min(sd[good]) if some else np.nan:4.2f} to {np.max(sd[good]) if some else np.nan:4.2f}  "
                      f"{np.nanmin(s.log_density):7.1f} to {np.nanmax(s.log_density):6.1f} {np.median(e):8.4f} {z.max() if some else np.nan:8.1f} {(~good).sum():5d}/4 "
                      f"{np.median(e)**2 * seconds:11.1e} {seconds:8.2f}", flush=True)


main()

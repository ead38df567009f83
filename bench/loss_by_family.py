"""Errors of scores on the four families of the study of dimensions, with other seeds, as ratios to denoising alone.

    bench/loss_by_family.py DIM [--rows N] [--steps K] [--seeds 0,1] "hb" "hb weight=0.5 anchor_tau_min=0.1" "fp constraint_every=4" ...

Each setting is a method and keywords of heatball.train. All have the same averaged targets (512 rows); the ratios are to dsm with
them, geometric means over families and seeds: over all draws / over the fifth of them with the lowest density, at tau 0.03, 0.1,
0.3 and 0.8, then processor time of a training, then low density at tau 0.03 and 0.3 by family. docs/dev/tuning-history.md has results.
"""
import argparse
import time

import numpy as np

import heatball

TAUS = (0.03, 0.1, 0.3, 0.8)
FAMILIES = ("near", "apart", "curve", "scales")


def gaussian(dim, rng, spread, least, most):
    mean = spread * rng.normal(size=dim)
    axes, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    return mean, (axes * np.exp(rng.uniform(np.log(least), np.log(most), dim))) @ axes.T


def curve(dim, rng):
    axes, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    phases, parts = rng.uniform(0, 2 * np.pi, 3), []
    for t in 2 * np.pi * np.arange(16) / 16:
        mean, along = np.zeros(dim), np.zeros(dim)
        for h in range(1, min(dim // 2, 3) + 1):
            angle = h * t + phases[h - 1]
            mean += 1.5 / h * (np.cos(angle) * axes[2 * h - 2] + np.sin(angle) * axes[2 * h - 1])
            along += 1.5 * (np.cos(angle) * axes[2 * h - 1] - np.sin(angle) * axes[2 * h - 2])
        extra = (np.pi / 16) ** 2 - 0.15 ** 2 / (along @ along)
        parts.append((1 / 16, mean, extra * np.outer(along, along) + 0.15 ** 2 * np.eye(dim)))
    return parts


def mixture(family, dim, rng):
    """A list of (weight, mean, covariance)."""
    close = 1.2 * np.sqrt(2 / dim)
    if family == "curve":
        return curve(dim, rng)
    if family == "scales":
        return [(0.8, *gaussian(dim, rng, 0, 0.5, 2)), (0.2, *gaussian(dim, rng, close, 0.02, 0.08))]
    return [(0.25, *gaussian(dim, rng, close if family == "near" else 1.2, 0.05, 0.5)) for _ in range(4)]


def draw(parts, n, rng):
    weights, means, covariances = zip(*parts)
    part, z = rng.choice(len(parts), n, p=weights), rng.normal(size=(n, len(means[0])))
    for k, (mean, covariance) in enumerate(zip(means, covariances)):
        z[part == k] = mean + z[part == k] @ np.linalg.cholesky(covariance).T
    return z


def exact(parts, y, a, b):
    """ln density up to a constant, and score, after the process has made a x + sqrt(b) noise of x."""
    logs, scores = [], []
    for weight, mean, covariance in parts:
        root = np.linalg.cholesky(a * a * covariance + b * np.eye(len(mean)))
        u = np.linalg.solve(root, (y - a * mean).T)
        logs.append(np.log(weight) - 0.5 * (u ** 2).sum(0) - np.log(np.diag(root)).sum())
        scores.append(-np.linalg.solve(root.T, u).T)
    most = np.max(logs, axis=0)
    shares = np.exp(np.array(logs) - most)
    return most + np.log(shares.sum(0)), np.einsum("kn,knd->nd", shares / shares.sum(0), np.array(scores))


def train(family, seed, given, method, **keywords):
    rng = np.random.default_rng(7000 + 100 * given.dim + 10 * FAMILIES.index(family) + seed)
    parts = mixture(family, given.dim, rng)
    rows, start = draw(parts, given.rows, rng), time.process_time()
    model = heatball.train(rows, method, width=64, steps=given.steps, seed=11 + seed, standardise="no", threads=1,
                           target_rows=512, **keywords)
    seconds, out, rng = time.process_time() - start, [], np.random.default_rng(5)
    for tau in TAUS:
        a, b = np.exp(-tau), -np.expm1(-2 * tau)
        y = a * draw(parts, 4000, rng) + np.sqrt(b) * rng.normal(size=(4000, given.dim))
        log_density, score = exact(parts, y, a, b)
        miss = ((model.score(y, tau) - score) ** 2).sum(1)
        out += [miss.mean(), miss[log_density <= np.quantile(log_density, 0.2)].mean()]
    return np.log(out + [seconds])


def keywords_of(setting):
    method, *pairs = setting.split()
    whole = ("anchors", "constraint_every", "nodes")
    pairs = dict(pair.split("=") for pair in pairs)
    return method, {name: int(value) if name in whole else float(value) for name, value in pairs.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dim", type=int)
    parser.add_argument("settings", nargs="+")
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seeds", default="0")
    given = parser.parse_args()
    cells = [(family, int(seed)) for family in FAMILIES for seed in given.seeds.split(",")]
    base = {cell: train(*cell, given, "dsm") for cell in cells}
    for setting in given.settings:
        method, keywords = keywords_of(setting)
        logs = {cell: train(*cell, given, method, **keywords) - base[cell] for cell in cells}
        r = np.exp(np.mean(list(logs.values()), axis=0))
        single = {f: np.exp(np.mean([logs[c] for c in cells if c[0] == f], axis=0)) for f in FAMILIES}
        print(f"{given.dim} {setting}:", *(f"{r[2 * k]:.2f} / {r[2 * k + 1]:.2f}" for k in range(4)), f"time {r[8]:.1f};",
              *(f"{f} {x[1]:.2f} {x[5]:.2f}" for f, x in single.items()), flush=True)


if __name__ == "__main__":
    main()

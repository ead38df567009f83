"""Log-densities of networks trained under a nonlinear drift, against heatball.solve on the grid.

    PYTHONPATH=python /usr/bin/python3 bench/drift_log_density.py [--steps 4000] [--seeds 3]

dx = (x - x^3 + y/2, -y - x/2) dtau + sqrt(2) dW in two dimensions, no gradient, from 1/5 N((-1.2, 0), 0.09 I) + 4/5 N((1.2, 0), 0.09 I).
Each row: a method and keywords of heatball.train; at tau 0.001, 0.02, 0.1, 0.5 the error of the log weights of the two modes (mean of
v - ln u over draws that started in one, less that of the other; root mean square over the seeds) / mean / standard deviation of v - ln u
over draws, then seconds. The draws are paths by Heun's scheme. docs/paper/density.md has results.
"""
import argparse
import time

import numpy as np

import heatball

DRIFT, TAUS, STEP = "x - x^3 + 0.5*y, -y - 0.5*x", (0.001, 0.02, 0.1, 0.5), 0.0005
SETTINGS = ("dsm target_rows=512", "fp target_rows=512 anchor_tau_min=0.02", "hb anchor_tau_min=0.02", "hb")
START = heatball.Mixture([0.2, 0.8], [[-1.2, 0], [1.2, 0]], np.tile(0.09 * np.eye(2), (2, 1, 1)))


def force(z):
    return np.stack([z[:, 0] - z[:, 0] ** 3 + 0.5 * z[:, 1], -z[:, 1] - 0.5 * z[:, 0]], 1)


def truth(n=1500):
    """Draws at each tau, the mode that each came from, and ln u there."""
    rng, z, out = np.random.default_rng(9), START.sample(n, seed=99), []
    mode, density = z[:, 0] > 0, "density(0.2*exp(-((x+1.2)^2+y^2)/0.18) + 0.8*exp(-((x-1.2)^2+y^2)/0.18))"
    for k in range(1, round(TAUS[-1] / STEP) + 1):
        noise, F = np.sqrt(2 * STEP) * rng.normal(size=z.shape), force(z)
        z = z + STEP / 2 * (F + force(z + STEP * F + noise)) + noise
        for tau in TAUS:
            if k == round(tau / STEP):
                out.append((z, heatball.solve(DRIFT, 2 ** 0.5, density, tau, z, method="grid", cells=256, threads=1).log_density))
    return mode, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("settings", nargs="*", default=SETTINGS)
    given = parser.parse_args()
    mode, exact = truth()
    for setting in given.settings:
        method, *pairs = setting.split()
        keywords = {name: int(value) if name == "target_rows" else float(value) for name, value in (p.split("=") for p in pairs)}
        found, start = [], time.process_time()
        for seed in range(given.seeds):
            model = heatball.train(START.sample(8000, seed=seed), method, drift=DRIFT, steps=given.steps, width=64, rate=0.004,
                                   tau_max=2, seed=seed, threads=1, **keywords)
            off = [model.log_density(z, np.full(len(z), tau)) - v for tau, (z, v) in zip(TAUS, exact)]
            found.append([(d[mode].mean() - d[~mode].mean(), d.mean(), d.std()) for d in off])
        seconds, found = (time.process_time() - start) / given.seeds, np.array(found)
        print(f"| {setting} |", " | ".join(f"{np.sqrt((found[:, k, 0] ** 2).mean()):.3f} / {found[:, k, 1].mean():.3f} / "
                                           f"{found[:, k, 2].mean():.3f}" for k in range(len(TAUS))), f"| {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()

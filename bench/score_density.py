"""ScoreDensity on a table of mixed scales with outliers: with maps, without, and a Gaussian mixture by EM.

    PYTHONPATH=python python3 bench/score_density.py [STEPS [SEED [ROWS]]]

8000 rows (or ROWS) with 8 columns: lognormal, Student t with 2 and 3 degrees of freedom, bounded in [0, 1], bimodal, exponential of
a small scale, one correlated with two others, one with 1 % outliers of a hundred times the scale. One half trains, the
other is held out. Printed: the mean of ln p over held-out rows with its standard error, and the seconds of fit and
prediction. The mixture has full covariances, 1 to 16 components, the best of them by the held-out rows, without maps and with
those that ScoreDensity has chosen. With 2000 steps the whole takes some 40 s on one core. Needs SciPy.
"""

import sys
import time

import numpy as np
from scipy import stats

import heatball

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
ROWS = int(sys.argv[3]) if len(sys.argv) > 3 else 8000


def table(n, seed):
    """Return n rows of mixed columns, which depend on each other."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((n, 4))
    side = rng.random(n) < 0.35
    return np.stack([
        np.exp(1.2 * u[:, 0] + 5),
        rng.standard_t(2, n) * np.exp(0.4 * u[:, 0]),
        1e-3 * rng.standard_t(3, n) + 1e-3 * u[:, 1],
        rng.beta(0.8 + 2 * side, 1.5, n),
        np.where(side, 4.0, -4.0) + u[:, 1],
        rng.exponential(1e-4 * np.exp(0.5 * u[:, 1])),
        2000 + 300 * (0.6 * u[:, 0] - 0.6 * u[:, 1] + 0.5 * u[:, 2]),
        u[:, 3] * np.where(rng.random(n) < 0.01, 100, 1),
    ], 1)


def exact(x):
    """ln p of these rows: given the side of the bimodal column, columns 0 and 4 fix what the others share."""
    normal, sides = stats.norm.logpdf, []
    u0 = (np.log(x[:, 0]) - 5) / 1.2
    for chance, centre, first in ((0.35, 4.0, 2.8), (0.65, -4.0, 0.8)):
        u1 = x[:, 4] - centre
        wide = np.exp(0.4 * u0)
        sides.append(np.log(chance) + normal(u0) - np.log(1.2 * x[:, 0]) + normal(u1)
                     + stats.t.logpdf(x[:, 1] / wide, 2) - np.log(wide)
                     + stats.t.logpdf(x[:, 2], 3, 1e-3 * u1, 1e-3) + stats.beta.logpdf(x[:, 3], first, 1.5)
                     + stats.expon.logpdf(x[:, 5], scale=1e-4 * np.exp(0.5 * u1))
                     + normal(x[:, 6], 2000 + 180 * (u0 - u1), 150))
    outliers = np.logaddexp(np.log(0.99) + normal(x[:, 7]), np.log(0.01) + normal(x[:, 7], scale=100))
    return np.logaddexp(*sides) + outliers


def log_gauss(x, mean, root):
    away = np.linalg.solve(root, (x - mean).T)
    return -0.5 * (away**2).sum(0) - np.log(np.diag(root)).sum() - len(mean) / 2 * np.log(2 * np.pi)


def mixture(x, k, seed, rounds=200):
    """Fit k Gaussians by EM to standardised rows; return ln p(x)."""
    shift, scale = x.mean(0), x.std(0)
    z, rng = (x - shift) / scale, np.random.default_rng(seed)
    weights, means = np.full(k, 1 / k), z[rng.choice(len(z), k, replace=False)]
    roots = np.array([np.linalg.cholesky(np.cov(z.T))] * k)

    def parts(rows):
        return np.stack([np.log(w) + log_gauss(rows, m, L) for w, m, L in zip(weights, means, roots)], 1)

    for _ in range(rounds):
        logs = parts(z)
        share = np.exp(logs - logs.max(1, keepdims=True))
        share /= share.sum(1, keepdims=True)
        count = share.sum(0) + 1e-9
        weights, means = count / count.sum(), share.T @ z / count[:, None]
        away = z[None] - means[:, None]
        spread = np.einsum("nk,kni,knj->kij", share, away, away, optimize=True) / count[:, None, None]
        roots = np.linalg.cholesky(spread + 1e-6 * np.eye(x.shape[1]))

    def log_density(rows):
        logs = parts((rows - shift) / scale)
        most = logs.max(1)
        return most + np.log(np.exp(logs - most[:, None]).sum(1)) - np.log(scale).sum()
    return log_density


def report(name, values, fit, predict):
    print(f"{name:34s} {values.mean():9.3f} ± {values.std(ddof=1) / len(values)**0.5:.3f} nats   least {values.min():9.1f}   "
          f"fit {fit:6.1f} s   predict {predict:5.2f} s", flush=True)


def main():
    x = table(ROWS, SEED)
    train, held_out = x[:ROWS // 2], x[ROWS // 2:]
    chosen = None
    report("the distribution itself", exact(held_out), 0, 0)
    for maps in ("auto", "quantile", "none"):
        density = heatball.ScoreDensity(maps=maps, steps=STEPS, threads=1)
        start = time.process_time()
        density.fit(train)
        middle = time.process_time()
        values, errors = density.score_samples(held_out, return_error=True)
        report(f"ScoreDensity, maps {maps}", values, middle - start, time.process_time() - middle)
        print(f"    {', '.join(density.maps_)}; median error {np.median(errors):.2g} nats", flush=True)
        chosen = chosen or density
    for name, forward in (("no maps", lambda x: (x, 0.0)), ("maps auto", chosen.map_columns)):
        fits = []
        for k in (1, 2, 4, 8, 16):
            start = time.process_time()
            log_density = mixture(forward(train)[0], k, SEED)
            middle = time.process_time()
            rows, slopes = forward(held_out)
            fits.append((log_density(rows) + slopes, k, middle - start, time.process_time() - middle))
        values, k, fit, predict = max(fits, key=lambda fit: fit[0].mean())
        report(f"{k} Gaussians by EM, {name}", values, fit, predict)


if __name__ == "__main__":
    main()

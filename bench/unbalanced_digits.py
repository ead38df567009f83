"""Unbalanced classes: does the log-density of an energy network follow the fractions of the classes?

    bench/unbalanced_digits.py [--data digits|D ...] [--variant TEXT ...] [--seeds N] [--steps K] [--width W] [--ode ROWS]

Two networks are trained on the same rows of two classes: in one set 10 % are of class 0, in the other 90 % (rows are repeated, so
that each class has the same empirical distribution in both). With pi the posterior probability of class 0 under equal fractions,

    ln p_A(x) - ln p_B(x) = ln (0.1 pi + 0.9 (1 - pi)) - ln (0.9 pi + 0.1 (1 - pi)),

so where the classes are apart its mean over class 0 minus its mean over class 1 is -2 ln 9 = -4.394, whatever the densities are.
Printed is the negative of that difference for v(x, tau) of the networks at held-out rows with the noise of tau, as a Markdown
table: mean over the seeds +- standard error, the standard deviation over rows, and the truth (of mixtures exact; of digits with
the posterior of the training images as a mixture of Gaussians). "By denoising" is what v would give if it solved its equation with
the score that the network has. The values of each seed, and the held-out denoising loss of network A, go to the standard error
stream. --ode: the same for likelihoods by the ODE of so many rows of each class, the fraction of class 0 among samples of the flow,
and how D = v - ln p_ODE differs between the classes there.

--data digits: zeros and ones of MNIST at 16 x 16 pixels (needs `heatball data fetch mnist`). --data D: two Gaussians in D
dimensions. --variant: a method and settings of heatball.train, as "hb,weight=1,anchor_tau_min=0.005". One thread.
"""
import argparse
import sys
import time

import numpy as np

import heatball

FEW = 0.1  # of class 0 in set A, of class 1 in set B
TAUS = (0.02, 0.05, 0.2, 1.0, 2.0)
HELD = 400  # rows of each class


def digits():
    """Training and held-out rows of zeros and ones, scaled alike: mean 0, mean variance 1 under equal fractions."""
    (x, y), (u, v) = heatball.images("mnist", "train", resize=16), heatball.images("mnist", "test", resize=16)
    train = [x[y == k].reshape(-1, 256)[:5400] for k in (0, 1)]
    held = [u[v == k].reshape(-1, 256)[:HELD] for k in (0, 1)]
    shift = (train[0].mean(0) + train[1].mean(0)) / 2
    scale = np.sqrt(np.mean([np.mean((t - shift) ** 2) for t in train]))
    return [(t - shift) / scale for t in train], [(t - shift) / scale for t in held], None


def gaussians(dim, seed):
    """Two Gaussians of different shapes in dim dimensions, mean variance 1, far apart."""
    random = np.random.default_rng(100 + seed)
    axes, _ = np.linalg.qr(random.standard_normal((dim, dim)))
    centre = np.sqrt(0.85 * dim) * axes[0]
    spreads = [np.sqrt(0.15 * np.linspace(low, 2 - low, dim)) for low in (0.4, 1.6)]
    law = [(sign * centre, s) for sign, s in zip((-1, 1), spreads)]
    draw = lambda n: [m + random.standard_normal((n, dim)) * s for m, s in law]  # noqa: E731
    return draw(5400), draw(HELD), law


def log_kernel(x, rows, a, b):
    """ln of the mean over rows of N(x; a row, b), up to a constant."""
    out = np.empty(len(x))
    for i in range(0, len(x), 100):
        part = x[i:i + 100]
        square = (part**2).sum(1)[:, None] - 2 * a * part @ rows.T + a * a * (rows**2).sum(1)
        out[i:i + 100] = np.logaddexp.reduce(-square / (2 * b), axis=1) - np.log(len(rows))
    return out


def log_odds(x, tau, train, law):
    """ln of the density of class 0 at (x, tau) over that of class 1."""
    a, b = np.exp(-tau), -np.expm1(-2 * tau)
    if law is None:
        return log_kernel(x, train[0], a, b) - log_kernel(x, train[1], a, b)
    value = [-0.5 * ((x - a * m) ** 2 / (a * a * s * s + b) + np.log(a * a * s * s + b)).sum(1) for m, s in law]
    return value[0] - value[1]


def true_change(x, tau, train, law):
    """ln p_A - ln p_B at x."""
    odds = log_odds(x, tau, train, law)
    return np.logaddexp(np.log(FEW) + odds, np.log(1 - FEW)) - np.logaddexp(np.log(1 - FEW) + odds, np.log(FEW))


def noised(held, tau, seed):
    random = np.random.default_rng(7 + seed)
    return [np.exp(-tau) * x + np.sqrt(-np.expm1(-2 * tau)) * random.standard_normal(x.shape) for x in held]


def parsed(variant):
    method, *rest = variant.split(",")
    number = lambda text: float(text) if set(text) & set(".e") else int(text)  # noqa: E731
    return method, {name: number(value) for name, value in (part.split("=") for part in rest)}


def trained(train, variant, given, seed):
    """The networks of sets A and B, and the seconds of processor time of one training."""
    method, settings = parsed(variant)
    settings = {"steps": given.steps, "tau_min": given.tau_min, "tau_max": given.tau_max, "width": given.width,
                "target_rows": 0, **settings}
    repeat = round((1 - FEW) / FEW)
    models, start = [], time.process_time()
    for times in ((1, repeat), (repeat, 1)):
        rows = np.concatenate([np.tile(x, (k, 1)) for x, k in zip(train, times)])
        models.append(heatball.train(rows, method, batch=128, standardise="no", seed=seed, threads=1, **settings))
    return models, (time.process_time() - start) / 2


def change(A, B):
    """From v_A, v_B at rows of class 0 and 1: minus the change of the difference of classes, and its spread over rows."""
    (a0, a1), (b0, b1) = A, B
    off = [a0 - b0, a1 - b1]
    return off[1].mean() - off[0].mean(), np.sqrt((off[0].var() + off[1].var()) / 2)


def denoising_losses(models, held, tau, seed):
    """E |sqrt(b) s + e|^2 of networks A and B (rows) and classes 0 and 1 (columns), with the same noise for both networks."""
    random = np.random.default_rng(seed)
    a, b = np.exp(-tau), -np.expm1(-2 * tau)
    loss = np.empty((2, 2))
    for c, x in enumerate(held):
        e = random.standard_normal(x.shape)
        for m, model in enumerate(models):
            loss[m, c] = ((np.sqrt(b) * model.score(a * x + np.sqrt(b) * e, tau, threads=1) + e) ** 2).sum(1).mean()
    return loss


def loss_of_set_a(models, held, tau):
    """The held-out denoising loss of network A over the classes as set A has them, for one coordinate."""
    return denoising_losses(models, held, tau, 2000)[0] @ (FEW, 1 - FEW) / held[0].shape[1]


def by_denoising(models, held, given, taus):
    """What v would give if it solved its equation with the score that the network has, from held-out denoising losses.

    E_c[v] changes by E_c[epsilon] + L_c/b - (what depends on the class alone) in a unit of tau, L_c = E_c |sqrt(b) s + e|^2: the
    variational bound. So it is the integral over tau of the losses of class 0 minus class 1, A minus B, over b.
    """
    grid = np.geomspace(given.tau_min, given.tau_max, 49)
    gaps = []
    for k, tau in enumerate(grid):
        loss = denoising_losses(models, held, tau, 1000 + k)
        gaps.append((loss[0, 0] - loss[1, 0] - loss[0, 1] + loss[1, 1]) / -np.expm1(-2 * tau) * tau)
    pieces = 0.5 * (np.array(gaps)[1:] + np.array(gaps)[:-1]) * np.diff(np.log(grid))
    tail = np.concatenate([np.cumsum(pieces[::-1])[::-1], [0]])
    return np.interp(np.log(taus), np.log(grid), tail)


def by_ode(models, held, train, law, given):
    """The change by the ODE at held-out rows; and for A and B, at samples of the flow, what `weigh` says."""
    x = [part[:given.ode] for part in noised(held, given.tau_min, 0)]
    likelihoods = [[m.log_likelihood(part, probes=given.probes, threads=1) for part in x] for m in models]
    return [change(*likelihoods), *(weigh(m, train, law, given) for m in models)]


def weigh(model, train, law, given):
    """The fraction of class 0 of the flow; the mean of D = v - ln p_ODE at samples of class 0 minus that of class 1, the standard
    deviation of D within a class, and ln of the ratio of the means of e^D with the effective number of samples."""
    made = model.generate(400, "heun", n_steps=40, denoise="none", seed=1, threads=1)
    first = log_odds(made, given.tau_min, train, law) > 0
    D = []
    for part in (made[first][:given.ode], made[~first][:given.ode]):
        D.append(model.log_density(part, given.tau_min, threads=1) - model.log_likelihood(part, probes=given.probes, threads=1))
    masses = [np.logaddexp.reduce(d) - np.log(len(d)) for d in D]
    effective = min(np.exp(2 * np.logaddexp.reduce(d) - np.logaddexp.reduce(2 * d)) for d in D)
    return (first.mean(), D[0].mean() - D[1].mean(), np.sqrt((D[0].var() + D[1].var()) / 2), masses[0] - masses[1], effective)


def shown(values):
    values = np.asarray(values)
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}" if len(values) > 1 else ""
    return f"{values.mean():.2f}{error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["digits"])
    parser.add_argument("--variant", nargs="+", default=["dsm", "fp", "hb"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--tau-min", type=float, default=0.005)
    parser.add_argument("--tau-max", type=float, default=5.0)
    parser.add_argument("--ode", type=int, default=0, help="rows of each class")
    parser.add_argument("--probes", type=int, default=16)
    parser.add_argument("--training-rows", action="store_true", help="the value by denoising at training rows, not held-out ones")
    given = parser.parse_args()
    taus = (given.tau_min, *(tau for tau in TAUS if tau > given.tau_min))
    print("| data | method | " + " | ".join(f"τ = {tau:g}" for tau in taus) + " | seconds |")
    print("|---" * (len(taus) + 3) + "|")
    after = []
    for data in given.data:
        cells, bounds, deviations, seconds, truth, ode = {}, {}, {}, {}, [], {}
        for seed in range(1, given.seeds + 1):
            train, held, law = digits() if data == "digits" else gaussians(int(data), seed)
            at = {tau: noised(held, tau, seed) for tau in taus}
            exact = {tau: [true_change(x, tau, train, law) for x in at[tau]] for tau in taus}
            truth.append([exact[tau][1].mean() - exact[tau][0].mean() for tau in taus])
            for variant in given.variant:
                models, spent = trained(train, variant, given, seed)
                found = [change(*[[m.log_density(x, tau, threads=1) for x in at[tau]] for m in models]) for tau in taus]
                print(f"# {data}, {variant}, seed {seed}:", *(f"{f[0]:.2f} ({f[1]:.2f})" for f in found), f"{spent:.0f} s", file=sys.stderr)
                bound = by_denoising(models, [x[:HELD] for x in train] if given.training_rows else held, given, taus)
                print("#   by denoising:", *(f"{value:.2f}" for value in bound), file=sys.stderr)
                print("#   held-out loss, A:", *(f"{loss_of_set_a(models, held, tau):.4f}" for tau in taus), file=sys.stderr, flush=True)
                cells.setdefault(variant, []).append([f[0] for f in found])
                bounds.setdefault(variant, []).append(bound)
                deviations.setdefault(variant, []).append([f[1] for f in found])
                seconds.setdefault(variant, []).append(spent)
                if given.ode:
                    ode.setdefault(variant, []).append(by_ode(models, held, train, law, given))
        print(f"| {data} | truth | " + " | ".join(f"{t:.2f}" for t in np.mean(truth, 0)) + " | |")
        for variant in given.variant:
            row = [f"{shown(c)} ({d:.2f})" for c, d in zip(np.transpose(cells[variant]), np.mean(deviations[variant], 0))]
            print(f"| {data} | {variant} | " + " | ".join(row) + f" | {np.mean(seconds[variant]):.0f} |")
            print(f"| {data} | {variant}: by denoising | " + " | ".join(map(shown, np.transpose(bounds[variant]))) + " | |",
                  flush=True)
            for (moved, spread), *sets in ode.get(variant, []):
                after.append(f"| {data} | {variant} | {moved:.2f} ({spread:.2f}) | "
                             + " | ".join("{:.3f} | {:.2f} ({:.2f}) | {:.2f} ({:.1f})".format(*one) for one in sets) + " |")
    if after:
        columns = [f"{name}: {what}" for name in "AB" for what in ("class 0 of the flow", "D, class 0 minus 1 (deviation)",
                                                                   "ln of the ratio of masses (effective)")]
        print("\n| data | method | by the ODE | " + " | ".join(columns) + " |\n" + "|---" * 9 + "|")
        print("\n".join(after))


if __name__ == "__main__":
    main()

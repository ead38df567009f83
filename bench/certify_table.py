#!/usr/bin/env python3
"""How often heatball.certify passes exact scores, and what it finds of damaged ones.

    bench/certify_table.py level [REPETITIONS]   exact scores: share of lines with p > 0.05, of whole certificates
    bench/certify_table.py power [REPETITIONS]   damaged scores: share found, by which line and at which tau

Prints the numbers of docs/explanation/certificates.md. Processor time: about 1 s for a certificate.
"""

import collections
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

import heatball  # noqa: E402

SMALL = {"rows": 400, "flow_samples": 150, "pairs": 8, "threads": 1}  # fewer rows, the same tests
ROTATION = np.array([[-0.8, 1.2], [-1.2, -0.8]])  # of the linear drift
DRIFT = "-0.8*x1 + 1.2*x2, -1.2*x1 - 0.8*x2"


def random_mixture(dim, seed):
    """Four Gaussians in `dim` dimensions with random means and covariances."""
    random = np.random.default_rng(seed)
    roots = 0.4 * random.standard_normal((4, dim, dim))
    return heatball.Mixture(random.random(4) + 0.3, 1.5 * random.standard_normal((4, dim)),
                            roots @ roots.transpose(0, 2, 1) + 0.05 * np.eye(dim))


def carried(mixture, tau):
    """The mixture at tau under the linear drift: e^{A tau} is a turn and a decay."""
    turn = np.array([[math.cos(1.2 * tau), math.sin(1.2 * tau)], [-math.sin(1.2 * tau), math.cos(1.2 * tau)]])
    E = math.exp(-0.8 * tau) * turn
    noise = (1 - math.exp(-1.6 * tau)) / 0.8
    return heatball.Mixture(mixture.weights, mixture.means @ E.T,
                            E @ mixture.covariances @ E.T + noise * np.eye(2))


def linear_score(mixture):
    """The exact score under the linear drift, a tau for each row."""
    def score(x, tau):
        """Written out: one eigenbasis per component, which the turn carries along."""
        lam, Q = np.linalg.eigh(mixture.covariances)
        decay, noise = np.exp(-0.8 * tau)[:, None], ((1 - np.exp(-1.6 * tau)) / 0.8)[:, None]
        c, s = np.cos(1.2 * tau)[:, None], np.sin(1.2 * tau)[:, None]
        back = np.hstack([c * x[:, :1] - s * x[:, 1:], s * x[:, :1] + c * x[:, 1:]])  # turned back
        logs, slopes = [], []
        for k, weight in enumerate(mixture.weights):
            y = (back - decay * mixture.means[k]) @ Q[k]
            variance = decay**2 * lam[k] + noise
            logs.append(np.log(weight) - 0.5 * (y**2 / variance + np.log(variance)).sum(1))
            slopes.append(-(y / variance) @ Q[k].T)
        share = np.exp(np.array(logs) - np.max(logs, axis=0))
        g = np.einsum("kn,knd->nd", share / share.sum(0), np.array(slopes))
        return np.hstack([c * g[:, :1] + s * g[:, 1:], -s * g[:, :1] + c * g[:, 1:]])

    return score


def cases():
    """Name -> (mixture, exact score, arguments of certify)."""
    plain = {"process": "ou"}
    gmm, moons, five = heatball.dataset("elongated_gmm"), heatball.dataset("two_moon"), random_mixture(5, 7)
    return {
        "elongated_gmm, ou": (gmm, gmm, plain),
        "two_moon, ou": (moons, moons, plain),
        "a mixture in 5 dimensions, ou": (five, five, plain),
        "elongated_gmm, ve": (gmm, gmm, {"process": "ve", "tau_max": 20.0}),
        "elongated_gmm, linear drift": (gmm, linear_score(gmm), {"drift": DRIFT}),
    }


def level(repetitions, only=None):
    """Exact scores."""
    for name, (mixture, score, arguments) in cases().items():
        if only and only not in name:
            continue
        passed, lines = 0, collections.defaultdict(list)
        for seed in range(1, repetitions + 1):
            draws = mixture.sample(900, seed=1000 + seed)
            c = heatball.certify(score, draws[:400], training=draws[400:], seed=seed, **SMALL, **arguments)
            passed += c.passed
            for line in c.lines:
                if line.p_value is not None:
                    lines[line.name].append(line.p_value)
        print(f"{name}: passed {100 * passed / repetitions:.1f} % of {repetitions}")
        for line, p in lines.items():
            p = np.array(p)
            print(f"    {line:18} p > 0.05: {100 * np.mean(p > 0.05):5.1f} %   p > 0.5: {100 * np.mean(p > 0.5):5.1f} %"
                  f"   of {len(p)}", flush=True)


def damaged():
    """Name -> (mixture, score) of elongated_gmm, damaged on purpose; networks are trained on 2000 rows."""
    gmm = heatball.dataset("elongated_gmm")
    turn = np.array([[1.0, 0.05], [-0.05, 1.0]])
    modes = gmm.mode_of != 0
    missing = heatball.Mixture(gmm.weights[modes], gmm.means[modes], gmm.covariances[modes])
    rows = gmm.sample(2000, seed=5)
    whole, tenth = (heatball.train(rows, "dsm", head="score", steps=steps, width=64, standardise="no", threads=1)
                    for steps in (6000, 600))
    return {
        "the exact score": (gmm, gmm.score),
        "scores 5 % too large": (gmm, lambda x, tau: 1.05 * gmm.score(x, tau)),
        "one mode missing": (gmm, missing.score),
        "a rotation of 5 % added": (gmm, lambda x, tau: gmm.score(x, tau) @ turn),
        "a network after 6000 steps": (gmm, whole.score),
        "a network after 600 steps": (gmm, tenth.score),
    }


def power(repetitions, only=None):
    """Damaged scores: rows alone are given, so that no line knows the truth."""
    for name, (mixture, score) in damaged().items():
        if only and only not in name:
            continue
        found, passed = collections.Counter(), 0
        for seed in range(1, repetitions + 1):
            c = heatball.certify(score, mixture.sample(1000, seed=1000 + seed), seed=seed, threads=1)
            passed += c.passed
            found.update((line.name, line.tau) for line in c.lines if line.verdict == "fails")
        print(f"{name}: passed {passed} of {repetitions}; fails by")
        for (line, tau), count in sorted(found.items(), key=lambda one: (one[0][0], one[0][1] or 0)):
            print(f"    {line:16} {'' if tau is None else f'tau {tau:g}':9} {count}", flush=True)


def main():
    """Choose the table."""
    if len(sys.argv) < 2 or sys.argv[1] not in ("level", "power"):
        sys.exit(__doc__)
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    (level if sys.argv[1] == "level" else power)(repetitions, *sys.argv[3:])


if __name__ == "__main__":
    main()

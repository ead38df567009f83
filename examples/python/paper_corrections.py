#!/usr/bin/env python3
"""Five corrections of docs/paper/findings.md, each as one measured number beside its closed form.

The stationary density of dx = -x dtau + sqrt(2) dW is the normal one: v = ln u = -|x|^2/2 + const,
and h_v = |grad v|^2 - F.grad v - div F = d everywhere. So all that a loss does at the true v can be
computed by hand, and drawn with the exact samplers. C1 r^2/4 is the mean backward time of the ball.

    PYTHONPATH=python python3 examples/python/paper_corrections.py
"""

import signal

import numpy as np

import heatball

DRAWS = 400_000
NODES = 16  # draws in each residual of a loss


def v(x):
    return -0.5 * np.sum(x * x, axis=-1)


def say(text, value, error, exact):
    print(f"{text:<56} {value:11.3e} +- {error:.1e}, exact {exact:.4e}")


def mean(values):
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def missing_source(d, c1):
    """1: v(x0) - E_kappa[v], which the paper's loss squares, is d C1/4 at the true v, not 0."""
    z, _ = heatball.ball.sample("kappa", d, DRAWS, seed=1)
    value, error = mean(-v(z))  # x0 = 0
    say(f"1. v - E[v] at the true v, d = {d}", value, error, d * c1 / 4)
    say(f"   with its source, d = {d}", value - d * c1 / 4, error, 0)


def squared_noise(d, c1):
    """2: the mean square of a residual from 16 draws is their variance; of two halves, it is 0."""
    x0 = np.random.default_rng(1).standard_normal((DRAWS // NODES, 1, d))
    z = heatball.ball.sample("kappa", d, DRAWS, seed=2)[0].reshape(-1, NODES, d)
    plain = v(x0[:, 0]) - v(x0 + z).mean(1) - d * c1 / 4
    pairs = v(x0) - (v(x0 + z) + v(x0 - z)) / 2 - d * c1 / 4  # = |z|^2/2 - d C1/4
    spread = d * c1 / 2 + square_variance(d) / 4
    say(f"2. mean square of R from {NODES} draws, d = {d}", *mean(plain**2), spread / NODES)
    say(f"   from {NODES} antithetic pairs, d = {d}", *mean(pairs.mean(1)**2),
        square_variance(d) / 4 / NODES)
    halves = pairs[:, :NODES // 2].mean(1) * pairs[:, NODES // 2:].mean(1)
    say(f"   product of two halves, d = {d}", *mean(halves), 0)


def square_variance(d):
    """Var |z|^2 under kappa: |z|^2 = 2 sigma q, ln(4 pi sigma) = -(q + 2 E)/d, q ~ chi^2(d+2)."""
    def moment(k):  # E[(2 sigma q)^k]: E exp(-2kE/d) = 1/(1 + 2k/d); Gamma(d/2+1) integrals of q^k
        a, s = d / 2 + 1, 1 + 2 * k / d
        return (2 / (4 * np.pi))**k / s * s**-(a + k) * 2**k * a * (a + 1 if k == 2 else 1)
    return moment(2) - moment(1)**2


def truncation():
    """4: |x|^2 + 2 d tau is caloric and 0 at the anchor; cutting sigma makes its mean another."""
    z, sigma = heatball.ball.sample("kappa", 2, DRAWS, seed=3)
    caloric = np.sum(z * z, axis=1) - 4 * sigma
    exact = {1 / (4 * np.pi): -8.6491e-4, 0.05: 1.74885e-3, 0.04: 4.69595e-3}  # by quadrature in L
    say("4. mean of |z|^2 - 4 sigma, all of the ball, d = 2", *mean(caloric), 0)
    for top, value in exact.items():
        kept = (sigma >= 1e-3) & (sigma <= top)
        say(f"   sigma from 0.001 to {top:.4f}", *mean(caloric[kept]), value)
    for top in (0.05, 0.04):
        r2 = 4 * np.pi * top
        say(f"   the ball of r^2 = 4 pi {top}, r = {r2**0.5:.3f}", *mean(r2 * caloric), 0)


def direction_of_time(d, c1):
    """5: with sigma counted as time forward, the same function has the mean d C1."""
    z, sigma = heatball.ball.sample("kappa", d, DRAWS, seed=4)
    square = np.sum(z * z, axis=1)
    say(f"5. caloric function at (z, +sigma), d = {d}", *mean(square + 2 * d * sigma), d * c1)
    say(f"   at (-z, -sigma), d = {d}", *mean(square - 2 * d * sigma), 0)


def main():
    for d in (2, 16):
        c1 = heatball.ball.constants(d)["C1"]
        missing_source(d, c1)
        squared_noise(d, c1)
        direction_of_time(d, c1)
    truncation()
    for d in (2, 16, 256):
        budget = heatball.budget(d, 0.5, 0.5)
        print(f"T0 for K = 1, d = {d}: {budget['T0']:.4f}, by the paper's constant "
              f"{budget['T0_paper']:.4f}")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # quiet under "| head"
    main()

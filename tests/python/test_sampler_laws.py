"""The samplers against the exact laws of the three measures, with SciPy as the judge.

With L = -ln(4 pi sigma), D = dim + lift and t = |z|^2/R^2, R^2 = 2 D sigma L:
    kappa     L ~ Gamma(D/2+2, rate D/2)        t ~ Beta(D/2+1, 1)
    source    L ~ Gamma(D/2+2, rate D/2+1)      t ~ Beta(D/2, 2)
    gradient  L ~ Gamma((D+3)/2, rate (D+1)/2)  t ~ Beta((D+1)/2, 1)
and t, L, direction independent. Under kappa |z|^2/(2 sigma) ~ chi2(D+2) and ln Phi ~ Exp(1), the
two independent.
"""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

import heatball

N = 200000
P = 1e-6
MEASURES = ["kappa", "source", "gradient"]
DIMS = [1, 2, 3, 7, 16, 65]


def laws(measure, D):
    """Return (shape, rate) of L and (a, b) of t."""
    return {"kappa": (D / 2 + 2, D / 2, D / 2 + 1, 1),
            "source": (D / 2 + 2, D / 2 + 1, D / 2, 2),
            "gradient": ((D + 3) / 2, (D + 1) / 2, (D + 1) / 2, 1)}[measure]


def moment(measure, D, a, b):
    """E[sigma^a z_1^(2b)] on the unit ball in D dimensions, from the laws above."""
    shape, rate, p, q = laws(measure, D)
    log = (special.gammaln(shape + b) - special.gammaln(shape) + shape * math.log(rate)
           - (shape + b) * math.log(rate + a + b) - (a + b) * math.log(4 * math.pi)
           + b * math.log(2 * D) + special.betaln(p + b, q) - special.betaln(p, q))
    direction = (special.gammaln(b + 0.5) - special.gammaln(0.5) + special.gammaln(D / 2)
                 - special.gammaln(D / 2 + b))
    return math.exp(log + direction)


def density(measure, D, z2, sigma):
    if measure == "kappa":
        return z2 / (4 * sigma**2)
    if measure == "source":
        return -D / 2 * np.log(4 * np.pi * sigma) - z2 / (4 * sigma)
    return np.sqrt(z2) / (2 * sigma)


def unit(z, sigma, radius):
    return z / radius, sigma / radius**2


def ks(x, law):
    return stats.kstest(x, law.cdf).pvalue


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("a, b", [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)])
def test_the_moments_are_those_of_the_densities(measure, a, b):
    """The formula that other tests use, against quadrature of the definition in D = 3."""
    def inner(sigma, weight):
        top = np.sqrt(-6 * sigma * np.log(4 * np.pi * sigma))
        return integrate.quad(lambda rho: 4 * np.pi * rho**2 * weight(rho, sigma), 0, top)[0]

    def total(weight):
        return integrate.quad(lambda L: inner(np.exp(-L) / (4 * np.pi), weight)
                              * np.exp(-L) / (4 * np.pi), 0, 60, limit=200)[0]

    mass = total(lambda rho, s: density(measure, 3, rho**2, s))
    value = total(lambda rho, s: density(measure, 3, rho**2, s) * s**a * rho**(2 * b) / (2 * b + 1))
    assert value / mass == pytest.approx(moment(measure, 3, a, b), rel=1e-6)


@pytest.mark.parametrize("radius", [1.0, 2.385])
@pytest.mark.parametrize("dim", DIMS)
def test_kappa(dim, radius):
    z, sigma = heatball.ball.sample("kappa", dim, N, radius=radius, seed=1)
    assert z.shape == (N, dim) and sigma.shape == (N,)
    z, sigma = unit(z, sigma, radius)
    q = (z**2).sum(1) / (2 * sigma)
    psi = -dim / 2 * np.log(4 * np.pi * sigma) - q / 2
    assert ks(q, stats.chi2(dim + 2)) > P
    assert ks(psi, stats.expon) > P
    for f in (lambda x: x, np.log):
        assert abs(np.corrcoef(f(q), f(psi))[0, 1]) < 5 / np.sqrt(N)
    assert (sigma > 0).all() and (sigma < 1 / (4 * np.pi)).all() and psi.min() > -1e-9


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dim", DIMS)
def test_time_and_radius(measure, dim):
    radius = 0.71
    z, sigma = unit(*heatball.ball.sample(measure, dim, N, radius=radius, seed=20261), radius)
    L = -np.log(4 * np.pi * sigma)
    t = (z**2).sum(1) / (2 * dim * sigma * L)
    shape, rate, a, b = laws(measure, dim)
    assert ks(L, stats.gamma(shape, scale=1 / rate)) > P
    assert ks(t, stats.beta(a, b)) > P
    assert abs(np.corrcoef(L, t)[0, 1]) < 5 / np.sqrt(N)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dim", DIMS)
def test_direction(measure, dim):
    z, sigma = heatball.ball.sample(measure, dim, N, seed=3)
    direction = z / np.linalg.norm(z, axis=1)[:, None]
    for i in {0, dim // 2, dim - 1}:
        assert abs((direction[:, i] > 0).mean() - 0.5) < 5 * 0.5 / np.sqrt(N)
        if dim > 1:
            assert ks(direction[:, i]**2, stats.beta(0.5, (dim - 1) / 2)) > P
        assert abs(np.corrcoef(direction[:, i], sigma)[0, 1]) < 5 / np.sqrt(N)
    if dim > 1:
        product = direction[:, 0] * direction[:, -1]
        assert abs(product.mean()) < 5 * product.std() / np.sqrt(N)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dim, lift", [(1, 1), (1, 2), (2, 3), (3, 13), (7, 58), (1, 1000)])
def test_lifted(measure, dim, lift):
    """sigma by its law, the kept coordinates by their exact moments."""
    radius, D = 1.3, dim + lift
    z, sigma = unit(*heatball.ball.sample(measure, dim, N, lift=lift, radius=radius, seed=5), radius)
    assert z.shape == (N, dim)
    shape, rate, _, _ = laws(measure, D)
    assert ks(-np.log(4 * np.pi * sigma), stats.gamma(shape, scale=1 / rate)) > P
    for a, b in ((1, 0), (2, 0), (0, 1), (1, 1), (0, 2)):
        values = sigma**a * z[:, -1]**(2 * b)
        variance = moment(measure, D, 2 * a, 2 * b) - moment(measure, D, a, b)**2
        assert abs(values.mean() - moment(measure, D, a, b)) < 5 * np.sqrt(variance / N)


@pytest.mark.parametrize("dim, lift", [(2, 3), (3, 13)])
def test_lifted_source_keeps_a_gaussian(dim, lift):
    """Under source z = sqrt(2 D sigma/(D+2)) g, so a kept coordinate given sigma has the law of g_1
    given |g|^2 = S, S = (D+2) L: z_1^2/(2 D sigma L) = g_1^2/S ~ Beta(1/2, (D+3)/2)."""
    D = dim + lift
    z, sigma = heatball.ball.sample("source", dim, N, lift=lift, seed=6)
    share = z[:, 0]**2 / (2 * D * sigma * -np.log(4 * np.pi * sigma))
    assert ks(share, stats.beta(0.5, (D + 3) / 2)) > P


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dim, lift", [(1, 0), (2, 0), (3, 2), (16, 0), (65, 7)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_random_access_threads_and_dtype(measure, dim, lift, dtype):
    options = dict(lift=lift, radius=2.385, seed=2**63 + 11, dtype=dtype)
    z, sigma = heatball.ball.sample(measure, dim, 4000, first=10**12, threads=1, **options)
    both = heatball.ball.sample(measure, dim, 4000, first=10**12, threads=2, **options)
    assert np.array_equal(z, both[0]) and np.array_equal(sigma, both[1])
    for start, n in ((0, 1), (1, 2), (17, 1000), (3999, 1), (4000, 0)):
        piece = heatball.ball.sample(measure, dim, n, first=10**12 + start, **options)
        assert np.array_equal(piece[0], z[start:start + n])
        assert np.array_equal(piece[1], sigma[start:start + n])
    options["dtype"] = np.float64
    z64, sigma64 = heatball.ball.sample(measure, dim, 4000, first=10**12, **options)
    assert z.dtype == sigma.dtype == dtype
    assert np.array_equal(z, z64.astype(dtype)) and np.array_equal(sigma, sigma64.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_chunks_of_the_package_are_invisible(monkeypatch, dtype):
    whole = heatball.ball.sample("gradient", 5, 1000, dtype=dtype)
    monkeypatch.setattr(heatball.ball, "CHUNK", 100)
    pieces = heatball.ball.sample("gradient", 5, 1000, dtype=dtype)
    assert np.array_equal(whole[0], pieces[0]) and np.array_equal(whole[1], pieces[1])


def test_seeds_and_measures_are_independent_draws():
    sigmas = [heatball.ball.sample(m, 3, N, seed=s)[1] for m, s in (("kappa", 1), ("kappa", 2))]
    assert abs(np.corrcoef(*sigmas)[0, 1]) < 5 / np.sqrt(N)


def test_no_draws():
    z, sigma = heatball.ball.sample("kappa", 3, 0)
    assert z.shape == (0, 3) and sigma.shape == (0,)


def test_large_dimension():
    z, sigma = heatball.ball.sample("kappa", 1000000, 2, threads=1)
    q = (z**2).sum(1) / (2 * sigma)
    assert (np.abs(q - 1000002) < 5 * np.sqrt(2 * 1000002)).all()

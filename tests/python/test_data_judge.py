"""Mixtures and judges against SciPy and NumPy."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist, pdist

import heatball

NAMES = heatball.dataset_names()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("process", ["ou", "ve"])
def test_density_is_scipys(name, process):
    mixture, tau = heatball.dataset(name), 0.137
    a, b = (np.exp(-tau), -np.expm1(-2 * tau)) if process == "ou" else (1, 2 * tau)
    x = mixture.sample(50, seed=3)
    exact = sum(w * stats.multivariate_normal(a * m, a * a * C + b * np.eye(2)).pdf(x)
                for w, m, C in zip(mixture.weights, mixture.means, mixture.covariances))
    assert np.allclose(mixture.log_density(x, tau, process=process), np.log(exact), atol=1e-11)


def test_a_full_covariance_in_four_dimensions():
    rng = np.random.default_rng(5)
    roots, means = rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 4))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(4)
    covariances = (covariances + covariances.transpose(0, 2, 1)) / 2
    mixture = heatball.Mixture([1, 2, 0.5], means, covariances)
    x, h = rng.normal(size=(20, 4)), 1e-5
    exact = sum(w * stats.multivariate_normal(m, C).pdf(x)
                for w, m, C in zip([2 / 7, 4 / 7, 1 / 7], means, covariances))
    assert np.allclose(mixture.log_density(x), np.log(exact), atol=1e-11)
    for j in range(4):
        step = h * np.eye(4)[j]
        slope = (mixture.log_density(x + step) - mixture.log_density(x - step)) / (2 * h)
        assert np.allclose(mixture.score(x)[:, j], slope, rtol=1e-6, atol=1e-6)
    draws = mixture.sample(200000, seed=1)
    error = 5 * draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - mixture.mean()) < error)
    assert np.allclose(np.cov(draws.T), mixture.covariance(), atol=0.05 * np.abs(covariances).max())


def test_later_draws_are_earlier_ones_and_noise():
    ring = heatball.dataset("ring")
    x = ring.sample(100000, tau=0.4, process="ve")
    assert np.allclose(np.cov(x.T), ring.covariance() + 0.8 * np.eye(2), atol=0.06)


def direct_mmd2(x, y, widths, h):
    k = lambda a, b: np.mean([np.exp(-cdist(a, b, "sqeuclidean") / (2 * (c * h)**2))
                              for c in widths], axis=0)
    n, m = len(x), len(y)
    kxx, kyy = k(x, x), k(y, y)
    return ((kxx.sum() - n) / (n * (n - 1)) + (kyy.sum() - m) / (m * (m - 1)) - 2 * k(x, y).mean(),
            kxx.mean() + kyy.mean() - 2 * k(x, y).mean())


def direct_variance(x, y, h):
    """Hoeffding's decomposition of the U-statistics, from the matrices of the kernel."""
    k = lambda a, b: np.exp(-cdist(a, b, "sqeuclidean") / (2 * h**2))
    n, m = len(x), len(y)
    off = lambda K: K[~np.eye(len(K), dtype=bool)].reshape(len(K), -1)
    kxx, kyy, kxy = off(k(x, x)), off(k(y, y)), k(x, y)
    fx, fy = kxx.mean(1), kyy.mean(1)
    vxx = (kxx**2).mean() - 2 * (fx**2).mean() + kxx.mean()**2
    vyy = (kyy**2).mean() - 2 * (fy**2).mean() + kyy.mean()**2
    vxy = ((kxy**2).mean() - (kxy.mean(1)**2).mean() - (kxy.mean(0)**2).mean() + kxy.mean()**2)
    first = (4 / n * (np.var(fx - kxy.mean(1), ddof=1) - vxx / (n - 1) - vxy / m)
             + 4 / m * (np.var(fy - kxy.mean(0), ddof=1) - vyy / (m - 1) - vxy / n))
    return (2 * vxx / (n * (n - 1)) + 2 * vyy / (m * (m - 1)) + 4 * vxy / (n * m) + max(0, first))


@pytest.mark.parametrize("shift", [0, 0.5])
def test_error_of_mmd_is_numpys(shift):
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(37, 3)) + shift, rng.normal(size=(52, 3))
    found = heatball.metrics.mmd(x, y, single=True)
    assert found["mmd2_se"]**2 == pytest.approx(direct_variance(x, y, found["bandwidth"]), rel=1e-10)


@pytest.mark.parametrize("single, widths", [(False, [0.25, 0.5, 1, 2, 4]), (True, [1])])
@pytest.mark.parametrize("m", [431, 1000])
def test_mmd_is_numpys(single, widths, m):
    x = heatball.dataset("two_moon").sample(300, seed=1)
    y = heatball.dataset("pinwheel").sample(m, seed=2)
    found = heatball.metrics.mmd(x, y, single=single)
    assert found["bandwidth"] == pytest.approx(np.median(pdist(y)), rel=1e-13)
    unbiased, biased = direct_mmd2(x, y, widths, found["bandwidth"])
    assert found["mmd2"] == pytest.approx(unbiased, abs=1e-13)
    assert found["mmd"]**2 == pytest.approx(biased, abs=1e-13)


def test_modes_and_score_error():
    mixture = heatball.dataset("asymmetric_gmm")
    found = mixture.modes(mixture.sample(5000))
    assert found["found"] == 4 and found["outliers"] <= 5
    assert np.allclose(found["counts"] / 5000, mixture.weights, atol=0.03)
    exact = mixture.score_error(lambda x, tau: mixture.score(x, tau), 0.3, n=2000)
    shifted = mixture.score_error(lambda x, tau: mixture.score(x, tau) + [0.3, 0.4], 0.3, n=2000)
    assert exact["all"] == 0 and exact["grid"] == 0
    for key in ("all", "low", "high", "grid"):
        assert shifted[key] == pytest.approx(0.25, rel=1e-12)


def test_helmholtz_adds_up():
    rng = np.random.default_rng(2)
    field = rng.normal(size=(24, 40, 2))
    parts = heatball.metrics.helmholtz(field, 0.1, 0.2)
    total = parts["gradient"] + parts["rotation"]
    assert np.allclose(total, field - field.mean(axis=(0, 1)), atol=1e-12)
    # the parts are orthogonal, and a second split of a part finds nothing of the other
    assert abs(np.sum(parts["gradient"] * parts["rotation"])) < 1e-4 * np.sum(field**2)
    again = heatball.metrics.helmholtz(parts["rotation"] - parts["rotation"].mean(axis=(0, 1)), 0.1, 0.2)
    assert again["gradient_mass"] < 0.02


def test_what_a_field_raises_comes_back():
    x = np.random.default_rng(1).normal(size=(10, 2))
    with pytest.raises(ZeroDivisionError):
        heatball.metrics.curl(lambda x, tau: 1 / 0, x)
    with pytest.raises(ValueError, match=r"returned shape \(40, 1\) for x of shape \(40, 2\); it must be \(40, 2\)"):
        heatball.metrics.curl(lambda x, tau: x[:, :1], x)


@pytest.mark.parametrize("n, m", [(1, 1), (7, 4), (60, 45), (300, 300), (3000, 2000)])
def test_kolmogorov_is_scipys(n, m):
    """Distances, and a floor that SciPy's exact law exceeds with 5 % over all columns, or just less."""
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(n, 3)), rng.normal(0.1, 1.2, size=(m, 3))
    x[:, 2], y[:, 2] = rng.integers(0, 4, n), rng.integers(0, 5, m)  # ties
    found = heatball.metrics.kolmogorov(x * [1e-9, 1, 1e9], y * [1e-9, 1, 1e9], threads=2)
    assert np.allclose(found["distance"], [stats.ks_2samp(a, b).statistic for a, b in zip(x.T, y.T)],
                       rtol=1e-12)
    if n * m == 1:
        return  # no distance is too large for one row each

    def beyond(count):
        """P(D n m >= count) of two samples of one law: orders of n + m rows, counted in whole numbers."""
        if n * m > 1e6:
            return stats.kstwobign.sf(count / np.sqrt(n * m * (n + m)))
        paths = [0] * (m + 1)
        for i in range(n + 1):
            for j in range(m + 1):
                total = (paths[j] if i else 0) + (paths[j - 1] if j else 0)
                paths[j] = (total if i + j else 1) if abs(i * m - j * n) < count else 0
        return 1 - paths[m] / math.comb(n + m, n)

    count = found["floor"] * n * m
    assert beyond(math.floor(count) + 1) <= 0.05 / 3  # what is above the floor
    assert beyond(math.floor(count - 2e-5 * n * m)) > 0.05 / 3  # and no smaller one would do


def test_kolmogorov_floor_is_seldom_exceeded():
    rng = np.random.default_rng(3)
    above = 0
    for _ in range(400):
        x = rng.exponential(size=(2, 80, 5))
        found = heatball.metrics.kolmogorov(x[0], x[1, :60], threads=1)
        above += (found["distance"] > found["floor"]).any()
    assert 2 < above < 400 * 0.05 + 5 * np.sqrt(400 * 0.05)


@pytest.mark.parametrize("call, says", [
    (lambda: heatball.dataset("rings"), "no set called rings; the sets are asymmetric_gmm"),
    (lambda: heatball.dataset("ring").sample(3, process="vp"), "process is 'vp'; it must be ou or ve"),
    (lambda: heatball.dataset("ring").score([[1.0, 2.0, 3.0]]), "x has 3 columns"),
    (lambda: heatball.dataset("ring").score([[1.0, np.nan]]), "coordinate 2 of point 1 is nan"),
    (lambda: heatball.Mixture([1], [[0.0, 0]], [[[1.0, 2], [2, 1]]]), "positive definite"),
    (lambda: heatball.Mixture([1, 1], [[0.0, 0]], [[[1.0, 0], [0, 1]]]), "must have shapes"),
    (lambda: heatball.metrics.mmd([[1.0]], [[2.0]] * 4), "x has 1 rows"),
    (lambda: heatball.metrics.mmd([[1.0]] * 4, [[2.0, 1]] * 4), "must be equal"),
    (lambda: heatball.metrics.helmholtz(np.zeros((9, 9)), 1, 1), "field has 2 axes"),
    (lambda: heatball.metrics.curl(lambda x, tau: x, [[1.0], [2.0]]), "dim is 1"),
])
def test_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()

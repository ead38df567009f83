"""Constants, kernels and cubature against SciPy, quadrature and exact moments."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

import heatball
from test_sampler_laws import MEASURES, laws, moment

KEYS = ["dim", "lift", "C1", "C2", "C3", "c_g", "volume", "sigma_star", "R_max", "mean_sigma",
        "source_mass", "gradient_mass", "cylinder_volume", "cylinder_ratio", "one_plus_chi2", "C_d",
        "C_sharp"]


# ---- constants ---------------------------------------------------------------------------------

def test_keys():
    c = heatball.ball.constants(7, 2)
    assert sorted(c) == sorted(KEYS)
    assert (c["dim"], c["lift"]) == (7, 2)


@pytest.mark.parametrize("dim, C1, c_g", [
    (1, 0.0204196, 0.0795775), (2, 0.0397887, 0.1814437), (3, 0.0532573, 0.2685740),
    (8, 0.0834430, 0.5722413), (32, 0.1068881, 1.3068428),
])
def test_published_values(dim, C1, c_g):
    c = heatball.ball.constants(dim)
    assert c["C1"] == pytest.approx(C1, abs=6e-8)
    assert c["c_g"] == pytest.approx(c_g, abs=6e-8)


@pytest.mark.parametrize("dim, value", [(4, 25.98), (8, 7.318), (16, 5.458), (32, 5.749),
                                        (64, 7.052), (128, 9.298), (256, 12.70)])
def test_chi2_of_the_cylinder(dim, value):
    assert heatball.ball.constants(dim)["one_plus_chi2"] == pytest.approx(value, rel=6e-4)


@pytest.mark.parametrize("dim, lift", [(1, 0), (2, 0), (3, 0), (1, 1), (2, 4)])
def test_integrals_over_the_ball(dim, lift):
    """Volume and the masses of source and gradient, by quadrature over (|z|, L)."""
    D = dim + lift
    sphere = 2 * math.pi**(D / 2) / math.gamma(D / 2)

    def total(weight):
        def shell(L):
            sigma = math.exp(-L) / (4 * math.pi)
            top = math.sqrt(2 * D * sigma * L)
            return sigma * integrate.quad(lambda rho: sphere * rho**(D - 1) * weight(rho, sigma), 0,
                                          top)[0]
        return integrate.quad(shell, 0, 80, limit=300)[0]

    c = heatball.ball.constants(dim, lift)
    assert c["volume"] == pytest.approx(total(lambda rho, s: 1), rel=1e-7)
    assert c["gradient_mass"] == pytest.approx(total(lambda rho, s: rho / (2 * s)), rel=1e-7)
    assert c["source_mass"] == pytest.approx(total(
        lambda rho, s: -D / 2 * math.log(4 * math.pi * s) - rho**2 / (4 * s)), rel=1e-7)
    assert 1 == pytest.approx(total(lambda rho, s: rho**2 / (4 * s**2)), rel=1e-7)
    assert c["mean_sigma"] == pytest.approx(total(lambda rho, s: rho**2 / (4 * s)), rel=1e-7)


@pytest.mark.parametrize("dim, lift", [(1, 0), (2, 0), (5, 3), (1000, 0), (999983, 0),
                                       (10**6, 10**6)])
def test_relations(dim, lift):
    c, D = heatball.ball.constants(dim, lift), dim + lift
    assert c["C1"] == pytest.approx(
        math.exp(-(D / 2 + 2) * math.log1p(2 / D)) / math.pi, rel=1e-12)
    assert c["C2"] == pytest.approx(2 * D * c["C1"], rel=1e-14)
    assert c["C3"] == pytest.approx(c["C1"] / 2, rel=1e-14)
    assert c["mean_sigma"] == pytest.approx(c["C1"] / 4, rel=1e-14)
    assert c["source_mass"] == pytest.approx(c["C1"] / (2 * D), rel=1e-14)
    assert c["gradient_mass"] == pytest.approx(c["c_g"] / D, rel=1e-14)
    assert c["sigma_star"] == pytest.approx(1 / (4 * math.pi * math.e), rel=1e-15)
    assert c["R_max"] == pytest.approx(math.sqrt(2 * D / (4 * math.pi * math.e)), rel=1e-15)
    assert c["C_sharp"] == pytest.approx(1 / math.sqrt(math.pi), rel=1e-15)
    n = D / 2
    assert c["cylinder_ratio"] == pytest.approx(
        math.exp(-n + (n + 1) * math.log(n + 1) - special.gammaln(n + 1)), rel=1e-8)
    assert (c["one_plus_chi2"] == math.inf) == (D <= 2)


@pytest.mark.parametrize("dim", [1, 2, 3, 8, 32, 170])
def test_paper_drift_constant(dim):
    assert heatball.ball.constants(dim, 3)["C_d"] == pytest.approx(
        special.poch(dim / 2, 0.5), rel=1e-13)


def test_limits_in_large_dimension():
    """C1 -> 1/(pi e), C_d ~ sqrt(d/2), |S|/|E_1| ~ (e/(2 sqrt(pi))) sqrt(d)."""
    c = heatball.ball.constants(10**6)
    assert c["C1"] == pytest.approx(1 / (math.pi * math.e), rel=1e-5)
    assert c["C_d"] == pytest.approx(math.sqrt(5e5), rel=1e-6)
    assert c["cylinder_ratio"] == pytest.approx(math.e / (2 * math.sqrt(math.pi)) * 1000, rel=1e-5)


# ---- kernels -----------------------------------------------------------------------------------

def reference_kernels(y, s, r):
    d, y2 = y.shape[-1], (y**2).sum(-1)
    heat = stats.norm.pdf(y, scale=np.sqrt(2 * s)[..., None]).prod(-1)
    psi = d * np.log(r) + np.log(heat)
    inside = psi >= 0
    return {
        "heat": heat,
        "watson": inside * y2 / (4 * s**2 * r**d),
        "source": inside * psi,
        "gradient": inside * np.sqrt(y2) / (2 * s),
        "green": inside * (heat - r**-d * (1 + psi)),
        "drift": inside * (heat - r**-d),
    }


@pytest.mark.parametrize("name", ["heat", "watson", "source", "gradient", "green", "drift"])
@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_kernel_values(name, dim):
    r = 1.385
    rng = np.random.default_rng(7)
    s = rng.uniform(0.005, 0.2, 2000)
    y = rng.normal(size=(2000, dim)) * 0.4
    expected = reference_kernels(y, s, r)[name]
    assert 100 < (expected == 0).sum() < 1900 or name == "heat"
    np.testing.assert_allclose(heatball.ball.kernel(name, y, s, r), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["watson", "source", "gradient", "green"])
def test_kernel_integrals(name):
    """In one dimension, by quadrature: 1, C1 r^3/2, c_g r^2, C1 r^2/4."""
    r, c = 1.385, heatball.ball.constants(1)
    end = r**2 / (4 * math.pi)

    def shell(s):
        top = math.sqrt(2 * s * math.log(end / s))
        y = np.polynomial.legendre.leggauss(80)
        nodes = top * (y[0] + 1) / 2
        return top * (y[1] @ heatball.ball.kernel(name, nodes[:, None], s, r))  # both sides: times 2/2

    total = integrate.quad(lambda L: shell(end * math.exp(-L)) * end * math.exp(-L), 1e-12, 90,
                           limit=300)[0]
    exact = {"watson": 1, "source": c["C1"] * r**3 / 2, "gradient": c["c_g"] * r**2,
             "green": c["C1"] * r**2 / 4}[name]
    assert total == pytest.approx(exact, rel=1e-6)


def test_kernel_shapes():
    y, s = np.full((4, 1, 3), 0.05), np.linspace(0.01, 0.04, 5)
    out = heatball.ball.kernel("watson", y, s)
    assert out.shape == (4, 5)
    one = heatball.ball.kernel("watson", y[0, 0], s[2])
    assert isinstance(one, float) and one == out[0, 2] == pytest.approx(0.0075 / (4 * s[2]**2))
    assert heatball.ball.kernel("heat", np.empty((0, 3)), np.empty(0)).shape == (0,)
    strided = np.asfortranarray(np.random.default_rng(1).normal(size=(6, 3)))
    np.testing.assert_array_equal(heatball.ball.kernel("heat", strided, 0.3),
                                  heatball.ball.kernel("heat", strided.copy(order="C"), 0.3))


# ---- cubature ----------------------------------------------------------------------------------

def node_moment(z, sigma, weight, a, b):
    return weight @ (sigma**a * z[:, 0]**(2 * b))


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dim, lift", [(1, 0), (2, 0), (3, 0), (1, 3), (2, 2)])
@pytest.mark.parametrize("degree", [2, 4, 5])
def test_exact_rule_has_the_exact_moments(measure, dim, lift, degree):
    z, sigma, weight = heatball.ball.nodes(measure, dim, lift=lift, degree=degree)
    assert z.shape == (len(weight), dim) and sigma.shape == weight.shape
    assert (weight > 0).all() and weight.sum() == pytest.approx(1, rel=1e-13)
    for b in range(degree // 2 + 1):
        for a in range((degree - 2 * b) // 2 + 1):
            exact = moment(measure, dim + lift, a, b)
            assert node_moment(z, sigma, weight, a, b) == pytest.approx(exact, rel=1e-10)
    for odd in (z[:, 0], z[:, -1] * sigma if degree >= 3 else z[:, -1]):
        assert abs(weight @ odd) < 1e-13


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_exact_rule_on_caloric_polynomials(dim):
    """Harmonic-like polynomials in z and tau at an anchor off the origin, at radius 1.2."""
    x0, tau0, r = 0.3 + 0.2 * np.arange(dim), 0.8, 1.2
    z, sigma, weight = heatball.ball.nodes("kappa", dim, degree=4, rotate=(7, 3))
    x, tau = x0 + r * z, tau0 - r**2 * sigma

    def quartic(x, tau):
        return x[..., 0]**4 + 12 * x[..., 0]**2 * tau + 12 * tau**2

    def mixed(x, tau):
        return (x[..., 0]**2 + 2 * tau) * (x[..., -1]**2 + 2 * tau) if dim > 1 else x[..., 0]**3 + \
            6 * x[..., 0] * tau

    for polynomial in (quartic, mixed):
        assert weight @ polynomial(x, tau) == pytest.approx(polynomial(x0, tau0), rel=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dim, lift", [(1, 0), (2, 0), (3, 0)])
def test_product_rule(measure, dim, lift):
    """Exact for L^a t^b with a < 2 n_time, b < 2 n_radius."""
    n_time, n_radius = 3, 2
    z, sigma, weight = heatball.ball.nodes(measure, dim, lift=lift, n_time=n_time, n_radius=n_radius,
                                         direction_degree=3)
    assert (weight > 0).all() and weight.sum() == pytest.approx(1, rel=1e-13)
    L = -np.log(4 * np.pi * sigma)
    t = (z**2).sum(1) / (2 * dim * sigma * L)
    shape, rate, p, q = laws(measure, dim)
    for a in range(2 * n_time):
        for b in range(2 * n_radius):
            exact = special.poch(shape, a) / rate**a * special.poch(p, b) / special.poch(p + q, b)
            assert weight @ (L**a * t**b) == pytest.approx(exact, rel=1e-10)


def test_rotation():
    plain = heatball.ball.nodes("kappa", 3, degree=4)
    turned = [heatball.ball.nodes("kappa", 3, degree=4, rotate=r) for r in ((1, 0), (1, 0), (1, 1))]
    assert np.array_equal(turned[0][0], turned[1][0])
    for z, sigma, weight in turned:
        assert np.abs(z - plain[0]).max() > 0.01
        np.testing.assert_allclose(z @ z.T, plain[0] @ plain[0].T, atol=1e-14)
        assert np.array_equal(sigma, plain[1]) and np.array_equal(weight, plain[2])
    assert np.abs(turned[0][0] - turned[2][0]).max() > 0.01

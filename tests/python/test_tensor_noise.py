"""Noise that is a tensor, on the grid: against Gaussians, a transformed Brownian motion and Fourier series."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.stats import norm

import heatball

# G = M R(x1): it depends on x, and D = M M'/2 does not.
TURNED = "cos(x1), -sin(x1); 0.5*cos(x1) + 0.8*sin(x1), -0.5*sin(x1) + 0.8*cos(x1)"
M = np.array([[1, 0], [0.5, 0.8]])


def gaussian_law(A, D, mean, C, t):
    """Mean and covariance of dx = A x dt + G dW at t, D = G G'/2."""
    d = len(mean)
    E = expm(t * np.block([[A, 2 * D], [np.zeros((d, d)), -A.T]]))
    F = E[:d, :d]
    return F @ mean, F @ C @ F.T + E[:d, d:] @ F.T


def check(solution, v, score=None, bulk=None):
    """All errors are within what is claimed; those of v below bulk, where it is given."""
    assert np.all(np.isfinite(solution.log_density_error))
    assert np.all(np.abs(solution.log_density - v) <= solution.log_density_error)
    if score is not None:
        assert np.all(np.abs(solution.score - score) <= solution.score_error)
    if bulk:
        assert np.all(np.abs(solution.log_density - v) < bulk)


@pytest.mark.parametrize("noise, D, A, bulk", [
    (TURNED, M @ M.T / 2, [[-1, 0.5], [-0.5, -1]], 2e-5),
    ("0, 0.7", np.diag([0, 0.245]), [[0, 1], [-1, -0.5]], 2e-4),
])
def test_gaussians(noise, D, A, bulk):
    A = np.array(A)
    mean, C = gaussian_law(A, D, np.array([0.3, 0]), 0.3 * np.eye(2), 0.7)
    points = mean + np.random.default_rng(1).standard_normal((60, 2)) @ np.linalg.cholesky(C).T
    P, away = np.linalg.inv(C), points - mean
    v = -0.5 * np.einsum("ni,ij,nj->n", away, P, away) - 0.5 * np.linalg.slogdet(2 * np.pi * C)[1]
    drift = ", ".join(f"{row[0]}*x1 + {row[1]}*x2" for row in A)
    solution = heatball.solve(drift=drift, noise=noise, initial="gaussian(mean=0.3 0, var=0.3)", time=0.7,
                              at=points, method="grid")
    check(solution, v, -away @ P, bulk)


def test_sinh_of_brownian_motion():
    """dX = X/2 dt + sqrt(1 + X^2) dW is sinh(W + asinh(X0))."""
    t, x = 0.7, np.linspace(-4, 4, 17)
    y0 = np.linspace(-4, 4, 20001)
    weights = norm.pdf(np.sinh(y0), 0, 0.3**0.5) * np.cosh(y0) * (y0[1] - y0[0])
    away = np.arcsinh(x)[:, None] - y0
    parts = norm.pdf(away, 0, t**0.5) * weights
    u = parts.sum(1)
    slope = -(away / t * parts).sum(1) / u
    score = slope / np.sqrt(1 + x**2) - x / (1 + x**2)
    solution = heatball.solve(drift="x/2", noise="sqrt(1 + x^2)", initial="gaussian(mean=0, var=0.3)", time=t,
                              at=x[:, None], method="grid")
    check(solution, np.log(u / np.sqrt(1 + x**2)), score[:, None], 1e-6)


def fourier(f, D, start, time, half, n):
    """ln u and grad ln u of du/dt = -d_a(f_a u) + d_a d_b(D_ab u) in a periodic box, as a function of points."""
    x = np.arange(n) * 2 * half / n - half
    X, Y = np.meshgrid(x, x, indexing="ij")
    k = np.fft.fftfreq(n, 1 / n) * np.pi / half
    kx, ky = np.meshgrid(k, k, indexing="ij")
    (fx, fy), (a, b, c) = f(X, Y), D(X, Y)

    def rate(u):
        parts = [np.fft.fft2(p * u) for p in (fx, fy, a, b, c)]
        return np.fft.ifft2(-1j * kx * parts[0] - 1j * ky * parts[1] - kx**2 * parts[2] - 2 * kx * ky * parts[3]
                            - ky**2 * parts[4]).real

    u = start(X, Y)
    steps = int(np.ceil(time * 2 * (a + c).max() * np.abs(k).max()**2 / 2))
    h = time / steps
    for _ in range(steps):
        k1 = rate(u)
        k2 = rate(u + h / 2 * k1)
        k3 = rate(u + h / 2 * k2)
        u = u + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(u + h * k3))
    U = np.fft.fft2(u) / n**2

    def at(points):
        ex, ey = (np.exp(1j * np.outer(points[:, j] + half, k)) for j in range(2))
        value, sx, sy = (np.einsum("nk,kl,nl->n", p, U, q).real for p, q in
                         ((ex, ey), (1j * k * ex, ey), (ex, 1j * k * ey)))
        return np.log(value), np.stack([sx / value, sy / value], 1)

    return at


def test_noise_that_turns_with_x():
    def D(X, Y):
        s, c = np.sin(X + 0.5 * Y), np.cos(X + 0.5 * Y)
        return 0.5 * (c * c + 0.25 * s * s), 0.375 * s * c, 0.5 * (s * s + 0.25 * c * c)

    at = fourier(lambda X, Y: (Y - X, -X - Y), D,
                 lambda X, Y: np.exp(-((X - 0.4)**2 + Y**2) / 0.6) / (0.6 * np.pi), 0.5, 6, 128)
    points = np.random.default_rng(3).uniform(-1, 1, (40, 2))
    v, score = at(points)
    turned = "cos(x1 + 0.5*x2), -0.5*sin(x1 + 0.5*x2); sin(x1 + 0.5*x2), 0.5*cos(x1 + 0.5*x2)"
    solution = heatball.solve(drift="x2 - x1, -x1 - x2", noise=turned, initial="gaussian(mean=0.4 0, var=0.3)",
                              time=0.5, at=points, method="grid")
    check(solution, v, score, 2e-4)


@pytest.mark.parametrize("method", ["walk", "particles", "meanvalue"])
def test_other_methods_name_the_grid(method):
    with pytest.raises(heatball.Error, match="grid"):
        heatball.solve(drift="-x1, -x2", noise=TURNED, initial="gaussian(mean=0, var=1)", time=1,
                       at=[[0, 0]], method=method)


def test_four_dimensions_are_refused():
    with pytest.raises(heatball.Error, match="only the grid takes that, in dimension 1 to 3"):
        heatball.solve(drift="-x1, -x2, -x3, -x4", noise="1 + 0.1*x2^2, 1, 1, 1",
                       initial="gaussian(mean=0, var=1)", time=1, at=[[0, 0, 0, 0]])


def test_auto_takes_the_grid():
    solution = heatball.solve(drift="-x1, -x2", noise=TURNED, initial="gaussian(mean=0, var=1)", time=0.3,
                              at=[[0, 0]])
    assert solution.method == "grid"


def test_nothing_is_claimed_far_out():
    solution = heatball.solve(drift="-x1, -x2", noise=TURNED, initial="gaussian(mean=0, var=0.3)", time=0.3,
                              at=[[0, 0], [6, 0]], method="grid")
    assert np.isfinite(solution.log_density_error[0]) and np.isinf(solution.log_density_error[1])
    assert 1 in solution.warnings


def test_noise_that_jumps_is_doubted():
    """div D has a part there that no derivative shows."""
    solution = heatball.solve(drift="-x1, -x2", noise="1 + 0.3*sign(x1 - 0.3), 0.3*sin(x2); 0, 1",
                              initial="gaussian(mean=0.2 0, var=0.3)", time=0.3, at=[[0, 0]], method="grid")
    assert np.isinf(solution.log_density_error[0]) and 0 in solution.warnings


def test_drift_that_jumps_is_refused():
    with pytest.raises(heatball.Error, match="jumps"):
        heatball.solve(drift="-sign(x1), -x2", noise=TURNED, initial="gaussian(mean=0, var=1)", time=0.3,
                       at=[[0, 0]], method="grid")

"""The peers of particles and walks, in NumPy, written as well as we can.

kde             Gaussian kernels of Scott's width, n^(-1/(d+4)) times the square root of the covariance, on
                the ends of trajectories: density and score. The data are whitened once; a point
                costs one pass over the coordinates and one exponential per particle.
ends            the ends of trajectories: one exact draw for linear drifts, else Heun's scheme.
feynman_kac     u(x, tau) = E[u0(X) exp(-int div F)], dX = -F ds + sqrt(2) dW from x, by Euler-Maruyama,
                with the pathwise derivative for the score (feynman_kac_linear: F = A x); `gauge` the same
                after u = e^(-V/2) psi for F = -grad V: Brownian paths, int Q by the trapezoid rule,
                Q = |F|^2/4 + div F/2.
scheme_log      the exact expectation of these schemes at a given number of steps, so that their bias is
                known and not measured: Gaussian algebra for linear drifts, repeated quadrature on
                a fine mesh in one dimension otherwise.

peer_walk.c is feynman_kac in C.
"""
import numpy as np

import estimate_problems


def ends(problem, rng, n, step=0.005):
    """X(tau) of n trajectories, (n, d)."""
    x = problem.draw_start(rng, n)
    if hasattr(problem, "A"):
        A = problem.A
        E = estimate_problems.expm(A * problem.tau)
        root = np.linalg.cholesky(estimate_problems.noise_covariance(A, problem.tau))
        return x @ E.T + rng.standard_normal(x.shape) @ root.T
    steps = int(np.ceil(problem.tau / step))
    h = problem.tau / steps
    for _ in range(steps):
        noise = np.sqrt(2 * h) * rng.standard_normal(x.shape)
        slope = problem.drift(x)
        x = x + noise + h / 2 * (slope + problem.drift(x + noise + h * slope))
    return x


def kde(x, at):
    """Density (n,) and score (n, d) at points by Scott's rule from particles x (N, d)."""
    N, d = x.shape
    width = N**(-1 / (d + 4))
    root = np.linalg.cholesky(np.atleast_2d(np.cov(x, rowvar=False))) * width
    inverse = np.linalg.inv(root)
    z = np.ascontiguousarray((x @ inverse.T).T)  # (d, N): each coordinate in one run of memory
    places = at @ inverse.T
    scale = np.abs(np.linalg.det(inverse)) / (N * (2 * np.pi)**(d / 2))
    density, score = np.empty(len(at)), np.empty_like(at)
    for i, place in enumerate(places):
        away = z - place[:, None]
        w = np.exp(-0.5 * np.einsum("ij,ij->j", away, away))
        total = w.sum()
        density[i] = total * scale
        score[i] = inverse.T @ (away @ w) / total if total > 0 else 0
    return density, score


class Bistable:
    """F = 2(x - x^3) = -V' with its derivatives, and ln u0 of N(0, 1) with its slope."""

    @staticmethod
    def F(x):
        return 2 * (x - x**3)

    @staticmethod
    def dF(x):
        return 2 - 6 * x * x

    @staticmethod
    def ddF(x):
        return -12 * x

    @staticmethod
    def V(x):
        return x**4 / 2 - x * x

    @staticmethod
    def log_start(x):
        return -0.5 * (x * x + np.log(2 * np.pi))

    @staticmethod
    def start_slope(x):
        return -x


class Soft:
    """The same of one coordinate of estimate_problems.SoftWells."""

    def __init__(self, problem):
        self.mean, self.var = problem.mean, problem.var

    @staticmethod
    def F(x):
        return -x + 2 * x / (1 + x * x)

    @staticmethod
    def dF(x):
        return -1 + 2 * (1 - x * x) / (1 + x * x)**2

    @staticmethod
    def ddF(x):
        return -4 * x * (3 - x * x) / (1 + x * x)**3

    def log_start(self, x):
        return -0.5 * ((x - self.mean)**2 / self.var + np.log(2 * np.pi * self.var))

    def start_slope(self, x):
        return -(x - self.mean) / self.var


def gauge_potential(law, x):
    """Q = F^2/4 + F'/2 and its slope."""
    F, dF, ddF = law.F(x), law.dF(x), law.ddF(x)
    return F * F / 4 + dF / 2, F * dF / 2 + ddF / 2


def moments(a, b):
    """Mean of a, its standard error, score mean b/mean a and its standard error (delta method)."""
    n, mean = len(a), a.mean()
    slope = b.mean(0) / mean
    spread = (b - a[:, None] * slope) / mean
    return mean, a.std(ddof=1) / np.sqrt(n), slope, np.sqrt((spread**2).mean(0) / n)


def feynman_kac_linear(problem, x, walks, steps, rng):
    """Euler-Maruyama for F = A x; the weight and the tangent are constants."""
    A, h = problem.A, problem.tau / steps
    M = np.eye(problem.dim) - h * A
    y = np.tile(x, (walks, 1))
    noise = np.empty_like(y)
    for _ in range(steps):
        rng.standard_normal(out=noise)
        noise *= np.sqrt(2 * h)
        y = y @ M.T
        y += noise
    tangent = np.linalg.matrix_power(M, steps)
    if isinstance(problem, estimate_problems.Uniform):  # no pathwise derivative of a jump
        inside = np.all((y > problem.low) & (y < problem.high), axis=1)
        a = inside * np.exp(-problem.tau * np.trace(A)) / (problem.high - problem.low)**problem.dim
        return moments(a, np.zeros_like(y))
    v, slope = estimate_problems.mixture(y, problem.weights, problem.means,
                                         [np.diag(s) for s in problem.variances])
    a = np.exp(v - problem.tau * np.trace(A))
    return moments(a, a[:, None] * (slope @ tangent))


def feynman_kac(law, x, tau, walks, steps, rng, gauge=False):
    """Independent coordinates with the same law each; x (d,)."""
    h = tau / steps
    y, slope = np.tile(x, (walks, 1)), np.zeros((walks, len(x)))
    log_weight, tangent = np.zeros(walks), np.ones((walks, len(x)))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(steps):
            noise = np.sqrt(2 * h) * rng.standard_normal(y.shape)
            if gauge:
                share = h / 2 if k == 0 else h
                Q, dQ = gauge_potential(law, y)
                log_weight -= share * Q.sum(1)
                slope -= share * dQ
                y += noise
            else:
                dF = law.dF(y)
                log_weight -= h * dF.sum(1)
                slope -= h * law.ddF(y) * tangent
                y += noise - h * law.F(y)
                tangent -= h * dF * tangent
        if gauge:
            Q, dQ = gauge_potential(law, y)
            log_weight += ((law.V(y) - law.V(x)) / 2 - h / 2 * Q).sum(1)
            slope += (law.F(x) - law.F(y)) / 2 - h / 2 * dQ
        a = np.exp(log_weight + law.log_start(y).sum(1))
        b = a[:, None] * (slope + law.start_slope(y) * tangent)
    lost = ~np.isfinite(a) | ~np.isfinite(b).all(1)  # walks that exploded: u0 is 0 out there
    a[lost], b[lost] = 0, 0
    return moments(a, b)


def scheme_log(problem, x, steps, gauge=False):
    """ln of the expectation of the scheme with so many steps at the point x (d,)."""
    h = problem.tau / steps
    if hasattr(problem, "A"):
        M = np.eye(problem.dim) - h * problem.A
        power, cov = np.eye(problem.dim), np.zeros_like(M)
        for _ in range(steps):
            cov += 2 * h * power @ power.T
            power = power @ M
        trace = problem.tau * np.trace(problem.A)
        if isinstance(problem, estimate_problems.Uniform):
            return problem.smoothed((power @ x)[None], np.sqrt(np.diag(cov)), 1.0)[0][0] - trace
        covariances = [np.diag(v) + cov for v in problem.variances]
        return estimate_problems.mixture((power @ x)[None], problem.weights, problem.means,
                                         covariances)[0][0] - trace
    law = Soft(problem) if isinstance(problem, estimate_problems.SoftWells) else Bistable
    return scheme_log_each(law, x, problem.tau, steps, gauge).sum()


def scheme_log_each(law, x, tau, steps, gauge, box=6.0, points=801):
    """Of one coordinate, at x (d,): backward steps of the scheme's own kernel, trapezoid rule on a mesh."""
    h = tau / steps
    y, spacing = np.linspace(-box, box, points, retstep=True)
    assert np.sqrt(2 * h) > spacing, "the mesh must resolve the steps"
    target = y if gauge else y - h * law.F(y)
    with np.errstate(under="ignore", divide="ignore"):
        kernel = np.exp(-(target[:, None] - y)**2 / (4 * h)) * (spacing / np.sqrt(4 * np.pi * h))
        u = np.exp(law.log_start(y) + (law.V(y) / 2 if gauge else 0))
        half = np.exp(-h / 2 * gauge_potential(law, y)[0]) if gauge else 1
        weight = half if gauge else np.exp(-h * law.dF(y))
        for _ in range(steps):
            u = weight * (kernel @ (half * u))
        v = np.log(u) - (law.V(y) / 2 if gauge else 0)
    near = [np.abs(y - one) < 0.3 for one in x]
    return np.array([np.polyval(np.polyfit(y[n] - one, v[n], 6), 0) for one, n in zip(x, near)])


def steps_for_bias(problem, x, relative, gauge=False, most=2048):
    """The fewest steps from which on the relative bias is at most `relative`, and that bias.

    A bias may cross zero by luck, so the steps are doubled until three in a row are good.
    """
    exact = problem.exact(x[None])[0][0]

    def bias(steps):
        return abs(np.expm1(scheme_log(problem, x, steps, gauge) - exact))

    low, good, steps = 0, 0, 1
    while good < 3 and steps <= most:
        low, good = (steps, 0) if bias(steps) > relative else (low, good + 1)
        steps *= 2
    high = max(2 * low, 1)
    while high - low > max(1, low // 16):
        middle = (low + high) // 2
        low, high = (middle, high) if bias(middle) > relative else (low, middle)
    return high, bias(high)

"""Densities of smooth diffusions in the plane by Fourier series: a reference for tests.

du/dt = -div(f u) + D(t) Lap u in a periodic box that is wide enough for the density not to reach its edges.
With u^ the coefficients, d u^/dt = -D k^2 u^ - i k . (f u)^; diffusion is taken exactly as an integrating
factor, the rest by the Runge-Kutta method of order 4. Smooth drifts only: there the error falls exponentially
in the number of coefficients. Towards the edges, where there is no density, the drift is led to 0: one that grows
there would need small steps for nothing. Solved twice, with more coefficients, smaller steps and a wider box the second time; the
difference is the error that is stated.
"""

import numpy as np
from scipy.fft import irfft2, rfft2
from scipy.integrate import quad

FREE = 0.7


def window(x, low, high):
    """1 within FREE of the half width from the middle, 0 at the edges, smooth; x (n, 2)."""
    away = np.abs(2 * x - low - high) / (high - low)
    s = np.clip((away - FREE) / (1 - FREE), 2e-3, 1 - 2e-3)
    return (1 / (1 + np.exp(1 / (1 - s) - 1 / s))).prod(1)


class Plane:
    """One solution: n by n coefficients in a box (low, high), each (2,)."""

    def __init__(self, drift, diffusion, starts, time, low, high, n, steps):
        self.low, self.length, self.n = low, high - low, n
        axes = [low[j] + self.length[j] * np.arange(n) / n for j in range(2)]
        self.x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
        self.k = [2 * np.pi / self.length[0] * np.fft.fftfreq(n, 1 / n)[:, None],
                  2 * np.pi / self.length[1] * np.fft.rfftfreq(n, 1 / n)[None, :]]
        self.square = self.k[0]**2 + self.k[1]**2
        inner = np.abs(np.fft.fftfreq(n, 1 / n))[:, None] < n / 2
        self.slopes = [1j * self.k[0] * inner, 1j * self.k[1] * (np.fft.rfftfreq(n, 1 / n) < n / 2)]
        kept = window(self.x, low, high)[:, None]
        self.drift, self.diffusion = lambda x, t: kept * drift(x, t), diffusion
        self.columns = [self.march(start, time, steps) for start in starts]

    def change(self, c, t):
        u = irfft2(c, (self.n, self.n))
        f = self.drift(self.x, t).reshape(self.n, self.n, 2)
        return -sum(self.slopes[j] * rfft2(f[..., j] * u) for j in range(2))

    def march(self, start, time, steps):
        mean, var = start
        u = np.exp(-((self.x - mean)**2 / (2 * var)).sum(1)) / (2 * np.pi * np.sqrt(np.prod(var)))
        c, h = rfft2(u.reshape(self.n, self.n)), time / steps
        for i in range(steps):
            t = i * h
            half = np.exp(-self.square * quad(self.diffusion, t, t + h / 2)[0])
            rest = np.exp(-self.square * quad(self.diffusion, t + h / 2, t + h)[0])
            k1 = self.change(c, t)
            k2 = self.change(half * (c + h / 2 * k1), t + h / 2)
            k3 = self.change(half * c + h / 2 * k2, t + h / 2)
            k4 = self.change(rest * (half * c + h * k3), t + h)
            c = rest * (half * (c + h / 6 * k1) + h / 3 * (k2 + k3)) + h / 6 * k4
        return c

    def at(self, x):
        """u (n, k) and its gradient (n, k, 2)."""
        out = np.empty((len(x), len(self.columns), 3))
        for i, point in enumerate(x):
            wave = [np.exp(1j * self.k[j] * (point[j] - self.low[j])) for j in range(2)]
            twice = np.where(np.fft.rfftfreq(self.n, 1 / self.n) % (self.n / 2) == 0, 1, 2)
            for k, c in enumerate(self.columns):
                terms = c * wave[0] * wave[1] * twice / self.n**2
                out[i, k] = [terms.sum().real, *((s * terms).sum().real for s in self.slopes)]
        return out


def plane(drift, diffusion, starts, time, low, high, x, n=64, steps=200):
    """u (n, k), gradient (n, k, 2) and the differences to a coarser solution: out, error of (n, k, 3)."""
    wide = 0.08 * (high - low)
    coarse = Plane(drift, diffusion, starts, time, low, high, n, steps).at(x)
    fine = Plane(drift, diffusion, starts, time, low - wide, high + wide, n * 3 // 2, steps * 2).at(x)
    return fine, np.abs(fine - coarse)

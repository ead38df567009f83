"""The peer: du/dtau = u'' - (F u)' in one dimension by explicit steps in NumPy, written as well as we can.

Central differences in flux form on the nodes of the grid, no flux through the walls, forward Euler at the
largest stable step, all in place on preallocated arrays: what py-pde does with its NumPy backend and
its default explicit stepper. A step costs four passes over the array.

    python3 bench/peer_grid.py [POINTS]     prints seconds, steps and the error at the asked points
"""
import sys
import time

import numpy as np

AT = np.array([-1.0, 0.0, 0.5])
# u(AT, t = 1) for f = x - x^3, g = 1, u0 = N(0, 1): tests/grid/test_grid.c
EXACT = np.array([0.39203167156, 0.24749995699, 0.30336692653])


def explicit(points, low, high, tau, drift, u0):
    """u at the nodes after tau, and the number of steps."""
    x, h = np.linspace(low, high, points + 1, retstep=True)
    u = u0(x)
    face = drift(0.5 * (x[1:] + x[:-1]))
    up, down = face / 2 + 1 / h, face / 2 - 1 / h
    fastest = np.max(np.maximum(np.abs(up), np.abs(down))) * 4 / h
    steps = int(np.ceil(tau * fastest / 1.99))
    scale = tau / steps / h
    up *= scale
    down *= scale
    flux, other = np.zeros(points + 2), np.empty(points)
    inner = flux[1:-1]
    change = np.empty(points + 1)
    for _ in range(steps):
        np.multiply(up, u[:-1], out=inner)
        np.multiply(down, u[1:], out=other)
        inner += other
        np.subtract(flux[:-1], flux[1:], out=change)
        u += change
    return x, u, steps


def bistable(points, box=5.5):
    """Seconds, steps and the largest relative error at AT."""
    start = time.perf_counter()
    x, u, steps = explicit(points, -box, box, 0.5, lambda y: 2 * (y - y**3),
                           lambda y: np.exp(-y * y / 2) / np.sqrt(2 * np.pi))
    seconds = time.perf_counter() - start
    value = np.exp([np.interp(a, x, np.log(np.maximum(u, 1e-300))) for a in AT])
    return seconds, steps, float(np.max(np.abs(value / EXACT - 1)))


if __name__ == "__main__":
    print("seconds %.4f steps %d error %.2e" % bistable(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))

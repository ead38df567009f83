"""Problems that networks were published for, by solve: errors against closed forms, or two methods against each other, and seconds.

    PYTHONPATH=python /usr/bin/python3 bench/published_problems.py [trap cauchy laplace lorenz anharmonic]

docs/guided-walks.md has the table and the sources. One thread; seconds are of the processor.
"""
import sys
import tempfile
import time

import numpy as np
import scipy.special

import heatball


def run(**problem):
    start = time.process_time()
    s = heatball.solve(threads=1, **problem)
    return s, time.process_time() - start


def shown(values):
    return " ".join(f"{value:.2g}" for value in values)


def against(name, s, seconds, v, score):
    known = np.isfinite(s.log_density_se)
    print(f"{name:10} {s.method:9} {seconds:7.1f} s, {known.sum()} of {len(known)} points claimed; largest error of ln u {np.abs(s.log_density - v).max():.2g}"
          f" (claimed {s.log_density_se.max():.2g}), of the score {np.abs(s.score - score).max():.2g} (claimed {s.score_se.max():.2g})", flush=True)


def trap(n=50, radius=2.0, time_end=5.0):
    """n particles in the plane, -x_i/2 + mu(t) - mean(x)/2, D = 0.25, mu = radius (cos t, sin t), from N(mu(0), 0.25^2)."""
    texts = [f"-0.5*x[{k + 1}] + {radius}*{'cos' if k % 2 == 0 else 'sin'}(t) - 0.5*sum(j, 0, {n - 1}, x[2*j + {k % 2 + 1}])/{n}" for k in range(2 * n)]
    start = [radius, 0.0] * n
    # dm/dt = -m + mu; deviations relax with 1/2, the mean of all with 1; v' = -2 rate v + 2D
    turn = lambda t: np.array([np.cos(t) + np.sin(t), np.sin(t) - np.cos(t)]) / 2 * radius
    mean = turn(time_end) + np.exp(-time_end) * (np.array([radius, 0]) - turn(0))
    def variance(rate):
        return 0.25 / rate + (0.0625 - 0.25 / rate) * np.exp(-2 * rate * time_end)
    rng = np.random.default_rng(1)
    y = rng.normal(size=(4, n, 2))
    centre = y.mean(1, keepdims=True)
    y = mean + np.sqrt(variance(0.5)) * (y - centre) + np.sqrt(variance(1.0)) * centre
    dev, mid = y - y.mean(1, keepdims=True), y.mean(1) - mean
    v = (-0.5 * (dev ** 2).sum((1, 2)) / variance(0.5) - 0.5 * n * (mid ** 2).sum(1) / variance(1.0)
         - (n - 1) * np.log(2 * np.pi * variance(0.5)) - np.log(2 * np.pi * variance(1.0)))
    score = -(dev / variance(0.5) + mid[:, None] / variance(1.0)).reshape(4, 2 * n)
    s, seconds = run(drift=texts, noise="sqrt(0.5)", initial=f"gaussian(mean={' '.join(map(str, start))}, var=0.0625)", time=time_end,
                     at=y.reshape(4, 2 * n))
    against("trap", s, seconds, v, score)


def brownian(name, log_start, draw, line, dim=10, time_end=0.5):
    """dx = dW from a product of one-dimensional densities; `line` is their convolution with N(0, t)."""
    rng, h = np.random.default_rng(2), 1e-4
    x = draw(rng, (4, dim)) + np.sqrt(time_end) * rng.normal(size=(4, dim))
    v = np.log(line(x, time_end)).sum(1)
    score = (np.log(line(x + h, time_end)) - np.log(line(x - h, time_end))) / (2 * h)
    s, seconds = run(drift="0", dim=dim, noise=1, initial=log_start, time=time_end, at=x, method="walk")
    against(name, s, seconds, v, score)


def cauchy():
    brownian("cauchy", lambda x: -np.log(np.pi * (1 + x * x)).sum(1), lambda rng, shape: rng.standard_cauchy(shape),
             lambda x, t: scipy.special.voigt_profile(x, np.sqrt(t), 1.0))


def laplace():
    def line(x, t):
        part = lambda y: scipy.special.erfcx((t + y) / np.sqrt(2 * t))
        return np.exp(-x * x / (2 * t)) / 4 * (part(x) + part(-x))
    brownian("laplace", lambda x: -np.abs(x).sum(1) - x.shape[1] * np.log(2), lambda rng, shape: rng.laplace(size=shape), line)


def two_methods(name, at, **problem):
    one, seconds = run(at=at, method="walk", **problem)
    two, other = run(at=at, method="particles", **problem)
    z = (one.log_density - two.log_density) / np.hypot(one.log_density_se, two.log_density_se)
    print(f"{name:10} walk {seconds:7.1f} s, particles {other:.1f} s: errors of ln u {shown(one.log_density_se)},"
          f" {shown(two.log_density_se)}; difference in errors {shown(z)}", flush=True)


def lorenz():
    """Lorenz 63 with noise 10 from two Gaussians, t = 0.03; points are ends of paths."""
    rng = np.random.default_rng(3)
    centres = np.array([[2.0, 2.0, 20.0], [-2.0, -2.0, 20.0]])
    x = centres[rng.integers(0, 2, 6)] + rng.normal(size=(6, 3))
    for _ in range(300):
        x = x + 1e-4 * np.stack([10 * (x[:, 1] - x[:, 0]), x[:, 0] * (28 - x[:, 2]) - x[:, 1], x[:, 0] * x[:, 1] - 8 / 3 * x[:, 2]], 1) \
            + 0.1 * rng.normal(size=x.shape)
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("weight,mean_1,mean_2,mean_3,var_1,var_2,var_3\n0.5,2,2,20,1,1,1\n0.5,-2,-2,20,1,1,1\n")
        file.flush()
        two_methods("lorenz", x, drift="10*(y - x), x*(28 - z) - y, x*y - 8/3*z", noise=10, initial=f"mixture({file.name})", time=0.03)


def anharmonic(time_end=0.1):
    """Five particles in the plane, -3 (x_i - mu)|x_i - mu|^2 + 10 (x_i - mean), D = 0.25, mu = 2 (cos t, sin t), from N(mu(0), 0.25^2)."""
    def text(k):
        i, axis = 2 * (k // 2), k % 2
        away = [f"(x{i + 1} - 2*cos(t))", f"(x{i + 2} - 2*sin(t))"]
        return f"-3*{away[axis]}*({away[0]}^2 + {away[1]}^2) + 10*(x{k + 1} - sum(j, 0, 4, x[2*j + {axis + 1}])/5)"
    rng = np.random.default_rng(4)
    at = np.tile([2.0, 0.1], 5) + 0.5 * rng.normal(size=(3, 10))
    two_methods("anharmonic", at, drift=[text(k) for k in range(10)], noise="sqrt(0.5)",
                initial="gaussian(mean=2 0 2 0 2 0 2 0 2 0, var=0.0625)", time=time_end)


if __name__ == "__main__":
    for name in sys.argv[1:] or ["trap", "cauchy", "laplace", "lorenz", "anharmonic"]:
        globals()[name]()

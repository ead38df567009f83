"""Problems that this field measures itself on, by solve: error and seconds beside the truth and what was reported for them.

    PYTHONPATH=python /usr/bin/python3 bench/published_problems.py [NAME ...]

Prints a row for each problem of examples/problems; docs/explanation/published-problems.md has those that were published. Ends with 1 when a reported error does
not cover the truth: exact methods and grids must be within it, samples and Monte Carlo within four errors. One thread; seconds are of
the processor, of solve alone. About two minutes of the processor in all.
"""
import pathlib
import sys
import time

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.special

import heatball

PROBLEMS = pathlib.Path(__file__).resolve().parent.parent / "examples" / "problems"
ROUNDING = 2e-11  # of the truths, which are formed in double
wrong = []


def run(name=None, **more):
    start = time.process_time()
    if name:
        more["problem"] = str(PROBLEMS / f"{name}.ini")
    s = heatball.solve(threads=1, **more)
    return s, time.process_time() - start


def worst(difference, claimed, drawn, truth_error):
    """Largest difference and claim where there is one, and the largest ratio of the two."""
    known = np.isfinite(claimed)
    if not known.any():
        return np.nan, np.nan, 0.0
    bound = np.hypot(claimed, truth_error) if drawn else claimed + truth_error
    return difference[known].max(), claimed[known].max(), (difference / bound)[known].max()


def row(name, s, seconds, v, score, truth, theirs, drawn=False, v_error=0.0, score_error=0.0):
    """Print a row; v (n) and score (n, d) are the truth with their own errors, NaN where it has none."""
    limit = 4 if drawn else 1
    n, d = s.score.shape
    cells = []
    for what, found, exact, claimed, error in (("ln u", s.log_density, v, s.log_density_se, v_error),
                                               ("score", s.score, score, s.score_se, score_error)):
        if exact is None:
            known = claimed[np.isfinite(claimed)]
            cells += ["", f"{known.max():.1e}" if len(known) else ""]
            continue
        gap, most, ratio = worst(np.abs(found - exact), claimed, drawn, error + ROUNDING * (1 + np.abs(exact)))
        cells += [f"{gap:.1e}", f"{most:.1e}"]
        if not ratio <= limit:
            wrong.append(f"{name}: {what} is {ratio:.2f} claimed errors off")
    claimed = int(np.isfinite(s.log_density_se).sum())
    print(f"| {name} | {d} | {s.method} | {seconds:.2g} | {claimed} of {n} | {cells[0]} | {cells[1]} | {cells[2]} | {cells[3]} | {truth} | {theirs} |", flush=True)


def gaussian(x, mean, cov):
    """ln density and score."""
    factor = scipy.linalg.cho_factor(cov, lower=True)
    gap = np.atleast_2d(x) - mean
    score = -scipy.linalg.cho_solve(factor, gap.T).T
    return 0.5 * (gap * score).sum(1) - np.log(np.diag(factor[0])).sum() - gap.shape[1] / 2 * np.log(2 * np.pi), score


def lognormal(x, mean, cov):
    v, score = gaussian(np.log(x), mean, cov)
    return v - np.log(x).sum(1), (score - 1) / x


def moved(A, G, t, cov):
    """e^(At) and the covariance of dx = A x dt + G dW from cov, by the exponential of a block matrix (Van Loan)."""
    d = len(A)
    E = scipy.linalg.expm(np.block([[-A, G @ G.T], [np.zeros((d, d)), A.T]]) * t)
    move = E[d:, d:].T
    return move, move @ cov @ move.T + move @ E[:d, d:]


FLOWKAC = "a network, minutes on a GPU (FlowKac)"
PINN = "100 001 steps of a network (Score-PINN)"


def gbm():
    x = np.array([[0.05], [0.5], [1.0], [2.0], [20.0]])
    s, seconds = run("gbm", at=x)
    row("`gbm`", s, seconds, *lognormal(x, np.zeros(1), 2 * np.eye(1)), "lognormal", FLOWKAC)


def gbm_one_noise():
    a, b, m = np.array([-1.0, -2]), np.array([[0.5], [1]]), np.array([0.5, 0.7])
    cov = 0.5 * np.eye(2) + b @ b.T
    x = np.exp(np.random.default_rng(1).multivariate_normal(m + a, cov, 5))
    s, seconds = run("gbm_one_noise", at=x)
    row("`gbm_one_noise`", s, seconds, *lognormal(x, m + a, cov), "Gaussian in ln x", FLOWKAC)


def gbm_many(n=50):
    cov = 0.5 * np.eye(n) + 0.25
    x = np.exp(np.random.default_rng(2).multivariate_normal(np.full(n, -0.3), cov, 5))
    s, seconds = run("gbm_many", at=x)
    row("`gbm_many`", s, seconds, *lognormal(x, np.full(n, -0.3), cov), "Gaussian in ln x", FLOWKAC)


def gbm_axes(n=50):
    """One noise for each axis, from a point."""
    x = np.exp(0.1 - 0.125 + 0.5 * np.random.default_rng(3).normal(size=(5, n)))
    s, seconds = run(drift="0.1*x[i]", noise="0.5*x[i]", dim=n, initial="point(1)", time=1, at=x)
    row("GBM, a noise for each axis", s, seconds, *lognormal(x, np.full(n, 0.1 - 0.125), 0.25 * np.eye(n)), "lognormal", "")


def linear_oscillator():
    move, cov = moved(np.array([[0.1, 1], [-1, -0.1]]), np.array([[np.sqrt(0.6)], [0]]), 1.0, np.eye(2) / 9)
    mean = move @ [1, 1]
    x = np.random.default_rng(4).multivariate_normal(mean, cov, 5)
    s, seconds = run("linear_oscillator", at=x)
    row("`linear_oscillator`", s, seconds, *gaussian(x, mean, cov), "Gaussian", FLOWKAC)


def turning_noise(d=200, t=1.01):
    """dx = (A + t) dW, A = Q' diag(gamma), gamma in 1 .. 1.1 and the inverses; then the file, d = 3."""
    rng = np.random.default_rng(5)
    gamma = rng.uniform(1, 1.1, d // 2)
    A = np.linalg.qr(rng.normal(size=(d, d)))[0].T @ np.diag(np.concatenate([gamma, 1 / gamma]))
    c1, s1, c2, s2 = 0.8, 0.6, 0.96, 0.28
    small = np.array([[c1 * c2, -s1, -c1 * s2], [s1 * c2, c1, -s1 * s2], [s2, 0, c2]]) @ np.diag([1.1, 1, 1 / 1.1])
    for name, A in (("`turning_noise`, walk", small), ("the same, d = 200", A)):
        cov = (1 + t**3 / 3) * np.eye(len(A)) + t * A @ A.T + t * t / 2 * (A + A.T)
        x = rng.multivariate_normal(np.zeros(len(A)), cov, 4)
        if len(A) == 3:
            s, seconds = run("turning_noise", at=x, method="walk")
        else:
            noise = [[f"{v!r} + t" if i == j else repr(v) for j, v in enumerate(line)] for i, line in enumerate(A.tolist())]
            s, seconds = run(drift="0", dim=d, noise=noise, initial="gaussian(mean=0, var=1)", time=t, at=x)
        row(name, s, seconds, *gaussian(x, np.zeros(len(A)), cov), "Gaussian", PINN)


def brownian_cauchy(dim=10, t=0.5):
    rng = np.random.default_rng(6)
    x = rng.standard_cauchy((4, dim)) + np.sqrt(t) * rng.normal(size=(4, dim))
    z = (x + 1j) / np.sqrt(2 * t)
    w = scipy.special.wofz(z)
    v = np.log(w.real / np.sqrt(2 * np.pi * t)).sum(1)
    score = (-2 * z * w + 2j / np.sqrt(np.pi)).real / np.sqrt(2 * t) / w.real
    s, seconds = run("brownian_cauchy", at=x)
    row("`brownian_cauchy`", s, seconds, v, score, "Voigt profiles", PINN, drawn="nothing is drawn" not in s.note)


def brownian_laplace(dim=10, t=0.5):
    rng = np.random.default_rng(7)
    x = rng.laplace(size=(4, dim)) + np.sqrt(t) * rng.normal(size=(4, dim))
    up, down = (scipy.special.erfcx((t + sign * x) / np.sqrt(2 * t)) for sign in (1, -1))
    v = (-x * x / (2 * t) - np.log(4) + np.log(up + down)).sum(1)
    s, seconds = run("brownian_laplace", at=x)
    row("`brownian_laplace`", s, seconds, v, (up - down) / (up + down), "error functions", PINN, drawn="nothing is drawn" not in s.note)


def moving_trap(n=50, radius=2.0, t=5.0):
    """dm/dt = -m + mu; deviations relax with 1/2, the mean of all with 1; v' = -2 rate v + 2D."""
    turn = lambda t: np.array([np.cos(t) + np.sin(t), np.sin(t) - np.cos(t)]) / 2 * radius
    mean = turn(t) + np.exp(-t) * (np.array([radius, 0]) - turn(0))
    apart, together = (0.25 / rate + (0.0625 - 0.25 / rate) * np.exp(-2 * rate * t) for rate in (0.5, 1.0))
    share = np.kron(np.full((n, n), 1 / n), np.eye(2))
    cov = apart * (np.eye(2 * n) - share) + together * share
    mean = np.tile(mean, n)
    x = np.random.default_rng(8).multivariate_normal(mean, cov, 4)
    s, seconds = run("moving_trap", at=x)
    row("`moving_trap`", s, seconds, *gaussian(x, mean, cov), "Gaussian", "a network at each of 5000 steps (sbtm, other constants)")


def anharmonic_particles():
    """No truth at points: what walks and particles claim."""
    x = np.tile([2.0, 0.1], 5) + 0.3 * np.random.default_rng(9).normal(size=(4, 10))
    for method in ("walk", "particles"):
        s, seconds = run("anharmonic_particles", at=x, method=method)
        row("`anharmonic_particles`", s, seconds, None, None, "none", "moments only (sbtm, other constants)", True)


def active_swimmer():
    """The truth was made once by splitting in SciPy, to 1e-6 (tests/python/test_degenerate_noise.py)."""
    truth = {(0, 0): (1.61685622e-01, 0, 0), (0.5, 0.5): (1.93493598e-01, 2.06859882, -1.15301198),
             (-0.8, -1): (2.12675827e-01, -4.48127554, 2.22514355), (1, 1.5): (1.73176038e-01, 7.55655014, -3.29583602)}
    values = np.array(list(truth.values()))
    s, seconds = run("active_swimmer", at=np.array(list(truth)))
    row("`active_swimmer`", s, seconds, np.log(values[:, 0]), values[:, 1:], "splitting, SciPy", "a network at each step (sbtm, other constants)", True, 1e-6, 1e-6)


def mean_of_kernels(x, paths, f, lag, g):
    """Sums over the paths of the density of one Euler step to each x, and of its square."""
    out = np.zeros((len(x), 2))
    reached, d = paths + lag * f(paths), x.shape[1]
    for i, point in enumerate(x):
        h = np.exp(-((point - reached)**2).sum(1) / (2 * g * g * lag)) / (2 * np.pi * g * g * lag)**(d / 2)
        out[i] = h.sum(), (h * h).sum()
    return out


def heun(f, x, h, g, rng):
    noise = g * np.sqrt(h) * rng.normal(size=x.shape)
    a = f(x)
    return x + h / 2 * (a + f(x + h * a + noise)) + noise


def lorenz(n=2_000_000, h=0.001):
    """Monte Carlo in NumPy: Heun's steps, and the kernel of the last step, whose own bias is below its error."""
    def f(x):
        return np.stack([10 * (x[:, 1] - x[:, 0]), x[:, 0] * (28 - x[:, 2]) - x[:, 1], x[:, 0] * x[:, 1] - 8 / 3 * x[:, 2]], 1)
    rng = np.random.default_rng(10)
    def start(k):
        return np.where(rng.random((k, 1)) < 0.5, 1, -1) * [2.0, 2.0, 0] + [0, 0, 20.0] + rng.normal(size=(k, 3))
    def end(k, steps):
        paths = start(k)
        for _ in range(steps):
            paths = heun(f, paths, h, 10, rng)
        return paths
    x = end(5, 30)
    sums = sum(mean_of_kernels(x, end(50_000, 29), f, h, 10) for _ in range(n // 50_000))
    u = sums[:, 0] / n
    error = np.sqrt(sums[:, 1] / n - u * u) / np.sqrt(n) / u
    for method in ("walk", "particles"):
        s, seconds = run("lorenz", at=x, method=method)
        row("`lorenz`", s, seconds, np.log(u), None, f"Monte Carlo, 2·10⁶ paths, to {100 * error.max():.1f} %", "1096 s (Mandal, Apte)", True, error)


def sine_truth(x, t):
    """p = e^(cos x0 - cos x) q, dq/dt = q''/2 - (sin^2 + cos)/2 q: Strang's splitting by Fourier transforms, extrapolated twice."""
    half = 12 * np.sqrt(t) + 4 * t
    n = 2048
    grid = -half + 2 * half * np.arange(n) / n
    k = np.pi / half * np.fft.fftfreq(n, 1 / n)
    phi = (np.sin(grid)**2 + np.cos(grid)) / 2
    def split(steps):
        h = t / steps
        q = np.exp(-grid * grid / (2 * h)) / np.sqrt(2 * np.pi * h) * np.exp(-h / 2 * (phi + 0.5))
        for _ in range(steps - 1):
            q = np.exp(-h / 2 * phi) * np.fft.ifft(np.exp(-h / 2 * k * k) * np.fft.fft(np.exp(-h / 2 * phi) * q)).real
        c = np.fft.fft(q) / n
        wave = np.exp(1j * np.outer(x + half, k))
        return np.stack([(wave @ c).real, (wave @ (1j * k * c)).real])
    a, b, c = split(32), split(64), split(128)
    one, two = b + (b - a) / 3, c + (c - b) / 3
    q, dq = two + (two - one) / 15
    return np.log(q) + 1 - np.cos(x), dq / q + np.sin(x)


def sine():
    for t in (1e-4, 0.1, 1.0):
        x = np.sqrt(t) * np.linspace(-2.5, 2.5, 6)
        v, score = sine_truth(x, t)
        s, seconds = run("sine", time=t, at=x[:, None])
        row(f"`sine`, t = {t:g}", s, seconds, v, score[:, None], "splitting, SciPy", "35 s for 10⁶ draws (Beskos, Roberts)" if t == 1 else "",
            False, 1e-9, 1e-9 / np.sqrt(t))


def ou_point():
    for t in (1e-4, 0.1, 1.0):
        var = (1 - np.exp(-2 * t)) / 2
        mean = np.array([np.exp(-t)])
        x = mean + np.sqrt(var) * np.linspace(-3, 3, 7)[:, None]
        s, seconds = run(drift="-x", noise=1, initial="point(1)", time=t, at=x, method="grid")
        row(f"OU from a point, t = {t:g}", s, seconds, *gaussian(x, mean, var * np.eye(1)), "Gaussian", "")


def underdamped_double_well():
    truth = {(0, 0): (2.43074790e-01, 1.46625211, -8.92659709e-01), (1, 0.5): (3.43127161e-01, -4.37926959e-01, -5.19398475e-01),
             (1.5, 1): (7.37007812e-02, -4.08183022, -1.89494956)}
    values, x = np.array(list(truth.values())), np.array(list(truth), float)
    for method in ("particles", "grid"):
        s, seconds = run("underdamped_double_well", at=x, method=method)
        row("`underdamped_double_well`", s, seconds, np.log(values[:, 0]), values[:, 1:], "splitting, SciPy", "", method != "grid", 1e-6, 1e-6)
    T = 0.49
    Z = scipy.integrate.quad(lambda q: np.exp((q * q / 2 - q**4 / 4) / T), -5, 5, epsabs=1e-13)[0] * np.sqrt(2 * np.pi * T)
    v = -(x[:, 1]**2 / 2 - x[:, 0]**2 / 2 + x[:, 0]**4 / 4) / T - np.log(Z)
    s, seconds = run("underdamped_double_well", time=np.inf, at=x)
    row("the same, t = inf", s, seconds, v, np.stack([x[:, 0] - x[:, 0]**3, -x[:, 1]], 1) / T, "exp(−H/T)", "", True)


def van_der_pol_stationary(n=20_000, h=0.01):
    """Monte Carlo in NumPy as for Lorenz: ends between t = 20 and 60; batches of paths give its error."""
    def f(x):
        return np.stack([x[:, 1], (1 - x[:, 0]**2) * x[:, 1] - x[:, 0]], 1)
    rng = np.random.default_rng(11)
    x = np.array([[1.0, 0], [2, 0], [0, 2], [-1.5, -0.8], [0.2, -0.1]])
    paths = np.array([2.0, 0]) + 0.3 * rng.normal(size=(n, 2))
    means = []
    for k in range(6000):
        paths = heun(f, paths, h, 0.5, rng)
        if k >= 2000 and k % 20 == 0:
            means.append([mean_of_kernels(x, part, f, h, 0.5)[:, 0] / len(part) for part in np.split(paths, 20)])
    means = np.mean(means, 0)
    u = means.mean(0)
    error = means.std(0, ddof=1) / np.sqrt(20) / u
    s, seconds = run("van_der_pol_stationary", at=x)
    row("`van_der_pol_stationary`", s, seconds, np.log(u), None, f"Monte Carlo, to {100 * error.min():.1f} to {100 * error.max():.1f} %", "", True, error)


def ou_matrix():
    A = np.array([[-1, 0.5, 0], [-0.5, -1.5, 0.2], [0.3, 0, -0.8]])
    G = np.array([[0.8, 0.2, 0], [-0.3, 0.6, 0.1], [0.1, 0.4, 0.7]])
    move, cov = moved(A, G, 1.0, 0.3 * np.eye(3))
    mean = move @ [1, 0, -1]
    x = np.random.default_rng(12).multivariate_normal(mean, cov, 4)
    s, seconds = run("ou_matrix", at=x, method="walk")
    row("`ou_matrix`", s, seconds, *gaussian(x, mean, cov), "Gaussian", "")


ALL = [gbm, gbm_one_noise, gbm_many, gbm_axes, linear_oscillator, turning_noise, brownian_cauchy, brownian_laplace, moving_trap,
       anharmonic_particles, active_swimmer, lorenz, sine, ou_point, underdamped_double_well, van_der_pol_stationary, ou_matrix]

if __name__ == "__main__":
    named = {function.__name__: function for function in ALL}
    print("| problem | d | method | s | claimed | error of ln u | claim | error of score | claim | truth | theirs |\n|---|---|---|---|---|---|---|---|---|---|---|")
    for name in sys.argv[1:] or named:
        named[name]()
    for sentence in wrong:
        print("NOT COVERED:", sentence)
    sys.exit(1 if wrong else 0)

"""Problems nobody chose: every error that is claimed for one must contain the truth.

generated_problems.py draws the problems and knows their answers from solvers that share nothing with heatball. For each
method z = (answer - truth)/sqrt(claimed error^2 + error of the reference^2) of density, log-density and every component of the
score; |z| > 5 fails unless the error is infinite. Twenty problems here, 200 in the long test, where the share of doubts
and of refusals is printed for each method. The long test of coverage repeats ten of them with 50 seeds.
"""

import functools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

import fourier_plane
import heatball
from generated_problems import problem
from spectral_elements import Density

SAMPLES = {"particles": 4096, "walk": 4096, "meanvalue": 2000, "auto": 4096}
MOST = 5.0
MOST_SECONDS = 60
SHORT = (4, 5, 6, 7, 11, 12, 13, 16, 18, 21, 23, 26, 34, 35, 42, 44, 45, 49, 63, 78)  # seeds
COVERED = (1, 3, 10, 18, 21, 26, 36, 47, 49, 53)
MOST_DOUBTED = {"grid": 0.2, "meanvalue": 0.5, "particles": 0.5, "walk": 0.6, "auto": 0.4}
MOST_REFUSED = 0.25
ANSWERED = {(49, "grid"), (71, "grid")}  # must not be doubted: smooth in a spinning frame, linear under varying noise
KNOWN = {  # (seed, method): why; silently wrong, listed in docs/explanation/accuracy.md
    (167, "auto"): "a score of 4096 walks at ln u = -7.3 in d = 5: its own tail is not seen, that of the density is fine"}


# The reference against closed forms

def flat(size):
    return lambda x: size


def test_reference_linear():
    x = np.array([-3.0, 0.3, 1.7, 5.0])
    density = Density(lambda x, t: -x, lambda t: 1.0, [(1.0, 0.4)], 0.5, -6, 7, [], flat(0.8), autonomous=True)
    u, slope, error, slope_error = (a[:, 0] for a in density.at(x))
    mean, var = np.exp(-0.5), 1 - 0.6 * np.exp(-1)
    truth = np.exp(-(x - mean)**2 / (2 * var)) / np.sqrt(2 * np.pi * var)
    assert np.all(np.abs(u - truth) < error + 1e-13) and np.all(error < 1e-6 * truth)
    assert np.all(np.abs(slope + (x - mean) / var * truth) < slope_error + 1e-12)


def test_reference_with_time():
    """dx = (cos t - x) dt + sqrt(2 + 2t) dW from N(0, 1/2): mean and variance by quadrature."""
    x, t = np.array([-1.0, 0.4, 2.5]), 0.8
    density = Density(lambda x, t: np.cos(t) - x, lambda t: 1 + t, [(0.0, 0.5)], t, -8, 9, [], flat(0.8))
    u, slope, error, _ = (a[:, 0] for a in density.at(x))
    mean = quad(lambda s: np.exp(s - t) * np.cos(s), 0, t)[0]
    var = 0.5 * np.exp(-2 * t) + quad(lambda s: 2 * np.exp(2 * (s - t)) * (1 + s), 0, t)[0]
    truth = np.exp(-(x - mean)**2 / (2 * var)) / np.sqrt(2 * np.pi * var)
    assert np.all(np.abs(u - truth) < error + 1e-12) and np.all(error < 1e-6 * truth)


def sign_kernel(t, y, x, a=1.0):
    """Transition density from y to x of dx = -a sign(x) dt + dW (Karatzas and Shreve 1984, equation 6.5.14)."""
    y, x = (y, x) if y >= 0 else (-y, -x)
    tail = a * np.exp(-2 * a * abs(x)) * ndtr(-(y + abs(x) - a * t) / np.sqrt(t))
    if x >= 0:
        return np.exp(-(y - x - a * t)**2 / (2 * t)) / np.sqrt(2 * np.pi * t) + tail
    return np.exp(2 * a * y - (y - x + a * t)**2 / (2 * t)) / np.sqrt(2 * np.pi * t) + tail


@pytest.mark.parametrize("x", [-0.7, 0.01, 0.9])
def test_reference_jump(x):
    """From N(0.4, 0.2) under -sign(x): the reference and an integral over the known kernel."""
    density = Density(lambda x, t: -np.sign(x), lambda t: 0.5, [(0.4, 0.2)], 0.7, -6, 6, [0.0], flat(0.5), autonomous=True)
    u, _, error, _ = (a[0, 0] for a in density.at(np.array([x])))
    start = lambda y: np.exp(-(y - 0.4)**2 / 0.4) / np.sqrt(0.4 * np.pi)
    truth = quad(lambda y: start(y) * sign_kernel(0.7, y, x), -5, 6, points=[0, x], epsabs=1e-12, limit=400)[0]
    assert abs(u - truth) < error + 1e-9 and error < 1e-6


def test_reference_radial():
    """-x from N(0, 0.3) in five dimensions, by the radius alone."""
    t, var = 0.6, 0.3
    density = Density(lambda r, t: -r, lambda t: 1.0, [(0.0, var)], t, 0, 9, [], flat(0.5), dim=5, autonomous=True)
    end = 1 + (var - 1) * np.exp(-2 * t)
    r = np.array([0.1, 1.5, 4.0])
    truth = np.exp(-r**2 / (2 * end)) / (2 * np.pi * end)**2.5
    u, _, error, _ = (a[:, 0] for a in density.at(r))
    assert np.all(np.abs(u - truth) < error + 1e-12) and np.all(error < 1e-5 * truth)


def test_reference_plane():
    """A rotating contraction keeps an isotropic Gaussian isotropic."""
    drift = lambda x, t: np.stack([-x[:, 0] + 2 * x[:, 1], -2 * x[:, 0] - x[:, 1]], axis=1)
    mean, t = np.array([1.0, -0.5]), 0.4
    x = np.array([[0.3, -0.9], [1.5, 0.5]])
    out, error = fourier_plane.plane(drift, lambda t: 0.5, [(mean, np.array([0.4, 0.4]))], t, np.full(2, -6.0),
                                     np.full(2, 6.0), x, n=64, steps=250)
    turn = np.array([[np.cos(2 * t), np.sin(2 * t)], [-np.sin(2 * t), np.cos(2 * t)]]) * np.exp(-t)
    var = 0.5 + (0.4 - 0.5) * np.exp(-2 * t)
    z = x - turn @ mean
    truth = np.exp(-(z**2).sum(1) / (2 * var)) / (2 * np.pi * var)
    assert np.all(np.abs(out[:, 0, 0] - truth) < error[:, 0, 0] + 1e-9) and np.all(error[:, 0, 0] < 1e-4 * truth)
    assert np.all(np.abs(out[:, 0, 1:] + z / var * truth[:, None]) < error[:, 0, 1:] + 1e-9)


# The methods against the reference

def z_scores(solution, truth):
    """z (points, 2 + d) of density, log-density and score; nan where no error was claimed."""
    v, score, error, score_error = truth
    u = np.exp(v)
    found = np.column_stack([solution.density - u, solution.log_density - v, solution.score - score])
    claimed = np.column_stack([solution.density_error, solution.log_density_error, solution.score_error])
    known = np.column_stack([u * error, error, score_error])
    return np.where(np.isinf(claimed), np.nan, found / np.hypot(np.where(np.isinf(claimed), 1, claimed), known))


def solve(p, method, directory, seed=3, samples=None):
    """The solution, or None where the method refuses the problem in a sentence."""
    try:
        return heatball.solve(at=p.at, method=method, samples=samples or SAMPLES.get(method), seed=seed,
                              max_time=MOST_SECONDS, **p.arguments(directory))
    except heatball.Error as refusal:
        assert len(str(refusal)) > 20 and "\n" not in str(refusal)
        return None


def claims(solution):
    return np.column_stack([solution.density_error, solution.log_density_error, solution.score_error])


def silent(solution, truth):
    """What is wrong without a doubt: (point, quantity, z)."""
    z, claimed = z_scores(solution, truth), claims(solution)
    values = np.column_stack([solution.density, solution.log_density, solution.score])
    wrong = (np.abs(z) > MOST) | (np.isfinite(claimed) & ~np.isfinite(values)) | np.isnan(claimed)
    return [(int(i), int(j), float(z[i, j])) for i, j in np.argwhere(wrong)]


known = functools.lru_cache(maxsize=None)(problem)
TALLY = {}  # method: [points, doubted, problems, refused]


def check(seed, method, directory):
    """Solve, count doubts and refusals, and return what is silently wrong in words."""
    p = known(seed)
    tally = TALLY.setdefault(method, [0, 0, 0, 0])
    tally[2] += 1
    solution = solve(p, method, directory)
    if solution is None:
        tally[3] += 1
        return []
    tally[0] += len(p.at)
    tally[1] += int(np.isinf(solution.density_error).sum())
    assert (seed, method) not in ANSWERED or np.all(np.isfinite(claims(solution)))
    wrong = silent(solution, p.truth)
    extra = f"--seed 3 --samples {SAMPLES[method]}" if method in SAMPLES else ""
    return [f"{p.name}, {method}: (point, quantity, z) {wrong}; {p.command(directory, method, extra)}"] if wrong else []


def methods(seed, most_grid=2, most_mean=1):
    """The methods that are asked: grids within their reach, auto where it has to choose."""
    dim = known(seed).dim
    yield from ["grid"] * (dim <= most_grid) + ["meanvalue"] * (dim <= most_mean) + ["particles", "walk"]
    yield from ["auto"] * (dim > 3)


@pytest.mark.parametrize("seed", SHORT)
def test_no_silent_error(seed, tmp_path):
    wrong = [words for method in methods(seed) if (seed, method) not in KNOWN
             for words in check(seed, method, tmp_path)]
    assert not wrong, "\n".join(wrong)


def test_trajectories_that_hardly_come(tmp_path):
    """Problem 84, ln u = -11.6: parts of the correction that no trajectory shows are in the claim, here a doubt."""
    p = known(84)
    solutions = [solve(p, "particles", tmp_path, seed) for seed in (1, 2, 3, 4)]
    assert not any(silent(solution, p.truth) for solution in solutions)
    assert all(np.isinf(solution.log_density_error[3]) for solution in solutions)
    assert any("too rare" in solution.warnings[3] for solution in solutions)


@pytest.mark.parametrize("seed, method", KNOWN)
def test_known_limits(seed, method, tmp_path):
    """docs/explanation/accuracy.md lists them; one that is mended must leave the list."""
    assert check(seed, method, tmp_path), f"problem {seed} is right with {method}: take it off KNOWN"


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 200, 10))
def test_two_hundred(first, tmp_path):
    wrong = [words for seed in range(first, first + 10) for method in methods(seed, 2, 2)
             if (seed, method) not in KNOWN for words in check(seed, method, tmp_path)]
    assert not wrong, "\n".join(wrong)


def test_a_short_pulse_on_a_density_at_rest():
    """dx = (p(t) - x) dt + dW from its own equilibrium: a time step of the grid must not step over p."""
    t, width = 1.0, 0.0005
    mean = quad(lambda s: 30 * np.exp(s - t - (s - 0.5)**2 / width), 0, t, points=[0.45, 0.5, 0.55])[0]
    x = np.array([0.0, 0.5, 1.0])
    s = heatball.solve(f"-x + 30*exp(-(t - 0.5)^2/{width})", 1, "gaussian(mean=0, var=0.5)", t, x, method="grid")
    assert np.all(np.abs(s.score[:, 0] + 2 * (x - mean)) < 5 * s.score_error[:, 0] + 1e-8)
    assert np.all(np.abs(s.log_density + (x - mean)**2 + np.log(np.pi) / 2) < 5 * s.log_density_error + 1e-8)


def test_noise_that_varies_is_not_doubted():
    """-3x, -3y and noise 1.35 + 0.3 cos 3t: the drift over the diffusion has its extremes between a few times."""
    t, g = 1.61, lambda s: 1.35 + 0.3 * np.cos(3 * s)
    var = 0.5 * np.exp(-6 * t) + quad(lambda s: np.exp(6 * (s - t)) * g(s)**2, 0, t)[0]
    x = np.array([[0.3, -0.4], [1.0, 0.5]])
    s = heatball.solve("-3*x, -3*y", "1.35 + 0.3*cos(3*t)", "gaussian(mean=0, var=0.5)", t, x, method="grid")
    assert np.all(np.isfinite(claims(s)))
    assert np.all(np.abs(s.log_density + (x**2).sum(1) / (2 * var) + np.log(2 * np.pi * var)) < 5 * s.log_density_error)
    assert np.all(np.abs(s.score + x / var) < 5 * s.score_error)


def test_share_of_doubts(capsys):
    """What the tests above have counted; a method that doubts everything is no use."""
    with capsys.disabled():
        for method, (points, doubted, problems, refused) in TALLY.items():
            print(f"\n{method}: {problems} problems, {refused} refused, {doubted} of {points} points doubted", end="")
    for method, (points, doubted, problems, refused) in TALLY.items():
        if problems >= 6:
            assert doubted <= MOST_DOUBTED[method] * points and refused <= MOST_REFUSED * problems, method


@pytest.mark.long
@pytest.mark.parametrize("method", ["particles", "walk"])
def test_coverage_of_generated(method, tmp_path, capsys):
    """95 % intervals of ten problems, 50 seeds each: how often they hold the truth, where an error is claimed."""
    shares = []
    for seed in COVERED:
        p = known(seed)
        held, counted = 0, 0
        for repetition in range(50):
            z = z_scores(solve(p, method, tmp_path, 1000 + repetition, 2 * SAMPLES[method]), p.truth)
            held, counted = held + (np.abs(z) <= 1.96), counted + np.isfinite(z)
        often = counted >= 25
        assert np.all(held[often] >= 0.7 * counted[often]), (p.name, held, counted)
        shares.append(held.sum() / max(counted.sum(), 1) if counted.any() else np.nan)
        with capsys.disabled():
            print(f"\n{method}, {p.name}: {shares[-1]:.3f}, doubted {1 - counted.mean() / 50:.2f}", end="")
    assert np.nanmin(shares) >= 0.85 and 0.90 <= np.nanmean(shares) <= 0.99, shares

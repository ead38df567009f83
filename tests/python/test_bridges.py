"""Brownian bridges (docs/explanation/walks.md): gradient drifts drawn at random against a solver by SciPy, several dimensions,
other starts, threads, states, and what their errors claim."""
import numpy as np
import pytest

import estimate_problems as problems
import fokker_planck_line
import heatball

SOFT = "-x[i] + 2*x[i]/(1 + x[i]^2)"


def drawn(seed):
    """A drift -V' with V = k x^2/2 + bounded bumps: text and function."""
    rng = np.random.default_rng(seed)
    k, terms = rng.uniform(0.2, 1), []
    for _ in range(3):
        kind, size, a, b = rng.integers(3), rng.normal(), rng.uniform(0.5, 2), rng.normal()
        terms.append((kind, float(f"{size:.4f}"), float(f"{a:.4f}"), float(f"{b:.4f}")))
    k = float(f"{k:.4f}")
    form = ("{s}*cos({a}*x + {b})", "{s}*({a}*x + {b})*exp(-({a}*x + {b})^2)", "{s}*tanh({a}*x + {b})")
    text = f"-{k}*x" + "".join(" + " + form[kind].format(s=f"({s})", a=a, b=f"({b})") for kind, s, a, b in terms)

    def f(x, t):
        law = (np.cos, lambda q: q * np.exp(-q * q), np.tanh)
        return -k * x + sum(s * law[kind](a * x + b) for kind, s, a, b in terms)
    return text, f


def within(found, truth, error, known=0.0, bars=5):
    assert np.all(np.isfinite(error)), error
    assert np.all(np.abs(found - truth) <= bars * error + known), (found, truth, error)


@pytest.mark.parametrize("seed", range(5))
def test_drawn_gradients(seed):
    text, f = drawn(seed)
    rng = np.random.default_rng(100 + seed)
    mean, var, time, at = rng.normal(), rng.uniform(0.2, 1.5), rng.uniform(0.2, 1.5), rng.normal(size=(3, 1))
    s = heatball.solve(drift=text, noise=1, initial=f"gaussian(mean={mean!r}, var={var!r})", time=time, at=at,
                       method="walk", samples=32768, seed=seed)
    assert "Brownian bridges at" in s.note
    truth, error = fokker_planck_line.solve(f, mean, var, time, at[:, 0])
    within(s.density, truth[:, 0], np.hypot(s.density_error, error[:, 0]))
    within(s.score[:, 0], truth[:, 1], np.hypot(s.score_error[:, 0], error[:, 1]), 1e-4)
    assert np.all(s.density_error < 0.02 * s.density)


def test_coupled_coordinates():
    """No potential is typed and the coordinates are not independent; truth by the grid."""
    problem = dict(drift="-x + sin(x + y), -y + sin(x + y)", noise=1.2, initial="gaussian(mean=0.3, var=0.4)", time=0.7)
    at = [[0.6, 0.2], [1.2, -0.8]]
    s, truth = (heatball.solve(at=at, method=m, **problem) for m in ("walk", "grid"))
    assert "Brownian bridges at 2 of 2 points" in s.note
    within(s.log_density, truth.log_density, s.log_density_error, 1e-4)
    within(s.score, truth.score, s.score_error, 1e-3)


def test_in_a_frame():
    """Noise that depends on x, and noises that differ from axis to axis: walks live in other coordinates."""
    start = "gaussian(mean=0.3, var=0.4)"
    curved = dict(drift="-x", noise="sqrt(1 + x^2)", initial=start, time=0.4, at=[[0.6], [-0.5]])
    s, truth = (heatball.solve(method=m, **curved) for m in ("walk", "grid"))
    assert "Brownian bridges" in s.note
    within(s.log_density, truth.log_density, s.log_density_error, 1e-5)
    within(s.score, truth.score, s.score_error, 1e-4)
    s = heatball.solve(drift="-x + tanh(x), -y + tanh(y)", noise="0.8, 1.3", initial=start, time=0.4, at=[[0.6, 0.2]],
                       method="walk")
    lines = [heatball.solve(drift="-x + tanh(x)", noise=g, initial=start, time=0.4, at=[[x]], method="grid")
             for g, x in ((0.8, 0.6), (1.3, 0.2))]
    assert "Brownian bridges" in s.note
    within(s.log_density, sum(t.log_density for t in lines), s.log_density_error, 1e-5)
    within(s.score[0], np.concatenate([t.score[0] for t in lines]), s.score_error[0], 1e-4)


def test_the_tail():
    """Three and nine deviations out, where the walks that step find next to nothing."""
    problem = dict(drift="-1.3*x - 0.2*tanh(x)", noise="sqrt(2)", initial="gaussian(mean=0, var=0.35)", time=0.6)
    at = [[2.0], [3.0], [6.0]]
    s, truth = (heatball.solve(at=at, method=m, **problem) for m in ("walk", "grid"))
    within(s.log_density, truth.log_density, s.log_density_error, 1e-5)
    within(s.score, truth.score, s.score_error, 1e-4)
    assert np.all(s.log_density_error < 0.01)


def test_cubic_wells_have_no_bridges():
    """Their weights would have no variance."""
    for initial in ("gaussian(mean=0, var=1)", "stationary"):
        s = heatball.solve(drift="x - x^3", noise=1, initial=initial, time=1, at=[[0.3], [1.2]], method="walk",
                           samples=8192)
        assert "bridges" not in s.note


def test_threads_and_states(tmp_path):
    """The same bits on any number of threads, and after a stop."""
    problem = dict(drift=SOFT, dim=3, noise="sqrt(2)", initial="gaussian(mean=0.3, var=0.4)", time=0.5,
                   at=[[0.5, -0.2, 1.0], [0.1, 0.4, 0.9]], method="walk", seed=5)
    whole = heatball.solve(samples=32768, threads=1, **problem)
    assert "Brownian bridges at 2 of 2 points" in whole.note
    again = heatball.solve(samples=32768, threads=3, **problem)
    heatball.solve(samples=8192, state=tmp_path / "state", **problem)
    after = heatball.solve(samples=32768, state=tmp_path / "state", resume=True, **problem)
    for other in (again, after):
        assert np.array_equal(whole.density, other.density) and np.array_equal(whole.score, other.score)
        assert np.array_equal(whole.score_error, other.score_error)


COVERED = {
    "soft": (dict(drift=SOFT, dim=1, noise="sqrt(2)", initial="gaussian(mean=0.3, var=0.4)", time=0.5), [[0.6], [-1.0]]),
    "long": (dict(drift=SOFT, dim=1, noise="sqrt(2)", initial="gaussian(mean=0.3, var=0.4)", time=3), [[0.6], [1.2]]),
    "point": (dict(drift="x - x^3", noise=1, initial="point(0.5)", time=0.5), [[0.6], [-1.0]]),
    "coupled": (dict(drift="-x + sin(x + y), -y + sin(x + y)", noise=1.2, initial="gaussian(mean=0.3, var=0.4)",
                     time=0.7), [[0.6, 0.2], [1.2, -0.8]]),
}


@pytest.mark.long
@pytest.mark.parametrize("name", COVERED)
def test_coverage(name):
    """|z| <= 1.96 in 90 to 99 % of 200 repetitions, density and score."""
    problem, at = COVERED[name]
    truth = heatball.solve(at=at, method="grid", **problem)
    held = []
    for seed in range(200):
        s = heatball.solve(at=at, method="walk", samples=8192, seed=seed, **problem)
        assert "Brownian bridges at 2 of 2 points" in s.note
        z = np.column_stack([(s.log_density - truth.log_density) / s.log_density_error, (s.score - truth.score) / s.score_error])
        held.append(np.abs(z) <= 1.96)
    share = np.mean(held, axis=0)
    assert np.all((share >= 0.90) & (share <= 0.995)), share


@pytest.mark.long
def test_ten_dimensions():
    problem = problems.SoftWells(10)
    at = problem.place([0.4])
    v, score = problem.exact(at)
    s = heatball.solve(at=at, method="walk", samples=131072, **problem.problem(None))
    assert "Brownian bridges at 1 of 1 points" in s.note
    within(s.log_density, v, s.log_density_error, 1e-5)
    within(s.score, score, s.score_error, 1e-5)

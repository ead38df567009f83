"""Nonlinear drifts under a noise of fewer dimensions than the space: particles with a short lag.

DOUBLE_WELL and SWIMMER were made once by splitting in SciPy: flows along the axes by shifts in Fourier space (the swimmer's
cubic flow by quintic splines), friction and noise by the exact Gaussian on 512 momenta, steps of 0.02 and 0.01 extrapolated; the two
extrapolations of the swimmer differ by less than 1e-6 of each value.
"""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import cholesky, expm, solve_triangular

import heatball

LANGEVIN = dict(drift="y, x - x^3 - y/2", noise="0, 0.7", initial="gaussian(mean=0.5 0, var=0.3 0.4)")
DOUBLE_WELL = {  # x: density, score at t = 1
    (0, 0): (2.43074790e-01, 1.46625211, -8.92659709e-01),
    (1, 0.5): (3.43127161e-01, -4.37926959e-01, -5.19398475e-01),
    (1.5, 1): (7.37007812e-02, -4.08183022, -1.89494956),
}
ACTIVE = dict(drift="-x^3 + y, -0.1*y", noise="0, sqrt(0.2)", initial="gaussian(mean=0, var=1)")
SWIMMER = {
    (0, 0): (1.61685622e-01, 0, 0),
    (0.5, 0.5): (1.93493598e-01, 2.06859882, -1.15301198),
    (-0.8, -1): (2.12675827e-01, -4.48127554, 2.22514355),
    (1, 1.5): (1.73176038e-01, 7.55655014, -3.29583602),
}


def deviations(solution, truth):
    """(density, score) minus the truth in units of their errors, where these are claimed."""
    truth = np.array(list(truth.values())) if isinstance(truth, dict) else truth
    z = (solution.density - truth[:, 0]) / solution.density_error
    z_score = (solution.score - truth[:, 1:]) / solution.score_error
    return z[np.isfinite(solution.density_error)], z_score[np.isfinite(solution.score_error)]


@pytest.mark.parametrize("problem, truth", [(LANGEVIN, DOUBLE_WELL), (ACTIVE, SWIMMER)])
def test_a_force_with_inertia_and_a_swimmer(problem, truth):
    s = heatball.solve(time=1, at=np.array(list(truth)), samples=16384, seed=2, **problem)
    assert set(s.methods) <= {"particles", "guided"} and not s.warnings
    assert np.all(s.density_error < 0.06 * s.density)
    z, z_score = deviations(s, truth)
    assert np.all(np.abs(z) < 4.5) and np.all(np.abs(z_score) < 4.5)


def test_many_points_in_two_dimensions_are_solved_on_the_grid():
    """An oscillator whose drift is not typed as a linear one: the grid against the closed form."""
    problem = dict(noise="0, 0.7", initial="gaussian(mean=0.5 0, var=0.3)", time=0.3)
    mesh = heatball.mesh((-0.5, 1.5, 10), (-1, 1, 10))
    s = heatball.solve(drift="y, -x - 0.5*y + 1e-12*sin(x)", at=mesh, **problem)
    exact = heatball.solve(drift="y, -x - 0.5*y", at=mesh, **problem)
    assert s.method == "grid" and exact.method == "walk" and not s.warnings
    assert np.all(s.log_density_error < 1e-2)
    assert np.all(np.abs(s.log_density - exact.log_density) < 2 * s.log_density_error)
    few = heatball.solve(drift="y, -x - 0.5*y + 1e-12*sin(x)", at=mesh[:99:50], samples=2048, **problem)
    assert few.method == "particles"


@pytest.mark.parametrize("change", [{"drift": "y, -sign(x) - y"}, {"initial": "point(0.5, 0)"}])
@pytest.mark.parametrize("time", [0.2, [0.1, 0.2]])
def test_what_the_grid_refuses_at_many_points_goes_to_particles(change, time):
    problem = {"drift": "y, x - x^3", "noise": "0, 1", "initial": "gaussian(mean=0.5 0, var=0.3)", "samples": 1024} | change
    s = heatball.solve(at=heatball.mesh((0, 1, 10), (-1, 1, 10)), time=time, **problem)
    assert set(np.ravel(s.methods)) == {"particles"}


SOON = {  # at t = 0.1, as above
    (0.2, 0.3): (0.3444504914, 1.1583180267, -0.8001022828),
    (1, -0.5): (0.2042132716, -1.5549034123, 1.3748387341),
}


def test_short_times_need_hardly_a_path():
    """The mean over the start is in closed form, and the correction that no path shows is bounded and claimed."""
    s = heatball.solve(time=0.1, at=np.array(list(SOON)), samples=2048, **LANGEVIN)
    assert np.all(s.density_error < 1e-3 * s.density)
    z, z_score = deviations(s, SOON)
    assert len(z) == 2 and np.all(np.abs(z) < 3) and np.all(np.abs(z_score) < 3)
    s = heatball.solve(time=1e-5, at=np.array(list(SOON)), samples=2048, **LANGEVIN)
    assert np.all(s.density_error < 1e-8 * s.density)


def test_a_kink_in_the_force():
    """The same well with |x| instead of x^2: the kernel's frame is frozen, and nothing is known in closed form but the
    symmetry and the mass."""
    kink = dict(drift="y, -abs(x)*x - y/2", noise="0, 0.7", initial="gaussian(mean=0, var=0.4)")
    s = heatball.solve(time=0.7, at=[[0.4, 0.3], [-0.4, -0.3]], samples=16384, seed=4, **kink)
    gap = s.density[0] - s.density[1]
    assert abs(gap) < 4.5 * np.hypot(*s.density_error)
    assert np.all(s.density_error < 0.05 * s.density)


def test_a_chain_of_oscillators_by_particles_and_in_closed_form():
    """Three masses on springs, noise on the last alone: the kernel reaches the first through five drifts."""
    chain = dict(drift="x2, -2*x1 + x3, x4, x1 - 2*x3 + x5, x6, x3 - 2*x5 - 0.5*x6", noise="0;0;0;0;0;1.5",
                 initial="gaussian(mean=0.3, var=0.5)")
    x = np.array([[0.1, 0.2, -0.1, 0.3, 0.2, -0.4]])
    exact = heatball.solve(time=1.2, at=x, method="walk", **chain)
    s = heatball.solve(time=1.2, at=x, method="particles", samples=8192, **chain)
    z, z_score = deviations(s, np.column_stack([exact.density, exact.score]))
    assert np.all(np.abs(z) < 4.5) and np.all(np.abs(z_score) < 4.5)


def test_a_box_under_a_linear_drift():
    """Walks have no closed form for it and say so; particles do it, against a sum over the box."""
    A, t, x = np.array([[0, 1], [-1, -0.2]]), 0.9, np.array([[0.2, 0.3], [0.9, -0.6]])
    problem = dict(drift="y, -x - 0.2*y", noise="0, 0.7", initial="uniform(-1 1)", time=t, at=x)
    with pytest.raises(heatball.ArgumentError, match="particles"):
        heatball.solve(method="walk", **problem)
    s = heatball.solve(method="particles", samples=16384, **problem)
    E = expm(np.block([[-A, np.diag([0, 0.49])], [np.zeros((2, 2)), A.T]]) * t)
    move = E[2:, 2:].T
    factor = cholesky(move @ E[:2, 2:], lower=True)
    nodes, weights = np.polynomial.legendre.leggauss(80)
    places = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2) @ move.T
    for i, point in enumerate(x):
        w = solve_triangular(factor, (point - places).T, lower=True)
        kernel = np.outer(weights, weights).ravel() / 4 * np.exp(-0.5 * (w**2).sum(0))
        u = kernel.sum() / (2 * np.pi * factor[0, 0] * factor[1, 1])
        assert abs(s.density[i] - u) < 4.5 * s.density_error[i] < 0.15 * u


def test_where_no_path_comes_nothing_is_claimed():
    s = heatball.solve(time=1, at=[[6.0, -4.0]], samples=2048, **LANGEVIN)
    assert np.isinf(s.density_error[0]) and s.warnings[0]


def test_a_direction_without_noise():
    """x moves by itself: particles have no kernel there, guided walks carry the smooth start along."""
    problem = dict(noise="0, 1", initial="gaussian(mean=0, var=1)", time=1)
    with pytest.raises(heatball.ArgumentError, match="every direction"):
        heatball.solve("-x, y - y^3", at=[[0.1, 0.2]], method="particles", **problem)
    s = heatball.solve("-x, y - y^3", at=[[0.1, 0.2]], **problem)
    line = heatball.solve("x - x^3", 1, "gaussian(mean=0, var=1)", 1, [0.2])
    truth = line.log_density[0] - 0.5 * (0.1 * np.e) ** 2 + 1 - 0.5 * np.log(2 * np.pi)
    assert abs(s.log_density[0] - truth) < 4.5 * s.log_density_error[0] < 0.02
    assert np.all(np.abs(s.score[0] - [-0.1 * np.e**2, line.score[0, 0]]) < 4.5 * s.score_error[0])


def well(x):
    """Density and score of exp(-H/T)/Z, H = p^2/2 - q^2/2 + q^4/4; T = 0.7^2/(2/2) = 0.49."""
    T, V = 0.49, lambda q: -q * q / 2 + q**4 / 4
    Z = quad(lambda q: np.exp(-V(q) / T), -6, 6)[0] * np.sqrt(2 * np.pi * T)
    q, p = x.T
    return np.column_stack([np.exp(-(V(q) + p * p / 2) / T) / Z, (q - q**3) / T, -p / T])


def test_the_stationary_density_of_a_double_well():
    x = np.array([[0, 0], [1, 0.5], [-1, -0.5], [0.5, -1.2]])
    s = heatball.solve(time=np.inf, at=x, samples=256, seed=3, **LANGEVIN)
    assert "at rest" in s.note
    assert np.all(s.density_error < 0.12 * s.density)
    z, z_score = deviations(s, well(x))
    assert np.all(np.abs(z) < 4.5) and np.all(np.abs(z_score) < 4.5)


@pytest.mark.parametrize("seed", [2, 6])
def test_a_short_time_is_no_rest(seed):
    """In a short time nothing changes; what counts is that trajectories have forgotten where they were."""
    x = np.array([[0, 0], [2, 0.3]])
    s = heatball.solve(time=np.inf, at=x, samples=128, seed=seed, **LANGEVIN)
    rest = float(s.note.split("at rest from the time ")[1].split()[0])
    assert rest > 2


def test_wells_that_are_never_left_are_refused():
    with pytest.raises(heatball.Error, match="rest"):
        heatball.solve(drift="y, x - x^3 - y", noise="0, 0.3", initial="gaussian(mean=1 0, var=0.02)", time=np.inf,
                       at=[[1, 0]], samples=128)


def test_the_stationary_density_of_a_spring_is_exact():
    """dq = p, dp = -q - p/2 + 0.7 dW: N(0, 0.49) in both, whatever the start."""
    s = heatball.solve(drift="y, -x - y/2", noise="0, 0.7", initial="gaussian(mean=3 1, var=2)", time=np.inf,
                       at=[[0.3, -0.8]])
    assert np.isclose(s.log_density[0], -0.5 * (0.3**2 + 0.8**2) / 0.49 - np.log(2 * np.pi * 0.49), rtol=0, atol=1e-12)
    assert np.allclose(s.score[0], [-0.3 / 0.49, 0.8 / 0.49], rtol=1e-11)
    assert "nothing is drawn" in s.note and s.log_density_error[0] < 1e-10


def test_what_has_no_rest_is_refused():
    with pytest.raises(heatball.Error, match="eigenvalue"):
        heatball.solve(drift="y, x", noise="0, 1", initial="gaussian(mean=0, var=1)", time=np.inf, at=[[0, 0]])


@pytest.mark.long
@pytest.mark.parametrize("problem, truth, samples", [(LANGEVIN, DOUBLE_WELL, 4096), (ACTIVE, SWIMMER, 8192)])
def test_claimed_errors_are_real(problem, truth, samples):
    """Over 200 seeds 90 to 99 % are within two errors; the means are not shifted."""
    parts = [deviations(heatball.solve(time=1, at=np.array(list(truth)), samples=samples, seed=seed, **problem), truth)
             for seed in range(200)]
    for z in (np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])):
        assert 0.90 < np.mean(np.abs(z) < 2) < 0.995
        assert abs(z.mean()) < 0.3


@pytest.mark.long
def test_claimed_errors_of_the_stationary_density_are_real():
    x = np.array([[0, 0], [1, 0.5], [-1, -0.5], [0.5, -1.2]])
    parts = [deviations(heatball.solve(time=np.inf, at=x, samples=512, seed=seed, **LANGEVIN), well(x))
             for seed in range(60)]
    for z in (np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])):
        assert 0.90 < np.mean(np.abs(z) < 2)
        assert abs(z.mean()) < 0.35


@pytest.mark.long
def test_a_wide_start_does_not_matter_at_inf():
    """Paths from x = 30 explode in the steps of a probe; then they start at the points. exp(-H/T)/Z, T = 0.49."""
    energy = lambda q, p: p * p / 2 - q * q / 2 + q**4 / 4
    q, p = np.linspace(-4, 4, 2001), np.linspace(-6, 6, 2001)
    total = np.exp(-energy(q[:, None], p) / 0.49).sum() * (q[1] - q[0]) * (p[1] - p[0])
    s = heatball.solve("y, x - x^3 - y/2", "0, 0.7", "gaussian(mean=0 0, var=100)", float("inf"), [[1, 0], [0, 0]],
                       samples=4096)
    truth = -energy(np.array([1.0, 0.0]), 0) / 0.49 - np.log(total)
    assert np.all(np.abs(s.log_density - truth) < 5 * s.log_density_error) and np.all(s.log_density_error < 0.05)

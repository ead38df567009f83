"""The errors that particles and walks claim are the real ones.

Each case is solved many times with other seeds. z = (answer - truth)/claimed error of density, log-density,
entropy density and each component of the score should be standard normal: the long test counts how often
|z| <= 1.96 (90 to 99 % of 200 repetitions), the short one looks at the mean and the spread of z. Truth is a
closed form (linear drifts) or the grid. Walks
under a linear drift are exact; there the answer must be the truth to rounding.
"""

import numpy as np
import pytest

import estimate_problems as problems
import heatball


class Correlated:
    """A nonlinear drift with a noise that is a full matrix; truth by the grid."""

    @staticmethod
    def problem(directory):
        return dict(drift="x - x^3 + 0.3*y, -y - 0.5*x", noise="0.8, 0.2; 0.3, 0.6", initial="gaussian(mean=0.5 0, var=0.3)", time=0.4)

    def exact(self, at):
        s = heatball.solve(at=at, method="grid", **self.problem(None))
        assert np.all(s.log_density_error < 1e-4) and np.all(s.score_error < 1e-3)
        return s.log_density, s.score


CASES = {
    "correlated": (Correlated(), np.array([[0.3, 0.1], [-0.2, 0.4], [1.0, -0.6]])),
    "isotropic": (problems.ou(2), None),
    "anisotropic": (problems.anisotropic(3), None),
    "rotating": (problems.rotating(2), None),
    "mixture": (problems.two_bumps(2), None),
    "uniform": (problems.boxed(2), None),
    "bistable": (problems.bistable(), problems.BISTABLE_AT),
    "van_der_pol": (problems.van_der_pol(), problems.VAN_DER_POL_AT),
    "soft_wells": (problems.SoftWells(3), None),
}
NEEDS_GRID = ("correlated", "bistable", "van_der_pol", "soft_wells")  # nonlinear, so slower
SAMPLES = {"particles": 4096, "walk": 8192}
MOST_REFUSED = 0.5  # share of the repetitions in which no error may be claimed (it is infinite)
EXACT = 1e-7  # below it, relative to the value, an error is rounding: the method was exact


def z_scores(name, method, repetitions, directory, samples, points=None):
    """z of (repetitions, points, quantities), nan where no error was claimed, and the density's error."""
    problem, at = CASES[name]
    at = problem.place([0.2, 0.9]) if at is None else at
    at = at[:points]
    v, score = problem.exact(at)
    u, arguments = np.exp(v), problem.problem(directory)
    truth = np.column_stack([u, v, u * v, score])
    found, claimed = [], []
    for seed in range(repetitions):
        s = heatball.solve(at=at, method=method, samples=samples, seed=1000 + seed, **arguments)
        found.append(np.column_stack([s.density, s.log_density, s.entropy_density, s.score]))
        claimed.append(np.column_stack([s.density_error, s.log_density_error, s.entropy_density_error,
                                        s.score_error]))
    found, claimed = np.array(found), np.array(claimed)
    relative = np.median(claimed[:, :, 0] / u, axis=0).max()
    refused = ~np.isfinite(claimed)
    assert np.all(refused.mean(0) <= MOST_REFUSED), refused.mean(0)
    if relative < EXACT:
        assert np.allclose(found, truth, rtol=1e-6, atol=1e-9)
        return None, relative
    return np.where(refused, np.nan, found - truth) / claimed, relative


@pytest.mark.parametrize("method", ["particles", "walk"])
@pytest.mark.parametrize("name", CASES)
def test_claimed_errors_are_real(name, method, tmp_path):
    repetitions = 4 if name in NEEDS_GRID else 16
    z, relative = z_scores(name, method, repetitions, tmp_path, SAMPLES[method] // 2, 2)
    assert relative < 0.25
    if z is None:
        return
    counted = np.isfinite(z).sum(0)
    mean, spread = np.nanmean(z, 0), np.sqrt(np.nanmean(z**2, 0))
    assert np.all(np.abs(mean) < 5 / np.sqrt(counted)), mean
    assert np.all(spread < 1 + 5 / np.sqrt(2 * counted)), spread
    assert np.median(spread) > 0.5, spread


@pytest.mark.long
@pytest.mark.parametrize("method", ["particles", "walk"])
@pytest.mark.parametrize("name", CASES)
def test_coverage(name, method, tmp_path):
    z, relative = z_scores(name, method, 200, tmp_path, SAMPLES[method])
    assert relative < 0.1
    if z is None:
        return
    held = np.nanmean(np.where(np.isnan(z), np.nan, np.abs(z) <= 1.96), axis=0)
    most = np.full(held.shape[1], 0.99)
    if name == "correlated":
        most[3:] = 1  # errors of a score that is turned back from a frame are bounds
    assert np.all((held >= 0.90) & (held <= most)), held

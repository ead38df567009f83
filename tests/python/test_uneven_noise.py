"""Linear drifts with very uneven noise: coordinates with one noise for all axes would make the drift steep."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.stats import multivariate_normal

import heatball


@pytest.mark.parametrize("scale", [1e-3, 1e-5, 1e-8])
@pytest.mark.parametrize("start", [0, 0.4])
def test_uneven_noise_is_exact(scale, start):
    A, G, t = np.array([[0.86, -0.02], [-0.31, -2.41]]), np.array([[scale, 0.5 * scale], [0.2, 1]]), 1.0
    E = expm(t * np.block([[-A, G @ G.T], [np.zeros((2, 2)), A.T]]))
    flow = E[2:, 2:].T
    mean, C = flow @ [0.3, 0.4], flow @ E[:2, 2:] + start * flow @ flow.T
    x = mean + np.array([[0, 0], [1, 0.5], [-0.7, 1]]) @ np.linalg.cholesky(C).T
    initial = "gaussian(mean=0.3 0.4, var=0.4)" if start else "point(0.3 0.4)"
    s = heatball.solve("0.86*x - 0.02*y, -0.31*x - 2.41*y", G, initial, t, x)
    error = np.abs(s.log_density - multivariate_normal(mean, C).logpdf(x))
    assert np.all(error <= s.log_density_error + 1e-9), (error, s.log_density_error, s.note)
    assert np.all(s.log_density_error < 1e-8)


@pytest.mark.parametrize("drift", ["0.1*x", "-x"])
def test_no_stationary_density_of_growth(drift):
    with pytest.raises(heatball.Error, match="no stationary density: in Lamperti coordinates y = ln x"):
        heatball.solve(drift, "0.2*x", None, np.inf, [1.0])

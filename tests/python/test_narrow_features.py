"""Features that are narrower than sample points: wells, dips and components of densities, against quadratures with
break points at the features (SciPy)."""

import math
import time

import numpy as np
import pytest
from scipy.integrate import quad

import heatball

INF = float("inf")


def integral(f, features, low, high):
    """int f from low to high; features: (place, width)."""
    cuts = {low, high, 0.0}
    for place, width in features:
        cuts |= {place + sign * k * width for sign in (-1, 1) for k in (0, 0.1, 0.3, 0.7, 1.5, 3, 6, 12, 40, 150)}
    cuts = sorted(c for c in cuts if low <= c <= high)
    return sum(quad(f, a, b, epsabs=1e-14, epsrel=1e-12, limit=200)[0] for a, b in zip(cuts, cuts[1:]))


def stationary(log_density, points, features, low, high, top):
    total = math.log(integral(lambda y: math.exp(log_density(y) - top), features, low, high)) + top
    return np.array([log_density(p) - total for p in points])


def within(s, truth, factor=5.0, most=1e-5):
    assert np.all(s.log_density_error < most), s.log_density_error
    assert np.all(np.abs(s.log_density - truth) <= factor * s.log_density_error + 1e-10), (s.log_density, truth)


def by_potential(directory, potential, points):
    path = directory / "p.ini"
    path.write_text(f"[problem]\ndim = 1\npotential = {potential}\nnoise = 1\ntime = inf\n")
    return heatball.solve(problem=path, at=points)


# ---- stationary densities ----

@pytest.mark.parametrize("width", [0.1, 0.01, 1e-3, 1e-5])
def test_a_well_in_the_drift(width, tmp_path):
    """The well of width 0.01 holds 99.9 % of the mass."""
    points = [0.0, 2.3]
    truth = stationary(lambda y: -y * y + 18 * math.exp(-((y - 2.3) / width)**2), points, [(2.3, width)], -9, 9, 13)
    if width == 0.01:
        assert abs(truth[0] + 7.25570) < 1e-5
    drift = f"-x-18*(x-2.3)/{width}^2*exp(-((x-2.3)/{width})^2)"
    within(heatball.solve(drift, 1, None, INF, points), truth)
    within(by_potential(tmp_path, f"x^2/2-9*exp(-((x-2.3)/{width})^2)", points), truth)
    five = heatball.solve(drift.replace("x-2.3", "x[i]-2.3").replace("-x-", "-x[i]-"), 1, None, INF,
                          np.repeat([[p] for p in points], 5, axis=1), dim=5)
    within(five, 5 * truth)


@pytest.mark.parametrize("width", [0.1, 1e-3, 1e-5])
def test_wells_far_out_and_several(width, tmp_path):
    def log_density(y):
        return -y * y / 100 + 40 * math.exp(-((y - 50) / width)**2) + 14 * math.exp(-((y + 0.7) / width)**2)
    features = [(50, width), (-0.7, width)]
    points = [0.0, -0.7, 50.0]
    truth = stationary(log_density, points, features, -110, 110, 15)
    potential = f"x^2/200-20*exp(-((x-50)/{width})^2)-7*exp(-((x+0.7)/{width})^2)"
    within(by_potential(tmp_path, potential, points), truth)


@pytest.mark.parametrize("width", [0.1, 3e-4])
def test_a_dip_of_the_noise_in_x(width):
    """The current is 0: u = exp(int f/D)/D."""
    def D(y):
        return (1 - 0.9 * math.exp(-((y - 0.4) / width)**2))**2 / 2

    def path(y):
        return math.copysign(1, y) * integral(lambda z: -z / D(z), [(0.4, width)], min(0, y), max(0, y))
    at = np.array([0.4 + s * k * width for s in (-1, 1) for k in np.linspace(0, 6, 25)])
    points = [0.0, 0.4, 1.0]
    # int f/D jumps by 0.4 (int 1/D - 2) over the dip: small for narrow ones, so ln u is taken from a fine trapezoid
    y = np.unique(np.concatenate([np.linspace(-6, 6, 4001), np.ravel(at),
                                  0.4 + width * np.linspace(-12, 12, 40001)]))
    g = -y / np.array([D(z) for z in y])
    cumulative = np.concatenate([[0], np.cumsum(0.5 * (g[1:] + g[:-1]) * np.diff(y))])
    log_u = cumulative - np.log([D(z) for z in y])
    log_u -= np.interp(0, y, log_u)
    total = np.log(np.sum(0.5 * (np.exp(log_u[1:]) + np.exp(log_u[:-1])) * np.diff(y)))
    truth = np.array([path(p) - math.log(D(p)) + math.log(D(0)) - total if p else -total for p in points])
    s = heatball.solve("-x", f"1-0.9*exp(-((x-0.4)/{width})^2)", None, INF, points)
    assert np.all(s.log_density_error < 1e-6)
    assert np.all(np.abs(s.log_density - truth) < 1e-5), (s.log_density, truth)


def test_a_stationary_start_sees_its_well():
    width, points = 1e-3, [0.0, 2.3]
    truth = stationary(lambda y: -y * y + 18 * math.exp(-((y - 2.3) / width)**2), points, [(2.3, width)], -9, 9, 13)
    r = heatball.solve(f"-x-18*(x-2.3)/{width}^2*exp(-((x-2.3)/{width})^2)", 1, "stationary", 1e-12, points,
                       method="walk", samples=2000, seed=3)
    assert np.all(np.abs(r.log_density - truth) <= 5 * r.log_density_error + 1e-3)


# ---- noise whose coordinate is a table ----

@pytest.mark.parametrize("initial", ["product(exp(-x^2))", "density(exp(-x^2))"])
def test_a_start_under_a_tabulated_noise_is_fast(initial):
    before = time.process_time()
    s = heatball.solve("-x", "1 + 0.5*sin(x)", initial, 0.1, [0.3])
    assert time.process_time() - before < 6
    assert s.log_density_error[0] < 1e-5


def test_points_beyond_a_tabulated_noise_are_refused():
    with pytest.raises(heatball.Error, match="too far out"):
        heatball.solve("-x", "1 + 0.5*sin(x)", "gaussian(mean=0,var=1)", 0.1, [1e9])


# ---- initial densities ----

def heat(x, components, time):
    """ln u of a sum of (weight, mean, variance) after the time, with noise 1 and no drift."""
    total = sum(weight for weight, _, _ in components)
    return np.log(sum(weight / total * np.exp(-(np.asarray(x) - m)**2 / (2 * (v + time)))
                      / math.sqrt(2 * math.pi * (v + time)) for weight, m, v in components))


@pytest.mark.parametrize("form, width", [("product", 0.1), ("product", 1e-3), ("product", 1e-5), ("density", 1e-2)])
def test_a_narrow_component_of_a_start(form, width):
    x = [0.0, 1.0, 7.3]
    truth = heat(x, [(math.sqrt(2 * math.pi), 0, 1), (0.03 * math.sqrt(math.pi), 7.3, width**2 / 2)], 1)
    start = f"{form}(exp(-x^2/2)+{0.03 / width!r}*exp(-((x-7.3)/{width})^2))"
    within(heatball.solve("0*x", 1, start, 1, x, method="grid"), truth, most=1e-4)
    if width == 1e-3:
        assert abs(truth[0] + 1.28650346) < 1e-8
        for method in ("walk", "particles"):
            s = heatball.solve("0*x", 1, start, 1, x, method=method, samples=40000, seed=7)
            assert np.all(np.abs(s.log_density - truth) <= 5 * s.log_density_error)


def test_a_dip_of_a_start():
    """A dip of 99 % and width 0.02 holds 0.8 % of the mass."""
    x = [0.0, 0.7]
    width = 0.02
    v = 1 / (2 * (0.5 + 1 / width**2))  # exp(-y^2/2) exp(-((y - 0.7)/w)^2) is a Gaussian
    m = 2 * v * 0.7 / width**2
    weight = -0.99 * math.exp(-0.7**2 / width**2 + m * m / (2 * v)) * math.sqrt(2 * math.pi * v)
    truth = heat(x, [(math.sqrt(2 * math.pi), 0, 1), (weight, m, v)], 0.1)
    s = heatball.solve("0*x", 1, f"product(exp(-x^2/2)*(1-0.99*exp(-((x-0.7)/{width})^2)))", 0.1, x, method="grid")
    within(s, truth, most=1e-3)


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("weight", [0.3, 5e-4])
def test_a_mixture_with_a_narrow_component(dim, weight, tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("\n".join(",".join(map(str, [w] + [m] * dim + [v] * dim))
                              for w, m, v in ((1 - weight, 0, 1), (weight, 0.5, 1e-8))) + "\n")
    x = np.array([[0.0] * dim, [0.5] * dim])
    start, drift = f"mixture({path})", ", ".join(["0*x", "0*y"][:dim])
    time = 0.01
    each = [np.exp(dim * heat(x[:, 0], [(1, m, v)], time)) for m, v in ((0, 1), (0.5, 1e-8))]
    truth = np.log((1 - weight) * each[0] + weight * each[1])
    s = heatball.solve(drift, 1, start, time, x)  # the walk is exact where the grid refuses
    assert np.all(np.abs(s.log_density - truth) <= 5 * s.log_density_error + 1e-9)
    try:
        grid = heatball.solve(drift, 1, start, time, x, method="grid")
    except heatball.Error as error:
        assert "narrow" in str(error) and "walk" in str(error)
    else:
        assert np.all(np.abs(grid.log_density - truth) <= 5 * grid.log_density_error + 1e-9)


def test_auto_samples_where_the_grid_refuses(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("0.7,0,1\n0.3,0.5,1e-8\n")
    s = heatball.solve("-x^3", 1, f"mixture({path})", 0.01, [0.5], samples=20000)
    assert np.isfinite(s.log_density_error[0]) and abs(s.log_density[0] - 0.3690) < 5 * s.log_density_error[0] + 0.01

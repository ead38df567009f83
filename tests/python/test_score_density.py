"""heatball.ScoreDensity: maps of columns against SciPy, the Jacobian in ln p, samples, conventions of scikit-learn."""
import copy
import inspect
import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import PchipInterpolator

import heatball
from heatball import _column_maps as maps
from heatball import ArgumentError, NotFittedError, ScoreDensity

RNG = np.random.Generator(np.random.Philox(4711))
SMALL = dict(steps=20, width=8, depth=2, threads=1)
X = RNG.standard_normal((300, 2))


@pytest.fixture(autouse=True)
def the_same_draws():
    """Every test begins with the same state, so that it may be run alone."""
    RNG.bit_generator.state = np.random.Philox(4711).state


# ---- maps -------------------------------------------------------------------------------------------

def densities():
    """(map, distribution of x whose map is known, distribution of z)."""
    yield maps.Identity(), stats.norm(3, 2), stats.norm(3, 2)
    yield maps.Log(), stats.lognorm(0.7, scale=np.exp(1.5)), stats.norm(1.5, 0.7)
    yield maps.Arsinh(1.0, 2.0), stats.johnsonsu(0, 1, 1, 2), stats.norm()
    yield maps.Logit(-1.0, 3.0), stats.johnsonsb(0.3, 1.7, -1, 4), stats.norm(-0.3 / 1.7, 1 / 1.7)
    yield maps.Logit(0.0, 1.0), stats.uniform(), stats.logistic()


@pytest.mark.parametrize("one, of_x, of_z", densities())
def test_jacobians_are_those_of_scipy(one, of_x, of_z):
    x = of_x.ppf(np.linspace(0.001, 0.999, 101))
    z, slopes = one.forward(x)
    assert np.abs(of_z.logpdf(z) + slopes - of_x.logpdf(x)).max() < 1e-10
    assert np.abs(one.inverse(z) - x).max() < 1e-10 * np.abs(x).max()


@pytest.mark.parametrize("draw", [lambda n: RNG.standard_t(2, n), lambda n: RNG.lognormal(0, 2, n),
                                  lambda n: np.concatenate([RNG.normal(-5, 1, n), RNG.normal(5, 0.1, n)]),
                                  lambda n: np.round(RNG.normal(0, 2, n))])
def test_the_quantile_map(draw):
    x = draw(3000)
    one = maps.Quantile(x)
    at = np.sort(np.concatenate([x, [x.min() - 5 * x.std(), x.max() + 5 * x.std()], one.x]))
    z, slopes = one.forward(at)
    assert (np.diff(z) >= 0).all() and np.isfinite(slopes).all()
    assert np.abs(one.inverse(z) - at).max() < 1e-8 * np.abs(at).max()
    inner = np.linspace(one.x[0], one.x[-1], 999)
    assert np.abs(one.forward(inner)[0] - PchipInterpolator(one.x, one.z)(inner))[(inner > one.x[1])
                                                                                  & (inner < one.x[-2])].max() < 1e-9
    for end in (-1, 1):  # ln g' is that of differences, also in the tails
        place = one.x[0 if end < 0 else -1] + end * np.array([0.01, 1, 10]) * x.std()
        h = 1e-6 * x.std()
        numeric = (one.forward(place + h)[0] - one.forward(place - h)[0]) / (2 * h)
        assert np.abs(np.log(numeric) - one.forward(place)[1]).max() < 1e-5


def test_the_quantile_map_makes_a_gaussian():
    x = RNG.gamma(0.5, 1, 20000)
    z = maps.Quantile(x[:10000]).forward(x[10000:])[0]
    assert stats.kstest(z, "norm").statistic < 0.035  # 5 standard errors at the median


@pytest.mark.parametrize("draw, name", [
    (lambda n: RNG.normal(100, 5, n), "identity"), (lambda n: RNG.normal(3, 1, n), "identity"),
    (lambda n: RNG.lognormal(0, 1, n), "log"), (lambda n: 1e-6 * RNG.exponential(1, n), "log"),
    (lambda n: RNG.standard_t(2, n), "arsinh"), (lambda n: RNG.random(n), "logit"),
    (lambda n: RNG.beta(0.5, 0.5, n) * 100, "logit"),
    (lambda n: RNG.standard_normal(n) * np.where(RNG.random(n) < 0.01, 100, 1), "arsinh"),
    (lambda n: np.where(RNG.random(n) < 0.5, -4, 4) + RNG.standard_normal(n), "identity"),
])
def test_maps_are_chosen_from_the_data(draw, name):
    assert maps.choose(draw(4000), 0).name == name


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_few_rows_of_a_gaussian_get_no_bounds(n):
    """A map with a domain would give -inf to the next row outside of it."""
    names = [maps.choose(RNG.normal(4, 1, n), 0).name for _ in range(300)]
    assert names.count("identity") >= 280 and not {"log", "logit"} & set(names)


def test_the_gain_of_the_logarithm():
    x = RNG.lognormal(0, 1, 1000000)
    assert abs(maps.gain(maps.Log(), x) - (0.5 + np.log(np.e - 1) / 2)) < 0.02


@pytest.mark.parametrize("low, high", [(0, 1), (-1, 1), (0, 100), (20, 70)])
def test_bounds_are_round_numbers(low, high):
    found = maps.make("logit", low + (high - low) * RNG.random(4000), 0)
    assert (found.low, found.high) == (low, high)


def test_values_at_the_bounds_are_inside():
    x = np.round(RNG.random(4000), 2)  # 0 and 1 among them
    found = maps.make("logit", x, 0)
    assert found.low < 0 and found.high > 1 and np.isfinite(found.forward(x)[1]).all()


# ---- the estimator ----------------------------------------------------------------------------------

def test_lognormal_data_against_the_truth():
    truth = stats.multivariate_normal([0.5, 5], [[1, 0.6], [0.6, 0.5]])
    x = np.exp(truth.rvs(6000, random_state=3))
    density = ScoreDensity(steps=1500, width=64, threads=1).fit(x[:4000])
    assert density.maps_ == ["log", "log"]
    values, errors = density.score_samples(x[4000:], return_error=True)
    exact = truth.logpdf(np.log(x[4000:])) - np.log(x[4000:]).sum(1)
    assert abs(np.mean(values - exact)) < 0.03 and np.std(values - exact) < 0.2
    assert (errors > 0).all() and np.median(errors) < 0.06
    assert density.score(x[4000:]) == values.mean()
    made = np.log(density.sample(4000, random_state=1))
    assert np.abs(made.mean(0) - truth.mean).max() < 0.1 and np.abs(np.cov(made.T) - truth.cov).max() < 0.1


def test_ln_p_is_that_of_the_model_and_the_jacobian():
    x = np.stack([RNG.lognormal(0, 1, 400), RNG.random(400), RNG.standard_t(2, 400)], 1)
    density = ScoreDensity(likelihood="ode", **SMALL).fit(x)
    assert density.maps_ == ["log", "logit", "arsinh"]
    z, slopes = density.map_columns(x[:20])
    assert np.array_equal(z[:, 0], np.log(x[:20, 0]))
    assert np.array_equal(density.score_samples(x[:20]), density.model_.log_likelihood(z) + slopes)
    direct = density.set_params(likelihood="direct").score_samples(x[:20])
    assert np.abs(direct - density.model_.log_likelihood(z, method="direct") - slopes).max() < 1e-12


def test_outside_of_a_domain():
    x = np.stack([RNG.lognormal(0, 1, 400), RNG.random(400)], 1)
    density = ScoreDensity(maps=["log", ("logit", 0, 1)], **SMALL).fit(x)
    values, errors = density.score_samples([[1, 0.5], [-1, 0.5], [0, 0.5], [1, 1.0], [1, -3]], return_error=True)
    assert np.isfinite(values[0]) and (values[1:] == -np.inf).all() and (errors[1:] == 0).all()
    assert density.score([[1, 2.0]]) == -np.inf
    made = density.sample(500)
    assert (made[:, 0] > 0).all() and (made[:, 1] > 0).all() and (made[:, 1] < 1).all()
    assert np.isfinite(density.score_samples(made)).all()


@pytest.mark.parametrize("name", maps.NAMES)
def test_samples_go_there_and_back(name):
    density = ScoreDensity(maps=name, **SMALL).fit(RNG.beta(2, 3, (400, 2)))
    z = density.model_.generate(50, seed=9)
    assert np.abs(density.map_columns(density.sample(50, random_state=9))[0] - z).max() < 1e-8


def test_random_states():
    density = ScoreDensity(**SMALL).fit(X)
    assert np.array_equal(density.sample(3), density.sample(3, random_state=42))
    assert not np.array_equal(density.sample(3), density.sample(3, random_state=1))
    for kind in (np.random.default_rng, np.random.RandomState):
        one = kind(1)
        first = density.sample(3, random_state=one)
        assert np.array_equal(first, density.sample(3, kind(1))) and not np.array_equal(first, density.sample(3, one))


# ---- conventions of scikit-learn ---------------------------------------------------------------------

def test_parameters_are_stored_unchanged_and_cloned():
    given = {name: object() for name in inspect.signature(ScoreDensity).parameters}
    loss = given.pop("loss")
    density = ScoreDensity(loss, **given)
    params = density.get_params()
    assert all(params[name] is value for name, value in {**given, "loss": loss}.items())
    again = type(density)(**density.get_params(deep=False))  # as sklearn.base.clone does
    assert all(again.get_params()[name] is value for name, value in params.items())


def test_clones_are_not_fitted_and_copies_are():
    density = ScoreDensity(**SMALL)
    assert density.fit(X, None) is density and density.n_features_in_ == 2
    assert [name for name in vars(density) if name.endswith("_")] == ["model_", "maps_", "n_features_in_"]
    with pytest.raises(NotFittedError, match="this ScoreDensity is not fitted yet; call fit"):
        ScoreDensity(**density.get_params()).score_samples(X)
    for other in (copy.deepcopy(density), pickle.loads(pickle.dumps(density)), ScoreDensity(**density.get_params()).fit(X)):
        assert np.array_equal(other.score_samples(X[:5]), density.score_samples(X[:5]))


def test_not_fitted_is_what_scikit_learn_raises():
    assert issubclass(NotFittedError, ValueError) and issubclass(NotFittedError, AttributeError)
    for call in (lambda d: d.sample(), lambda d: d.score(X), lambda d: d.map_columns(X)):
        with pytest.raises(NotFittedError):
            call(ScoreDensity())


def test_under_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score
    density = ScoreDensity(**SMALL)
    assert clone(density).get_params() == density.get_params()
    assert np.isfinite(cross_val_score(density, X, cv=2)).all()
    assert GridSearchCV(density, {"maps": ["auto", "none"]}, cv=2).fit(X).best_params_["maps"] in ("auto", "none")


def test_set_params_and_repr():
    density = ScoreDensity("dsm", maps=["log", "identity"])
    assert repr(density) == "ScoreDensity(loss='dsm', maps=['log', 'identity'])"
    assert repr(density.set_params(loss="hb", maps="auto", steps=5)) == "ScoreDensity(steps=5)"
    with pytest.raises(ArgumentError, match="stepps is no parameter of ScoreDensity; these are: loss, maps, steps"):
        density.set_params(stepps=3)


# ---- refusals ---------------------------------------------------------------------------------------

WITH_NAN, CONSTANT = X.copy(), X.copy()
WITH_NAN[3, 1], CONSTANT[:, 1] = np.nan, 7


@pytest.mark.parametrize("given, x, says", [
    ({}, WITH_NAN, "X has nan in row 3, column 1; it must be finite"),
    ({}, CONSTANT, r"column 1 is constant \(7\); it has no density: leave it out"),
    ({}, X[:1], "X has 1 row; a density needs at least 2"),
    ({"maps": ["log"]}, X, "maps has 1 names; X has 2 columns"),
    ({"maps": "sqrt"}, X, "the map of column 0 is 'sqrt'; it must be identity, arsinh, log, logit, quantile or"),
    ({"maps": ["identity", ("logit", 1, 0)]}, X, "the map of column 1 is a tuple of 3"),
    ({"maps": ["log", "identity"]}, X, "column 0 has -.*; the map log takes values above 0: take arsinh"),
    ({"maps": ["identity", ("logit", -1, 1)]}, X, "column 1 goes from .* between its bounds -1 and 1"),
    ({"maps": ["quantile", "identity"]}, np.stack([X[:, 0] > 0, X[:, 1]], 1), "column 0 has too few different values"),
    ({"likelihood": "exact"}, X, "likelihood is 'exact'; it must be auto, direct or ode"),
    ({"loss": "dms"}, X, "loss is 'dms'"),
])
def test_refusals(given, x, says):
    with pytest.raises(ArgumentError, match=says):
        ScoreDensity(**{**SMALL, **given}).fit(x)


def test_refusals_of_rows_to_predict():
    density = ScoreDensity(**SMALL).fit(X)
    with pytest.raises(ArgumentError, match="X has 3 columns; the density has 2"):
        density.score_samples(np.zeros((2, 3)))
    with pytest.raises(ArgumentError, match="X has inf in row 0, column 1"):
        density.score_samples([[0, np.inf]])
    with pytest.raises(TypeError, match="random_state is 'one'"):
        density.sample(1, "one")


def fitted(x, **given):
    return ScoreDensity(**{**SMALL, **given}).fit(x)


@pytest.mark.parametrize("call, kind, says", [
    (lambda: fitted(np.empty((0, 2))), ValueError, "X has 0 rows; a density needs at least 2"),
    (lambda: fitted(np.empty((5, 0))), ValueError, "X has no columns"),
    (lambda: fitted(np.zeros((4, 3, 2))), ValueError, "X has 3 axes; it must have 2"),
    (lambda: fitted([["a", "b"]] * 5), TypeError, "X is a list of 5; it must be an array of real numbers"),
    (lambda: fitted(np.array([[1, None], [2, 3]], object)), TypeError, "X has dtype object"),
    (lambda: fitted(X, error=-1), ValueError, "error is -1; it must be 0 or more"),
    (lambda: fitted(X, error=np.nan), ValueError, "error is nan; it must be 0 or more"),
    (lambda: fitted(X).set_params(likelihood="exact").score_samples(X), ValueError, "likelihood is 'exact'"),
    (lambda: fitted(X).score(np.empty((0, 2))), ValueError, "X has no rows; a mean needs at least 1"),
    (lambda: fitted(X).score_samples(X[0]), ValueError, "X has 1 axis; it must have 2"),
    (lambda: fitted(X).sample(-1), ValueError, "n_samples is -1"),
    (lambda: fitted(X).sample(1.5), TypeError, "n_samples is 1.5; it must be an integer"),
])
def test_more_refusals(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


def test_small_and_odd_input():
    density = fitted(X)
    assert density.sample(0).shape == (0, 2) and density.score_samples(np.empty((0, 2))).shape == (0,)
    assert fitted(X[:, 0]).score_samples(X[:3, 0]).shape == (3,) and fitted(X[:, 0]).sample(2).shape == (2, 1)
    assert np.isfinite(fitted(X[:2]).score_samples(X[:2])).all() and np.isfinite(fitted(X > 0).score(X[:5] > 0))


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_units_whose_squares_overflow(scale):
    """ln p moves by the logarithm of the unit."""
    plain, scaled = fitted(X, likelihood="ode").score_samples(X[:5]), fitted(X * scale, likelihood="ode").score_samples(X[:5] * scale)
    assert np.abs(scaled + 2 * np.log(scale) - plain).max() < 1e-5


def test_identical_columns_are_told():
    with pytest.warns(UserWarning, match="columns 0 and 2 are identical; such rows have no density"):
        density = fitted(X[:, [0, 1, 0]])
    assert np.isfinite(density.score(X[:, [0, 1, 0]]))


def test_another_fit_forgets_the_first():
    density = fitted(X)
    density.fit(RNG.lognormal(0, 1, (100, 3)))
    assert density.n_features_in_ == 3 and density.sample(2).shape == (2, 3)
    with pytest.raises(ArgumentError):
        density.fit(CONSTANT)
    assert density.sample(2).shape == (2, 3)  # one that failed leaves the one before


def test_data_frames_keep_their_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b"])
    density = fitted(frame)
    assert list(density.feature_names_in_) == ["a", "b"]
    assert np.array_equal(density.score_samples(frame), density.score_samples(X))
    with pytest.raises(ArgumentError, match="X has the columns b, a; the density was fitted to a, b"):
        density.score_samples(frame[["b", "a"]])
    with pytest.raises(TypeError, match="column 'b' of X has dtype object; it must be real numbers"):
        density.score_samples(frame.assign(b="text"))
    assert not hasattr(density.fit(X), "feature_names_in_")


def test_in_a_pipeline_of_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler
    pipe = Pipeline([("scale", StandardScaler()), ("density", ScoreDensity(maps=["identity", ("logit", -9, 9)], **SMALL))])
    assert clone(pipe).set_params(density__steps=7).get_params()["density__steps"] == 7
    assert pipe.fit(X).score_samples(X).shape == (300,) and np.isfinite(pipe.score(X))


def test_it_is_public():
    assert heatball.ScoreDensity.__module__ == heatball.NotFittedError.__module__ == "heatball"

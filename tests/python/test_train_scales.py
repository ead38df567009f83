"""Columns of different scale: what a model gives is in the units of its rows, whatever these are.

Oracles: the law that the rows are drawn from, central differences, sums over a lattice, the same
model of the same rows in other units.
"""

import numpy as np
import pytest

import heatball

QUICK = dict(loss="dsm", steps=400, width=48, depth=2, batch=128)
UNITS = np.array([0.3, 10.0, 60.0])


def three_columns(n, seed=4):
    """Standard deviations 0.3 (two modes), 10 and 60, far from the origin; the last follows the first."""
    random = np.random.Generator(np.random.Philox(seed))
    side = np.where(random.random(n) < 0.5, -1.0, 1.0)
    first = 0.3 * (0.96 * side + 0.28 * random.normal(size=n))
    last = 60 * (0.6 * side + 0.8 * random.normal(size=n))
    return np.column_stack([first + 5, 10 * random.normal(size=n) - 300, last + 1000])


@pytest.fixture(scope="module")
def model():
    return heatball.train(three_columns(4000), "dsm", steps=1500, width=64, depth=3, batch=256)


def test_small_columns_come_back(model):
    """With one scale for all columns the first came back with sd 0.86 and no modes."""
    x, y = three_columns(4000, seed=5), model.generate(4000, n_steps=200)
    assert np.allclose(model.scales, UNITS, rtol=0.05)
    assert np.allclose(y.std(axis=0), x.std(axis=0), rtol=0.06)
    assert np.allclose(y.mean(axis=0), x.mean(axis=0), atol=6 * UNITS / np.sqrt(4000))
    for rows in x, y:
        away = (rows[:, 0] - 5) / 0.3
        assert (np.abs(away) < 0.3).mean() < 0.03  # the valley between the modes
        assert abs((away > 0).mean() - 0.5) < 0.05
    side = [np.corrcoef(rows[:, 0] > 5, rows[:, 2])[0, 1] for rows in (x, y)]
    assert side[0] == pytest.approx(side[1], abs=0.05)


def test_one_scale_loses_them():
    """What the default is for: the test above fails with one scale."""
    model = heatball.train(three_columns(4000), standardise="common", **QUICK)
    assert model.generate(1000, n_steps=100).std(axis=0)[0] > 0.5


@pytest.mark.parametrize("head", ["score", "energy"])
def test_units_change_nothing_but_units(head):
    """Rows in units that are powers of 2 apart have the same z, so the same network, to the bit."""
    x = np.random.Generator(np.random.Philox(9)).normal(size=(500, 4)) @ np.diag([1, 2, 0.5, 3.0]) + 0.25
    units = np.array([2.0**-20, 1.0, 2.0**13, 2.0**30])
    one, other = (heatball.train(rows, head=head, **QUICK) for rows in (x, x * units))
    tau = 0.2
    assert np.array_equal(other.scales, one.scales * units)
    assert np.array_equal(other.score(x * units, tau) * units, one.score(x, tau))
    assert np.array_equal(other.generate(50, n_steps=20), one.generate(50, n_steps=20) * units)
    shift = np.log(units).sum()
    assert np.allclose(other.log_likelihood(x[:20] * units), one.log_likelihood(x[:20]) - shift, atol=1e-9)
    if head == "energy":
        assert np.allclose(other.log_density(x * units, tau), one.log_density(x, tau) - shift, atol=1e-9)


def test_scores_are_gradients_in_the_units_of_the_rows(model):
    x = three_columns(40, seed=6)
    for j, unit in enumerate(UNITS):
        h = 3e-3 * unit * np.eye(3)[j]
        slope = (model.log_density(x + h, 0.1) - model.log_density(x - h, 0.1)) / (2 * h[j])
        assert np.allclose(model.score(x, 0.1)[:, j], slope, atol=6e-3 / unit)


def test_the_flows_density_has_mass_one():
    """exp(log_likelihood), summed over a lattice in the units of the rows."""
    random = np.random.Generator(np.random.Philox(2))
    x = np.column_stack([0.01 * random.normal(size=800), 300 * random.gamma(3.0, size=800)])
    model = heatball.train(x, head="score", **QUICK)
    ends = [x[:, j].mean() + x[:, j].std() * np.linspace(-5, 6, 61) for j in range(2)]
    at = np.stack(np.meshgrid(*ends, indexing="ij"), axis=-1).reshape(-1, 2)
    cell = np.prod([end[1] - end[0] for end in ends])
    mass = np.exp(model.log_likelihood(at, tau_min=0.02)).sum() * cell
    assert mass == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("scale", [1e-9, 1e9, 1e-120, 1e150])
def test_extreme_units(scale):
    random = np.random.Generator(np.random.Philox(3))
    x = random.normal(size=(600, 2)) * [scale, 1.0]
    y = heatball.train(x, **QUICK).generate(500, n_steps=60)
    assert np.allclose(y.std(axis=0) / x.std(axis=0), 1, atol=0.2)


@pytest.mark.parametrize("rows", [
    np.random.Generator(np.random.Philox(1)).normal(7, 0.01, 500),
    np.random.Generator(np.random.Philox(1)).normal(size=(400, 50)) * np.logspace(-6, 6, 50),
    np.random.Generator(np.random.Philox(1)).integers(0, 5, (500, 3)) * np.array([1, 100, 10000]),
    np.random.Generator(np.random.Philox(1)).standard_t(2.5, (500, 2)) * [1.0, 1e4],
], ids=["line", "fifty columns", "whole numbers", "heavy tails"])
def test_kinds_of_rows(rows):
    x = rows.reshape(len(rows), -1)
    model = heatball.train(rows, head="score", **QUICK)
    y = model.generate(300, n_steps=60)
    middle, made = np.median(x, axis=0), np.median(y, axis=0)
    spread = np.subtract(*np.percentile(x, [75, 25], axis=0))
    assert np.abs((made - middle) / spread).max() < 0.6
    ratio = np.subtract(*np.percentile(y, [75, 25], axis=0)) / spread
    assert ratio.min() > 0.5 and ratio.max() < 2
    assert np.isfinite(model.log_likelihood(x[:20], probes=2 if x.shape[1] > 10 else 0)).all()


def test_labels_and_images_and_words():
    x = three_columns(900)
    labels = (x[:, 0] > 5).astype(int)
    model = heatball.train(x, labels=labels, **QUICK)
    for label in 0, 1:
        y = model.generate(200, n_steps=60, label=label)
        assert ((y[:, 0] > 5) == label).mean() > 0.9
    pixels = np.random.Generator(np.random.Philox(1)).random((60, 3, 3)) * np.linspace(0.1, 1, 9).reshape(3, 3)
    few = dict(loss="dsm", steps=3, width=8, depth=1)
    assert np.ptp(heatball.train(pixels, **few).scales) == 0
    assert np.ptp(heatball.train(pixels, standardise="axis", **few).scales) > 0
    assert np.ptp(heatball.train(x, standardise="common", **few).scales) == 0
    assert np.all(heatball.train(x, standardise=False, **few).scales == 1)
    assert np.ptp(heatball.train(x, standardise=True, **few).scales) > 0
    with pytest.raises(heatball.ArgumentError, match="standardise is 'each'; it must be no, common, axis, maps or auto"):
        heatball.train(x, standardise="each", **few)
    with pytest.raises(heatball.ArgumentError, match="cannot be standardised"):
        heatball.train(x[:, :1], drift="-x", standardise="axis", **few)
    x[:, 1] = 0.1
    with pytest.raises(heatball.ArgumentError, match="column 2 of the data is 0.1 in every row"):
        heatball.train(x, **few)


def test_a_checkpoint_of_other_scales_is_refused(tmp_path):
    x, path = three_columns(300), tmp_path / "run.ckpt"
    few = dict(loss="dsm", steps=3, width=8, depth=1, checkpoint=path, resume=True)
    heatball.train(x, **few)
    heatball.train(x, standardise="axis", **few)  # the default: the same run
    with pytest.raises(heatball.ArgumentError, match="it has standardise=2, this run has standardise=1"):
        heatball.train(x, standardise="common", **few)

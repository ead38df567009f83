"""Judges of images and the classifier against NumPy and SciPy."""

import numpy as np
import pytest
from scipy import ndimage, stats
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist

import heatball

AROUND = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], bool)


def clouds(n, m, dim, seed=2385):
    """Rows that lie on curved sheets of few dimensions, as images do."""
    rng = np.random.default_rng(seed)
    bend = rng.normal(size=(4, dim))
    rows = [np.sin(rng.normal(size=(count, 4)) @ bend) + 0.05 * rng.normal(size=(count, dim))
            for count in (n, m)]
    return rows[0], rows[1]


# ---- neighbours ----------------------------------------------------------------------------------

@pytest.mark.parametrize("dim", [2, 3, 17, 256])
def test_nearest_is_the_tree_of_scipy(dim):
    x, y = clouds(317, 1203, dim)
    index, distance = heatball.metrics.nearest(x, y)
    exact, place = cKDTree(y).query(x)
    assert np.array_equal(index, place)
    assert np.allclose(distance, exact, rtol=1e-12)


def brute_precision(x, y, k):
    """Of the definition: share of x in some ball of the k-th neighbour around a row of y."""
    radii = cKDTree(y).query(y, k + 1)[0][:, k]
    return np.mean(np.any(cdist(x, y) <= radii * (1 + 1e-13), axis=1))


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("dim", [2, 256])
def test_precision_and_recall_are_the_definition(dim, k):
    x, y = clouds(283, 431, dim)
    x *= 1.2
    precision, recall = heatball.metrics.precision_recall(x, y, k)
    assert precision == brute_precision(x, y, k)
    assert recall == brute_precision(y, x, k)
    assert 0 < precision <= 1 and 0 < recall <= 1


def test_recall_sees_a_lost_half_and_precision_does_not():
    """Two far clusters, of which the generated rows have one."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=(1000, 6)) + 50 * (np.arange(1000) % 2)[:, None]
    x = rng.normal(size=(500, 6))
    precision, recall = heatball.metrics.precision_recall(x, y)
    assert precision > 0.9 and 0.4 < recall <= 0.5
    precision, recall = heatball.metrics.precision_recall(y, x)
    assert recall > 0.9 and 0.4 < precision <= 0.5


def test_memorisation_is_numpys():
    x, t = clouds(400, 900, 64, seed=3)
    x, y = x[:150], x[150:]
    made = cKDTree(t).query(x)[0]
    real = cKDTree(t).query(y)[0]
    found = heatball.metrics.memorisation(x, y, t)
    assert found["median"] == pytest.approx(np.median(made), rel=1e-12)
    assert found["real_median"] == pytest.approx(np.median(real), rel=1e-12)
    assert found["ratio"] == pytest.approx(np.median(made) / np.median(real), rel=1e-12)
    assert found["near"] == pytest.approx(np.quantile(real, 0.01), rel=1e-12)
    assert found["fraction"] == np.mean(made < np.quantile(real, 0.01))
    assert 0.9 < found["ratio"] < 1.1
    copies = heatball.metrics.memorisation(t[:100] + 1e-3, y, t)
    assert copies["ratio"] < 0.05 and copies["fraction"] == 1


# ---- artifacts -----------------------------------------------------------------------------------

def strengths(images, kind):
    """The strength of every pixel by SciPy's filters."""
    if kind == "median":
        middle = [ndimage.median_filter(image, 3, mode="mirror") for image in images]
        return np.abs(images - middle)
    high = [ndimage.maximum_filter(image, footprint=AROUND, mode="mirror") for image in images]
    low = [ndimage.minimum_filter(image, footprint=AROUND, mode="mirror") for image in images]
    return np.maximum(0, np.maximum(images - high, low - images))


@pytest.mark.parametrize("kind", ["median", "isolated"])
@pytest.mark.parametrize("shape", [(40, 16, 16), (17, 3, 5), (9, 28, 3)])
def test_specks_are_scipys_filters(shape, kind):
    images = np.random.default_rng(5).uniform(size=shape)
    for least, theta in [(1, 0.4), (3, 0.25), (2, 0.0)]:
        counts = np.sum(strengths(images, kind) > theta, axis=(1, 2))
        specks, affected = heatball.metrics.artifacts(images, theta, kind=kind, least=least)
        assert np.array_equal(specks, counts)
        assert affected == np.sum(counts >= least)


@pytest.mark.parametrize("kind", ["median", "isolated"])
def test_threshold_is_a_quantile_of_the_strengths(kind):
    images = np.random.default_rng(6).uniform(size=(500, 9, 8))
    for least in (1, 4):
        ranked = np.sort(strengths(images, kind).reshape(500, -1), axis=1)[:, -least]
        theta = heatball.metrics.artifact_threshold(images, 0.013, kind=kind, least=least)
        assert theta == np.sort(ranked)[-1 - int(0.013 * 500)]


def test_planted_noise_is_found_and_smooth_images_are_clean():
    rng = np.random.default_rng(7)
    images = ndimage.gaussian_filter(rng.normal(size=(300, 16, 16)), (0, 2, 2))
    images = (images - images.min()) / np.ptp(images)
    theta = heatball.metrics.artifact_threshold(images[:150], 0.01)
    assert heatball.metrics.artifacts(images[150:], theta)[1] <= 8
    noisy = images[150:].copy()
    for image in noisy:
        image.flat[rng.choice(256, 3, replace=False)] = rng.integers(0, 2, 3)
    assert heatball.metrics.artifacts(noisy, theta)[1] > 140


# ---- discrepancy in 256 dimensions ---------------------------------------------------------------

@pytest.mark.parametrize("single, widths", [(False, [0.25, 0.5, 1, 2, 4]), (True, [1])])
def test_mmd_in_256_dimensions_is_numpys(single, widths):
    x, y = clouds(700, 1000, 256)
    found = heatball.metrics.mmd(x, y, single=single)
    h = np.median(pdist(y))
    assert found["bandwidth"] == pytest.approx(h, rel=1e-12)
    k = lambda a, b: np.mean([np.exp(-cdist(a, b, "sqeuclidean") / (2 * (c * h)**2))
                              for c in widths], axis=0)
    kxx, kyy, kxy = k(x, x), k(y, y), k(x, y)
    assert found["mmd"]**2 == pytest.approx(kxx.mean() + kyy.mean() - 2 * kxy.mean(), abs=1e-13)
    off = lambda K: (K.sum() - len(K)) / (len(K) * (len(K) - 1))
    assert found["mmd2"] == pytest.approx(off(kxx) + off(kyy) - 2 * kxy.mean(), abs=1e-13)


def test_floor_is_the_spread_of_mmd_over_fresh_samples():
    """Pools so large that subsets are nearly fresh samples: means and quantiles of both agree."""
    rng = np.random.default_rng(8)
    fresh = [heatball.metrics.mmd(rng.normal(size=(60, 5)), rng.normal(size=(80, 5))) for _ in range(400)]
    mmd, mmd2 = (np.array([one[key] for one in fresh]) for key in ("mmd", "mmd2"))
    floor = heatball.metrics.mmd_floor(rng.normal(size=(20000, 5)), rng.normal(size=(20000, 5)), 60, 80,
                               times=400)
    for key, values in (("mmd", mmd), ("mmd2", mmd2)):
        assert abs(floor[key] - values.mean()) < 5 * values.std() * np.sqrt(2 / 400)
        above = np.mean(values > floor[key + "_upper"])  # 0.05, with the error of both quantiles
        assert abs(above - 0.05) < 5 * np.sqrt(2 * 0.05 * 0.95 / 400)


# ---- the classifier ------------------------------------------------------------------------------

def test_error_of_three_classes_is_that_of_bayes():
    """Three normals in the plane, whose best rule is the nearest mean."""
    rng = np.random.default_rng(9)
    means = 1.385 * np.array([[0, 1], [0.9, -0.5], [-0.9, -0.5]])
    draw = lambda n: (lambda labels: (rng.normal(size=(n, 2)) + means[labels], labels))(
        rng.integers(0, 3, n))
    x, labels = draw(6000)
    fresh, truth = draw(20000)
    weights = np.stack([stats.multivariate_normal(m).pdf(fresh) for m in means], 1)
    exact = weights / weights.sum(1, keepdims=True)
    best = np.mean(exact.argmax(1) != truth)
    found = heatball.Classifier(x, labels, width=32, epochs=12, batch=128).predict(fresh)
    assert np.allclose(found.sum(1), 1, atol=1e-13)
    assert np.mean(found.argmax(1) != truth) < best + 0.005
    assert np.abs(found - exact).mean() < 0.02


def test_moving_teaches_what_moved_images_are():
    """Trained with shift, it knows images that are moved; without, it does worse."""
    rng = np.random.default_rng(10)
    patterns = rng.normal(size=(4, 10, 10))
    labels = rng.integers(0, 4, 400)
    x = patterns[labels] + 0.7 * rng.normal(size=(400, 10, 10))
    moved = np.stack([ndimage.shift(image, rng.uniform(-1, 1, 2), order=1, mode="nearest")
                      for image in patterns[labels] + 0.7 * rng.normal(size=x.shape)])
    right = [np.mean(heatball.Classifier(x.reshape(400, -1), labels, width=64, epochs=40, batch=64,
                                         shift=shift).predict(moved.reshape(400, -1)).argmax(1)
                     == labels) for shift in (0, 1)]
    assert right[1] > right[0] and right[1] > 0.8


def test_classifier_files_and_threads(tmp_path):
    rng = np.random.default_rng(11)
    x, labels = rng.normal(size=(200, 5)), rng.integers(0, 3, 200)
    one = heatball.Classifier(x, labels, width=16, epochs=3, batch=200, threads=1)
    near = x.astype(np.float32).astype(float)
    two = heatball.Classifier(near, labels, width=16, epochs=3, batch=200)
    assert repr(one) == "Classifier of 3 classes in dimension 5: width 16, depth 2"
    one.save(tmp_path / "c.safetensors")
    again = heatball.Classifier.load(tmp_path / "c.safetensors")
    assert np.array_equal(again.predict(x), one.predict(x, threads=2))
    assert np.allclose(two.predict(x), one.predict(x), atol=1e-3)
    assert (again.dim, again.classes, again.parameters) == (5, 3, 6 * 16 + 17 * 16 + 17 * 3)


@pytest.mark.long
def test_mnist_digits_at_16_by_16():
    try:
        (x, labels), (fresh, truth) = [heatball.images("mnist", part, resize=16)
                                       for part in ("train", "test")]
    except heatball.Error as missing:
        pytest.skip(str(missing))
    digits = heatball.Classifier(x.reshape(-1, 256), labels)
    found = digits.predict(fresh.reshape(-1, 256))
    assert np.mean(found.argmax(1) == truth) > 0.98
    assert np.mean(found.max(1) > 0.9) > 0.95


# ---- refusals ------------------------------------------------------------------------------------

@pytest.mark.parametrize("call, says", [
    (lambda: heatball.metrics.nearest([[1.0]], [[1.0, 2]]), "x has 1 columns and y has 2"),
    (lambda: heatball.metrics.nearest([[1.0]], np.zeros((0, 1))), "y has 0 rows"),
    (lambda: heatball.metrics.precision_recall(np.eye(5)[:3], np.eye(5)), "x has 3 rows; it must have"),
    (lambda: heatball.metrics.precision_recall(np.eye(5), np.eye(5), 101), "k is 101; it must be 1 to 100"),
    (lambda: heatball.metrics.artifacts(np.zeros((1, 2, 9)), 0.1), "images are 2 by 9 pixels"),
    (lambda: heatball.metrics.artifacts(np.zeros((1, 5, 9)), 0.1, kind="mean"), "be median or isolated"),
    (lambda: heatball.metrics.artifact_threshold(np.zeros((1, 5, 9)), 1), "fraction is 1"),
    (lambda: heatball.metrics.mmd_floor(np.eye(5), np.eye(5), 6, 4), "n is 6; it must be 4 to the 5 rows"),
    (lambda: heatball.Classifier(np.eye(4), [0, 1, 2]), r"labels has shape \(3,\)"),
    (lambda: heatball.Classifier(np.eye(4), [0, 1, -2, 1]), "the label of row 3 is -2"),
    (lambda: heatball.Classifier(np.eye(4), [0, 1, 2, 1], epochs=1).predict(np.eye(3)),
     "x has 3 columns"),
])
def test_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()

"""`heatball evaluate` of a model of images, on a small set of bars written here as IDX files.

Oracles: SciPy's trees and filters on the images that `heatball generate` makes with the same seed.
"""

import json

import numpy as np
import pytest
from scipy import ndimage
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from command_line import idx, run, succeed

SIDE, TRAINED, REAL, MADE = 8, 500, 200, 230


def bars(n, rng):
    """Images with a bright row, blurred, and which of three rows it is."""
    labels = rng.integers(0, 3, n).astype(np.uint8)
    images = 0.05 * rng.uniform(size=(n, SIDE, SIDE))
    images[np.arange(n), 1 + 2 * labels] += rng.uniform(0.6, 0.9, (n, 1))
    return np.round(255 * np.clip(images, 0, 1)).astype(np.uint8), labels


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A directory with the set, a model, its samples and its evaluation."""
    place, rng = tmp_path_factory.mktemp("bars"), np.random.default_rng(2385)
    (place / "set").mkdir()
    parts = {"train": bars(TRAINED, rng), "t10k": bars(REAL, rng)}
    for part, (images, labels) in parts.items():
        (place / "set" / f"{part}-images-idx3-ubyte").write_bytes(idx(images))
        (place / "set" / f"{part}-labels-idx1-ubyte").write_bytes(idx(labels))
    np.save(place / "rows.npy", parts["train"][0].reshape(TRAINED, -1) / 255)
    succeed("train", "--data", place / "rows.npy", "--loss", "dsm", "--steps", 400, "--width", 32,
            "--depth", 2, "--held-out", 0, "-o", place / "model.safetensors")
    model = place / "model.safetensors"
    succeed("generate", model, "-n", MADE, "--seed", 7, "-o", place / "made.npy")
    text = succeed("evaluate", model, "--data", place / "set", "--samples", MADE, "--seed", 7, "--json")
    rows = {part: images.reshape(len(images), -1) / 255 for part, (images, _) in parts.items()}
    generated = np.clip(np.load(place / "made.npy"), rows["train"].min(), rows["train"].max())
    return place, json.loads(text), generated, rows["t10k"], rows["train"], parts


def covered(x, y):
    radii = cKDTree(y).query(y, 4)[0][:, 3]
    return np.mean(np.any(cdist(x, y) <= radii * (1 + 1e-13), axis=1))


def test_distances_are_scipys(made):
    _, found, x, real, trained, _ = made
    assert (found["generated"], found["real"], found["training"]) == (MADE, REAL, TRAINED)
    assert found["precision"] == covered(x, real) and found["recall"] == covered(real, x)
    own, others = cKDTree(trained).query(x)[0], cKDTree(trained).query(real)[0]
    assert found["nearest_ratio"] == pytest.approx(np.median(own) / np.median(others), rel=1e-12)
    assert found["nearest_fraction"] == np.mean(own < np.quantile(others, 0.01))


def test_specks_are_scipys(made):
    _, found, x, real, _, _ = made
    strength = lambda rows: np.stack([np.abs(i - ndimage.median_filter(i, 3, mode="mirror")).max()
                                      for i in rows.reshape(-1, SIDE, SIDE)])
    theta = np.sort(strength(real))[-1 - REAL // 100]
    assert found["artifact_theta"] == pytest.approx(theta, rel=1e-14)
    assert found["artifacts"] == np.sum(strength(x) > found["artifact_theta"])


def test_classes_are_those_of_the_rows(made):
    _, found, x, _, _, _ = made
    bright = x.reshape(-1, SIDE, SIDE).mean(axis=2)[:, 1:6:2].argmax(axis=1)
    assert found["classifier_right"] > 0.99 and found["confident_real"] > 0.95
    assert np.abs(np.bincount(bright, minlength=3) - found["class_counts"]).sum() < 0.1 * MADE
    assert found["class_share_most"] == max(found["class_counts"]) / MADE
    assert found["class_share_least"] == min(found["class_counts"]) / MADE


def test_floor_is_below_what_is_generated(made):
    _, found, *_ = made
    assert found["mmd_rows"] == REAL and found["mmd_floor"] < found["mmd_floor_upper"] < 0.2
    assert found["mmd"] > 0 and abs(found["mmd2_floor"]) < 0.01


def test_text_and_refusals(made):
    place, found, *_ = made
    model = place / "model.safetensors"
    text = succeed("evaluate", model, "--data", place / "set", "--samples", MADE, "--seed", 7)
    assert f"precision {found['precision']:.3f}, recall {found['recall']:.3f}" in text
    assert "classes: " + ", ".join(map(str, found["class_counts"])) in text
    for option, value in [("--plot", "e.svg"), ("--tau", "0.1"), ("--held-out", "0.2")]:
        done = run("evaluate", model, "--data", place / "set", option, value)
        assert done.returncode == 2 and f"{option} is not for images" in done.stderr
    done = run("evaluate", model, "--data", place / "set", "--samples", 3)
    assert done.returncode == 2 and "needs at least 4 of each" in done.stderr
    done = run("evaluate", model, "--data", place / "nothing/here")
    assert done.returncode == 1 or done.returncode == 2
    np.save(place / "six.npy", np.random.default_rng(1).normal(size=(60, 6)))
    succeed("train", "--data", place / "six.npy", "--loss", "dsm", "--steps", 2, "--width", 8,
            "-o", place / "six.safetensors")
    done = run("evaluate", place / "six.safetensors", "--data", place / "set")
    assert done.returncode == 2 and "needs a model of square images" in done.stderr

"""Solution.plot in two dimensions: a grid behind the solution gives the whole field, whatever the points are."""

import heatball
import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

OU = ("-x, -y", "sqrt(2)", "gaussian(mean=1 0, var=0.5)")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_a_field_is_drawn_from_the_grid_and_points_are_marked():
    s = heatball.solve(*OU, 0.4, [[0.5, 0.5], [1, -1]], method="grid", cells=64)
    ax = s.plot("score")
    mesh = ax.collections[0].get_array()
    mean, var = np.exp(-0.4), 0.5 * np.exp(-0.8) + 1 - np.exp(-0.8)
    assert mesh.size > 10_000 and mesh.max() == pytest.approx(1 / (2 * np.pi * var), rel=2e-2)
    low, high = ax.get_xlim()
    assert low < mean - 2.5 * np.sqrt(var) and high > mean + 2.5 * np.sqrt(var) and high - low < 14 * np.sqrt(var)
    assert "requested points" in ax.get_legend_handles_labels()[1]
    several = heatball.solve(*OU, [0.2, 0.4], [[0.5, 0.5]], method="grid", cells=64).plot()
    assert len(several) == 2


def test_without_a_grid_points_are_drawn():
    s = heatball.solve("sin(x) - y, sin(y) + x", 1, "gaussian(mean=0 0, var=0.5)", 0.3, [[0.1, 0.2], [1, 1]], method="particles",
                       samples=2000)
    assert len(s.plot().collections[0].get_offsets()) == 2

"""How results, models and solutions show themselves: tables, plain values, pandas, pictures."""

import copy
import json
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import heatball

OU = dict(drift="-x", noise="sqrt(2)", initial="gaussian(mean=1, var=0.4)")
WITHOUT = """
import sys
sys.modules[{name!r}] = None  # as if it were not installed
import heatball
s = heatball.solve("-x", "sqrt(2)", "gaussian(mean=0, var=1)", 0.5, [0.3])
try:
    {call}
except ImportError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def line():
    return heatball.solve(**OU, time=0.5, at=[0.3, 1.7])


@pytest.fixture(scope="module")
def plane():
    return heatball.solve("-x, -2*y", 1, "gaussian(mean=0 0, var=1)", [0.2, 0.4], heatball.mesh((-1, 1, 5), (-2, 2, 4)))


@pytest.fixture(scope="module")
def model():
    return heatball.train("ring", n=300, steps=20, width=8, depth=2)


@pytest.fixture(scope="module")
def judged(model):
    return heatball.evaluate(model, "ring", [0.1, 1.0], n=300, samples=100, solver="ode")


@pytest.fixture
def axes():
    import matplotlib.pyplot as pyplot
    yield pyplot.subplots()[1]
    pyplot.close("all")


def cells(text):
    """The table in a printed text, as a list of rows of words."""
    return [re.split(r"  +", row.strip()) for row in text.splitlines()[1:]]


# ---- tables ---------------------------------------------------------------------------------------

def test_every_number_stands_beside_its_error(line):
    heads, *rows = cells(repr(line))
    assert heads == ["x_1", "density", "log_density", "score_1"]
    for i, row in enumerate(rows):
        shown = [float(number) for cell in row for number in cell.split("±")]
        exact = [line.x[i, 0], line.density[i], line.density_error[i], line.log_density[i], line.log_density_error[i],
                 line.score[i, 0], line.score_error[i, 0]]
        assert np.allclose(shown, exact, rtol=0.06) and np.allclose(shown[1::2], exact[1::2], rtol=1e-4)


def test_html_has_the_same_cells_and_nothing_that_is_markup(line):
    page = line._repr_html_()
    inside = [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]
    assert [[re.sub(r" +", " ", cell) for cell in row] for row in inside] == \
        [[re.sub(r" +", " ", cell) for cell in row] for row in cells(repr(line))]
    nasty = heatball.Result({"<b>": "a & b <script>"}, "<i>title</i>")
    assert "<script>" not in nasty._repr_html_() and "&lt;script&gt;" in nasty._repr_html_()
    assert "<i>" not in nasty._repr_html_() and "<i>title</i>" in repr(nasty)


def test_unknown_errors_and_warnings_are_shown():
    s = heatball.solve(**OU, time=0.5, at=[0.3, 70.0], method="particles", samples=2000)
    assert "± inf" in repr(s) and f"point 1: {s.warnings[1]}" in repr(s) and "± inf" in s._repr_html_()
    assert s.to_pandas()["warning"].tolist() == ["", s.warnings[1]] and s.to_dict()["warnings"][0]["point"] == 1


def test_long_and_wide_tables_are_cut():
    wide = heatball.solve("-x[i]", 1, "gaussian(mean=0, var=1)", 0.1, np.zeros((9, 6)), dim=6)
    heads, *rows = cells(repr(wide))
    assert heads == ["x_1", "x_2", "x_3", "...", "density", "log_density", "score_1", "score_2", "score_3", "..."]
    assert len(rows) == 7 and rows[-1] == ["... and 3 more"]
    assert {"x_6", "score_6", "score_6_error", "entropy_density"} <= set(wide.to_pandas().columns) and len(wide.to_pandas()) == 9


def test_results_of_nothing():
    assert repr(heatball.Result()) == "Result" and heatball.Result().to_dict() == {} and len(heatball.Result().to_pandas()) == 0
    assert "<table>" not in heatball.Result()._repr_html_()


# ---- results are dicts -----------------------------------------------------------------------------

def test_a_result_is_the_dict_that_it_was():
    constants = heatball.ball.constants(2)
    assert isinstance(constants, dict) and constants == dict(constants) and {**constants}["C1"] == constants.C1
    assert json.loads(json.dumps(constants)) == dict(constants)
    assert "C1" in dir(constants) and constants.get("nothing") is None
    with pytest.raises(AttributeError, match="no 'mmd'; it has dim, lift, C1"):
        constants.mmd
    with pytest.raises(KeyError):
        constants["mmd"]
    assert len(cells(repr(constants))) == len(constants) + 1
    constants.C1 = 3
    assert constants["C1"] == 3


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda one: one.copy(), lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_keep_values_and_face(twin, judged):
    assert repr(twin(judged)) == repr(judged) and twin(judged) == judged and type(twin(judged)) is heatball.Result


def test_results_of_every_kind_have_their_table(judged, model):
    x = heatball.dataset("ring").sample(60)
    assert cells(repr(heatball.metrics.mmd(x[:30], x[30:])))[0] == ["name", "value"]
    assert cells(repr(heatball.metrics.kolmogorov(x[:30], x[30:])))[0] == ["column", "distance"]
    assert cells(repr(heatball.dataset("ring").modes(x)))[0] == ["mode", "counts"]
    assert cells(repr(judged))[0][:2] == ["tau", "mse"] and f"\n  mmd2 {judged.mmd2:.5g} ± {judged.mmd2_se:.2g}\n" in repr(judged)
    field = np.random.default_rng(1).normal(size=(8, 9, 2))
    assert "array of shape (8, 9, 2)" in repr(heatball.metrics.helmholtz(field, 0.1, 0.1))
    assert cells(repr(model))[0] == ["name", "value"] and "0.001 to 3" in repr(model)
    assert model.to_dict()["dim"] == 2 and model.to_dict()["scales"] == [1, 1]


def test_vectors_have_a_column_for_each_component():
    values, errors = np.arange(12.0).reshape(2, 3, 2), np.full((2, 3, 2), 0.5)
    r = heatball.Result({"radius": np.full((2, 3), 0.1), "scaled": values, "scaled_se": errors, "n": 7}, "t", ("point", "radius"))
    frame = r.to_pandas()
    assert list(frame.columns) == ["point", "radius", "scaled_1", "scaled_2", "scaled_1_se", "scaled_2_se"]
    assert frame["scaled_2"].tolist() == values[..., 1].ravel().tolist() and frame.attrs == {"n": 7}
    assert "11 ± 0.5" in repr(r) and repr(r).endswith("n 7")


# ---- conversions -----------------------------------------------------------------------------------

def test_to_dict_is_json(plane):
    found = json.loads(json.dumps(plane.to_dict()))
    assert np.array_equal(found["density"], plane.density) and np.array_equal(found["x"], plane.x)
    assert found["time"] == [0.2, 0.4] and found["method"] == "grid" and found["warnings"] == []


def test_to_pandas_has_a_row_for_each_time_and_point(plane):
    frame = plane.to_pandas()
    assert len(frame) == 40 and (frame["t"].to_numpy() == np.repeat([0.2, 0.4], 20)).all()
    row = frame.iloc[27]
    assert row["density"] == plane.density[1, 7] and row["score_2_error"] == plane.score_error[1, 7, 1]
    assert (row["x_1"], row["x_2"]) == tuple(plane.x[7])


def test_results_to_pandas(judged):
    frame = judged.to_pandas()
    assert frame["mse"].tolist() == [row["mse"] for row in judged["tau"]] and frame.attrs["mmd"] == judged.mmd
    r = heatball.residual(**OU, time=0.5, at=[0.3, 1.7], radii=[0.2, 0.3, 0.4])
    frame = r.to_pandas()
    assert frame["point"].tolist() == [0, 0, 0, 1, 1, 1] and frame["radius"].tolist() == [0.2, 0.3, 0.4] * 2
    assert frame["scaled"].tolist() == r.scaled.ravel().tolist()
    assert heatball.ball.constants(3).to_pandas().set_index("name")["value"]["C1"] == heatball.ball.constants(3).C1


@pytest.mark.parametrize("name, call, says", [
    ("matplotlib", "s.plot()", "plot needs matplotlib, which is not installed (pip install matplotlib"),
    ("pandas", "s.to_pandas()", "to_pandas needs pandas, which is not installed (pip install pandas"),
])
def test_what_is_missing_is_said(name, call, says):
    done = subprocess.run([sys.executable, "-c", WITHOUT.format(name=name, call=call)], capture_output=True, text=True,
                          env={"PYTHONPATH": ":".join(sys.path), "PATH": ""})
    assert done.stdout.startswith(says), done.stderr


def test_nothing_is_imported_before_it_is_needed():
    code = "import sys, heatball; print([name for name in ('matplotlib', 'pandas', 'torch') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)})
    assert done.stdout.strip() == "[]", done.stderr


# ---- pictures ----------------------------------------------------------------------------------------

def test_curves_have_the_values(line, axes):
    assert line.plot(ax=axes) is axes
    assert np.array_equal(axes.lines[0].get_xydata(), np.stack([line.x[:, 0], line.density], axis=1))
    assert axes.get_ylabel() == "density"


def test_curves_are_sorted_and_unknown_errors_marked(axes):
    s = heatball.solve(**OU, time=0.5, at=[70.0, 0.3, -0.4], method="particles", samples=2000)
    s.plot("log_density", ax=axes)
    assert axes.lines[0].get_xdata().tolist() == [-0.4, 0.3, 70.0]
    crosses = [found for found in axes.lines if found.get_label() == "error not known"]
    assert [found.get_xdata().tolist() for found in crosses] == [[70.0]]


@pytest.mark.parametrize("times, curves", [([0.1, 0.5, 0.2], 3), (np.linspace(0, 1, 12), 12)])
def test_several_times_on_the_line(times, curves, axes):
    s = heatball.solve(**OU, time=times, at=heatball.mesh((-1, 2, 41)))
    s.plot(ax=axes)
    assert len(axes.lines) == curves and np.array_equal(axes.lines[1].get_ydata(), s.density[1])
    assert s.plot(time=times[1]).lines[0].get_ydata().tolist() == s.density[1].tolist()


def test_pictures_in_the_plane(plane, axes):
    found = plane.plot("log_density")
    assert [one.get_title() for one in found] == ["t = 0.2", "t = 0.4"]
    drawn = found[1].collections[0].get_array().reshape(4, 5)
    assert np.array_equal(drawn, plane.log_density[1].reshape(5, 4).T)
    shuffled = copy.copy(plane)
    order = np.random.default_rng(2).permutation(20)
    shuffled.x, shuffled.density, shuffled.density_error = plane.x[order], plane.density[:, order], plane.density_error[:, order]
    again = shuffled.plot(time=0.4, ax=axes).collections[0].get_array().reshape(4, 5)
    assert np.array_equal(again, plane.density[1].reshape(5, 4).T)  # a mesh in any order
    with pytest.raises(heatball.ArgumentError, match="choose it by time="):
        plane.plot(ax=axes)
    shuffled.density = np.full((2, 20), np.nan)
    with pytest.raises(heatball.ArgumentError, match="density is finite at no point"):
        shuffled.plot()


def test_points_that_are_no_mesh(axes):
    x = np.random.default_rng(3).normal(size=(7, 2))
    field = heatball.solve("-x, -2*y", 1, "gaussian(mean=0 0, var=1)", 0.2, x).plot()
    assert np.array_equal(field.lines[0].get_xydata(), x)  # the field of the grid, with the points on it
    s = heatball.solve("-x, -2*y", 1, "gaussian(mean=0 0, var=1)", 0.2, x, method="walk", samples=4000)
    found = s.plot(ax=axes).collections[0]
    assert np.array_equal(found.get_offsets(), x) and np.array_equal(found.get_array(), s.density)
    s.plot("score")


def test_above_the_plane(axes):
    at = np.zeros((3, 4))
    s = heatball.solve("-x[i]", 1, "gaussian(mean=0, var=1)", [0.1, 0.2], at, dim=4)
    assert s.plot("score_4", ax=axes).get_xlabel() == "t"
    assert s.plot("density", time=0.2).get_xlabel() == "point"
    with pytest.raises(heatball.ArgumentError, match="draw one of score_1 .. score_4"):
        s.plot("score")
    with pytest.raises(heatball.ArgumentError, match="quantity is 'score_5'; it must be density, log_density"):
        s.plot("score_5")
    with pytest.raises(heatball.ArgumentError, match="time is nan"):
        s.plot(time=np.nan)


def test_pictures_of_models(model, axes):
    x = heatball.dataset("ring").sample(40)
    model.plot(x, ax=axes)
    assert np.array_equal(axes.lines[0].get_xydata(), x)
    score = heatball.train(x, "dsm", head="score", steps=5, width=8, depth=2)
    assert score.plot(x).get_title() == "learnt score at tau = 0.1"
    assert heatball.train(x[:, 0], "dsm", steps=5, width=8, depth=2).plot(x[:, 0]).lines
    assert heatball.train(np.c_[x, x], "dsm", steps=5, width=8, depth=2).plot(n=7).lines[0].get_xydata().shape == (7, 2)
    pixels = np.random.default_rng(4).uniform(size=(30, 5, 4))
    sheet = heatball.train(pixels, "dsm", steps=5, width=8, depth=2).plot(pixels.reshape(30, 20)[:3]).images[0].get_array()
    assert np.array_equal(sheet[:5, :4], pixels[0]) and np.array_equal(sheet[:5, 5:9], pixels[1])
    with pytest.raises(heatball.ArgumentError, match="x has 3 columns; the model has dimension 2"):
        model.plot(np.zeros((4, 3)))
    with pytest.raises(heatball.ArgumentError, match="not finite"):
        model.plot(np.full((4, 2), np.nan))
    with pytest.raises(heatball.ArgumentError, match="no rows"):
        model.plot(n=0)


def test_pictures_of_results(judged, tmp_path, axes):
    judged.plot("mse", "mse_low", ax=axes)
    assert axes.get_xlabel() == "tau" and axes.get_xscale() == "linear"
    heatball.train("ring", n=100, steps=9, width=8, depth=2, log=tmp_path / "losses.csv")
    losses = heatball.training_log(tmp_path / "losses.csv")
    assert np.array_equal(losses.plot("loss", "dsm").lines[0].get_xydata(), np.c_[losses.step, losses.loss])
    with pytest.raises(heatball.ArgumentError, match="single values only"):
        heatball.ball.constants(2).plot()
    with pytest.raises(heatball.ArgumentError, match="'nothing' cannot be drawn; it must be one of mse"):
        judged.plot("nothing")


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "step,loss\n1,x\n"])
def test_other_files_are_no_logs(text, tmp_path):
    (tmp_path / "other.csv").write_text(text)
    with pytest.raises(heatball.ArgumentError, match="is no log of a training"):
        heatball.training_log(tmp_path / "other.csv")

"""Solutions, models, certificates and densities in files, pickles and copies, and what damaged files say."""
import copy
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import heatball
from command_line import ROOT

SAME = """import sys, pickle, heatball
kind, path = sys.argv[1:]
found = heatball.load(path) if kind == "load" else pickle.load(open(path, "rb"))
sys.stdout.write(repr(found))
"""


def grid_solution(time=0.5):
    return heatball.solve("a*x - x^3", 0.8, "gaussian(mean=0.3, var=1)", time, [-1.0, 0.0, 0.5], params={"a": 1}, cells=64)


def walk_solution():
    return heatball.solve("sin(x[i])", 1.2, "gaussian(mean=0, var=0.3)", 0.2, np.full((2, 4), 0.1), dim=4, method="walk", samples=200)


@pytest.fixture(scope="module")
def solutions():
    return {"one time": grid_solution(), "several times": grid_solution([0.2, 0.5]), "walk": walk_solution(),
            "warned": heatball.solve("x1 - x1^3, -x2", 0.5, "gaussian(mean=0, var=0.1)", [0.5, 1.0], [[0.1, 0.5], [9.0, 9.0]],
                                     method="particles", samples=64)}


@pytest.fixture(scope="module")
def model():
    return heatball.train("ring", "hb", n=200, steps=10, width=8, depth=2)


@pytest.fixture(scope="module")
def certificate():
    moons = heatball.dataset("two_moon")
    return heatball.certify(lambda x, tau: 1.2 * moons.score(x, tau), moons, rows=200, flow_samples=0, tau=[0.3])


@pytest.fixture(scope="module")
def density():
    x = np.random.default_rng(3).lognormal(0, 1, (300, 5))
    return heatball.ScoreDensity(maps=["log", "identity", "quantile", ("logit", -1, 1e4), "arsinh"], steps=20, width=8, depth=2,
                                 likelihood="ode").fit(x)


def fresh(kind, path):
    """What another process prints of a file."""
    done = subprocess.run([sys.executable, "-c", SAME, kind, str(path)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stderr
    return done.stdout


def saved(thing, path):
    thing.save(path)
    return heatball.load(path)


def same_config(a, b):
    return set(a) == set(b) and all(np.array_equal(a[name], b[name]) for name in a)


def arguments(s, **others):
    """The arguments of `solve`, with others instead."""
    return {**{name: value for name, value in s.config.items() if name != "heatball"}, **others}


def same_solution(a, b):
    assert repr(a) == repr(b) and json.dumps(a.to_dict()) == json.dumps(b.to_dict())  # NaN equal to NaN
    assert a.methods == b.methods and a.warnings == b.warnings and same_config(a.config, b.config)
    assert type(a.time) is type(b.time) and a.samples.dtype == b.samples.dtype
    for name in (*vars(heatball.Solution)["__annotations__"],):
        one, other = getattr(a, name), getattr(b, name)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), name


# ---- solutions --------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["one time", "several times", "walk", "warned"])
def test_solutions(solutions, name, tmp_path):
    s = solutions[name]
    for twin in (saved(s, tmp_path / "s.npz"), pickle.loads(pickle.dumps(s)), copy.deepcopy(s), copy.copy(s)):
        same_solution(s, twin)
    same_solution(s, saved(saved(s, tmp_path / "a"), tmp_path / "b"))
    assert fresh("load", tmp_path / "s.npz") == repr(s)
    (tmp_path / "s.pickle").write_bytes(pickle.dumps(s))
    assert fresh("pickle", tmp_path / "s.pickle") == repr(s)
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "s.npz", "s.pickle"]  # no partial file stays


def test_a_solution_can_be_made_again_from_its_arguments(solutions, tmp_path):
    for name in ("one time", "several times", "walk"):
        found = saved(solutions[name], tmp_path / "s.npz")
        again = heatball.solve(**arguments(found))
        assert np.array_equal(again.score, found.score)
    callable_ = heatball.solve(lambda x: -x, 1, "gaussian(mean=0, var=1)", 1, [0.0])
    assert "lambda" in callable_.config["drift"] and callable_.config["heatball"] == heatball.__version__
    pickle.dumps(callable_)
    draws, a = np.random.default_rng(1).normal(size=(400, 3, 1)), np.exp(-0.5)
    paths = draws.copy()
    for k in (1, 2):
        paths[:, k] = a * paths[:, k - 1] + np.sqrt((1 - a**2) / 2) * draws[:, k]
    s = heatball.solve("-x", 1.0, "gaussian(mean=0, var=1)", 1, [0.1], paths=paths, method="particles")
    assert np.array_equal(saved(s, tmp_path / "p.npz").config["paths"], paths)


def test_pickled_by_hand_in_results(solutions):
    found = heatball.Result({"a": np.arange(3)}, "title", ("k",))
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)


# ---- calls at other points --------------------------------------------------------------------------

def test_a_grid_is_evaluated_without_solving(solutions):
    s = solutions["one time"]
    x = np.linspace(-1.5, 1.5, 7)
    true, found = heatball.solve(**arguments(s, at=x)), s(x)
    for name in ("density", "log_density", "score"):
        value, error = getattr(found, name), getattr(found, f"{name}_error")
        assert value.shape == error.shape == getattr(true, name).shape
        assert (np.abs(value - getattr(true, name)) <= 3 * error + 1e-12).all(), name
    assert np.allclose(found.density, np.exp(found.log_density)) and (found.log_density_error > 0).all()
    assert np.allclose(found.density_error, found.density * found.log_density_error, rtol=1e-12)
    assert np.array_equal(s(s.x).score, s.score) and np.array_equal(s(s.x).log_density, s.log_density)
    assert s(0.5).score.tolist() == s([0.5]).score.tolist() and s([]).score.shape == (0, 1)
    with pytest.raises(TypeError, match="time is 'now'"):
        s([0.5], time="now")
    assert found.time == s.time and found.x.shape == (7, 1) and len(found.to_dict()["density"]) == 7
    assert "at 7 points in dimension 1" in repr(found)


def test_calls_of_several_times(solutions):
    s = solutions["several times"]
    found = s([0.1, 0.2])
    assert found.density.shape == (2, 2) and found.score.shape == (2, 2, 1) and np.array_equal(found.time, s.t)
    one = s([0.1, 0.2], time=0.5)
    assert one.time == 0.5 and np.array_equal(one.score, found.score[1])
    with pytest.raises(ValueError, match="time is 0.3; the solution has 0.2, 0.5"):
        s([0.1], time=0.3)


def test_calls_with_other_coordinates_and_functions():
    s = heatball.solve(lambda x: -x, lambda x: 0.3 * np.sqrt(1 + x[:, :, None]**2), "gaussian(mean=0, var=1)", 0.5, [0.0, 1.0])
    assert np.array_equal(s(s.x).score, s.score)
    del_me = copy.deepcopy(s)
    assert np.array_equal(del_me(s.x).density, s(s.x).density)


@pytest.mark.parametrize("call, says", [
    (lambda s: s["walk"](s["walk"].x), "by the method walk has no grid to evaluate; solve again with at=x"),
    (lambda s: pickle.loads(pickle.dumps(s["walk"]))(s["walk"].x), "by the method walk has no grid"),
    (lambda s: heatball.solve("-x", 1, None, np.inf, [0.1])([0.1]), "by the method stationary has no grid to evaluate; solve again with at=x$"),
    (lambda s: s["one time"]([0.1], time=np.nan), "time is nan; the solution has 0.5"),
    (lambda s: s["one time"]([1e9]), "outside the grid's box"),
    (lambda s: s["one time"]([0.1, np.nan]), "point 2 of x is not finite"),
    (lambda s: s["one time"]([[0.1, 0.2]]), "points of 2 coordinates; the solution has dimension 1"),
])
def test_calls_that_cannot_be(solutions, call, says):
    with pytest.raises(ValueError, match=says):
        call(solutions)


@pytest.mark.parametrize("name", ["one time", "several times"])
def test_a_solution_that_was_read_is_a_function_too(solutions, name, tmp_path):
    s, x = solutions[name], np.linspace(-1.5, 1.5, 7)
    for twin in (saved(s, tmp_path / "s.npz"), saved(saved(s, tmp_path / "a"), tmp_path / "b"), pickle.loads(pickle.dumps(s))):
        assert twin._grid is None
        found, grid = twin(x), twin._grid
        for column in ("log_density", "log_density_error", "score", "score_error", "density"):
            assert np.array_equal(getattr(found, column), getattr(s(x), column)), column  # bit-identical
        assert grid is not None and twin([0.1]).density.shape == s([0.1]).density.shape and twin._grid is grid  # solved once
        same_solution(s, twin)


def test_pictures_of_a_solution_that_was_read(tmp_path):
    s = heatball.solve("y, -x - y", 1, "gaussian(mean=0, var=1)", 0.5, [[0.1, 0.2]], cells=32)
    twin = saved(s, tmp_path / "s.npz")
    assert np.array_equal(s.plot().collections[0].get_array(), twin.plot().collections[0].get_array())


def test_solutions_that_cannot_be_solved_again(tmp_path):
    s = heatball.solve(lambda x: -x, 1, "gaussian(mean=0, var=1)", 0.5, [0.1], cells=64)
    for twin in (saved(s, tmp_path / "f.npz"), pickle.loads(pickle.dumps(s)), saved(saved(s, tmp_path / "g"), tmp_path / "h")):
        with pytest.raises(ValueError, match="does not have the function drift; solve again with at=x"):
            twin([0.2])
    problem = tmp_path / "p.ini"
    problem.write_text("[problem]\ndrift = -x\nnoise = 1\ninitial = gaussian(mean=0, var=1)\ntime = 0.5\n")
    s = heatball.solve(problem=problem, at=[0.1], cells=64)
    assert np.array_equal(saved(s, tmp_path / "s.npz")([0.2]).score, s([0.2]).score)
    problem.write_text(problem.read_text().replace("-x", "-2*x"))
    with pytest.raises(ValueError, match="a problem file or the version has changed since"):
        heatball.load(tmp_path / "s.npz")([0.2])
    problem.unlink()
    with pytest.raises(ValueError, match="cannot be solved again: .*p.ini"):
        heatball.load(tmp_path / "s.npz")([0.2])


def test_time_zero_has_no_grid():
    s = grid_solution([0.0, 0.5])
    with pytest.raises(ValueError, match="there is no grid at time 0; give one of the other times"):
        s([0.1])
    assert s([0.1], time=0.5).density.shape == (1,)


def test_a_model_is_a_function(model):
    x = np.array([[0.3, -0.2], [1.0, 0.5]])
    assert np.array_equal(model(x, 0.2), model.score(x, 0.2)) and np.array_equal(model(x, [0.2, 0.3]), model.score(x, [0.2, 0.3]))


# ---- models, certificates, densities ----------------------------------------------------------------

def test_models(model, tmp_path):
    for twin in (saved(model, tmp_path / "m.safetensors"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(twin.score([[0.3, 0.1]], 0.2), model.score([[0.3, 0.1]], 0.2)) and twin.info == model.info
    assert fresh("load", tmp_path / "m.safetensors") == repr(model)


def test_certificates(certificate, tmp_path):
    twins = [saved(certificate, tmp_path / "c"), heatball.load(tmp_path / "c" / "certificate.json"),
             pickle.loads(pickle.dumps(certificate)), copy.deepcopy(certificate)]
    for k, twin in enumerate(twins):
        assert repr(twin) == repr(certificate) and twin.lines == certificate.lines and twin.passed is certificate.passed is False
        assert twin.to_dict() == certificate.to_dict() and twin.to_pandas().equals(certificate.to_pandas())
        twin.save(tmp_path / f"again {k}")
        assert sorted(os.listdir(tmp_path / f"again {k}")) == sorted(os.listdir(tmp_path / "c"))
    page = (tmp_path / "c" / "certificate.html").read_bytes()
    assert (tmp_path / "again 2" / "certificate.html").read_bytes() == page
    assert fresh("load", tmp_path / "c") == repr(certificate)


def test_densities(density, tmp_path):
    x = density.sample(20, random_state=1)
    for twin in (saved(density, tmp_path / "d.npz"), pickle.loads(pickle.dumps(density)), copy.deepcopy(density)):
        assert np.array_equal(twin.score_samples(x), density.score_samples(x)) and np.array_equal(twin.sample(3), density.sample(3))
        assert repr(twin.get_params()["steps"]) == "20" and twin.maps_ == density.maps_ and twin.n_features_in_ == 5
    assert fresh("load", tmp_path / "d.npz").startswith("ScoreDensity(maps=['log', 'identity', 'quantile', ['logit'")
    with pytest.raises(heatball.NotFittedError):
        heatball.ScoreDensity().save(tmp_path / "nothing")
    assert os.listdir(tmp_path) == ["d.npz"]


def test_classifiers(tmp_path):
    x = np.random.default_rng(3).normal(size=(60, 2))
    one = heatball.Classifier(x, (x[:, 0] > 0).astype(int), width=8, epochs=2, batch=32)
    for twin in (saved(one, tmp_path / "c.safetensors"), pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert type(twin) is heatball.Classifier and np.array_equal(twin.predict(x), one.predict(x))


def test_other_results_are_pickled_and_copied():
    ring, x = heatball.dataset("ring"), np.ones((3, 2))
    likelihood, balls = heatball.log_likelihood(lambda x, tau: -x, x), heatball.balls(x, 0.3)
    for twin in (copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))):
        assert np.array_equal(twin(ring).sample(3), ring.sample(3)) and np.array_equal(twin(balls).weights, balls.weights)
        assert repr(twin(likelihood)) == repr(likelihood)


# ---- damaged and foreign files ----------------------------------------------------------------------

def test_files_cut_short_or_changed(solutions, density, tmp_path):
    for thing in (solutions["several times"], density):
        path = tmp_path / "file.npz"
        thing.save(path)
        whole = path.read_bytes()
        for cut in np.linspace(1, len(whole) - 1, 25).astype(int):
            path.write_bytes(whole[:cut])
            with pytest.raises(ValueError, match="file.npz"):
                heatball.load(path)
        wrong = 0
        for at in np.linspace(0, len(whole) - 1, 40).astype(int):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1:])
            try:
                heatball.load(path)
            except ValueError:
                wrong += 1
        assert wrong >= 25  # the others are bytes that no reader looks at, such as dates


def archive(path, **arrays):
    with open(path, "wb") as file:
        np.savez(file, **arrays)


@pytest.mark.parametrize("write, says", [
    (lambda p: p.write_bytes(b""), "too short"),
    (lambda p: p.write_text("a,b\n1,2\n" * 9), "not a .safetensors file"),
    (lambda p: p.write_text("{}"), "is no certificate, or damaged: KeyError"),
    (lambda p: p.write_text('{"passed": 1}'), "is no certificate, or damaged"),
    (lambda p: p.write_text('{"passed": '), "is no certificate, or damaged: JSONDecodeError"),
    (lambda p: p.mkdir(), "it is no certificate"),
    (lambda p: archive(p, x=np.zeros(3)), "was not written by heatball: it has no entry 'heatball'"),
    (lambda p: archive(p, heatball=np.array('{"heatball": "Solution", "format": 9, "version": "7.0"}')),
     "was written by version 7.0, which is newer"),
    (lambda p: archive(p, heatball=np.array('{"heatball": "Solution", "format": 1}')), "is damaged: KeyError"),
    (lambda p: archive(p, heatball=np.array('{"heatball": "Thing", "format": 1, "version": "1"}')), "holds a Thing"),
    (lambda p: archive(p, heatball=np.array([None, {}], object)), "is damaged: ValueError: Object arrays"),  # never unpickled
    (lambda p: archive(p, heatball=np.array("[]")), "is damaged: TypeError"),
])
def test_foreign_files(tmp_path, write, says):
    path = tmp_path / "file"
    write(path)
    with pytest.raises(ValueError, match=says) as found:
        heatball.load(path)
    assert str(path) in str(found.value)


@pytest.mark.parametrize("name, content, says", [
    ("w.csv", b"a,b\n1,2\n3,4\n5,6\n", r"w.csv is a table; .* heatball.train as the data. load reads models"),
    ("W.TXT", b"1 2\n3 4\n5 6\n", "is a table"),
    ("s.csv", b'# problem: {"drift": "-x"}\nx_1,density\n0,1\n', "a table of the command solve; .*solve --from"),
    ("a.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'}", "an array of numpy; read it with numpy.load"),
    ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(20), "is a picture"),
    ("p.ini", b"[problem]\ndrift = -x\n", "a problem file; solve it with heatball.solve.problem=path"),
    ("n.pth", b"\x80\x02" + bytes(20), "a checkpoint of PyTorch"),
    ("n.pkl", b"\x80\x04" + bytes(20), "a pickle; read it with pickle.load"),
    ("other", b"nobody knows this content", "not a .safetensors file"),
])
def test_files_of_other_programs(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(heatball.ArgumentError, match=says):
        heatball.load(tmp_path / name)


def test_files_that_are_not_there(tmp_path, solutions):
    with pytest.raises(heatball.Error, match="cannot open .*nowhere") as found:
        heatball.load(tmp_path / "nowhere")
    assert not isinstance(found.value, ValueError)
    with pytest.raises(heatball.Error, match="cannot write .*No such file"):
        solutions["one time"].save(tmp_path / "nowhere" / "s.npz")
    for wrong in (3, None, ["a"]):
        with pytest.raises(TypeError, match="path is"):
            heatball.load(wrong)
        with pytest.raises(TypeError, match="path is"):
            solutions["one time"].save(wrong)

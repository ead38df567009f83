"""Maps of columns that `train` chooses (standardise="maps"): the choice, the density in x, files, other calls.

The choice is compared with python/heatball/_column_maps.py, which was written apart from it; densities with quadrature
by SciPy, scores with differences, bits per dimension of the certificate with those of the model.
"""

import json
import math
import re
import subprocess

import heatball
import numpy as np
import pytest
from command_line import COMMAND
from heatball import _column_maps
from scipy import integrate

SMALL = dict(steps=150, width=16, depth=2, seed=3, standardise="maps")


def columns(n=3000):
    r = np.random.default_rng(5)
    g = r.normal(size=(n, 8))
    return {"normal": g[:, 0], "lognormal": np.exp(2 + 0.7 * g[:, 1]), "t3": r.standard_t(3, n) * 4 + 1,
            "cauchy": r.standard_cauchy(n), "beta": r.beta(0.7, 0.9, n), "uniform": r.uniform(-2, 5, n),
            "pareto": r.pareto(3, n) + 1, "bimodal": g[:, 2] + 6 * (g[:, 3] > 0), "narrow": 1e6 + 1e-3 * g[:, 4],
            "gamma": r.gamma(2, 3, n)}


def formula(found, name):
    """The text that the library has for a map of the Python package."""
    kind = found.name
    if kind == "identity":
        return ""
    if kind == "log":
        return f"ln {name}"
    if kind == "arsinh":
        return ("arsinh", found.centre, found.scale)
    return ("artanh", (found.low + found.high) / 2, (found.high - found.low) / 2)


@pytest.mark.parametrize("name", columns())
def test_the_choice_is_that_of_the_package(name):
    x = columns()[name]
    model = heatball.train(x[:, None], "dsm", steps=2, width=8, depth=2, standardise="maps")
    wanted = formula(_column_maps.choose(x, 1), "x1")
    if isinstance(wanted, str):
        assert model.maps == wanted
    else:
        numbers = [float(v) for v in re.findall(r"(?<![a-z])\d+(?:\.\d+)?(?:e[-+]?\d+)?", model.maps.replace("x1", ""))]
        assert model.maps.startswith(wanted[0])
        assert any(math.isclose(v, wanted[2], rel_tol=1e-5) for v in numbers), (model.maps, wanted)
        assert abs(wanted[1]) < 1e-9 or any(math.isclose(v, abs(wanted[1]), rel_tol=1e-5) for v in numbers)


def test_auto_is_what_score_density_chooses(tmp_path):
    """train(standardise="auto"), the command's option and ScoreDensity(maps="auto") on one table."""
    names = [name for name in columns() if name not in ("cauchy", "narrow")]
    x = np.stack([columns()[name] for name in names], axis=1)
    density = heatball.ScoreDensity("dsm", maps="auto", steps=2, width=8, depth=2).fit(x)
    wanted = density.model_._standardised(density.map_columns(x)[0])
    ours = heatball.train(x, "dsm", steps=2, width=8, depth=2, standardise="auto")
    np.save(tmp_path / "rows.npy", x)
    done = subprocess.run([COMMAND, "train", "--data", tmp_path / "rows.npy", "--held-out", "0", "--standardise", "auto", "--loss", "dsm",
                           "--steps", "2", "--width", "8", "--depth", "2", "--json", "-o", tmp_path / "m.safetensors"],
                          capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    for model in (ours, heatball.load(tmp_path / "m.safetensors")):
        assert np.allclose(model._standardised(x), wanted, rtol=1e-6, atol=1e-6)
        assert model.maps == ours.maps and told["maps"] == ours.maps
    assert set(density.maps_) == {"identity", "log", "arsinh", "logit"}
    assert told["standardise"] == "auto"


def table():
    made = columns()
    return np.stack([made["lognormal"], made["t3"], made["beta"], made["normal"]], axis=1)


@pytest.fixture(scope="module")
def model():
    return heatball.train(table(), "hb", **SMALL)


def test_densities_are_those_of_x(model):
    assert model.maps.count(",") == 2 and model.maps.startswith("ln x1") and "artanh" in model.maps
    one = heatball.train(columns()["lognormal"][:, None], "hb", **SMALL)
    mass, _ = integrate.quad(lambda x: math.exp(one.log_density([[x]], 0.02)[0]), 0, 400, limit=400, points=[2, 8, 30])
    free = one.log_normaliser()  # of e^v at the smallest tau; at 0.02 the same to the accuracy of a short training
    assert abs(math.log(mass) - free[0]) < 0.1 and one.log_density([[-1.0]], 0.02)[0] == -np.inf


def test_scores_are_gradients_and_divergences_their_traces(model):
    x, h = table()[:40].copy(), 1e-4
    x[:, 2] = np.clip(x[:, 2], 0.05, 0.95)
    steps = h * np.array([x[:, 0].std(), 1, 0.1, 1])
    score, divergence = model.score(x, 0.1), model.divergence(x, 0.1)
    trace = np.zeros(len(x))
    for j in range(4):
        up, down = x.copy(), x.copy()
        up[:, j] += 20 * steps[j]
        down[:, j] -= 20 * steps[j]
        slope = (model.log_density(up, 0.1) - model.log_density(down, 0.1)) / (40 * steps[j])
        assert np.allclose(slope, score[:, j], rtol=5e-3, atol=2e-2 * np.abs(score[:, j]).mean())
        trace += (model.score(up, 0.1)[:, j] - model.score(down, 0.1)[:, j]) / (40 * steps[j])
    assert np.allclose(trace, divergence, rtol=2e-2, atol=2e-2 * np.abs(divergence).mean())


def test_samples_stay_in_the_domain_and_likelihoods_agree(model):
    drawn = model.generate(300, "ode", seed=1)
    assert (drawn[:, 0] > 0).all() and (drawn[:, 2] > 0).all() and (drawn[:, 2] < 1).all()
    x = table()[:20]
    ode = model.log_likelihood(x, error=0.05)
    one = model.log_likelihood(x, method="direct")
    assert np.median(np.abs(np.asarray(ode) - np.asarray(one))) < 0.5


def test_files_keep_the_maps(model, tmp_path):
    path = tmp_path / "m.safetensors"
    model.save(path)
    again = heatball.load(path)
    x = table()[:50]
    assert again.maps == model.maps and np.array_equal(again.score(x, 0.1), model.score(x, 0.1))
    data = bytearray(path.read_bytes())
    at = data.index(b'"columns.maps"')
    begin = int(re.search(rb'"data_offsets":\[(\d+)', bytes(data[at:]))[1]) + 8 + int.from_bytes(data[:8], "little")
    data[begin:begin + 8] = np.float64(17).tobytes()
    path.write_bytes(data)
    with pytest.raises(heatball.Error, match="damaged|the map of column 1 is"):
        heatball.load(path)


def test_other_calls_know_of_the_maps(model):
    x = table()
    certificate = heatball.certify(model, x[:600])
    told = next(re.search(r"([\d.]+) ± [\d.]+ bits per dimension", line.text) for line in certificate.lines
                if "bits per dimension" in line.text)
    mine = -np.asarray(model.log_likelihood(x[:300], method="direct")).mean() / (4 * math.log(2))
    assert abs(float(told[1]) - mine) < 0.2
    found = heatball.evaluate(model, x, [0.1, 0.3], samples=100, likelihood=0)
    assert max(row["curl"] for row in found["tau"]) < 1e-4  # an energy head: a gradient
    noisy = model.noised(x[:5], 0.3, np.zeros((5, 4)))
    assert (noisy[:, 0] > 0).all() and np.isfinite(noisy).all()


def test_columns_that_need_no_map_change_nothing():
    x = np.random.default_rng(2).normal(size=(500, 3)) * [1, 5, 0.1] + [0, 3, 9]
    one, two = (heatball.train(x, "hb", **{**SMALL, "standardise": how}) for how in ("maps", "axis"))
    assert one.maps == "" and np.array_equal(one.score(x[:9], 0.2), two.score(x[:9], 0.2))

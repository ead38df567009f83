"""A trained model, evaluated from its file with NumPy alone, against the C library."""

import ctypes
import math

import numpy as np
import pytest

from heatball import _native
from safetensors_reader import read_safetensors

library = _native.library


class Failure(Exception):
    """A call returned something else than HB_OK; the text is the context's message."""


@pytest.fixture
def context():
    pointer = ctypes.POINTER(_native.Context)()
    assert library.hb_context_create(None, ctypes.byref(pointer)) == 0
    yield pointer
    library.hb_context_destroy(pointer)


def call(context, name, *arguments):
    if getattr(library, name)(context, *arguments) != 0:
        raise Failure(library.hb_context_message(context).decode())


def doubles(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def train(context, data, **settings):
    chosen = _native.TrainSettings()
    library.hb_train_settings_default(ctypes.sizeof(chosen), ctypes.byref(chosen))
    for name, value in settings.items():
        setattr(chosen, name, value)
    model = ctypes.POINTER(_native.Model)()
    call(context, "hb_train", ctypes.byref(chosen), data.shape[1], 0, len(data), doubles(data),
         None,
         ctypes.byref(model))
    return model


class NumpyModel:
    """docs/reference/models.md in double precision; scores by central differences or as they come."""

    def __init__(self, path):
        self.about, self.arrays = read_safetensors(path)

    def clock(self, tau):
        spread = self.arrays["reference.variance"].mean()
        if self.about["process"] == "ou":
            a, b, k = math.exp(-tau), 1 - math.exp(-2 * tau), math.exp(-2 * tau)
        else:
            a, b, k = 1, 2 * tau, 1 / (1 + 2 * tau / spread)
        return a, b, k, math.sqrt(a * a * spread + b)

    def network(self, x, tau):
        low, high = math.log(float(self.about["tau_min"]) / 4), math.log(float(self.about["tau_max"]))
        q = min(1, max(0, (math.log(tau) - low) / (high - low)))
        count = int(self.about["time_features"])
        phi = [math.sqrt(3) * (2 * q - 1)] + [math.sqrt(2) * math.cos(j * math.pi * q)
                                              for j in range(1, count)]
        h = np.hstack([x, np.tile(phi, (len(x), 1))])
        depth = int(self.about["depth"])
        for layer in range(depth + 1):
            z = h @ self.arrays[f"layer{layer}.weight"].T + self.arrays[f"layer{layer}.bias"]
            if layer == depth:
                return z
            out = z / (1 + np.exp(-z))
            h = out + h if self.about["residual"] == "1" and layer > 0 else out

    def moved(self, x):
        return (x - self.arrays["shift"]) / self.arrays["scale"]

    def reference(self, z, tau):
        a, b, _, _ = self.clock(tau)
        p = (z - a * self.arrays["reference.mean"]) @ self.arrays["reference.axes"].T
        variance = a * a * self.arrays["reference.variance"] + b
        value = -0.5 * (np.log(2 * math.pi * variance).sum() + (p * p / variance).sum(1))
        return value, -(p / variance) @ self.arrays["reference.axes"]

    def correction(self, z, tau):
        a, _, k, sigma = self.clock(tau)
        return k * self.network((z - a * self.arrays["reference.mean"]) / sigma, tau)

    def log_density(self, x, tau):
        z = self.moved(x)
        return (self.reference(z, tau)[0] + self.correction(z, tau)[:, 0]
                - np.log(self.arrays["scale"]).sum())

    def score(self, x, tau):
        z, h = self.moved(x), 1e-5
        slopes = np.stack([(self.correction(z + h * e, tau) - self.correction(z - h * e, tau)) / (2 * h)
                           for e in np.eye(x.shape[1])], axis=1)  # (n, direction, output)
        if self.about["head"] == "energy":
            part = slopes[:, :, 0]
        elif self.about["head"] == "score":
            part = self.correction(z, tau) / math.sqrt(self.clock(tau)[1])
        else:
            part = np.stack([slopes[:, 0, 0] + slopes[:, 1, 1], slopes[:, 1, 0] - slopes[:, 0, 1]], 1)
        return (self.reference(z, tau)[1] + part) / self.arrays["scale"]


def sample(n):
    random = np.random.Generator(np.random.Philox(6))
    return np.where(random.random((n, 1)) < 0.3, random.normal(2.1, 0.4, (n, 2)),
                    random.normal(-0.7, 0.8, (n, 2)))


@pytest.mark.parametrize("head, loss, process, standardise, residual", [
    ("energy", "hb", 0, 0, 0), ("energy", "fp", 1, 1, 1), ("score", "hb", 0, 2, 0),
    ("score", "fp", 1, 0, 1), ("helmholtz", "hb", 0, 1, 0), ("helmholtz", "hb", 0, 2, 0),
    ("energy", "dsm", 1, 2, 0)])
def test_the_file_is_the_model(context, tmp_path, head, loss, process, standardise, residual):
    model = train(context, sample(500), head=_native.Head[f"HEAD_{head.upper()}"],
                  loss=_native.Loss[f"LOSS_{loss.upper()}"], process=process, standardise=standardise,
                  skip=residual, width=16, depth=2, steps=60, batch=64)
    path = tmp_path / "model.safetensors"
    call(context, "hb_model_save", model, str(path).encode())
    ours = NumpyModel(path)
    assert ours.about["loss"] == loss and ours.about["head"] == head
    assert ours.about["steps"] == "60" and ours.about["seed"] == "42"
    assert np.abs(ours.arrays["layer2.weight"]).max() > 1e-3, "nothing was learnt"
    x = np.ascontiguousarray(sample(40) * 1.3)
    for tau in 0.004, 0.21, 1.7:
        taus, score = np.full(len(x), tau), np.empty_like(x)
        call(context, "hb_model_score", model, len(x), doubles(x), doubles(taus), None,
             doubles(score))
        exact = ours.score(x, tau)
        assert np.abs(score - exact).max() < 2e-5 * (1 + np.abs(exact).max())
        if head == "energy":
            v = np.empty(len(x))
            call(context, "hb_model_log_density", model, len(x), doubles(x), doubles(taus), None,
                 doubles(v), None)
            assert np.abs(v - ours.log_density(x, tau)).max() < 1e-5 * (1 + np.abs(v).max())
    library.hb_model_destroy(model)


def test_messages_reach_python(context):
    data = sample(20)
    data[3, 1] = np.nan
    with pytest.raises(Failure, match="row 4, column 2 of the data is nan; it must be finite"):
        train(context, data)

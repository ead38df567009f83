"""Wrong calls: a TypeError or ValueError whose one sentence names the argument and what is allowed, and
never prints what a large array holds.
"""

from fractions import Fraction

import numpy as np
import pytest

import heatball

BIG = np.arange(3000.0).reshape(1000, 3)
SAYS_BIG = "an array of shape (1000, 3) and dtype float64"
GAUSSIAN = "gaussian(mean=0, var=1)"


def solve(drift="-x", noise=1, initial=GAUSSIAN, time=0.5, at=(0.0,), **others):
    return heatball.solve(drift, noise, initial, time, at, **others)


@pytest.fixture(scope="module")
def model():
    x = np.random.default_rng(3).normal(size=(50, 2))
    return heatball.train(x, "dsm", width=8, depth=2, epochs=1)


@pytest.mark.parametrize("arguments, error, says", [
    (dict(drift=None), TypeError, "drift and problem are both missing; give either drift"),
    (dict(drift=BIG), TypeError, f"drift is {SAYS_BIG}; it must be text or a number"),
    (dict(drift="-x\0"), ValueError, "drift has a zero byte; it must be text or a number"),
    (dict(noise=BIG), heatball.ArgumentError, "the noise has 1000 rows and dim is 1"),
    (dict(noise=[[1, 2], 3]), heatball.ArgumentError, "noise has rows and single entries"),
    (dict(noise={}), TypeError, "noise is"),
    (dict(initial=BIG), TypeError, f"initial is {SAYS_BIG}; it must be text or a number"),
    (dict(time=BIG), TypeError, f"time is {SAYS_BIG}; it must be a number"),
    (dict(at="0;1"), TypeError, "at is '0;1'; it must be an array of real numbers"),
    (dict(at=1.0), ValueError, "at has 0 axes; it must have 2"),
    (dict(at=[[1, 2], [3]]), TypeError, "at is a list of 2 rows of different lengths; it must be an"),
    (dict(at=[0.5, None]), TypeError, "at is a list of 2; it must be an array of real numbers"),
    (dict(at=np.array([1j])), TypeError, "at has dtype complex128; it must be an array of real"),
    (dict(at=BIG.astype(str)), TypeError, "at has dtype <U32; it must be an array of real numbers"),
    (dict(params=["a"]), TypeError, "params is a list of 1; it must be a dict of names and numbers"),
    (dict(params={"a": BIG}), TypeError, f"params['a'] is {SAYS_BIG}; it must be a number"),
    (dict(facts=None), TypeError, "facts is None; it must be a list of autonomous, linear, gradient"),
    (dict(method=BIG), ValueError, f"method is {SAYS_BIG}; it must be auto, grid"),
    (dict(samples=BIG), TypeError, f"samples is {SAYS_BIG}; it must be an integer"),
    (dict(method="walk", state=3), TypeError, "state is 3; it must be a path"),
    (dict(drift=lambda x: "a"), TypeError, "the value of drift is 'a'; it must be an array of real"),
    (dict(drift=lambda x: None), TypeError, "the value of drift is None; it must be an array of real"),
    (dict(seed="1" * 5000), TypeError, "seed is '11111111"),
])
def test_solve(arguments, error, says):
    check(lambda: solve(**arguments), error, says)


@pytest.mark.parametrize("call, error, says", [
    (lambda: heatball.train(None), TypeError, "data is None; it must be an array of real numbers"),
    (lambda: heatball.train(object()), TypeError, "data is of type object; it must be an array of"),
    (lambda: heatball.train(BIG, width=BIG), TypeError, f"width is {SAYS_BIG}; it must be an integer"),
    (lambda: heatball.train(BIG, watch=3), TypeError, "watch is 3; it must be a function"),
    (lambda: heatball.train(BIG, progress=3), TypeError, "progress is 3; it must be a function"),
    (lambda: heatball.train(BIG, process=BIG), ValueError, f"process is {SAYS_BIG}; it must be ou"),
    (lambda: heatball.train(BIG, drift="-x,-y,-z", params=[1]), TypeError, "params is a list of 1; it"),
    (lambda: heatball.train(np.zeros((4, 3, 3)), pixels=3), TypeError,
     "pixels is 3; it must be a pair of numbers"),
    (lambda: heatball.load(BIG), TypeError, f"path is {SAYS_BIG}; it must be a path"),
    (lambda: heatball.evaluate(None, BIG), TypeError, "model is None; it must be a function"),
    (lambda: heatball.images(3), TypeError, "name_or_path is 3; it must be a path"),
    (lambda: heatball.Mixture(None, None, None), TypeError, "weights is None; it must be an array"),
    (lambda: heatball.dataset("ring").score_error(None, 1.0), TypeError,
     "score is None; it must be a function"),
    (lambda: heatball.ball.kernel("heat", [1.0], None), TypeError, "s is None; it must be an array of real"),
    (lambda: heatball.ball.kernel("heat", BIG, np.ones(7)), ValueError, "s has shape (7,); it must go with"),
    (lambda: heatball.ball.sample("kappa", 2, 5, dtype="foo"), TypeError,
     "dtype is 'foo'; it must be float64 or float32"),
    (lambda: heatball.ball.nodes("kappa", 2, degree=2, rotate=3), TypeError,
     "rotate is 3; it must be a pair of numbers"),
])
def test_others(call, error, says):
    check(call, error, says)


def test_models(model):
    check(lambda: model.score(None, 1.0), TypeError, "x is None; it must be an array of real numbers")
    check(lambda: model.score(1.0, 1.0), ValueError, "x has 0 axes; it must have 2")
    check(lambda: model.generate(BIG), TypeError, f"n is {SAYS_BIG}; it must be an integer")
    check(lambda: model.noised([[0, 0]], 1.0, None), TypeError, "noise is None; it must be an array")


def check(call, error, says):
    with pytest.raises(error) as raised:
        call()
    text = str(raised.value)
    assert text.startswith(says), text
    assert "\n" not in text and len(text) < 200 and "array(" not in text


def test_what_is_a_number_is_still_taken():
    ones = [solve(at=values).density.tolist()
            for values in ([0.5], np.float32([0.5]), [Fraction(1, 2)], np.array([[0.5]]))]
    assert ones.count(ones[0]) == len(ones)
    assert solve(at=[True]).density == solve(at=np.uint8([1])).density

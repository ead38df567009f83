"""budget() against the formulas of the theory and SciPy's root finder."""

import math

import numpy as np
import pytest
from scipy import optimize, special

import heatball

DRIFT = {"drift_sup", "div_sup"}  # left out when they are callables
PLAIN = DRIFT | {"dim", "theta", "C_d", "C_sharp", "T0", "T0_paper", "T", "K", "Lambda",
                 "Lambda_paper", "inside", "inside_paper"}
TIMED = {"K_for_T", "K_for_T_paper"}
BOUNDS = {"u_lower", "u_upper", "v_bound", "w_bound", "radius", "radius_paper", "score_bound",
          "score_bound_paper"}
DATA = dict(u0_min=0.31, u0_max=1.72, u0_grad=2.385)


def window(K, c, theta):
    return (math.sqrt(c**2 + theta / K) - c)**2


def Lambda(K, c, T):
    return K * math.sqrt(T) * (math.sqrt(T) + 2 * c)


@pytest.mark.parametrize("dim", [1, 2, 7, 1000])
@pytest.mark.parametrize("A, C, theta", [(1.0, 0.5, 0.9), (0.0, 2.385, 0.31), (13.0, 0.0, 0.999)])
def test_constant_bounds(dim, A, C, theta):
    b = heatball.budget(dim, A, C, theta=theta)
    assert set(b) == PLAIN
    sharp, paper = 1 / math.sqrt(math.pi), special.poch(dim / 2, 0.5)
    assert b["C_sharp"] == pytest.approx(sharp, rel=1e-14)
    assert b["C_d"] == pytest.approx(paper, rel=1e-12)
    assert b["T0"] == b["T"] == pytest.approx(window(A + C, sharp, theta), rel=1e-10)
    assert b["T0_paper"] == pytest.approx(window(A + C, paper, theta), rel=1e-10)
    assert b["K"] == A + C
    assert b["Lambda"] == pytest.approx(theta, rel=1e-10)
    assert b["Lambda_paper"] == pytest.approx(Lambda(A + C, paper, b["T"]), rel=1e-10)
    assert isinstance(b["inside"], bool) and isinstance(b["inside_paper"], bool)
    assert b["inside"] and (dim == 1 or not b["inside_paper"])  # at d = 1 the two are one


def test_at_a_time():
    b = heatball.budget(3, 1.2, 0.4, tau=0.05)
    assert set(b) == PLAIN | TIMED
    for c, suffix in ((b["C_sharp"], ""), (b["C_d"], "_paper")):
        assert b["Lambda" + suffix] == pytest.approx(Lambda(1.6, c, 0.05), rel=1e-12)
        assert b["inside" + suffix] == (Lambda(1.6, c, 0.05) <= 0.9)
        assert Lambda(b["K_for_T" + suffix], c, 0.05) == pytest.approx(0.9, rel=1e-12)
    assert not heatball.budget(3, 1.2, 0.4, tau=0.5)["inside"]


def test_no_drift_is_safe_for_ever():
    b = heatball.budget(3, 0.0, 0.0)
    assert b["T0"] == b["T0_paper"] == math.inf


def test_bounds():
    b = heatball.budget(2, 1.2, 0.4, tau=0.02, **DATA)
    assert set(b) == PLAIN | TIMED | BOUNDS
    assert set(heatball.budget(2, 1.2, 0.4, **DATA)) == PLAIN | BOUNDS
    growth, V0 = math.exp(0.4 * 0.02), -math.log(0.31)
    assert b["u_lower"] == pytest.approx(0.31 / growth, rel=1e-14)
    assert b["u_upper"] == pytest.approx(1.72 * growth, rel=1e-14)
    assert b["v_bound"] == pytest.approx(V0 + 0.4 * 0.02, rel=1e-14)
    assert b["w_bound"] == pytest.approx(1.72 * growth * (V0 + 0.4 * 0.02), rel=1e-14)
    sharp = Lambda(1.6, b["C_sharp"], 0.02)
    assert b["radius"] == pytest.approx((DATA["u0_max"] + DATA["u0_grad"]) / (1 - sharp), rel=1e-12)
    assert b["score_bound"] == pytest.approx(b["radius"] / b["u_lower"], rel=1e-12)


def test_bounds_outside_the_window_are_nan():
    b = heatball.budget(2, 12.0, 4.0, tau=1.0, **DATA)
    assert not b["inside"] and math.isnan(b["score_bound"]) and math.isnan(b["radius"])


@pytest.mark.parametrize("drift, div", [
    (lambda T: 1 + T, 0.5), (1.0, lambda T: 0.5 * math.exp(T)), (lambda T: T**2, lambda T: 2 + T),
])
def test_bounds_that_depend_on_time(drift, div):
    def K(T):
        return sum(f(T) if callable(f) else f for f in (drift, div))

    b = heatball.budget(2, drift, div, theta=0.8)
    for c, T0 in ((b["C_sharp"], b["T0"]), (b["C_d"], b["T0_paper"])):
        root = optimize.brentq(lambda T: Lambda(K(T), c, T) - 0.8, 1e-9, 5, xtol=1e-14)
        assert T0 == pytest.approx(root, rel=1e-9)
    assert b["K"] == pytest.approx(K(b["T"]))


def test_a_constant_callable_is_a_constant():
    by_call = heatball.budget(5, lambda T: 1.2, lambda T: 0.4, tau=0.02, **DATA)
    plain = heatball.budget(5, 1.2, 0.4, tau=0.02, **DATA)
    assert set(by_call) == set(plain) - DRIFT
    assert by_call == pytest.approx({key: plain[key] for key in by_call}, rel=1e-9)


def test_numpy_scalars_are_numbers():
    assert heatball.budget(np.int64(2), np.float64(1), lambda T: np.float64(0.5))["T0"] == \
        pytest.approx(heatball.budget(2, 1.0, 0.5)["T0"], rel=1e-9)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, heatball.Error])
def test_what_a_callable_raises_propagates(error):
    raised = []

    def drift(T):
        cause = KeyError("cause")
        raised.append(error("from the callable"))
        raise raised[-1] from cause

    with pytest.raises(error, match="from the callable") as caught:
        heatball.budget(2, drift, 0.5)
    assert caught.value is raised[0] and isinstance(caught.value.__cause__, KeyError)
    assert caught.traceback[-1].name == "drift"


def test_what_a_callable_returns_is_checked():
    with pytest.raises(TypeError, match="drift_sup is 'x'; it must be a number"):
        heatball.budget(2, lambda T: "x", 0.5)

"""ReLU with a slope for negative values, and Mish: every spelling is found, and only what is one is taken for it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fuse.graphs import fuse, status, weights

CONSTANTS = "float zero = {0}, float slope = {0.1}, float half = {0.5}, float twentieth = {0.05}, float one = {1}"
SLOPES = {
    "Max": "m = Mul(x, slope) y = Max(x, m)",
    "Where below": "c = Less(x, zero) m = Mul(slope, x) y = Where(c, m, x)",
    "Where above": "c = Greater(x, zero) m = Mul(x, slope) y = Where(c, x, m)",
    "Where not below": "c = GreaterOrEqual(x, zero) m = Mul(x, slope) y = Where(c, x, m)",
    "Where not above": "c = LessOrEqual(x, zero) m = Mul(x, slope) y = Where(c, m, x)",
    "Relu less mirrored Relu": "p = Relu(x) n = Neg(x) q = Relu(n) m = Mul(slope, q) y = Sub(p, m)",
    "Relu and Min": "p = Relu(x) q = Min(x, zero) m = Mul(q, slope) y = Add(p, m)",
    "TensorFlow": "p = Relu(x) a = Abs(x) d = Sub(x, a) m = Mul(slope, d) h = Mul(m, half) y = Add(p, h)",
}


@pytest.mark.parametrize("spelling", SLOPES)
def test_leaky_relu(spelling: str) -> None:
    found, sites = fuse(f"(float[n, 8] x) => (float[n, 8] y) <{CONSTANTS}> {{ {SLOPES[spelling]} }}")
    assert (found, status(sites)) == (["LeakyRelu"], {"leaky-relu": "applied"})


@pytest.mark.parametrize("spelling", [name for name in SLOPES if name != "Max"])
def test_one_slope_for_each_feature(spelling: str) -> None:
    text = f"(float[n, 8, 4] x) => (float[n, 8, 4] y) <{CONSTANTS}> {{ {SLOPES[spelling]} }}"
    found, sites = fuse(text.replace("float slope = {0.1}, ", ""), slope=weights(8, 1))
    assert (found, status(sites)) == (["PRelu"], {"prelu": "applied"})


def test_slopes_with_the_sign_turned() -> None:
    body = "p = Relu(x) n = Neg(x) q = Relu(n) m = Mul(q, turned) y = Add(p, m)"
    found, sites = fuse(f"(float[n, 8] x) => (float[n, 8] y) {{ {body} }}", turned=weights(8))
    assert (found, status(sites)) == (["PRelu"], {"prelu": "applied"})


@pytest.mark.parametrize("slope", [-0.1, 0.0, 1.5])
def test_the_larger_one_is_not_the_leaky_one_outside_of_nought_to_one(slope: float) -> None:
    text = f"(float[n, 8] x) => (float[n, 8] y) {{ {SLOPES['Max']} }}"
    found, sites = fuse(text, slope=np.array(slope, "float32"))
    assert found == ["Mul", "Max"]
    assert "is the steeper one" in sites[0].reason


def test_slopes_that_make_the_result_larger_or_may() -> None:
    where = SLOPES["Where below"]
    numbers = CONSTANTS.replace("float slope = {0.1}, ", "")
    for dims, reason in (("1, 8", "make it larger"), ("n, 8", "make it larger"), ("8", "make it larger")):
        text = f"(float[{dims}] x) => (float[] y) <{numbers}> {{ {where} }}"
        found, sites = fuse(text, slope=weights(3, 8), dynamic=3)
        assert found == ["Less", "Mul", "Where"]
        assert reason in sites[0].reason


def test_conditions_on_something_else_are_left() -> None:
    for body in (
        "c = Less(x, one) m = Mul(x, slope) y = Where(c, m, x)",
        "c = Less(x, zero) m = Mul(x, slope) y = Where(c, x, m)",
        "w = Neg(x) c = Less(w, zero) m = Mul(x, slope) y = Where(c, m, x)",
    ):
        assert not fuse(f"(float[n, 8] x) => (float[n, 8] y) <{CONSTANTS}> {{ {body} }}")[1]


def test_a_slope_that_may_be_overridden() -> None:
    text = f"(float[n, 8] x, float slope) => (float[n, 8] y) {{ {SLOPES['Max']} }}"
    x = weights(2, 8)
    found, sites = fuse(text, {"x": x, "slope": np.array(3, "float32")}, slope=np.array(0.1, "float32"))
    assert found == ["Mul", "Max"]
    assert "may replace its value" in sites[0].reason


def test_mish_without_an_operator_of_its_own() -> None:
    text = f"(float[n, 8] x) => (float[n, 8] y) <{CONSTANTS}> {{ %s t = Tanh(s) y = Mul(x, t) }}"
    inputs = {"x": np.array([[-200, -3, -0.5, 0, 0.5, 3, 60, 200]], "float32")}
    found, sites = fuse(text % "e = Exp(x) f = Add(one, e) s = Log(f)", inputs)
    assert (found, status(sites)) == (["Softplus", "Tanh", "Mul"], {"mish": "applied"})
    assert fuse(text % "s = Softplus(x)", inputs, opset=18)[0] == ["Softplus", "Tanh", "Mul"]
    assert not fuse(text % "w = Neg(x) s = Softplus(w)", inputs)[1]


def test_tanh_gelu_as_a_sigmoid() -> None:
    numbers = "float three = {3}, float c = {0.044715}, float k = {1.5957691216}"
    body = "p = Pow(x, three) pc = Mul(p, c) a = Add(x, pc) ak = Mul(k, a) s = Sigmoid(ak) y = Mul(x, s)"
    found, sites = fuse(f"(float[n, 8] x) => (float[n, 8] y) <{numbers}> {{ {body} }}")
    assert (found, status(sites)) == (["FastGelu"], {"tanh-gelu": "applied"})
    assert not fuse(f"(float[n, 8] x) => (float[n, 8] y) <{numbers.replace('1.59', '1.49')}> {{ {body} }}")[1]

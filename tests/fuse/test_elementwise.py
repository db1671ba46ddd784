"""Activations written as what they are made of: every spelling is found, and only what is one is taken for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from advisor.fuse.rules import RULES
from tests.fuse.graphs import NOT_BY_THE_RUNTIME, fuse, model, operators, rewritten, status

TANH_ARGUMENT = "p = Pow(x, three)\npc = Mul(p, c)\na = Add(x, pc)\nac = Mul(a, k)\nt = Tanh(ac)\nt1 = Add(t, one)"
TANH_CONSTANTS = (
    "float three = {3}, float c = {0.044715}, float k = {0.7978845608}, float one = {1}, float half = {0.5}, "
    "float ck = {0.0356774081363}"
)
ERF_CONSTANTS = "float r2 = {1.4142135}, float i2 = {0.70710677}, float one = {1}, float half = {0.5}, float two = {2}"
SWISH_CONSTANTS = "float three = {3}, float zero = {0}, float six = {6}, float sixth = {0.16666667}"


def activation(
    body: str, constants: str, *, opset: int = 17, dims: str = "2, n, 16"
) -> tuple[list[str], dict[str, str]]:
    found, sites = fuse(f"(float[{dims}] x) => (float[{dims}] y) <{constants}> {{ {body} }}", opset=opset)
    return found, dict(status(sites))


ERF = {
    "torch": "d = Div(x, r2) e = Erf(d) f = Add(e, one) m = Mul(x, f) y = Mul(m, half)",
    "half first": "d = Div(x, r2) e = Erf(d) f = Add(e, one) h = Mul(x, half) y = Mul(h, f)",
    "half with erf": "d = Mul(i2, x) e = Erf(d) f = Add(one, e) h = Mul(half, f) y = Mul(h, x)",
    "divided by two": "d = Mul(x, i2) e = Erf(d) f = Add(e, one) m = Mul(f, x) y = Div(m, two)",
    "normal distribution": "d = Mul(x, i2) e = Erf(d) h = Mul(half, e) f = Add(h, half) y = Mul(x, f)",
    "x divided by two": "d = Mul(x, i2) e = Erf(d) f = Add(e, one) h = Div(x, two) y = Mul(h, f)",
}
TANH = {
    "torch": f"{TANH_ARGUMENT} h = Mul(x, half) y = Mul(h, t1)",
    "half last": f"{TANH_ARGUMENT} h = Mul(t1, x) y = Mul(half, h)",
    "chain of products": "s = Mul(x, x) p = Mul(s, x) pc = Mul(c, p) a = Add(pc, x) ac = Mul(k, a) t = Tanh(ac) "
    "t1 = Add(one, t) h = Mul(half, t1) y = Mul(x, h)",
    "constant first": "q = Mul(c, x) r = Mul(q, x) p = Mul(r, x) a = Add(x, p) ac = Mul(a, k) t = Tanh(ac) "
    "t1 = Add(t, one) h = Mul(x, half) y = Mul(h, t1)",
    "factored": "s = Mul(x, x) sc = Mul(s, c) i = Add(sc, one) xk = Mul(x, k) ac = Mul(xk, i) t = Tanh(ac) "
    "t1 = Add(t, one) h = Mul(x, half) y = Mul(h, t1)",
    "folded": "s = Mul(x, x) sc = Mul(s, ck) i = Add(sc, k) ac = Mul(x, i) t = Tanh(ac) "
    "t1 = Add(t, one) h = Mul(x, half) y = Mul(h, t1)",
}


@pytest.mark.parametrize(("opset", "domain"), [(11, "com.microsoft"), (17, "com.microsoft"), (20, "")])
@pytest.mark.parametrize("spelling", ERF)
def test_gelu_with_erf(spelling: str, opset: int, domain: str) -> None:
    assert activation(ERF[spelling], ERF_CONSTANTS, opset=opset) == (["Gelu"], {"gelu": "applied"})
    before = model(f"(float[4] x) => (float[4] y) <{ERF_CONSTANTS}> {{ {ERF[spelling]} }}", opset=opset)
    (node,) = [node for node in rewritten(before)[0].graph if node.op_type == "Gelu"]
    assert node.domain == domain
    assert domain or node.attributes["approximate"].value == "none"


@pytest.mark.parametrize(("opset", "name"), [(11, "FastGelu"), (17, "FastGelu"), (20, "Gelu")])
@pytest.mark.parametrize("spelling", TANH)
def test_gelu_with_tanh(spelling: str, opset: int, name: str) -> None:
    assert activation(TANH[spelling], TANH_CONSTANTS, opset=opset) == ([name], {"tanh-gelu": "applied"})
    if opset == 20:
        before = model(f"(float[4] x) => (float[4] y) <{TANH_CONSTANTS}> {{ {TANH[spelling]} }}", opset=opset)
        (node,) = [node for node in rewritten(before)[0].graph if node.op_type == "Gelu"]
        assert node.attributes["approximate"].value == "tanh"


RELU6 = {
    "Clip with inputs": "c = Clip(a, zero, six)",
    "Max then Min": "b = Max(a, zero) c = Min(six, b)",
    "Min then Max": "b = Min(a, six) c = Max(zero, b)",
    "Relu then Min": "b = Relu(a) c = Min(b, six)",
    "Min then Relu": "b = Min(a, six) c = Relu(b)",
}
SCALED = {
    "torch": "m = Mul(x, c) y = Div(m, six)",
    "relu6 divided": "m = Div(c, six) y = Mul(m, x)",
    "relu6 times a sixth": "m = Mul(c, sixth) y = Mul(x, m)",
    "x times a sixth": "m = Mul(sixth, x) y = Mul(m, c)",
    "product times a sixth": "m = Mul(c, x) y = Mul(m, sixth)",
}
HARD_SWISH = ["HardSigmoid", "Mul"]
"""HardSwish itself has no kernel on the CPU provider."""


@pytest.mark.parametrize("scaled", SCALED)
@pytest.mark.parametrize("relu6", RELU6)
def test_hard_swish(relu6: str, scaled: str) -> None:
    found, sites = activation(f"a = Add(x, three) {RELU6[relu6]} {SCALED[scaled]}", SWISH_CONSTANTS)
    assert (found, sites) == (HARD_SWISH, {"hard-swish": "applied"})


def test_hard_swish_of_older_models_clips_by_attributes() -> None:
    body = "a = Add(three, x) c = Clip<min = 0.0, max = 6.0>(a) m = Mul(x, c) y = Div(m, six)"
    found, sites = activation(body, SWISH_CONSTANTS, opset=10)
    assert (found, sites) == (HARD_SWISH, {"hard-swish": "applied"})


def test_hard_swish_that_is_as_good_as_it_gets_is_left_without_a_word() -> None:
    body = "h = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) y = Mul(x, h)"
    assert activation(body, "") == (HARD_SWISH, {})
    body = "a = Mul(x, sixth) b = Add(a, half) h = Clip(b, zero, one) y = Mul(x, h)"
    constants = f"{SWISH_CONSTANTS}, float half = {{0.5}}, float one = {{1}}"
    assert activation(body, constants) == (HARD_SWISH, {"hard-swish": "applied"})


@pytest.mark.parametrize("relu6", RELU6)
def test_hard_sigmoid(relu6: str) -> None:
    for last in ("y = Div(c, six)", "y = Mul(sixth, c)"):
        found, sites = activation(f"a = Add(x, three) {RELU6[relu6]} {last}", SWISH_CONSTANTS)
        assert (found, sites) == (["HardSigmoid"], {"hard-sigmoid": "applied"})
    constants = f"{SWISH_CONSTANTS}, float fifth = {{0.2}}, float half = {{0.5}}"
    line = f"m = Mul(fifth, x) a = Add(m, half) {RELU6[relu6].replace('c =', 'y =')}".replace("six)", "one)")
    found, sites = activation(line.replace("Min(six,", "Min(one,"), f"{constants}, float one = {{1}}")
    assert (found, sites) == (["HardSigmoid"], {"hard-sigmoid": "applied"})


@pytest.mark.parametrize("opset", [13, 17, 24])
def test_silu(opset: int) -> None:
    assert activation("s = Sigmoid(x) y = Mul(s, x)", "", opset=opset) == (["QuickGelu"], {"silu": "applied"})
    found, sites = activation("a = Mul(k, x) s = Sigmoid(a) y = Mul(x, s)", "float k = {1.702}", opset=opset)
    assert (found, sites) == (["QuickGelu"], {"silu": "applied"})


ERF_BODY = "d = Mul(x, i) e = Erf(d) f = Add(e, o) m = Mul(x, f) y = Mul(m, h)"
ERF_NUMBERS = "float i = {0.70710677}, float o = {1}, float h = {0.5}"
SWISH_BODY = "a = Add(x, t) c = Clip(a, z, s) m = Mul(x, c) y = Div(m, s)"
SWISH_NUMBERS = "float t = {3}, float z = {0}, float s = {6}"
PER_FEATURE = f"float[16] h = {{{', '.join(['0.5'] * 16)}}}"
LOOKALIKES = {
    "another slope": (ERF_BODY, ERF_NUMBERS.replace("0.70710677", "0.7")),
    "another half": (ERF_BODY, ERF_NUMBERS.replace("0.5", "0.6")),
    "of another value": (f"w = Neg(x) {ERF_BODY.replace('Mul(x, i)', 'Mul(w, i)')}", ERF_NUMBERS),
    "one constant per feature": (ERF_BODY, ERF_NUMBERS.replace("float h = {0.5}", PER_FEATURE)),
    "another cubic term": (TANH["torch"], TANH_CONSTANTS.replace("0.044715", "0.0447")),
    "another limit": (SWISH_BODY, SWISH_NUMBERS.replace("6", "5")),
    "another offset": (SWISH_BODY, SWISH_NUMBERS.replace("3", "2")),
    "six divided by it": (SWISH_BODY.replace("Div(m, s)", "Div(s, m)"), SWISH_NUMBERS),
    "default slope of HardSigmoid": ("h = HardSigmoid(x) y = Mul(x, h)", ""),
}


@pytest.mark.parametrize("difference", LOOKALIKES)
def test_what_looks_like_one_is_left(difference: str) -> None:
    body, constants = LOOKALIKES[difference]
    before = model(f"(float[2, 16] x) => (float[2, 16] y) <{constants}> {{ {body} }}")
    after, sites = rewritten(before)
    assert not sites
    assert operators(after) == operators(before)


def test_constants_of_shape_one_where_they_change_nothing_and_where_they_would() -> None:
    constants = ERF_CONSTANTS.replace("float ", "float[1] ")
    assert activation(ERF["torch"], constants) == (["Gelu"], {"gelu": "applied"})
    text = f"(float x) => (float[1] y) <{constants}> {{ {ERF['torch']} }}"
    found, sites = fuse(text, optimisation=NOT_BY_THE_RUNTIME)
    assert "Gelu" not in found
    assert (sites[0].status, "adds dimensions" in sites[0].reason) == ("illegal", True)


def test_a_rank_that_is_not_certain_is_not_guessed() -> None:
    constants = ERF_CONSTANTS.replace("float ", "float[1] ")
    text = f"(float[2, 3] a, int64[n] t) => (float[] y) <{constants}> {{ x = Reshape(a, t) {ERF['torch']} }}"
    after, sites = rewritten(model(text))
    assert "Gelu" not in operators(after)
    assert "is not certain" in sites[0].reason


def test_integers_are_left() -> None:
    found, sites = fuse(f"(int32[8] x) => (int32[8] y) <{SWISH_NUMBERS.replace('float', 'int32')}> {{ {SWISH_BODY} }}")
    assert found == ["Add", "Clip", "Mul", "Div"]
    assert [(site.status, site.reason) for site in sites] == [("illegal", "'x' is int32")]


def test_half_precision_runs_in_single_precision_between_casts_where_there_is_no_kernel() -> None:
    constants: dict[str, Any] = {name: np.array(value, "float16") for name, value in {"t": 3, "z": 0, "s": 6}.items()}
    assert fuse(f"(float16[4, 16] x) => (float16[4, 16] y) {{ {SWISH_BODY} }}", **constants)[0] == HARD_SWISH


def test_zero_elements() -> None:
    for body, constants in ((ERF["torch"], ERF_CONSTANTS), (TANH["torch"], TANH_CONSTANTS)):
        fuse(f"(float[n, 16] x) => (float[n, 16] y) <{constants}> {{ {body} }}", dynamic=0)


def test_between_dequantised_and_quantised_the_parts_run_quantised() -> None:
    text = """(float[4, 16] a) => (float[4, 16] b) <float scale = {0.05}, uint8 zero = {128}> {
        q = QuantizeLinear(a, scale, zero)
        x = DequantizeLinear(q, scale, zero)
        s = Sigmoid(x)
        y = Mul(x, s)
        r = QuantizeLinear(y, scale, zero)
        b = DequantizeLinear(r, scale, zero)
    }"""
    found, sites = fuse(text, optimisation=NOT_BY_THE_RUNTIME)  # which rounds differently
    assert "QuickGelu" not in found
    assert sites[0].reason == "it lies between DequantizeLinear and QuantizeLinear: its parts run quantised"


def test_one_rule_at_a_time_leaves_the_others_alone() -> None:
    body = f"{ERF['torch'].replace('y =', 'z =')} s = Sigmoid(z) y = Mul(z, s)"
    before = model(f"(float[2, 16] x) => (float[2, 16] y) <{ERF_CONSTANTS}> {{ {body} }}")
    for rule in RULES:
        applied = [site.rule for site in rewritten(before, [rule])[1]]
        assert applied == ([rule.id] if rule.id in ("gelu", "silu") else [])

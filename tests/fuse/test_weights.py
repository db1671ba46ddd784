"""What changes the channels of a convolution or matrix product alike becomes part of its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from advisor.fuse.rules import RULES
from tests.fuse.graphs import assert_same, fuse, model, operators, rewritten, status, weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

ONLY = [rule for rule in RULES if rule.id in {"batch-norm", "channel-scale", "channel-shift"}]


def positive(*shape: int) -> NDArray[Any]:
    return np.asarray(np.abs(weights(*shape, seed=5)) + 0.5, "float32")


def statistics(count: int) -> dict[str, Any]:
    return {"g": weights(count, seed=2), "h": weights(count, seed=3), "m": weights(count, seed=4), "v": positive(count)}


def bias_of(linear: str, count: int) -> dict[str, Any]:
    return {"b": weights(count, seed=6)} if "b)" in linear or "b," in linear else {}


NORM = "y = BatchNormalization(l, g, h, m, v)"
IMAGE = "(float[2, 4, 9, 9] x) => (float[a, c, d, e] y)"
TWO_OUTPUTS = "(float[2, 4, 9, 9] x) => (float[a, c, d, e] y, float[a, c, d, e] z)"

LINEAR: dict[str, tuple[str, str, tuple[int, ...], int]] = {
    "conv": (IMAGE, "l = Conv(x, w, b)", (6, 4, 3, 3), 6),
    "conv without bias": (IMAGE, "l = Conv(x, w)", (6, 4, 3, 3), 6),
    "strides, dilations, pads": (
        IMAGE,
        "l = Conv<strides = [2, 1], dilations = [1, 2], pads = [1, 0, 2, 1]>(x, w, b)",
        (6, 4, 3, 3),
        6,
    ),
    "auto_pad": (IMAGE, 'l = Conv<auto_pad = "SAME_UPPER">(x, w, b)', (6, 4, 3, 3), 6),
    "groups": (IMAGE, "l = Conv<group = 2>(x, w, b)", (6, 2, 3, 3), 6),
    "depthwise": (IMAGE, "l = Conv<group = 4>(x, w)", (4, 1, 3, 3), 4),
    "one dimension": ("(float[2, 4, n] x) => (float[a, c, d] y)", "l = Conv(x, w, b)", (6, 4, 2), 6),
    "transposed": (IMAGE, "l = ConvTranspose<strides = [2, 2]>(x, w, b)", (4, 6, 3, 3), 6),
    "transposed, groups": (IMAGE, "l = ConvTranspose<group = 2>(x, w)", (4, 3, 3, 3), 6),
    "gemm": ("(float[n, 4] x) => (float[n, 6] y)", "l = Gemm(x, w, b)", (4, 6), 6),
    "gemm with factors": (
        "(float[4, n] x) => (float[n, 6] y)",
        "l = Gemm<alpha = 0.5, beta = 3.0, transA = 1, transB = 1>(x, w, b)",
        (6, 4),
        6,
    ),
    "gemm without bias": ("(float[n, 4] x) => (float[n, 6] y)", "l = Gemm(x, w)", (4, 6), 6),
    "gemm with a factor of no bias": (
        "(float[n, 4] x) => (float[n, 6] y)",
        "l = Gemm<alpha = 0.5, beta = 2.0>(x, w)",
        (4, 6),
        6,
    ),
    "matmul": ("(float[n, 4] x) => (float[n, 6] y)", "l = MatMul(x, w)", (4, 6), 6),
    "matmul and bias": ("(float[n, 4] x) => (float[n, 6] y)", "o = MatMul(x, w) l = Add(b, o)", (4, 6), 6),
}


@pytest.mark.parametrize("kind", LINEAR)
def test_batch_normalisation(kind: str) -> None:
    signature, linear, shape, count = LINEAR[kind]
    text, bias = f"{signature} {{ {linear} {NORM} }}", bias_of(linear, count)
    before = model(text, w=weights(*shape), **bias, **statistics(count))
    after, sites = rewritten(before, ONLY)
    assert_same(before, after, dynamic=5)
    assert status(sites) == {"batch-norm": "applied"}
    assert "BatchNormalization" not in operators(after)
    assert len(operators(after)) == (2 if "MatMul" in linear else 1)


@pytest.mark.parametrize("kind", LINEAR)
@pytest.mark.parametrize("change", ["Mul(l, k)", "Mul(k, l)", "Div(l, k)", "Add(l, k)", "Sub(l, k)", "Sub(k, l)"])
@pytest.mark.parametrize("scalar", [False, True])
def test_a_constant_for_each_channel(kind: str, change: str, scalar: bool) -> None:
    signature, linear, shape, count = LINEAR[kind]
    bias = bias_of(linear, count)
    behind = len(shape) - 2 if "Conv" in linear else 0
    constant = positive(1) if scalar else positive(count).reshape(count, *(1 for _ in range(behind)))
    before = model(f"{signature} {{ {linear} y = {change} }}", w=weights(*shape), **bias, k=constant)
    after, sites = rewritten(before, ONLY)
    assert_same(before, after, dynamic=5)
    left = [name for name in operators(before) if name not in {"Mul", "Div", "Sub", "Add"}]
    added = ["Add"] if "MatMul" in linear and (bias or change[:3] in {"Add", "Sub"}) else []
    assert operators(after) == left + added
    if operators(after) != operators(before):
        assert {site.status for site in sites} == {"applied"}


def test_layers_scaled_after_their_bias() -> None:
    """LayerScale of ConvNeXt and the scaled queries of CLIP and Whisper: products of three dimensions."""
    text = "(float[2, n, 8] x) => (float[2, n, 16] y) { o = MatMul(x, w) l = Add(b, o) y = Mul(l, k) }"
    for factor in (weights(16), np.float32(0.25), weights(1, 1, 16)):
        found, sites = fuse(text, w=weights(8, 16), b=weights(16, seed=2), k=np.asarray(factor))
        assert found == ["MatMul", "Add"]
        assert status(sites)["channel-scale"] == "applied"


def test_several_after_one_another() -> None:
    text = f"{IMAGE} {{ c = Conv(x, w) n = BatchNormalization(c, g, h, m, v) s = Mul(n, k) t = Add(s, k) y = Relu(t) }}"
    found, _ = fuse(text, w=weights(6, 4, 3, 3), k=weights(6, 1, 1, seed=7), **statistics(6))
    assert found == ["FusedConv"]


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_types(dtype: str) -> None:
    name = {"float64": "double", "float16": "float16"}[dtype]
    text = f"({name}[n, 8] x) => ({name}[n, 16] y) {{ l = Gemm(x, w, b) y = Mul(l, k) }}"
    given = {"w": weights(8, 16, dtype=dtype), "b": weights(16, dtype=dtype), "k": weights(16, dtype=dtype)}
    before = model(text, **given)
    after, _ = rewritten(before, ONLY)
    assert_same(before, after)
    assert operators(after) == ["Gemm"]


def test_tied_weights_stay_for_their_other_user() -> None:
    text = f"{TWO_OUTPUTS} {{ l = Conv(x, w) y = Mul(l, k) z = Conv(x, w) }}"
    found, _ = fuse(text, w=weights(6, 4, 3, 3), k=weights(6, 1, 1))
    assert found == ["Conv", "Conv"]


def test_a_weight_of_two_scaled_products_is_scaled_for_each() -> None:
    text = """(float[n, 4] x) => (float[n, 6] y, float[n, 6] z) {
        a = MatMul(x, w) y = Mul(a, k) b = MatMul(x, w) z = Div(b, k)
    }"""
    assert fuse(text, w=weights(4, 6), k=positive(6))[0] == ["MatMul", "MatMul"]


BODY = "{ l = Conv(x, w) y = Mul(l, k) }"
NOT_FOLDED: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], str]] = {
    "a factor of the last axis": (f"{IMAGE} {BODY}", (7, 4, 3, 3), (7,), "not one number for each of 7 channels"),
    "a factor of each place": (f"{IMAGE} {BODY}", (6, 4, 3, 3), (6, 7, 7), "not one number for each"),
    "a factor of the batch": (f"{IMAGE} {BODY}", (6, 4, 3, 3), (2, 1, 1, 1), "not one number for each"),
    "one channel that grows": (f"{IMAGE} {BODY}", (1, 4, 3, 3), (6, 1, 1), "not one number for each of 1 channels"),
    "more dimensions": (
        f"(float[2, 4, 9, 9] x) => (float[f, a, c, d, e] y) {BODY}",
        (6, 4, 3, 3),
        (1, 1, 6, 1, 1),
        "add dimensions",
    ),
    "another user": (
        f"{TWO_OUTPUTS} {{ l = Conv(x, w) y = Mul(l, k) z = Relu(l) }}",
        (6, 4, 3, 3),
        (6, 1, 1),
        "also used by Relu",
    ),
    "an output": (
        f"(float[2, 4, 9, 9] x) => (float[a, c, d, e] y, float[a, c, d, e] l) {BODY}",
        (6, 4, 3, 3),
        (6, 1, 1),
        "is an output",
    ),
    "a weight that a caller may replace": (
        f"(float[2, 4, 9, 9] x, float[6, 4, 3, 3] w) => (float[a, c, d, e] y) {BODY}",
        (6, 4, 3, 3),
        (6, 1, 1),
        "a caller may replace",
    ),
    "a factor that a caller may replace": (
        f"(float[2, 4, 9, 9] x, float[6, 1, 1] k) => (float[a, c, d, e] y) {BODY}",
        (6, 4, 3, 3),
        (6, 1, 1),
        "a caller may replace",
    ),
    "a vector times a matrix": (
        "(float[4] x) => (float[1, 6] y) { l = MatMul(x, w) y = Mul(l, k) }",
        (4, 6),
        (1, 6),
        "add dimensions",
    ),
    "a stack of weights": (
        "(float[2, 3, 4] x) => (float[2, 3, 6] y) { l = MatMul(x, w) y = Mul(l, k) }",
        (2, 4, 6),
        (6,),
        "3 dimensions",
    ),
}


@pytest.mark.parametrize("difference", NOT_FOLDED)
def test_what_is_not_per_channel_is_left_with_the_reason(difference: str) -> None:
    text, shape, factor, reason = NOT_FOLDED[difference]
    before = model(text, w=weights(*shape), k=weights(*factor))
    after, sites = rewritten(before, ONLY)
    assert operators(after) == operators(before)
    assert [(site.rule, site.status) for site in sites] == [("channel-scale", "illegal")]
    assert reason in sites[0].reason


def test_division_by_zero_stays_a_division() -> None:
    before = model(
        f"{IMAGE} {{ l = Conv(x, w) y = Div(l, k) }}", w=weights(6, 4, 3, 3), k=np.zeros((6, 1, 1), "float32")
    )
    after, sites = rewritten(before, ONLY)
    assert operators(after) == ["Conv", "Div"]
    assert "divides by zero" in sites[0].reason


def test_a_float16_weight_that_would_overflow_stays() -> None:
    text = "(float16[n, 8] x) => (float16[n, 16] y) { l = MatMul(x, w) y = Mul(l, k) }"
    for factor in (60000, 1e-7):
        before = model(text, w=10 * weights(8, 16, dtype="float16"), k=np.float16(factor).reshape(1))
        after, sites = rewritten(before, ONLY)
        assert operators(after) == ["MatMul", "Mul"]
        assert "float16" in sites[0].reason


def test_batch_normalisation_of_another_axis_stays() -> None:
    text = f"(float[2, 6, 4] x) => (float[2, 6, 6] y) {{ l = MatMul(x, w) {NORM} }}"
    before = model(text, w=weights(4, 6), **statistics(6))
    after, sites = rewritten(before, ONLY)
    assert operators(after) == operators(before)
    assert "are not the columns" in sites[0].reason


def test_batch_normalisation_in_training_stays() -> None:
    text = f"{IMAGE} {{ l = Conv(x, w) y, p, q = BatchNormalization<training_mode = 1>(l, g, h, m, v) }}"
    before = model(text, w=weights(6, 4, 3, 3), **statistics(6))
    after, sites = rewritten(before, ONLY)
    assert operators(after) == operators(before)
    assert "in training" in sites[0].reason


def test_a_residual_is_no_bias() -> None:
    text = "(float[2, 4, 9, 9] x) => (float[2, 4, 9, 9] y) { l = Conv<pads = [1, 1, 1, 1]>(x, w) y = Add(l, x) }"
    before = model(text, w=weights(4, 4, 3, 3))
    assert rewritten(before, ONLY)[1] == ()


def test_inside_a_body_with_weights_from_outside() -> None:
    text = """(bool c, float[2, 4] x) => (float[2, 6] y) {
        y = If (c) <
            then_branch = yes () => (float[2, 6] p) { a = MatMul(x, w) p = Mul(a, k) },
            else_branch = no () => (float[2, 6] q) { b = MatMul(x, w) q = Add(b, b) }
        >
    }"""
    before = model(text, w=weights(4, 6), k=weights(6))
    after, sites = rewritten(before, ONLY)
    assert status(sites) == {"channel-scale": "applied"}
    x = weights(2, 4, seed=8)
    for choice in (True, False):
        assert_same(before, after, {"c": np.array(choice), "x": x})

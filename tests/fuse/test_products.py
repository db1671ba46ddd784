"""Transposes, factors, activations and padding that a matrix product or convolution does by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from advisor.fuse.rules import RULES
from advisor.fuse.rules.fused_matmul import FUSED_MATMUL
from advisor.fuse.rules.turned_factor import TURNED_FACTOR
from tests.fuse.graphs import assert_same, fuse, model, operators, rewritten, weights

if TYPE_CHECKING:
    from advisor.fuse.rule import Rule

ONLY = [
    rule for rule in RULES if rule.id in {"gemm-transpose", "fused-matmul", "pad", "conv-activation", "gemm-activation"}
]


def fused(text: str, *, dynamic: int = 3, **options: Any) -> list[str]:
    """The operators after the fusion, which computes the same."""
    before = model(text, **options)
    after, _ = rewritten(before, ONLY)
    assert_same(before, after, dynamic=dynamic)
    return operators(after)


def refused(text: str, **options: Any) -> str:
    """The reason why nothing was fused."""
    before = model(text, **options)
    after, sites = rewritten(before, ONLY)
    assert operators(after) == operators(before)
    return sites[0].reason


ACTIVATIONS = [
    "Relu(l)",
    "Sigmoid(l)",
    "Tanh(l)",
    "LeakyRelu<alpha = 0.3>(l)",
    "LeakyRelu(l)",
    "HardSigmoid<alpha = 0.3, beta = 0.4>(l)",
]
IMAGE = "(float[2, 4, 9, 9] x) => (float[a, c, d, e] y)"
KERNEL = weights(6, 2, 3, 3)


@pytest.mark.parametrize("activation", [*ACTIVATIONS, "Clip(l, low, high)"])
def test_a_convolution_and_its_activation(activation: str) -> None:
    conv = "l = Conv<group = 2, strides = [2, 1], pads = [1, 0, 2, 1]>"
    limits = "<float low = {-0.5}, float high = {1.5}>"
    for inputs in ("(x, w)", "(x, w, b)"):
        text = f"{IMAGE} {limits} {{ {conv}{inputs} y = {activation} }}"
        assert fused(text, w=KERNEL, b=weights(6)) == ["FusedConv"]


def test_limits_that_are_attributes() -> None:
    text = f"{IMAGE} {{ l = Conv<group = 2>(x, w) y = Clip<min = 0.0, max = 6.0>(l) }}"
    assert fused(text, w=KERNEL, opset=10, ir_version=5) == ["FusedConv"]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_matrix_product_and_its_activation(activation: str) -> None:
    for gemm in ("Gemm(x, w)", "Gemm(x, w, b)", "Gemm<alpha = 0.5, beta = 2.0>(x, w, b)"):
        text = f"(float[n, 4] x, float[6] b) => (float[n, 6] y) {{ l = {gemm} y = {activation} }}"
        assert fused(text, w=weights(4, 6)) == ["FusedGemm"]


def test_an_activation_of_what_something_else_needs_stays() -> None:
    text = "(float[2, 4, 9, 9] x) => (float[a, c, d, e] y, float[a, c, d, e] z)"
    body = "{ l = Conv<group = 2>(x, w) y = Relu(l) z = Sigmoid(l) }"
    assert "also used by" in refused(f"{text} {body}", w=KERNEL)


def test_types_without_a_kernel_stay() -> None:
    text = "(double[2, 4, 9, 9] x) => (double[a, c, d, e] y) { l = Conv<group = 2>(x, w) y = Relu(l) }"
    assert refused(text, w=KERNEL.astype("float64")) == "'x' is double"


def test_quantised_convolutions_stay() -> None:
    text = """(uint8[2, 4, 9, 9] q) => (uint8[a, c, d, e] y) <float s = {0.05}, uint8 z = {128}, int8 o = {0}> {
        x = DequantizeLinear(q, s, z)
        w = DequantizeLinear(k, s, o)
        l = Conv(x, w)
        r = Relu(l)
        y = QuantizeLinear(r, s, z)
    }"""
    assert "quantised" in refused(text, k=np.ones((6, 4, 3, 3), "int8"))


def test_a_limit_that_a_caller_may_replace_stays() -> None:
    signature = "(float[2, 4, 9, 9] x, float high) => (float[a, c, d, e] y)"
    text = f"{signature} <float low = {{0}}> {{ l = Conv(x, w) y = Clip(l, low, high) }}"
    assert "a caller may replace" in refused(text, w=weights(6, 4, 3, 3), high=np.float32(6))


@pytest.mark.parametrize(
    ("shapes", "gemm"),
    [
        ("float[4, n] a, float[4, 6] b", "t = Transpose(a) y = Gemm(t, b, c)"),
        ("float[n, 4] a, float[6, 4] b", "t = Transpose<perm = [1, 0]>(b) y = Gemm<alpha = 0.5>(a, t, c)"),
        ("float[4, n] a, float[6, 4] b", "t = Transpose(a) u = Transpose(b) y = Gemm(t, u)"),
        ("float[n, 4] a, float[4, 6] b", "t = Transpose(a) y = Gemm<transA = 1>(t, b, c)"),
    ],
)
def test_gemm_reads_a_matrix_either_way(shapes: str, gemm: str) -> None:
    assert fused(f"({shapes}) => (float[n, 6] y) {{ {gemm} }}", c=weights(6)) == ["Gemm"]


STACKS = "(float[2, 3, n, 8] a, float[2, 3, n, 8] b) => (float[2, 3, n, n] y)"
TURNED = "t = Transpose<perm = [0, 1, 3, 2]>"


@pytest.mark.parametrize(
    "body",
    [
        f"{TURNED}(b) y = MatMul(a, t)",
        f"{TURNED}(b) p = MatMul(a, t) y = Mul(p, k)",
        f"{TURNED}(b) p = MatMul(a, t) y = Div(p, k)",
        f"{TURNED}(b) p = Div(a, k) y = MatMul(p, t)",
        f"{TURNED}(b) p = Mul(k, a) q = Mul(t, k) y = MatMul(p, q)",
        f"q = Mul(b, k) {TURNED}(q) p = Div(a, k) r = MatMul(p, t) y = Mul(r, k)",
    ],
)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_attention_scores_are_one_product(body: str, shape: tuple[int, ...]) -> None:
    assert fused(f"{STACKS} {{ {body} }}", k=np.full(shape, 0.3, "float32")) == ["FusedMatMul"]


def test_the_first_factor_is_transposed_too() -> None:
    body = "{ t = Transpose<perm = [0, 2, 1]>(a) y = MatMul(t, b) }"
    text = f"(float[2, 8, n] a, float[2, 8, 6] b) => (float[2, n, 6] y) {body}"
    assert fused(text) == ["FusedMatMul"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "(float[2, n, 3, 8] a, float[2, n, 3, 8] b) => (float[2, 3, n, n] y) "
            "{ s = Transpose<perm = [0, 2, 1, 3]>(a) t = Transpose<perm = [0, 2, 3, 1]>(b) y = MatMul(s, t) }",
            "more than to swap the last two axes",
        ),
        ("(float[3] a, float[6, 3] b) => (float[6] y) { t = Transpose(b) y = MatMul(a, t) }", "is a vector"),
        (f"{STACKS} {{ {TURNED}(b) y = MatMul(a, t) }}".replace("y) {", "y, float[2, 3, 8, n] t) {"), "is an output"),
    ],
)
def test_other_products_stay(text: str, reason: str) -> None:
    assert reason in refused(text)


def test_heads_that_are_moved_are_no_refusal() -> None:
    """Every attention splits heads and joins them again: rows are moved, and no product is asked to do that."""
    text = "(float[2, 3, n, n] a, float[2, n, 3, 8] b) => (float[2, 3, n, 8] y)"
    _, sites = fuse(f"{text} {{ t = Transpose<perm = [0, 2, 1, 3]>(b) y = MatMul(a, t) }}")
    assert sites == ()


def test_a_factor_that_adds_dimensions_or_divides_by_zero_stays() -> None:
    text = "(float[3, 8] a, float[8, 3] b) => (float[1, 1, 3, 3] y) { p = MatMul(a, b) y = Div(p, k) }"
    assert "adds dimensions" in refused(text, k=np.ones((1, 1, 1, 1), "float32"))
    assert "divides by zero" in refused(text.replace("1, 1, 3, 3", "3, 3"), k=np.zeros((), "float32"))


@pytest.mark.parametrize(
    ("shapes", "body"),
    [
        ("float[2, 4, k] a, float[6, k] b", "t = Transpose(b) p = MatMul(a, t) y = Mul(p, half)"),
        ("float[2, k, 4] a, float[k, 6] b", "t = Transpose<perm = [0, 2, 1]>(a) p = MatMul(t, b) y = Mul(p, half)"),
        ("float[4, k] a, float[k, 6] b", "p = MatMul(a, b) y = Mul(p, half)"),
    ],
)
def test_a_sum_over_what_may_be_nothing_stays(shapes: str, body: str) -> None:
    """Of no terms the sum is 0, and FusedMatMul of ONNX Runtime leaves what lay in memory."""
    half = np.array(0.5, "float32")
    for size in ("k", "0"):
        text = f"({shapes.replace('k', size)}) => (float[] y) {{ {body} }}"
        assert "empty or not certain" in refused(text, half=half)
    known = f"({shapes.replace('k', '8', 1)}) => (float[] y) {{ {body} }}"  # of one factor, and so of both
    assert fused(known, dynamic=8, half=half) == ["FusedMatMul"]


def test_what_may_be_no_matrices_at_all_stays() -> None:
    """A batch of none, of which FusedMatMul makes an error, where it turns the first factor and the second is one."""
    body = "t = Transpose<perm = [0, 2, 1]>(a) y = MatMul(t, b)"
    text = f"(float[n, 8, 4] a, float[8, 6] b) => (float[n, 4, 6] y) {{ {body} }}"
    assert "of no matrices" in refused(text)
    assert fused(text.replace("n, ", "2, ")) == ["FusedMatMul"]
    stacks = f"(float[n, 8, 4] a, float[n, 8, 6] b) => (float[n, 4, 6] y) {{ {body} }}"
    for size in (0, 3):
        assert fused(stacks, dynamic=size) == ["FusedMatMul"]


def test_a_factor_that_float32_does_not_hold_stays() -> None:
    text = "(double[3, 8] a, double[8, 3] b) => (double[3, 3] y) { p = MatMul(a, b) y = Mul(p, k) }"
    assert "not a number of float32" in refused(text, k=np.float64(0.1))
    assert fused(text, k=np.float64(0.125)) == ["FusedMatMul"]
    tiny = "(float[3, 8] a, float[8, 3] b) => (float[3, 3] y) { c = Mul(a, k) d = Mul(b, k) y = MatMul(c, d) }"
    assert fused(tiny, k=np.float32(1e-30)) == ["Mul", "FusedMatMul"]  # both together are 1e-60


PADS = np.array([0, 0, 1, 2, 0, 0, 0, 3])
PADDED = "p = Pad(x, pads, zero)"


@pytest.mark.parametrize(
    "window",
    [
        "Conv(p, w)",
        "Conv<strides = [2, 2], dilations = [1, 2], pads = [1, 0, 2, 1], group = 2>(p, w)",
        'Conv<auto_pad = "VALID">(p, w, b)',
        "AveragePool<kernel_shape = [4, 4]>(p)",
        "AveragePool<kernel_shape = [5, 5], strides = [2, 2], pads = [1, 1, 1, 1], count_include_pad = 1>(p)",
    ],
)
@pytest.mark.parametrize("pad", ["Pad(x, pads, zero)", "Pad(x, pads)", 'Pad<mode = "constant">(x, pads)'])
def test_zeros_around_an_image(window: str, pad: str) -> None:
    text = f"{IMAGE} <float zero = {{0}}> {{ p = {pad} y = {window} }}"
    given: dict[str, Any] = {"w": weights(6, 2 if "group" in window else 4, 3, 3), "b": weights(6)}
    assert fused(text, pads=PADS, **given) == [window.split("(")[0].split("<")[0]]


def test_pads_that_are_attributes() -> None:
    text = f"{IMAGE} {{ p = Pad<pads = [0, 0, 1, 2, 0, 0, 0, 3]>(x) y = Conv(p, w) }}"
    assert fused(text, w=weights(6, 4, 3, 3), opset=10, ir_version=5) == ["Conv"]


@pytest.mark.parametrize(
    ("pad", "pads", "window", "reason"),
    [
        ("Pad(x, pads, zero)", [0, 1, 1, 0, 0, 0, 0, 0], "Conv(p, u)", "more than to add to the spatial axes"),
        ("Pad(x, pads, zero)", [0, 0, -1, 0, 0, 0, 0, 0], "Conv(p, w)", "more than to add to the spatial axes"),
        ("Pad(x, pads, zero)", PADS, 'Conv<auto_pad = "SAME_UPPER">(p, w)', "chooses its own padding"),
        (
            "Pad(x, pads, zero)",
            PADS,
            "AveragePool<kernel_shape = [4, 4], pads = [1, 1, 1, 1]>(p)",
            "does not count its own padding",
        ),
        ("Pad(x, pads, zero)", PADS, "AveragePool<kernel_shape = [4, 4], ceil_mode = 1>(p)", "rounds its size up"),
        ("Pad(x, pads, zero)", PADS, "AveragePool<kernel_shape = [3, 3]>(p)", "more than the window"),
    ],
)
def test_other_padding_stays(pad: str, pads: list[int], window: str, reason: str) -> None:
    text = f"{IMAGE} <float zero = {{0}}> {{ p = {pad} y = {window} }}"
    assert reason in refused(text, pads=np.array(pads), w=weights(6, 4, 3, 3), u=weights(6, 5, 3, 3))


@pytest.mark.parametrize(
    ("pad", "window"),
    [
        ("Pad(x, pads, one)", "Conv(p, w)"),
        ('Pad<mode = "reflect">(x, pads)', "Conv(p, w)"),
        ("Pad(x, pads)", "MaxPool<kernel_shape = [4, 4]>(p)"),
    ],
)
def test_what_are_no_zeros_is_not_even_looked_at(pad: str, window: str) -> None:
    before = model(f"{IMAGE} <float one = {{1}}> {{ p = {pad} y = {window} }}", pads=PADS, w=weights(6, 4, 3, 3))
    assert rewritten(before, ONLY)[1] == ()


def test_pads_known_at_run_time_only_stay() -> None:
    text = "(float[2, 4, 9, 9] x, int64[8] pads) => (float[a, c, d, e] y) { p = Pad(x, pads) y = Conv(p, w) }"
    assert "known at run time only" in refused(text, w=weights(6, 4, 3, 3))


HEADS = "(float[B, 2, S, 8] x, float[B, T, 2, 8] k) => (float[B, 2, S, T] y)"
RESULT = "(float[a, b, c, d] y)"


def turned(perm: str) -> str:
    return f"t = Transpose<perm = [{perm}]>(k) y = MatMul(x, t)"


def test_keys_that_are_moved_and_turned_at_once() -> None:
    before = model(f"{HEADS} {{ {turned('0, 2, 3, 1')} }}")
    after, _ = rewritten(before, [TURNED_FACTOR])
    assert operators(after) == ["Transpose", "FusedMatMul"]
    assert list(after.graph[0].attributes["perm"].as_ints()) == [0, 2, 1, 3]
    for size in (3, 1):
        assert_same(before, after, dynamic=size)


@pytest.mark.parametrize(
    ("rule", "key", "perm"),
    [(FUSED_MATMUL, "2, T, 8", "0, 1, 3, 2"), (TURNED_FACTOR, "T, 2, 8", "0, 2, 3, 1")],
)
def test_no_keys_for_more_heads_than_the_queries_have(rule: Rule, key: str, perm: str) -> None:
    """FusedMatMul of ONNX Runtime makes as many empty matrices as the first factor has, not as the result has."""

    def text(heads: str, keys: str) -> str:
        shape = key.replace("T", keys)
        return f"(float[B, {heads}, S, 8] x, float[B, {shape}] k) => {RESULT} {{ {turned(perm)} }}"

    for heads, keys in (("1", "T"), ("g", "T"), ("1", "0")):
        assert "may have no rows" in rewritten(model(text(heads, keys)), [rule])[1][0].reason
    for heads, keys in (("2", "T"), ("1", "3")):
        before = model(text(heads, keys))
        after, _ = rewritten(before, [rule])
        assert "FusedMatMul" in operators(after)
        for size in (3, 0):
            assert_same(before, after, dynamic=size, optimisation=(False,))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        # A swap alone is for fused-matmul, and whole rows move without it.
        (f"(float[n, 4, 8] x, float[n, 5, 8] k) => (float[a, b, c] y) {{ {turned('0, 2, 1')} }}", ""),
        (f"(float[B, 2, S, T] x, float[B, T, 2, 8] k) => {RESULT} {{ {turned('0, 2, 1, 3')} }}", ""),
        (f"(float[2, 3, 4, 5] x, float[4, 6, 3, 2] k) => {RESULT} {{ {turned('3, 2, 0, 1')} }}", "takes rows apart"),
        (f"(float[8] x, float[B, T, 2, 8] k) => (float[a, b, c] y) {{ {turned('0, 2, 3, 1')} }}", "a vector"),
        (f"(float[n, 2, 4, 0] x, float[n, 5, 2, 0] k) => {RESULT} {{ {turned('0, 2, 3, 1')} }}", "empty"),
    ],
)
def test_other_factors_are_left(text: str, reason: str) -> None:
    subject = model(text)
    after, sites = rewritten(subject, [TURNED_FACTOR])
    assert operators(after) == operators(subject)
    assert reason in "".join(site.reason for site in sites)
    assert bool(sites) is bool(reason)

"""MatMul and Add become Gemm where the bias cannot make the result larger."""

from __future__ import annotations

import numpy as np
import pytest

from advisor.fuse.rules.gemm_bias import GEMM_BIAS
from tests.fuse.graphs import fuse, model, operators, rewritten, weights

W = weights(8, 16)
BODY = "{ m = MatMul(x, w) y = Add(m, c) }"


@pytest.mark.parametrize("shape", [(), (1,), (16,), (1, 1), (1, 16)])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_bias_that_broadcasts_to_the_product(shape: tuple[int, ...], rows: int) -> None:
    for body in (BODY, BODY.replace("Add(m, c)", "Add(c, m)")):
        found, _ = fuse(f"(float[n, 8] x) => (float[n, 16] y) {body}", w=W, c=weights(*shape), dynamic=rows)
        assert found == ["Gemm"]


@pytest.mark.parametrize("shape", [(4, 1), (4, 16)])
def test_a_bias_per_row_where_the_rows_are_known(shape: tuple[int, ...]) -> None:
    assert fuse(f"(float[4, 8] x) => (float[4, 16] y) {BODY}", w=W, c=weights(*shape))[0] == ["Gemm"]


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_types(dtype: str) -> None:
    name = {"float64": "double", "float16": "float16"}[dtype]
    text = f"({name}[4, 8] x) => ({name}[4, 16] y) {BODY}"
    assert fuse(text, w=weights(8, 16, dtype=dtype), c=weights(16, dtype=dtype))[0] == ["Gemm"]


def test_a_factor_and_a_bias_that_are_inputs() -> None:
    found, _ = fuse(f"(float[n, 8] x, float[8, 16] w, float[16] c) => (float[n, 16] y) {BODY}")
    assert found == ["Gemm"]


NOT_ONE = {
    "more rows than the product": ("(float[1, 8] x) => (float[4, 16] y)", (8, 16), (4, 16), "does not make it larger"),
    "rows known at run time only": ("(float[n, 8] x) => (float[k, 16] y)", (8, 16), (4, 16), "does not make it larger"),
    "more columns": ("(float[2, 8] x) => (float[2, 16] y)", (8, 1), (16,), "does not make it larger"),
    "a bias of three dimensions": ("(float[2, 8] x) => (float[1, 2, 16] y)", (8, 16), (1, 1, 16), "3 dimensions"),
    "a stack of matrices": ("(float[3, 2, 8] x) => (float[3, 2, 16] y)", (8, 16), (16,), "of 3 and 2 dimensions"),
    "a vector": ("(float[8] x) => (float[16] y)", (8, 16), (16,), "of 1 and 2 dimensions"),
    "matrix times vector": ("(float[2, 8] x) => (float[2] y)", (8,), (1,), "of 2 and 1 dimensions"),
}


@pytest.mark.parametrize("difference", NOT_ONE)
def test_what_gemm_cannot_do_is_left_with_the_reason(difference: str) -> None:
    signature, factor, bias, reason = NOT_ONE[difference]
    dynamic = 1 if "run time" in difference else 3
    found, sites = fuse(f"{signature} {BODY}", w=weights(*factor), c=weights(*bias), dynamic=dynamic)
    assert found == ["MatMul", "Add"]
    assert sites[0].status == "illegal"
    assert reason in sites[0].reason


def test_integers_are_left() -> None:
    ones = np.ones((8, 16), "int32")
    found, sites = fuse(f"(int32[4, 8] x) => (int32[4, 16] y) {BODY}", w=ones, c=ones[0])
    assert found == ["MatMul", "Add"]
    assert sites[0].reason == "'x' is int32"


def test_a_sum_over_nothing_is_left() -> None:
    """ONNX Runtime's Gemm and MatMul need not agree on what an empty product is."""
    found, _ = fuse(f"(float[n, 0] x) => (float[n, 16] y) {BODY}", w=weights(0, 16), c=weights(16))
    assert found == ["MatMul", "Add"]


def test_a_product_with_another_user_is_kept() -> None:
    text = "(float[4, 8] x) => (float[4, 16] y, float[4, 16] z) { m = MatMul(x, w) y = Add(m, c) z = Relu(m) }"
    found, sites = fuse(text, w=W, c=weights(16))
    assert found == ["MatMul", "Add", "Relu"]
    assert sites[0].reason.startswith("the intermediate value 'm' is also used by Relu")


def test_shared_weights_stay_as_they_are() -> None:
    text = "(float[4, 8] x) => (float[4, 16] y, float[4, 16] z) { m = MatMul(x, w) y = Add(m, c) z = MatMul(x, w) }"
    assert fuse(text, w=W, c=weights(16))[0] == ["Gemm", "MatMul"]


def test_dequantised_factors_are_left_to_the_quantised_kernels() -> None:
    text = """(float[4, 8] x) => (float[4, 16] y) <float s = {0.05}, int8 z = {0}> {
        q = QuantizeLinear(x, s, z)
        d = DequantizeLinear(q, s, z)
        e = DequantizeLinear(wq, s, z)
        m = MatMul(d, e)
        y = Add(m, c)
    }"""
    before = model(text, wq=np.ones((8, 16), "int8"), c=weights(16))
    after, sites = rewritten(before, [GEMM_BIAS])
    assert operators(after) == operators(before)
    assert "runs quantised" in sites[0].reason

"""Products of one input become one product, and Split gives each its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from advisor.fuse.compose import compose
from advisor.fuse.shared_input import SHARED_INPUT
from tests.fuse.graphs import CPU, assert_same, model, operators, weights

if TYPE_CHECKING:
    import onnx_ir as ir

    from advisor.fuse.rewrite import Site

OUTPUTS = "(float[2, n, a] q, float[2, n, b] k, float[2, n, c] v)"
SIGNATURE = f"(float[2, n, 8] x) => {OUTPUTS}"
QKV = {"wq": weights(8, 16), "wk": weights(8, 16, seed=2), "wv": weights(8, 12, seed=3)}
BIASES = {"bq": weights(16, seed=4), "bk": weights(1, seed=5), "bv": weights(1, 12, seed=6)}


def merged(before: ir.Model) -> tuple[list[str], tuple[Site, ...]]:
    applied = compose(before, [SHARED_INPUT], provider=CPU)
    assert_same(before, applied.model)
    return operators(applied.model), applied.sites


@pytest.mark.parametrize("opset", [11, 17, 21])
def test_queries_keys_and_values(opset: int) -> None:
    text = f"{SIGNATURE} {{ q = MatMul(x, wq) k = MatMul(x, wk) v = MatMul(x, wv) }}"
    found, sites = merged(model(text, opset=opset, **QKV))
    assert found == ["MatMul", "Split"]
    assert [(site.rule, site.status, site.value) for site in sites] == [("shared-input", "applied", "q")]


def test_with_their_biases() -> None:
    body = "a = MatMul(x, wq) b = MatMul(x, wk) c = MatMul(x, wv) q = Add(a, bq) k = Add(b, bk) v = Add(c, bv)"
    assert merged(model(f"{SIGNATURE} {{ {body} }}", **QKV, **BIASES))[0] == ["MatMul", "Add", "Split"]


def test_without_what_only_some_have() -> None:
    body = "a = MatMul(x, wq) k = MatMul(x, wk) v = MatMul(x, wv) q = Add(a, bq)"
    assert merged(model(f"{SIGNATURE} {{ {body} }}", **QKV, bq=BIASES["bq"]))[0] == ["MatMul", "Split", "Add"]


@pytest.mark.parametrize("attributes", ["<alpha = 0.5, beta = 2.0>", "<transB = 1>"])
def test_gemm(attributes: str) -> None:
    first, second = weights(8, 6), weights(8, 4, seed=2)
    given = {"w": first.T.copy(), "u": second.T.copy()} if "transB" in attributes else {"w": first, "u": second}
    body = f"{{ p = Gemm{attributes}(x, w, b) q = Gemm{attributes}(x, u, c) }}"
    before = model(f"(float[n, 8] x) => (float[n, 6] p, float[n, 4] q) {body}", **given, b=weights(6), c=weights(1, 4))
    assert merged(before)[0] == ["Gemm", "Split"]


def test_quantised_products_keep_their_scales() -> None:
    parts = []
    for name in "qkv":
        parts.append(f"""i{name} = MatMulInteger(u, w{name}, uz, z{name}) c{name} = Cast<to = 1>(i{name})
            s{name} = Mul(us, t{name}) m{name} = Mul(c{name}, s{name}) {name} = Add(b{name}, m{name})""")
    generator = np.random.default_rng(0)
    given = {}
    for name, size in zip("qkv", (16, 16, 12), strict=True):
        given[f"w{name}"] = generator.integers(-60, 60, (8, size)).astype("int8")
        given[f"z{name}"] = np.array(3, "int8") if name == "k" else generator.integers(-5, 5, size).astype("int8")
        given[f"t{name}"] = np.array(0.02, "float32") if name == "k" else 0.02 * np.abs(weights(size))
        given[f"b{name}"] = weights(size)
    text = f"{SIGNATURE} {{ u, us, uz = DynamicQuantizeLinear(x) {' '.join(parts)} }}"
    found, _ = merged(model(text, **given))
    assert found == ["DynamicQuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul", "Add", "Split"]


def test_a_tied_weight_stays_for_its_other_user() -> None:
    body = "q = MatMul(x, wq) k = MatMul(x, wk) v = MatMul(y, wq)"
    text = f"(float[2, n, 8] x, float[2, n, 8] y) => {OUTPUTS} {{ {body} }}"
    found, _ = merged(model(text, wq=QKV["wq"], wk=QKV["wk"]))
    assert sorted(found) == ["MatMul", "MatMul", "Split"]


def test_a_branch_that_is_needed_in_between_ends_there() -> None:
    body = "a = MatMul(x, wq) b = MatMul(x, wk) q = Add(a, bq) k = Add(b, bk) v = Relu(a)"
    given = {"wq": QKV["wq"], "wk": QKV["wk"], "bq": BIASES["bq"], "bk": BIASES["bk"]}
    assert merged(model(f"{SIGNATURE} {{ {body} }}", **given))[0][:2] == ["MatMul", "Split"]


@pytest.mark.parametrize(
    "text",
    [
        f"(float[2, n, 8] x, float[8, 16] wq) => {OUTPUTS} {{ q = MatMul(x, wq) k = MatMul(x, wk) v = Relu(x) }}",
        f"(float[2, n, 8] x, float[2, n, 8] y) => {OUTPUTS} {{ q = MatMul(x, wq) k = MatMul(y, wk) v = Relu(x) }}",
        f"(bool[2, n, 8] y) => {OUTPUTS} {{ x = Cast<to = 6>(y) q = MatMul(x, wq) k = MatMul(x, wk) v = Neg(k) }}",
    ],
)
def test_other_products_stay(text: str) -> None:
    dtype = "int32" if "Cast" in text else "float32"
    before = model(text, wq=QKV["wq"].astype(dtype), wk=QKV["wk"].astype(dtype))
    applied = compose(before, [SHARED_INPUT], provider=CPU)
    assert operators(applied.model) == operators(before)
    assert applied.sites == ()


def test_a_vector_and_a_row_that_would_make_it_a_matrix() -> None:
    body = "{ a = MatMul(x, wq) k = MatMul(x, wk) q = Add(a, b) r = Add(k, b) }"
    text = f"(float[8] x) => (float[1, 16] q, float[1, 16] r) {body}"
    found, _ = merged(model(text, wq=QKV["wq"], wk=QKV["wk"], b=weights(1, 16)))
    assert found == ["MatMul", "Split", "Add", "Add"]


def test_what_is_not_accepted_stays() -> None:
    before = model(f"{SIGNATURE} {{ q = MatMul(x, wq) k = MatMul(x, wk) v = MatMul(x, wv) }}", **QKV)
    applied = compose(before, [SHARED_INPUT], provider=CPU, accept=lambda _: False)
    assert operators(applied.model) == operators(before)
    assert applied.sites == ()

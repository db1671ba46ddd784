"""Add before a normalisation becomes Sum: the same numbers, and ONNX Runtime leaves the two alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort  # type: ignore[import-untyped]
import pytest

from advisor.fuse.model import runnable
from tests.fuse.graphs import CPU, fuse, model, operators, rewritten, status, weights

if TYPE_CHECKING:
    from pathlib import Path

    import onnx_ir as ir

NORM = "y = LayerNormalization<axis = -1>(r, g, b)"
WEIGHTS: dict[str, Any] = {"g": weights(16), "b": weights(16, seed=2)}


def loaded(subject: ir.Model, folder: Path) -> list[str]:
    """The operators that ONNX Runtime makes of a model in a default session."""
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(folder / "loaded.onnx")
    options.log_severity_level = 4
    with runnable(subject) as source:
        ort.InferenceSession(source, options, providers=[CPU])
    return [node.op_type for node in onnx.load(folder / "loaded.onnx").graph.node]


def test_the_runtime_fuses_add_and_not_sum(tmp_path: Path) -> None:
    before = model(
        f"(float[2, n, 16] a, float[2, n, 16] c) => (float[2, n, 16] y) {{ r = Add(a, c) {NORM} }}", **WEIGHTS
    )
    after, sites = rewritten(before)
    assert operators(after) == ["Sum", "LayerNormalization"]
    assert status(sites) == {"residual-sum": "applied"}
    assert loaded(before, tmp_path) == ["SkipLayerNormalization"]
    assert loaded(after, tmp_path) == ["Sum", "LayerNormalization"]


def test_the_sum_may_have_other_users_and_be_an_output() -> None:
    text = (
        f"(float[2, n, 16] a, float[2, n, 16] c) => (float[2, n, 16] y, float[2, n, 16] r) {{ r = Add(a, c) {NORM} }}"
    )
    assert fuse(text, **WEIGHTS)[0] == ["Sum", "LayerNormalization"]


@pytest.mark.parametrize("shape", ["16", "1, n, 16", "2, n, 1"])
def test_it_broadcasts_like_add(shape: str) -> None:
    text = f"(float[2, n, 16] a, float[{shape}] c) => (float[2, n, 16] y) {{ r = Add(a, c) {NORM} }}"
    assert fuse(text, **WEIGHTS)[0] == ["Sum", "LayerNormalization"]


def test_before_sum_broadcasts_only_equal_shapes_are_summed() -> None:
    body = (
        "r = Add(a, c) q = Mul(r, r) v = ReduceMean<axes = [-1]>(q) e = Add(v, eps) s = Sqrt(e) n = Div(r, s) "
        "y = Mul(n, g)"
    )
    for shape, sums in (("2, n, 16", 1), ("1, n, 16", 0), ("2, other, 16", 0)):
        text = f"(float[2, n, 16] a, float[{shape}] c) => (float[2, n, 16] y) {{ {body} }}"
        found, sites = fuse(text, opset=7, ir_version=4, eps=np.float32(1e-5), g=WEIGHTS["g"])
        assert found.count("Sum") == sums
        assert any("does not broadcast" in site.reason for site in sites) == (not sums)


def test_an_addition_that_is_not_normalised_or_only_its_weight_is_left() -> None:
    found, sites = fuse("(float[2, 16] a, float[2, 16] c) => (float[2, 16] y) { y = Add(a, c) }")
    assert (found, sites) == (["Add"], ())
    text = "(float[2, 16] x, float[16] a) => (float[2, 16] y) { r = Add(a, a) y = LayerNormalization(x, r) }"
    assert fuse(text) == (["Add", "LayerNormalization"], ())


def test_before_a_normalisation_that_another_rule_made() -> None:
    body = "q = Mul(r, r) v = ReduceMean<axes = [-1]>(q) e = Add(v, eps) s = Sqrt(e) n = Div(r, s) y = Mul(n, g)"
    text = f"(float[2, 16] a, float[2, 16] c) => (float[2, 16] y) <float eps = {{0.00001}}> {{ r = Add(a, c) {body} }}"
    found, sites = fuse(text, g=WEIGHTS["g"])
    assert found == ["Sum", "SimplifiedLayerNormalization"]
    assert status(sites) == {"rms-norm": "applied", "residual-sum": "applied"}

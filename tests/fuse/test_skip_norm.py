"""A residual and its normalisation that were fused are taken apart again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fuse.graphs import fuse, model, operators, rewritten, status, weights

WEIGHTS: dict[str, Any] = {"g": weights(16), "b": weights(16, seed=2), "c": weights(16, seed=3)}
INPUTS = "(float[2, n, 16] x, float[2, n, 16] s)"


@pytest.mark.parametrize(
    ("operator", "arguments", "normalisation"),
    [
        ("SkipLayerNormalization", "x, s, g", "LayerNormalization"),
        ("SkipLayerNormalization", "x, s, g, b", "LayerNormalization"),
        ("SkipLayerNormalization", "x, s, g, b, c", "LayerNormalization"),
        ("SkipSimplifiedLayerNormalization", "x, s, g", "SimplifiedLayerNormalization"),
        ("SkipSimplifiedLayerNormalization", "x, s, g, c", "SimplifiedLayerNormalization"),
    ],
)
@pytest.mark.parametrize("epsilon", ["", "<epsilon = 0.001>"])
def test_sum_and_normalisation(operator: str, arguments: str, normalisation: str, epsilon: str) -> None:
    used = {name: array for name, array in WEIGHTS.items() if name in arguments}
    text = f"{INPUTS} => (float[2, n, 16] y) {{ y = com.microsoft.{operator}{epsilon}({arguments}) }}"
    found, sites = fuse(text, **used)
    assert found == ["Sum", normalisation]
    assert status(sites) == {"skip-norm": "applied"}


def test_the_sum_is_kept_where_it_is_used() -> None:
    text = f"""{INPUTS} => (float[2, n, 16] y, float[2, n, 16] r, float[2, n, 16] z) {{
        y, , , r = com.microsoft.SkipLayerNormalization(x, s, g, b)
        z = Neg(r)
    }}"""
    assert fuse(text, g=WEIGHTS["g"], b=WEIGHTS["b"])[0] == ["Sum", "LayerNormalization", "Neg"]


def test_a_residual_that_is_broadcast() -> None:
    body = "{ y = com.microsoft.SkipLayerNormalization(x, s, g) }"
    text = f"(float[2, 3, 16] x, float[3, 16] s) => (float[2, 3, 16] y) {body}"
    assert fuse(text, g=WEIGHTS["g"])[0] == ["Sum", "LayerNormalization"]


def test_a_mean_that_is_used_is_not_lost() -> None:
    body = "{ y, m = com.microsoft.SkipLayerNormalization(x, s, g) z = Neg(m) }"
    before = model(f"{INPUTS} => (float[2, n, 16] y, float[] z) {body}", g=WEIGHTS["g"])
    after, (site,) = rewritten(before)
    assert operators(after) == operators(before)
    assert (site.status, site.reason) == (
        "illegal",
        "SkipLayerNormalization 'y' also computes 'm', which would be lost",
    )

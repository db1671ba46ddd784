"""A residual and its normalisation that someone fused, taken apart again.

SkipLayerNormalization of ONNX Runtime's CPU provider (1.31, 1.32) is several times slower than the sum and the
normalisation that it stands for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import Op, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx_ir as ir

    from advisor.fuse.pattern import Match

__all__ = ["SKIP_NORM"]

EPSILON = 1e-12
"""What both operators take where the model says nothing (ONNX Runtime, ContribOperators.md)."""

x, skip, scale, shift, bias = (Var(name) for name in ("x", "skip", "scale", "shift", "bias"))
DOMAIN, LAYER, RMS = "com.microsoft", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"


def check(match: Match) -> str | None:
    """Sum and the normalisations take what the fused operator takes."""
    return legality.not_of_types(match, "x", legality.FLOATS)


def rewrite(match: Match) -> Iterator[tuple[New | None, ...]]:
    """Sum and LayerNormalization, or the RMS normalisation of ONNX Runtime."""
    node = match.nodes[0]
    terms: list[ir.Value] = [match[name] for name in ("x", "skip", "bias") if name in match.values]
    weights: list[ir.Value] = [match[name] for name in ("scale", "shift") if name in match.values]
    total = New("Sum", *terms)
    op_type = "LayerNormalization" if node.op_type == LAYER else "SimplifiedLayerNormalization"
    epsilon = node.attributes.get_float("epsilon", EPSILON)
    yield New(op_type, total, *weights, axis=-1, epsilon=epsilon, stash_type=1), None, None, total


SKIP_NORM = Rule(
    id="skip-norm",
    family="reduction",
    description="SkipLayerNormalization becomes a sum and a normalisation",
    patterns=(
        Op(LAYER, x, skip, scale, domain=DOMAIN),
        Op(LAYER, x, skip, scale, shift, domain=DOMAIN),
        Op(LAYER, x, skip, scale, shift, bias, domain=DOMAIN),
        Op(RMS, x, skip, scale, domain=DOMAIN),
        Op(RMS, x, skip, scale, bias, domain=DOMAIN),
    ),
    check=check,
    rewrite=rewrite,
)

"""The length of vectors, √Σx², as one reduction.

LpNormalization for x / max(√Σx², ε) is left alone: it returns other values where a vector is shorter than ε.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from advisor.fuse import legality
from advisor.fuse.pattern import OneOf, Op, Pattern, Var
from advisor.fuse.rule import New, Rule
from advisor.fuse.rules.normalisation import root, square

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx_ir as ir

    from advisor.fuse.pattern import Match

__all__ = ["EUCLIDEAN_NORM"]

AXES_AS_INPUT = 18
"""The opset from which on ReduceL2 takes its axes as an input."""

x = Var("x")


def summed(op_type: str, value: Pattern) -> Pattern:
    """VALUE reduced; the axes are an attribute or an input."""
    return OneOf(Op(op_type, value), Op(op_type, value, Var("axes")))


def check(match: Match) -> str | None:
    """Constant axes."""
    reason = legality.not_elementwise(match)
    axes = legality.constant_axes(match, _sum(match))
    return reason or (axes if isinstance(axes, str) else None if axes else "it reduces over no axes, or all")


def rewrite(match: Match) -> Iterator[New]:
    """ReduceL2."""
    axes, keepdims = legality.constant_axes(match, _sum(match)), int(match.attribute(_sum(match), "keepdims"))
    assert not isinstance(axes, str), "checked"
    if match.scope.opset >= AXES_AS_INPUT:
        yield New("ReduceL2", match["x"], np.array(axes, np.int64), keepdims=keepdims)
    else:
        yield New("ReduceL2", match["x"], axes=list(axes), keepdims=keepdims)


def _sum(match: Match) -> ir.Node:
    return next(node for node in match.nodes if node.op_type in ("ReduceSum", "ReduceSumSquare"))


EUCLIDEAN_NORM = Rule(
    id="euclidean-norm",
    family="reduction",
    description="√Σx² becomes ReduceL2",
    patterns=(root(OneOf(summed("ReduceSum", square(x)), summed("ReduceSumSquare", x))),),
    check=check,
    rewrite=rewrite,
)

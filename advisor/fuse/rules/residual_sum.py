"""A residual that is added and then normalised, kept as two operators.

ONNX Runtime fuses such an Add with the normalisation behind it into SkipLayerNormalization while it loads a model, and
on the CPU provider of 1.31 and 1.32 that operator is several times slower than the two. Sum of two inputs is the same
as Add, and is not fused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import Op, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["RESIDUAL_SUM"]

BROADCASTING_OPSET = 8
"""From it on, Sum broadcasts."""
NORMALISATIONS = frozenset({"LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"})


def normalised(match: Match) -> bool:
    """Whether the sum is what a normalisation normalises."""
    return any(user.op_type in NORMALISATIONS and index == 0 for user, index in match.output.uses())


def check(match: Match) -> str | None:
    """Add and Sum differ in the types that they take, and before opset 8 in that Sum does not broadcast."""
    reason = legality.not_of_types(match, "a", legality.FLOATS)
    if reason is None and match.scope.opset < BROADCASTING_OPSET:
        a, b = (match.scope.sizes(match[name]) for name in ("a", "b"))
        if a is None or a != b:
            return f"Sum of opset {match.scope.opset} does not broadcast, and the shapes are not certainly equal"
    return reason


def rewrite(match: Match) -> Iterator[New]:
    """Sum."""
    yield New("Sum", match["a"], match["b"])


RESIDUAL_SUM = Rule(
    id="residual-sum",
    family="reduction",
    description="Add before a normalisation becomes Sum, which ONNX Runtime does not fuse into a slower operator",
    patterns=(Op("Add", Var("a"), Var("b")),),
    where=normalised,
    check=check,
    rewrite=rewrite,
)

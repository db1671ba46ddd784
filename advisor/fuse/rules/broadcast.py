"""An operand expanded to the shape of the other one, which the operator would do by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import OneOf, Op, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["BROADCAST"]

x, small = Var("x"), Var("small")
expanded = Op("Expand", small, OneOf(Op("Shape", x), Var("shape")))  # which others may use, too


def shape_of_x(match: Match) -> bool:
    """Whether the target is the shape of the other operand, all of it."""
    expand = next(node for node in match.nodes if node.op_type == "Expand")
    target = expand.inputs[1]
    node = None if target is None else target.producer()
    if node is None or node.op_type != "Shape" or node.domain or node.inputs[0] is not match["x"]:
        return False
    return not match.attribute(node, "start") and match.attribute(node, "end") is None


def check(match: Match) -> str | None:
    """The shapes are the same by themselves: both grow x and the small operand to what fits the two."""
    return legality.not_of_types(match, "x", legality.FLOATS)


def rewrite(match: Match) -> Iterator[New]:
    """The operator on the operand as it is."""
    root = match.nodes[0]
    operands = [match["x"] if value is match["x"] else match["small"] for value in root.inputs]
    yield New(root.op_type, *operands)


BROADCAST = Rule(
    id="broadcast",
    family="elementwise",
    description="an operand that is expanded to the shape of the other one is left as it is",
    patterns=(
        *(Op(op_type, x, expanded) for op_type in ("Add", "Sub", "Mul", "Div")),
        *(Op(op_type, expanded, x) for op_type in ("Sub", "Div")),
    ),
    where=shape_of_x,
    check=check,
    rewrite=rewrite,
)

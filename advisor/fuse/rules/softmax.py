"""Softmax and its logarithm, written as the operators that they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import OneOf, Op, Pattern, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["LOG_SOFTMAX", "SOFTMAX"]

ANY_AXIS = 13
"""Before this opset Softmax flattens x to a matrix at its axis: the same for the last axis only."""
REDUCTIONS = frozenset({"ReduceMax", "ReduceSum", "ReduceLogSumExp"})

x = Var("x")


def reduced(op_type: str, value: Pattern) -> Pattern:
    """VALUE reduced; the axes are an attribute or an input."""
    return OneOf(Op(op_type, value), Op(op_type, value, Var(f"axes of {op_type}")))


# Without the largest value taken off first, eˣ overflows where Softmax does not: that is something else.
largest = reduced("ReduceMax", x)
shifted = Op("Sub", x, largest)
exponential = Op("Exp", shifted)
total = reduced("ReduceSum", exponential)


def check(match: Match) -> str | None:
    """The same single constant axis, kept by the reductions, and one that Softmax of this opset takes."""
    reason = legality.first(legality.not_of_types(match, "x", legality.FLOATS), legality.quantised(match, ["x"]))
    if reason is not None:
        return reason
    axis = _axis(match)
    return axis if isinstance(axis, str) else None


def rewrite(match: Match) -> Iterator[New]:
    """Softmax."""
    yield _over_axis("Softmax", match)


def rewrite_log(match: Match) -> Iterator[New]:
    """LogSoftmax."""
    yield _over_axis("LogSoftmax", match)


def _over_axis(op_type: str, match: Match) -> New:
    axis = _axis(match)
    assert isinstance(axis, int), "checked"
    return New(op_type, match["x"], axis=axis)


def _axis(match: Match) -> int | str:
    """The axis as the operator takes it; or why it is not certain, or not one that it takes."""
    rank = match.scope.rank(match["x"])
    found: set[int] = set()
    for node in match.nodes:
        if node.op_type == "Softmax":
            return int(match.attribute(node, "axis"))  # which means the same to LogSoftmax of this opset
        if node.op_type not in REDUCTIONS:
            continue
        axes = legality.kept_axes(match, node)
        if isinstance(axes, str):
            return axes
        if len(axes) != 1:
            return f"{legality.label(node)} reduces over {len(axes)} axes"
        found.add(axes[0] + (rank or 0) if axes[0] < 0 else axes[0])
        if rank is None and axes[0] >= 0:
            return f"the rank of '{match['x'].name}' is not certain, and {legality.label(node)} counts from the front"
    if len(found) != 1:
        return "its reductions are over different axes"
    (axis,) = found
    last = -1 if rank is None else rank - 1
    if match.scope.opset < ANY_AXIS and axis != last:
        return f"Softmax of opset {match.scope.opset} is over the last axes only, and this is over axis {axis}"
    if match.scope.opset < ANY_AXIS and axis < 0:
        return f"the rank of '{match['x'].name}' is not certain"
    return axis


SOFTMAX = Rule(
    id="softmax",
    family="reduction",
    description="exp(x - max(x)) / Σ exp(x - max(x)) becomes Softmax",
    patterns=(Op("Div", exponential, total), Op("Mul", exponential, Op("Reciprocal", total))),
    check=check,
    rewrite=rewrite,
)

LOG_SOFTMAX = Rule(
    id="log-softmax",
    family="reduction",
    description="log(softmax(x)), and x - log(Σ exp(x)) as it is written for large x, become LogSoftmax",
    patterns=(
        Op("Log", Op("Softmax", x)),
        Op("Sub", shifted, Op("Log", total)),
        Op("Sub", x, Op("Add", Op("Log", total), largest)),
        Op("Sub", x, reduced("ReduceLogSumExp", x)),
    ),
    check=check,
    rewrite=rewrite_log,
)

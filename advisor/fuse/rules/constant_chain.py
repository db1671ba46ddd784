"""Two constants in a row, (x · a) · b or (x + a) + b, computed once instead of at every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from advisor.fuse import legality
from advisor.fuse.pattern import Op, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from advisor.fuse.pattern import Match

__all__ = ["CONSTANT_CHAIN"]

TYPES = frozenset({ir.DataType.FLOAT, ir.DataType.DOUBLE})
"""Half precision overflows at values that models have, and would do so elsewhere in another order."""
LARGEST_FACTOR = 2.0**24
"""Of a product, and its inverse the smallest: what x · a does not overflow at, x · (a · b) does not either."""
PARTS = frozenset({"Clip", "Max", "Min", "Mul", "Relu"})
"""What an activation may multiply by a constant last, such as the sixth of hard-swish, which is left to its rule."""
ADDITIVE = frozenset({"Add", "Sub"})

x, a, b = Var("x"), Var("a"), Var("b")


def constants(match: Match) -> bool:
    """Whether the two are weights and x is not; arithmetic of shapes is none of it, nor are activations' constants."""
    producer = match["x"].producer()
    if match.scope.dtype(match["x"]) not in legality.FLOATS or (producer is not None and producer.op_type in PARTS):
        return False
    return [match.scope.default(match[name]) is not None for name in ("x", "a", "b")] == [False, True, True]


def check(match: Match) -> str | None:
    """One constant must do the same within a rounding, and not be larger than the two."""
    for name in ("a", "b"):
        if match.scope.constant(match[name]) is None:
            return f"the initialiser '{match[name].name}' is also a graph input: a caller may replace its value"
    reason = legality.first(
        legality.not_of_types(match, "x", TYPES),
        legality.quantised(match, ["x"]),
    )
    if reason is not None:
        return reason
    arrays = _arrays(match)
    is_sum = match.nodes[0].op_type in ADDITIVE
    if not is_sum and any(np.any((np.abs(a) > LARGEST_FACTOR) | (np.abs(a) < 1 / LARGEST_FACTOR)) for a in arrays):
        return "a factor is so large or small that the order of the products matters"
    folded = _folded(match)
    if folded.size > max(array.size for array in arrays):
        return f"together the constants have {folded.size:,} elements: more than each of them"
    if is_sum:
        largest = np.maximum(*(np.abs(array) for array in arrays))
        if not np.all(np.isfinite(folded)) or np.any(np.abs(folded) < largest / 2):
            return "the constants cancel: rounding between the two may be meant"
    return None


def rewrite(match: Match) -> Iterator[New]:
    """One operator with one constant."""
    dtype = match.scope.dtype(match["x"])
    assert dtype is not None, "checked"
    inner, outer = (node.op_type for node in match.nodes[::-1])
    op_type = "Add" if outer in ADDITIVE else "Div" if inner == outer == "Div" else "Mul"
    yield New(op_type, match["x"], _folded(match).astype(dtype.numpy()))


def _arrays(match: Match) -> list[NDArray[np.float64]]:
    found = [match.scope.constant(match[name]) for name in ("a", "b")]
    return [np.asarray(array, np.float64) for array in found if array is not None]


def _folded(match: Match) -> NDArray[np.float64]:
    """What x is multiplied with, divided by or increased by, all in all."""
    a, b = _arrays(match)
    inner, outer = (node.op_type for node in match.nodes[::-1])
    if outer in ADDITIVE:
        return np.asarray((a if inner == "Add" else -a) + (b if outer == "Add" else -b))
    if inner == outer:
        return np.asarray(a * b)
    return np.asarray(a / b if outer == "Div" else b / a)


def _pairs(*op_types: str) -> tuple[Op, ...]:
    return tuple(Op(outer, Op(inner, x, a), b) for outer in op_types for inner in op_types)


CONSTANT_CHAIN = Rule(
    id="constant-chain",
    family="elementwise",
    description="two constants that x is multiplied with or increased by, one after the other, become one",
    patterns=(*_pairs("Mul", "Div"), *_pairs("Add", "Sub")),
    where=constants,
    check=check,
    rewrite=rewrite,
)

"""Scaled dot-product attention (Vaswani et al. 2017), softmax(scale · Q Kᵀ + mask) V for every head."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from advisor.fuse import legality
from advisor.fuse.pattern import Number, OneOf, Op, Pattern, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from advisor.fuse.pattern import Match
    from advisor.fuse.sizes import Size, Sizes

__all__ = ["ATTENTION"]

MICROSOFT = "com.microsoft"
TYPES = frozenset({ir.DataType.FLOAT, ir.DataType.FLOAT16})
HEADS_FIRST = [0, 2, 1, 3]
"""From [batch, sequence, heads, features] to [batch, heads, sequence, features], and back."""
QUERY, KEY, VALUE = "query", "key", "value"
SPLIT = "split "
"""Before the name of an operand that is [batch, heads, sequence, features] already."""


def scaled(value: Pattern, name: str) -> Pattern:
    """VALUE, or VALUE times or divided by a constant."""
    return OneOf(Op("Mul", value, Number(f"{name} factor")), Op("Div", value, Number(f"{name} divisor")), value)


def heads(name: str) -> Pattern:
    """An operand, its features split into heads."""
    return Op("Transpose", Op("Reshape", Var(name), Var(f"{name} shape")), perm=HEADS_FIRST)


def attention(query: Pattern, key: Pattern, value: Pattern, masked: bool) -> Pattern:
    """Attention of all heads; KEY is transposed already."""
    scores = scaled(Op("MatMul", scaled(query, QUERY), scaled(key, KEY)), "score")
    share = Op("Softmax", Op("Add", scores, Var("mask")) if masked else scores)
    cast = OneOf(share, Op("Cast", share), Op("Cast", Op("Cast", share)))
    return Op("Transpose", Op("MatMul", cast, value), perm=HEADS_FIRST)


def spellings() -> Iterator[Pattern]:
    """With keys and values as they come from their projections, else with what has been done to their heads."""
    whole_key = OneOf(
        Op("Transpose", Op("Reshape", Var(KEY), Var("key shape")), perm=[0, 2, 3, 1]),
        Op("Transpose", heads(KEY), perm=[0, 1, 3, 2]),
    )
    split_key = Op("Transpose", Var(SPLIT + KEY), perm=[0, 1, 3, 2])
    sides: tuple[tuple[Pattern, Pattern], ...] = ((whole_key, heads(VALUE)), (split_key, Var(SPLIT + VALUE)))
    queries: tuple[Pattern, ...] = (heads(QUERY), Var(SPLIT + QUERY))
    for (key, value), query, masked in product(sides, queries, (True, False)):
        merged = attention(query, key, value, masked)
        yield Op("Reshape", merged, Var("shape"))
        yield merged


@dataclass(frozen=True)
class Shapes:
    """What the sizes of an attention are.

    Attributes:
        batch: Sequences.
        heads: Of queries, keys and values alike.
        queries: Length of the queries' sequence.
        keys: Length of the keys' and values' sequence.
        features: Of a query and a key in one head.
        values: Features of a value in one head.
    """

    batch: Size
    heads: int
    queries: Size
    keys: Size
    features: int
    values: int


def check(match: Match) -> str | None:
    """All sizes must be certain: none may be broadcast, and the heads must be parts of the operands' features."""
    names = [name for name in (QUERY, KEY, VALUE) if name in match.values]
    query = QUERY if QUERY in match.values else SPLIT + QUERY
    reason = legality.first(
        legality.not_of_types(match, query, TYPES),
        legality.quantised(match, names),
        legality.unknown_shape(match, query),
        legality.added_dimensions(match, query),
        *(_node(match, node, match.scope.dtype(match[query])) for node in match.nodes),
    )
    if reason is not None:
        return reason
    shapes = _shapes(match)
    if isinstance(shapes, str):
        return shapes
    wanted: dict[str, Sizes] = {
        QUERY: (shapes.batch, shapes.queries, shapes.heads * shapes.features),
        KEY: (shapes.batch, shapes.keys, shapes.heads * shapes.features),
        VALUE: (shapes.batch, shapes.keys, shapes.heads * shapes.values),
    }
    for name in names:
        if (found := match.scope.sizes(match[name])) != wanted[name]:
            return f"'{match[name].name}' is {_text(found)}, and its heads together are {_text(wanted[name])}"
    # MultiHeadAttention takes a scale of 0 for none given, which is 1 / √features.
    if not isfinite(scale := _scale(match)) or not np.float32(scale):
        return f"its scores are multiplied by {scale:g}, which MultiHeadAttention does not do"
    mask = _mask(match, shapes)
    if isinstance(mask, str):
        return mask
    joined = (shapes.batch, shapes.queries, shapes.heads * shapes.values)
    if match.nodes[0].op_type == "Reshape" and (found := match.scope.sizes(match.output)) != joined:
        return f"its result is {_text(found)}, and its heads together are {_text(joined)}"
    return None


def rewrite(match: Match) -> Iterator[New]:
    """MultiHeadAttention of ONNX Runtime; where only the heads are put side by side, they stay apart."""
    shapes = _shapes(match)
    assert not isinstance(shapes, str), "checked"
    mask = _mask(match, shapes)
    assert not isinstance(mask, str), "checked"
    query: ir.Value | New
    if QUERY in match.values:
        query = match[QUERY]
    else:
        together = np.array([0, 0, shapes.heads * shapes.features], np.int64)
        query = New("Reshape", New("Transpose", match[SPLIT + QUERY], perm=HEADS_FIRST), together)
    key, value = (match[name if name in match.values else SPLIT + name] for name in (KEY, VALUE))
    bias = () if mask is None else (None, None, mask)
    fused = New(
        "MultiHeadAttention",
        query,
        key,
        value,
        *bias,
        domain=MICROSOFT,
        num_heads=shapes.heads,
        scale=_scale(match),
    )
    apart = np.array([0, 0, shapes.heads, shapes.values], np.int64)
    yield fused if match.nodes[0].op_type == "Reshape" else New("Reshape", fused, apart)


def _node(match: Match, node: ir.Node, dtype: ir.DataType | None) -> str | None:
    """A node that is not as attention needs it."""
    if node.op_type == "Cast" and match.attribute(node, "to") != dtype:
        return f"{legality.label(node)} changes the type of the attention"
    if node.op_type == "Softmax" and match.attribute(node, "axis") not in (-1, 3):
        return f"{legality.label(node)} is over axis {match.attribute(node, 'axis')}, not over the keys"
    return None


def _shapes(match: Match) -> Shapes | str:
    """The sizes; or which of them is not certain, or does not fit."""
    context, scores = (node for node in match.nodes if node.op_type == "MatMul")
    operands = {"queries": scores.inputs[0], "transposed keys": scores.inputs[1], "values": context.inputs[1]}
    sizes: list[Sizes] = []
    for role, operand in operands.items():
        found = None if operand is None else match.scope.sizes(operand)
        if found is None or len(found) != 4:
            return f"the {role} are {_text(found)}: their heads are not certain"
        sizes.append(found)
    query, key, value = sizes
    batch, count, queries, features = query
    keys, width = value[2:]
    if not isinstance(count, int) or not isinstance(features, int) or not isinstance(width, int):
        return f"the queries are {_text(query)}, the values {_text(value)}: number and size of heads are not certain"
    if key != (batch, count, features, keys) or value[:2] != (batch, count):
        return (
            f"the queries are {_text(query)}, the transposed keys {_text(key)}, the values {_text(value)}: "
            "it is not certain that they fit without being broadcast"
        )
    return Shapes(batch, count, queries, keys, features, width)


def _mask(match: Match, shapes: Shapes) -> ir.Value | NDArray[Any] | str | None:
    """What is added to the scores, in all four dimensions; or why it is not certain that it fits."""
    if "mask" not in match.values:
        return None
    mask = match["mask"]
    dtype = match.scope.dtype(match[QUERY if QUERY in match.values else SPLIT + QUERY])
    if match.scope.dtype(mask) != dtype:
        return f"the element type of the mask '{mask.name}' is another one, or not certain"
    found = match.scope.sizes(mask)
    scores = (shapes.batch, shapes.heads, shapes.queries, shapes.keys)
    reason = f"the mask '{mask.name}' is {_text(found)} and the scores are {_text(scores)}"
    if found is None or len(found) > 4:
        return reason
    padded = (*(1 for _ in range(4 - len(found))), *found)
    if any(size not in (1, wanted) for size, wanted in zip(padded, scores, strict=True)):
        return f"{reason}: it is not certain that they fit"
    if len(found) == 4 and padded[2:] == scores[2:]:
        return mask
    array = match.scope.constant(mask)
    if array is None or not isinstance(shapes.queries, int) or not isinstance(shapes.keys, int):
        return f"{reason}: the fused operator does not broadcast it"
    fixed = array.reshape(padded)  # type: ignore[arg-type]  # a constant's sizes are numbers
    return np.ascontiguousarray(np.broadcast_to(fixed, (*fixed.shape[:2], shapes.queries, shapes.keys)))


def _scale(match: Match) -> float:
    """What the scores are multiplied with, all in all; infinite for a division by zero."""
    scale = 1.0
    for name in (QUERY, KEY, "score"):
        if f"{name} factor" in match.values:
            scale *= match.number(f"{name} factor")
        if f"{name} divisor" in match.values:
            divisor = match.number(f"{name} divisor")
            scale = scale / divisor if divisor else inf
    return scale


def _text(sizes: Sizes | None) -> str:
    return "[…]" if sizes is None else f"[{', '.join(str(size) for size in sizes)}]"


ATTENTION = Rule(
    id="attention",
    family="attention",
    description="softmax(scale · Q Kᵀ + mask) V of every head becomes MultiHeadAttention",
    patterns=tuple(spellings()),
    check=check,
    rewrite=rewrite,
)

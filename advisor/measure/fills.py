"""Values for a model's inputs, in the ranges that their use in the graph asks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from advisor.measure.dims import CHANNELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx_ir as ir

__all__ = ["Fill", "Variant", "fill_for"]


class Variant(StrEnum):
    """How one set of inputs differs from another. Reseeded: other values of the same kind, and masks with padding."""

    ORDINARY = "ordinary"
    RESEEDED = "reseeded"
    LARGE = "large"
    SMALL = "small"
    ZEROS = "zeros"


Fill = Callable[[tuple[int, ...], Variant, np.random.Generator], NDArray[Any]]
"""Values of a shape, for a variant, before they are cast to the input's dtype."""

SCALES = {Variant.ORDINARY: 1.0, Variant.RESEEDED: 1.0, Variant.LARGE: 10.0, Variant.SMALL: 1e-3, Variant.ZEROS: 0.0}
PIXEL_SCALES = SCALES | {Variant.LARGE: 255.0}

PASSES_ON = {
    "Cast", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose",
    "Unsqueeze",
}  # fmt: skip
"""Operators whose first input keeps its values, or some of them."""
KEEPS_SHAPE = {"Cast", "DequantizeLinear", "Identity"}
INDEXED = {"Gather": 0, "GatherElements": 0, "ScatterElements": 0}
"""Operators whose second input indexes the first one's axis, and the axis that is meant without an attribute."""
AXES = re.compile(r"^(Reduce\w+|Squeeze|Unsqueeze|CumSum)$")
OPERANDS: dict[tuple[str, int], float] = {
    ("ConstantOfShape", 0): 2,
    ("Expand", 1): 1,
    ("Loop", 0): 2,
    ("OneHot", 1): 16,
    ("Pad", 1): 0,
    ("Range", 0): 0,
    ("Range", 1): 16,
    ("Range", 2): 1,
    ("Reshape", 1): -1,
    ("Resize", 2): 1,
    ("Slice", 1): 0,
    ("Slice", 2): 2**31 - 1,
    ("Slice", 4): 1,
    ("Tile", 1): 1,
    ("TopK", 1): 1,
    ("Trilu", 1): 0,
}
"""Inputs that steer an operator rather than feed it: operator and place to a value that most graphs take."""
MASK = re.compile(r"mask", re.IGNORECASE)
LENGTH = re.compile(r"(^|_)len(gth)?s?($|_)", re.IGNORECASE)
POSITION = re.compile(r"position", re.IGNORECASE)
UNKNOWN_LIMIT = 10


def fill_for(value: ir.Value, length: int) -> Fill:
    """Choose values for an input from what the graph does with it, then its name, dtype and shape.

    Args:
        value: The input; its dtype is a tensor's, its rank known.
        length: What lengths count, see `Sizes.length`.
    """
    assert value.dtype is not None
    assert value.shape is not None
    name, rank, uses = value.name or "", len(value.shape), list(_uses(value))
    is_integer = value.dtype.is_integer()
    limits = [limit for node, place in uses if (limit := _index_limit(node, place)) is not None]
    if limits:
        limit = min(limits)
        return partial(_positions, limit) if POSITION.search(name) else partial(_integers, 0, limit)
    if is_integer:
        for node, place in uses:
            if place == 1 and AXES.match(node.op_type):
                return _last_axes
            if (node.op_type, place) in OPERANDS:
                return partial(_constant, OPERANDS[node.op_type, place])
            if place == 4 and node.op_type in {"GRU", "LSTM", "RNN"}:
                return partial(_constant, length)
            if rank == 0 and node.op_type == "Equal" and (known := _other_operand(node, place)) is not None:
                return partial(_constant, known)
    if MASK.search(name) or (is_integer and any(_is_subtracted_from_one(node, place) for node, place in uses)):
        return _mask
    if value.dtype.name == "BOOL":
        return partial(_integers, 0, 2)
    if is_integer:
        if LENGTH.search(name) and rank < 2:
            return partial(_constant, length)
        if POSITION.search(name):
            return partial(_positions, UNKNOWN_LIMIT)
        return partial(_integers, 0, 256 if value.dtype.name == "UINT8" else UNKNOWN_LIMIT)
    if any((node.op_type, place) == ("Resize", 2) for node, place in uses):
        return partial(_constant, 1)
    if any(node.op_type in {"Log", "Sqrt"} for node, _ in uses):
        return _positive
    if rank == 4 and (value.shape[1] in CHANNELS or value.shape[3] in CHANNELS):
        return _pixels
    return _normal


def _uses(value: ir.Value) -> Iterator[tuple[ir.Node, int]]:
    """Every use of a value, also behind operators that pass values on, and inside loop bodies."""
    queue, seen = [value], {value}
    while queue:
        for use in queue.pop().uses():
            node, place = use.node, use.idx
            yield node, place
            follow = (
                list(node.outputs) if (node.op_type in PASSES_ON and place == 0) or node.op_type == "Concat" else []
            )
            if node.op_type == "Loop" and place >= 2 and "body" in node.attributes:
                follow.append(node.attributes["body"].as_graph().inputs[place])
            for output in follow:
                if output not in seen:
                    seen.add(output)
                    queue.append(output)


def _index_limit(node: ir.Node, place: int) -> int | None:
    """How many entries an index chooses from, where the graph tells."""
    if node.op_type == "OneHot" and place == 0:
        depth = _constant_of(node.inputs[1])
        return None if depth is None else int(depth)
    if place != 1 or node.op_type not in {*INDEXED, "GatherND", "ScatterND"}:
        return None
    table = node.inputs[0]
    while table is not None and table.shape is None and table.const_value is None:
        producer = table.producer()
        table = producer.inputs[0] if producer is not None and producer.op_type in KEEPS_SHAPE else None
    if table is None:
        return None
    shape = table.shape if table.shape is not None else table.const_value.shape  # type: ignore[union-attr]
    if node.op_type in INDEXED:
        axis = node.attributes.get_int("axis", INDEXED[node.op_type])
        dims = [shape[axis]] if -len(shape) <= axis < len(shape) else []
    else:
        dims = list(shape)
    sizes = [dim for dim in dims if isinstance(dim, int) and dim > 0]
    return min(sizes) if sizes else None


def _constant_of(value: ir.Value | None) -> float | None:
    """The one number that a value is, where it is a constant."""
    if value is None:
        return None
    tensor, producer = value.const_value, value.producer()
    if tensor is None and producer is not None and producer.op_type == "Constant" and "value" in producer.attributes:
        tensor = producer.attributes["value"].as_tensor()
    return None if tensor is None or tensor.size != 1 else float(tensor.numpy().item())


def _other_operand(node: ir.Node, place: int) -> float | None:
    return _constant_of(node.inputs[1 - place])


def _is_subtracted_from_one(node: ir.Node, place: int) -> bool:
    return node.op_type == "Sub" and place == 1 and _constant_of(node.inputs[0]) == 1


def _normal(shape: tuple[int, ...], variant: Variant, rng: np.random.Generator) -> NDArray[Any]:
    return SCALES[variant] * rng.standard_normal(shape)


def _positive(shape: tuple[int, ...], variant: Variant, rng: np.random.Generator) -> NDArray[Any]:
    return SCALES[variant] * rng.uniform(0.1, 1, shape)


def _pixels(shape: tuple[int, ...], variant: Variant, rng: np.random.Generator) -> NDArray[Any]:
    return PIXEL_SCALES[variant] * rng.random(shape)


def _integers(low: int, high: int, shape: tuple[int, ...], variant: Variant, rng: np.random.Generator) -> NDArray[Any]:
    """Whole numbers from LOW to under HIGH."""
    if variant in {Variant.ORDINARY, Variant.RESEEDED}:
        return rng.integers(low, high, shape)
    return np.full(shape, high - 1 if variant is Variant.LARGE else low)


def _mask(shape: tuple[int, ...], variant: Variant, _: np.random.Generator) -> NDArray[Any]:
    """Ones; reseeded, the last quarter of the last axis is zero. Never all zero: no model is meant for that."""
    mask = np.ones(shape)
    if shape and variant is Variant.RESEEDED:
        mask[..., shape[-1] - shape[-1] // 4 :] = 0
    return mask


def _positions(limit: int, shape: tuple[int, ...], _: Variant, __: np.random.Generator) -> NDArray[Any]:
    """0, 1, 2, … along the last axis."""
    return np.broadcast_to(np.arange(shape[-1] if shape else 1).reshape(-1 if shape else ()) % limit, shape)


def _last_axes(shape: tuple[int, ...], _: Variant, __: np.random.Generator) -> NDArray[Any]:
    """-1, -2, …: axes that any rank has."""
    return -1 - np.arange(int(np.prod(shape))).reshape(shape)


def _constant(number: float, shape: tuple[int, ...], _: Variant, __: np.random.Generator) -> NDArray[Any]:
    return np.full(shape, number)

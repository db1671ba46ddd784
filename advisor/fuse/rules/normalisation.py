"""What layer and RMS normalisation have in common: the spellings of their parts, and when a weight is per feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from advisor.fuse import legality
from advisor.fuse.pattern import OneOf, Op, Pattern, Scalar, Var

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.fuse.pattern import Match

__all__ = [
    "axis_of",
    "cast_input",
    "check_normalisation",
    "inverse_root",
    "maybe_cast",
    "mean",
    "ones",
    "root",
    "square",
    "stash_type",
    "weight",
]


def mean(value: Pattern) -> Pattern:
    """VALUE averaged; the axes are an attribute, or from opset 18 on an input."""
    return OneOf(Op("ReduceMean", value), Op("ReduceMean", value, Var("axes")))


def square(value: Pattern) -> Pattern:
    """VALUE²."""
    return OneOf(Op("Mul", value, value), Op("Pow", value, Scalar(2.0)))


def root(value: Pattern) -> Pattern:
    """√VALUE."""
    return OneOf(Op("Sqrt", value), Op("Pow", value, Scalar(0.5)))


def inverse_root(value: Pattern) -> Pattern:
    """1 / √VALUE."""
    return OneOf(
        Op("Reciprocal", root(value)),
        Op("Div", Scalar(1.0), root(value)),
        Op("Pow", value, Scalar(-0.5)),
    )


def maybe_cast(value: Pattern) -> Pattern:
    """VALUE, or VALUE cast to another type, as mixed precision does before it scales."""
    return OneOf(value, Op("Cast", value))


def check_normalisation(match: Match) -> str | None:
    """Constant last axes, kept by the reduction; weights per feature; types that the fused operator can take over."""
    reason = legality.first(
        legality.not_elementwise(match),
        _cast(match),
    )
    if reason is not None:
        return reason
    axis = _axis(match)
    if isinstance(axis, str):
        return axis
    features = _features(match, axis)
    if isinstance(features, str):
        return features
    weights = [_weight(match, name, features) for name in ("scale", "bias") if name in match.values]
    return legality.first(*(weight for weight in weights if isinstance(weight, str)))


def axis_of(match: Match) -> int:
    """The first normalised axis, counted from the end, of a match that passed the check."""
    axis = _axis(match)
    assert isinstance(axis, int), "checked"
    return axis


def weight(match: Match, name: str) -> ir.Value | NDArray[Any]:
    """A weight in the shape of the normalised axes, of a match that passed the check."""
    found = _weight(match, name, _checked_features(match))
    assert not isinstance(found, str), "checked"
    return found


def ones(match: Match) -> NDArray[Any]:
    """The weight that changes nothing, for a match without one."""
    dtype = match.scope.dtype(match["x"])
    assert dtype is not None, "checked"
    return np.ones(_checked_features(match), dtype.numpy())


def cast_input(match: Match) -> ir.Value:
    """What is normalised: x, or, where the result is cast back to the type that x was cast from, x before its cast."""
    source = _before_cast(match)
    return match["x"] if source is None else source


def stash_type(match: Match) -> int:
    """The type to compute in: float32, and float64 for float64."""
    return (ir.DataType.DOUBLE if match.scope.dtype(match["x"]) is ir.DataType.DOUBLE else ir.DataType.FLOAT).value


def _axis(match: Match) -> int | str:
    """The first normalised axis, counted from the end; or why the axes are not the last ones."""
    found: set[tuple[int, ...]] = set()
    rank = match.scope.rank(match["x"])
    for node in match.nodes:
        if node.op_type != "ReduceMean":
            continue
        axes = legality.kept_axes(match, node)
        if isinstance(axes, str):
            return axes
        if rank is None and any(axis >= 0 for axis in axes):
            return (
                f"the rank of '{match['x'].name}' is not certain, and {legality.label(node)} counts axes from the front"
            )
        found.add(tuple(sorted(axis if axis < 0 else axis - (rank or 0) for axis in axes)))
    if len(found) != 1:
        return "its averages are over different axes"
    (axes,) = found
    if not axes or axes != tuple(range(-len(axes), 0)):
        return f"it averages over the axes {list(axes)}, which are not the last ones"
    return axes[0]


def _features(match: Match, axis: int) -> tuple[int, ...] | str:
    """The sizes of the normalised axes; or why they are not certain."""
    dims = match.scope.shape(match["x"])
    sizes = None if dims is None else tuple(dim for dim in dims[axis:] if dim is not None)
    if sizes is None or len(sizes) != -axis:
        return f"the shape of '{match['x'].name}' is {legality.dims_text(dims)}: how much is normalised is not certain"
    return sizes


def _checked_features(match: Match) -> tuple[int, ...]:
    features = _features(match, axis_of(match))
    assert not isinstance(features, str), "checked"
    return features


def _weight(match: Match, name: str, features: tuple[int, ...]) -> ir.Value | NDArray[Any] | str:
    """A weight as it is or, if constant, broadcast to FEATURES; or why it is not one weight per feature."""
    value = match[name]
    shape, rank = match.scope.shape(value), match.scope.rank(match["x"])
    if shape is None:
        return f"the shape of '{value.name}' is not certain"
    if shape == features:
        return value
    described = f"'{value.name}' is {legality.dims_text(shape)} and the normalised axes are {list(features)}"
    if len(shape) > (rank or 0):
        return f"{described}: it adds dimensions"
    array = match.scope.constant(value)
    if array is None:
        return f"{described}, and it is not constant"
    if array.size > 1 and any(dim != 1 for dim in array.shape[: -len(features)]):
        return f"{described}: it is not one weight per feature"
    try:
        return np.ascontiguousarray(np.broadcast_to(array.reshape(array.shape[-len(features) :]), features))
    except ValueError:
        return f"{described}: it does not fit"


def _cast(match: Match) -> str | None:
    """A cast between normalising and scaling that the fused operator does not make."""
    casts = [node for node in match.nodes if node.op_type == "Cast"]
    if not casts or _before_cast(match) is not None:
        return None
    if all(match.attribute(node, "to") == match.scope.dtype(match["x"]) for node in casts):
        return None
    return "its result is cast to a type that its input does not have"


def _before_cast(match: Match) -> ir.Value | None:
    """What x was cast from, if the match casts the normalised values back to the same type before it scales them."""
    target = next((match.attribute(node, "to") for node in match.nodes if node.op_type == "Cast"), None)
    producer = match["x"].producer()
    if (
        target is None
        or producer is None
        or producer.op_type != "Cast"
        or match.scope.dtype(match["x"]) != ir.DataType.FLOAT
    ):
        return None
    source = producer.inputs[0]
    return source if source is not None and match.scope.dtype(source) == target else None

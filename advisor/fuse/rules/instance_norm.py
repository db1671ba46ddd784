"""Instance normalisation (Ulyanov et al. 2016), written as the operators that it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.fuse import legality
from advisor.fuse.pattern import Op
from advisor.fuse.rule import New, Rule
from advisor.fuse.rules.layer_norm import bias, regrouped, scaled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from advisor.fuse.pattern import Match

__all__ = ["INSTANCE_NORM"]


def check(match: Match) -> str | None:
    """Averages over all axes behind the channels, kept by the reduction, and one constant weight per channel."""
    reason = legality.first(
        legality.not_elementwise(match),
        legality.unknown_shape(match, "x"),
        "its result is cast" if any(node.op_type == "Cast" for node in match.nodes) else None,
    )
    if reason is not None:
        return reason
    rank = match.scope.rank(match["x"]) or 0
    for node in match.nodes:
        if node.op_type != "ReduceMean":
            continue
        axes = legality.kept_axes(match, node)
        if isinstance(axes, str):
            return axes
        if rank < 3 or {axis % rank for axis in axes} != set(range(2, rank)):
            return (
                f"{legality.label(node)} averages over {list(axes)} of {rank} axes: not over all but batch and channel"
            )
    weights = [_weight(match, name) for name in ("scale", "bias") if name in match.values]
    return legality.first(*(weight for weight in weights if isinstance(weight, str)))


def rewrite(match: Match) -> Iterator[New]:
    """InstanceNormalization."""
    scale = _weight(match, "scale")
    shift = _weight(match, "bias") if "bias" in match.values else None
    assert not isinstance(scale, str), "checked"
    assert not isinstance(shift, str), "checked"
    shift = np.zeros_like(scale) if shift is None else shift
    yield New("InstanceNormalization", match["x"], scale, shift, epsilon=match.number("epsilon"))


def _weight(match: Match, name: str) -> NDArray[Any] | str:
    """A weight as one number for each channel; or why it is not that."""
    value, dims = match[name], match.scope.shape(match["x"]) or ()
    channels, array = dims[1], match.scope.constant(value)
    if channels is None:
        return f"the number of channels of '{match['x'].name}' is not certain"
    if array is None:
        return f"'{value.name}' is not constant"
    shape = (*(1 for _ in range(len(dims) - array.ndim)), *array.shape)
    if len(shape) != len(dims) or any(size != 1 for size in (shape[0], *shape[2:])) or shape[1] not in (1, channels):
        return f"'{value.name}' is {list(array.shape)}: not one weight for each of the {channels} channels"
    return np.ascontiguousarray(np.broadcast_to(array.reshape(-1), (channels,)))


INSTANCE_NORM = Rule(
    id="instance-norm",
    family="reduction",
    description="(x - mean) / √(variance + ε) · scale + bias of every channel becomes InstanceNormalization",
    patterns=(Op("Add", scaled, bias), regrouped, scaled),
    check=check,
    rewrite=rewrite,
)

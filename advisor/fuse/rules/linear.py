"""What the rules that change weights have in common: a convolution or matrix product whose channels are changed alike.

y = linear(x) · scale + shift, with one scale and one shift for each output channel, is linear(x) with other weights:

    weight' = weight · scale        bias' = bias · scale + shift

Each is computed in float64 and rounded once. The original weight stays for whoever else uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from advisor.fuse import legality
from advisor.fuse.pattern import OneOf, Op, Var
from advisor.fuse.rule import New

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from advisor.fuse.pattern import Match

__all__ = [
    "LINEAR",
    "WITH_BIAS",
    "attributes",
    "channels",
    "check_linear",
    "constant",
    "folded",
    "per_channel",
    "product",
    "rounds_badly",
    "weighted",
]

x, weight, bias = Var("x"), Var("weight"), Var("bias")

WITH_BIAS = OneOf(
    *(Op(op_type, x, weight, bias) for op_type in ("Conv", "ConvTranspose", "Gemm")),
    *(Op(op_type, x, weight) for op_type in ("Conv", "ConvTranspose", "Gemm")),
    Op("Add", Op("MatMul", x, weight), bias),
)
"""What has a bias, or could have one."""

LINEAR = OneOf(WITH_BIAS, Op("MatMul", x, weight))

CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
PRODUCTS = frozenset({*CONVOLUTIONS, "Gemm", "MatMul"})


def weighted(match: Match, *names: str) -> bool:
    """Whether weight, bias and what stands for NAMES are constants, also such that a caller may override."""
    return all(constant(match, name) is not None for name in ("weight", "bias", *names) if name in match.values)


def product(match: Match) -> ir.Node:
    """The convolution or matrix product of a match of LINEAR."""
    return next(node for node in match.nodes if node.op_type in PRODUCTS)


def attributes(node: ir.Node) -> dict[str, Any]:
    """The attributes of NODE, to write another one with the same."""
    return {name: list(a.value) if isinstance(a.value, tuple) else a.value for name, a in node.attributes.items()}


def constant(match: Match, name: str) -> ir.TensorProtocol | None:
    """The tensor that a variable stands for, not read yet; also of a weight that a caller may override."""
    return match.scope.default(match[name])


def channels(match: Match) -> int:
    """Number of output channels of a match whose weight is constant and of the rank that its operator takes."""
    tensor = constant(match, "weight")
    assert tensor is not None, "checked"
    shape, node = tuple(tensor.shape.numpy()), product(match)
    if node.op_type == "Conv":
        return int(shape[0])
    if node.op_type == "ConvTranspose":
        return int(shape[1]) * int(match.attribute(node, "group"))
    return int(shape[0] if _transposed(match) else shape[1])


def check_linear(match: Match, *names: str) -> str | None:
    """Why weight, bias or what else stands for NAMES, which are constants, cannot be changed or put into a weight."""
    given = [name for name in ("weight", "bias", *names) if name in match.values]
    overridable = (
        f"the initialiser '{match[name].name}' is also a graph input: a caller may replace its value"
        for name in given
        if match.scope.overridable(match[name])
    )
    reason = legality.first(
        legality.not_of_types(match, "weight", legality.FLOATS), legality.quantised(match, ["x"]), *overridable
    )
    if reason is not None:
        return reason
    rank, node = len(_shape(match, "weight")), product(match)
    if rank < 3 if node.op_type in CONVOLUTIONS else rank != 2:
        return f"the weight of {legality.label(node)} has {rank} dimensions"
    bias = per_channel(match, "bias") if "bias" in match.values else None
    return bias if isinstance(bias, str) else None


def per_channel(match: Match, name: str) -> NDArray[np.float64] | str:
    """What a constant is for each output channel; or why it is not one number per channel."""
    tensor = constant(match, name)
    assert tensor is not None, "constants are looked for in `where`"
    shape, count = _shape(match, name), channels(match)
    rank, behind = _layout(match, name)
    described = f"'{match[name].name}' is {list(shape)}"
    if len(shape) > (behind + 1 if rank is None else rank):
        return f"{described}: it may add dimensions to the result of {legality.label(product(match))}"
    if tensor.size != 1:
        *before, size = shape[: len(shape) - behind] or (1,)
        if size != count or any(other != 1 for other in (*before, *shape[len(shape) - behind :])):
            return f"{described}: it is not one number for each of {count} channels"
    return np.broadcast_to(tensor.numpy().astype(np.float64).reshape(-1), (count,))


def folded(match: Match, scale: NDArray[np.float64], shift: NDArray[np.float64]) -> New:
    """The linear operator of a match that passed the checks, with SCALE and SHIFT, one of each a channel, in it."""
    node = product(match)
    tensor = constant(match, "weight")
    assert tensor is not None, "checked"
    scaled = match["weight"] if np.all(scale == 1) else _lazy(tensor, lambda array: _scaled(match, array, scale))
    before = per_channel(match, "bias") if "bias" in match.values else np.zeros_like(shift)
    assert not isinstance(before, str), "checked"
    given = attributes(node)
    if node.op_type == "Gemm":
        before = before * match.attribute(node, "beta")
        given.pop("beta", None)  # it scales the new bias too, and says nothing where there was none
    after = (before * scale + shift).astype(tensor.dtype.numpy())
    biased = "bias" in match.values or bool(np.any(after))
    if node.op_type == "MatMul":
        total = New("MatMul", match["x"], scaled)
        return New("Add", total, after) if biased else total
    return New(node.op_type, match["x"], scaled, *([after] if biased else []), **given)


def rounds_badly(match: Match, scale: NDArray[np.float64]) -> str | None:
    """Why float16 cannot hold the weight times SCALE: too large, or so small that it loses digits."""
    tensor = constant(match, "weight")
    assert tensor is not None, "checked"
    if tensor.dtype is not ir.DataType.FLOAT16:
        return None
    limits = np.finfo(np.float16)
    sizes = np.abs(_scaled(match, tensor.numpy(), scale))
    largest = float(np.max(sizes, initial=0.0))
    if not largest < float(limits.max) or 0 < largest < float(limits.tiny) * 2**4:
        return f"the new weight, of {largest:.1g} at most, is outside of what float16 can hold precisely"
    return None


def _scaled(match: Match, array: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """A weight times SCALE, in float64."""
    node, array = product(match), array.astype(np.float64)
    if node.op_type == "ConvTranspose":  # input channels, output channels of a group, kernel
        groups = int(match.attribute(node, "group"))
        inputs, outputs, *kernel = array.shape
        grouped = array.reshape(groups, inputs // groups, outputs, -1) * scale.reshape(groups, 1, outputs, 1)
        return grouped.reshape(inputs, outputs, *kernel)
    if node.op_type == "Conv" or _transposed(match):
        return array * scale.reshape(-1, *(1 for _ in array.shape[1:]))
    return array * scale


def _lazy(tensor: ir.TensorProtocol, change: Callable[[NDArray[Any]], NDArray[np.float64]]) -> ir.LazyTensor:
    """A tensor of the shape and type of TENSOR that is read and changed when it is needed."""
    return ir.LazyTensor(
        lambda: ir.tensor(change(tensor.numpy()).astype(tensor.dtype.numpy()), dtype=tensor.dtype),
        dtype=tensor.dtype,
        shape=ir.Shape(tensor.shape.numpy()),
        cache=True,
    )


def _transposed(match: Match) -> bool:
    node = product(match)
    return node.op_type == "Gemm" and bool(match.attribute(node, "transB"))


def _shape(match: Match, name: str) -> tuple[int, ...]:
    tensor = constant(match, name)
    assert tensor is not None, "constants are looked for in `where`"
    return tuple(int(size) for size in tensor.shape.numpy())


def _layout(match: Match, name: str) -> tuple[int | None, int]:
    """What a constant is broadcast to: dimensions in all, where they are certain, and those behind the channels."""
    node, rank = product(match), len(_shape(match, "weight"))
    if node.op_type in CONVOLUTIONS:
        return (1, 0) if name == "bias" else (rank, rank - 2)
    return (match.scope.rank(match["x"]) if node.op_type == "MatMul" else rank), 0

"""What can make a fusion wrong. Each check returns None, or the reason for people to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from advisor.fuse.pattern import Match
    from advisor.fuse.scope import Dims
    from advisor.fuse.sizes import Sizes

__all__ = [
    "FLOATS",
    "added_dimensions",
    "constant_axes",
    "dequantised",
    "dims_text",
    "fewer_stacks",
    "first",
    "kept_axes",
    "kept_values",
    "label",
    "lost_outputs",
    "not_elementwise",
    "not_of_types",
    "old_operators",
    "overridable_constants",
    "quantised",
    "unknown_shape",
]

FLOATS = frozenset({ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.DOUBLE})
BROADCASTING_OPSET = 7
"""Before it, Add, Mul and others broadcast by attributes."""


def first(*reasons: str | None) -> str | None:
    """The first reason there is."""
    return next((reason for reason in reasons if reason is not None), None)


def label(node: ir.Node) -> str:
    """A node in a sentence: its operator and its name or, if it has none, what it computes."""
    return f"{node.op_type} '{node.name or (node.outputs[0].name if node.outputs else '')}'"


def old_operators(match: Match) -> str | None:
    """Operator sets so old that element-wise operators have another meaning."""
    if match.scope.opset < BROADCASTING_OPSET:
        return f"the model has opset {match.scope.opset}, where operators broadcast differently"
    return None


def kept_values(match: Match) -> str | None:
    """A value inside of the match that something outside needs: it must not be fused away."""
    inside = set(match.nodes)
    for node in match.nodes[1:]:
        for value in node.outputs:
            if value.is_graph_output():
                return f"the intermediate value '{value.name}' is an output of its graph"
            for user, _ in value.uses():
                if user in inside:
                    continue
                if user.graph is not match.scope.graph:
                    return f"the intermediate value '{value.name}' is captured by a body that holds {label(user)}"
                return f"the intermediate value '{value.name}' is also used by {label(user)}"
    return None


def lost_outputs(match: Match, results: Sequence[object | None]) -> str | None:
    """An output of the last node that something needs and that RESULTS, one for each output, does not give."""
    for index, value in enumerate(match.nodes[0].outputs):
        given = index < len(results) and results[index] is not None
        if not given and (value.uses() or value.is_graph_output()):
            return f"{label(match.nodes[0])} also computes '{value.name}', which would be lost"
    return None


def overridable_constants(match: Match) -> str | None:
    """A constant that is only a default: an initialiser that is a graph input too."""
    for value in match.scalars:
        if match.scope.overridable(value):
            return f"the initialiser '{value.name}' is also a graph input: a caller may replace its value"
    return None


def added_dimensions(match: Match, name: str = "x") -> str | None:
    """Constants of one element whose shape ([1], [1, 1], …) may give the result more dimensions than NAME has."""
    for value in match.scalars:
        tensor = match.scope.default(value)
        assert tensor is not None, "scalars of a match are constants"
        rank = match.scope.rank(match[name])
        constant = f"the constant '{value.name}' has shape {list(tensor.shape)}"
        if len(tensor.shape) > 0 and rank is None:
            return f"{constant}, and the rank of '{match[name].name}' is not certain"
        if len(tensor.shape) > (rank or 0):
            return f"{constant} and adds dimensions to '{match[name].name}'"
    return None


def not_of_types(match: Match, name: str, allowed: Iterable[ir.DataType]) -> str | None:
    """An element type that the fused operator is not meant for."""
    dtype = match.scope.dtype(match[name])
    if dtype is None:
        return f"the element type of '{match[name].name}' is not certain"
    return None if dtype in allowed else f"'{match[name].name}' is {dtype.name.lower()}"


def quantised(match: Match, inputs: Iterable[str]) -> str | None:
    """A place between DequantizeLinear and QuantizeLinear, where ONNX Runtime has quantised kernels for the parts."""
    producers = [match[name].producer() for name in inputs if name in match.values]
    if not any(node is not None and node.op_type == "DequantizeLinear" for node in producers):
        return None
    if any(user.op_type == "QuantizeLinear" for user, _ in match.output.uses()):
        return "it lies between DequantizeLinear and QuantizeLinear: its parts run quantised"
    return None


def dequantised(match: Match, inputs: Iterable[str]) -> str | None:
    """A product of dequantised matrices, which ONNX Runtime computes quantised."""
    producers = [match[name].producer() for name in inputs]
    if any(node is not None and node.op_type == "DequantizeLinear" for node in producers):
        return "its inputs are dequantised: their product runs quantised"
    return None


def empty_sum(*sizes: int | None) -> str | None:
    """A matrix product over a dimension of these SIZES that may be 0, where fused operators leave the result as it lay.

    Args:
        sizes: What is certain of it in each factor; None where nothing is.
    """
    known = {size for size in sizes if size is not None}
    return None if known and 0 not in known else "the dimension that the product sums over is empty or not certain"


def fewer_stacks(match: Match, a: str, b: Sizes | None) -> str | None:
    """A second factor that FusedMatMul turns and that may have no rows: the result has only the first one's matrices.

    Args:
        match: The match.
        a: Name of the first factor, which is not turned.
        b: Shape of the second one as FusedMatMul gets it: axes of its stack, rows, inner axis.
    """
    sizes = match.scope.sizes(match[a])
    if b is not None and ((isinstance(b[-2], int) and b[-2] > 0) or all(size == 1 for size in b[:-2])):
        return None
    if sizes is not None and b is not None:
        # A first factor of fewer axes goes another way.
        stacks = zip(reversed(sizes[:-2]), reversed(b[:-2]), strict=False)
        if len(sizes) < len(b) or all(other in {1, size} for size, other in stacks):
            return None
    return f"the second factor may have no rows, and more matrices than '{match[a].name}': FusedMatMul would lose these"


def unknown_shape(match: Match, name: str) -> str | None:
    """A rank that does not follow from inputs and weights (a shape that the model merely declares may be stale)."""
    if match.scope.shape(match[name]) is None:
        return f"the rank of '{match[name].name}' does not follow from the model's inputs"
    return None


def constant_axes(match: Match, node: ir.Node) -> tuple[int, ...] | str:
    """The axes of a reduction, attribute or constant input, as the model writes them; or why they are not certain."""
    if len(node.inputs) > 1 and node.inputs[1] is not None:
        axes = match.scope.constant(node.inputs[1])
        if axes is None:
            return f"the axes of {label(node)} are known at run time only"
        return tuple(int(axis) for axis in axes.reshape(-1))
    given = match.attribute(node, "axes")
    if given is None:
        return f"{label(node)} reduces over all axes"
    return tuple(int(axis) for axis in given)


def not_elementwise(match: Match) -> str | None:
    """What forbids to fuse operators on each element of `x`: its type, added dimensions, a quantised place."""
    return first(not_of_types(match, "x", FLOATS), added_dimensions(match), quantised(match, ["x"]))


def kept_axes(match: Match, node: ir.Node) -> tuple[int, ...] | str:
    """The axes of a reduction that leaves them as 1, as the model writes them; or why not, or why not certain."""
    if match.attribute(node, "keepdims") != 1:
        return f"{label(node)} drops the axes that it reduces"
    return constant_axes(match, node)


def dims_text(dims: Dims | None) -> str:
    """A shape for people: `[?, 128, 768]`."""
    return "[…]" if dims is None else f"[{', '.join('?' if dim is None else str(dim) for dim in dims)}]"

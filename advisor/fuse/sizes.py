"""Which sizes of a model are the same, though only the run knows them.

One pass through a graph in its order. A size is a number, or a name that stands for one size wherever it appears;
small integer tensors, of which exporters compute shapes, are followed element by element. Dimensions of inputs that the
model gives the same name are of one size, as ONNX says.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import onnx_ir as ir

from advisor.fuse.model import constant_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Elements", "Size", "Sizes", "sizes_of"]

Size = int | str
Sizes = tuple[Size, ...]

Element = Size | bool | None
"""One element of a shape that is computed: a size, an answer, or unknown."""
Elements = tuple[Element, ...]
Found = tuple[Sequence[Element] | None, Elements | None]
"""Sizes and elements of an output, None where they are not known."""

SHORT = 16
"""Elements of a tensor that may be a shape."""
SAME_SHAPE = frozenset(
    {
        "Cast",
        "Erf",
        "FastGelu",
        "Gelu",
        "Identity",
        "LayerNormalization",
        "Not",
        "QuickGelu",
        "Relu",
        "RMSNormalization",
    }
    | {"Sigmoid", "SimplifiedLayerNormalization", "Softmax", "Tanh"}
)
WHOLE = (ir.DataType.INT32, ir.DataType.INT64)
BROADCASTING = frozenset(
    {
        "Add",
        "And",
        "Div",
        "Equal",
        "Greater",
        "GreaterOrEqual",
        "Less",
        "LessOrEqual",
        "Mul",
        "Or",
        "Sub",
        "Sum",
        "Where",
    }
)


def sizes_of(
    graph: ir.Graph, inferred: Mapping[ir.Value, Sizes]
) -> tuple[dict[ir.Value, Sizes], dict[ir.Value, Elements]]:
    """The sizes of the values of GRAPH as far as their rank is certain, and the elements of shapes that it computes.

    Args:
        graph: A main graph.
        inferred: What ONNX's shape inference says of each value: numbers, and names, of which it makes a new one
            wherever it is not sure.
    """
    found = _Pass(graph, inferred)
    return found.sizes, found.elements


class _Pass:
    def __init__(self, graph: ir.Graph, inferred: Mapping[ir.Value, Sizes]) -> None:
        self.sizes: dict[ir.Value, Sizes] = {}
        self.elements: dict[ir.Value, Elements] = {}
        self._limits: set[int] = set()  # m of sizes min(n, m)
        self._known: dict[str, Size] = {}  # what a name of the inference stands for
        for value in graph.inputs:
            self._learn(value, inferred.get(value), None)
        for value in graph.initializers.values():
            self._learn(value, inferred.get(value), None)
            if value.const_value is not None and not value.is_graph_input():
                numbers = _elements(value.const_value)
                if numbers is not None:
                    self.elements[value] = numbers
        for node in graph:
            found, elements = self._node(node)
            for index, value in enumerate(node.outputs):
                self._learn(value, inferred.get(value), found if index == 0 else None)
            if elements is not None and node.outputs:
                self.elements[node.outputs[0]] = elements

    def _learn(self, value: ir.Value, inferred: Sizes | None, found: Sequence[Element] | None) -> None:
        """Put together what the inference says of VALUE and what the pass found."""
        if inferred is None and found is not None:
            inferred = tuple(f"{value.name}[{axis}]" for axis in range(len(found)))
        if inferred is None:
            return
        if found is None or len(found) != len(inferred):
            found = [None] * len(inferred)
        sizes: list[Size] = []
        for given, own in zip(inferred, found, strict=True):
            if isinstance(given, str):
                known = own if isinstance(own, str) or (isinstance(own, int) and own >= 0) else None
                self._known.setdefault(given, given if known is None else known)
                sizes.append(self._known[given] if known is None else known)
            else:
                sizes.append(given)
        self.sizes[value] = tuple(sizes)

    def _node(self, node: ir.Node) -> Found:
        """Sizes and elements of the first output of NODE, None where they are not known."""
        if node.domain and node.op_type not in SAME_SHAPE:
            return None, None
        if node.op_type in SAME_SHAPE:
            return self._input(node), self._carried(node)
        if node.op_type in BROADCASTING:
            return self._broadcast(self._inputs(node)), self._computed(node)
        handler: Callable[[ir.Node], Found] | None = getattr(self, f"_on_{node.op_type.lower()}", None)
        return (None, None) if handler is None else handler(node)

    def _inputs(self, node: ir.Node) -> list[Sizes | None]:
        return [None if value is None else self.sizes.get(value) for value in node.inputs]

    def _input(self, node: ir.Node) -> Sizes | None:
        return self._inputs(node)[0]

    def _of(self, node: ir.Node, index: int) -> Elements | None:
        """Elements of an input of NODE."""
        value = node.inputs[index] if index < len(node.inputs) else None
        return None if value is None else self.elements.get(value)

    def _numbers(self, node: ir.Node, name: str, index: int) -> list[int] | None:
        """Constants that are an attribute or, in later operator sets, an input."""
        given = node.attributes.get(name)
        if given is not None:
            return None if given.is_ref() else [int(each) for each in given.value]
        elements = self._of(node, index)
        if elements is None or not all(isinstance(each, int) for each in elements):
            return None
        return [int(each) for each in elements if each is not None]

    def _carried(self, node: ir.Node) -> Elements | None:
        """Elements that NODE only passes on; of a Cast only between types in which a size is the same number."""
        is_whole = node.op_type == "Cast" and node.attributes.get_int("to", 0) in WHOLE
        return self._of(node, 0) if is_whole or node.op_type == "Identity" else None

    def _broadcast(self, inputs: Sequence[Sizes | None]) -> list[Size | None] | None:
        known = [sizes for sizes in inputs if sizes is not None]
        if len(known) != len(inputs):
            return None
        rank = max(len(sizes) for sizes in known)
        found: list[Size | None] = []
        for axis in range(-rank, 0):
            of = {sizes[axis] for sizes in known if len(sizes) >= -axis} - {1}
            numbers = [size for size in of if isinstance(size, int)]
            if not numbers:  # n and min(n, m): where they differ there is nothing that fits the two
                of -= {_at_most(size, limit) for size in of for limit in self._limits}
            found.append(numbers[0] if numbers else of.pop() if len(of) == 1 else None if of else 1)
        return found

    def _computed(self, node: ir.Node) -> Elements | None:
        """Elements of a calculation with shapes: of numbers, and what exporters write around an Expand."""
        operands = [self._of(node, index) for index in range(len(node.inputs))]
        if not operands or any(operand is None for operand in operands):
            return None
        length = max(len(operand) for operand in operands if operand is not None)
        columns = [operand * length if len(operand) == 1 else operand for operand in operands if operand is not None]
        if any(len(column) != length for column in columns):
            return None
        return tuple(_calculate(node.op_type, each) for each in zip(*columns, strict=True))

    def _on_matmul(self, node: ir.Node) -> Found:
        a, b = self._inputs(node)
        if a is None or b is None or len(a) < 2 or len(b) < 2:
            return None, None
        leading = self._broadcast([a[:-2], b[:-2]])
        return None if leading is None else [*leading, a[-2], b[-1]], None

    def _on_transpose(self, node: ir.Node) -> Found:
        sizes, perm = self._input(node), node.attributes.get_ints("perm")
        if sizes is None:
            return None, None
        return [sizes[axis] for axis in perm] if perm is not None else sizes[::-1], None

    def _on_shape(self, node: ir.Node) -> Found:
        sizes = self._input(node)
        if sizes is None:
            return None, None
        start, end = node.attributes.get_int("start", 0), node.attributes.get_int("end", len(sizes))
        elements = sizes[start:end]
        return (len(elements),), elements

    def _on_constant(self, node: ir.Node) -> Found:
        tensor = constant_tensor(node)
        return None, None if tensor is None else _elements(tensor)

    def _on_gather(self, node: ir.Node) -> Found:
        data, indices = self._inputs(node)
        axis = node.attributes.get_int("axis", 0)
        sizes = None
        if data is not None and indices is not None:
            axis %= max(len(data), 1)
            sizes = (*data[:axis], *indices, *data[axis + 1 :])
        elements, chosen = self._of(node, 0), self._of(node, 1)
        if (
            elements is None
            or chosen is None
            or not all(isinstance(index, int) and -len(elements) <= index < len(elements) for index in chosen)
        ):
            return sizes, None
        return sizes, tuple(elements[int(index)] for index in chosen if index is not None)

    def _on_gathernd(self, node: ir.Node) -> Found:
        data, indices = self._inputs(node)
        if data is None or indices is None or node.attributes.get_int("batch_dims") or not indices:
            return None, None
        depth = indices[-1]
        return ((*indices[:-1], *data[depth:]) if isinstance(depth, int) else None), None

    def _on_unsqueeze(self, node: ir.Node) -> Found:
        sizes, axes = self._input(node), self._numbers(node, "axes", 1)
        if sizes is None or axes is None:
            return None, self._of(node, 0)
        rank = len(sizes) + len(axes)
        added = {axis % rank for axis in axes}
        rest = iter(sizes)
        return [1 if axis in added else next(rest) for axis in range(rank)], self._of(node, 0)

    def _on_squeeze(self, node: ir.Node) -> Found:
        sizes, axes = self._input(node), self._numbers(node, "axes", 1)
        if sizes is None or axes is None:
            return None, self._of(node, 0)
        gone = {axis % len(sizes) for axis in axes}
        return [size for axis, size in enumerate(sizes) if axis not in gone], self._of(node, 0)

    def _on_concat(self, node: ir.Node) -> Found:
        parts = [self._of(node, index) for index in range(len(node.inputs))]
        elements = tuple(each for part in parts if part is not None for each in part) if None not in parts else None
        sizes = [each for each in self._inputs(node) if each is not None]
        if len(sizes) != len(node.inputs) or not sizes:
            return None, elements
        axis = node.attributes.get_int("axis", 0) % len(sizes[0])
        found: list[Size | None] = list(sizes[0])
        found[axis] = _calculate("Add", tuple(each[axis] for each in sizes))
        return found, elements

    def _on_slice(self, node: ir.Node) -> Found:
        sizes, elements = self._input(node), self._of(node, 0)
        starts, ends = self._numbers(node, "starts", 1), self._numbers(node, "ends", 2)
        axes, steps = self._numbers(node, "axes", 3), self._numbers(node, "steps", 4)
        if elements is not None and starts is not None and ends is not None and len(starts) == 1:
            step = steps[0] if steps else 1
            elements = elements[starts[0] : ends[0] : step] if step > 0 else None
        else:
            elements = None
        if sizes is None or axes is None:
            return None, elements
        found: list[Element] = list(sizes)
        for axis in axes:
            found[axis] = None
            size = sizes[axis]
            if isinstance(size, int) and len(axes) == 1 and starts is not None and ends is not None:
                found[axis] = len(range(size)[starts[0] : ends[0] : steps[0] if steps else 1])
        end = self._of(node, 2)
        if len(axes) == 1 and starts == [0] and steps in (None, [1]) and end is not None and isinstance(end[0], str):
            (axis,) = axes
            size = sizes[axis]
            if size == end[0]:
                found[axis] = size
            elif isinstance(size, int) and size > 1:
                self._limits.add(size)
                found[axis] = _at_most(end[0], size)
        return found, elements

    def _on_reshape(self, node: ir.Node) -> Found:
        sizes, target = self._input(node), self._of(node, 1)
        elements = self._of(node, 0)
        if target is None:
            return None, elements
        zero_copies = not node.attributes.get_int("allowzero")
        found: list[Element] = list(target)
        for axis, size in enumerate(found):
            if size == 0 and zero_copies:
                found[axis] = sizes[axis] if sizes is not None and axis < len(sizes) else None
        if found.count(-1) == 1:
            place = found.index(-1)
            found[place] = None if sizes is None else _rest(sizes, [*found[:place], *found[place + 1 :]])
        return found, elements

    def _on_expand(self, node: ir.Node) -> Found:
        sizes, target = self._input(node), self._of(node, 1)
        if (
            sizes is None
            or target is None
            or any(each is None or (isinstance(each, int) and each < 0) for each in target)
        ):
            return None, None
        return self._broadcast([sizes, tuple(each for each in target if each is not None)]), None

    def _on_constantofshape(self, node: ir.Node) -> Found:
        target = self._of(node, 0)
        if target is None:
            return None, None
        given = node.attributes.get_tensor("value")
        elements = None
        if len(target) == 1 and isinstance(target[0], int) and target[0] <= SHORT:
            elements = (0 if given is None else int(given.numpy().item()),) * target[0]
        return target, elements

    def _on_range(self, node: ir.Node) -> Found:
        start, limit, step = (self._of(node, index) for index in range(3))
        return ((limit[0],) if limit and start == (0,) and step == (1,) else None), None

    def _on_split(self, node: ir.Node) -> Found:
        sizes = self._input(node)
        if sizes is None:
            return None, None
        axis = node.attributes.get_int("axis", 0) % len(sizes)
        return [None if index == axis else size for index, size in enumerate(sizes)], None


def _at_most(size: Size, limit: int) -> str:
    return f"min({size}, {limit})"


def _elements(tensor: ir.TensorProtocol) -> tuple[int, ...] | None:
    """The numbers of a small constant of whole ones."""
    if tensor.size > SHORT or len(tensor.shape) > 1 or tensor.dtype not in (ir.DataType.INT64, ir.DataType.INT32):
        return None
    return tuple(int(each) for each in tensor.numpy().reshape(-1))


def _calculate(op_type: str, operands: tuple[Element, ...]) -> Element:
    """One element of a calculation with shapes."""
    if op_type == "Where":
        return operands[1 if operands[0] else 2] if isinstance(operands[0], bool) else None
    if None in operands:
        return None
    numbers = [operand for operand in operands if isinstance(operand, int)]
    if op_type == "Equal":
        if len(numbers) == 2:
            return numbers[0] == numbers[1]
        return False if numbers and numbers[0] < 0 else None  # a size is never negative
    if op_type in ("Add", "Mul"):
        if len(numbers) == len(operands):
            return sum(numbers) if op_type == "Add" else prod(numbers)
        neutral = 0 if op_type == "Add" else 1
        rest = sorted(str(operand) for operand in operands if operand != neutral)
        sign = " + " if op_type == "Add" else " · "
        return rest[0] if len(rest) == 1 else f"({sign.join(rest)})"
    if op_type in ("Sub", "Div") and len(numbers) == 2 and (op_type == "Sub" or numbers[1] > 0 <= numbers[0]):
        return numbers[0] - numbers[1] if op_type == "Sub" else numbers[0] // numbers[1]
    return None


def _rest(sizes: Sizes, others: Sequence[Element]) -> Size | None:
    """What is left of the product of SIZES when it is divided by that of OTHERS."""
    names = [size for size in sizes if isinstance(size, str)]
    number = prod(size for size in sizes if isinstance(size, int))
    for other in others:
        if isinstance(other, str) and other in names:
            names.remove(other)
        elif isinstance(other, int) and other > 0 and number % other == 0:
            number //= other
        else:
            return None
    if not names:
        return number
    return names[0] if len(names) == 1 and number == 1 else None

"""How a kernel sees a tensor that lies otherwise in memory: what Reshape and Transpose would have copied first."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from advisor.fuse.scope import attribute

if TYPE_CHECKING:
    import onnx_ir as ir

    from advisor.fuse.scope import Dims, Scope

__all__ = ["MOST_AXES", "PLAIN", "View", "copies_nothing", "view_of"]

MOST_AXES = 8
"""Of a tensor, as glue.c has it."""


@dataclass(frozen=True)
class View:
    """The last axis of a tensor split into several, then all axes in another order.

    A tensor with fewer axes than ORDER, or with 1 for the last one, is broadcast first, as NumPy does.

    Attributes:
        last: Length of the tensor's last axis; 0 where that one stays whole.
        lengths: Of the axes that stand in its place; their product is `last`.
        order: For each axis of the result the axis of the split tensor; () leaves all where they are.
    """

    last: int = 0
    lengths: tuple[int, ...] = ()
    order: tuple[int, ...] = ()

    @property
    def in_place(self) -> int:
        """How many of the result's last axes are the last ones of the split tensor, in their order."""
        count = 0
        while count < len(self.order) and self.order[-1 - count] == len(self.order) - 1 - count:
            count += 1
        return count if self.order else MOST_AXES

    @property
    def untouched(self) -> int:
        """How many of the tensor's own last axes are the last ones of the result."""
        return 0 if self.lengths else self.in_place

    def dims(self, dims: Dims) -> Dims | None:
        """The shape in which a tensor of the shape DIMS is seen; None where the view does not fit it."""
        if self.lengths:
            last = dims[-1] if dims else 1
            split: Dims = (None,) * len(self.lengths) if last is None else (1,) * len(self.lengths)
            if last == self.last:
                split = self.lengths
            elif last not in {1, None}:
                return None
            dims = (*dims[:-1], *split)
        if not self.order:
            return dims
        if len(dims) > len(self.order):
            return None
        padded = (1,) * (len(self.order) - len(dims)) + dims
        return tuple(padded[axis] for axis in self.order)

    def then(self, after: View) -> View | None:
        """This view seen through another one; None where no one view shows that."""
        if not after.lengths:
            return View(self.last, self.lengths, _reordered(self.order, after.order))
        if not self.in_place:
            return None
        pieces = len(after.lengths) - 1
        lengths = (*self.lengths[:-1], *after.lengths)
        if not self.order:
            return View(self.last or after.last, lengths, after.order)
        end = len(self.order)
        return View(self.last or after.last, lengths, _reordered((*self.order, *range(end, end + pieces)), after.order))


PLAIN = View()
"""A tensor as it lies in memory."""


def view_of(node: ir.Node, scope: Scope) -> View | None:
    """How the result of NODE is seen in its first input; None where it is no view that kernels have.

    The last axis has to stay the last, so that the elements of a row lie one beside the other.
    """
    if node.domain or not node.inputs or node.inputs[0] is None:
        return None
    if node.op_type == "Transpose":
        return _transposed(node, scope)
    if node.op_type == "Reshape":
        return _split(node.inputs[0], node.outputs[0], scope)
    return None


def copies_nothing(node: ir.Node) -> bool:
    """Whether NODE gives the same memory another shape."""
    return node.op_type == "Reshape" and not node.domain


def _transposed(node: ir.Node, scope: Scope) -> View | None:
    order = attribute(node, "perm", scope.opset)
    if order is None or any(attribute.is_ref() for attribute in node.attributes.values()):
        return None
    view = View(order=tuple(int(axis) for axis in order))
    is_order = sorted(view.order) == list(range(len(view.order)))
    return view if is_order and 0 < view.in_place < len(view.order) <= MOST_AXES else None


def _split(source: ir.Value, result: ir.Value, scope: Scope) -> View | None:
    """A Reshape that makes several axes of the last one, for certain."""
    before, after = scope.sizes(source), scope.sizes(result)
    if before is None or after is None or not 0 < len(before) < len(after) <= MOST_AXES:
        return None
    kept = len(before) - 1
    lengths = tuple(size for size in after[kept:] if isinstance(size, int))
    is_sure = before[:kept] == after[:kept] and len(lengths) == len(after) - kept and prod(lengths) == before[-1]
    return View(prod(lengths), lengths) if is_sure and prod(lengths) > 1 else None


def _reordered(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    if not first or not second:
        return first or second
    missing = max(len(second) - len(first), 0)  # axes that broadcasting put before the others in between
    first = (*range(missing), *(missing + axis for axis in first))
    return tuple(first[axis] for axis in second)

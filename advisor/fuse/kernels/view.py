"""How a kernel sees a tensor that lies otherwise in memory: what Reshape, Split, Slice and Transpose would copy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from advisor.fuse.scope import attribute

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx_ir as ir

    from advisor.fuse.scope import Scope
    from advisor.fuse.sizes import Sizes

__all__ = ["MOST_AXES", "PLAIN", "View", "copies_nothing", "views_of"]

MOST_AXES = 8
"""Of a tensor, as glue.c has it."""


@dataclass(frozen=True)
class View:
    """A part of the last axis of a tensor, split into several axes, then all axes in another order.

    A tensor with fewer axes than ORDER, or with 1 for the last one, is broadcast first, as NumPy does.

    Attributes:
        last: Length of the tensor's last axis; 0 where that one stays as it is.
        lengths: Of the axes that stand in its place.
        order: For each axis of the result the axis of the split tensor; () leaves all where they are.
        start: The first element of the last axis that is seen; as many as the product of LENGTHS are.
    """

    last: int = 0
    lengths: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    start: int = 0

    @property
    def is_part(self) -> bool:
        """Whether some of the last axis is not seen."""
        return bool(self.lengths) and prod(self.lengths) != self.last

    @property
    def in_place(self) -> int:
        """How many of the result's last axes lie one beside the other in the tensor, as its last ones."""
        count = 0
        while count < len(self.order) and self.order[-1 - count] == len(self.order) - 1 - count:
            count += 1
        count = count if self.order else MOST_AXES
        return min(count, len(self.lengths)) if self.is_part else count

    @property
    def untouched(self) -> int:
        """How many of the tensor's own last axes are the last ones of the result."""
        return 0 if self.lengths else self.in_place

    def sizes(self, sizes: Sizes) -> Sizes | None:
        """The shape in which a tensor of the shape SIZES is seen; None where the view does not fit it."""
        if self.lengths:
            last = sizes[-1] if sizes else 1
            if isinstance(last, int) and last not in {1, self.last}:
                return None
            split: Sizes = self.lengths if last == self.last else (1,) * len(self.lengths)
            if isinstance(last, str):
                split = tuple(f"{last}/{self.lengths}[{axis}]" for axis in range(len(self.lengths)))
            sizes = (*sizes[:-1], *split)
        if not self.order:
            return sizes
        if len(sizes) > len(self.order):
            return None
        padded = (1,) * (len(self.order) - len(sizes)) + sizes
        return tuple(padded[axis] for axis in self.order)

    def then(self, after: View) -> View | None:
        """This view seen through another one; None where no one view shows that."""
        if not after.lengths:
            return replace(self, order=_reordered(self.order, after.order))
        if not self.in_place or (after.is_part and len(self.lengths) > 1):
            return None
        if self.lengths and self.lengths[-1] != after.last:  # one element, broadcast in between
            both = replace(self, lengths=(*self.lengths[:-1], *(1,) * len(after.lengths)))
        else:
            both = replace(
                self,
                last=self.last or after.last,
                lengths=(*self.lengths[:-1], *after.lengths),
                start=self.start + (after.start if after.is_part else 0),
            )
        end = len(self.order)
        grown = (*self.order, *range(end, end + len(after.lengths) - 1)) if self.order else ()
        return replace(both, order=_reordered(grown, after.order))


PLAIN = View()
"""A tensor as it lies in memory."""


def views_of(node: ir.Node, scope: Scope) -> tuple[View, ...] | None:
    """How each result of NODE is seen in its first input; None where these are no views that kernels have.

    The last axis has to stay the last, so that the elements of a row lie one beside the other.
    """
    if node.domain or not node.inputs or node.inputs[0] is None:
        return None
    read = VIEWS.get(node.op_type)
    views = () if read is None else tuple(read(node, result, scope) for result in node.outputs)
    sure = tuple(view for view in views if view is not None)
    return sure if sure and len(sure) == len(views) else None


def copies_nothing(node: ir.Node) -> bool:
    """Whether NODE gives the same memory another shape."""
    return node.op_type == "Reshape" and not node.domain


def _transposed(node: ir.Node, _: ir.Value, scope: Scope) -> View | None:
    order = attribute(node, "perm", scope.opset)
    if order is None:
        return None
    view = View(order=tuple(int(axis) for axis in order))
    is_order = sorted(view.order) == list(range(len(view.order)))
    return view if is_order and 0 < view.in_place < len(view.order) <= MOST_AXES else None


def _split(node: ir.Node, result: ir.Value, scope: Scope) -> View | None:
    """A Reshape that makes several axes of the last one, for certain."""
    before, after = _sizes(node.inputs[0], scope), _sizes(result, scope)
    if not 0 < len(before) < len(after) <= MOST_AXES:
        return None
    kept = len(before) - 1
    lengths = tuple(size for size in after[kept:] if isinstance(size, int))
    is_sure = before[:kept] == after[:kept] and len(lengths) == len(after) - kept and prod(lengths) == before[-1]
    return View(prod(lengths), lengths) if is_sure and prod(lengths) > 1 else None


def _piece(node: ir.Node, result: ir.Value, scope: Scope) -> View | None:
    """One of the results of a Split of the last axis."""
    whole, rank = _sizes(node.inputs[0], scope), len(_sizes(node.inputs[0], scope))
    axis = attribute(node, "axis", scope.opset)
    lengths = [_sizes(piece, scope)[-1:] for piece in node.outputs]
    known = [size for length in lengths for size in length if isinstance(size, int)]
    if not rank or axis not in {-1, rank - 1} or len(known) < len(lengths) or sum(known) != whole[-1]:
        return None
    place = next(place for place, piece in enumerate(node.outputs) if piece is result)
    return View(sum(known), (known[place],), start=sum(known[:place])) if min(known) > 0 and sum(known) > 1 else None


def _slice(node: ir.Node, result: ir.Value, scope: Scope) -> View | None:
    """A Slice of neighbouring elements of the last axis."""
    whole, part = _sizes(node.inputs[0], scope), _sizes(result, scope)
    arrays = [None if value is None else scope.constant(value) for value in node.inputs[1:]]
    if len(arrays) < 3 or not whole or any(array is None or array.shape != (1,) for array in arrays):
        return None
    start, _, axis, *step = (int(array[0]) for array in arrays if array is not None)
    last, length = whole[-1], part[-1]
    if axis not in {-1, len(whole) - 1} or step not in ([], [1]) or not isinstance(last, int) or not length:
        return None
    start = max(start + last, 0) if start < 0 else start
    return View(last, (length,), start=start) if isinstance(length, int) and last > 1 else None


def _sizes(value: ir.Value | None, scope: Scope) -> Sizes:
    return () if value is None else scope.sizes(value) or ()


VIEWS: Mapping[str, Callable[[ir.Node, ir.Value, Scope], View | None]] = {
    "Reshape": _split,
    "Slice": _slice,
    "Split": _piece,
    "Transpose": _transposed,
}


def _reordered(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """One order after the other; the second one's may count axes of 1 in front, that broadcasting adds."""
    if not first or not second:
        return first or second
    more = len(second) - len(first)
    grown = (*range(more), *(axis + more for axis in first))
    return tuple(grown[axis] for axis in second)

"""The iteration space of a kernel: which tensors lie along its rows, and which certainly have its full shape."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from advisor.fuse.kernels.expression import REDUCTIONS, ROW_LENGTH, Access, Input, Operation
from advisor.fuse.kernels.formula import NotExpressible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from advisor.fuse.kernels.formula import Formula, Term
    from advisor.fuse.sizes import Size, Sizes

__all__ = ["Space"]


class Space:
    """All inputs of a formula broadcast together; axes are counted from the last one, 0, to the first.

    A value has an axis of the full length for certain if every input that may lengthen the axis is among what the value
    is computed from, or is known to have 1 there, or the value's own length. What a value is computed from (its
    sources) counts whole, or without the columns where a reduction lies between.
    """

    def __init__(self, formula: Formula, shapes: Mapping[int, Sizes | None]) -> None:
        """Take the shapes of the inputs, by place; None where not even the rank is certain."""
        self._formula = formula
        self._shapes = shapes
        self._sources: list[dict[int, bool]] = []
        for place, value in enumerate(formula.values):
            found: dict[int, bool] = {}
            if isinstance(value, Input):
                found[place] = True
            elif isinstance(value, Operation):
                is_whole = value.op_type not in REDUCTIONS
                for operand in value.operands:
                    for source, whole in self._sources[operand].items():
                        found[source] = found.get(source, False) or (whole and is_whole)
            self._sources.append(found)

    @property
    def _reduced(self) -> int:
        return self._formula.reduced

    def settle_accesses(self) -> None:
        """Say for each input whether it has a value for each column or one for the whole row.

        Raises:
            NotExpressible: An input of a reduction has some of the reduced axes and others not, or may have; or a view
                moves axes that are reduced.
        """
        columns = range(self._reduced or self._widest_row())
        along: dict[tuple[Size | None, ...], int] = {}
        for place, dims in self._shapes.items():
            lengths = tuple(self._length(place, axis) for axis in columns)
            on_row = dims is not None and all(length == 1 for length in lengths)
            if not on_row:
                along[lengths] = along.get(lengths, 0) + 1
            tensor = self._formula.values[place]
            assert isinstance(tensor, Input)
            if tensor.view.in_place < max(self._reduced, 1):
                raise NotExpressible("the elements of a row do not lie together")
            self._formula.values[place] = replace(tensor, access=Access.ROW if on_row else Access.COLUMNS)
        are_sure = len(along) < 2 and all(None not in lengths or count == 1 for lengths, count in along.items())
        if self._reduced > 1 and not are_sure:
            raise NotExpressible("a tensor may have only some of the reduced axes")

    def check_reductions(self) -> None:
        """Refuse a reduction over what may be shorter than a row: an element would count more than once.

        Raises:
            NotExpressible: There is one.
        """
        for value in self._formula.values:
            if isinstance(value, Operation) and value.op_type in REDUCTIONS:
                operand = value.operands[0]
                if not all(self._covers(operand, source, range(self._reduced)) for source in self._shapes):
                    raise NotExpressible("what is reduced may be shorter than other tensors")

    def output(self, term: Term) -> tuple[Access, bool]:
        """How an output is written, and whether it keeps the reduced axes.

        Raises:
            NotExpressible: It is not certain to have the full shape, or that of one value a row.
        """
        axes = range(self._highest_rank())
        covers = self._may_raise_no_rank(term.place)
        if covers and not term.is_squeezed and all(self._covers(term.place, source, axes) for source in self._shapes):
            return Access.COLUMNS, True
        outer = range(self._reduced, self._highest_rank())
        is_row = self._reduced > 0 and all(
            not whole or all(self._length(source, axis) == 1 for axis in range(self._reduced))
            for source, whole in self._sources[term.place].items()
        )
        if covers and is_row and all(self._covers(term.place, source, outer) for source in self._shapes):
            return Access.ROW, not term.is_squeezed
        raise NotExpressible("an output is not certain to have the shape of all inputs together")

    def is_smaller(self, term: Term) -> bool:
        """Whether a value for each column is most likely the same in several rows."""
        sources = self._sources[term.place]
        if self._on_row(term.place):
            return False
        rank = self._rank(term.place)
        for place, dims in self._shapes.items():
            if place in sources or dims is None:
                continue
            for axis in range(self._reduced, len(dims)):
                is_missing = (rank is not None and axis >= rank) or self._known_length(term.place, axis) == 1
                if is_missing and self._length(place, axis) != 1:
                    return True
        return False

    def _on_row(self, place: int) -> bool:
        value = self._formula.values[place]
        if isinstance(value, Input):
            return value.access is Access.ROW
        if isinstance(value, Operation) and value.op_type not in REDUCTIONS and value.op_type != ROW_LENGTH:
            return all(self._on_row(operand) for operand in value.operands)
        return True

    def _widest_row(self) -> int:
        """The number of last axes in which every input is either whole or 1."""
        kinds: dict[int, bool] = {}
        for axis in range(self._highest_rank()):
            lengths = {place: self._length(place, axis) for place in self._shapes}
            if all(length == 1 for length in lengths.values()):
                continue
            now = {place: length != 1 for place, length in lengths.items()}
            if any(kinds.get(place, is_whole) != is_whole for place, is_whole in now.items()):
                return axis
            kinds = now
        return self._highest_rank()

    def _covers(self, place: int, source: int, axes: Iterable[int]) -> bool:
        """Whether a value has the length that an input has, or more, in all of AXES."""
        whole = self._sources[place].get(source)
        if whole:
            return True
        dims = self._shapes[source]
        for axis in axes:
            if whole is not None and axis >= self._reduced:
                continue
            length = self._length(source, axis)
            if dims is None or (length != 1 and (length is None or length != self._known_length(place, axis))):
                return False
        return True

    def _may_raise_no_rank(self, place: int) -> bool:
        """Whether a value has at least as many dimensions as every input, for certain."""
        rank = self._rank(place)
        for source, dims in self._shapes.items():
            if source not in self._sources[place] and (rank is None or dims is None or len(dims) > rank):
                return False
        return True

    def _known_length(self, place: int, axis: int) -> Size | None:
        """The length of a value along an axis, from what it is computed from; None where it is not certain."""
        lengths = {
            1 if not whole and axis < self._reduced else self._length(source, axis)
            for source, whole in self._sources[place].items()
        } - {1}
        # Of two lengths that broadcast, the known one other than 1 is the result's.
        known = {length for length in lengths if isinstance(length, int)} or lengths or {1}
        return known.pop() if len(known) == 1 else None

    def _rank(self, place: int) -> int | None:
        ranks = [self._shapes[source] for source in self._sources[place]]
        return None if None in ranks else max((len(dims) for dims in ranks if dims is not None), default=0)

    def _length(self, source: int, axis: int) -> Size | None:
        """The length of an input along an axis; None where it is not certain."""
        dims = self._shapes[source]
        if dims is None:
            return None
        return dims[-1 - axis] if axis < len(dims) else 1

    def _highest_rank(self) -> int:
        """The number of axes to look at: what is reduced has at least the reduced ones, also where no rank is known."""
        return max(self._reduced, *(len(dims) for dims in self._shapes.values() if dims is not None), 0)

"""Expressions written as formulas: `x * (1 + erf(x / √2))` on terms puts the operations into an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx_ir as ir

from advisor.fuse.kernels.expression import (
    ROW_LENGTH,
    Access,
    Constant,
    Expression,
    Input,
    Operation,
    Output,
)
from advisor.fuse.kernels.operators import supports
from advisor.fuse.kernels.view import MOST_AXES, PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advisor.fuse.kernels.expression import Value
    from advisor.fuse.kernels.view import View

__all__ = ["BOOL", "FLOATS", "INTEGERS", "NUMBERS", "Formula", "NotExpressible", "Term", "where"]

BOOL = ir.DataType.BOOL
FLOATS = frozenset({ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.DOUBLE})
INTEGERS = frozenset({ir.DataType.INT32, ir.DataType.INT64})
NUMBERS = FLOATS | INTEGERS


class NotExpressible(Exception):  # noqa: N818 - reads as what it is at every raise
    """A kernel cannot compute this; the message says why, for people."""


class Formula:
    """The values of an expression while it is written down; what is computed twice is there once."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.reduced = 0
        self.in_place = MOST_AXES
        """Of the axes of what is being written down, how many of the last ones are the kernel's last ones too."""
        self._places: dict[str, int] = {}

    def input(self, dtype: ir.DataType, access: Access, view: View = PLAIN) -> Term:
        """One more tensor that the kernel reads."""
        if dtype not in NUMBERS and dtype is not BOOL:
            raise NotExpressible(f"kernels do not compute with {dtype.name.lower()}")
        self.values.append(Input(dtype, access, view))
        return Term(self, len(self.values) - 1)

    def constant(self, number: float | bool, dtype: ir.DataType) -> Term:
        """A number."""
        if dtype in FLOATS:
            number = float(number)
        return Term(self, self._place(Constant(dtype, number)), is_constant=True)

    def operation(
        self,
        op_type: str,
        *operands: Term,
        dtype: ir.DataType | None = None,
        attributes: tuple[tuple[str, int], ...] = (),
    ) -> Term:
        """An element-wise operation.

        Raises:
            NotExpressible: Some operands have lost the axes of the columns and others have not: they do not broadcast
                as the values of one row.
        """
        if not supports(op_type, *(term.dtype for term in operands)):
            types = ", ".join(term.dtype.name.lower() for term in operands)
            raise NotExpressible(f"kernels have no {op_type} of {types}")
        shaped = {term.is_squeezed for term in operands if not term.is_constant}
        if len(shaped) > 1:
            raise NotExpressible("a result without the reduced axes meets a tensor that has them")
        dtype = operands[0].dtype if dtype is None else dtype
        place = self._place(Operation(op_type, tuple(term.place for term in operands), dtype, attributes))
        return Term(self, place, is_squeezed=shaped == {True}, is_constant=not shaped)

    def reduction(self, op_type: str, term: Term, axes: int, *, keepdims: bool = True) -> Term:
        """A reduction over the last AXES axes."""
        self._reduce(term, axes)
        if not keepdims and self.in_place < MOST_AXES:
            raise NotExpressible("what a reduction leaves is seen in another order")
        if not supports(op_type, term.dtype):
            raise NotExpressible(f"kernels have no {op_type} of {term.dtype.name.lower()}")
        place = self._place(Operation(op_type, (term.place,), term.dtype))
        return Term(self, place, is_squeezed=not keepdims)

    def row_length(self, term: Term, axes: int) -> Term:
        """How many elements of TERM a reduction over its last AXES axes takes together."""
        self._reduce(term, axes)
        return Term(self, self._place(Operation(ROW_LENGTH, (), term.dtype)), is_constant=True)

    def expression(self, outputs: Iterable[Output]) -> Expression:
        """What was written down, without what no output needs; inputs stay, all of them."""
        outputs = tuple(outputs)
        needed = {output.value for output in outputs}
        for place in reversed(range(len(self.values))):
            value = self.values[place]
            if place in needed and isinstance(value, Operation):
                needed.update(value.operands)
            elif isinstance(value, Input):
                needed.add(place)
        moved = {old: new for new, old in enumerate(sorted(needed))}
        values: list[Value] = []
        for place in moved:
            value = self.values[place]
            if isinstance(value, Operation):
                operands = tuple(moved[operand] for operand in value.operands)
                value = Operation(value.op_type, operands, value.dtype, value.attributes)
            values.append(value)
        written = tuple(Output(moved[output.value], output.access, output.keepdims) for output in outputs)
        return Expression(tuple(values), written, self.reduced)

    def _reduce(self, term: Term, axes: int) -> None:
        if axes < 1:
            raise NotExpressible("nothing is reduced")
        if axes > self.in_place:
            raise NotExpressible("what is reduced is seen in another order, or split")
        if self.reduced not in {0, axes}:
            raise NotExpressible("reductions over different axes do not share a row")
        if term.is_squeezed or term.is_constant:
            raise NotExpressible("what is reduced has no columns")
        self.reduced = axes

    def _place(self, value: Value) -> int:
        key = repr(value)  # tells 0.0 from -0.0 and 1 from True, which are equal
        if key not in self._places:
            self.values.append(value)
            self._places[key] = len(self.values) - 1
        return self._places[key]


@dataclass(frozen=True)
class Term:
    """A value of a formula; arithmetic on it writes operations. Numbers take the type of the term beside them.

    Attributes:
        formula: What it belongs to.
        place: In `Formula.values`.
        is_squeezed: It lacks the reduced axes: a reduction without `keepdims`, or computed from one.
        is_constant: It is the same everywhere and fits any shape.
    """

    formula: Formula
    place: int
    is_squeezed: bool = False
    is_constant: bool = False

    @property
    def dtype(self) -> ir.DataType:
        """Element type."""
        return self.formula.values[self.place].dtype

    @property
    def number(self) -> float | int | bool | None:
        """The number that a constant is; None for what is computed."""
        value = self.formula.values[self.place]
        return value.number if isinstance(value, Constant) else None

    def apply(self, op_type: str, *others: Term | float, dtype: ir.DataType | None = None) -> Term:
        """An element-wise operation on this term and OTHERS."""
        operands = [self._term(other) for other in others]
        return self.formula.operation(op_type, self, *operands, dtype=dtype)

    def compared(self, op_type: str, other: Term | float) -> Term:
        """A comparison."""
        return self.apply(op_type, other, dtype=BOOL)

    def cast(self, dtype: ir.DataType) -> Term:
        """As another element type."""
        return self if dtype is self.dtype else self.apply("Cast", dtype=dtype)

    def __add__(self, other: Term | float) -> Term:
        return self.apply("Add", other)

    def __radd__(self, other: float) -> Term:
        return self._term(other) + self

    def __sub__(self, other: Term | float) -> Term:
        return self.apply("Sub", other)

    def __rsub__(self, other: float) -> Term:
        return self._term(other) - self

    def __mul__(self, other: Term | float) -> Term:
        return self.apply("Mul", other)

    def __rmul__(self, other: float) -> Term:
        return self._term(other) * self

    def __truediv__(self, other: Term | float) -> Term:
        return self.apply("Div", other)

    def __rtruediv__(self, other: float) -> Term:
        return self._term(other) / self

    def __neg__(self) -> Term:
        return self.apply("Neg")

    def __abs__(self) -> Term:
        return self.apply("Abs")

    def sum(self, axes: int) -> Term:
        """Sum over the last AXES axes, which stay, as 1."""
        return self.formula.reduction("ReduceSum", self, axes)

    def mean(self, axes: int) -> Term:
        """Mean over the last AXES axes, which stay, as 1."""
        return self.sum(axes) / self.formula.row_length(self, axes)

    def _term(self, other: Term | float) -> Term:
        return other if isinstance(other, Term) else self.formula.constant(other, self.dtype)


def where(condition: Term, yes: Term | float, no: Term | float) -> Term:
    """YES where the condition holds, else NO; one of them at least is a term."""
    like = yes if isinstance(yes, Term) else no
    assert isinstance(like, Term), "numbers alone have no type"
    dtype = like.dtype
    formula = condition.formula
    yes, no = (value if isinstance(value, Term) else formula.constant(value, dtype) for value in (yes, no))
    return formula.operation("Where", condition, yes, no, dtype=dtype)

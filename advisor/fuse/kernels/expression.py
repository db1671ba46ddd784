"""What one generated kernel computes: a graph of element-wise operations and reductions over the elements of a row.

A kernel sees its tensors as rows of columns. Where it reduces, the last REDUCED axes are the columns; where it does
not, the run-time side makes rows as long as the shapes allow. Inside a row an input gives either a value for each
column or one for all of them; across rows any NumPy broadcasting is a matter of strides, which the run-time side finds.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from advisor.fuse.kernels.view import PLAIN, View

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["DOMAIN", "Access", "Constant", "Expression", "Input", "Operation", "Output", "Value"]

DOMAIN = "advisor.generated"
"""Domain of the custom operators."""
MOST_TENSORS = 16
"""Inputs and outputs of one kernel together: more of them live at once spill registers on a GPU."""

# fmt: off
ELEMENTWISE = frozenset({
    "Abs", "Add", "And", "Cast", "Ceil", "Cos", "Div", "Elu", "Equal", "Erf", "Exp", "Floor", "Greater",
    "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "Log", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or",
    "Pow", "Round", "Sigmoid", "Sign", "Sin", "Softplus", "Sqrt", "Sub", "Tanh", "Where", "Xor",
})
# fmt: on
"""Operations on the values of one column, with the meaning of the ONNX operator of that name; Max and Min of two,
and Elu with an alpha of 1."""
REDUCTIONS = frozenset({"ReduceMax", "ReduceMin", "ReduceSum"})
"""Operations over all columns of a row; the result is one value for the row."""
ROW_LENGTH = "RowLength"
"""The number of columns, as a number of the operation's dtype."""


class Access(StrEnum):
    """How a tensor is read or written inside of a row."""

    COLUMNS = "columns"
    """One value for each column, one beside the other."""
    ROW = "row"
    """One value for the whole row."""


@dataclass(frozen=True)
class Input:
    """A tensor that the kernel reads; the n-th Input of an expression is the operator's n-th input.

    Attributes:
        dtype: Element type.
        access: How it is read along a row.
        view: How its axes become those of the kernel, before it is broadcast.
    """

    dtype: ir.DataType
    access: Access
    view: View = PLAIN


@dataclass(frozen=True, eq=False)
class Constant:
    """A number known when the kernel is made; equal to another one where both are written alike.

    0.0 and -0.0 are two constants, as for `Expression.name`; NaN is one.
    """

    dtype: ir.DataType
    number: float | int | bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


@dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes:
        op_type: Of ELEMENTWISE or REDUCTIONS, or ROW_LENGTH.
        operands: Places in `Expression.values`, all before this one.
        dtype: Element type of the result. Values of float16 and bfloat16 are computed in float32 and rounded only where
            they are stored or cast: never less exact than the operators one by one.
        attributes: The ONNX attributes that change the meaning, such as (("fmod", 1),).
    """

    op_type: str
    operands: tuple[int, ...]
    dtype: ir.DataType
    attributes: tuple[tuple[str, float | int | str], ...] = ()


Value = Input | Constant | Operation


@dataclass(frozen=True)
class Output:
    """A tensor that the kernel writes.

    Attributes:
        value: Place in `Expression.values`.
        access: COLUMNS, of the full shape; or ROW, of that shape with the reduced axes 1 or, without KEEPDIMS, gone.
        keepdims: Whether the reduced axes stay, as 1. Only for ROW.
    """

    value: int
    access: Access
    keepdims: bool = True


@dataclass(frozen=True)
class Expression:
    """One kernel.

    Attributes:
        values: Inputs, constants and operations; each after its operands.
        outputs: What is written. The full shape is that of all inputs broadcast together.
        reduced: How many of the last axes are the columns of a row; 0 where nothing is reduced, and any split will do.
    """

    values: tuple[Value, ...]
    outputs: tuple[Output, ...]
    reduced: int = 0

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """What is read, in the order of the operator's inputs."""
        return tuple(value for value in self.values if isinstance(value, Input))

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """What is computed."""
        return tuple(value for value in self.values if isinstance(value, Operation))

    def dtype(self, place: int) -> ir.DataType:
        """Element type of a value."""
        return self.values[place].dtype

    @cached_property
    def name(self) -> str:
        """The operator's name: the same for the same computation, on every machine."""
        return f"Fused_{hashlib.sha256(repr((self.values, self.outputs, self.reduced)).encode()).hexdigest()[:16]}"

    @cached_property
    def on_rows(self) -> tuple[bool, ...]:
        """For each value, whether it is one for the whole row: computed once and not for every column."""
        known: list[bool] = []
        for value in self.values:
            if isinstance(value, Input):
                known.append(value.access is Access.ROW)
            elif isinstance(value, Constant) or value.op_type in REDUCTIONS or value.op_type == ROW_LENGTH:
                known.append(True)
            else:
                known.append(all(known[operand] for operand in value.operands))
        return tuple(known)

"""Walks the values of an expression and appends the IR of those that are asked for, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse.kernels import operators
from advisor.fuse.kernels.builder import Value, literal
from advisor.fuse.kernels.expression import REDUCTIONS, ROW_LENGTH, Constant, Expression, Input, Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from advisor.fuse.kernels.builder import Builder
    from advisor.fuse.kernels.stages import Loop

    Load = Callable[[int], Value]
    """IR that reads the input at a place of `Expression.values`."""

__all__ = ["constants", "evaluate", "evaluate_on_rows", "on_rows_whatever_the_strides"]


def constants(b: Builder, expression: Expression, columns: Value) -> dict[int, Value]:
    """The values that are one for the whole tensor: constants, and the length of a row."""
    known: dict[int, Value] = {}
    for place, value in enumerate(expression.values):
        type_ = operators.REGISTER[value.dtype]
        if isinstance(value, Constant):
            known[place] = Value(type_, literal(type_, value.number))
        elif isinstance(value, Operation) and value.op_type == ROW_LENGTH:
            if type_ in ("float", "double"):
                known[place] = b.convert("sitofp", columns, type_)
            else:
                known[place] = b.convert("trunc", columns, type_) if type_ != columns.type else columns
    return known


def on_rows_whatever_the_strides(expression: Expression) -> tuple[bool, ...]:
    """For each value, whether it is one for the row even where every input may differ from column to column."""
    known: list[bool] = []
    for value in expression.values:
        if isinstance(value, Input):
            known.append(False)
        elif isinstance(value, Constant) or value.op_type in REDUCTIONS or value.op_type == ROW_LENGTH:
            known.append(True)
        else:
            known.append(all(known[operand] for operand in value.operands))
    return tuple(known)


def evaluate(b: Builder, expression: Expression, place: int, known: dict[int, Value], load: Load) -> Value:
    """A value; what it needs and is not KNOWN is computed here and remembered there."""
    waiting = [place]
    while waiting:
        last = waiting[-1]
        value = expression.values[last]
        operands = value.operands if isinstance(value, Operation) else ()
        unknown = [operand for operand in operands if operand not in known]
        if last not in known and unknown:
            waiting += unknown
            continue
        waiting.pop()
        if last in known:
            continue
        if isinstance(value, Operation):
            dtypes = [expression.dtype(operand) for operand in operands]
            known[last] = operators.apply(b, value, [known[operand] for operand in operands], dtypes)
        else:
            known[last] = load(last)
    return known[place]


def evaluate_on_rows(
    b: Builder,
    expression: Expression,
    targets: Iterable[int],
    on_rows: tuple[bool, ...],
    loop: Loop,
    known: dict[int, Value],
    load: Load,
) -> None:
    """Compute, before a LOOP over columns, what its TARGETS need that is one value for the row."""
    seen: set[int] = set()
    waiting = list(targets)
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        value = expression.values[place]
        if on_rows[place]:
            evaluate(b, expression, place, known, load)
        elif place not in loop.loaded and isinstance(value, Operation):
            waiting.extend(value.operands)

"""Formulas that are the same number with less work, put into an expression before its code is written."""

from __future__ import annotations

from collections import Counter

from advisor.fuse.kernels.expression import Constant, Expression, Operation, Output, Value

__all__ = ["simplified"]


def simplified(expression: Expression) -> Expression:
    """The expression with 1 + tanh(u) as 2 sigmoid(2u): half the work, and exact where tanh(u) is close to -1.

    Only where nothing else reads the tanh.
    """
    uses = Counter(operand for operation in expression.operations for operand in operation.operands)
    uses.update(output.value for output in expression.outputs)
    sums = {place: operand for place in range(len(expression.values)) if (operand := _one_plus_tanh(expression, place))}
    sums = {place: operand for place, operand in sums.items() if uses[operand] == 1}
    if not sums:
        return expression
    values: list[Value] = []
    moved: dict[int, int] = {}

    def append(value: Value) -> int:
        values.append(value)
        return len(values) - 1

    for place, value in enumerate(expression.values):
        if not isinstance(value, Operation):
            moved[place] = append(value)
            continue
        operands = tuple(moved[operand] for operand in value.operands)
        if place in sums.values():
            twice = append(Operation("Add", (*operands, *operands), value.dtype))
            moved[place] = append(Operation("Sigmoid", (twice,), value.dtype))
        elif place in sums:
            half = moved[sums[place]]
            moved[place] = append(Operation("Add", (half, half), value.dtype))
        else:
            moved[place] = append(Operation(value.op_type, operands, value.dtype, value.attributes))
    outputs = tuple(Output(moved[output.value], output.access, output.keepdims) for output in expression.outputs)
    return Expression(tuple(values), outputs, expression.reduced)


def _one_plus_tanh(expression: Expression, place: int) -> int:
    """The place of the tanh where a value is the sum of 1 and a tanh, else 0, which is never an operation on others."""
    value = expression.values[place]
    if isinstance(value, Operation) and value.op_type == "Add":
        for one, other in (value.operands, value.operands[::-1]):
            first, second = expression.values[one], expression.values[other]
            if isinstance(first, Constant) and first.number == 1 and isinstance(second, Operation):
                return other if second.op_type == "Tanh" else 0
    return 0

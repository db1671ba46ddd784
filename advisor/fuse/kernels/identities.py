"""Formulas that are the same number with less work, put into an expression before its code is written."""

from __future__ import annotations

from collections import Counter

from advisor.fuse.kernels.expression import Constant, Expression, Operation, Output, Value

__all__ = ["simplified"]

MOST_DOUBLED = 2.0**100
"""Constants that are doubled: far below infinity."""


def simplified(expression: Expression) -> Expression:
    """The expression with 1 + tanh(u) as 2 sigmoid(2u): half the work, and exact where tanh(u) is close to -1.

    Only where nothing else reads the tanh. Factors of 2 go into constants where there are some, which loses nothing.
    """
    uses = Counter(operand for operation in expression.operations for operand in operation.operands)
    uses.update(output.value for output in expression.outputs)
    sums = {
        place: tanh
        for place in range(len(expression.values))
        if (tanh := _one_plus_tanh(expression, place)) is not None and uses[tanh] == 1
    }
    return _Simplified(expression, sums).result() if sums else expression


def _one_plus_tanh(expression: Expression, place: int) -> int | None:
    """The place of the tanh where a value is the sum of 1 and a tanh."""
    value = expression.values[place]
    if isinstance(value, Operation) and value.op_type == "Add":
        for one, other in (value.operands, value.operands[::-1]):
            first, second = expression.values[one], expression.values[other]
            is_tanh = isinstance(second, Operation) and second.op_type == "Tanh"
            if is_tanh and isinstance(first, Constant) and first.number == 1:
                return other
    return None


class _Simplified:
    """An expression while it is written anew.

    Attributes:
        values: Of the new expression.
        moved: Where the old values are now.
        halved: Old values of which the new one is the half.
    """

    def __init__(self, expression: Expression, sums: dict[int, int]) -> None:
        self.expression = expression
        self.values: list[Value] = []
        self.moved: dict[int, int] = {}
        self.halved: set[int] = set()
        for place, value in enumerate(expression.values):
            if place in sums:
                self.moved[place] = self.moved[sums[place]]
                self.halved.add(place)
            else:
                self.moved[place] = self._moved(place, value, is_sigmoid=place in sums.values())

    def result(self) -> Expression:
        """The new expression."""
        outputs = [
            Output(self._whole(output.value), output.access, output.keepdims) for output in self.expression.outputs
        ]
        return Expression(tuple(self.values), tuple(outputs), self.expression.reduced)

    def _moved(self, place: int, value: Value, *, is_sigmoid: bool) -> int:
        if not isinstance(value, Operation):
            return self._append(value)
        if is_sigmoid:
            return self._append(Operation("Sigmoid", (self._twice(self._whole(value.operands[0])),), value.dtype))
        halves = [operand for operand in value.operands if operand in self.halved]
        if value.op_type == "Mul" and len(halves) == 1:
            other = next(operand for operand in value.operands if operand not in self.halved)
            half, factor = self.moved[halves[0]], self._twice_for_nothing(self.moved[other])
            if factor is None:
                self.halved.add(place)
                factor = self.moved[other]
            return half if self._is_one(factor) else self._append(Operation("Mul", (half, factor), value.dtype))
        operands = tuple(self._whole(operand) for operand in value.operands)
        return self._append(Operation(value.op_type, operands, value.dtype, value.attributes))

    def _append(self, value: Value) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def _whole(self, old: int) -> int:
        """The new place of an old value, itself and not its half."""
        return self._twice(self.moved[old]) if old in self.halved else self.moved[old]

    def _twice(self, place: int) -> int:
        for_nothing = self._twice_for_nothing(place)
        if for_nothing is not None:
            return for_nothing
        return self._append(Operation("Add", (place, place), self.values[place].dtype))

    def _twice_for_nothing(self, place: int) -> int | None:
        """Twice a value where it is a constant or a product with one."""
        value = self.values[place]
        if isinstance(value, Constant):
            return self._append(Constant(value.dtype, 2 * value.number)) if abs(value.number) < MOST_DOUBLED else None
        if isinstance(value, Operation) and value.op_type == "Mul":
            for factor, other in (value.operands, value.operands[::-1]):
                is_constant = isinstance(self.values[factor], Constant)
                if is_constant and (twice := self._twice_for_nothing(factor)) is not None:
                    return other if self._is_one(twice) else self._append(Operation("Mul", (other, twice), value.dtype))
        return None

    def _is_one(self, place: int) -> bool:
        value = self.values[place]
        return isinstance(value, Constant) and value.number == 1

"""Several narrow columns of a table read as one number a row, since a value costs more to hand over than to compute.

In most traces many columns hold one number (process, device, context), and others numbers that lie close together
(streams, names, correlation ids). What a column holds is guessed from a sample of its rows, and SQLite checks the guess
in every row: where it is wrong the packed number is NULL, and the rows have to be read column by column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Packing", "packing"]

BITS = 62
"""Of a packed number, which is never negative."""
FARTHEST = 1 << 61
"""From 0, so that the arithmetic stays within 64 bits."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A column's numbers from `low` on, in `bits` bits of the packed number, `shift` bits from its right end."""

    column: int
    low: int
    bits: int
    shift: int


@dataclass(frozen=True, slots=True)
class Packing:
    """How the columns of a table are read: places in the list of its columns, which are SQL expressions."""

    columns: tuple[str, ...]
    constants: dict[int, int | None]
    """Columns of one number, or of NULL only."""
    fields: tuple[_Field, ...]
    plain: tuple[int, ...]
    """Columns that are read as they are."""

    def expressions(self) -> list[str]:
        """What to select: the packed number, NULL where a row does not fit, and the other columns."""
        checks = [f"{self.columns[place]} IS {_sql(value)}" for place, value in self.constants.items()]
        terms = ["0"]
        for field in self.fields:
            column = self.columns[field.column]
            checks.append(f"{column} BETWEEN {field.low} AND {field.low + (1 << field.bits) - 1}")
            # Sums and products, not shifts: those would make integers of broken numbers.
            terms.append(f"({column} + {-field.low}) * {1 << field.shift}")
        packed = f"CASE WHEN {' AND '.join(checks)} THEN {' + '.join(terms)} END"
        return [packed, *(self.columns[place] for place in self.plain)]

    def unpack(self, values: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """The columns, shape (rows,) each and maybe read-only, from what `expressions` gave where no row was NULL."""
        packed, *others = values
        found = dict(zip(self.plain, others, strict=True))
        for place, value in self.constants.items():
            found[place] = np.broadcast_to(np.int64(value or 0), packed.shape)
        for field in self.fields:
            column = packed >> field.shift
            column &= (1 << field.bits) - 1
            column += field.low
            found[field.column] = column
        return [found[place] for place in range(len(self.columns))]


def packing(columns: Sequence[str], sample: Sequence[Sequence[object]]) -> Packing | None:
    """Choose how to read a table; None where its columns are better read as they are.

    Args:
        columns: SQL expressions.
        sample: Some rows of their values.
    """
    constants: dict[int, int | None] = {}
    ranges: list[tuple[int, int, int]] = []
    for place, values in enumerate(zip(*sample, strict=True)):
        distinct = set(values)
        numbers = [value for value in distinct if isinstance(value, int)]
        if len(distinct) == 1 and (numbers or distinct == {None}):
            constants[place] = numbers[0] if numbers else None
        elif len(numbers) == len(distinct) and all(abs(number) < FARTHEST for number in numbers):
            ranges.append((max(numbers) - min(numbers), min(numbers), place))
    ranges.sort()
    # Most rows are not in the sample: four times its range at least.
    bits = [(4 * width + 64).bit_length() for width, _, _ in ranges]
    while sum(bits) > BITS:
        bits.pop()
    if len(constants) + len(bits) < 2:
        return None
    spare = (BITS - sum(bits)) // max(len(bits), 1)
    fields, shift = [], 0
    for size, (width, least, place) in zip((each + spare for each in bits), ranges, strict=False):
        fields.append(_Field(place, least - ((1 << size) - width) // 4, size, shift))
        shift += size
    packed = {*constants, *(field.column for field in fields)}
    plain = tuple(place for place in range(len(columns)) if place not in packed)
    return Packing(tuple(columns), constants, tuple(fields), plain)


def _sql(value: int | None) -> str:
    return "NULL" if value is None else str(value)

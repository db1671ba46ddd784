"""Orders the work on one row: one loop over its columns for each depth of reductions.

A value that depends on no reduction is ready in loop 0; a reduction's result after the loop that runs over its operand.
What a later loop needs again is either computed anew or kept, by its cost, in the row of an output that is not written
yet: that row lies in the cache, and needs no memory of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from advisor.fuse.kernels.expression import REDUCTIONS, Access, Expression, Input, Operation
from advisor.fuse.kernels.operators import EXPENSIVE, MEMORY, REGISTER

__all__ = ["Loop", "Plan", "plan"]

_WORTH_KEEPING = 4
"""Cost, in additions, above which storing and loading a value is cheaper than computing it anew."""


@dataclass(frozen=True)
class Loop:
    """One pass over the columns of a row.

    Attributes:
        reductions: Places of the reductions that it accumulates.
        outputs: Numbers of the outputs, of access COLUMNS, that it writes.
        kept: For values that it computes and keeps, the output in whose row.
        loaded: For values that an earlier loop kept, the output in whose row they lie.
    """

    reductions: tuple[int, ...]
    outputs: tuple[int, ...]
    kept: dict[int, int]
    loaded: dict[int, int]


@dataclass(frozen=True)
class Plan:
    """All loops, and for each value the number of the first loop in which its operands are known."""

    loops: tuple[Loop, ...]
    stage: tuple[int, ...]


def plan(expression: Expression, on_rows: tuple[bool, ...]) -> Plan:
    """Decide which loop computes what.

    Args:
        expression: What to compute.
        on_rows: For each value, whether it is one for the whole row.
    """
    stage = _stages(expression)
    columns = [n for n, output in enumerate(expression.outputs) if output.access is Access.COLUMNS]
    reductions = [place for place, value in enumerate(expression.values) if _reduces(value)]
    count = max([stage[place] for place in reductions] + [stage[expression.outputs[n].value] + 1 for n in columns])
    accumulated = [tuple(place for place in reductions if stage[place] == loop + 1) for loop in range(count)]
    written = [tuple(n for n in columns if stage[expression.outputs[n].value] == loop) for loop in range(count)]
    targets = [
        [operand for place in accumulated[loop] for operand in _operands(expression, place)]
        + [expression.outputs[n].value for n in written[loop]]
        for loop in range(count)
    ]
    loaded: list[dict[int, int]] = [{} for _ in range(count)]
    kept: list[dict[int, int]] = [{} for _ in range(count)]
    for loop in range(count - 1):
        here = _needed(expression, targets[loop], on_rows, loaded[loop])
        for place in _kept_candidates(expression, here, targets, on_rows, loaded, loop):
            readers = [
                later
                for later in range(loop + 1, count)
                if place in _needed(expression, targets[later], on_rows, loaded[later])
            ]
            for row in _rows_for(expression, place, readers[-1], stage) if readers else ():
                # what is loaded in the loops after this one once the value is: some of it only served to compute it
                after: dict[int, dict[int, int]] = {}
                for later in range(loop + 1, count):
                    with_it = {**loaded[later], place: row} if later in readers else loaded[later]
                    still = _needed(expression, targets[later], on_rows, with_it)
                    after[later] = {known: of for known, of in with_it.items() if known in still}
                holds_another = any(
                    of == row and known != place for known_later in after.values() for known, of in known_later.items()
                )
                if holds_another or row in kept[loop].values():
                    continue
                for later, known_later in after.items():
                    loaded[later] = known_later
                if expression.outputs[row].value != place:
                    kept[loop][place] = row
                break
    return Plan(
        tuple(Loop(accumulated[n], written[n], kept[n], loaded[n]) for n in range(count)),
        tuple(stage),
    )


def _reduces(value: object) -> bool:
    return isinstance(value, Operation) and value.op_type in REDUCTIONS


def _operands(expression: Expression, place: int) -> tuple[int, ...]:
    value = expression.values[place]
    return value.operands if isinstance(value, Operation) else ()


def _stages(expression: Expression) -> list[int]:
    stage: list[int] = []
    for place, value in enumerate(expression.values):
        depth = max((stage[operand] for operand in _operands(expression, place)), default=0)
        stage.append(depth + _reduces(value))
    return stage


def _needed(
    expression: Expression, targets: list[int], on_rows: tuple[bool, ...], loaded: dict[int, int]
) -> dict[int, None]:
    """Places of the values that a loop computes or loads for each column, in order of their places."""
    found: set[int] = set()
    waiting = list(targets)
    while waiting:
        place = waiting.pop()
        if place in found or on_rows[place]:
            continue
        found.add(place)
        if place not in loaded:
            waiting.extend(_operands(expression, place))
    return dict.fromkeys(sorted(found))


def _kept_candidates(
    expression: Expression,
    here: dict[int, None],
    targets: list[list[int]],
    on_rows: tuple[bool, ...],
    loaded: list[dict[int, int]],
    loop: int,
) -> list[int]:
    """Values of this loop that a later one needs and that cost more than keeping them; the most expensive first."""
    cost = _costs(expression, here, on_rows, loaded[loop])
    wanted: set[int] = set()
    for later in range(loop + 1, len(targets)):
        needed = _needed(expression, targets[later], on_rows, loaded[later])
        # only where this loop's work ends: what lies below need not be computed again once that is kept
        ends = set(targets[later]) | {
            operand for place in needed if place not in here for operand in _operands(expression, place)
        }
        wanted |= {place for place in ends if place in here and place in needed}
    outputs = {output.value for output in expression.outputs}
    worth = [
        place
        for place in wanted
        if isinstance(expression.values[place], Operation)
        and place not in loaded[loop]
        and cost[place] >= (_WORTH_KEEPING if place not in outputs else 2)
    ]
    return sorted(worth, key=lambda place: (-cost[place], place))


def _costs(
    expression: Expression, here: dict[int, None], on_rows: tuple[bool, ...], loaded: dict[int, int]
) -> dict[int, int]:
    """Cost of each value with all that it needs, at most; shared parts count each time."""
    costs: dict[int, int] = {}
    for place in here:
        value = expression.values[place]
        if place in loaded or isinstance(value, Input):
            costs[place] = 1
        elif isinstance(value, Operation):
            own = EXPENSIVE.get(value.op_type, 1)
            costs[place] = min(10**6, own + sum(costs[o] for o in value.operands if not on_rows[o]))
    return costs


def _rows_for(expression: Expression, place: int, last: int, stage: list[int]) -> list[int]:
    """The outputs whose rows could hold a value until the last loop that reads it; its own, if it has one, first."""
    type_ = REGISTER[expression.dtype(place)]
    fitting = [
        n
        for n, output in enumerate(expression.outputs)
        if output.access is Access.COLUMNS and MEMORY[expression.dtype(output.value)] == type_
    ]
    own = [n for n in fitting if expression.outputs[n].value == place]
    return own + [n for n in fitting if n not in own and stage[expression.outputs[n].value] >= last]

"""The table of `benchmarks.zoo` in Markdown, and what it answers: is any model slower than the best of the others?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from advisor.measure.statistics import MARGIN, Interval, Verdict, is_not_slower, judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["ADVISOR", "ALONE", "GOALS", "Row", "Table", "as_markdown", "cell", "faster_than_advisor", "reaches"]

ADVISOR = "advisor"
ALONE = "ONNX Runtime alone"
GOALS = {
    "mobilenetv3": 0.88,
    "ppocr_cls": 0.77,
    "minilm.dynamo": 0.93,
    "minilm_dynint8": 0.90,
    "dit_6L": 1.0,
    "whisper_tiny_enc": 1.0,
    "conformer": 1.0,
}
"""Ratios to be reached at most, by the beginning of a model's name; 1 is reached where it is faster beyond noise."""
NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One contestant on one model; a reason stands where there is no ratio."""

    contestant: str
    ratio: Interval | None = None
    a_a: Interval | None = None
    reason: str = ""
    seconds: float = 0.0
    """To fuse or optimise; 0 where that is not known."""
    kept: tuple[str, ...] = ()

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Row:
        """A row from what `dataclasses.asdict` made of it, and JSON of that."""
        intervals = {name: None if row[name] is None else Interval(**row[name]) for name in ("ratio", "a_a")}
        return cls(**{**row, **intervals, "kept": tuple(row["kept"])})


Table = dict[str, list[Row]]
"""The rows of each model, by its name."""


def as_markdown(table: Table, setting: str, command: str) -> str:
    """The table and what follows from it.

    Args:
        table: What was measured.
        setting: A sentence on when and on what it was measured.
        command: The command line that made it.
    """
    names = list(dict.fromkeys(row.contestant for rows in table.values() for row in rows))
    lines = [
        "# What fusing gains on real models",
        "",
        f"Latency over that of {ALONE} at ORT_ENABLE_ALL, on its CPU provider, with the 95 % interval; under 1 is"
        " faster. Each contestant is proven against the unoptimised model and raced against the original in the same"
        " rounds; *A/A* is a second session of it in a contestant's place: what it spans is noise (that of advisor's"
        f" race). The fastest of a row is bold; none is where {ALONE} is. Where advisor kept nothing, its contestant is"
        " the original.",
        "",
        f"{setting} Made by",
        "",
        f"    {command}",
        "",
        f"| model | {' | '.join(names)} | A/A | kept |",
        f"| --- | {'---: | ' * len(names)}---: | --- |",
        *(_line(model, rows, names) for model, rows in table.items()),
    ]
    means = [_mean(row.ratio for row in _of(table, name)) for name in names]
    lines.append(f"| geometric mean | {' | '.join(means)} | | |")
    took = "; ".join(filter(None, (_took(table, name) for name in names)))
    lines += ["", f"To fuse or optimise a model took {took}."] if took else []
    lines += ["", "## Against the best of the others", "", *_against_others(table)]
    lines += ["", "## Against the goals", "", *_against_goals(table)]
    reasons = [
        f"- {model}, {row.contestant}: {row.reason}" for model, rows in table.items() for row in rows if row.reason
    ]
    lines += ["", "## Without a result", "", *reasons] if reasons else []
    return "\n".join(lines) + "\n"


def faster_than_advisor(rows: Sequence[Row]) -> list[str]:
    """Who is faster than advisor on a model by more than noise, the fastest first; ONNX Runtime alone is one of them.

    That one is when advisor's race says "slower". Another optimiser is when the two intervals lie apart, and the
    quotient of the two ratios is further from 1 than any end of either A/A interval.
    """
    mine = next((row for row in rows if row.contestant == ADVISOR), None)
    if mine is None or mine.ratio is None or mine.a_a is None:
        return []
    faster = [(1.0, ALONE)] if judge(mine.ratio, mine.a_a) is Verdict.SLOWER else []
    for other in rows:
        if other is mine or other.ratio is None or other.a_a is None:
            continue
        quotient = Interval(
            mine.ratio.ratio / other.ratio.ratio, mine.ratio.low / other.ratio.high, mine.ratio.high / other.ratio.low
        )
        noise = Interval(1.0, min(mine.a_a.low, other.a_a.low), max(mine.a_a.high, other.a_a.high))
        if judge(quotient, noise) is Verdict.SLOWER:
            faster.append((other.ratio.ratio, other.contestant))
    return [name for _, name in sorted(faster)]


def reaches(row: Row, goal: float) -> bool:
    """Whether a ratio is at most GOAL; of a goal of 1, whether it is under 1 with its whole interval and beyond A/A."""
    if row.ratio is None or row.a_a is None:
        return False
    return judge(row.ratio, row.a_a) is Verdict.FASTER if goal == 1 else row.ratio.ratio <= goal


def cell(row: Row, *, bold: bool = False) -> str:
    """A ratio with its interval, or that there is none."""
    if row.ratio is None:
        return "wrong" if row.reason.startswith("wrong") else "no result"
    ratio = f"**{row.ratio.ratio:.3f}**" if bold else f"{row.ratio.ratio:.3f}"
    return f"{ratio} ({row.ratio.low:.3f} to {row.ratio.high:.3f})"


def _line(model: str, rows: Sequence[Row], names: Sequence[str]) -> str:
    best = min((row.ratio.ratio for row in rows if row.ratio is not None), default=1.0)
    cells = {
        row.contestant: cell(row, bold=best < 1 and row.ratio is not None and row.ratio.ratio == best) for row in rows
    }
    mine = next((row for row in rows if row.contestant == ADVISOR), rows[0])
    noise = NOTHING if mine.a_a is None else f"{mine.a_a.low:.3f} to {mine.a_a.high:.3f}"
    columns = [model, *(cells.get(name, NOTHING) for name in names), noise, ", ".join(mine.kept) or NOTHING]
    return f"| {' | '.join(columns)} |"


def _against_others(table: Table) -> Iterator[str]:
    mine = {model: row for model, rows in table.items() for row in rows if row.contestant == ADVISOR}
    compared = [model for model, row in mine.items() if row.ratio is not None]
    slower = {model: faster for model in compared if (faster := faster_than_advisor(table[model]))}
    yield (
        f"Models on which advisor is slower than {ALONE} or another optimiser by more than noise (the intervals lie"
        " apart, and the quotient is further from 1 than A/A reaches):"
        f" {len(slower) or 'none'} of {len(compared)} compared."
    )
    if slower:
        yield ""
    for model, faster in slower.items():
        cells = {row.contestant: f"{row.contestant} {cell(row)}" for row in table[model]}
        same = "" if mine[model].kept else ", which is the original: it kept nothing"
        yield f"- {model}: {cells[ADVISOR]}{same}; faster: {', '.join(cells.get(name, name) for name in faster)}"
    hidden = [model for model in compared if model not in slower and not _is_shown(mine[model])]
    if hidden:
        yield ""
        yield f"The interval would hide a loss of over {100 * MARGIN:.0f} % against {ALONE} on: {', '.join(hidden)}."
    missing = [model for model in table if model not in compared]
    if missing:
        yield ""
        yield f"Not compared, for want of a result of advisor: {', '.join(missing)}."


def _is_shown(row: Row) -> bool:
    return row.ratio is not None and row.a_a is not None and is_not_slower(row.ratio, row.a_a)


def _against_goals(table: Table) -> Iterator[str]:
    found = False
    for begin, goal in GOALS.items():
        for model, rows in table.items():
            for row in rows:
                if model.startswith(begin) and row.contestant == ADVISOR and row.ratio is not None:
                    found = True
                    wanted = "faster beyond noise" if goal == 1 else f"≤ {goal}"
                    yield f"- {model}: {cell(row)}, {'reached' if reaches(row, goal) else 'missed'} ({wanted})"
    if not found:
        yield "No model that has one was measured."


def _of(table: Table, name: str) -> Iterator[Row]:
    return (row for rows in table.values() for row in rows if row.contestant == name)


def _mean(ratios: Iterable[Interval | None]) -> str:
    known = [math.log(ratio.ratio) for ratio in ratios if ratio is not None]
    return f"{math.exp(sum(known) / len(known)):.3f} of {len(known)}" if known else NOTHING


def _took(table: Table, name: str) -> str:
    took = {model: row.seconds for model, rows in table.items() for row in rows if row.contestant == name}
    took = {model: seconds for model, seconds in took.items() if seconds}
    if not took:
        return ""
    slowest = max(took, key=lambda model: took[model])
    return f"{name} {median(took.values()):.1f} s (median; most {took[slowest]:.1f} s, {slowest})"

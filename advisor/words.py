"""How figures and names are written for people."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "counted",
    "duration",
    "duration_range",
    "percent",
    "plain",
    "short_name",
    "short_names",
    "shortened",
    "titled",
    "told_apart",
]

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))


def plain(text: str) -> str:
    """TEXT without what could move the cursor, change colours or reorder a line: names come from strangers."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def titled(name: str) -> str:
    """A range's or graph's name as it is; an empty one says so."""
    return plain(name) if name.strip() else NO_NAME


def duration(ns: float) -> str:
    """A time with three significant digits: `12.3 µs`."""
    for size, unit in _UNITS:
        value = ns / size
        # What would round up to 1,000 is written in the next larger unit.
        if abs(value) >= 0.9995:
            digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
            return f"{value:,.{digits}f} {unit}"
    return f"{ns:.0f} ns"


def duration_range(low: float, high: float) -> str:
    """A range of times, the unit once if both have it: `310 to 420 µs`; from next to nothing on: `at most 420 µs`."""
    first, last = duration(low), duration(high)
    if first == last:
        return last
    if low < high / 100:
        return f"at most {last}"
    number, unit = first.split(" ")
    return f"{number if last.endswith(f' {unit}') else first} to {last}"


def percent(ratio: float | None) -> str:
    """A ratio as a percentage, `-` where it is absent."""
    if ratio is None:
        return "-"
    value = 100 * ratio
    if value and abs(value) < 0.1:
        return "<0.1 %"
    if 99.5 <= value < 100:
        return ">99 %"  # what is not all is not said to be
    return f"{value:.1f} %" if abs(value) < 10 else f"{value:.0f} %"


def counted(count: int, one: str, several: str | None = None) -> str:
    """A number and what it counts: `1 kernel`, `2,000 kernels`; SEVERAL where an s is not enough."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


NO_NAME = "(no name)"
_RETURN_TYPE = re.compile(r"^(static |inline )*void ")


def short_name(name: str) -> str:
    """A kernel's name without what every kernel's name has; an empty one says so."""
    return plain(_RETURN_TYPE.sub("", name).replace("(anonymous namespace)::", "")).strip() or NO_NAME


def short_names(names: Iterable[str]) -> dict[str, str]:
    """How to write each of NAMES, whole, so that no two are the same text: their `short_name` where that does it."""
    distinct = list(dict.fromkeys(names))
    shared = Counter(map(short_name, distinct))
    texts = {name: short_name(name) if shared[short_name(name)] == 1 else plain(name) for name in distinct}
    return _numbered(texts)


def shortened(names: Iterable[str], longest: int) -> dict[str, str]:
    """How to write NAMES in at most LONGEST letters each (6 or more), so that no two are the same text."""
    shown = told_apart(list(names), longest)
    cut = {name: text if len(text) <= longest else f"{text[: longest - 1]}…" for name, text in shown.items()}
    return _numbered(cut, longest)


def _numbered(texts: dict[str, str], longest: int | None = None) -> dict[str, str]:
    """TEXTS, of which those that would be the same end in a number."""
    used: set[str] = set()
    for name, text in texts.items():
        number, unique = 1, text
        while unique in used:
            number += 1
            end = f" #{number}"
            unique = (text if longest is None else text[: longest - len(end)]) + end
        used.add(unique)
        texts[name] = unique
    return texts


def told_apart(names: Sequence[str], longest: int) -> dict[str, str]:
    """How to write NAMES so that they differ within LONGEST letters: of what they have in common the middle goes."""
    shown: dict[str, str] = {}
    head = longest // 4

    def tell(group: list[str], since: int) -> None:
        def written(name: str) -> str:
            return name if since <= head else f"{name[:head]}…{name[since:]}"

        for _, part in groupby(sorted(group), key=lambda name: written(name)[: longest - 1]):
            alike = list(part)
            # Half of what is left stands before the first difference.
            begin = _common(alike[0], alike[-1]) - (longest - head) // 2
            if len(alike) == 1 or begin <= max(since, head):
                shown.update((name, written(name)) for name in alike)
            else:
                tell(alike, begin)

    tell(list(dict.fromkeys(names)), 0)
    return shown


def _common(one: str, other: str) -> int:
    """How many letters two names begin with alike."""
    alike = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(alike, min(len(one), len(other)))

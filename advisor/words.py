"""How figures and names are written for people."""

from __future__ import annotations

import re

__all__ = ["counted", "duration", "duration_range", "percent", "plain", "short_name"]

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))


def plain(text: str) -> str:
    """TEXT without what could move the cursor, change colours or reorder a line: names come from strangers."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


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
    """A range of times, the unit once where both have the same: `310 to 420 µs`; from nothing on: `at most 420 µs`."""
    first, last = duration(low), duration(high)
    if first == last:
        return last
    if not low:
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
    return f"{value:.1f} %" if abs(value) < 10 else f"{value:.0f} %"


def counted(count: int, one: str, several: str | None = None) -> str:
    """A number and what it counts: `1 kernel`, `2,000 kernels`; SEVERAL where an s is not enough."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


_RETURN_TYPE = re.compile(r"^(static |inline )*void ")


def short_name(name: str) -> str:
    """A kernel's name without what every kernel's name has; an empty one says so."""
    return plain(_RETURN_TYPE.sub("", name).replace("(anonymous namespace)::", "")).strip() or "(no name)"

"""Values of options that more than one command takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import typer

from advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["check_apart", "is_same_file", "parse_ratio", "parse_sizes", "parse_time"]

LARGEST_BATCH = 65_536
_NS = {"s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1.0, "": 1e9}


def parse_time(text: str) -> int:
    """A time such as `1.5s`, `200ms`, `30us` (seconds without a unit), in ns."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(s|ms|us|µs|ns|)\s*", text)
    if match is None:
        raise typer.BadParameter(f"{text!r} is no time: write 1.5s, 200ms or 30us")
    return round(float(match[1]) * _NS[match[2]])


def parse_ratio(text: str) -> float:
    """A ratio such as `0.2` or `20%`."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", text)
    ratio = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    if not 0 <= ratio <= 1:
        raise typer.BadParameter(f"{text!r} is no ratio: write 0.2 or 20%")
    return ratio


def parse_sizes(text: str | None) -> tuple[int, ...]:
    """Sizes such as `1,2,4`, ascending, each once."""
    if text is None:
        return ()
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 0 < int(part) <= LARGEST_BATCH for part in parts):
        raise BadInput(f"--batch-sizes {text!r} is no list of sizes from 1 to {LARGEST_BATCH:,}, such as 1,2,4,8,16")
    return tuple(sorted({int(part) for part in parts}))


def check_apart(option: str, target: Path | None, others: Iterable[Path | None]) -> None:
    """A file that OPTION writes never takes the place of another file of this run, also not through a link."""
    if target is None or str(target) == "-":
        return
    for other in others:
        if other is not None and is_same_file(target, other):
            raise BadInput(f"{option} {target} is also {other}: name another file")


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, also through a link, and also where it does not exist yet."""
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))

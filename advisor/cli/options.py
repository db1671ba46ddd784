"""Values of options that more than one command takes."""

from __future__ import annotations

import re

import typer

__all__ = ["parse_ratio", "parse_time"]

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

"""Pictures of latency ratios with their intervals, as SVG: bars below each other, and a curve over batch sizes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from advisor.report.elements import el

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

    from advisor.measure.statistics import Interval

__all__ = ["Bar", "bars", "curve"]

WIDTH = 640
LEFT, RIGHT, ROW = 118, 16, 34
HEIGHT, BOTTOM, TOP = 240, 34, 12


class Bar(NamedTuple):
    """One interval to draw."""

    label: str
    interval: Interval
    kind: str
    """Class of its style: `gain`, `loss` or `noise`."""


def bars(rows: Sequence[Bar], *, label: str) -> Element:
    """Each ratio as a point with its interval, on one scale on which 1, the original, is marked."""
    low, high = _range([row.interval for row in rows])
    height = ROW * len(rows) + BOTTOM

    def x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    picture = _picture(height, label)
    for tick in _ticks(low, high):
        picture.append(_line(x(tick), 4, x(tick), height - BOTTOM, "one" if tick == 1 else "grid"))
        picture.append(_text(x(tick), height - BOTTOM + 17, f"{tick:g}", "middle"))
    for number, row in enumerate(rows):
        y = ROW * number + ROW / 2
        picture.append(_text(LEFT - 12, y + 4, row.label, "end"))
        picture.append(_line(x(row.interval.low), y, x(row.interval.high), y, f"interval {row.kind}"))
        picture.append(el("circle", {"cx": x(row.interval.ratio), "cy": y, "r": 5, "class": row.kind}))
    return picture


def curve(points: Sequence[tuple[int, Interval]], *, label: str) -> Element:
    """Ratios over batch sizes; sizes stand apart by their logarithm."""
    low, high = _range([interval for _, interval in points])
    first, last = math.log(points[0][0]), math.log(points[-1][0])

    def x(batch: int) -> float:
        inner = WIDTH - 60 - 2 * RIGHT
        return 60 + RIGHT + (inner / 2 if first == last else (math.log(batch) - first) / (last - first) * inner)

    def y(value: float) -> float:
        return TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)

    picture = _picture(HEIGHT, label)
    for tick in _ticks(low, high):
        picture.append(_line(60, y(tick), WIDTH - RIGHT, y(tick), "one" if tick == 1 else "grid"))
        picture.append(_text(52, y(tick) + 4, f"{tick:g}", "end"))
    path = " ".join(f"{x(batch):.1f},{y(interval.ratio):.1f}" for batch, interval in points)
    picture.append(el("polyline", {"points": path, "class": "curve"}))
    for batch, interval in points:
        kind = "gain" if interval.high < 1 else "loss" if interval.low > 1 else "noise"
        picture.append(_line(x(batch), y(interval.low), x(batch), y(interval.high), f"interval {kind}"))
        picture.append(el("circle", {"cx": x(batch), "cy": y(interval.ratio), "r": 4.5, "class": kind}))
        picture.append(_text(x(batch), HEIGHT - BOTTOM + 20, str(batch), "middle"))
    return picture


def _range(intervals: Sequence[Interval]) -> tuple[float, float]:
    """A scale that holds all intervals and 1, with some room."""
    low = min(1.0, *(interval.low for interval in intervals))
    high = max(1.0, *(interval.high for interval in intervals))
    room = max(high - low, 0.02) * 0.08
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between LOW and HIGH, 1 among them."""
    step = next(
        size * 10.0**power for power in range(-4, 4) for size in (1, 2, 5) if (high - low) / (size * 10.0**power) <= 6
    )
    first, last = math.ceil((low - 1) / step), math.floor((high - 1) / step)
    return [round(1 + number * step, 6) for number in range(first, last + 1)]


def _picture(height: float, label: str) -> Element:
    return el("svg", {"viewBox": f"0 0 {WIDTH} {height:g}", "class": "plot", "role": "img", "aria-label": label})


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Element:
    return el("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "class": kind})


def _text(x: float, y: float, text: str, anchor: str) -> Element:
    return el("text", {"x": x, "y": y, "text-anchor": anchor}, text)

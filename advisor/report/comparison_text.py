"""A comparison in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from advisor.report.words import duration, percent, plain

if TYPE_CHECKING:
    from rich.console import RenderableType

    from advisor.gate.compare import Comparison

__all__ = ["render_comparison"]

STYLES = {"regressed": "red", "improved": "green", "incomparable": "yellow", "new": "cyan", "unchanged": ""}


def render_comparison(comparison: Comparison) -> RenderableType:
    """What `advisor gate` prints."""
    if comparison.regressed:
        headline = Text("FAILED: launch overhead regressed.", style="bold red")
    elif comparison.incomparable:
        headline = Text("CANNOT DECIDE: not every graph of the baseline could be compared.", style="bold yellow")
    else:
        headline = Text("PASSED: no launch-overhead regression.", style="bold green")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("graph", overflow="fold", ratio=1)
    table.add_column("fusible gap", justify="right")
    table.add_column("gap ratio", justify="right")
    table.add_column("verdict")
    for change in comparison.changes:
        table.add_row(
            Text(plain(change.name)),
            f"{_gap(change.baseline_gap_ns)} → {_gap(change.current_gap_ns)}",
            f"{percent(change.baseline_ratio)} → {percent(change.current_ratio)}",
            Text(f"{change.status}: {change.reason}", style=STYLES[change.status]),
        )
    return Group(headline, table)


def _gap(ns: int | None) -> str:
    return "-" if ns is None else duration(ns)

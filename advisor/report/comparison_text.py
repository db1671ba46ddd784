"""A comparison in a terminal: the verdict first, then what changed in which graph, by how much and how surely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from advisor.gate.measures import MEASURES
from advisor.gate.policy import Thresholds
from advisor.gate.result import Status, Verdict
from advisor.report.comparison_words import (
    amount,
    budget_words,
    change_words,
    command,
    executions,
    graph_outcome,
    headline,
    kernel_lines,
    outcome,
    shown_measures,
)
from advisor.words import counted, duration, percent, plain

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from advisor.gate.baseline import Baseline
    from advisor.gate.result import Comparison, GraphResult, MeasureResult
    from advisor.trace.samples import Samples

__all__ = ["render_baseline", "render_comparison"]

STYLES = {
    Status.REGRESSED: "red",
    Status.WAIVED: "yellow",
    Status.UNDECIDED: "yellow",
    Status.WORSE: "magenta",
    Status.IMPROVED: "green",
    Status.NEW: "cyan",
    Status.UNCHANGED: "",
}
VERDICT_STYLES = {Verdict.FAIL: "bold red", Verdict.UNDECIDED: "bold yellow", Verdict.PASS: "bold green"}
GRAPHS_LISTED = 20
INDENT = 2
BETWEEN = 3
"""Columns between two cells of a table."""
LONGEST_NAME = 100
"""So many letters of a kernel's name are shown."""
LEAST_NAME = 12
"""A graph's name may be folded to so many columns."""


def render_comparison(comparison: Comparison, width: int, *, verdict: bool = True) -> RenderableType:
    """What `advisor gate` prints, WIDTH columns wide; without the VERDICT what `advisor diff` prints."""
    parts: list[RenderableType] = []
    if verdict:
        parts.append(Text(headline(comparison), style=VERDICT_STYLES[comparison.verdict]))
    parts += [_line(f"{plain(name)}: " if name else "", reason, "yellow") for name, reason in comparison.undecided]
    for graph in comparison.graphs[:GRAPHS_LISTED]:
        parts += _graph(graph, width, verdict)
    if len(comparison.graphs) > GRAPHS_LISTED:
        parts.append(Text(f"\n{counted(len(comparison.graphs) - GRAPHS_LISTED, 'more graph')}: see --json"))
    if comparison.budgets:
        parts.append(Text("\nBudgets", style="bold"))
        for row in comparison.budgets:
            parts.append(_line(f"{plain(row.graph)}: {row.key} ", budget_words(row), STYLES[row.status]))
    if comparison.environment:
        parts.append(Text("\nThe runs differ in", style="bold"))
        parts += [_line(f"{what}: ", f"{before} → {after}") for what, before, after in comparison.environment]
    if comparison.notes:
        parts.append(Text("\nNotes", style="bold"))
        parts += [_line("", note) for note in comparison.notes]
    if any(row.low is not None for graph in comparison.graphs for row in graph.measures):
        parts.append(Text("\nMedians of an execution; in brackets the 90 % interval of the change.", style="dim"))
    return Group(*parts)


def _line(start: str, words: str, style: str = "", indent: int = INDENT) -> RenderableType:
    return Padding(Text(plain(start + words), style=style), (0, 0, 0, indent))


def _graph(graph: GraphResult, width: int, verdict: bool) -> list[RenderableType]:
    head = Text("\n")
    head.append(plain(graph.name), style="bold")
    head.append(f"  {graph_outcome(graph, verdict=verdict)}", style=STYLES[graph.status] if verdict else "")
    counts = executions(graph)
    head.append(f"  {graph.source}{', ' if counts else ''}{counts}", style="dim")
    parts: list[RenderableType] = [head]
    if graph.reason:
        parts.append(_line("", graph.reason, STYLES[graph.status]))
    if graph.unguarded not in ("", graph.reason):
        parts.append(_line("", graph.unguarded, "yellow"))
    rows = shown_measures(graph)
    parts += _measures(rows, width, verdict) if rows else []
    parts += [_line(f"{row.title}: ", row.reason, STYLES[row.status] if verdict else "") for row in rows if row.reason]
    parts += [_line("", line) for line in kernel_lines(graph, LONGEST_NAME)]
    shown = command(graph) if graph.status is Status.REGRESSED else None
    if shown:
        # To be copied whole, however long it is.
        parts.append(Text(f"{' ' * INDENT}look: {shown}", style="dim", no_wrap=True, overflow="ignore"))
    return parts


def _measures(rows: list[MeasureResult], width: int, verdict: bool) -> list[RenderableType]:
    cells = [
        (
            row.title,
            f"{amount(row.unit, row.baseline)} → {amount(row.unit, row.current)}",
            change_words(row),
            outcome(row, verdict=verdict),
            STYLES[row.status] if verdict else "",
        )
        for row in rows
    ]
    name = max(len(word) for title, *_ in cells for word in title.split())
    rest = [max(map(len, column)) for column in list(zip(*cells, strict=True))[1:4]]
    if INDENT + name + sum(rest) + len(rest) * BETWEEN > width:
        lines: list[RenderableType] = []
        for title, *figures, style in cells:
            lines.append(_line("", title))
            lines.append(_line("", (" " * BETWEEN).join(filter(None, figures)), style, 2 * INDENT))
        return lines
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False, show_edge=False)
    table.add_column(overflow="fold", min_width=name)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    for title, values, change, word, style in cells:
        table.add_row(title, values, change, Text(word, style=style))
    return [Padding(table, (0, 0, 0, INDENT))]


def render_baseline(baseline: Baseline, path: Path, accepted: Comparison | None, width: int) -> RenderableType:
    """What `advisor baseline` prints: what was recorded (medians over all runs), and whether it will be enough."""
    count = len(baseline.runs)
    parts: list[RenderableType] = [Text(f"Recorded {counted(count, 'run')} in {plain(str(path))}.")]
    graphs: dict[str, list[Samples]] = {}
    for run in baseline.runs:
        for samples in run.samples:
            graphs.setdefault(samples.graph, []).append(samples)
    count_of = {name: sum(samples.instances for samples in found) for name, found in graphs.items()}
    rows: list[tuple[str, ...]] = []
    for name, found in list(graphs.items())[:GRAPHS_LISTED]:
        gap, ratio = (
            float(np.median(np.concatenate([MEASURES[key].of(samples) for samples in found])))
            for key in ("fusible_gap", "gap_ratio")
        )
        kernels = f"{sum(found[0].counts):,}"
        rows.append((plain(name), kernels, f"{count_of[name]:,}", duration(gap), percent(ratio)))
    parts += _recorded(rows, width)
    for run in baseline.runs:
        if run.fusion is not None:
            parts.append(_line("", f"{run.fusion.model}: {duration(run.fusion.latency_ns)} on {run.fusion.provider}"))
    if count == 1:
        parts.append(_line("", "One run: how much runs drift is assumed. Give several and it is measured.", "yellow"))
    if any(executions_of < Thresholds().min_instances for executions_of in count_of.values()):
        parts.append(
            _line("", f"Statistics need {Thresholds().min_instances} executions of a graph: record more.", "yellow")
        )
    for first, other in baseline.strangers:
        parts.append(
            _line("", f"{other} shares no graph with {first}: a baseline is of several runs of one program.", "yellow")
        )
    if accepted is not None:
        parts += [Text("\nAccepted, and kept in the file's history:", style="bold"), *_accepted(accepted)]
    return Group(*parts)


def _recorded(rows: list[tuple[str, ...]], width: int) -> list[RenderableType]:
    headings = ("kernels", "executions", "fusible gap", "gap ratio")
    name = min(LEAST_NAME, max((len(row[0]) for row in rows), default=0))
    rest = [max(map(len, column)) for column in zip(headings, *(row[1:] for row in rows), strict=True)]
    if INDENT + name + sum(rest) + len(rest) * BETWEEN > width:
        lines: list[RenderableType] = []
        for graph, *figures in rows:
            lines.append(_line("", graph))
            lines += [
                _line(f"{heading}: ", value, indent=2 * INDENT)
                for heading, value in zip(headings, figures, strict=True)
            ]
        return lines
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    table.add_column("graph", overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for graph, *figures in rows:
        table.add_row(Text(graph), *figures)
    return [Padding(table, (0, 0, 0, INDENT))] if rows else []


def _accepted(comparison: Comparison) -> list[RenderableType]:
    lines: list[RenderableType] = [
        _line(
            f"{plain(graph.name)}: ",
            f"{row.title} {amount(row.unit, row.baseline)} → {amount(row.unit, row.current)}",
            STYLES[row.status],
        )
        for graph in comparison.graphs
        for row in graph.measures
        if row.status is not Status.UNCHANGED and row.basis != "shown"
    ]
    lines += [
        _line(f"{plain(name)}: " if name else "", f"{reason}, so it was not compared with the runs before", "yellow")
        for name, reason in comparison.undecided
    ]
    return lines or [_line("", "no change that counts")]

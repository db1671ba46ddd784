"""An analysis in a terminal: verdict first, then causes, kernels, graphs and what the trace does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from advisor.report.analysis_words import CAUSE_WORDS, headline, notes, whole_trace, worth
from advisor.report.words import duration, percent, plain, short_name
from advisor.trace.causes import FUSIBLE
from advisor.trace.verdicts import CANNOT_DECIDE

if TYPE_CHECKING:
    from rich.console import RenderableType

    from advisor.trace.analysis import Analysis

__all__ = ["render_analysis"]

BAR_WIDTH = 8
NARROW = 76
"""In fewer columns the less important figures are left out."""


def render_analysis(analysis: Analysis, *, top: int, width: int) -> RenderableType:
    """What `advisor analyze` prints.

    Args:
        analysis: The result.
        top: How many kernels, and how many graphs, are listed.
        width: How many columns there are.
    """
    narrow = width < NARROW
    parts: list[RenderableType] = [_summary(analysis), _causes(analysis, narrow), _kernels(analysis, top, narrow)]
    if analysis.graph_figures[0].source != "trace":
        parts.append(_graphs(analysis, top, narrow))
    parts += [Text(f"note: {note}", style="yellow") for note in notes(analysis)]
    return Group(*parts)


def _summary(analysis: Analysis) -> Panel:
    text = Text()
    text.append(headline(analysis), style="bold")
    text.append("\n" + worth(analysis))
    text.append("\n" + whole_trace(analysis))
    undecided = analysis.graph_figures[0].verdict == CANNOT_DECIDE
    colour = "red" if analysis.flagged else "yellow" if undecided else "green"
    return Panel(text, title=Text(plain(analysis.trace.path.name)), border_style=colour, box=box.ROUNDED)


def _cut(name: str) -> Text:
    """A name on one line, cut where the terminal ends; the numbers beside it stay whole."""
    return Text(name, no_wrap=True, overflow="ellipsis")


def _table(title: str) -> Table:
    return Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, expand=False
    )


def _causes(analysis: Analysis, narrow: bool) -> RenderableType:
    totals = analysis.totals
    if totals.exposed_gap_ns == 0:
        return Text("The GPU was never idle between its first and last work.\n")
    table = _table("Why the GPU was idle")
    table.add_column("cause")
    for heading in ("idle", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    if not narrow:
        table.add_column("", no_wrap=True, width=BAR_WIDTH)
    table.add_column("what it is")
    for cause, ns in sorted(totals.causes.items(), key=lambda item: -item[1]):
        if ns == 0:
            continue
        share = ns / totals.exposed_gap_ns
        removable = cause in FUSIBLE
        bar = Text("█" * round(share * BAR_WIDTH), style="red" if removable else "blue")
        name = cause.key + (" *" if removable else "")
        table.add_row(name, duration(ns), percent(share), *([] if narrow else [bar]), _cut(CAUSE_WORDS[cause]))
    of_span = percent(totals.fusible_gap_ns / totals.span_ns)
    footer = f"* fusion can remove it: {duration(totals.fusible_gap_ns)} in all, {of_span} of the time\n"
    return Group(table, Text(footer))


def _kernels(analysis: Analysis, top: int, narrow: bool) -> RenderableType:
    listed = analysis.kernel_figures[:top]
    rest = len(analysis.kernel_figures) - len(listed)
    table = _table("GPU work with the largest fusible gaps" + (f" ({rest:,} more names)" if rest > 0 else ""))
    table.add_column("name")
    if not narrow:
        table.add_column("class", no_wrap=True)
    for heading in ("count", "fusible", "ratio") if narrow else ("count", "GPU time", "fusible", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in listed:
        figures = [f"{row.count:,}", duration(row.duration_ns), duration(row.fusible_gap_ns), percent(row.gap_ratio)]
        if narrow:
            del figures[1]
        table.add_row(_cut(short_name(row.name)), *([] if narrow else [row.op_class]), *figures)
    return table


def _graphs(analysis: Analysis, top: int, narrow: bool) -> RenderableType:
    listed = analysis.graph_figures[:top]
    rest = len(analysis.graph_figures) - len(listed)
    table = _table("Graphs, medians over their instances" + (f" ({rest:,} more)" if rest > 0 else ""))
    table.add_column("graph")
    for heading in ("runs", "ratio") if narrow else ("runs", "kernels", "span", "ratio", "p95"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in listed:
        figures = [f"{row.instances:,}", percent(row.gap_ratio)]
        if not narrow:
            figures[1:1] = [f"{row.kernels_per_instance:,}", duration(row.span_ns)]
            figures.append(percent(row.p95_gap_ratio))
        table.add_row(_cut(plain(row.name)), *figures, Text(row.verdict, style="red" if row.flagged else ""))
    return table

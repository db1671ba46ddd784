"""An analysis in a terminal: verdict first, then causes, kernels, graphs and what the trace does not show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.padding import Padding
from rich.panel import Panel
from rich.text import Text

from advisor.report.analysis_words import (
    CAUSE_WORDS,
    LONGEST_TITLE,
    device_word,
    graph_names,
    headline,
    idle_title,
    longest_gaps,
    notes,
    overhead_words,
    whole_trace,
    worth,
)
from advisor.report.chain_names import chain_names
from advisor.report.tables import titled
from advisor.trace.causes import FUSIBLE
from advisor.trace.findings.finding import HIGH, INFO, MEDIUM
from advisor.trace.verdicts import CANNOT_DECIDE
from advisor.words import counted, duration, duration_range, percent, plain, short_names, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from advisor.trace.analysis import Analysis
    from advisor.trace.findings.finding import Finding

__all__ = ["render_analysis"]

BAR_WIDTH = 8
NARROW = 76
"""In fewer columns the less important figures are left out."""

WIDE = 100
"""From so many columns on there is room for the share of the time that a graph's runs take."""

LEAST_NAME = 6
"""Names have so many columns at least."""

LONGEST_NAME = 60
"""So many letters of a kernel's name stand in a sentence."""

NARROWEST = 56
"""In fewer columns the words on each cause stand below their table."""

FINDINGS = 3
"""So many are told unless more are asked for."""

CANDIDATES = 5
_IN_BACKTICKS = re.compile("`[^`]+`")
COLOURS = {HIGH: "red", MEDIUM: "yellow", INFO: "blue"}


def render_analysis(analysis: Analysis, *, top: int, width: int, findings: int = FINDINGS) -> RenderableType:
    """What `advisor analyze` prints.

    Args:
        analysis: The result.
        top: How many kernels, and how many graphs, are listed.
        width: How many columns there are.
        findings: How many findings are told.
    """
    parts: list[RenderableType] = [_summary(analysis), *_findings(analysis, findings), _causes(analysis, width)]
    parts += _longest_gaps(analysis)
    if analysis.candidates:
        parts.append(_candidates(analysis, min(top, CANDIDATES)))
    parts.append(_kernels(analysis, top, width))
    if analysis.graph_figures[0].source != "trace":
        parts.append(_graphs(analysis, top, width))
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


def _findings(analysis: Analysis, most: int) -> list[RenderableType]:
    """What to do: each rule once, with the graph that it matters most for."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in analysis.findings:
        by_rule.setdefault(finding.id, []).append(finding)
    if not by_rule:
        return []
    parts: list[RenderableType] = [Text("What to do", style="bold")]
    whole = short_names(row.name for row in analysis.kernel_figures).values()
    short = {f"`{name}`": f"`{text}`" for name, text in shortened(whole, LONGEST_NAME).items()}

    def told(sentence: str) -> str:
        return _IN_BACKTICKS.sub(lambda found: short.get(found[0], found[0]), sentence)

    for first, *others in list(by_rule.values())[:most]:
        text = Text.assemble((f"{first.id} ({first.severity})", COLOURS[first.severity]), f": {told(first.message)}")
        if others:
            text.append(f" {len(others)} more like this.")
        parts += [text, Padding(Text(f"→ {told(first.advice)}"), (0, 0, 0, 2))]
    rest = max(len(by_rule) - most, 0)
    more = f"; {rest} more with --findings {len(by_rule)}" if rest else ""
    return [*parts, Text(f"`advisor explain {next(iter(by_rule))}` says how it is told{more}.\n", style="dim")]


def _names(names: Sequence[str], figures: Sequence[Sequence[str]], width: int) -> dict[str, str]:
    """How to write NAMES in a column of a table WIDTH columns wide, whose other ones hold FIGURES, so that they differ.

    Args:
        names: Whole names.
        figures: The rows of the other columns, their heading one of them.
        width: How many columns the table may have.
    """
    others = [max(map(len, column)) for column in zip(*figures, strict=True)]
    # Rich puts three columns of space around each cell but at the table's edges.
    room = width - sum(others) - 3 * (len(others) + 1) + 1
    return shortened(names, max(room, LEAST_NAME))


def _causes(analysis: Analysis, width: int) -> RenderableType:
    narrow, told = width < NARROW, width >= NARROWEST
    totals, complete = analysis.totals, analysis.evidence.launches.complete
    if totals.exposed_gap_ns == 0:
        return Text(f"The {device_word(analysis)} was never idle between its first and last work.\n")
    table = titled(idle_title(analysis))
    table.add_column("cause", no_wrap=True)
    for heading in ("idle", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    if not narrow:
        table.add_column("", no_wrap=True, width=BAR_WIDTH)
    if told:
        table.add_column("what it is")
    listed = sorted((cause for cause, ns in totals.causes.items() if ns), key=lambda cause: -totals.causes[cause])
    for cause in listed:
        ns = totals.causes[cause]
        share = ns / totals.exposed_gap_ns
        removable = complete and cause in FUSIBLE
        bar = Text("█" * round(share * BAR_WIDTH), style="red" if removable else "blue")
        name = cause.key + (" *" if removable else "")
        table.add_row(
            name, duration(ns), percent(share), *([] if narrow else [bar]), *([CAUSE_WORDS[cause]] if told else [])
        )
    parts: list[RenderableType] = [table]
    if not told:
        parts.append(Text("; ".join(f"{cause.key}: {CAUSE_WORDS[cause]}" for cause in listed) + "\n"))
    if not complete:
        return Group(*parts)
    return Group(*parts, Text(f"* {overhead_words(analysis)}\n"))


def _longest_gaps(analysis: Analysis) -> list[RenderableType]:
    """When the device idled longest, and the options that show it."""
    lines = list(longest_gaps(analysis))
    if not lines:
        return []
    title = Text(LONGEST_TITLE, style="bold")
    return [title, *(Padding(Text(line.replace("`", "")), (0, 0, 0, 1)) for line in lines), Text()]


def _candidates(analysis: Analysis, most: int) -> RenderableType:
    """The chains of the graph in which fusing one saves most, and what its levers would save."""
    first = analysis.candidates[0]
    named = zip(analysis.candidates, chain_names(analysis.candidates, short=True), strict=True)
    mine = [pair for pair in named if (pair[0].graph, pair[0].variant) == (first.graph, first.variant)]
    listed, rest = mine[:most], max(len(mine) - most, 0)
    levers = next(each for each in analysis.levers if (each.graph, each.variant) == (first.graph, first.variant))
    whole = analysis.graph_figures[0].source == "trace"
    table = titled("Chains of kernels that could be one" + (f" ({rest:,} more)" if rest else ""))
    table.add_column("chain", overflow="fold")
    for heading in ("times" if whole else "a run", "saving, predicted"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row, name in listed:
        times = f"{row.occurrences:,} \N{MULTIPLICATION SIGN}"
        table.add_row(Text(name), times, duration_range(*row.saving_ns))
    where = "of this trace" if whole else f"of a run of {plain(first.graph)}"
    chains = f"All {levers.chains:,} chains" if levers.chains > 1 else "This chain"
    text = f"{chains} {where}: {duration_range(*levers.fusion_ns)}."
    if levers.capture_ns and levers.capture_ns[1]:
        text += f" CUDA graph capture instead: {duration_range(*levers.capture_ns)}."
    return Group(table, Text(text + "\n"))


def _kernels(analysis: Analysis, top: int, width: int) -> RenderableType:
    narrow = width < NARROW
    listed = analysis.kernel_figures[:top]
    rest = len(analysis.kernel_figures) - len(listed)
    device = device_word(analysis)
    table = titled(
        f"{device} work with the largest fusible gaps" + (f" ({counted(rest, 'more name')})" if rest > 0 else "")
    )
    table.add_column("name", no_wrap=True)
    if not narrow:
        table.add_column("class", no_wrap=True)
    headings = ["count", "fusible", "ratio"] if narrow else ["count", f"{device} time", "fusible", "ratio"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    rows = []
    for row in listed:
        figures = [f"{row.count:,}", duration(row.duration_ns), duration(row.fusible_gap_ns), percent(row.gap_ratio)]
        rows.append([figures[0], *figures[2:]] if narrow else [row.op_class, *figures])
    whole = short_names(row.name for row in analysis.kernel_figures)
    names = _names([whole[row.name] for row in listed], [*rows, headings if narrow else ["class", *headings]], width)
    for row, figures in zip(listed, rows, strict=True):
        table.add_row(Text(names[whole[row.name]]), *figures)
    return table


def _graphs(analysis: Analysis, top: int, width: int) -> RenderableType:
    narrow, wide = width < NARROW, width >= WIDE
    listed = analysis.graph_figures[:top]
    rest = len(analysis.graph_figures) - len(listed)
    table = titled("Graphs, medians over their instances" + (f" ({rest:,} more)" if rest > 0 else ""))
    table.add_column("graph", no_wrap=True)
    headings = (
        ["runs", "ratio"] if narrow else ["runs", "kernels", "time", *(["all runs"] if wide else []), "ratio", "p95"]
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    rows = []
    for row in listed:
        figures = [f"{row.instances:,}", percent(row.gap_ratio)]
        if not narrow:
            figures[1:1] = [
                f"{row.kernels_per_instance:,}",
                duration(row.time_ns),
                *([percent(row.time_share)] if wide else []),
            ]
            figures.append(percent(row.p95_gap_ratio))
        rows.append([*figures, row.verdict])
    whole = graph_names(analysis)[:top]
    names = _names(whole, [*rows, [*headings, "verdict"]], width)
    for row, name, (*figures, verdict) in zip(listed, whole, rows, strict=True):
        table.add_row(Text(names[name]), *figures, Text(verdict, style="red" if row.flagged else ""))
    return table

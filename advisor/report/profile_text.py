"""A model's profile in a terminal: a run and its gaps first, then what is missing, classes and nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from advisor.report.tables import titled
from advisor.trace.verdicts import CANNOT_DECIDE
from advisor.words import counted, duration, percent, plain

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from advisor.measure.profile import ModelProfile

__all__ = ["render_profile"]

BAR_WIDTH = 8
NARROW = 76
"""In fewer columns the less important figures are left out."""
BESIDE, BESIDE_NARROW, LEAST = 46, 38, 16
"""Columns that the figures beside a node's name take, and what is left to the name at least."""


def render_profile(profile: ModelProfile, *, top: int, width: int) -> RenderableType:
    """What `advisor profile` prints.

    Args:
        profile: The result.
        top: How many nodes are listed; on a GPU, how many kernels and graphs.
        width: How many columns there are.
    """
    parts: list[RenderableType] = [_summary(profile)]
    if profile.missing:
        parts.append(Text("No GPU was recorded; that needs", style="yellow"))
    for fact in profile.missing:
        advice = f" ({fact.advice})" if fact.advice else ""
        parts.append(Text(f"- {fact.subject}: {plain(fact.detail)}{advice}", style="yellow"))
    parts.append(_classes(profile, narrow=width < NARROW))
    if profile.nodes:
        parts.append(_nodes(profile, top, width))
    else:
        from advisor.report.analysis_text import render_analysis

        parts.append(render_analysis(profile.analysis, top=top, width=width))
    parts += [Text(f"note: {plain(note)}", style="yellow") for note in profile.notes]
    return Group(*parts)


def _summary(profile: ModelProfile) -> Panel:
    run, threshold = profile.run, percent(profile.analysis.threshold)
    unit = "node" if profile.recorder == "onnxruntime" else "kernel"
    text = Text()
    if profile.gaps_hidden:
        text.append(
            f"Cannot tell how much of a run passes between its {unit}s: while it is recorded, "
            f"{duration(run.fusible_gap_ns)} do, more than a whole run takes without the profiler "
            f"({duration(profile.latency_ns)}).",
            style="bold",
        )
    elif run.gap_ratio is None:
        text.append("Cannot decide: the recording does not show enough of the gaps.", style="bold")
    else:
        side = "over" if run.flagged else "not over"
        several = run.kernels_per_instance > 1
        between = f"that much of a run passes between its {unit}s" if several else f"a run is a single {unit}"
        text.append(
            f"Gap ratio {percent(run.gap_ratio)}, {side} the threshold of {threshold}: {between}.",
            style="bold",
        )
    text.append(f"\nA run takes {duration(profile.latency_ns)} at {profile.level.value}.")
    text.append(
        f" While it is recorded, {duration(run.span_ns)} in the median: {duration(run.busy_ns)} in "
        f"{counted(run.kernels_per_instance, unit)}, {duration(run.fusible_gap_ns)} between them."
    )
    shapes = ", ".join(f"{plain(name)} {list(shape)}" for name, shape in list(profile.shapes.items())[:4])
    threads = f", {counted(profile.threads, 'thread')}" if profile.threads else ""
    text.append(
        f"\n{profile.runs:,} runs after {profile.warm_up} to warm up, on {profile.provider}, onnxruntime "
        f"{profile.onnxruntime}{threads}{shapes and f', {shapes}'}."
    )
    colour = "red" if run.flagged else "yellow" if run.verdict == CANNOT_DECIDE else "green"
    title = Text(plain(profile.model.path.name) if profile.model.path else "")
    return Panel(text, title=title, border_style=colour, box=box.ROUNDED)


def _count(count: float) -> str:
    return f"{count:,.0f}" if count == round(count) else f"{count:,.1f}"


def _classes(profile: ModelProfile, *, narrow: bool) -> Table:
    table = titled("Where the time of a run goes, by class")
    table.add_column("class", no_wrap=True)
    for heading in ("times", "mean a run", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    if not narrow:
        table.add_column("", no_wrap=True, width=BAR_WIDTH)
    for row in profile.op_classes:
        bar = [] if narrow else [Text("█" * round(row.share * BAR_WIDTH), style="blue")]
        table.add_row(row.op_class, _count(row.count), duration(row.time_ns), percent(row.share), *bar)
    return table


def _nodes(profile: ModelProfile, top: int, width: int) -> Table:
    narrow = width < NARROW
    most = max(width - (BESIDE_NARROW if narrow else BESIDE), LEAST)
    rest = len(profile.nodes) - top
    table = titled("By node" + (f" ({rest:,} more)" if rest > 0 else ""))
    table.add_column("node")
    table.add_column("operator")
    for heading in ("mean a run", "share") if narrow else ("times", "mean a run", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in profile.nodes[:top]:
        figures = [_count(row.count), duration(row.time_ns), percent(row.share)]
        names = [
            Text(name, no_wrap=True, overflow="ellipsis")
            for name in (_end(plain(row.name or "-"), most), plain(row.op_type))
        ]
        table.add_row(*names, *(figures[1:] if narrow else figures))
    return table


def _end(name: str, most: int) -> str:
    """The end of a long name, which is what tells the nodes of one model apart."""
    return name if len(name) <= most else f"\N{HORIZONTAL ELLIPSIS}{name[1 - most :]}"

"""A fusion report in a terminal: verdict first, then proof, every fusion with its outcome, and what to know besides."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from advisor.fuse.result import Status
from advisor.measure.statistics import Verdict
from advisor.report import fusion_words as words
from advisor.words import duration, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from advisor.fuse.predictions import Predictions
    from advisor.fuse.result import FusionReport

__all__ = ["render_fusion"]

SHOWN_REASONS = 3
NARROW = 64
"""In fewer columns a table has only what matters most."""
WIDE = 96
"""From so many on it has everything."""
LISTED_REASONS = 10
STYLES = {Status.KEPT: "green", Status.NOT_FASTER: "yellow", Status.WRONG: "red"}


def render_fusion(report: FusionReport, width: int = 80) -> RenderableType:
    """What `advisor fuse` prints on so many columns."""
    parts: list[RenderableType] = [_summary(report)]
    if report.fusions:
        parts.append(_fusions(report, width))
        parts += [Text(f"- {line}") for line in _reasons(report)]
    if report.batches:
        parts += [_batches(report, narrow=width < NARROW), Text(words.batch_end(report))]
        parts += [Text(f"- {line}") for line in words.unmeasured(report)]
    if report.trace is not None:
        parts += [Text(line) for line in _predictions(report, report.trace)]
    parts += [Text(f"note: {plain(note)}", style="yellow") for note in report.notes]
    parts.append(_files(report))
    return Group(*parts)


def _summary(report: FusionReport) -> Panel:
    text = Text()
    if not report.runtime.passed:
        text.append("ONNX Runtime's own optimisation changes what this model computes", style="bold red")
        text.append(f", before any fusion: {plain(report.runtime.reason)}.\n")
    text.append(words.headline(report), style="bold")
    for line in (words.main_reason(report), words.latency(report), words.proof(report)):
        if line is not None:
            text.append("\n" + line)
    if report.changed:
        places = sum(fusion.sites for fusion in report.kept)
        text.append(
            f"\nFused in {places:,} place{'s' if places != 1 else ''}: {report.model.nodes:,} nodes became"
            f" {report.fused.nodes:,}."
        )
    for line in (words.kernels(report), words.gaps(report)):
        if line is not None:
            text.append("\n" + line)
    text.append("\n" + words.conditions(report))
    colour = {Verdict.FASTER: "green", Verdict.SLOWER: "red", Verdict.UNCHANGED: "yellow"}[report.verdict]
    title = Text(plain(report.model.path.name) if report.model.path else "")
    return Panel(text, title=title, border_style=colour if report.runtime.passed else "red", box=box.ROUNDED)


def _table(title: str) -> Table:
    return Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, expand=False
    )


def _fusions(report: FusionReport, width: int) -> Table:
    table = _table("Fusions")
    table.add_column("fusion", overflow="fold")
    table.add_column("places", justify="right", no_wrap=True)
    if width >= NARROW:
        table.add_column("ratio alone", justify="right", no_wrap=True)
        table.add_column("on a part", justify="right", no_wrap=True)
    if width >= WIDE:
        table.add_column("error", justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    for outcome in words.outcomes(report.fusions):
        error = outcome.max_abs_error
        table.add_row(
            Text(plain(outcome.rule)),
            f"{outcome.sites:,}" if outcome.sites else "-",
            *((words.figure(outcome.ratios), words.figure(outcome.parts)) if width >= NARROW else ()),
            *(("-" if error is None else f"{error:.0e}",) if width >= WIDE else ()),
            Text(words.OUTCOMES[outcome.status], style=STYLES.get(outcome.status, "")),
        )
    return table


def _reasons(report: FusionReport) -> Iterator[str]:
    """Why what was found is not in the output: the reasons for most, of those that must not be made only a few."""
    lines = list(words.reasons(report))
    yield from lines[:LISTED_REASONS]
    if len(lines) > LISTED_REASONS:
        rest = len(lines) - LISTED_REASONS
        yield f"{rest} more reason{'s' if rest != 1 else ''}: --html or --json tells all"


def _batches(report: FusionReport, *, narrow: bool) -> Table:
    table = _table("By size of the batch")
    table.add_column("batch", justify="right", no_wrap=True)
    if not narrow:
        table.add_column("original", justify="right", no_wrap=True)
        table.add_column("fused", justify="right", no_wrap=True)
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    if not narrow:
        table.add_column("", no_wrap=True)
    for each in report.batches:
        race = each.latency
        times = ["-", "-"] if race is None else [duration(race.baseline_ns), duration(race.candidate_ns)]
        ratio = ["-", "-"] if race is None else [f"{race.ratio.ratio:.3f}", words.span(race.ratio)]
        verdict = Text(words.batch_verdict(each), style="red" if each.is_wrong else "")
        table.add_row(str(each.batch), *([] if narrow else times), *ratio, *([] if narrow else [verdict]))
    return table


def _predictions(report: FusionReport, trace: Predictions) -> Iterator[str]:
    """What the trace predicts, beside what was measured here."""
    of = f"{plain(str(trace.path))}, recorded on {plain(trace.device)}"
    if trace.graph is None:
        yield f"The trace predicts nothing: {plain(trace.reason)} ({of})."
        return
    count = len(trace.matched) + len(trace.unmatched)
    yield f"Predicted from {of}, graph {plain(trace.graph)}: {len(trace.matched)} of {count} candidates matched."
    for fusion in report.fusions:
        if fusion.predicted is not None:
            low, high = (duration(ns) for ns in fusion.predicted.saving_ns)
            yield (
                f"- {plain(fusion.rule)}, {words.places(fusion)}: predicted {low} to {high} a run"
                f" ({plain(fusion.predicted.source)}), {words.measured(report, fusion)}"
            )
    for reason, rest in Counter(each.reason for each in trace.unmatched).most_common(SHOWN_REASONS):
        yield f"- {rest} candidate{'s' if rest != 1 else ''} not matched: {plain(reason)}"


def _files(report: FusionReport) -> Text:
    if report.fused.path is None:
        return Text("Nothing was written: -o FILE writes the result.")
    what = "the fused model" if report.changed else "the original, unchanged"
    library = report.fused.library
    beside = f" and {plain(library.name)} beside it (its kernels; advisor.session opens both)" if library else ""
    return Text(f"Written: {plain(str(report.fused.path))} ({what}){beside}")

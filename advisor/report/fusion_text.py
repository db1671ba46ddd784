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
from advisor.words import duration, percent, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from advisor.fuse.predictions import Predictions
    from advisor.fuse.result import Fusion, FusionReport
    from advisor.measure.statistics import Interval

__all__ = ["render_fusion"]

SHOWN_REASONS = 3
OUTCOMES = {
    Status.KEPT: ("kept", "green"),
    Status.NOT_FASTER: ("not faster", "yellow"),
    Status.WRONG: ("wrong", "red"),
    Status.ILLEGAL: ("illegal", ""),
    Status.UNSUPPORTED: ("unsupported", ""),
}


def render_fusion(report: FusionReport) -> RenderableType:
    """What `advisor fuse` prints."""
    parts: list[RenderableType] = [_summary(report)]
    if report.fusions:
        parts.append(_fusions(report))
    if report.trace is not None:
        parts += [Text(line) for line in _predictions(report, report.trace)]
    parts += [Text(f"- {reason}") for reason in _reasons(report)]
    parts += [Text(f"note: {plain(note)}", style="yellow") for note in report.notes]
    parts.append(_files(report))
    return Group(*parts)


def _summary(report: FusionReport) -> Panel:
    text = Text()
    if not report.runtime.passed:
        text.append("ONNX Runtime's own optimisation changes what this model computes", style="bold red")
        text.append(f", before any fusion: {plain(report.runtime.reason)}.\n")
    text.append(_headline(report), style="bold")
    text.append("\n" + _latency(report))
    text.append("\n" + _proof(report))
    if report.changed:
        places = sum(fusion.sites for fusion in report.kept)
        text.append(
            f"\nFused in {places:,} place{'s' if places != 1 else ''}: {report.model.nodes:,} nodes became"
            f" {report.fused.nodes:,}."
        )
    text.append(f"\nMeasured on {report.provider}, onnxruntime {report.onnxruntime}{_conditions(report)}.")
    colour = {Verdict.FASTER: "green", Verdict.SLOWER: "red", Verdict.UNCHANGED: "yellow"}[report.verdict]
    title = Text(plain(report.model.path.name) if report.model.path else "")
    return Panel(text, title=title, border_style=colour if report.runtime.passed else "red", box=box.ROUNDED)


def _headline(report: FusionReport) -> str:
    race = report.measured
    if report.changed and race is not None:
        if report.verdict is Verdict.FASTER:
            return f"Faster: a run takes {percent(1 - race.ratio.ratio)} less time."
        return "No measurable change: fused, but a run takes as long as before."
    statuses = {fusion.status for fusion in report.fusions}
    if Status.NOT_FASTER in statuses:
        return "Nothing gained: fused, this model is not shown to be as fast. The output is the original."
    if Status.WRONG in statuses:
        return "Nothing kept: fusing changed what this model computes. The output is the original."
    if statuses:
        return "Nothing to fuse: no place that was found may be fused here. The output is the original."
    return "Nothing to fuse: no rule found a place in this model. The output is the original."


def _latency(report: FusionReport) -> str:
    race = report.measured
    if race is None:
        return f"A run takes {duration(report.baseline_ns)} at ORT_ENABLE_ALL."
    times = f"{duration(race.baseline_ns)} → {duration(race.candidate_ns)} a run at ORT_ENABLE_ALL"
    figures = f"ratio {race.ratio.ratio:.3f}, 95 % interval {_span(race.ratio)}, A/A control {_span(race.a_a)}"
    if report.changed:
        return f"{times} ({figures})."
    return f"The fused model was turned down: {times} ({figures})."


def _proof(report: FusionReport) -> str:
    proof = report.verification
    if not report.changed:
        return "No gain is claimed."
    sets = f"{proof.inputs} set{'s' if proof.inputs != 1 else ''} of inputs"
    error = "no difference at all"
    if proof.max_abs_error:
        error = f"largest difference {proof.max_abs_error:.1e} (output {plain(proof.worst_output or '')})"
    gain = "" if report.verdict is Verdict.FASTER else " No gain is claimed."
    return f"Proven: every output equals the unoptimised original's on {sets}; {error}.{gain}"


def _conditions(report: FusionReport) -> str:
    settings = report.settings
    threads = f", {settings.threads} thread{'s' if settings.threads != 1 else ''}" if settings.threads else ""
    shapes = ", ".join(f"{plain(name)} {list(shape)}" for name, shape in list(settings.shapes.items())[:4])
    more = f" and {len(settings.shapes) - 4} more inputs" if len(settings.shapes) > 4 else ""
    return f"{threads}, {shapes}{more}" if shapes else threads


def _span(interval: Interval) -> str:
    return f"{interval.low:.3f} to {interval.high:.3f}"


def _fusions(report: FusionReport) -> Table:
    table = Table(
        title="Fusions", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, expand=False
    )
    table.add_column("fusion")
    table.add_column("places", justify="right", no_wrap=True)
    table.add_column("ratio alone", justify="right", no_wrap=True)
    table.add_column("error", justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    for fusion in sorted(report.fusions, key=lambda fusion: (list(Status).index(fusion.status), fusion.rule)):
        words, style = OUTCOMES[fusion.status]
        table.add_row(
            Text(plain(fusion.rule), no_wrap=True, overflow="ellipsis"),
            f"{fusion.sites:,}",
            "-" if fusion.ratio is None else f"{fusion.ratio.ratio:.3f} ± {_wider_half(fusion.ratio):.3f}",
            "-" if fusion.max_abs_error is None else f"{fusion.max_abs_error:.0e}",
            Text(words, style=style),
        )
    return table


def _wider_half(interval: Interval) -> float:
    return max(interval.high - interval.ratio, interval.ratio - interval.low)


def _reasons(report: FusionReport) -> Iterator[str]:
    """Why what was found is not in the output."""
    for fusion in report.fusions:
        if fusion.status is not Status.KEPT:
            yield f"{plain(fusion.rule)}, {_places(fusion)}: {OUTCOMES[fusion.status][0]}: {plain(fusion.reason)}"


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
                f"- {plain(fusion.rule)}, {_places(fusion)}: predicted {low} to {high} a run"
                f" ({plain(fusion.predicted.source)}), {_measured(report, fusion)}"
            )
    for reason, rest in Counter(each.reason for each in trace.unmatched).most_common(SHOWN_REASONS):
        yield f"- {rest} candidate{'s' if rest != 1 else ''} not matched: {plain(reason)}"


def _measured(report: FusionReport, fusion: Fusion) -> str:
    """What FUSION alone was measured to save a run, as a share of the original's latency."""
    if fusion.ratio is None:
        return "not measured alone"
    if fusion.ratio.low <= 1 <= fusion.ratio.high:
        return "measured: no measurable change"
    saved, ends = 1 - fusion.ratio.ratio, sorted(abs(1 - end) for end in (fusion.ratio.low, fusion.ratio.high))
    low, high = (duration(end * report.baseline_ns) for end in ends)
    what = "measured" if saved > 0 else "measured to cost"
    return f"{what} {duration(abs(saved) * report.baseline_ns)} ({low} to {high})"


def _places(fusion: Fusion) -> str:
    first = f" ({plain(fusion.nodes[0])})" if fusion.sites == 1 and fusion.nodes else ""
    return f"{fusion.sites:,} place{'s' if fusion.sites != 1 else ''}{first}"


def _files(report: FusionReport) -> Text:
    if report.fused.path is None:
        return Text("Nothing was written: -o FILE writes the result.")
    what = "the fused model" if report.changed else "the original, unchanged"
    return Text(f"Written: {plain(str(report.fused.path))} ({what})")

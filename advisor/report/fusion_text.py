"""A fusion report in a terminal: verdict first, then proof, every fusion with its outcome, and what to know besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from advisor.fuse.result import Status
from advisor.measure.statistics import Verdict
from advisor.report import fusion_words as words
from advisor.report.tables import titled
from advisor.words import counted, duration, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.table import Table

    from advisor.fuse.result import FusionReport

__all__ = ["render_fusion"]

NARROW = 76
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
    parts += [Text(f"- {line}" if number else line) for number, line in enumerate(words.predictions(report))]
    parts += [Text(f"note: {plain(note)}", style="yellow") for note in report.notes]
    parts.append(_files(report))
    return Group(*parts)


def _summary(report: FusionReport) -> Panel:
    text = Text()
    warning = words.warning(report)
    if warning is not None:
        text.append(f"{warning}\n", style="red")
    text.append(words.headline(report), style="bold")
    text.append("\n" + "\n".join(words.summary(report)))
    colour = {Verdict.FASTER: "green", Verdict.SLOWER: "red", Verdict.UNCHANGED: "yellow"}[report.verdict]
    title = Text(plain(report.model.path.name) if report.model.path else "")
    return Panel(text, title=title, border_style=colour if report.runtime.passed else "red", box=box.ROUNDED)


def _fusions(report: FusionReport, width: int) -> Table:
    table = titled("Fusions")
    table.add_column("fusion", overflow="fold")
    table.add_column("places", justify="right", no_wrap=True)
    if width >= NARROW:
        table.add_column("ratio alone", justify="right", no_wrap=True)
        table.add_column("on a part", justify="right", no_wrap=True)
    if width >= WIDE:
        table.add_column("error", justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    for outcome in words.outcomes(report.fusions):
        table.add_row(
            Text(plain(outcome.rule)),
            f"{outcome.sites:,}" if outcome.sites else "-",
            *((words.figure(outcome.ratios), words.figure(outcome.parts)) if width >= NARROW else ()),
            *((outcome.error,) if width >= WIDE else ()),
            Text(outcome.word, style=STYLES.get(outcome.status, "")),
        )
    return table


def _reasons(report: FusionReport) -> Iterator[str]:
    """Why what was found is not in the output: the reasons for most, of those that must not be made only a few."""
    lines = list(words.reasons(report))
    yield from lines[:LISTED_REASONS]
    if len(lines) > LISTED_REASONS:
        rest = len(lines) - LISTED_REASONS
        yield f"{counted(rest, 'more reason')}: --html or --json tells all"


def _batches(report: FusionReport, *, narrow: bool) -> Table:
    table = titled("By size of the batch")
    table.add_column("batch", justify="right", no_wrap=True)
    if not narrow:
        table.add_column("original", justify="right", no_wrap=True)
        table.add_column("fused", justify="right", no_wrap=True)
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    if not narrow:
        table.add_column("")
    for each in report.batches:
        race = each.latency
        times = ["-", "-"] if race is None else [duration(race.baseline_ns), duration(race.candidate_ns)]
        ratio = ["-", "-"] if race is None else [words.ratio(race.ratio), words.span(race.ratio)]
        verdict = Text(words.batch_verdict(each), style="red" if each.is_wrong else "")
        table.add_row(str(each.batch), *([] if narrow else times), *ratio, *([] if narrow else [verdict]))
    return table


def _files(report: FusionReport) -> Text:
    if report.fused.path is None:
        return Text("Nothing was written: -o FILE writes the result.")
    what = "the fused model" if report.changed else "the original, unchanged"
    library = report.fused.library
    beside = f" and {plain(library.name)} beside it (its kernels; advisor.session opens both)" if library else ""
    return Text(f"Written: {plain(str(report.fused.path))} ({what}){beside}")

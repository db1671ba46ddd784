"""A fusion report as Markdown, for pull requests and job summaries: verdict, proof, every fusion, batch sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.report import fusion_words as words
from advisor.report.markdown import code, escaped, row
from advisor.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from advisor.fuse.result import FusionReport

__all__ = ["write"]

REASONS = 10
"""So many are listed."""


def write(report: FusionReport, file: TextIO) -> None:
    """Write the summary."""
    file.write("\n".join(_lines(report)).rstrip() + "\n")


def _lines(report: FusionReport) -> Iterator[str]:
    yield from (f"## {escaped(words.headline(report))}", "")
    yield from ([code(report.model.path.name), ""] if report.model.path else [])
    yield from (f"- {escaped(line)}" for line in words.summary(report))
    yield ""
    yield from _fusions(report)
    yield from _batches(report)
    predicted = [escaped(line) for line in words.predictions(report)]
    if predicted:
        yield from ("### Predicted and measured", "", predicted[0], "", *(f"- {line}" for line in predicted[1:]), "")
    if report.notes:
        yield from ("### Notes", "", *(f"- {escaped(note)}" for note in report.notes), "")


def _fusions(report: FusionReport) -> Iterator[str]:
    if not report.fusions:
        return
    yield from ("### Fusions", "", row("fusion", "places", "ratio alone", "on a part", "largest error", "outcome"))
    yield "| --- | ---: | ---: | ---: | ---: | --- |"
    for outcome in words.outcomes(report.fusions):
        yield row(
            escaped(outcome.rule),
            f"{outcome.sites:,}" if outcome.sites else "-",
            words.figure(outcome.ratios),
            words.figure(outcome.parts),
            outcome.error,
            outcome.word,
        )
    reasons = list(words.reasons(report))
    if reasons:
        yield from ("", "<details><summary>Why not the others</summary>", "")
        yield from (f"- {escaped(line)}" for line in reasons[:REASONS])
        yield from ([f"- {len(reasons) - REASONS:,} more"] if len(reasons) > REASONS else [])
        yield from ("", "</details>")
    yield ""


def _batches(report: FusionReport) -> Iterator[str]:
    if not report.batches:
        return
    yield from ("### By size of the batch", "", escaped(words.batch_end(report)), "")
    yield row("batch", "original", "fused", "ratio", "95 % interval", "")
    yield "| ---: | ---: | ---: | ---: | ---: | --- |"
    for each in report.batches:
        race = each.latency
        figures = ["-"] * 4
        if race is not None:
            times = (duration(race.baseline_ns), duration(race.candidate_ns))
            figures = [*times, words.ratio(race.ratio), words.span(race.ratio)]
        yield row(str(each.batch), *figures, escaped(each.reason or words.batch_verdict(each)))
    yield ""

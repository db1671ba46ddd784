"""An analysis as Markdown, for pull requests and job summaries: verdict first, what to do, then causes and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.report.analysis_words import (
    CAUSE_WORDS,
    LONGEST_TITLE,
    device_word,
    graph_names,
    idle_title,
    longest_gaps,
    most_share,
    notes,
    overhead_words,
    subject,
    unit,
    verdict_words,
    whole_trace,
    worth,
)
from advisor.report.chain_names import chain_names, in_row, kernel_word
from advisor.report.markdown import code, escaped, prose, row
from advisor.trace.causes import FUSIBLE
from advisor.words import counted, duration, duration_range, percent, short_names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from advisor.trace.analysis import Analysis

__all__ = ["write"]

FINDINGS, GRAPHS, CANDIDATES, KERNELS = 5, 10, 5, 15
"""So many of each are listed."""


def write(analysis: Analysis, file: TextIO) -> None:
    """Write the summary."""
    file.write("\n".join(_lines(analysis)).rstrip() + "\n")


def _lines(analysis: Analysis) -> Iterator[str]:
    named = analysis.graph_figures[0].source != "trace"
    yield f"## {code(subject(analysis)) if named else subject(analysis)} is {escaped(verdict_words(analysis))}"
    yield from ("", prose(worth(analysis)), "", escaped(whole_trace(analysis)), "")
    yield from _findings(analysis)
    yield from _causes(analysis)
    yield from _longest_gaps(analysis)
    yield from _graphs(analysis)
    yield from _candidates(analysis)
    yield from _kernels(analysis)
    noted = list(notes(analysis))
    if noted:
        yield from ("### What the trace does not show", "", *(f"- {prose(note)}" for note in noted), "")


def _findings(analysis: Analysis) -> Iterator[str]:
    if not analysis.findings:
        return
    yield from ("### What to do", "")
    for finding in analysis.findings[:FINDINGS]:
        yield f"- **{finding.id}** ({finding.severity}): {prose(finding.message)}<br>→ {prose(finding.advice)}"
    rest = len(analysis.findings) - FINDINGS
    if rest > 0:
        yield f"- {rest} more in the other reports"
    yield ""


def _causes(analysis: Analysis) -> Iterator[str]:
    totals = analysis.totals
    if not totals.exposed_gap_ns:
        return
    device = device_word(analysis)
    yield from (f"### {idle_title(analysis)}", "")
    yield from (row("cause", "idle", "share", "launch overhead", "what it is"), "| --- | ---: | ---: | :---: | --- |")
    for cause, ns in sorted(totals.causes.items(), key=lambda item: -item[1]):
        if ns:
            share = percent(ns / totals.exposed_gap_ns)
            yes = "yes" if cause in FUSIBLE else ""
            yield row(cause.key, duration(ns), share, yes, CAUSE_WORDS[cause].replace("GPU", device))
    if not analysis.evidence.launches.complete:
        yield ""
        return
    words = overhead_words(analysis)
    yield from ("", f"{words[0].upper()}{words[1:]}.", "")


def _longest_gaps(analysis: Analysis) -> Iterator[str]:
    if analysis.longest_gaps:
        yield from (f"### {LONGEST_TITLE}", "", *(f"- {prose(line)}" for line in longest_gaps(analysis)), "")


def _graphs(analysis: Analysis) -> Iterator[str]:
    if analysis.graph_figures[0].source == "trace":
        return
    yield from ("### Graphs, medians over their runs", "")
    yield row(
        "graph",
        "verdict",
        "gap ratio",
        "p95",
        "removable gaps, at most",
        "time",
        "all runs",
        f"{unit(analysis)}s",
        "runs",
    )
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for graph, name in zip(analysis.graph_figures[:GRAPHS], graph_names(analysis), strict=False):
        yield row(
            code(name),
            f"**{graph.verdict}**" if graph.flagged else graph.verdict,
            percent(graph.gap_ratio),
            percent(graph.p95_gap_ratio),
            percent(most_share(graph)),
            duration(graph.time_ns),
            percent(graph.time_share),
            f"{graph.kernels_per_instance:,}",
            f"{graph.instances:,}",
        )
    yield from _more(len(analysis.graph_figures) - GRAPHS, "graph")


def _candidates(analysis: Analysis) -> Iterator[str]:
    if not analysis.candidates:
        return
    when = "in the trace" if analysis.graph_figures[0].source == "trace" else "in a run"
    yield from (f"### Chains of {unit(analysis)}s that could be one", "")
    yield from (row("chain", "graph", when, f"saving {when}, predicted"), "| --- | --- | ---: | ---: |")
    listed = list(zip(analysis.candidates, chain_names(analysis.candidates), strict=True))[:CANDIDATES]
    for candidate, name in listed:
        yield row(
            code(name),
            code(candidate.graph),
            f"{candidate.occurrences:,} ×",  # noqa: RUF001 - how often
            duration_range(*candidate.saving_ns),
        )
    yield from _more(len(analysis.candidates) - CANDIDATES, "chain")
    whole = short_names(kernel.name for kernel in analysis.kernel_figures)
    chains = {name: in_row([whole[kernel] for kernel in candidate.kernels], code) for candidate, name in listed}
    yield from (f"<details><summary>The {unit(analysis)}s of these chains</summary>", "")
    yield from (f"- {code(name)}: {chain}" for name, chain in chains.items())
    yield from ("", "</details>", "")


def _kernels(analysis: Analysis) -> Iterator[str]:
    device = device_word(analysis)
    yield from (f"<details><summary>{device} work with the largest fusible gaps</summary>", "")
    yield row(unit(analysis), "name", "class", "count", f"{device} time", "fusible", "gap ratio")
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: |"
    names = short_names(kernel.name for kernel in analysis.kernel_figures)
    for kernel in analysis.kernel_figures[:KERNELS]:
        yield row(
            code(kernel_word(kernel.name)),
            code(names[kernel.name]),
            kernel.op_class,
            f"{kernel.count:,}",
            duration(kernel.duration_ns),
            duration(kernel.fusible_gap_ns),
            percent(kernel.gap_ratio),
        )
    yield from _more(len(analysis.kernel_figures) - KERNELS, "name")
    yield from ("</details>", "")


def _more(count: int, what: str) -> Iterator[str]:
    yield ""
    if count > 0:
        yield from (f"{counted(count, f'more {what}')}.", "")

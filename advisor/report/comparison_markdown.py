"""A comparison as Markdown: for job summaries and pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.gate.result import Status, Verdict
from advisor.report.comparison_words import (
    amount,
    budget_words,
    change_words,
    command,
    executions,
    headline,
    kernel_lines,
    shown_measures,
)
from advisor.report.markdown import escaped, row
from advisor.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from advisor.gate.result import Comparison, GraphResult

__all__ = ["write"]

QUIET = (Status.UNCHANGED, Status.NEW)
SIGNS = {Verdict.FAIL: "❌", Verdict.UNDECIDED: "⚠️", Verdict.PASS: "✅"}


def write(comparison: Comparison, file: TextIO) -> None:
    """Write the whole comparison, graphs without a change folded away."""
    file.write("\n".join(_lines(comparison)).rstrip() + "\n")


def _lines(comparison: Comparison) -> Iterator[str]:
    yield from (f"## {SIGNS[comparison.verdict]} {escaped(headline(comparison))}", "")
    for name, reason in comparison.undecided:
        yield f"- {escaped(f'{name}: {reason}' if name else reason)}"
    quiet = [graph for graph in comparison.graphs if graph.status in QUIET]
    for graph in comparison.graphs:
        if graph.status not in QUIET:
            yield from _graph(graph)
    if quiet:
        yield from ("", f"<details><summary>{counted(len(quiet), 'graph')} without a change</summary>", "")
        for graph in quiet:
            yield from _graph(graph)
        yield from ("", "</details>")
    if comparison.budgets:
        yield from ("", "### Budgets", "", "| graph | budget | | |", "| --- | --- | --- | --- |")
        for budget in comparison.budgets:
            yield _row(budget.graph, budget.key, budget_words(budget), budget.status.value)
    if comparison.environment:
        yield from ("", "### The runs differ in", "")
        yield from (f"- {escaped(f'{what}: {old} → {new}')}" for what, old, new in comparison.environment)
    if comparison.notes:
        yield from ("", "### Notes", "", *(f"- {escaped(note)}" for note in comparison.notes))


def _graph(graph: GraphResult) -> Iterator[str]:
    counts = executions(graph)
    yield from ("", f"### {escaped(graph.name)}: {graph.status.value}", "")
    told = dict.fromkeys(part for part in (counts, graph.reason, graph.unguarded) if part)
    if told:
        yield from ("; ".join(map(escaped, told)), "")
    rows = shown_measures(graph)
    if rows:
        yield from ("| | baseline | now | change (90 % interval) | |", "| --- | ---: | ---: | ---: | --- |")
        for each in rows:
            status = "" if each.status is Status.UNCHANGED else each.status.value
            words = ": ".join(part for part in (status, each.reason) if part)
            values = amount(each.unit, each.baseline), amount(each.unit, each.current)
            yield _row(each.title, *values, change_words(each), words)
    changed = list(kernel_lines(graph))
    if changed:
        yield ""
        yield from (f"- {escaped(line)}" for line in changed)
    shown = command(graph) if graph.status is Status.REGRESSED else None
    if shown:
        fence = "`" * 3
        yield from ("", f"{fence}sh", shown.replace("`", "'"), fence)


def _row(*cells: str) -> str:
    return row(*map(escaped, cells))

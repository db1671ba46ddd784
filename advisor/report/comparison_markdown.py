"""A comparison as Markdown: for job summaries and pull requests."""

from __future__ import annotations

import re
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
from advisor.words import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.gate.result import Comparison, GraphResult

__all__ = ["comparison_markdown"]

SIGNS = {Verdict.FAIL: "❌", Verdict.UNDECIDED: "⚠️", Verdict.PASS: "✅"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@-])")


def comparison_markdown(comparison: Comparison) -> str:
    """The whole comparison, graphs without a change folded away."""
    lines = [f"## {SIGNS[comparison.verdict]} {escaped(headline(comparison))}", ""]
    lines += [f"- {escaped(name + ': ' if name else '')}{escaped(reason)}" for name, reason in comparison.undecided]
    quiet = []
    for graph in comparison.graphs:
        if graph.status in (Status.UNCHANGED, Status.NEW):
            quiet.append(graph)
        else:
            lines += _graph(graph)
    if quiet:
        lines += ["", f"<details><summary>{len(quiet)} graphs without a change</summary>", ""]
        for graph in quiet:
            lines += _graph(graph)
        lines += ["", "</details>"]
    if comparison.budgets:
        lines += ["", "### Budgets", "", "| graph | budget | | |", "| --- | --- | --- | --- |"]
        for row in comparison.budgets:
            lines.append(_row(row.graph, row.key, budget_words(row), row.status.value))
    if comparison.environment:
        lines += ["", "### The runs differ in", ""]
        lines += [f"- {escaped(f'{what}: {old} → {new}')}" for what, old, new in comparison.environment]
    if comparison.notes:
        lines += ["", "### Notes", "", *(f"- {escaped(note)}" for note in comparison.notes)]
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str) -> str:
    """TEXT with nothing in it that Markdown or HTML would act on: names come from strangers."""
    return _SPECIAL.sub(r"\\\1", plain(text)).replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\&", "&amp;")


def _graph(graph: GraphResult) -> Iterator[str]:
    counts = executions(graph)
    yield from ("", f"### {escaped(graph.name)}: {graph.status.value}", "")
    if counts or graph.reason:
        yield from ("; ".join(escaped(part) for part in (counts, graph.reason) if part), "")
    rows = shown_measures(graph)
    if rows:
        yield from ("| | baseline | now | change (90 % interval) | |", "| --- | ---: | ---: | ---: | --- |")
        for row in rows:
            status = "" if row.status is Status.UNCHANGED else row.status.value
            words = ": ".join(part for part in (status, row.reason) if part)
            yield _row(
                row.title, amount(row.unit, row.baseline), amount(row.unit, row.current), change_words(row), words
            )
    changed = list(kernel_lines(graph))
    if changed:
        yield ""
        yield from (f"- {escaped(line)}" for line in changed)
    shown = command(graph) if graph.status is Status.REGRESSED else None
    if shown:
        fence = "`" * 3
        yield from ("", f"{fence}sh", shown.replace("`", "'"), fence)


def _row(*cells: str) -> str:
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"

"""What a comparison says, in words that terminal, Markdown and CI formats share."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.gate.measures import Unit
from advisor.gate.result import Status, Verdict
from advisor.words import duration, percent, plain, short_names, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.gate.kernels import KernelChange
    from advisor.gate.result import BudgetResult, Comparison, GraphResult, MeasureResult

__all__ = [
    "Finding",
    "amount",
    "budget_words",
    "change_words",
    "command",
    "executions",
    "findings",
    "graph_outcome",
    "headline",
    "kernel_lines",
    "outcome",
    "shown_measures",
]

ALWAYS_SHOWN = (
    "kernels",
    "launch_calls",
    "fusible_gap",
    "launch_call",
    "gap_ratio",
    "time",
    "latency",
    "latency_ratio",
)
DIRECTIONS = {Unit.COUNT: ("fewer", "more"), Unit.NS: ("shorter", "longer"), Unit.RATIO: ("lower", "higher")}
"""What less and more of a unit are called."""
_CHANGES = ("new", "gone", "moved")
NAMED = 8
"""How many kernels of each kind of change are named."""


@dataclass(frozen=True)
class Finding:
    """Something that a reader of a CI job must see."""

    id: str
    """Graph/measure."""
    kind: str
    """`regression`, `budget`, `waived`, `undecided` or `unguarded`."""
    graph: str
    """Empty where it is about all of them."""
    title: str
    message: str


def amount(unit: Unit, value: float | None) -> str:
    """A value with its unit."""
    if value is None:
        return "-"
    if unit is Unit.NS:
        return duration(value)
    if unit is Unit.RATIO:
        return percent(value)
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def change_words(row: MeasureResult) -> str:
    """`+10 % (+4 … +15 %)`, `+1`, or empty where nothing can be said."""
    change = row.change
    if change is None or (change == 0 and row.low is None):
        return ""
    values = [value for value in (change, row.low, row.high) if value is not None]
    if row.unit is Unit.RATIO:
        words, unit = [f"{100 * value:+.1f}" for value in values], " points"
    elif row.basis == "count" or not row.baseline:
        words, unit = [_signed(row.unit, value) for value in values], ""
    else:
        words, unit = [f"{100 * value / row.baseline:+.1f}" for value in values], " %"
    return words[0] + unit + (f" ({words[1]} … {words[2]})" if len(words) == 3 else "")


def outcome(row: MeasureResult, *, verdict: bool = True) -> str:
    """What became of a measure, empty where nothing; without a VERDICT `more`, `shorter` and the like."""
    if verdict or row.status is Status.UNDECIDED:
        return "" if row.status is Status.UNCHANGED else row.status.value
    if row.status is Status.UNCHANGED or not row.change:
        return ""
    return DIRECTIONS[row.unit][row.change > 0]


def graph_outcome(graph: GraphResult, *, verdict: bool = True) -> str:
    """What became of a graph; without a VERDICT only whether it differs."""
    if verdict or graph.status in (Status.UNCHANGED, Status.NEW, Status.UNDECIDED):
        return graph.status.value
    return "differs"


def _signed(unit: Unit, value: float) -> str:
    return f"{'-' if value < 0 else '+'}{amount(unit, abs(value))}"


def headline(comparison: Comparison) -> str:
    """The verdict in one line."""
    names = [plain(graph.name) for graph in comparison.graphs if graph.status is Status.REGRESSED]
    over = [plain(row.graph) for row in comparison.budgets if row.status is Status.REGRESSED]
    if comparison.verdict is Verdict.FAIL:
        parts = []
        if names:
            parts.append(f"launch overhead regressed in {_listed(names)}")
        if over:
            parts.append(f"{_listed(list(dict.fromkeys(over)))} over budget")
        return f"FAILED: {'; '.join(parts)}."
    if comparison.verdict is Verdict.UNDECIDED:
        return "CANNOT DECIDE: the runs do not show enough to pass."
    if not comparison.graphs:
        return "PASSED: within every budget."
    blind = [plain(graph.name) for graph in comparison.graphs if graph.unguarded]
    limits = f"; but in {_listed(blind)} no time could be red, only counts" if blind else ""
    return f"PASSED: no launch-overhead regression{limits}."


def _listed(names: list[str], limit: int = 3) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def executions(graph: GraphResult) -> str:
    """How many executions of how many runs stand behind a graph's figures."""

    def side(counts: tuple[int, ...], unit: str) -> str:
        runs = f" in {len(counts)} runs" if len(counts) > 1 else ""
        return f"{sum(counts):,}{unit}{runs}"

    if graph.source == "fusion" or not graph.instances[0]:
        return ""
    return f"{side(graph.instances[0], ' executions')} → {side(graph.instances[1], '')}"


def shown_measures(graph: GraphResult) -> list[MeasureResult]:
    """The measures worth a line: those that changed, and a few that are always of interest; regressions first."""
    order = (Status.REGRESSED, Status.WAIVED, Status.UNDECIDED)
    rows = [row for row in graph.measures if row.status is not Status.UNCHANGED or row.measure in ALWAYS_SHOWN]
    rows = [row for row in rows if row.baseline is not None or row.current is not None]
    return sorted(rows, key=lambda row: order.index(row.status) if row.status in order else len(order))


def kernel_lines(graph: GraphResult, longest: int | None = None) -> Iterator[str]:
    """`new: 1 x name` for each kernel that is new, gone or moved, the first few of each; names of LONGEST letters."""
    if graph.kernels is None:
        return
    parts: dict[str, tuple[KernelChange, ...]] = {part: getattr(graph.kernels, part) for part in _CHANGES}
    whole = short_names(change.name for changes in parts.values() for change in changes)
    written = shortened(whole.values(), longest) if longest else {text: text for text in whole.values()}
    for part, changes in parts.items():
        for change in changes[:NAMED]:
            yield f"{part}: {change.count:,} x {written[whole[change.name]]}"
        if len(changes) > NAMED:
            yield f"{part}: {len(changes) - NAMED} more kernels"


def command(graph: GraphResult) -> str | None:
    """What shows a graph's median execution in the current run's timeline."""
    if graph.place is None:
        return None
    path, begin, end = graph.place
    return f"advisor analyze {shlex.quote(plain(path))} --from {begin}ns --to {end}ns --html look.html"


def budget_words(row: BudgetResult) -> str:
    """`120 launches allowed, 132 measured: over the budget`."""
    return f"{amount(row.unit, row.value)}, at most {amount(row.unit, row.limit)}: {row.reason}"


def findings(comparison: Comparison) -> list[Finding]:
    """What keeps the comparison from passing, what is waived, and where passing means little."""
    found = []
    for graph in comparison.graphs:
        for row in graph.measures:
            if row.status in (Status.REGRESSED, Status.WAIVED):
                kind = "regression" if row.status is Status.REGRESSED else "waived"
                values = f"{amount(row.unit, row.baseline)} → {amount(row.unit, row.current)}"
                words = [part for part in (change_words(row), row.reason) if part]
                lines = [f"{row.title} of {plain(graph.name)}: {values}" + (f", {', '.join(words)}" if words else "")]
                lines += list(kernel_lines(graph)) if row.basis == "count" else []
                shown = command(graph)
                lines += [f"look: {shown}"] if shown else []
                title = f"{row.title} regressed" if kind == "regression" else f"{row.title}: waived"
                found.append(Finding(f"{graph.name}/{row.measure}", kind, graph.name, title, "\n".join(lines)))
    for budget in comparison.budgets:
        if budget.status in (Status.REGRESSED, Status.WAIVED, Status.UNDECIDED):
            kind = {Status.REGRESSED: "budget", Status.WAIVED: "waived"}.get(budget.status, "undecided")
            message = f"{budget.key} of {plain(budget.graph)}: {budget_words(budget)}"
            found.append(Finding(f"{budget.graph}/{budget.key}", kind, budget.graph, f"budget {budget.key}", message))
    for name, reason in comparison.undecided:
        subject = f"{plain(name)}: " if name else ""
        found.append(Finding(f"{name or 'runs'}/undecided", "undecided", name, "cannot decide", f"{subject}{reason}"))
    for graph in comparison.graphs:
        if graph.unguarded and (graph.name, graph.unguarded) not in comparison.undecided:
            message = f"{plain(graph.name)}: {graph.unguarded}"
            found.append(Finding(f"{graph.name}/unguarded", "unguarded", graph.name, "only counts tell", message))
    return found

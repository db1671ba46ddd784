"""Regressions that a policy accepts until a date."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from advisor.gate.result import BudgetResult, GraphResult, Status

if TYPE_CHECKING:
    from datetime import date

    from advisor.gate.policy import Policy

__all__ = ["waive"]


def waive(
    graphs: list[GraphResult], budgets: list[BudgetResult], policy: Policy, today: date
) -> tuple[list[GraphResult], list[BudgetResult], list[str]]:
    """Regressions that a waiver covers, marked as such; and what to say about the waivers."""
    valid = [waiver for waiver in policy.waivers if waiver.until >= today]
    notes = [
        f"waiver {waiver.id} ended on {waiver.until}: {waiver.reason}"
        for waiver in policy.waivers
        if waiver.until < today
    ]
    used = set()

    def reason(identity: str) -> str | None:
        for waiver in valid:
            if waiver.covers(identity):
                used.add(waiver.id)
                return f"waived until {waiver.until}: {waiver.reason}"
        return None

    new_graphs = []
    for graph in graphs:
        measures = []
        for row in graph.measures:
            words = reason(f"{graph.name}/{row.measure}") if row.status is Status.REGRESSED else None
            measures.append(replace(row, status=Status.WAIVED, reason=words) if words else row)
        status, left = graph.status, {row.status for row in measures}
        if status is Status.REGRESSED and Status.WAIVED in left and Status.REGRESSED not in left:
            status = Status.WAIVED
        new_graphs.append(replace(graph, status=status, measures=tuple(measures)))
    new_budgets = []
    for budget in budgets:
        words = reason(f"{budget.graph}/{budget.key}") if budget.status is Status.REGRESSED else None
        new_budgets.append(replace(budget, status=Status.WAIVED, reason=words) if words else budget)
    notes += [f"waiver {waiver.id} covers nothing any more: remove it" for waiver in valid if waiver.id not in used]
    return new_graphs, new_budgets, notes

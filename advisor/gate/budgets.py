"""Absolute limits, with or without a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from advisor.gate.measures import MEASURES
from advisor.gate.policy import BUDGETS
from advisor.gate.result import BudgetResult, Status
from advisor.trace.causes import Cause
from advisor.trace.verdicts import decided_ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.gate.policy import Policy
    from advisor.gate.runs import Recording

__all__ = ["check_budgets"]


def check_budgets(runs: Sequence[Recording], policy: Policy) -> list[BudgetResult]:
    """Every graph of the runs against its budgets: medians over the runs of each run's median."""
    results = []
    for graph in dict.fromkeys(samples.graph for run in runs for samples in run.samples):
        for key, limit in policy.budgets_of(graph).items():
            if key in BUDGETS:
                results.append(_budget(graph, key, limit, runs))
    return results


def _budget(graph: str, key: str, limit: float, runs: Sequence[Recording]) -> BudgetResult:
    measure = MEASURES[BUDGETS[key]]
    medians = []
    for run in runs:
        mine = [samples for samples in run.samples if samples.graph == graph]
        values = np.concatenate([measure.of(samples) for samples in mine]) if mine else np.zeros(0)
        values = values[~np.isnan(values)]
        if len(values):
            medians.append(float(np.median(values)))
    if not medians:
        return BudgetResult(graph, key, limit, None, measure.unit, Status.UNDECIDED, "not known")
    value = float(np.median(medians))
    if value > limit:
        return BudgetResult(graph, key, limit, value, measure.unit, Status.REGRESSED, "over the budget")
    if key == "gap_ratio" and any(_undecidable(run, graph, limit) for run in runs):
        reason = "the trace does not show enough to tell on which side of the budget it lies"
        return BudgetResult(graph, key, limit, value, measure.unit, Status.UNDECIDED, reason)
    return BudgetResult(graph, key, limit, value, measure.unit, Status.UNCHANGED, "within the budget")


def _undecidable(run: Recording, graph: str, limit: float) -> bool:
    for samples in run.samples:
        if samples.graph == graph:
            causes = {cause: round(float(np.median(samples.columns[cause.key]))) for cause in Cause}
            busy, hidden = (round(float(np.median(samples.columns[key]))) for key in ("busy", "hidden"))
            if busy and decided_ratio(causes, busy, hidden, limit) is None:
                return True
    return False

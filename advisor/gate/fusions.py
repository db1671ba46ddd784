"""The comparison of fusion reports: the fused model's latency against the original's, and its nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from advisor.gate.measures import Unit
from advisor.gate.result import BudgetResult, GraphResult, MeasureResult, Status, heaviest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.gate.policy import Policy, Thresholds
    from advisor.gate.runs import FusionFigures, Recording

__all__ = ["ComparedFusions", "compare_fusions", "fusion_budgets"]


@dataclass
class ComparedFusions:
    """One result a model, and why models were not compared."""

    graphs: list[GraphResult] = field(default_factory=list)
    undecided: list[tuple[str, str]] = field(default_factory=list)


def compare_fusions(before: Sequence[Recording], after: Sequence[Recording], policy: Policy) -> ComparedFusions:
    """Compare the fusion reports among the runs, model by model.

    The ratio (fused over original) is measured in pairs in one process, so that it does not depend on how fast the
    machine is today; the latency itself is shown. A ratio regresses when its interval lies above the baseline's.
    """
    old, new = _by_model(before), _by_model(after)
    result = ComparedFusions()
    for model, reports in old.items():
        if model not in new:
            result.undecided.append((model, "no fusion report of it now"))
            continue
        words = _differ(reports[0], new[model][0])
        if words:
            result.undecided.append((model, words))
            continue
        result.graphs.append(_compare(model, reports, new[model], policy.of_graph(model)))
    result.graphs += [
        GraphResult(model, "fusion", Status.NEW, "not in the baseline: not judged") for model in new if model not in old
    ]
    return result


def fusion_budgets(runs: Sequence[Recording], policy: Policy) -> list[BudgetResult]:
    """`latency` and `latency_ratio` against their limits, for every model."""
    results = []
    for model, reports in _by_model(runs).items():
        budgets = policy.budgets_of(model)
        for key, unit, values in (
            ("latency", Unit.NS, [report.latency_ns for report in reports]),
            ("latency_ratio", Unit.RATIO, [1.0 if report.ratio is None else report.ratio for report in reports]),
        ):
            if key in budgets:
                value = float(np.median(values))
                over = value > budgets[key]
                status = Status.REGRESSED if over else Status.UNCHANGED
                words = "over the budget" if over else "within the budget"
                results.append(BudgetResult(model, key, budgets[key], value, unit, status, words))
    return results


def _by_model(runs: Sequence[Recording]) -> dict[str, list[FusionFigures]]:
    models: dict[str, list[FusionFigures]] = {}
    for run in runs:
        if run.fusion is not None:
            models.setdefault(run.fusion.model, []).append(run.fusion)
    return models


def _differ(old: FusionFigures, new: FusionFigures) -> str:
    """Why two reports are not about the same thing; empty where they are."""
    for words, before, after in (
        ("provider", old.provider, new.provider),
        ("optimisation level", old.level, new.level),
        ("model", f"{old.nodes} nodes, opset {old.opset}", f"{new.nodes} nodes, opset {new.opset}"),
    ):
        if before != after:
            return f"not comparable: another {words} ({before} in the baseline, {after} now)"
    return ""


def _compare(
    model: str, old: Sequence[FusionFigures], new: Sequence[FusionFigures], thresholds: Thresholds
) -> GraphResult:
    rows = [_nodes(old, new), _ratio(old, new, thresholds), _latency(old, new)]
    if not all(report.verified for report in new):
        rows.insert(0, _unproven(old, new))
    instances = ((1,) * len(old), (1,) * len(new))
    return GraphResult(model, "fusion", heaviest(rows), instances=instances, measures=tuple(rows))


def _unproven(old: Sequence[FusionFigures], new: Sequence[FusionFigures]) -> MeasureResult:
    """A regression of its own, so that what is accepted of the latency does not cover it."""
    before, after = (float(sum(not report.verified for report in side)) for side in (old, new))
    reason = "the fused model's outputs differ from the original's"
    return MeasureResult("unproven_reports", Unit.COUNT, Status.REGRESSED, "count", before, after, reason=reason)


def _nodes(old: Sequence[FusionFigures], new: Sequence[FusionFigures]) -> MeasureResult:
    """Shown, not judged: which fusions stay is decided by races, so that equal builds may differ by one."""
    before, after = (float(np.median([report.fused_nodes for report in side])) for side in (old, new))
    return MeasureResult("fused_nodes", Unit.COUNT, Status.UNCHANGED, "shown", before, after)


def _ratio(old: Sequence[FusionFigures], new: Sequence[FusionFigures], thresholds: Thresholds) -> MeasureResult:
    """A model that was left alone has the ratio 1, exactly."""

    def middle(side: Sequence[FusionFigures], key: str) -> float:
        values = [getattr(report, key) for report in side]
        return float(np.median([1.0 if value is None else value for value in values]))

    before, after = middle(old, "ratio"), middle(new, "ratio")
    required = thresholds.min_effect * before
    status = Status.UNCHANGED
    if middle(new, "low") > middle(old, "high") and after - before >= required:
        status = Status.REGRESSED
    elif middle(new, "high") < middle(old, "low") and before - after >= required:
        status = Status.IMPROVED
    low, high = middle(new, "low") - middle(old, "high"), middle(new, "high") - middle(old, "low")
    return MeasureResult(
        "latency_ratio", Unit.RATIO, status, "interval", before, after, low=low, high=high, required=required
    )


def _latency(old: Sequence[FusionFigures], new: Sequence[FusionFigures]) -> MeasureResult:
    before, after = (float(np.median([report.latency_ns for report in side])) for side in (old, new))
    return MeasureResult("latency", Unit.NS, Status.UNCHANGED, "shown", before, after)

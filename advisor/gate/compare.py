"""The comparison of two sets of runs: what can be compared, what became of it, and what was left open."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from advisor.gate.budgets import check_budgets
from advisor.gate.environment import environment_differences, unreliable
from advisor.gate.fusions import compare_fusions, fusion_budgets
from advisor.gate.judge import judge
from advisor.gate.matching import match
from advisor.gate.policy import Policy, fits
from advisor.gate.result import BY_WEIGHT, BudgetResult, Comparison, GraphResult, Status
from advisor.gate.waivers import waive

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from advisor.gate.judge import Judged
    from advisor.gate.runs import Recording

__all__ = ["compare"]

SHARE = 0.80
"""Of the time of all executions, so much must have been judged."""

ENOUGH_RUNS = 3
ASSUMED = "too few runs to know how they drift: before you trust a time that rose, record three runs or more a side"


def compare(
    before: Sequence[Recording],
    after: Sequence[Recording],
    policy: Policy | None = None,
    *,
    paired: bool = False,
    today: date | None = None,
    baseline: Path | None = None,
) -> Comparison:
    """Compare the runs of two builds.

    Args:
        before: The baseline's runs; none where only budgets are judged.
        after: The current runs.
        policy: Thresholds, budgets and waivers.
        paired: The runs alternate: the first of each side belong together, and so on.
        today: For waivers; the current date otherwise.
        baseline: The baseline's file, for the report.

    Raises:
        ValueError: There are no current runs, or PAIRED and not as many as in the baseline.
    """
    if not after or (paired and len(before) != len(after)):
        raise ValueError("no runs to compare, or pairs that are incomplete")
    policy = policy or Policy()
    old = [run for run in before if run.fusion is None]
    new = [run for run in after if run.fusion is None]
    environment, reasons = environment_differences(before, after) if before else ([], [])
    reasons += [reason for run in (*before, *after) for reason in unreliable(run, policy.thresholds)]
    notes = []
    graphs: list[GraphResult] = []
    undecided = [("", reason) for reason in dict.fromkeys(reasons)]
    if before and not reasons:
        matched = match(old, new, level=policy.thresholds.level, min_instances=policy.thresholds.min_instances)
        judged = judge(matched, policy, paired, new)
        graphs += judged.graphs
        notes += matched.notes
        undecided += matched.undecided + judged.undecided
        undecided += _not_judged(old, new, judged, bool(matched.undecided))
        fusions = compare_fusions(before, after, policy)
        graphs += fusions.graphs
        undecided += fusions.undecided
    notes += [f"thresholds, budgets and waivers are those of {policy.source}"] if policy.source else []
    budgets = [*check_budgets(new, policy), *fusion_budgets(after, policy)]
    undecided += _not_held(policy, budgets)
    outside = [run for run in new if run.work and run.outside_graphs > run.work / 2]
    notes += [f"{run.name}: most of its work lies outside of the graphs compared" for run in outside]
    if 0 < len(before) < ENOUGH_RUNS or len(after) < ENOUGH_RUNS:
        tested = [row for graph in graphs for row in graph.regressions if row.basis == "distribution"]
        notes += [ASSUMED] if tested and before else []
    graphs, budgets, waived = waive(graphs, budgets, policy, today or datetime.now(tz=UTC).date())
    return Comparison(
        graphs=tuple(sorted(graphs, key=lambda graph: BY_WEIGHT.index(graph.status))),
        budgets=tuple(budgets),
        undecided=tuple(dict.fromkeys(undecided)),
        notes=tuple(dict.fromkeys([*notes, *waived])),
        environment=tuple(environment),
        policy=policy.to_dict(),
        baseline=None if baseline is None else str(baseline),
        runs=(tuple(run.name for run in before), tuple(run.name for run in after)),
    )


def _not_held(policy: Policy, budgets: Sequence[BudgetResult]) -> list[tuple[str, str]]:
    """Limits that no graph was held against: what they are meant for may be gone, or have another name."""
    limits = [("*", key) for key in policy.budgets]
    limits += [(pattern, key) for pattern, changes in policy.graphs.items() for key in changes.get("budgets", {})]
    return [
        ("" if pattern == "*" else pattern, f"{key}: no graph to hold it against")
        for pattern, key in limits
        if not any(row.key == key and fits(row.graph, pattern) for row in budgets)
    ]


def _not_judged(
    old: Sequence[Recording], new: Sequence[Recording], judged: Judged, told: bool
) -> list[tuple[str, str]]:
    """Too little of the time was judged: what is green then would be green by accident."""
    reasons = [(graph.name, graph.reason) for graph in judged.graphs if graph.status is Status.UNDECIDED]
    totals = [_total_time(runs) for runs in (old, new)]
    for words, total, time in zip(("baseline's", "current"), totals, judged.time, strict=True):
        if (total and time < SHARE * total) or (not total and old):
            if reasons:
                return reasons
            share = time / total if total else 0
            return [] if told else [("", f"only {share:.0%} of the {words} executions' time could be compared")]
    return []


def _total_time(runs: Sequence[Recording]) -> float:
    return sum(float(samples.columns["span"].mean()) * samples.instances for run in runs for samples in run.samples)

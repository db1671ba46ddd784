"""What a trace says, in sentences: one rule a module, one line here for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.findings import (
    allocation_bound,
    api_bound,
    blocking_copies,
    cannot_decide,
    dispatch_bound,
    gpu_bound,
    graph_bound,
    host_bound,
    launch_bound,
    loading_bound,
    profiler_bound,
    sync_bound,
    turnaround_bound,
    wait_bound,
)
from advisor.trace.findings.finding import SEVERITIES, Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.trace.findings.facts import Facts

__all__ = ["RULES", "SEVERITIES", "Finding", "Rule", "find"]

RULES: Mapping[str, Rule] = {
    rule.id: rule
    for rule in (
        launch_bound.RULE,
        dispatch_bound.RULE,
        turnaround_bound.RULE,
        graph_bound.RULE,
        sync_bound.RULE,
        host_bound.RULE,
        allocation_bound.RULE,
        loading_bound.RULE,
        api_bound.RULE,
        wait_bound.RULE,
        profiler_bound.RULE,
        blocking_copies.RULE,
        gpu_bound.RULE,
        cannot_decide.RULE,
    )
}
"""Every rule by its id. Each verdict has the rule of its name; the rules stand here as `advisor explain` lists them."""


def find(facts: Facts) -> tuple[Finding, ...]:
    """All findings: the headline's verdict first, then by severity, predicted saving over the trace, share of the time.

    Where kernels are missing, nothing is said of idle time but that.
    """
    rules = RULES.values() if facts.evidence.launches.complete else (cannot_decide.RULE,)
    found = [finding for rule in rules for finding in rule.find(facts)]
    first = facts.graphs[0]
    name = None if first.source == "trace" else first.name

    def rank(finding: Finding) -> tuple[bool, int, float, float]:
        return ((finding.id, finding.graph) != (first.verdict, name), *_rank(finding))

    return tuple(sorted(found, key=rank))


def _rank(finding: Finding) -> tuple[int, float, float]:
    _, most = finding.saving_ns or (0, 0)
    runs = max(finding.evidence.get("runs", 1), 1)
    return list(SEVERITIES).index(finding.severity), -most * runs, -finding.evidence["share"]

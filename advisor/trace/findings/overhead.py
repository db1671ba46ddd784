"""The findings of the four rules on what fusion can remove: they differ in the cause that is the largest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from advisor.trace.causes import FUSIBLE
from advisor.trace.findings.finding import INFO, MEDIUM_SHARE, Finding, severity
from advisor.trace.findings.remedies import remedies
from advisor.words import duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.causes import Cause
    from advisor.trace.findings.facts import Facts
    from advisor.trace.levers import Levers

__all__ = ["CONDITION", "overhead"]

CONDITION = (
    "The graph is flagged (its gap ratio, fusible gap over fusible gap plus busy time, is over the threshold, 20 % "
    "unless --threshold says otherwise), or this is its verdict. Of the four causes that fusion removes (launch, "
    "dispatch, turnaround, graph) `{cause}` is the largest. Severity: high where the fusible gap is 20 % of a run or "
    "more, medium from 5 %, else info. The time between runs is looked at in the same way, and told from 5 % on."
)


def overhead(facts: Facts, rule: str, cause: Cause, waits_for: str) -> Iterator[Finding]:
    """What is flagged because of CAUSE, in the words WAITS_FOR."""
    for subject in facts.flagged_for(cause):
        share = subject.share(subject.fusible_ns)
        if subject.index is None and share < MEDIUM_SHARE:
            continue
        advice, saving = remedies(subject)
        message = f"{subject.waits(subject.causes[cause])} {waits_for}."
        rest = subject.fusible_ns - subject.causes[cause]
        if subject.index is not None and (rest >= subject.causes[cause] / 4 or severity(share) == INFO):
            most = subject.most_ns
            message += f" In all, fusion can remove gaps of {duration(most)} at most ({percent(subject.share(most))})."
        yield Finding(
            id=rule,
            severity=severity(share),
            graph=subject.graph,
            message=message,
            advice=advice,
            saving_ns=saving,
            evidence=subject.evidence(share, *FUSIBLE)
            | {"gap_ratio": subject.gap_ratio, "threshold": facts.threshold}
            | _levers(subject.levers),
        )


def _levers(levers: Levers | None) -> dict[str, Any]:
    """The savings that were weighed."""
    if levers is None:
        return {}
    return {
        "chains": levers.chains,
        "fusion_ns": list(levers.fusion_ns),
        "capture_ns": None if levers.capture_ns is None else list(levers.capture_ns),
        "capture_basis": levers.capture_basis,
    }

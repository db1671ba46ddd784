"""The GPU waits for the profiler itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import Cause
from advisor.trace.findings.finding import MEDIUM_SHARE, OR_VERDICT, Finding, Rule, severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import Facts

__all__ = ["RULE"]


def _find(facts: Facts) -> Iterator[Finding]:
    for subject, ns, share in facts.with_share(Cause.PROFILER, MEDIUM_SHARE):
        yield Finding(
            id=RULE.id,
            severity=severity(share),
            graph=subject.graph,
            message=f"{subject.waits(ns)} for the profiler itself: without it the program is faster.",
            advice="Record less: `nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none`, and a shorter window.",
            saving_ns=None,
            evidence=subject.evidence(share, Cause.PROFILER),
        )


RULE = Rule(
    id="profiler-bound",
    title="the GPU waits for the profiler itself",
    means="The profiler stops the launching thread, to flush its buffers for example. None of that is the program's.",
    found=(
        "At least 5 % of a run (or of the time between runs, or of the whole trace where nothing marks runs) is idle "
        "time inside overhead that the profiler recorded on the launching thread. Severity: high from 20 %, else "
        "medium." + OR_VERDICT
    ),
    advice=(
        "Record less: `nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none`, no backtraces, a shorter window. "
        "Judge the other figures by the runs without overhead."
    ),
    doubt="Only what the profiler recorded is known. What it adds to every call, about a microsecond, is not in it.",
    find=_find,
)

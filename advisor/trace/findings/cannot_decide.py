"""The trace does not show enough, with what to record instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import Cause
from advisor.trace.findings.finding import HIGH, MEDIUM_SHARE, Finding, Rule, severity
from advisor.trace.launches import MOST_MISSING
from advisor.trace.trace import WorkKind
from advisor.trace.verdicts import CANNOT_DECIDE
from advisor.words import counted, percent, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import Facts

__all__ = ["RULE"]

RECORD = "nsys profile --trace=cuda,nvtx --cuda-graph-trace=node"
RECORD_ALL = (
    "Let the program wait for the GPU before recording ends, record less at a time, and heed what the profiler "
    f"says of lost events: `{RECORD}`."
)


def _find(facts: Facts) -> Iterator[Finding]:
    undecided = [
        subject for subject in facts.subjects if subject.verdict == CANNOT_DECIDE and subject.index is not None
    ]
    coverage, totals = facts.coverage, facts.totals
    reasons, advice = [], []
    unknown = totals.causes[Cause.UNKNOWN] / max(totals.span_ns, 1)
    orphans = facts.evidence.launches.call < 0
    migrations = int((orphans & (facts.trace.works.kind != WorkKind.KERNEL)).sum())
    complete = facts.evidence.launches.complete
    if not complete:
        reasons.append(
            f"{coverage.kernels_missing:,} of {coverage.kernel_launches:,} kernels that were launched are not in the "
            "trace, and what lies in their place looks idle"
        )
        advice.append(RECORD_ALL)
    if coverage.orphans and ((undecided and complete) or unknown >= MEDIUM_SHARE):
        reasons.append(
            f"{coverage.orphans:,} of {coverage.work:,} works have no launch call, and {percent(unknown)} of the "
            "time the GPU waits for them"
        )
        if 2 * migrations > coverage.orphans:
            advice.append(
                "Most of these are copies that no call asked for, as unified-memory migrations are: prefetch with "
                "cudaMemPrefetchAsync or copy explicitly, then record again."
            )
        else:
            advice.append(f"Start recording before the first launch of what you look at: `{RECORD}`.")
    if coverage.graph_level:
        reasons.append(f"{coverage.graph_level:,} CUDA graph launches are recorded as a whole, their nodes invisible")
        advice.append(f"Record node by node: `{RECORD}`.")
    if coverage.graph_launches_without_work:
        launches = counted(coverage.graph_launches_without_work, "CUDA graph launch", "CUDA graph launches")
        reasons.append(f"of {launches} no work is in the trace, and the GPU seems idle where that ran")
        if complete:
            advice.append(RECORD_ALL)
    if not reasons and not undecided:
        return
    subject = undecided[0] if undecided else None
    what = f"`{plain(subject.graph)}`" if subject is not None and subject.graph is not None else "this trace"
    begin = f"Why the GPU waits in {what} cannot be decided" if undecided else "Part of the trace is hidden"
    yield Finding(
        id=RULE.id,
        severity=HIGH if undecided else severity(unknown),
        graph=None if subject is None else subject.graph,
        message=f"{begin}: {'; '.join(reasons) or 'no work takes any time'}.",
        advice=" ".join(advice) or f"Record again: `{RECORD}`.",
        saving_ns=None,
        evidence={
            "share": unknown,
            "work": coverage.work,
            "orphans": coverage.orphans,
            "orphans_that_are_no_kernels": migrations,
            "kernel_launches": coverage.kernel_launches,
            "kernels_missing": coverage.kernels_missing,
            "unknown_ns": totals.causes[Cause.UNKNOWN],
            "graph_level": coverage.graph_level,
            "graph_launches_without_work": coverage.graph_launches_without_work,
        },
    )


RULE = Rule(
    id="cannot-decide",
    title="the trace does not show enough",
    means=(
        "Works without a launch call have gaps of unknown cause, and a CUDA graph recorded as one interval hides the "
        "gaps inside. Where that could move the gap ratio over the threshold, or under it, no ratio is told. Where "
        "kernels are missing, the GPU seems to idle while it worked, and no figure of idle time holds."
    ),
    found=(
        "A graph's gap ratio lies on one side of the threshold with the unknown gaps and hidden intervals left out, "
        "and on the other with all of them counted as fusible (high). Or works without a launch call cost 5 % of the "
        "time or more (medium, from 20 % high). Or CUDA graph launches were recorded as a whole, or have no work in "
        "the trace (info). Or over "
        f"{percent(MOST_MISSING)} of the launch calls of kernels have no kernel in the trace (high): no ratio and no "
        "other finding is told then."
    ),
    advice=(
        f"Record again with `{RECORD} -o trace PROGRAM`, and `nsys export --type sqlite trace.nsys-rep`. Begin "
        "before the launches that matter: a trimmed window loses the calls of what is still queued. Unified-memory "
        "migrations never have a launch call: prefetch instead."
    ),
    doubt=(
        "Node-level tracing of CUDA graphs costs time per node, and the gaps inside are then somewhat too long. Works "
        "without call are harmless where they cost no time."
    ),
    find=_find,
)

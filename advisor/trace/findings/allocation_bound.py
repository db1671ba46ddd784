"""Memory is allocated or freed inside the loop, and the GPU waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import Cause
from advisor.trace.findings.finding import MEDIUM_SHARE, OR_VERDICT, Finding, Rule, severity
from advisor.trace.launches import CallClass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import Facts

__all__ = ["RULE"]

IN_LOOP_SHARE = 0.01


def _find(facts: Facts) -> Iterator[Finding]:
    for subject, ns, share in facts.with_share(Cause.MEMORY, IN_LOOP_SHARE):
        per_run = facts.calls_in_run(subject, CallClass.MEMORY)
        small = share < MEDIUM_SHARE and not (subject.repeats and per_run >= 1)
        if small and not subject.called(RULE.id):
            continue
        calls = facts.longest_calls(CallClass.MEMORY)
        named = ", ".join(call["name"] for call in calls)
        count = f"{per_run:,.0f} memory calls ({named})" if per_run >= 1 else f"memory calls ({named})"
        yield Finding(
            id=RULE.id,
            severity=severity(share),
            graph=subject.graph,
            message=f"{subject.waits(ns)} for {count}.",
            advice="Allocate once before the loop, or from a pool that keeps its memory; free after it.",
            saving_ns=(0, ns),
            evidence=subject.evidence(share, Cause.MEMORY) | {"memory_calls_per_run": per_run, "longest_calls": calls},
        )


RULE = Rule(
    id="allocation-bound",
    title="memory is allocated or freed inside the loop",
    means=(
        "cudaMalloc and cudaFree go to the driver, and cudaFree waits for the whole device; so do allocating pinned "
        "memory and registering it. Inside a loop the GPU idles for them in every run."
    ),
    found=(
        "At least 5 % of a run (or of the time between runs, or of the whole trace where nothing marks runs) is idle "
        "time inside allocating, freeing, registering or pool calls; or at least 1 % where several measured runs make "
        "one such call or more each between their launches. Severity: high from 20 %, medium from 5 %, else info."
        + OR_VERDICT
    ),
    advice=(
        "Allocate before the loop and reuse; a caching allocator (PyTorch's, ONNX Runtime's arena) or cudaMallocAsync "
        "with a release threshold does that for you. In ONNX Runtime bind outputs to memory that you keep."
    ),
    doubt=(
        "A caching allocator still grows in its first runs: record later. Where nothing marks the runs, allocations "
        "before the loop count too. The message names the longest memory calls of the whole trace, not of the run."
    ),
    find=_find,
)

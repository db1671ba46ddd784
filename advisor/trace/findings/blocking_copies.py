"""Copies that keep the host until they are done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.findings.finding import MEDIUM_SHARE, Finding, Rule, severity
from advisor.words import duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import BlockingCopies, Facts

__all__ = ["RULE"]


def _find(facts: Facts) -> Iterator[Finding]:
    for subject in facts.subjects:
        if subject.index is None:
            continue
        copies = facts.blocking_copies(subject)
        share = subject.share(copies.idle_ns)
        if share < MEDIUM_SHARE:
            continue
        several = f"{copies.count:,.0f} copies keep" if round(copies.count) != 1 else "one copy keeps"
        pageable = ""
        if copies.asynchronous >= 0.5:
            pageable = (
                f" {copies.asynchronous:,.0f} of these calls were asynchronous and blocked all the same: copies to "
                "pageable memory do."
            )
        yield Finding(
            id=RULE.id,
            severity=severity(share),
            graph=subject.graph,
            message=(
                f"{subject.where} {several} the host until done; after that the GPU idles for "
                f"{duration(copies.idle_ns)} in all ({percent(share)}) until more work is launched.{pageable}"
            ),
            advice=_advice(copies),
            saving_ns=(0, round(copies.idle_ns)),
            evidence=subject.evidence(share)
            | {
                "copies_per_run": copies.count,
                "asynchronous_per_run": copies.asynchronous,
                "idle_after_ns": round(copies.idle_ns),
            },
        )


def _advice(copies: BlockingCopies) -> str:
    if copies.asynchronous >= copies.count:
        return "Pin the host memory: these copies are asynchronous already. Then wait as late as you can."
    return "Copy with cudaMemcpyAsync into pinned memory, and wait as late as you can."


RULE = Rule(
    id="blocking-copies",
    title="copies keep the host until they are done",
    means=(
        "cudaMemcpy returns when the copy is done, and so does cudaMemcpyAsync from the GPU into pageable memory "
        "(plain malloc, NumPy, a tensor that was not pinned). While the host waits the queue runs empty, and the GPU "
        "idles until the next work is launched."
    ),
    found=(
        "A run's copies that were asked for with a blocking call, and those to the host whose asynchronous call "
        "ended only after the copy did. In real traces all copies to pageable memory were so and none to pinned "
        "memory. It is told where the idle time right behind these copies (sync, launch and dispatch only) is at "
        "least 5 % of a run. Severity: high from 20 %, else medium."
    ),
    advice=(
        "Pin the host memory (cudaHostAlloc, torch's pin_memory and non_blocking=True), copy asynchronously, wait with "
        "an event only where the value is needed. Gather many small copies into one. In ONNX Runtime bind inputs and "
        "outputs to the device."
    ),
    doubt=(
        "Where the host needs the value before it can go on, the wait stays, whatever the memory. Part of the idle "
        "time behind a copy is the launch that follows it. Copies to the GPU from pageable memory return when the "
        "data is staged, and are not found."
    ),
    find=_find,
)

"""The GPU waits because the host waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import Cause
from advisor.trace.findings.finding import MEDIUM_SHARE, OR_VERDICT, Finding, Rule, severity
from advisor.trace.launches import CallClass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import Facts

__all__ = ["RULE"]


def _find(facts: Facts) -> Iterator[Finding]:
    for subject, ns, share in facts.with_share(Cause.SYNC, MEDIUM_SHARE):
        calls = facts.longest_calls(CallClass.SYNC)
        fusion = ""
        if subject.index is not None:
            fusion = f" {subject.fusible_gaps[0].upper()}{subject.fusible_gaps[1:]}."
        named = f" ({calls[0]['name']} most of all)" if calls else ""
        yield Finding(
            id=RULE.id,
            severity=severity(share),
            graph=subject.graph,
            message=f"{subject.waits(ns)} while the host waits for it to finish{named}.",
            advice=f"Wait less often: keep values on the GPU, read back late, launch the next work first.{fusion}",
            saving_ns=(0, ns),
            evidence=subject.evidence(share, Cause.SYNC)
            | {"sync_calls_per_run": facts.calls_in_run(subject, CallClass.SYNC), "longest_calls": calls},
        )


RULE = Rule(
    id="sync-bound",
    title="the GPU waits because the host waits for it",
    means=(
        "The host stands in a synchronising call until the GPU has nothing left to do, then wakes up and only then "
        "hands over more. All that time the GPU idles; faster launches or fewer kernels do not change it."
    ),
    found=(
        "In a run (or between runs, or in the whole trace where nothing marks runs) at least 5 % of the time is idle "
        "time inside a synchronising call of the launching thread: stream, device, context, event synchronise, or a "
        "copy that blocks. Severity: high from 20 %, else medium." + OR_VERDICT
    ),
    advice=(
        "Find what is waited for. Values read back to decide what to do next (`.item()`, `.cpu()`, a length, a stop "
        "token) can be read one step late, or be decided on the GPU. Waits for timing belong outside of the loop. "
        "Copies into pinned memory with an event let the host go on."
    ),
    doubt=(
        "What is saved at most is the whole idle time; the least is nothing, where the next work really needs the "
        "value on the host. Synchronisation that the profiled benchmark adds for its own clock is not in the product."
    ),
    find=_find,
)

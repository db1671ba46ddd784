"""The GPU waits for CUDA calls that launch nothing."""

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
    for subject, ns, share in facts.with_share(Cause.API, MEDIUM_SHARE):
        calls = facts.longest_calls(CallClass.API)
        named = f" ({calls[0]['name']} most of all)" if calls else ""
        yield Finding(
            id=RULE.id,
            severity=severity(share),
            graph=subject.graph,
            message=f"{subject.waits(ns)} for CUDA calls that launch nothing{named}.",
            advice="Do once what does not change: create streams, events and graphs, and ask for attributes, before.",
            saving_ns=(0, ns),
            evidence=subject.evidence(share, Cause.API) | {"longest_calls": calls},
        )


RULE = Rule(
    id="api-bound",
    title="the GPU waits for CUDA calls that launch nothing",
    means="Creating streams, events and graphs, asking for attributes, setting devices: the GPU idles meanwhile.",
    found=(
        "At least 5 % of a run (or of the time between runs, or of the whole trace where nothing marks runs) is idle "
        "time inside API calls of the launching thread that neither launch, synchronise, allocate nor load. Severity: "
        "high from 20 %, else medium." + OR_VERDICT
    ),
    advice="The message names the call that takes longest. Make it once, before the loop, and keep what it returns.",
    doubt=(
        "Where nothing marks the runs, creating the context and its streams counts too. The call named is the longest "
        "of the whole trace. A call may be long because it waits for a lock that another thread holds."
    ),
    find=_find,
)

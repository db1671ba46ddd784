"""Work was handed over to an idle GPU and still did not start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import LATENCY_LIMIT_NS, Cause
from advisor.trace.findings.finding import MEDIUM_SHARE, OR_VERDICT, Finding, Rule, severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import Facts

__all__ = ["RULE"]


def _find(facts: Facts) -> Iterator[Finding]:
    for subject, ns, share in facts.with_share(Cause.WAIT, MEDIUM_SHARE):
        yield Finding(
            id=RULE.id,
            severity=severity(share),
            graph=subject.graph,
            message=f"{subject.waits(ns)} though work was handed over: it does not start.",
            advice="Look at what the streams wait for (events, host functions), and at who else uses this GPU.",
            saving_ns=None,
            evidence=subject.evidence(share, Cause.WAIT),
        )


RULE = Rule(
    id="wait-bound",
    title="work was handed over and still does not start",
    means=(
        "The launch call is over and the device idle, but the work does not begin: its stream waits for an event, a "
        "host function or another process, the GPU is shared, or its clocks have to rise first."
    ),
    found=(
        f"At least 5 % of a run (or of the time between runs, or of the whole trace where nothing marks runs) is idle "
        f"time more than {LATENCY_LIMIT_NS // 1000} µs after the work was handed over. Severity: high from 20 %, else "
        "medium." + OR_VERDICT
    ),
    advice=(
        "Draw the dependencies between streams: an event that is recorded late holds up all that follow. Let nobody "
        "else use the GPU (MPS instead of time slices, where several processes must). Lock the clocks for a "
        "benchmark."
    ),
    doubt="The first work after a long idle time waits for clocks and power: then the idle time before is the cause.",
    find=_find,
)

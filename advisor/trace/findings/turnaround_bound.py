"""Many tiny kernels: the device's own step from one to the next costs most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import LATENCY_LIMIT_NS, Cause
from advisor.trace.findings.finding import Rule
from advisor.trace.findings.overhead import CONDITION, overhead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import Facts
    from advisor.trace.findings.finding import Finding

__all__ = ["RULE"]


def _find(facts: Facts) -> Iterator[Finding]:
    return overhead(facts, RULE.id, Cause.TURNAROUND, "for its own step from one queued kernel to the next")


RULE = Rule(
    id="turnaround-bound",
    title="many tiny kernels",
    means=(
        "The queue is full and the host is fast enough, but each kernel is so short that the device's own step to the "
        "next one, about a microsecond, is a large part of the time."
    ),
    found=CONDITION.format(cause="turnaround")
    + f" At most {LATENCY_LIMIT_NS // 1000} µs of a gap count as turnaround.",
    advice=(
        "Only fewer kernels help: fuse. A CUDA graph launches faster, and still steps from node to node. A larger "
        "batch makes kernels longer at the same number of steps."
    ),
    doubt=(
        "Where kernels of one stream wait for events of another the step contains that wait. Programmatic dependent "
        "launch (Hopper and newer) hides part of the step without fusion."
    ),
    find=_find,
)

"""The GPU waits for launch calls and their latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import Cause
from advisor.trace.findings.finding import Rule
from advisor.trace.findings.overhead import CONDITION, overhead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import Facts
    from advisor.trace.findings.finding import Finding

__all__ = ["RULE"]


def _find(facts: Facts) -> Iterator[Finding]:
    return overhead(facts, RULE.id, Cause.LAUNCH, "for launch calls and their latency")


RULE = Rule(
    id="launch-bound",
    title="the GPU waits while kernels are being launched",
    means=(
        "Each kernel is done before the next one has been handed over. The CPU needs some microseconds for every "
        "launch, however small the kernel; with kernels of a few microseconds the GPU idles for a large part of the "
        "time. A faster GPU would not help."
    ),
    found=CONDITION.format(cause="launch"),
    advice=(
        "Launch less: fuse chains of kernels (the candidates of the report; `advisor fuse` for ONNX models), or "
        "capture a run once as a CUDA graph and replay it with one launch. Capture removes more where shapes are "
        "fixed and nothing synchronises inside a run; fusion also saves memory traffic and needs no fixed shapes. A "
        "larger batch makes each launch worth more."
    ),
    doubt=(
        "The profiler makes launch calls slower, by a microsecond or so each: without it the GPU waits a little less. "
        "Clocks that were low while recording make kernels longer and the ratio smaller. Copies that block the host "
        "inside an asynchronous call look like launch time: see blocking-copies."
    ),
    find=_find,
)

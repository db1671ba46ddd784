"""The GPU waits for the framework between its launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import DISPATCH_LIMIT_NS, Cause
from advisor.trace.findings.finding import Rule
from advisor.trace.findings.overhead import CONDITION, overhead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import Facts
    from advisor.trace.findings.finding import Finding

__all__ = ["RULE"]


def _find(facts: Facts) -> Iterator[Finding]:
    return overhead(facts, RULE.id, Cause.DISPATCH, "for the framework between its launches")


RULE = Rule(
    id="dispatch-bound",
    title="the GPU waits for the framework between its launches",
    means=(
        "Between two launches the host runs no CUDA call: the framework chooses the next operator, checks shapes, "
        "finds memory. That costs per operator, as launching does, and the GPU is done before it is over."
    ),
    found=(
        CONDITION.format(cause="dispatch")
        + f" Stretches without an API call that follow a launch count as dispatch up "
        f"to {DISPATCH_LIMIT_NS // 1000} µs (--dispatch-limit); longer ones are the program's own code."
    ),
    advice=(
        "Fewer operators (fusion), or none at all between launches (a CUDA graph). In ONNX Runtime also I/O binding "
        "and the CUDA execution provider's graph option; in PyTorch torch.compile, which does both. Several threads "
        "do not help one stream."
    ),
    doubt=(
        "Short Python code of the program's own between two launches looks the same, and no fusion of kernels removes "
        "it. The profiler's cost per call is part of it."
    ),
    find=_find,
)

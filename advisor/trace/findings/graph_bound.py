"""The GPU waits between the nodes inside CUDA graphs."""

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
    return overhead(facts, RULE.id, Cause.GRAPH, "between the nodes of its CUDA graph")


RULE = Rule(
    id="graph-bound",
    title="the GPU waits between the nodes inside CUDA graphs",
    means=(
        "The launches are gone: one call starts the whole graph. What is left is the device's step from node to node, "
        "about a microsecond each, and nodes so short that it shows."
    ),
    found=CONDITION.format(cause="graph"),
    advice=(
        "Fewer nodes: fuse chains before capturing. Look for memset and copy nodes that could go, and for branches "
        "that are joined only to fork again."
    ),
    doubt=(
        "Recording node by node (--cuda-graph-trace=node) makes each node slower. Compare with a recording of whole "
        "graphs before you believe a gap of a microsecond."
    ),
    find=_find,
)

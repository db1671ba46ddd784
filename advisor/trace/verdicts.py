"""The gap ratio, when it may be told, and the verdict in one word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import FUSIBLE, Cause

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CANNOT_DECIDE", "GPU_BOUND", "VERDICTS", "decided_ratio", "verdict"]

GPU_BOUND = "gpu-bound"
CANNOT_DECIDE = "cannot-decide"

VERDICTS: Mapping[Cause, str] = {
    Cause.UNKNOWN: CANNOT_DECIDE,
    Cause.GRAPH: "graph-bound",
    Cause.MODULE: "loading-bound",
    Cause.LAUNCH: "launch-bound",
    Cause.TURNAROUND: "turnaround-bound",
    Cause.WAIT: "wait-bound",
    Cause.PROFILER: "profiler-bound",
    Cause.SYNC: "sync-bound",
    Cause.MEMORY: "allocation-bound",
    Cause.API: "api-bound",
    Cause.DISPATCH: "dispatch-bound",
    Cause.HOST: "host-bound",
}
"""The verdict where this cause is the largest."""


def decided_ratio(causes: Mapping[Cause, int], busy_ns: int, hidden_ns: int, threshold: float) -> float | None:
    """Fusible gap over fusible gap plus busy time, or None where the trace cannot tell if that is over THRESHOLD.

    Gaps of unknown cause may be fusible, and time inside graphs recorded as a whole (HIDDEN_NS, part of BUSY_NS) may
    be idle: the ratio is told only when neither could move it across the threshold.
    """
    fusible = sum(causes[cause] for cause in FUSIBLE)
    if fusible + busy_ns == 0:
        return None
    ratio = fusible / (fusible + busy_ns)
    unknown = causes[Cause.UNKNOWN]
    highest = (fusible + unknown + hidden_ns) / (fusible + unknown + busy_ns)
    return None if ratio <= threshold < highest else ratio


def verdict(causes: Mapping[Cause, int], busy_ns: int, ratio: float | None, threshold: float) -> str:
    """One word on a region: `gpu-bound`, `cannot-decide`, or its largest cause of idleness."""
    idle = sum(causes.values())
    if ratio is None:
        return CANNOT_DECIDE
    if ratio <= threshold and idle <= threshold * (idle + busy_ns):
        return GPU_BOUND
    return VERDICTS[max(causes, key=lambda cause: causes[cause])]

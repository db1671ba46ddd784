"""The gap ratio, when it may be told, and the verdict in one word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.trace.causes import FUSIBLE, Cause

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CANNOT_DECIDE", "GPU_BOUND", "MOST_IDLE", "VERDICTS", "Judge", "decided_ratio"]

GPU_BOUND = "gpu-bound"
CANNOT_DECIDE = "cannot-decide"

MOST_IDLE = 0.5
"""A GPU that waits for more of its time than this is not bound by what it computes."""

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


@dataclass(frozen=True, slots=True)
class Judge:
    """By what the figures of a region become a ratio, a flag and a verdict."""

    threshold: float
    """Over this gap ratio a region is flagged."""
    complete: bool
    """Nearly all kernels that were launched are in the trace; else what looks idle may have been busy."""

    def ratio(self, causes: Mapping[Cause, int], busy_ns: int, hidden_ns: int) -> float | None:
        """The gap ratio; None where the trace cannot tell if it is over the threshold (see `decided_ratio`)."""
        return decided_ratio(causes, busy_ns, hidden_ns, self.threshold) if self.complete else None

    def flags(self, ratio: float | None) -> bool:
        """Whether the gap ratio RATIO is over the threshold."""
        return ratio is not None and ratio > self.threshold

    def verdict(self, causes: Mapping[Cause, int], busy_ns: int, ratio: float | None) -> str:
        """One word on a region: `gpu-bound`, `cannot-decide`, or its largest cause of idleness.

        The threshold says what is flagged. A region that is idle for most of the time has not enough to do, however
        high that is.
        """
        idle = sum(causes.values())
        if ratio is None:
            return CANNOT_DECIDE
        most = min(self.threshold, MOST_IDLE)
        if ratio <= most and idle <= most * (idle + busy_ns):
            return GPU_BOUND
        return VERDICTS[max(causes, key=lambda cause: causes[cause])]

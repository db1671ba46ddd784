"""What comes before the first measured run, and what from there to the last: only the latter repeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.causes import Cause

if TYPE_CHECKING:
    from advisor.trace.figures import Causes, Evidence
    from advisor.trace.trace import Trace

__all__ = ["Phase", "Phases", "find_phases"]


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the time of all devices, ns."""

    span_ns: int
    """Of all devices together, as far as they had begun and not ended."""
    exposed_gap_ns: int
    causes: Causes


@dataclass(frozen=True, slots=True)
class Phases:
    """A trace in which runs could be told apart, cut at the first measured one."""

    setup: Phase
    """Before it: start-up, and runs that are warm-up."""
    runs: Phase
    """From its end to the end of the last measured run, with all that happens between."""


def find_phases(trace: Trace, evidence: Evidence) -> Phases | None:
    """Cut the time of a trace; None where fewer than two runs were measured.

    The gap before the first measured run counts as set-up, but for what of it lies inside that run.
    """
    instances, timeline = evidence.instances, evidence.timeline
    measured = np.flatnonzero(evidence.runs.measured) if len(instances) else np.zeros(0, np.intp)
    if len(measured) < 2:
        return None
    first = measured[np.argmin(instances.start[measured])]
    ends = instances.start + instances.span
    begin, end, last = int(instances.start[first]), int(ends[first]), int(ends[measured].max())
    start = trace.works.start[timeline.order[evidence.gap_places]]
    before = evidence.gap_causes[:, start <= end].sum(axis=1) - instances.causes[first]
    within = evidence.gap_causes[:, (start > end) & (start <= last)].sum(axis=1)
    spans = [(int(trace.works.start[timeline.order[part.first]]), part.span_ns) for part in timeline.spans]

    def phase(causes: np.ndarray[tuple[int], np.dtype[np.int64]], since: int, until: int) -> Phase:
        span = sum(max(0, min(since_first + ns, until) - max(since_first, since)) for since_first, ns in spans)
        found = {cause: max(int(causes[cause]), 0) for cause in Cause}
        return Phase(span, sum(found.values()), found)

    return Phases(phase(before, min(at for at, _ in spans), begin), phase(within, end, last))

"""How many API calls of a class the runs of a graph make between their first and their last launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.thread_axis import ThreadAxis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.figures import Evidence
    from advisor.trace.launches import CallClass
    from advisor.trace.trace import Trace

__all__ = ["calls_per_run"]


def calls_per_run(trace: Trace, evidence: Evidence, classes: tuple[CallClass, ...]) -> NDArray[np.int64]:
    """Count the calls of some classes that start, on a run's launching thread, while it launches.

    Args:
        trace: The trace.
        evidence: Its runs; where nothing marks them, all calls belong to the one run of the whole trace.
        classes: The classes.

    Returns:
        Shape (runs,).
    """
    calls, call_class = trace.calls, evidence.launches.call_class
    wanted = np.flatnonzero(np.isin(call_class, classes))
    size = len(evidence.runs.graph)
    if not len(evidence.instances) or not len(wanted):
        return np.full(size, len(wanted), np.int64)
    begin, thread = evidence.instances.start, evidence.instances.thread
    inside = np.flatnonzero((evidence.runs.of_work >= 0) & (evidence.launches.call >= 0))
    end = begin.copy()
    np.maximum.at(end, evidence.runs.of_work[inside], calls.end[evidence.launches.call[inside]])
    axis = ThreadAxis(trace)
    begins = axis(begin, thread)
    order = np.argsort(begins, kind="stable")
    time, on = calls.start[wanted], calls.thread[wanted]
    place = np.searchsorted(begins[order], axis(time, on), side="right")
    owner = order[np.maximum(place - 1, 0)]
    within = (place > 0) & (thread[owner] == on) & (time < end[owner])
    return np.bincount(owner[within], minlength=size)

"""How many API calls of a class the runs of a graph make between their first and their last launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
    begin = evidence.instances.start
    inside = np.flatnonzero((evidence.runs.of_work >= 0) & (evidence.launches.call >= 0))
    run, call = evidence.runs.of_work[inside], evidence.launches.call[inside]
    end = begin.copy()
    np.maximum.at(end, run, calls.end[call])
    thread = np.zeros(size, np.int64)
    first = calls.start[call] == begin[run]
    thread[run[first]] = calls.thread[call[first]]

    # Threads lie one after the other on one axis.
    origin = int(calls.start.min())
    stride = int(calls.end.max()) - origin + 1
    order = np.argsort(begin - origin + thread * stride, kind="stable")
    time, on = calls.start[wanted], calls.thread[wanted].astype(np.int64)
    place = np.searchsorted((begin - origin + thread * stride)[order], time - origin + on * stride, side="right")
    owner = order[np.maximum(place - 1, 0)]
    within = (place > 0) & (thread[owner] == on) & (time < end[owner])
    return np.bincount(owner[within], minlength=size)

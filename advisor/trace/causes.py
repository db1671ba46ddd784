"""Why a device was idle: each exposed gap cut into parts that add up to it exactly.

For work k with launch call l on thread t, b = idle since. The gap (b, k.start) is cut at l.start and l.end; what lies
before l.start is told by what the thread was doing (`ThreadActivity`). Where two causes fit, the upper row wins:

    unknown      all of it, k has no launch call
    graph        all of it, an earlier work of the same graph launch started before k
    module       inside l, the first launch of its kernel in its process (lazy loading)
    launch       from max(b, l.start) on: inside l, and when l ended after b at most LATENCY_LIMIT after l
    turnaround   from b on at most LATENCY_LIMIT, when l ended before b (k stood in the queue)
    wait         beyond LATENCY_LIMIT: handed over, the device idle, and still not started
    profiler, sync, memory, module, api      before l.start, inside such a call
    dispatch     before l.start, inside another launch call; or in an API-free stretch of at most the dispatch limit
                 after a launch that does not block: the framework's cost per operator
    host         before l.start, otherwise: the program's own code
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.launches import CallClass
from advisor.trace.thread_axis import ThreadAxis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.launches import Launches
    from advisor.trace.trace import Trace

__all__ = ["DISPATCH_LIMIT_NS", "FUSIBLE", "LATENCY_LIMIT_NS", "LAUNCH_GAP", "Cause", "ThreadActivity", "split"]

LATENCY_LIMIT_NS = 100_000
"""On an idle device launches take 0.4-7 us in the median and under 80 us at the 99th percentile (twelve traces)."""

DISPATCH_LIMIT_NS = 250_000
"""Frameworks' stretches between launches: medians of 3-90 us, nearly all under 250 us (thirteen traces)."""


class Cause(IntEnum):
    """Why a device was idle."""

    UNKNOWN = 0
    GRAPH = 1
    MODULE = 2
    LAUNCH = 3
    TURNAROUND = 4
    WAIT = 5
    PROFILER = 6
    SYNC = 7
    MEMORY = 8
    API = 9
    DISPATCH = 10
    HOST = 11

    @property
    def key(self) -> str:
        """The name in JSON and for people."""
        return self.name.lower()


LAUNCH_GAP = (Cause.LAUNCH, Cause.DISPATCH)
"""What CUDA graph capture or fusion removes."""

FUSIBLE = (Cause.LAUNCH, Cause.DISPATCH, Cause.TURNAROUND, Cause.GRAPH)
"""What fusion can remove at most."""

_CAUSE_OF_CLASS = {
    CallClass.LAUNCH: Cause.DISPATCH,
    CallClass.API: Cause.API,
    CallClass.MODULE: Cause.MODULE,
    CallClass.MEMORY: Cause.MEMORY,
    CallClass.SYNC: Cause.SYNC,
}
"""From the weakest to the strongest: where calls of one thread overlap, the later row hides the earlier."""
_CAUSE_BY_CLASS = np.array([_CAUSE_OF_CLASS[call_class] for call_class in CallClass], np.int8)


class ThreadActivity:
    """What each host thread was doing at each moment, as one sorted list of labelled segments.

    A segment runs from one event (start or end of a call or of profiler overhead) to the next; neighbours of one cause
    are one segment. The threads lie one after the other on a single axis, so that one search answers for all of them.
    """

    def __init__(self, trace: Trace, launches: Launches, dispatch_limit_ns: int) -> None:
        calls, overheads = trace.calls, trace.overheads
        starts = np.concatenate([calls.start, overheads.start])
        ends = np.concatenate([calls.end, overheads.end])
        thread = np.concatenate([calls.thread, overheads.thread])
        tag = np.concatenate([launches.call_class, np.full(len(overheads), -1, np.int8)])
        self._axis = ThreadAxis(trace)
        events = np.stack([self._axis(starts, thread), self._axis(ends, thread)], axis=1).reshape(-1)
        begins = np.tile(np.array([True, False]), len(starts))
        tag, thread = np.repeat(tag, 2), np.repeat(thread, 2)
        if not (events[1:] >= events[:-1]).all():  # calls inside one another, several threads, or a shuffled file
            order = np.argsort(events, kind="stable")
            events, begins, tag, thread = events[order], begins[order], tag[order], thread[order]
        labels = _labels(events, begins=begins, tag=tag, thread=thread, dispatch_limit_ns=dispatch_limit_ns)
        # One more segment in front: what lies before the first event of all.
        changes = np.flatnonzero(np.diff(labels, prepend=np.int8(Cause.HOST)))
        self._events = np.concatenate([[-1], events[changes]])
        self._label = np.concatenate([[np.int8(Cause.HOST)], labels[changes]])

    def at(self, time: NDArray[np.int64], thread: NDArray[np.int32]) -> NDArray[np.int8]:
        """The cause that the segment at each TIME of THREAD counts for, shape (n,)."""
        return self._label[self._segment(self._axis(time, thread))]

    def split_into(
        self,
        parts: NDArray[np.int64],
        columns: NDArray[np.intp],
        begin: NDArray[np.int64],
        end: NDArray[np.int64],
        thread: NDArray[np.int32],
    ) -> None:
        """Write into PARTS how much of each interval [BEGIN, END) of THREAD went to each cause.

        Args:
            parts: Shape (causes, gaps), ns; zeros in the columns that are written.
            columns: Shape (n,): the column of each interval, each at most once.
            begin: Shape (n,), ns, inside the trace.
            end: Shape (n,), ns, at most the start of a call of the thread, at least `begin`.
            thread: Shape (n,).
        """
        begin, end = self._axis(begin, thread), self._axis(end, thread)
        first = self._segment(begin)
        beyond = np.append(self._events[1:], np.iinfo(np.int64).max)[first]
        # Most intervals lie inside one segment; the others are cut by what each cause has summed up to either end.
        # By one index into all parts: half the time of a pair of indices.
        place = self._label[first] * np.intp(parts.shape[1]) + columns
        parts.reshape(-1)[place] = np.minimum(end, beyond) - begin
        across = np.flatnonzero(end > beyond)
        if not len(across):
            return
        begin, end, columns = beyond[across], end[across], columns[across]
        first, last = first[across] + 1, np.searchsorted(self._events, end, side="left") - 1
        parts[self._label[last], columns] += end - self._events[last]
        durations = np.diff(self._events, append=self._events[-1])
        for cause in np.flatnonzero(np.bincount(self._label)).tolist():
            before = np.cumsum(np.where(self._label == cause, durations, 0))
            parts[cause, columns] += before[last - 1] - before[first - 1]

    def _segment(self, point: NDArray[np.int64]) -> NDArray[np.intp]:
        return np.searchsorted(self._events, point, side="right") - 1


def _labels(
    events: NDArray[np.int64],
    *,
    begins: NDArray[np.bool_],
    tag: NDArray[np.int8],
    thread: NDArray[np.int32],
    dispatch_limit_ns: int,
) -> NDArray[np.int8]:
    """The cause that each segment counts for, shape (events,): the segment after each event."""
    call, overhead = tag >= 0, tag < 0
    if not overhead.any():
        label = _call_labels(events, begins, tag, thread, dispatch_limit_ns)
    else:
        label = np.full(len(events), Cause.HOST, np.int8)
        places = np.flatnonzero(call)
        if len(places):
            of_calls = _call_labels(events[call], begins[call], tag[call], thread[call], dispatch_limit_ns)
            # A segment that begins with profiler overhead is what the latest call event made it.
            latest = np.cumsum(call) - 1
            label = np.where(latest >= 0, of_calls[latest], label)
        inside = np.cumsum(np.where(overhead, np.where(begins, 1, -1), 0), dtype=np.int32) > 0
        label[inside] = Cause.PROFILER
    # Between two threads on the axis, before the first event of the next one, there is only host code.
    label[:-1][thread[1:] != thread[:-1]] = Cause.HOST
    return label


def _call_labels(
    events: NDArray[np.int64],
    begins: NDArray[np.bool_],
    tag: NDArray[np.int8],
    thread: NDArray[np.int32],
    dispatch_limit_ns: int,
) -> NDArray[np.int8]:
    """The same for starts and ends of calls alone."""
    label = np.where(begins, _CAUSE_BY_CLASS[tag], np.int8(Cause.HOST))
    step = np.where(begins, np.int8(1), np.int8(-1))
    depth = np.cumsum(step, dtype=np.int32)
    # An API-free stretch runs from the end of a call to the next event, which is the start of one.
    free = np.flatnonzero(depth[:-1] == 0)
    short = events[free + 1] - events[free] <= dispatch_limit_ns
    free = free[short & (thread[free + 1] == thread[free])]
    # The latest call is the one that ended last: a launch call with a module load inside is still a launch call.
    named = np.where(~begins & (tag != CallClass.API), np.arange(len(events), dtype=np.int32), np.int32(-1))
    latest = np.maximum.accumulate(named)[free]
    after_launch = (latest >= 0) & (tag[latest] == CallClass.LAUNCH) & (thread[latest] == thread[free])
    label[free[after_launch]] = Cause.DISPATCH
    if not (depth > 1).any():
        return label
    for call_class, cause in _CAUSE_OF_CLASS.items():
        mine = tag == call_class
        if mine.any():
            label[np.cumsum(np.where(mine, step, np.int8(0)), dtype=np.int32) > 0] = cause
    return label


def split(
    trace: Trace,
    launches: Launches,
    activity: ThreadActivity,
    rows: NDArray[np.intp],
    idle_since: NDArray[np.int64],
    not_before: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Cut exposed gaps into their causes.

    Args:
        trace: The trace.
        launches: Its join.
        activity: What its threads were doing.
        rows: Shape (n,): rows of `trace.works` that have an exposed gap.
        idle_since: Shape (n,): b of each.
        not_before: Shape (n,): where a gap is cut off at a later time than b (a region's beginning); the cause is
            still told by the whole gap.

    Returns:
        Shape (causes, n), ns; the columns add up to `start - max(idle_since, not_before)`.
    """
    start = trace.works.start[rows]
    begin = idle_since if not_before is None else np.minimum(np.maximum(idle_since, not_before), start)
    # Zeros cost no memory until something is written over them, and most causes are rare: write only what is not 0.
    parts = np.zeros((len(Cause), len(rows)), np.int64)
    call, inside_graph = launches.call[rows], launches.inside_graph[rows]
    for cause, mask in ((Cause.UNKNOWN, call < 0), (Cause.GRAPH, inside_graph)):
        whole = np.flatnonzero(mask)
        parts[cause, whole] = start[whole] - begin[whole]
    launched = np.flatnonzero((call >= 0) & ~inside_graph)
    if not len(launched):
        return parts
    if len(launched) < len(rows):
        start, begin, idle_since, call = start[launched], begin[launched], idle_since[launched], call[launched]
        rows = rows[launched]

    call_start, call_end = trace.calls.start[call], trace.calls.end[call]
    # Where l ended before b, both clips give the beginning.
    inside_from = np.minimum(np.maximum(call_start, begin), start)
    handed_over = np.minimum(np.maximum(call_end, begin), start)
    early = np.flatnonzero(begin < inside_from)
    if len(early):
        thread = trace.calls.thread[call[early]]
        activity.split_into(parts, launched[early], begin[early], inside_from[early], thread)

    inside, after = handed_over - inside_from, start - handed_over
    late = np.flatnonzero(after > LATENCY_LIMIT_NS)
    parts[Cause.WAIT, launched[late]] = after[late] - LATENCY_LIMIT_NS
    after[late] = LATENCY_LIMIT_NS
    queued = np.flatnonzero(call_end <= idle_since)
    parts[Cause.TURNAROUND, launched[queued]] = after[queued]
    after[queued] = 0
    first = np.flatnonzero(launches.first_of_kernel[rows])
    parts[Cause.MODULE, launched[first]] += inside[first]
    inside[first] = 0
    parts[Cause.LAUNCH, launched] = inside + after
    return parts

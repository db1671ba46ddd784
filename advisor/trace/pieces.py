"""Where in time each cause lies: exposed gaps cut into pieces of one cause each.

The figures say how much of a gap each cause took; a picture needs to know when. The rules are those of
`advisor.trace.causes`, and the pieces of a gap add up to its causes exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.causes import LATENCY_LIMIT_NS, Cause
from advisor.trace.thread_axis import ThreadAxis
from advisor.trace.trace import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.causes import ThreadActivity
    from advisor.trace.figures import Evidence
    from advisor.trace.trace import Trace

__all__ = ["Pieces", "cut_gaps"]


@dataclass(frozen=True, slots=True)
class Pieces(Columns):
    """Pieces of gaps, shape (pieces,), by gap and time: end to end inside a gap, and no two neighbours of one cause."""

    gap: NDArray[np.intp]
    """Index into the gaps that were cut."""
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    cause: NDArray[np.int8]
    """A `Cause`."""


def cut_gaps(trace: Trace, evidence: Evidence, activity: ThreadActivity, gaps: NDArray[np.intp]) -> Pieces:
    """Cut gaps into their pieces.

    Args:
        trace: The trace.
        evidence: Its timeline and gaps.
        activity: What its threads were doing.
        gaps: Shape (n,), indices into `Evidence.gap_places`.
    """
    launches, places = evidence.launches, evidence.gap_places[gaps]
    rows, since = evidence.timeline.order[places], evidence.timeline.idle_since[places]
    until = trace.works.start[rows]
    call = launches.call[rows]
    first = launches.first_of_kernel[rows]
    number = np.arange(len(gaps))

    whole = (call < 0) | launches.inside_graph[rows]
    pieces = [Pieces(number[whole], since[whole], until[whole], np.where(call[whole] < 0, Cause.UNKNOWN, Cause.GRAPH))]
    cut = np.flatnonzero(~whole)
    if len(cut):
        begin, end, call, first = since[cut], until[cut], call[cut], first[cut]
        call_start, call_end = trace.calls.start[call], trace.calls.end[call]
        queued = call_end <= begin
        called = np.where(queued, begin, np.clip(call_start, begin, end))
        handed_over = np.where(queued, begin, np.clip(call_end, begin, end))
        late = np.minimum(handed_over + LATENCY_LIMIT_NS, end)
        pieces += [
            _early(trace, activity, cut, begin, called, trace.calls.thread[call]),
            Pieces(cut, called, handed_over, np.where(first, Cause.MODULE, Cause.LAUNCH)),
            Pieces(cut, handed_over, late, np.where(queued, Cause.TURNAROUND, Cause.LAUNCH)),
            Pieces(cut, late, end, np.full(len(cut), Cause.WAIT)),
        ]
    return _merged(pieces)


def _early(
    trace: Trace,
    activity: ThreadActivity,
    gap: NDArray[np.intp],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    thread: NDArray[np.int32],
) -> Pieces:
    """What lies before the launch call, cut wherever a call or profiler overhead of the thread begins or ends."""
    low, high = int(begin.min()), int(end.max())
    of_thread = ThreadAxis(trace)
    edges = []
    for events in (trace.calls, trace.overheads):
        for time in (events.start, events.end):
            inside = (time > low) & (time < high)
            edges.append(of_thread(time[inside], events.thread[inside]))
    axis = np.unique(np.concatenate(edges))
    shift = of_thread.shift[thread]
    lower = np.searchsorted(axis, begin + shift, side="right")
    count = np.maximum(np.searchsorted(axis, end + shift, side="left") - lower, 0)
    inner = np.repeat(np.arange(len(gap)), count)
    place = np.arange(len(inner)) - np.repeat(np.cumsum(count) - count, count) + lower[inner]

    # Each gap's cuts: its beginning, then the edges inside; each piece runs to the next cut, the last one to the end.
    which = np.concatenate([np.arange(len(gap)), inner])
    start = np.concatenate([begin, axis[place] - shift[inner]])
    order = np.lexsort((start, which))
    which, start = which[order], start[order]
    stop = np.append(start[1:], 0)
    last = np.append(which[1:] != which[:-1], True)
    stop[last] = end[which[last]]

    return Pieces(gap[which], start, stop, activity.at(start, thread[which]))


def _merged(parts: list[Pieces]) -> Pieces:
    """All pieces by gap and time, without empty ones, and neighbours of one cause as one."""
    gap, start, end, cause = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("gap", "start", "end", "cause")
    )
    kept = np.flatnonzero(end > start)
    kept = kept[np.lexsort((start[kept], gap[kept]))]
    gap, start, end, cause = gap[kept], start[kept], end[kept], cause[kept].astype(np.int8)
    begins = np.ones(len(kept), np.bool_)
    begins[1:] = (gap[1:] != gap[:-1]) | (cause[1:] != cause[:-1])
    ends = np.append(begins[1:], True)[: len(kept)]
    return Pieces(gap[begins], start[begins], end[ends], cause[begins])

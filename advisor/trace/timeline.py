"""The device timeline: the order of works on each device, and where the device was idle.

Busy time is the length of the union of the intervals of all works of a device, never their sum. With b the latest end
among the works that stand before k, the exposed gap of k is max(0, k.start - b), and on each device

    busy + sum of exposed gaps = last end - first start

exactly. `device_timeline` checks this identity on every trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.trace import as_slice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.launches import Launches
    from advisor.trace.trace import Trace

__all__ = ["Span", "Timeline", "busy_before", "device_timeline", "running_end"]


@dataclass(frozen=True, slots=True)
class Span:
    """One device's part of the timeline: rows [first, last) of its works."""

    device: int
    """Index into `Trace.devices`."""
    first: int
    last: int
    span_ns: int
    busy_ns: int
    exposed_gap_ns: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """All works, device by device, each device's in the order (start, end, launch call's start)."""

    order: NDArray[np.intp]
    """Shape (works,): the row in `Trace.works` of each place on the timeline."""
    rows: NDArray[np.intp] | slice
    """`order`, as a slice where it is one."""
    idle_since: NDArray[np.int64]
    """Shape (works,), in timeline order: b, the latest end before; its own start for a device's first work."""
    exposed_gap: NDArray[np.int64]
    """Shape (works,), ns, in timeline order."""
    spans: tuple[Span, ...]


def device_timeline(trace: Trace, launches: Launches) -> Timeline:
    """Sort the works of each device and find its idle intervals."""
    works = trace.works
    order = _order(trace, launches)
    rows = as_slice(order)
    start, end = works.start[rows], works.end[rows]
    first = np.flatnonzero(np.diff(works.device[rows], prepend=-1))
    last = np.append(first[1:], len(order))
    idle_since = np.empty(len(order), np.int64)
    for begin, stop in zip(first, last, strict=True):
        idle_since[begin] = start[begin]
        np.maximum.accumulate(end[begin : stop - 1], out=idle_since[begin + 1 : stop])
    exposed_gap = np.maximum(start - idle_since, 0)
    spans = []
    for begin, stop in zip(first, last, strict=True):
        latest = int(end[begin:stop].max())
        covered = np.minimum(end[begin:stop], latest) - np.maximum(start[begin:stop], idle_since[begin:stop])
        span_ns, exposed_ns = latest - int(start[begin]), int(exposed_gap[begin:stop].sum())
        busy_ns = int(covered[covered > 0].sum())
        if busy_ns + exposed_ns != span_ns:  # no `assert`: it holds on every trace, also under `python -O`
            raise AssertionError("the device timeline does not add up")
        device = int(works.device[order[begin]])
        spans.append(Span(device, int(begin), int(stop), span_ns, busy_ns, exposed_ns))
    return Timeline(order, rows, idle_since, exposed_gap, tuple(spans))


def _order(trace: Trace, launches: Launches) -> NDArray[np.intp]:
    works = trace.works
    order = np.argsort(works.start, kind="stable")
    start = works.start[order]
    tied = np.zeros(len(order), np.bool_)
    tied[1:] = start[1:] == start[:-1]
    tied[:-1] |= tied[1:]
    if tied.any():  # Few works start in the same nanosecond: only those are sorted by more than their start.
        places = np.flatnonzero(tied)
        rows = order[places]
        call = launches.call[rows]
        no_call = np.iinfo(np.int64).max
        call_start = np.where(call >= 0, trace.calls.start[call], no_call) if len(trace.calls) else call
        order[places] = rows[np.lexsort((call_start, works.end[rows], works.start[rows]))]
    if len(trace.devices) > 1:
        order = order[np.argsort(works.device[order], kind="stable")]
    return order


def busy_before(
    time: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64], exposed_gap: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How long one device was busy before each TIME.

    Args:
        time: Shape (n,), ns.
        start: Shape (works,): one device's works in timeline order.
        end: Likewise.
        exposed_gap: Likewise.

    Returns:
        Shape (n,), ns since the device's first work.
    """
    latest_end = np.maximum.accumulate(end)
    busy = latest_end - start[0] - np.cumsum(exposed_gap)
    place = np.searchsorted(start, time, side="right") - 1
    # From the start of the latest work before TIME to the latest end among those before, the device is busy throughout.
    before = busy[place] - np.maximum(latest_end[place] - time, 0)
    return np.where(place >= 0, before, 0)


def running_end(start: NDArray[np.int64], end: NDArray[np.int64], first: NDArray[np.intp]) -> NDArray[np.int64]:
    """The latest end among the rows before each row of its group; the row's own start where it is the group's first.

    Args:
        start: Shape (n,), ns, groups one after the other, ascending inside a group.
        end: Shape (n,), ns.
        first: Shape (groups,): the first row of each group, ascending, beginning with 0.
    """
    sizes = np.diff(np.append(first, len(start)))
    # Each group is moved behind the one before it, so that one running maximum serves all.
    low = np.minimum.reduceat(start, first)
    width = np.maximum.reduceat(end, first) - low + 1
    shift = np.repeat(np.cumsum(width) - width - low, sizes)
    latest = np.empty(len(start), np.int64)
    latest[1:] = np.maximum.accumulate(end + shift)[:-1]
    latest -= shift
    latest[first] = start[first]
    return latest

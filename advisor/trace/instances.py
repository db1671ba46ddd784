"""Figures of every region: one row an execution.

A region begins with its first launch call; of an exposed gap, only the part after that belongs to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.causes import FUSIBLE, Cause, split
from advisor.trace.copies import between_host_and_device
from advisor.trace.hashing import hashes_of_stretches
from advisor.trace.timeline import running_end
from advisor.trace.trace import Columns, WorkKind, as_slice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.causes import ThreadActivity
    from advisor.trace.launches import Launches
    from advisor.trace.regions import Regions
    from advisor.trace.timeline import Timeline
    from advisor.trace.trace import Trace

__all__ = ["Instances", "Runs", "measure_instances"]


@dataclass(frozen=True, slots=True)
class Instances(Columns):
    """Executions of graphs, shape (instances,); times in ns."""

    name: NDArray[np.int32]
    """Index into `Regions.names`."""
    start: NDArray[np.int64]
    """The first launch call's start."""
    thread: NDArray[np.int32]
    """The thread of that call, an index into `Trace.threads`."""
    span: NDArray[np.int64]
    """To the last work's end."""
    busy: NDArray[np.int64]
    """The union of its works' intervals, device by device."""
    hidden: NDArray[np.int64]
    """Of that, the time inside CUDA graphs recorded as a whole."""
    causes: NDArray[np.int64]
    """Shape (instances, causes): its exposed gap."""
    host_copy_gap: NDArray[np.int64]
    """Of its fusible gap, what lies before copies between host and device, which no fusion takes away."""
    kernels: NDArray[np.int64]
    launch_calls: NDArray[np.int64]
    sequence: NDArray[np.uint64]
    """A hash of the names of its kernels in the order of their launches."""
    warmup: NDArray[np.bool_]
    """Some kernel is launched for the first time in its process."""

    @property
    def time(self) -> NDArray[np.int64]:
        """Shape (instances,), ns: what each takes of the device, busy and idle of its own, its span at most.

        Where the queue runs ahead an execution waits for those before it, and spans overlap: their sum is more than the
        time that passes, and no share of a span says what a run would gain.
        """
        own: NDArray[np.int64] = self.busy + self.causes.sum(axis=1)
        return np.minimum(self.span, own)


@dataclass(frozen=True, slots=True)
class Runs:
    """The executions that the figures of graphs are medians over."""

    of_work: NDArray[np.int32]
    """Shape (works,): the number of each work's run; -1: none."""
    graph: NDArray[np.intp]
    """Shape (runs,): each run's graph, an index into `Analysis.graph_figures`."""
    measured: NDArray[np.bool_]
    """Shape (runs,): it counts in the medians (no warm-up, unless its graph has nothing else)."""


def measure_instances(
    trace: Trace,
    launches: Launches,
    timeline: Timeline,
    activity: ThreadActivity,
    regions: Regions,
    gap_causes: NDArray[np.int64],
) -> Instances:
    """Measure every region; GAP_CAUSES are those of all gaps of the trace, as in `Evidence`."""
    of_place = regions.of_work[timeline.rows]
    inside = np.flatnonzero(of_place >= 0)
    places = as_slice(inside[np.argsort(of_place[inside], kind="stable")])
    region, rows = of_place[places], as_slice(timeline.order[places])
    count = len(regions)
    if count == 0:
        return _none()
    works, calls = trace.works, trace.calls
    start, end, call = works.start[rows], works.end[rows], launches.call[rows]
    bounds = np.searchsorted(region, np.arange(count + 1))
    first = bounds[:-1]
    begin = np.minimum.reduceat(calls.start[call], first)
    span = np.maximum.reduceat(end, first) - begin

    on_device = np.flatnonzero((np.diff(region, prepend=-1) != 0) | (np.diff(works.device[rows], prepend=-1) != 0))
    covered = np.maximum(end - np.maximum(start, running_end(start, end, on_device)), 0)
    kernel = works.kind[rows] == WorkKind.KERNEL
    whole_graph = works.kind[rows] == WorkKind.GRAPH

    idle_since = timeline.idle_since[places]
    gaps = np.flatnonzero(timeline.exposed_gap[places] > 0)
    # Only a gap that began before its region is cut anew; the others are what they are in the whole trace.
    before = np.flatnonzero(idle_since[gaps] < begin[region[gaps]])
    early = gaps[before]
    early = early[begin[region[early]] < start[early]]
    early_rows = timeline.order[places][early]
    cut = split(trace, launches, activity, early_rows, idle_since[early], begin[region[early]])
    of_gaps, of_before, of_early = (np.searchsorted(some, bounds) for some in (gaps, gaps[before], early))
    columns = as_slice((np.cumsum(timeline.exposed_gap > 0) - 1)[places][gaps])
    causes = np.zeros((count, len(Cause)), np.int64)
    for cause in Cause:
        if gap_causes[cause].any():
            mine = gap_causes[cause][columns]
            causes[:, cause] = _sums(mine, of_gaps) - _sums(mine[before], of_before) + _sums(cut[cause], of_early)

    fixed = between_host_and_device(trace)[works.name[rows]]
    of_copies = np.where(fixed[gaps], gap_causes[FUSIBLE, :][:, columns].sum(axis=0), 0)
    host_copy_gap = (
        _sums(of_copies, of_gaps)
        - _sums(of_copies[before], of_before)
        + _sums(np.where(fixed[early], cut[FUSIBLE, :].sum(axis=0), 0), of_early)
    )

    return Instances(
        name=regions.name,
        start=begin,
        thread=_threads(trace, call, begin, region),
        span=span,
        busy=_sums(covered, bounds),
        hidden=_sums(np.where(whole_graph, covered, 0), bounds) if whole_graph.any() else np.zeros(count, np.int64),
        causes=causes,
        host_copy_gap=host_copy_gap,
        kernels=_sums(kernel, bounds),
        launch_calls=_sums(launches.first_of_call[rows], bounds),
        sequence=_sequences(trace, launches, timeline.order[places][kernel], region[kernel], count),
        warmup=_sums(launches.first_of_kernel[rows], bounds) > 0,
    )


def _none() -> Instances:
    nothing = np.zeros(0, np.int64)
    return Instances(
        name=np.zeros(0, np.int32),
        start=nothing,
        thread=np.zeros(0, np.int32),
        span=nothing,
        busy=nothing,
        hidden=nothing,
        causes=np.zeros((0, len(Cause)), np.int64),
        host_copy_gap=nothing,
        kernels=nothing,
        launch_calls=nothing,
        sequence=np.zeros(0, np.uint64),
        warmup=np.zeros(0, np.bool_),
    )


def _threads(
    trace: Trace, call: NDArray[np.int32], begin: NDArray[np.int64], region: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The thread of each region's first launch call; CALL and REGION have one row a work."""
    thread = np.zeros(len(begin), np.int32)
    if len(trace.threads) > 1:
        first = np.flatnonzero(trace.calls.start[call] == begin[region])
        thread[region[first]] = trace.calls.thread[call[first]]
    return thread


def _sums(values: NDArray[np.int64] | NDArray[np.bool_], bounds: NDArray[np.intp]) -> NDArray[np.int64]:
    """Sums of the VALUES between each bound and the next, shape (bounds - 1,)."""
    upto = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=upto[1:])
    return upto[bounds[1:]] - upto[bounds[:-1]]


def _sequences(
    trace: Trace, launches: Launches, rows: NDArray[np.intp], region: NDArray[np.int32], count: int
) -> NDArray[np.uint64]:
    """A hash of each region's kernel names in launch order; nodes of one graph launch in the order of their ids.

    The order on the device is no part of it: kernels on several streams overtake each other from run to run.
    """
    works, begin = trace.works, trace.calls.start[launches.call[rows]]
    if not ((begin[1:] > begin[:-1]) | (region[1:] > region[:-1])).all():  # They mostly start in that order already.
        rows = rows[np.lexsort((works.start[rows], works.graph_node[rows], begin, region))]
    first = np.flatnonzero(np.diff(region, prepend=-1))
    hashed = np.zeros(count, np.uint64)
    if len(first):
        hashed[region[first]] = hashes_of_stretches(works.name[rows], first, len(trace.work_names))
    return hashed

"""Which API call put which work on a device, and what each API call does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.graph_nodes import graph_kernels
from advisor.trace.trace import RUN_RETURNS, WorkKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from advisor.trace.trace import Trace

__all__ = ["MOST_MISSING", "CallClass", "Launches", "classify_calls", "join", "launch_order", "plain_name"]

NONE = -1
_NEVER = np.iinfo(np.int64).max

MOST_MISSING = 0.05
"""The share of launched kernels that may be missing: what lies in their place looks idle."""


class CallClass(IntEnum):
    """What a thread is doing inside an API call, in the order in which one hides another."""

    SYNC = 0
    MEMORY = 1
    MODULE = 2
    API = 3
    LAUNCH = 4
    """Puts work on a device and does not wait for it. Never told from the name: found by the join."""


# First match wins. Names are matched without version suffix (`plain_name`), in both the runtime's and the driver's
# spelling, `cu(da)?`, and in AMD's, `hip`. What no row matches is an `API` call.
CALL_CLASSES: tuple[tuple[CallClass, str], ...] = (
    (CallClass.SYNC, r"(Stream|Device|Thread|Event|Ctx)Synchronize$"),
    (CallClass.SYNC, r"(Memcpy(?!.*Async)|MemcpyBatch$)"),
    (CallClass.MEMORY, r"(Malloc|Free|HostAlloc|HostRegister|HostUnregister|ArrayCreate|ArrayDestroy|Array3DCreate)"),
    (
        CallClass.MEMORY,
        r"Mem(Alloc|Free|HostAlloc|HostRegister|HostUnregister|Pool|Create|Map|Unmap|Release|SetAccess)",
    ),
    (CallClass.MEMORY, r"Mem(AddressReserve|AddressFree)"),
    (CallClass.MODULE, r"(Module|Library)(Load|Unload|Get|Enumerate)|Link(Create|Add|Complete|Destroy)"),
    (CallClass.MODULE, r"FuncLoad|Kernel(GetFunction|GetLibrary)"),
)

_PREFIX = re.compile(r"(cu(da)?|hip)(?=[A-Z])")
_SUFFIX = re.compile(r"(_v\d+|_ptsz|_ptds)+$")
_ROWS = tuple((code, re.compile(pattern)) for code, pattern in CALL_CLASSES)
_GRAPH_LAUNCH = re.compile(r"GraphLaunch$")
# Only to count calls without work; where a program only replays CUDA graphs, no kernel tells these names.
_KERNEL_LAUNCH = re.compile(r"Launch(Cooperative)?Kernel(Ex|ExC)?$|GraphLaunch$")


def plain_name(name: str) -> str:
    """An API name as people write it: without version and per-thread-stream suffixes."""
    return _SUFFIX.sub("", name)


def classify_calls(names: Sequence[str]) -> NDArray[np.int8]:
    """The `CallClass` of each API name by its words, shape (names,); never LAUNCH."""
    classes = np.full(len(names), CallClass.API, np.int8)
    for index, name in enumerate(names):
        plain = plain_name(name)
        prefix = _PREFIX.match(plain)
        if prefix is None:
            classes[index] = CallClass.SYNC if name == RUN_RETURNS else CallClass.API
            continue
        for code, pattern in _ROWS:
            if pattern.match(plain, prefix.end()):
                classes[index] = code
                break
    return classes


@dataclass(frozen=True, slots=True)
class Launches:
    """The join of works to their launch calls."""

    call: NDArray[np.int32]
    """Shape (works,): the row in `Trace.calls` of each work's launch call; -1: none."""
    call_class: NDArray[np.int8]
    """Shape (calls,): a `CallClass`."""
    graph: NDArray[np.bool_]
    """Shape (works,): the launch call launched a CUDA graph."""
    inside_graph: NDArray[np.bool_]
    """Shape (works,): an earlier work of the same graph launch started before."""
    first_of_kernel: NDArray[np.bool_]
    """Shape (works,): the launch call is the first one of its kernel, by demangled name, in its process."""
    first_of_call: NDArray[np.bool_]
    """Shape (works,): the earliest work of its launch call; so that a call's time is counted once."""
    without_work: int
    """Calls of an API name that launches kernels or graphs, here or in any trace, which have no work."""
    graphs_without_work: int
    """How many of those launched a CUDA graph."""
    while_capturing: int
    """How many were recorded into a CUDA graph (between begin and end of a capture): no executions."""
    kernel_launches: int
    """Kernels that were launched: by calls of their own, those recorded into a CUDA graph apart, and as nodes of CUDA
    graphs."""
    kernels_missing: int
    """How many of these are not in the trace, at least."""
    graph_kernels_missing: int
    """Of those, the nodes of CUDA graphs: other launches have them."""

    @property
    def complete(self) -> bool:
        """So few kernels are missing that what looks idle was idle."""
        return self.kernels_missing <= MOST_MISSING * self.kernel_launches


def join(trace: Trace, recorded: Trace | None = None, counted: NDArray[np.bool_] | None = None) -> Launches:
    """Find each work's launch call: the earliest call of the same process with the same correlation id.

    Args:
        trace: The trace.
        recorded: Where works of it were left out, the trace with all of them: they tell what its calls launched.
        counted: Shape (calls,): the calls that are counted as launches, with and without work; all, unless given.
    """
    works, calls = trace.works, trace.calls
    recorded = trace if recorded is None else recorded
    call_of_all, joined = _launch_calls(recorded)
    call = call_of_all if recorded is trace else _launch_calls(trace)[0]
    matched = call != NONE

    by_name = classify_calls(trace.call_names)
    call_class = by_name[calls.name]
    call_class[joined & (call_class != CallClass.SYNC)] = CallClass.LAUNCH

    is_graph_launch = np.array([bool(_GRAPH_LAUNCH.search(plain_name(name))) for name in trace.call_names], np.bool_)
    graph = np.zeros(len(works), np.bool_)
    graph[matched] = is_graph_launch[calls.name[call[matched]]]
    graph |= matched & ((works.graph_node != 0) | (works.kind == WorkKind.GRAPH))

    launches_kernels = np.array([bool(_KERNEL_LAUNCH.search(plain_name(n))) for n in trace.call_names], np.bool_)
    executing = (call_of_all != NONE) & np.isin(recorded.works.kind, (WorkKind.KERNEL, WorkKind.GRAPH))
    launches_kernels[calls.name[call_of_all[executing]]] = True
    launching = launches_kernels[calls.name]
    if counted is not None:
        launching &= counted
    capturing = _capturing(trace)
    of_one_kernel = launching & ~capturing & ~is_graph_launch[calls.name]
    # A kernel that names no call may be that of any.
    nameless = int(((recorded.works.kind == WorkKind.KERNEL) & (recorded.works.correlation == 0)).sum())
    missing = max(int((of_one_kernel & ~joined).sum()) - nameless, 0)
    lost_graphs = launching & ~capturing & ~joined & is_graph_launch[calls.name]
    # Where kernels name no call, they may be those of the graphs.
    unknown_graphs = lost_graphs & (nameless == 0)
    graph_kernels_launched, graph_kernels_missing = graph_kernels(recorded, call_of_all, unknown_graphs, counted)
    inside_graph, first_of_call = _places_in_call(trace, call, graph)
    return Launches(
        call=call,
        call_class=call_class,
        graph=graph,
        inside_graph=inside_graph,
        first_of_kernel=_first_of_kernel(trace, call),
        first_of_call=first_of_call,
        without_work=int((launching & ~joined).sum()),
        graphs_without_work=int(lost_graphs.sum()),
        while_capturing=int((launching & capturing & ~joined).sum()),
        kernel_launches=int(of_one_kernel.sum()) + graph_kernels_launched,
        kernels_missing=missing + graph_kernels_missing,
        graph_kernels_missing=graph_kernels_missing,
    )


def launch_order(trace: Trace, launches: Launches, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """The works ROWS in the order in which they were launched; nodes of one CUDA graph in the order of their ids.

    Args:
        trace: The trace.
        launches: Its join.
        rows: Shape (n,): rows of `trace.works` that have a launch call.
    """
    begin = trace.calls.start[launches.call[rows]]
    if (begin[1:] > begin[:-1]).all():  # Works mostly start in that order already.
        return rows
    return rows[np.lexsort((trace.works.start[rows], trace.works.graph_node[rows], begin))]


def _places_in_call(
    trace: Trace, call: NDArray[np.int32], graph: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which works follow another of the same graph launch, and which are the earliest of their call."""
    start = trace.works.start
    matched = call != NONE
    if (np.bincount(call[matched]) <= 1).all():  # each launches one work, as mostly
        return graph & ~matched, matched
    rows = np.flatnonzero(matched)
    earliest = np.full(len(trace.calls), _NEVER)
    np.minimum.at(earliest, call[rows], start[rows])
    leads = np.zeros(len(start), np.bool_)
    leads[rows] = start[rows] == earliest[call[rows]]
    # Of works that start together the one that stands first counts: it is written last.
    leading = np.flatnonzero(leads)[::-1]
    leader = np.full(len(trace.calls), NONE, np.int64)
    leader[call[leading]] = leading
    first = np.zeros(len(start), np.bool_)
    first[leader[leader != NONE]] = True
    return graph & ~leads, first


def _first_of_kernel(trace: Trace, call: NDArray[np.int32]) -> NDArray[np.bool_]:
    works = trace.works
    first = np.zeros(len(works), np.bool_)
    rows = np.flatnonzero((works.kind == WorkKind.KERNEL) & (call != NONE))
    kernel = works.name[rows].astype(np.int64) * len(trace.processes) + works.process[rows]
    call_start = trace.calls.start[call[rows]]
    earliest = np.full(len(trace.work_names) * len(trace.processes), _NEVER)
    np.minimum.at(earliest, kernel, call_start)
    first[rows] = call_start == earliest[kernel]
    return first


def _slots(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Number the (process, correlation id) pairs that calls have.

    Returns:
        The slot of each work (the last slot where no call has its pair), of each call, and the number of slots.
    """
    works, calls = trace.works, trace.calls
    call_process = trace.threads[calls.thread].astype(np.int64)
    low, high = int(calls.correlation.min()), int(calls.correlation.max())
    width = high - low + 1
    if len(trace.processes) * width <= 8 * (len(works) + len(calls)) + 1_000_000:
        call_id = calls.correlation - low
        work_id = works.correlation - low
        known = (work_id >= 0) & (work_id < width)
    else:
        ids, call_id = np.unique(calls.correlation, return_inverse=True)
        width = len(ids)
        work_id = np.minimum(np.searchsorted(ids, works.correlation), width - 1)
        known = ids[work_id] == works.correlation
    unknown = len(trace.processes) * width
    return np.where(known, works.process * width + work_id, unknown), call_process * width + call_id, unknown + 1


def _launch_calls(trace: Trace) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The row of each work's launch call, or NONE; and which rows are records of launch calls, inner ones too."""
    if not len(trace.calls):
        return np.full(len(trace.works), NONE, np.int32), np.zeros(0, np.bool_)
    work_slot, call_slot, slots = _slots(trace)
    earliest = np.full(slots, NONE, np.int32)
    # Written from the latest call to the earliest, so that the earliest stays.
    order = np.argsort(trace.calls.start, kind="stable")[::-1]
    earliest[call_slot[order]] = order
    call = np.where(trace.works.correlation == 0, NONE, earliest[work_slot]).astype(np.int32)
    launched = np.zeros(slots, np.bool_)
    launched[work_slot[call != NONE]] = True
    return call, launched[call_slot]


def _capturing(trace: Trace) -> NDArray[np.bool_]:
    """Shape (calls,): the call lies between begin and end of a stream capture on its thread."""
    step_of = np.zeros(len(trace.call_names), np.int8)
    for index, name in enumerate(trace.call_names):
        plain = plain_name(name)
        step_of[index] = plain.endswith("StreamBeginCapture") - plain.endswith("StreamEndCapture")
    capturing = np.zeros(len(trace.calls), np.bool_)
    if not step_of.any():
        return capturing
    order = np.lexsort((trace.calls.start, trace.calls.thread))
    step = step_of[trace.calls.name[order]].astype(np.int64)
    depth = np.cumsum(step)
    first = np.flatnonzero(np.diff(trace.calls.thread[order], prepend=-1))
    before = depth[first] - step[first]
    depth -= np.repeat(before, np.diff(np.append(first, len(order))))
    # A window that begins inside a capture has an end without begin: counts fall below zero there.
    capturing[order] = depth > 0
    return capturing

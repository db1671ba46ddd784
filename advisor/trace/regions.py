"""Regions: the executions of a model inside a trace.

A region is one instance of an NVTX range that launched kernels (a work belongs to the range, on its launching thread,
that contains its launch call), or one CUDA graph launch outside of such ranges, or, with neither, one iteration found
from the repeating kernel sequence. A region's span runs from its first launch call to its last work's end.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from advisor.errors import BadInput
from advisor.trace.iterations import find_iterations
from advisor.trace.trace import WorkKind, dense_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.launches import Launches
    from advisor.trace.trace import Trace

__all__ = ["Regions", "find_regions", "general_name"]

# Ranges that libraries and frameworks write around their own steps: no executions of a model.
LIBRARY_RANGES = re.compile(
    r"((cub|cccl|thrust|nccl|cublas|cublaslt|cudnn|cusparse|cufft|cusolver|mpi|nvtx|nsys)\b|nccl|MPI_)", re.IGNORECASE
)
OPERATOR_RANGES = re.compile(
    r"(aten|prim|autograd|torch)::|.*\b(op_id|seq) = #|\{'(traceMarker|mod)'|.*Backward#|detach_?\b|Optimizer\."
)

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Regions:
    """Which region each work belongs to."""

    of_work: NDArray[np.int32]
    """Shape (works,): a region's number; -1: none."""
    name: NDArray[np.int32]
    """Shape (regions,): index into `names`."""
    names: tuple[str, ...]
    sources: tuple[str, ...]
    """`nvtx`, `cuda_graph` or `iteration` for each name."""
    certainties: tuple[float, ...]
    """For each name: 1 where the trace marks the executions, less where they were found from what repeats."""

    def __len__(self) -> int:
        return len(self.name)


def general_name(name: str) -> str:
    """Names that differ only in numbers are one name: `layer_6_token_53` becomes `layer_#_token_#`."""
    return _NUMBER.sub("#", name)


def find_regions(trace: Trace, launches: Launches, pattern: str | None = None) -> Regions:
    """Find the executions of models.

    Without a pattern, the outermost ranges that repeat and launch work are taken, library and operator ranges apart.

    Args:
        trace: The trace.
        launches: Its join.
        pattern: A regular expression: the outermost ranges whose name it matches are the regions.

    Raises:
        BadInput: The pattern is no regular expression, or no range that launched work matches it.
    """
    names, shown, range_name = _general_names(trace)
    chosen = _ranges_of_executions(trace, launches, names, range_name, pattern)
    of_work = np.full(len(trace.works), -1, np.int32)
    instance_names: list[NDArray[np.int32]] = []
    if len(chosen):
        of_work, used = _works_inside(trace, launches, chosen)
        instance_names.append(range_name[used])
    sources = ["nvtx"] * len(names)

    graph = launches.graph & (of_work < 0)
    if pattern is None and graph.any():
        regions = sum(len(part) for part in instance_names)
        calls, instance = np.unique(launches.call[graph], return_inverse=True)
        of_work[graph] = instance + regions
        graph_names, graph_of_call = _graph_identity(trace, graph, instance, len(calls))
        instance_names.append(graph_of_call + np.int32(len(names)))
        shown = (*shown, *graph_names)
        sources += ["cuda_graph"] * len(graph_names)
    if not instance_names:
        return _iterations(trace, launches)
    return Regions(of_work, np.concatenate(instance_names), shown, tuple(sources), (1.0,) * len(shown))


def _iterations(trace: Trace, launches: Launches) -> Regions:
    """The iterations of each process on each device, as regions."""
    found = find_iterations(trace, launches)
    of_work = np.full(len(trace.works), -1, np.int32)
    regions = 0
    for part in found:
        mine = part.of_work >= 0
        of_work[mine] = part.of_work[mine] + regions
        regions += part.count
    return Regions(
        of_work=of_work,
        name=np.repeat(np.arange(len(found), dtype=np.int32), [part.count for part in found]),
        names=tuple(
            "iteration" if len(found) == 1 else f"iteration on device {trace.devices[part.device].number}"
            for part in found
        ),
        sources=("iteration",) * len(found),
        certainties=tuple(part.certainty for part in found),
    )


def _general_names(trace: Trace) -> tuple[tuple[str, ...], tuple[str, ...], NDArray[np.int32]]:
    """The distinct general names of ranges, how to show each, and each range's index into them."""
    index: dict[str, int] = {}
    codes = [index.setdefault(general_name(name), len(index)) for name in trace.range_names]
    # Where a general name stands for one name only, that one is shown.
    uses = Counter(codes)
    shown = list(index)
    for code, name in zip(codes, trace.range_names, strict=True):
        shown[code] = name if uses[code] == 1 else shown[code]
    range_name = np.array(codes, np.int32)[trace.ranges.name] if codes else np.zeros(0, np.int32)
    return tuple(index), tuple(shown), range_name


def _ranges_of_executions(
    trace: Trace, launches: Launches, names: tuple[str, ...], range_name: NDArray[np.int32], pattern: str | None
) -> NDArray[np.intp]:
    """The rows of `trace.ranges` that are executions, none inside another, by (thread, start)."""
    if pattern is not None:
        try:
            wanted = np.array([bool(re.search(pattern, name)) for name in trace.range_names], np.bool_)
        except re.error as error:
            raise BadInput(f"--region: {pattern!r} is no regular expression: {error}") from None
    rows = np.flatnonzero(_launched_inside(trace, launches))
    if pattern is not None:
        rows = rows[wanted[trace.ranges.name[rows]]]
        if not len(rows):
            raise BadInput(f"--region: no range that launched work matches {pattern!r}")
    else:
        allowed = np.array([not (LIBRARY_RANGES.match(n) or OPERATOR_RANGES.match(n)) for n in names], np.bool_)
        rows = rows[allowed[range_name[rows]]] if len(rows) else rows
        repeated = np.bincount(range_name[rows], minlength=len(names)) > 1
        rows = rows[repeated[range_name[rows]]] if len(rows) else rows
    return _outermost(trace, rows)


def _outermost(trace: Trace, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    ranges = trace.ranges
    # Of two ranges that start together the longer one is outside.
    rows = rows[np.lexsort((-ranges.end[rows], ranges.start[rows], ranges.thread[rows]))]
    kept = np.ones(len(rows), np.bool_)
    for thread in np.unique(ranges.thread[rows]):
        mine = np.flatnonzero(ranges.thread[rows] == thread)
        end = ranges.end[rows[mine]]
        kept[mine[1:]] = end[1:] > np.maximum.accumulate(end)[:-1]
    return rows[kept]


def _launched_inside(trace: Trace, launches: Launches) -> NDArray[np.bool_]:
    """Shape (ranges,): some launch call of a kernel or CUDA graph lies inside the range, on its thread.

    As in `_works_inside`, from begin to end: a call that a range's end cuts through is none of its own.
    """
    inside = np.zeros(len(trace.ranges), np.bool_)
    executes = (launches.call >= 0) & np.isin(trace.works.kind, (WorkKind.KERNEL, WorkKind.GRAPH))
    launched = np.zeros(len(trace.calls), np.bool_)
    launched[launches.call[executes]] = True
    calls = np.flatnonzero(launched)
    calls = calls[np.argsort(trace.calls.start[calls], kind="stable")]
    for thread in np.unique(trace.ranges.thread):
        mine = np.flatnonzero(trace.ranges.thread == thread)
        rows = calls[trace.calls.thread[calls] == thread]
        # Of the calls from each one on, the earliest end: whether any of them ends inside.
        earliest = np.append(np.minimum.accumulate(trace.calls.end[rows][::-1])[::-1], np.iinfo(np.int64).max)
        following = np.searchsorted(trace.calls.start[rows], trace.ranges.start[mine], side="left")
        inside[mine] = earliest[following] <= trace.ranges.end[mine]
    return inside


def _works_inside(
    trace: Trace, launches: Launches, chosen: NDArray[np.intp]
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """The region of each work, and the ranges that became regions, in the order of their numbers."""
    ranges, calls = trace.ranges, trace.calls
    range_of_call = np.full(len(calls), -1, np.int64)
    for thread in np.unique(ranges.thread[chosen]):
        mine = chosen[ranges.thread[chosen] == thread]
        rows = np.flatnonzero(calls.thread == thread)
        place = np.searchsorted(ranges.start[mine], calls.start[rows], side="right") - 1
        inside = (place >= 0) & (calls.end[rows] <= ranges.end[mine[place]])
        range_of_call[rows[inside]] = mine[place[inside]]
    range_of_work = np.where(launches.call >= 0, range_of_call[launches.call], -1)
    used, codes = dense_codes(range_of_work[range_of_work >= 0])
    of_work = np.full(len(trace.works), -1, np.int32)
    of_work[range_of_work >= 0] = codes
    return of_work, used.astype(np.intp)


def _graph_identity(
    trace: Trace, graph: NDArray[np.bool_], instance: NDArray[np.intp], count: int
) -> tuple[list[str], NDArray[np.int32]]:
    """Names of the CUDA graphs, and which one each launch was: one graph per process and set of nodes."""
    works = trace.works
    node = works.graph_node[graph]
    # Node ids are (graph << 32) | node where nodes were recorded; whole graphs carry the graph's id.
    graph_id = np.where(works.kind[graph] == WorkKind.GRAPH, node, node >> 32)
    lowest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(lowest, instance, graph_id)
    process = np.zeros(count, np.int64)
    process[instance] = works.process[graph]
    pairs, index = np.unique(np.stack([process, lowest]), axis=1, return_inverse=True)
    several = len(np.unique(pairs[0])) > 1
    names = []
    for owner, number in pairs.T:
        suffix = f" (process {trace.processes[owner][0]})" if several else ""
        names.append(f"CUDA graph {number}{suffix}")
    return names, index.astype(np.int32).reshape(-1)

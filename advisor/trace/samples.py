"""What a comparison of two runs needs of each graph: its kernels, and figures of up to 256 of its executions.

Figures that count API calls belong to a region's *period* on its thread: from its first launch call to the next
region's, so that what a loop does between two executions belongs to the one before. The last region of a thread has no
period: such counts, and that of its launch calls (it may be cut short), are not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.trace.causes import FUSIBLE, LAUNCH_GAP, Cause
from advisor.trace.launches import CallClass
from advisor.trace.trace import WorkKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from advisor.trace.analysis import Analysis
    from advisor.trace.launches import Launches
    from advisor.trace.regions import Regions
    from advisor.trace.trace import Trace

__all__ = ["CAUSES", "COUNTS", "TIMES", "Samples", "graph_samples"]

COUNTS = ("kernels", "launch_calls", "graph_launches")
"""Per execution."""
PERIOD_COUNTS = ("period_launches", "synchronisations", "allocations", "copies")
"""Per period: launch calls (those of the execution too), synchronising calls, memory calls, copies and sets."""
TIMES = ("span", "busy", "hidden", "launch_call", "timed_calls")
"""ns, except `timed_calls`: the number of calls that `launch_call` sums up. `hidden`: in graphs recorded as a whole."""
CAUSES = tuple(cause.key for cause in Cause)
"""The exposed gap, ns."""

INSTANCES_KEPT = 256
GRAPHS_KEPT = 100
ORDER_KEPT = 4096
"""Longer kernel sequences are kept as counts per name, without their order."""

QUEUE_FULL = 1000
"""A queue takes about 1,024 launches: a call that finds so many waiting may wait for room, and tells of the GPU."""


@dataclass(frozen=True)
class Samples:
    """One graph of one run: executions with one name and one kernel sequence, warm-up apart."""

    graph: str
    source: str
    instances: int
    """All that were measured, also those that are not in the columns."""
    warmup: int
    window_ns: tuple[int, int]
    """From the first launch call to the last work's end of the execution with the median span, on the trace's clock."""
    names: tuple[str, ...]
    """Its kernels, each name once, in the order of their first launch."""
    counts: tuple[int, ...]
    """How often each is launched in an execution."""
    order: tuple[int, ...] | None
    """Indices into `names` in the order of the launches; None where there are more than 4,096."""
    columns: Mapping[str, NDArray[np.float64]] = field(repr=False)
    """Shape (min(instances, 256),) each: COUNTS, PERIOD_COUNTS, TIMES and CAUSES; NaN where not known."""

    def gap(self, causes: Sequence[Cause]) -> NDArray[np.float64]:
        """Shape (k,), ns: the exposed gap of these causes."""
        total: NDArray[np.float64] = np.sum([self.columns[cause.key] for cause in causes], axis=0)
        return total

    @property
    def fusible_gap(self) -> NDArray[np.float64]:
        """Shape (k,), ns."""
        return self.gap(FUSIBLE)

    @property
    def launch_gap(self) -> NDArray[np.float64]:
        """Shape (k,), ns."""
        return self.gap(LAUNCH_GAP)

    def to_dict(self, index: Mapping[str, int]) -> dict[str, Any]:
        """An entry of `samples` of `advisor.analysis/1`; INDEX tells each kernel name's place in a list beside it."""
        places = [index[name] for name in self.names]
        return {
            "graph": self.graph,
            "source": self.source,
            "instances": self.instances,
            "warmup": self.warmup,
            "window_ns": list(self.window_ns),
            "kernels": [[place, count] for place, count in zip(places, self.counts, strict=True)],
            "order": None if self.order is None else list(self.order),
            "columns": {name: _compact(values) for name, values in self.columns.items()},
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any], names: Sequence[str]) -> Samples:
        """What `to_dict` wrote, with the NAMES that its index was made of.

        Raises:
            ValueError: The entry is not what `to_dict` writes (also KeyError, TypeError, IndexError).
        """
        columns = {}
        length = min(int(entry["instances"]), INSTANCES_KEPT)
        for name in (*COUNTS, *PERIOD_COUNTS, *TIMES, *CAUSES):
            values = entry["columns"][name]
            listed = values if isinstance(values, list) else [values] * length
            if len(listed) != length:
                raise ValueError(f"column {name} has {len(listed)} values for {length} instances")
            columns[name] = np.array([np.nan if value is None else value for value in listed], np.float64)
        begin, end = entry["window_ns"]
        order = entry["order"]
        known = len(entry["kernels"])
        if order is not None and not all(0 <= place < known for place in order):
            raise ValueError("order names no kernel")
        return cls(
            graph=str(entry["graph"]),
            source=str(entry["source"]),
            instances=int(entry["instances"]),
            warmup=int(entry["warmup"]),
            window_ns=(int(begin), int(end)),
            names=tuple(names[place] for place, _ in entry["kernels"]),
            counts=tuple(int(count) for _, count in entry["kernels"]),
            order=None if order is None else tuple(int(place) for place in order),
            columns=columns,
        )


def graph_samples(analysis: Analysis) -> tuple[Samples, ...]:
    """The samples of each graph of an analysis, at most 100, those with the largest total span."""
    trace, evidence = analysis.trace, analysis.evidence
    launches, regions, instances = evidence.launches, evidence.regions, evidence.instances
    if not len(instances):
        return (_whole_trace(analysis),)
    columns: dict[str, NDArray[np.int64]] = {
        "kernels": instances.kernels,
        "launch_calls": instances.launch_calls,
        "span": instances.span,
        "busy": instances.busy,
        "hidden": instances.hidden,
    }
    columns |= _launch_calls(trace, launches, regions)
    columns |= _periods(trace, launches, regions)
    columns |= {cause.key: instances.causes[:, cause] for cause in Cause}
    columns["launch_calls"] = np.where(columns["period_launches"] == _UNKNOWN, _UNKNOWN, columns["launch_calls"])

    pairs = np.stack([instances.name.astype(np.uint64), instances.sequence])
    _, graph = np.unique(pairs, axis=1, return_inverse=True)
    graph = graph.reshape(-1)
    total_span = np.bincount(graph, instances.span)
    by_region = np.argsort(regions.of_work, kind="stable")
    first = np.searchsorted(regions.of_work[by_region], np.arange(len(regions) + 1))
    samples = []
    for number in np.argsort(-total_span, kind="stable")[:GRAPHS_KEPT]:
        mine = np.flatnonzero(graph == number)
        mine = mine[np.argsort(instances.start[mine], kind="stable")]
        measured = mine[~instances.warmup[mine]]
        # Where every instance is a warm-up, those are all there is to measure.
        measured = measured if len(measured) else mine
        kept = measured[_evenly(len(measured))]
        median = measured[np.argsort(instances.span[measured], kind="stable")[(len(measured) - 1) // 2]]
        name = int(instances.name[median])
        kernels = _kernels(trace, launches, by_region[first[median] : first[median + 1]])
        samples.append(
            Samples(
                graph=regions.names[name],
                source=regions.sources[name],
                instances=len(measured),
                warmup=int(instances.warmup[mine].sum()),
                window_ns=(int(instances.start[median]), int(instances.start[median] + instances.span[median])),
                columns={key: _column(key, columns[key][kept]) for key in _KEYS},
                **kernels,
            )
        )
    return tuple(samples)


_KEYS = (*COUNTS, *PERIOD_COUNTS, *TIMES, *CAUSES)
_UNKNOWN = -1


def _column(key: str, values: NDArray[np.int64]) -> NDArray[np.float64]:
    known = values != _UNKNOWN if key in ("launch_calls", *PERIOD_COUNTS) else np.ones(len(values), np.bool_)
    return np.where(known, values.astype(np.float64), np.nan)


def _evenly(count: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, count - 1, min(count, INSTANCES_KEPT)).round().astype(np.intp))


def _whole_trace(analysis: Analysis) -> Samples:
    """The one graph of a trace in which no execution could be told apart."""
    trace, launches, totals = analysis.trace, analysis.evidence.launches, analysis.totals
    works, calls = trace.works, trace.calls
    leads = np.flatnonzero(launches.first_of_call)
    call = launches.call[leads]
    timed = _timed(trace, launches, leads)
    classes = launches.call_class
    whole_graphs = works.kind == WorkKind.GRAPH
    values: dict[str, int] = {
        "kernels": totals.kernels,
        "launch_calls": totals.launch_calls,
        "graph_launches": totals.graph_launches,
        "period_launches": totals.launch_calls,
        "synchronisations": int((classes == CallClass.SYNC).sum()),
        "allocations": int((classes == CallClass.MEMORY).sum()),
        "copies": int(np.isin(works.kind, (WorkKind.MEMCPY, WorkKind.MEMSET)).sum()),
        "span": totals.span_ns,
        "busy": totals.busy_ns,
        "hidden": min(totals.busy_ns, int((works.end - works.start)[whole_graphs].sum())),
        "launch_call": int((calls.end[call] - calls.start[call])[timed].sum()),
        "timed_calls": int(timed.sum()),
    }
    values |= {cause.key: totals.causes[cause] for cause in Cause}
    return Samples(
        graph="trace",
        source="trace",
        instances=1,
        warmup=int(launches.first_of_kernel.any()),
        window_ns=(int(works.start.min()), int(works.end.max())),
        columns={key: np.array([values[key]], np.float64) for key in _KEYS},
        **_kernels(trace, launches, np.arange(len(works))),
    )


def _kernels(trace: Trace, launches: Launches, rows: NDArray[np.intp]) -> dict[str, Any]:
    """Names, counts and order of the kernels among the works ROWS."""
    works = trace.works
    rows = rows[works.kind[rows] == WorkKind.KERNEL]
    call = launches.call[rows]
    begin = np.where(call >= 0, trace.calls.start[call], works.start[rows]) if len(trace.calls) else works.start[rows]
    name = works.name[rows[np.lexsort((works.start[rows], works.graph_node[rows], begin))]]
    distinct, place, code, count = np.unique(name, return_index=True, return_inverse=True, return_counts=True)
    by_place = np.argsort(place)
    rank = np.empty(len(distinct), np.int64)
    rank[by_place] = np.arange(len(distinct))
    return {
        "names": tuple(trace.work_names[index] for index in distinct[by_place]),
        "counts": tuple(count[by_place].tolist()),
        "order": tuple(rank[code.reshape(-1)].tolist()) if len(name) <= ORDER_KEPT else None,
    }


def _timed(trace: Trace, launches: Launches, leads: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which of the launch calls of works LEADS tell the host's own time: they neither block nor find a full queue."""
    call = launches.call[leads]
    begin = trace.calls.start[call]
    timed: NDArray[np.bool_] = launches.call_class[call] != CallClass.SYNC
    if len(leads) > QUEUE_FULL:
        ascending = bool((begin[1:] > begin[:-1]).all())
        handed_over = np.arange(len(begin)) if ascending else np.searchsorted(np.sort(begin), begin)
        # Fewer than so many wait where, of all that were handed over before, all but so many have begun.
        begun = np.sort(trace.works.start[leads])[np.maximum(handed_over - QUEUE_FULL, 0)] <= begin
        timed &= begun | (handed_over < QUEUE_FULL)
    return timed


def _launch_calls(trace: Trace, launches: Launches, regions: Regions) -> dict[str, NDArray[np.int64]]:
    """How many CUDA graphs each region launches, and the time in its launch calls."""
    count = len(regions)
    leads = np.flatnonzero(launches.first_of_call)
    region, call = regions.of_work[leads], launches.call[leads]
    timed = _timed(trace, launches, leads) & (region >= 0)
    duration = trace.calls.end[call] - trace.calls.start[call]
    graphs = launches.graph[leads] & (region >= 0)
    return {
        "graph_launches": np.bincount(region[graphs], minlength=count),
        "launch_call": np.bincount(region[timed], duration[timed], count).astype(np.int64),
        "timed_calls": np.bincount(region[timed], minlength=count),
    }


def _periods(trace: Trace, launches: Launches, regions: Regions) -> dict[str, NDArray[np.int64]]:
    """How many calls of each class each region's period has; -1 where a region has no period."""
    calls, count = trace.calls, len(regions)
    inside = np.flatnonzero((regions.of_work >= 0) & (launches.call >= 0))
    begin = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(begin, regions.of_work[inside], calls.start[launches.call[inside]])
    thread = np.zeros(count, np.int64)
    earliest = calls.start[launches.call[inside]] == begin[regions.of_work[inside]]
    thread[regions.of_work[inside[earliest]]] = calls.thread[launches.call[inside[earliest]]]

    # Threads lie one after the other on one axis: see `ThreadActivity`.
    origin = int(calls.start.min())
    stride = int(calls.end.max()) - origin + 1
    axis = begin - origin + thread * stride
    order = np.argsort(axis, kind="stable")
    ordered, of_thread = axis[order], thread[order]
    closed = np.append(of_thread[1:] == of_thread[:-1], False)

    def per_period(rows: NDArray[np.signedinteger]) -> NDArray[np.int64]:
        time = calls.start[rows] - origin + calls.thread[rows].astype(np.int64) * stride
        place = np.searchsorted(ordered, time, side="right") - 1
        rows_inside = (place >= 0) & (of_thread[place] == calls.thread[rows])
        found = np.bincount(place[rows_inside], minlength=count)
        counts = np.empty(count, np.int64)
        counts[order] = np.where(closed, found, _UNKNOWN)
        return counts

    leads = np.flatnonzero(launches.first_of_call)
    copies = leads[np.isin(trace.works.kind[leads], (WorkKind.MEMCPY, WorkKind.MEMSET)) & ~launches.graph[leads]]
    return {
        "period_launches": per_period(launches.call[leads]),
        "synchronisations": per_period(np.flatnonzero(launches.call_class == CallClass.SYNC)),
        "allocations": per_period(np.flatnonzero(launches.call_class == CallClass.MEMORY)),
        "copies": per_period(launches.call[copies]),
    }


def _compact(values: NDArray[np.float64]) -> int | list[int | None] | None:
    """A number where all instances have the same; else one each."""
    if len(values) and (np.isnan(values).all() or (values == values[0]).all()):
        return None if np.isnan(values[0]) else int(values[0])
    return [None if np.isnan(value) else int(value) for value in values]

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
from advisor.trace.thread_axis import ThreadAxis
from advisor.trace.trace import WorkKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from advisor.trace.analysis import Analysis
    from advisor.trace.figures import Evidence
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

LARGEST = 2.0**63
"""Times and counts lie below this."""

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
            if len(listed) != length or not length:
                raise ValueError(f"column {name} has {len(listed)} values for {length} instances")
            columns[name] = np.array([np.nan if value is None else float(value) for value in listed], np.float64)
            told = columns[name][[value is not None for value in listed]]
            if not ((told >= 0) & (told < LARGEST)).all():  # NaN neither
                raise ValueError(f"column {name} holds what no trace does")
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
            names=tuple(str(names[place]) for place, _ in entry["kernels"]),
            counts=tuple(int(count) for _, count in entry["kernels"]),
            order=None if order is None else tuple(int(place) for place in order),
            columns=columns,
        )


def graph_samples(analysis: Analysis) -> tuple[Samples, ...]:
    """The samples of each graph of an analysis, at most 100, those with the largest total span."""
    evidence = analysis.evidence
    regions, instances = evidence.regions, evidence.instances
    if not len(instances):
        return (_whole_trace(analysis),)
    runs = evidence.runs
    total_span = np.bincount(runs.graph, instances.span)
    chosen = []
    for number in np.argsort(-total_span, kind="stable")[:GRAPHS_KEPT]:
        mine = np.flatnonzero(runs.graph == number)
        mine = mine[np.argsort(instances.start[mine], kind="stable")]
        measured = mine[runs.measured[mine]]
        chosen.append((mine, measured, measured[_evenly(len(measured))]))
    columns = _columns(analysis.trace, evidence, np.concatenate([kept for _, _, kept in chosen]))

    samples = []
    first = 0
    for mine, measured, kept in chosen:
        part, first = slice(first, first + len(kept)), first + len(kept)
        median = measured[np.argsort(instances.span[measured], kind="stable")[(len(measured) - 1) // 2]]
        name = int(instances.name[median])
        samples.append(
            Samples(
                graph=regions.names[name],
                source=regions.sources[name],
                instances=len(measured),
                warmup=int(instances.warmup[mine].sum()),
                window_ns=(int(instances.start[median]), int(instances.start[median] + instances.span[median])),
                columns={key: values[part] for key, values in columns.items()},
                **_kernels(analysis.trace, evidence.launches, np.flatnonzero(regions.of_work == median)),
            )
        )
    return tuple(samples)


_KEYS = (*COUNTS, *PERIOD_COUNTS, *TIMES, *CAUSES)
_UNKNOWN = -1


def _columns(trace: Trace, evidence: Evidence, kept: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
    """The columns of the regions KEPT, in their order."""
    launches, instances = evidence.launches, evidence.instances
    found: dict[str, NDArray[np.int64]] = {
        "kernels": instances.kernels[kept],
        "launch_calls": instances.launch_calls[kept],
        "span": instances.span[kept],
        "busy": instances.busy[kept],
        "hidden": instances.hidden[kept],
    }
    found |= _launch_calls(trace, launches, evidence.regions, kept)
    found |= _periods(trace, launches, evidence, kept)
    found |= {cause.key: instances.causes[kept, cause] for cause in Cause}
    found["launch_calls"] = np.where(found["period_launches"] == _UNKNOWN, _UNKNOWN, found["launch_calls"])
    columns = {key: found[key].astype(np.float64) for key in _KEYS}
    for key in ("launch_calls", *PERIOD_COUNTS):
        columns[key][found[key] == _UNKNOWN] = np.nan
    return columns


def _evenly(count: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, count - 1, min(count, INSTANCES_KEPT)).round().astype(np.intp))


def _whole_trace(analysis: Analysis) -> Samples:
    """The one graph of a trace in which no execution could be told apart."""
    trace, launches, totals = analysis.trace, analysis.evidence.launches, analysis.totals
    works, calls = trace.works, trace.calls
    leads = np.flatnonzero(launches.first_of_call)
    call = launches.call[leads]
    timed = _timed(trace, launches, leads, np.arange(len(leads)))
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


def _timed(trace: Trace, launches: Launches, leads: NDArray[np.intp], of: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which launch calls tell the host's own time: they neither block nor find a full queue.

    Args:
        trace: The trace.
        launches: Its join.
        leads: The first works of all launch calls.
        of: The places in LEADS of those that are asked about.
    """
    call = launches.call[leads[of]]
    timed: NDArray[np.bool_] = launches.call_class[call] != CallClass.SYNC
    if len(leads) > QUEUE_FULL:
        # Fewer than so many wait where, of all that were handed over before, all but so many have begun.
        begin = trace.calls.start[call]
        handed_over = np.searchsorted(_ascending(trace.calls.start[launches.call[leads]]), begin)
        begun = _ascending(trace.works.start[leads])[np.maximum(handed_over - QUEUE_FULL, 0)] <= begin
        timed &= begun | (handed_over < QUEUE_FULL)
    return timed


def _launch_calls(
    trace: Trace, launches: Launches, regions: Regions, kept: NDArray[np.intp]
) -> dict[str, NDArray[np.int64]]:
    """How many CUDA graphs each of the regions KEPT launches, and the time in its launch calls."""
    count = len(kept)
    place = np.full(len(regions) + 1, _UNKNOWN)  # the last one for works outside of regions, whose region is -1
    place[kept] = np.arange(count)
    leads = np.flatnonzero(launches.first_of_call)
    of = np.flatnonzero(place[regions.of_work[leads]] != _UNKNOWN)
    region, call = place[regions.of_work[leads[of]]], launches.call[leads[of]]
    timed = _timed(trace, launches, leads, of)
    duration = trace.calls.end[call] - trace.calls.start[call]
    return {
        "graph_launches": np.bincount(region[launches.graph[leads[of]]], minlength=count),
        "launch_call": np.bincount(region[timed], duration[timed], count).astype(np.int64),
        "timed_calls": np.bincount(region[timed], minlength=count),
    }


def _periods(
    trace: Trace, launches: Launches, evidence: Evidence, kept: NDArray[np.intp]
) -> dict[str, NDArray[np.int64]]:
    """How many calls of each class the periods of the regions KEPT have; -1 where a region has no period."""
    calls, thread = trace.calls, evidence.instances.thread
    axis = ThreadAxis(trace)
    begin = axis(evidence.instances.start, thread)
    order = np.argsort(begin, kind="stable")
    following = np.full(len(order), _UNKNOWN)
    is_closed = thread[order][1:] == thread[order][:-1]
    following[order[:-1][is_closed]] = begin[order[1:][is_closed]]
    first, stop = begin[kept], following[kept]

    def per_period(rows: NDArray[np.signedinteger]) -> NDArray[np.int64]:
        time = _ascending(axis(calls.start[rows], calls.thread[rows]))
        return np.where(stop == _UNKNOWN, _UNKNOWN, np.searchsorted(time, stop) - np.searchsorted(time, first))

    leads = np.flatnonzero(launches.first_of_call)
    copies = leads[np.isin(trace.works.kind[leads], (WorkKind.MEMCPY, WorkKind.MEMSET)) & ~launches.graph[leads]]
    return {
        "period_launches": per_period(launches.call[leads]),
        "synchronisations": per_period(np.flatnonzero(launches.call_class == CallClass.SYNC)),
        "allocations": per_period(np.flatnonzero(launches.call_class == CallClass.MEMORY)),
        "copies": per_period(launches.call[copies]),
    }


def _ascending(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """VALUES sorted; most columns of a trace are."""
    return values if (values[1:] >= values[:-1]).all() else np.sort(values)


def _compact(values: NDArray[np.float64]) -> int | list[int | None] | None:
    """A number where all instances have the same; else one each."""
    if len(values) and (np.isnan(values).all() or (values == values[0]).all()):
        return None if np.isnan(values[0]) else int(values[0])
    return [None if np.isnan(value) else int(value) for value in values]

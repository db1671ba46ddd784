"""What the rules look at: the graphs that matter, the time between their runs, and the calls and copies in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.report.words import duration, percent, plain
from advisor.trace.causes import FUSIBLE, Cause
from advisor.trace.launches import CallClass, plain_name
from advisor.trace.run_calls import calls_per_run
from advisor.trace.trace import WorkKind
from advisor.trace.verdicts import decided_ratio, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from advisor.trace.analysis import Causes, Coverage, Evidence, GraphFigures, KernelFigures, Totals
    from advisor.trace.levers import Levers
    from advisor.trace.trace import Trace

__all__ = ["BlockingCopies", "Facts", "Subject", "gather"]

LEAST_TIME = 0.05
"""Graphs whose runs take less than this share of the time of all runs are left to the tables."""

BEHIND_COPIES = (Cause.SYNC, Cause.LAUNCH, Cause.DISPATCH)
DEVICE_TO_HOST = re.compile(r"Device-to-Host|DtoH", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Subject:
    """A run of a graph (medians), the whole trace where nothing marks runs, or the time between runs."""

    device: str
    """What waits: `GPU`, or `CPU` where the works are the nodes of a model."""
    graph: str | None
    """None: not about one graph."""
    index: int | None
    """Of the graph, in `Analysis.graph_figures`; None: between the runs."""
    span_ns: int
    busy_ns: int
    causes: Causes
    gap_ratio: float | None
    flagged: bool
    verdict: str
    runs: int
    """How many were measured; 1 for the whole trace, 0 between runs."""
    levers: Levers | None

    @property
    def fusible_ns(self) -> int:
        """What fusion can remove at most."""
        return sum(self.causes[cause] for cause in FUSIBLE)

    @property
    def repeats(self) -> bool:
        """There are several runs, so that what happens in one happens in each."""
        return self.runs > 1

    @property
    def where(self) -> str:
        """How a sentence on it begins."""
        if self.index is None:
            return "Between the runs"
        return "In this trace" if self.graph is None else f"In a run of `{plain(self.graph)}`"

    def share(self, ns: float) -> float:
        """NS as a share of its span."""
        return ns / max(self.span_ns, 1)

    def waits(self, ns: float) -> str:
        """The beginning of a sentence: how long the GPU waits, of how long."""
        of_span = f"{duration(ns)} of {duration(self.span_ns)} ({percent(self.share(ns))})"
        return f"{self.where} the {self.device} waits {of_span}"

    def evidence(self, share: float, *causes: Cause) -> dict[str, Any]:
        """The figures of which every finding on it may speak; SHARE is that of its time which the finding is about."""
        named = {f"{cause.key}_ns": self.causes[cause] for cause in causes}
        return {"span_ns": self.span_ns, "busy_ns": self.busy_ns, "runs": self.runs, "share": share} | named


@dataclass(frozen=True, slots=True)
class BlockingCopies:
    """Copies that keep the host until they are done, means per measured run of a graph."""

    count: float
    asynchronous: float
    """Of these, how many were asked for with an asynchronous call (pageable host memory)."""
    idle_ns: float
    """The device's idle time right behind them: `sync`, and the `launch` and `dispatch` of the work that ends it."""


@dataclass(frozen=True)
class Facts:
    """All that is known when rules are applied."""

    trace: Trace
    coverage: Coverage
    totals: Totals
    graphs: Sequence[GraphFigures]
    kernels: Sequence[KernelFigures]
    evidence: Evidence
    threshold: float
    subjects: tuple[Subject, ...]
    """Those that take the most time first; the time between runs is the last, where there is any."""

    def with_share(self, cause: Cause, least: float) -> Iterator[tuple[Subject, int, float]]:
        """The subjects of whose time the GPU waits at least the share LEAST for CAUSE, how long, and the share."""
        for subject in self.subjects:
            ns = subject.causes[cause]
            if ns and subject.share(ns) >= least:
                yield subject, ns, subject.share(ns)

    def flagged_for(self, cause: Cause) -> Iterator[Subject]:
        """The flagged subjects in which CAUSE is the largest that fusion removes."""
        for subject in self.subjects:
            if subject.flagged and cause == max(FUSIBLE, key=lambda each: subject.causes[each]):
                yield subject

    def longest_calls(self, call_class: CallClass, most: int = 3) -> list[dict[str, Any]]:
        """The API calls of a class in which the whole trace spends most time, by name."""
        calls = self.trace.calls
        rows = np.flatnonzero(self.evidence.launches.call_class == call_class)
        size = len(self.trace.call_names)
        count = np.bincount(calls.name[rows], minlength=size)
        total = np.bincount(calls.name[rows], calls.end[rows] - calls.start[rows], size)
        named = sorted(np.flatnonzero(count).tolist(), key=lambda name: -total[name])
        return [
            {"name": plain_name(self.trace.call_names[name]), "count": int(count[name]), "total_ns": int(total[name])}
            for name in named[:most]
        ]

    def calls_in_run(self, subject: Subject, call_class: CallClass) -> float:
        """How many calls of a class a run of the subject makes between its launches, the mean over measured runs."""
        runs = self.evidence.runs
        mine = runs.measured & (runs.graph == subject.index)
        return float(calls_per_run(self.trace, self.evidence, (call_class,))[mine].mean()) if mine.any() else 0.0

    def mean(self, subject: Subject, cause: Cause) -> tuple[float, float]:
        """What a cause costs a run in the mean, ns and share of the time: what happens in few runs counts too."""
        if subject.index is None or not len(self.evidence.instances):
            return subject.causes[cause], subject.share(subject.causes[cause])
        mine = self.evidence.runs.measured & (self.evidence.runs.graph == subject.index)
        instances = self.evidence.instances
        ns = int(instances.causes[mine, cause].sum())
        return ns / max(int(mine.sum()), 1), ns / max(int(instances.span[mine].sum()), 1)

    def blocking_copies(self, subject: Subject) -> BlockingCopies:
        """The copies of a graph's measured runs that keep the host until they are done.

        These are blocking calls, and copies to the host whose asynchronous call returned only after the copy had ended:
        so do copies to pageable memory (all 1,917 in seven real traces; none of 52 copies to pinned memory did).
        """
        trace, timeline, runs, launches = self.trace, self.evidence.timeline, self.evidence.runs, self.evidence.launches
        mine = runs.measured & (runs.graph == subject.index)
        if not (trace.works.kind == WorkKind.MEMCPY).any():
            return BlockingCopies(0, 0, 0)
        places = np.flatnonzero(trace.works.kind[timeline.order] == WorkKind.MEMCPY)
        rows = timeline.order[places]
        inside = (runs.of_work[rows] >= 0) & (launches.call[rows] >= 0)
        inside[inside] = mine[runs.of_work[rows[inside]]]
        places, rows = places[inside], rows[inside]
        call = launches.call[rows]
        to_host = np.array([bool(DEVICE_TO_HOST.search(name)) for name in trace.work_names], np.bool_)
        blocking = launches.call_class[call] == CallClass.SYNC
        held = ~blocking & to_host[trace.works.name[rows]] & (trace.calls.end[call] >= trace.works.end[rows])
        # A device's first work has no gap: what follows its last one is none of it.
        gaps = np.isin(self.evidence.gap_places, places[blocking | held] + 1)
        idle = sum(int(self.evidence.gap_causes[cause, gaps].sum()) for cause in BEHIND_COPIES)
        number = max(int(mine.sum()), 1)
        return BlockingCopies(
            count=int((blocking | held).sum()) / number,
            asynchronous=int(held.sum()) / number,
            idle_ns=idle / number,
        )


def gather(
    trace: Trace,
    coverage: Coverage,
    totals: Totals,
    graphs: Sequence[GraphFigures],
    kernels: Sequence[KernelFigures],
    evidence: Evidence,
    levers: Sequence[Levers],
    threshold: float,
) -> Facts:
    """Choose the subjects: of each name the graph that takes most time, if that is enough to matter."""
    runs = evidence.runs
    device = "GPU" if all(device.gpu for device in trace.devices) else "CPU"
    time = np.bincount(runs.graph, evidence.instances.span) if len(evidence.instances) else np.ones(1)
    subjects: dict[str, Subject] = {}
    for index in np.argsort(-time, kind="stable").tolist():
        graph = graphs[index]
        if time[index] < LEAST_TIME * time.sum() or graph.name in subjects:
            continue
        subjects[graph.name] = Subject(
            device=device,
            graph=None if graph.source == "trace" else graph.name,
            index=index,
            span_ns=graph.span_ns,
            busy_ns=graph.busy_ns,
            causes=graph.causes,
            gap_ratio=graph.gap_ratio,
            flagged=graph.flagged,
            verdict=graph.verdict,
            runs=int((runs.measured & (runs.graph == index)).sum()),
            levers=levers[index],
        )
    between = _between_runs(trace, totals, evidence, threshold, device)
    return Facts(
        trace=trace,
        coverage=coverage,
        totals=totals,
        graphs=graphs,
        kernels=kernels,
        evidence=evidence,
        threshold=threshold,
        subjects=(*subjects.values(), *([between] if between else [])),
    )


def _between_runs(trace: Trace, totals: Totals, evidence: Evidence, threshold: float, device: str) -> Subject | None:
    """The idle time that belongs to no run, from the end of the first measured run to the end of the last one."""
    instances, measured = evidence.instances, evidence.runs.measured
    if measured.sum() < 2 or not len(instances):
        return None
    ends = instances.start + instances.span
    first = int(np.flatnonzero(measured)[np.argmin(instances.start[measured])])
    begin, end = int(ends[first]), int(ends[measured].max())
    later = instances.start > begin
    rows = evidence.timeline.order[evidence.gap_places]
    start, run = trace.works.start[rows], evidence.runs.of_work[rows]
    counted = (start > begin) & (start <= end) & ((run < 0) | later[run])
    causes = _sums(evidence.gap_causes, counted, totals) - instances.causes[later].sum(axis=0)
    named = {cause: max(int(causes[cause]), 0) for cause in Cause}
    spans = [trace.works.start[evidence.timeline.order[span.first]] for span in evidence.timeline.spans]
    lasts = [int(first) + span.span_ns for first, span in zip(spans, evidence.timeline.spans, strict=True)]
    length = sum(max(0, min(last, end) - max(int(first), begin)) for first, last in zip(spans, lasts, strict=True))
    if length <= 0 or not any(named.values()):
        return None
    busy = max(length - int(instances.causes[later].sum()) - sum(named.values()), 0)
    ratio = decided_ratio(named, busy, 0, threshold)
    return Subject(
        device=device,
        graph=None,
        index=None,
        span_ns=length,
        busy_ns=busy,
        causes=named,
        gap_ratio=ratio,
        flagged=ratio is not None and ratio > threshold,
        verdict=verdict(named, busy, ratio, threshold),
        runs=0,
        levers=None,
    )


def _sums(causes: NDArray[np.int64], counted: NDArray[np.bool_], totals: Totals) -> NDArray[np.int64]:
    """Shape (causes,): the sums over the gaps that are COUNTED, or the totals less the others where those are fewer."""
    few = 2 * int(counted.sum()) < len(counted)
    sums: NDArray[np.int64] = causes[:, np.flatnonzero(counted if few else ~counted)].sum(axis=1)
    return sums if few else np.array([totals.causes[cause] for cause in Cause]) - sums

"""What findings are about: a run of each graph that matters, the time between runs, or the whole trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.trace.causes import FUSIBLE, Cause
from advisor.trace.graphs import LEAST_TIME
from advisor.words import duration, percent, titled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from advisor.trace.figures import Causes, Evidence, GraphFigures, Totals
    from advisor.trace.levers import Levers
    from advisor.trace.trace import Trace
    from advisor.trace.verdicts import Judge

__all__ = ["Subject", "find_subjects"]


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
    time_ns: int
    """What it takes of the device, as in `GraphFigures`; shares are of this."""
    busy_ns: int
    causes: Causes
    host_copy_ns: int
    """Fusible gaps before copies between host and device."""
    gap_ratio: float | None
    flagged: bool
    verdict: str
    runs: int
    """How many were measured; 1 for the whole trace, 0 between runs."""
    levers: Levers | None

    @property
    def fusible_ns(self) -> int:
        """Idle time of the causes that fusion can remove."""
        return sum(self.causes[cause] for cause in FUSIBLE)

    @property
    def most_ns(self) -> int:
        """What fusion can remove at most: what the GPU waits for without a known cause may be launches, too.

        Gaps before copies between host and device stay.
        """
        return max(self.fusible_ns - self.host_copy_ns, 0) + self.causes[Cause.UNKNOWN]

    @property
    def at_most(self) -> str:
        """What removing every launch would save, copies' too, for people: `save 12 % at most`, `save nothing`."""
        most = self.fusible_ns + self.causes[Cause.UNKNOWN]
        return f"save {percent(self.share(most))} at most" if most else "save nothing"

    @property
    def fusible_gaps(self) -> str:
        """The same in words on fusion, which may save time inside kernels besides."""
        if not self.most_ns:
            return "fusion can remove none of its gaps"
        return f"the gaps that fusion can remove are {percent(self.share(self.most_ns))} of its time at most"

    @property
    def repeats(self) -> bool:
        """There are several runs, so that what happens in one happens in each."""
        return self.runs > 1

    @property
    def where(self) -> str:
        """How a sentence on it begins."""
        if self.index is None:
            return "Between the runs"
        return "In this trace" if self.graph is None else f"In a run of `{titled(self.graph)}`"

    def called(self, verdict: str) -> bool:
        """This is the verdict that a report gives on it; the time between runs is given none."""
        return self.index is not None and self.verdict == verdict

    def share(self, ns: float) -> float:
        """NS as a share of its time."""
        return ns / max(self.time_ns, 1)

    def waits(self, ns: float) -> str:
        """The beginning of a sentence: how long the GPU waits, of how long."""
        of_span = f"{duration(ns)} of {duration(self.time_ns)} ({percent(self.share(ns))})"
        return f"{self.where} the {self.device} waits {of_span}"

    def evidence(self, share: float, *causes: Cause) -> dict[str, Any]:
        """The figures of which every finding on it may speak; SHARE is that of its time which the finding is about."""
        named = {f"{cause.key}_ns": self.causes[cause] for cause in causes}
        times = {"span_ns": self.span_ns, "time_ns": self.time_ns, "busy_ns": self.busy_ns}
        return times | {"runs": self.runs, "share": share} | named


def find_subjects(
    trace: Trace,
    totals: Totals,
    graphs: Sequence[GraphFigures],
    evidence: Evidence,
    levers: Sequence[Levers],
    judge: Judge,
) -> tuple[Subject, ...]:
    """Of each name the graph that takes most time, if that is enough to matter, and the first; and the time between.

    Args:
        trace: The trace.
        totals: Its sums.
        graphs: Its graphs.
        evidence: Its runs and gaps.
        levers: One for each of the graphs.
        judge: What flags a subject, and names its verdict.

    Returns:
        Those first that take the most time, the time between runs last.
    """
    runs = evidence.runs
    device = "GPU" if all(device.gpu for device in trace.devices) else "CPU"
    time = np.array([graph.time_share for graph in graphs])
    subjects: list[Subject] = []
    names: set[str] = set()
    for index in np.argsort(-time, kind="stable").tolist():
        graph = graphs[index]
        matters = time[index] >= LEAST_TIME * time.sum() and graph.name not in names
        if not matters and index > 0:  # The headline is about the first graph: it is a subject whatever its time.
            continue
        names.add(graph.name)
        subjects.append(
            Subject(
                device=device,
                graph=None if graph.source == "trace" else graph.name,
                index=index,
                span_ns=graph.span_ns,
                time_ns=graph.time_ns,
                busy_ns=graph.busy_ns,
                causes=graph.causes,
                host_copy_ns=graph.host_copy_gap_ns,
                gap_ratio=graph.gap_ratio,
                flagged=graph.flagged,
                verdict=graph.verdict,
                runs=int((runs.measured & (runs.graph == index)).sum()),
                levers=levers[index],
            )
        )
    between = _between_runs(trace, totals, evidence, judge, device)
    return (*subjects, *([between] if between else []))


def _between_runs(trace: Trace, totals: Totals, evidence: Evidence, judge: Judge, device: str) -> Subject | None:
    """The idle time that belongs to no run, from the end of the first measured run to the end of the last one."""
    instances, measured, timeline = evidence.instances, evidence.runs.measured, evidence.timeline
    if measured.sum() < 2 or not len(instances):
        return None
    ends = instances.start + instances.span
    first = np.flatnonzero(measured)[np.argmin(instances.start[measured])]
    begin, end = int(ends[first]), int(ends[measured].max())
    within = (instances.start > begin) & (ends <= end)
    rows = timeline.order[evidence.gap_places]
    start, run = trace.works.start[rows], evidence.runs.of_work[rows]
    counted = (start > begin) & (start <= end) & ((run < 0) | within[run])
    in_runs = instances.causes[within].sum(axis=0)
    between = np.maximum(_sums(evidence.gap_causes, counted, totals) - in_runs, 0)
    span = 0
    for part in timeline.spans:
        part_begin = int(trace.works.start[timeline.order[part.first]])
        span += max(0, min(part_begin + part.span_ns, end) - max(part_begin, begin))
    if not span or not between.any():
        return None
    causes = {cause: int(between[cause]) for cause in Cause}
    busy = max(span - int(in_runs.sum()) - int(between.sum()), 0)
    ratio = judge.ratio(causes, busy, 0)
    return Subject(
        device=device,
        graph=None,
        index=None,
        span_ns=span,
        time_ns=span,
        busy_ns=busy,
        causes=causes,
        host_copy_ns=0,
        gap_ratio=ratio,
        flagged=judge.flags(ratio),
        verdict=judge.verdict(causes, busy, ratio),
        runs=0,
        levers=None,
    )


def _sums(causes: NDArray[np.int64], counted: NDArray[np.bool_], totals: Totals) -> NDArray[np.int64]:
    """Shape (causes,): the sums over the gaps that are COUNTED, or the totals less the others where those are fewer."""
    few = 2 * int(counted.sum()) < len(counted)
    sums: NDArray[np.int64] = causes[:, np.flatnonzero(counted if few else ~counted)].sum(axis=1)
    return sums if few else np.array([totals.causes[cause] for cause in Cause]) - sums

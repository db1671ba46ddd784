"""What the rules look at, and what more than one of them asks of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.trace.causes import FUSIBLE, Cause
from advisor.trace.launches import CallClass, plain_name
from advisor.trace.run_calls import calls_per_run
from advisor.trace.trace import WorkKind
from advisor.trace.verdicts import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from advisor.trace.figures import Coverage, Evidence, GraphFigures, KernelFigures, Totals
    from advisor.trace.findings.subjects import Subject
    from advisor.trace.trace import Trace

__all__ = ["BlockingCopies", "Facts"]

BEHIND_COPIES = (Cause.SYNC, Cause.LAUNCH, Cause.DISPATCH)
DEVICE_TO_HOST = re.compile(r"Device-to-Host|DtoH", re.IGNORECASE)


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
    """As `find_subjects` gives them."""

    def with_share(self, cause: Cause, least: float) -> Iterator[tuple[Subject, int, float]]:
        """The subjects of whose time the GPU waits at least the share LEAST for CAUSE, how long, and the share.

        So do those whose verdict it is, whatever the share: no verdict stands without its finding.
        """
        for subject in self.subjects:
            ns = subject.causes[cause]
            if ns and (subject.share(ns) >= least or subject.called(VERDICTS[cause])):
                yield subject, ns, subject.share(ns)

    def flagged_for(self, cause: Cause) -> Iterator[Subject]:
        """The subjects that are flagged, or have its verdict, in which CAUSE is the largest that fusion removes."""
        for subject in self.subjects:
            told = subject.flagged or subject.called(VERDICTS[cause])
            if told and cause == max(FUSIBLE, key=lambda each: subject.causes[each]):
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

    def longest_kernel(self, subject: Subject) -> tuple[str, float] | None:
        """The kernel in which a graph's measured runs spend most time, and its share of all their works' time."""
        works, runs = self.trace.works, self.evidence.runs
        mine = runs.measured & (runs.graph == subject.index)
        rows = np.flatnonzero(runs.of_work >= 0)
        rows = rows[mine[runs.of_work[rows]]]
        took = works.end[rows] - works.start[rows]
        kernels = works.kind[rows] == WorkKind.KERNEL
        if not took[kernels].any():
            return None
        by_name = np.bincount(works.name[rows[kernels]], took[kernels])
        longest = int(by_name.argmax())
        return self.trace.work_names[longest], float(by_name[longest] / took.sum())

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
        return ns / max(int(mine.sum()), 1), ns / max(int(instances.time[mine].sum()), 1)

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

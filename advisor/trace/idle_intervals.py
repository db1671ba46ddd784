"""The longest idle intervals of a trace: when, why, and between which works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.causes import Cause

if TYPE_CHECKING:
    from advisor.trace.figures import Causes, Evidence
    from advisor.trace.trace import Trace

__all__ = ["LISTED", "IdleInterval", "longest_intervals"]

LISTED = 3


@dataclass(frozen=True, slots=True)
class IdleInterval:
    """A time in which a device did nothing, ns on the trace's clock."""

    device: int
    """The device's number, as `--device` takes it."""
    start_ns: int
    gap_ns: int
    cause: str
    """The largest of its causes."""
    where: str
    """`setup`: before the first measured run; `run`: inside one; `between`: between or after them; `trace`: no runs."""
    ended_by: str
    """The work that ended it."""
    window_ns: tuple[int, int]
    """What `--from` and `--to` take to select the works on both sides and what starts between them."""
    causes: Causes


def longest_intervals(trace: Trace, evidence: Evidence) -> tuple[IdleInterval, ...]:
    """The three longest of all devices, the longest first."""
    timeline, works, runs = evidence.timeline, trace.works, evidence.runs
    gaps = timeline.exposed_gap[evidence.gap_places]
    marked = len(evidence.instances) > 0
    first = evidence.instances.start[runs.measured].min() if marked else 0
    found = []
    for column in np.argsort(-gaps, kind="stable")[:LISTED].tolist():
        place = int(evidence.gap_places[column])
        row = int(timeline.order[place])
        since, start = int(timeline.idle_since[place]), int(works.start[row])
        begin = next(part.first for part in timeline.spans if part.first <= place < part.last)
        before = timeline.order[begin:place]
        previous = int(before[np.flatnonzero(works.end[before] == since)[-1]])
        run = int(runs.of_work[row])
        if not marked:
            where = "trace"
        elif start <= first or since < first:
            where = "setup"
        else:
            where = "run" if run >= 0 and evidence.instances.start[run] <= since else "between"
        causes = {cause: int(evidence.gap_causes[cause, column]) for cause in Cause}
        found.append(
            IdleInterval(
                device=trace.devices[works.device[row]].number,
                start_ns=since,
                gap_ns=int(gaps[column]),
                cause=max(causes, key=lambda cause: causes[cause]).key,
                where=where,
                ended_by=trace.work_names[works.name[row]],
                window_ns=(int(works.start[previous]), start + 1),
                causes=causes,
            )
        )
    return tuple(found)

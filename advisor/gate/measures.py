"""What is compared of each graph: one row a measure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.causes import FUSIBLE, LAUNCH_GAP, Cause

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from advisor.trace.samples import Samples

    Values = NDArray[np.float64]

__all__ = ["COUNTS", "MEASURES", "TIMES", "Measure", "Unit"]


class Unit(StrEnum):
    """How a measure's values are written."""

    COUNT = "count"
    NS = "ns"
    RATIO = "ratio"


@dataclass(frozen=True)
class Measure:
    """One figure of an execution; more of it is worse."""

    key: str
    title: str
    unit: Unit
    of: Callable[[Samples], Values]
    """Shape (instances,); NaN where not known."""
    judged: bool = True
    """A rise is a regression; else it is shown, since it may come from the kernels alone."""
    scale: str = ""
    """The measure that changes and drift are shares of; itself where empty."""
    idle: bool = False
    """Idle time of the GPU: it grows by itself where kernels become faster, and the host does not."""
    least_effect: float = 0.0
    """The smallest relative change that counts, where it is larger than the policy's."""
    on_demand: bool = False
    """Told only where the policy has it judged."""


def _column(key: str) -> Callable[[Samples], Values]:
    return lambda samples: samples.columns[key]


def _sum(causes: tuple[Cause, ...]) -> Callable[[Samples], Values]:
    return lambda samples: samples.gap(causes)


def _ratio_of(part: Callable[[Samples], Values], whole: Callable[[Samples], Values]) -> Callable[[Samples], Values]:
    def ratio(samples: Samples) -> Values:
        total = whole(samples)
        divided: Values = np.divide(part(samples), total, out=np.full(len(total), np.nan), where=total > 0)
        return divided

    return ratio


def _between(samples: Samples) -> Values:
    return samples.columns["period_launches"] - samples.columns["launch_calls"]


def _launch_calls(samples: Samples) -> Values:
    """As if each launch call took as long as those do on average that neither block nor find a full queue."""
    mean = _ratio_of(_column("launch_call"), _column("timed_calls"))
    return mean(samples) * samples.columns["launch_calls"]


def _occupied(samples: Samples) -> Values:
    """Fusible gap and busy time: what the gap ratio is a share of."""
    return samples.gap(FUSIBLE) + samples.columns["busy"]


def _time(samples: Samples) -> Values:
    """Busy and idle of its own, the span at most: spans overlap where the queue runs ahead."""
    time: Values = np.minimum(samples.gap(_IDLE) + samples.columns["busy"], samples.columns["span"])
    return time


COUNTS = (
    Measure("kernels", "kernels", Unit.COUNT, _column("kernels")),
    Measure("launch_calls", "launch calls", Unit.COUNT, _column("launch_calls")),
    Measure("graph_launches", "CUDA graph launches", Unit.COUNT, _column("graph_launches")),
    Measure("launches_between", "launch calls between executions", Unit.COUNT, _between),
    Measure("synchronisations", "synchronisations", Unit.COUNT, _column("synchronisations")),
    Measure("allocations", "allocations", Unit.COUNT, _column("allocations")),
    Measure("copies", "copies", Unit.COUNT, _column("copies")),
)

_IDLE = tuple(Cause)
# A new wait, allocation or pause of the host. Launch, dispatch, turnaround and graph are the fusible gap; loading is
# warm-up; the profiler is not the program, and of an unknown cause nothing can be said.
_JUDGED_CAUSES = (Cause.SYNC, Cause.MEMORY, Cause.API, Cause.HOST, Cause.WAIT)

TIMES = (
    Measure("fusible_gap", "fusible gap", Unit.NS, _sum(FUSIBLE), idle=True),
    # Part of the fusible gap; a shift between its parts is no new overhead.
    Measure("launch_gap", "launch gap", Unit.NS, _sum(LAUNCH_GAP), judged=False, idle=True),
    # Per execution: fewer, longer calls (a CUDA graph's) are no regression. The host's clock alone moves it by some
    # per cent.
    Measure("launch_call", "time in launch calls", Unit.NS, _launch_calls, least_effect=0.10),
    *(
        Measure(
            cause.key,
            f"idle: {cause.key}",
            Unit.NS,
            _column(cause.key),
            judged=cause in _JUDGED_CAUSES,
            idle=True,
            # One cause of many may be next to nothing and double by chance.
            scale="exposed_gap",
        )
        for cause in Cause
    ),
    Measure("exposed_gap", "idle", Unit.NS, _sum(_IDLE), judged=False, idle=True),
    Measure("busy", "busy", Unit.NS, _column("busy"), judged=False),
    Measure("time", "time of a run", Unit.NS, _time, judged=False),
    # It holds a run's wait for those before it, which its time does not; beside that it would say the same twice.
    Measure("span", "span, with waits for earlier runs", Unit.NS, _column("span"), judged=False, on_demand=True),
    Measure("gap_ratio", "gap ratio", Unit.RATIO, _ratio_of(_sum(FUSIBLE), _occupied), judged=False),
    Measure("fusible_share", "fusible share", Unit.RATIO, _ratio_of(_sum(FUSIBLE), _time), judged=False),
)

MEASURES = {measure.key: measure for measure in (*COUNTS, *TIMES)}

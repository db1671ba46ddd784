"""What devices were busy with: kernels, copies, communication between devices. All of it is busy time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.timeline import running_end
from advisor.trace.trace import WorkKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from advisor.trace.timeline import Timeline
    from advisor.trace.trace import Trace

__all__ = ["BusyParts", "find_busy_parts"]

COMMUNICATION = "collective"
"""The class of kernels that pass values between devices."""


@dataclass(frozen=True, slots=True)
class BusyParts:
    """The lengths of unions of intervals, device by device, ns; together more than busy where they overlap."""

    kernels_ns: int
    """Kernels that compute, and CUDA graphs recorded as a whole."""
    copies_ns: int
    """Copies and sets."""
    communication_ns: int
    """Kernels of NCCL and the like."""
    overlap_ns: int
    """Time in which more than one of the three ran, counted once for each further one."""


def find_busy_parts(trace: Trace, timeline: Timeline, classes: Sequence[str], busy_ns: int) -> BusyParts:
    """Split the busy time of all devices; CLASSES has the class of each of `trace.work_names`."""
    works, rows = trace.works, timeline.order
    copies = np.isin(works.kind[rows], (WorkKind.MEMCPY, WorkKind.MEMSET))
    collective = np.array([each == COMMUNICATION for each in classes], np.bool_)
    communication = ~copies & collective[works.name[rows]]
    kernels_ns, copies_ns, communication_ns = (
        _union(trace, rows[chosen]) for chosen in (~copies & ~communication, copies, communication)
    )
    return BusyParts(kernels_ns, copies_ns, communication_ns, kernels_ns + copies_ns + communication_ns - busy_ns)


def _union(trace: Trace, rows: NDArray[np.intp]) -> int:
    """The length of the union of the intervals of ROWS, which stand device by device in the order of their starts."""
    if not len(rows):
        return 0
    start, end = trace.works.start[rows], trace.works.end[rows]
    first = np.flatnonzero(np.diff(trace.works.device[rows].astype(np.int64), prepend=-1))
    return int(np.maximum(end - np.maximum(start, running_end(start, end, first)), 0).sum())

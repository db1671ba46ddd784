"""One axis of time for all threads, one thread after the other, so that one search serves all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.trace import Trace

__all__ = ["ThreadAxis"]


class ThreadAxis:
    """Moves the times of each thread of a trace behind those of the thread before.

    Attributes:
        shift: Shape (threads,), ns: how far.
    """

    def __init__(self, trace: Trace) -> None:
        """Make room for every event of TRACE, which has at least one."""
        events = [each for each in (trace.calls, trace.overheads, trace.works) if len(each)]
        origin = min(int(each.start.min()) for each in events)
        stride = max(int(each.end.max()) for each in events) - origin + 1
        self.shift: NDArray[np.int64] = np.arange(len(trace.threads)) * stride - origin

    def __call__(self, time: NDArray[np.int64], thread: NDArray[np.int32]) -> NDArray[np.int64]:
        """Where the TIME of each THREAD lies, shape (n,)."""
        return time + self.shift.take(thread)

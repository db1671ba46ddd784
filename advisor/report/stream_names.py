"""What streams are called: the profiler's own number, and what tells streams of one number on one device apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from advisor.trace.trace import Trace

__all__ = ["stream_names"]


def stream_names(trace: Trace) -> list[str]:
    """The name of each of `Trace.streams`: `stream 7`, `stream 7 of process 4242`, `stream 7, context 2`."""
    names = [f"stream {number}" for _, number in trace.streams]
    used, first = np.unique(trace.works.stream, return_index=True)
    alike: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for stream, row in zip(used.tolist(), first.tolist(), strict=True):
        device, process = int(trace.works.device[row]), int(trace.works.process[row])
        alike[device, trace.streams[stream][1]].append((stream, process))
    for group in alike.values():
        in_process = Counter(process for _, process in group)
        for stream, process in group:
            if len(in_process) > 1:
                names[stream] += f" of process {trace.processes[process][0]}"
            if in_process[process] > 1:
                names[stream] += f", context {trace.streams[stream][0]}"
    return names

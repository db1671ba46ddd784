"""A simulated run as the columns that `advisor.analyze` reads, without a file in between: for tests that need many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from advisor.trace.trace import Calls, Device, Overheads, Ranges, Trace, WorkKind, Works
from sample_traces.operations import Stream

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sample_traces.run import NvtxEvent, Run, Work

Key = TypeVar("Key")

__all__ = ["to_trace"]

_KINDS = {"kernel": WorkKind.KERNEL, "memcpy": WorkKind.MEMCPY, "memset": WorkKind.MEMSET, "graph": WorkKind.GRAPH}


def to_trace(run: Run) -> Trace:
    """What a reader would make of the newest export of RUN: its columns, with each GPU known."""
    names, call_names, range_names = _Codes[str](), _Codes[str](), _Codes[str]()
    streams, gpus = _Codes[tuple[int, Stream]](), _Codes[int]()
    works, calls = run.works, run.recorded_calls
    closed = [event for event in run.nvtx if event.kind != "mark" and event.end is not None]
    records = [(call.start, call.end, call, call.name) for call in calls]
    records += [(*call.inner, call, call.name) for call in calls if call.inner is not None]
    return Trace(
        path=Path("simulated"),
        kind="simulated",
        tool_version=None,
        schema_version=None,
        works=Works(
            start=_times(work.start for work in works),
            end=_times(work.end for work in works),
            kind=np.array([_KINDS[work.kind] for work in works], np.uint8),
            process=_indices(work.process for work in works),
            device=_indices(gpus[work.gpu] for work in works),
            stream=_times(streams[work.process, work.stream] for work in works),
            correlation=_times(0 if work.call is None else work.call.correlation for work in works),
            name=_indices(names[_work_name(work)] for work in works),
            graph_node=_times(work.graph if work.kind == "graph" else work.graph << 32 | work.node for work in works),
        ),
        calls=Calls(
            start=_times(start for start, _, _, _ in records),
            end=_times(end for _, end, _, _ in records),
            thread=_indices(call.thread for _, _, call, _ in records),
            correlation=_times(call.correlation for _, _, call, _ in records),
            name=_indices(call_names[name] for _, _, _, name in records),
        ),
        ranges=Ranges(
            start=_times(event.start for event in closed),
            end=_times(event.end or 0 for event in closed),
            thread=_indices(event.thread for event in closed),
            name=_indices(range_names[_range_name(event)] for event in closed),
        ),
        overheads=Overheads(
            start=_times(overhead.start for overhead in run.overheads),
            end=_times(overhead.end for overhead in run.overheads),
            thread=_indices(overhead.thread for overhead in run.overheads),
        ),
        work_names=tuple(names),
        call_names=tuple(call_names),
        range_names=tuple(range_names),
        processes=tuple((process.pid, f"simulated-{index}") for index, process in enumerate(run.processes)),
        threads=_indices(thread.process for thread in run.threads),
        devices=tuple(
            Device(number=gpu, ordinal=_ordinal(run, gpu), physical=True, process=0, name="Simulated GPU")
            for gpu in gpus
        ),
        streams=tuple((stream.context, stream.id) for _, stream in streams),
        zero_time=0,
        unclosed_ranges=sum(event.kind != "mark" and event.end is None for event in run.nvtx),
        diagnostics=(),
    )


class _Codes(dict[Key, int]):
    """Numbers what is looked up in it, from 0."""

    def __missing__(self, key: Key) -> int:
        self[key] = len(self)
        return self[key]


def _times(values: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(values), np.int64)


def _indices(values: Iterable[int]) -> NDArray[np.int32]:
    return np.array(list(values), np.int32)


def _work_name(work: Work) -> str:
    if work.kind == "kernel":
        return work.name
    return "[CUDA memset]" if work.kind == "memset" else f"[CUDA {work.kind} {work.name or work.graph}]"


def _range_name(event: NvtxEvent) -> str:
    return f"{event.domain}:{event.name}" if event.domain else event.name


def _ordinal(run: Run, gpu: int) -> int:
    return next(process.gpus.index(gpu) for process in run.processes if gpu in process.gpus)

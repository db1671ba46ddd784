"""A simulated run of one process as a trace of the PyTorch profiler, in the forms of several years.

The versions: `1.8` (categories with capitals, thread ids as texts, whole µs), `1.12` (today's categories, whole µs),
`2.3` (µs with three decimals since 1970), `2.6` (relative to `baseTimeNanoseconds`, ids of CUDA graph nodes).
"""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sample_traces.run import ApiCall, Run, Work

__all__ = ["VERSIONS", "write"]

VERSIONS = ("1.8", "1.12", "2.3", "2.6")
_EPOCH = 1_775_078_550_000_000_000
"""When the run began, ns since 1970."""

_CATEGORIES = {
    "1.8": {"kernel": "Kernel", "memcpy": "Memcpy", "memset": "Memset", "call": "Runtime"},
    "": {"kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset", "call": "cuda_runtime"},
}
_VERSION_SUFFIX = re.compile(r"_v\d{4,}$")


def write(run: Run, path: Path, version: str = "2.6") -> None:
    """Write RUN to a new file at PATH, packed where its name ends with `.gz`.

    Marks and ranges without end are left out, as PyTorch has neither; so are second records of one call.

    Raises:
        ValueError: VERSION is unknown, or RUN holds what this profiler does not record: several processes, or a CUDA
            graph launch as one interval.
    """
    if version not in VERSIONS:
        raise ValueError(f"no version {version!r}: one of {', '.join(VERSIONS)}")
    if len(run.processes) != 1 or any(work.kind == "graph" for work in run.works):
        raise ValueError("the PyTorch profiler records one process, and the nodes of CUDA graphs")
    old = version == "1.8"
    about = {
        "schemaVersion": 1,
        "computeProperties" if old else "deviceProperties": [
            {"id": ordinal, "name": "Simulated GPU", "totalGlobalMem": 34084028416}
            for ordinal, _ in enumerate(run.processes[0].gpus)
        ],
    }
    if version == "2.6":
        about |= {"cupti_version": 26, "displayTimeUnit": "ms", "baseTimeNanoseconds": _EPOCH}
    head = json.dumps(about, indent=2).removesuffix("\n}")
    events = ",\n".join("  " + event for event in _Events(run, version).all())
    text = f'\n{head},\n  "traceEvents": [\n{events}\n  ],\n  "traceName": "{path.name}"\n}}'
    packed = text.encode()
    path.write_bytes(gzip.compress(packed, mtime=0) if path.suffix == ".gz" else packed)


class _Events:
    def __init__(self, run: Run, version: str) -> None:
        self.run = run
        self.version = version
        self.categories = _CATEGORIES.get(version, _CATEGORIES[""])
        self.pid = run.processes[0].pid

    def all(self) -> Iterator[str]:
        yield self.event({"name": "process_name", "ph": "M", "ts": 0, "pid": self.pid, "tid": 0,
                          "args": {"name": "python"}})  # fmt: skip
        yield self.event({"name": "process_labels", "ph": "M", "ts": 0, "pid": self.pid, "tid": 0,
                          "args": {"labels": "CPU"}})  # fmt: skip
        for number, event in enumerate(self.run.nvtx):
            if event.end is not None:
                category = "Operator" if self.version == "1.8" else "user_annotation"
                yield self.host(category, event.name, event.thread, event.start, event.end, {"External id": number})
        for call in self.run.recorded_calls:
            yield self.call(call)
        for work in self.run.works:
            yield self.work(work)
        for overhead in self.run.overheads:
            # Kineto names no thread; where there are several, only a test's writer can know it.
            tid = 0 if len(self.run.threads) == 1 else self.run.threads[overhead.thread].tid
            yield self.complete("overhead", overhead.name, -1, tid, overhead.start, overhead.end, {})
        yield self.event({"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 0})

    def call(self, call: ApiCall) -> str:
        runtime = call.name.startswith("cuda")
        category = self.categories["call"] if runtime or self.version == "1.8" else "cuda_driver"
        args: dict[str, object] = {"cbid": 211, "correlation": call.correlation}
        return self.host(category, _VERSION_SUFFIX.sub("", call.name), call.thread, call.start, call.end, args)

    def work(self, work: Work) -> str:
        device, stream = work.stream.device, work.stream.id
        args: dict[str, object] = {
            "device": device,
            "context": work.stream.context,
            "stream": stream,
            "correlation": 0 if work.call is None else work.call.correlation,
        }
        name = {"memcpy": f"Memcpy {work.name} (Pageable -> Device)", "memset": "Memset (Device)"}
        if work.kind == "kernel":
            args = {"queued": 0} | args | {"registers per thread": 32, "blocks per SM": 0.0125, "grid": [1, 1, 1]}
        if work.kind == "kernel" and self.version == "2.6":
            args |= {"graph id": work.graph, "graph node id": work.graph << 32 | work.node}
        tid = f"stream {stream}" if self.version == "1.8" else stream
        return self.complete(self.categories[work.kind], name.get(work.kind, work.name), device, tid,
                             work.start, work.end, args)  # fmt: skip

    def host(self, category: str, name: str, thread: int, start: int, end: int, args: dict[str, object]) -> str:
        tid = self.run.threads[thread].tid
        return self.complete(category, name, self.pid, str(tid) if self.version == "1.8" else tid, start, end, args)

    def complete(
        self, category: str, name: str, pid: int, tid: int | str, start: int, end: int, args: dict[str, object]
    ) -> str:
        row = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": "TS", "dur": "DUR", "args": args}
        origin = 0 if self.version == "2.6" else _EPOCH
        # Decimals are written by hand: a double does not hold them all.
        text = self.event(row).replace('"ts": "TS"', f'"ts": {self.time(start + origin)}')
        return text.replace('"dur": "DUR"', f'"dur": {self.time(end - start)}')

    def time(self, ns: int) -> str:
        return str(ns // 1000) if self.version in ("1.8", "1.12") else f"{ns // 1000}.{ns % 1000:03d}"

    def event(self, row: dict[str, object]) -> str:
        return json.dumps(row)

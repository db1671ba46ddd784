"""Traces of the PyTorch profiler: Chrome JSON as Kineto writes it, from PyTorch 1.8 to today.

What is read of an event is its category, name, `ts`, `dur`, `pid`, `tid` and the ids in its `args`:

    kernel, gpu_memcpy, gpu_memset    work; `pid` is the device, `args` name device, context, stream and correlation
    cuda_runtime, cuda_driver         API calls of a host thread
    user_annotation                   ranges: `record_function` and `ProfilerStep#N`
    overhead                          the profiler held a thread up

PyTorch 1.8 to 1.11 write the first two as Kernel, Memcpy, Memset and Runtime, thread ids as texts, and profiler steps
among the operators. Times are µs: whole ones up to PyTorch 2.2, with three decimals, so exact ns, from 2.3 on; there
they count from `baseTimeNanoseconds`, and a time that lies before that is written as 0: it was not recorded.

A trace does not say which GPU an ordinal is, nor, where several processes were merged into one file, which process ran
a kernel: that is told from the correlation id where only one of them has it. Kineto records launches of the driver API
but no module loading, and leaves out cheap calls such as `cudaGetLastError`.
"""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.errors import BadInput, CannotDecide
from advisor.trace.readers.json_events import WHOLE_MICROSECONDS, EventFile, Names, columns, integer, nanoseconds
from advisor.trace.trace import Calls, Device, Overheads, Ranges, Trace, WorkKind, Works, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Table = dict[str, NDArray[np.int64]]

__all__ = ["is_torch_profile", "read_torch_profile"]

RECORD_AGAIN = "record it with `torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])`"

WORK_KINDS = {
    "kernel": WorkKind.KERNEL,
    "gpu_memcpy": WorkKind.MEMCPY,
    "gpu_memset": WorkKind.MEMSET,
    "Kernel": WorkKind.KERNEL,
    "Memcpy": WorkKind.MEMCPY,
    "Memset": WorkKind.MEMSET,
}
CALLS = frozenset({"cuda_runtime", "cuda_driver", "Runtime", "Driver"})
OPERATORS = frozenset({"cpu_op", "Operator"})
"""Not read, but for the profiler steps that old versions put among them."""
READ = frozenset({*WORK_KINDS, *CALLS, *OPERATORS, "user_annotation", "overhead"})
STEP = "ProfilerStep#"

NO_OVERHEAD = frozenset({"Lazy Function Loading", "Runtime Triggered Module Loading", "Command Buffer Full"})
"""What CUPTI calls overhead and happens without a profiler, too: it is part of the calls around it."""

NOBODY = (-1, 0)
"""The ids of overhead that names no process (-1) or no thread (0); 0 stands for a missing one, too."""

LOSSES = re.compile(r"drop|lost|losing|incomplete|overflow|missing|corrupt|fail|out of memory", re.IGNORECASE)

WORK_COLUMNS = ("start", "end", "kind", "device", "context", "stream", "correlation", "graph_node", "name")
CALL_COLUMNS = ("start", "end", "pid", "tid", "correlation", "name")
RANGE_COLUMNS = ("start", "end", "pid", "tid", "name")
OVERHEAD_COLUMNS = ("start", "end", "pid", "tid")

_HEAD = re.compile(rb'^\s*\{.*"(traceEvents|schemaVersion|deviceProperties|computeProperties)"', re.DOTALL)


def is_torch_profile(head: bytes) -> bool:
    """Whether a file that begins with HEAD is a Chrome trace, as the PyTorch profiler writes them."""
    return bool(_HEAD.match(head.removeprefix(b"\xef\xbb\xbf")))


def read_torch_profile(path: Path, progress: Callable[[str], None] | None = None) -> Trace:
    """Read a trace that `torch.profiler` exported; `.json`, or packed as `.json.gz`.

    Args:
        path: The file; it is read piece by piece.
        progress: Called with a few words before each longer step.

    Raises:
        BadInput: Not readable, or not a trace of the PyTorch profiler.
        CannotDecide: A trace without work on a GPU; the message says how to record it.
    """
    say = progress or (lambda _words: None)
    say("reading events")
    events = EventFile(path)
    recorded = _Recorded(events)
    say("joining events")
    if not len(recorded.works["start"]):
        raise _nothing_to_analyze(path, recorded, cut_off=events.cut_off)
    return _assemble(path, events, recorded)


class _Recorded:
    """The events of a file as columns."""

    def __init__(self, events: Iterable[Mapping[str, Any]]) -> None:
        self.work_names, self.call_names, self.range_names = Names(), Names(), Names()
        self.process_names: dict[int, str] = {}
        self.zero_time = self.operators = 0
        works, calls, ranges, overheads = (array("q") for _ in range(4))
        for event in events:
            category = event.get("cat")
            if not isinstance(category, str) or category not in READ:
                if event.get("ph") == "M":
                    self._about_process(event)
                continue
            name = str(event.get("name", ""))
            if category in OPERATORS:
                self.operators += 1
                if not name.startswith(STEP):
                    continue
            start, duration = nanoseconds(event.get("ts")), nanoseconds(event.get("dur"))
            if category in WORK_KINDS:
                if not start or duration is None or duration < 0:
                    self.zero_time += 1
                else:
                    kind = WORK_KINDS[category]
                    works.extend((start, start + duration, kind, *self._work(event, name)))
                continue
            if start is None or duration is None or duration < 0:
                continue
            thread = start, start + duration, integer(event.get("pid")), integer(event.get("tid"))
            if category in CALLS:
                correlation = integer(_args(event).get("correlation"))
                calls.extend((*thread, correlation, self.call_names.code(name)))
            elif category == "overhead":
                if name not in NO_OVERHEAD:
                    overheads.extend(thread)
            else:
                ranges.extend((*thread, self.range_names.code(name)))
        self.works = columns(works, WORK_COLUMNS)
        self.calls = columns(calls, CALL_COLUMNS)
        self.ranges = columns(ranges, RANGE_COLUMNS)
        self.overheads = columns(overheads, OVERHEAD_COLUMNS)

    def _work(self, event: Mapping[str, Any], name: str) -> tuple[int, ...]:
        args = _args(event)
        device = args.get("device", args.get("inDevice", event.get("pid")))
        graph, node = integer(args.get("graph id")), integer(args.get("graph node id"))
        # CUPTI's ids of nodes have the graph's id in their upper half already.
        return (
            integer(device),
            integer(args.get("context", args.get("inContext"))),
            integer(args.get("stream", event.get("tid"))),
            integer(args.get("correlation")),
            graph << 32 | node if node and 0 < graph < 1 << 31 and not node >> 32 else node,
            self.work_names.code(name),
        )

    def _about_process(self, event: Mapping[str, Any]) -> None:
        pid = event.get("pid")
        if isinstance(pid, int) and event.get("name") == "process_name":
            self.process_names[pid] = str(_args(event).get("name", ""))


def _args(event: Mapping[str, Any]) -> Mapping[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _nothing_to_analyze(path: Path, recorded: _Recorded, *, cut_off: bool) -> BadInput | CannotDecide:
    calls = len(recorded.calls["start"])
    if cut_off:
        return CannotDecide(
            f"{path} is cut off, and up to there it has no work on a GPU, which a trace lists last: copy it again, or "
            "record it anew and let the program end"
        )
    if recorded.zero_time:
        return CannotDecide(f"{path}: none of its {recorded.zero_time:,} GPU events has a time: {RECORD_AGAIN} anew")
    if calls or recorded.operators or len(recorded.ranges["start"]):
        what = f"{calls:,} CUDA API calls" if calls else "operators on the CPU"
        return CannotDecide(f"{path} has {what} but no work on a GPU: {RECORD_AGAIN} where it runs on a GPU")
    return BadInput(f"{path} is a Chrome trace but not one of the PyTorch profiler: it has none of its events")


def _assemble(path: Path, events: EventFile, recorded: _Recorded) -> Trace:
    works, calls, ranges = recorded.works, recorded.calls, recorded.ranges
    losses, notes = _losses(events), _damages(events)
    if not ((works["start"] % 1000).any() or (works["end"] % 1000).any()):
        notes.append(WHOLE_MICROSECONDS)
    overheads = _on_threads(recorded, notes)
    pids, thread_pids, thread_of = _threads(calls, ranges, overheads)
    process, correlation = _processes_of_works(works, calls, pids, notes)
    devices, device = _devices(events.about, works["device"], process, pids)
    first, stream = distinct_rows(process, works["device"], works["context"], works["stream"])
    call_thread, range_thread, overhead_thread = np.split(
        thread_of, np.cumsum([len(calls["start"]), len(ranges["start"])])
    )
    cupti = events.about.get("cupti_version")
    return Trace(
        path=path,
        kind="torch-profile",
        tool_version=None if cupti is None else f"CUPTI {cupti}",
        schema_version=str(events.about.get("schemaVersion", "")) or None,
        works=Works(
            start=works["start"],
            end=works["end"],
            kind=works["kind"].astype(np.uint8),
            process=process.astype(np.int32),
            device=device,
            stream=stream.astype(np.int64),
            correlation=correlation,
            name=works["name"].astype(np.int32),
            graph_node=_graph_nodes(works),
        ),
        calls=Calls(calls["start"], calls["end"], call_thread, calls["correlation"], calls["name"].astype(np.int32)),
        ranges=Ranges(ranges["start"], ranges["end"], range_thread, ranges["name"].astype(np.int32)),
        overheads=Overheads(overheads["start"], overheads["end"], overhead_thread),
        work_names=recorded.work_names.texts(),
        call_names=recorded.call_names.texts(),
        range_names=recorded.range_names.texts(),
        processes=tuple((pid, recorded.process_names.get(pid, "")) for pid in pids.tolist()),
        threads=np.searchsorted(pids, thread_pids).astype(np.int32),
        devices=devices,
        streams=tuple(zip(works["context"][first].tolist(), works["stream"][first].tolist(), strict=True)),
        zero_time=recorded.zero_time,
        unclosed_ranges=0,
        diagnostics=losses,
        notes=tuple(notes),
    )


def _losses(events: EventFile) -> tuple[str, ...]:
    """What the profiler says in the file of missing events, in its words, each once."""
    said = []
    for level in ("ERROR", "WARNING"):
        texts = events.about.get(level)
        said += [" ".join(str(text).split()) for text in (texts if isinstance(texts, list) else [])]
    return tuple(dict.fromkeys(words for words in said if LOSSES.search(words)))


def _damages(events: EventFile) -> list[str]:
    """What the file itself lacks."""
    notes = []
    if events.cut_off:
        notes.append("the file is cut off: events are missing at its end")
    if events.damaged:
        notes.append(f"{events.damaged:,} events of the file are damaged and were left out")
    return notes


def _on_threads(recorded: _Recorded, notes: list[str]) -> Table:
    """Profiler overhead with the threads that it held up.

    Kineto writes it without a process, and for CUDA without a thread as well. Of the threads that call CUDA it is that
    which alone fits what is named; where several fit, it cannot be told; and what a thread without calls waited for
    explains no gap.
    """
    overheads, calls = recorded.overheads, recorded.calls
    if not len(overheads["start"]):
        return overheads
    rows, _ = distinct_rows(calls["pid"], calls["tid"])
    pid, tid = overheads["pid"].copy(), overheads["tid"].copy()
    fitting = np.zeros(len(pid), np.intp)
    for caller_pid, caller_tid in zip(calls["pid"][rows].tolist(), calls["tid"][rows].tolist(), strict=True):
        fits = np.isin(overheads["pid"], (*NOBODY, caller_pid)) & np.isin(overheads["tid"], (*NOBODY, caller_tid))
        pid[fits], tid[fits] = caller_pid, caller_tid
        fitting += fits
    untold = int((fitting > 1).sum())
    if untold:
        notes.append(
            f"{untold:,} intervals of profiler overhead do not say which thread they held up: their time counts as the "
            "program's own"
        )
    table = overheads | {"pid": pid, "tid": tid}
    return {name: column[fitting == 1] for name, column in table.items()}


def _threads(*tables: Table) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """The process ids, each thread's, and each row's thread."""
    pid, tid = (np.concatenate([table[name] for table in tables]) for name in ("pid", "tid"))
    threads, thread_of = distinct_rows(pid, tid)
    pids = np.unique(pid[threads]) if len(threads) else np.zeros(1, np.int64)
    return pids, pid[threads], thread_of


def _processes_of_works(
    works: Table, calls: Table, pids: NDArray[np.int64], notes: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The process of each work (an index into PIDS), and its correlation id where it is certain."""
    correlation = works["correlation"]
    callers = np.unique(calls["pid"])
    if len(callers) <= 1:
        only = np.searchsorted(pids, callers[0]) if len(callers) else 0
        return np.full(len(correlation), only, np.int64), correlation
    owned, _ = distinct_rows(calls["correlation"], calls["pid"])
    ids, first, owners = np.unique(calls["correlation"][owned], return_index=True, return_counts=True)
    place = np.minimum(np.searchsorted(ids, correlation), len(ids) - 1)
    certain = (ids[place] == correlation) & (owners[place] == 1)
    process = np.where(certain, np.searchsorted(pids, calls["pid"][owned[first[place]]]), 0)
    notes.append(
        f"calls of {len(callers)} processes in one trace: a kernel's process is told by its correlation id, and "
        f"{int((~certain).sum()):,} of {len(certain):,} works belong to none for certain"
    )
    return process, np.where(certain, correlation, 0)


def _graph_nodes(works: Table) -> NDArray[np.int64]:
    """The CUDA graph node of each work; copies and sets do not name their graph, but kernels of the same launch do."""
    node, correlation = works["graph_node"].copy(), works["correlation"]
    named = np.flatnonzero(node)
    ids, first = np.unique(correlation[named], return_index=True)
    if len(ids):
        place = np.minimum(np.searchsorted(ids, correlation), len(ids) - 1)
        unnamed = (node == 0) & (ids[place] == correlation)
        node[unnamed] = node[named[first[place[unnamed]]]] >> 32 << 32
    return node


def _devices(
    about: Mapping[str, Any], ordinal: NDArray[np.int64], process: NDArray[np.int64], pids: NDArray[np.int64]
) -> tuple[tuple[Device, ...], NDArray[np.int32]]:
    """One device for each (process, ordinal), and each work's index into them."""
    listed = about.get("deviceProperties") or about.get("computeProperties")
    products = {
        integer(entry.get("id")): str(entry.get("name", ""))
        for entry in (listed if isinstance(listed, list) else [])
        if isinstance(entry, dict)
    }
    rows, index = distinct_rows(process, ordinal)
    numbers = ordinal[rows].tolist()
    # Numbers are the ordinals where that is unambiguous.
    alone = len(set(numbers)) == len(numbers)
    devices = tuple(
        Device(number if alone else place, number, False, pid, products.get(number, ""))
        for place, (number, pid) in enumerate(zip(numbers, pids[process[rows]].tolist(), strict=True))
    )
    return devices, index

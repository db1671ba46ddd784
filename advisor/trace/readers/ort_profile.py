"""Profiles of ONNX Runtime: the JSON that `SessionOptions.enable_profiling` writes when a session ends.

A node's event `NAME_kernel_time` is the call of its kernel by the executor: the thread enters it when it begins and
leaves it when it ends. `model_run` is one execution of the model.

On the CPU that call is the work, too: the executor is the device, and it is idle while no node's kernel runs. So each
node becomes a work of the device CPU, named by its operator, and a launch call that covers it, named by its node. What
lies between two nodes of an execution is then the executor's own code, `dispatch`. This holds because

- a node that ran a sub-graph (Loop, If, Scan) is no work itself, its nodes are: nothing is counted twice;
- every execution, of a sub-graph too, ends after its last node with a call that blocks (`Run` returns what it has
  waited for), so that what lies between two executions is `host` code and never dispatch;
- all nodes of one `model_run` belong to the thread that called it, whichever thread of a pool ran them: where nodes run
  in parallel, only time in which none of them runs is a gap.

On a GPU a node's kernel time is the time to submit it. Where ONNX Runtime recorded the GPU's work (category Kernel),
each row is a work whose launch call is its node: its place behind that node's row and its operator tell. ONNX Runtime's
built-in CUDA provider writes durations as measured but sets the starts anew, the first one to its node's start plus
1 µs (`GPUProfilerBase::MergeEvents`): gaps cannot be told from that, which is recognised and said. Providers loaded as
plug-ins keep the measured starts. Without any such rows the GPU is not in the profile at all.

Times are whole µs. The profiler itself takes several µs a node, inside the kernel times and between them.
"""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from advisor.errors import BadInput, CannotDecide
from advisor.trace.readers.json_events import WHOLE_MICROSECONDS, EventFile, Names, columns, integer, nanoseconds
from advisor.trace.trace import (
    RUN_RETURNS,
    Calls,
    Device,
    Overheads,
    Ranges,
    Trace,
    WorkKind,
    Works,
    dense_codes,
    distinct_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Table = dict[str, NDArray[np.int64]]

__all__ = ["is_ort_profile", "read_ort_profile"]

SYNCHRONOUS = frozenset(
    {"CPUExecutionProvider", "DnnlExecutionProvider", "XnnpackExecutionProvider", "ACLExecutionProvider"}
)
"""Providers whose kernels have done their work when they return."""

SUBGRAPH_OPS = frozenset(
    {"Loop", "If", "Scan", "SequenceMap", "BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"}
)

RUN = "model_run"
EXECUTION = re.compile(r"(model_run|\w*Executor::Execute)$")

MOST_EVENTS = 1_000_000
"""ONNX Runtime keeps no more events than these by default, and leaves out the rest."""

WITH_NSYS = "record the GPU with `nsys profile --trace=cuda,nvtx`"

NODE_COLUMNS = ("start", "end", "pid", "tid", "op", "name", "provider")
KERNEL_COLUMNS = ("start", "end", "stream", "name", "node", "parent_start")
SESSION_COLUMNS = ("start", "end", "pid", "tid", "is_run")

_HEAD = re.compile(rb'^\s*\[\s*(\{.*"cat"\s*:\s*"(Session|Node|Kernel|Api)"|\]\s*$)', re.DOTALL)
_KERNEL_TIME = "_kernel_time"


def is_ort_profile(head: bytes) -> bool:
    """Whether a file that begins with HEAD is a profile of ONNX Runtime."""
    return bool(_HEAD.match(head.removeprefix(b"\xef\xbb\xbf")))


def read_ort_profile(path: Path, progress: Callable[[str], None] | None = None) -> Trace:
    """Read what `InferenceSession.end_profiling` wrote.

    Args:
        path: The file; it is read piece by piece.
        progress: Called with a few words before each longer step.

    Raises:
        BadInput: Not readable, or no single profile of ONNX Runtime.
        CannotDecide: No node ran, or the profile does not tell when the device worked.
    """
    say = progress or (lambda _words: None)
    say("reading events")
    events = EventFile(path)
    recorded = _Recorded(events)
    if events.after:
        raise BadInput(f"{path} holds more than one profile, each with a clock of its own: split it at `][`")
    if not len(recorded.nodes["start"]):
        raise CannotDecide(
            f"{path} has no executed node: ONNX Runtime's optimisation left nothing of the model to run, or"
            " `session.end_profiling` came before `session.run`"
        )
    providers = recorded.providers.texts()
    asynchronous = [name for name in providers if name not in SYNCHRONOUS]
    notes = _notes(events, recorded)
    say("joining events")
    if not asynchronous:
        return _on_cpu(path, recorded, notes)
    _require_times_of_the_device(path, recorded, asynchronous)
    return _on_gpu(path, recorded, asynchronous, notes)


class _Recorded:
    """The events of a profile as columns."""

    def __init__(self, events: Iterable[Mapping[str, Any]]) -> None:
        self.ops, self.node_names, self.kernel_names, self.providers = Names(), Names(), Names(), Names()
        self.events = 0
        nodes, kernels, sessions = array("q"), array("q"), array("q")
        # The row that GPU work stands behind, and that it carries the operator of: its number among the nodes, or -1.
        parent, parent_op, parent_start = -1, "", 0
        for event in events:
            self.events += 1
            start, duration = nanoseconds(event.get("ts")), nanoseconds(event.get("dur"))
            if start is None or duration is None or duration < 0:
                continue
            category, name = event.get("cat"), str(event.get("name", ""))
            args = event.get("args")
            args = args if isinstance(args, dict) else {}
            op = str(args.get("op_name", ""))
            if category == "Kernel":
                kernel, stream = self.kernel_names.code(name), integer(args.get("stream"))
                node = parent if op == parent_op else -1
                kernels.extend((start, start + duration, stream, kernel, node, parent_start))
                continue
            thread = start, start + duration, integer(event.get("pid")), integer(event.get("tid"))
            parent, parent_op, parent_start = -1, op, start
            if category == "Node" and name.endswith(_KERNEL_TIME):
                parent = len(nodes) // len(NODE_COLUMNS)
                codes = self.ops.code(op), self.node_names.code(name.removesuffix(_KERNEL_TIME))
                nodes.extend((*thread, *codes, self.providers.code(str(args.get("provider", "")))))
            elif category == "Session" and EXECUTION.match(name):
                sessions.extend((*thread, name == RUN))
        self.nodes = columns(nodes, NODE_COLUMNS)
        self.kernels = columns(kernels, KERNEL_COLUMNS)
        self.sessions = columns(sessions, SESSION_COLUMNS)


class _Threads(NamedTuple):
    """The threads of a profile."""

    of_node: NDArray[np.int32]
    """Shape (nodes,): the thread that each node counts for."""
    of_session: NDArray[np.int32]
    """Shape (session events,)."""
    pid: NDArray[np.int64]
    """Shape (threads,)."""


def _take(table: Table, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Table:
    return {name: column[rows] for name, column in table.items()}


def _notes(events: EventFile, recorded: _Recorded) -> list[str]:
    notes = [WHOLE_MICROSECONDS]
    if events.cut_off:
        notes.append("the profile is cut off: events are missing at its end")
    if events.damaged:
        notes.append(f"{events.damaged:,} events of the profile are damaged and were left out")
    if recorded.events >= MOST_EVENTS and not len(recorded.kernels["start"]):
        notes.append(f"the profile is full ({recorded.events:,} events): what ran after them is missing")
    return notes


def _on_cpu(path: Path, recorded: _Recorded, notes: list[str]) -> Trace:
    nodes = recorded.nodes
    threads = _threads(nodes, recorded.sessions)
    thread = threads.of_node
    leaves = np.flatnonzero(~_runs_subgraph(recorded, thread))
    ran = _take(nodes, leaves)
    count = len(leaves)
    pids = np.unique(threads.pid)
    notes.append(
        "ONNX Runtime's profiler itself takes several µs a node, inside kernel times and between them: compare with "
        "the latency without profiling before acting on gaps between short nodes"
    )
    number = np.arange(1, count + 1)
    pool, stream = distinct_rows(ran["pid"], ran["tid"])
    return _trace(
        path,
        recorded,
        works=Works(
            start=ran["start"],
            end=ran["end"],
            kind=np.full(count, WorkKind.KERNEL, np.uint8),
            process=np.searchsorted(pids, ran["pid"]).astype(np.int32),
            device=np.zeros(count, np.int32),
            stream=stream.astype(np.int64),
            correlation=number,
            name=ran["op"].astype(np.int32),
            graph_node=np.zeros(count, np.int64),
        ),
        launches=Calls(ran["start"], ran["end"], thread[leaves], number, ran["name"].astype(np.int32)),
        threads=threads,
        pids=pids,
        work_names=recorded.ops.texts(),
        device=Device(0, 0, True, 0, "CPU", gpu=False),
        streams=range(1, len(pool) + 1),
        notes=notes,
    )


def _require_times_of_the_device(path: Path, recorded: _Recorded, providers: list[str]) -> None:
    """Refuse profiles without GPU work, and with starts that ONNX Runtime made up."""
    kernels = recorded.kernels
    named = ", ".join(name or "(not named)" for name in providers)
    if not len(kernels["start"]):
        raise CannotDecide(
            f"{path}: kernel times of {named} are the time to submit, not to run, and the profile has no GPU events: "
            f"{WITH_NSYS}"
        )
    first = np.flatnonzero(np.diff(kernels["parent_start"], prepend=-1))
    made_up = kernels["start"][first] == kernels["parent_start"][first] + 1000
    if made_up.mean() > 0.9:
        raise CannotDecide(
            f"{path}: this ONNX Runtime sets each GPU event's start to its node's start plus 1 µs, so durations are "
            f"known but gaps are not: {WITH_NSYS}"
        )


def _on_gpu(path: Path, recorded: _Recorded, providers: list[str], notes: list[str]) -> Trace:
    nodes, kernels = recorded.nodes, recorded.kernels
    threads = _threads(nodes, recorded.sessions)
    thread = threads.of_node
    names = recorded.kernel_names.texts()
    copies = np.array([name.startswith("Memcpy") for name in names], np.bool_)[kernels["name"]]
    launching = np.unique(kernels["node"][kernels["node"] >= 0])
    notes.append("the profile does not say which GPU ran a kernel: all count as one device")
    count = len(kernels["start"])
    pids = np.unique(threads.pid)
    streams, stream = dense_codes(kernels["stream"])
    return _trace(
        path,
        recorded,
        works=Works(
            start=kernels["start"],
            end=kernels["end"],
            kind=np.where(copies, WorkKind.MEMCPY, WorkKind.KERNEL).astype(np.uint8),
            process=np.searchsorted(pids, nodes["pid"][np.maximum(kernels["node"], 0)]).astype(np.int32),
            device=np.zeros(count, np.int32),
            stream=stream.astype(np.int64),
            correlation=kernels["node"] + 1,
            name=kernels["name"].astype(np.int32),
            graph_node=np.zeros(count, np.int64),
        ),
        launches=Calls(
            nodes["start"][launching],
            nodes["end"][launching],
            thread[launching],
            launching + 1,
            nodes["name"][launching].astype(np.int32),
        ),
        threads=threads,
        pids=pids,
        work_names=names,
        device=Device(0, 0, False, int(pids[0]), ", ".join(providers)),
        streams=streams.tolist(),
        notes=notes,
    )


def _trace(
    path: Path,
    recorded: _Recorded,
    *,
    works: Works,
    launches: Calls,
    threads: _Threads,
    pids: NDArray[np.int64],
    work_names: tuple[str, ...],
    device: Device,
    streams: Iterable[int],
    notes: list[str],
) -> Trace:
    """A trace whose API calls are the executor's calls of nodes, and the return of each execution."""
    sessions = recorded.sessions
    names = recorded.node_names.texts()
    returns = _returns(sessions, threads.of_session, launches)
    count = len(returns)
    calls = Calls(
        start=np.concatenate([launches.start, returns]),
        end=np.concatenate([launches.end, returns]),
        thread=np.concatenate([launches.thread, threads.of_session]),
        correlation=np.concatenate([launches.correlation, np.zeros(count, np.int64)]),
        name=np.concatenate([launches.name, np.full(count, len(names), np.int32)]),
    )
    runs = np.flatnonzero(sessions["is_run"])
    no_times = np.zeros(0, np.int64)
    return Trace(
        path=path,
        kind="ort-profile",
        tool_version=None,
        schema_version=None,
        works=works,
        calls=calls,
        ranges=Ranges(
            sessions["start"][runs],
            sessions["end"][runs],
            threads.of_session[runs],
            np.zeros(len(runs), np.int32),
        ),
        overheads=Overheads(no_times, no_times, np.zeros(0, np.int32)),
        work_names=work_names,
        call_names=(*names, RUN_RETURNS),
        range_names=(RUN,),
        processes=tuple((pid, "") for pid in pids.tolist()),
        threads=np.searchsorted(pids, threads.pid).astype(np.int32),
        devices=(device,),
        streams=tuple((0, number) for number in streams),
        zero_time=0,
        unclosed_ranges=0,
        diagnostics=(),
        notes=tuple(notes),
    )


def _returns(sessions: Table, session_thread: NDArray[np.int32], launches: Calls) -> NDArray[np.int64]:
    """When each execution had done its last node; its own end where it had none."""
    returns = sessions["end"].copy()
    for index in np.unique(session_thread):
        mine = np.flatnonzero(session_thread == index)
        ends = np.sort(launches.end[launches.thread == index])
        place = np.searchsorted(ends, sessions["end"][mine], side="right") - 1
        ran = (place >= 0) & (ends[place] >= sessions["start"][mine]) if len(ends) else np.zeros(len(mine), np.bool_)
        returns[mine[ran]] = ends[place[ran]]
    return returns


def _threads(nodes: Table, sessions: Table) -> _Threads:
    pid, tid = (np.concatenate([nodes[name], sessions[name]]) for name in ("pid", "tid"))
    rows, index = distinct_rows(pid, tid)
    own, of_session = np.split(index, [len(nodes["pid"])])
    runs = np.flatnonzero(sessions["is_run"])
    runs = runs[np.argsort(sessions["start"][runs], kind="stable")]
    if len(runs):
        # Nodes that a thread of a pool ran belong to the one execution that runs at that time, if it is one.
        start, end = sessions["start"][runs], sessions["end"][runs]
        strangers = np.flatnonzero(~np.isin(own, of_session[runs]))
        began = np.searchsorted(start, nodes["start"][strangers], side="right")
        ended = np.searchsorted(np.sort(end), nodes["start"][strangers], side="right")
        place = np.maximum(began - 1, 0)
        certain = (began - ended == 1) & (end[place] >= nodes["end"][strangers])
        own[strangers[certain]] = of_session[runs[place[certain]]]
    return _Threads(own, of_session, pid[rows])


def _runs_subgraph(recorded: _Recorded, thread: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which nodes ran other nodes: those of an operator with sub-graphs that contain another node."""
    nodes = recorded.nodes
    contains = np.zeros(len(thread), np.bool_)
    may = np.array([name in SUBGRAPH_OPS for name in recorded.ops.texts()], np.bool_)[nodes["op"]]
    for index in np.unique(thread[may]):
        mine = np.flatnonzero(thread == index)
        start, end = np.sort(nodes["start"][mine]), np.sort(nodes["end"][mine])
        outer = mine[may[mine]]
        # Nodes of one thread do not overlap but by containing each other: as many begin inside as end inside.
        begun = np.searchsorted(start, nodes["end"][outer], side="left")
        begun -= np.searchsorted(start, nodes["start"][outer], side="left")
        ended = np.searchsorted(end, nodes["end"][outer], side="right")
        ended -= np.searchsorted(end, nodes["start"][outer], side="right")
        contains[outer] = (begun > 1) & (ended > 1)
    return contains

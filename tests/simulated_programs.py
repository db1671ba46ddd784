"""Random programs for the simulator: small, and full of the borders that the definitions of gaps have."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from hypothesis import assume
from hypothesis import strategies as st

from sample_traces.nsys_export import GENERATIONS
from sample_traces.operations import (
    BeginCapture,
    Call,
    CallKind,
    Copy,
    EndCapture,
    Fill,
    Host,
    Instantiate,
    Launch,
    LaunchGraph,
    Mark,
    Migrate,
    Operation,
    Overhead,
    Pop,
    Push,
    RangeEnd,
    RangeStart,
    RecordEvent,
    Stream,
    Synchronize,
    SynchronizeEvent,
    WaitEvent,
)
from sample_traces.programs import NOISE
from sample_traces.simulator import Jitter, Machine, Process, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sample_traces.run import Run

__all__ = ["Simulated", "machines", "processes", "programs", "simulated"]

KERNELS = ("gemm", "relu", "void ns::add<float>(float *)", "softmax", "layer_norm")

# Names that real traces hold, with and without version suffixes, runtime and driver API.
CALLS = {
    CallKind.MEMORY: (
        "cudaMalloc_v3020",
        "cudaFree_v3020",
        "cudaHostAlloc_v3020",
        "cudaMallocAsync_v11020",
        "cudaFreeAsync_v11020",
        "cudaHostRegister_v4000",
        "cudaHostUnregister_v4000",
        "cudaMallocHost_v3020",
        "cudaFreeHost_v3020",
        "cudaMallocManaged_v6000",
        "cuMemAlloc_v2",
        "cuMemFree_v2",
        "cuMemHostAlloc",
    ),
    CallKind.MODULE: (
        "cuModuleLoadDataEx",
        "cuModuleLoadData",
        "cuModuleLoadFatBinary",
        "cuModuleUnload",
        "cuLibraryLoadData",
        "cuLibraryGetKernel",
    ),
    CallKind.API: (
        "cudaGetLastError_v3020",
        "cudaFuncGetAttributes_v3020",
        "cudaStreamIsCapturing_v10000",
        "cudaEventCreateWithFlags_v3020",
        "cudaEventDestroy_v3020",
        "cudaEventQuery_v3020",
        "cudaStreamCreateWithFlags_v5000",
        "cuGetProcAddress_v2",
        "cuKernelGetAttribute",
        "cudaOccupancyMaxActiveClusters_v11070",
        "cudaThreadExchangeStreamCaptureMode_v10010",
    ),
    CallKind.SYNC: ("cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"),
}
LAUNCHES = ("cudaLaunchKernel_v7000", "cuLaunchKernel", "cuLaunchKernelEx", "cudaLaunchKernelExC_v11060")

# Both limits of the definitions, their neighbours, and times well on either side.
TIMES = st.one_of(
    st.sampled_from((1, 2, 700, 5_000, 40_000, 99_999, 100_000, 100_001, 249_999, 250_000, 250_001, 400_000)),
    st.integers(1, 9_000),
    st.integers(1, 400_000),
)
SHORT = st.one_of(st.sampled_from((8, 9, 600, 4_000)), st.integers(8, 30_000))
DURATIONS = st.one_of(st.integers(1, 3_000), st.integers(1, 300_000))
STREAMS = (Stream(7), Stream(13), Stream(7, context=2))
OTHER_DEVICE = Stream(7, device=1, context=3)


def _works(streams: st.SearchStrategy[Stream]) -> st.SearchStrategy[Operation]:
    given = {"call_ns": st.none() | SHORT, "latency_ns": st.none() | TIMES, "overhead_ns": st.sampled_from((0, 0, 700))}
    return st.one_of(
        st.builds(Launch, st.sampled_from(KERNELS), DURATIONS, streams),
        st.builds(Launch, st.sampled_from(KERNELS), DURATIONS, streams, api=st.sampled_from(LAUNCHES), **given),
        st.builds(Copy, DURATIONS, streams, direction=st.sampled_from(("HtoD", "DtoH", "DtoD")), **given),
        st.builds(Fill, DURATIONS, streams, **given),
    )


@st.composite
def _calls(draw: st.DrawFn) -> Call:
    def call(inner: Call | None) -> Call:
        kind = draw(st.sampled_from((CallKind.MEMORY, CallKind.MEMORY, CallKind.MODULE, CallKind.API, CallKind.SYNC)))
        ns = draw(SHORT)
        overhead = draw(st.sampled_from((0, 0, ns // 4)))
        return Call(draw(st.sampled_from(CALLS[kind])), kind, ns, overhead, inner)

    return call(call(None) if draw(st.booleans()) else None)


def _host_operations(streams: st.SearchStrategy[Stream], devices: int) -> st.SearchStrategy[Operation]:
    events = st.integers(0, 2)
    return st.one_of(
        st.builds(Host, TIMES),
        _works(streams),
        _works(streams),
        st.builds(Copy, DURATIONS, streams, st.just(True), overhead_ns=st.sampled_from((0, 500))),
        _calls(),
        _calls(),
        st.builds(Synchronize, streams | st.integers(0, devices - 1), st.none() | SHORT),
        st.builds(RecordEvent, events, streams),
        st.builds(WaitEvent, events, streams),
        st.builds(SynchronizeEvent, events),
        st.builds(Overhead, SHORT),
        st.builds(Migrate, DURATIONS, streams),
        st.builds(Mark, st.just("mark"), st.sampled_from(("", "ML"))),
    )


@dataclass(frozen=True)
class _Replay:
    """A place where the program replays its CUDA graph."""

    whole: bool
    stream: Stream


@dataclass(frozen=True)
class _Range:
    name: str
    domain: str
    push: bool
    body: Sequence[Operation | _Range | _Replay]


@st.composite
def _captures(draw: st.DrawFn) -> list[Operation]:
    """A CUDA graph on the first stream, with branches on the second."""
    trunk, branch = STREAMS[0], STREAMS[1]
    operations: list[Operation] = [BeginCapture(trunk)]
    forked = False
    for step in draw(st.lists(st.sampled_from(("trunk", "fork", "branch", "join")), min_size=1, max_size=8)):
        if step == "fork":
            operations += [RecordEvent(10, trunk), WaitEvent(10, branch)]
            forked = True
        elif step == "join" and forked:
            operations += [RecordEvent(11, branch), WaitEvent(11, trunk)]
        else:
            operations.append(draw(_works(st.just(branch if step == "branch" and forked else trunk))))
    return [*operations, EndCapture(1, trunk), Instantiate(1, 3_000)]


@st.composite
def programs(
    draw: st.DrawFn,
    *,
    thread: int = 0,
    devices: int = 1,
    whole_graphs: bool = True,
    graphs: bool | None = None,
    ranges: bool = True,
) -> list[Operation]:
    """A program of one host thread; the THREADs of one process need different numbers.

    With ranges it has at least one range, named `decode`, that launches a kernel; GRAPHS says whether it replays a CUDA
    graph, and None that it may.
    """
    streams = st.sampled_from((*STREAMS, OTHER_DEVICE) if devices > 1 else STREAMS)
    operation: st.SearchStrategy[Operation | _Range | _Replay] = _host_operations(streams, devices)
    capture: list[Operation] = []
    body: list[Operation | _Range | _Replay] = [Launch(KERNELS[0], 1_000)]
    if draw(st.booleans()) if graphs is None else graphs:
        capture = draw(_captures())
        whole = st.booleans() if whole_graphs else st.just(False)
        replay = st.builds(_Replay, whole, st.sampled_from(STREAMS))
        operation |= replay
        body.append(draw(replay))
    part = operation
    if ranges:
        names, domains = st.sampled_from(("decode", "layer")), st.sampled_from(("", "ML"))
        inner = st.builds(_Range, names, domains, st.booleans(), st.lists(operation, max_size=5))
        outer = st.builds(_Range, names, domains, st.booleans(), st.lists(operation | inner, max_size=5))
        part = st.one_of(operation, operation, operation, inner, outer)
        body = [_Range("decode", "", True, body)]
    body += draw(st.lists(part, max_size=12))
    return [*capture, *_flat(body, count(1000 * thread))]


def _flat(body: Sequence[Operation | _Range | _Replay], keys: Iterator[int]) -> Iterator[Operation]:
    for part in body:
        if isinstance(part, _Replay):
            yield LaunchGraph(1, part.stream, part.whole)
        elif not isinstance(part, _Range):
            yield part
        elif part.push:
            yield Push(part.name, part.domain)
            yield from _flat(part.body, keys)
            yield Pop(part.domain)
        else:
            key = next(keys)
            yield RangeStart(key, part.name, part.domain)
            yield from _flat(part.body, keys)
            yield RangeEnd(key)


@st.composite
def machines(draw: st.DrawFn, *, skew: bool = True) -> Machine:
    """A machine, often with a short queue, few works at a time, or a device clock that is behind."""
    return Machine(
        return_ns=draw(st.sampled_from((0, 3_000, 40_000))),
        step_ns=draw(st.sampled_from((1, 900, 120_000))),
        node_step_ns=draw(st.sampled_from((0, 1_200))),
        module_load_ns=draw(st.sampled_from((0, 0, 30_000))),
        nested_loading=draw(st.booleans()),
        concurrency=draw(st.sampled_from((1, 2, 128))),
        start_spacing_ns=draw(st.sampled_from((1, 1, 300, 0))),
        queue_depth=draw(st.sampled_from((1, 3, 1024))),
        skew_ns=draw(st.sampled_from((0, 0, 2_000, 60_000))) if skew else 0,
        outer_records=draw(st.booleans()),
        jitter=draw(st.sampled_from((Jitter(), NOISE))),
    )


@st.composite
def processes(
    draw: st.DrawFn, *, whole_graphs: bool = True, graphs: bool | None = None, ranges: bool = True
) -> list[Process]:
    """One or two processes of one or two threads, on one or two GPUs, with the same correlation ids."""
    result = []
    for pid in draw(st.sampled_from(((4242,), (4242,), (4242, 5151)))):
        gpus = draw(st.sampled_from(((0,), (0, 1), (1,))))
        threads = [
            draw(programs(thread=thread, devices=len(gpus), whole_graphs=whole_graphs, graphs=graphs, ranges=ranges))
            for thread in range(draw(st.sampled_from((1, 1, 2))))
        ]
        result.append(Process(threads, pid, gpus))
    return result


@dataclass(frozen=True)
class Simulated:
    """A run, how it came about, and the export generation to write it in."""

    processes: list[Process]
    machine: Machine
    seed: int
    lost: int
    """Every so-manieth call is missing from the record; 0: none."""
    generation: str

    @cached_property
    def run(self) -> Run:
        """The recorded run."""
        run = simulate(self.processes, self.machine, self.seed)
        return run.losing(lambda call: call.correlation % self.lost == 0) if self.lost else run


@st.composite
def simulated(draw: st.DrawFn, *, graphs: bool | None = None, ranges: bool = True) -> Simulated:
    """A run of which each device's order in time is certain."""
    generation = draw(st.sampled_from(GENERATIONS))
    case = Simulated(
        processes=draw(processes(whole_graphs=generation != "old", graphs=graphs, ranges=ranges)),
        machine=draw(machines()),
        seed=draw(st.integers(0, 3)),
        lost=draw(st.sampled_from((0, 0, 0, 2, 3, 5))),
        generation=generation,
    )
    run = case.run
    # Works that start and end together, launched at the same time, stand in no order: whose gap it was is open.
    places = Counter(
        (work.gpu, work.start, work.end, None if run.launch_call(work) is None else work.call) for work in run.works
    )
    orphans = {place[:3] for place in places if place[3] is None}
    assume(not any(number > 1 or (place[3] and place[:3] in orphans) for place, number in places.items()))
    return case

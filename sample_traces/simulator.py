"""A discrete-event simulation of CUDA programs: host threads, streams, devices, and a profiler that records them.

Host threads run their operations one after the other. A launch reaches its stream some latency after its call began;
a stream runs its items in order; a device runs works of different streams at the same time, up to a limit, and starts
one at a time. What happens is kept in the order of time by one event queue; nothing here knows how gaps are explained.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any, cast

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
    Program,
    Push,
    RangeEnd,
    RangeStart,
    RecordEvent,
    Stream,
    Synchronize,
    SynchronizeEvent,
    WaitEvent,
)
from sample_traces.run import (
    ApiCall,
    GraphNodeEvent,
    HostThread,
    NvtxEvent,
    OverheadInterval,
    ProcessInfo,
    Run,
    Work,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Jitter", "Machine", "Process", "simulate"]

_LONG_AGO = -(1 << 62)


@dataclass(frozen=True, slots=True)
class Jitter:
    """How much times vary, as relative standard deviations; `spikes` is the share of host times made 10 times longer.

    `drift` varies one factor per run for all host times and one for all durations: two runs of the same program then
    differ by more than the scatter inside each.
    """

    host: float = 0.0
    call: float = 0.0
    latency: float = 0.0
    duration: float = 0.0
    spikes: float = 0.0
    drift: float = 0.0


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine and the profiler: times in ns, where an operation does not say its own."""

    launch_call_ns: int = 4_000
    launch_latency_ns: int = 5_500
    """From the start of a launch call to its work's arrival at the device."""
    graph_call_ns: int = 9_000
    graph_latency_ns: int = 11_000
    sync_ns: int = 2_000
    """The least that a synchronising call takes."""
    return_ns: int = 3_000
    """From the end of what a thread waits for to the return of its call."""
    api_ns: int = 600
    """Event records, stream waits, capture calls."""
    nvtx_ns: int = 100
    step_ns: int = 900
    """The device's own step from one queued work to the next."""
    node_step_ns: int = 1_200
    """The same from node to node inside a CUDA graph."""
    module_load_ns: int = 200_000
    """Lazy loading inside the first launch call of a kernel; 0: loaded beforehand."""
    nested_loading: bool = False
    """Lazy loading is recorded as an API call inside the launch call."""
    concurrency: int = 128
    """Works that a device runs at the same time."""
    start_spacing_ns: int = 1
    """Between two starts on one device."""
    queue_depth: int = 1024
    """Items that a stream takes before a launch call waits for room."""
    skew_ns: int = 0
    """How far the device's recorded clock is behind: works may then seem to start before their launch call."""
    outer_records: bool = False
    """Runtime API calls are recorded twice under one correlation, an outer and an inner record."""
    start_ns: int = 1_000_000
    """When the threads start."""
    jitter: Jitter = Jitter()


@dataclass(frozen=True, slots=True)
class Process:
    """A process: one program per host thread, and the physical GPU behind each CUDA ordinal.

    A program that is a generator runs once; give a list to simulate it again.
    """

    threads: Sequence[Program]
    pid: int = 4242
    gpus: tuple[int, ...] = (0,)
    first_correlation: int = 1


def simulate(processes: Sequence[Process] | Program, machine: Machine | None = None, seed: int = 0) -> Run:
    """Run programs on a machine: several processes, or one program of one thread.

    The same programs, machine and seed give the same run.

    Raises:
        ValueError: An operation makes no sense (a pop without a push, a graph that was never captured), or the
            threads wait for each other for ever.
    """
    given = list(processes)
    if not all(isinstance(process, Process) for process in given):
        given = [Process(threads=(cast("list[Operation]", given),))]
    return _Simulation(machine or Machine(), seed).run(cast("list[Process]", given))


@dataclass(slots=True, eq=False)
class _Item:
    """Something in a stream's queue: a work, a graph, an event record, or a wait for one."""

    stream: _StreamState
    arrival: int
    work: Work | None = None
    duration: int = 0
    graph: _GraphRun | None = None
    awaited: _Item | None = None
    done: bool = False
    when_done: list[Callable[[], None]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _StreamState:
    stream: Stream
    process: int
    gpu: _Gpu
    items: deque[_Item] = field(default_factory=deque)
    last: _Item | None = None
    active: bool = False
    ready: int = _LONG_AGO
    """When the item before the next one was done."""
    alarm: int = -1
    without_room: deque[Callable[[], None]] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class _Gpu:
    number: int
    running: int = 0
    last_start: int = _LONG_AGO
    waiting: deque[_Starting] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class _Starting:
    """A work on its way to the device, and what happens when it has run."""

    work: Work
    duration: int
    gpu: _Gpu
    finished: Callable[[], None]
    recorded: bool = True


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of a captured CUDA graph."""

    operation: Launch | Copy | Fill
    after: tuple[int, ...]


@dataclass(slots=True, eq=False)
class _Capture:
    nodes: list[_Node]
    heads: dict[Stream, tuple[int, ...]]
    """Per captured stream, the nodes that its next node comes after."""
    events: dict[int, tuple[int, ...]]
    graph: int


@dataclass(frozen=True, slots=True)
class _Graph:
    id: int
    nodes: tuple[_Node, ...]


@dataclass(slots=True, eq=False)
class _GraphRun:
    graph: _Graph
    call: ApiCall
    whole: bool
    left: int = 0
    blockers: list[int] = field(default_factory=list)
    followers: list[list[int]] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _ProcessState:
    index: int
    gpus: tuple[_Gpu, ...]
    next_correlation: int
    streams: dict[Stream, _StreamState] = field(default_factory=dict)
    loaded: set[str] = field(default_factory=set)
    events: dict[int, _Item] = field(default_factory=dict)
    graphs: dict[int, _Graph] = field(default_factory=dict)
    graph_count: int = 0
    ranges: dict[int, NvtxEvent] = field(default_factory=dict)
    last_call_start: int = _LONG_AGO


@dataclass(slots=True, eq=False)
class _Thread:
    index: int
    process: _ProcessState
    operations: Iterator[Operation]
    now: int
    pushed: dict[str, list[NvtxEvent]] = field(default_factory=dict)
    capture: _Capture | None = None
    finished: bool = False


class _Simulation:
    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine = machine
        self.now = 0
        self.uniform = Random(seed).random  # noqa: S311 - a simulation, and its seed is its point
        self.queue: list[tuple[int, int, Callable[[Any], None], Any]] = []
        self.sequence = 0
        self.gpus: dict[int, _Gpu] = {}
        self.threads: list[_Thread] = []
        self.works: list[Work] = []
        self.calls: list[ApiCall] = []
        self.overheads: list[OverheadInterval] = []
        self.nvtx: list[NvtxEvent] = []
        self.graph_nodes: list[GraphNodeEvent] = []
        drift = machine.jitter.drift
        self.host_pace = self.scatter(1.0, drift)
        self.device_pace = self.scatter(1.0, drift)
        # What each operation does, and whether the thread goes on at once: handlers return False when it waits.
        self.handlers: dict[type[Operation], Callable[[_Thread, Any], bool]] = {
            Host: self.host,
            Overhead: self.overhead,
            Launch: self.launch,
            Copy: self.launch,
            Fill: self.launch,
            Migrate: self.migrate,
            Call: self.call,
            Synchronize: self.synchronize,
            RecordEvent: self.record_event,
            WaitEvent: self.wait_event,
            SynchronizeEvent: self.synchronize_event,
            BeginCapture: self.begin_capture,
            EndCapture: self.end_capture,
            Instantiate: self.instantiate,
            LaunchGraph: self.launch_graph,
            Push: self.push,
            Pop: self.pop,
            RangeStart: self.range_start,
            RangeEnd: self.range_end,
            Mark: self.mark,
        }

    def run(self, processes: Sequence[Process]) -> Run:
        for index, process in enumerate(processes):
            gpus = tuple(self.gpus.setdefault(number, _Gpu(number)) for number in process.gpus)
            state = _ProcessState(index, gpus, process.first_correlation)
            for program in process.threads:
                thread = _Thread(len(self.threads), state, iter(program), self.machine.start_ns)
                self.threads.append(thread)
                self.at(thread.now, self.go_on, thread)
        while self.queue:
            self.now, _, action, subject = heapq.heappop(self.queue)
            action(subject)
        stuck = [thread.index for thread in self.threads if not thread.finished]
        if stuck:
            raise ValueError(f"threads {stuck} wait for ever")
        self.calls.sort(key=lambda call: call.start)
        if self.machine.outer_records:
            for call in self.calls:
                margin = min(210, (call.end - call.start) // 4)
                if margin and call.name.startswith("cuda"):
                    call.inner = (call.start + margin, call.end - margin)
        for work in self.works:
            work.start -= self.machine.skew_ns
            work.end -= self.machine.skew_ns
        return Run(
            processes=tuple(ProcessInfo(process.pid, process.gpus) for process in processes),
            threads=tuple(
                HostThread(index, process.pid + number)
                for index, process in enumerate(processes)
                for number, _ in enumerate(process.threads)
            ),
            works=tuple(self.works),
            calls=tuple(self.calls),
            overheads=tuple(self.overheads),
            nvtx=tuple(self.nvtx),
            graph_nodes=tuple(self.graph_nodes),
        )

    # Time

    def at(self, time: int, action: Callable[[Any], None], subject: Any) -> None:
        self.sequence += 1
        heapq.heappush(self.queue, (time, self.sequence, action, subject))

    def scatter(self, value: float, deviation: float) -> float:
        """VALUE with noise; sums and products only, so that every platform gives the same digits."""
        if not deviation:
            return value
        uniform = self.uniform
        return value * max(0.1, 1.0 + 2.0 * deviation * (uniform() + uniform() + uniform() - 1.5))

    def host_time(self, ns: int, deviation: float) -> int:
        jitter = self.machine.jitter
        if jitter.spikes and self.uniform() < jitter.spikes:
            ns *= 10
        return max(1, round(self.scatter(ns * self.host_pace, deviation))) if ns else 0

    def device_time(self, ns: int) -> int:
        return max(1, round(self.scatter(ns * self.device_pace, self.machine.jitter.duration)))

    def latency(self, ns: int) -> int:
        return max(0, round(self.scatter(ns, self.machine.jitter.latency)))

    # Host threads

    def go_on(self, thread: _Thread) -> None:
        """Do the thread's operations until it waits or something else comes first."""
        queue, handlers = self.queue, self.handlers
        for operation in thread.operations:
            self.now = thread.now
            if not handlers[type(operation)](thread, operation):
                return
            if queue and queue[0][0] <= thread.now:
                self.at(thread.now, self.go_on, thread)
                return
        thread.finished = True

    def begin(self, thread: _Thread, name: str, kind: CallKind) -> ApiCall:
        """Record that an API call starts; two calls of one process never start in the same nanosecond."""
        process = thread.process
        start = max(thread.now, process.last_call_start + 1)
        process.last_call_start = start
        call = ApiCall(thread.index, start, name, kind, process.next_correlation)
        process.next_correlation += 1
        self.calls.append(call)
        return call

    def end(self, thread: _Thread, call: ApiCall, end: int) -> bool:
        call.end = thread.now = end
        return True

    def end_later(self, thread: _Thread, call: ApiCall, end: int) -> None:
        self.end(thread, call, end)
        self.at(end, self.go_on, thread)

    def host(self, thread: _Thread, operation: Host) -> bool:
        thread.now += self.host_time(operation.ns, self.machine.jitter.host)
        return True

    def overhead(self, thread: _Thread, operation: Overhead) -> bool:
        end = thread.now + operation.ns
        self.overheads.append(OverheadInterval(thread.index, thread.now, end, operation.name))
        thread.now = end
        return True

    def call(self, thread: _Thread, operation: Call) -> bool:
        ns = self.host_time(operation.ns, self.machine.jitter.call)
        call = self.begin(thread, operation.api, operation.kind)
        self.inside(thread, call, operation, ns)
        return self.end(thread, call, call.start + ns)

    def inside(self, thread: _Thread, call: ApiCall, operation: Call, ns: int) -> None:
        """What happens inside a call of NS: profiler overhead in its first half, an inner call in its second."""
        half = call.start + ns // 2
        if operation.overhead_ns:
            start = call.start + ns // 8
            end = min(half, start + operation.overhead_ns)
            self.overheads.append(OverheadInterval(thread.index, start, end, "CUPTI Buffer flush"))
        if operation.inner is not None and ns // 8:
            start = half + ns // 8
            inner_ns = max(1, min(operation.inner.ns, call.start + ns - start))
            self.nested(thread, operation.inner, start, inner_ns)

    def nested(self, thread: _Thread, operation: Call, start: int, ns: int) -> None:
        call = ApiCall(thread.index, start, operation.api, operation.kind, thread.process.next_correlation)
        thread.process.next_correlation += 1
        call.end = start + ns
        self.calls.append(call)
        self.inside(thread, call, operation, ns)

    # Putting work on devices

    def stream(self, process: _ProcessState, stream: Stream) -> _StreamState:
        state = process.streams.get(stream)
        if state is None:
            state = process.streams[stream] = _StreamState(stream, process.index, process.gpus[stream.device])
        return state

    def launch(self, thread: _Thread, operation: Launch | Copy | Fill) -> bool:
        name, kind = _api_of(operation)
        call = self.begin(thread, name, kind)
        load_ns = self.load(thread, call, operation.kernel) if isinstance(operation, Launch) else 0
        call_ns = self.call_time(thread, call, operation.call_ns, self.machine.launch_call_ns, operation.overhead_ns)
        capture = thread.capture
        if capture is not None and operation.stream in capture.heads:
            return self.capture_node(thread, capture, call, operation, call.start + load_ns + call_ns)
        given = operation.latency_ns
        latency = self.latency(self.machine.launch_latency_ns if given is None else given) + operation.overhead_ns
        state = self.stream(thread.process, operation.stream)
        work = self.new_work(operation, state, call)
        item = _Item(state, 0, work=work, duration=self.device_time(operation.duration))
        return self.hand_over(thread, call, item, load_ns + call_ns, load_ns + latency)

    def load(self, thread: _Thread, call: ApiCall, kernel: str) -> int:
        """The time that lazy loading takes inside a launch call."""
        loaded, ns = thread.process.loaded, self.machine.module_load_ns
        if kernel in loaded or not ns:
            return 0
        loaded.add(kernel)
        ns = self.host_time(ns, self.machine.jitter.call)
        if self.machine.nested_loading and ns > 2:
            self.nested(thread, Call("cuLibraryLoadData", CallKind.MODULE, ns - 2), call.start + 1, ns - 2)
        return ns

    def call_time(self, thread: _Thread, call: ApiCall, given: int | None, usual: int, overhead_ns: int) -> int:
        """How long a launch call takes, with the profiler's overhead inside."""
        ns = self.host_time(usual if given is None else given, self.machine.jitter.call)
        if overhead_ns:
            start = call.start + ns // 4
            self.overheads.append(OverheadInterval(thread.index, start, start + overhead_ns, "CUPTI Buffer flush"))
        return ns + overhead_ns

    def new_work(self, operation: Launch | Copy | Fill | Migrate, state: _StreamState, call: ApiCall | None) -> Work:
        kind, name, size = _work_of(operation)
        return Work(kind, name, state.process, state.stream, state.gpu.number, call, size=size)

    def hand_over(self, thread: _Thread, call: ApiCall, item: _Item, call_ns: int, latency: int) -> bool:
        """Put an item into its stream from within a call; wait for room first where the queue is full."""
        if len(item.stream.items) < self.machine.queue_depth:
            item.arrival = call.start + latency
            self.enqueue(item)
            if call.kind is not CallKind.BLOCKING_LAUNCH:
                return self.end(thread, call, call.start + call_ns)
            item.when_done.append(lambda: self.end_later(thread, call, self.after_waiting(call, call_ns)))
            return False

        def room() -> None:
            item.arrival = self.now + latency
            self.enqueue(item)
            if call.kind is CallKind.BLOCKING_LAUNCH:
                item.when_done.append(lambda: self.end_later(thread, call, self.after_waiting(call, call_ns)))
            else:
                self.end_later(thread, call, self.now + call_ns)

        item.stream.without_room.append(room)
        return False

    def after_waiting(self, call: ApiCall, least: int) -> int:
        return max(call.start + least, self.now + self.host_time(self.machine.return_ns, self.machine.jitter.call))

    def enqueue(self, item: _Item) -> None:
        stream = item.stream
        stream.items.append(item)
        stream.last = item
        if len(stream.items) == 1:
            self.advance(stream)

    def migrate(self, thread: _Thread, operation: Migrate) -> bool:
        state = self.stream(thread.process, operation.stream)
        work = self.new_work(operation, state, None)
        self.enqueue(_Item(state, thread.now, work=work, duration=self.device_time(operation.duration)))
        return True

    def launch_graph(self, thread: _Thread, operation: LaunchGraph) -> bool:
        graph = thread.process.graphs.get(operation.graph)
        if graph is None:
            raise ValueError(f"graph {operation.graph} was never captured")
        call = self.begin(thread, operation.api, CallKind.LAUNCH)
        call_ns = self.call_time(thread, call, operation.call_ns, self.machine.graph_call_ns, operation.overhead_ns)
        given = operation.latency_ns
        latency = self.latency(self.machine.graph_latency_ns if given is None else given) + operation.overhead_ns
        item = _Item(self.stream(thread.process, operation.stream), 0, graph=_GraphRun(graph, call, operation.whole))
        return self.hand_over(thread, call, item, call_ns, latency)

    # Waiting

    def synchronize(self, thread: _Thread, operation: Synchronize) -> bool:
        what, process = operation.what, thread.process
        streams = (
            [self.stream(process, what)]
            if isinstance(what, Stream)
            else [state for state in process.streams.values() if state.stream.device == what]
        )
        usual = "cudaStreamSynchronize_v3020" if isinstance(what, Stream) else "cudaDeviceSynchronize_v3020"
        awaited = [state.last for state in streams if state.last is not None]
        return self.wait(thread, operation.api or usual, awaited, operation.ns)

    def synchronize_event(self, thread: _Thread, operation: SynchronizeEvent) -> bool:
        record = thread.process.events.get(operation.event)
        return self.wait(thread, "cudaEventSynchronize_v3020", [record] if record else [], operation.ns)

    def wait(self, thread: _Thread, api: str, awaited: Sequence[_Item], given: int | None) -> bool:
        ns = self.host_time(self.machine.sync_ns if given is None else given, self.machine.jitter.call)
        call = self.begin(thread, api, CallKind.SYNC)
        undone = [item for item in awaited if not item.done]
        if not undone:
            return self.end(thread, call, call.start + ns)
        left = len(undone)

        def one_done() -> None:
            nonlocal left
            left -= 1
            if not left:
                self.end_later(thread, call, self.after_waiting(call, ns))

        for item in undone:
            item.when_done.append(one_done)
        return False

    def record_event(self, thread: _Thread, operation: RecordEvent) -> bool:
        call = self.short_call(thread, "cudaEventRecord_v3020", operation.ns)
        if thread.capture is not None and operation.stream in thread.capture.heads:
            thread.capture.events[operation.event] = thread.capture.heads[operation.stream]
            return True
        item = _Item(self.stream(thread.process, operation.stream), call.start)
        thread.process.events[operation.event] = item
        self.enqueue(item)
        return True

    def wait_event(self, thread: _Thread, operation: WaitEvent) -> bool:
        call = self.short_call(thread, "cudaStreamWaitEvent_v3020", operation.ns)
        capture = thread.capture
        if capture is not None and operation.event in capture.events:
            before = capture.heads.get(operation.stream, ())
            capture.heads[operation.stream] = tuple(dict.fromkeys(before + capture.events[operation.event]))
            return True
        record = thread.process.events.get(operation.event)
        if record is not None:
            self.enqueue(_Item(self.stream(thread.process, operation.stream), call.start, awaited=record))
        return True

    def short_call(self, thread: _Thread, api: str, given: int | None = None) -> ApiCall:
        ns = self.host_time(self.machine.api_ns if given is None else given, self.machine.jitter.call)
        call = self.begin(thread, api, CallKind.API)
        self.end(thread, call, call.start + ns)
        return call

    # CUDA graphs

    def begin_capture(self, thread: _Thread, operation: BeginCapture) -> bool:
        self.short_call(thread, "cudaStreamBeginCapture_v10000")
        thread.process.graph_count += 1
        thread.capture = _Capture([], {operation.stream: ()}, {}, thread.process.graph_count)
        return True

    def capture_node(
        self, thread: _Thread, capture: _Capture, call: ApiCall, operation: Launch | Copy | Fill, end: int
    ) -> bool:
        if call.kind is CallKind.BLOCKING_LAUNCH:
            raise ValueError("a blocking copy cannot be captured")
        capture.nodes.append(_Node(operation, capture.heads[operation.stream]))
        number = len(capture.nodes)
        capture.heads[operation.stream] = (number - 1,)
        call.capturing = True
        self.graph_nodes.append(GraphNodeEvent(thread.index, call.start, capture.graph, number))
        return self.end(thread, call, end)

    def end_capture(self, thread: _Thread, operation: EndCapture) -> bool:
        if thread.capture is None:
            raise ValueError("nothing is being captured")
        self.short_call(thread, "cudaStreamEndCapture_v10000")
        thread.process.graphs[operation.graph] = _Graph(thread.capture.graph, tuple(thread.capture.nodes))
        thread.capture = None
        return True

    def instantiate(self, thread: _Thread, operation: Instantiate) -> bool:
        self.short_call(thread, "cudaGraphInstantiate_v12000", operation.ns)
        return True

    # NVTX

    def nvtx_event(self, thread: _Thread, kind: str, name: str, domain: str) -> NvtxEvent:
        event = NvtxEvent(kind, thread.index, thread.now, name, domain)
        self.nvtx.append(event)
        thread.now += self.machine.nvtx_ns
        return event

    def close(self, thread: _Thread, event: NvtxEvent) -> bool:
        event.end, event.end_thread = thread.now, thread.index
        thread.now += self.machine.nvtx_ns
        return True

    def push(self, thread: _Thread, operation: Push) -> bool:
        event = self.nvtx_event(thread, "push", operation.name, operation.domain)
        thread.pushed.setdefault(operation.domain, []).append(event)
        return True

    def pop(self, thread: _Thread, operation: Pop) -> bool:
        pushed = thread.pushed.get(operation.domain)
        if not pushed:
            raise ValueError("a pop without a push")
        return self.close(thread, pushed.pop())

    def range_start(self, thread: _Thread, operation: RangeStart) -> bool:
        event = self.nvtx_event(thread, "startend", operation.name, operation.domain)
        thread.process.ranges[operation.key] = event
        return True

    def range_end(self, thread: _Thread, operation: RangeEnd) -> bool:
        event = thread.process.ranges.pop(operation.key, None)
        if event is None:
            raise ValueError(f"range {operation.key} is not open")
        return self.close(thread, event)

    def mark(self, thread: _Thread, operation: Mark) -> bool:
        self.nvtx_event(thread, "mark", operation.name, operation.domain)
        return True

    # Streams and devices

    def ring(self, stream: _StreamState) -> None:
        stream.alarm = -1
        self.advance(stream)

    def advance(self, stream: _StreamState) -> None:
        """Let the stream's next items happen, as far as they can."""
        while stream.items and not stream.active:
            item = stream.items[0]
            if item.arrival > self.now:
                if stream.alarm != item.arrival:
                    stream.alarm = item.arrival
                    self.at(item.arrival, self.ring, stream)
                return
            stream.active = True
            if item.work is not None:
                done = _Done(self, item)
                self.start_at(self.ready_time(stream), _Starting(item.work, item.duration, stream.gpu, done))
            elif item.graph is not None:
                self.start_graph(item, item.graph)
            elif item.awaited is not None and not item.awaited.done:
                item.awaited.when_done.append(_Done(self, item))
            else:
                self.done(item)

    def ready_time(self, stream: _StreamState) -> int:
        """When the stream's next work may start: at once, or the device's step after the one before."""
        if stream.ready + self.machine.step_ns <= self.now:
            return self.now
        return max(self.now, stream.ready + self.latency(self.machine.step_ns))

    def start_at(self, time: int, starting: _Starting) -> None:
        if time <= self.now:
            self.start(starting)
        else:
            self.at(time, self.start, starting)

    def start(self, starting: _Starting) -> None:
        gpu = starting.gpu
        if gpu.running >= self.machine.concurrency:
            gpu.waiting.append(starting)
            return
        earliest = gpu.last_start + self.machine.start_spacing_ns
        if self.now < earliest:
            self.at(earliest, self.start, starting)
            return
        gpu.running += 1
        gpu.last_start = starting.work.start = self.now
        self.at(self.now + starting.duration, self.finish, starting)

    def finish(self, starting: _Starting) -> None:
        gpu = starting.gpu
        starting.work.end = self.now
        if starting.recorded:
            self.works.append(starting.work)
        gpu.running -= 1
        if gpu.waiting:
            self.at(self.now + self.latency(self.machine.step_ns), self.start, gpu.waiting.popleft())
        starting.finished()

    def done(self, item: _Item) -> None:
        """The stream's first item is done: whoever waited for it, or for room, goes on."""
        stream = item.stream
        stream.items.popleft()
        stream.active = False
        stream.ready = self.now
        item.done = True
        for action in item.when_done:
            action()
        if stream.without_room and len(stream.items) < self.machine.queue_depth:
            stream.without_room.popleft()()

    def start_graph(self, item: _Item, run: _GraphRun) -> None:
        nodes = run.graph.nodes
        run.left = len(nodes)
        if not nodes:
            self.done(item)
            return
        run.blockers = [len(node.after) for node in nodes]
        run.followers = [[] for _ in nodes]
        for number, node in enumerate(nodes):
            for before in node.after:
                run.followers[before].append(number)
        time = self.ready_time(item.stream)
        for number, node in enumerate(nodes):
            if not node.after:
                self.start_node(item, run, number, time)

    def start_node(self, item: _Item, run: _GraphRun, number: int, time: int) -> None:
        operation = run.graph.nodes[number].operation
        # A graph's branches run on streams of their own; the captured stream's id stands for them.
        branch = replace(item.stream.stream, id=operation.stream.id)
        kind, name, size = _work_of(operation)
        work = Work(kind, name, item.stream.process, branch, item.stream.gpu.number, run.call, size=size)
        work.graph, work.node = run.graph.id, number + 1
        run.works.append(work)

        def finished() -> None:
            run.left -= 1
            if not run.left:
                if run.whole:
                    self.record_whole(run)
                _Done(self, item)()
                return
            for follower in run.followers[number]:
                run.blockers[follower] -= 1
                if not run.blockers[follower]:
                    self.start_node(item, run, follower, self.now + self.latency(self.machine.node_step_ns))

        duration = self.device_time(operation.duration)
        self.start_at(time, _Starting(work, duration, item.stream.gpu, finished, recorded=not run.whole))

    def record_whole(self, run: _GraphRun) -> None:
        """Graph-level capture: one interval in place of the nodes."""
        first = run.works[0]
        whole = Work("graph", "", first.process, first.stream, first.gpu, run.call, graph=run.graph.id)
        whole.start = min(work.start for work in run.works)
        whole.end = max(work.end for work in run.works)
        self.works.append(whole)


class _Done:
    """The end of a stream's first item, as an action: the item is done and the stream advances."""

    __slots__ = ("item", "simulation")

    def __init__(self, simulation: _Simulation, item: _Item) -> None:
        self.simulation = simulation
        self.item = item

    def __call__(self) -> None:
        self.simulation.done(self.item)
        self.simulation.advance(self.item.stream)


def _api_of(operation: Launch | Copy | Fill) -> tuple[str, CallKind]:
    if isinstance(operation, Copy):
        if operation.blocking:
            return operation.api or "cudaMemcpy_v3020", CallKind.BLOCKING_LAUNCH
        return operation.api or "cudaMemcpyAsync_v3020", CallKind.LAUNCH
    return operation.api, CallKind.LAUNCH


def _work_of(operation: Launch | Copy | Fill | Migrate) -> tuple[str, str, int]:
    """The kind, name and size of the work that an operation makes."""
    if isinstance(operation, Launch):
        return "kernel", operation.kernel, 0
    if isinstance(operation, Fill):
        return "memset", "", operation.size
    return "memcpy", operation.direction, operation.size

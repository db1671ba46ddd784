"""Why each device was idle in a simulated run, to the nanosecond, told from what the simulation did.

One walk through time: devices fall idle and become busy again, threads enter and leave calls whose kind the program
said (no API name is looked at here), and every idle stretch is cut by what the thread that ended it was doing. It says
the same as the definitions of `advisor analyze`, and shares no code with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from sample_traces.operations import CallKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sample_traces.run import ApiCall, NvtxEvent, OverheadInterval, Run, Work

__all__ = ["CAUSES", "Coverage", "DeviceTruth", "KernelTruth", "RegionTruth", "Truth", "WorkTruth", "explain"]

CAUSES = (
    "unknown",
    "graph",
    "module",
    "launch",
    "turnaround",
    "wait",
    "profiler",
    "sync",
    "memory",
    "api",
    "dispatch",
    "host",
)
FUSIBLE = ("launch", "dispatch", "turnaround", "graph")
LAUNCH = ("launch", "dispatch")

# What a thread inside a call is said to be doing before its next launch; where calls nest, the first one here wins.
_DOING = (
    (CallKind.SYNC, "sync"),
    (CallKind.BLOCKING_LAUNCH, "sync"),
    (CallKind.MEMORY, "memory"),
    (CallKind.MODULE, "module"),
    (CallKind.API, "api"),
    (CallKind.LAUNCH, "dispatch"),
)
_FOR_EVER = 1 << 62


@dataclass(frozen=True, slots=True)
class WorkTruth:
    """One work, the idle time that it ended, and why the device was idle."""

    work: Work
    call: ApiCall | None
    idle_since: int
    """When the device fell idle; the work's start where it was not idle."""
    causes: dict[str, int]
    queue_ns: int
    """Of the time between the launch call's end and the work's start, where the device was busy."""
    first_launch: bool
    """The launch call is the first of the work's kernel in its process."""
    next_node: bool
    """An earlier work of the same CUDA graph launch has started before."""

    @property
    def exposed_gap_ns(self) -> int:
        """The idle time that the work ended."""
        return self.work.start - self.idle_since

    @property
    def skewed(self) -> bool:
        """Whether the work starts before its launch call does."""
        return self.call is not None and self.work.start < self.call.start

    @property
    def launch_latency_ns(self) -> int:
        """From the launch call's start to the work's; 0 without a call, and with skew."""
        return 0 if self.call is None else max(0, self.work.start - self.call.start)

    @property
    def fusible_gap_ns(self) -> int:
        """What fusion can remove at most."""
        return sum(self.causes.get(cause, 0) for cause in FUSIBLE)

    @property
    def launch_gap_ns(self) -> int:
        """What CUDA graph capture or fusion removes."""
        return sum(self.causes.get(cause, 0) for cause in LAUNCH)


@dataclass(frozen=True, slots=True)
class DeviceTruth:
    """One device: the works in the order of its timeline, and their sums."""

    gpu: int
    """The physical GPU, or the CUDA ordinal where `process` is given."""
    process: int | None
    """The process, where the record does not say which physical GPU its ordinal is."""
    works: tuple[WorkTruth, ...]
    span_ns: int
    busy_ns: int
    exposed_gap_ns: int
    causes: dict[str, int]


@dataclass(frozen=True, slots=True)
class KernelTruth:
    """All works of one kernel name."""

    name: str
    count: int
    duration_ns: int
    exposed_gap_ns: int
    launch_gap_ns: int
    fusible_gap_ns: int
    causes: dict[str, int]


@dataclass(frozen=True, slots=True)
class RegionTruth:
    """One execution of something: an NVTX range that launched work (`nvtx`), or a CUDA graph launch (`cuda_graph`).

    It begins with its first launch call: idle time before that is not its own.
    """

    source: str
    name: str
    """The range's name, or the CUDA graph's number."""
    range: NvtxEvent | None
    works: tuple[WorkTruth, ...]
    span_ns: int
    busy_ns: int
    exposed_gap_ns: int
    causes: dict[str, int]

    @property
    def warmup(self) -> bool:
        """Some kernel is launched for the first time."""
        return any(truth.first_launch for truth in self.works)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the region's kernels, in the order of their launches."""
        launched = [
            (truth.call.start, truth.work.node, truth.work.start, truth.work.name)
            for truth in self.works
            if truth.work.kind == "kernel" and truth.call is not None
        ]
        return tuple(name for *_, name in sorted(launched))

    @property
    def fusible_gap_ns(self) -> int:
        """What fusion can remove at most."""
        return sum(self.causes[cause] for cause in FUSIBLE)

    @property
    def launch_gap_ns(self) -> int:
        """What CUDA graph capture or fusion removes."""
        return sum(self.causes[cause] for cause in LAUNCH)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the run the record holds."""

    work: int
    kernels: int
    matched: int
    orphans: int
    skewed: int
    launch_calls: int
    graph_launches: int
    graph_level: int
    """Works that are a whole CUDA graph launch."""
    captured_calls: int
    """Launch calls that recorded a graph node and put nothing on a device."""
    unclosed_ranges: int


@dataclass(frozen=True)
class Truth:
    """The truth about a run."""

    devices: tuple[DeviceTruth, ...]
    coverage: Coverage
    kernels: tuple[KernelTruth, ...]
    regions: tuple[RegionTruth, ...]
    span_ns: int
    busy_ns: int
    exposed_gap_ns: int
    causes: dict[str, int]

    @property
    def works(self) -> Iterator[WorkTruth]:
        """All works, device by device."""
        return (truth for device in self.devices for truth in device.works)

    @property
    def fusible_gap_ns(self) -> int:
        """What fusion can remove at most."""
        return sum(self.causes[cause] for cause in FUSIBLE)

    @property
    def launch_gap_ns(self) -> int:
        """What CUDA graph capture or fusion removes."""
        return sum(self.causes[cause] for cause in LAUNCH)


def explain(
    run: Run, *, device_limit_ns: int = 100_000, dispatch_limit_ns: int = 250_000, gpus_known: bool = True
) -> Truth:
    """Tell why each device of a run was idle.

    Args:
        run: What was simulated and recorded.
        device_limit_ns: How much of a gap after the launch call (or in the queue) is the device's own.
        dispatch_limit_ns: The longest stretch of a thread without API calls that counts as a framework's dispatch.
        gpus_known: The record says which physical GPU a process's ordinal is; otherwise each (process, ordinal)
            counts as a device of its own.
    """
    reasons = _Reasons(
        [_Doings.of(run, index, dispatch_limit_ns) for index in range(len(run.threads))], device_limit_ns
    )
    first_calls = _first_calls(run)
    by_device: dict[tuple[int, int | None], list[Work]] = defaultdict(list)
    for work in run.works:
        by_device[(work.gpu, None) if gpus_known else (work.stream.device, work.process)].append(work)

    devices = []
    for (gpu, process), works in sorted(by_device.items(), key=lambda entry: (entry[0][0], entry[0][1] or 0)):
        truths = tuple(_walk(run, works, reasons, first_calls))
        start, end = min(work.start for work in works), max(work.end for work in works)
        devices.append(
            DeviceTruth(
                gpu=gpu,
                process=process,
                works=truths,
                span_ns=end - start,
                busy_ns=_busy(works),
                exposed_gap_ns=sum(truth.exposed_gap_ns for truth in truths),
                causes=_total(truth.causes for truth in truths),
            )
        )
    works_truth = [truth for device in devices for truth in device.works]
    return Truth(
        devices=tuple(devices),
        coverage=_coverage(run, works_truth),
        kernels=_by_kernel(works_truth),
        regions=tuple(_regions(run, works_truth, reasons)),
        span_ns=sum(device.span_ns for device in devices),
        busy_ns=sum(device.busy_ns for device in devices),
        exposed_gap_ns=sum(device.exposed_gap_ns for device in devices),
        causes=_total(truth.causes for truth in works_truth),
    )


@dataclass(frozen=True, slots=True)
class _Stretch:
    """From START to END the thread did what CAUSE says."""

    start: int
    end: int
    cause: str


@dataclass(frozen=True, slots=True)
class _Doings:
    """What a thread was doing, for all time; the profiler's overhead lies over it."""

    stretches: tuple[_Stretch, ...]
    overheads: tuple[OverheadInterval, ...]

    @classmethod
    def of(cls, run: Run, thread: int, dispatch_limit_ns: int) -> _Doings:
        calls = [call for call in run.recorded_calls if call.thread == thread]
        launched = {work.call for work in run.works}
        # Enter outer calls before inner ones, leave inner ones before outer ones, leave before entering the next.
        moments = [(call.end, 0, -call.start, call) for call in calls]
        moments += [(call.start, 1, -call.end, call) for call in calls]
        moments.sort(key=lambda moment: moment[:3])

        def kind_of(call: ApiCall) -> CallKind:
            # A launch that put no work on a device (while capturing, or an empty graph) is one of the others.
            return CallKind.API if call.kind is CallKind.LAUNCH and call not in launched else call.kind

        stretches: list[_Stretch] = []
        running: list[ApiCall] = []
        latest: CallKind | None = None
        since = -_FOR_EVER
        for time, entering, _, call in [*moments, (_FOR_EVER, 1, 0, None)]:
            if time > since:
                if running:
                    cause = _doing_inside([kind_of(call) for call in running])
                else:
                    # No call until now: dispatch where the last call that counts was a launch that did not block.
                    short = time - since <= dispatch_limit_ns
                    cause = "dispatch" if latest is CallKind.LAUNCH and short else "host"
                stretches.append(_Stretch(since, time, cause))
                since = time
            if call is None:
                break
            if entering:
                running.append(call)
                continue
            running.remove(call)
            if kind_of(call) is not CallKind.API:
                latest = kind_of(call)
        return cls(tuple(stretches), tuple(overhead for overhead in run.overheads if overhead.thread == thread))

    def between(self, start: int, end: int) -> Counter[str]:
        """The time of each cause from START to END."""
        causes: Counter[str] = Counter()
        cuts = {start, end}
        for overhead in self.overheads:
            cuts.update(time for time in (overhead.start, overhead.end) if start < time < end)
        for left, right in pairwise(sorted(cuts)):
            if any(overhead.start <= left and right <= overhead.end for overhead in self.overheads):
                causes["profiler"] += right - left
                continue
            for stretch in self._overlapping(left, right):
                causes[stretch.cause] += min(stretch.end, right) - max(stretch.start, left)
        return causes

    def _overlapping(self, start: int, end: int) -> Iterator[_Stretch]:
        low, high = 0, len(self.stretches) - 1
        while low < high:
            middle = (low + high) // 2
            if self.stretches[middle].end <= start:
                low = middle + 1
            else:
                high = middle
        while low < len(self.stretches) and self.stretches[low].start < end:
            yield self.stretches[low]
            low += 1


def _doing_inside(running: Sequence[CallKind]) -> str:
    return next(cause for kind, cause in _DOING if kind in running)


@dataclass(frozen=True, slots=True)
class _Reasons:
    """Tells why a device was idle before a work."""

    threads: Sequence[_Doings]
    device_limit_ns: int

    def between(self, since: int, work: Work, call: ApiCall | None, first: bool, next_node: bool) -> Counter[str]:
        """Cut the idle time from SINCE to the work's start."""
        until = work.start
        if since >= until:
            return Counter()
        if call is None:
            return Counter(unknown=until - since)
        if next_node:
            return Counter(graph=until - since)
        called = min(until, max(since, call.start))
        handed_over = min(until, max(called, call.end))
        given_up = min(until, handed_over + self.device_limit_ns)
        causes = self.threads[call.thread].between(since, called)
        causes["module" if first else "launch"] += handed_over - called
        causes["launch" if call.end > since else "turnaround"] += given_up - handed_over
        causes["wait"] += until - given_up
        return causes


def _walk(
    run: Run, works: Sequence[Work], reasons: _Reasons, first_calls: frozenset[tuple[int, str, ApiCall]]
) -> Iterator[WorkTruth]:
    """Walk through a device's time: it is idle while none of its works runs."""
    moments: list[tuple[int, int, tuple[int, int], int, Work]] = []
    for number, work in enumerate(works):
        call = run.launch_call(work)
        order = (work.end, _FOR_EVER if call is None else call.start)
        moments.append((work.end, 0, order, number, work))
        moments.append((work.start, 1, order, number, work))
    moments.sort(key=lambda moment: moment[:4])
    running: set[int] = set()
    spells: list[tuple[int, int]] = []
    busy_since = 0
    started: set[ApiCall] = set()
    for time, starts, _, number, work in moments:
        if not starts:
            running.remove(number)
            if not running:
                spells.append((busy_since, time))
            continue
        idle_since = spells[-1][1] if spells and not running else time
        if not running:
            busy_since = time
        running.add(number)
        call = run.launch_call(work)
        first_launch = call is not None and (work.process, work.name, call) in first_calls
        next_node = work.graph > 0 and call in started
        causes = reasons.between(idle_since, work, call, first_launch, next_node)
        queue = 0
        if call is not None:
            queue = max(0, time - max(call.end, busy_since)) + _overlap(call.end, spells)
        yield WorkTruth(work, call, idle_since, dict(causes), queue, first_launch, next_node)
        if call is not None:
            started.add(call)


def _busy(works: Iterable[Work]) -> int:
    """The time in which at least one of the works runs."""
    busy, until = 0, -_FOR_EVER
    for start, end in sorted((work.start, work.end) for work in works):
        busy += max(0, end - max(start, until))
        until = max(until, end)
    return busy


def _overlap(start: int, spells: Sequence[tuple[int, int]]) -> int:
    """The part of the SPELLS, which are in order, after START."""
    total = 0
    for left, right in reversed(spells):
        if right <= start:
            break
        total += right - max(left, start)
    return total


def _first_calls(run: Run) -> frozenset[tuple[int, str, ApiCall]]:
    """(process, kernel, call) for the first recorded launch of each kernel in each process."""
    first: dict[tuple[int, str], ApiCall] = {}
    for work in run.works:
        call = run.launch_call(work)
        if work.kind == "kernel" and call is not None:
            known = first.get((work.process, work.name))
            if known is None or call.start < known.start:
                first[(work.process, work.name)] = call
    return frozenset((process, name, call) for (process, name), call in first.items())


def _coverage(run: Run, works: Sequence[WorkTruth]) -> Coverage:
    matched = [truth for truth in works if truth.call is not None]
    calls = {truth.call for truth in matched}
    return Coverage(
        work=len(works),
        kernels=sum(truth.work.kind == "kernel" for truth in works),
        matched=len(matched),
        orphans=len(works) - len(matched),
        skewed=sum(truth.skewed for truth in works),
        launch_calls=len(calls),
        graph_launches=len({truth.call for truth in matched if truth.work.graph}),
        graph_level=sum(truth.work.kind == "graph" for truth in works),
        captured_calls=sum(call.capturing for call in run.recorded_calls),
        unclosed_ranges=sum(event.kind != "mark" and event.end is None for event in run.nvtx),
    )


def _by_kernel(works: Iterable[WorkTruth]) -> tuple[KernelTruth, ...]:
    by_name: dict[str, list[WorkTruth]] = defaultdict(list)
    for truth in works:
        if truth.work.kind == "kernel":
            by_name[truth.work.name].append(truth)
    return tuple(
        KernelTruth(
            name=name,
            count=len(truths),
            duration_ns=sum(truth.work.end - truth.work.start for truth in truths),
            exposed_gap_ns=sum(truth.exposed_gap_ns for truth in truths),
            launch_gap_ns=sum(truth.launch_gap_ns for truth in truths),
            fusible_gap_ns=sum(truth.fusible_gap_ns for truth in truths),
            causes=_total(truth.causes for truth in truths),
        )
        for name, truths in by_name.items()
    )


def _regions(run: Run, works: Sequence[WorkTruth], reasons: _Reasons) -> Iterator[RegionTruth]:
    by_thread: dict[int, list[WorkTruth]] = defaultdict(list)
    by_graph_launch: dict[ApiCall, list[WorkTruth]] = defaultdict(list)
    for truth in works:
        if truth.call is not None:
            by_thread[truth.call.thread].append(truth)
            if truth.work.graph:
                by_graph_launch[truth.call].append(truth)
    for event in run.nvtx:
        if event.kind == "mark" or event.end is None:
            continue
        inside = [truth for truth in by_thread[event.thread] if _contains(event, truth.call)]
        if inside:
            yield _region("nvtx", event.name, event, inside, reasons)
    for _, truths in sorted(by_graph_launch.items(), key=lambda entry: entry[0].start):
        yield _region("cuda_graph", str(truths[0].work.graph), None, truths, reasons)


def _contains(event: NvtxEvent, call: ApiCall | None) -> bool:
    return call is not None and event.end is not None and event.start <= call.start and call.end <= event.end


def _region(
    source: str, name: str, event: NvtxEvent | None, works: Sequence[WorkTruth], reasons: _Reasons
) -> RegionTruth:
    begin = min(truth.call.start for truth in works if truth.call is not None)
    by_gpu: dict[int, list[Work]] = defaultdict(list)
    for truth in works:
        by_gpu[truth.work.gpu].append(truth.work)
    causes = _total(
        reasons.between(max(truth.idle_since, begin), truth.work, truth.call, truth.first_launch, truth.next_node)
        for truth in works
        if truth.exposed_gap_ns
    )
    return RegionTruth(
        source=source,
        name=name,
        range=event,
        works=tuple(works),
        span_ns=max(truth.work.end for truth in works) - begin,
        busy_ns=sum(_busy(parts) for parts in by_gpu.values()),
        exposed_gap_ns=sum(causes.values()),
        causes=causes,
    )


def _total(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return {cause: total[cause] for cause in CAUSES}

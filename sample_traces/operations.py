"""What a host thread of a simulated program can do, one small class each. Times are integer nanoseconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

__all__ = [
    "BeginCapture",
    "Call",
    "CallKind",
    "Copy",
    "EndCapture",
    "Fill",
    "Host",
    "Instantiate",
    "Launch",
    "LaunchGraph",
    "Mark",
    "Migrate",
    "Operation",
    "Overhead",
    "Pop",
    "Program",
    "Push",
    "RangeEnd",
    "RangeStart",
    "RecordEvent",
    "Stream",
    "Synchronize",
    "SynchronizeEvent",
    "WaitEvent",
]


class CallKind(Enum):
    """What a CUDA API call does to the thread that makes it."""

    LAUNCH = "puts work on a device and returns"
    BLOCKING_LAUNCH = "puts work on a device and returns when it is done"
    SYNC = "waits for a device"
    MEMORY = "allocates, frees or registers memory"
    MODULE = "loads code"
    API = "anything else"


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of one context of one device, named as the program's process sees them."""

    id: int = 7
    device: int = 0
    context: int = 1


@dataclass(frozen=True, slots=True)
class Host:
    """The thread's own code: no API call runs."""

    ns: int


@dataclass(frozen=True, slots=True)
class Overhead:
    """The profiler holds the thread up and records that it did."""

    ns: int
    name: str = "CUPTI Buffer flush"


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel launch. `call_ns` and `latency_ns` (call start to device) default to the machine's.

    `overhead_ns`: recorded profiler overhead inside the call, before the kernel is handed over.
    """

    kernel: str
    duration: int
    stream: Stream = Stream()
    call_ns: int | None = None
    latency_ns: int | None = None
    overhead_ns: int = 0
    api: str = "cudaLaunchKernel_v7000"


@dataclass(frozen=True, slots=True)
class Copy:
    """A memcpy; `blocking` is a `cudaMemcpy` that returns when the copy is done."""

    duration: int
    stream: Stream = Stream()
    blocking: bool = False
    direction: str = "HtoD"
    size: int = 4096
    call_ns: int | None = None
    latency_ns: int | None = None
    overhead_ns: int = 0
    api: str | None = None


@dataclass(frozen=True, slots=True)
class Fill:
    """An asynchronous memset."""

    duration: int
    stream: Stream = Stream()
    size: int = 4096
    call_ns: int | None = None
    latency_ns: int | None = None
    overhead_ns: int = 0
    api: str = "cudaMemsetAsync_v3020"


@dataclass(frozen=True, slots=True)
class Migrate:
    """A unified-memory page migration: work on a device that no API call asked for."""

    duration: int
    stream: Stream = Stream()
    direction: str = "UVM HtoD"
    size: int = 65536


@dataclass(frozen=True, slots=True)
class Call:
    """Any other API call: allocation, module loading, queries. `overhead_ns` as in `Launch`, part of `ns`.

    `inner`: a call made from within this one (such as a module load inside an allocation).
    """

    api: str
    kind: CallKind
    ns: int
    overhead_ns: int = 0
    inner: Call | None = None


@dataclass(frozen=True, slots=True)
class Synchronize:
    """Wait for all that was put on a stream, or on a whole device (an ordinal)."""

    what: Stream | int = 0
    ns: int | None = None
    api: str | None = None


@dataclass(frozen=True, slots=True)
class RecordEvent:
    """Mark this point of a stream with an event (a number of the process)."""

    event: int
    stream: Stream = Stream()
    ns: int | None = None


@dataclass(frozen=True, slots=True)
class WaitEvent:
    """The stream's later work waits for the event's latest record."""

    event: int
    stream: Stream = Stream()
    ns: int | None = None


@dataclass(frozen=True, slots=True)
class SynchronizeEvent:
    """The thread waits for the event's latest record."""

    event: int
    ns: int | None = None


@dataclass(frozen=True, slots=True)
class BeginCapture:
    """Launches on the stream (and on streams that wait for its events) become nodes of a CUDA graph."""

    stream: Stream = Stream()


@dataclass(frozen=True, slots=True)
class EndCapture:
    """The captured nodes become the process's graph of that number."""

    graph: int
    stream: Stream = Stream()


@dataclass(frozen=True, slots=True)
class Instantiate:
    """Make the graph ready to run."""

    graph: int
    ns: int = 50_000


@dataclass(frozen=True, slots=True)
class LaunchGraph:
    """Run the graph. `whole`: the profiler records one interval for the launch instead of its nodes."""

    graph: int
    stream: Stream = Stream()
    whole: bool = False
    call_ns: int | None = None
    latency_ns: int | None = None
    overhead_ns: int = 0
    api: str = "cudaGraphLaunch_v10000"


@dataclass(frozen=True, slots=True)
class Push:
    """Open an NVTX push/pop range."""

    name: str
    domain: str = ""


@dataclass(frozen=True, slots=True)
class Pop:
    """Close the domain's innermost open push/pop range of this thread."""

    domain: str = ""


@dataclass(frozen=True, slots=True)
class RangeStart:
    """Open an NVTX start/end range; `key` (a number of the process) names it for its end."""

    key: int
    name: str
    domain: str = ""


@dataclass(frozen=True, slots=True)
class RangeEnd:
    """Close a start/end range, from any thread of the process."""

    key: int


@dataclass(frozen=True, slots=True)
class Mark:
    """An NVTX mark: a point in time."""

    name: str
    domain: str = ""


Operation = (
    Host
    | Overhead
    | Launch
    | Copy
    | Fill
    | Migrate
    | Call
    | Synchronize
    | RecordEvent
    | WaitEvent
    | SynchronizeEvent
    | BeginCapture
    | EndCapture
    | Instantiate
    | LaunchGraph
    | Push
    | Pop
    | RangeStart
    | RangeEnd
    | Mark
)
Program = Iterable[Operation]
"""What one host thread does, in order."""

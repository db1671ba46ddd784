"""What a profiler recorded of a simulated program. Times are integer nanoseconds on the session's clock."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sample_traces.operations import CallKind, Stream

__all__ = ["ApiCall", "GraphNodeEvent", "HostThread", "NvtxEvent", "OverheadInterval", "ProcessInfo", "Run", "Work"]


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A process: its id, and the physical GPU behind each of its CUDA ordinals."""

    pid: int
    gpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HostThread:
    """A host thread: its process (an index into `Run.processes`) and its id."""

    process: int
    tid: int


@dataclass(slots=True, eq=False)
class ApiCall:
    """A CUDA API call of a host thread (an index into `Run.threads`)."""

    thread: int
    start: int
    name: str
    kind: CallKind
    correlation: int
    end: int = -1
    inner: tuple[int, int] | None = None
    """Start and end of a second record of the same call, inside the first."""
    capturing: bool = False
    """The call recorded a node of a CUDA graph instead of putting work on a device."""


@dataclass(slots=True, eq=False)
class Work:
    """An interval on a device, or a whole CUDA graph launch recorded as one interval."""

    kind: str
    """`kernel`, `memcpy`, `memset` or `graph`."""
    name: str
    """A kernel's demangled name, a copy's direction, else empty."""
    process: int
    stream: Stream
    gpu: int
    call: ApiCall | None
    start: int = -1
    end: int = -1
    size: int = 0
    graph: int = 0
    """The CUDA graph that this is part of (or the whole of); 0: none."""
    node: int = 0
    """The number of the node inside the graph, from 1."""


@dataclass(frozen=True, slots=True)
class OverheadInterval:
    """The profiler held a host thread up."""

    thread: int
    start: int
    end: int
    name: str


@dataclass(slots=True, eq=False)
class NvtxEvent:
    """A range (`push`, `startend`) or a `mark` of a host thread; a range without end was never closed."""

    kind: str
    thread: int
    start: int
    name: str
    domain: str
    end: int | None = None
    end_thread: int | None = None


@dataclass(frozen=True, slots=True)
class GraphNodeEvent:
    """A node was added to a CUDA graph."""

    thread: int
    time: int
    graph: int
    node: int


@dataclass(frozen=True)
class Run:
    """A recorded run."""

    processes: tuple[ProcessInfo, ...]
    threads: tuple[HostThread, ...]
    works: tuple[Work, ...]
    calls: tuple[ApiCall, ...]
    """In order of their starts."""
    overheads: tuple[OverheadInterval, ...]
    nvtx: tuple[NvtxEvent, ...]
    graph_nodes: tuple[GraphNodeEvent, ...] = ()
    lost: frozenset[ApiCall] = field(default_factory=frozenset)
    """Calls that happened and are missing from the record (trimmed captures, dropped buffers)."""

    def losing(self, is_lost: Callable[[ApiCall], bool]) -> Run:
        """The same run with some API calls missing from the record."""
        return replace(self, lost=self.lost | {call for call in self.calls if is_lost(call)})

    @property
    def recorded_calls(self) -> tuple[ApiCall, ...]:
        """The calls that the record has."""
        return tuple(call for call in self.calls if call not in self.lost) if self.lost else self.calls

    def launch_call(self, work: Work) -> ApiCall | None:
        """The recorded call that put the work on its device."""
        return None if work.call is None or work.call in self.lost else work.call

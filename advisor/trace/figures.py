"""The figures of an analysis, as plain values, and the columns behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.trace.causes import FUSIBLE, LAUNCH_GAP, Cause

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from advisor.trace.instances import Instances, Runs
    from advisor.trace.launches import Launches
    from advisor.trace.regions import Regions
    from advisor.trace.timeline import Timeline
    from advisor.trace.trace import Device

__all__ = [
    "Causes",
    "Coverage",
    "DeviceFigures",
    "Evidence",
    "GraphFigures",
    "KernelFigures",
    "Totals",
    "fusible_gap",
    "launch_gap",
]

Causes = dict[Cause, int]
"""ns for every cause, 0 where there is none."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the program the trace shows."""

    work: int
    matched: int
    """Works with a launch call."""
    orphans: int
    """Works without: their gaps are `unknown`."""
    skewed: int
    """Works that start before their launch call does; their host-side figures are taken as 0."""
    zero_time: int
    """Rows of work whose start or end was not recorded."""
    graph_level: int
    """CUDA graph launches recorded as one interval each: the gaps inside are invisible."""
    launches_without_work: int
    """Launch calls that no work belongs to, those recorded while capturing a CUDA graph apart."""
    graph_launches_without_work: int
    """How many of those launched a CUDA graph: nothing that it ran is in the trace."""
    captured_launches: int
    """Launch calls recorded while capturing a CUDA graph: no executions."""
    kernel_launches: int
    """Kernels that were launched: by calls of one each, those recorded while capturing apart, and as nodes of CUDA
    graphs recorded node by node."""
    kernels_missing: int
    """Of these, how many are not in the trace. Where they are over 5 %, no gap ratio is told."""
    graph_kernels_missing: int
    """Of those, the nodes that launches of CUDA graphs lack and others have."""
    unclosed_ranges: int
    outside_graphs: int
    """Works that belong to no graph of the report."""
    physical_devices: bool
    """The trace says which GPU each CUDA ordinal was; else every (process, ordinal) counts as a device of its own."""
    diagnostics: tuple[str, ...]
    """The profiler's own warnings about lost events, word by word."""
    notes: tuple[str, ...]
    """What the reader, or the selection of a part, has to say of the trace besides."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all devices, ns."""

    kernels: int
    launch_calls: int
    """Distinct API calls that put work on a device."""
    graph_launches: int
    span_ns: int
    busy_ns: int
    exposed_gap_ns: int
    launch_gap_ns: int
    fusible_gap_ns: int
    host_copy_gap_ns: int
    """Of the fusible gap, what lies before copies between host and device: no fusion takes those away."""
    gap_ratio: float | None
    """Fusible gap over fusible gap plus busy time; absent where the trace cannot decide on which side of the threshold
    it lies."""
    fusible_share: float | None
    """Fusible gap over span: the most that removing every gap could save that fusion can remove."""
    causes: Causes


@dataclass(frozen=True, slots=True)
class DeviceFigures:
    """One device's timeline, ns."""

    device: Device
    span_ns: int
    busy_ns: int
    exposed_gap_ns: int
    causes: Causes


@dataclass(frozen=True, slots=True)
class KernelFigures:
    """All works of one name; sums over them, ns."""

    name: str
    kind: str
    """`kernel`, `memcpy`, `memset` or `graph`."""
    op_class: str
    count: int
    duration_ns: int
    launch_call_ns: int
    """Time inside the launch calls, on the host; a graph launch counts for its first node only."""
    launch_latency_ns: int
    """From the launch call's start to the work's start; long where the queue is full, and then costs nothing."""
    queue_ns: int
    """Of the time between the launch call's end and the work's start, where the device was busy. No saving."""
    exposed_gap_ns: int
    launch_gap_ns: int
    fusible_gap_ns: int
    gap_ratio: float | None
    causes: Causes


@dataclass(frozen=True, slots=True)
class GraphFigures:
    """Executions of one model: regions with one name and one kernel sequence. Medians over the instances, ns."""

    name: str
    source: str
    """`nvtx`, `cuda_graph`, `iteration` or `trace`."""
    certainty: float
    """1 where the trace marks the executions; of an `iteration`, the share of kernels that repeat one sequence."""
    variant: int
    """0, 1, … for the kernel sequences of this name, in the order of the report."""
    instances: int
    warmup: int
    """Instances in which some kernel is launched for the first time. The medians are over the others, if any."""
    kernels_per_instance: int
    span_ns: int
    """From the first launch call to the last work's end: what one run lasts, waiting for those before it included."""
    time_ns: int
    """What a run takes of the device: busy and idle of its own, the span at most. Shares are of this."""
    time_share: float
    """What all its runs take, warm-up included, as a share of the trace's span."""
    busy_ns: int
    exposed_gap_ns: int
    launch_gap_ns: int
    fusible_gap_ns: int
    host_copy_gap_ns: int
    """Of the fusible gap, what lies before copies between host and device."""
    gap_ratio: float | None
    p5_gap_ratio: float | None
    p95_gap_ratio: float | None
    """Percentiles over the measured instances."""
    fusible_share: float | None
    """Fusible gap over time."""
    flagged: bool
    verdict: str
    """The largest cause, or `gpu-bound`, or `cannot-decide`."""
    causes: Causes


@dataclass(frozen=True, slots=True)
class Evidence:
    """The columns behind the figures: for reports that show single works, gaps and instances."""

    launches: Launches
    timeline: Timeline
    gap_places: NDArray[np.intp]
    """Shape (gaps,): the places on the timeline with an exposed gap; `Timeline.order` gives their rows of works."""
    gap_causes: NDArray[np.int64]
    """Shape (causes, gaps), ns: what each gap consists of."""
    regions: Regions
    instances: Instances
    """One row for each of the regions."""
    runs: Runs
    """Which works and which executions each graph's medians are over; where there are no regions, one run of all."""


def launch_gap(causes: Mapping[Cause, int]) -> int:
    """What CUDA graph capture or fusion removes, ns."""
    return sum(causes[cause] for cause in LAUNCH_GAP)


def fusible_gap(causes: Mapping[Cause, int]) -> int:
    """What fusion can remove at most, ns."""
    return sum(causes[cause] for cause in FUSIBLE)

"""The result of an analysis: what `advisor.analysis/1` holds, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.trace.causes import FUSIBLE, LAUNCH_GAP, Cause
from advisor.trace.samples import graph_samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from advisor.trace.candidates import Candidate
    from advisor.trace.findings import Finding
    from advisor.trace.graphs import Runs
    from advisor.trace.instances import Instances
    from advisor.trace.launches import Launches
    from advisor.trace.levers import Levers
    from advisor.trace.regions import Regions
    from advisor.trace.timeline import Timeline
    from advisor.trace.trace import Device, Trace

__all__ = ["Analysis", "Causes", "Coverage", "DeviceFigures", "Evidence", "GraphFigures", "KernelFigures", "Totals"]

SCHEMA = "advisor.analysis/1"

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
    captured_launches: int
    """Launch calls recorded while capturing a CUDA graph: no executions."""
    unclosed_ranges: int
    outside_graphs: int
    """Works that belong to no graph of the report."""
    physical_devices: bool
    """The trace says which GPU each CUDA ordinal was; else every (process, ordinal) counts as a device of its own."""
    diagnostics: tuple[str, ...]
    """The profiler's own warnings about lost events, and notes of this analysis."""


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
    gap_ratio: float | None
    """Fusible gap over fusible gap plus busy time; absent where the trace cannot decide on which side of the threshold
    it lies."""
    fusible_share: float | None
    """Fusible gap over span: the most that removing every launch could save."""
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
    busy_ns: int
    exposed_gap_ns: int
    launch_gap_ns: int
    fusible_gap_ns: int
    gap_ratio: float | None
    p95_gap_ratio: float | None
    fusible_share: float | None
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


@dataclass(frozen=True)
class Analysis:
    """Where a trace's devices waited, and why."""

    trace: Trace
    threshold: float
    coverage: Coverage
    totals: Totals
    device_figures: tuple[DeviceFigures, ...]
    kernel_figures: tuple[KernelFigures, ...]
    """The largest fusible gap first."""
    graph_figures: tuple[GraphFigures, ...]
    """The largest total fusible gap first."""
    candidates: tuple[Candidate, ...]
    """Chains of kernels that could be one, those first that would save most over the whole trace; at most 200."""
    levers: tuple[Levers, ...]
    """For each graph, in their order: what fusing all its chains would save, and what CUDA graph capture."""
    findings: tuple[Finding, ...]
    """What to do about it, the worst first."""
    evidence: Evidence
    verdict: str
    """On all works together."""

    @property
    def flagged(self) -> bool:
        """Some graph's gap ratio is over the threshold."""
        return any(graph.flagged for graph in self.graph_figures)

    @property
    def kernels(self) -> pd.DataFrame:
        """One row per kernel name: `KernelFigures`, a column for each cause."""
        return _frame(self.kernel_figures)

    @property
    def gaps(self) -> pd.DataFrame:
        """One row per exposed gap: the device, its beginning and length, the work that ended it, its causes."""
        import pandas as pd

        places, causes = self.evidence.gap_places, self.evidence.gap_causes
        timeline, works = self.evidence.timeline, self.trace.works
        rows = timeline.order[places]
        names = np.array(self.trace.work_names, object)[works.name[rows]]
        columns = {
            "device": np.array([device.number for device in self.trace.devices])[works.device[rows]],
            "start_ns": timeline.idle_since[places],
            "gap_ns": timeline.exposed_gap[places],
            "ended_by": names,
        }
        return pd.DataFrame(columns | {f"{cause.key}_ns": causes[cause] for cause in Cause})

    @property
    def graphs(self) -> pd.DataFrame:
        """One row per graph: `GraphFigures`, a column for each cause."""
        return _frame(self.graph_figures)

    def to_dict(self) -> dict[str, Any]:
        """The analysis as `advisor.analysis/1`: what `advisor analyze --json` writes."""
        trace = self.trace
        place = {figures.name: index for index, figures in enumerate(self.kernel_figures)}
        return {
            "schema": SCHEMA,
            "source": {
                "path": str(trace.path),
                "kind": trace.kind,
                "tool_version": trace.tool_version,
                "schema_version": trace.schema_version,
            },
            "threshold": self.threshold,
            "verdict": self.verdict,
            "coverage": asdict(self.coverage) | {"diagnostics": list(self.coverage.diagnostics)},
            "totals": _row(self.totals),
            "devices": [
                _row(figures) | {"device": figures.device.number} | {"name": figures.device.name}
                for figures in self.device_figures
            ],
            "kernels": [_row(figures) for figures in self.kernel_figures],
            "graphs": [_row(figures) for figures in self.graph_figures],
            "samples": [samples.to_dict(place) for samples in graph_samples(self)],
            "candidates": [_listed(candidate) for candidate in self.candidates],
            "levers": [_listed(levers) for levers in self.levers],
            "findings": [_listed(finding) for finding in self.findings],
        }


def launch_gap(causes: Mapping[Cause, int]) -> int:
    """What CUDA graph capture or fusion removes, ns."""
    return sum(causes[cause] for cause in LAUNCH_GAP)


def fusible_gap(causes: Mapping[Cause, int]) -> int:
    """What fusion can remove at most, ns."""
    return sum(causes[cause] for cause in FUSIBLE)


def _row(figures: Totals | DeviceFigures | KernelFigures | GraphFigures) -> dict[str, Any]:
    """The fields by name, the causes named as in JSON; `dataclasses.asdict` would copy each value at great cost."""
    row = {field.name: getattr(figures, field.name) for field in fields(figures)}
    return row | {"causes": {cause.key: ns for cause, ns in figures.causes.items()}}


def _listed(part: Candidate | Levers | Finding) -> dict[str, Any]:
    """The fields by name, tuples as lists."""
    row = {field.name: getattr(part, field.name) for field in fields(part)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}


def _frame(rows: Iterable[KernelFigures | GraphFigures]) -> pd.DataFrame:
    import pandas as pd

    flat = []
    for figures in rows:
        row = _row(figures)
        causes = row.pop("causes")
        flat.append(row | {f"{cause}_ns": ns for cause, ns in causes.items()})
    return pd.DataFrame(flat)

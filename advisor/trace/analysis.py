"""The result of an analysis: what `advisor.analysis/1` holds, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.trace.causes import Cause
from advisor.trace.graphs import LEAST_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from advisor.trace.busy_parts import BusyParts
    from advisor.trace.candidates import Candidate
    from advisor.trace.figures import Coverage, DeviceFigures, Evidence, GraphFigures, KernelFigures, Totals
    from advisor.trace.findings import Finding
    from advisor.trace.idle_intervals import IdleInterval
    from advisor.trace.levers import Levers
    from advisor.trace.phases import Phase, Phases
    from advisor.trace.trace import Trace

__all__ = ["SCHEMA", "Analysis"]

SCHEMA = "advisor.analysis/1"


@dataclass(frozen=True)
class Analysis:
    """Where a trace's devices waited, and why."""

    trace: Trace
    threshold: float
    dispatch_limit_ns: int
    """The longest API-free stretch that counted as dispatch."""
    coverage: Coverage
    totals: Totals
    device_figures: tuple[DeviceFigures, ...] = field(repr=False)
    kernel_figures: tuple[KernelFigures, ...] = field(repr=False)
    """The largest fusible gap first."""
    graph_figures: tuple[GraphFigures, ...] = field(repr=False)
    """The largest total fusible gap first, those that take little of the runs' time last."""
    candidates: tuple[Candidate, ...] = field(repr=False)
    """Chains of kernels that could be one, those first that would save most over the whole trace; at most 200.

    None where kernels are missing."""
    levers: tuple[Levers, ...] = field(repr=False)
    """For each graph, in their order: what fusing all its chains would save, and what CUDA graph capture."""
    findings: tuple[Finding, ...] = field(repr=False)
    """What to do about it, the worst first."""
    busy_parts: BusyParts = field(repr=False)
    """What the devices were busy with."""
    longest_gaps: tuple[IdleInterval, ...] = field(repr=False)
    """The longest idle intervals, the longest first."""
    phases: Phases | None = field(repr=False)
    """Set-up, and the part that repeats; None where no runs were measured."""
    evidence: Evidence = field(repr=False)

    @property
    def verdict(self) -> str:
        """On the graph that the report is about, the first one: the verdict of its headline."""
        return self.graph_figures[0].verdict

    @property
    def flagged(self) -> bool:
        """Graphs whose gap ratios are over the threshold take a share of the runs' time that matters."""
        return self._matter([graph for graph in self.graph_figures if graph.flagged])

    @property
    def undecided(self) -> bool:
        """It is not flagged, and might be if the gap ratios were known that are not."""
        either = [graph for graph in self.graph_figures if graph.flagged or graph.gap_ratio is None]
        return not self.flagged and self._matter(either)

    def _matter(self, graphs: Sequence[GraphFigures]) -> bool:
        least = LEAST_TIME * sum(graph.time_share for graph in self.graph_figures)
        return bool(graphs) and sum(graph.time_share for graph in graphs) >= least

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

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from advisor.report.analysis_notebook import summary_html

        return summary_html(self)

    def to_dict(self) -> dict[str, Any]:
        """The analysis as `advisor.analysis/1`: what `advisor analyze --json` writes."""
        from advisor.trace.samples import graph_samples

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
            "coverage": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in asdict(self.coverage).items()
            },
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
            "busy_parts": asdict(self.busy_parts),
            "longest_gaps": [
                _row(interval) | {"window_ns": list(interval.window_ns)} for interval in self.longest_gaps
            ],
            "phases": self.phases and {"setup": _row(self.phases.setup), "runs": _row(self.phases.runs)},
        }


def _row(
    figures: Totals | DeviceFigures | KernelFigures | GraphFigures | IdleInterval | Phase,
) -> dict[str, Any]:
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

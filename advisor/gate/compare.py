"""The comparison of two analyses, graph by graph.

A graph has regressed when both its fusible gap and its gap ratio rose: by more than a relative and an absolute
tolerance each. The gap alone also rises when an execution launches more on a longer run, and the ratio alone also
rises when kernels become faster: neither by itself is launch overhead that somebody added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from advisor.errors import CannotDecide

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Comparison", "GraphChange", "Tolerance", "compare"]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How much may change before it counts."""

    relative: float = 0.10
    """Of the baseline's fusible gap."""
    gap_ns: int = 5_000
    """The smallest rise of the fusible gap that matters, ns an execution."""
    ratio: float = 0.01
    """The smallest rise of the gap ratio that matters."""


@dataclass(frozen=True, slots=True)
class GraphChange:
    """One graph in both analyses; None where a side has no figure."""

    name: str
    status: str
    """`regressed`, `improved`, `unchanged`, `new`, or `incomparable`."""
    reason: str
    baseline_gap_ns: int | None = None
    current_gap_ns: int | None = None
    baseline_ratio: float | None = None
    current_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every graph, regressions first."""

    changes: tuple[GraphChange, ...]

    @property
    def regressed(self) -> bool:
        """Some graph's launch overhead regressed."""
        return any(change.status == "regressed" for change in self.changes)

    @property
    def incomparable(self) -> bool:
        """Some graph of the baseline could not be compared."""
        return any(change.status == "incomparable" for change in self.changes)


def compare(baseline: Mapping[str, Any], current: Mapping[str, Any], tolerance: Tolerance | None = None) -> Comparison:
    """Compare two `advisor.analysis/1` documents.

    Raises:
        CannotDecide: They were measured on different GPUs, or have no graph in common.
    """
    limits = tolerance or Tolerance()
    before, after = _gpus(baseline), _gpus(current)
    if before and after and before != after:
        raise CannotDecide(f"not comparable: the baseline ran on {', '.join(before)}, this run on {', '.join(after)}")
    old, new = _by_name(baseline), _by_name(current)
    if not old.keys() & new.keys():
        raise CannotDecide(f"not comparable: no graph in common (baseline: {_listed(old)}; this run: {_listed(new)})")
    changes = [_change(name, old[name], new.get(name), limits) for name in old]
    changes += [
        GraphChange(name, "new", "not in the baseline", None, graph["fusible_gap_ns"], None, graph["gap_ratio"])
        for name, graph in new.items()
        if name not in old
    ]
    order = ("regressed", "incomparable", "improved", "new", "unchanged")
    return Comparison(tuple(sorted(changes, key=lambda change: order.index(change.status))))


def _gpus(analysis: Mapping[str, Any]) -> list[str]:
    return sorted({device["name"] for device in analysis["devices"] if device.get("name")})


def _by_name(analysis: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Each name's graph; of variants with different kernel sequences the most frequent one."""
    graphs: dict[str, Mapping[str, Any]] = {}
    for graph in sorted(analysis["graphs"], key=lambda graph: -graph["instances"]):
        graphs.setdefault(graph["name"], graph)
    return graphs


def _listed(graphs: Mapping[str, Any]) -> str:
    return ", ".join([*graphs][:3]) + (", …" if len(graphs) > 3 else "")


def _change(name: str, old: Mapping[str, Any], new: Mapping[str, Any] | None, limits: Tolerance) -> GraphChange:
    if new is None:
        return GraphChange(
            name, "incomparable", "missing in this run", old["fusible_gap_ns"], None, old["gap_ratio"], None
        )
    gaps = (old["fusible_gap_ns"], new["fusible_gap_ns"])
    ratios = (old["gap_ratio"], new["gap_ratio"])

    def change(status: str, reason: str) -> GraphChange:
        return GraphChange(name, status, reason, *gaps, *ratios)

    if None in ratios:
        return change("incomparable", "the trace does not tell its gap ratio")
    kernels = (old["kernels_per_instance"], new["kernels_per_instance"])
    if old["source"] == new["source"] == "trace" and abs(kernels[1] - kernels[0]) > limits.relative * kernels[0]:
        return change(
            "incomparable",
            f"whole traces of different length ({kernels[0]:,} and {kernels[1]:,} kernels): mark executions with NVTX",
        )
    rise, rise_of_ratio = gaps[1] - gaps[0], ratios[1] - ratios[0]
    floor = max(limits.relative * gaps[0], limits.gap_ns)
    launches = f", kernels {kernels[0]:,} → {kernels[1]:,}" if kernels[0] != kernels[1] else ""
    if rise > floor and rise_of_ratio > limits.ratio:
        return change("regressed", f"fusible gap and gap ratio rose{launches}")
    if -rise > floor and -rise_of_ratio > limits.ratio:
        return change("improved", f"fusible gap and gap ratio fell{launches}")
    return change("unchanged", f"within tolerance{launches}")

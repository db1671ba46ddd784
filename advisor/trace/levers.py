"""The two levers against launch overhead, side by side for each graph.

One is to fuse its chains, the other to capture a run once as a CUDA graph and to replay it. Both savings are
predictions, in ns per run, and are not to be added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.candidates import medians_per_run
from advisor.trace.causes import LAUNCH_GAP
from advisor.trace.launches import CallClass
from advisor.trace.run_calls import calls_per_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from advisor.trace.candidates import Saving
    from advisor.trace.chains import Chains
    from advisor.trace.figures import Evidence, GraphFigures
    from advisor.trace.trace import Trace

__all__ = ["NODE_STEP_NS", "Levers", "find_levers"]

NODE_STEP_NS = 1_600
"""What stays before a kernel at most when it becomes a node of a CUDA graph: the device's step from one to the next.

From one queued kernel to the next it takes 0.6 to 1.6 us in the median (eleven of thirteen real traces)."""


@dataclass(frozen=True, slots=True)
class Levers:
    """What fusion and CUDA graph capture would save in a run of one graph."""

    graph: str
    variant: int
    """Of the graph, as in `GraphFigures`."""
    chains: int
    """Per run."""
    fusion_ns: Saving
    """All its chains fused; the sum of its candidates, which do not overlap."""
    capture_ns: Saving | None
    """None where there is nothing to capture."""
    capture_basis: str
    """What the prediction rests on, or why there is none."""


def find_levers(trace: Trace, evidence: Evidence, graphs: Sequence[GraphFigures], chains: Chains) -> tuple[Levers, ...]:
    """Weigh both levers for each of the GRAPHS, in their order."""
    runs = evidence.runs
    measured = np.bincount(runs.graph[runs.measured], minlength=len(graphs))
    kept = runs.measured[chains.run]
    run = chains.run[kept]
    columns = (np.ones(len(run), np.int64), chains.low[kept], chains.high[kept])
    count, low, high = medians_per_run(runs.graph[run], run, len(runs.graph), columns, measured)
    of_run = np.flatnonzero(runs.measured)
    per_run = (*_launch_gaps(trace, evidence), calls_per_run(trace, evidence, (CallClass.SYNC, CallClass.MEMORY)))
    removable = [column[of_run] for column in per_run]
    least, most, waits = medians_per_run(runs.graph[of_run], of_run, len(runs.graph), removable, measured)
    by_calls = _launched_by_themselves(evidence)
    gpu = all(device.gpu for device in trace.devices)

    levers = []
    for index, graph in enumerate(graphs):
        removed = (0 if waits[index] else int(least[index]), int(most[index]))
        captured = _capture(graph, bool(by_calls[index]), bool(waits[index]), removed)
        within, basis = captured if gpu else (None, "a CPU has no CUDA graphs")
        levers.append(
            Levers(
                graph=graph.name,
                variant=graph.variant,
                chains=int(count[index]),
                fusion_ns=(int(low[index]), int(high[index])),
                capture_ns=within,
                capture_basis=basis,
            )
        )
    return tuple(levers)


def _capture(graph: GraphFigures, by_calls: bool, waits: bool, removed: Saving) -> tuple[Saving | None, str]:
    if graph.source == "cuda_graph" or not by_calls:
        return None, "its runs are CUDA graphs already"
    if graph.source == "trace":
        return None, "no run could be told apart that could be captured once and replayed (NVTX ranges would mark one)"
    if graph.instances == 1:
        return None, "it ran once: nothing to capture and replay"
    if not removed[1]:
        return (0, 0), "only a run's first launch is waited for: its CUDA graph would have to be launched just the same"
    if waits:
        least = "at least nothing, since a run synchronises or allocates between its launches, which no capture may"
    else:
        least = f"at least that less {NODE_STEP_NS / 1000:g} µs a work, the step from node to node"
    most = "at most launch + dispatch before all works but a run's first, which stands for the launch of the graph"
    return removed, f"{most}; {least}"


def _launch_gaps(trace: Trace, evidence: Evidence) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Shape (runs,) each, ns: launch + dispatch that capture removes at least and at most, if it is possible."""
    launches, runs = evidence.launches, evidence.runs
    gaps = np.sum([evidence.gap_causes[cause] for cause in LAUNCH_GAP], axis=0)
    some = np.flatnonzero(gaps)
    gaps, rows = gaps[some], evidence.timeline.order[evidence.gap_places[some]]
    run = runs.of_work[rows]
    inside = np.flatnonzero(run >= 0)
    gaps, rows, run = gaps[inside], rows[inside], run[inside]
    if len(evidence.instances):
        later = trace.calls.start[launches.call[rows]] > evidence.instances.start[run]
        gaps, run = gaps[later], run[later]
    size = len(runs.graph)
    # Exact: sums of ns stay under 2**53 (104 days).
    sums = (np.bincount(run, values, size).astype(np.int64) for values in (np.maximum(gaps - NODE_STEP_NS, 0), gaps))
    least, most = sums
    return least, most


def _launched_by_themselves(evidence: Evidence) -> NDArray[np.bool_]:
    """Shape (graphs,): some work of the graph's measured runs is no part of a CUDA graph."""
    runs = evidence.runs
    run = runs.of_work[~evidence.launches.graph]
    used = np.bincount(run[run >= 0], minlength=len(runs.graph)) > 0
    return np.bincount(runs.graph[used & runs.measured], minlength=int(runs.graph.max()) + 1) > 0

"""Graphs: instances with one name and one kernel sequence, and the medians of their figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.causes import FUSIBLE, LAUNCH_GAP, Cause
from advisor.trace.figures import GraphFigures
from advisor.trace.instances import Runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.instances import Instances
    from advisor.trace.regions import Regions
    from advisor.trace.verdicts import Judge

__all__ = ["LEAST_TIME", "graph_figures"]

LEAST_TIME = 0.05
"""Graphs whose runs take less than this share of the time of all runs neither lead a report nor flag it."""


def graph_figures(
    regions: Regions, instances: Instances, judge: Judge, span_ns: int
) -> tuple[tuple[GraphFigures, ...], Runs]:
    """The figures of each graph, and the runs behind them.

    The largest total fusible gap stands first, and those that take little of the time (`LEAST_TIME`) last.

    Args:
        regions: At least one.
        instances: One row for each of the regions.
        judge: What flags a graph, and names its verdict.
        span_ns: The span of all devices.
    """
    pairs = np.stack([instances.name.astype(np.uint64), instances.sequence])
    _, graph = np.unique(pairs, axis=1, return_inverse=True)
    graph = graph.reshape(-1)
    count = int(graph.max()) + 1
    total = np.bincount(graph, minlength=count)
    warm = np.bincount(graph[instances.warmup], minlength=count)
    # Where every instance is a warm-up, those are all there is to measure.
    measured = ~instances.warmup | (warm == total)[graph]
    rows = np.flatnonzero(measured)
    of, part = graph[rows], instances.take(rows)
    fusible = part.causes[:, FUSIBLE].sum(axis=1)
    ratio = fusible / np.maximum(fusible + part.busy, 1)

    def middle(values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
        return _quantiles(of, values, count, 0.5)

    spans, times, busy = (middle(v) for v in (part.span, part.time, part.busy))
    hidden, kernels = middle(part.hidden), middle(part.kernels)
    exposed = middle(part.causes.sum(axis=1))
    fusible_of, ratio_of = middle(fusible), middle(ratio)
    p5, p95 = (_quantiles(of, ratio, count, q) for q in (0.05, 0.95))
    share = middle(fusible / np.maximum(part.time, 1))
    causes = np.stack([middle(part.causes[:, cause]) for cause in Cause], axis=1)
    total_fusible = np.bincount(of, fusible, count)
    name = np.zeros(count, np.int64)
    name[graph] = instances.name
    copies = middle(part.host_copy_gap)
    launch = middle(part.causes[:, LAUNCH_GAP].sum(axis=1))

    figures = []
    variants: dict[int, int] = {}
    took = np.bincount(graph, instances.time, count)
    time_share = took / max(span_ns, took.sum(), 1)  # runs that overlap take more than there is
    order = np.lexsort((-total, -total_fusible, took < LEAST_TIME * took.sum()))
    for index in order:
        variant = variants.setdefault(int(name[index]), 0)
        variants[int(name[index])] += 1
        mine = {cause: round(float(causes[index, cause])) for cause in Cause}
        known = judge.ratio(mine, round(float(busy[index])), round(float(hidden[index]))) is not None
        gap_ratio = float(ratio_of[index]) if known else None
        figures.append(
            GraphFigures(
                name=regions.names[name[index]],
                source=regions.sources[name[index]],
                certainty=regions.certainties[name[index]],
                variant=variant,
                instances=int(total[index]),
                warmup=int(warm[index]),
                kernels_per_instance=round(float(kernels[index])),
                span_ns=round(float(spans[index])),
                time_ns=round(float(times[index])),
                time_share=float(time_share[index]),
                busy_ns=round(float(busy[index])),
                exposed_gap_ns=round(float(exposed[index])),
                launch_gap_ns=round(float(launch[index])),
                fusible_gap_ns=round(float(fusible_of[index])),
                host_copy_gap_ns=round(float(copies[index])),
                gap_ratio=gap_ratio,
                p5_gap_ratio=float(p5[index]) if known else None,
                p95_gap_ratio=float(p95[index]) if known else None,
                fusible_share=float(share[index]) if known else None,
                flagged=judge.flags(gap_ratio),
                verdict=judge.verdict(mine, round(float(busy[index])), gap_ratio),
                causes=mine,
            )
        )
    place = np.empty(count, np.intp)
    place[order] = np.arange(count)
    return tuple(figures), Runs(regions.of_work, place[graph], measured)


def _quantiles(
    group: NDArray[np.intp], values: NDArray[np.int64] | NDArray[np.float64], count: int, q: float
) -> NDArray[np.float64]:
    """The quantile Q of VALUES in each group (none is empty), interpolated linearly as `numpy.quantile` does."""
    order = np.lexsort((values, group))
    ordered = values[order].astype(np.float64)
    sizes = np.bincount(group, minlength=count)
    place = np.cumsum(sizes) - sizes + q * (sizes - 1)
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, len(ordered) - 1)
    weight = place - below
    return ordered[below] * (1 - weight) + ordered[above] * weight

"""Fusion candidates: chains of equal kernels, how often a run has them, and what fusing them would save, predicted.

A saving is a range, in ns per run: at least the fusible gaps before the inner kernels (all of a chain but the first),
at most that plus the busy time that the inner kernels add to what other streams run. It is a median over a graph's
measured runs, as a graph's figures are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.hashing import hashes_of_stretches, numbers_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from advisor.trace.chains import Chains
    from advisor.trace.figures import GraphFigures
    from advisor.trace.instances import Runs
    from advisor.trace.trace import Trace

__all__ = ["KEPT", "Candidate", "Saving", "find_candidates", "medians_per_run"]

Saving = tuple[int, int]
"""Predicted, at least and at most, ns per run."""

KEPT = 200
"""Candidates of a report, those that would save most over the whole trace. Sums over a graph's chains hold all."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chain of kernels that one kernel could replace."""

    graph: str
    variant: int
    """Of the graph, as in `GraphFigures`."""
    kernels: tuple[str, ...]
    op_classes: tuple[str, ...]
    occurrences: int
    """Per run."""
    saving_ns: Saving
    """For all its occurrences in a run."""


def find_candidates(
    trace: Trace, runs: Runs, graphs: Sequence[GraphFigures], chains: Chains, classes: Sequence[str]
) -> tuple[Candidate, ...]:
    """The candidates of every graph, those first that would save most over the whole trace.

    Args:
        trace: The trace.
        runs: Its runs.
        graphs: Its graphs, as the runs number them.
        chains: Its chains.
        classes: The class of each of `trace.work_names`.
    """
    kept = np.flatnonzero(runs.measured[chains.run])
    if not len(kept):
        return ()
    run = chains.run[kept]
    graph = runs.graph[run]
    hashes = hashes_of_stretches(trace.works.name[chains.rows], chains.first[:-1], len(trace.work_names))
    _, shown, kind = np.unique(hashes[kept] + numbers_for(len(graphs))[graph], return_index=True, return_inverse=True)
    columns = (np.ones(len(kept), np.int64), chains.low[kept], chains.high[kept])
    per_run = np.bincount(runs.graph[runs.measured], minlength=len(graphs))
    count, low, high = medians_per_run(kind, run, len(runs.graph), columns, per_run[graph[shown]])

    found: list[Candidate] = []
    weight = per_run[graph[shown]]
    for index in np.lexsort((shown, -high * weight, -low * weight)):
        if count[index] == 0:
            continue  # in less than half of the runs
        if len(found) == KEPT:
            break
        chain = kept[shown[index]]
        names = trace.works.name[chains.rows[chains.first[chain] : chains.first[chain + 1]]].tolist()
        owner = graphs[graph[shown[index]]]
        found.append(
            Candidate(
                graph=owner.name,
                variant=owner.variant,
                kernels=tuple(trace.work_names[name] for name in names),
                op_classes=tuple(classes[name] for name in names),
                occurrences=int(count[index]),
                saving_ns=(int(low[index]), int(high[index])),
            )
        )
    return tuple(found)


def medians_per_run(
    kind: NDArray[np.intp],
    run: NDArray[np.signedinteger],
    runs: int,
    columns: Sequence[NDArray[np.int64]],
    measured: NDArray[np.intp],
) -> list[NDArray[np.int64]]:
    """Sum what belongs to one kind in one run, and take each kind's median over all runs that were measured.

    Args:
        kind: Shape (n,): from 0.
        run: Shape (n,): the run's number.
        runs: How many numbers of runs there are.
        columns: Of shape (n,) each: the values to sum.
        measured: Shape (kinds,): the number of runs over which each kind's median is; a run without it counts as 0.

    Returns:
        For each column shape (kinds,), the medians rounded.
    """
    if not len(kind):
        return [np.zeros(len(measured), np.int64) for _ in columns]
    pair = kind.astype(np.int64) * runs + run
    order = np.argsort(pair, kind="stable")
    begin = np.flatnonzero(np.diff(pair[order], prepend=-1))
    of_sum = kind[order[begin]]
    present = np.bincount(of_sum, minlength=len(measured))
    last = np.cumsum(present)
    # In the ascending values of a kind, runs without it stand first, as zeros that are not stored.
    lower, upper = (measured - 1) // 2, measured // 2
    medians = []
    for column in columns:
        sums = np.add.reduceat(column[order], begin)
        ascending = sums[np.lexsort((sums, of_sum))]
        middle = np.zeros(len(measured))
        for place in (lower, upper):
            stored = last - measured + place
            zero = place < measured - present
            middle += np.where(zero, 0, ascending[np.where(zero, 0, stored)]) / 2
        medians.append(np.rint(middle).astype(np.int64))
    return medians

"""Kernels that launches of a CUDA graph lack, where other launches of the same graph have them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.trace import WorkKind, distinct_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.trace import Trace

__all__ = ["graph_kernels"]

_SWITCHES_NODES = re.compile(r"Graph(Kernel)?NodeSetEnabled")
"""A program that switches nodes on and off launches the same graph with more and with fewer."""


def graph_kernels(
    trace: Trace, call: NDArray[np.int32], lost: NDArray[np.bool_], counted: NDArray[np.bool_] | None = None
) -> tuple[int, int]:
    """How many kernels the graphs that were launched must have run, and how many of these are not in the trace.

    Node ids are (graph << 32) | node, and the same in every launch. The nodes of a graph are those that any of its
    launches has: what all of them lack is not noticed. Of a launch only the graph with the lowest id is counted; the
    others are its parts, and a conditional one runs as often as the program wants. Which graph it was that a launch
    without any work began is not recorded: it counts with the kernels of the smallest one that its process launched.

    Args:
        trace: The trace, nothing of it left out.
        call: Shape (works,): the row of each work's launch call; negative: none.
        lost: Shape (calls,): the launches of CUDA graphs without any work, those left out that are not counted.
        counted: Shape (calls,): the calls whose kernels are counted; all, unless given.
    """
    works = trace.works
    rows = np.flatnonzero((works.kind == WorkKind.KERNEL) & (works.graph_node != 0) & (call >= 0))
    if not len(rows) or any(map(_SWITCHES_NODES.search, trace.call_names)):
        return 0, 0
    calls, launch = np.unique(call[rows], return_inverse=True)
    graph = works.graph_node[rows] >> 32
    outermost = np.full(len(calls), np.iinfo(np.int64).max)
    np.minimum.at(outermost, launch, graph)
    own = graph == outermost[launch]
    rows, launch = rows[own], launch[own]

    of_node, node = distinct_rows(works.process[rows].astype(np.int64), works.graph_node[rows])
    of_launch, _ = distinct_rows(launch.astype(np.int64), node.astype(np.int64))  # of a node run twice, one
    seen = np.bincount(launch[of_launch], minlength=len(calls))
    of_graph, number = distinct_rows(works.process[rows].astype(np.int64), outermost[launch])
    graph_of_launch = np.zeros(len(calls), np.intp)
    graph_of_launch[launch] = number
    nodes = np.bincount(number[of_node], minlength=len(of_graph))[graph_of_launch]
    smallest = np.full(len(trace.processes), np.iinfo(np.int64).max)
    np.minimum.at(smallest, trace.threads[trace.calls.thread[calls]], nodes)
    of_lost = smallest[trace.threads[trace.calls.thread[lost]]]
    gone = int(of_lost[of_lost < np.iinfo(np.int64).max].sum())
    if counted is not None:
        seen, nodes = seen[counted[calls]], nodes[counted[calls]]
    return int(nodes.sum()) + gone, int((nodes - seen).sum()) + gone

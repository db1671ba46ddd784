"""Which node of a model put which work of a trace on the device: by the trace's own names, else by classes in order.

By name: ONNX Runtime's profile calls each node by its name, and a build with NVTX marks each as `Add.12(name)`. The
nodes of a run have to be those of the file, or those that ONNX Runtime makes of them while it loads the file.

By class sequence: a run's kernels and the model's nodes are both cut into chains, as candidates are. Where one sequence
of classes has as many chains in a run as in the model, and the chains of all such sequences come in the same order in
both, the first is the first, the second the second, and so on. What fits in part only is not matched.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.chains import chains_of
from advisor.trace.kernel_classes import OP_CLASSES
from advisor.trace.onnx_operators import operator_class
from advisor.trace.trace import WorkKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from advisor.fuse.executed import ModelNodes
    from advisor.trace.analysis import Analysis
    from advisor.trace.chains import Chains

__all__ = ["BY_CLASS", "BY_NAME", "Assignment", "assign"]

BY_NAME = "by name"
BY_CLASS = "by class sequence"

LEAST_FIT = 0.5
"""Of the nodes that a run or the model has, by name those that have to be in both; by class sequence, of the kernels
those that have to lie in chains that are in both."""

_NODE_RANGE = re.compile(r"(?:.*:)?(?P<op>\w+)\.(?P<number>\d+)\((?P<name>.*)\)$", re.DOTALL)


@dataclass(frozen=True)
class Assignment:
    """The nodes behind the chains of one graph of a trace.

    Attributes:
        how: `BY_NAME` or `BY_CLASS`.
        graph: The graph of the trace, an index into `Analysis.graph_figures`; None where none is of this model.
        nodes: Shape (kernels in chains,): an index into the model's nodes; -1: none. Only for runs of that graph.
        certainty: From 0 to 1: the share of nodes or kernels that both the graph and the model have.
        reason: Why there is no graph; empty where there is one.
        reasons: Why chains of a sequence of classes are not matched, by the sequence.
        repetitions: How many chains a run has of those that are.
    """

    how: str
    graph: int | None
    nodes: NDArray[np.int32]
    certainty: float = 1.0
    reason: str = ""
    reasons: dict[tuple[str, ...], str] = field(default_factory=dict)
    repetitions: dict[tuple[str, ...], int] = field(default_factory=dict)

    def how_of(self, classes: tuple[str, ...]) -> str:
        """How chains of CLASSES were matched, for people."""
        if self.how == BY_NAME:
            return self.how
        count = self.repetitions[classes]
        return f"{self.how}, {count} of {count} repetition{'s' if count != 1 else ''}"


def assign(analysis: Analysis, chains: Chains, classes: Sequence[str], model: ModelNodes) -> Assignment:
    """Find the nodes behind the works of a trace's chains.

    Args:
        analysis: Of the trace.
        chains: Its chains.
        classes: The class of each of `trace.work_names`.
        model: The model's nodes.
    """
    named = _names(analysis)
    if named is not None:
        return _by_name(analysis, chains, model, *named)
    return _by_class(analysis, chains, classes, model)


# ---- by name


def _names(analysis: Analysis) -> tuple[NDArray[np.int32], list[tuple[str, str | None]]] | None:
    """Each work's index into pairs of a node's name and operator, -1: none; None where the trace names no nodes."""
    trace, call = analysis.trace, analysis.evidence.launches.call
    if trace.kind == "ort-profile":
        on_cpu = not any(device.gpu for device in trace.devices)
        name = np.where(call >= 0, trace.calls.name[call], -1).astype(np.int64)
        # On the CPU a work is called by its operator.
        op = trace.works.name.astype(np.int64) if on_cpu else np.zeros(len(name), np.int64)
        pair, code = np.unique(name * len(trace.work_names) + op, return_inverse=True)
        keys = [
            (trace.call_names[number // len(trace.work_names)], trace.work_names[number % len(trace.work_names)])
            for number in np.maximum(pair, 0).tolist()
        ]
        code = np.where(name >= 0, code, -1).astype(np.int32)
        return code, [(node, operator if on_cpu else None) for node, operator in keys]
    return _names_of_ranges(analysis)


def _names_of_ranges(analysis: Analysis) -> tuple[NDArray[np.int32], list[tuple[str, str | None]]] | None:
    """The same from NVTX ranges: a work's is the last that began before its launch call, and encloses it."""
    trace, call = analysis.trace, analysis.evidence.launches.call
    found = [_NODE_RANGE.match(name) for name in trace.range_names]
    is_node = np.array([match is not None for match in found], np.bool_)
    rows = np.flatnonzero(is_node[trace.ranges.name]) if len(found) else np.zeros(0, np.intp)
    if not len(rows):
        return None
    rows = rows[np.lexsort((trace.ranges.start[rows], trace.ranges.thread[rows]))]
    ranges = trace.ranges.take(rows)
    of_call = np.full(len(trace.calls), -1, np.int32)
    for thread in np.unique(ranges.thread):
        mine = np.flatnonzero(ranges.thread == thread)
        calls = np.flatnonzero(trace.calls.thread == thread)
        place = np.searchsorted(ranges.start[mine], trace.calls.start[calls], side="right") - 1
        inside = (place >= 0) & (trace.calls.end[calls] <= ranges.end[mine[place]])
        of_call[calls[inside]] = ranges.name[mine[place[inside]]]
    keys = [
        ("", None) if match is None else (match["name"] or f"{match['op']}_{match['number']}", match["op"])
        for match in found
    ]
    return np.where(call >= 0, of_call[call], -1).astype(np.int32), keys


def _by_name(
    analysis: Analysis,
    chains: Chains,
    model: ModelNodes,
    name_of_work: NDArray[np.int32],
    keys: Sequence[tuple[str, str | None]],
) -> Assignment:
    """The graph whose runs take most time of those that are of this model."""
    found = [model.find(name, op) for name, op in keys]
    node_of_name = np.array([-1 if place is None else place for place in found], np.int32)
    graph, fit = _graph_of(analysis, name_of_work, keys, model)
    if graph is None:
        return _none(
            BY_NAME, chains, f"the trace names its nodes, and they are not those of this model ({fit:.0%} fit)"
        )
    name = name_of_work[chains.rows]
    mine = np.repeat(analysis.evidence.runs.graph[chains.run] == graph, np.diff(chains.first)) & (name >= 0)
    nodes = np.where(mine, node_of_name[name], -1).astype(np.int32)
    return Assignment(BY_NAME, graph, nodes, fit)


def _graph_of(
    analysis: Analysis, name_of_work: NDArray[np.int32], keys: Sequence[tuple[str, str | None]], model: ModelNodes
) -> tuple[int | None, float]:
    """The graph whose nodes fit the model best, of equal ones that which takes most time, and how well it fits.

    Exporters give the same names to nodes of different models: some names in common say nothing.
    """
    runs, works = analysis.evidence.runs, analysis.trace.works
    rows = np.flatnonzero((runs.of_work >= 0) & (name_of_work >= 0))
    graph = runs.graph[runs.of_work[rows]]
    time = np.bincount(graph, works.end[rows] - works.start[rows], len(analysis.graph_figures))
    pairs = np.unique(graph * len(keys) + name_of_work[rows])
    traced: dict[int, set[tuple[str, str | None]]] = {}
    for number, key in zip((pairs // len(keys)).tolist(), (pairs % len(keys)).tolist(), strict=True):
        traced.setdefault(number, set()).add(keys[key])
    knows_operators = all(op is not None for name, op in keys if name)
    best: tuple[float, float, int] | None = None
    for nodes in model.named(on_gpu=all(device.gpu for device in analysis.trace.devices)):
        wanted = nodes if knows_operators else {(name, None) for name, _ in nodes}
        for number, names in traced.items():
            candidate = len(names & wanted) / len(names | wanted), float(time[number]), number
            best = candidate if best is None else max(best, candidate)
    if best is None or best[0] < LEAST_FIT:
        return None, best[0] if best else 0.0
    return best[2], best[0]


def _none(how: str, chains: Chains, reason: str) -> Assignment:
    return Assignment(how, None, np.full(len(chains.rows), -1, np.int32), 0.0, reason)


# ---- by class sequence


@dataclass(frozen=True)
class _Steps:
    """A sequence of works or nodes, cut into chains.

    Attributes:
        chains: For each chain its classes.
        kernels: How many kernels lie in each kind of chain, and how many of each class lie in none.
    """

    chains: list[tuple[str, ...]]
    kernels: Counter[tuple[str, ...]]

    @staticmethod
    def of(classes: Sequence[str], chains: Sequence[Sequence[int]]) -> _Steps:
        """CLASSES of all, and the places of CHAINS in them."""
        inside = {place for chain in chains for place in chain}
        alone: Counter[tuple[str, ...]] = Counter((name,) for place, name in enumerate(classes) if place not in inside)
        kinds = [tuple(classes[place] for place in chain) for chain in chains]
        for kind in kinds:
            alone[kind] += len(kind)
        return _Steps(kinds, alone)

    def fit(self, other: _Steps) -> float:
        """From 0 to 1: how many kernels lie in chains that both have, of all that either has."""
        either = (self.kernels | other.kernels).total()
        return (self.kernels & other.kernels).total() / either if either else 0.0


def _by_class(analysis: Analysis, chains: Chains, classes: Sequence[str], model: ModelNodes) -> Assignment:
    """The graph, and the order of the nodes, that fit best."""
    runs = analysis.evidence.runs
    orders = [order for order in (model.in_file_order(), model.as_executed()) if order]
    best: tuple[float, int, int] | None = None
    traced: dict[int, _Steps] = {}
    wanted = [_steps_of_nodes(order) for order in orders]
    most = max(map(len, orders), default=0) / LEAST_FIT  # kernels of a run that could fit
    for graph, figures in enumerate(analysis.graph_figures):
        measured = np.flatnonzero(runs.measured & (runs.graph == graph))
        if not len(measured) or figures.kernels_per_instance > most:
            continue
        traced[graph] = _steps_of_run(analysis, chains, classes, int(measured[0]))
        for number, steps in enumerate(wanted):
            fit = traced[graph].fit(steps)
            if best is None or fit > best[0]:
                best = fit, graph, number
    if best is None or best[0] < LEAST_FIT:
        reason = "the trace names no nodes, and its kernels are not of the classes that this model's nodes have"
        if best is not None:
            fit, graph, number = best
            kernels, nodes = traced[graph].kernels.total(), wanted[number].kernels.total()
            name = analysis.graph_figures[graph].name
            reason += f" ({fit:.0%} fit: a run of {name} has {kernels:,} kernels, this model {nodes:,} nodes)"
        return _none(BY_CLASS, chains, reason)
    fit, graph, number = best
    kinds, reasons = _equal_chains(traced[graph].chains, wanted[number].chains)
    places = [place for _, place in _of_kernels(orders[number])]
    nodes_of = {
        kind: np.array([[places[step] for step in chain] for chain in _chains_of_kind(orders[number], kind)], np.int32)
        for kind in kinds
    }
    return Assignment(
        how=BY_CLASS,
        graph=graph,
        nodes=_nodes(analysis, chains, classes, graph, nodes_of),
        certainty=fit,
        reasons=reasons,
        repetitions={kind: len(places) for kind, places in nodes_of.items()},
    )


def _of_kernels(order: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Class and place of the nodes of ORDER that run kernels; what only fills memory is no step of the model."""
    named = [(operator_class(op_type), place) for op_type, place in order]
    return [(op_class, place) for op_class, place in named if op_class != "memory"]


def _steps_of_nodes(order: Sequence[tuple[str, int]]) -> _Steps:
    classes = [op_class for op_class, _ in _of_kernels(order)]
    return _Steps.of(classes, chains_of(classes))


def _chains_of_kind(order: Sequence[tuple[str, int]], kind: tuple[str, ...]) -> list[range]:
    classes = [op_class for op_class, _ in _of_kernels(order)]
    return [chain for chain in chains_of(classes) if tuple(classes[step] for step in chain) == kind]


def _steps_of_run(analysis: Analysis, chains: Chains, classes: Sequence[str], run: int) -> _Steps:
    """The kernels of one run, in the order of the device."""
    works, timeline = analysis.trace.works, analysis.evidence.timeline
    in_order = timeline.order[analysis.evidence.runs.of_work[timeline.order] == run]
    in_order = in_order[works.kind[in_order] == WorkKind.KERNEL]
    kernels = [row for row in in_order.tolist() if classes[works.name[row]] != "memory"]
    place_of = {row: place for place, row in enumerate(kernels)}
    mine = np.flatnonzero(chains.run == run).tolist()
    rows = [chains.rows[chains.first[chain] : chains.first[chain + 1]].tolist() for chain in mine]
    places = sorted([place_of[row] for row in chain] for chain in rows)
    return _Steps.of([classes[works.name[row]] for row in kernels], places)


def _equal_chains(
    traced: Sequence[tuple[str, ...]], wanted: Sequence[tuple[str, ...]]
) -> tuple[list[tuple[str, ...]], dict[tuple[str, ...], str]]:
    """The sequences of classes whose chains are certain to be the same in both, and why the others are not."""
    in_trace, in_model = Counter(traced), Counter(wanted)
    kinds: list[tuple[str, ...]] = []
    reasons: dict[tuple[str, ...], str] = {}
    # The longest say most about where they belong.
    for kind in sorted(in_trace, key=lambda kind: (-len(kind) * in_trace[kind], kind)):
        if not in_model[kind]:
            reasons[kind] = "this model has no nodes of these classes one behind the other"
        elif in_trace[kind] != in_model[kind]:
            reasons[kind] = f"{in_trace[kind]} times in a run, {in_model[kind]} times in this model"
        else:
            both = {*kinds, kind}
            if [each for each in traced if each in both] == [each for each in wanted if each in both]:
                kinds.append(kind)
            else:
                reasons[kind] = "it stands in another order than in this model"
    return kinds, reasons


def _nodes(
    analysis: Analysis,
    chains: Chains,
    classes: Sequence[str],
    graph: int,
    nodes_of: dict[tuple[str, ...], NDArray[np.int32]],
) -> NDArray[np.int32]:
    """Shape (kernels in chains,): the nodes of the matched chains of every run of the graph, in their order."""
    code = {name: number for number, name in enumerate(OP_CLASSES)}
    class_of_row = np.array([code[name] for name in classes], np.int32)[analysis.trace.works.name[chains.rows]]
    start = analysis.trace.works.start[chains.rows]
    first, sizes = chains.first[:-1], np.diff(chains.first)
    mine = analysis.evidence.runs.graph[chains.run] == graph
    nodes = np.full(len(chains.rows), -1, np.int32)
    for kind, places in nodes_of.items():
        like = np.flatnonzero(mine & (sizes == len(kind)))
        rows = first[like, None] + np.arange(len(kind))
        equal = (class_of_row[rows] == [code[name] for name in kind]).all(axis=1)
        like, rows = like[equal], rows[equal]
        order = np.lexsort((start[first[like]], chains.run[like]))
        _, begin, count = np.unique(chains.run[like[order]], return_index=True, return_counts=True)
        rank = np.arange(len(order)) - np.repeat(begin, count)
        whole = np.repeat(count == len(places), count)
        nodes[rows[order[whole]]] = places[rank[whole]]
    return nodes

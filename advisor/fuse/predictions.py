"""What a trace predicts that fusions save: its candidates, matched with the nodes of the model that is fused.

A candidate's saving is that of its whole chain. A fusion takes some of the nodes in it: predicted for it are, of every
work in the chain whose node and whose predecessor's node it takes, at least the fusible gap before, at most that plus
the work's own time; medians over the runs, as for candidates. Nodes that are no neighbours in a chain predict nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from advisor.fuse.executed import ModelNodes
from advisor.fuse.trace_nodes import assign
from advisor.measure.session import CUDA, TENSORRT
from advisor.trace.analyze import analyze
from advisor.trace.candidates import medians_per_run
from advisor.trace.chains import find_chains
from advisor.trace.readers import read_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import onnx_ir as ir

    from advisor.fuse.trace_nodes import Assignment
    from advisor.trace.analysis import Analysis
    from advisor.trace.candidates import Candidate, Saving
    from advisor.trace.chains import Chains
    from advisor.trace.trace import Trace

__all__ = ["Matched", "Predicted", "Predictions", "Unmatched", "match", "predict"]


class Predicted(NamedTuple):
    """What a trace predicts that fusing some nodes saves."""

    saving_ns: Saving
    """At least and at most, ns per run."""
    source: str
    """How the nodes were found in the trace: `by name`, or `by class sequence, 12 of 12 repetitions`."""


@dataclass(frozen=True)
class Matched:
    """A candidate of the trace whose works are known to be of nodes of the model.

    Attributes:
        candidate: The candidate.
        nodes: For each of its occurrences in a run the nodes of the model that are in it, named as in a fusion.
        how: `by name`, or `by class sequence, 12 of 12 repetitions`.
        certainty: From 0 to 1: of the nodes (by name) or kernels (by class) of the run and the model those in both.
    """

    candidate: Candidate
    nodes: tuple[tuple[str, ...], ...]
    how: str
    certainty: float


@dataclass(frozen=True)
class Unmatched:
    """A candidate whose nodes are not known, and why."""

    candidate: Candidate
    reason: str


@dataclass(frozen=True)
class Predictions:
    """What a trace says about the nodes of a model.

    Attributes:
        path: The trace's file.
        kind: Its format, as in `advisor analyze`.
        device: What it was recorded on: a GPU's name where the trace has it.
        on_gpu: That is a GPU.
        graph: The graph of the trace that is the model; None where none is.
        reason: Why none is; empty where one is.
        matched: Candidates of the trace found in the model, those with the largest saving first.
        unmatched: Candidates that were not.
        links: Of each two nodes that ran one behind the other in a chain what fusing the second saves.
    """

    path: Path
    kind: str
    device: str
    on_gpu: bool
    graph: str | None
    reason: str
    matched: tuple[Matched, ...]
    unmatched: tuple[Unmatched, ...]
    links: Mapping[tuple[str, str], Predicted]

    def of(self, sites: Iterable[Sequence[str]]) -> Predicted | None:
        """What fusing each of SITES, given by the names of its nodes, saves; None where the trace does not tell.

        Nothing counts twice where sites overlap.
        """
        found: dict[tuple[str, str], Predicted] = {}
        for site in sites:
            nodes = set(site)
            found |= {pair: link for pair, link in self.links.items() if nodes.issuperset(pair)}
        if not found:
            return None
        low, high = (sum(link.saving_ns[end] for link in found.values()) for end in (0, 1))
        return Predicted((low, high), "; ".join(sorted({link.source for link in found.values()})))

    def notes(self, provider: str, machine: str) -> Iterator[str]:
        """What a reader has to know about predictions beside what was measured with PROVIDER on MACHINE's GPU."""
        if self.graph is None:
            return
        here = provider in {CUDA, TENSORRT}
        apart = "predicted and measured savings are of different machines"
        if self.on_gpu != here:
            yield f"the trace was recorded on {self.device}, everything here ran on {provider}: {apart}"
        elif here and self.device not in {"a GPU", *([] if self.device not in machine else [self.device])}:
            yield f"the trace was recorded on {self.device}, this machine has {machine}: {apart}"
        if self.kind == "ort-profile":
            yield "ONNX Runtime's profiler takes several µs a node, which the predictions from its profile include"

    def to_dict(self) -> dict[str, Any]:
        """`trace` in advisor.fusion/1."""
        return {
            "path": str(self.path),
            "kind": self.kind,
            "device": self.device,
            "graph": self.graph,
            "reason": self.reason,
            "matched": [
                _listed(match.candidate)
                | {"nodes": [list(nodes) for nodes in match.nodes], "how": match.how, "certainty": match.certainty}
                for match in self.matched
            ],
            "unmatched": [_listed(rest.candidate) | {"reason": rest.reason} for rest in self.unmatched],
        }


def _listed(candidate: Candidate) -> dict[str, Any]:
    return {
        "graph": candidate.graph,
        "kernels": list(candidate.kernels),
        "op_classes": list(candidate.op_classes),
        "occurrences": candidate.occurrences,
        "saving_ns": list(candidate.saving_ns),
    }


def predict(model: ir.Model, path: Path, progress: Callable[[str], None] | None = None) -> Predictions:
    """Read a trace and find the nodes of MODEL in it.

    Args:
        model: As `advisor.fuse.model.load` gives it; it is only read.
        path: The trace, in any format that `advisor analyze` reads.
        progress: Called with a few words before each longer step.

    Raises:
        BadInput: The file is no trace.
        CannotDecide: It does not tell when the device worked.
    """
    say = progress or (lambda _: None)
    say("reading the trace")
    return match(model, analyze(read_trace(path)), say)


def match(model: ir.Model, analysis: Analysis, progress: Callable[[str], None] | None = None) -> Predictions:
    """The same from an analysis."""
    trace = analysis.trace
    class_of = {row.name: row.op_class for row in analysis.kernel_figures}
    classes = [class_of.get(name, "other") for name in trace.work_names]
    chains = find_chains(trace, analysis.evidence, classes)
    nodes = ModelNodes.of(model)
    if progress is not None:
        progress("looking for the model's nodes in the trace")
    assignment = assign(analysis, chains, classes, nodes)
    matched, unmatched = _candidates(analysis, chains, assignment, nodes)
    device, on_gpu = _device(trace)
    return Predictions(
        path=trace.path,
        kind=trace.kind,
        device=device,
        on_gpu=on_gpu,
        graph=None if assignment.graph is None else analysis.graph_figures[assignment.graph].name,
        reason=assignment.reason,
        matched=matched,
        unmatched=unmatched,
        links=_links(analysis, chains, assignment, nodes, classes),
    )


def _device(trace: Trace) -> tuple[str, bool]:
    if not all(device.gpu for device in trace.devices):
        return "a CPU", False
    names = sorted({device.name for device in trace.devices if device.name})
    return ", ".join(names) or "a GPU", True


def _candidates(
    analysis: Analysis, chains: Chains, assignment: Assignment, model: ModelNodes
) -> tuple[tuple[Matched, ...], tuple[Unmatched, ...]]:
    """The candidates, by whether their nodes are known."""
    if assignment.graph is None:
        return (), tuple(Unmatched(candidate, assignment.reason) for candidate in analysis.candidates)
    owner = analysis.graph_figures[assignment.graph]
    found = _node_chains(analysis, chains, assignment, model)
    matched, unmatched = [], []
    for candidate in analysis.candidates:
        if (candidate.graph, candidate.variant) != (owner.name, owner.variant):
            unmatched.append(Unmatched(candidate, f"not in the graph that is this model, {owner.name}"))
        elif candidate.kernels in found:
            how = assignment.how_of(candidate.op_classes)
            matched.append(Matched(candidate, tuple(found[candidate.kernels]), how, assignment.certainty))
        else:
            reason = assignment.reasons.get(candidate.op_classes, "no two nodes of this model are neighbours in it")
            unmatched.append(Unmatched(candidate, reason))
    return tuple(matched), tuple(unmatched)


def _node_chains(
    analysis: Analysis, chains: Chains, assignment: Assignment, model: ModelNodes
) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """By the kernels of a chain: the nodes in each such chain of one run, where two neighbours are known."""
    runs, trace = analysis.evidence.runs, analysis.trace
    measured = np.flatnonzero(runs.measured & (runs.graph == assignment.graph))
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for chain in np.flatnonzero(chains.run == measured[0]).tolist():
        part = slice(chains.first[chain], chains.first[chain + 1])
        nodes = assignment.nodes[part].tolist()
        if any(before >= 0 and node >= 0 for before, node in pairwise(nodes)):
            kernels = tuple(trace.work_names[name] for name in trace.works.name[chains.rows[part]].tolist())
            known = dict.fromkeys(node for node in nodes if node >= 0)  # a node may run several kernels
            found.setdefault(kernels, []).append(tuple(model.labels[node] for node in known))
    return found


def _links(
    analysis: Analysis, chains: Chains, assignment: Assignment, model: ModelNodes, classes: Sequence[str]
) -> dict[tuple[str, str], Predicted]:
    """What fusing each node with the one that ran before it saves."""
    if assignment.graph is None:
        return {}
    runs, works = analysis.evidence.runs, analysis.trace.works
    chain_of = np.repeat(np.arange(len(chains)), np.diff(chains.first))
    run = chains.run[chain_of]
    inner = np.flatnonzero((np.diff(chain_of, prepend=-1) == 0) & runs.measured[run])
    inner = inner[(assignment.nodes[inner] >= 0) & (assignment.nodes[inner - 1] >= 0)]
    pair = assignment.nodes[inner - 1].astype(np.int64) * len(model.labels) + assignment.nodes[inner]
    pairs, example, kind = np.unique(pair, return_index=True, return_inverse=True)
    gap = chains.gap[inner]
    columns = (gap, gap + chains.own[inner])
    count = int((runs.measured & (runs.graph == assignment.graph)).sum())
    low, high = medians_per_run(kind, run[inner], len(runs.graph), columns, np.full(len(pairs), count))
    links = {}
    for index, both in enumerate(pairs.tolist()):
        chain = chain_of[inner[example[index]]]
        kernels = works.name[chains.rows[chains.first[chain] : chains.first[chain + 1]]]
        how = assignment.how_of(tuple(classes[name] for name in kernels.tolist()))
        before, node = (model.labels[place] for place in divmod(both, len(model.labels)))
        links[before, node] = Predicted((int(low[index]), int(high[index])), how)
    return links

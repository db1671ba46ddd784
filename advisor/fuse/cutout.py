"""A place of a model as a small model of its own: the nodes in question and those around them.

What a fusion is worth depends on its neighbours: ONNX Runtime fuses, and chooses layouts, by what stands beside. So a
cut goes on over light operators and ends with the next heavy ones, which are in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import onnx_ir as ir

from advisor.fuse.edits import values_in
from advisor.fuse.executed import ModelNodes
from advisor.fuse.model import clone
from advisor.fuse.rewrite import rewrite
from advisor.fuse.scope import Facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["HEAVY", "Cutout", "Cutter"]

# fmt: off
HEAVY = frozenset({
    "Attention", "Conv", "ConvInteger", "ConvTranspose", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "Einsum",
    "FusedConv", "FusedGemm", "FusedMatMul", "GRU", "Gemm", "LSTM", "MatMul", "MatMulInteger", "MatMulNBits",
    "MultiHeadAttention", "QLinearConv", "QLinearMatMul", "RNN",
})
# fmt: on
"""Operators whose work outweighs what lies between them."""
REACH = 8
"""Steps from the place over light operators: a LayerNormalization in its parts is that long."""

MOST_NODES = 24
"""Nodes after which a part grows no more: chains of residual connections go through a whole model."""


@dataclass(frozen=True)
class Cutout:
    """A part of a model.

    Attributes:
        model: The part, as a model whose inputs and outputs are named as in the whole.
        inputs: Values that the whole model computes and the part reads.
        outputs: Values that the part computes and the rest of the model reads.
        nodes: Its nodes, named as in a site.
    """

    model: ir.Model
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: frozenset[str]


class Cutter:
    """Cuts places out of a model, which is only read."""

    def __init__(self, original: ir.Model, *, provider: str) -> None:
        self.model = clone(original)
        rewrite(self.model, (), provider=provider)  # calls of functions become their bodies, as for every rule
        self.nodes = ModelNodes.of(self.model)
        self._facts = Facts(self.model)

    @cached_property
    def _places(self) -> dict[str, ir.Node]:
        return dict(zip(self.nodes.labels, self.nodes.nodes, strict=True))

    @cached_property
    def labels(self) -> dict[ir.Node, str]:
        """How sites name each node."""
        return dict(zip(self.nodes.nodes, self.nodes.labels, strict=True))

    def around(self, names: Iterable[str]) -> frozenset[ir.Node]:
        """The nodes NAMES, named as in a site, and those around; empty where some are in no main graph."""
        found = [self._places.get(name) for name in names]
        site = frozenset(node for node in found if node is not None and node.graph is self.model.graph)
        if len(site) < len(found):
            return frozenset()
        region = set(site)
        for neighbours in (_producers, _users):
            frontier = site
            for _ in range(REACH):
                near = (other for node in frontier for other in neighbours(node))
                frontier = frozenset(node for node in near if node not in region and self._is_movable(node))
                region |= frontier
                if len(region) >= MOST_NODES:
                    break
                frontier = frozenset(node for node in frontier if node.op_type not in HEAVY)
        return frozenset(region)

    def cut(self, region: frozenset[ir.Node]) -> Cutout | None:
        """REGION as a model; None where it cannot be one, or would be most of the whole."""
        if not region or 2 * len(region) > len(self.nodes.nodes):
            return None
        inputs = dict.fromkeys(
            value
            for node in self.nodes.nodes
            if node in region
            for value in node.inputs
            if value is not None and value.producer() not in region and not _is_weight(value)
        )
        outputs = [
            value
            for node in self.nodes.nodes
            if node in region
            for value in node.outputs
            if value.is_graph_output() or any(user not in region for user, _ in value.uses())
        ]
        known = {value: self._facts[value] for value in inputs}
        if not outputs or any(fact.dtype is None or not value.name for value, fact in known.items()):
            return None
        try:
            graph = ir.convenience.extract(self.model.graph, list(inputs), outputs)
        except ValueError:  # not bounded by these values, such as by way of a body
            return None
        for value, fact in zip(graph.inputs, known.values(), strict=True):
            assert fact.dtype is not None
            value.type = ir.TensorType(fact.dtype)
            value.shape = None if fact.dims is None else ir.Shape(fact.dims)
        part = _alone(graph, self.model)
        names = tuple(value.name or "" for value in graph.inputs), tuple(value.name or "" for value in graph.outputs)
        return Cutout(part, *names, frozenset(self.labels[node] for node in region))

    def between(self, part: Cutout, changed: ir.Model) -> ir.Model | None:
        """What CHANGED, another version of the whole model, has in the place of PART: between the same values.

        None where one of the outputs is not there any more.
        """
        graph = changed.graph
        there = {value.name for value in values_in(graph)}
        if not there.issuperset(part.outputs):
            return None
        try:
            graph = ir.convenience.extract(graph, [name for name in part.inputs if name in there], part.outputs)
        except ValueError:
            return None
        own = {value.name: value for value in graph.inputs}
        given = [(value, own.get(value.name) or ir.Value(name=value.name)) for value in part.model.graph.inputs]
        for value, twin in given:  # also what is read no more: both are fed alike
            twin.type, twin.shape = value.type, value.shape
        graph.inputs[:] = [twin for _, twin in given]
        return _alone(graph, changed)

    def _is_movable(self, node: ir.Node) -> bool:
        """Whether a cut may take NODE in."""
        return (
            node.graph is self.model.graph
            and (node.domain, node.op_type) != ("", "Constant")
            and node.op_identifier() not in self.model.functions
            and not any(attribute.type in _BODIES for attribute in node.attributes.values())
        )


def _alone(graph: ir.Graph, whole: ir.Model) -> ir.Model:
    """GRAPH, extracted from WHOLE, as a model."""
    for value in graph.outputs:
        value.shape = None  # what a model says of values inside may be stale
    graph.opset_imports.update(whole.opset_imports)
    return ir.Model(graph, ir_version=whole.ir_version)


_BODIES = {ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS}


def _producers(node: ir.Node) -> Iterator[ir.Node]:
    for value in node.inputs:
        producer = None if value is None else value.producer()
        if producer is not None:
            yield producer


def _users(node: ir.Node) -> Iterator[ir.Node]:
    for value in node.outputs:
        yield from (user for user, _ in value.uses())


def _is_weight(value: ir.Value) -> bool:
    """Whether VALUE is the same in every run."""
    producer = value.producer()
    if producer is not None:
        return (producer.domain, producer.op_type) == ("", "Constant")
    return value.is_initializer() and not value.is_graph_input()

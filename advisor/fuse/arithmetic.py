"""What the numbers of a value were computed in: it decides how tightly the value can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from advisor.fuse.difference import QUANTIZED

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Arithmetic", "is_product", "is_quantizer", "products"]

FUSED = frozenset({"QAttention", "QEmbedLayerNormalization", "QGemm"})
"""Quantisers of ONNX Runtime that the name does not tell."""
HALF = {ir.DataType.BFLOAT16: "bfloat16", ir.DataType.FLOAT16: "float16"}
"""Types with fewer digits than most outputs, the coarsest first."""


def is_quantizer(node: ir.Node) -> bool:
    """Whether NODE rounds to integers, so that a last bit of what it reads decides between two of them."""
    return "Quantize" in node.op_type or node.op_type.startswith("QLinear") or node.op_type in FUSED


def is_product(node: ir.Node) -> bool:
    """Whether NODE multiplies quantised numbers, exactly: what it gives moves by steps of what it reads."""
    return node.op_type.endswith("Integer")


def products(model: ir.Model) -> frozenset[str]:
    """Outputs of MODEL that are sums of products of quantised numbers; a part of a model may have some."""
    producers = {value.name or "": value.producer() for value in model.graph.outputs}
    return frozenset(name for name, node in producers.items() if node is not None and is_product(node))


class Arithmetic:
    """What feeds the values of a model's main graph: quantisers, and numbers of half precision.

    What a quantiser reads is not looked at: an integer has no digits of it.
    """

    def __init__(self, model: ir.Model) -> None:
        """Look at nothing yet; MODEL is only read."""
        self._model = model
        self._values = {value.name: value for node in model.graph for value in node.outputs}
        self._of_nodes: dict[ir.Node, frozenset[str]] = {}
        self._of_functions: dict[ir.OperatorIdentifier, frozenset[str]] = {}

    def of(self, name: str) -> str | None:
        """`quantized`, `float16` or `bfloat16` where such numbers feed the value NAME, the coarsest of them."""
        found = self._feeding(name)
        return QUANTIZED if QUANTIZED in found else _coarsest(found)

    def precision(self, name: str) -> str | None:
        """The coarsest floating-point type behind the last quantisers, where that may be coarser than the value's."""
        return _coarsest(self._feeding(name))

    def of_outputs(self, *, quantized: bool = True) -> dict[str, str]:
        """`of` for each output that something coarse feeds; `precision` where QUANTIZED is false."""
        tell = self.of if quantized else self.precision
        found = {value.name or "": tell(value.name or "") for value in self._model.graph.outputs}
        return {name: each for name, each in found.items() if each is not None}

    def anywhere(self) -> str | None:
        """The coarsest floating-point type that any node computes in."""
        return _coarsest(frozenset().union(*(self._own(node) for node in self._model.graph)))

    def _feeding(self, name: str) -> frozenset[str]:
        value = self._values.get(name)
        producer = None if value is None else value.producer()
        if producer is None:
            return frozenset()
        waiting = [producer]
        while waiting:
            node = waiting[-1]
            sources = [] if is_quantizer(node) else list(self._sources(node))
            unknown = [source for source in sources if source not in self._of_nodes]
            if unknown:
                waiting += unknown
            else:
                self._of_nodes[node] = self._own(node).union(*(self._of_nodes[source] for source in sources))
                waiting.pop()
        return self._of_nodes[producer]

    def _sources(self, node: ir.Node) -> Iterator[ir.Node]:
        """The nodes of the main graph that NODE reads, its bodies included."""
        for inner in _with_bodies(node):
            for value in inner.inputs:
                producer = None if value is None else value.producer()
                if producer is not None and producer.graph is self._model.graph:
                    yield producer

    def _own(self, node: ir.Node) -> frozenset[str]:
        """What NODE computes in by itself, with its bodies and functions."""
        found: set[str] = set()
        for inner in _with_bodies(node):
            if is_quantizer(inner):
                found.add(QUANTIZED)
                continue
            if is_product(inner):
                found.add(QUANTIZED)
            if inner.op_type == "Cast":
                found.update(_half(inner.attributes.get_int("to", 0)))
            else:  # a Cast of weights or inputs only widens them
                found.update(each for value in inner.inputs if value is not None for each in _half(value.dtype))
            found.update(each for value in inner.outputs for each in _half(value.dtype))
            found |= self._function(inner.op_identifier())
        return frozenset(found)

    def _function(self, name: ir.OperatorIdentifier) -> frozenset[str]:
        if name not in self._model.functions:
            return frozenset()
        if name not in self._of_functions:
            self._of_functions[name] = frozenset()  # functions do not call themselves
            nodes = self._model.functions[name].graph
            self._of_functions[name] = frozenset().union(*(self._own(node) for node in nodes))
        return self._of_functions[name]


def _with_bodies(node: ir.Node) -> Iterator[ir.Node]:
    yield node
    for attribute in node.attributes.values():
        if attribute.type is ir.AttributeType.GRAPH:
            yield from attribute.as_graph().all_nodes()
        elif attribute.type is ir.AttributeType.GRAPHS:
            for graph in attribute.as_graphs():
                yield from graph.all_nodes()


def _half(dtype: int | None) -> Iterator[str]:
    for half, name in HALF.items():
        if dtype == half:
            yield name


def _coarsest(found: frozenset[str]) -> str | None:
    return next((name for name in HALF.values() if name in found), None)

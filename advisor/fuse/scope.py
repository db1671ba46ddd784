"""What is certain about the values of one graph: constants, shapes, types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import onnx
import onnx_ir as ir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["OVERRIDABLE_SINCE", "Dims", "Facts", "Known", "Scope", "attribute"]

Dims = tuple[int | None, ...]
"""A shape; None is a dimension that only the run knows."""

OVERRIDABLE_SINCE = 4
"""From this IR version on, an initialiser that is also a graph input is a default that the caller may replace."""
LARGE_TENSOR = 4096
"""Bytes; larger weights are never shapes or axes, so shape inference need not see their values."""


@dataclass(frozen=True)
class Known:
    """What is certain about a tensor; None is what is not.

    Attributes:
        dtype: Element type.
        dims: Shape.
    """

    dtype: ir.DataType | None
    dims: Dims | None


NOTHING = Known(None, None)


class Facts:
    """What is certain about the values of a model; found out when first asked, which takes as long as a rewrite."""

    def __init__(self, model: ir.Model) -> None:
        self._model = model

    def __getitem__(self, value: ir.Value) -> Known:
        return self._known.get(value, NOTHING)

    def __setitem__(self, value: ir.Value, known: Known) -> None:
        self._known[value] = known

    @cached_property
    def _known(self) -> dict[ir.Value, Known]:
        return _infer(self._model)


@dataclass(frozen=True)
class Scope:
    """One graph (or body) under a rule's eyes.

    Attributes:
        graph: The graph that a fusion must stay inside.
        model: What the graph is part of.
        provider: Execution provider that will run the model, as ONNX Runtime names it.
        facts: Type and shape of values, as far as they follow from inputs and weights.
    """

    graph: ir.Graph
    model: ir.Model
    provider: str
    facts: Facts

    @property
    def opset(self) -> int:
        """Version of the standard operator set; 0 where the model uses none."""
        return self.model.opset_imports.get("", 0)

    def overridable(self, value: ir.Value) -> bool:
        """Whether VALUE is an initialiser whose value the caller may replace at run time."""
        return value.is_initializer() and value.is_graph_input() and self.model.ir_version >= OVERRIDABLE_SINCE

    def default(self, value: ir.Value) -> ir.TensorProtocol | None:
        """The tensor of an initialiser, overridable or not, or of a Constant node's output; None for other values."""
        if value.const_value is not None:
            return value.const_value
        node = value.producer()
        if (
            node is None
            or node.op_type != "Constant"
            or node.domain
            or any(a.is_ref() for a in node.attributes.values())
        ):
            return None
        return ir.convenience.get_const_tensor(value)

    def constant(self, value: ir.Value) -> NDArray[Any] | None:
        """The array that VALUE is in every run; None where it may differ."""
        tensor = None if self.overridable(value) else self.default(value)
        return None if tensor is None else tensor.numpy()

    def shape(self, value: ir.Value) -> Dims | None:
        """The shape of VALUE; None where not even the rank is certain."""
        return self.facts[value].dims

    def rank(self, value: ir.Value) -> int | None:
        """The number of dimensions of VALUE, if certain."""
        dims = self.shape(value)
        return None if dims is None else len(dims)

    def dtype(self, value: ir.Value) -> ir.DataType | None:
        """The element type of VALUE, if certain."""
        return self.facts[value].dtype


def attribute(node: ir.Node, name: str, opset: int) -> Any:
    """The value of an attribute of NODE, or the operator's default; None where it has neither or is a reference."""
    given = node.attributes.get(name)
    if given is not None:
        return None if given.is_ref() else given.value
    if node.domain or not onnx.defs.has(node.op_type):
        return None
    try:
        known = onnx.defs.get_schema(node.op_type, opset).attributes.get(name)
    except onnx.defs.SchemaError:
        return None
    if known is None or not known.default_value.name:
        return None
    default: ir.Attr = ir.serde.deserialize_attribute(known.default_value)
    return default.value


def _infer(model: ir.Model) -> dict[ir.Value, Known]:
    """Types and shapes that follow from the declared inputs, which ONNX Runtime enforces, and the weights.

    Shapes that MODEL declares for other values may be stale, and weights that a caller may override may change:
    inference sees neither.
    """
    bare = _without_claims(model)
    proto = ir.to_proto(bare)
    try:
        while True:
            bare = ir.from_proto(onnx.shape_inference.infer_shapes(proto, strict_mode=False, data_prop=True))
            if not _give_reshapes_a_rank(bare):
                break
            proto = ir.to_proto(bare)
    except Exception:  # whatever a model does to the inference: less is certain then
        bare = ir.from_proto(proto)
    pairs = zip(_computed(model), _computed(bare), strict=False)  # the copy has more inputs, at the end
    known = {value: Known(twin.dtype, _dims(twin)) for value, twin in pairs if isinstance(twin.type, ir.TensorType)}
    for graph in model.graphs():
        for value in graph.initializers.values():
            if value.const_value is not None and not value.is_graph_input():
                known[value] = Known(value.const_value.dtype, tuple(value.const_value.shape.numpy()))
    return known


def _give_reshapes_a_rank(model: ir.Model) -> bool:
    """Where only the run knows a Reshape's target, its length still is the result's rank, which ONNX leaves open."""
    found = False
    for node in model.graph.all_nodes():
        if node.op_type != "Reshape" or node.domain or len(node.inputs) != 2 or node.inputs[1] is None:
            continue
        target, result = _dims(node.inputs[1]), node.outputs[0]
        if result.shape is None and target is not None and len(target) == 1 and target[0] is not None:
            result.shape = ir.Shape([None] * target[0])
            found = True
    return found


def _computed(model: ir.Model) -> Iterator[ir.Value]:
    """Inputs and results of nodes, graph by graph, in an order that does not depend on names."""
    for graph in model.graphs():
        if graph is not model.graph:
            yield from graph.inputs
        for node in graph:
            yield from (value for value in node.outputs if value.name)
    yield from model.graph.inputs


def _dims(value: ir.Value) -> Dims | None:
    """The shape of VALUE; some exporters write an open dimension as -1."""
    if value.shape is None:
        return None
    return tuple(dim if isinstance(dim, int) and dim >= 0 else None for dim in value.shape)


def _without_claims(model: ir.Model) -> ir.Model:
    """A small copy of MODEL that says nothing about shapes except of inputs and weights."""
    copy = model.clone()
    overridable = model.ir_version >= OVERRIDABLE_SINCE
    for value in copy.graph.inputs:
        dims = _dims(value)
        value.shape = None if dims is None else ir.Shape(dims)
    for graph in copy.graphs():
        is_main = graph is copy.graph
        if not is_main:
            for value in graph.inputs:  # the shapes of a body's inputs may change from iteration to iteration
                value.shape = None
        for node in graph:
            for value in node.outputs:
                value.shape = None
        for name, value in list(graph.initializers.items()):
            tensor = value.const_value
            if tensor is None or not is_main:
                continue
            if (value.is_graph_input() and overridable) or tensor.nbytes > LARGE_TENSOR:
                del graph.initializers[name]
                value.const_value = None
                if not value.is_graph_input():
                    value.shape, value.dtype = ir.Shape(tensor.shape.numpy()), tensor.dtype
                    graph.inputs.append(value)
    return copy

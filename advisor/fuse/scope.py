"""What is certain about the values of one graph: constants, shapes, types."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import onnx
import onnx_ir as ir

from advisor.fuse.model import constant_tensor
from advisor.fuse.sizes import sizes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.fuse.sizes import Elements, Sizes

__all__ = ["CERTAIN", "OVERRIDABLE_SINCE", "Dims", "Facts", "Known", "Scope", "attribute"]

Dims = tuple[int | None, ...]
"""A shape; None is a dimension that only the run knows."""

OVERRIDABLE_SINCE = 4
"""From this IR version on, an initialiser that is also a graph input is a default that the caller may replace."""
CERTAIN = "advisor.certain"
"""Key of a value's `meta` store: what was certain before its node was fused into one that ONNX's shape inference does
not know. It goes with copies, and is never written into a model."""
LARGE_TENSOR = 4096
"""Bytes; larger weights are never shapes or axes, so shape inference need not see their values."""


@dataclass(frozen=True)
class Known:
    """What is certain about a tensor; None is what is not.

    Attributes:
        dtype: Element type.
        dims: Shape.
        sizes: Shape with a name for each dimension that only the run knows; equal names, equal sizes.
        elements: What a short row of integers holds, in the same names: a shape that the model computes.
    """

    dtype: ir.DataType | None
    dims: Dims | None
    sizes: Sizes | None = None
    elements: Elements | None = None


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
        return constant_tensor(node)

    def constant(self, value: ir.Value) -> NDArray[Any] | None:
        """The array that VALUE is in every run; None where it may differ."""
        tensor = None if self.overridable(value) else self.default(value)
        return None if tensor is None else tensor.numpy()

    def shape(self, value: ir.Value) -> Dims | None:
        """The shape of VALUE; None where not even the rank is certain."""
        return self.facts[value].dims

    def sizes(self, value: ir.Value) -> Sizes | None:
        """The shape of VALUE with names where only the run knows a size; those of one name are equal."""
        return self.facts[value].sizes

    def elements(self, value: ir.Value) -> Elements | None:
        """What VALUE, a shape that the model computes, holds: numbers, and names of sizes; None where it is no such."""
        return self.facts[value].elements

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
    proto = ir.to_proto(_without_claims(model))
    try:
        proto = onnx.shape_inference.infer_shapes(proto, strict_mode=False, data_prop=True)
        while _give_reshapes_a_rank(proto.graph):
            proto = onnx.shape_inference.infer_shapes(proto, strict_mode=False, data_prop=True)
    except Exception:  # noqa: S110 - whatever a model does to the inference: less is certain then
        pass
    known: dict[ir.Value, Known] = {}
    _read(model.graph, proto.graph, known)
    sizes, elements = sizes_of(model.graph, _names(model.graph, proto.graph))
    for value in {**sizes, **elements}:
        found = known.get(value, NOTHING)
        known[value] = replace(found, sizes=sizes.get(value), elements=elements.get(value))
    return known


def _names(graph: ir.Graph, proto: onnx.GraphProto) -> dict[ir.Value, Sizes]:
    """The shapes that PROTO gives the values of GRAPH, with a name for each size that is not certain."""
    said = _said(proto)
    names: dict[ir.Value, Sizes] = {}
    for value in (*graph.inputs, *graph.initializers.values(), *(value for node in graph for value in node.outputs)):
        if value.const_value is not None and not value.is_graph_input():
            names[value] = tuple(value.const_value.shape.numpy())
        elif (info := said.get(value.name or "")) is not None and info.HasField("shape"):
            dims = enumerate(info.shape.dim)
            names[value] = tuple(
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param or f"{value.name}[{axis}]"
                for axis, dim in dims
            )
    return names


def _read(graph: ir.Graph, proto: onnx.GraphProto, known: dict[ir.Value, Known]) -> None:
    """Put what PROTO says about the values of GRAPH, and of the bodies in it, into KNOWN."""
    said = _said(proto)
    values = [*graph.inputs, *(value for node in graph for value in node.outputs)]
    for value in values:
        if (info := said.get(value.name or "")) is not None:
            dtype = ir.DataType(info.elem_type) if info.elem_type else None
            known[value] = Known(dtype, _dims(info.shape) if info.HasField("shape") else None)
    for value in graph.initializers.values():
        if value.const_value is not None and not value.is_graph_input():
            known[value] = Known(value.const_value.dtype, tuple(value.const_value.shape.numpy()))
    for node, twin in zip(graph, proto.node, strict=True):
        for attribute in twin.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _read(node.attributes[attribute.name].as_graph(), attribute.g, known)


def _said(proto: onnx.GraphProto) -> dict[str, onnx.TypeProto.Tensor]:
    """Types and shapes by name, of the values that are tensors."""
    infos = (*proto.input, *proto.value_info, *proto.output)
    return {info.name: info.type.tensor_type for info in infos if info.type.HasField("tensor_type")}


def _give_reshapes_a_rank(proto: onnx.GraphProto) -> bool:
    """Where only the run knows a Reshape's target, its length still is the result's rank, which ONNX leaves open."""
    said, found = _said(proto), False
    for node in proto.node:
        if node.op_type != "Reshape" or node.domain or len(node.input) != 2:
            continue
        target, result = said.get(node.input[1]), said.get(node.output[0])
        if target is None or result is None or result.HasField("shape"):
            continue
        length = _dims(target.shape)
        if len(length) == 1 and length[0] is not None:
            result.shape.dim.extend(onnx.TensorShapeProto.Dimension() for _ in range(length[0]))
            found = True
    return found


def _dims(shape: onnx.TensorShapeProto) -> Dims:
    return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in shape.dim)


def _without_claims(model: ir.Model) -> ir.Model:
    """A small copy of MODEL that says nothing about shapes except of inputs and weights."""
    copy = model.clone()
    overridable = model.ir_version >= OVERRIDABLE_SINCE
    for value in copy.graph.inputs:
        if value.shape is not None:  # some exporters write an open dimension as -1
            value.shape = ir.Shape([None if isinstance(dim, int) and dim < 0 else dim for dim in value.shape])
    for graph in copy.graphs():
        is_main = graph is copy.graph
        if not is_main:
            for value in graph.inputs:  # the shapes of a body's inputs may change from iteration to iteration
                value.shape = None
        for node in graph:
            for value in node.outputs:
                certain: Known = value.meta.get(CERTAIN, NOTHING)
                value.shape = None
                if certain.dtype is not None:
                    value.type = ir.TensorType(certain.dtype)
                    value.shape = None if certain.dims is None else ir.Shape(certain.dims)
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

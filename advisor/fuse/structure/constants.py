"""What values of a model are in every run: weights, and what is computed from nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_ir as ir

from advisor.fuse.randomness import RANDOM
from advisor.fuse.scope import OVERRIDABLE_SINCE, Facts, Scope, attribute
from advisor.measure.session import CPU, Level, NotRunnable, open_session, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Constants"]

LIMIT = 1 << 20
"""Bytes. Larger constants stay computed: a file should not grow, and ONNX Runtime computes them once while loading."""
KEPT = frozenset({"Dropout", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"})
"""Never computed: whether the first one drops anything is another question, and quantised kernels need the others."""
NUMBERS = frozenset(
    dtype
    for dtype in ir.DataType
    if dtype is ir.DataType.BOOL or re.fullmatch(r"U?INT(8|16|32|64)|FLOAT(16)?|DOUBLE", dtype.name)
)
"""Types that NumPy has as well."""
BODIES = frozenset({ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS})


class Constants:
    """Constant values of a model, found out when first asked.

    Nodes are run one by one on ONNX Runtime, on the CPU without optimisation: what the original is verified against.
    """

    def __init__(self, model: ir.Model) -> None:
        self._model = model
        self._facts = Facts(model)
        self._scope = Scope(model.graph, model, CPU, self._facts)
        self._known: dict[ir.Value, NDArray[Any] | None] = {}

    def __getitem__(self, value: ir.Value) -> NDArray[Any] | None:
        """The array that VALUE is in every run; None where it may differ, is large, or is not made of plain numbers."""
        if value not in self._known:
            self._known[value] = self._find(value)
        return self._known[value]

    def _find(self, value: ir.Value) -> NDArray[Any] | None:
        if self._scope.overridable(value):
            return None
        tensor = self._scope.default(value)
        if tensor is not None:
            return tensor.numpy() if tensor.nbytes <= LIMIT and tensor.dtype in NUMBERS else None
        node = value.producer()
        if node is None or node.domain or node.op_type in KEPT | RANDOM | {"Constant"}:
            return None
        if node.op_type in {"Shape", "Gather", "Size"} and (dims := self._dims(node)) is not None:
            return dims
        if any(a.is_ref() or a.type in BODIES for a in node.attributes.values()) or not any(node.inputs):
            return None
        inputs = [None if source is None else self[source] for source in node.inputs]
        if any(source is not None and array is None for source, array in zip(node.inputs, inputs, strict=True)):
            return None
        results = self._run(node, inputs)
        self._known.update(zip(node.outputs, results, strict=True))
        return self._known[value]

    def _dims(self, node: ir.Node) -> NDArray[Any] | None:
        """What Shape, Size, or Gather from a Shape give, as far as it does not depend on dynamic dimensions."""
        source = node.inputs[0]
        if node.op_type == "Gather":
            shape = None if source is None else source.producer()
            if shape is None or shape.domain or shape.op_type != "Shape" or node.inputs[1] is None:
                return None
            indices, dims = self[node.inputs[1]], self._shape(shape)
            if indices is None or dims is None or not ((indices >= -len(dims)) & (indices < len(dims))).all():
                return None
            picked = [dims[index] for index in indices.reshape(-1)]
            return None if None in picked else np.asarray(picked, np.int64).reshape(indices.shape)
        dims = self._shape(node)
        if dims is None or None in dims:
            return None
        array = np.asarray(dims, np.int64)
        return array if node.op_type == "Shape" else np.asarray(array.prod(), np.int64)

    def _shape(self, node: ir.Node) -> Sequence[int | None] | None:
        """Dimensions that a node Shape gives, or of the input of Size."""
        source = node.inputs[0]
        dims = None if source is None else self._facts[source].dims
        if dims is None or node.op_type == "Size":
            return dims
        start, end = (attribute(node, name, self._scope.opset) for name in ("start", "end"))
        return dims[start or 0 : end]

    def _run(self, node: ir.Node, arrays: Sequence[NDArray[Any] | None]) -> list[NDArray[Any] | None]:
        """What NODE computes from ARRAYS, by output."""
        nothing: list[NDArray[Any] | None] = [None] * len(node.outputs)
        weights = [
            None if array is None else ir.Value(name=f"x{n}", const_value=ir.tensor(array, name=f"x{n}"))
            for n, array in enumerate(arrays)
        ]
        wanted = [bool(value.name) for value in node.outputs]
        outputs = [ir.Value(name=f"y{n}" if is_wanted else "") for n, is_wanted in enumerate(wanted)]
        alone = ir.Node("", node.op_type, weights, list(node.attributes.values()), outputs=outputs)
        graph = ir.Graph(
            [],
            [value for value in outputs if value.name],
            nodes=[alone],
            initializers=[value for value in weights if value is not None],
            opset_imports={"": self._scope.opset},
            name="constant",
        )
        proto = ir.to_proto(ir.Model(graph, ir_version=max(self._model.ir_version, OVERRIDABLE_SINCE)))
        try:
            if not _is_small(proto):
                return nothing
            found = run(open_session(proto.SerializeToString(), level=Level.OFF, provider=CPU, threads=1), {})
        except (NotRunnable, onnx.shape_inference.InferenceError):
            return nothing
        results = [found.get(value.name or "") for value in outputs]
        return [
            array if isinstance(array, np.ndarray) and array.dtype.kind in "fiub" and array.nbytes <= LIMIT else None
            for array in results
        ]


def _is_small(proto: onnx.ModelProto) -> bool:
    """Whether it is safe to run: nothing that a few numbers (a shape, repeats) make as large as they like."""
    inferred = onnx.shape_inference.infer_shapes(proto, data_prop=True)
    for value in inferred.graph.output:
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if np.prod([float(dim) for dim in dims]) > LIMIT:
            return False
    return True

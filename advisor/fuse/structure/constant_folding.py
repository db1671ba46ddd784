"""What is computed from weights and known shapes alone is computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from advisor.fuse.structure.constants import Constants
from advisor.fuse.structure.structure import Structure

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CONSTANT_FOLDING"]


def _fold(model: ir.Model, _: str) -> None:
    constants = Constants(model)
    for graph in (model.graph, *model.graph.subgraphs()):
        for node in list(graph):
            used = [value for value in node.outputs if value.uses() or value.is_graph_output()]
            if node.op_type == "Constant" or not used:
                continue
            arrays = [constants[value] for value in used]
            if any(array is None for array in arrays):
                continue
            for value, array in zip(used, arrays, strict=True):
                if array is not None:
                    _replace(value, array, node, graph)
            graph.remove(node, safe=True)


def _replace(value: ir.Value, array: NDArray[Any], node: ir.Node, graph: ir.Graph) -> None:
    """Let everything that uses VALUE use a Constant of the same name.

    A Constant node rather than an initialiser: a graph's output may be one, and so may values of old IR versions.
    """
    constant = ir.node("Constant", [], {"value": ir.tensor(array, name=value.name)})
    new, name = constant.outputs[0], value.name
    new.type, new.shape = ir.TensorType(ir.DataType.from_numpy(array.dtype)), ir.Shape(array.shape)
    graph.insert_before(node, constant)
    value.replace_all_uses_with(new, replace_graph_outputs=True)
    value.name, new.name = None, name


CONSTANT_FOLDING = Structure(
    "constant-folding", "What is computed from weights and known shapes alone is computed once.", _fold
)

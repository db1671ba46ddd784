"""What is computed twice from the same values is computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx_ir.passes.common import CommonSubexpressionEliminationPass

from advisor.fuse.structure.structure import Structure
from advisor.fuse.transform import NotApplicable

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["COMMON_SUBEXPRESSIONS"]


def _merge(model: ir.Model, _: str) -> None:
    for node in model.graph.all_nodes():
        # onnx-ir knows the other random operators.
        if node.op_type == "Bernoulli" or (node.op_type == "Dropout" and len(node.inputs) > 2):
            raise NotApplicable(f"the model draws random numbers ({node.op_type}): two draws are not one")
    CommonSubexpressionEliminationPass()(model)


COMMON_SUBEXPRESSIONS = Structure(
    "common-subexpressions", "What is computed twice from the same values is computed once.", _merge
)

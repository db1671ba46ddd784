"""What is computed twice from the same values is computed once."""

from __future__ import annotations

from math import copysign

import onnx_ir as ir
from onnx_ir.passes.common import CommonSubexpressionEliminationPass

from advisor.fuse.legality import label
from advisor.fuse.randomness import drawing
from advisor.fuse.structure.structure import Structure
from advisor.fuse.transform import NotApplicable

__all__ = ["COMMON_SUBEXPRESSIONS"]


def _merge(model: ir.Model, _: str) -> None:
    if (node := drawing(model)) is not None:
        raise NotApplicable(f"the model draws random numbers ({label(node)}): two draws are not one")
    for node in model.graph.all_nodes():
        if any(_has_negative_zero(attribute) for attribute in node.attributes.values()):
            raise NotApplicable(f"{label(node)} has an attribute -0.0, which onnx-ir takes for 0.0")
    CommonSubexpressionEliminationPass()(model)


def _has_negative_zero(attribute: ir.Attr) -> bool:
    if attribute.is_ref() or attribute.type not in {ir.AttributeType.FLOAT, ir.AttributeType.FLOATS}:
        return False
    numbers = [attribute.value] if attribute.type is ir.AttributeType.FLOAT else attribute.value
    return any(number == 0 and copysign(1, number) < 0 for number in numbers)


COMMON_SUBEXPRESSIONS = Structure(
    "common-subexpressions", "What is computed twice from the same values is computed once.", _merge
)

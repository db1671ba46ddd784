"""Under which operator set a model may use an operator."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import onnx

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["opset_for"]

RAISED_FROM, RAISED_TO = 13, 17
"""Between these two every operator kept its meaning, except for the two below: types and attributes were added only."""


@cache
def first_opset(op_type: str) -> int:
    """The opset that brought a standard operator; 0 for an operator of ONNX Runtime's own."""
    versions = [
        known.since_version
        for known in onnx.defs.get_all_schemas_with_history()
        if known.name == op_type and not known.domain
    ]
    return min(versions, default=0)


def opset_for(op_type: str, model: ir.Model) -> int | str:
    """The standard opset under which MODEL may have an OP_TYPE without meaning anything else; or why there is none."""
    opset = model.opset_imports.get("", 0)
    since = first_opset(op_type)
    if since <= opset:
        return opset
    reason = f"{op_type} needs opset {since}, and the model has opset {opset}"
    if opset < RAISED_FROM or since > RAISED_TO or model.functions:
        return reason
    changed = next((node.op_type for node in model.graph.all_nodes() if _changed(node)), None)
    return RAISED_TO if changed is None else f"{reason}, after which {changed} changed"


def _changed(node: ir.Node) -> bool:
    """Whether NODE may mean something else in the newest of the opsets than in the oldest."""
    if node.domain:
        return False
    if node.op_type == "BatchNormalization":  # opset 14 took the outputs of training away
        return len(node.outputs) > 1
    return node.op_type == "RoiAlign"  # opset 16 moved its grid by half a pixel

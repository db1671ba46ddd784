"""onnxscript's optimiser: constants, shapes, common subexpressions and its default rewrite rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

__all__ = ["optimize"]


def optimize(model: onnx.ModelProto, _: str) -> onnx.ModelProto:
    """Run onnxscript's optimiser with what it does by default."""
    from onnxscript import optimizer

    result: onnx.ModelProto = optimizer.optimize(model)
    return result

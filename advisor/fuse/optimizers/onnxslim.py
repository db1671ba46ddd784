"""onnxslim: constants, shapes, dead code and a few fusions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

__all__ = ["optimize"]


def optimize(model: onnx.ModelProto, _: str) -> onnx.ModelProto:
    """Run onnxslim with what it does by default."""
    import onnxslim

    result: onnx.ModelProto = onnxslim.slim(model)
    return result

"""Activations that ONNX Runtime can compute on a product's results while they are at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse.pattern import Number, OneOf, Op, Pattern

if TYPE_CHECKING:
    from advisor.fuse.pattern import Match

__all__ = ["activated", "clipped", "parameters"]


def activated(value: Pattern) -> Pattern:
    """An activation of VALUE that both FusedConv and FusedGemm know."""
    return OneOf(*(Op(op_type, value) for op_type in ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid")))


def clipped(value: Pattern) -> Pattern:
    """VALUE between two limits, which were attributes before opset 11."""
    return OneOf(Op("Clip", value, Number("low"), Number("high")), Op("Clip", value))


def parameters(match: Match) -> list[float]:
    """What the activation, the last node of MATCH, is given besides its input, in the order of its operator."""
    node = match.nodes[0]
    if node.op_type == "Clip":
        if "low" in match.values:
            return [match.number("low"), match.number("high")]
        return [float(match.attribute(node, name)) for name in ("min", "max")]
    names = {"LeakyRelu": ["alpha"], "HardSigmoid": ["alpha", "beta"]}.get(node.op_type, [])
    return [float(match.attribute(node, name)) for name in names]

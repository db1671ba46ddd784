"""A convolution and its activation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from advisor.fuse import legality
from advisor.fuse.pattern import OneOf, Op, Var
from advisor.fuse.rule import New, Rule
from advisor.fuse.rules.activation import activated, clipped, parameters
from advisor.fuse.rules.linear import attributes, product

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["CONV_ACTIVATION"]

ATTRIBUTE_LIMITS_UNTIL = 10
"""The last opset in which Clip has its limits as attributes."""

x, weight, bias = Var("x"), Var("weight"), Var("bias")
convolution = OneOf(Op("Conv", x, weight, bias), Op("Conv", x, weight))


def check(match: Match) -> str | None:
    """A type of numbers, no quantised place, and a Clip that has both limits."""
    activation = match.nodes[0]
    if activation.op_type == "Clip" and "low" not in match.values and match.scope.opset > ATTRIBUTE_LIMITS_UNTIL:
        return f"{legality.label(activation)} has no limits"
    return legality.first(
        legality.not_of_types(match, "x", {ir.DataType.FLOAT}),
        legality.quantised(match, ["x"]),
        legality.dequantised(match, ["weight"]),
    )


def rewrite(match: Match) -> Iterator[New]:
    """FusedConv of ONNX Runtime."""
    inputs = [match[name] for name in ("x", "weight", "bias") if name in match.values]
    given = attributes(product(match)) | {"activation": match.nodes[0].op_type}
    if values := parameters(match):
        given["activation_params"] = values
    yield New("FusedConv", *inputs, domain="com.microsoft", **given)


CONV_ACTIVATION = Rule(
    id="conv-activation",
    family="gemm",
    description="Conv and Relu, Sigmoid, Tanh, LeakyRelu, HardSigmoid or Clip behind it become FusedConv",
    patterns=(activated(convolution), clipped(convolution)),
    check=check,
    rewrite=rewrite,
)

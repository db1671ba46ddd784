"""A matrix product with bias, and its activation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import OneOf, Op, Var
from advisor.fuse.rule import New, Rule
from advisor.fuse.rules.activation import activated, parameters
from advisor.fuse.rules.linear import attributes, product

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["GEMM_ACTIVATION"]

a, b, bias = Var("a"), Var("b"), Var("bias")


def check(match: Match) -> str | None:
    """A type of numbers, and no quantised product."""
    return legality.first(legality.not_of_types(match, "a", legality.FLOATS), legality.dequantised(match, ["a", "b"]))


def rewrite(match: Match) -> Iterator[New]:
    """FusedGemm of ONNX Runtime."""
    inputs = [match[name] for name in ("a", "b", "bias") if name in match.values]
    given = attributes(product(match)) | {"activation": match.nodes[0].op_type}
    given |= dict(zip(("activation_alpha", "activation_beta"), parameters(match), strict=False))
    yield New("FusedGemm", *inputs, domain="com.microsoft", **given)


GEMM_ACTIVATION = Rule(
    id="gemm-activation",
    family="gemm",
    description="Gemm and Relu, Sigmoid, Tanh, LeakyRelu or HardSigmoid behind it become FusedGemm",
    patterns=(activated(OneOf(Op("Gemm", a, b, bias), Op("Gemm", a, b))),),
    check=check,
    rewrite=rewrite,
)

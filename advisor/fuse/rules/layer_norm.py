"""Layer normalisation (Ba et al. 2016), written as the operators that it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse.pattern import Number, OneOf, Op, Product, Var
from advisor.fuse.rule import New, Rule
from advisor.fuse.rules.normalisation import (
    axis_of,
    cast_input,
    check_normalisation,
    inverse_root,
    maybe_cast,
    mean,
    ones,
    root,
    square,
    stash_type,
    weight,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["LAYER_NORM"]

x, scale, bias = Var("x"), Var("scale"), Var("bias")
average = mean(x)
centred = Op("Sub", x, average)
variance = Op("Add", mean(square(centred)), Number("epsilon"))
normalised = OneOf(Op("Div", centred, root(variance)), Op("Mul", centred, inverse_root(variance)))
scaled = OneOf(
    Op("Mul", maybe_cast(normalised), scale),
    Product(centred, inverse_root(variance), scale),
)
# Keras and TensorFlow: x · f + (bias - mean · f) with f = scale / deviation.
factor = Op("Mul", inverse_root(variance), scale)
regrouped = Op("Add", Op("Mul", x, factor), Op("Sub", bias, Op("Mul", average, factor)))


def rewrite(match: Match) -> Iterator[New]:
    """LayerNormalization of opset 17."""
    yield New(
        "LayerNormalization",
        cast_input(match),
        weight(match, "scale") if "scale" in match.values else ones(match),
        *([weight(match, "bias")] if "bias" in match.values else []),
        axis=axis_of(match),
        epsilon=match.number("epsilon"),
        stash_type=stash_type(match),
    )


LAYER_NORM = Rule(
    id="layer-norm",
    family="reduction",
    description="(x - mean) / √(variance + ε) · scale + bias becomes LayerNormalization",
    patterns=(Op("Add", scaled, bias), regrouped, scaled, normalised),
    check=check_normalisation,
    rewrite=rewrite,
)

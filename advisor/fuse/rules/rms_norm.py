"""RMS normalisation (Zhang and Sennrich 2019), written as the operators that it is made of."""

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

__all__ = ["RMS_NORM"]

x, scale = Var("x"), Var("scale")
power = Op("Add", mean(square(x)), Number("epsilon"))
normalised = OneOf(Op("Div", x, root(power)), Op("Mul", x, inverse_root(power)))
scaled = OneOf(Op("Mul", maybe_cast(normalised), scale), Product(x, inverse_root(power), scale))


def rewrite(match: Match) -> Iterator[New]:
    """RMSNormalization of opset 23, else the operator of ONNX Runtime that is the same."""
    inputs = cast_input(match), weight(match, "scale") if "scale" in match.values else ones(match)
    axis, epsilon, computed_in = axis_of(match), match.number("epsilon"), stash_type(match)
    for op_type in ("RMSNormalization", "SimplifiedLayerNormalization"):
        yield New(op_type, *inputs, axis=axis, epsilon=epsilon, stash_type=computed_in)


def not_centred(match: Match) -> bool:
    """Whether x is anything but a difference from an average; that is layer normalisation, with a rule of its own."""
    node = match["x"].producer()
    subtracted = node.inputs[1] if node is not None and node.op_type == "Sub" else None
    average = None if subtracted is None else subtracted.producer()
    return average is None or average.op_type != "ReduceMean"


RMS_NORM = Rule(
    id="rms-norm",
    family="reduction",
    description="x / √(mean(x²) + ε) · scale becomes one operator",
    patterns=(scaled, normalised),
    where=not_centred,
    check=check_normalisation,
    rewrite=rewrite,
)

"""Hard-swish, x · relu6(x + 3) / 6 (Howard et al. 2019, MobileNetV3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import OneOf, Op, Product, Scalar, Var
from advisor.fuse.rule import New, Rule
from advisor.fuse.rules.hard_sigmoid import clip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["HARD_SWISH"]

SLOPE, OFFSET = 1 / 6, 0.5


x = Var("x")
relu6 = clip(Op("Add", x, Scalar(3.0)), 6.0)
hard_sigmoid = OneOf(
    Op("HardSigmoid", x, alpha=SLOPE, beta=OFFSET),
    clip(Op("Add", Product(x, Scalar(SLOPE)), Scalar(OFFSET)), 1.0),
)


def check(match: Match) -> str | None:
    """Constants must not add dimensions; integers are clipped and divided differently."""
    return legality.not_elementwise(match)


def rewrite(match: Match) -> Iterator[New]:
    """HardSwish of opset 14, else what it is defined by: HardSigmoid and Mul."""
    yield New("HardSwish", match["x"])
    yield New("Mul", match["x"], New("HardSigmoid", match["x"], alpha=SLOPE, beta=OFFSET))


HARD_SWISH = Rule(
    id="hard-swish",
    family="elementwise",
    description="x · clip(x + 3, 0, 6) / 6 becomes HardSwish, or HardSigmoid and Mul",
    patterns=(
        Op("Mul", x, hard_sigmoid),
        Product(x, relu6, Scalar(SLOPE)),
    ),
    check=check,
    rewrite=rewrite,
)

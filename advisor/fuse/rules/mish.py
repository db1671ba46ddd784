"""Mish, x · tanh(softplus(x)) (Misra 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import OneOf, Op, Scalar, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["MISH"]

x = Var("x")
# log(1 + eˣ) overflows where eˣ does, but the tangent of infinity is one, as that of x is by then.
softplus = OneOf(Op("Softplus", x), Op("Log", Op("Add", Op("Exp", x), Scalar(1.0))))


def check(match: Match) -> str | None:
    """Constants must not add dimensions."""
    return legality.not_elementwise(match)


def rewrite(match: Match) -> Iterator[New]:
    """Mish of opset 18, else its definition with Softplus."""
    yield New("Mish", match["x"])
    yield New("Mul", match["x"], New("Tanh", New("Softplus", match["x"])))


MISH = Rule(
    id="mish",
    family="elementwise",
    description="x · tanh(softplus(x)) becomes Mish, or softplus(x) = log(1 + eˣ) in it becomes one operator",
    patterns=(Op("Mul", x, Op("Tanh", softplus)),),
    check=check,
    rewrite=rewrite,
)

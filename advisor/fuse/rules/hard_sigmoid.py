"""Hard sigmoid, a line that is clipped to 0 … 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import Number, OneOf, Op, Pattern, Product, Scalar, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["HARD_SIGMOID", "clip"]


def clip(value: Pattern, high: float) -> Pattern:
    """VALUE limited to 0 … HIGH, as exporters write it."""
    return OneOf(
        Op("Clip", value, Scalar(0.0), Scalar(high)),
        Op("Clip", value, min=0.0, max=high),
        Op("Min", Op("Max", value, Scalar(0.0)), Scalar(high)),
        Op("Max", Op("Min", value, Scalar(high)), Scalar(0.0)),
        Op("Min", Op("Relu", value), Scalar(high)),
        Op("Relu", Op("Min", value, Scalar(high))),
    )


x = Var("x")
line = Op("Add", Op("Mul", x, Number("alpha")), Number("beta"))
relu6 = clip(Op("Add", x, Scalar(3.0)), 6.0)


def check(match: Match) -> str | None:
    """Constants must not add dimensions; integers are clipped and divided differently."""
    return legality.not_elementwise(match)


def rewrite(match: Match) -> Iterator[New]:
    """HardSigmoid, max(0, min(1, alpha · x + beta))."""
    line = "alpha" in match.values
    alpha, beta = (match.number("alpha"), match.number("beta")) if line else (1 / 6, 0.5)
    yield New("HardSigmoid", match["x"], alpha=alpha, beta=beta)


HARD_SIGMOID = Rule(
    id="hard-sigmoid",
    family="elementwise",
    description="clip(x + 3, 0, 6) / 6 and clip(alpha · x + beta, 0, 1) become HardSigmoid",
    patterns=(Product(relu6, Scalar(1 / 6)), clip(line, 1.0)),
    check=check,
    rewrite=rewrite,
)

"""ReLU with a slope for negative values: one for all (Maas et al. 2013) or one for each feature (He et al. 2015)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import Number, OneOf, Op, Pattern, Product, Scalar, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["LEAKY_RELU", "PRELU"]

x, zero = Var("x"), Scalar(0.0)
below = OneOf(Op("Less", x, zero), Op("LessOrEqual", x, zero), Op("Greater", zero, x), Op("GreaterOrEqual", zero, x))
above = OneOf(Op("Greater", x, zero), Op("GreaterOrEqual", x, zero), Op("Less", zero, x), Op("LessOrEqual", zero, x))
positive = OneOf(Op("Relu", x), Op("Max", x, zero))
mirrored = Op("Relu", Op("Neg", x))
difference = Op("Sub", x, Op("Abs", x))  # twice the negative part


def chosen(slope: Pattern) -> tuple[Pattern, ...]:
    """Spellings that are right for every slope: SLOPE times the negative part, and the positive one."""
    return (
        Op("Where", below, Op("Mul", x, slope), x),
        Op("Where", above, x, Op("Mul", x, slope)),
        Op("Add", positive, Op("Mul", Op("Min", x, zero), slope)),
        Op("Sub", positive, Op("Mul", mirrored, slope)),
        Op("Add", positive, Product(difference, slope, Scalar(0.5))),
    )


negated = Op("Add", positive, Op("Mul", mirrored, Var("negated")))  # Keras stores the slopes with the sign turned
largest = Op("Max", x, Op("Mul", x, Number("share")))


def check(match: Match) -> str | None:
    """Constants must not add dimensions; the larger of x and a · x is the leaky one only for slopes from 0 to 1."""
    reason = legality.not_elementwise(match)
    if reason is None and "share" in match.values and not 0 < match.number("share") <= 1:
        reason = f"the larger of x and {match.number('share'):g} · x is the steeper one"
    return reason


def rewrite(match: Match) -> Iterator[New]:
    """LeakyRelu."""
    yield New("LeakyRelu", match["x"], alpha=match.number("share" if "share" in match.values else "slope"))


def check_slopes(match: Match) -> str | None:
    """The slopes must be certain not to make the result larger than x."""
    slopes = _slopes(match)
    reason = legality.first(check(match), legality.unknown_shape(match, "x"), legality.unknown_shape(match, slopes))
    if reason is not None:
        return reason
    dims, of = match.scope.shape(match[slopes]) or (), match.scope.shape(match["x"]) or ()
    padded = (*(1 for _ in range(len(of) - len(dims))), *dims)
    if len(padded) != len(of) or any(
        size != 1 and (size is None or size != dim) for size, dim in zip(padded, of, strict=True)
    ):
        return (
            f"the slopes '{match[slopes].name}' are {legality.dims_text(dims)} and '{match['x'].name}' is "
            f"{legality.dims_text(of)}: it is not certain that they do not make it larger"
        )
    if slopes == "negated" and match.scope.constant(match[slopes]) is None:
        return f"the slopes '{match[slopes].name}' are known at run time only"
    return None


def rewrite_slopes(match: Match) -> Iterator[New]:
    """PRelu."""
    if _slopes(match) == "slope":
        yield New("PRelu", match["x"], match["slope"])
        return
    negated = match.scope.constant(match["negated"])
    assert negated is not None, "checked"
    yield New("PRelu", match["x"], -negated)


def _slopes(match: Match) -> str:
    return "negated" if "negated" in match.values else "slope"


LEAKY_RELU = Rule(
    id="leaky-relu",
    family="elementwise",
    description="x where it is positive, else a · x, becomes LeakyRelu",
    patterns=(largest, *chosen(Number("slope"))),
    check=check,
    rewrite=rewrite,
)

PRELU = Rule(
    id="prelu",
    family="elementwise",
    description="x where it is positive, else one slope a feature times x, becomes PRelu",
    patterns=(negated, *chosen(Var("slope"))),
    check=check_slopes,
    rewrite=rewrite_slopes,
)

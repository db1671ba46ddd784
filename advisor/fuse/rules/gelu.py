"""GELU (Hendrycks and Gimpel 2016), exact with erf or approximate with tanh; the two are never taken for each other."""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import Op, Product, Scalar, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["GELU", "TANH_GELU"]

MICROSOFT = "com.microsoft"
CUBIC = 0.044715
SCALE = sqrt(2 / pi)

x = Var("x")
half, one = Scalar(0.5), Scalar(1.0)

erf = Op("Erf", Product(x, Scalar(1 / sqrt(2))))
# (1 + tanh(a)) / 2 is sigmoid(2 · a).
sigmoid_of_sum = Op("Sigmoid", Product(Op("Add", x, Product(x, x, x, Scalar(CUBIC))), Scalar(2 * SCALE)))
# The tanh's argument is SCALE · (x + CUBIC · x³), or the same regrouped.
tanh_of_sum = Op("Tanh", Product(Op("Add", x, Product(x, x, x, Scalar(CUBIC))), Scalar(SCALE)))
tanh_factored = Op("Tanh", Product(x, Op("Add", Product(x, x, Scalar(CUBIC)), one), Scalar(SCALE)))
tanh_folded = Op("Tanh", Product(x, Op("Add", Product(x, x, Scalar(SCALE * CUBIC)), Scalar(SCALE))))


def check(match: Match) -> str | None:
    """Constants must not add dimensions."""
    return legality.not_elementwise(match)


def rewrite_erf(match: Match) -> Iterator[New]:
    """Gelu of opset 20, else ONNX Runtime's own."""
    yield New("Gelu", match["x"], approximate="none")
    yield New("Gelu", match["x"], domain=MICROSOFT)


def rewrite_tanh(match: Match) -> Iterator[New]:
    """Gelu of opset 20, else ONNX Runtime's own."""
    yield New("Gelu", match["x"], approximate="tanh")
    yield New("FastGelu", match["x"], domain=MICROSOFT)


GELU = Rule(
    id="gelu",
    family="elementwise",
    description="x / 2 · (1 + erf(x / √2)) becomes Gelu",
    patterns=(Product(x, half, Op("Add", erf, one)), Op("Mul", x, Op("Add", Product(erf, half), half))),
    check=check,
    rewrite=rewrite_erf,
)

TANH_GELU = Rule(
    id="tanh-gelu",
    family="elementwise",
    description="x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) becomes Gelu, approximated by tanh",
    patterns=(
        *(Product(x, half, Op("Add", tanh, one)) for tanh in (tanh_of_sum, tanh_factored, tanh_folded)),
        Op("Mul", x, sigmoid_of_sum),
    ),
    check=check,
    rewrite=rewrite_tanh,
)

"""SiLU, x · sigmoid(x) (Elfwing et al. 2017), and x · sigmoid(alpha · x), which approximates GELU at alpha = 1.702."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import Number, Op, Product, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["SILU"]

x = Var("x")


def check(match: Match) -> str | None:
    """The constant must not add dimensions."""
    return legality.not_elementwise(match)


def rewrite(match: Match) -> Iterator[New]:
    """Swish of opset 24, else ONNX Runtime's QuickGelu, which computes x · sigmoid(alpha · x)."""
    alpha = match.number("alpha") if "alpha" in match.values else 1.0
    yield New("Swish", match["x"], alpha=alpha)
    yield New("QuickGelu", match["x"], domain="com.microsoft", alpha=alpha)


SILU = Rule(
    id="silu",
    family="elementwise",
    description="x · sigmoid(alpha · x) becomes one operator",
    patterns=(
        Op("Mul", x, Op("Sigmoid", x)),
        Op("Mul", x, Op("Sigmoid", Product(x, Number("alpha")))),
    ),
    check=check,
    rewrite=rewrite,
)

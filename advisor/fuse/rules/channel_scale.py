"""A convolution or matrix product that is multiplied, or divided, by one constant for each channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from advisor.fuse.pattern import Op, Var
from advisor.fuse.rule import New, Rule
from advisor.fuse.rules.linear import LINEAR, check_linear, folded, per_channel, rounds_badly, weighted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from advisor.fuse.pattern import Match

__all__ = ["CHANNEL_SCALE"]


def check(match: Match) -> str | None:
    """One factor for each channel, finite."""
    reason = check_linear(match, "factor")
    if reason is not None:
        return reason
    factor = per_channel(match, "factor")
    if isinstance(factor, str):
        return factor
    scale = _scale(match, factor)
    if not np.all(np.isfinite(scale)):
        return f"'{match['factor'].name}' is not finite, or divides by zero"
    return rounds_badly(match, scale)


def rewrite(match: Match) -> Iterator[New]:
    """The product alone."""
    factor = per_channel(match, "factor")
    assert not isinstance(factor, str), "checked"
    scale = _scale(match, factor)
    yield folded(match, scale, np.zeros_like(scale))


def _scale(match: Match, factor: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return 1 / factor if match.nodes[0].op_type == "Div" else factor


CHANNEL_SCALE = Rule(
    id="channel-scale",
    family="gemm",
    description="a factor for each channel becomes part of the weights of Conv, ConvTranspose, Gemm or MatMul",
    patterns=(Op("Mul", LINEAR, Var("factor")), Op("Div", LINEAR, Var("factor"))),
    where=lambda match: weighted(match, "factor"),
    check=check,
    rewrite=rewrite,
)

"""A convolution or matrix product to which one constant for each channel is added, or that is subtracted from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from advisor.fuse.pattern import Op, Var
from advisor.fuse.rule import New, Rule
from advisor.fuse.rules.linear import LINEAR, WITH_BIAS, check_linear, folded, per_channel, weighted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["CHANNEL_SHIFT"]

term = Var("term")


def check(match: Match) -> str | None:
    """One term for each channel."""
    reason = check_linear(match, "term")
    if reason is not None:
        return reason
    found = per_channel(match, "term")
    return found if isinstance(found, str) else None


def rewrite(match: Match) -> Iterator[New]:
    """The product with another bias; negative weights where it was subtracted."""
    found, root = per_channel(match, "term"), match.nodes[0]
    assert not isinstance(found, str), "checked"
    ones = np.ones_like(found)
    if root.op_type == "Add":
        yield folded(match, ones, found)
    elif root.inputs[1] is match["term"]:
        yield folded(match, ones, -found)
    else:
        yield folded(match, -ones, found)


CHANNEL_SHIFT = Rule(
    id="channel-shift",
    family="gemm",
    description="a term for each channel becomes part of the bias of Conv, ConvTranspose, Gemm or MatMul",
    patterns=(Op("Add", WITH_BIAS, term), Op("Sub", LINEAR, term), Op("Sub", term, LINEAR)),
    where=lambda match: weighted(match, "term"),
    check=check,
    rewrite=rewrite,
)

"""Batch normalisation (Ioffe and Szegedy 2015) behind a convolution or matrix product: a scale and a shift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from advisor.fuse import legality
from advisor.fuse.pattern import Op, Var
from advisor.fuse.rule import New, Rule
from advisor.fuse.rules.linear import LINEAR, channels, check_linear, constant, folded, product, rounds_badly, weighted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from advisor.fuse.pattern import Match

__all__ = ["BATCH_NORM"]

STATISTICS = ("scale", "shift", "mean", "variance")


def check(match: Match) -> str | None:
    """No training, and statistics of the channels that the product computes."""
    norm = match.nodes[0]
    if match.attribute(norm, "training_mode") == 1 or len([value for value in norm.outputs if value.name]) > 1:
        return f"{legality.label(norm)} is in training: it computes its statistics itself"
    if match.attribute(norm, "spatial") == 0:
        return f"{legality.label(norm)} has statistics for every place, not only every channel"
    reason = check_linear(match, *STATISTICS)
    if reason is not None:
        return reason
    if product(match).op_type == "MatMul" and match.scope.rank(match["x"]) != 2:
        return f"the channels of {legality.label(norm)} are not the columns of {legality.label(product(match))}"
    for name in STATISTICS:
        tensor = constant(match, name)
        if tensor is None or tuple(tensor.shape.numpy()) != (channels(match),):
            return f"'{match[name].name}' is not one number for each of {channels(match)} channels"
    return rounds_badly(match, _scale(match)) if np.all(np.isfinite(_scale(match))) else "a variance is negative"


def rewrite(match: Match) -> Iterator[New]:
    """The product alone."""
    scale = _scale(match)
    yield folded(match, scale, _numbers(match, "shift") - _numbers(match, "mean") * scale)


def _scale(match: Match) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        epsilon = float(match.attribute(match.nodes[0], "epsilon"))
        return _numbers(match, "scale") / np.sqrt(_numbers(match, "variance") + epsilon)


def _numbers(match: Match, name: str) -> NDArray[np.float64]:
    tensor = constant(match, name)
    assert tensor is not None, "constants are looked for in `where`"
    return tensor.numpy().astype(np.float64)


BATCH_NORM = Rule(
    id="batch-norm",
    family="gemm",
    description="BatchNormalization behind Conv, ConvTranspose, Gemm or MatMul becomes part of their weights",
    patterns=(Op("BatchNormalization", LINEAR, *(Var(name) for name in STATISTICS)),),
    where=lambda match: weighted(match, *STATISTICS),
    check=check,
    rewrite=rewrite,
)

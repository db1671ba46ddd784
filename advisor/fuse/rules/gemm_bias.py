"""A matrix product and the bias added to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import Op, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["GEMM_BIAS"]


def check(match: Match) -> str | None:
    """Gemm takes matrices only, and a bias that broadcasts to the product without growing it."""
    reason = legality.first(
        legality.not_of_types(match, "a", legality.FLOATS),
        *(legality.unknown_shape(match, name) for name in ("a", "b", "bias")),
        legality.dequantised(match, ("a", "b")),
    )
    if reason is not None:
        return reason
    a, b, bias = (match.scope.shape(match[name]) or () for name in ("a", "b", "bias"))
    if len(a) != 2 or len(b) != 2:
        return f"Gemm takes matrices, and the product is of {len(a)} and {len(b)} dimensions"
    if len(bias) > 2:
        return f"the bias '{match['bias'].name}' has {len(bias)} dimensions: the sum is larger than the product"
    rows, columns = a[0], b[1]
    for size, of in zip(reversed(bias), (columns, rows), strict=False):
        if size != 1 and (size is None or size != of):
            return (
                f"the bias '{match['bias'].name}' is {legality.dims_text(bias)} and the product "
                f"{legality.dims_text((rows, columns))}: it is not certain that the bias does not make it larger"
            )
    return legality.empty_sum(a[1], b[0])


def rewrite(match: Match) -> Iterator[New]:
    """Gemm with its factors at their defaults."""
    yield New("Gemm", match["a"], match["b"], match["bias"])


GEMM_BIAS = Rule(
    id="gemm-bias",
    family="gemm",
    description="MatMul of two matrices and Add of a bias become Gemm",
    patterns=(Op("Add", Op("MatMul", Var("a"), Var("b")), Var("bias")),),
    check=check,
    rewrite=rewrite,
)

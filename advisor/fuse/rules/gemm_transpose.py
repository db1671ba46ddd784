"""A matrix that is transposed before Gemm, which can read it either way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import OneOf, Op, Pattern, Var
from advisor.fuse.rule import New, Rule
from advisor.fuse.rules.linear import attributes, product

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["GEMM_TRANSPOSE"]


def gemm(first: Pattern, second: Pattern) -> Pattern:
    """Gemm of these two, with or without a bias."""
    return OneOf(Op("Gemm", first, second, Var("bias")), Op("Gemm", first, second))


a, b = Var("a"), Var("b")
turned_a, turned_b = Op("Transpose", a), Op("Transpose", b)


def check(match: Match) -> str | None:
    """Gemm takes matrices: a transposition in front of it that is not the identity swaps the two axes."""
    for node in match.nodes[1:]:
        if list(match.attribute(node, "perm") or [1, 0]) != [1, 0]:
            return f"{legality.label(node)} changes nothing"
    return legality.first(legality.not_of_types(match, "a", legality.FLOATS), legality.dequantised(match, ["a", "b"]))


def rewrite(match: Match) -> Iterator[New]:
    """Gemm that reads the matrices as they lie."""
    node = product(match)
    given = attributes(node)
    for attribute, source in zip(("transA", "transB"), node.inputs, strict=False):
        if source is not None and source.producer() in match.nodes:
            given[attribute] = 1 - int(match.attribute(node, attribute))
    yield New("Gemm", *(match[name] for name in ("a", "b", "bias") if name in match.values), **given)


GEMM_TRANSPOSE = Rule(
    id="gemm-transpose",
    family="gemm",
    description="Transpose before Gemm becomes Gemm's transA or transB",
    patterns=(gemm(turned_a, turned_b), gemm(turned_a, b), gemm(a, turned_b)),
    check=check,
    rewrite=rewrite,
)

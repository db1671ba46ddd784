"""A factor of a product that is moved and turned at once, as the keys of attention: the product turns it itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import Op, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["TURNED_FACTOR"]


def belongs(match: Match) -> bool:
    """The last axis moves, and something is left to move where the product swaps the last two."""
    order = _order(match)
    return len(order) > 2 and order[-1] != len(order) - 1 and _rest(order) != sorted(order)


def check(match: Match) -> str | None:
    """What is left moves whole rows, between stacks of matrices."""
    reason = legality.first(
        legality.not_of_types(match, "a", legality.FLOATS),
        *(legality.unknown_shape(match, name) for name in ("a", "b")),
        legality.dequantised(match, ("a", "b")),
    )
    if reason is not None:
        return reason
    order, a, b = _order(match), match.scope.shape(match["a"]) or (), match.scope.shape(match["b"]) or ()
    if len(a) < 2 or len(b) != len(order):
        return f"'{match['a'].name}' is a vector" if len(a) < 2 else f"'{match['b'].name}' has {len(b)} axes"
    if _rest(order)[-1] != len(order) - 1:
        return "what is left to move takes rows apart"
    sizes = match.scope.sizes(match["b"])
    moved = None if sizes is None else tuple(sizes[axis] for axis in _rest(order))
    return legality.first(
        legality.empty_sum(a[-1], b[order[-2]]),
        legality.fewer_stacks(match, "a", moved),
    )


def rewrite(match: Match) -> Iterator[New]:
    """FusedMatMul of ONNX Runtime, and a Transpose that leaves rows whole."""
    moved = New("Transpose", match["b"], perm=_rest(_order(match)))
    yield New("FusedMatMul", match["a"], moved, domain="com.microsoft", transB=1)


def _order(match: Match) -> list[int]:
    transpose = next(node for node in match.nodes if node.op_type == "Transpose")
    return list(match.attribute(transpose, "perm") or [])


def _rest(order: list[int]) -> list[int]:
    """The order without the swap of the last two axes."""
    return [*order[:-2], order[-1], order[-2]]


TURNED_FACTOR = Rule(
    id="turned-factor",
    family="gemm",
    description="Transpose that moves and turns MatMul's second factor moves it only, and FusedMatMul turns it",
    patterns=(Op("MatMul", Var("a"), Op("Transpose", Var("b"))),),
    where=belongs,
    check=check,
    rewrite=rewrite,
)

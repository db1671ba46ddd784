"""A matrix product whose factors are transposed, and that is scaled by a constant, as in attention."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from advisor.fuse import legality
from advisor.fuse.pattern import Number, OneOf, Op, Pattern, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["FUSED_MATMUL"]


def scaled(value: Pattern, name: str) -> Pattern:
    """VALUE times, or divided by, a constant."""
    return OneOf(Op("Mul", value, Number(name)), Op("Div", value, Number(name)))


def factor(name: str) -> Pattern:
    """A matrix, perhaps transposed, perhaps scaled."""
    matrix = Var(name)
    turned = Op("Transpose", OneOf(scaled(matrix, f"{name}_scale"), matrix))
    return OneOf(scaled(turned, f"{name}_scale"), turned, scaled(matrix, f"{name}_scale"), matrix)


product = Op("MatMul", factor("a"), factor("b"))


def belongs(match: Match) -> bool:
    """There is something to fuse, and no Transpose that only moves whole rows: nobody expects that of a product."""
    return len(match.nodes) > 1 and not any(_moves_rows(match, name) for name in ("a", "b"))


def check(match: Match) -> str | None:
    """Matrices, or stacks of them, of which only the last two axes are swapped; finite factors."""
    reason = legality.first(
        legality.not_of_types(match, "a", legality.FLOATS),
        *(legality.unknown_shape(match, name) for name in ("a", "b")),
        *(legality.added_dimensions(match, name) for name in ("a", "b")),
        legality.dequantised(match, ("a", "b")),
    )
    if reason is not None:
        return reason
    for name in ("a", "b"):
        rank = match.scope.rank(match[name]) or 0
        if rank < 2:
            return f"'{match[name].name}' is a vector"
        node = _transposition(match, name)
        perm = None if node is None else list(match.attribute(node, "perm") or reversed(range(rank)))
        if perm is not None and perm != [*range(rank - 2), rank - 1, rank - 2]:
            return f"{legality.label(node)} does more than to swap the last two axes" if node else None
    a, b = (match.scope.shape(match[name]) or () for name in ("a", "b"))
    turned = _transposition(match, "a") is not None
    if turned and len(a) > len(b) and any(dim in (0, None) for dim in a[:-2]):
        # Untransposed factors of one matrix are computed as one matrix themselves, and may be none.
        return f"'{match['a'].name}' is {legality.dims_text(a)}: of no matrices FusedMatMul makes an error"
    turns_second = _transposition(match, "b") is not None
    inner = a[-2 if turned else -1], b[-1 if turns_second else -2]
    return legality.first(
        _inexact(match),
        legality.empty_sum(*inner),
        legality.fewer_stacks(match, "a", match.scope.sizes(match["b"])) if turns_second and not turned else None,
    )


def rewrite(match: Match) -> Iterator[New]:
    """FusedMatMul of ONNX Runtime."""
    turned = {f"trans{name.upper()}": int(_transposition(match, name) is not None) for name in ("a", "b")}
    yield New("FusedMatMul", match["a"], match["b"], domain="com.microsoft", alpha=_alpha(match), **turned)


def _transposition(match: Match, name: str) -> ir.Node | None:
    """The Transpose in front of one of the factors."""
    matmul = next(node for node in match.nodes if node.op_type == "MatMul")
    value = matmul.inputs[0 if name == "a" else 1]
    while value is not None and value is not match[name]:
        node = value.producer()
        assert node is not None, "the pattern went this way"
        if node.op_type == "Transpose":
            return node
        value = next((source for source in node.inputs if source not in match.scalars), None)
    return None


def _moves_rows(match: Match, name: str) -> bool:
    node = _transposition(match, name)
    perm = [] if node is None else match.attribute(node, "perm") or []
    return len(perm) > 0 and perm[-1] == len(perm) - 1


def _inexact(match: Match) -> str | None:
    """A factor that the attribute alpha, which is float32, cannot be."""
    alpha = _alpha(match)
    if not isfinite(alpha):
        return "it divides by zero"
    with np.errstate(over="ignore", under="ignore"):
        held = float(np.float32(alpha))
    precise = match.scope.dtype(match["a"]) is ir.DataType.DOUBLE
    if not isfinite(held) or (held != alpha if precise else bool(held) != bool(alpha)):
        return f"its factor {alpha:.17g} is not a number of float32, as that of FusedMatMul is"
    return None


def _alpha(match: Match) -> float:
    """The product of all constants; infinite for a division by zero."""
    alpha = 1.0
    for node in match.nodes:
        if node.op_type in {"Mul", "Div"}:
            tensor = next(
                match.scope.default(value)
                for value in reversed(node.inputs)
                if value is not None and value in match.scalars
            )
            assert tensor is not None, "a Number only ever matches a constant"
            number = float(tensor.numpy().item())
            alpha = alpha * number if node.op_type == "Mul" else alpha / number if number else float("inf")
    return alpha


FUSED_MATMUL = Rule(
    id="fused-matmul",
    family="gemm",
    description="Transpose before, and a constant factor before or behind, MatMul become FusedMatMul",
    patterns=(scaled(product, "scale"), product),
    where=belongs,
    check=check,
    rewrite=rewrite,
)

"""Rules that only tests have: right, wrong and slow ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from advisor.fuse.pattern import Op, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from advisor.fuse.pattern import Match

__all__ = ["SLOW_ABS", "WRONG_TANH", "replacing"]

x = Var("x")


def rule(name: str, op_type: str, rewrite: Callable[[Match], Iterable[New]], refusal: str | None = None) -> Rule:
    return Rule(name, "elementwise", f"{op_type} becomes something else", (Op(op_type, x),), lambda _: refusal, rewrite)


def replacing(old: str, new: str, refusal: str | None = None) -> Rule:
    """One operator in another's place; the rule is called after the old one."""
    return rule(old.lower(), old, lambda match: [New(new, match["x"])], refusal)


WRONG_TANH = rule("wrong-tanh", "Tanh", lambda match: [New("Sigmoid", match["x"])])


def _slow_abs(match: Match) -> Iterable[New]:
    """|x| = max(x, -x), plus nothing, which takes some matrix products to compute."""
    square = np.zeros((512, 512), np.float32)
    nothing = New("MatMul", match["x"], square)
    for _ in range(4):
        nothing = New("MatMul", nothing, square)
    yield New("Add", New("Max", match["x"], New("Neg", match["x"])), nothing)


SLOW_ABS = rule("slow-abs", "Abs", _slow_abs)

"""Everything that `fuse` tries, in the order in which it is applied to a model: one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse.rules import RULES

if TYPE_CHECKING:
    from advisor.fuse.rule import Rule
    from advisor.fuse.transform import Transform

__all__ = ["CANDIDATES"]

CANDIDATES: tuple[Rule | Transform, ...] = (*RULES,)

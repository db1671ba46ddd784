"""Everything that `fuse` tries, in the order in which it is applied to a model: one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse.kernels.generated import GENERATED
from advisor.fuse.optimizers import OPTIMIZERS
from advisor.fuse.rules import RULES
from advisor.fuse.shared_input import SHARED_INPUT
from advisor.fuse.structure import STRUCTURE

if TYPE_CHECKING:
    from advisor.fuse.rule import Rule
    from advisor.fuse.transform import Transform

__all__ = ["CANDIDATES"]

# What a library leaves is cleaned up, what that leaves is fused (or un-fused) by rules, and what they leave becomes
# generated kernels.
CANDIDATES: tuple[Rule | Transform, ...] = (*OPTIMIZERS, *STRUCTURE, *RULES, SHARED_INPUT, GENERATED)

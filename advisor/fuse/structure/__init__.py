"""Changes of structure: fewer nodes, the same numbers. A new one is one new file and one line here."""

from advisor.fuse.structure.common_subexpressions import COMMON_SUBEXPRESSIONS
from advisor.fuse.structure.constant_folding import CONSTANT_FOLDING
from advisor.fuse.structure.constant_if import CONSTANT_IF
from advisor.fuse.structure.no_ops import NO_OPS
from advisor.fuse.structure.reshape_targets import RESHAPE_TARGETS
from advisor.fuse.structure.structure import Structure

__all__ = ["NO_OPS", "RESHAPE_TARGETS", "STRUCTURE"]

STRUCTURE: tuple[Structure, ...] = (
    CONSTANT_IF,
    CONSTANT_FOLDING,
    RESHAPE_TARGETS,
    COMMON_SUBEXPRESSIONS,
    NO_OPS,
)

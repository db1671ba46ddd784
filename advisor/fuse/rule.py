"""What a rule is: a pattern, a check that may fail with a reason, a rewrite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import onnx_ir as ir
    from numpy.typing import NDArray

    from advisor.fuse.pattern import Match, Pattern

__all__ = ["Family", "New", "Rule"]

Family = Literal["elementwise", "reduction", "gemm", "attention", "structure", "optimizer"]


class New:
    """A node to be: an operator on values of the model, new constants and other new nodes.

    Constants are arrays or, where they are as large as weights, tensors that are computed when they are first read:
    most of what could be written never is.
    """

    def __init__(
        self,
        op_type: str,
        *inputs: New | ir.Value | NDArray[Any] | ir.LazyTensor | None,
        domain: str = "",
        **attributes: float | str | list[int] | list[float],
    ) -> None:
        self.op_type = op_type
        self.inputs = inputs
        self.domain = domain
        self.attributes = attributes


@dataclass(frozen=True)
class Rule:
    """One fusion.

    Attributes:
        id: Short, stable name, for example `layer-norm`.
        family: Where it belongs: one of the three families of operator fusion, attention, a change of structure, or
            the work of another optimiser.
        description: One sentence for people.
        patterns: What to look for, the largest first.
        check: None where the fusion is legal, else the reason why not, for people to read. Changes nothing.
        rewrite: What may stand in the match's place, best first; the first that ONNX Runtime has kernels for is taken.
            A tuple where the last node has several outputs, one for each of them that may be used.
            Changes nothing and cannot fail: whatever could go wrong is in CHECK.
        where: What belongs to the pattern but cannot be seen looking backwards, such as who uses the result.
    """

    id: str
    family: Family
    description: str
    patterns: tuple[Pattern, ...]
    check: Callable[[Match], str | None]
    rewrite: Callable[[Match], Iterable[New | tuple[New | None, ...]]]
    where: Callable[[Match], bool] = lambda _: True

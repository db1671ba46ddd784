"""What may be tried on a model besides rules: a change of the whole model, such as a library's optimiser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import onnx_ir as ir

    from advisor.fuse.rewrite import Site
    from advisor.fuse.rule import Family

__all__ = ["Applied", "Library", "NotApplicable", "Transform"]


class NotApplicable(Exception):  # noqa: N818 - reads as what it is at every raise
    """A transform cannot be tried on this model or machine; the message is one line for people.

    Attributes:
        is_missing: What it needs is not installed, or does not exist for this system: nothing is wrong with the model.
        is_unfinished: It did not come to an end, for lack of time or memory: it may be legal, and nobody knows.
    """

    def __init__(self, reason: str, *, is_missing: bool = False, is_unfinished: bool = False) -> None:
        super().__init__(reason)
        self.is_missing = is_missing
        self.is_unfinished = is_unfinished


@dataclass(frozen=True)
class Applied:
    """A model after candidates were applied.

    Attributes:
        model: The changed model.
        sites: Every place that the candidates found, applied or not.
        libraries: Custom-operator libraries that a session needs to load the model.
    """

    model: ir.Model
    sites: tuple[Site, ...]
    libraries: tuple[Path, ...] = ()


class Transform(Protocol):
    """One change of a whole model.

    Attributes:
        id: Short, stable name, for example `onnxslim`.
        family: Where reports put it.
        description: One sentence for people.
    """

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def family(self) -> Family: ...  # noqa: D102
    @property
    def description(self) -> str: ...  # noqa: D102

    def apply(self, model: ir.Model, *, provider: str, accept: Callable[[Site], bool]) -> Applied:
        """Change MODEL, in place or by giving another one; inputs, outputs and their names stay.

        Args:
            model: The caller's own copy.
            provider: Execution provider that will run the result, as ONNX Runtime names it.
            accept: Whether a site, found and legal, is to be applied; one that is not accepted is left out of the
                answer.

        Raises:
            NotApplicable: It cannot be tried here, or failed on this model.
        """


class Library(Transform, Protocol):
    """Another library's optimiser of whole models."""

    def check(self) -> None:
        """Raise NotApplicable where the library is missing, without running it."""

    def within(self, seconds: float) -> Transform:
        """The same, stopped after SECONDS at most."""

"""A result as its JSON document (`advisor.analysis/1` and the like), for other programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["write"]


class Result(Protocol):
    """What a command found."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""


def write(result: Result, file: TextIO) -> None:
    """Write RESULT as JSON."""
    file.write(json.dumps(result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n")

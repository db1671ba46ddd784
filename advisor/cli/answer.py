"""How a command answers: a report on the terminal, and the same as JSON where that is wanted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import RenderableType

__all__ = ["answer"]


class Result(Protocol):
    """What a command found."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""


def answer(
    result: Result, json_file: Path | None, render: Callable[[int], RenderableType], *, silent: bool = False
) -> None:
    """Write RESULT as JSON to JSON_FILE, and print what RENDER makes of it for so many columns.

    Where the JSON goes to standard output (`-`), nothing else does; where SILENT, nothing is printed.

    Raises:
        BadInput: JSON_FILE cannot be written.
    """
    on_stdout = str(json_file) == "-"
    if json_file is not None:
        import json

        from advisor.output import write_text

        text = json.dumps(result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        if on_stdout:
            sys.stdout.write(text)
        else:
            write_text(json_file, text)
    if not on_stdout and not silent:
        from rich.console import Console

        console = Console()
        console.print(render(console.width))

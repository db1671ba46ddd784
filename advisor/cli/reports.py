"""How a command answers: on the terminal, and in the files of `--json FILE`, `--markdown FILE` and the like."""

from __future__ import annotations

import inspect
import os
import re
import sys
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from advisor.cli.options import check_apart, is_same_file
from advisor.errors import BadInput
from advisor.output import check_writable, staged, written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import RenderableType

    from advisor.report.formats import Format

__all__ = ["STDOUT", "Reports", "show", "with_report_options"]

STDOUT = Path("-")
_AT_ENDS = re.compile(r"(?: |\x1b\[[0-9;]*m)+$", re.MULTILINE)
"""Blanks at the ends of lines, and the codes of colours between them."""


class Reports(dict["Format", Path]):
    """Which reports are wanted, and where to."""

    def check(self, *others: Path | None) -> None:
        """Refuse what must not be written, before the work begins.

        Raises:
            BadInput: A file cannot be written, two reports would go to one place, or one in the place of OTHERS: files
                that the command reads, or writes besides.
        """
        earlier: list[tuple[str, Path]] = []
        for form, place in self.items():
            check_apart(f"--{form.option}", place, others)
            if place != STDOUT:
                check_writable(place, *([] if _is_job_summary(place) else [form.kind]))
            for option, other in earlier:
                if is_same_file(place, other):
                    raise BadInput(f"--{option} and --{form.option} both write to {place}: give each a file of its own")
            earlier.append((form.option, place))

    def answer(self, result: Any, render: Callable[[int], RenderableType]) -> None:
        """Write each report on RESULT, and print what RENDER makes of it for so many columns.

        Where a report goes to standard output (`-`), nothing else does.

        Raises:
            BadInput: A file cannot be written.
        """
        for form, place in self.items():
            _write(form, place, result)
        if STDOUT not in self.values():
            show(render)


def show(render: Callable[[int], RenderableType]) -> None:
    """Print what RENDER makes of the terminal's width; lines that are longer, to be copied whole, stay so."""
    from rich.console import Console

    console = Console()
    with console.capture() as capture:
        console.print(render(console.width), crop=False)
    sys.stdout.write(_AT_ENDS.sub(lambda found: found[0].replace(" ", ""), capture.get()))


def _is_job_summary(place: Path) -> bool:
    """The summary belongs to the whole step: others may have written to it, and it is added to."""
    return str(place) == os.environ.get("GITHUB_STEP_SUMMARY")


def _write(form: Format, place: Path, result: Any) -> None:
    if place == STDOUT:
        form.write(result, sys.stdout)
    elif _is_job_summary(place):
        try:
            with place.open("a", encoding="utf-8", errors="replace") as file:
                form.write(result, file)
        except OSError as error:
            raise BadInput(f"cannot write {place}: {error.strerror}") from None
        written.append(place)
    else:
        # File names need not be UTF-8: what is not becomes a question mark, as on standard output.
        with staged(place) as path, path.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            form.write(result, file)


def with_report_options(formats: Sequence[Format]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each of FORMATS in place of its parameter `reports`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_reports(**values: Any) -> None:
            given = {form: values.pop(form.option) for form in formats}
            command(**values, reports=Reports({form: place for form, place in given.items() if place is not None}))

        signature = inspect.signature(command, eval_str=True)
        own = [parameter for name, parameter in signature.parameters.items() if name != "reports"]
        with_reports.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[
                *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own),
                *map(_option, formats),
            ]
        )
        return with_reports

    return decorate


def _option(form: Format) -> inspect.Parameter:
    option = typer.Option(metavar="FILE", help=f"{form.help} - is standard output.")
    return inspect.Parameter(
        form.option, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[Path | None, option]
    )

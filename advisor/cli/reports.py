"""Options that write reports to files: one for each of `advisor.report.formats.FORMATS`."""

from __future__ import annotations

import inspect
import sys
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from advisor.cli.options import check_apart
from advisor.errors import BadInput
from advisor.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.trace.analysis import Analysis

__all__ = ["Reports", "with_report_options"]

STDOUT = Path("-")


class Reports(dict[str, Path]):
    """Which reports are wanted, by option, and where to."""

    @property
    def on_stdout(self) -> bool:
        """A report goes to standard output, which then holds nothing else."""
        return STDOUT in self.values()

    def check(self, trace: Path) -> None:
        """Refuse what must not be written, before the work begins.

        Raises:
            BadInput: Two reports would go to one place, or one in the place of the TRACE.
        """
        for option, place in self.items():
            check_apart(f"--{option}", place, [trace])
        places = list(self.values())
        for place in places:
            if places.count(place) > 1:
                options = " and ".join(f"--{option}" for option, other in self.items() if other == place)
                raise BadInput(f"{options} both write to {place}: give each a file of its own")

    def write(self, analysis: Analysis) -> None:
        """Write each of them.

        Raises:
            BadInput: A file cannot be written.
        """
        from advisor.output import staged

        for form in FORMATS:
            target = self.get(form.option)
            if target == STDOUT:
                form.write(analysis, sys.stdout)
            elif target is not None:
                with staged(target) as path, path.open("w", encoding="utf-8", newline="\n") as file:
                    form.write(analysis, file)


def with_report_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give COMMAND an option for each format in place of its parameter `reports`."""

    @wraps(command)
    def with_reports(**values: Any) -> None:
        given = {form.option: values.pop(form.option) for form in FORMATS}
        command(**values, reports=Reports({option: path for option, path in given.items() if path is not None}))

    signature = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(
            form.option,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[Path | None, typer.Option(metavar="FILE", help=f"{form.help} - is standard output.")],
        )
        for form in FORMATS
    ]
    own = [parameter for name, parameter in signature.parameters.items() if name != "reports"]
    with_reports.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own), *options]
    )
    return with_reports

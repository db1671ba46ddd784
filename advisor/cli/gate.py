"""`advisor gate RUN --baseline BASE.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.options import parse_ratio, parse_time

__all__ = ["gate"]


def gate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A trace, or an analysis JSON.", show_default=False)],
    baseline: Annotated[Path, typer.Option(help="An analysis JSON of the build to compare with.", show_default=False)],
    relative: Annotated[
        float, typer.Option(parser=parse_ratio, metavar="RATIO", help="How far a fusible gap may rise, relatively …")
    ] = "10%",  # type: ignore[assignment]  # typer gives it to the parser
    gap_floor: Annotated[
        int, typer.Option(parser=parse_time, metavar="TIME", help="… and at least by how much an execution.")
    ] = "5us",  # type: ignore[assignment]
    ratio_floor: Annotated[
        float, typer.Option(parser=parse_ratio, metavar="RATIO", help="How far a gap ratio may rise.")
    ] = "1%",  # type: ignore[assignment]
) -> None:
    """Fail when launch overhead regressed against a baseline. Exit: 0 pass, 1 regressed, 2 bad input, 3 undecided."""
    from rich.console import Console

    from advisor.gate.compare import Tolerance, compare
    from advisor.gate.runs import load_analysis, load_run
    from advisor.report.comparison_text import render_comparison

    stored = load_analysis(baseline)
    tolerance = Tolerance(relative=relative, gap_ns=gap_floor, ratio=ratio_floor)
    comparison = compare(stored, load_run(run), tolerance)
    Console().print(render_comparison(comparison))
    if comparison.regressed:
        raise typer.Exit(1)
    if comparison.incomparable:
        raise typer.Exit(3)

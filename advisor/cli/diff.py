"""`advisor diff A B`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.reports import show

__all__ = ["diff"]


def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="A trace, a JSON or a baseline.", show_default=False)],
    after: Annotated[Path, typer.Argument(metavar="B", help="What to compare with it.", show_default=False)],
    region: Annotated[
        str | None, typer.Option(metavar="REGEX", help="The NVTX ranges that are executions of a model.")
    ] = None,
) -> None:
    """Show how B's launch overhead differs from A's: the comparison of `advisor gate`, without a verdict."""
    from advisor.gate.baseline import load_baseline
    from advisor.gate.compare import compare
    from advisor.report.comparison_text import render_comparison

    old = load_baseline(before, region=region)
    new = load_baseline(after, region=region or old.region)
    comparison = compare(old.runs, new.runs)
    show(lambda width: render_comparison(comparison, width, verdict=False))

"""`advisor analyze TRACE`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.cli.options import parse_ratio, parse_time
from advisor.cli.reports import Reports, with_report_options
from advisor.errors import BadInput
from advisor.report.formats import ANALYSIS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["analyze"]

STEPS = 6
LARGE_FILE = 64 * 1024 * 1024
"""Files from this size on take about a second."""


@with_report_options(ANALYSIS)
def analyze(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE", help="A profile by nsys, PyTorch or ONNX Runtime.", show_default=False, readable=False
        ),
    ],
    threshold: Annotated[
        float, typer.Option(parser=parse_ratio, metavar="RATIO", help="Flag graphs with a gap ratio over this.")
    ] = "20%",  # type: ignore[assignment]  # typer gives it to the parser
    top: Annotated[int, typer.Option(min=1, metavar="N", help="How many kernels and graphs to list.")] = 10,
    findings: Annotated[int, typer.Option(min=0, metavar="N", help="How many findings to tell.")] = 3,
    device: Annotated[int | None, typer.Option(metavar="N", help="Only the device with this number.")] = None,
    process: Annotated[
        str | None, typer.Option(metavar="ID|NAME", help="Only the process with this id or name.")
    ] = None,
    from_time: Annotated[
        int | None,
        typer.Option("--from", parser=parse_time, metavar="TIME", help="Only work that starts at or after, e.g. 1.5s."),
    ] = None,
    to_time: Annotated[
        int | None, typer.Option("--to", parser=parse_time, metavar="TIME", help="Only work that starts before.")
    ] = None,
    region: Annotated[
        str | None, typer.Option(metavar="REGEX", help="The NVTX ranges that are executions of a model.")
    ] = None,
    dispatch_limit: Annotated[
        int,
        typer.Option(
            parser=parse_time,
            metavar="TIME",
            help="Host time after a launch is the framework's dispatch up to this, the program's own code beyond.",
        ),
    ] = "250us",  # type: ignore[assignment]
    fail_on_flag: Annotated[
        bool,
        typer.Option("--fail-on-flag", help="Exit with 1 when graphs that matter are flagged, 3 where undecidable."),
    ] = False,
    reports: Reports = Reports(),  # noqa: B008 - replaced by an option for each format
) -> None:
    """Measure where the GPU waits between kernels, say why, and what removing launches would save."""
    import advisor
    from advisor.cli.memory import keep_freed_memory
    from advisor.report.analysis_text import render_analysis

    reports.check(trace)
    keep_freed_memory()
    with _progress(trace) as progress:
        try:
            recorded = advisor.read_trace(trace, progress)
        except BadInput:
            _check_no_document(trace)
            raise
        analysis = advisor.analyze(
            recorded,
            threshold=threshold,
            device=device,
            process=process,
            from_ns=from_time,
            to_ns=to_time,
            region=region,
            dispatch_limit_ns=dispatch_limit,
            progress=progress,
        )
    reports.answer(analysis, lambda width: render_analysis(analysis, top=top, width=width, findings=findings))
    if fail_on_flag and analysis.flagged:
        raise typer.Exit(1)
    if fail_on_flag and analysis.undecided:
        raise typer.Exit(3)


def _check_no_document(path: Path) -> None:
    """Refuse what the advisor itself wrote, and say what reads it."""
    from advisor.gate.documents import read_document

    document = read_document(path) if path.is_file() else None
    if document is not None:
        raise BadInput(
            f"{path} is what advisor wrote of a trace or a model ({document['schema']}), no trace: name the trace; "
            "`advisor diff` compares analyses, fusion reports and baselines"
        )


@contextmanager
def _progress(path: Path) -> Iterator[Callable[[str], None] | None]:
    """A bar on a terminal for files that take a while."""
    if not sys.stderr.isatty() or not path.is_file() or path.stat().st_size < LARGE_FILE:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("opening", total=STEPS)
        yield lambda words: bar.update(task, advance=1, description=words)

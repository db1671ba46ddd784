"""`advisor verify A B`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.model_options import (
    Batch,
    Dim,
    Inputs,
    Provider,
    Seed,
    Threads,
    parse_dims,
    progress,
)
from advisor.cli.reports import Reports, with_report_options
from advisor.report.formats import VERIFICATION

__all__ = ["verify"]


class LevelOption(StrEnum):
    """`--level`."""

    OFF = "off"
    ALL = "all"
    BOTH = "both"


@with_report_options(VERIFICATION)
def verify(
    a: Annotated[Path, typer.Argument(metavar="A", help="ONNX model that is right.", show_default=False)],
    b: Annotated[Path, typer.Argument(metavar="B", help="ONNX model to compare with it.", show_default=False)],
    provider: Provider = None,
    dim: Dim = None,
    batch: Batch = None,
    inputs: Inputs = None,
    level: Annotated[
        LevelOption, typer.Option(help="Run B with ONNX Runtime's optimisation off, at ORT_ENABLE_ALL, or both.")
    ] = LevelOption.BOTH,
    threads: Threads = None,
    seed: Seed = 0,
    coarse_ok: Annotated[
        bool,
        typer.Option("--coarse-ok", help="Exit with 0 also where equal is known within 10 % only (quantised models)."),
    ] = False,
    reports: Reports = Reports(),  # noqa: B008 - replaced by an option for each format
) -> None:
    """Tell whether two ONNX models compute the same, and where they part if they do not.

    Exits with 0 where they are equal, 1 where they differ, 3 where that cannot be told: one lacks a kernel here or
    draws random numbers, or they are equal within 10 % only.
    """
    from advisor.fuse.compare import LEVELS, compare_models
    from advisor.measure.session import Level
    from advisor.report.verification_text import render_verification

    levels = {LevelOption.OFF: (Level.OFF,), LevelOption.ALL: (Level.ALL,), LevelOption.BOTH: LEVELS}[level]
    reports.check(a, b, inputs)
    with progress() as say:
        comparison = compare_models(
            a,
            b,
            provider=provider,
            dims=parse_dims(dim or []),
            batch=batch,
            inputs=inputs,
            threads=threads,
            levels=levels,
            seed=seed,
            progress=say,
        )
    if comparison.asked not in {None, comparison.provider}:
        print(f"warning: {comparison.asked} did not load: this ran on {comparison.provider}", file=sys.stderr)
    reports.answer(comparison, lambda _width: render_verification(comparison))
    if not comparison.equal:
        raise typer.Exit(1)
    if comparison.is_coarse and not coarse_ok:
        raise typer.Exit(3)

"""`advisor profile MODEL`."""

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
from advisor.cli.options import check_apart, parse_ratio
from advisor.cli.reports import Reports, with_report_options
from advisor.errors import BadInput
from advisor.output import Kind, check_writable
from advisor.report.formats import PROFILE

__all__ = ["profile"]


class LevelOption(StrEnum):
    """`--level`."""

    OFF = "off"
    ALL = "all"


@with_report_options(PROFILE)
def profile(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="ONNX model.", show_default=False)],
    provider: Provider = None,
    dim: Dim = None,
    batch: Batch = None,
    inputs: Inputs = None,
    level: Annotated[
        LevelOption, typer.Option(help="ONNX Runtime's optimisation: off, or all (ORT_ENABLE_ALL).")
    ] = LevelOption.ALL,
    runs: Annotated[
        int | None,
        typer.Option(min=2, metavar="N", help="Runs to record; as many as fit into 2 s (10 to 100) unless given."),
    ] = None,
    threads: Threads = None,
    threshold: Annotated[
        float, typer.Option(parser=parse_ratio, metavar="RATIO", help="Flag a gap ratio over this.")
    ] = "20%",  # type: ignore[assignment]  # typer gives it to the parser
    top: Annotated[int, typer.Option(min=1, metavar="N", help="How many nodes to list.")] = 10,
    keep: Annotated[
        Path | None,
        typer.Option("--keep-profile", metavar="FILE", help="Keep the recording, for `advisor analyze FILE`."),
    ] = None,
    seed: Seed = 0,
    reports: Reports = Reports(),  # noqa: B008 - replaced by an option for each format
) -> None:
    """Run an ONNX model under a profiler: where a run's time goes, and how much of it lies between nodes."""
    from advisor.measure.profile import profile as profile_model
    from advisor.measure.session import Level
    from advisor.report.profile_text import render_profile

    reports.check(model, inputs, keep)
    check_apart("--keep-profile", keep, [model, inputs])
    if str(keep) == "-":
        raise BadInput("--keep-profile - is no file: name one")
    if keep is not None:
        check_writable(keep, Kind.ORT_PROFILE, Kind.EXPORT)
    with progress() as say:
        result = profile_model(
            model,
            provider=provider,
            dims=parse_dims(dim or []),
            batch=batch,
            inputs=inputs,
            threads=threads,
            level={LevelOption.OFF: Level.OFF, LevelOption.ALL: Level.ALL}[level],
            runs=runs,
            threshold=threshold,
            keep=keep,
            seed=seed,
            progress=say,
        )
    if result.asked not in {None, result.provider}:
        print(f"warning: {result.asked} was not recorded: this ran on {result.provider}", file=sys.stderr)
    reports.answer(result, lambda width: render_profile(result, top=top, width=width))

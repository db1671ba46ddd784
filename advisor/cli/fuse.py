"""`advisor fuse MODEL`."""

from __future__ import annotations

import sys
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
from advisor.cli.options import parse_sizes
from advisor.cli.reports import Reports, with_report_options
from advisor.report.formats import FUSION

__all__ = ["fuse"]


@with_report_options(FUSION)
def fuse(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="ONNX model.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the fused model here; nothing is written without."),
    ] = None,
    provider: Provider = None,
    dim: Dim = None,
    batch: Batch = None,
    inputs: Inputs = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="A recording of the model, as for analyze: try first what it predicts to save most.",
        ),
    ] = None,
    batch_sizes: Annotated[
        str | None,
        typer.Option(metavar="N,N,…", help="Measure the fused model at these sizes of the batch as well: 1,2,4,8,16."),
    ] = None,
    threads: Threads = None,
    budget: Annotated[
        float, typer.Option(min=0.0, max=86_400.0, metavar="SECONDS", help="Time for measuring; proving comes on top.")
    ] = 60.0,
    seed: Seed = 0,
    reports: Reports = Reports(),  # noqa: B008 - replaced by an option for each format
) -> None:
    """Fuse an ONNX model: every fusion is proven equal and measured, and kept only where it makes the model faster."""
    from advisor.fuse.search import fuse as fuse_model
    from advisor.report.fusion_text import render_fusion

    dims = parse_dims(dim or [])
    sizes = parse_sizes(batch_sizes)
    reports.check(model, inputs, trace, output)
    with progress() as say:
        report = fuse_model(
            model,
            output=output,
            provider=provider,
            dims=dims,
            batch=batch,
            inputs=inputs,
            trace=trace,
            threads=threads,
            budget_s=budget,
            seed=seed,
            batch_sizes=sizes,
            progress=say,
        )
    if report.settings.provider not in {None, report.provider}:
        print(f"warning: {report.settings.provider} did not load: this ran on {report.provider}", file=sys.stderr)
    reports.answer(report, lambda width: render_fusion(report, width))

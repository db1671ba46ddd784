"""`advisor baseline RUN… -o BASE.json`, and `advisor baseline --accept RUN… --reason TEXT BASE.json`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.reports import STDOUT, show

__all__ = ["baseline"]


def baseline(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Traces, analysis or fusion JSONs of one build.", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="BASE.json", help="The file to write; - is standard output."),
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Take the runs' place in a baseline that exists; needs --reason.")
    ] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why; kept in the file's history.", show_default=False)
    ] = None,
    region: Annotated[
        str | None, typer.Option(metavar="REGEX", help="The NVTX ranges that are executions of a model.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The model that ran: its hash must then agree.", show_default=False),
    ] = None,
    environment: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="A fact that the trace does not hold, such as driver=570.86: where it differs, the gate says so.",
        ),
    ] = None,
) -> None:
    """Record runs of a build for `advisor gate` to compare with. Give several: drift between runs is then measured."""
    from advisor.errors import BadInput
    from advisor.gate.baseline import record, stored_baseline
    from advisor.gate.compare import compare
    from advisor.gate.runs import load_runs, parse_labels
    from advisor.output import Kind, check_writable
    from advisor.report.comparison_text import render_baseline

    if accept and output is None:
        if len(runs) < 2:
            raise BadInput(
                "name the runs and then the baseline: advisor baseline --accept RUN… --reason TEXT BASE.json"
            )
        *runs, output = runs
    if output is None:
        raise BadInput("where to? advisor baseline RUN… -o BASE.json")
    if accept and not (reason or "").strip():
        raise BadInput("an accepted baseline needs a reason: --reason TEXT")
    target = output
    if accept and target == STDOUT:
        raise BadInput("--accept changes a file: name it after the runs")
    if accept and not target.is_file():
        raise BadInput(f"{target} does not exist: record it first, with advisor baseline RUN… -o {target}")
    if not accept and target != STDOUT and target.exists():
        raise BadInput(f"{target} exists: change it with advisor baseline --accept RUN… --reason TEXT {target}")

    before = stored_baseline(target) if accept else None
    if target != STDOUT:
        check_writable(target, Kind.BASELINE)
    region = region or (before.region if before else None)
    labels = parse_labels(environment or [])
    recordings = load_runs(runs, region=region, model=model, labels=labels)
    comparison = compare(before.runs, recordings) if before else None
    made = record(
        recordings, reason=(reason or "").strip() or "recorded", region=region, before=before, comparison=comparison
    )
    if target == STDOUT:
        sys.stdout.write(made.to_text())
    else:
        made.write(target)
        show(lambda width: render_baseline(made, target, comparison, width))

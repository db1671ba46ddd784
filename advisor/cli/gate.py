"""`advisor gate RUN… --baseline BASE.json`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.cli.options import is_same_file, parse_ratio
from advisor.cli.reports import STDOUT, Reports, with_report_options
from advisor.report.formats import COMPARISON

if TYPE_CHECKING:
    from advisor.gate.policy import Policy

__all__ = ["gate"]


@with_report_options(COMPARISON)
def gate(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Traces, analysis or fusion JSONs of one build.", show_default=False),
    ],
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What `advisor baseline` recorded, or one run.", show_default=False),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An absolute limit, e.g. gap_ratio=0.20; needs no baseline."),
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="TOML", help="Thresholds, budgets, waivers. [default: advisor.toml]")
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(
            parser=parse_ratio,
            metavar="P",
            help="How likely a false alarm may be, of all tests together. [default: 0.01]",
        ),
    ] = None,
    min_effect: Annotated[
        float | None,
        typer.Option(parser=parse_ratio, metavar="RATIO", help="The smallest rise that counts. [default: 5%]"),
    ] = None,
    paired: Annotated[
        bool, typer.Option("--paired", help="The runs were recorded in turns with the baseline's, in this order.")
    ] = False,
    region: Annotated[
        str | None, typer.Option(metavar="REGEX", help="NVTX ranges that are executions. [default: the baseline's]")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The model that ran: its hash must agree.", show_default=False)
    ] = None,
    environment: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="A fact that the trace does not hold, such as driver=570.86: where it differs, the report says so.",
        ),
    ] = None,
    reports: Reports = Reports(),  # noqa: B008 - replaced by an option for each format
) -> None:
    """Fail when launch overhead regressed. Exit: 0 pass, 1 regressed or over budget, 2 bad input, 3 cannot decide."""
    from advisor.errors import BadInput
    from advisor.gate.baseline import load_baseline
    from advisor.gate.compare import compare
    from advisor.gate.policy import find_policy
    from advisor.gate.runs import load_runs, parse_labels
    from advisor.report.comparison_annotations import comparison_annotations
    from advisor.report.comparison_text import render_comparison

    policy = policy or find_policy(Path.cwd())
    reports.check(*runs, baseline, policy, model)
    rules = _policy(policy, budget or [], level, min_effect)
    if baseline is None and not rules.budgets and not any("budgets" in graph for graph in rules.graphs.values()):
        raise BadInput("nothing to hold the runs against: give --baseline BASE.json, or --budget KEY=VALUE")
    for run in runs:
        if baseline is not None and is_same_file(run, baseline):
            raise BadInput(f"{run} is the baseline itself: name a run of another build")
    stored = load_baseline(baseline) if baseline is not None else None
    known = stored.runs if stored else ()
    if paired and len(known) != len(runs):
        raise BadInput(f"--paired: {len(runs)} runs for {len(known)} of the baseline: give one for each")
    region = region or (stored.region if stored else None)
    labels = parse_labels(environment or [])
    recordings = load_runs(runs, region=region, model=model, labels=labels)
    comparison = compare(known, recordings, rules, paired=paired, baseline=baseline)

    reports.answer(comparison, lambda width: render_comparison(comparison, width))
    if os.environ.get("GITHUB_ACTIONS") == "true" and STDOUT not in reports.values():
        print("\n".join(comparison_annotations(comparison)))
    if comparison.verdict.exit_code:
        raise typer.Exit(comparison.verdict.exit_code)


def _policy(path: Path | None, budgets: list[str], level: float | None, min_effect: float | None) -> Policy:
    from dataclasses import replace

    from advisor.gate.policy import check_level, load_policy, parse_budget

    policy = load_policy(path)
    thresholds = policy.thresholds
    thresholds = replace(
        thresholds,
        level=thresholds.level if level is None else check_level(level, "--level"),
        min_effect=thresholds.min_effect if min_effect is None else min_effect,
    )
    policy = replace(policy, thresholds=thresholds)
    return policy.with_budgets(dict(parse_budget(text) for text in budgets))

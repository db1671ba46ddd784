"""The analysis equals the truth of simulated programs, to the nanosecond, whatever form the export takes.

The simulator knows why each device was idle because it made it so; it shares no code with the analysis.
"""

from __future__ import annotations

import re
import statistics
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import advisor
from sample_traces.nsys_export import GENERATIONS, gpus_known, write
from sample_traces.operations import (
    BeginCapture,
    Call,
    CallKind,
    EndCapture,
    Host,
    Launch,
    LaunchGraph,
    Migrate,
    Operation,
    Pop,
    Push,
    Stream,
    Synchronize,
)
from sample_traces.programs import SAMPLES
from sample_traces.simulator import Machine, Process, simulate
from sample_traces.truth import CAUSES, explain
from tests.simulated_programs import KERNELS, simulated

if TYPE_CHECKING:
    from sample_traces.run import Run
    from sample_traces.truth import RegionTruth, Truth
    from tests.simulated_programs import Simulated

many = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
some = settings(many, max_examples=40)

ADDITIVE = ("exposed_gap_ns", "launch_gap_ns", "fusible_gap_ns")


def analysed(run: Run, generation: str = "3.24", *, region: str | None = None, **options: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.sqlite"
        write(run, path, generation, **options)
        return advisor.analyze(advisor.read_trace(path), region=region).to_dict()


def causes_of(row: dict[str, Any]) -> dict[str, int]:
    return {str(cause): ns for cause, ns in row["causes"].items() if ns}


def present(causes: dict[str, int]) -> dict[str, int]:
    return {cause: ns for cause, ns in causes.items() if ns}


def said(document: dict[str, Any]) -> dict[str, Any]:
    """The figures of an analysis that the simulator knows."""
    totals, coverage = document["totals"], document["coverage"]
    return {
        "totals": {key: totals[key] for key in ("span_ns", "busy_ns", *ADDITIVE)} | {"causes": causes_of(totals)},
        "calls": {key: totals[key] for key in ("kernels", "launch_calls", "graph_launches")},
        "coverage": {key: coverage[key] for key in ("work", "matched", "orphans", "skewed", "graph_level")},
        "unclosed_ranges": coverage["unclosed_ranges"],
        "devices": sorted(
            (row["span_ns"], row["busy_ns"], row["exposed_gap_ns"], sorted(causes_of(row).items()))
            for row in document["devices"]
        ),
        "kernels": {
            row["name"]: {key: row[key] for key in ("count", "duration_ns", "queue_ns", "launch_latency_ns", *ADDITIVE)}
            | {"causes": causes_of(row)}
            for row in document["kernels"]
            if row["kind"] == "kernel"
        },
    }


def known(truth: Truth) -> dict[str, Any]:
    """The same figures as the simulator knows them."""
    coverage = truth.coverage
    works = defaultdict(list)
    for part in truth.works:
        if part.work.kind == "kernel":
            works[part.work.name].append(part)
    return {
        "totals": {key: getattr(truth, key) for key in ("span_ns", "busy_ns", *ADDITIVE)}
        | {"causes": present(truth.causes)},
        "calls": {key: getattr(coverage, key) for key in ("kernels", "launch_calls", "graph_launches")},
        "coverage": {key: getattr(coverage, key) for key in ("work", "matched", "orphans", "skewed", "graph_level")},
        "unclosed_ranges": coverage.unclosed_ranges,
        "devices": sorted(
            (device.span_ns, device.busy_ns, device.exposed_gap_ns, sorted(present(device.causes).items()))
            for device in truth.devices
        ),
        "kernels": {
            kernel.name: {key: getattr(kernel, key) for key in ("count", "duration_ns", *ADDITIVE)}
            | {
                "queue_ns": sum(part.queue_ns for part in works[kernel.name]),
                "launch_latency_ns": sum(part.launch_latency_ns for part in works[kernel.name]),
                "causes": present(kernel.causes),
            }
            for kernel in truth.kernels
        },
    }


@given(simulated())
@many
def test_the_analysis_says_what_was_simulated(case: Simulated) -> None:
    truth = explain(case.run, gpus_known=gpus_known(case.generation))
    assert said(analysed(case.run, case.generation)) == known(truth)


@given(simulated(), st.integers(0, 9), st.integers(0, 9), st.integers(0, 1 << 50))
@some
def test_the_form_of_the_export_changes_no_figure(case: Simulated, permute: int, renumber: int, shift_ns: int) -> None:
    plain = said(analysed(case.run, case.generation))
    assert said(analysed(case.run, case.generation, permute=permute)) == plain
    assert said(analysed(case.run, case.generation, shift_ns=shift_ns)) == plain
    assert said(analysed(case.run, case.generation, renumber=renumber)) == plain
    assert said(analysed(case.run, case.generation, empty_tables=True)) == plain
    changed = analysed(case.run, case.generation, permute=permute, renumber=renumber, shift_ns=shift_ns)
    assert said(changed) == plain

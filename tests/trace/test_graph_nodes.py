"""Kernels that got lost inside launches of CUDA graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import advisor
from advisor.gate.environment import unreliable
from advisor.gate.policy import Thresholds
from advisor.report.analysis_words import notes
from sample_traces.operations import (
    BeginCapture,
    EndCapture,
    Host,
    Instantiate,
    Launch,
    LaunchGraph,
    Operation,
    Synchronize,
)
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace
from tests.gate.simulated import recording

if TYPE_CHECKING:
    from advisor.trace.trace import Trace

NODES, REPLAYS = 10, 20


def replays() -> list[Operation]:
    captured: list[Operation] = [Launch(f"kernel{number}", 2_000) for number in range(NODES)]
    replay: list[Operation] = [LaunchGraph(1), Synchronize(), Host(20_000)]
    return [BeginCapture(), *captured, EndCapture(1), Instantiate(1), *(replay * REPLAYS)]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return to_trace(simulate(replays(), Machine()))


def without(trace: Trace, *lost: int) -> Trace:
    """The trace without these of its works."""
    keep = np.ones(len(trace.works), np.bool_)
    keep[list(lost)] = False
    return replace(trace, works=trace.works.take(keep))


def test_nothing_is_missing_where_every_launch_has_all_nodes(trace: Trace) -> None:
    coverage = advisor.analyze(trace).coverage
    assert (coverage.kernel_launches, coverage.kernels_missing) == (NODES * REPLAYS, 0)
    assert coverage.graph_kernels_missing == 0


def test_nodes_that_one_launch_lacks_and_others_have_are_missing(trace: Trace) -> None:
    analysis = advisor.analyze(without(trace, 3, 17, 18))
    coverage = analysis.coverage
    assert (coverage.kernel_launches, coverage.kernels_missing) == (NODES * REPLAYS, 3)
    assert coverage.graph_kernels_missing == 3
    assert any("3 kernels inside CUDA graphs not in the trace" in note for note in notes(analysis))
    assert analysis.totals.gap_ratio is not None  # 1.5 % move nothing
    # A window tells of its own launches alone, and what it leaves out is not missing.
    middle = int(np.sort(trace.calls.start[np.isin(trace.calls.correlation, trace.works.correlation)])[10])
    later = advisor.analyze(without(trace, 3, 17, 18), from_ns=middle).coverage
    assert (later.kernel_launches, later.kernels_missing) == (NODES * 10, 0)


def test_a_launch_that_lost_everything_is_told_in_words_and_its_kernels_are_missing(trace: Trace) -> None:
    first = int(trace.works.correlation[trace.works.graph_node != 0].min())
    lost = np.flatnonzero(trace.works.correlation == first).tolist()
    assert len(lost) == NODES
    analysis = advisor.analyze(without(trace, *lost))
    coverage = analysis.coverage
    assert coverage.graph_launches_without_work == 1
    assert (coverage.kernel_launches, coverage.kernels_missing) == (NODES * REPLAYS, NODES)
    assert any("1 CUDA graph launch without any work in the trace" in note for note in notes(analysis))
    (finding,) = (finding for finding in analysis.findings if finding.id == "cannot-decide")
    assert finding.severity == "info"
    assert "of 1 CUDA graph launch no work is in the trace" in finding.message
    # A part of the trace that does not hold it lacks nothing.
    after = int(trace.calls.start[trace.calls.correlation == first + 1].max()) - 1
    later = advisor.analyze(without(trace, *lost), from_ns=after).coverage
    assert (later.graph_launches_without_work, later.kernels_missing) == (0, 0)


def test_where_many_launches_lost_everything_nothing_is_decided(trace: Trace) -> None:
    numbers = np.unique(trace.works.correlation[trace.works.graph_node != 0])[:3]
    analysis = advisor.analyze(without(trace, *np.flatnonzero(np.isin(trace.works.correlation, numbers)).tolist()))
    assert (analysis.coverage.graph_launches_without_work, analysis.coverage.kernels_missing) == (3, 3 * NODES)
    assert (analysis.totals.gap_ratio, analysis.findings[0].severity) == (None, "high")


def test_where_many_nodes_are_missing_nothing_is_decided(trace: Trace) -> None:
    lost = without(trace, *range(0, NODES * REPLAYS, 6))
    analysis = advisor.analyze(lost)
    assert analysis.totals.gap_ratio is None
    assert analysis.verdict == "cannot-decide"
    assert analysis.findings[0].id == "cannot-decide"
    run = recording(replays())
    coverage = analysis.coverage
    run = replace(run, kernel_launches=coverage.kernel_launches, kernels_missing=coverage.kernels_missing)
    assert "34 of 200 kernels that were launched are not in the trace" in unreliable(run, Thresholds())[0]


def test_a_program_that_switches_nodes_off_lacks_nothing(trace: Trace) -> None:
    switching = replace(trace, call_names=(*trace.call_names, "cudaGraphNodeSetEnabled_v11060"))
    assert advisor.analyze(without(switching, 3, 17)).coverage.kernels_missing == 0


def test_parts_of_a_graph_that_run_now_and_then_are_not_missing(trace: Trace) -> None:
    """The body of a conditional node has an id of its own, above its graph's."""
    node = trace.works.graph_node.copy()
    part = node >= node.min() + NODES - 2
    node[part] += 1 << 32
    nested = replace(trace, works=replace(trace.works, graph_node=node))
    lost = np.flatnonzero(part)[:6].tolist()
    assert len(lost) == 6
    assert advisor.analyze(without(nested, *lost)).coverage.kernels_missing == 0

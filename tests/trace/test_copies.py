"""Copies: gaps before them that no fusion takes away, and busy time in which nothing is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import advisor
from advisor.report.analysis_words import most_share, overhead_words, whole_trace
from advisor.trace.causes import FUSIBLE
from sample_traces.operations import Copy, Host, Launch, Pop, Push, Stream, Synchronize
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace

if TYPE_CHECKING:
    from pathlib import Path

    from sample_traces.operations import Operation


def analysed(direction: str) -> advisor.Analysis:
    body: list[Operation] = [
        Push("run"),
        Host(40_000),
        Launch("a", 3_000),
        Host(60_000),
        Copy(2_000, direction=direction),
        Pop(),
    ]
    return advisor.analyze(to_trace(simulate(body * 10, Machine(module_load_ns=0))))


@pytest.mark.parametrize("direction", ["HtoD", "DtoH"])
def test_gaps_before_copies_between_host_and_device_stay(direction: str) -> None:
    analysis = analysed(direction)
    (graph,) = analysis.graph_figures
    before_a_copy = analysis.evidence.gap_causes[FUSIBLE, :].sum(axis=0)[
        [
            "memcpy" in analysis.trace.work_names[analysis.trace.works.name[row]]
            for row in analysis.evidence.timeline.order[analysis.evidence.gap_places]
        ]
    ]
    assert analysis.totals.host_copy_gap_ns == int(before_a_copy.sum()) > 0
    assert 0 < graph.host_copy_gap_ns < graph.fusible_gap_ns
    assert most_share(graph) == pytest.approx((graph.fusible_gap_ns - graph.host_copy_gap_ns) / graph.time_ns)
    assert "before copies between host and device, which no fusion removes" in overhead_words(analysis)


def test_copies_inside_the_device_are_work_like_any_other() -> None:
    analysis = analysed("DtoD")
    assert not analysis.totals.host_copy_gap_ns
    assert "before copies" not in overhead_words(analysis)


@pytest.mark.parametrize(("name", "share"), [("pipit_saxpy_mpi", 0.93), ("openacc_rtx3080", 0.47)])
def test_real_programs_wait_for_the_launch_of_copies(real_traces: Path, name: str, share: float) -> None:
    totals = advisor.analyze(real_traces / f"{name}.sqlite").totals
    assert totals.host_copy_gap_ns / totals.fusible_gap_ns == pytest.approx(share, abs=0.01)


def test_busy_time_is_told_apart_where_much_of_it_is_copies_or_communication() -> None:
    both: list[Operation] = [
        Launch("gemm", 100_000),
        Copy(80_000, stream=Stream(1)),
        Launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 300_000),
        Synchronize(),
    ]
    analysis = advisor.analyze(to_trace(simulate(both * 5, Machine(module_load_ns=0))))
    parts = analysis.busy_parts
    assert (parts.kernels_ns, parts.copies_ns, parts.communication_ns) == (500_000, 400_000, 1_500_000)
    assert parts.overlap_ns == 2_400_000 - analysis.totals.busy_ns > 0
    text = whole_trace(analysis)
    assert "Busy with kernels that compute 500 µs, copies 400 µs (" in text
    assert "communication 1.50 ms (" in text
    assert "at the same time" in text


def test_computing_alone_needs_no_word() -> None:
    analysis = advisor.analyze(to_trace(simulate([Launch("gemm", 100_000)] * 5, Machine(module_load_ns=0))))
    assert "Busy with" not in whole_trace(analysis)

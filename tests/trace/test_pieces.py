"""Gaps cut into pieces: what a picture shows is what the figures say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import advisor
from advisor.trace.causes import Cause, ThreadActivity
from advisor.trace.pieces import cut_gaps
from sample_traces.operations import Call, CallKind, Host, Launch, Synchronize
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace
from tests.simulated_programs import simulated

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.trace.analysis import Analysis
    from advisor.trace.pieces import Pieces
    from sample_traces.operations import Operation
    from tests.simulated_programs import Simulated


def pieces_of(analysis: Analysis) -> Pieces:
    evidence = analysis.evidence
    activity = ThreadActivity(analysis.trace, evidence.launches, analysis.dispatch_limit_ns)
    return cut_gaps(analysis.trace, evidence, activity, np.arange(len(evidence.gap_places)))


def tile_their_gaps_and_add_up(analysis: Analysis) -> None:
    evidence, pieces = analysis.evidence, pieces_of(analysis)
    since = evidence.timeline.idle_since[evidence.gap_places]
    until = since + evidence.timeline.exposed_gap[evidence.gap_places]
    sums = np.zeros_like(evidence.gap_causes)
    np.add.at(sums, (pieces.cause, pieces.gap), pieces.end - pieces.start)
    assert (sums == evidence.gap_causes).all()
    first = np.flatnonzero(np.diff(pieces.gap, prepend=-1))
    last = np.append(first, len(pieces))[1:] - 1
    assert pieces.gap[first].tolist() == list(range(len(since)))
    assert (pieces.start[first] == since).all()
    assert (pieces.end[last] == until).all()
    inner = np.setdiff1d(np.arange(len(pieces)), first)
    assert (pieces.start[inner] == pieces.end[inner - 1]).all()
    assert (pieces.cause[inner] != pieces.cause[inner - 1]).all()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(simulated())
def test_pieces_tile_their_gaps_and_add_up_to_their_causes(case: Simulated) -> None:
    tile_their_gaps_and_add_up(advisor.analyze(to_trace(case.run)))


@pytest.mark.parametrize("name", ["gomory_rtx3090_2025_5", "mfu_2gpu_before", "fuser_h200_2025_1", "uvm_a100"])
def test_so_they_do_on_real_traces(real_traces: Path, name: str) -> None:
    tile_their_gaps_and_add_up(advisor.analyze(advisor.read_trace(real_traces / f"{name}.sqlite")))


def test_each_piece_lies_where_its_cause_was() -> None:
    program: list[Operation] = [
        Launch("gemm", 50_000, call_ns=2_000, latency_ns=500),
        Synchronize(),
        Call("cudaMalloc_v3020", CallKind.MEMORY, 7_000),
        Host(5_000),
        Launch("add", 1_000, call_ns=2_000, latency_ns=300_000),
        Synchronize(),
        Launch("add", 1_000, call_ns=2_000, latency_ns=500),
    ]
    run = simulate(program, Machine(return_ns=3_000))
    analysis = advisor.analyze(to_trace(run))
    pieces = pieces_of(analysis)
    calls = {call.name.split("_")[0]: call for call in run.recorded_calls[:3]}
    launch = run.recorded_calls[3]
    mine = pieces.gap == 0
    shown = [
        (Cause(cause).key, start, end)
        for cause, start, end in zip(pieces.cause[mine], pieces.start[mine], pieces.end[mine], strict=True)
    ]
    synced, allocated = calls["cudaDeviceSynchronize"], calls["cudaMalloc"]
    assert ("sync", run.works[0].end, synced.end) in shown
    assert ("memory", allocated.start, allocated.end) in shown
    assert ("module", launch.start, launch.end) in shown
    assert ("launch", launch.end, launch.end + 100_000) in shown
    assert shown[-1] == ("wait", launch.end + 100_000, run.works[1].start)

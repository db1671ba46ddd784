"""Set-up told apart from what repeats, and the longest idle intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import advisor
from advisor.errors import CannotDecide
from advisor.report.analysis_words import longest_gaps, whole_trace, worth
from advisor.trace.causes import Cause
from sample_traces.operations import Host, Launch, Pop, Push, Synchronize
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.trace.analysis import Analysis
    from sample_traces.operations import Operation

STEP: list[Operation] = [Host(30_000), Launch("relu_kernel", 2_000)]
RUN: list[Operation] = [Push("run"), *STEP * 12, Pop()]
SETUP: list[Operation] = [Launch("fill", 5_000), Synchronize(), Host(900_000_000)]


def analysed(program: list[Operation]) -> Analysis:
    return advisor.analyze(to_trace(simulate(program, Machine(module_load_ns=0))))


def test_set_up_does_not_tell_where_to_look() -> None:
    analysis = analysed([*SETUP, *RUN * 10])
    assert analysis.phases is not None
    setup, runs = analysis.phases.setup, analysis.phases.runs
    assert setup.causes[Cause.HOST] == pytest.approx(900_000_000, rel=0.01)
    assert runs.causes[Cause.HOST] < 0.01 * runs.span_ns
    assert max(runs.causes, key=lambda cause: runs.causes[cause]) is Cause.DISPATCH
    assert "look there first" not in worth(analysis)
    assert "before the first run that was measured (set-up, mostly `host`)" in whole_trace(analysis)


def test_a_pause_in_every_round_tells_where_to_look() -> None:
    analysis = analysed([*SETUP, *[*RUN, Host(5_000_000)] * 10])
    assert "from the first run to the last the GPU waits longest for `host`" in worth(analysis)
    assert "look there first" in worth(analysis)


def test_phases_are_no_more_than_the_whole(real_traces: Path) -> None:
    for path in sorted(real_traces.glob("*.sqlite")):
        try:
            analysis = advisor.analyze(path)
        except CannotDecide:
            continue
        if analysis.phases is not None:
            for cause, whole in analysis.totals.causes.items():
                assert analysis.phases.setup.causes[cause] + analysis.phases.runs.causes[cause] <= whole


def test_the_verdict_of_the_document_is_that_of_the_headline() -> None:
    analysis = analysed([*SETUP, *RUN * 10])
    assert analysis.verdict == analysis.to_dict()["verdict"] == analysis.graph_figures[0].verdict == "dispatch-bound"


def test_the_longest_idle_intervals_can_be_cut_out() -> None:
    program = [*SETUP, *RUN * 4, Host(70_000_000), *RUN * 4]
    trace = to_trace(simulate(program, Machine(module_load_ns=0)))
    analysis = advisor.analyze(trace)
    first, second, third = analysis.longest_gaps
    assert (first.cause, first.where, second.cause, second.where) == ("host", "setup", "host", "between")
    assert first.gap_ns > second.gap_ns > third.gap_ns
    assert second.gap_ns == pytest.approx(70_000_000, rel=0.01)
    for interval, line in zip(analysis.longest_gaps, longest_gaps(analysis), strict=True):
        begin, end = interval.window_ns
        assert f"`--from {begin}ns --to {end}ns`" in line
        part = advisor.analyze(trace, from_ns=begin, to_ns=end)
        assert (part.coverage.work, part.totals.exposed_gap_ns) == (2, interval.gap_ns)


def test_without_idle_time_no_interval_is_listed() -> None:
    assert not analysed([Launch("gemm", 5_000)]).longest_gaps

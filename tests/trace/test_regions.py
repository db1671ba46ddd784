"""Which range a work belongs to: the one that contains its launch call, from begin to end."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

import advisor
from advisor.errors import BadInput
from sample_traces.operations import Host, Launch, Pop, Push, Synchronize
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace

if TYPE_CHECKING:
    from advisor.trace.trace import Trace
    from sample_traces.operations import Operation


def trace_with_ranges_that_end(after_launch_ns: int) -> Trace:
    """Ten executions of five kernels in a range each, which ends so long after its last kernel's launch call began."""
    step: list[Operation] = [
        Push("step"),
        *[Launch(f"kernel{number}", 3_000) for number in range(5)],
        Pop(),
        Synchronize(),
        Host(9_000),
    ]
    trace = to_trace(simulate(step * 10, Machine(module_load_ns=0)))
    calls, ranges = trace.calls, trace.ranges
    launched = np.sort(calls.start[np.isin(calls.correlation, trace.works.correlation)])
    last = launched[np.searchsorted(launched, ranges.end) - 1]
    return replace(trace, ranges=replace(ranges, end=last + after_launch_ns))


def call_ns(trace: Trace) -> int:
    launched = np.isin(trace.calls.correlation, trace.works.correlation)
    return int((trace.calls.end - trace.calls.start)[launched].max())


@pytest.mark.parametrize(("cut_ns", "kernels"), [(0, 5), (1, 4)])
def test_a_launch_call_that_the_ranges_end_cuts_through_is_outside(cut_ns: int, kernels: int) -> None:
    whole = call_ns(trace_with_ranges_that_end(0))
    analysis = advisor.analyze(trace_with_ranges_that_end(whole - cut_ns))
    (graph,) = analysis.graph_figures
    assert (graph.name, graph.kernels_per_instance, graph.instances) == ("step", kernels, 10)
    assert analysis.coverage.outside_graphs == (5 - kernels) * 10


def test_ranges_that_hold_no_whole_launch_call_are_no_executions() -> None:
    """Executions are then found from what repeats, as where there are no ranges."""
    trace = trace_with_ranges_that_end(0)
    calls = trace.calls
    last = [int(end) for end in trace.ranges.end]
    short = replace(trace, ranges=replace(trace.ranges, start=np.array(last) - 1, end=np.array(last) + 1))
    assert all(one < other for one, other in pairwise(last))
    assert np.isin(last, calls.start).all()
    assert {graph.source for graph in advisor.analyze(short).graph_figures} == {"iteration"}
    with pytest.raises(BadInput, match="no range that launched work matches"):
        advisor.analyze(short, region="step")

"""What a simulated run keeps to, whatever the program: these are the laws of the machine, not of the analysis."""

from __future__ import annotations

import time
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sample_traces.operations import (
    BeginCapture,
    CallKind,
    Copy,
    EndCapture,
    Host,
    Launch,
    LaunchGraph,
    Operation,
    Pop,
    Push,
    RangeEnd,
    RecordEvent,
    Stream,
    Synchronize,
    WaitEvent,
)
from sample_traces.programs import NOISE, launch_bound_decode
from sample_traces.simulator import Jitter, Machine, Process, simulate
from sample_traces.truth import explain
from tests.simulated_programs import Simulated, machines, processes, simulated

if TYPE_CHECKING:
    from sample_traces.run import Run

A, B = Stream(7), Stream(13)


def times(run: Run) -> list[tuple[int, int]]:
    return [(work.start, work.end) for work in run.works]


@given(processes(), machines(skew=False), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_streams_run_in_order_and_nothing_runs_before_its_launch_call(
    given_processes: list[Process], machine: Machine, seed: int
) -> None:
    run = simulate(given_processes, machine, seed)
    on_stream = defaultdict(list)
    for work in run.works:
        assert work.start < work.end
        if work.call is not None:
            assert work.call.start <= work.start
        if not work.graph:  # branches of a CUDA graph borrow stream ids
            on_stream[work.process, work.stream].append(work)
    for works in on_stream.values():
        for before, after in pairwise(sorted(works, key=lambda work: work.start)):
            assert before.end <= after.start
            if before.call is not None and after.call is not None and before.call.thread == after.call.thread:
                assert before.call.start < after.call.start


@given(processes(), machines(), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_a_device_runs_no_more_works_at_a_time_than_it_can(
    given_processes: list[Process], machine: Machine, seed: int
) -> None:
    run = simulate(given_processes, machine, seed)
    by_gpu: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for work in run.works:
        if work.kind != "graph":
            by_gpu[work.gpu] += [(work.start, 1), (work.end, -1)]
    for moments in by_gpu.values():
        running = 0
        for _, change in sorted(moments):
            running += change
            assert running <= machine.concurrency


@given(processes(), machines(), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_a_thread_makes_one_call_at_a_time(given_processes: list[Process], machine: Machine, seed: int) -> None:
    run = simulate(given_processes, machine, seed)
    for thread, _ in enumerate(run.threads):
        open_until: list[int] = []
        for call in sorted((c for c in run.calls if c.thread == thread), key=lambda c: (c.start, -c.end)):
            assert call.start < call.end
            while open_until and open_until[-1] <= call.start:
                open_until.pop()
            assert not open_until or call.end <= open_until[-1]  # inside the call that made it, or after it
            open_until.append(call.end)
    for process, _ in enumerate(run.processes):
        mine = [call.correlation for call in run.calls if run.threads[call.thread].process == process]
        assert len(set(mine)) == len(mine)


@given(simulated())
@settings(max_examples=100, deadline=None)
def test_the_truth_adds_up(case: Simulated) -> None:
    truth = explain(case.run)
    for device in truth.devices:
        assert device.busy_ns + device.exposed_gap_ns == device.span_ns
        assert sum(device.causes.values()) == device.exposed_gap_ns
        for part in device.works:
            assert sum(part.causes.values()) == part.exposed_gap_ns
            assert min(part.causes.values(), default=0) >= 0
            assert part.queue_ns <= part.launch_latency_ns
    assert sum(truth.causes.values()) == truth.exposed_gap_ns
    assert sum(kernel.count for kernel in truth.kernels) == truth.coverage.kernels
    for region in truth.regions:
        assert sum(region.causes.values()) == region.exposed_gap_ns
        if not any(part.skewed for part in region.works):
            assert region.busy_ns + region.exposed_gap_ns <= region.span_ns * len(truth.devices)


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    machine = Machine(jitter=NOISE)
    runs = [times(simulate(launch_bound_decode(2), machine, seed)) for seed in (5, 5, 6)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_lone_launch_starts_after_its_latency() -> None:
    run = simulate([Launch("a", 1_000)], Machine(module_load_ns=0, launch_latency_ns=5_000, start_ns=100))
    assert times(run) == [(5_100, 6_100)]


def two_launches(first: Stream, second: Stream) -> list[Operation]:
    return [Launch("a", 50_000, first), Launch("b", 50_000, second)]


def test_streams_overlap_and_one_stream_does_not() -> None:
    machine = Machine(module_load_ns=0, step_ns=900)
    overlap = times(simulate(two_launches(A, B), machine))
    assert overlap[1][0] < overlap[0][1]
    queued = times(simulate(two_launches(A, A), machine))
    assert queued[1][0] == queued[0][1] + 900


def test_a_stream_waits_for_an_event_of_another() -> None:
    program: list[Operation] = [Launch("a", 80_000, A), RecordEvent(1, A), WaitEvent(1, B), Launch("b", 1_000, B)]
    first, second = times(simulate(program, Machine(module_load_ns=0)))
    assert second[0] >= first[1]


def test_synchronising_returns_after_the_work() -> None:
    program: list[Operation] = [Launch("a", 80_000, A), Synchronize(A)]
    run = simulate(program, Machine(module_load_ns=0, return_ns=3_000))
    assert run.calls[-1].kind is CallKind.SYNC
    assert run.calls[-1].end == run.works[0].end + 3_000


def test_a_blocking_copy_returns_after_the_copy() -> None:
    run = simulate([Copy(80_000, blocking=True)], Machine(return_ns=3_000))
    assert run.calls[0].end == run.works[0].end + 3_000


def test_a_full_queue_holds_the_launch_call_up() -> None:
    program = [Launch("a", 100_000) for _ in range(4)]
    run = simulate(program, Machine(module_load_ns=0, queue_depth=2))
    assert [call.end - call.start > 50_000 for call in run.calls] == [False, False, True, True]


def test_the_first_launch_of_a_kernel_loads_it() -> None:
    run = simulate([Launch("a", 1_000), Launch("a", 1_000), Launch("b", 1_000)], Machine(module_load_ns=90_000))
    assert [call.end - call.start > 90_000 for call in run.calls] == [True, False, True]


GRAPH: list[Operation] = [
    BeginCapture(A),
    Launch("a", 1_000, A),
    RecordEvent(1, A),
    WaitEvent(1, B),
    Launch("b", 9_000, B),
    Launch("c", 9_000, A),
    RecordEvent(2, B),
    WaitEvent(2, A),
    Launch("d", 1_000, A),
    EndCapture(1, A),
]


def test_a_captured_graph_runs_when_launched_and_keeps_its_dependencies() -> None:
    run = simulate([*GRAPH, LaunchGraph(1, A), LaunchGraph(1, A)])
    assert sum(call.capturing for call in run.calls) == 4
    assert len(run.works) == 8
    replay = {work.name: work for work in run.works[:4]}
    assert replay["a"].end <= min(replay["b"].start, replay["c"].start)
    assert replay["b"].start < replay["c"].end
    assert replay["c"].start < replay["b"].end
    assert replay["d"].start >= max(replay["b"].end, replay["c"].end)
    assert {work.call for work in run.works} == {call for call in run.calls if "GraphLaunch" in call.name}


def test_a_graph_recorded_as_a_whole_is_one_interval() -> None:
    by_node = simulate([*GRAPH, LaunchGraph(1, A)])
    (whole,) = simulate([*GRAPH, LaunchGraph(1, A, whole=True)]).works
    assert whole.kind == "graph"
    assert (whole.start, whole.end) == (min(w.start for w in by_node.works), max(w.end for w in by_node.works))


def test_skew_moves_the_device_before_the_host() -> None:
    program: list[Operation] = [Host(100_000), Launch("a", 1_000)]
    straight = simulate(program, Machine(module_load_ns=0))
    skewed = simulate(program, Machine(module_load_ns=0, skew_ns=50_000))
    assert times(skewed) == [(start - 50_000, end - 50_000) for start, end in times(straight)]
    assert explain(skewed).coverage.skewed == 1
    assert explain(straight).coverage.skewed == 0


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ([Pop()], "pop without a push"),
        ([RangeEnd(3)], "range 3 is not open"),
        ([LaunchGraph(1)], "never captured"),
        ([EndCapture(1)], "nothing is being captured"),
        ([BeginCapture(A), Copy(10, A, blocking=True)], "cannot be captured"),
    ],
)
def test_a_program_that_makes_no_sense_is_refused(program: list[Operation], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        simulate(program)


def test_jitter_varies_as_much_as_it_says() -> None:
    program = [Launch("a", 100_000) for _ in range(400)]
    run = simulate(program, Machine(module_load_ns=0, jitter=Jitter(duration=0.05)))
    durations = sorted(work.end - work.start for work in run.works)
    assert 98_500 < durations[200] < 101_500
    assert 3_500 < (durations[336] - durations[64]) / 2 < 6_500  # half the distance of the 16 % quantiles


def iterations(count: int) -> list[Operation]:
    body = [part for number in range(30) for part in (Host(6_000), Launch(f"kernel{number}", 4_000))]
    return [*[Push("step"), *body, Synchronize(A), Pop()] * count]


def test_fifty_iterations_of_thirty_kernels_take_well_under_a_tenth_of_a_second() -> None:
    program, machine = iterations(50), Machine(jitter=NOISE)
    taken = []
    for seed in range(5):
        start = time.process_time()
        run = simulate(program, machine, seed)
        taken.append(time.process_time() - start)
        assert len(run.works) == 1500
    assert min(taken) < 0.1

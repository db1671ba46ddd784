"""Iterations found from what repeats, against sequences whose iterations are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import advisor
from advisor.trace.iterations import find_marks
from sample_traces.operations import Copy, Host, Launch
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.trace.analysis import Analysis
    from sample_traces.operations import Operation


def _pauses(size: int, marks: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The host pauses a little before each kernel, and longer before each iteration."""
    pauses = np.full(size, 2_000, np.int64)
    pauses[[mark for mark in marks if mark < size]] = 50_000
    return pauses


def _find(iterations: list[list[int]], before: list[int], after: list[int]) -> tuple[list[int], list[int], float]:
    names = np.array([*before, *(name for iteration in iterations for name in iteration), *after], np.int32)
    truth = np.cumsum([len(before), *map(len, iterations)]).tolist()
    marks = find_marks(names, _pauses(len(names), truth))
    assert marks.begin[1:].tolist() == marks.end[:-1].tolist()
    return [*marks.begin.tolist(), *marks.end[-1:].tolist()], truth, marks.certainty


@st.composite
def bodies(draw: st.DrawFn) -> list[int]:
    """One iteration: kernels, some layers of the same kernels, and one that occurs nowhere else."""
    layer = draw(st.lists(st.integers(1, 8), min_size=1, max_size=6))
    layers = draw(st.integers(1, 6))
    head = draw(st.lists(st.integers(9, 15), min_size=1, max_size=5))
    return [*head, *layer * layers, 99]


@given(
    bodies(), st.integers(4, 12), st.lists(st.integers(20, 90), max_size=10), st.lists(st.integers(20, 90), max_size=10)
)
def test_exact_repetition_is_found_to_the_kernel(
    body: list[int], count: int, before: list[int], after: list[int]
) -> None:
    marks, truth, certainty = _find([body] * count, before, after)
    kernels = len(before) + len(body) * count + len(after)
    if len(body) * count < 0.75 * kernels:  # Too little repeats to be sure.
        return
    assert marks == truth
    assert certainty == pytest.approx(len(body) * count / kernels)


@given(bodies(), st.integers(6, 12), st.data())
def test_an_iteration_that_differs_a_little_is_still_one(body: list[int], count: int, data: st.DataObject) -> None:
    # Not the first kernels, by which an iteration is recognised, and not so many that nothing repeats.
    odd = data.draw(st.integers(0, count - 1))
    iterations = [list(body) for _ in range(count)]
    iterations[odd][-1:-1] = [77]
    marks, truth, _ = _find(iterations, [], [])
    assert marks == truth or (odd == count - 1 and marks == truth[:-1])


def test_the_outer_loop_is_the_iteration_also_with_many_layers() -> None:
    body = [9, *[1, 2, 3, 4] * 48, 10]
    marks, truth, certainty = _find([body] * 10, [30, 31], [32])
    assert marks == truth
    assert certainty > 0.99


@given(st.integers(0, 2**32 - 1))
def test_nothing_is_found_where_nothing_repeats(seed: int) -> None:
    names = np.random.default_rng(seed).integers(0, 40, 500).astype(np.int32)
    for stretches in (False, True):
        marks = find_marks(names, _pauses(500, []), stretches=stretches)
        assert len(marks) == 0
        assert marks.certainty == 0.0


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_short_sequences_have_no_iterations(size: int) -> None:
    assert len(find_marks(np.zeros(size, np.int32), np.zeros(size, np.int64))) == 0


@pytest.mark.parametrize(
    ("file", "graph", "runs", "kernels", "verdict"),
    [
        # DNN serving: one request is 385 kernels, and between them the framework takes as long as the launches do.
        ("abacus_titanrtx_a", "iteration", 59, 385, "dispatch-bound"),
        # The same training step before and after a change; both keep the GPU busy.
        ("mfu_2gpu_before", "iteration on device 0", 16, 119, "gpu-bound"),
        ("mfu_2gpu_after", "iteration on device 1", 15, 119, "gpu-bound"),
        # Two kernels and a synchronisation, 4,095 times: short waits beside long kernels.
        ("rodinia_gaussian", "iteration", 4095, 2, "gpu-bound"),
    ],
)
def test_real_traces_without_marks(
    real_traces: Path, file: str, graph: str, runs: int, kernels: int, verdict: str
) -> None:
    graphs = advisor.analyze(advisor.read_trace(real_traces / f"{file}.sqlite")).graph_figures
    found = next(row for row in graphs if row.name == graph)
    assert (found.source, found.instances, found.kernels_per_instance, found.verdict) == (
        "iteration",
        runs,
        kernels,
        verdict,
    )
    assert found.certainty > 0.9


@pytest.mark.parametrize(
    ("file", "runs", "kernels"),
    [
        ("openacc_rtx3080", 1933, 1),  # a copy and a kernel
        ("brainstorm_moe_rtx3090", 100, 1),  # nine copies and a kernel
        ("kmeans_rtx3080", 51, 1),  # six copies and a kernel
        ("ngp_streams_rtx3070", 905, 8),  # a step of eight kernels, and after every 57 or so another phase
    ],
)
def test_real_loops_of_one_kernel_with_its_copies_and_loops_in_stretches(
    real_traces: Path, file: str, runs: int, kernels: int
) -> None:
    (graph,) = advisor.analyze(real_traces / f"{file}.sqlite").graph_figures
    assert (graph.source, graph.instances, graph.kernels_per_instance) == ("iteration", runs, kernels)


def _simulated(program: list[Operation]) -> Analysis:
    return advisor.analyze(to_trace(simulate(program, Machine(module_load_ns=0))))


def test_one_kernel_between_its_copies_is_an_iteration() -> None:
    body: list[Operation] = [Host(20_000), Copy(3_000), Launch("solve", 5_000), Copy(2_000, direction="DtoH")]
    analysis = _simulated(body * 20)
    (graph,) = analysis.graph_figures
    assert (graph.source, graph.instances, graph.kernels_per_instance) == ("iteration", 20, 1)
    assert not analysis.coverage.outside_graphs


def test_iterations_are_found_on_both_sides_of_other_work() -> None:
    step: list[Operation] = [Host(20_000), *(Launch(name, 5_000) for name in "abcdefgh")]
    other: list[Operation] = [Launch("other", 5_000), Launch("work", 5_000)]
    (graph,) = _simulated([*step * 12, *other * 5, *step * 11, *other * 4, *step * 12]).graph_figures
    assert (graph.source, graph.instances, graph.kernels_per_instance) == ("iteration", 35, 8)


def test_layers_of_one_run_are_no_iterations(real_traces: Path) -> None:
    graphs = advisor.analyze(real_traces / "darknet19_infer_gtx1650.sqlite").graph_figures
    assert [graph.source for graph in graphs] == ["trace"]


def test_a_search_that_depends_on_its_data_has_no_iterations(real_traces: Path) -> None:
    # A branching search (Hungarian algorithm): the number of kernels per round differs each time.
    graphs = advisor.analyze(advisor.read_trace(real_traces / "gomory_rtx3090_2025_5.sqlite")).graph_figures
    assert [graph.source for graph in graphs] == ["trace"]

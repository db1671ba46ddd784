"""Fusion candidates: which chains there are, how often, and what fusing them would save."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import advisor
from advisor.trace.candidates import KEPT, medians_per_run
from advisor.trace.chains import find_chains
from advisor.trace.kernel_classes import op_classes
from sample_traces.operations import (
    BeginCapture,
    Copy,
    EndCapture,
    Fill,
    Host,
    Instantiate,
    Launch,
    LaunchGraph,
    Operation,
    Pop,
    Push,
    Stream,
    Synchronize,
)
from sample_traces.programs import SAMPLES
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace
from sample_traces.truth import explain
from tests.simulated_programs import simulated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from advisor.trace.analysis import Analysis
    from advisor.trace.candidates import Candidate
    from advisor.trace.chains import Chains
    from advisor.trace.figures import GraphFigures
    from advisor.trace.levers import Levers
    from tests.simulated_programs import Simulated

KERNEL_OF = {
    "elementwise": "relu_kernel",
    "reduction": "reduce_kernel",
    "norm": "layer_norm",
    "softmax": "softmax",
    "gemm": "gemm",
    "conv": "conv2d",
    "copy": "transpose_kernel",
    "gather": "gather_kernel",
    "attention": "flash_fwd_kernel",
    "fused": "triton_poi_fused_mul_0",
    "other": "solve",
}
FOLDS = ("reduction", "norm", "softmax")
QUIET = Machine(module_load_ns=0)


def run_of(classes: Iterable[str], duration: int = 1_500) -> list[Operation]:
    return [Launch(KERNEL_OF[name], duration) for name in classes]


def analysed(body: Sequence[Operation], runs: int = 4, machine: Machine = QUIET) -> Analysis:
    """RUNS executions of BODY, each in a range, far apart; the first one is warm-up."""
    program = [part for _ in range(runs) for part in (Push("run"), *body, Pop(), Synchronize())]
    return advisor.analyze(to_trace(simulate(program, machine)))


def chains_of(analysis: Analysis) -> Chains:
    return find_chains(analysis.trace, analysis.evidence, op_classes(analysis.trace.work_names))


def found(*classes: str) -> list[tuple[str, ...]]:
    """The classes of the chains in a run of kernels of these CLASSES, in the order of the stream."""
    analysis = analysed(run_of(classes))
    of_name = op_classes(analysis.trace.work_names)
    chains = chains_of(analysis)
    last = chains.run == chains.run.max() if len(chains) else []
    return [
        tuple(of_name[analysis.trace.works.name[row]] for row in chains.rows[chains.first[i] : chains.first[i + 1]])
        for i in np.flatnonzero(last)
    ]


@pytest.mark.parametrize("before", KERNEL_OF)
@pytest.mark.parametrize("after", KERNEL_OF)
def test_pairs_merge_as_the_definition_says(before: str, after: str) -> None:
    merges = (
        (before == "elementwise" and after == "elementwise")
        or (before in FOLDS and after == "elementwise")
        or (before == "elementwise" and after in FOLDS)
        or (before in ("gemm", "conv") and after == "elementwise")
    )
    assert found(before, after) == ([(before, after)] if merges else [])


@pytest.mark.parametrize(
    ("classes", "chains"),
    [
        # A written-out normalisation is one chain, however many reductions it has.
        (["reduction", "elementwise", "reduction", "elementwise"], [(0, 4)]),
        # An epilogue takes no reduction: rows are not whole in a tile. The reduction begins a chain of its own.
        (["gemm", "elementwise", "elementwise", "reduction", "elementwise"], [(0, 3), (3, 5)]),
        (["gemm", "elementwise", "softmax"], [(0, 2)]),
        (["gemm", "elementwise", "gemm", "elementwise", "norm", "elementwise", "conv"], [(0, 2), (2, 4), (4, 6)]),
        # Only the first fold after a product is cut off.
        (["conv", "elementwise", "norm", "elementwise", "norm", "elementwise"], [(0, 2), (2, 6)]),
        (["elementwise", "other", "elementwise"], []),
        (["other", "elementwise", "elementwise", "attention"], [(1, 3)]),
    ],
)
def test_chains_are_as_long_as_they_can_be(classes: list[str], chains: list[tuple[int, int]]) -> None:
    assert found(*classes) == [tuple(classes[begin:end]) for begin, end in chains]


RELU = Launch(KERNEL_OF["elementwise"], 1_500)


@pytest.mark.parametrize("between", [Copy(1_000), Copy(1_000, direction="DtoD"), Fill(1_000)])
def test_a_copy_or_a_set_ends_a_chain(between: Operation) -> None:
    assert len(chains_of(analysed([RELU, RELU]))) == 4
    assert len(chains_of(analysed([RELU, between, RELU]))) == 0


def test_another_stream_neither_ends_a_chain_nor_is_part_of_it() -> None:
    other = Launch("solve", 1_000, Stream(9))
    chains = chains_of(analysed([RELU, other, RELU]))
    assert np.diff(chains.first).tolist() == [2, 2, 2, 2]
    assert len(chains_of(analysed([RELU, Launch(RELU.kernel, 1_500, Stream(9))]))) == 0


def test_a_chain_ends_with_its_run() -> None:
    program: list[Operation] = [part for _ in range(3) for part in (Push("run"), RELU, Pop())]
    assert len(chains_of(advisor.analyze(to_trace(simulate(program, QUIET))))) == 0


def test_nodes_of_a_cuda_graph_and_single_launches_make_one_chain() -> None:
    capture: list[Operation] = [BeginCapture(), RELU, RELU, EndCapture(1), Instantiate(1)]
    replay: list[Operation] = [
        part for _ in range(3) for part in (Push("run"), RELU, LaunchGraph(1), Pop(), Synchronize())
    ]
    analysis = advisor.analyze(to_trace(simulate([*capture, *replay], QUIET)))
    assert np.diff(chains_of(analysis).first).tolist() == [3, 3, 3]
    (candidate,) = analysis.candidates
    assert (candidate.occurrences, len(candidate.kernels)) == (1, 3)


def slow_chains(analysis: Analysis) -> set[tuple[int, ...]]:
    """The definition, row by row."""
    works, order, of_run = analysis.trace.works, analysis.evidence.timeline.order, analysis.evidence.runs.of_work
    of_name = op_classes(analysis.trace.work_names)
    streams: dict[int, list[int]] = defaultdict(list)
    for row in order.tolist():
        streams[int(works.stream[row])].append(row)
    result = set()
    for rows in streams.values():
        chain: list[int] = []
        for row in [*rows, None]:
            if chain and row is not None and of_run[row] == of_run[chain[-1]] >= 0:
                first, last, this = (of_name[works.name[each]] for each in (chain[0], chain[-1], row))
                after_product = last in ("gemm", "conv") and this == "elementwise"
                after_fold = last in FOLDS and this == "elementwise"
                folds = () if first in ("gemm", "conv") else FOLDS
                after_elementwise = last == "elementwise" and this in ("elementwise", *folds)
                if after_product or after_fold or after_elementwise:
                    chain.append(row)
                    continue
            if len(chain) > 1:
                result.add(tuple(chain))
            chain = [] if row is None else [row]
    return result


@given(simulated())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_chains_and_savings_against_the_definition_and_the_truth(case: Simulated) -> None:
    analysis = advisor.analyze(to_trace(case.run))
    chains = chains_of(analysis)
    rows = [tuple(chains.rows[a:b].tolist()) for a, b in pairwise(chains.first.tolist())]
    assert set(rows) == slow_chains(analysis)
    # No work is in two chains, so that their savings may be added up.
    assert len(set(chains.rows.tolist())) == len(chains.rows)

    truth = {id(work.work): work for work in explain(case.run).works}
    known = [truth[id(work)] for work in case.run.works]
    for chain, low, high in zip(rows, chains.low.tolist(), chains.high.tolist(), strict=True):
        inner = [known[row] for row in chain[1:]]
        assert low == sum(work.fusible_gap_ns for work in inner)
        assert low <= high <= low + sum(work.work.end - work.work.start for work in inner)
    assert chains.low.sum() <= analysis.totals.fusible_gap_ns
    assert chains.high.sum() - chains.low.sum() <= analysis.totals.busy_ns


def test_kernels_that_run_at_one_time_save_it_once() -> None:
    together = [[Launch("relu_kernel", 50_000, Stream(id=number)) for number in (7, 8, 9)] for _ in range(4)]
    step: list[Operation] = [
        Push("step"),
        *(launch for launches in together for launch in launches),
        Synchronize(),
        Pop(),
        Host(20_000),
    ]
    analysis = advisor.analyze(to_trace(simulate(step * 12, QUIET)))
    (graph,), (levers,) = analysis.graph_figures, analysis.levers
    # Each of three chains but its first kernel, all at one time: three quarters of the busy time, not nine.
    assert levers.fusion_ns[1] - levers.fusion_ns[0] == pytest.approx(0.75 * graph.busy_ns, rel=0.05)


@given(simulated())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_candidates_and_levers_add_up(case: Simulated) -> None:
    analysis = advisor.analyze(to_trace(case.run))
    assert len(analysis.levers) == len(analysis.graph_figures)
    for graph, levers in zip(analysis.graph_figures, analysis.levers, strict=True):
        assert (levers.graph, levers.variant) == (graph.name, graph.variant)
        low, high = levers.fusion_ns
        assert 0 <= low <= high
        if levers.capture_ns is not None:
            assert 0 <= levers.capture_ns[0] <= levers.capture_ns[1]
        if graph.instances == 1:
            mine = [each for each in analysis.candidates if (each.graph, each.variant) == (graph.name, graph.variant)]
            assert sum(each.occurrences for each in mine) == levers.chains
            assert sum(each.saving_ns[0] for each in mine) == low
            assert sum(each.saving_ns[1] for each in mine) == high
    for candidate in analysis.candidates:
        assert candidate.occurrences > 0
        assert len(candidate.kernels) == len(candidate.op_classes) >= 2


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(0, 50)), max_size=40), st.integers(7, 9))
def test_medians_are_over_all_runs_also_those_without(sums: list[tuple[int, int, int]], runs: int) -> None:
    kinds, run, values = np.array(sums, np.int64).reshape(-1, 3).T
    (medians,) = medians_per_run(kinds, run, runs, [values], np.full(3, runs))
    table = np.zeros((3, runs), np.int64)
    np.add.at(table, (kinds, run), values)
    assert medians.tolist() == np.rint(np.median(table, axis=1)).astype(int).tolist()


def test_occurrences_and_savings_are_medians_of_the_runs_that_are_no_warm_up() -> None:
    body = run_of(["gemm", "elementwise", "elementwise", "other", "gemm", "elementwise", "elementwise", "copy"])
    candidates = [analysed(body, machine=Machine(module_load_ns=load)).candidates for load in (0, 900_000)]
    for (candidate,) in candidates:
        assert candidate.kernels == ("gemm", "relu_kernel", "relu_kernel")
        assert candidate.op_classes == ("gemm", "elementwise", "elementwise")
        assert (candidate.graph, candidate.variant, candidate.occurrences) == ("run", 0, 2)
    assert candidates[0] == candidates[1]


def test_a_report_keeps_the_candidates_that_save_most_and_the_sum_of_all() -> None:
    kernels = [f"ns{index}::relu_kernel" for index in range(KEPT + 50)]
    body = [part for name in kernels for part in (Launch(name, 1_500), RELU, Fill(1_000))]
    analysis = analysed(body)
    assert len(analysis.candidates) == KEPT
    (levers,) = analysis.levers
    assert levers.chains == len(kernels)
    kept = [candidate.saving_ns for candidate in analysis.candidates]
    assert kept == sorted(kept, reverse=True)
    assert levers.fusion_ns[0] > sum(low for low, _ in kept)


# ---- predictions, held against what the simulated machine then does


def levers_of(analysis: Analysis) -> tuple[GraphFigures, Levers, tuple[Candidate, ...]]:
    return analysis.graph_figures[0], analysis.levers[0], analysis.candidates


def dispatched(kernels: Iterable[Launch]) -> list[Operation]:
    return [part for kernel in kernels for part in (Host(3_000), kernel)]


CHAIN = [Launch(KERNEL_OF[name], 1_500) for name in ("gemm", "elementwise", "elementwise", "elementwise")]
BARRIER = Launch("solve", 1_500)


def test_fusing_a_chain_saves_what_was_predicted() -> None:
    graph, levers, _ = levers_of(analysed(dispatched([*CHAIN, BARRIER] * 4)))
    assert levers.chains == 4
    longer = Launch("fused", sum(kernel.duration for kernel in CHAIN))
    shorter = Launch("fused", CHAIN[0].duration)
    with_all_the_work, _, _ = levers_of(analysed(dispatched([longer, BARRIER] * 4)))
    without_inner_work, _, _ = levers_of(analysed(dispatched([shorter, BARRIER] * 4)))
    low, high = levers.fusion_ns
    assert low <= graph.span_ns - with_all_the_work.span_ns <= high
    assert low <= graph.span_ns - without_inner_work.span_ns <= high * 1.01


def test_capturing_a_run_saves_what_was_predicted() -> None:
    body = dispatched([*CHAIN, BARRIER] * 4)
    graph, levers, _ = levers_of(analysed(body))
    capture = [BeginCapture(), *body, EndCapture(1), Instantiate(1)]
    replay = [part for _ in range(4) for part in (Push("run"), LaunchGraph(1), Pop(), Synchronize())]
    captured, of_captured, _ = levers_of(advisor.analyze(to_trace(simulate([*capture, *replay], QUIET))))
    assert levers.capture_ns is not None
    low, high = levers.capture_ns
    # A graph's own launch takes longer than the kernel's that it replaces.
    longer = QUIET.graph_latency_ns - QUIET.launch_latency_ns
    assert low <= graph.span_ns - captured.span_ns + longer <= high
    assert of_captured.capture_ns is None
    assert "already" in of_captured.capture_basis


def test_a_run_that_synchronises_may_not_be_captured_as_it_is() -> None:
    _, levers, _ = levers_of(analysed([*CHAIN, Synchronize(Stream()), *CHAIN]))
    assert levers.capture_ns is not None
    assert levers.capture_ns[0] == 0 < levers.capture_ns[1]
    assert "synchronises" in levers.capture_basis
    _, afterwards, _ = levers_of(analysed([*CHAIN, *CHAIN, Synchronize(Stream())]))
    assert afterwards.capture_ns is not None
    assert afterwards.capture_ns[0] > 0


def test_what_happens_once_cannot_be_replayed() -> None:
    (levers,) = advisor.analyze(to_trace(simulate(CHAIN, QUIET))).levers
    assert levers.capture_ns is None
    assert "no run could be told apart" in levers.capture_basis


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_samples_show_the_chains_that_they_were_made_of(samples: Path, sample: str) -> None:
    """What `sample_traces/programs.py` says: chains, and in which run."""
    analysis = advisor.analyze(advisor.read_trace(samples / f"{sample}.sqlite"))
    shown = {(each.op_classes, each.occurrences) for each in analysis.candidates}
    norm = ("reduction", "elementwise", "elementwise", "elementwise", "elementwise")
    chains: dict[str, set[tuple[tuple[str, ...], int]]] = {
        # Three layers with two written-out norms each; the first norm of a token has its own square in front, all
        # others follow a product, whose epilogue takes it.
        "launch_bound_decode": {(norm, 5), (("elementwise", *norm), 1)},
        "gpu_bound_cnn": {(("conv", "elementwise", "elementwise"), 16), (("conv", "elementwise"), 16)},
        "sync_bound_loop": {(("gemm", "elementwise", "elementwise"), 4)},
        # Triton has fused already, and products stand between.
        "cuda_graph_replay": set(),
    }
    assert chains[sample] <= shown
    assert bool(chains[sample]) == bool(shown)

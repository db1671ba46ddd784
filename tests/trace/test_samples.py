"""What an analysis keeps of each graph for comparisons: kernels, and figures per execution."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import advisor
from advisor.trace.samples import Samples, graph_samples
from sample_traces.nsys_export import write
from sample_traces.operations import Call, CallKind, Copy, Host, Launch, Pop, Push, Stream, Synchronize
from sample_traces.simulator import simulate

if TYPE_CHECKING:
    from advisor.trace.analysis import Analysis
    from sample_traces.operations import Operation


def analysed(program: list[Operation]) -> Analysis:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.sqlite"
        write(simulate(program), path)
        return advisor.analyze(advisor.read_trace(path))


def loop(*body: Operation, times: int = 6) -> list[Operation]:
    return [Call("cudaMalloc_v3020", CallKind.MEMORY, 9_000), *(list(body) * times)]


STEP: tuple[Operation, ...] = (
    Push("step"),
    Copy(1_000),
    Launch("gemm", 5_000),
    Host(2_000),
    Launch("add", 1_000),
    Launch("add", 1_000),
    Copy(1_000, direction="DtoH"),
    Synchronize(),
    Pop(),
)


def constant(samples: Samples, column: str) -> float:
    values = samples.columns[column]
    known = values[~np.isnan(values)]
    assert len(known) >= len(values) - 1
    assert (known == known[0]).all()
    return float(known[0])


def test_an_execution_has_its_kernels_and_calls_counted() -> None:
    (samples,) = graph_samples(analysed(loop(*STEP)))
    assert (samples.graph, samples.source, samples.instances, samples.warmup) == ("step", "nvtx", 5, 1)
    assert samples.names == ("gemm", "add")
    assert samples.counts == (1, 2)
    assert samples.order == (0, 1, 1)
    counts = {
        "kernels": 3,
        "launch_calls": 5,
        "graph_launches": 0,
        "synchronisations": 1,
        "allocations": 0,
        "copies": 2,
    }
    assert {name: constant(samples, name) for name in counts} == counts
    assert constant(samples, "timed_calls") == 5
    assert constant(samples, "launch_call") == 5 * 4_000


def test_what_the_loop_does_between_executions_belongs_to_the_one_before() -> None:
    between: tuple[Operation, ...] = (Call("cudaMalloc_v3020", CallKind.MEMORY, 5_000), Launch("outside", 900))
    (samples,) = graph_samples(analysed(loop(*STEP, *between)))
    assert constant(samples, "allocations") == 1
    assert constant(samples, "launch_calls") == 5
    assert constant(samples, "period_launches") == 6
    assert np.isnan(samples.columns["allocations"][-1])


def test_launch_calls_that_wait_for_the_gpu_are_not_timed() -> None:
    # A blocking copy waits for the kernel before it: its time is the GPU's.
    body = (Push("step"), Launch("gemm", 500_000), Copy(1_000, blocking=True), Pop())
    (samples,) = graph_samples(analysed(loop(*body)))
    assert constant(samples, "timed_calls") == 1
    assert constant(samples, "launch_call") == 4_000


def test_a_full_queue_is_not_taken_for_a_slow_launch_call() -> None:
    step: list[Operation] = [Push("step"), *[Launch("gemm", 50_000)] * 100, Pop()]
    (samples,) = graph_samples(analysed(step * 20))
    slow = samples.columns["launch_call"] / np.maximum(samples.columns["timed_calls"], 1)
    assert slow.max() <= 4_000


def test_the_gaps_are_those_of_the_graph(samples: Path) -> None:
    analysis = advisor.analyze(advisor.read_trace(samples / "launch_bound_decode.sqlite"))
    (mine,) = graph_samples(analysis)
    (figures,) = analysis.graph_figures
    assert np.median(mine.fusible_gap) == figures.fusible_gap_ns
    assert np.median(mine.launch_gap) == figures.launch_gap_ns
    assert np.median(mine.columns["span"]) == figures.span_ns


@pytest.mark.parametrize("name", ["launch_bound_decode", "cuda_graph_replay", "sync_bound_loop", "gpu_bound_cnn"])
def test_json_holds_all_of_it_in_a_few_kilobytes(samples: Path, name: str) -> None:
    analysis = advisor.analyze(advisor.read_trace(samples / f"{name}.sqlite"))
    document = json.loads(json.dumps(analysis.to_dict()))
    names = [row["name"] for row in document["kernels"]]
    for entry, mine in zip(document["samples"], graph_samples(analysis), strict=True):
        again = Samples.from_dict(entry, names)
        assert (again.names, again.counts, again.order) == (mine.names, mine.counts, mine.order)
        for column, values in mine.columns.items():
            np.testing.assert_array_equal(again.columns[column], values)
    assert len(json.dumps(document["samples"])) < 20_000


def test_a_stream_of_its_own_changes_nothing() -> None:
    other = Stream(id=21)
    body = (Push("step"), Launch("gemm", 5_000), Launch("add", 1_000, other), Synchronize(), Pop())
    (samples,) = graph_samples(analysed(loop(*body)))
    assert samples.order == (0, 1)


def test_a_trace_without_executions_is_one_sample() -> None:
    (samples,) = graph_samples(analysed([Launch("a", 1_000), Host(5_000), Launch("b", 1_000), Synchronize()]))
    assert (samples.graph, samples.source, samples.instances) == ("trace", "trace", 1)
    assert samples.names == ("a", "b")
    assert constant(samples, "synchronisations") == 1

"""Profiles of ONNX Runtime: recorded here and now on the CPU, and written by hand where the times must be known."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
import pytest
from onnx import TensorProto, helper, numpy_helper

import advisor
from advisor.errors import BadInput, CannotDecide

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from advisor.trace.analysis import Analysis

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
RUNS = 6


def value(name: str, kind: int, shape: list[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model(graph: onnx.GraphProto) -> onnx.ModelProto:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def chain(length: int = 8) -> onnx.ModelProto:
    nodes = [
        helper.make_node(("Add", "Mul")[step % 2], [f"x{step}", "c"], [f"x{step + 1}"], name=f"node {step}")
        for step in range(length)
    ]
    constant = numpy_helper.from_array(np.full(16, 1.5, np.float32), "c")
    graph = helper.make_graph(nodes, "g", [value("x0", FLOAT, [16])], [value(f"x{length}", FLOAT, [16])], [constant])
    return model(graph)


def loop() -> onnx.ModelProto:
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["going"], ["still_going"], name="condition"),
            helper.make_node("Add", ["v", "v"], ["doubled"], name="double"),
            helper.make_node("Tanh", ["doubled"], ["next_v"], name="squash"),
        ],
        "body",
        [value("i", INT64, []), value("going", BOOL, []), value("v", FLOAT, [4])],
        [value("still_going", BOOL, []), value("next_v", FLOAT, [4])],
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="before"),
        helper.make_node("Loop", ["n", "", "r"], ["y"], name="the loop", body=body),
    ]
    return model(
        helper.make_graph(nodes, "g", [value("x", FLOAT, [4]), value("n", INT64, [])], [value("y", FLOAT, [4])])
    )


def branches(width: int = 4) -> onnx.ModelProto:
    """Matrix products that do not wait for each other."""
    nodes = [helper.make_node("MatMul", ["x", "w"], [f"y{number}"], name=f"branch {number}") for number in range(width)]
    nodes.append(helper.make_node("Sum", [f"y{number}" for number in range(width)], ["y"], name="join"))
    weights = numpy_helper.from_array(np.ones((128, 128), np.float32), "w")
    return model(
        helper.make_graph(nodes, "g", [value("x", FLOAT, [128, 128])], [value("y", FLOAT, [128, 128])], [weights])
    )


def profile(
    graph: onnx.ModelProto | Path, feeds: Mapping[str, np.ndarray[Any, Any]], folder: Path, *, parallel: bool = False
) -> Path:
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    if parallel:
        options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
        options.inter_op_num_threads = 2
    source = str(graph) if isinstance(graph, Path) else graph.SerializeToString()
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    for _ in range(RUNS):
        session.run(None, feeds)
    return Path(session.end_profiling())


def analysed(path: Path) -> Analysis:
    return advisor.analyze(advisor.read_trace(path))


def nodes_of(path: Path) -> list[dict[str, Any]]:
    events = json.loads(path.read_text(encoding="utf-8"))
    return [event for event in events if event["name"].endswith("_kernel_time")]


def runs_of(path: Path) -> list[dict[str, Any]]:
    return [event for event in json.loads(path.read_text(encoding="utf-8")) if event["name"] == "model_run"]


def union(intervals: Iterable[tuple[int, int]]) -> int:
    busy, until = 0, 0
    for start, end in sorted(intervals):
        busy += max(0, end - max(start, until))
        until = max(until, end)
    return busy


def interval(event: dict[str, Any]) -> tuple[int, int]:
    return event["ts"] * 1000, (event["ts"] + event["dur"]) * 1000


def inside(event: dict[str, Any], run: dict[str, Any]) -> bool:
    return bool(run["ts"] <= event["ts"] and event["ts"] + event["dur"] <= run["ts"] + run["dur"])


def test_gaps_between_the_nodes_of_a_run_are_dispatch(tmp_path: Path) -> None:
    path = profile(chain(), {"x0": np.ones(16, np.float32)}, tmp_path)
    analysis, nodes = analysed(path), nodes_of(path)
    assert analysis.coverage.work == analysis.coverage.matched == 8 * RUNS
    assert analysis.totals.busy_ns == union(map(interval, nodes))
    gaps = []
    for run in runs_of(path):
        mine = sorted(interval(node) for node in nodes if inside(node, run))
        gaps += [after[0] - before[1] for before, after in pairwise(mine)]
    causes = {cause.key: ns for cause, ns in analysis.totals.causes.items() if ns}
    assert causes.keys() <= {"dispatch", "host"}
    # A gap over the limit is the scheduler's, not a framework's cost.
    assert causes.get("dispatch", 0) == sum(gap for gap in gaps if gap <= 250_000)
    (graph,) = analysis.graph_figures
    assert (graph.name, graph.instances, graph.warmup, graph.kernels_per_instance) == ("model_run", RUNS, 1, 8)


def test_kernels_are_operators_and_launch_calls_are_nodes(tmp_path: Path) -> None:
    trace = advisor.read_trace(profile(chain(), {"x0": np.ones(16, np.float32)}, tmp_path))
    analysis = advisor.analyze(trace)
    assert {(row.name, row.op_class, row.count) for row in analysis.kernel_figures} == {
        ("Add", "elementwise", 4 * RUNS),
        ("Mul", "elementwise", 4 * RUNS),
    }
    calls = analysis.evidence.launches.call
    names = Counter(trace.call_names[trace.calls.name[call]] for call in calls)
    assert names == {f"node {step}": RUNS for step in range(8)}


def test_nodes_of_a_subgraph_are_counted_once(tmp_path: Path) -> None:
    feeds = {"x": np.ones(4, np.float32), "n": np.array(3)}
    path = profile(loop(), feeds, tmp_path)
    analysis, nodes = analysed(path), nodes_of(path)
    leaves = [node for node in nodes if node["args"]["op_name"] != "Loop"]
    assert len(nodes) - len(leaves) == RUNS
    assert {row.name: row.count for row in analysis.kernel_figures} == {
        "Relu": RUNS,
        "Identity": 3 * RUNS,
        "Add": 3 * RUNS,
        "Tanh": 3 * RUNS,
    }
    assert analysis.totals.busy_ns == union(map(interval, leaves))
    (graph,) = analysis.graph_figures
    assert (graph.instances, graph.kernels_per_instance) == (RUNS, 10)


def test_a_loop_without_iterations_is_a_node_like_others(tmp_path: Path) -> None:
    path = profile(loop(), {"x": np.ones(4, np.float32), "n": np.array(0)}, tmp_path)
    assert {row.name: row.count for row in analysed(path).kernel_figures} == {"Relu": RUNS, "Loop": RUNS}


def test_nodes_that_run_in_parallel_are_one_device(tmp_path: Path) -> None:
    path = profile(branches(), {"x": np.ones((128, 128), np.float32)}, tmp_path, parallel=True)
    analysis, nodes = analysed(path), nodes_of(path)
    assert analysis.totals.busy_ns == union(map(interval, nodes))
    assert len(analysis.device_figures) == 1
    (graph,) = analysis.graph_figures
    assert (graph.name, graph.instances) == ("model_run", RUNS)
    idle = sum(
        max(end for _, end in mine) - min(start for start, _ in mine) - union(mine)
        for run in runs_of(path)
        if (mine := [interval(node) for node in nodes if inside(node, run)])
    )
    assert analysis.totals.causes[advisor.trace.causes.Cause.DISPATCH] <= idle


@pytest.mark.parametrize("name", ["light_squeezenet", "light_shufflenet"])
def test_real_models_leave_little_without_a_class(name: str, tmp_path: Path) -> None:
    source = LIGHT / f"{name}.onnx"
    if not source.exists():
        pytest.skip("this onnx package has no light models")
    known = {entry.name for entry in onnx.load(source).graph.initializer}
    inputs = [entry for entry in onnx.load(source).graph.input if entry.name not in known]
    feeds = {
        entry.name: np.ones([dim.dim_value or 1 for dim in entry.type.tensor_type.shape.dim], np.float32)
        for entry in inputs
    }
    analysis = analysed(profile(source, feeds, tmp_path))
    time = sum(row.duration_ns for row in analysis.kernel_figures)
    assert sum(row.duration_ns for row in analysis.kernel_figures if row.op_class == "other") < 0.05 * time
    assert analysis.graph_figures[0].name == "model_run"
    assert any("profiler itself" in note for note in analysis.coverage.notes)


# By hand: times in µs.


def event(category: str, name: str, ts: int, dur: int, tid: int = 1, **args: str) -> dict[str, Any]:
    return {"cat": category, "pid": 9, "tid": tid, "dur": dur, "ts": ts, "ph": "X", "name": name, "args": args}


def node(name: str, ts: int, dur: int, op: str = "Add", provider: str = "CPU", tid: int = 1) -> dict[str, Any]:
    provider = f"{provider}ExecutionProvider"
    return event("Node", f"{name}_kernel_time", ts, dur, tid, op_name=op, provider=provider, node_index="0")


def kernel(name: str, ts: int, dur: int, op: str = "Add") -> dict[str, Any]:
    return event("Kernel", name, ts, dur, -1, op_name=op, stream="7") | {"pid": -1}


def run(ts: int, dur: int) -> list[dict[str, Any]]:
    return [
        event("Session", "SequentialExecutor::Execute", ts + 1, dur - 2),
        event("Session", "model_run", ts, dur),
    ]


def written(path: Path, events: list[dict[str, Any]]) -> Path:
    """As ONNX Runtime writes it: one event a line."""
    lines = ",\n".join(json.dumps(row, separators=(",", " :")) for row in events)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    return path


def causes(analysis: Analysis) -> dict[str, int]:
    return {cause.key: ns for cause, ns in analysis.totals.causes.items() if ns}


def test_the_time_between_two_runs_is_the_programs_own_however_short(tmp_path: Path) -> None:
    events = []
    for start in range(0, 500, 50):
        events += [node("a", start + 5, 10), node("b", start + 20, 10), *run(start, 40)]
    analysis = analysed(written(tmp_path / "p.json", events))
    assert causes(analysis) == {"dispatch": 10 * 5_000, "host": 9 * 25_000}
    (graph,) = analysis.graph_figures
    assert (graph.span_ns, graph.busy_ns, graph.launch_gap_ns) == (25_000, 20_000, 5_000)
    assert graph.gap_ratio == 0.2
    assert not graph.flagged


def test_between_the_iterations_of_a_loop_nothing_is_dispatch(tmp_path: Path) -> None:
    events = [node("loop", 10, 80, op="Loop")]
    for start in (20, 60):
        events += [node("a", start, 10), node("b", start + 15, 10)]
        events.append(event("Session", "SequentialExecutor::Execute", start - 1, 28))
    analysis = analysed(written(tmp_path / "p.json", [*events, *run(0, 100)]))
    assert causes(analysis) == {"dispatch": 2 * 5_000, "host": 15_000}


def test_nodes_on_threads_of_a_pool_belong_to_the_run(tmp_path: Path) -> None:
    # The second node runs elsewhere, long after that thread's last one: the gap is dispatch all the same.
    events = [node("old", 5, 10, tid=2), *run(0, 20), node("a", 1000, 400), node("b", 1410, 10, tid=2), *run(990, 440)]
    analysis = analysed(written(tmp_path / "p.json", events))
    assert causes(analysis) == {"dispatch": 10_000, "host": 985_000}


def test_the_kernel_time_of_a_gpu_provider_is_not_taken_for_work(tmp_path: Path) -> None:
    events = [node("a", 10, 20, provider="CUDA"), node("b", 35, 5), *run(0, 50)]
    with pytest.raises(CannotDecide, match="time to submit"):
        advisor.read_trace(written(tmp_path / "p.json", events))


def test_gpu_events_with_made_up_starts_are_refused(tmp_path: Path) -> None:
    events = []
    for start in range(0, 1000, 50):
        events += [node("a", start, 20, provider="CUDA"), kernel("k", start + 1, 30), kernel("l", start + 31, 9)]
    with pytest.raises(CannotDecide, match="plus 1 µs"):
        advisor.read_trace(written(tmp_path / "p.json", events))


def test_gpu_events_with_measured_starts_are_works_launched_by_their_nodes(tmp_path: Path) -> None:
    events = []
    for start in range(0, 500, 100):
        events += [
            node("a", start + 10, 20, "Gemm", "CUDA"),
            kernel("gemm", start + 22, 10, "Gemm"),
            node("b", start + 34, 10, "Relu", "CUDA"),
            kernel("relu", start + 42, 10, "Relu"),
            kernel("MemcpyDeviceToHost", start + 56, 2, "Relu"),
            *run(start, 80),
        ]
    analysis = analysed(written(tmp_path / "p.json", events))
    assert analysis.coverage.orphans == 0
    assert {row.name: row.kind for row in analysis.kernel_figures} == {
        "gemm": "kernel",
        "relu": "kernel",
        "MemcpyDeviceToHost": "memcpy",
    }
    (graph,) = [graph for graph in analysis.graph_figures if graph.instances > 1]
    mine = {cause.key: ns for cause, ns in graph.causes.items() if ns}
    # Before gemm 12 µs inside its node, before relu 2 µs between the nodes and 8 µs inside; the copy was queued.
    assert mine == {"launch": 20_000, "dispatch": 2_000, "turnaround": 4_000}
    assert not any(device.device.name == "CPU" for device in analysis.device_figures)


def test_a_profile_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    events = [row for start in range(0, 500, 50) for row in (node("a", start + 5, 10), *run(start, 40))]
    whole = written(tmp_path / "p.json", events).read_text(encoding="utf-8")
    (tmp_path / "cut.json").write_text(whole[: len(whole) // 2], encoding="utf-8")
    trace = advisor.read_trace(tmp_path / "cut.json")
    assert 0 < len(trace.works) < 10
    assert any("cut off" in note for note in trace.notes)


def test_node_names_with_quotes_cost_only_their_nodes(tmp_path: Path) -> None:
    # ONNX Runtime does not escape names.
    path = written(tmp_path / "p.json", [node("a", 5, 10), node("XX", 20, 10), node("b", 35, 10), *run(0, 60)])
    path.write_text(path.read_text(encoding="utf-8").replace("XX", 'say "x"'), encoding="utf-8")
    trace = advisor.read_trace(path)
    assert len(trace.works) == 2
    assert any("damaged" in note for note in trace.notes)


def test_several_profiles_in_one_file_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "p.json", [node("a", 5, 10), *run(0, 20)])
    path.write_text(path.read_text(encoding="utf-8") * 2, encoding="utf-8")
    with pytest.raises(BadInput, match="more than one profile"):
        advisor.read_trace(path)


def test_a_profile_without_a_run_says_so(tmp_path: Path) -> None:
    path = written(tmp_path / "p.json", [event("Session", "model_loading_array", 1, 2)])
    with pytest.raises(CannotDecide, match=r"session\.run"):
        advisor.read_trace(path)

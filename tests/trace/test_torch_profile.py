"""Traces of the PyTorch profiler: the same run gives the same figures as its Nsight Systems export."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given

import advisor
from advisor.errors import BadInput, CannotDecide
from advisor.report.analysis_words import notes
from sample_traces import nsys_export, torch_export
from sample_traces.operations import Host, Launch, Operation, Overhead, Pop, Push, Synchronize
from sample_traces.programs import SAMPLES
from sample_traces.simulator import Process, simulate
from sample_traces.truth import explain
from tests.simulated_programs import simulated
from tests.trace.test_against_simulator import known, said, some

if TYPE_CHECKING:
    from sample_traces.run import Run
    from tests.simulated_programs import Simulated


def analysed(run: Run, version: str = "2.6", suffix: str = ".json") -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"run{suffix}"
        torch_export.write(run, path, version)
        return advisor.analyze(advisor.read_trace(path)).to_dict()


def from_nsys(run: Run) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.sqlite"
        nsys_export.write(run, path, "3.7")
        return advisor.analyze(advisor.read_trace(path)).to_dict()


@given(simulated(ranges=False))
@some
def test_the_analysis_says_what_was_simulated(case: Simulated) -> None:
    assume(len(case.run.processes) == 1 and all(work.kind != "graph" for work in case.run.works))
    assert said(analysed(case.run)) == known(explain(case.run, gpus_known=False))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("version", ["2.3", "2.6"])
def test_samples_give_the_figures_of_their_nsys_export(name: str, version: str) -> None:
    run = SAMPLES[name]()
    document, reference = analysed(run, version), from_nsys(run)
    assert said(document) == said(reference)
    if version == "2.6":  # Only that version tells CUDA graphs' nodes apart.
        assert document["graphs"] == reference["graphs"]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("version", ["1.8", "1.12"])
def test_whole_microseconds_shift_each_gap_by_no_more_than_their_resolution(name: str, version: str) -> None:
    run = SAMPLES[name]()
    document, reference = analysed(run, version), from_nsys(run)
    works = document["coverage"]["work"]
    assert works == reference["coverage"]["work"]
    for figure in ("span_ns", "busy_ns", "exposed_gap_ns", "fusible_gap_ns"):
        assert abs(document["totals"][figure] - reference["totals"][figure]) <= 2_000 * works
    assert document["totals"]["gap_ratio"] == pytest.approx(reference["totals"]["gap_ratio"], abs=0.1)
    largest, of_reference = (
        max(each["totals"]["causes"].items(), key=lambda cause: cause[1]) for each in (document, reference)
    )
    assert largest[0] == of_reference[0]
    assert any("whole µs" in note for note in document["coverage"]["notes"])


def test_packed_traces_give_the_same() -> None:
    run = SAMPLES["launch_bound_decode"]()
    plain, packed = analysed(run), analysed(run, suffix=".json.gz")
    assert packed | {"source": {}} == plain | {"source": {}}


def test_the_source_is_named() -> None:
    document = analysed(SAMPLES["launch_bound_decode"]())
    assert document["source"]["kind"] == "torch-profile"
    assert document["source"]["tool_version"] == "CUPTI 26"
    assert document["devices"][0]["name"] == "Simulated GPU"
    assert {graph["name"] for graph in document["graphs"]} == {"decode_token"}


def test_overhead_without_a_thread_is_that_of_the_only_one() -> None:
    program: list[Operation] = [Launch("k", 1_000), Synchronize(), Host(100), Overhead(50_000), Launch("k", 1_000)]
    run = simulate(program)
    assert analysed(run)["totals"]["causes"]["profiler"] == 50_000


def event(category: str, name: str, ts: float, dur: float, **args: int) -> dict[str, Any]:
    host = category.startswith(("cuda", "user", "cpu"))
    pid = args.pop("pid", 10 if host else 0)
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": 7, "ts": ts, "dur": dur, "args": args}


def written(path: Path, events: list[dict[str, Any]], **about: object) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, **about, "traceEvents": events}), encoding="utf-8")
    return path


def test_kernels_without_a_time_are_counted_and_left_out(tmp_path: Path) -> None:
    events = [
        event("cuda_runtime", "cudaLaunchKernel", 1.0, 2.0, correlation=1),
        event("kernel", "k", 0, 0, correlation=1, device=0, stream=7),
        event("cuda_runtime", "cudaLaunchKernel", 4.0, 2.0, correlation=2),
        event("kernel", "k", 8.0, 2.0, correlation=2, device=0, stream=7),
    ]
    coverage = advisor.analyze(advisor.read_trace(written(tmp_path / "t.json", events))).coverage
    assert (coverage.work, coverage.zero_time) == (1, 1)


def test_kernels_that_end_before_they_begin_are_counted_and_left_out(tmp_path: Path) -> None:
    events = [event("kernel", "k", 10.0 * number, 2.0, device=0, stream=7) for number in range(1, 9)]
    events.append(event("kernel", "k", 200.0, -3.0, device=0, stream=7))
    analysis = advisor.analyze(written(tmp_path / "t.json", events))
    assert (analysis.coverage.work, analysis.coverage.zero_time) == (8, 1)
    assert any("an end before the start, left out" in note for note in notes(analysis))


def test_merged_processes_are_told_apart_by_correlation_or_not_at_all(tmp_path: Path) -> None:
    events = [
        event("cuda_runtime", "cudaLaunchKernel", 1.0, 2.0, pid=10, correlation=1),
        event("cuda_runtime", "cudaLaunchKernel", 1.0, 2.0, pid=11, correlation=1),
        event("cuda_runtime", "cudaLaunchKernel", 5.0, 2.0, pid=11, correlation=2),
        event("kernel", "k", 4.0, 2.0, correlation=1, device=0, stream=7),
        event("kernel", "k", 9.0, 2.0, correlation=2, device=0, stream=7),
    ]
    analysis = advisor.analyze(advisor.read_trace(written(tmp_path / "t.json", events)))
    assert (analysis.coverage.matched, analysis.coverage.orphans) == (1, 1)
    assert any("2 processes" in note for note in analysis.coverage.notes)


def test_the_profilers_own_warnings_of_losses_are_passed_on(tmp_path: Path) -> None:
    events = [event("kernel", "k", 4.0, 2.0, correlation=1, device=0, stream=7)]
    path = written(tmp_path / "t.json", events, WARNING=["Dropped 7 activity records", "Hello"])
    assert "Dropped 7 activity records" in advisor.read_trace(path).diagnostics
    assert "Hello" not in advisor.read_trace(path).diagnostics


def test_a_trace_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    run = SAMPLES["sync_bound_loop"]()
    whole = tmp_path / "run.json.gz"
    torch_export.write(run, whole)
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 9 // 10])
    trace = advisor.read_trace(cut)
    assert 0 < len(trace.works) < len(run.works)
    assert any("cut off" in note for note in trace.notes)


def test_a_trace_that_is_cut_off_before_its_kernels_says_that_it_is(tmp_path: Path) -> None:
    operators = [event("cpu_op", "aten::add", 1.0 + number, 2.0) for number in range(9)]
    path = written(tmp_path / "t.json", [*operators, event("kernel", "k", 4.0, 2.0, device=0, stream=7)])
    path.write_text(path.read_text(encoding="utf-8").partition('{"ph": "X", "cat": "kernel"')[0] + '{"ph"', "utf-8")
    with pytest.raises(CannotDecide, match="is cut off"):
        advisor.read_trace(path)


def test_a_damaged_event_costs_only_itself(tmp_path: Path) -> None:
    run = SAMPLES["sync_bound_loop"]()
    path = tmp_path / "run.json"
    torch_export.write(run, path)
    text = path.read_text(encoding="utf-8").replace('"queued": 0,', '"queued": -nan,', 1)
    path.write_text(text, encoding="utf-8")
    trace = advisor.read_trace(path)
    assert len(trace.works) == len(run.works) - 1
    assert trace.notes == ("1 events of the file are damaged and were left out",)


@pytest.mark.parametrize(
    ("events", "error", "words"),
    [
        ([event("cpu_op", "aten::add", 1.0, 2.0)], CannotDecide, "operators on the CPU"),
        ([event("cuda_runtime", "cudaMalloc", 1.0, 2.0)], CannotDecide, "no work on a GPU"),
        ([event("kernel", "k", 0, 0)], CannotDecide, "none of its 1 GPU events has a time"),
        ([event("kernel", "k", 4.0, -2.0)], CannotDecide, "none of its 1 GPU events has a time"),
        ([{"name": "thing", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}], BadInput, "none of its events"),
    ],
)
def test_what_cannot_be_analyzed_says_why(
    tmp_path: Path, events: list[dict[str, Any]], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        advisor.read_trace(written(tmp_path / "t.json", events))


def test_record_function_ranges_are_the_graphs() -> None:
    program: list[Operation] = []
    for _ in range(5):
        program += [Push("step"), Launch("a", 2_000), Host(3_000), Launch("b", 2_000), Pop(), Host(400_000)]
    graphs = analysed(simulate([Process([program])]))["graphs"]
    assert [(graph["name"], graph["instances"]) for graph in graphs] == [("step", 5)]

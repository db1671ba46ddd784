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
from sample_traces.simulator import Machine, Process, simulate
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


def test_overhead_of_another_thread_explains_no_gap_of_the_only_one_that_calls() -> None:
    first: list[Operation] = [Launch("k", 1_000), Host(50_000), Launch("k", 1_000)]
    second: list[Operation] = [Host(20_000), Overhead(8_000), Synchronize()]
    run = simulate([Process([first, second])], Machine(module_load_ns=0))
    lost = run.losing(lambda call: call.thread == 1)
    assert {call.thread for call in lost.recorded_calls} == {0}
    for each in (run, lost):
        document = analysed(each)
        assert said(document) == known(explain(each, gpus_known=False))
        assert document["totals"]["causes"]["profiler"] == 0
        assert not document["coverage"]["notes"]


@pytest.mark.parametrize(
    ("named", "profiler_ns", "untold"),
    [
        ({"pid": -1, "tid": 0}, 0, True),  # as Kineto writes it: either thread may have been held up
        ({}, 0, True),
        ({"pid": -1, "tid": 8}, 5_000, False),
        ({"pid": -1, "tid": 9}, 0, False),
        ({"pid": -1, "tid": 7}, 0, True),  # two processes have a thread of this id
        ({"pid": 10, "tid": 7}, 5_000, False),
        ({"pid": 10, "tid": 9}, 0, False),
        ({"pid": 11}, 0, True),
    ],
)
def test_overhead_is_that_of_the_thread_that_alone_fits(
    tmp_path: Path, named: dict[str, int], profiler_ns: int, untold: bool
) -> None:
    overhead = {"ph": "X", "cat": "overhead", "name": "Buffer Flush", "ts": 20.0, "dur": 5.0, "args": {}, **named}
    events = [overhead]
    for device, (pid, tid) in enumerate([(10, 7), (11, 7), (11, 8)]):
        for number, begin in enumerate([1.0, 40.0]):
            correlation = 2 * device + number + 1
            call = event("cuda_runtime", "cudaLaunchKernel", begin, 2.0, pid=pid, correlation=correlation)
            kernel = event("kernel", "k", begin + 3.0, 2.0, correlation=correlation, device=device, stream=7)
            events += [call | {"tid": tid}, kernel]
    document = advisor.analyze(advisor.read_trace(written(tmp_path / "t.json", events))).to_dict()
    assert document["totals"]["causes"]["profiler"] == profiler_ns
    assert any("do not say which thread" in note for note in document["coverage"]["notes"]) == untold


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

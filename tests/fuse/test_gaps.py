"""Gaps of a run before and after fusing: what is recorded, how often, and what is said where nothing can be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from advisor.errors import CannotDecide
from advisor.fuse import gaps
from advisor.fuse.gaps import FEWEST_RUNS, MOST_RUNS, Gaps, measure_gaps
from advisor.fuse.model import count_nodes
from advisor.fuse.transform import Applied
from advisor.measure.inputs import generate_inputs
from advisor.measure.machine import Fact
from advisor.measure.profile import Subject
from advisor.measure.session import CPU, CUDA, Level
from tests.fuse.graphs import model

if TYPE_CHECKING:
    from advisor.trace.analysis import Analysis

LONG = "(float[batch, 512] x) => (float[batch, 512] y) { a = Exp(x) b = Tanh(a) c = Sin(b) y = Cos(c) }"
SHORT = "(float[batch, 512] x) => (float[batch, 512] y) { a = Exp(x) y = Tanh(a) }"


def measured(fused: Applied | None, *, provider: str = CPU, latency_ns: float = 1e9) -> Gaps:
    original = model(LONG)
    inputs = generate_inputs(original)
    return measure_gaps(
        original, fused, inputs, path=Path("m.onnx"), provider=provider, threads=1, latency_ns=latency_ns
    )


def test_both_models_are_recorded_by_the_profiler_of_the_provider() -> None:
    found = measured(Applied(model(SHORT), ()))
    assert found.recorder == "onnxruntime"
    assert found.before is not None
    assert found.after is not None
    assert (found.before.works, found.after.works) == (4, 2)
    for figures in (found.before, found.after):
        assert figures.busy_ns > 0
        assert figures.ratio == pytest.approx(figures.gap_ns / (figures.gap_ns + figures.busy_ns), abs=0.05)


def test_gaps_that_last_longer_than_a_run_without_the_profiler_tell_nothing() -> None:
    found = measured(Applied(model(SHORT), ()), latency_ns=1.0)
    for figures in (found.before, found.after):
        assert figures is not None
        assert figures.gap_ns > 1
        assert figures.ratio is None


def test_without_a_fused_model_there_is_nothing_after() -> None:
    found = measured(None)
    assert found.before is not None
    assert (found.after, found.reason) == (None, "")


class Recorder:
    """Notes what is recorded in place of recording it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, analysis: Analysis | None) -> None:
        self.seen: list[tuple[Subject, int, bool]] = []
        self._analysis = analysis
        recorder = self

        def recorded(subject: Subject, _: str, runs: int) -> tuple[str, Any]:
            recorder.seen.append((subject, runs, subject.path.is_file()))
            if recorder._analysis is None:
                raise CannotDecide("nsys ended well but left no SQLite export")
            return "nsys", recorder._analysis

        monkeypatch.setattr(Subject, "recorded", recorded)


@pytest.fixture
def analysis() -> Analysis:
    original = model(SHORT)
    subject = Subject(Path("m.onnx"), original, generate_inputs(original), Level.ALL, 1)
    return subject.recorded(CPU, 5)[1]


@pytest.mark.parametrize(("latency_ns", "runs"), [(1e10, FEWEST_RUNS), (50e6, 10), (1e3, MOST_RUNS)])
def test_as_many_runs_as_fit_but_some_at_least(
    monkeypatch: pytest.MonkeyPatch, analysis: Analysis, latency_ns: float, runs: int
) -> None:
    recorder = Recorder(monkeypatch, analysis)
    measured(Applied(model(SHORT), ()), latency_ns=latency_ns)
    assert [count for _, count, _ in recorder.seen] == [runs, runs]


def test_of_a_model_of_many_nodes_fewer_runs_are_recorded(monkeypatch: pytest.MonkeyPatch, analysis: Analysis) -> None:
    many = model(LONG)  # what `measured` takes for the original
    for limit, runs in ((20 * count_nodes(many), 20), (count_nodes(many), FEWEST_RUNS)):
        monkeypatch.setattr(gaps, "MOST_EVENTS", limit)
        recorder = Recorder(monkeypatch, analysis)
        measured(Applied(many, ()), latency_ns=1e3)
        assert [count for _, count, _ in recorder.seen] == [runs, runs]


def test_on_a_gpu_another_process_finds_the_fused_model_in_a_file_and_its_library(
    monkeypatch: pytest.MonkeyPatch, analysis: Analysis
) -> None:
    monkeypatch.setattr(gaps, "missing_tools", lambda *_: ())
    recorder = Recorder(monkeypatch, analysis)
    library = Path("kernels.so")
    found = measured(Applied(model(SHORT), (), (library,)), provider=CUDA)
    assert found.recorder == "nsys"
    (before, _, _), (after, _, was_there) = recorder.seen
    assert (before.libraries, after.libraries) == ((), (library,))
    assert was_there
    assert not after.path.exists()


def test_where_nothing_can_be_recorded_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaps, "missing_tools", lambda *_: (Fact("nsys", False, "not on PATH"),))
    recorder = Recorder(monkeypatch, None)
    assert measured(None, provider=CUDA) == Gaps(None, None, None, "nsys: not on PATH")
    assert recorder.seen == []
    monkeypatch.setattr(gaps, "missing_tools", lambda *_: ())
    failed = measured(Applied(model(SHORT), ()), provider=CUDA)
    assert failed == Gaps(None, None, None, "nsys ended well but left no SQLite export")

"""`advisor profile MODEL`: what is recorded on the CPU, what would be on a GPU, and what is said where neither goes.

No test here runs on a GPU: a program called `nsys` takes the real one's place, and leaves a sample trace whose ranges
are called as `advisor profile` calls them.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from dataclasses import replace
from importlib.resources import files
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import onnx
import pytest
from rich.console import Console

import advisor as package
from advisor.measure import profile as profiling
from advisor.measure.machine import Fact
from advisor.measure.profile import WARM_UP_RUNS, profile
from advisor.measure.session import CPU, Level
from advisor.report.profile_text import render_profile
from tests.conftest import Advisor as Command
from tests.conftest import in_process
from tests.fuse.fused_models import with_kernels
from tests.fuse.graphs import proto

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = json.loads((files("advisor.report") / "schemas" / "profile-1.json").read_text(encoding="utf-8"))
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
TEXT = "(float[batch, 256] x) => (float[batch, 256] y) { m = MatMul(x, w) r = Sigmoid(m) z = MatMul(r, w) y = Tanh(z) }"
SHORT = ("--provider", "cpu", "--runs", "5", "--threads", "1")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "LATENCY_SECONDS", 0.05)


@pytest.fixture
def advisor() -> Command:
    return in_process


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(proto(TEXT, w=np.full((256, 256), 0.01, np.float32)), path)
    return path


def document(result: Any) -> Any:
    parsed = json.loads(result.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(parsed)
    return parsed


def test_every_node_and_class_has_its_time_a_run(advisor: Command, model: Path) -> None:
    parsed = document(advisor("profile", model, *SHORT, "--level", "off", "--json", "-"))
    assert sorted(node["op_type"] for node in parsed["nodes"]) == ["MatMul", "MatMul", "Sigmoid", "Tanh"]
    assert all(node["count"] == 1 for node in parsed["nodes"])
    assert {row["op_class"]: row["count"] for row in parsed["op_classes"]} == {"gemm": 2, "elementwise": 2}
    for rows in (parsed["nodes"], parsed["op_classes"]):
        assert sum(row["share"] for row in rows) == pytest.approx(1)
        assert [row["time_ns"] for row in rows] == sorted((row["time_ns"] for row in rows), reverse=True)
    assert parsed["recorder"] == "onnxruntime"
    assert (parsed["runs"], parsed["provider"], parsed["level"]) == (5, CPU, "ORT_DISABLE_ALL")
    assert parsed["missing"] == []


def test_generated_kernels_are_recorded_with_the_library_beside_the_model(advisor: Command, tmp_path: Path) -> None:
    original = tmp_path / "original.onnx"
    onnx.save(proto("(float[8, 768] x) => (float[8, 768] y) { a = Exp(x) b = Tanh(a) y = Mul(b, x) }"), original)
    fused = with_kernels(original, tmp_path / "fused.onnx")
    parsed = document(advisor("profile", fused, "--provider", "cpu", "--runs", "3", "--json", "-"))
    assert len(parsed["nodes"]) == 1
    assert parsed["nodes"][0]["op_type"].startswith("Fused_")


def test_the_ratio_is_gaps_over_gaps_and_kernel_time_of_a_run(model: Path, tmp_path: Path) -> None:
    result = profile(model, provider="cpu", runs=20, threads=1, level=Level.OFF, keep=tmp_path / "kept.json")
    events = json.loads((tmp_path / "kept.json").read_text())
    runs = sorted((event for event in events if event["name"] == "model_run"), key=lambda event: event["ts"])
    ratios = []
    for run in runs[WARM_UP_RUNS:]:
        nodes = [
            (event["ts"], event["ts"] + event["dur"])
            for event in events
            if event["name"].endswith("_kernel_time") and run["ts"] <= event["ts"] <= run["ts"] + run["dur"]
        ]
        nodes.sort()
        gaps = sum(start - end for (_, end), (start, _) in pairwise(nodes))
        ratios.append(gaps / (gaps + sum(end - start for start, end in nodes)))
    recorded = result.analysis.graph_figures[0]  # `run` tells no ratio where the profiler hides the gaps
    assert len(ratios) == recorded.instances == 20
    # The first run that counts is the first that the analysis sees, and so it is a warm-up to it.
    assert recorded.gap_ratio == pytest.approx(np.median(ratios[recorded.warmup :]), abs=1e-6)


def test_a_ratio_over_the_threshold_is_flagged(advisor: Command, model: Path) -> None:
    long = (*SHORT, "--level", "off", "--batch", "256")
    low = document(advisor("profile", model, *long, "--threshold", "0.0001", "--json", "-"))
    high = document(advisor("profile", model, *long, "--threshold", "1", "--json", "-"))
    assert low["flagged"]
    assert low["profiled"]["gap_ratio"] > 0.0001
    assert not high["flagged"]
    shown = advisor("profile", model, *long, "--threshold", "0.0001")
    assert "over the threshold" in " ".join(shown.stdout.replace("│", "").split())


def test_gaps_that_are_longer_than_a_run_without_profiler_tell_nothing(model: Path) -> None:
    result = profile(model, provider="cpu", runs=5, threads=1, level=Level.OFF, threshold=0.0001)
    gap = result.analysis.graph_figures[0].fusible_gap_ns
    assert gap > 0
    hidden, told = (replace(result, latency_ns=latency) for latency in (gap, gap + 1))
    assert (hidden.run.gap_ratio, hidden.run.flagged, hidden.run.verdict) == (None, False, "cannot-decide")
    parsed = hidden.to_dict()
    jsonschema.Draft202012Validator(SCHEMA).validate(parsed)
    assert (parsed["profiled"]["gap_ratio"], parsed["profiled"]["fusible_gap_ns"]) == (None, gap)
    assert told.run == result.analysis.graph_figures[0]
    for subject, first in ((hidden, "Cannot tell"), (told, "Gap ratio")):
        shown = StringIO()
        Console(file=shown, width=100).print(render_profile(subject, top=3, width=100))
        assert first in shown.getvalue()


def test_the_kept_profile_can_be_analysed(advisor: Command, model: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    assert advisor("profile", model, *SHORT, "--keep-profile", kept).returncode == 0
    trace = package.read_trace(kept)
    assert trace.kind == "ort-profile"
    assert len(trace.ranges) == 5 + WARM_UP_RUNS
    assert advisor("analyze", kept).returncode == 0
    assert advisor("profile", model, *SHORT, "--keep-profile", kept).returncode == 0  # its like


@pytest.mark.parametrize("content", ['{"mine": 1}', "[1, 2]", '{"schema": "advisor.profile/1"}', "notes"])
def test_a_kept_profile_takes_the_place_of_nothing_else(
    advisor: Command, model: Path, tmp_path: Path, content: str
) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(content, encoding="utf-8")
    result = advisor("profile", model, *SHORT, "--keep-profile", mine)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "which is not written over" in result.stderr
    assert mine.read_text(encoding="utf-8") == content


def test_nodes_of_a_loop_count_each_time(shared: Path, advisor: Command) -> None:
    parsed = document(
        advisor("profile", shared / "cases" / "ew_chain_in_loop.onnx", *SHORT, "--level", "off", "--json", "-")
    )
    assert max(node["count"] for node in parsed["nodes"]) > 1
    assert "Loop" not in {node["op_type"] for node in parsed["nodes"]}


def test_hostile_names_and_a_narrow_terminal(advisor: Command, tmp_path: Path) -> None:
    subject = proto(TEXT, w=np.full((256, 256), 0.01, np.float32))
    for number, node in enumerate(subject.graph.node):
        node.name = f"{'long' * 30}evil\x1b[2J\n[red]{number}\u202e"
    path = tmp_path / "hostile.onnx"
    onnx.save(subject, path)
    result = advisor("profile", path, *SHORT, "--level", "off", columns=60)
    assert result.returncode == 0
    assert "[red]" in result.stdout
    assert not set("\x1b\u202e") & set(result.stdout)
    assert max(map(len, result.stdout.splitlines())) <= 60


def test_a_real_model(advisor: Command) -> None:
    parsed = document(advisor("profile", LIGHT / "light_squeezenet.onnx", *SHORT, "--json", "-"))
    assert parsed["op_classes"][0]["op_class"] == "conv"
    assert parsed["profiled"]["busy_ns"] <= parsed["profiled"]["span_ns"]


def test_what_does_not_run_or_read_is_one_line(advisor: Command, model: Path, tmp_path: Path) -> None:
    strange = tmp_path / "strange.onnx"
    onnx.save(proto("(float[4] x) => (float[4] y) { y = com.microsoft.NoSuchOperator(x) }"), strange)
    (tmp_path / "text.onnx").write_text("no model")
    for code, arguments in (
        (2, (strange, "--provider", "cpu")),
        (2, (tmp_path / "text.onnx",)),
        (2, (tmp_path / "absent.onnx",)),
        (2, (model, "--provider", "abacus")),
        (2, (model, "--keep-profile", model)),
        (2, (model, "--keep-profile", tmp_path / "nowhere" / "kept.json")),
        (2, (model, "--json", tmp_path / "same", "--keep-profile", tmp_path / "same")),
    ):
        result = advisor("profile", *arguments)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (code, "", 1), arguments
    assert onnx.load(model).graph.node[0].op_type == "MatMul"


def test_without_a_gpu_it_says_what_is_missing(
    advisor: Command, model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(profiling, "driver", lambda: Fact("NVIDIA driver", False, "not installed", "get one"))
    monkeypatch.setattr(profiling, "CUDA", "ImaginaryExecutionProvider")
    monkeypatch.setattr(profiling, "ON_GPU", frozenset({"ImaginaryExecutionProvider"}))
    parsed = document(advisor("profile", model, "--runs", "3", "--json", "-"))
    assert [fact["subject"] for fact in parsed["missing"]] == ["NVIDIA driver", "ImaginaryExecutionProvider", "nsys"]
    assert parsed["provider"] == CPU
    shown = advisor("profile", model, "--runs", "3", columns=60)
    assert "No GPU was recorded" in shown.stdout
    assert "By node" in shown.stdout


@pytest.fixture
def fake_nsys(tmp_path: Path, samples: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A program `nsys` that records how it was called, runs what it is told to, and leaves a trace."""

    def install(*, leaves_trace: bool = True, fails: bool = False) -> Path:
        trace = tmp_path / "sample.sqlite"
        shutil.copyfile(samples / "launch_bound_decode.sqlite", trace)
        with sqlite3.connect(trace) as database:
            database.execute("UPDATE NVTX_EVENTS SET text = 'warm-up', domainId = 9 WHERE text = 'decode_token'")
            database.execute(
                "UPDATE NVTX_EVENTS SET text = 'run' WHERE text = 'warm-up' AND start > "
                "(SELECT min(start) FROM NVTX_EVENTS WHERE text = 'warm-up')"
            )
            row = "(start, eventType, text, globalTid, domainId)"
            database.execute(f"INSERT INTO NVTX_EVENTS {row} VALUES (1, 75, 'advisor', 1, 9)")
        database.close()
        script = tmp_path / "bin" / "nsys"
        script.parent.mkdir()
        script.write_text(
            f"#!{sys.executable}\n"
            "import json, pathlib, shutil, subprocess, sys\n"
            "if sys.argv[1:] == ['--version']:\n"
            "    sys.exit(print('NVIDIA Nsight Systems version 2026.1.1'))\n"
            f"pathlib.Path({str(tmp_path / 'called.json')!r}).write_text(json.dumps(sys.argv[1:]))\n"
            f"if {fails}:\n"
            "    sys.exit('The target application cannot be traced')\n"
            "output = sys.argv[sys.argv.index('--output') + 1]\n"
            "program = sys.argv[sys.argv.index('--output') + 2:]\n"
            f"shutil.copyfile(json.loads(program[3])['inputs'], {str(tmp_path / 'inputs.npz')!r})\n"
            "subprocess.run(program, check=True)\n"
            f"if {leaves_trace}:\n"
            f"    shutil.copyfile({str(trace)!r}, output + '.sqlite')\n"
        )
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
        # The CPU takes the part of the GPU.
        monkeypatch.setattr(profiling, "ON_GPU", frozenset({CPU}))
        return tmp_path / "called.json"

    return install


def test_on_a_gpu_nsys_records_a_process_of_its_own(
    advisor: Command, model: Path, tmp_path: Path, fake_nsys: Callable[..., Path]
) -> None:
    called = fake_nsys()
    kept = tmp_path / "kept.sqlite"
    parsed = document(advisor("profile", model, *SHORT, "--keep-profile", kept, "--json", "-"))
    command = json.loads(called.read_text())
    assert command[0] == "profile"
    assert {"--trace=cuda,nvtx", "--cuda-graph-trace=node", "--export=sqlite"} <= set(command)
    order = json.loads(command[-1])
    assert (order["provider"], order["runs"], order["threads"], order["level"]) == (CPU, 5, 1, "ALL")
    with np.load(tmp_path / "inputs.npz") as inputs:
        assert inputs["x"].shape == (1, 256)
    assert parsed["recorder"] == "nsys"
    assert parsed["nodes"] == []
    assert parsed["missing"] == []
    expected = package.analyze(package.read_trace(kept), region="^advisor:run$").graph_figures[0]
    assert parsed["profiled"]["gap_ratio"] == pytest.approx(expected.gap_ratio, rel=0.05)
    assert parsed["flagged"]


def test_the_warm_up_is_not_part_of_the_figures(model: Path, fake_nsys: Callable[..., Path]) -> None:
    fake_nsys()
    result = profile(model, provider="cpu", runs=3, level=Level.ALL)
    assert result.run.name == "advisor:run"
    assert result.run.instances == 9  # of ten ranges in the sample, the first is the warm-up
    assert [graph.name for graph in result.analysis.graph_figures] == ["advisor:run"]


def test_it_prints_the_analysis_of_the_gpu(advisor: Command, model: Path, fake_nsys: Callable[..., Path]) -> None:
    fake_nsys()
    result = advisor("profile", model, *SHORT)
    assert result.returncode == 0
    assert "between its kernels" in " ".join(result.stdout.replace("│", "").split())
    assert "Why the GPU was idle" in result.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [({"fails": True}, "The target application cannot be traced"), ({"leaves_trace": False}, "no SQLite export")],
)
def test_a_recording_that_fails_is_one_line(
    advisor: Command, model: Path, fake_nsys: Callable[..., Path], options: dict[str, bool], words: str
) -> None:
    fake_nsys(**options)
    result = advisor("profile", model, *SHORT)
    assert result.returncode == 3
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_gpu_without_nsys_gives_the_figures_of_the_cpu_aloud(
    advisor: Command, model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    got = iter(["CUDAExecutionProvider", CPU])
    monkeypatch.setattr(profiling, "provider_of", lambda _session: next(got))
    result = advisor("profile", model, "--runs", "3")
    text = " ".join(result.stdout.replace("│", "").split())
    assert result.returncode == 0
    assert "without nsys these are the CPU's figures" in text
    assert "nsys: not on PATH" in text

"""A trace's format is told from its content; what is no trace gets one clear line; reports go through `nsys export`."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import advisor
from advisor.errors import BadInput, CannotDecide
from advisor.trace.causes import Cause
from advisor.trace.readers import FORMATS, nsys_report
from sample_traces import nsys_export, torch_export
from sample_traces.operations import Launch, Stream
from sample_traces.programs import SAMPLES
from sample_traces.simulator import Machine, Process, simulate
from sample_traces.trace import to_trace

if TYPE_CHECKING:
    from pathlib import Path

    from sample_traces.operations import Operation
    from tests.conftest import Advisor

REPORT = b"NVIDIA Tegra Profiler Report 2025@5@2@266-255236693005v0.\n\x0bLocal (CLI)"
ORT = '[\n{"cat" : "Node","pid" :9,"tid" :9,"dur" :5,"ts" :7,"ph" : "X","name" :"a_kernel_time","args" : \
{"op_name" : "Add","provider" : "CPUExecutionProvider"}}\n]\n'


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "run.sqlite"
    nsys_export.write(SAMPLES["sync_bound_loop"](), path)
    return path


def fake_nsys(folder: Path, body: str) -> None:
    """An `nsys` that does what BODY says; `output` and `report` are its arguments."""
    script = folder / "nsys"
    script.write_text(
        f"#!{sys.executable}\nimport shutil, sys, time\n"
        "if sys.argv[1] == '--version':\n    print('NVIDIA Nsight Systems version 2024.6.1.90')\n    exit()\n"
        "assert sys.argv[1:4] == ['export', '--type', 'sqlite'], sys.argv\n"
        f"output, report = sys.argv[5], sys.argv[6]\n{body}\n",
        encoding="utf-8",
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def path_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all there is on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def report(tmp_path: Path) -> Path:
    folder = tmp_path / "recorded"
    folder.mkdir()
    path = folder / "run.nsys-rep"
    path.write_bytes(REPORT)
    return path


@pytest.mark.parametrize("name", ["trace.sqlite", "trace.json", "trace.nsys-rep", "trace"])
def test_endings_do_not_matter(name: str, export: Path, tmp_path: Path, path_with: Path, report: Path) -> None:
    path = tmp_path / name
    shutil.copy(export, path)
    assert advisor.read_trace(path).kind == "nsys-sqlite"
    torch_export.write(SAMPLES["sync_bound_loop"](), path)
    assert advisor.read_trace(path).kind == "torch-profile"
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert advisor.read_trace(path).kind == "torch-profile"
    path.write_text(ORT, encoding="utf-8")
    assert advisor.read_trace(path).kind == "ort-profile"
    fake_nsys(path_with, f"shutil.copy({str(export)!r}, output)")
    shutil.copy(report, path)
    assert advisor.read_trace(path).kind == "nsys-rep"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"hello", "of no format that is read"),
        (b'{"a": 1}', "JSON of another kind"),
        (b"[1, 2]", "JSON of another kind"),
        (gzip.compress(b'{"a": 1}', mtime=0), "JSON of another kind"),
        (gzip.compress(b"hello", mtime=0), "compressed with gzip"),
        (b"\x1f\x8b broken", "compressed with gzip"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"PAR1\x00", "Parquet"),
        (b"ARROW1\x00\x00", "Arrow"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"U3w[END]NVIDIA Nsight Systems Stream 2022.4", "unfinished recording"),
        (b"<html>", "HTML"),
    ],
)
def test_what_is_no_trace_is_one_clear_line(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "thing.bin"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=words) as caught:
        advisor.read_trace(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x1f\x8b\x08\x00garbage", "damaged or empty: copy it again"),
        (gzip.compress(b"", mtime=0), "damaged or empty: copy it again"),
        (gzip.compress(b"SQLite format 3\x00" + bytes(200), mtime=0), "unpack it first"),
        (gzip.compress(b"hello", mtime=0), "what is in it is of no format that is read"),
    ],
)
def test_what_is_packed_is_told_by_what_is_in_it(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=words):
        advisor.read_trace(path)


def test_the_line_names_the_formats(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello", encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        advisor.read_trace(path)
    assert all(entry.name in str(caught.value) for entry in FORMATS)


def test_directories_of_tables_are_not_supported(tmp_path: Path) -> None:
    folder = tmp_path / "run_pqtdir"
    folder.mkdir()
    (folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet").write_bytes(b"PAR1")
    with pytest.raises(BadInput, match=r"not supported: export the report with `nsys export --type sqlite"):
        advisor.read_trace(folder)
    with pytest.raises(BadInput, match="is a directory"):
        advisor.read_trace(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="not a regular file"):
        advisor.read_trace(tmp_path / "pipe")


def test_a_report_gives_the_figures_of_its_export(export: Path, report: Path, path_with: Path) -> None:
    fake_nsys(path_with, f"print('Exporting 100%', end='\\r')\nshutil.copy({str(export)!r}, output)")
    before = (report.read_bytes(), report.stat().st_mtime_ns)
    document = advisor.analyze(advisor.read_trace(report)).to_dict()
    reference = advisor.analyze(advisor.read_trace(export)).to_dict()
    assert document["source"] == reference["source"] | {"path": str(report), "kind": "nsys-rep"}
    assert document | {"source": {}} == reference | {"source": {}}
    assert [path.name for path in report.parent.iterdir()] == [report.name]
    assert (report.read_bytes(), report.stat().st_mtime_ns) == before


def test_without_nsys_the_line_says_what_to_do(report: Path, path_with: Path) -> None:
    assert not list(path_with.iterdir())
    with pytest.raises(BadInput, match=r"install Nsight Systems, or export it where it was recorded: `nsys export"):
        advisor.read_trace(report)


def test_a_report_of_a_newer_nsys_says_which(report: Path, path_with: Path) -> None:
    fake_nsys(path_with, "exit('file version is not supported')")
    with pytest.raises(BadInput, match=r"recorded by nsys 2025\.5\.2, which the installed nsys 2024\.6\.1 cannot read"):
        advisor.read_trace(report)


def test_what_nsys_complains_about_is_passed_on(report: Path, path_with: Path) -> None:
    report.write_bytes(REPORT.replace(b"2025@", b"2023@"))
    fake_nsys(path_with, "sys.stderr.write('Exporting 50%\\rThe file is broken.\\n')\nexit(3)")
    with pytest.raises(BadInput, match=r"\(exit 3\): The file is broken\."):
        advisor.read_trace(report)


def test_an_export_that_hangs_is_ended(report: Path, path_with: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nsys_report, "TIME_LIMIT_S", 1)
    fake_nsys(path_with, "time.sleep(60)")
    with pytest.raises(BadInput, match="took over"):
        advisor.read_trace(report)


def test_with_an_installed_nsys_a_real_report_is_read(tmp_path: Path) -> None:
    nsys = shutil.which("nsys")
    if nsys is None:
        pytest.skip("Nsight Systems is not installed here")
    command = [nsys, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--output", str(tmp_path / "run")]
    code = "import nvtx\nfor _ in range(3):\n    with nvtx.annotate('step'): pass"
    subprocess.run([*command, sys.executable, "-c", code], check=True, capture_output=True, timeout=300)
    (recorded,) = tmp_path.iterdir()
    with pytest.raises(CannotDecide, match="without CUDA events"):
        advisor.read_trace(recorded)
    assert [path.name for path in tmp_path.iterdir()] == [recorded.name]


def test_the_command_reads_every_format(advisor_command: Advisor, tmp_path: Path) -> None:
    torch_export.write(SAMPLES["launch_bound_decode"](), tmp_path / "t.json.gz")
    (tmp_path / "p.json").write_text(ORT, encoding="utf-8")
    for name, kind in (("t.json.gz", "torch-profile"), ("p.json", "ort-profile")):
        result = advisor_command("analyze", tmp_path / name, "--json", "-")
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["source"]["kind"] == kind


def test_times_that_no_recording_has_are_refused(samples: Path, tmp_path: Path) -> None:
    trace = shutil.copy(samples / "launch_bound_decode.sqlite", tmp_path / "damaged.sqlite")
    connection = sqlite3.connect(trace)
    connection.execute('UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET "end" = 9223372036854775807 WHERE rowid = 3')
    connection.commit()
    connection.close()
    with pytest.raises(BadInput, match="days apart, so it is damaged"):
        advisor.read_trace(trace)


def _damaged(samples: Path, folder: Path, statement: str) -> Path:
    trace = folder / "damaged.sqlite"
    shutil.copy(samples / "launch_bound_decode.sqlite", trace)
    connection = sqlite3.connect(trace)
    connection.execute(statement)
    connection.commit()
    connection.close()
    return trace


def test_kernels_without_a_time_are_no_verdict(samples: Path, tmp_path: Path) -> None:
    table = "CUPTI_ACTIVITY_KIND_KERNEL"
    with pytest.raises(BadInput, match="no column start"):
        advisor.read_trace(_damaged(samples, tmp_path, f"ALTER TABLE {table} DROP COLUMN start"))
    swapped = f'UPDATE {table} SET start = "end", "end" = start'
    with pytest.raises(CannotDecide, match="GPU records"):
        advisor.read_trace(_damaged(samples, tmp_path, swapped))


LAST_KERNEL = "(SELECT max(rowid) FROM CUPTI_ACTIVITY_KIND_KERNEL)"


@pytest.mark.parametrize("start", [0, -7])
def test_a_kernel_whose_start_was_not_recorded_is_left_out(samples: Path, tmp_path: Path, start: int) -> None:
    table = "CUPTI_ACTIVITY_KIND_KERNEL"
    changed = f"UPDATE {table} SET start = {start} WHERE rowid = {LAST_KERNEL}"
    analysis = advisor.analyze(advisor.read_trace(_damaged(samples, tmp_path, changed)))
    gone = f"DELETE FROM {table} WHERE rowid = {LAST_KERNEL}"
    without = advisor.analyze(advisor.read_trace(_damaged(samples, tmp_path, gone)))
    assert (analysis.totals, analysis.verdict) == (without.totals, "launch-bound")
    assert (analysis.coverage.zero_time, without.coverage.zero_time) == (1, 0)
    with pytest.raises(CannotDecide, match="no start"):
        advisor.read_trace(_damaged(samples, tmp_path, f"UPDATE {table} SET start = {start}"))


def test_a_recording_may_begin_with_a_kernel(tmp_path: Path) -> None:
    """A start of 0 that no launch call speaks against, with the call before the session or lost."""
    run = SAMPLES["launch_bound_decode"]()
    path = tmp_path / "run.sqlite"
    first = min(work.start for work in run.works)
    for recorded in (run, run.losing(lambda call: call is run.works[0].call)):
        nsys_export.write(recorded, path, shift_ns=-first)
        trace = advisor.read_trace(path)
        assert len(trace.works) == len(run.works)
        assert trace.works.start.min() == 0


def test_kernels_of_one_launch_call_are_no_iterations(samples: Path, tmp_path: Path) -> None:
    trace = _damaged(samples, tmp_path, "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = 5")
    assert advisor.analyze(advisor.read_trace(trace)).totals.launch_calls > 0


def test_launches_without_any_kernel_are_no_verdict(export: Path, tmp_path: Path, advisor_command: Advisor) -> None:
    path = tmp_path / "copies_only.sqlite"
    shutil.copy(export, path)
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL")
    database.close()
    result = advisor_command("analyze", path)
    assert result.returncode == 3
    assert result.stdout == ""
    assert "launches of kernels and not one kernel" in result.stderr
    with pytest.raises(CannotDecide, match="not one kernel"):
        advisor.analyze(advisor.read_trace(path), from_ns=0)


@pytest.mark.parametrize("kept", ["rowid % 2", "rowid = 1"])
def test_where_many_kernels_are_missing_nothing_is_decided(
    samples: Path, tmp_path: Path, kept: str, advisor_command: Advisor
) -> None:
    path = _damaged(samples, tmp_path, f"DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE NOT ({kept})")
    analysis = advisor.analyze(advisor.read_trace(path))
    coverage = analysis.coverage
    assert coverage.kernel_launches == 960
    assert coverage.kernels_missing == 960 - analysis.totals.kernels > 0
    assert {analysis.verdict, *(graph.verdict for graph in analysis.graph_figures)} == {"cannot-decide"}
    assert {analysis.totals.gap_ratio, *(graph.gap_ratio for graph in analysis.graph_figures)} == {None}
    assert {finding.id for finding in analysis.findings} == {"cannot-decide"}
    assert not analysis.candidates
    result = advisor_command("analyze", path, "--fail-on-flag")
    assert result.returncode == 3
    text = " ".join(result.stdout.replace("│", "").split())
    assert f"{coverage.kernels_missing} of 960 kernels that were launched are not in the trace" in text
    assert "Gap ratio" not in text
    assert "Why the GPU seems idle" in text
    assert "can remove" not in text


def test_a_few_missing_kernels_are_counted_and_no_more(samples: Path, tmp_path: Path) -> None:
    path = _damaged(samples, tmp_path, "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid % 25 = 0")
    analysis = advisor.analyze(advisor.read_trace(path))
    assert analysis.coverage.kernels_missing == 38
    assert analysis.verdict == "launch-bound"


def test_a_run_without_its_kernels_does_not_pass_the_gate(
    samples: Path, tmp_path: Path, advisor_command: Advisor
) -> None:
    path = _damaged(samples, tmp_path, "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid % 2")
    result = advisor_command("gate", path, "--baseline", samples / "launch_bound_decode.sqlite")
    assert result.returncode == 3
    assert "are not in the trace" in " ".join(result.stdout.split())


def test_a_window_of_time_loses_no_kernels(samples: Path) -> None:
    trace = advisor.read_trace(samples / "launch_bound_decode.sqlite")
    analysis = advisor.analyze(trace, from_ns=2_000_000, to_ns=3_000_000)
    assert analysis.coverage.launches_without_work == analysis.coverage.kernels_missing == 0
    assert 0 < analysis.coverage.kernel_launches < 960
    assert analysis.totals.gap_ratio is not None


def test_launches_to_another_device_are_launches_all_the_same() -> None:
    there = Stream(7, device=1, context=2)
    program: list[Operation] = [Launch("a", 1_000), Launch("b", 1_000, there)] * 20
    trace = to_trace(simulate([Process([program], gpus=(0, 1))], Machine(module_load_ns=0)))
    analysis = advisor.analyze(trace, device=0)
    assert analysis.totals.kernels == 20
    assert analysis.coverage.launches_without_work == 0
    causes = analysis.totals.causes
    assert causes[Cause.DISPATCH] > 0
    assert causes[Cause.API] == 0

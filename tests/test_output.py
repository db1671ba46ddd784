"""Files that appear whole or not at all, and never in the place of what is no file or of an input."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import stat
from typing import TYPE_CHECKING

import pytest

from advisor.errors import BadInput
from advisor.output import MARKDOWN_BEGINS, Kind, check_writable, staged, write_text
from advisor.report.formats import ANALYSIS, COMPARISON

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Advisor


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "text"


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old", encoding="utf-8")
    with pytest.raises(RuntimeError), staged(target) as path:  # noqa: PT012 - the failure comes after writing
        path.write_text("half", encoding="utf-8")
        raise RuntimeError
    assert target.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "content",
    [
        b"SQLite format 3\x00rest of a recording",
        b"\x08\x08\x12\x07pytorch",  # a model
        b"caf\xe9\n",
        b'{"schemaVersion": 1, "traceEvents": []}',
        b"[gate]\nlevel = 0.01\n",
        b"# Notes, also on the advisor\n",
        b"<!doctype html>\n<title>a page</title>",
        b'{"note": "by hand", "schema": "advisor.analysis/1"}',
        b'{\n "schema": "advisor.baseline/1"',
    ],
)
def test_a_report_takes_the_place_of_no_recording_no_model_and_nobody_elses_data(
    tmp_path: Path, content: bytes
) -> None:
    target = tmp_path / "file"
    target.write_bytes(content)
    for form in {*ANALYSIS, *COMPARISON}:
        with pytest.raises(BadInput, match="is not written over"):
            check_writable(target, form.kind)
    for report in (MARKDOWN_BEGINS, '{"schema": "advisor.analysis/1"}'):
        with pytest.raises(BadInput, match="is not written over"):
            write_text(target, report)
    assert target.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_report_takes_the_place_of_its_like_and_of_no_other(
    advisor_command: Advisor, samples: Path, tmp_path: Path
) -> None:
    trace = samples / "launch_bound_decode.sqlite"
    base = tmp_path / "base.json"
    assert advisor_command("baseline", trace, "-o", base).returncode == 0
    for command, forms in ((("analyze", trace), ANALYSIS), (("gate", trace, "--baseline", base), COMPARISON)):
        places = {form: tmp_path / f"{command[0]}.{form.option}" for form in forms}
        options = [part for form, place in places.items() for part in (f"--{form.option}", place)]
        for place in places.values():
            place.touch()
        for _ in range(2):  # empty files, and then the reports
            assert advisor_command(*command, *options).returncode == 0
        for form, place in places.items():
            before = place.read_bytes()
            for other in places:
                if other is form:
                    check_writable(place, other.kind)
                    continue
                with pytest.raises(BadInput, match=r"holds an? .* of advisor, which is not written over"):
                    check_writable(place, other.kind)
            assert place.read_bytes() == before
    result = advisor_command("analyze", trace, "--json", base)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "holds a baseline of advisor" in result.stderr


def test_a_mistyped_report_costs_no_notes(advisor_command: Advisor, samples: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("what I found\n", encoding="utf-8")
    result = advisor_command("analyze", samples / "launch_bound_decode.sqlite", "--markdown", notes)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "notes.txt holds text that no report begins with" in result.stderr
    assert notes.read_text(encoding="utf-8") == "what I found\n"


def test_a_model_takes_the_place_of_a_model_only(tmp_path: Path) -> None:
    model, notes = tmp_path / "fused.onnx", tmp_path / "notes.md"
    model.write_bytes(b"\x08\x08old")
    notes.write_text("# Notes\n", encoding="utf-8")
    for target in (model, notes):
        with contextlib.suppress(BadInput), staged(target) as path:
            path.write_bytes(b"\x08\x09new")
    assert model.read_bytes() == b"\x08\x09new"
    assert notes.read_text(encoding="utf-8") == "# Notes\n"


def test_nothing_takes_the_place_of_what_no_program_here_writes(samples: Path, tmp_path: Path) -> None:
    for old, new in (("notes", "other notes"), ('{"mine": 1}', '{"mine": 2}')):
        target = tmp_path / "file"
        target.write_text(old, encoding="utf-8")
        with pytest.raises(BadInput, match="is not written over"):
            write_text(target, new)
        assert target.read_text(encoding="utf-8") == old
    export, database = tmp_path / "export.sqlite", tmp_path / "mine.sqlite"
    shutil.copy(samples / "launch_bound_decode.sqlite", export)
    with contextlib.closing(sqlite3.connect(database)) as mine:
        mine.execute("create table diary (day)")
    check_writable(export, Kind.EXPORT)
    for target in (export, database):
        before = target.read_bytes()
        with contextlib.suppress(BadInput), staged(target) as path:
            shutil.copy(samples / "gpu_bound_cnn.sqlite", path)
        assert (target.read_bytes() == before) is (target is database)


def test_a_name_may_be_as_long_as_a_name_can_be(tmp_path: Path) -> None:
    target = tmp_path / ("é" * 127)
    write_text(target, "text")
    assert target.read_text(encoding="utf-8") == "text"


def test_what_utf_8_cannot_hold_is_a_question_mark(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "a\udcff")
    assert (tmp_path / "file").read_bytes() == b"a?"


def test_a_pattern_that_stands_for_two_recordings_costs_none(
    advisor_command: Advisor, samples: Path, tmp_path: Path
) -> None:
    """`advisor analyze --json *.sqlite`: the first one is taken for the place of the report."""
    one, two = tmp_path / "1.sqlite", tmp_path / "2.sqlite"
    for trace in (one, two):
        shutil.copy(samples / "launch_bound_decode.sqlite", trace)
    before = one.read_bytes()
    result = advisor_command("analyze", "--json", one, two)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert str(one) in result.stderr
    assert one.read_bytes() == before


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is a directory"):
        write_text(tmp_path, "text")


@pytest.mark.parametrize("option", ["--json", "--html", "--markdown", "--perfetto"])
def test_a_report_never_takes_the_place_of_the_trace(
    advisor_command: Advisor, samples: Path, tmp_path: Path, option: str
) -> None:
    trace = tmp_path / "trace.sqlite"
    shutil.copy(samples / "launch_bound_decode.sqlite", trace)
    before = trace.read_bytes()
    (tmp_path / "link").symlink_to(trace)
    for place in (trace, tmp_path / "link"):
        result = advisor_command("analyze", trace, option, place)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
    assert trace.read_bytes() == before


def test_the_gate_never_writes_over_a_run_or_the_baseline(
    advisor_command: Advisor, samples: Path, tmp_path: Path
) -> None:
    trace, base = tmp_path / "trace.sqlite", tmp_path / "base.json"
    shutil.copy(samples / "launch_bound_decode.sqlite", trace)
    assert advisor_command("baseline", trace, "-o", base).returncode == 0
    before = trace.read_bytes(), base.read_bytes()
    for place in (trace, base):
        assert advisor_command("gate", trace, "--baseline", base, "--json", place).returncode == 2
    assert (trace.read_bytes(), base.read_bytes()) == before


def test_the_gate_never_writes_over_the_policy_that_it_found(
    advisor_command: Advisor, samples: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "advisor.toml"
    policy.write_text("# thresholds\n[gate]\nlevel = 0.02\n", encoding="utf-8")
    trace = samples / "launch_bound_decode.sqlite"
    result = advisor_command("gate", trace, "--baseline", trace, "--json", "advisor.toml", cwd=tmp_path)
    assert result.returncode == 2
    assert "advisor.toml" in result.stderr
    assert "level" in policy.read_text(encoding="utf-8")


def test_file_names_need_not_be_text(advisor_command: Advisor, samples: Path, tmp_path: Path) -> None:
    trace, base = (tmp_path / os.fsdecode(b"\xff\xfe" + end) for end in (b".sqlite", b".json"))
    try:
        shutil.copy(samples / "launch_bound_decode.sqlite", trace)
    except OSError:
        pytest.skip("file names are text here")
    kinds = ("json", "html", "markdown", "perfetto")
    reports = [part for kind in kinds for part in (f"--{kind}", tmp_path / kind)]
    assert advisor_command("analyze", trace, *reports).returncode == 0
    document = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
    assert document["source"]["path"] == str(tmp_path / "??.sqlite")
    assert advisor_command("baseline", trace, "-o", base).returncode == 0
    gate = [part for kind in ("junit", "sarif", "markdown") for part in (f"--{kind}", tmp_path / kind)]
    result = advisor_command("gate", trace, "--baseline", base, "--budget", "launches=1", *gate)
    assert result.returncode == 1, result.stderr
    assert "%FF%FE.json" in (tmp_path / "sarif").read_text(encoding="utf-8")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")  # noqa: PTH110
def test_a_full_disk_is_one_line(samples: Path) -> None:
    import subprocess
    import sys

    command = f"{sys.executable} -m advisor analyze {samples / 'launch_bound_decode.sqlite'} > /dev/full"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("error: cannot write the output")
    assert "Traceback" not in result.stderr

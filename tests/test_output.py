"""Files that appear whole or not at all, and never in the place of what is no file or of an input."""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

import pytest

from advisor.errors import BadInput
from advisor.output import staged, write_text

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


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")  # noqa: PTH110
def test_a_full_disk_is_one_line(samples: Path) -> None:
    import subprocess
    import sys

    command = f"{sys.executable} -m advisor analyze {samples / 'launch_bound_decode.sqlite'} > /dev/full"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("error: cannot write the output")
    assert "Traceback" not in result.stderr

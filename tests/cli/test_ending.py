"""Signals that end the program: it says what was written, and leaves nothing else behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

SLOW_PAGE = """
import signal, sys, tempfile, time
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
import advisor.cli
from advisor.report import analysis_html
folder = tempfile.TemporaryDirectory(prefix="advisor-")
def write(result, file):
    file.write("<")
    print("writing", file=sys.stderr, flush=True)
    time.sleep(60)
analysis_html.write = write
advisor.cli.run()
"""
"""The page takes as long as it takes to be ended; the JSON report is written before it."""


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated"), (signal.SIGHUP, 129, "terminated")],
)
def test_what_was_written_is_told_and_nothing_else_stays(
    samples: Path, tmp_path: Path, number: signal.Signals, code: int, word: str
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    trace = samples / "launch_bound_decode.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_PAGE, "analyze", str(trace), "--json", "a.json", "--html", "a.html"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "writing\n"
    assert len(list(temporary.iterdir())) == 1
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (code, "")
    assert errors == f"{word}: written before that: a.json\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "temporary"]
    assert list(temporary.iterdir()) == []

"""Ctrl-C as a terminal sends it, to the program and its children: what is proven stays, and nothing else is left."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from tests.conftest import REPOSITORY
from tests.fuse.graphs import proto

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FUSE = """
import time
import advisor.cli
from advisor.fuse import bench
from advisor.measure.latency import PairedLatency
from advisor.measure.statistics import Interval, Verdict
half, one = Interval(0.5, 0.49, 0.51), Interval(1.0, 0.99, 1.01)
def race(*_, **__):
    for _ in range(30):
        time.sleep(0.05)
    return PairedLatency(2.0, 1.0, half, one, Verdict.FASTER, 30, 1)
bench.measure_pair = race
advisor.cli.run()
"""
"""All but the races is as ever: their outcome is given, for a busy machine tells nothing. They last as long as it takes
to see the progress and to interrupt it."""
# The second chain is large enough to be tried, on any machine.
CHAIN = """(float[512, 768] x, float[256, 512] p) => (float[512, 768] y, float[256, 512] r) {
    a = Exp(x)  b = Tanh(a)  c = Mul(b, x)  d = Sigmoid(c)  e = Add(d, c)  y = Tanh(e)
    q = Relu(p)  r = Relu(q)
}"""
PATIENCE_S = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model that generated kernels make faster, and another one for temporary files."""
    onnx.save(proto(CHAIN), tmp_path / "model.onnx")
    np.savez(tmp_path / "inputs.npz", x=np.ones((512, 768), "float32"), p=np.ones((256, 512), "float32"))
    (tmp_path / "temporary").mkdir()
    return tmp_path


def interrupted(folder: Path, *, at: str) -> tuple[int, str, str]:
    """Exit code, standard output and progress of `fuse` in FOLDER, interrupted when the progress says AT."""
    command = [sys.executable, "-c", FUSE, "fuse", "model.onnx", "--inputs", "inputs.npz", "-o", "fused.onnx"]
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(
        [*command, "--provider", "cpu", "--threads", "1", "--json", "-"],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": str(REPOSITORY), "TMPDIR": str(folder / "temporary"), "TERM": "xterm", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=other_end,
        start_new_session=True,
    )
    os.close(other_end)
    seen = ""
    try:
        for text in _read(terminal):
            seen += text
            if at in seen:
                os.killpg(process.pid, signal.SIGINT)
                break
        rest = "".join(_read(terminal))
        output, _ = process.communicate(timeout=PATIENCE_S)
        with pytest.raises(ProcessLookupError):  # children are gone too
            os.killpg(process.pid, 0)
    finally:
        process.kill()
        os.close(terminal)
    return process.returncode, output.decode(), seen + rest


def _read(terminal: int) -> Iterator[str]:
    while True:
        try:
            data = os.read(terminal, 1 << 12)
        except OSError:  # the other end is closed
            return
        if not data:
            return
        yield data.decode(errors="replace")


def test_what_is_proven_is_written_and_the_report_says_that_it_is_not_all(folder: Path) -> None:
    code, output, progress = interrupted(folder, at="running transformers")
    assert "Traceback" not in progress
    assert code == 0
    document = json.loads(output)
    assert document["fused"]["changed"]
    assert any("interrupted" in note for note in document["notes"])
    written = {path.name for path in folder.iterdir()}
    assert "fused.onnx" in written
    assert list((folder / "temporary").glob("advisor*")) == []


@pytest.mark.parametrize("at", ["trying generated", "adding generated"])
def test_before_anything_is_proven_nothing_is_written(folder: Path, at: str) -> None:
    before = sorted(folder.iterdir())
    code, output, progress = interrupted(folder, at=at)
    assert "Traceback" not in progress
    assert (code, output) == (130, "")
    assert "interrupted: nothing was written" in progress
    assert sorted(folder.iterdir()) == before
    assert list((folder / "temporary").glob("advisor*")) == []

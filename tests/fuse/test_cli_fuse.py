"""`advisor fuse` as people and scripts meet it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from tests.conftest import REPOSITORY, in_process
from tests.fuse.fused_models import with_kernels
from tests.fuse.graphs import proto, weights

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Advisor

QUICK = ("--provider", "cpu", "--threads", "1", "--budget", "0.5")
GEMM = "(float[batch, 64] x) => (float[batch, 64] y) { m = MatMul(x, w)  y = Add(m, b) }"


@pytest.fixture
def fuse(tmp_path: Path) -> Advisor:
    """`advisor fuse` in the temporary folder."""
    return partial(in_process, "fuse", cwd=tmp_path)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(proto(GEMM, w=weights(64, 64), b=weights(64)), path)
    return path


def test_in_a_pipe_the_report_is_plain_text(advisor_process: Advisor, model: Path) -> None:
    result = advisor_process("fuse", model, *QUICK)
    assert result.returncode == 0
    assert result.stderr == ""
    assert "\x1b" not in result.stdout


def test_the_verdict_comes_first_and_fits(fuse: Advisor, model: Path) -> None:
    for columns in (80, 60):
        result = fuse(model, *QUICK, columns=columns)
        assert result.returncode == 0, result.stderr
        assert result.stderr == ""
        assert "\x1b" not in result.stdout
        lines = result.stdout.splitlines()
        assert max(map(len, lines)) <= columns
        assert any(word in lines[1] for word in ("Faster", "No measurable change", "Nothing"))
        assert "gemm-bias" in result.stdout
        assert "CPUExecutionProvider" in result.stdout


def test_json_on_standard_output_is_nothing_but_json(fuse: Advisor, model: Path) -> None:
    result = fuse(model, *QUICK, "--json", "-")
    assert json.loads(result.stdout)["schema"] == "advisor.fusion/1"
    assert result.stderr == ""


def test_files_are_written_and_the_report_says_which(fuse: Advisor, model: Path, tmp_path: Path) -> None:
    result = fuse(model.name, "-o", "fused.onnx", "--json", "fusion.json", "--batch", "2", *QUICK)
    assert result.returncode == 0, result.stderr
    assert "Written: fused.onnx" in result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fused.onnx", "fusion.json", "model.onnx"]
    document = json.loads((tmp_path / "fusion.json").read_text(encoding="utf-8"))
    assert document["settings"]["shapes"] == {"x": [2, 64]}
    onnx.checker.check_model(onnx.load(tmp_path / "fused.onnx"))


def test_names_from_a_stranger_are_only_text(fuse: Advisor, tmp_path: Path) -> None:
    hostile = "[bold red]y[/]\x1b[31m\r\n[link=http://x]"
    graph = proto("(float[4] x) => (float[4] y) { a = Sigmoid(x)  y = Mul(a, x) }")
    for node in graph.graph.node:
        node.name = f"{node.name}{hostile}"
        node.output[:] = [hostile if name == "y" else name for name in node.output]
    graph.graph.output[0].name = hostile
    path = tmp_path / "[red]model[bold].onnx"
    onnx.save(graph, path)
    result = fuse(path, *QUICK)
    assert result.returncode == 0, result.stderr
    assert "[red]model[bold].onnx" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr
    assert "\r" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("missing.onnx",), 2, "no such file"),
        ((".",), 2, "is a directory"),
        (("text.onnx",), 2, "not an ONNX model"),
        (("model.onnx", "--provider", "npu"), 2, "no provider 'npu'"),
        (("model.onnx", "--dim", "batch"), 2, "no NAME=N"),
        (("model.onnx", "--dim", "batch=-1"), 2, "no NAME=N"),
        (("model.onnx", "--dim", "seq=3"), 2, "no dynamic dimension 'seq': it has batch"),
        (("model.onnx", "--inputs", "text.onnx"), 2, "no .npz file"),
        (("model.onnx", "-o", "model.onnx"), 2, "never overwritten"),
        (("model.onnx", "-o", "./model.onnx"), 2, "never overwritten"),
        (("model.onnx", "-o", "feed.npz", "--inputs", "feed.npz"), 2, "never overwritten"),
        (("model.onnx", "--json", "model.onnx"), 2, "name another file"),
        (("model.onnx", "-o", "out", "--json", "out"), 2, "name another file"),
        (("model.onnx", "-o", "no/where.onnx"), 2, "no folder"),
        (("words.onnx",), 2, "--inputs"),
        (("half.onnx", "--provider", "cpu"), 3, "Try another --provider"),
    ],
)
def test_what_is_wrong_is_one_line_and_an_exit_code(
    fuse: Advisor, model: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    content = model.read_bytes()
    (tmp_path / "text.onnx").write_text("hello")
    np.savez(tmp_path / "feed.npz", x=np.ones((1, 64), np.float32))
    onnx.save(proto("(string[n] x) => (string[n] y) { y = Identity(x) }"), tmp_path / "words.onnx")
    onnx.save(proto("(bfloat16[4] x) => (bfloat16[4] y) { y = Tanh(x) }"), tmp_path / "half.onnx")
    before = sorted(tmp_path.iterdir())
    result = fuse(*arguments)
    assert result.returncode == code
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert sorted(tmp_path.iterdir()) == before
    assert model.read_bytes() == content


def test_a_model_with_generated_kernels_is_not_fused_again(fuse: Advisor, tmp_path: Path) -> None:
    original = tmp_path / "chain.onnx"
    onnx.save(proto("(float[8, 768] x) => (float[8, 768] y) { a = Exp(x) b = Tanh(a) y = Mul(b, x) }"), original)
    result = fuse(with_kernels(original, tmp_path / "fused.onnx"), *QUICK)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "holds generated kernels already: fuse the model that it was made from" in result.stderr


def test_a_provider_that_does_not_load_is_said_aloud(fuse: Advisor, model: Path) -> None:
    result = fuse(model, "--provider", "cuda", "--threads", "1", "--budget", "0.1", "--json", "-")
    if result.returncode == 2:
        assert "no provider 'cuda'" in result.stderr
        return
    document = json.loads(result.stdout)
    loaded = document["provider"] == "CUDAExecutionProvider"
    assert ("warning: CUDAExecutionProvider did not load" in result.stderr) is not loaded


def test_an_interruption_leaves_nothing_behind(model: Path, tmp_path: Path) -> None:
    endless_race = (
        "import time, advisor.cli\nfrom advisor.fuse import bench\n"
        # Naps: a signal that comes just before one long sleep would wait for its end.
        "bench.measure_pair = lambda *_, **__: [print('racing', flush=True), *map(time.sleep, [0.05] * 1000)]\n"
        "advisor.cli.main()"
    )
    command = [sys.executable, "-c", endless_race, "fuse", str(model), "-o", str(tmp_path / "out.onnx")]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "racing\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_help_needs_no_onnx_runtime(advisor_command: Advisor) -> None:
    result = advisor_command("fuse", "--help", columns=100)
    assert result.returncode == 0
    for option in (
        "--output",
        "--provider",
        "--dim",
        "--batch",
        "--inputs",
        "--json",
        "--threads",
        "--budget",
        "--seed",
    ):
        assert option in result.stdout
    code = (
        "import sys; import advisor.cli.fuse; sys.exit(any(m in sys.modules for m in ('numpy', 'onnx', 'onnxruntime')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=False).returncode == 0


@pytest.mark.parametrize("budget", ["nan", "inf"])
def test_a_budget_that_is_no_time_is_refused(fuse: Advisor, model: Path, budget: str) -> None:
    result = fuse(model, "--budget", budget)
    assert (result.returncode, result.stdout) == (2, "")
    assert budget in result.stderr


def test_a_fused_model_is_not_written_to_standard_output(fuse: Advisor, model: Path, tmp_path: Path) -> None:
    result = fuse(model, "-o", "-")
    assert (result.returncode, result.stdout) == (2, "")
    assert "name a file" in result.stderr
    assert not (tmp_path / "-").exists()

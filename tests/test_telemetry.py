"""Nothing is sent, by nobody: ONNX Runtime's uploader leaves traces of itself on the disk where it is at work."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import onnx
import pytest
from onnx import TensorProto, helper

if TYPE_CHECKING:
    from pathlib import Path

RUN = """
import sys
FIRST
import onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    path = tmp_path / "relu.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def run(tmp_path: Path, *command: str) -> list[str]:
    """Run COMMAND with a home and a folder for temporary files of its own; what it leaves there."""
    places = {"HOME": tmp_path / "home", "TMPDIR": tmp_path / "temporary"}
    for place in places.values():
        place.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name not in {"ORT_DISABLE_TELEMETRY"}}
    environment |= {name: str(place) for name, place in places.items()} | {"XDG_CACHE_HOME": str(places["HOME"])}
    subprocess.run([sys.executable, *command], env=environment, check=True, capture_output=True)
    return sorted(str(found.relative_to(tmp_path)) for place in places.values() for found in place.rglob("*"))


def test_a_command_leaves_nothing_of_an_uploader(tmp_path: Path, model: Path) -> None:
    command = ("-m", "advisor", "fuse", str(model), "-o", str(tmp_path / "fused.onnx"), "--budget", "0")
    assert run(tmp_path, *command) == []


def test_a_program_that_imports_advisor_first_sends_nothing(tmp_path: Path, model: Path) -> None:
    assert run(tmp_path, "-c", RUN.replace("FIRST", "import advisor"), str(model)) == []


def test_what_the_user_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "import os, advisor; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout == "0\n"

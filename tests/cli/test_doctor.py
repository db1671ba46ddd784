"""`advisor doctor`: facts that were tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxruntime as ort  # type: ignore[import-untyped]
import pytest

from advisor.measure import machine
from advisor.measure.machine import Fact, examine
from tests.conftest import in_process

if TYPE_CHECKING:
    from tests.conftest import Advisor


def test_every_provider_of_this_onnx_runtime_is_tried() -> None:
    facts = {fact.subject: fact for fact in examine()}
    for provider in ort.get_available_providers():
        assert f"provider {provider.removesuffix('ExecutionProvider')}" in facts
    assert facts["provider CPU"].works
    assert facts["ONNX Runtime"].detail == ort.__version__


def test_without_a_driver_no_cuda_provider_is_said_to_load() -> None:
    facts = {fact.subject: fact for fact in examine()}
    cuda = facts.get("provider CUDA")
    assert facts["NVIDIA driver"].works or cuda is None or not cuda.works


@pytest.mark.parametrize("columns", [40, 50, 60, 80])
def test_words_and_commands_stay_whole(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    command = "pip install 'fusion-advisor[optimizers]'"
    facts = [
        Fact("system", True, "Linux 6.18.44-some-long-name"),
        Fact("provider CUDA", False, "is in this build, but falls back to CPUExecutionProvider"),
        Fact("onnxslim", False, "not installed", f"optional: {command}"),
    ]
    monkeypatch.setattr(machine, "examine", lambda: iter(facts))
    result = in_process("doctor", columns=columns)
    for word in " ".join(f"{fact.subject} {fact.detail}" for fact in facts).split():
        assert word in result.stdout
    assert command in (result.stdout if columns in (40, 50) else " ".join(result.stdout.split()))
    assert all(len(line) <= columns or command in line for line in result.stdout.splitlines())


def test_it_prints_and_exits_with_zero(advisor_process: Advisor) -> None:
    result = advisor_process("doctor", columns=60)
    assert result.returncode == 0
    assert "provider CPU" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 60
    assert result.stderr == ""

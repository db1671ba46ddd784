"""`advisor doctor`: facts that were tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxruntime as ort  # type: ignore[import-untyped]

from advisor.measure.machine import examine

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


def test_it_prints_and_exits_with_zero(advisor_command: Advisor) -> None:
    result = advisor_command("doctor", columns=60)
    assert result.returncode == 0
    assert "provider CPU" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 60
    assert result.stderr == ""

"""Whether there is a kernel is asked of ONNX Runtime itself, quietly."""

from __future__ import annotations

import onnx_ir as ir
import onnxruntime as ort  # type: ignore[import-untyped]
import pytest

from advisor.fuse.kernel_support import missing_kernel
from tests.fuse.graphs import CPU

FLOAT, HALF, DOUBLE, INT = ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.DOUBLE, ir.DataType.INT32


@pytest.mark.parametrize(
    ("domain", "op_type", "opset", "dtypes"),
    [
        ("", "LayerNormalization", 17, (FLOAT, FLOAT, FLOAT)),
        ("", "LayerNormalization", 17, (FLOAT, FLOAT)),
        ("", "LayerNormalization", 17, (DOUBLE, DOUBLE, DOUBLE)),
        ("", "Gelu", 20, (FLOAT,)),
        ("", "HardSigmoid", 6, (FLOAT,)),
        ("com.microsoft", "Gelu", 11, (FLOAT,)),
        ("com.microsoft", "FastGelu", 17, (FLOAT, None)),
    ],
)
def test_operators_with_a_kernel(domain: str, op_type: str, opset: int, dtypes: tuple[ir.DataType | None, ...]) -> None:
    assert missing_kernel(CPU, domain, op_type, opset, dtypes) is None


@pytest.mark.parametrize(
    ("domain", "op_type", "opset", "dtypes", "words"),
    [
        ("", "HardSwish", 14, (FLOAT,), "kernel for HardSwish of float: it takes it apart"),
        ("com.microsoft", "Gelu", 17, (HALF,), "kernel for com.microsoft.Gelu of float16: it takes it apart"),
        ("com.microsoft", "Gelu", 17, (DOUBLE,), "kernel for com.microsoft.Gelu of double"),
        ("", "Gemm", 13, (INT, INT, INT), "kernel for Gemm of int32, int32, int32"),
        ("com.microsoft", "NoSuchOperator", 17, (FLOAT,), "kernel for com.microsoft.NoSuchOperator of float"),
    ],
)
def test_operators_without_one(
    domain: str, op_type: str, opset: int, dtypes: tuple[ir.DataType, ...], words: str
) -> None:
    assert missing_kernel(CPU, domain, op_type, opset, dtypes) == f"ONNX Runtime {ort.__version__} has no {CPU} {words}"


def test_attributes_count() -> None:
    assert missing_kernel(CPU, "", "Gelu", 20, (FLOAT,), (("approximate", "tanh"),)) is None
    assert missing_kernel(CPU, "", "Gelu", 20, (FLOAT,), (("no_such_attribute", 1),)) is not None


def test_a_provider_that_is_not_there_or_does_not_start(capfd: pytest.CaptureFixture[str]) -> None:
    assert missing_kernel("NoExecutionProvider", "", "Relu", 17, (FLOAT,)) == (
        "this ONNX Runtime has no NoExecutionProvider"
    )
    for provider in {"CUDAExecutionProvider", "TensorrtExecutionProvider"} & set(ort.get_available_providers()):
        reason = missing_kernel(provider, "", "Relu", 17, (FLOAT,))
        assert reason in (None, f"{provider} does not start on this machine")
    assert capfd.readouterr() == ("", "")

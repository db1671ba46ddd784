"""The models that fusion tools got wrong, each rewritten and compared with the original."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from advisor.fuse.model import load
from tests.conftest import SHARED
from tests.fuse.graphs import Arrays, assert_same, operators, random_inputs, rewritten, session, status

CASES = SHARED / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the models lie in ../shared/cases, which is not here")

NOT_ON_CPU = {"chain_bf16", "gelu_erf_fp64"}
"""ONNX Runtime's CPU provider cannot run even the original."""

FUSED = {
    "ew_chain_mid_output": ["silu"],
    "ext_data_chain": ["gemm-activation", "gemm-bias"],
    "gelu_tanh": ["tanh-gelu"],
    "ln_axes_input_18": ["layer-norm"],
    "ln_eps_shape1": ["layer-norm"],
    "ln_gamma_scalar": ["layer-norm"],
    "ln_overridable_gamma": ["layer-norm"],
    "ln_rank1": ["layer-norm"],
    "matmul_add_rhs_two_users": ["gemm-bias"],
    "matmul_add_rowbias": ["gemm-bias"],
    "rms_div": ["rms-norm"],
    "shared_weight_conv_mul": ["channel-scale"],
    "silu_fp32": ["silu"],
}
REFUSED = {
    "gelu_erf_fp16": ("gelu", "unsupported", "no CPUExecutionProvider kernel for com.microsoft.Gelu of float16"),
    "gelu_erf_fp64": ("gelu", "unsupported", "no CPUExecutionProvider kernel for com.microsoft.Gelu of double"),
    "ln_axes_runtime_18": ("layer-norm", "illegal", "known at run time only"),
    "ln_axis_not_last": ("layer-norm", "illegal", "not the last ones"),
    "quickgelu_fp64": ("silu", "unsupported", "no CPUExecutionProvider kernel for com.microsoft.QuickGelu of double"),
}


def every_case() -> list[str]:
    return sorted(path.stem for path in CASES.glob("*.onnx"))


@pytest.mark.parametrize("name", every_case())
def test_rewritten_it_computes_the_same_and_keeps_inputs_and_outputs(name: str) -> None:
    before = load(CASES / f"{name}.onnx")
    after, sites = rewritten(before)
    assert sorted(site.rule for site in sites if site.status == "applied") == FUSED.get(name, [])
    if name in REFUSED:
        rule, expected, words = REFUSED[name]
        assert any(site.rule == rule and site.status == expected and words in site.reason for site in sites)
    if name in NOT_ON_CPU:
        assert operators(after) == operators(before)
    else:
        assert_same(before, after, inputs_of(name))


def inputs_of(name: str) -> Arrays | None:
    """Axes are no random numbers; a dimension of x that y does not have shows whether the result still grows."""
    if name == "ln_axes_runtime_18":
        return {"x": np.random.default_rng(0).standard_normal((16, 16)).astype("float32"), "ax": np.array([-1])}
    return None


def test_axes_known_at_run_time_only_still_choose_the_axis() -> None:
    before = load(CASES / "ln_axes_runtime_18.onnx")
    after, _ = rewritten(before)
    x = np.random.default_rng(0).standard_normal((16, 16)).astype("float32")
    for axis in (0, 1):
        assert_same(before, after, {"x": x, "ax": np.array([axis])})


def test_an_overridable_weight_stays_an_input_and_still_overrides() -> None:
    before = load(CASES / "ln_overridable_gamma.onnx")
    after, _ = rewritten(before)
    x = random_inputs(session(before))["x"]
    assert_same(before, after, {"x": x})
    assert_same(before, after, {"x": x, "g": np.linspace(-2, 2, 16, dtype="float32")})


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_dimension_may_be_empty_or_one(rows: int) -> None:
    for name in ("mul_by_zero_dim", "broadcast_growth", "ln_axes_input_18"):
        before = load(CASES / f"{name}.onnx")
        assert_same(before, rewritten(before)[0], dynamic=rows)


def test_nothing_is_written_beside_the_models() -> None:
    listing = sorted(path.name for path in Path(CASES).iterdir())
    before = load(CASES / "ext_data_chain.onnx")
    rewritten(before)
    assert sorted(path.name for path in Path(CASES).iterdir()) == listing
    assert status(rewritten(before)[1]) == {"gemm-bias": "applied", "gemm-activation": "applied"}

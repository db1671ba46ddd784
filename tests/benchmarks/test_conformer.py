"""The conformer-like encoder runs at the sizes that it leaves open, and every fusion keeps what it computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnx_ir as ir
import pytest
import typer

import advisor
from advisor.fuse.model import load, save
from benchmarks import conformer as program
from benchmarks.conformer import FEATURES, conformer
from tests.fuse.fused_models import with_kernels
from tests.fuse.graphs import CPU, assert_same, operators, rewritten, session

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fuse.graphs import Arrays


def features(batch: int, frames: int) -> Arrays:
    return {"features": np.random.default_rng(frames).standard_normal((batch, frames, FEATURES)).astype(np.float32)}


def test_the_file_is_a_valid_model_that_runs_at_every_batch_and_time(tmp_path: Path) -> None:
    program.main(tmp_path / "encoder.onnx", blocks=2, width=16)
    onnx.checker.check_model(tmp_path / "encoder.onnx", full_check=True)
    encoder = session(load(tmp_path / "encoder.onnx"))
    for batch, frames, steps in ((1, 128, 31), (3, 77, 18), (2, 7, 1)):
        (encoded,) = encoder.run(None, features(batch, frames))
        assert encoded.shape == (batch, steps, 16)
        assert np.isfinite(encoded).all()
        assert encoded.std() > 0.1


@pytest.mark.parametrize("size", [(1, 64), (2, 33)])
def test_all_rules_together_keep_what_it_computes(size: tuple[int, int]) -> None:
    before = conformer(blocks=1, width=16)
    after, sites = rewritten(before)
    assert {"silu", "batch-norm", "attention"} <= {site.rule for site in sites if site.status == "applied"}
    assert "BatchNormalization" not in operators(after)
    assert_same(before, after, features(*size))


def test_generated_kernels_keep_what_it_computes(tmp_path: Path) -> None:
    """Bias and Swish, GLU, half a step and the norm behind it, and the scaled softmax are kernels."""
    save(conformer(blocks=1, width=16), tmp_path / "encoder.onnx")
    fused = with_kernels(tmp_path / "encoder.onnx", tmp_path / "fused.onnx")
    feed = features(2, 33)
    (wanted,) = session(load(tmp_path / "encoder.onnx")).run(None, feed)
    (encoded,) = advisor.session(fused, providers=[CPU]).run(None, feed)
    np.testing.assert_allclose(encoded, wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())
    left = operators(load(fused))
    assert not {"Sigmoid", "Softmax", "LayerNormalization"} & set(left)


def test_the_same_seed_gives_the_same_weights_and_frames_fix_the_time(tmp_path: Path) -> None:
    one, two, other = (conformer(blocks=1, width=8, seed=seed) for seed in (0, 0, 1))
    as_bytes = [ir.to_proto(each).SerializeToString() for each in (one, two, other)]
    assert as_bytes[0] == as_bytes[1] != as_bytes[2]
    fixed = conformer(blocks=1, width=8, frames=40)
    assert list(fixed.graph.inputs[0].shape or ()) == ["batch", 40, FEATURES]
    with pytest.raises(typer.BadParameter, match="4 heads"):
        program.main(tmp_path / "encoder.onnx", width=6)
    assert not (tmp_path / "encoder.onnx").exists()

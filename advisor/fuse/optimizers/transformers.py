"""ONNX Runtime's offline optimiser of transformers: attention, normalisations, embeddings, GELU."""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx

from advisor.measure.session import CPU

__all__ = ["optimize"]

MODEL_TYPES = ("bert", "gpt2")
"""Types to try. Most fusions are the same for all of them; these two differ in the attention that they look for, and on
eight real models no other type found more. The first is the library's default, and is taken where it does as well.
"""


def optimize(model: onnx.ModelProto, provider: str) -> onnx.ModelProto:
    """Run it on what ONNX Runtime's basic optimisations leave, as it does itself by default where torch is installed.

    It has no type for models in general: the one that leaves the fewest nodes is taken.
    """
    from onnxruntime.transformers import optimizer  # type: ignore[import-untyped]

    basic = _basic(model)
    results: list[onnx.ModelProto] = []
    for model_type in MODEL_TYPES:
        copy = onnx.ModelProto()
        copy.CopyFrom(basic)
        on_gpu = provider != CPU
        try:
            optimised = optimizer.optimize_model(copy, model_type=model_type, opt_level=0, use_gpu=on_gpu)
        except Exception as error:  # one type's patterns fail where another's fit
            failure = error
        else:
            results.append(optimised.model)
    if not results:
        raise failure
    return min(results, key=lambda result: len(result.graph.node))


def _basic(model: onnx.ModelProto) -> onnx.ModelProto:
    """MODEL as ONNX Runtime leaves it after optimisations that are good for every machine."""
    import onnxruntime as ort  # type: ignore[import-untyped]

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    with tempfile.TemporaryDirectory(prefix="advisor-") as folder:
        path = Path(folder, "basic.onnx")
        options.optimized_model_filepath = str(path)
        # Shared constants confuse the patterns that come next.
        ort.InferenceSession(
            model.SerializeToString(),
            options,
            providers=[CPU],
            disabled_optimizers=["ConstantSharing"],
        )
        return onnx.load(path)

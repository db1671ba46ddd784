"""Optimisers of other libraries, each one candidate. A new one is one new file and one line here."""

from advisor.fuse.optimizers.optimizer import Optimizer

__all__ = ["OPTIMIZERS"]

OPTIMIZERS: tuple[Optimizer, ...] = (
    Optimizer("onnxslim", "onnxslim", "The whole model as onnxslim optimises it.", f"{__name__}.onnxslim"),
    Optimizer("onnxscript", "onnxscript", "The whole model as onnxscript optimises it.", f"{__name__}.onnxscript"),
    Optimizer(
        "transformers",
        "onnxruntime.transformers",
        "The whole model as ONNX Runtime's offline optimiser of transformers leaves it.",
        f"{__name__}.transformers",
    ),
)

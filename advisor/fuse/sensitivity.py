"""What last bits alone do to the outputs of a model.

Where it quantises, a value near the middle between two integers becomes one or the other by its last bit, and a step
between those is 1/127 of the largest value of its tensor: from layer to layer the outputs depart, in a model with large
values by more than any tolerance, and no fusion is to blame. A badly conditioned model departs a little in float32.
How far is measured: the original runs with its weights moved by one unit in the last place, at random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from advisor.fuse.model import clone, constant_tensor
from advisor.fuse.verify import verify_roughly
from advisor.measure.session import NotRunnable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.fuse.departure import Open
    from advisor.fuse.verify import Reference

__all__ = ["nudged", "sensitivity"]

TIMES = 3
"""Models with moved weights; the largest departure of all counts."""
DTYPES = frozenset({ir.DataType.FLOAT16, ir.DataType.FLOAT, ir.DataType.DOUBLE})
ARGUMENTS = frozenset(
    {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Pow", "Range", "Resize", "Upsample"}
)
"""Operators whose constants are no weights: another last bit there may be another function, or another shape."""
SCALES = frozenset({"DequantizeLinear", "QuantizeLinear"})


def sensitivity(reference: Reference, model: ir.Model, open_session: Open) -> dict[tuple[str, str], float]:
    """How far last bits of its weights move a model: (set, output) to the relative error, at most.

    Empty where the model has no weights to move, or becomes another one by that (NaN in other places, or no run).

    Args:
        reference: What the model computes.
        model: It; only read.
        open_session: Loads a model derived from it, with optimisation off.
    """
    worst: dict[tuple[str, str], float] = {}
    for seed in range(TIMES):
        moved = nudged(model, np.random.default_rng(seed))
        if moved is None:
            return {}
        try:
            result = verify_roughly(reference, open_session(moved))
        except NotRunnable:
            return {}
        if not result.passed:
            return {}
        worst = {key: max(error, worst.get(key, 0.0)) for key, error in result.errors.items()}
    return worst


def nudged(model: ir.Model, random: np.random.Generator) -> ir.Model | None:
    """A copy whose weights are each one unit in the last place larger, or smaller, or as they were.

    Weights are floating-point constants of more than one element, and scales of quantised numbers; single numbers
    (1 - mask, exponents, epsilons) stay. None where there are none.
    """
    copy = clone(model)
    found = False
    for value in copy.graph.initializers.values():
        if value.const_value is not None and _is_weight(value, value.const_value):
            value.const_value = _moved(value.const_value, random)
            found = True
    for node in copy.graph:
        tensor = constant_tensor(node) if node.op_type == "Constant" else None
        if tensor is not None and "value" in node.attributes and _is_weight(node.outputs[0], tensor):
            node.attributes.add(ir.AttrTensor("value", _moved(tensor, random)))
            found = True
    return copy if found else None


def _is_weight(value: ir.Value, tensor: ir.TensorProtocol) -> bool:
    users = {user.op_type for user, _ in value.uses()}
    return tensor.dtype in DTYPES and not users & ARGUMENTS and (tensor.size > 1 or users <= SCALES)


def _moved(tensor: ir.TensorProtocol, random: np.random.Generator) -> ir.TensorProtocol:
    weights: NDArray[np.floating] = tensor.numpy()
    step = random.integers(-1, 2, weights.shape)
    with np.errstate(over="ignore"):
        moved = np.nextafter(weights, weights.dtype.type(np.inf) * np.where(step == 0, 1, step).astype(weights.dtype))
    return ir.Tensor(np.where((step == 0) | (weights == 0) | ~np.isfinite(moved), weights, moved), name=tensor.name)

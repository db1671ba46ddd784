"""Small models from text, and the question whether a rewritten model still computes the same."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort  # type: ignore[import-untyped]

from advisor.fuse.model import clone, runnable
from advisor.fuse.rewrite import Site, rewrite
from advisor.fuse.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from advisor.fuse.rule import Rule

NOT_BY_THE_RUNTIME = (False,)
"""Optimisation for `assert_same`, where ONNX Runtime's own optimiser gets the original wrong, too."""
Arrays = dict[str, "NDArray[Any]"]

CPU = "CPUExecutionProvider"
TOLERANCE = {np.dtype("float64"): 1e-9, np.dtype("float32"): 2e-5, np.dtype("float16"): 1e-2}
"""Largest difference allowed, relative to the largest value of the array."""
TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


def proto(
    text: str, *, opset: int = 17, ir_version: int = 8, functions: str = "", **weights: NDArray[Any]
) -> onnx.ModelProto:
    """A model in ONNX's text syntax, weights as arrays. An input that has a weight's name may be overridden."""
    header = f'<ir_version: {ir_version}, opset_import: ["": {opset}, "com.microsoft": 1, "local": 1]>'
    model: onnx.ModelProto = onnx.parser.parse_model(f"{header}\ntest {textwrap.dedent(text).strip()}\n{functions}")
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in weights.items())
    if not functions:
        del model.opset_import[2]
    return model


def model(text: str, **options: Any) -> ir.Model:
    return ir.from_proto(proto(text, **options))


def session(subject: ir.Model, *, optimised: bool = False) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    levels = ort.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    with runnable(subject) as source:
        return ort.InferenceSession(source, options, providers=[CPU])


def random_inputs(of: ort.InferenceSession, *, dynamic: int = 3, seed: int = 0, scale: float = 2.0) -> Arrays:
    """Normal values for every input; open dimensions are DYNAMIC."""
    generator = np.random.default_rng(seed)
    inputs: Arrays = {}
    for value in of.get_inputs():
        dims = [dim if isinstance(dim, int) else dynamic for dim in value.shape]
        inputs[value.name] = np.asarray(scale * generator.standard_normal(dims), TYPES[value.type])
    return inputs


def assert_same(
    before: ir.Model,
    after: ir.Model,
    inputs: Arrays | None = None,
    *,
    dynamic: int = 3,
    optimisation: Sequence[bool] = (False, True),
) -> None:
    """Same inputs, same outputs in name, type, shape and value, on ONNX Runtime with its optimisation off and on."""
    original = session(before)
    signature = [(value.name, value.type, value.shape) for value in original.get_inputs()]
    outputs = [(value.name, value.type) for value in original.get_outputs()]
    feeds = random_inputs(original, dynamic=dynamic) if inputs is None else inputs
    wanted = original.run(None, feeds)
    for optimised in optimisation:
        rewritten = session(after, optimised=optimised)
        assert [(value.name, value.type, value.shape) for value in rewritten.get_inputs()] == signature
        assert [(value.name, value.type) for value in rewritten.get_outputs()] == outputs
        for (name, _), old, new in zip(outputs, wanted, rewritten.run(None, feeds), strict=True):
            assert old.dtype == new.dtype, name
            assert old.shape == new.shape, name
            if old.size and old.dtype.kind == "f":
                scale = max(1.0, float(np.max(np.abs(old[np.isfinite(old)]), initial=0.0)))
                np.testing.assert_allclose(new, old, rtol=0, atol=TOLERANCE[old.dtype] * scale, err_msg=name)
            else:
                np.testing.assert_array_equal(new, old, err_msg=name)


def rewritten(before: ir.Model, rules: Sequence[Rule] = RULES) -> tuple[ir.Model, tuple[Site, ...]]:
    after = clone(before)
    return after, rewrite(after, rules, provider=CPU)


def fuse(
    text: str,
    inputs: Arrays | None = None,
    *,
    dynamic: int = 3,
    optimisation: Sequence[bool] = (False, True),
    **options: Any,
) -> tuple[list[str], tuple[Site, ...]]:
    """Rewrite the model, assert that it computes the same, and return its operators and what was done."""
    before = model(text, **options)
    after, sites = rewritten(before)
    assert_same(before, after, inputs, dynamic=dynamic, optimisation=optimisation)
    return operators(after), sites


def operators(of: ir.Model) -> list[str]:
    """Operators of the main graph in order, constants left out."""
    return [node.op_type for node in of.graph if node.op_type != "Constant"]


def status(sites: Sequence[Site]) -> Mapping[str, str]:
    """Status by rule; of the first site where a rule has several."""
    return {site.rule: site.status for site in reversed(sites)}


def weights(*shape: int, seed: int = 1, dtype: str = "float32") -> NDArray[Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)

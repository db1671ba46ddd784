"""Whether ONNX Runtime has a kernel for an operator: asked of ONNX Runtime itself."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import onnx_ir as ir

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["missing_kernel", "starts"]

CPU = "CPUExecutionProvider"
SILENT = 4
"""Severity of the log: what fails here is an answer, not an error."""
IR_VERSION = 8
"""Of the models that ask: old enough for every ONNX Runtime that is supported, new enough for bfloat16."""


@cache
def missing_kernel(
    provider: str,
    domain: str,
    op_type: str,
    opset: int,
    dtypes: tuple[ir.DataType | None, ...],
    attributes: tuple[tuple[str, Any], ...] = (),
) -> str | None:
    """Why PROVIDER cannot run this operator as one kernel, or None if it can.

    A session of one node tells. An operator that ONNX Runtime only takes apart into others, or that another provider
    would have to run, counts as missing; one that it runs in float32 between two casts does not.

    Args:
        provider: Execution provider, as ONNX Runtime names it.
        domain: Of the operator, "" for the standard one.
        op_type: Operator.
        opset: Version of the standard operator set; other domains have version 1.
        dtypes: Element types of the inputs, None for one that is left out.
        attributes: Name and value of each attribute.
    """
    import onnxruntime as ort  # type: ignore[import-untyped]

    if provider not in ort.get_available_providers():
        return f"this ONNX Runtime has no {provider}"
    if not starts(provider):
        return f"{provider} does not start on this machine"
    name = f"{domain}.{op_type}" if domain else op_type
    types = ", ".join(dtype.name.lower() for dtype in dtypes if dtype is not None)
    missing = f"ONNX Runtime {ort.__version__} has no {provider} kernel for {name} of {types}"
    loaded = _loaded(_one_node(domain, op_type, opset, dtypes, attributes), provider)
    if loaded is None:
        return missing
    return None if op_type in loaded and loaded <= {op_type, "Cast"} else f"{missing}: it takes it apart"


@cache
def starts(provider: str) -> bool:
    """Whether PROVIDER can be used: this build of ONNX Runtime has it, its libraries and its device are there."""
    return provider == CPU or _loaded(_one_node("", "Identity", 13, (ir.DataType.FLOAT,), ()), provider) is not None


def _loaded(model: onnx.ModelProto, provider: str) -> set[str] | None:
    """The operators that ONNX Runtime makes of MODEL where PROVIDER alone must run it; None if it cannot."""
    import onnxruntime as ort

    ort.set_default_logger_severity(SILENT)
    options = ort.SessionOptions()
    options.log_severity_level = SILENT
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    if provider != CPU:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    with tempfile.TemporaryDirectory(prefix="advisor-") as folder:
        written = Path(folder, "loaded.onnx")
        options.optimized_model_filepath = str(written)
        try:
            session = ort.InferenceSession(model.SerializeToString(), options, providers=[provider], enable_fallback=0)
        except Exception:  # ONNX Runtime's errors have no common class of their own
            return None
        if provider not in session.get_providers():
            return None
        return {node.op_type for node in onnx.load(written).graph.node}


def _one_node(
    domain: str,
    op_type: str,
    opset: int,
    dtypes: Sequence[ir.DataType | None],
    attributes: Sequence[tuple[str, Any]],
) -> onnx.ModelProto:
    """A model of this node alone; the shapes stay open and ONNX Runtime finds the output's type itself."""
    names = [f"i{index}" if dtype is not None else "" for index, dtype in enumerate(dtypes)]
    inputs = [
        onnx.helper.make_tensor_value_info(name, dtype.value, None)
        for name, dtype in zip(names, dtypes, strict=True)
        if dtype is not None
    ]
    node = onnx.helper.make_node(op_type, names, ["o"], domain=domain, **dict(attributes))
    graph = onnx.helper.make_graph([node], "question", inputs, [onnx.ValueInfoProto(name="o")])
    imports = [onnx.helper.make_opsetid("", opset)]
    if domain:
        imports.append(onnx.helper.make_opsetid(domain, 1))
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)

"""Sessions of models that hold one generated operator each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir
import onnxruntime as ort  # type: ignore[import-untyped]
from onnx import helper

from advisor.fuse.kernels.expression import DOMAIN, Access, Expression, Input, Operation, Output

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

FLOAT = ir.DataType.FLOAT
COLUMNS, ROW = Access.COLUMNS, Access.ROW


def multiply_add(*accesses: Access) -> Expression:
    """Input 0 times input 1 plus input 2, and the product too: in integers, so that every split gives the same."""
    inputs = tuple(Input(ir.DataType.INT64, access) for access in accesses)
    product = Operation("Mul", (0, 1), ir.DataType.INT64)
    total = Operation("Add", (3, 2), ir.DataType.INT64)
    return Expression((*inputs, product, total), (Output(4, COLUMNS), Output(3, COLUMNS)))


def centred(reduced: int) -> Expression:
    """Input 0 plus input 1, less the sum over the last axes; and that sum without these axes."""
    values = (
        Input(ir.DataType.INT64, COLUMNS),
        Input(ir.DataType.INT64, COLUMNS),
        Operation("Add", (0, 1), ir.DataType.INT64),
        Operation("ReduceSum", (2,), ir.DataType.INT64),
        Operation("Sub", (2, 3), ir.DataType.INT64),
    )
    return Expression(values, (Output(4, COLUMNS), Output(3, ROW, keepdims=False), Output(3, ROW)), reduced)


def scaled_sum() -> Expression:
    """The sum of input 0 over the last axis, times input 1, which has one value a row."""
    values = (
        Input(ir.DataType.INT64, COLUMNS),
        Input(ir.DataType.INT64, ROW),
        Operation("ReduceSum", (0,), ir.DataType.INT64),
        Operation("Mul", (2, 1), ir.DataType.INT64),
    )
    return Expression(values, (Output(3, ROW),), 1)


def double() -> Expression:
    """Input 0 plus itself, float32."""
    return Expression((Input(FLOAT, COLUMNS), Operation("Add", (0, 0), FLOAT)), (Output(1, COLUMNS),))


def model(expression: Expression) -> bytes:
    """A model of that operator alone, for any shapes."""
    inputs = [
        helper.make_tensor_value_info(f"in{place}", value.dtype.value, None)
        for place, value in enumerate(expression.inputs)
    ]
    outputs = [
        helper.make_tensor_value_info(f"out{place}", expression.dtype(output.value).value, None)
        for place, output in enumerate(expression.outputs)
    ]
    names = [value.name for value in inputs], [value.name for value in outputs]
    node = helper.make_node(expression.name, *names, domain=DOMAIN)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    graph = helper.make_graph([node], "one", inputs, outputs)
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def session(expression: Expression, libraries: Sequence[Path], threads: int = 1) -> ort.InferenceSession:
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    for library in libraries:
        options.register_custom_ops_library(str(library))
    return ort.InferenceSession(model(expression), options, providers=["CPUExecutionProvider"])


def run(opened: ort.InferenceSession, *arrays: NDArray[Any]) -> list[NDArray[Any]]:
    return list(opened.run(None, {f"in{place}": np.asarray(array) for place, array in enumerate(arrays)}))

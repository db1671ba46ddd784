"""What an expression computes, in NumPy: one line an operation, so that it can be seen to be right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from advisor.fuse.kernels.expression import Access, Constant, Input

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from advisor.fuse.kernels.expression import Expression, Operation
    from advisor.fuse.kernels.view import View

HALVES = {ir.DataType.FLOAT16, ir.DataType.BFLOAT16}


def _mod(operation: Operation, a: NDArray[Any], b: NDArray[Any]) -> Any:
    return np.fmod(a, b) if dict(operation.attributes)["fmod"] else np.mod(a, b)


def _divide(a: NDArray[Any], b: NDArray[Any]) -> Any:
    if a.dtype.kind == "f":
        return a / b
    quotient = np.abs(a) // np.abs(np.where(b == 0, 1, b))
    return np.where((a < 0) == (b < 0), quotient, -quotient).astype(a.dtype)


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "Abs": np.abs,
    "Add": np.add,
    "And": np.logical_and,
    "Ceil": np.ceil,
    "Cos": np.cos,
    "Div": _divide,
    "Elu": lambda x: np.where(x < 0, np.expm1(x), x),
    "Equal": np.equal,
    "Erf": np.vectorize(math.erf, otypes=[np.float64]),
    "Exp": np.exp,
    "Floor": np.floor,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "IsInf": np.isinf,
    "IsNaN": np.isnan,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Log": np.log,
    "Max": np.maximum,
    "Min": np.minimum,
    "Mul": np.multiply,
    "Neg": np.negative,
    "Not": np.logical_not,
    "Or": np.logical_or,
    "Pow": np.power,
    "Round": np.rint,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Sign": np.sign,
    "Sin": np.sin,
    "Softplus": lambda x: np.logaddexp(0, x),
    "Sqrt": np.sqrt,
    "Sub": np.subtract,
    "Tanh": np.tanh,
    "Where": np.where,
    "Xor": np.logical_xor,
}
REDUCTIONS: dict[str, Callable[..., Any]] = {"ReduceMax": np.max, "ReduceMin": np.min, "ReduceSum": np.sum}


def seen(array: NDArray[Any], view: View) -> NDArray[Any]:
    """An array as a view shows it."""
    if view.lengths:
        array = array if array.ndim else array[None]
        lengths = (1,) * len(view.lengths) if array.shape[-1] == 1 else view.lengths
        if array.shape[-1] > 1:
            array = array[..., view.start : view.start + math.prod(lengths)]
        array = array.reshape(*array.shape[:-1], *lengths)
    if view.order:
        array = array.reshape((1,) * (len(view.order) - array.ndim) + array.shape).transpose(view.order)
    return array


def compute(expression: Expression, inputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The outputs of a kernel, by NumPy; halves are computed in float32, as kernels do."""
    inputs = [seen(array, tensor.view) for array, tensor in zip(inputs, expression.inputs, strict=True)]
    full = np.broadcast_shapes(*(array.shape for array in inputs))
    reduced = expression.reduced
    row = full[: len(full) - reduced] + (1,) * reduced
    columns = tuple(range(len(full) - reduced, len(full)))
    values: list[NDArray[Any]] = []
    given = iter(inputs)
    with np.errstate(all="ignore"):
        for value, on_row in zip(expression.values, expression.on_rows, strict=True):
            dtype = np.dtype(np.float32) if value.dtype in HALVES else value.dtype.numpy()
            if isinstance(value, Input):
                array = next(given)
                if reduced and value.access is Access.ROW:
                    assert math.prod((1,) * reduced + array.shape[max(array.ndim - reduced, 0) :]) == 1
                values.append(np.broadcast_to(array.astype(dtype), row if on_row and reduced else full))
                continue
            if isinstance(value, Constant):
                values.append(np.asarray(value.number, dtype))
                continue
            operands = [values[operand] for operand in value.operands]
            if value.op_type == "RowLength":
                result: Any = math.prod(full[len(full) - reduced :])
            elif value.op_type == "Cast":
                result = operands[0]
            elif value.op_type == "Mod":
                result = _mod(value, *operands)
            elif value.op_type in REDUCTIONS:
                # A row's value stands for as many columns as the row has.
                operand = np.broadcast_to(operands[0], full)
                result = REDUCTIONS[value.op_type](operand, axis=columns, keepdims=True)
            else:
                result = ELEMENTWISE[value.op_type](*operands)
            values.append(np.asarray(result).astype(dtype))
        results = []
        for output in expression.outputs:
            dtype = expression.dtype(output.value).numpy()
            array = np.broadcast_to(values[output.value], row if output.access is Access.ROW else full).astype(dtype)
            if output.access is Access.ROW and not output.keepdims:
                array = array.reshape(full[: len(full) - reduced])
            results.append(array)
    return results

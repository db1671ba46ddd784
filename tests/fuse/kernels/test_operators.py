"""Every operation means what the ONNX operator of that name means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime  # type: ignore[import-untyped]
import pytest

from advisor.fuse.kernels.expression import ELEMENTWISE, REDUCTIONS, Access, Expression, Input, Operation, Output
from advisor.fuse.kernels.operators import supports
from tests.fuse.kernels.compiled import Compiled, compiled, host_level, run

if TYPE_CHECKING:
    from numpy.typing import NDArray

D = ir.DataType
DTYPES = [D.FLOAT, D.FLOAT16, D.BFLOAT16, D.DOUBLE, D.INT32, D.INT64, D.BOOL]
BINARY = {"Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul",
          "Or", "Pow", "Sub", "Xor"}  # fmt: skip
LOGICAL = {"Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual"}
APPROXIMATE = {"Cos", "Elu", "Erf", "Exp", "Log", "Pow", "Sigmoid", "Sin", "Softplus", "Tanh"}


def expression(op_type: str, dtype: ir.DataType, target: ir.DataType | None = None, **attributes: int) -> Expression:
    if op_type == "Where":
        operands: tuple[ir.DataType, ...] = (D.BOOL, dtype, dtype)
    else:
        operands = (dtype, dtype) if op_type in BINARY else (dtype,)
    result = target or (D.BOOL if op_type in LOGICAL else dtype)
    operation = Operation(op_type, tuple(range(len(operands))), result, tuple(sorted(attributes.items())))
    reduces = op_type in REDUCTIONS
    output = Output(len(operands), Access.ROW if reduces else Access.COLUMNS)
    return Expression((*(Input(d, Access.COLUMNS) for d in operands), operation), (output,), int(reduces))


def case(op_type: str, dtype: ir.DataType) -> list[Expression]:
    if op_type == "Cast":
        return [expression("Cast", dtype, target) for target in DTYPES]
    if op_type == "Mod":
        return [expression("Mod", dtype, fmod=n) for n in ((0, 1) if dtype in (D.INT32, D.INT64) else (1,))]
    if op_type == "IsInf":
        flags = [(1, 1), (0, 1), (1, 0)]
        return [expression("IsInf", dtype, detect_negative=n, detect_positive=p) for n, p in flags]
    return [expression(op_type, dtype)]


MISSING = {("Elu", D.DOUBLE), ("Erf", D.DOUBLE), ("Softplus", D.DOUBLE), ("Where", D.BOOL)}
"""What ONNX Runtime does not have on CPUs."""
CASES = [
    one
    for op_type in sorted(ELEMENTWISE | REDUCTIONS)
    for dtype in DTYPES
    if (op_type, dtype) not in MISSING and supports(op_type, *([D.BOOL] if op_type == "Where" else []), dtype)
    for one in case(op_type, dtype)
]


@pytest.fixture(scope="module")
def kernels() -> Compiled:
    return compiled(CASES)


def name(one: Expression) -> str:
    operation = one.operations[0]
    return f"{operation.op_type}-{one.inputs[-1].dtype.name}-{operation.dtype.name}" + "".join(
        str(value) for _, value in operation.attributes
    )


def samples(dtype: ir.DataType, generator: np.random.Generator, count: int) -> NDArray[Any]:
    if dtype is D.BOOL:
        return generator.integers(0, 2, count).astype(bool)
    if dtype in (D.INT32, D.INT64):
        return generator.choice([-7, -3, -2, -1, 1, 2, 3, 5, 9, 1000], count).astype(dtype.numpy())
    edges = [-np.inf, np.inf, np.nan, -0.0, 0.0, 0.5, 1.5, -2.5, 2.0, -3.0, 1.0, 60000.0]
    x = np.where(generator.random(count) < 0.5, generator.choice(edges, count), generator.normal(0, 3, count))
    return x.astype(dtype.numpy())


def runtime(one: Expression, inputs: list[NDArray[Any]]) -> NDArray[Any]:
    """What ONNX Runtime computes on a CPU for the one operator; 16-bit floats by float32, and cast inside the model."""
    operation = one.operations[0]
    narrow = {D.FLOAT16, D.BFLOAT16}
    is_cast = operation.op_type == "Cast"
    fed = [D.FLOAT if tensor.dtype in narrow else tensor.dtype for tensor in one.inputs]
    feeds = {f"x{n}": x.astype(d.numpy()) for n, (x, d) in enumerate(zip(inputs, fed, strict=True))}
    names, nodes = list(feeds), []
    if is_cast and one.inputs[0].dtype in narrow:
        names = ["narrow"]
        nodes.append(onnx.helper.make_node("Cast", ["x0"], names, to=int(one.inputs[0].dtype)))
    attributes: dict[str, Any] = dict(operation.attributes)
    if is_cast:
        attributes["to"] = int(operation.dtype)
    if operation.op_type in REDUCTIONS:
        names.append("axes")
    nodes.append(onnx.helper.make_node(operation.op_type, names, ["y"], **attributes))
    result = D.FLOAT if operation.dtype in narrow else operation.dtype
    if is_cast and operation.dtype in narrow:
        nodes.append(onnx.helper.make_node("Cast", ["y"], ["wide"], to=int(D.FLOAT)))
    graph = onnx.helper.make_graph(
        nodes,
        "one",
        [onnx.helper.make_tensor_value_info(n, int(t), x.shape) for (n, x), t in zip(feeds.items(), fed, strict=True)],
        [onnx.helper.make_tensor_value_info(nodes[-1].output[0], int(result), None)],
        [onnx.numpy_helper.from_array(np.array([1]), "axes")] if operation.op_type in REDUCTIONS else [],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    answer: NDArray[Any] = session.run(None, feeds)[0]
    return answer


def inputs_of(one: Expression, columns: int) -> list[NDArray[Any]]:
    """Samples for every input, but none for which ONNX Runtime and ONNX say different things, or nothing."""
    generator = np.random.default_rng(0)
    operation = one.operations[0]
    inputs = [samples(tensor.dtype, generator, columns)[None] for tensor in one.inputs]
    if operation.op_type == "Mod" and inputs[0].dtype.kind == "f":
        inputs = [np.where(np.isfinite(x), x, 1).astype(x.dtype) for x in inputs]
    if operation.op_type == "Cast" and operation.dtype in (D.INT32, D.INT64):
        inputs = [x if x.dtype.kind in "ib" else np.where(np.isfinite(x), x, 0).astype(x.dtype) for x in inputs]
    if operation.op_type == "Pow" and inputs[0].dtype.kind == "i":
        inputs = [np.minimum(inputs[0], 9), np.abs(inputs[1]) % 8]  # ONNX Runtime goes through floating point
    if operation.op_type in REDUCTIONS and inputs[0].dtype.kind not in "ib":
        inputs = [np.where(np.isfinite(x), x, 1).astype(x.dtype) for x in inputs]
    if operation.op_type in ("Sin", "Cos"):
        inputs = [np.where(np.abs(x) == np.inf, 1, x).astype(x.dtype) for x in inputs]
    return inputs


@pytest.mark.parametrize("one", CASES, ids=name)
def test_as_onnx_runtime(kernels: Compiled, one: Expression) -> None:
    columns = 701
    operation = one.operations[0]
    inputs = inputs_of(one, columns)
    variants = [run(kernels, one, *inputs, rows=1, columns=columns, general=g)[0] for g in (False, True)]
    if operation.op_type != "ReduceSum":
        np.testing.assert_array_equal(variants[0].astype(np.float64), variants[1].astype(np.float64))
    expected = runtime(one, inputs)
    narrow = one.inputs[-1].dtype in (D.FLOAT16, D.BFLOAT16) or operation.dtype in (D.FLOAT16, D.BFLOAT16)
    result = variants[0]
    with np.errstate(over="ignore"):
        expected = expected.astype(result.dtype)
    if operation.op_type in APPROXIMATE or operation.op_type == "ReduceSum":
        tolerance = 1e-2 if narrow else 1e-5
        np.testing.assert_allclose(
            result.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance / 10
        )
    else:
        np.testing.assert_array_equal(result.astype(np.float64), expected.astype(np.float64))


WIDE = [
    one
    for one in CASES
    if one.operations[0].op_type not in ("Cast", "Mod") and one.inputs[-1].dtype in (D.FLOAT, D.FLOAT16, D.INT64)
]


@pytest.fixture(scope="module")
def wide() -> Compiled:
    if host_level() not in ("v3", "v4"):
        pytest.skip("vectors of AVX-512 are cut into those of AVX2, which this machine lacks")
    return compiled(WIDE, "v4")


@pytest.mark.parametrize("one", WIDE, ids=name)
def test_wider_vectors_compute_the_same(kernels: Compiled, wide: Compiled, one: Expression) -> None:
    for columns in (15, 701):
        inputs = inputs_of(one, columns)
        expected, result = (run(k, one, *inputs, rows=1, columns=columns)[0] for k in (kernels, wide))
        np.testing.assert_array_equal(result.astype(np.float64), expected.astype(np.float64))

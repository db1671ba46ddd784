"""Kernels are vectorised, call nothing, are right for every shape, and cost no more than their size."""

from __future__ import annotations

import re
import time

import numpy as np
import onnx_ir as ir
import pytest

from advisor.fuse.kernels.cpu import function_name, kernel_module
from advisor.fuse.kernels.expression import Access, Constant, Expression, Input, Operation, Output
from advisor.fuse.kernels.stages import plan
from tests.fuse.kernels.compiled import assembly, compiled, run

F = ir.DataType.FLOAT
COLUMNS = Input(F, Access.COLUMNS)


def softmax() -> Expression:
    values = (
        COLUMNS,
        COLUMNS,
        Operation("Add", (0, 1), F),
        Operation("ReduceMax", (2,), F),
        Operation("Sub", (2, 3), F),
        Operation("Exp", (4,), F),
        Operation("ReduceSum", (5,), F),
        Operation("Div", (5, 6), F),
    )
    return Expression(values, (Output(7, Access.COLUMNS), Output(3, Access.ROW)), 1)


def scaled_erf() -> Expression:
    values = (COLUMNS, Input(F, Access.ROW), Operation("Mul", (0, 1), F), Operation("Erf", (2,), F))
    return Expression(values, (Output(3, Access.COLUMNS),))


def chain(length: int) -> Expression:
    operations = [Operation(("Tanh", "Exp", "Neg", "Abs")[n % 4], (n,), F) for n in range(length)]
    return Expression((COLUMNS, *operations), (Output(length, Access.COLUMNS),))


@pytest.mark.parametrize(("level", "register"), [("v2", "xmm"), ("v3", "ymm"), ("v4", "zmm"), ("v8", r"\.4s")])
def test_vector_instructions_and_no_calls(level: str, register: str) -> None:
    for expression in (softmax(), scaled_erf()):
        text = assembly([expression], level)
        assert not re.search(r"^\s+(call|bl)\s", text, re.MULTILINE)
        fast = text.split(f"{function_name(expression, level, general=True)}:")[0]
        assert re.search(rf"(vdivps|vmulps|vfm\w+ps|mulps|fmla|fmul)\s.*{register}", fast)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("columns", [1, 7, 33, 257])
def test_softmax_of_any_shape(rows: int, columns: int) -> None:
    generator = np.random.default_rng(columns)
    expression = softmax()
    x, mask = generator.normal(0, 3, (rows, columns)).astype(np.float32), np.zeros((1, 1), np.float32)
    exact = np.exp(x - x.max(1, keepdims=True, initial=-np.inf))
    exact /= exact.sum(1, keepdims=True)
    kernels = compiled([expression])
    full = np.ascontiguousarray(np.broadcast_to(mask, x.shape))
    for general, second in ((False, full), (True, full), (True, mask)):
        y, largest = run(kernels, expression, x, second, rows=rows, columns=columns, general=general)
        np.testing.assert_allclose(y, exact, rtol=3e-6)
        np.testing.assert_array_equal(largest, x.max(1, keepdims=True))


def test_what_is_costly_is_computed_once() -> None:
    expression = softmax()
    exponential = next(n for n, v in enumerate(expression.values) if isinstance(v, Operation) and v.op_type == "Exp")
    loops = plan(expression, expression.on_rows).loops
    assert exponential in loops[1].kept
    assert exponential in loops[2].loaded


def test_one_plus_tanh_keeps_its_digits_near_0() -> None:
    x = np.linspace(-20, 20, 10_001, dtype=np.float32)
    one_plus = (COLUMNS, Constant(F, 1.0), Operation("Tanh", (0,), F), Operation("Add", (1, 2), F))
    alone = Expression(one_plus, (Output(3, Access.COLUMNS),))
    both = Expression(one_plus, (Output(3, Access.COLUMNS), Output(2, Access.COLUMNS)))  # tanh is needed, too
    kernels = compiled([alone, both])
    (y,) = run(kernels, alone, x[None], rows=1, columns=len(x))
    np.testing.assert_allclose(y[0], 2 / (1 + np.exp(-2 * x.astype(np.float64))), rtol=4e-7)
    y, tanh = run(kernels, both, x[None], rows=1, columns=len(x))
    np.testing.assert_allclose(tanh[0], np.tanh(x.astype(np.float64)), rtol=4e-7)
    np.testing.assert_array_equal(y, 1 + tanh)


@pytest.mark.parametrize("factor", [0.5, 0.75, 1.0, 2.0**120])
@pytest.mark.parametrize("is_inside", [True, False])
def test_products_with_one_plus_tanh(factor: float, is_inside: bool) -> None:
    """Of x (1 + tanh(x k)) k, with k at either factor."""
    values = (
        COLUMNS,
        Constant(F, factor),
        Constant(F, 1.0),
        Operation("Mul", (0, 1), F),
        Operation("Tanh", (3 if is_inside else 0,), F),
        Operation("Add", (4, 2), F),
        Operation("Mul", (3 if is_inside else 0, 5), F),
        Operation("Mul", (6, 1) if not is_inside else (6, 0), F),
    )
    expression = Expression(values, (Output(7, Access.COLUMNS),))
    x = np.linspace(-8, 8, 999, dtype=np.float32)
    wide = x.astype(np.float64)
    inner = wide * factor if is_inside else wide
    exact = inner * (1 + np.tanh(inner)) * (wide if is_inside else factor)
    (y,) = run(compiled([expression]), expression, x[None], rows=1, columns=len(x))
    np.testing.assert_allclose(y[0], exact, rtol=3e-6, atol=1e-12 * factor)


def test_reduction_over_nothing() -> None:
    expression = softmax()
    empty = np.zeros((2, 0), np.float32)
    for general in (False, True):
        _, largest = run(compiled([expression]), expression, empty, empty, rows=2, columns=0, general=general)
        np.testing.assert_array_equal(largest, np.full((2, 1), -np.inf, np.float32))


def test_general_variant_takes_any_strides() -> None:
    expression = scaled_erf()
    x = np.arange(24, dtype=np.float32).reshape(6, 4).T / 8
    scale = np.linspace(-1, 1, 6, dtype=np.float32)[None]
    kernels = compiled([expression])
    y = run(kernels, expression, x, scale, rows=4, columns=6, general=True)[0]
    dense = [np.ascontiguousarray(np.broadcast_to(a, (4, 6))) for a in (x, scale)]
    np.testing.assert_array_equal(y, run(kernels, expression, *dense, rows=4, columns=6, general=True)[0])


def test_a_constant_for_all_columns_is_kept() -> None:
    values = (COLUMNS, Constant(F, 2.0), Operation("Mul", (0, 1), F))
    expression = Expression(values, (Output(2, Access.COLUMNS),))
    x = np.ones((2, 5), np.float32)
    np.testing.assert_array_equal(run(compiled([expression]), expression, x, rows=2, columns=5)[0], x * 2)


def test_cost_grows_linearly() -> None:
    size = {n: len(kernel_module([chain(n)], ["v3"])) for n in (100, 400)}
    assert size[400] < 4.5 * size[100]

    def seconds(n: int) -> float:
        start = time.process_time()
        assembly([chain(n)], "v3")
        return time.process_time() - start

    # Four times would be linear and sixteen quadratic. Other programs can take time, so the first may be off.
    assert any(seconds(400) < 10 * seconds(100) for _ in range(3))

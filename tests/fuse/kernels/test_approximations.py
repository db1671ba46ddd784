"""Approximations are within a few units in the last place, and right where functions have edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import onnx_ir as ir
import pytest

from advisor.fuse.kernels.approximations import FARTHEST_ANGLE, FARTHEST_ANGLE_UNFUSED
from advisor.fuse.kernels.expression import Access, Expression, Input, Operation, Output
from tests.fuse.kernels.compiled import Compiled, compiled, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

DTYPES = {"float32": ir.DataType.FLOAT, "float64": ir.DataType.DOUBLE}
REFERENCE: dict[str, Callable[[Any], Any]] = {
    "Exp": np.exp,
    "Log": np.log,
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Elu": lambda x: np.where(x < 0, np.expm1(x), x),
    "Softplus": lambda x: np.logaddexp(0, x),
    "Sin": np.sin,
    "Cos": np.cos,
}


def unary(op_type: str, dtype: ir.DataType) -> Expression:
    return Expression((Input(dtype, Access.COLUMNS), Operation(op_type, (0,), dtype)), (Output(1, Access.COLUMNS),))


def power(dtype: ir.DataType) -> Expression:
    tensor = Input(dtype, Access.COLUMNS)
    return Expression((tensor, tensor, Operation("Pow", (0, 1), dtype)), (Output(2, Access.COLUMNS),))


FUNCTIONS = [*REFERENCE, "Erf"]


@pytest.fixture(scope="module")
def kernels() -> Compiled:
    return compiled([f for d in DTYPES.values() for f in [*(unary(op, d) for op in FUNCTIONS), power(d)]])


def evaluate(kernels: Compiled, op_type: str, *x: NDArray[Any]) -> NDArray[Any]:
    dtype = DTYPES[x[0].dtype.name]
    expression = power(dtype) if op_type == "Pow" else unary(op_type, dtype)
    with np.errstate(all="ignore"):
        result: NDArray[Any] = run(kernels, expression, *(a[None] for a in x), rows=1, columns=len(x[0]))[0][0]
    return result


def error(result: NDArray[Any], exact: NDArray[Any]) -> float:
    """Largest distance in units in the last place of the exact value, where that is finite."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(result.dtype)
        np.testing.assert_array_equal(np.isnan(result), np.isnan(rounded))
        np.testing.assert_array_equal(result[np.isinf(rounded)], rounded[np.isinf(rounded)])
        finite = np.isfinite(rounded)
        unit = np.spacing(np.abs(rounded[finite])).astype(exact.dtype)
        return float(np.max(np.abs(result[finite].astype(exact.dtype) - exact[finite]) / unit))


def every_float32(step: int) -> NDArray[np.float32]:
    """Bit patterns at a stride: every exponent and both signs, with denormals, infinities and NaN."""
    return np.arange(0, 2**32, step, dtype=np.uint32).view(np.float32)


@pytest.mark.parametrize(
    ("op_type", "bound"),
    [("Exp", 2.0), ("Log", 2.0), ("Tanh", 2.0), ("Sigmoid", 2.5), ("Elu", 2.5), ("Softplus", 2.5)],
)
def test_float32_over_all_exponents(kernels: Compiled, op_type: str, bound: float) -> None:
    x = np.concatenate([every_float32(4099), np.linspace(-105, 90, 500_000, dtype=np.float32)])
    with np.errstate(all="ignore"):
        exact = REFERENCE[op_type](x.astype(np.float64))
    assert error(evaluate(kernels, op_type, x), exact) <= bound


def test_float32_erf(kernels: Compiled) -> None:
    x = np.concatenate([every_float32(64007), np.linspace(-4.2, 4.2, 60_000, dtype=np.float32)])
    from math import erf

    exact = np.array([erf(float(v)) for v in x])
    assert error(evaluate(kernels, "Erf", x), exact) <= 2.0


@pytest.mark.parametrize("op_type", ["Sin", "Cos"])
def test_float32_sine(kernels: Compiled, op_type: str) -> None:
    x = np.concatenate([every_float32(4099), np.linspace(-1000, 1000, 500_000, dtype=np.float32)])
    far = np.abs(x) > (FARTHEST_ANGLE_UNFUSED if kernels.level == "v2" else FARTHEST_ANGLE)
    with np.errstate(all="ignore"):
        exact = np.where(far, np.nan, REFERENCE[op_type](x.astype(np.float64)))
    assert error(evaluate(kernels, op_type, x), exact) <= 2.0


def test_float32_pow(kernels: Compiled) -> None:
    generator = np.random.default_rng(0)
    x = np.exp(generator.uniform(-80, 80, 300_000)).astype(np.float32)
    y = generator.uniform(-8, 8, len(x)).astype(np.float32)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    assert error(evaluate(kernels, "Pow", x, y), exact) <= 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pow_has_the_special_cases_of_c(kernels: Compiled, dtype: Any) -> None:
    edges = np.array([-np.inf, -3, -2.5, -1, -0.5, -0.0, 0.0, 0.5, 1, 2, 3, 2**24 + 2, np.inf, np.nan], dtype)
    x, y = (a.ravel() for a in np.meshgrid(edges, edges))
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
    result = evaluate(kernels, "Pow", x, y)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    np.testing.assert_array_equal(np.signbit(result)[expected == 0], np.signbit(expected)[expected == 0])


FLOAT64 = [
    ("Exp", mpmath.exp, (-745, 709.7), 2.0),
    ("Log", mpmath.log, (0, 10), 2.0),
    ("Tanh", mpmath.tanh, (-20, 20), 3.0),
    ("Sigmoid", lambda x: 1 / (1 + mpmath.exp(-x)), (-745, 40), 3.0),
    ("Elu", lambda x: mpmath.expm1(x) if x < 0 else x, (-45, 0), 3.0),
    ("Softplus", lambda x: mpmath.log1p(mpmath.exp(x)), (-745, 40), 3.0),
    ("Erf", mpmath.erf, (-6, 6), 4.0),
    ("Sin", mpmath.sin, (-1e6, 1e6), 2.0),
    ("Cos", mpmath.cos, (-1e6, 1e6), 2.0),
]


@pytest.mark.parametrize(("op_type", "function", "range_", "bound"), FLOAT64)
def test_float64(kernels: Compiled, op_type: str, function: Any, range_: tuple[float, float], bound: float) -> None:
    generator = np.random.default_rng(1)
    x = np.concatenate(
        [
            generator.uniform(*range_, 2000),
            np.sign(range_[0] + 0.5) * generator.uniform(0, 1, 1000) * 2.0 ** -generator.integers(0, 60, 1000),
        ]
    )
    result = evaluate(kernels, op_type, x)
    with mpmath.workdps(40):
        exact = [function(mpmath.mpf(float(v))) for v in x]
        errors = [
            abs(mpmath.mpf(float(r)) - e) / float(np.spacing(abs(float(e)))) for r, e in zip(result, exact, strict=True)
        ]
    assert max(errors) <= bound


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges(kernels: Compiled, dtype: Any) -> None:
    x = np.array([-np.inf, -0.0, 0.0, np.inf, np.nan], dtype)
    nan, inf = np.nan, np.inf
    expected = {
        "Exp": [0, 1, 1, inf, nan],
        "Log": [nan, -inf, -inf, inf, nan],
        "Tanh": [-1, -0.0, 0, 1, nan],
        "Erf": [-1, -0.0, 0, 1, nan],
        "Sigmoid": [0, 0.5, 0.5, 1, nan],
        "Elu": [-1, -0.0, 0, inf, nan],
        "Softplus": [0, np.log(2), np.log(2), inf, nan],
        "Sin": [nan, -0.0, 0, nan, nan],
        "Cos": [nan, 1, 1, nan, nan],
    }
    for op_type, values in expected.items():
        result = evaluate(kernels, op_type, x)
        np.testing.assert_array_equal(result, np.array(values, dtype), err_msg=op_type)
        np.testing.assert_array_equal(np.signbit(result[1:3]), np.signbit(np.array(values)[1:3]), err_msg=op_type)

"""Every operation of a kernel rounds as it does alone, so that what is equal, whole or zero in a model stays so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from advisor.fuse.kernels.cpu import LEVELS
from advisor.fuse.kernels.library import ptx_kernels
from tests.fuse.graphs import model
from tests.fuse.kernels.compiled import Compiled, assembly, compiled, run
from tests.fuse.kernels.test_lowering import whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from advisor.fuse.kernels.expression import Expression

COLUMNS = 257
# What NumPy computes operation by operation, on float32.
ARITHMETIC: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "difference of squares": ("a = Mul(x, x) b = Mul(z, z) y = Sub(a, b)", lambda x, z: x * x - z * z),
    "the same by Add": ("a = Mul(x, z) n = Neg(a) b = Mul(z, x) y = Add(b, n)", lambda x, z: z * x + -(x * z)),
    "a root": ("a = Mul(x, x) b = Mul(z, z) d = Sub(a, b) y = Sqrt(d)", lambda x, z: np.sqrt(x * x - z * z)),
    "whole numbers": ("a = Mul(x, z) b = Sub(a, x) y = Floor(b)", lambda x, z: np.floor(x * z - x)),
    "a polynomial": (
        "a = Mul(x, z) b = Add(a, x) c = Mul(b, x) d = Add(c, z) e = Div(d, z) y = Sub(e, x)",
        lambda x, z: ((x * z + x) * x + z) / z - x,
    ),
}


@pytest.fixture(scope="module")
def subjects() -> dict[str, Expression]:
    def one(nodes: str) -> Expression:
        text = f"(float[1, {COLUMNS}] x, float[1, {COLUMNS}] z) => (float[1, {COLUMNS}] y) {{ {nodes} }}"
        return whole(model(text, opset=18)).expression

    softmax = f"(float[1, {COLUMNS}] x, float[1, 1] z) => (float[1, {COLUMNS}] y) {{ a = Mul(x, z) y = Softmax(a) }}"
    return {name: one(nodes) for name, (nodes, _) in ARITHMETIC.items()} | {
        "softmax": whole(model(softmax, opset=18)).expression
    }


@pytest.fixture(scope="module")
def kernels(subjects: dict[str, Expression]) -> Compiled:
    return compiled(list(subjects.values()))


def operands() -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    rng = np.random.default_rng(0)
    x, z = (rng.standard_normal((1, COLUMNS)).astype(np.float32) for _ in range(2))
    counts = np.arange(1, COLUMNS + 1, dtype=np.float32)[None]
    return [(x, z), (x, x), (x, -x), (counts, np.full_like(counts, 0.7)), (counts / np.float32(3), counts)]


@pytest.mark.parametrize("name", list(ARITHMETIC))
def test_bit_for_bit_as_one_operation_after_the_other(
    name: str, kernels: Compiled, subjects: dict[str, Expression]
) -> None:
    for x, z in operands():
        with np.errstate(invalid="ignore"):
            expected = ARITHMETIC[name][1](x, z)
        (result,) = run(kernels, subjects[name], x, z, rows=1, columns=COLUMNS)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("factor", [1.0, 1e4, 1e10, 1e20, 3e37])
def test_the_largest_of_a_softmax_is_no_other_number_in_its_exponent(
    factor: float, kernels: Compiled, subjects: dict[str, Expression]
) -> None:
    x = np.random.default_rng(1).standard_normal((1, COLUMNS)).astype(np.float32)
    (result,) = run(kernels, subjects["softmax"], x, np.full((1, 1), factor, np.float32), rows=1, columns=COLUMNS)
    assert result.argmax() == x.argmax()
    assert result.sum() == pytest.approx(1, rel=1e-5)


def test_no_processor_multiplies_and_adds_at_once(subjects: dict[str, Expression]) -> None:
    for level in LEVELS:
        code = assembly([subjects[name] for name in ARITHMETIC], level)
        assert re.findall(r"^\s*(v?fn?m(?:add|sub|la|ls)\w*)", code, re.MULTILINE) == [], level


def test_no_gpu_multiplies_and_adds_at_once(subjects: dict[str, Expression]) -> None:
    for ptx in ptx_kernels([subjects[name] for name in ARITHMETIC]).values():
        assert "fma." not in ptx
        assert re.findall(r"\b(?:mul|add|sub)\.f32", ptx) == []  # without .rn the assembler may join two of them

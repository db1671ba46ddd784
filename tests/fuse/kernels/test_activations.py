"""Activations are as exact as their type allows on the whole line, not only beside what ONNX Runtime computes."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.fuse.graphs import model
from tests.fuse.kernels.compiled import Compiled, compiled, run
from tests.fuse.kernels.test_approximations import error
from tests.fuse.kernels.test_lowering import whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SELU = "alpha: float = 1.6732632, gamma: float = 1.050701"
# The node, what it is in float64, and by how many units in the last place it may be off.
ACTIVATIONS: dict[str, tuple[str, Callable[[Any], Any], float]] = {
    "Softplus": ("Softplus(x)", lambda x: np.logaddexp(0, x), 2.5),
    "Mish": ("Mish(x)", lambda x: x * np.tanh(np.logaddexp(0, x)), 4),
    "Tanh": ("Tanh(x)", np.tanh, 2),
    "Sigmoid": ("Sigmoid(x)", lambda x: 1 / (1 + np.exp(-x)), 2.5),
    "SiLU": ("Mul(x, s) s = Sigmoid(x)", lambda x: x / (1 + np.exp(-x)), 3),
    "Elu": ("Elu(x)", lambda x: np.where(x < 0, np.expm1(x), x), 2.5),
    "Selu": (f"Selu<{SELU}>(x)", lambda x: 1.050701 * np.where(x > 0, x, 1.6732632 * np.expm1(x)), 4),
    "Celu": ("Celu<alpha: float = 2.0>(x)", lambda x: np.where(x < 0, 2 * np.expm1(x / 2), x), 2.5),
    "Softsign": ("Softsign(x)", lambda x: x / (1 + np.abs(x)), 2),
}


@pytest.fixture(scope="module")
def subjects() -> dict[str, Any]:
    def one(node: str) -> Any:
        last, *before = node.split(" s = ")
        nodes = "".join(f"s = {text} " for text in before) + f"y = {last}"
        return whole(model(f"(float[1,8] x) => (float[1,8] y) {{ {nodes} }}", opset=18)).expression

    return {name: one(node) for name, (node, *_) in ACTIVATIONS.items()} | {
        "Gelu": whole(model("(float[1,8] x) => (float[1,8] y) { y = Gelu(x) }", opset=20)).expression
    }


@pytest.fixture(scope="module")
def kernels(subjects: dict[str, Any]) -> Compiled:
    return compiled(list(subjects.values()))


def line() -> NDArray[np.float32]:
    """Both signs from the least normal number to 10^38, and densely where functions bend."""
    powers = np.geomspace(2.0**-126, 1e38, 60_001)
    bends = np.linspace(0, 110, 60_001)
    return np.concatenate([powers, -powers, bends, -bends]).astype(np.float32)


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_exact_to_a_few_units_in_the_last_place(name: str, kernels: Compiled, subjects: dict[str, Any]) -> None:
    _, exact, bound = ACTIVATIONS[name]
    x = line()
    with np.errstate(all="ignore"):
        expected = exact(x.astype(np.float64))
        result = run(kernels, subjects[name], x[None], rows=1, columns=len(x))[0][0]
    settled = np.abs(expected) >= 1e-36  # below, a factor may be denormal, with fewer digits
    assert error(result[settled], expected[settled]) <= bound
    np.testing.assert_allclose(result[~settled], expected[~settled], rtol=0, atol=1e-42)


def test_far_below_zero_is_not_zero(kernels: Compiled, subjects: dict[str, Any]) -> None:
    x = np.array([-88.8, -100.0], np.float32)
    for name in ("Softplus", "Sigmoid"):
        result = run(kernels, subjects[name], x[None], rows=1, columns=2)[0][0]
        assert (result * np.float32(np.inf) == np.inf).all()  # 0 would give NaN


def test_gelu_is_exact_to_the_rounding_of_its_sum(kernels: Compiled, subjects: dict[str, Any]) -> None:
    from math import erf

    x = np.linspace(-8, 8, 20_001, dtype=np.float32)
    expected = np.array([0.5 * v * (1 + erf(v * sqrt(0.5))) for v in x.astype(np.float64)])
    result = run(kernels, subjects["Gelu"], x[None], rows=1, columns=len(x))[0][0]
    assert (np.abs(result - expected) <= 2.0**-23 * np.abs(x)).all()

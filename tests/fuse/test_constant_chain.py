"""Constants in a row become one, and operands that are expanded for nothing are left as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuse.graphs import fuse, model, rewritten, status, weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

TWO, THREE = np.array(2, "float32"), np.array(3, "float32")
PAIRS = [
    *((inner, outer) for inner in ("Mul", "Div") for outer in ("Mul", "Div")),
    *((inner, outer) for inner in ("Add", "Sub") for outer in ("Add", "Sub")),
]


def chain(inner: str, outer: str, a: NDArray[np.float32], b: NDArray[np.float32]) -> tuple[list[str], str]:
    """What is left of `inner` and `outer`, and the reason where nothing was done."""
    found, sites = fuse(f"(float[n, 8] x) => (float[] y) {{ z = {inner}(x, a) y = {outer}(z, b) }}", a=a, b=b)
    return found, sites[0].reason if sites else "nothing found"


@pytest.mark.parametrize(("inner", "outer"), PAIRS)
def test_two_constants_become_one(inner: str, outer: str) -> None:
    one, other = np.float32(3.7), weights(8) % np.float32(1.5) + np.float32(0.25)
    found, reason = chain(inner, outer, np.asarray(one), other)
    assert (len(found), reason) == (1, "")


@settings(max_examples=40, deadline=None)
@given(
    pair=st.sampled_from(PAIRS),
    shapes=st.tuples(*[st.sampled_from([(), (1,), (8,), (3, 1), (3, 8), (1, 1, 8)])] * 2),
    scale=st.sampled_from([1e-6, 1e-3, 1.0, 1e5, 1e12]),
    seed=st.integers(0, 9),
)
def test_whatever_the_constants_are_the_result_is_the_same(
    pair: tuple[str, str], shapes: tuple[tuple[int, ...], tuple[int, ...]], scale: float, seed: int
) -> None:
    a, b = (weights(*shape, seed=seed + index) * np.float32(scale) for index, shape in enumerate(shapes))
    chain(*pair, np.asarray(a), np.asarray(b))  # which asserts it


@pytest.mark.parametrize(
    ("inner", "outer", "a", "b", "why"),
    [
        ("Add", "Sub", 12582912.0, 12582912.0, "rounding between the two may be meant"),  # rounds to whole numbers
        ("Mul", "Mul", 1e30, 1e-30, "the order of the products matters"),
        ("Mul", "Div", 2.0, 0.0, "the order of the products matters"),
    ],
)
def test_order_that_matters(inner: str, outer: str, a: float, b: float, why: str) -> None:
    found, reason = chain(inner, outer, np.asarray(a, np.float32), np.asarray(b, np.float32))
    assert found == [inner, outer]
    assert why in reason


def test_constants_that_are_larger_together() -> None:
    found, reason = chain("Mul", "Mul", np.ones((3, 1), "float32"), np.ones(8, "float32"))
    assert found == ["Mul", "Mul"]
    assert "24 elements" in reason


def test_a_constant_that_may_be_overridden_and_a_product_that_is_used() -> None:
    text = "(float[n, 8] x, float a) => (float[n, 8] y) { z = Mul(x, a) y = Mul(z, b) }"
    found, sites = fuse(text, a=TWO, b=THREE, inputs={"x": weights(2, 8), "a": np.array(9, "float32")})
    assert (found, "may replace its value" in sites[0].reason) == (["Mul", "Mul"], True)
    text = "(float[n, 8] x) => (float[n, 8] y, float[n, 8] z) { z = Mul(x, a) y = Mul(z, b) }"
    assert fuse(text, a=TWO, b=THREE)[0] == ["Mul", "Mul"]


def test_half_precision_is_left() -> None:
    text = "(float16[n, 8] x) => (float16[n, 8] y) { z = Mul(x, a) y = Mul(z, b) }"
    _, sites = rewritten(model(text, a=np.array(1000, "float16"), b=np.array(0.001, "float16")))
    assert sites[0].reason == "'x' is float16"


@pytest.mark.parametrize("operator", ["Add(x, e)", "Add(e, x)", "Sub(x, e)", "Sub(e, x)", "Mul(e, x)", "Div(x, e)"])
def test_an_operand_expanded_to_the_other_ones_shape(operator: str) -> None:
    text = "(float[n, 8] x, float[m, 1] w) => (float[n, 8] y) { s = Shape(x) e = Expand(w, s) y = %s }"
    found, sites = fuse(text % operator)
    assert (found, status(sites)) == ([operator[:3]], {"broadcast": "applied"})


def test_an_operand_expanded_to_something_else_or_for_someone_else() -> None:
    head = "(float[n, 8] x, float[1, 8] w, float[3, 3, 8] v) => (float[] y, float[] z)"
    assert not fuse(f"{head} {{ s = Shape(v) e = Expand(w, s) y = Add(x, e) z = Neg(x) }}")[1]
    found, sites = fuse(f"{head} {{ s = Shape(x) e = Expand(w, s) y = Add(x, e) z = Neg(e) }}")
    assert (found.count("Expand"), sites[0].status) == (1, "illegal")
    part = "(float[4, 8] x, float[1, 8] w) => (float[] y) { s = Shape<start = 1>(x) e = Expand(w, s) y = Add(x, e) }"
    assert not fuse(part)[1]
    assert fuse(f"{head} {{ s = Shape(x) e = Expand(w, s) y = Add(x, e) z = Expand(v, s) }}")[0] == [
        "Shape",
        "Add",
        "Expand",
    ]


def test_three_in_a_row_and_a_constant_that_an_activation_needs() -> None:
    text = "(float[n, 8] x) => (float[n, 8] y) { w = Mul(x, a) z = Div(w, b) y = Mul(z, a) }"
    found, sites = fuse(text, a=TWO, b=THREE)
    assert (found, [site.status for site in sites]) == (["Mul"], ["applied", "applied"])
    numbers = "float three = {3}, float zero = {0}, float six = {6}"
    body = "s = Add(x, three) c = Clip(s, zero, six) m = Mul(x, c) z = Div(m, six) y = Mul(z, a)"
    found, _ = fuse(f"(float[n, 8] x) => (float[n, 8] y) <{numbers}> {{ {body} }}", a=TWO)
    assert found == ["HardSigmoid", "Mul", "Mul"]

"""Computed targets of Reshape: constants where sizes allow it, the same shapes in every run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.fuse.compose import compose
from advisor.fuse.structure.reshape_targets import RESHAPE_TARGETS
from tests.fuse.graphs import CPU, assert_same, model, operators

HEADS = """(float[batch, time, 24] x) => (float[batch, time, 24] y) {
    zero = Constant<value_int = 0>()
    one = Constant<value_int = 1>()
    first = Constant<value_ints = [0]>()
    heads = Constant<value_ints = [4]>()
    rest = Constant<value_ints = [-1]>()
    a = Sigmoid(x)
    s = Shape(a)
    b0 = Gather(s, zero)
    b = Unsqueeze(b0, first)
    s1 = Shape(x)
    t0 = Gather(s1, one)
    t = Unsqueeze(t0, first)
    target = Concat<axis = 0>(b, t, heads, rest)
    h = Reshape(a, target)
    p = Transpose<perm = [0, 2, 1, 3]>(h)
    q = Relu(p)
    u = Transpose<perm = [0, 2, 1, 3]>(q)
    back = Concat<axis = 0>(b, t, rest)
    y = Reshape(u, back)
}"""


def left(text: str, *, opset: int = 17, sizes: tuple[int, ...] = (1, 3)) -> list[str]:
    """Operators that are left, after comparing what both compute with every dynamic dimension of SIZES."""
    before = model(text, opset=opset)
    after = compose(before, [RESHAPE_TARGETS], provider=CPU).model
    for size in sizes:
        assert_same(before, after, dynamic=size)
    return operators(after)


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_heads_are_split_and_merged_without_computing_a_shape(opset: int) -> None:
    assert left(HEADS, opset=opset) == ["Sigmoid", "Reshape", "Transpose", "Relu", "Transpose", "Reshape"]


def test_batch_and_time_may_differ() -> None:
    before = model(HEADS)
    after = compose(before, [RESHAPE_TARGETS], provider=CPU).model
    for shape in ((2, 5, 24), (5, 2, 24), (1, 7, 24)):
        assert_same(before, after, {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)})


def test_an_exporter_that_allows_zeros() -> None:
    text = HEADS.replace("Reshape(", "Reshape<allowzero = 1>(")
    assert "Shape" not in left(text, sizes=(1, 3))
    explicit = """(float[n, 4] x) => (float[n, 4] y) {
        s = Shape<start = 0, end = 1>(x)
        four = Constant<value_ints = [4]>()
        target = Concat<axis = 0>(s, four)
        y = Reshape<allowzero = 1>(x, target)
    }"""
    assert left(explicit, sizes=(0, 1, 3)) == ["Reshape"]
    asked_for = """(float[n, 0] x) => (float[n, 0, 2] y) {
        s = Shape<start = 0, end = 1>(x)
        more = Constant<value_ints = [0, 2]>()
        target = Concat<axis = 0>(s, more)
        y = Reshape<allowzero = 1>(x, target)
    }"""
    assert left(asked_for) == ["Shape", "Concat", "Reshape"]


ONE_OPEN = """(float[n, m, 4] x) => (float[k, 4] y) {
    s = Shape<start = 0, end = 2>(x)
    rows = ReduceProd<keepdims = 1>(s)
    four = Constant<value_ints = [4]>()
    target = Concat<axis = 0>(rows, four)
    y = Reshape(x, target)
}"""


def test_what_no_name_stands_for_is_left_to_be_computed() -> None:
    assert left(ONE_OPEN, sizes=(0, 1, 3)) == ["Shape", "ReduceProd", "Concat", "Reshape"]


def test_what_the_others_leave_is_not_computed_even_of_no_rows() -> None:
    text = """(float[n, m, 4] x) => (float[k, 4] y) {
        s = Shape(x)
        zero = Constant<value_ints = [0]>()
        one = Constant<value_ints = [1]>()
        a = Gather(s, zero)
        b = Gather(s, one)
        rows = Mul(a, b)
        four = Constant<value_ints = [4]>()
        target = Concat<axis = 0>(rows, four)
        y = Reshape(x, target)
    }"""
    assert left(text, sizes=(0, 1, 3)) == ["Reshape"]


@pytest.mark.parametrize(
    ("swapped", "why"),
    [
        ("Concat<axis = 0>(m, n, rest)", "sizes do not stay in their places"),
        ("Concat<axis = 0>(n, twice, rest)", "a size is computed with"),
        ("Concat<axis = 0>(n, other, rest)", "a size is another input's"),
    ],
)
def test_other_targets_are_computed_as_before(swapped: str, why: str) -> None:
    text = """(float[n, m, 24] x, float[k] z) => (float[a, b, c] y) {
        n = Shape<start = 0, end = 1>(x)
        m = Shape<start = 1, end = 2>(x)
        two = Constant<value_ints = [2]>()
        rest = Constant<value_ints = [-1]>()
        twice = Mul(m, two)
        other = Shape(z)
        target = TARGET
        y = Reshape(x, target)
    }""".replace("TARGET", swapped)
    assert "Concat" in left(text), why


def test_a_cast_that_changes_a_number_is_not_looked_through() -> None:
    text = """(float[n, 6] x) => (float[a, b] y) {
        n = Shape<start = 0, end = 1>(x)
        is_any = Cast<to = 9>(n)
        one = Cast<to = 7>(is_any)
        rest = Constant<value_ints = [-1]>()
        target = Concat<axis = 0>(one, rest)
        y = Reshape(x, target)
    }"""
    assert left(text) == ["Shape", "Cast", "Cast", "Concat", "Reshape"]


def test_a_target_that_others_read_stays_for_them() -> None:
    text = HEADS.replace("(float[batch, time, 24] y)", "(float[batch, time, 24] y, int64[3] back)")
    found = left(text)
    assert found.count("Concat") == 1
    assert "Shape" in found


def test_bodies_are_left() -> None:
    text = """(float[n, 6] x, bool c) => (float[a, b] y) {
        y = If(c) <
            then_branch = then () => (float[a, b] t) {
                s = Shape<start = 0, end = 1>(x)
                rest = Constant<value_ints = [-1]>()
                target = Concat<axis = 0>(s, rest)
                t = Reshape(x, target)
            },
            else_branch = otherwise () => (float[a, b] e) { e = Neg(x) }
        >
    }"""
    before = model(text)
    assert compose(before, [RESHAPE_TARGETS], provider=CPU).sites == ()


PARTS = {
    "n": "Shape<start = 0, end = 1>(x)",
    "m": "Shape<start = 1, end = 2>(r)",
    "six": "Constant<value_ints = [6]>()",
    "three": "Constant<value_ints = [3]>()",
    "two": "Constant<value_ints = [2]>()",
    "one": "Constant<value_ints = [1]>()",
    "rest": "Constant<value_ints = [-1]>()",
    "copied": "Constant<value_ints = [0]>()",
}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(PARTS)), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=3),
    st.booleans(),
)
def test_any_target_gives_what_it_gave(parts: list[str], sizes: list[tuple[int, int]], allows_zero: bool) -> None:
    """Where the original runs, the result has its shape; nobody asks about the others."""
    body = "\n".join(f"{name} = {PARTS[name]}" for name in sorted(set(parts)))
    rank = ", ".join(f"d{axis}" for axis in range(len(parts)))
    options = "<allowzero = 1>" if allows_zero else ""
    before = model(f"""(float[n, m, 6] x) => (float[{rank}] y) {{
        r = Relu(x)
        {body}
        target = Concat<axis = 0>({", ".join(parts)})
        y = Reshape{options}(r, target)
    }}""")
    after = compose(before, [RESHAPE_TARGETS], provider=CPU).model
    for n, m in sizes:
        feed = {"x": np.arange(n * m * 6, dtype=np.float32).reshape(n, m, 6)}
        try:
            assert_same(before, before, feed)
        except Exception:
            continue
        assert_same(before, after, feed)

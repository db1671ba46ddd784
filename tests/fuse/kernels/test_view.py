"""Tensors that kernels see in another shape and order: what Reshape and Transpose beside a group would have copied."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from advisor.fuse.kernels.expression import Access, Expression, Input, Operation, Output
from advisor.fuse.kernels.generated import groups_of
from advisor.fuse.kernels.library import Unsupported, build_library, here
from advisor.fuse.kernels.nvptx import gpu_module
from advisor.fuse.kernels.view import MOST_AXES, View
from tests.fuse.graphs import model, random_inputs
from tests.fuse.graphs import session as ort_session
from tests.fuse.kernels.interpreter import seen
from tests.fuse.kernels.single_operator import FLOAT, run, session
from tests.fuse.kernels.test_generated import generated
from tests.fuse.kernels.test_generated import run as run_model

try:
    here()
except Unsupported as reason:
    pytest.skip(str(reason), allow_module_level=True)

HEADS = np.array([0, 0, 4, 8])


def operators(text: str, **weights: Any) -> list[list[str]]:
    """The operators of each group."""
    return [[node.op_type for node in group.nodes] for group, _ in groups_of(model(text, **weights))]


def check(text: str, *, dynamic: tuple[int, ...] = (3, 1, 0), sites: int = 1, **weights: Any) -> list[str]:
    """The operators of the model with kernels, which computes the same for open dimensions of these sizes."""
    before = model(text, **weights)
    after = generated(before)
    assert len(after.sites) == sites
    for size in dynamic:
        feed = random_inputs(ort_session(before), dynamic=size)
        for ours, theirs in zip(run_model(after.model, feed, after.libraries), run_model(before, feed), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    return [node.op_type for node in after.model.graph]


# ---- Views by themselves


@st.composite
def views(draw: st.DrawFn, rank: int) -> View:
    """Of a tensor of RANK axes whose last one has 12 elements, or 4 where it was split before."""
    lengths = draw(st.sampled_from([(), (3, 4), (12,), (2, 3, 2), (6,), (4, 2)]))
    axes = rank + max(len(lengths) - 1, 0)
    order = draw(st.sampled_from([(), tuple(draw(st.permutations(range(axes))))]))
    return View(12 if lengths else 0, lengths, order, draw(st.integers(0, 12 - prod(lengths or (12,)))))


@given(st.data())
def test_a_view_of_a_view_is_one_after_the_other(data: st.DataObject) -> None:
    array = np.arange(2 * 5 * 12).reshape(2, 5, 12)
    first = data.draw(views(3))
    middle = seen(array, first)
    lengths: tuple[int, ...] = (
        (2, middle.shape[-1] // 2) if middle.shape[-1] % 2 == 0 and data.draw(st.booleans()) else ()
    )
    axes = middle.ndim + max(len(lengths) - 1, 0) + data.draw(st.integers(0, 2))  # with those of other tensors
    assume(axes <= MOST_AXES)
    order = data.draw(st.sampled_from([(), tuple(data.draw(st.permutations(range(axes))))]))
    start = data.draw(st.integers(0, 1)) if lengths and lengths[-1] > 1 else 0
    if start:
        lengths = (prod(lengths) - start - data.draw(st.integers(0, 1)),)
        order = order if len(order) == middle.ndim else ()
    second = View(middle.shape[-1] if lengths else 0, lengths, order, start)
    both = first.then(second)
    if both is None:
        is_moved = bool(first.order) and first.order[-1] != len(first.order) - 1
        assert (lengths and is_moved) or (second.is_part and len(first.lengths) > 1)
    else:
        np.testing.assert_array_equal(seen(array, both), seen(middle, second))
        assert both.sizes(array.shape) == seen(middle, second).shape


LIBRARY_VIEWS = [
    View(order=(0, 2, 1, 3)),
    View(order=(2, 0, 1, 3)),
    View(12, (3, 4)),
    View(12, (3, 4), (0, 2, 1, 3)),
    View(12, (3, 2, 2), (2, 0, 3, 1, 4)),
    View(12, (5,), start=4),
    View(12, (3, 2), (0, 2, 1, 3), start=6),
]


def added(view: View, reduced: int = 0) -> Expression:
    """Two inputs under one view, and a plain third one, added; less their sum along the rows where that is wanted."""
    integer = ir.DataType.INT64
    values: list[Any] = [Input(integer, Access.COLUMNS, view), Input(integer, Access.COLUMNS, view)]
    values += [Input(integer, Access.COLUMNS), Operation("Add", (0, 1), integer), Operation("Add", (3, 2), integer)]
    if reduced:
        values += [Operation("ReduceSum", (4,), integer), Operation("Sub", (4, 5), integer)]
    return Expression(tuple(values), (Output(len(values) - 1, Access.COLUMNS),), reduced)


ADDED = [added(view, reduced) for view in LIBRARY_VIEWS for reduced in (0, 1, 2)]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("views") / "views.so"
    path.write_bytes(build_library(ADDED))
    return {expression.name: session(expression, [path]) for expression in ADDED}


@settings(max_examples=150, deadline=None)
@given(data=st.data(), expression=st.sampled_from(ADDED))
def test_any_broadcasting_of_what_is_seen_otherwise(
    data: st.DataObject, expression: Expression, sessions: dict[str, Any]
) -> None:
    """Also where a view leaves the reduced axes apart, which groups never ask of it."""
    view = expression.inputs[0].view
    rank = len(view.order) - max(len(view.lengths) - 1, 0) if view.order else 3
    sides = data.draw(st.lists(st.integers(0, 4), min_size=rank, max_size=rank))
    full = (*sides[:-1], 12 if view.lengths else sides[-1])

    def one(shape: tuple[int, ...]) -> tuple[int, ...]:
        shape = tuple(data.draw(st.sampled_from([side, 1])) for side in shape)
        return shape[data.draw(st.integers(0, len(shape))) :]

    first, second, third = full, one(full), one(seen(np.empty(full), view).shape)
    generator = np.random.default_rng(0)
    a, b, c = (generator.integers(-9, 9, shape) for shape in (first, second, third))
    total = seen(a, view) + seen(b, view) + c
    if expression.reduced:
        total = total - total.sum(tuple(range(-expression.reduced, 0)), keepdims=True)
    np.testing.assert_array_equal(run(sessions[expression.name], a, b, c)[0], total)


def test_a_tensor_of_another_shape_is_refused_by_name(sessions: dict[str, Any]) -> None:
    expression = added(View(12, (3, 4), (0, 2, 1, 3)))
    whole, scalar = np.zeros((2, 5, 12), np.int64), np.zeros((), np.int64)
    for wrong, shape in (
        (np.zeros((2, 5, 8), np.int64), r"\[2,5,8\]"),
        (np.zeros((1, 2, 5, 12), np.int64), r"\[1,2,5,12\]"),
    ):
        with pytest.raises(Exception, match=rf"{expression.name}: input 1 has the shape {shape}, for which"):
            run(sessions[expression.name], whole, wrong, scalar)


def test_kernels_for_gpus_find_the_elements_by_the_layout_alone() -> None:
    plain = Expression((Input(FLOAT, Access.COLUMNS), Operation("Exp", (0,), FLOAT)), (Output(1, Access.COLUMNS),))
    moved = Expression(
        (Input(FLOAT, Access.COLUMNS, View(order=(0, 2, 1, 3))), Operation("Exp", (0,), FLOAT)),
        (Output(1, Access.COLUMNS),),
    )
    assert plain.name != moved.name
    assert gpu_module([plain]).replace(plain.name, moved.name) == gpu_module([moved])


# ---- In models


def test_the_bias_and_the_way_to_heads_are_one_kernel() -> None:
    text = """(float[B,S,32] x) => (float[B,4,S,8] y) {
        a = Add(x, bias) r = Reshape(a, shape) t = Transpose<perm = [0, 2, 1, 3]>(r) y = Mul(t, half)
    }"""
    weights: dict[str, Any] = {"bias": np.arange(32, dtype=np.float32), "shape": HEADS, "half": np.float32(0.5)}
    assert operators(text, **weights) == [["Add", "Reshape", "Transpose", "Mul"]]
    assert len(check(text, **weights)) == 1


def test_the_way_back_from_heads_is_a_kernel_by_itself() -> None:
    text = """(float[B,4,S,8] x) => (float[B,S,32] y) {
        t = Transpose<perm = [0, 2, 1, 3]>(x) y = Reshape(t, shape)
    }"""
    kernel, reshape = check(text, shape=np.array([0, 0, 32]))
    assert kernel.startswith("Fused_")
    assert reshape == "Reshape"


def test_sizes_that_a_run_computes_are_certain_where_they_are_those_of_the_input() -> None:
    text = """(float[B,S,32] x) => (float[B,4,S,8] y) {
        s = Shape<start = 0, end = 2>(x) shape = Concat<axis = 0>(s, heads) r = Reshape(x, shape)
        y = Transpose<perm = [0, 2, 1, 3]>(r)
    }"""
    assert operators(text, heads=np.array([4, 8])) == [["Reshape", "Transpose"]]
    check(text, heads=np.array([4, 8]))


def test_three_heads_at_once() -> None:
    text = """(float[B,S,96] x) => (float[3,B,4,S,8] y) {
        r = Reshape(x, shape) y = Transpose<perm = [2, 0, 3, 1, 4]>(r)
    }"""
    assert len(check(text, shape=np.array([0, 0, 3, 4, 8]))) == 1


def test_a_residual_in_the_order_of_the_result() -> None:
    text = """(float[B,S,32] x, float[B,4,S,8] v, float[S,1] w) => (float[B,4,S,8] y) {
        a = Mul(x, w) r = Reshape(a, shape) t = Transpose<perm = [0, 2, 1, 3]>(r) y = Add(t, v)
    }"""
    assert len(check(text, shape=HEADS)) == 1


def test_a_softmax_behind_a_transpose_and_one_before() -> None:
    text = "(float[B,S,4,8] x) => (float[B,4,S,8] y) { t = Transpose<perm = [0, 2, 1, 3]>(x) y = Softmax(t) }"
    assert len(check(text)) == 1
    text = "(float[B,S,4,8] x) => (float[B,4,S,8] y) { s = Softmax(x) y = Transpose<perm = [0, 2, 1, 3]>(s) }"
    assert len(check(text)) == 1


@pytest.mark.parametrize("keepdims", [0, 1])
def test_what_a_reduction_leaves_in_another_order(keepdims: int) -> None:
    """Without the reduced axes, the axes of the order are others than those of what was reduced."""
    perm = "[0, 2, 1, 3]" if keepdims else "[1, 0, 2]"
    result = "float[B,4,S,1]" if keepdims else "float[4,B,S]"
    source = "float[B,S,4,8]" if keepdims else "float[B,4,S,8]"
    text = f"""({source} x) => ({result} y) {{
        e = Exp(x) s = ReduceMean<axes = [-1], keepdims = {keepdims}>(e) y = Transpose<perm = {perm}>(s)
    }}"""
    check(text, sites=1 if keepdims else 2, dynamic=(3, 1))  # of no rows ONNX Runtime keeps the axis all the same


def test_a_reduction_over_what_is_split_is_not_seen_otherwise() -> None:
    text = """(float[B,S,32] x) => (float[B,4,S,8] y) {
        e = Exp(x) n = Softmax(e) r = Reshape(n, shape) y = Transpose<perm = [0, 2, 1, 3]>(r)
    }"""
    assert operators(text, shape=HEADS) == [["Exp", "Softmax"], ["Reshape", "Transpose"]]
    check(text, shape=HEADS, sites=2)


def test_reduced_axes_that_a_view_moves_are_no_row() -> None:
    text = """(float[2,3,4,8] x) => (float[4,2,1,1] y) {
        e = Exp(x) t = Transpose<perm = [2, 0, 1, 3]>(e) s = ReduceSum<keepdims = 1>(t, axes) y = Tanh(s)
    }"""
    weights: dict[str, Any] = {"axes": np.array([-2, -1])}
    assert [sorted(group) for group in operators(text, **weights)] == [["Exp", "Transpose"], ["ReduceSum", "Tanh"]]
    check(text, sites=2, **weights)


def test_what_others_need_in_the_old_order_is_not_lost() -> None:
    text = """(float[B,S,32] x) => (float[B,S,32] a, float[B,4,S,8] y) {
        a = Exp(x) r = Reshape(a, shape) t = Transpose<perm = [0, 2, 1, 3]>(r) y = Tanh(t)
    }"""
    assert operators(text, shape=HEADS) == [["Reshape", "Transpose", "Tanh"]]
    check(text, shape=HEADS)
    text = """(float[B,S,4,8] x) => (float[B,S,4,8] a, float[B,4,S,8] y) {
        a = Exp(x) t = Transpose<perm = [0, 2, 1, 3]>(a) y = Tanh(t)
    }"""
    assert operators(text) == [["Transpose", "Tanh"]]
    check(text)


def test_a_reshape_that_others_read_too_stays_where_it_costs_nothing() -> None:
    text = """(float[4,32] x) => (float[4,4,8] r, float[4,4,8] y) {
        r = Reshape(x, shape) y = Transpose<perm = [1, 0, 2]>(r)
    }"""
    assert operators(text, shape=np.array([4, 4, 8])) == [["Transpose"]]
    check(text, shape=np.array([4, 4, 8]))


def test_a_value_met_in_both_orders() -> None:
    """A square: the shapes agree, the elements do not."""
    text = "(float[4,4,8] x) => (float[4,4,8] y) { e = Exp(x) t = Transpose<perm = [1, 0, 2]>(e) y = Add(e, t) }"
    assert len(check(text)) == 1
    check(text.replace("(float[4,4,8] y)", "(float[4,4,8] y, float[4,4,8] e)"))


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        (
            """(float[B,S,9] x, float[B,S,8] v) => (float[B,4,S,2] y) {
                p, q = Split<axis = -1>(x, sizes) e = Mul(q, v) r = Reshape(e, shape)
                y = Transpose<perm = [0, 2, 1, 3]>(r)
            }""",
            {"sizes": np.array([8, 1]), "shape": np.array([0, 0, 4, 2])},
        ),
        (
            """(float[B,S,9] x, float[B,S,8] v) => (float[B,S,3] y) {
                q = Slice(x, eight, nine, axes) e = Mul(q, v) y = Slice(e, three, six, axes)
            }""",
            {"three": np.array([3]), "six": np.array([6]), "eight": np.array([8]), "nine": np.array([9])}
            | {"axes": np.array([2])},
        ),
        (
            """(float[B,S,12] x, float[B,12,S,8] v) => (float[B,S,12,4,2] y) {
                c = Reshape(x, columns) t = Transpose<perm = [0, 2, 1, 3]>(c) e = Mul(t, v) r = Reshape(e, shape)
                y = Transpose<perm = [0, 2, 1, 3, 4]>(r)
            }""",
            {"columns": np.array([0, 0, 12, 1]), "shape": np.array([0, 0, 0, 4, 2])},
        ),
    ],
)
def test_one_element_that_is_broadcast_before_its_axis_is_split(text: str, weights: dict[str, Any]) -> None:
    """All pieces show that one element, not what lies beside it."""
    assert len(check(text, **weights)) == 1


def test_an_axis_more_of_another_tensor_between_two_orders() -> None:
    text = """(float[B,S,4,8] x, float[1,1,1,1,8] w) => (float[4,B,1,S,8] y) {
        t = Transpose<perm = [0, 2, 1, 3]>(x) a = Add(t, w) y = Transpose<perm = [2, 1, 0, 3, 4]>(a)
    }"""
    assert len(check(text)) == 1


def test_parts_of_the_last_axis_are_read_where_they_lie() -> None:
    glu = "(float[B,S,64] x) => (float[B,S,32] y) { a, b = Split<axis = -1>(x) s = Sigmoid(b) y = Mul(a, s) }"
    assert len(check(glu)) == 1
    sliced = """(float[B,S,64] x) => (float[B,S,32] y) {
        a = Slice(x, zero, half, axis) b = Slice(x, half, end, axis) s = Sigmoid(b) y = Mul(a, s)
    }"""
    places: dict[str, Any] = {"zero": [0], "half": [32], "end": [2**63 - 1], "axis": [-1]}
    places = {name: np.array(place) for name, place in places.items()}
    assert len(check(sliced, **places)) == 1


def test_slices_that_take_other_elements() -> None:
    text = """(float[B,S,64] x, float[B,S,16] v) => (float[B,S,16] y) {
        a = Slice(x, start, end, axis, step) t = Tanh(a) y = Mul(t, v)
    }"""

    def sites(start: int, end: int, axis: int, step: int) -> list[list[str]]:
        places = {"start": start, "end": end, "axis": axis, "step": step}
        weights: dict[str, Any] = {name: np.array([place]) for name, place in places.items()}
        check(text, **weights)
        return operators(text, **weights)

    assert sites(-20, -4, 2, 1) == [["Slice", "Tanh", "Mul"]]
    assert sites(-99, 16, 2, 1) == [["Slice", "Tanh", "Mul"]]
    assert sites(0, 64, 2, 4) == [["Tanh", "Mul"]]
    assert sites(15, -65, -1, -1) == [["Tanh", "Mul"]]


def test_the_bias_of_three_products_at_once_on_the_way_to_heads() -> None:
    text = """(float[B,S,96] x) => (float[B,4,S,8] q, float[B,4,S,8] k, float[B,4,S,8] v) {
        a = Add(x, bias) a0, a1, a2 = Split<axis = 2>(a, thirds)
        r0 = Reshape(a0, shape) r1 = Reshape(a1, shape) r2 = Reshape(a2, shape)
        t0 = Transpose<perm = [0, 2, 1, 3]>(r0) k = Transpose<perm = [0, 2, 1, 3]>(r1)
        v = Transpose<perm = [0, 2, 1, 3]>(r2) q = Mul(t0, half)
    }"""
    weights: dict[str, Any] = {
        "bias": np.arange(96, dtype=np.float32),
        "thirds": np.array([32, 32, 32]),
        "half": np.float32(0.5),
    }
    assert len(check(text, shape=HEADS, **weights)) == 1


def test_pieces_of_two_sizes_are_two_kernels() -> None:
    text = """(float[B,S,96] x) => (float[B,S,64] y, float[B,S,32] z) {
        a, b = Split<axis = -1>(x, parts) c = Exp(a) y = Tanh(c) d = Sin(b) z = Cos(d)
    }"""
    check(text, parts=np.array([64, 32]), sites=2)


def test_a_softmax_of_a_part() -> None:
    text = "(float[B,S,64] x) => (float[B,S,32] y) { a, b = Split<axis = -1>(x) s = Softmax(b) y = Mul(a, s) }"
    assert len(check(text)) == 1


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        # A copy that nothing else shares, and parts of other axes.
        ("(float[B,S,64] x) => (float[B,S,32] a, float[B,S,32] b) { a, b = Split<axis = -1>(x) }", {}),
        (
            "(float[B,64,S] x) => (float[B,32,S] y) { a, b = Split<axis = 1>(x) y = MatMul(a, w) z = Relu(b) }",
            {"w": np.ones((8, 8), np.float32)},
        ),
        # Rows would be columns.
        ("(float[B,S,32] x) => (float[B,32,S] y) { y = Transpose<perm = [0, 2, 1]>(x) }", {}),
        ("(float[B,S,32] x) => (float[32,S,B] y) { y = Transpose(x) }", {}),
        # Nothing moves, or only once.
        ("(float[B,S,32] x) => (float[B,S,32] y) { y = Transpose<perm = [0, 1, 2]>(x) }", {}),
        (
            "(float[B,S,32] x) => (float[B,S,8] y) { t = Transpose<perm = [1, 0, 2]>(w) y = MatMul(x, t) }",
            {"w": np.ones((32, 1, 8), np.float32)},
        ),
        # No memory is moved by a Reshape.
        ("(float[B,S,32] x) => (float[B,S,4,8] y) { y = Reshape(x, shape) }", {"shape": HEADS}),
    ],
)
def test_what_kernels_leave_alone(text: str, weights: dict[str, Any]) -> None:
    assert operators(text, **weights) == []


def test_a_reshape_that_may_mix_axes_is_not_looked_through() -> None:
    text = """(float[B,S,32] x) => (float[S2,4,B2,8] y) {
        r = Reshape(x, shape) y = Transpose<perm = [0, 2, 1, 3]>(r)
    }"""
    assert operators(text, shape=np.array([-1, 2, 4, 8])) == [["Transpose"]]
    text = "(float[B,6,32] x) => (float[B,4,6,8] y) { r = Reshape(x, shape) y = Transpose<perm = [0, 2, 1, 3]>(r) }"
    assert operators(text, shape=np.array([-1, 6, 4, 8])) == [["Reshape", "Transpose"]]
    check(text, shape=np.array([-1, 6, 4, 8]))

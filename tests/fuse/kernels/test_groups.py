"""Which nodes form a group: what must not be taken together, and what saves nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from advisor.fuse.compose import compose
from advisor.fuse.kernels.expression import Access
from advisor.fuse.kernels.generated import GENERATED, groups_of
from advisor.fuse.rules.conv_activation import CONV_ACTIVATION
from tests.fuse.graphs import CPU, model

SCALARS = {"half": np.float32(0.5), "one": np.float32(1.0), "two": np.float32(2.0)}
ROW = "float[N,768] x"


def found(text: str, **options: Any) -> list[list[str]]:
    """The operators of each group."""
    weights = {name: value for name, value in SCALARS.items() if f" {name}" in text}
    subject = model(text, **(weights | options))
    return [[node.op_type for node in group.nodes] for group, _ in groups_of(subject)]


def test_a_chain_is_one_group_with_its_numbers_inside() -> None:
    subject = model(f"({ROW}) => (float[N,768] y) {{ a = Mul(x, half) b = Tanh(a) y = Add(b, one) }}", **SCALARS)
    ((group, _),) = groups_of(subject)
    assert [value.name for value in group.inputs] == ["x"]
    assert [value.name for value in group.outputs] == ["y"]
    assert group.expression.inputs[0].access is Access.COLUMNS


def test_a_value_that_something_else_needs_is_written_too() -> None:
    text = f"({ROW}) => (float[N,768] y, float[768,N] z) {{ a = Exp(x) y = Tanh(a) z = Transpose(a) }}"
    subject = model(text)
    ((group, _),) = groups_of(subject)
    assert [value.name for value in group.outputs] == ["a", "y"]


def test_a_graph_output_inside_is_written_too() -> None:
    subject = model(f"({ROW}) => (float[N,768] a, float[N,768] y) {{ a = Exp(x) y = Tanh(a) }}")
    ((group, _),) = groups_of(subject)
    assert [value.name for value in group.outputs] == ["a", "y"]


def test_a_value_that_a_body_captures_is_written_too() -> None:
    text = f"""({ROW}, bool c) => (float[N,768] y, float[N,768] z) {{
        a = Exp(x)
        y = Tanh(a)
        z = If (c) <then_branch = g () => (float[N,768] t) {{ t = Identity(a) }},
                    else_branch = h () => (float[N,768] e) {{ e = Identity(x) }}>
    }}"""
    ((group, _),) = groups_of(model(text))
    assert [value.name for value in group.outputs] == ["a", "y"]


def test_no_way_leads_out_of_a_group_and_back() -> None:
    text = f"""({ROW}) => (float[N,768] y) {{
        a = Exp(x) b = Tanh(a) p = MatMul(b, w) q = Add(p, a) y = Sigmoid(q)
    }}"""
    assert found(text, w=np.ones((768, 768), np.float32)) == [["Exp", "Tanh"], ["Add", "Sigmoid"]]


def test_a_body_between_two_nodes_keeps_them_apart() -> None:
    text = f"""({ROW}, bool c) => (float[N,768] y) {{
        a = Exp(x)
        z = If (c) <then_branch = g () => (float[N,768] t) {{ t = Transpose(a) }},
                    else_branch = h () => (float[N,768] e) {{ e = Identity(x) }}>
        y = Add(a, z)
    }}"""
    assert found(text) == []


def test_two_groups_that_need_each_other_are_not_both_formed() -> None:
    # Each alone is convex; as one node each they would be a cycle.
    text = f"""({ROW}, float[N,768] v) => (float[N,768] y, float[N,768] z) {{
        a = Exp(x) p = MatMul(a, w)
        c = Exp(v) q = MatMul(c, w)
        d = Tanh(q) y = Mul(a, d)
        e = Tanh(p) z = Mul(c, e)
    }}"""
    groups = found(text, w=np.ones((768, 768), np.float32))
    assert sum(map(len, groups)) < 6
    assert groups


@pytest.mark.parametrize("activation", ["Relu", "Sigmoid", "LeakyRelu"])
def test_a_convolutions_own_activation_is_left_to_it(activation: str) -> None:
    text = f"""(float[1,8,32,32] x) => (float[1,8,32,32] y) {{
        a = Conv(x, w) b = {activation}(a) c = Mul(b, half) y = Tanh(c)
    }}"""
    assert found(text, w=np.ones((8, 8, 1, 1), np.float32)) == [["Mul", "Tanh"]]


def test_a_gemms_own_activation_and_bias_are_left_to_it() -> None:
    weight = np.ones((768, 768), np.float32)
    text = f"({ROW}) => (float[N,768] y) {{ a = Gemm(x, w) b = Relu(a) c = Mul(b, half) y = Tanh(c) }}"
    assert found(text, w=weight) == [["Mul", "Tanh"]]
    text = f"({ROW}) => (float[N,768] y) {{ a = MatMul(x, w) b = Add(a, v) c = Mul(b, half) y = Tanh(c) }}"
    assert found(text, w=weight, v=np.ones(768, np.float32)) == [["Mul", "Tanh"]]


def test_what_lies_beside_quantisation_is_left_to_it() -> None:
    text = """(uint8[4,768] q) => (uint8[4,768] y) {
        x = DequantizeLinear(q, s, z) a = Sigmoid(x) b = Mul(a, x) y = QuantizeLinear(b, s, z)
    }"""
    assert found(text, s=np.float32(0.1), z=np.uint8(0)) == []


def test_small_tensors_and_sizes_are_left_alone() -> None:
    assert found("(float[4] x) => (float[4] y) { a = Exp(x) y = Tanh(a) }") == []
    assert found("(int64[N] x) => (int64[N] y) { a = Add(x, x) y = Mul(a, x) }") == []


def test_what_is_computed_once_for_all_rows_stays_outside() -> None:
    text = "(float[64,128,768] x, float[768] b) => (float[64,128,768] y) { a = Exp(b) c = Mul(x, a) y = Tanh(c) }"
    assert found(text) == [["Mul", "Tanh"]]


def test_one_value_for_each_channel_is_computed_inside() -> None:
    text = """(float[2,64,32,32] x, float[2,64,1,1] s) => (float[2,64,32,32] y) {
        a = HardSigmoid(s) b = Mul(x, a) y = Tanh(b)
    }"""
    subject = model(text)
    ((group, _),) = groups_of(subject)
    assert len(group.nodes) == 3
    accesses = {value.name: tensor.access for value, tensor in zip(group.inputs, group.expression.inputs, strict=True)}
    assert accesses == {"s": Access.ROW, "x": Access.COLUMNS}


def test_a_sum_beside_a_tensor_that_may_be_longer_is_not_fused() -> None:
    # Where x is [N, 1] at run time, its sum is one element, and would be 768 equal ones in a kernel.
    text = """(float[N,M] x, float[4,768] b) => (float[N,768] y) {
        s = ReduceSum<keepdims: int = 1>(x, axes) t = Exp(s) y = Mul(b, t)
    }"""
    assert found(text, axes=np.array([-1], np.int64)) == [["ReduceSum", "Exp"]]
    text = text.replace("float[N,M] x", "float[4,768] x")
    assert found(text, axes=np.array([-1], np.int64)) == [["ReduceSum", "Exp", "Mul"]]


@pytest.mark.parametrize(("keepdims", "stay"), [(1, True), (0, False)])
def test_a_sum_of_a_tensor_of_unknown_rank_is_one_number_for_a_row(keepdims: int, stay: bool) -> None:
    text = f"""(float[N] x, int64[R] t) => (float[M] y) {{
        r = Reshape(x, t) a = Tanh(r) y = ReduceSum<keepdims: int = {keepdims}>(a, axes)
    }}"""
    ((group, _),) = groups_of(model(text, axes=np.array([-1, -2], np.int64)))
    (output,) = group.expression.outputs
    assert (output.access, output.keepdims) == (Access.ROW, stay)


def test_an_output_that_may_be_shorter_is_not_fused() -> None:
    text = "(float[N,M] x, float[4,768] b) => (float[N,M] a, float[N,768] y) { a = Exp(x) c = Tanh(a) y = Mul(b, c) }"
    assert found(text) == [["Exp", "Tanh"]]


def test_a_number_of_higher_rank_stays_an_input() -> None:
    text = f"({ROW}) => (float[1,N,768] y) {{ a = Mul(x, k) y = Tanh(a) }}"
    subject = model(text, k=np.full((1, 1, 1), 2, np.float32))
    ((group, _),) = groups_of(subject)
    assert {value.name for value in group.inputs} == {"x", "k"}


def test_a_number_that_a_caller_may_replace_stays_an_input() -> None:
    text = f"({ROW}, float k) => (float[N,768] y) {{ a = Mul(x, k) y = Tanh(a) }}"
    subject = model(text, k=np.float32(2))
    ((group, _),) = groups_of(subject)
    assert {value.name for value in group.inputs} == {"x", "k"}


def test_reductions_over_different_axes_are_not_one_kernel() -> None:
    text = """(float[4,32,32] x) => (float[4,32,32] y) {
        a = Softmax<axis: int = -1>(x) b = ReduceMean<axes: ints = [1, 2]>(a) y = Sub(a, b)
    }"""
    assert ["Softmax", "ReduceMean", "Sub"] not in found(text, opset=13)


def test_many_inputs_end_a_group() -> None:
    names = [f"i{number}" for number in range(24)]
    arguments = ", ".join(f"float[4,768] {name}" for name in names)
    steps = " ".join(f"s{n} = Add({f's{n - 1}' if n > 1 else 'i0'}, {names[n]})" for n in range(1, 24))
    groups = [group for group, _ in groups_of(model(f"({arguments}) => (float[4,768] s23) {{ {steps} }}"))]
    assert len(groups) == 2
    assert all(len(group.inputs) + len(group.outputs) <= 16 for group in groups)


def test_a_group_behind_a_fused_operator_is_the_one_that_it_was_before() -> None:
    # ONNX's shape inference does not know FusedConv, and the model says nothing of what lies between.
    text = "(float[N,3,8,8] x) => (float[M] y) { c = Conv(x, w) r = Relu(c) a = Exp(r) b = Tanh(a) y = Transpose(b) }"
    subject = model(text, w=np.ones((4, 3, 1, 1), np.float32))
    sites = [
        [site for site in compose(subject, (*rules, GENERATED), provider=CPU).sites if site.rule == GENERATED.id]
        for rules in ((), (CONV_ACTIVATION,))
    ]
    assert [len(found) for found in sites] == [1, 1]
    assert sites[0][0].group == sites[1][0].group
    assert "[?, 4, 8, 8]" in sites[0][0].group


def test_the_same_model_gives_the_same_groups() -> None:
    text = f"({ROW}) => (float[N,768] y) {{ a = Mul(x, half) b = Tanh(a) y = Add(b, one) }}"
    names = [[group.expression.name for group, _ in groups_of(model(text, **SCALARS))] for _ in range(2)]
    assert names[0] == names[1]


def test_a_long_chain_of_costly_functions_is_cut() -> None:
    steps = " ".join(f"s{n} = Tanh({f's{n - 1}' if n > 1 else 'x'})" for n in range(1, 9))
    groups = found(f"({ROW}) => (float[N,768] s8) {{ {steps} }}")
    assert [len(group) for group in groups] == [3, 3, 2]

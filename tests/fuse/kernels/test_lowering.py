"""Every operator's formula computes what ONNX Runtime computes: judged in NumPy, without any generated code."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from advisor.fuse.kernels.flow import Flow
from advisor.fuse.kernels.formula import NotExpressible
from advisor.fuse.kernels.groups import Group, express
from advisor.fuse.kernels.lowering import LOWERINGS
from advisor.fuse.scope import Facts, Scope
from tests.fuse.graphs import CPU, model, session
from tests.fuse.kernels.interpreter import compute

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1e-30, 88.0, -88.0, 1e30, 2.5, -2.5, 3.0]
FLOAT = "float[3,16] x"
PAIR = "float[3,16] x, float[3,16] b"
BOOLS = "bool[3,16] x, bool[3,16] b"
LONGS = "int64[3,16] x, int64[3,16] b"

# fmt: off
UNARY = (
    "Abs", "Ceil", "Celu", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Neg",
    "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Tanh",
    "ThresholdedRelu",
)
# fmt: on
# The arguments, the node, the type of the result, and the opset where it is not 17.
CASES: dict[str, tuple[Any, ...]] = {
    **{op_type: (FLOAT, f"{op_type}(x)", "float") for op_type in UNARY},
    **{
        op_type: (PAIR, f"{op_type}(x, b)", "float")
        for op_type in ["Add", "Div", "Max", "Min", "Mul", "Pow", "PRelu", "Sub", "Sum", "Mean"]
    },
    **{
        f"{op_type} of floats": (PAIR, f"{op_type}(x, b)", "bool")
        for op_type in ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"]
    },
    **{op_type: (BOOLS, f"{op_type}(x, b)", "bool") for op_type in ("And", "Or", "Xor", "Equal")},
    **{
        f"{op_type} of integers": (LONGS, f"{op_type}(x, b)", "int64")
        for op_type in ("Add", "Div", "Max", "Min", "Mod", "Mul", "Sub")
    },
    "Max of three": ("float[3,16] x, float[3,16] b, float[16] c", "Max(x, b, c)", "float"),
    "Not": ("bool[3,16] x", "Not(x)", "bool"),
    "IsNaN": (FLOAT, "IsNaN(x)", "bool"),
    "IsInf": (FLOAT, "IsInf(x)", "bool"),
    "IsInf positive": (FLOAT, "IsInf<detect_negative: int = 0>(x)", "bool"),
    "fmod": (PAIR, "Mod<fmod: int = 1>(x, b)", "float"),
    "fmod of integers": (LONGS, "Mod<fmod: int = 1>(x, b)", "int64"),
    "Where": ("bool[3,16] x, float[3,16] b, float[16] c", "Where(x, b, c)", "float"),
    "Cast to long": ("float[3,16] small", "Cast<to: int = 7>(small)", "int64"),
    "Cast to bool": (FLOAT, "Cast<to: int = 9>(x)", "bool"),
    "Cast to half": ("float[3,16] small", "Cast<to: int = 10>(small)", "float16"),
    "Cast of bool": ("bool[3,16] x", "Cast<to: int = 1>(x)", "float"),
    "Clip": (FLOAT, "Clip(x, lo, hi)", "float"),
    "Clip crossed": (FLOAT, "Clip(x, hi, lo)", "float"),
    "Clip below": (FLOAT, "Clip(x, lo)", "float"),
    "Clip above": (FLOAT, "Clip(x, , hi)", "float"),
    "Clip by tensors": ("float[3,16] x, float m, float n", "Clip(x, m, n)", "float"),
    "Clip of opset 6": (FLOAT, "Clip<min: float = -1.0>(x)", "float", 10),
    "Elu 2": (FLOAT, "Elu<alpha: float = 2.0>(x)", "float"),
    "Celu 2": (FLOAT, "Celu<alpha: float = 2.0>(x)", "float"),
    "Shrink 1": (FLOAT, "Shrink<bias: float = 1.0, lambd: float = 1.5>(x)", "float"),
    **{
        f"Pow {name}": (FLOAT, f"Pow(x, {name})", "float")
        for name in ["half", "minus_half", "minus_one", "two", "three", "four"]
    },
    "Pow to integer": (FLOAT, "Pow(x, long_three)", "float"),
    "Square of integers": ("int64[3,16] x", "Pow(x, long_two)", "int64"),
    "Gelu": (FLOAT, "Gelu(x)", "float", 20),
    "Gelu by tanh": (FLOAT, 'Gelu<approximate: string = "tanh">(x)', "float", 20),
    "Mish": (FLOAT, "Mish(x)", "float", 18),
    "QuickGelu": (FLOAT, "com.microsoft.QuickGelu(x)", "float"),
    "FastGelu": ("float[3,16] x, float[16] b", "com.microsoft.FastGelu(x, b)", "float"),
    "FastGelu alone": (FLOAT, "com.microsoft.FastGelu(x)", "float"),
    "BiasGelu": ("float[3,16] x, float[16] b", "com.microsoft.BiasGelu(x, b)", "float"),
    "Gelu of the runtime": (FLOAT, "com.microsoft.Gelu(x)", "float"),
    **{
        f"{op_type} {form}": ("float[2,3,16] x", f"{op_type}<{attributes}>(x)", "float", 13)
        for op_type in ["ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSumSquare"]
        for form, attributes in {
            "last": "axes: ints = [-1]",
            "last two": "axes: ints = [1, 2]",
            "squeezed": "axes: ints = [2], keepdims: int = 0",
            "all": "keepdims: int = 1",
        }.items()
    },
    "ReduceSum": ("float[2,3,16] x", "ReduceSum(x, last)", "float"),
    "ReduceSum of integers": ("int64[2,3,16] x", "ReduceSum(x, last)", "int64"),
    "ReduceMean by input": ("float[2,3,16] x", "ReduceMean(x, last)", "float", 18),
    "Softmax": (FLOAT, "Softmax(x)", "float"),
    "Softmax of opset 11": ("float[2,3,16] x", "Softmax<axis: int = 1>(x)", "float", 11),
    "LogSoftmax": (FLOAT, "LogSoftmax<axis: int = 1>(x)", "float"),
    "LayerNormalization": (
        "float[3,16] x, float[16] b, float[16] c",
        "LayerNormalization<epsilon: float = 0.01>(x, b, c)",
        "float",
    ),
    "LayerNormalization without bias": ("float[3,16] x, float[16] b", "LayerNormalization(x, b)", "float"),
    "LayerNormalization over two": (
        "float[2,3,16] x, float[3,16] b",
        "LayerNormalization<axis: int = 1>(x, b)",
        "float",
    ),
    "RMSNormalization": ("float[3,16] x, float[16] b", "RMSNormalization(x, b)", "float", 23),
    "SimplifiedLayerNormalization": (
        "float[3,16] x, float[16] b",
        "SimplifiedLayerNormalization<axis: int = -1, epsilon: float = 0.01, stash_type: int = 1>(x, b)",
        "float",
    ),
    "Swish": (FLOAT, "Swish<alpha: float = 0.7>(x)", "float", 24),
}
NOT_IN_THIS_RUNTIME = {"Swish"}
LOOSE = {"Softplus", "Mish"}
"""ONNX Runtime's own are off by more than rounding for large negative numbers."""
CONSTANTS: dict[str, Any] = {
    "lo": np.float32(-0.75),
    "hi": np.float32(1.25),
    "half": np.float32(0.5),
    "minus_half": np.float32(-0.5),
    "minus_one": np.float32(-1.0),
    "two": np.float32(2.0),
    "three": np.float32(3.0),
    "four": np.float32(4.0),
    "long_two": np.int64(2),
    "long_three": np.int64(3),
    "last": np.array([-1], np.int64),
}


def whole(subject: ir.Model) -> Group:
    """All nodes of a model as one kernel."""
    scope = Scope(subject.graph, subject, CPU, Facts(subject))
    return express(list(subject.graph), scope, Flow(subject.graph))


def inputs_of(subject: ir.Model, seed: int = 0) -> dict[str, Any]:
    """Random values, the special ones among them; small ones for an input called `small`."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, Any] = {}
    for value in subject.graph.inputs:
        assert value.shape is not None
        assert value.dtype is not None
        shape = value.shape.numpy()
        if value.dtype is ir.DataType.BOOL:
            array = rng.integers(0, 2, shape).astype(bool)
        elif value.dtype is ir.DataType.INT64:
            array = rng.choice([-7, -3, -2, -1, 1, 2, 3, 5], shape)
        else:
            array = np.asarray(rng.standard_normal(shape) * 2, np.float32)
            if value.name == "x" and array.size > len(SPECIAL):
                array.flat[: len(SPECIAL)] = SPECIAL
        arrays[value.name or ""] = array
    return arrays


def built(name: str) -> ir.Model:
    arguments, node, result, *opset = CASES[name]
    names = node.replace(",", " ").replace("(", " ").replace(")", " ").split()
    weights = {key: np.asarray(value) for key, value in CONSTANTS.items() if key in names}
    shape = "" if "Reduce" in name else "[3,16]" if "[2,3" not in arguments else "[2,3,16]"
    text = f"({arguments}) => ({result}{shape or '[a]'} y) {{ y = {node} }}"
    subject = model(text, opset=opset[0] if opset else 17, ir_version=10, **weights)
    if not shape:
        subject.graph.outputs[0].shape = None
    return subject


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_formula_computes_what_onnx_runtime_computes(name: str) -> None:
    subject = built(name)
    group = whole(subject)
    feed = inputs_of(subject)
    if name == "Pow":
        feed["b"] = np.round(feed["b"])
    if name.startswith(("ReduceMax", "ReduceMin")):  # what they make of NaN, ONNX leaves open
        feed["x"] = np.nan_to_num(feed["x"], nan=1.0, posinf=np.inf, neginf=-np.inf)
    try:
        (expected,) = session(subject).run(None, feed)
    except Exception:
        if name in NOT_IN_THIS_RUNTIME:
            pytest.skip(f"this ONNX Runtime has no {name}")
        raise
    (actual,) = compute(group.expression, [feed[value.name or ""] for value in group.inputs])
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    if expected.dtype.kind == "f":
        tolerance = 1e-3 if expected.dtype.itemsize == 2 else 3e-5 if name in LOOSE else 4e-6
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(actual, expected)


def test_every_operator_is_tested() -> None:
    tested = {node.op_type for name in CASES for node in built(name).graph}
    skipping = {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}
    assert {op_type for _, op_type in LOWERINGS} - tested - skipping == set()


@pytest.mark.parametrize("op_type", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
@pytest.mark.parametrize("has_bias", [False, True])
def test_skip_normalisations_also_give_the_sum(op_type: str, has_bias: bool) -> None:
    is_layer = op_type == "SkipLayerNormalization"
    weights = ["w", *(["c"] if is_layer else []), *(["d"] if has_bias else [])]
    if is_layer and has_bias:
        weights = ["w", "c", "d"]
    arguments = ", ".join(f"float[16] {name}" for name in weights)
    subject = model(
        f"(float[1,3,16] x, float[1,3,16] b, {arguments}) => (float[1,3,16] y, float[1,3,16] s)"
        f" {{ y, , , s = com.microsoft.{op_type}<epsilon: float = 0.001>(x, b, {', '.join(weights)}) }}"
    )
    group = whole(subject)
    feed = inputs_of(subject) | {"x": np.random.default_rng(5).standard_normal((1, 3, 16)).astype(np.float32)}
    actual = compute(group.expression, [feed[value.name or ""] for value in group.inputs])
    for ours, theirs in zip(actual, session(subject).run(None, feed), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    ("text", "opset", "words"),
    [
        ("(float[3,4] x) => (float[1,4] y) { y = ReduceSum(x, first) }", 17, "only the last axes"),
        ("(float[3,4] x) => (float[3,4] y) { y = Softmax<axis: int = 0>(x) }", 17, "only the last axes"),
        ("(float[3,4] x, int64[1] a) => (float[3,1] y) { y = ReduceSum(x, a) }", 17, "at run time only"),
        ("(uint8[3,4] x) => (float[3,4] y) { y = Cast<to: int = 1>(x) }", 17, "uint8"),
        ("(float[3,4] x) => (uint8[3,4] y) { y = Cast<to: int = 2>(x) }", 17, "uint8"),
        ("(float[3,4] x, float[3,4] b) => (float[3,4] y) { y = Add(x, b) }", 6, "too old"),
        ("(int32[3,4] x, int32[3,4] b) => (int32[3,4] y) { y = Pow(x, b) }", 17, "powers of integers"),
        ("(float[3,4] x) => (float[3,4] y, float[3,1] m) { y, m = LayerNormalization(x, w) }", 17, "'m'"),
        ("(float[3,4] x) => (float[4,3] y) { y = Transpose(x) }", 17, "no kernel computes Transpose"),
    ],
)
def test_what_kernels_do_not_compute_is_refused(text: str, opset: int, words: str) -> None:
    weights = {"first": np.array([0], np.int64), "w": np.ones(4, np.float32)}
    subject = model(text, opset=opset, **{name: value for name, value in weights.items() if f"{name})" in text})
    with pytest.raises(NotExpressible, match=words):
        whole(subject)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_broadcasting_has_the_shape_that_onnx_says(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    full = data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    shapes = []
    for _ in range(3):
        kept = data.draw(st.integers(0, rank))
        shapes.append([data.draw(st.sampled_from([1, dim])) for dim in full[rank - kept :]])
    arguments = ", ".join(f"float{shape or ''} {name}" for shape, name in zip(shapes, "xbc", strict=True))
    subject = model(f"({arguments}) => (float y) {{ s = Mul(x, b) y = Sub(s, c) }}")
    subject.graph.outputs[0].shape = None
    try:
        group = whole(subject)
    except NotExpressible:
        return  # the product is smaller than the sum: computing it for every row is refused
    feed = {
        name: np.random.default_rng(1).standard_normal(s).astype(np.float32)
        for s, name in zip(shapes, "xbc", strict=True)
    }
    (expected,) = session(subject).run(None, feed)
    (actual,) = compute(group.expression, [feed[value.name or ""] for value in group.inputs])
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6)

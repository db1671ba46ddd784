"""Layer and RMS normalisation: every spelling is found, and only what is one is taken for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from advisor.fuse.opsets import RAISED_FROM, RAISED_TO
from advisor.fuse.rules.layer_norm import LAYER_NORM
from tests.fuse.graphs import NOT_BY_THE_RUNTIME, assert_same, fuse, model, operators, rewritten, status, weights

SCALE, BIAS = weights(16), weights(16, seed=2)
MEAN = "m = ReduceMean<axes = [-1], keepdims = 1>(x)\nd = Sub(x, m)"
VARIANCE = "q = Pow(d, two)\nv = ReduceMean<axes = [-1], keepdims = 1>(q)\nve = Add(v, eps)\ns = Sqrt(ve)"
AFFINE = "n = Div(d, s)\nng = Mul(n, g)\ny = Add(ng, b)"
HEAD = "(float[2, n, 16] x) => (float[2, n, 16] y) <float two = {2}, float eps = {0.00001}, float one = {1}>"


def norm(
    *, head: str = HEAD, mean: str = MEAN, variance: str = VARIANCE, affine: str = AFFINE, **options: Any
) -> tuple[list[str], tuple[Any, ...]]:
    options = {"g": SCALE, "b": BIAS, **options}
    used: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    return fuse(f"{head} {{\n{mean}\n{variance}\n{affine}\n}}", **used)


def axes_as_input(nodes: str) -> str:
    """From opset 18 on axes are an input."""
    return (
        nodes.replace("<axes = [-1], keepdims = 1>", "")
        .replace("Mean(x)", "Mean(x, ax)")
        .replace("Mean(q)", "Mean(q, ax)")
    )


SPELLINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "squared by Mul": {"variance": VARIANCE.replace("Pow(d, two)", "Mul(d, d)")},
    "root by Pow": {
        "variance": VARIANCE.replace("Sqrt(ve)", "Pow(ve, half)"),
        "head": HEAD.replace("two =", "half = {0.5}, float two ="),
    },
    "multiplied by Reciprocal": {"affine": AFFINE.replace("n = Div(d, s)", "r = Reciprocal(s)\nn = Mul(r, d)")},
    "multiplied by one over": {"affine": AFFINE.replace("n = Div(d, s)", "r = Div(one, s)\nn = Mul(d, r)")},
    "scale times root first": {"affine": "r = Reciprocal(s)\nrg = Mul(r, g)\nng = Mul(d, rg)\ny = Add(b, ng)"},
    "operands swapped": {
        "variance": VARIANCE.replace("Add(v, eps)", "Add(eps, v)"),
        "affine": "n = Div(d, s)\nng = Mul(g, n)\ny = Add(b, ng)",
    },
    "centred twice": {"affine": "e = Sub(x, m)\nn = Div(e, s)\nng = Mul(n, g)\ny = Add(ng, b)"},
    "averaged twice": {
        "affine": "o = ReduceMean<axes = [-1]>(x)\ne = Sub(x, o)\nn = Div(e, s)\nng = Mul(n, g)\ny = Add(ng, b)"
    },
    "regrouped by TensorFlow": {
        "affine": "r = Reciprocal(s)\nf = Mul(r, g)\nxf = Mul(x, f)\nmf = Mul(m, f)\nbm = Sub(b, mf)\ny = Add(xf, bm)"
    },
    "axis from the front": {"mean": MEAN.replace("[-1]", "[2]"), "variance": VARIANCE.replace("[-1]", "[2]")},
    "axis from both ends": {"mean": MEAN.replace("[-1]", "[2]")},
    "without bias": {"affine": "n = Div(d, s)\ny = Mul(n, g)", "b": None},
    "without weights": {"affine": "y = Div(d, s)", "b": None, "g": None},
    "constants of shape [1]": {"head": HEAD.replace("float two", "float[1] two").replace("float eps", "float[1] eps")},
    "weights with leading ones": {"g": SCALE.reshape(1, 1, 16), "b": BIAS.reshape(1, 16)},
    "one weight for all": {"g": SCALE[:1], "b": BIAS[0]},
    "bias for all, scale per feature": {"b": BIAS[:1]},
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_fused(spelling: str) -> None:
    found, sites = norm(**SPELLINGS[spelling])
    assert found == ["LayerNormalization"]
    assert status(sites) == {"layer-norm": "applied"}


@pytest.mark.parametrize("opset", [18, 20])
def test_axes_may_be_a_constant_input(opset: int) -> None:
    mean, variance = axes_as_input(MEAN), axes_as_input(VARIANCE)
    head = HEAD.replace("float two", "int64[1] ax = {-1}, float two")
    assert norm(head=head, mean=mean, variance=variance, opset=opset)[0] == ["LayerNormalization"]
    node = "\nax = Constant<value = int64[1] {-1}>()\n"
    assert norm(mean=node + mean, variance=variance, opset=opset)[0] == ["LayerNormalization"]


def test_several_last_axes() -> None:
    shape = {"mean": MEAN.replace("[-1]", "[1, 2]"), "variance": VARIANCE.replace("[-1]", "[-1, -2]")}
    head = HEAD.replace("[2, n, 16]", "[n, 4, 16]")
    assert norm(head=head, g=weights(4, 16), b=weights(4, 16, seed=3), **shape)[0] == ["LayerNormalization"]
    assert norm(head=head, **shape)[0] == ["LayerNormalization"]  # [16] is broadcast to [4, 16]


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_rank_one_and_rows_known_at_run_time_only(rows: int) -> None:
    assert norm(head=HEAD.replace("[2, n, 16]", "[16]"))[0] == ["LayerNormalization"]
    assert norm(dynamic=rows)[0] == ["LayerNormalization"]


@pytest.mark.parametrize(("name", "dtype"), [("double", "float64"), ("float16", "float16")])
def test_other_types(name: str, dtype: str) -> None:
    head = f"({name}[2, 16] x) => ({name}[2, 16] y) <{name} two = {{2}}, {name} one = {{1}}>"
    if dtype == "float16":  # the text syntax has no literals of it
        head = f"({name}[2, 16] x) => ({name}[2, 16] y)"
    constants: dict[str, Any] = {"eps": np.array(1e-3, dtype)} | (
        {"two": np.array(2, dtype)} if dtype == "float16" else {}
    )
    found, _ = norm(head=head, g=SCALE.astype(dtype), b=BIAS.astype(dtype), **constants)
    assert found == ["LayerNormalization"]


def test_half_precision_that_computes_in_single_precision() -> None:
    head = "(float16[2, 16] h) => (float16[2, 16] y) <float two = {2}, float eps = {0.00001}>"
    before = "x = Cast<to = 1>(h)\n" + MEAN
    half: dict[str, Any] = {"g": SCALE.astype("float16"), "b": BIAS.astype("float16")}
    cast_first = "n = Div(d, s)\nc = Cast<to = 10>(n)\nng = Mul(c, g)\ny = Add(ng, b)"
    assert norm(head=head, mean=before, affine=cast_first, **half)[0] == ["LayerNormalization"]
    cast_last = "n = Div(d, s)\nng = Mul(n, g)\nl = Add(ng, b)\ny = Cast<to = 10>(l)"
    assert norm(head=head, mean=before, affine=cast_last)[0] == ["Cast", "LayerNormalization", "Cast"]


def test_a_cast_to_a_type_that_the_input_does_not_have_stays() -> None:
    affine = "n = Div(d, s)\nc = Cast<to = 1>(n)\nng = Mul(c, g)\ny = Add(ng, b)"
    head = HEAD.replace("float", "double").replace("double[2, n, 16] y", "float[2, n, 16] y")
    found, _ = norm(head=head, affine=affine)
    assert found == ["LayerNormalization", "Cast", "Mul", "Add"]


RUN_TIME_AXES = {
    "head": HEAD.replace(" x)", " x, int64[1] ax)"),
    "mean": axes_as_input(MEAN),
    "variance": axes_as_input(VARIANCE),
    "opset": 18,
}
LAST_BUT_ONE = {
    "head": HEAD.replace("n", "16"),
    "mean": MEAN.replace("-1", "-2"),
    "variance": VARIANCE.replace("-1", "-2"),
}
OVERRIDABLE_EPSILON = {
    "head": HEAD.replace(" x)", " x, float eps)").replace(", float eps = {0.00001}", ""),
    "eps": np.float32(1e-5),
}
NOT_ONE: dict[str, tuple[dict[str, Any], str]] = {
    "axes known at run time only": (RUN_TIME_AXES, "run time only"),
    "axes that may be overridden": ({**RUN_TIME_AXES, "ax": np.array([-1])}, "run time only"),
    "not the last axis": (LAST_BUT_ONE, "not the last ones"),
    "different axes": ({"variance": VARIANCE.replace("[-1]", "[-2, -1]")}, "different axes"),
    "epsilon that may be overridden": (OVERRIDABLE_EPSILON, "may replace its value"),
}


@pytest.mark.parametrize("difference", NOT_ONE)
def test_what_looks_like_one_is_left_with_the_reason(difference: str) -> None:
    options, reason = NOT_ONE[difference]
    x = np.random.default_rng(0).standard_normal((2, 16 if "last" in difference else 3, 16)).astype("float32")
    inputs = {"x": x} | ({"ax": np.array([1])} if options.get("opset") == 18 else {})
    found, sites = norm(inputs=inputs, **options)
    assert "LayerNormalization" not in found
    assert any(site.rule == "layer-norm" and site.status == "illegal" and reason in site.reason for site in sites)


def test_epsilon_outside_of_the_root_is_something_else() -> None:
    variance = "q = Mul(d, d)\nv = ReduceMean<axes = [-1]>(q)\nr = Sqrt(v)\ns = Add(r, eps)"
    assert not norm(variance=variance, head=HEAD.replace("0.00001", "0.5"))[1]


def test_reduced_axes_that_are_dropped() -> None:
    mean = "m = ReduceMean<axes = [-1], keepdims = 0>(x)\nd = Sub(x, m)"
    found, sites = norm(head=HEAD.replace("[2, n, 16]", "[16, 16]"), mean=mean, optimisation=NOT_BY_THE_RUNTIME)
    assert "LayerNormalization" not in found
    assert "drops the axes" in sites[0].reason


def test_weights_along_other_axes_are_left_outside() -> None:
    found, _ = norm(g=weights(2, 1, 1), b=weights(2, 1, 1), head=HEAD.replace("n", "3"))
    assert found == ["LayerNormalization", "Mul", "Add"]


def test_weights_that_make_the_result_larger_are_left_outside() -> None:
    head = HEAD.replace("[2, n, 16] x", "[2, n, 1] x")
    assert norm(head=head)[0] == ["LayerNormalization", "Mul", "Add"]
    head = "(float[16] x) => (float[1, 16] y) <float two = {2}, float eps = {0.00001}>"
    assert norm(head=head, g=SCALE.reshape(1, 16))[0] == ["LayerNormalization", "Mul", "Add"]


def test_constants_that_add_dimensions() -> None:
    head = "(float[16] x) => (float[1, 16] y) <float two = {2}, float[1, 1] eps = {0.00001}>"
    found, sites = norm(head=head, optimisation=NOT_BY_THE_RUNTIME)
    assert "LayerNormalization" not in found
    assert "adds dimensions" in sites[0].reason


def test_a_size_that_is_not_certain() -> None:
    """A last dimension of 1 would grow to the weights' size; only the run knows it."""
    found, sites = norm(
        head=HEAD.replace("[2, n, 16] x", "[2, n, features] x"), dynamic=1, optimisation=NOT_BY_THE_RUNTIME
    )
    assert "LayerNormalization" not in found
    assert "not certain" in sites[0].reason


def test_a_declared_size_that_is_stale_is_not_believed() -> None:
    """The model claims that the normalised value has 16 features; it has as many as the run says."""
    claims = "float[2, 3, 16] x, float two = {2}, float eps = {0.00001}"
    body = f"{{\nx = Identity(a)\n{MEAN}\n{VARIANCE}\n{AFFINE}\n}}"
    before = model(f"(float[2, 3, n] a) => (float[2, 3, 16] y) <{claims}> {body}", g=SCALE, b=BIAS)
    after, sites = rewritten(before, [LAYER_NORM])
    assert operators(after) == operators(before)
    assert "not certain" in sites[0].reason


@pytest.mark.parametrize("opset", [13, 14, 15, 16])
def test_before_opset_17_the_model_is_raised_where_nothing_else_changes(opset: int) -> None:
    before = model(f"{HEAD} {{\n{MEAN}\n{VARIANCE}\n{AFFINE}\n}}", opset=opset, g=SCALE, b=BIAS)
    after, _ = rewritten(before)
    assert operators(after) == ["LayerNormalization"]
    assert after.opset_imports[""] == 17
    onnx.checker.check_model(ir.to_proto(after))
    assert_same(before, after)


@pytest.mark.parametrize(
    ("opset", "also", "why"),
    [
        (11, "z = Neg(x)", "LayerNormalization needs opset 17, and the model has opset 11"),
        (15, "z = RoiAlign(r, o, i)", "after which RoiAlign changed"),
    ],
)
def test_before_opset_17_it_is_unsupported_where_something_else_may_change(opset: int, also: str, why: str) -> None:
    head = HEAD.replace(" x)", " x, float[1, 1, 8, 8] r, float[1, 4] o, int64[1] i)").replace(" y)", " y, float[] z)")
    before = model(f"{head} {{\n{MEAN}\n{VARIANCE}\n{AFFINE}\n{also}\n}}", opset=opset, g=SCALE, b=BIAS)
    after, sites = rewritten(before)
    assert operators(after) == operators(before)
    assert after.opset_imports[""] == opset
    assert [(site.rule, site.status) for site in sites] == [("layer-norm", "unsupported")]
    assert why in sites[0].reason


def test_what_changed_up_to_opset_17_is_what_onnx_says() -> None:
    """The schemas are compared: inputs, outputs and attributes that are new must not change what a model means."""
    kept_by_default = {"allowzero", "end", "layout", "reduction", "start", "training_mode"}
    changed = set()
    for name in {schema.name for schema in onnx.defs.get_all_schemas_with_history() if not schema.domain}:
        try:
            old, new = onnx.defs.get_schema(name, RAISED_FROM), onnx.defs.get_schema(name, RAISED_TO)
        except onnx.defs.SchemaError:
            continue
        types = [
            {(at, kind) for at, entry in enumerate(schema.inputs) for kind in entry.types} for schema in (old, new)
        ]
        if (
            set(new.attributes) - set(old.attributes) - kept_by_default
            or any(new.attributes[key].default_value != known.default_value for key, known in old.attributes.items())
            or [entry.option for entry in old.inputs] != [entry.option for entry in new.inputs]
            or [entry.option for entry in old.outputs] != [entry.option for entry in new.outputs]
            or not types[0] <= types[1]
        ):
            changed.add(name)
    assert changed == {"BatchNormalization", "RoiAlign"}


@pytest.mark.parametrize("kept", ["m", "d", "v", "s", "n"])
def test_an_intermediate_value_that_is_an_output_stays(kept: str) -> None:
    shape = "float[2, n, 16]" if kept in "dn" else "float[2, n, 1]"
    found, _ = norm(head=HEAD.replace("(float[2, n, 16] y)", f"(float[2, n, 16] y, {shape} {kept})"))
    assert found.count("LayerNormalization") == (1 if kept == "n" else 0)


ROOT_MEAN_SQUARE = "q = Mul(x, x)\nv = ReduceMean<axes = [-1], keepdims = 1>(q)\nve = Add(v, eps)\ns = Sqrt(ve)"
RMS_SPELLINGS = {
    "llama, TorchScript": "r = Div(one, s)\nn = Mul(x, r)\nc = Cast<to = 1>(n)\ny = Mul(g, c)",
    "llama, dynamo": "r = Reciprocal(s)\nn = Mul(x, r)\ny = Mul(g, n)",
    "divided": "n = Div(x, s)\ny = Mul(n, g)",
    "scale times root first": "r = Reciprocal(s)\nf = Mul(g, r)\ny = Mul(x, f)",
}


@pytest.mark.parametrize("spelling", RMS_SPELLINGS)
@pytest.mark.parametrize("square", ["Mul(x, x)", "Pow(x, two)"])
def test_rms_normalisation(spelling: str, square: str) -> None:
    variance = ROOT_MEAN_SQUARE.replace("Mul(x, x)", square)
    found, sites = norm(mean="", variance=variance, affine=RMS_SPELLINGS[spelling], b=None)
    assert found == ["SimplifiedLayerNormalization"]
    assert status(sites) == {"rms-norm": "applied"}


def test_rms_normalisation_in_half_precision() -> None:
    head = "(float16[2, 16] h) => (float16[2, 16] y) <float eps = {0.00001}>"
    affine = "r = Reciprocal(s)\nn = Mul(x, r)\nc = Cast<to = 10>(n)\ny = Mul(g, c)"
    scale = SCALE.astype("float16")
    found, _ = norm(head=head, mean="x = Cast<to = 1>(h)", variance=ROOT_MEAN_SQUARE, affine=affine, g=scale, b=None)
    assert found == ["SimplifiedLayerNormalization"]

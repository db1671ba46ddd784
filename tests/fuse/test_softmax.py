"""Softmax, its logarithm, lengths of vectors and instance normalisation, from their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from advisor.fuse.rules.instance_norm import INSTANCE_NORM
from tests.fuse.graphs import fuse, model, operators, rewritten, status, weights

EXP = "m = ReduceMax<axes = [-1]>(x) d = Sub(x, m) e = Exp(d)"
SUM = "t = ReduceSum(e, ax)"
SPELLINGS = {
    "divided": ("Softmax", f"{EXP} {SUM} y = Div(e, t)"),
    "multiplied by the inverse": ("Softmax", f"{EXP} {SUM} r = Reciprocal(t) y = Mul(r, e)"),
    "logarithm": ("LogSoftmax", f"{EXP} {SUM} l = Log(t) y = Sub(d, l)"),
    "logarithm of all": ("LogSoftmax", f"{EXP} {SUM} l = Log(t) a = Add(l, m) y = Sub(x, a)"),
    "logarithm by one reduction": ("LogSoftmax", "l = ReduceLogSumExp<axes = [-1]>(x) y = Sub(x, l)"),
    "logarithm of Softmax": ("LogSoftmax", "s = Softmax<axis = -1>(x) y = Log(s)"),
    "divided, then logarithm": ("LogSoftmax", f"{EXP} {SUM} s = Div(e, t) y = Log(s)"),
}


def softmax(body: str, *, head: str = "(float[n, 4, 8] x) => (float[n, 4, 8] y)", **options: Any) -> tuple[Any, Any]:
    return fuse(f"{head} <int64[1] ax = {{-1}}> {{ {body} }}", **options)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_softmax(spelling: str) -> None:
    operator, body = SPELLINGS[spelling]
    found, sites = softmax(body)
    assert found == [operator]
    assert {site.status for site in sites} == {"applied"}
    if "ReduceMax" in body:  # the same where numbers are large
        x = np.array([[[1e4, -1e4, 3e38, 0, 0, 0, 0, 0]] * 4], "float32")
        softmax(body.replace("y = Log(s)", "y = Identity(s)"), inputs={"x": x})


def test_axes_as_an_input_and_other_axes() -> None:
    body = SPELLINGS["divided"][1]
    assert softmax(body.replace("<axes = [-1]>(x)", "(x, ax)"), opset=18)[0] == ["Softmax"]
    assert softmax(body.replace("[-1]", "[2]"))[0] == ["Softmax"]
    middle = f"(float[n, 4, 8] x) => (float[n, 4, 8] y) <int64[1] ax = {{1}}> {{ {body.replace('[-1]', '[1]')} }}"
    found, sites = fuse(middle)
    assert (found, status(sites)) == (["Softmax"], {"softmax": "applied"})


def test_before_opset_13_only_the_last_axis_means_the_same() -> None:
    old = SPELLINGS["divided"][1].replace("ReduceSum(e, ax)", "ReduceSum<axes = [-1]>(e)")
    head = "(float[n, 4, 8] x) => (float[n, 4, 8] y)"
    assert fuse(f"{head} {{ {old} }}", opset=11)[0] == ["Softmax"]
    found, sites = fuse(f"{head} {{ {old.replace('[-1]', '[1]')} }}", opset=11)
    assert "Softmax" not in found
    assert "over the last axes only" in sites[0].reason
    flattened = "s = Softmax<axis = 1>(x) y = Log(s)"
    assert fuse(f"{head} {{ {flattened} }}", opset=11)[0] == ["LogSoftmax"]


NOT_ONE = {
    "different axes": (SPELLINGS["divided"][1].replace("[-1]", "[1]"), "different axes"),
    "two axes": (SPELLINGS["divided"][1].replace("[-1]", "[1, 2]"), "2 axes"),
    "all axes": (SPELLINGS["divided"][1].replace("<axes = [-1]>", ""), "over all axes"),
}


@pytest.mark.parametrize("difference", NOT_ONE)
def test_what_looks_like_one_is_left_with_the_reason(difference: str) -> None:
    body, reason = NOT_ONE[difference]
    found, sites = softmax(body)
    assert "Softmax" not in found
    assert reason in sites[0].reason


def test_axes_that_are_dropped_or_known_at_run_time_only() -> None:
    body = SPELLINGS["divided"][1].replace("axes = [-1]", "axes = [-1], keepdims = 0")
    found, sites = softmax(body, head="(float[8, 8] x) => (float[8, 8] y)")
    assert ("Softmax" in found, "drops the axes" in sites[0].reason) == (False, True)
    text = f"(float[4, 8] x, int64[1] ax) => (float[4, 8] y) {{ {SPELLINGS['divided'][1]} }}"
    found, sites = fuse(text, {"x": weights(4, 8), "ax": np.array([0])})
    assert ("Softmax" in found, "run time only" in sites[0].reason) == (False, True)


def test_without_the_largest_value_taken_off_it_overflows_elsewhere() -> None:
    assert not softmax(f"e = Exp(x) {SUM} y = Div(e, t)")[1]
    assert not softmax(f"m = ReduceMin<axes = [-1]>(x) d = Sub(x, m) e = Exp(d) {SUM} y = Div(e, t)")[1]


@pytest.mark.parametrize("opset", [13, 17, 18])
@pytest.mark.parametrize("square", ["Mul(x, x)", "Pow(x, two)"])
def test_length_of_vectors(square: str, opset: int) -> None:
    head = "(float[n, 4, 8] x) => (float[] y) <float two = {2}, int64[2] ax = {-1, 1}>"
    for keepdims in (0, 1):
        found, sites = fuse(
            f"{head} {{ q = {square} s = ReduceSum<keepdims = {keepdims}>(q, ax) y = Sqrt(s) }}", opset=opset
        )
        assert (found, status(sites)) == (["ReduceL2"], {"euclidean-norm": "applied"})


def test_normalised_vectors_keep_their_epsilon() -> None:
    body = "l = ReduceL2<axes = [-1]>(x) c = Clip(l, eps) s = Shape(x) e = Expand(c, s) y = Div(x, e)"
    x = np.concatenate([weights(2, 8), np.zeros((1, 8), "float32"), np.full((1, 8), 1e-14, "float32")])
    found, _ = fuse(f"(float[n, 8] x) => (float[n, 8] y) <float eps = {{1e-12}}> {{ {body} }}", {"x": x})
    assert found == ["ReduceL2", "Clip", "Div"]


MEAN = "m = ReduceMean<axes = [2, 3]>(x) d = Sub(x, m) q = Mul(d, d) v = ReduceMean<axes = [2, 3]>(q) ve = Add(v, eps)"
INSTANCE = {
    "divided": f"{MEAN} s = Sqrt(ve) n = Div(d, s) ng = Mul(n, g) y = Add(ng, b)",
    "axes from the end": f"{MEAN} s = Sqrt(ve) n = Div(d, s) ng = Mul(n, g) y = Add(ng, b)".replace("2, 3", "-1, 2"),
    "without bias": f"{MEAN} s = Sqrt(ve) r = Reciprocal(s) n = Mul(d, r) y = Mul(g, n)",
    "regrouped by TensorFlow": f"{MEAN} s = Sqrt(ve) r = Reciprocal(s) f = Mul(r, g) xf = Mul(x, f) mf = Mul(m, f) "
    "bm = Sub(b, mf) y = Add(xf, bm)",
}
IMAGES = "(float[n, 3, 5, w] x) => (float[n, 3, 5, w] y) <float eps = {0.001}>"


@pytest.mark.parametrize("spelling", INSTANCE)
def test_instance_normalisation(spelling: str) -> None:
    found, sites = fuse(f"{IMAGES} {{ {INSTANCE[spelling]} }}", dynamic=4, g=weights(3, 1, 1), b=weights(1, 3, 1, 1))
    assert (found, status(sites)["instance-norm"]) == (["InstanceNormalization"], "applied")


@pytest.mark.parametrize(
    ("body", "scale", "why"),
    [
        (INSTANCE["divided"].replace("2, 3", "1, 2, 3"), (3, 1, 1), "not over all but batch and channel"),
        (INSTANCE["divided"].replace("2, 3", "2"), (3, 1, 1), "not over all but batch and channel"),
        (INSTANCE["divided"], (3, 5, 1), "not one weight for each"),
        (INSTANCE["divided"], (4, 1, 1, 1), "not one weight for each"),
    ],
)
def test_what_is_not_instance_normalisation(body: str, scale: tuple[int, ...], why: str) -> None:
    text = f"{IMAGES.replace('n, 3', '4, 3')} {{ {body} }}"
    before = model(text, g=weights(*scale), b=weights(3, 1, 1))
    after, sites = rewritten(before, [INSTANCE_NORM])
    assert operators(after) == operators(before)
    assert why in sites[0].reason

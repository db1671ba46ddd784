"""Attention from its parts: the exporters' spellings are found, and sizes that are not certain are not guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from advisor.fuse.rules.attention import ATTENTION
from advisor.fuse.scope import Facts, Scope
from tests.fuse.graphs import CPU, fuse, model, operators, rewritten, status, weights

HEAD = "(float[batch, seq, 8] q, float[batch, keys, 8] k, float[batch, keys, 8] v) => (float[] y)"
NUMBERS = "int64[4] split = {0, 0, 2, 4}, int64[3] join = {0, 0, 8}, float scale = {0.5}, float two = {2}"
QUERY = "q4 = Reshape(q, split) qh = Transpose<perm = [0, 2, 1, 3]>(q4)"
KEY = "k4 = Reshape(k, split) kt = Transpose<perm = [0, 2, 3, 1]>(k4)"
VALUE = "v4 = Reshape(v, split) vh = Transpose<perm = [0, 2, 1, 3]>(v4)"
SCORES = "r = MatMul(qh, kt) s = Mul(r, scale)"
SHARE = "p = Softmax<axis = -1>(s)"
JOIN = "c = MatMul(p, vh) o = Transpose<perm = [0, 2, 1, 3]>(c) y = Reshape(o, join)"
PARTS = {"query": QUERY, "key": KEY, "value": VALUE, "scores": SCORES, "share": SHARE, "join": JOIN}
MASKED = "a = Add(s, m) p = Softmax<axis = -1>(a)"
FUSED = ["MultiHeadAttention"]


def attention(*, head: str = HEAD, numbers: str = NUMBERS, first: str = "", **parts: Any) -> tuple[list[str], Any]:
    """The operators that are left, and the sites of the rule."""
    options = {name: value for name, value in parts.items() if name not in PARTS}
    body = " ".join([first, *(parts.get(name, text) for name, text in PARTS.items())])
    found, sites = fuse(f"{head} <{numbers}> {{ {body} }}", **options)
    return found, [site for site in sites if site.rule == ATTENTION.id]


SPELLINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "divided": {"scores": "r = MatMul(qh, kt) s = Div(r, two)"},
    "not scaled": {"scores": "s = MatMul(qh, kt)"},
    "query scaled": {"scores": "qs = Mul(scale, qh) s = MatMul(qs, kt)"},
    "query and key scaled": {"scores": "qs = Mul(qh, scale) ks = Mul(kt, scale) s = MatMul(qs, ks)"},
    "key transposed twice": {
        "key": "k4 = Reshape(k, split) kh = Transpose<perm = [0, 2, 1, 3]>(k4) kt = Transpose<perm = [0, 1, 3, 2]>(kh)"
    },
    "needless casts": {"share": "p0 = Softmax<axis = -1>(s) p1 = Cast<to = 1>(p0) p = Cast<to = 1>(p1)"},
    "mask": {
        "head": HEAD.replace(" v)", " v, float[batch, 1, seq, keys] m)"),
        "share": MASKED,
    },
    "mask for all": {
        "head": HEAD.replace(" v)", " v, float[1, 2, seq, keys] m)"),
        "share": "a = Add(m, s) p = Softmax<axis = 3>(a)",
    },
    "constant shapes of a query": {
        "query": QUERY.replace("split", "fixed"),
        "numbers": f"{NUMBERS}, int64[4] fixed = {{0, -1, 2, 4}}",
    },
    "before opset 13": {"opset": 12, "share": "p = Softmax<axis = 3>(s)"},
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_fused(spelling: str) -> None:
    found, sites = attention(**SPELLINGS[spelling])
    assert (found, status(sites)) == (FUSED, {"attention": "applied"})


def test_shapes_that_the_model_computes() -> None:
    """As TorchScript does: sizes gathered from a shape, and -1 for the number of heads."""
    first = (
        "f = Shape(q) b0 = Gather(f, zero) s0 = Gather(f, one) b1 = Unsqueeze(b0, ax) s1 = Unsqueeze(s0, ax) "
        "split = Concat<axis = 0>(b1, s1, minus, four) join = Concat<axis = 0>(b1, s1, minus)"
    )
    numbers = "int64 zero = {0}, int64 one = {1}, int64[1] ax = {0}, int64[1] minus = {-1}, int64[1] four = {4}"
    head = HEAD.replace("keys", "seq")
    found, sites = attention(head=head, first=first, numbers=f"{numbers}, float scale = {{0.5}}")
    assert (found, status(sites)) == (FUSED, {"attention": "applied"})  # nothing is left of the shapes
    # Where the shape is that of another tensor, -1 is another number.
    head = head.replace("seq, 8] q", "seq, 8] q, float[others, seq, 8] w")
    body = " ".join([first.replace("Shape(q)", "Shape(w)"), *PARTS.values()])
    after, sites = rewritten(model(f"{head} <{numbers}, float scale = {{0.5}}> {{ {body} }}"), [ATTENTION])
    assert "MultiHeadAttention" not in operators(after)
    assert "not certain" in sites[0].reason


def test_keys_and_values_with_a_past() -> None:
    head = HEAD.replace(" v)", " v, float[batch, 2, past, 4] pk, float[batch, 2, past, 4] pv)")
    key = (
        "k4 = Reshape(k, split) k1 = Transpose<perm = [0, 2, 1, 3]>(k4) k2 = Concat<axis = -2>(pk, k1) "
        "kt = Transpose<perm = [0, 1, 3, 2]>(k2)"
    )
    value = "v4 = Reshape(v, split) v1 = Transpose<perm = [0, 2, 1, 3]>(v4) vh = Concat<axis = -2>(pv, v1)"
    found, sites = attention(head=head, key=key, value=value)
    assert (found.count("MultiHeadAttention"), found.count("Softmax")) == (1, 0)
    assert status(sites) == {"attention": "applied"}


def test_heads_that_are_changed_before_and_not_joined_after() -> None:
    found, sites = attention(
        query=f"{QUERY.replace('qh =', 'q0 =')} qh = Tanh(q0)",
        join=JOIN.replace("join", "flat"),
        numbers=f"{NUMBERS}, int64[2] flat = {{-1, 8}}",
    )
    assert (found.count("MultiHeadAttention"), found.count("Softmax")) == (1, 0)
    assert found[-1] == "Reshape"
    assert status(sites) == {"attention": "applied"}


@pytest.mark.parametrize("name", ["float16", "float"])
def test_types_and_a_constant_mask(name: str) -> None:
    dtype = "float32" if name == "float" else name
    head = HEAD.replace("float[", f"{name}[").replace("seq", "3").replace("keys", "5")
    numbers = NUMBERS.replace(", float scale = {0.5}, float two = {2}", "")
    mask = np.where(np.random.default_rng(3).random((3, 5)) < 0.3, -1e4, 0).astype(dtype)
    found, sites = attention(head=head, numbers=numbers, share=MASKED, m=mask, scale=np.array(0.5, dtype))
    assert (found, status(sites)) == (FUSED, {"attention": "applied"})


BATCH_OF_ONE = HEAD.replace("batch, keys", "1, keys")
LEFT: dict[str, tuple[dict[str, Any], str]] = {
    "keys for another batch": ({"head": BATCH_OF_ONE}, "without being broadcast"),
    "a mask that may be broadcast": (
        {"head": HEAD.replace(" v)", " v, float[rows, 1, columns, keys] m)"), "share": MASKED},
        "not certain that they fit",
    ),
    "a mask that is broadcast": (
        {"head": HEAD.replace(" v)", " v, float[batch, 1, 1, keys] m)"), "share": MASKED},
        "does not broadcast it",
    ),
    "a factor of nothing": ({"numbers": NUMBERS.replace("0.5", "0.0")}, "multiplied by 0"),
    "a division by zero": (
        {"scores": "r = MatMul(qh, kt) s = Div(r, two)", "numbers": NUMBERS.replace("two = {2}", "two = {0}")},
        "multiplied by inf",
    ),
    "over the queries": ({"share": "p = Softmax<axis = 2>(s)"}, "not over the keys"),
    "scores that are used": (
        {"join": f"{JOIN} z = Neg(p)", "head": HEAD.replace(" y)", " y, float[] z)")},
        "also used",
    ),
    "sizes of heads known at run time only": (
        {
            "head": HEAD.replace(" v)", " v, int64[4] split)"),
            "numbers": NUMBERS.replace("int64[4] split = {0, 0, 2, 4}, ", ""),
        },
        "heads are not certain",
    ),
}


@pytest.mark.parametrize("difference", LEFT)
def test_what_looks_like_one_is_left_with_the_reason(difference: str) -> None:
    options, reason = LEFT[difference]
    parts = {**PARTS, **{name: text for name, text in options.items() if name in PARTS}}
    text = f"{options.get('head', HEAD)} <{options.get('numbers', NUMBERS)}> {{ {' '.join(parts.values())} }}"
    before = model(text)
    after, sites = rewritten(before, [ATTENTION])
    assert operators(after) == operators(before)
    assert [(site.status, reason in site.reason) for site in sites] == [("illegal", True)], sites


def test_a_scale_that_may_be_overridden() -> None:
    head, numbers = HEAD.replace(" v)", " v, float scale)"), NUMBERS.replace(", float scale = {0.5}", "")
    text = f"{head} <{numbers}> {{ {' '.join(PARTS.values())} }}"
    _, sites = rewritten(model(text, scale=np.array(0.5, "float32")), [ATTENTION])
    assert "may replace its value" in sites[0].reason


def sizes(text: str, name: str, **options: Any) -> tuple[int | str, ...] | None:
    subject = model(text, **options)
    scope = Scope(subject.graph, subject, CPU, Facts(subject))
    return scope.sizes(next(value for node in subject.graph for value in node.outputs if value.name == name))


def test_sizes_that_are_the_same_have_one_name() -> None:
    numbers = "int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[1] minus = {-1}, int64[1] ones = {1}"
    body = """
        s = Shape(x) n = Gather(s, one) r = Range(zero, n, one)
        rows = Unsqueeze(r, first) columns = Unsqueeze(r, ones) causal = LessOrEqual(rows, columns)
        n1 = Unsqueeze(n, first) part = Slice(table, first, n1, ones, ones)
        y = Add(x, part)
        b = Slice(s, first, ones) t = Concat<axis = 0>(b, minus) u = ConstantOfShape(count) v = Mul(u, minus)
        e = Equal(t, v) w = Where(e, u, t) z = Expand(part, w)
    """
    text = f"(float[batch, seq] x) => (float[] y, float[] z) <{numbers}, int64[1] count = {{2}}> {{ {body} }}"
    table = weights(1, 64)
    assert sizes(text, "causal", table=table) == ("seq", "seq")
    assert sizes(text, "part", table=table) == (1, "min(seq, 64)")  # the table may be shorter
    assert sizes(text, "y", table=table) == ("batch", "seq")  # but then it does not fit

"""Rotary position embedding: found where the angles are those that the fused operator takes, else left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from advisor.fuse.rules.rotary import ROTARY
from tests.fuse.graphs import fuse, model, operators, rewritten, status, weights

HEAD = "(float[batch, 2, seq, 8] x, float[1, 1, seq, 4] f) => (float[] y)"
NUMBERS = (
    "int64[1] zero = {0}, int64[1] half = {4}, int64[1] end = {9223372036854775807}, int64[1] last = {3}, "
    "int64[1] one = {1}, float k = {0.9}"
)
ANGLES = "ff = Concat<axis = -1>(f, f) c = Cos(ff) s = Sin(ff)"
HALVES = "x1 = Slice(x, zero, half, last, one) x2 = Slice(x, half, end, last, one)"
TURNED = "n = Neg(x2) t = Concat<axis = -1>(n, x1)"
SUM = "xc = Mul(x, c) ts = Mul(t, s) y = Add(xc, ts)"
PARTS = {"angles": ANGLES, "halves": HALVES, "turned": TURNED, "sum": SUM}
SPELLINGS: dict[str, dict[str, str]] = {
    "as it is": {},
    "operands swapped": {"sum": "xc = Mul(c, x) ts = Mul(s, t) y = Add(ts, xc)"},
    "without steps": {"halves": HALVES.replace(", one)", ")")},
    "scaled angles, unsqueezed": {
        "head": HEAD.replace("[1, 1, seq, 4]", "[1, seq, 4]"),
        "angles": "ff = Concat<axis = 2>(f, f) c1 = Cos(ff) c2 = Mul(c1, k) c = Unsqueeze(c2, one) s1 = Sin(ff) "
        "s2 = Mul(k, s1) s = Unsqueeze(s2, one)",
    },
    "bounds computed from the shape": {
        "halves": "sh = Shape<start = 3>(x) two = Add(one, one) h = Div(sh, two) "
        "x1 = Slice(x, zero, h, last, one) x2 = Slice(x, h, end, last, one)"
    },
}


def text(**parts: str) -> str:
    body = " ".join(parts.get(name, default) for name, default in PARTS.items())
    return f"{parts.get('head', HEAD)} <{NUMBERS}> {{ {body} }}"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_fused(spelling: str) -> None:
    found, sites = fuse(text(**SPELLINGS[spelling]))
    assert status(sites) == {"rotary": "applied"}
    assert found[-1] == "RotaryEmbedding"
    assert "Neg" not in found


def test_angles_that_are_constant() -> None:
    head = "(float[batch, 2, 5, 8] x) => (float[] y)"
    angles: dict[str, Any] = {
        name: np.concatenate([weights(5, 4, seed=seed)] * 2, axis=-1) for name, seed in (("c", 1), ("s", 2))
    }
    found, sites = fuse(text(head=head, angles=""), **angles)
    assert (found, status(sites)) == (["RotaryEmbedding"], {"rotary": "applied"})
    after, sites = rewritten(model(text(head=head, angles=""), **{**angles, "s": weights(5, 8)}), [ROTARY])
    assert ("RotaryEmbedding" in operators(after), sites[0].reason) == (False, "the halves of 's' differ")


LEFT: dict[str, tuple[dict[str, str], str]] = {
    "the halves of the angles may differ": (
        {"head": HEAD.replace("seq, 4] f", "seq, 8] ff"), "angles": "c = Cos(ff) s = Sin(ff)"},
        "not certain that its halves are the same",
    ),
    "angles for each sequence": ({"head": HEAD.replace("[1, 1,", "[batch, 1,")}, "one row of angles for each position"),
    "one position for all": ({"head": HEAD.replace("seq, 4]", "1, 4]")}, "one row of angles for each position"),
    "another half first": ({"turned": "n = Neg(x1) t = Concat<axis = -1>(n, x2)"}, "half of the features"),
    "parts that are no halves": ({"halves": HALVES.replace("x, zero, half", "x, zero, one")}, "half of the features"),
    "another axis": ({"head": HEAD.replace("2, seq, 8", "2, seq, n")}, "the last of them even and certain"),
    "a half that is used": ({"sum": f"{SUM} z = Neg(x1)", "head": HEAD.replace(" y)", " y, float[] z)")}, "also used"),
}


@pytest.mark.parametrize("difference", LEFT)
def test_what_looks_like_one_is_left_with_the_reason(difference: str) -> None:
    parts, reason = LEFT[difference]
    before: Any = model(text(**parts))
    after, sites = rewritten(before, [ROTARY])
    assert operators(after) == operators(before)
    assert [(site.status, reason in site.reason) for site in sites] == [("illegal", True)], sites


def test_the_other_sign_is_something_else() -> None:
    assert not fuse(text(turned="n = Neg(x1) t = Concat<axis = -1>(x2, n)"))[1]

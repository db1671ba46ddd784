"""`advisor explain --ir`: the groups of a model, and the IR of one of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir
import pytest

from advisor.errors import BadInput
from advisor.fuse.kernels.generated import groups_of
from advisor.fuse.kernels.listing import group_listing, list_groups
from advisor.fuse.kernels.traffic import traffic
from tests.fuse.graphs import model

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Advisor

CHAIN = "(float[4,768] x, float[4,768] b) => (float[4,768] y) { s = Add(x, b) a = Sigmoid(s) y = Mul(s, a) }"


def test_loads_and_stores_are_those_of_the_nodes_and_of_the_kernel() -> None:
    ((group, scope),) = groups_of(model(CHAIN))
    saved = traffic(group, scope)
    assert (saved.loads_before, saved.stores_before) == (5, 3)
    assert (saved.loads_after, saved.stores_after) == (2, 1)
    assert saved.kernels_saved == 2
    assert saved.bytes_saved == 2 * 4 * 768 * 4


def test_fusion_is_seen_in_the_code() -> None:
    text = group_listing(model(CHAIN), "1")
    assert text.count(" alone") == 3
    loads = [int(count) for count in re.findall(r"fusion:\s+(\d+) vector loads", text)]
    assert len(loads) == 2
    assert loads[1] < loads[0]


def test_the_command_lists_groups_and_prints_one(tmp_path: Path, advisor_command: Advisor) -> None:
    path = tmp_path / "chain.onnx"
    path.write_bytes(ir.to_proto(model(CHAIN)).SerializeToString())
    listed = advisor_command("explain", "--ir", path)
    assert listed.returncode == 0
    assert "Add Sigmoid Mul" in listed.stdout
    printed = advisor_command("explain", "--ir", path, "1")
    assert "after fusion and optimisation" in printed.stdout
    narrow = [advisor_command("explain", "--ir", path, *chosen, columns=40).stdout for chosen in ([], ["1"])]
    own = [*narrow[0].splitlines(), *(line for line in narrow[1].splitlines() if line.startswith("; "))]
    assert max(map(len, own)) <= 40
    assert " ".join(narrow[0].split()) == " ".join(listed.stdout.split())
    unknown = advisor_command("explain", "--ir", path, "7")
    assert unknown.returncode == 2
    assert "no group '7'" in unknown.stderr


def test_how_an_input_is_seen_is_told() -> None:
    text = """(float[B,S,32] x) => (float[B,4,S,8] y) {
        r = Reshape(x, shape) y = Transpose<perm = [0, 2, 1, 3]>(r)
    }"""
    listed = list_groups(model(text, shape=np.array([0, 0, 4, 8])), width=200)
    assert "reads [?, ?, 32] as [?, 4, ?, 8]; per element 1 → 1 loads, 1 → 1 stores" in listed
    assert "fewer" not in listed
    gated = "(float[B,64] x) => (float[B,32] y) { a, b = Split<axis = -1>(x) s = Sigmoid(b) y = Mul(a, s) }"
    assert "reads [?, 64] as [?, 32] from 0 on, [?, 64] as [?, 32] from 32 on" in list_groups(model(gated), width=200)


def test_a_model_without_groups_says_so() -> None:
    subject = model("(float[4,768] x) => (float[4,768] y) { y = Exp(x) }")
    assert "no group" in list_groups(subject)
    with pytest.raises(BadInput, match="there are 0"):
        group_listing(subject, "1")

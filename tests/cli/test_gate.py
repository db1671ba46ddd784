"""`advisor gate` in its first form: two analyses, graph by graph."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import advisor
from advisor.errors import CannotDecide
from advisor.gate.compare import compare

if TYPE_CHECKING:
    from tests.conftest import Advisor


@pytest.fixture(scope="module")
def decode(samples: Path) -> dict[str, Any]:
    return advisor.analyze(advisor.read_trace(samples / "launch_bound_decode.sqlite")).to_dict()


def _with_gap(analysis: dict[str, Any], factor: float) -> dict[str, Any]:
    """As if every graph's fusible gap had grown by a factor."""
    changed = copy.deepcopy(analysis)
    for graph in changed["graphs"]:
        gap = round(graph["fusible_gap_ns"] * factor)
        graph |= {"fusible_gap_ns": gap, "gap_ratio": gap / (gap + graph["busy_ns"])}
    return changed


def test_a_run_against_itself_passes(decode: dict[str, Any]) -> None:
    result = compare(decode, decode)
    assert not result.regressed
    assert not result.incomparable


def test_a_larger_gap_fails_and_a_smaller_one_does_not(decode: dict[str, Any]) -> None:
    assert compare(decode, _with_gap(decode, 1.3)).regressed
    assert not compare(decode, _with_gap(decode, 1.05)).regressed
    improved = compare(decode, _with_gap(decode, 0.5))
    assert not improved.regressed
    assert {change.status for change in improved.changes} == {"improved"}


def test_faster_kernels_are_no_regression_though_the_ratio_rises(decode: dict[str, Any]) -> None:
    faster = copy.deepcopy(decode)
    for graph in faster["graphs"]:
        graph["busy_ns"] //= 2
        graph["gap_ratio"] = graph["fusible_gap_ns"] / (graph["fusible_gap_ns"] + graph["busy_ns"])
    assert not compare(decode, faster).regressed


def test_what_cannot_be_compared_is_never_green(decode: dict[str, Any]) -> None:
    other_gpu = copy.deepcopy(decode)
    for device in other_gpu["devices"]:
        device["name"] = "Another GPU"
    with pytest.raises(CannotDecide, match="Another GPU"):
        compare(decode, other_gpu)
    empty = copy.deepcopy(decode) | {"graphs": []}
    with pytest.raises(CannotDecide, match="no graph in common"):
        compare(decode, empty)
    unknown = copy.deepcopy(decode)
    for graph in unknown["graphs"]:
        graph["gap_ratio"] = None
    assert compare(decode, unknown).incomparable


def test_exit_codes(advisor_command: Advisor, samples: Path, decode: dict[str, Any], tmp_path: Path) -> None:
    trace = samples / "launch_bound_decode.sqlite"
    base = tmp_path / "base.json"
    for factor, code in ((1.0, 0), (0.5, 1)):
        base.write_text(json.dumps(_with_gap(decode, factor)), encoding="utf-8")
        result = advisor_command("gate", trace, "--baseline", base)
        assert result.returncode == code, result.stdout + result.stderr
    other = advisor_command("gate", samples / "gpu_bound_cnn.sqlite", "--baseline", base)
    assert other.returncode == 3
    base.write_text("{}", encoding="utf-8")
    assert advisor_command("gate", trace, "--baseline", base).returncode == 2
    assert advisor_command("gate", trace, "--baseline", tmp_path / "missing.json").returncode == 2


def test_a_real_trace_against_itself_is_green(advisor_command: Advisor, real_traces: Path, tmp_path: Path) -> None:
    trace, base = real_traces / "mfu_2gpu_before.sqlite", tmp_path / "base.json"
    advisor_command("analyze", trace, "--json", base)
    assert advisor_command("gate", trace, "--baseline", base).returncode == 0

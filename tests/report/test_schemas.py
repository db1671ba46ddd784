"""The schemas describe every key that the program writes."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import advisor
from advisor.gate.baseline import record
from advisor.gate.compare import compare
from advisor.gate.policy import Policy, Waiver
from advisor.gate.runs import load_run
from advisor.measure.statistics import Interval
from tests.report.fusion_reports import report

if TYPE_CHECKING:
    from pathlib import Path


def closed(schema: Any) -> Any:
    """SCHEMA without room for keys that it does not describe, except where it says that there are others."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(part) for key, part in schema.items()}
    # A property may have the name of a keyword: only an object with a type has its properties here.
    return {"additionalProperties": False} | parts if "properties" in parts and "type" in parts else parts


def check(document: Any, name: str) -> None:
    schema = json.loads((files("advisor.report") / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(json.dumps(document, allow_nan=False)), closed(schema))


def test_a_key_that_is_not_described_is_found() -> None:
    with pytest.raises(jsonschema.ValidationError, match="surprise"):
        check(report().to_dict() | {"surprise": 1}, "fusion-1")


@pytest.mark.parametrize("sample", ["launch_bound_decode", "cuda_graph_replay", "gpu_bound_cnn", "sync_bound_loop"])
def test_analyses(samples: Path, sample: str) -> None:
    check(advisor.analyze(advisor.read_trace(samples / f"{sample}.sqlite")).to_dict(), "analysis-1")


def test_baselines_and_comparisons(samples: Path) -> None:
    before, after = (load_run(samples / f"{name}.sqlite") for name in ("launch_bound_decode", "sync_bound_loop"))
    check(record([before], reason="first").to_dict(), "baseline-1")
    waiver = Waiver("*/launch_calls", "planned", date(2027, 1, 31))
    policy = Policy(
        budgets={"gap_ratio": 0.2}, graphs={"step": {"budgets": {"launches": 1.0}}}, waivers=(waiver,), source="a.toml"
    )
    for runs in ((before, before), (before, after), (after, before)):
        check(compare(runs[:1], runs[1:], policy, today=date(2027, 1, 1)).to_dict(), "comparison-1")


def test_fusion_reports() -> None:
    made = report()
    screened = replace(made.fusions[0], screened=Interval(0.9, 0.88, 0.93))
    check(replace(made, fusions=(screened, *made.fusions[1:])).to_dict(), "fusion-1")
    check(replace(made, changed=False, fused=made.model).to_dict(), "fusion-1")

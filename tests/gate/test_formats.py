"""What CI systems read: valid by their schemas, and safe whatever a kernel or a range is called."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from advisor.gate.baseline import record
from advisor.gate.compare import compare
from advisor.gate.measures import MEASURES, Unit
from advisor.gate.policy import Policy, Thresholds, Waiver
from advisor.gate.result import Comparison, GraphResult, MeasureResult, Status
from advisor.report.comparison_annotations import comparison_annotations
from advisor.report.comparison_text import render_baseline, render_comparison
from advisor.report.comparison_words import amount, shown_measures
from advisor.report.formats import COMPARISON
from advisor.words import percent
from sample_traces.operations import Launch, Synchronize
from tests.gate.simulated import loop, recording, step

SCHEMAS = Path(__file__).parent / "schemas"
JUNIT = xmlschema.XMLSchema(SCHEMAS / "junit.xsd")
SARIF = jsonschema.Draft202012Validator(
    json.loads((SCHEMAS / "sarif.json").read_text(encoding="utf-8")), format_checker=jsonschema.FormatChecker()
)

BASE = recording(loop(step(), step(name="other")))
WORSE = recording(loop(step(Launch("extra", 1_000)), step(Synchronize(), name="other")))


def schema(name: str) -> Any:
    return json.loads((files("advisor.report") / "schemas" / f"{name}.json").read_text(encoding="utf-8"))


def comparisons() -> dict[str, Comparison]:
    waiver = Policy(waivers=(Waiver("other/*", "planned", date(2100, 1, 1)),), budgets={"kernels": 3.0})
    return {
        "pass": compare([BASE], [BASE]),
        "fail": compare([BASE], [WORSE]),
        "waived and over budget": compare([BASE], [WORSE], waiver),
        "undecided": compare([BASE], [replace(BASE, gpus=("Another",))]),
        "budgets only": compare([], [BASE], Policy(budgets={"gap_ratio": 0.99})),
        "budget unknown": compare([], [BASE], Policy(budgets={"latency": 1.0})),
    }


def written(option: str, comparison: Comparison) -> str:
    file = StringIO()
    next(form for form in COMPARISON if form.option == option).write(comparison, file)
    return file.getvalue()


COMPARISONS = comparisons()
every = pytest.mark.parametrize("comparison", COMPARISONS.values(), ids=COMPARISONS.keys())


@every
def test_junit_is_valid_and_counts_right(comparison: Comparison) -> None:
    text = written("junit", comparison)
    JUNIT.validate(text)
    assert int(re.findall(r'failures="(\d+)"', text)[0]) == text.count("<failure ")
    assert int(re.findall(r'errors="(\d+)"', text)[0]) == text.count("<error ")
    assert int(re.findall(r'tests="(\d+)"', text)[0]) == text.count("<testcase ")
    assert ("<failure " in text) == (comparison.verdict.exit_code == 1)


@every
def test_sarif_is_valid(comparison: Comparison) -> None:
    document = json.loads(written("sarif", comparison))
    SARIF.validate(document)
    (run,) = document["runs"]
    errors = [result for result in run["results"] if result["level"] == "error"]
    assert bool(errors) == (comparison.verdict.exit_code == 1)
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_an_alert_is_found_again_in_the_next_run() -> None:
    def prints(comparison: Comparison) -> list[str]:
        results = json.loads(written("sarif", comparison))["runs"][0]["results"]
        return [result["partialFingerprints"]["graphMeasure/v1"] for result in results]

    fail = prints(COMPARISONS["fail"])
    assert fail == prints(compare([BASE], [WORSE]))
    assert len(set(fail)) == len(fail)


@every
def test_json_is_valid(comparison: Comparison) -> None:
    document = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    jsonschema.validate(document, schema("comparison-1"))
    assert document["exit_code"] == comparison.verdict.exit_code


def test_a_baseline_is_valid(tmp_path: Path) -> None:
    made = record([BASE, BASE], reason="first")
    made.write(tmp_path / "base.json")
    document = json.loads((tmp_path / "base.json").read_text(encoding="utf-8"))
    assert document == json.loads(json.dumps(made.to_dict()))
    jsonschema.validate(document, schema("baseline-1"))


def test_what_a_baseline_shows_is_of_all_its_runs(tmp_path: Path) -> None:
    """One run in which the host is quick, two in which it is slow, and a graph that only the last one has."""
    quick, slow = recording(loop(step(host_ns=1))), recording(loop(step(host_ns=50_000)))
    last = recording(loop(step(host_ns=50_000), step(name="late")))
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    made = record([quick, slow, last], reason="first")
    console.print(render_baseline(made, tmp_path / "base.json", None, console.width))
    rows = {line.split()[0]: line for line in console.export_text().splitlines() if line.strip()}
    (samples,) = slow.samples
    assert percent(float(np.median(MEASURES["gap_ratio"].of(samples)))) in rows["step"]
    assert "late" in rows


@every
def test_annotations_are_workflow_commands(comparison: Comparison) -> None:
    lines = list(comparison_annotations(comparison))
    for line in lines:
        assert re.fullmatch(r"::(error|warning|notice) title=[^:,\r\n]*::[^\r\n]*", line)
    errors = [line for line in lines if line.startswith("::error")]
    assert bool(errors) == (comparison.verdict.exit_code == 1)


def test_what_failed_is_told_everywhere() -> None:
    fail = COMPARISONS["fail"]
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(render_comparison(fail, console.width))
    texts = [
        console.export_text(),
        written("markdown", fail),
        written("junit", fail),
        written("sarif", fail),
        "".join(comparison_annotations(fail)),
    ]
    for text in texts:
        assert "kernels" in text
        assert "extra" in text
        assert "synchronisations" in text


def test_how_long_a_run_takes_is_told_once() -> None:
    before, after = ([recording(loop(step(duration=ns, host_ns=1_000)))] for ns in (40_000, 60_000))
    comparison = compare(before, after)
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(render_comparison(comparison, console.width, verdict=False))
    terminal, markdown = console.export_text(), written("markdown", comparison)
    assert terminal.count("time of a run") == markdown.count("time of a run") == 1
    for text in (terminal, markdown, *(written(option, comparison) for option in ("json", "junit", "sarif"))):
        assert "span" not in text
    judged = compare(before, after, Policy(Thresholds(judge=("span",))))
    assert "span, with waits for earlier runs" in written("markdown", judged)


nasty = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30) | st.sampled_from(
    (
        "::error::owned",
        "a\n::set-output name=x::y",
        "%0A::error::x",
        "<script>alert(1)</script>",
        "](javascript:x) | `x`\n# h",
        "\x1b[31mred\x00",
        "]]>&<!--",
        "\u202eevil",
    )
)


def called(name: str) -> Comparison:
    row = MeasureResult("fusible_gap", Unit.NS, Status.REGRESSED, "distribution", 1e5, 2e5, low=9e4, high=1.1e5)
    graph = GraphResult(name, "nvtx", Status.REGRESSED, name, ((9,), (9,)), None, (row,), (name, 1, 2))
    return Comparison((graph,), undecided=((name, name),), notes=(name,), environment=((name, name, name),))


@given(nasty)
@settings(max_examples=150, deadline=None)
def test_names_are_data(name: str) -> None:
    comparison = called(name)
    JUNIT.validate(written("junit", comparison))
    SARIF.validate(json.loads(written("sarif", comparison)))
    for line in comparison_annotations(comparison):
        assert "\n" not in line
        assert "\r" not in line
        assert re.match(r"::(error|warning) title=[^:,]*::", line)
    markdown = written("markdown", comparison)
    inside_fence = re.sub(r"```sh\n.*?\n```", "", markdown, flags=re.DOTALL)
    assert not re.search(r"<(?!/?(details|summary)>|!-- -->|!-- advisor -->)", inside_fence)
    assert not re.search(r"(?<!\\)\]\(", inside_fence)
    assert "\x1b" not in markdown
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(render_comparison(comparison, console.width))
    assert "\x1b" not in console.export_text()


@pytest.mark.parametrize("columns", [40, 50, 60, 80, 120])
def test_the_terminal_fits_and_no_name_is_lost(columns: int) -> None:
    console = Console(width=columns, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    fail = COMPARISONS["fail"]
    console.print(render_comparison(fail, columns))
    text = console.export_text()
    lines = text.splitlines()
    assert lines[0].startswith("FAILED")
    assert max(map(len, lines)) <= columns
    for graph in fail.graphs:
        for row in shown_measures(graph):
            assert all(word in text for word in row.title.split())
            assert f"{amount(row.unit, row.baseline)} → {amount(row.unit, row.current)}" in text


@pytest.mark.parametrize("columns", [40, 80])
def test_a_baseline_fits_too(columns: int) -> None:
    console = Console(width=columns, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(render_baseline(record([BASE], reason="first"), Path("base.json"), None, columns))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= columns
    assert all(word in text for word in ("step", "other", "kernels", "executions", "fusible gap", "gap ratio"))

"""A comparison as JUnit XML: one test case a measure, so that CI systems list regressions as failed tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from advisor.gate.result import Status
from advisor.report.comparison_words import amount, findings
from advisor.words import plain

if TYPE_CHECKING:
    from typing import TextIO

    from advisor.gate.result import Comparison
    from advisor.report.comparison_words import Finding

__all__ = ["write"]

SUITE = "advisor gate"
# What XML 1.0 cannot hold.
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(comparison: Comparison, file: TextIO) -> None:
    """Write an XML document: failures are regressions and exceeded budgets, errors what could not be decided."""
    found = {finding.id: finding for finding in findings(comparison)}
    suite = ET.Element("testsuite", name=SUITE)
    counts = {"failure": 0, "error": 0, "skipped": 0}
    tests = 0
    for graph in comparison.graphs:
        for row in graph.measures:
            if row.basis == "shown" and row.status is not Status.REGRESSED:
                continue
            case = _case(suite, graph.name, row.measure)
            tests += 1
            _outcome(case, found.pop(f"{graph.name}/{row.measure}", None), counts)
            values = f"{row.title}: {amount(row.unit, row.baseline)} → {amount(row.unit, row.current)}"
            ET.SubElement(case, "system-out").text = _text(values)
    for finding in found.values():
        _outcome(_case(suite, finding.graph or "runs", finding.id.rsplit("/", 1)[-1]), finding, counts)
        tests += 1
    for budget in comparison.budgets:
        if budget.status is Status.UNCHANGED:
            _case(suite, budget.graph, f"budget {budget.key}")
            tests += 1
    if not tests:
        _case(suite, "runs", "comparison")
        tests = 1
    totals = {
        "tests": str(tests),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
        "time": "0",
    }
    suite.attrib.update(totals)
    suites = ET.Element("testsuites", {"name": SUITE, **{key: totals[key] for key in ("tests", "failures", "errors")}})
    suites.append(suite)
    ET.indent(suites)
    file.write('<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n")


def _case(suite: ET.Element, graph: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=_text(graph), name=_text(name), time="0")


def _outcome(case: ET.Element, finding: Finding | None, counts: dict[str, int]) -> None:
    if finding is None:
        return
    kind = {"undecided": "error", "waived": "skipped", "unguarded": "skipped"}.get(finding.kind, "failure")
    counts[kind] += 1
    first = finding.message.partition("\n")[0]
    outcome = ET.SubElement(case, kind, message=_text(first))
    if kind != "skipped":
        outcome.set("type", finding.kind)
    outcome.text = _text(finding.message)


def _text(text: str) -> str:
    return _INVALID.sub("\N{REPLACEMENT CHARACTER}", "\n".join(plain(line) for line in text.split("\n")))

"""A comparison as SARIF 2.1.0: regressions as code-scanning alerts, found again by their fingerprint."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from advisor.gate.measures import MEASURES
from advisor.gate.result import Verdict, advisor_version
from advisor.report.comparison_words import findings
from advisor.words import plain

if TYPE_CHECKING:
    from typing import TextIO

    from advisor.gate.result import Comparison

__all__ = ["write"]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"regression": "error", "budget": "error", "undecided": "warning", "unguarded": "note", "waived": "note"}


def write(comparison: Comparison, file: TextIO) -> None:
    """Write a JSON document. Alerts stand at the baseline's file, or the policy's: a trace is no source file."""
    place = comparison.baseline or comparison.policy.get("source") or "advisor.toml"
    found = findings(comparison)
    rules = list(dict.fromkeys(_rule(finding.id, finding.kind) for finding in found))
    results: list[dict[str, Any]] = []
    for finding in found:
        rule = _rule(finding.id, finding.kind)
        result = {
            "ruleId": rule,
            "ruleIndex": rules.index(rule),
            "level": LEVELS[finding.kind],
            "message": {"text": "\n".join(plain(line) for line in finding.message.split("\n"))},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(os.fsencode(PurePath(place).as_posix()))},
                        "region": {"startLine": 1},
                    },
                    "logicalLocations": [{"name": plain(finding.graph or "runs"), "kind": "function"}],
                }
            ],
            "partialFingerprints": {
                "graphMeasure/v1": hashlib.sha256(finding.id.encode("utf-8", "replace")).hexdigest()
            },
        }
        if finding.kind == "waived":
            result["suppressions"] = [{"kind": "external", "justification": result["message"]["text"]}]  # type: ignore[index]
        results.append(result)
    driver: dict[str, Any] = {"name": "advisor gate", "rules": [_description(rule) for rule in rules]}
    if advisor_version() is not None:
        driver["semanticVersion"] = advisor_version()
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": comparison.verdict is not Verdict.UNDECIDED,
                "exitCode": comparison.verdict.exit_code,
            }
        ],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    file.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def _rule(identity: str, kind: str) -> str:
    measure = identity.rsplit("/", 1)[-1]
    return f"budget/{measure}" if kind == "budget" else measure


def _description(rule: str) -> dict[str, Any]:
    measure = MEASURES.get(rule.removeprefix("budget/"))
    title = measure.title if measure else rule.removeprefix("budget/").replace("_", " ")
    text = f"{title} over its budget" if rule.startswith("budget/") else f"{title} regressed"
    if rule == "undecided":
        text = "the runs cannot be compared"
    if rule == "unguarded":
        text = "no time could be a regression, only counts"
    return {"id": rule, "shortDescription": {"text": text}}

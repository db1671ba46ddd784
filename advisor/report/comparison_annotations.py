"""A comparison as annotations of a GitHub Actions job: workflow commands on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.report.comparison_words import findings
from advisor.words import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.gate.result import Comparison

__all__ = ["comparison_annotations"]

COMMANDS = {
    "regression": "error",
    "budget": "error",
    "undecided": "warning",
    "unguarded": "warning",
    "waived": "notice",
}
MOST = 10
"""GitHub shows ten annotations of each kind for a step."""


def comparison_annotations(comparison: Comparison) -> Iterator[str]:
    """One line each; names in them cannot start another command."""
    used = dict.fromkeys(COMMANDS.values(), 0)
    for finding in findings(comparison):
        command = COMMANDS[finding.kind]
        used[command] += 1
        if used[command] <= MOST:
            message = "\n".join(plain(line) for line in finding.message.split("\n"))
            yield f"::{command} title={_property(f'advisor gate: {finding.title}')}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(plain(text)).replace(":", "%3A").replace(",", "%2C")

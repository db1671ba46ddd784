"""A finding and the rule that makes it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from advisor.trace.candidates import Saving
    from advisor.trace.findings.facts import Facts

__all__ = [
    "HIGH",
    "HIGH_SHARE",
    "INFO",
    "MEDIUM",
    "MEDIUM_SHARE",
    "OR_VERDICT",
    "SEVERITIES",
    "Finding",
    "Rule",
    "severity",
]

HIGH, MEDIUM, INFO = "high", "medium", "info"

SEVERITIES: Mapping[str, str] = {
    HIGH: "it costs a fifth of the time or more, or nothing can be decided without it: look here first",
    MEDIUM: "it costs between a twentieth and a fifth of the time",
    INFO: "good to know: it costs less, or says what would not help",
}
"""What each severity means, the worst first."""

OR_VERDICT = " It is told too where it is the verdict on a graph, whatever its share."
"""Ends the condition of every rule that has a least share."""

HIGH_SHARE = 0.20
MEDIUM_SHARE = 0.05


def severity(share: float) -> str:
    """How much a SHARE of the time matters."""
    return HIGH if share >= HIGH_SHARE else MEDIUM if share >= MEDIUM_SHARE else INFO


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that the trace shows and that somebody should know."""

    id: str
    """The rule's; `advisor explain ID` prints its page."""
    severity: str
    graph: str | None
    """None where it is about the whole trace, or about the time between runs."""
    message: str
    """One or two plain sentences with numbers."""
    advice: str
    saving_ns: Saving | None
    """Predicted, at least and at most, ns per run (of the graph; else over the whole trace). None: not predicted."""
    evidence: dict[str, Any]
    """What the message rests on, as plain values."""


@dataclass(frozen=True, slots=True)
class Rule:
    """When to say what. The texts are its page."""

    id: str
    title: str
    means: str
    """What it means for who reads it."""
    found: str
    """The exact condition."""
    advice: str
    doubt: str
    """When it is wrong, or does not matter."""
    find: Callable[[Facts], Iterable[Finding]]

    def page(self, width: int = 88) -> str:
        """The rule's page as plain text, at most WIDTH columns wide."""
        parts = [textwrap.fill(f"{self.id}: {self.title}", width)]
        sections = {
            "What it means": self.means,
            "How it is found": self.found,
            "What to do": self.advice,
            "When it is wrong": self.doubt,
        }
        for heading, text in sections.items():
            parts += ["", heading, textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ")]
        return "\n".join(parts)

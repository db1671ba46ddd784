"""The forms in which results are written to files: for each kind of result a list, with a line for every form."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["ANALYSIS", "COMPARISON", "FUSION", "PROFILE", "VERIFICATION", "Format"]


class Format(NamedTuple):
    """A form of report."""

    option: str
    """`advisor COMMAND --OPTION FILE` writes it."""
    module: str
    """In this package; its `write(result, file)` writes the report to a text file."""
    help: str

    def write(self, result: Any, file: TextIO) -> None:
        """Write RESULT to FILE."""
        import_module(f"advisor.report.{self.module}").write(result, file)


JSON = Format("json", "document", "Everything, for programs.")

ANALYSIS = (
    JSON,
    Format("html", "analysis_html", "A page to look at, with a timeline; it needs no network."),
    Format("markdown", "analysis_markdown", "A summary for pull requests and job summaries."),
    Format("perfetto", "analysis_perfetto", "The selected part of the trace for ui.perfetto.dev or chrome://tracing."),
)
FUSION = (
    JSON,
    Format("html", "fusion_html", "A page to look at; it needs no network."),
    Format("markdown", "fusion_markdown", "A summary for pull requests and job summaries."),
)
VERIFICATION = (
    JSON,
    Format("markdown", "verification_markdown", "A summary for pull requests and job summaries."),
)
PROFILE = (JSON,)
COMPARISON = (
    JSON,
    Format("markdown", "comparison_markdown", "A summary for pull requests and job summaries."),
    Format("junit", "comparison_junit", "JUnit XML: a test case for every measure."),
    Format("sarif", "comparison_sarif", "SARIF 2.1.0, for code scanning."),
)

"""The forms in which results are written to files: for each kind of result a list, with a line for every form."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from advisor.output import MARKDOWN_BEGINS, Kind

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
    kind: Kind
    """What the file then holds."""

    def write(self, result: Any, file: TextIO) -> None:
        """Write RESULT to FILE."""
        if self.kind is Kind.MARKDOWN:
            file.write(MARKDOWN_BEGINS)
        import_module(f"advisor.report.{self.module}").write(result, file)


JSON = Format("json", "document", "Everything, for programs.", Kind.JSON)

ANALYSIS = (
    JSON,
    Format("html", "analysis_html", "A page to look at, with a timeline; it needs no network.", Kind.HTML),
    Format("markdown", "analysis_markdown", "A summary for pull requests and job summaries.", Kind.MARKDOWN),
    Format(
        "perfetto",
        "analysis_perfetto",
        "The selected part of the trace for ui.perfetto.dev or chrome://tracing.",
        Kind.PERFETTO,
    ),
)
FUSION = (
    JSON,
    Format("html", "fusion_html", "A page to look at; it needs no network.", Kind.HTML),
    Format("markdown", "fusion_markdown", "A summary for pull requests and job summaries.", Kind.MARKDOWN),
)
VERIFICATION = (
    JSON,
    Format("markdown", "verification_markdown", "A summary for pull requests and job summaries.", Kind.MARKDOWN),
)
PROFILE = (JSON,)
COMPARISON = (
    JSON,
    Format("markdown", "comparison_markdown", "A summary for pull requests and job summaries.", Kind.MARKDOWN),
    Format("junit", "comparison_junit", "JUnit XML: a test case for every measure.", Kind.JUNIT),
    Format("sarif", "comparison_sarif", "SARIF 2.1.0, for code scanning.", Kind.SARIF),
)

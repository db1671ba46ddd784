"""The forms in which an analysis is written to a file: one module each, one line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import TextIO

    from advisor.trace.analysis import Analysis

__all__ = ["FORMATS", "Format"]


class Format(NamedTuple):
    """A form of report."""

    option: str
    """`advisor analyze --OPTION FILE` writes it."""
    module: str
    """In this package; its `write(analysis, file)` writes the report to a text file."""
    help: str

    def write(self, analysis: Analysis, file: TextIO) -> None:
        """Write ANALYSIS to FILE."""
        import_module(f"advisor.report.{self.module}").write(analysis, file)


FORMATS = (
    Format("json", "analysis_json", "The whole analysis, for programs."),
    Format("html", "analysis_html", "A page to look at, with a timeline; it needs no network."),
    Format("markdown", "analysis_markdown", "A summary for pull requests and job summaries."),
    Format("perfetto", "analysis_perfetto", "The selected part of the trace for ui.perfetto.dev or chrome://tracing."),
)

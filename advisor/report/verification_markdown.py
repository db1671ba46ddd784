"""The comparison of two models as Markdown, for pull requests and job summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.report import verification_words as words
from advisor.report.markdown import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from advisor.fuse.compare import ModelComparison

__all__ = ["write"]


def write(comparison: ModelComparison, file: TextIO) -> None:
    """Write the summary."""
    file.write("\n".join(_lines(comparison)).rstrip() + "\n")


def _lines(comparison: ModelComparison) -> Iterator[str]:
    yield from (f"## {escaped(words.headline(comparison))}", "")
    renamed = words.renamed(comparison)
    if renamed is not None:
        yield f"- {escaped(renamed)}"
    yield from (f"- {escaped(line)}" for line in words.summary(comparison))
    departure = [escaped(line) for line in words.departure(comparison)]
    if departure:
        yield from ("", departure[0], "", *(f"- {line}" for line in departure[1:]))
    if comparison.notes:
        yield from ("", "### Notes", "", *(f"- {escaped(note)}" for note in comparison.notes))

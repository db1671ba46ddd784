"""The comparison of two models in a terminal: verdict first, then where they part, and what to know besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from advisor.report import verification_words as words
from advisor.words import plain

if TYPE_CHECKING:
    from rich.console import RenderableType

    from advisor.fuse.compare import ModelComparison

__all__ = ["render_verification"]


def render_verification(comparison: ModelComparison) -> RenderableType:
    """What `advisor verify` prints."""
    text = Text(words.headline(comparison), style="bold")
    renamed = words.renamed(comparison)
    body = Text("\n" + "\n".join(words.summary(comparison)))
    parts = [text, Text(f"\n{renamed}", style="yellow"), body] if renamed else [text, body]
    colour = "red" if not comparison.equal else "yellow" if comparison.is_coarse else "green"
    panel = Panel(Text.assemble(*parts), border_style=colour, box=box.ROUNDED)
    departure = (Text(f"  {line}" if number else line) for number, line in enumerate(words.departure(comparison)))
    notes = (Text(f"note: {plain(note)}", style="yellow") for note in comparison.notes)
    return Group(panel, *departure, *notes)

"""Tables in a terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table

__all__ = ["titled"]


def titled(title: str) -> Table:
    """An empty table under its title, no wider than what it holds."""
    return Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, expand=False
    )

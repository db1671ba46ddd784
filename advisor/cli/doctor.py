"""`advisor doctor`."""

from __future__ import annotations

__all__ = ["doctor"]


def doctor() -> None:
    """Tell what this machine can do: providers that really load, GPU and driver, nsys, optional packages."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from advisor.measure.machine import examine
    from advisor.words import plain

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for fact in examine():
        mark = Text("yes", style="green") if fact.works else Text("no", style="yellow")
        words = plain(fact.detail) + (f" ({fact.advice})" if fact.advice else "")
        table.add_row(fact.subject, mark, Text(words))
    Console().print(table)

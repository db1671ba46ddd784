"""`advisor doctor`."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from advisor.cli.reports import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType
    from rich.text import Text

    from advisor.measure.machine import Fact

__all__ = ["doctor"]

NARROW = 60
"""In fewer columns a table would cut names and commands."""
_COMMAND = re.compile(r"pip install \S+")


def doctor() -> None:
    """Tell what this machine can do: providers that really load, GPU and driver, nsys, optional packages."""
    from advisor.measure.machine import examine

    facts = list(examine())
    show(lambda width: _listed(facts, width) if width < NARROW else _table(facts))


def _table(facts: Sequence[Fact]) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for fact in facts:
        table.add_row(fact.subject, _mark(fact), Text(_words(fact)))
    return table


def _listed(facts: Sequence[Fact], width: int) -> RenderableType:
    """Each fact on lines of its own, in which no word and no command is broken."""
    from rich.console import Group
    from rich.text import Text

    wrapper = textwrap.TextWrapper(
        width, initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    lines: list[Text] = []
    for fact in facts:
        words = _COMMAND.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), _words(fact))
        lines.append(Text(f"{fact.subject}: ").append(_mark(fact)))
        lines.append(Text(wrapper.fill(words).replace("\N{NO-BREAK SPACE}", " "), no_wrap=True, overflow="ignore"))
    return Group(*lines)


def _mark(fact: Fact) -> Text:
    from rich.text import Text

    return Text("yes", style="green") if fact.works else Text("no", style="yellow")


def _words(fact: Fact) -> str:
    from advisor.words import plain

    return plain(fact.detail) + (f" ({fact.advice})" if fact.advice else "")

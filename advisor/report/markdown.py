"""Text for Markdown as GitHub and GitLab read it. Names come from strangers: none may become markup or call anybody."""

from __future__ import annotations

import re

from advisor.words import plain

__all__ = ["code", "escaped", "prose", "row"]

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}
_SPECIAL = re.compile(r"[\\`*_\[\]~$#]|^[-+=]|(?<=^\d)[.)]|(?<=^\d\d)[.)]")
_REFERENCE = re.compile(r"(@|\\#)(?=\w)")


def escaped(text: str) -> str:
    """TEXT as itself, at the beginning of a line and in a table too."""
    text = "".join(_ENTITIES.get(letter, letter) for letter in _SPECIAL.sub(r"\\\g<0>", plain(text)))
    # An empty comment of HTML between the sign and the name: the person or issue of that name would hear of the report.
    return _REFERENCE.sub(r"\1<!-- -->", text)


def code(text: str) -> str:
    """TEXT as code."""
    text = plain(text) or " "
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    # Without a space a backtick at either end would be part of the fence, and spaces at both ends would be lost.
    space = " " if text.strip() != text or text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def prose(text: str) -> str:
    """Sentences of the program, in which names stand between backticks."""
    parts = text.split("`")
    return "".join(code(part) if index % 2 and part else escaped(part) for index, part in enumerate(parts))


def row(*cells: str) -> str:
    """A row of a table; the cells are Markdown."""
    # A bar ends a cell even inside code.
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

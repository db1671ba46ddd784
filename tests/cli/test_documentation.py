"""What README and docs tell to type exists, and every option of a command is told on the command's page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import typer

from advisor.cli import app
from tests.conftest import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

PAGES = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
COMMANDS: dict[str, list[list[str]]] = {
    name: [parameter.opts for parameter in command.params if parameter.opts[0].startswith("-")]
    for name, command in typer.main.get_command(app).commands.items()  # type: ignore[attr-defined]
}
"""The options of each command, each with all its spellings."""
PAGE_OF = {"baseline": "gate", "diff": "gate"}


def written(text: str) -> list[tuple[str, list[str]]]:
    """Every command line in code: the command, and its options. Shell comments and what follows a pipe do not count."""
    lines = [line for line in text.splitlines() if line.startswith(("    ", "advisor "))]
    found = []
    for code in (*lines, *re.findall(r"`([^`\n]+)`", text)):
        for call in re.findall(r"(?:^|\s)advisor ([a-z-]+)((?: [^|#>]*)?)", code):
            found.append((call[0], re.findall(r"(?<=\s)--?[a-z][a-z-]*", call[1])))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_told_to_type_exists(page: Path) -> None:
    for command, options in written(page.read_text(encoding="utf-8")):
        assert command in COMMANDS
        assert set(options) <= {"--help", *(name for names in COMMANDS[command] for name in names)}, command


@pytest.mark.parametrize("command", ["analyze", "baseline", "diff", "fuse", "gate", "profile", "verify"])
def test_every_option_is_on_the_command_s_page(command: str) -> None:
    text = (REPOSITORY / "docs" / f"{PAGE_OF.get(command, command)}.md").read_text(encoding="utf-8")
    told = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))
    assert [names for names in COMMANDS[command] if "--help" not in names and told.isdisjoint(names)] == []

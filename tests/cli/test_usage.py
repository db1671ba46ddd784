"""What a wrong command line, and a reader that goes away, are answered with."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Advisor


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fuse",), "Missing argument"),
        (("fuse", "--foo", "x"), "No such option: --foo"),
        (("frobnicate",), "No such command 'frobnicate'"),
        (("analyze", "x", "--top", "0"), "--top"),
        (("analyze", "x", "--top", "many"), "'many' is not a whole number"),
        (("analyze", "x", "--threshold", "much"), "no ratio: write 0.2 or 20%"),
        (("fuse", "x", "--batch-sizes", "1,0"), "no list of sizes"),
        (("fuse", "x", "--batch-sizes", "1;2"), "no list of sizes"),
        (("fuse", "x", "--html", "-", "--json", "-"), "both write to -"),
    ],
)
def test_a_wrong_command_line_is_one_line(advisor_command: Advisor, arguments: tuple[str, ...], words: str) -> None:
    result = advisor_command(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_without_a_command_the_help_is_shown(advisor_process: Advisor) -> None:
    result = advisor_process()
    assert result.returncode == 0
    assert "analyze" in result.stdout


@pytest.mark.parametrize("columns", [60, 80])
def test_help_fits_the_terminal_and_loses_no_default(advisor_command: Advisor, columns: int) -> None:
    """A default between brackets is no markup."""
    shown = advisor_command("gate", "--help", columns=columns).stdout
    assert max(map(len, shown.splitlines())) <= columns
    assert "[default: 5%]" in " ".join(shown.split())
    overview = advisor_command("--help", columns=columns).stdout
    assert max(map(len, overview.splitlines())) <= columns
    assert "..." not in overview.partition("Commands:")[2]


@pytest.mark.parametrize("command", ["analyze {trace}", "analyze {trace} --json -"])
def test_a_reader_that_goes_away_is_no_verdict(samples: Path, command: str) -> None:
    line = command.format(trace=samples / "launch_bound_decode.sqlite")
    script = f"{sys.executable} -m advisor {line} | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.returncode == 141

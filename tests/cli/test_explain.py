"""`advisor explain`, and the findings in the report that it explains."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from advisor.trace.findings import RULES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Advisor

DECODE = "launch_bound_decode.sqlite"
SYNC = "sync_bound_loop.sqlite"


@pytest.mark.parametrize("columns", [40, 80])
def test_without_an_id_it_lists_all_of_them(advisor_command: Advisor, columns: int) -> None:
    lines = advisor_command("explain", columns=columns).stdout.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(RULES)
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_page_fits_the_terminal(advisor_command: Advisor, columns: int) -> None:
    result = advisor_command("explain", "launch-bound", columns=columns)
    assert result.returncode == 0
    assert result.stdout.startswith("launch-bound: ")
    assert max(map(len, result.stdout.splitlines())) <= columns
    assert "How it is found" in result.stdout


def test_an_unknown_id_is_one_line_that_names_the_known(advisor_command: Advisor) -> None:
    result = advisor_command("explain", "slow")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: no finding 'slow'")
    assert result.stderr.count("\n") == 1
    assert all(rule in result.stderr for rule in RULES)


@pytest.mark.parametrize("columns", [40, 80])
def test_what_to_do_stands_right_below_the_verdict(advisor_command: Advisor, samples: Path, columns: int) -> None:
    lines = advisor_command("analyze", samples / SYNC, columns=columns).stdout.splitlines()
    assert max(map(len, lines)) <= columns
    below = next(number for number, line in enumerate(lines) if line.startswith("╰")) + 1
    assert lines[below].strip() == "What to do"
    assert lines[below + 1].startswith("sync-bound (high): ")
    told = re.findall(r"^([a-z-]+) \((?:high|medium|info)\): ", "\n".join(lines), re.MULTILINE)
    assert 0 < len(told) <= 3
    assert set(told) <= set(RULES)


def test_more_findings_are_told_when_asked_for(advisor_command: Advisor, samples: Path) -> None:
    one = advisor_command("analyze", samples / SYNC, "--findings", "1").stdout
    assert "launch-bound (medium)" not in one
    assert "more with --findings 2" in " ".join(one.split())
    both = advisor_command("analyze", samples / SYNC, "--findings", "2").stdout
    assert "launch-bound (medium)" in both
    assert "more with --findings" not in both


def test_chains_and_both_levers_stand_side_by_side(advisor_command: Advisor, samples: Path) -> None:
    report = advisor_command("analyze", samples / DECODE).stdout
    row = next(line for line in report.splitlines() if line.strip().startswith("reduce_matrix_columns → Add"))
    assert "5 \N{MULTIPLICATION SIGN}" in row
    assert "µs" in row
    footer = " ".join(report.split())
    assert re.search(r"All 21 chains of a run of decode_token: \d+ to \d+ µs\. CUDA graph capture instead: \d+", footer)

"""`advisor analyze --html FILE` and the like: one option for each format of reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from advisor.report.formats import ANALYSIS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Advisor

DECODE = "launch_bound_decode.sqlite"
BEGINS = {"json": "{", "html": "<!doctype html>", "markdown": "<!-- advisor -->\n## `decode_token` is", "perfetto": "{"}


def test_every_format_is_written_beside_the_report(advisor_command: Advisor, samples: Path, tmp_path: Path) -> None:
    options = [part for form in ANALYSIS for part in (f"--{form.option}", tmp_path / form.option)]
    result = advisor_command("analyze", samples / DECODE, *options)
    assert result.returncode == 0, result.stderr
    assert "Gap ratio" in result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(BEGINS)
    for option, begin in BEGINS.items():
        assert (tmp_path / option).read_text(encoding="utf-8").startswith(begin)


@pytest.mark.parametrize("option", BEGINS)
def test_a_dash_is_standard_output_and_nothing_else_is_there(
    advisor_command: Advisor, samples: Path, tmp_path: Path, option: str
) -> None:
    result = advisor_command("analyze", samples / DECODE, f"--{option}", "-")
    advisor_command("analyze", samples / DECODE, f"--{option}", tmp_path / "file")
    assert result.stdout == (tmp_path / "file").read_text(encoding="utf-8")
    if BEGINS[option] == "{":
        json.loads(result.stdout)


def test_the_summary_of_a_job_keeps_what_other_commands_wrote(
    advisor_command: Advisor, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# Before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert advisor_command("analyze", samples / DECODE, "--markdown", summary).returncode == 0
    assert summary.read_text(encoding="utf-8").startswith("# Before\n<!-- advisor -->\n## `decode_token` is")


def test_two_reports_in_one_place_are_refused_before_anything_is_read(advisor_command: Advisor, tmp_path: Path) -> None:
    result = advisor_command("analyze", tmp_path / "missing.sqlite", "--json", "-", "--markdown", "-")
    assert result.returncode == 2
    assert "--json and --markdown both write to -" in result.stderr


@pytest.mark.parametrize("command", ["analyze", "fuse", "gate", "profile", "verify"])
def test_a_report_that_cannot_be_written_is_refused_before_anything_is_read(
    advisor_command: Advisor, tmp_path: Path, command: str
) -> None:
    """The inputs do not exist either: what is said first is what was looked at first."""
    inputs = ["missing.onnx", "other.onnx"] if command == "verify" else ["missing"]
    result = advisor_command(command, *inputs, "--json", tmp_path / "nowhere" / "report.json")
    assert result.returncode == 2
    assert f"there is no folder {tmp_path / 'nowhere'}" in result.stderr
    assert f"{tmp_path} is a directory" in advisor_command(command, *inputs, "--json", tmp_path).stderr


def test_help_names_every_format(advisor_command: Advisor) -> None:
    shown = advisor_command("analyze", "--help").stdout
    for form in ANALYSIS:
        assert f"--{form.option}" in shown

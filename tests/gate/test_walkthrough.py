"""docs/ci.md as its reader follows it: every command, in order, in a fresh folder."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What the commands need of a clone, with `advisor` and `python` on the PATH."""
    folder = tmp_path / "clone"
    folder.mkdir()
    shutil.copytree(ROOT / "sample_traces", folder / "sample_traces", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "my-project").mkdir()
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name, command in (("advisor", "-m advisor"), ("python", "")):
        script = bin_folder / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {command} "$@"\n', encoding="utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return folder


def test_the_walk_through(clone: Path) -> None:
    environment = os.environ | {
        "PATH": f"{clone.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{clone}{os.pathsep}{ROOT}",
        "COLUMNS": "80",
    }
    environment.pop("GITHUB_ACTIONS", None)
    commands = [line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
    assert len(commands) >= 12
    said = ""
    for line in commands:
        command, _, code = line.partition("  # exit ")
        result = subprocess.run(
            ["sh", "-c", command], cwd=clone, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        assert result.returncode == int(code or 0), f"{command}\n{result.stdout}{result.stderr}"
        said += result.stdout
    printed = {line.rstrip() for line in said.splitlines()}
    for block in re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL):
        for line in block.splitlines():
            assert line in printed, f"docs/ci.md shows a line that is not printed: {line}"
    assert {path.name for path in (clone / "my-project" / "ci").iterdir()} == {
        "launch-overhead.gitlab-ci.yml",
        "record-launch-overhead.sh",
    }

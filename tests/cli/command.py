"""The command line in this process: importing ONNX takes seconds in each new one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple, Protocol

from advisor.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class Command(Protocol):
    def __call__(self, *arguments: str | Path, columns: int = 80) -> Result: ...


def in_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: str | Path, columns: int = 80) -> Result:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "argv", ["advisor", *map(str, arguments)])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        assert isinstance(code, int)
        return Result(code, *capsys.readouterr())

    return run

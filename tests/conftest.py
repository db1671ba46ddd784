"""What several test modules need: the material beside the repository, and the command."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, settings

from advisor.cli import main

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED = REPOSITORY.parent / "shared"

# How long an example takes by the clock tells how busy the machine is: another process runs other tests.
settings.register_profile("advisor", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("advisor")


class Advisor(Protocol):
    """Runs `advisor` with ARGUMENTS; it prints into pipes, as if to a terminal of so many COLUMNS."""

    def __call__(
        self, *arguments: str | Path, columns: int = 80, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]: ...


def _variables(columns: int) -> dict[str, str]:
    """What the command needs in its environment, and the processes that it starts."""
    return {"COLUMNS": str(columns), "PYTHONPATH": str(REPOSITORY)}


def in_process(*arguments: str | Path, columns: int = 80, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in this process: importing NumPy, pandas and ONNX takes seconds in each new one."""
    command = ["advisor", *map(str, arguments)]
    code: object = 0
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(errors):
        patch.setattr(sys, "argv", command)
        for name, value in _variables(columns).items():
            patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    assert isinstance(code, int)
    for stream in (output, errors):
        stream.seek(0)
    return subprocess.CompletedProcess(command, code, output.read(), errors.read())


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real traces and models beside the repository."""
    if not SHARED.is_dir():
        pytest.skip("real traces and models lie in ../shared, which is not here")
    return SHARED


@pytest.fixture(scope="session")
def real_traces(shared: Path) -> Path:
    """The folder with real Nsight Systems exports."""
    return shared / "traces"


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder with the committed sample traces."""
    return REPOSITORY / "sample_traces"


@pytest.fixture(scope="session")
def advisor_command() -> Advisor:
    """The command, quick."""
    return in_process


@pytest.fixture(scope="session")
def advisor_process() -> Advisor:
    """The command in a process of its own, where that is a part of what is tested."""

    def run(*arguments: str | Path, columns: int = 80, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "advisor", *map(str, arguments)]
        environment = os.environ | _variables(columns)
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, cwd=cwd, timeout=300
        )

    return run

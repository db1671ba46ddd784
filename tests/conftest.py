"""What several test modules need: the material beside the repository, and the command as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED = REPOSITORY.parent / "shared"


class Advisor(Protocol):
    """Runs the command line in a process of its own."""

    def __call__(
        self, *arguments: str | Path, columns: int = 80, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]: ...


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
    def run(*arguments: str | Path, columns: int = 80, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"COLUMNS": str(columns), "PYTHONPATH": str(REPOSITORY)}
        command = [sys.executable, "-m", "advisor", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, cwd=cwd, timeout=300
        )

    return run

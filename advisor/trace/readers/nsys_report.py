"""Reports of Nsight Systems (`.nsys-rep`, before 2022 `.qdrep`), through an installed `nsys export`.

The report's own format is not public, and only `nsys` reads it: the SQLite export is made in a temporary folder, read,
and removed. A report's first line names the build that wrote it, `NVIDIA Tegra Profiler Report 2026@4@1@191-….`, since
some year; an older nsys than that cannot read it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import BadInput
from advisor.trace.readers.nsys import read_nsys_sqlite

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.trace.trace import Trace

__all__ = ["is_nsys_report", "read_nsys_report"]

MAGIC = b"NVIDIA Tegra Profiler Report"

TIME_LIMIT_S = 1800
"""nsys exports some ten megabytes of a report a second."""

ELSEWHERE = "export it where it was recorded: `nsys export --type sqlite"

_BUILD = re.compile(rb"Report (\d+)@(\d+)@(\d+)")
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def is_nsys_report(head: bytes) -> bool:
    """Whether a file that begins with HEAD is a report of Nsight Systems."""
    return head.startswith(MAGIC)


def read_nsys_report(path: Path, progress: Callable[[str], None] | None = None) -> Trace:
    """Read a report by exporting it. Nothing is written beside it.

    Args:
        path: The report.
        progress: Called with a few words before each longer step.

    Raises:
        BadInput: `nsys` is not installed, cannot read the report, or takes longer than `TIME_LIMIT_S`.
        CannotDecide: A report without work on a GPU.
    """
    say = progress or (lambda _words: None)
    nsys = shutil.which("nsys")
    if nsys is None:
        raise BadInput(
            f"{path} is a report of Nsight Systems, and reading it needs `nsys`, which is not installed: "
            f"install Nsight Systems, or {ELSEWHERE} {path.name}`"
        )
    with tempfile.TemporaryDirectory(prefix="advisor-") as folder:
        export = Path(folder) / "report.sqlite"
        say("exporting the report with nsys")
        _export(nsys, path, export)
        return replace(read_nsys_sqlite(export, progress), path=path, kind="nsys-rep")


def _export(nsys: str, path: Path, export: Path) -> None:
    command = [nsys, "export", "--type", "sqlite", "--output", str(export), str(path.absolute())]
    try:
        # In the temporary folder: what nsys writes beside its output, it writes there.
        done = subprocess.run(  # noqa: S603 - the user's own nsys, and no shell
            command,
            cwd=export.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadInput(f"`nsys export` of {path} took over {TIME_LIMIT_S // 60} minutes: {ELSEWHERE} …`") from None
    except OSError as error:
        raise BadInput(f"cannot run {nsys}: {error.strerror}") from None
    if done.returncode == 0 and export.is_file():
        return
    with path.open("rb") as file:
        built, installed = _BUILD.search(file.readline(200)), _installed(nsys)
    if built and installed and tuple(map(int, built.groups())) > installed:
        recorded, here = b".".join(built.groups()).decode(), ".".join(map(str, installed))
        raise BadInput(
            f"{path} was recorded by nsys {recorded}, which the installed nsys {here} cannot read: install that "
            f"version or a newer one, or {ELSEWHERE} {path.name}`"
        )
    # Progress bars end with carriage returns; the last words are the complaint.
    words = re.split(r"[\r\n]+", (done.stdout + done.stderr).decode(errors="replace").strip())[-1]
    raise BadInput(f"`nsys export` cannot read {path} (exit {done.returncode}): {words or 'it does not say why'}")


def _installed(nsys: str) -> tuple[int, ...] | None:
    try:
        done = subprocess.run([nsys, "--version"], capture_output=True, timeout=60, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout.decode(errors="replace"))
    return tuple(map(int, found.groups())) if found else None

"""One module per trace format; each fills the same `Trace`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from advisor.trace.trace import Trace

__all__ = ["read_trace"]


def read_trace(path: str | Path, progress: Callable[[str], None] | None = None) -> Trace:
    """Read a profile.

    Args:
        path: A SQLite export of Nsight Systems. The file is never written to or locked.
        progress: Called with a few words before each longer step.

    Raises:
        BadInput: The file cannot be read, or is no such export.
        CannotDecide: The export holds no work on a GPU.
    """
    from pathlib import Path

    from advisor.trace.readers.nsys import read_nsys_sqlite

    return read_nsys_sqlite(Path(path), progress)

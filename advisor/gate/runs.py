"""What can be compared: an analysis that was stored, or a trace that is analyzed now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from advisor.errors import BadInput
from advisor.trace.analysis import SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["load_analysis", "load_run"]

_KEYS = ("devices", "graphs", "totals", "coverage")


def load_run(path: Path) -> dict[str, Any]:
    """The analysis of a run: PATH is an analysis JSON, or a trace.

    Raises:
        BadInput: Neither can be read from PATH.
        CannotDecide: A trace without work on a GPU.
    """
    if _looks_like_json(path):
        return load_analysis(path)
    import advisor

    return advisor.analyze(advisor.read_trace(path)).to_dict()


def load_analysis(path: Path) -> dict[str, Any]:
    """A stored analysis.

    Raises:
        BadInput: The file cannot be read, or holds no `advisor.analysis/1`.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or any(key not in document for key in _KEYS):
        raise BadInput(f"{path} is no {SCHEMA}: make one with `advisor analyze TRACE --json {path.name}`")
    return document


def _looks_like_json(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip()[:1] == b"{"
    except OSError:
        return False

"""The advisor's own JSON documents, told from other files by their content."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from advisor.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ANALYSIS", "BASELINE", "FUSION", "damaged", "read_document"]

ANALYSIS = "advisor.analysis/1"
FUSION = "advisor.fusion/1"
BASELINE = "advisor.baseline/1"

HEAD_BYTES = 4096


def read_document(path: Path) -> dict[str, Any] | None:
    """The document in PATH, whose `schema` begins with `advisor.`; None where it is something else, such as a trace.

    Raises:
        BadInput: PATH cannot be read, or is cut off.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        # Traces may be JSON too, and large: only what says that it is one of ours is read as such.
        if head.lstrip()[:1] != b"{" or b'"advisor.' not in head:
            return None
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{path} does not exist") from None
    except IsADirectoryError:
        raise BadInput(f"{path} is a directory: name the files in it") from None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is no JSON: it is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is no JSON: {error}") from None
    return dict(document) if str(document.get("schema")).startswith("advisor.") else None


def damaged(path: Path, schema: str, error: Exception, advice: str) -> BadInput:
    """What to raise of a document that says it follows SCHEMA and does not, as ERROR showed."""
    what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else "a part of it is no such thing"
    return BadInput(f"{path}: not a valid {schema} ({what}): {advice}")

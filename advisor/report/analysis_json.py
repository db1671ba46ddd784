"""An analysis as `advisor.analysis/1`, for other programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

    from advisor.trace.analysis import Analysis

__all__ = ["write"]


def write(analysis: Analysis, file: TextIO) -> None:
    """Write ANALYSIS as JSON."""
    file.write(json.dumps(analysis.to_dict(), indent=1, ensure_ascii=False) + "\n")

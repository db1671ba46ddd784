"""Models with generated kernels in files, as `advisor fuse` writes them where they pay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse.compose import compose
from advisor.fuse.kernels.generated import GENERATED
from advisor.fuse.model import load, save
from advisor.fuse.session import write_library
from tests.fuse.graphs import CPU

if TYPE_CHECKING:
    from pathlib import Path


def with_kernels(original: Path, target: Path) -> Path:
    """Write ORIGINAL to TARGET with every group of operators that may be a kernel as one, and the library beside it."""
    applied = compose(load(original), [GENERATED], provider=CPU, accept=lambda _: True)
    (library,) = applied.libraries
    write_library(applied.model, library, target)
    save(applied.model, target)
    return target

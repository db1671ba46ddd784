"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_writable", "staged", "write_text"]


def check_writable(target: Path) -> None:
    """Refuse, before anything is computed, a file that cannot be written.

    Raises:
        BadInput: TARGET is a directory, or its folder does not exist or cannot be written.
    """
    if target.is_dir():
        raise BadInput(f"{target} is a directory: name a file to write")
    if not target.parent.is_dir():
        raise BadInput(f"cannot write {target}: there is no folder {target.parent}")
    # A device is written into; what is a file, or none yet, is made anew.
    place = target if target.exists() and not target.is_file() else target.parent
    if not os.access(place, os.W_OK):
        raise BadInput(f"cannot write {target}: no permission to write into {place}")


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Yield a temporary path in TARGET's folder that is moved onto TARGET when the block ends well.

    Raises:
        BadInput: TARGET's folder does not exist or cannot be written, or TARGET is a directory.
    """
    if target.is_dir():
        raise BadInput(f"{target} is a directory: name a file to write")
    target = target.resolve()
    if target.exists() and not target.is_file():
        # A device or a pipe is written into; a file in its place would be the end of it.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "output"
            yield path
            try:
                target.write_bytes(path.read_bytes())
            except OSError as error:
                raise BadInput(f"cannot write {target}: {error.strerror}") from None
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise BadInput(f"cannot write {target}: {error.strerror}") from None
    os.close(handle)
    path = Path(name)
    try:
        yield path
        # mkstemp makes private files; an output has the permissions that any new file has.
        umask = os.umask(0)
        os.umask(umask)
        path.chmod(0o666 & ~umask)
        path.replace(target)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_text(target: Path, text: str) -> None:
    """Write TEXT to TARGET as UTF-8, whole or not at all.

    Raises:
        BadInput: TARGET cannot be written.
    """
    with staged(target) as path:
        path.write_text(text, encoding="utf-8")

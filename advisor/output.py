"""Files that appear whole or not at all, and take the place only of what is of their kind."""

from __future__ import annotations

import codecs
import os
import re
import tempfile
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["MARKDOWN_BEGINS", "Kind", "check_writable", "staged", "write_text", "written"]

HEAD_BYTES = 4096
LONGEST_PREFIX = 50
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

written: list[Path] = []
"""What this process has written, the latest last: for what is said where it ends early."""


class Kind(StrEnum):
    """What a file holds. A mistyped command line must not put a report in the place of anything but its like."""

    EXPORT = "an export of Nsight Systems"
    DATABASE = "an SQLite database"
    BINARY = "binary data"
    BASELINE = "a baseline of advisor"
    JSON = "a JSON report of advisor"
    PERFETTO = "a Perfetto trace of advisor"
    SARIF = "a SARIF report of advisor"
    HTML = "an HTML report of advisor"
    MARKDOWN = "a Markdown report of advisor"
    JUNIT = "a JUnit report of advisor"
    ORT_PROFILE = "a profile of ONNX Runtime"
    FOREIGN = "data of another program"
    """JSON (or TOML) that does not begin as one of those."""
    TEXT = "text that no report begins with"


_OTHERS = (Kind.DATABASE, Kind.FOREIGN, Kind.TEXT)
"""What is like another of its kind only in name: nothing takes its place."""

MARKDOWN_BEGINS = "<!-- advisor -->\n"
"""The first line of Markdown reports, which no page shows: nothing else in them is the same in all."""

_BEGINNINGS = tuple(
    (kind, re.compile(rb"\s*" + pattern, re.DOTALL))
    for kind, pattern in (
        (Kind.BASELINE, rb'\{\s*"schema":\s*"advisor\.baseline/'),
        (Kind.JSON, rb'\{\s*"schema":\s*"advisor\.'),
        (Kind.PERFETTO, rb'\{"displayTimeUnit":\s*"ns",\s*"otherData":\s*\{\s*"written_by":\s*"advisor"'),
        (Kind.SARIF, rb'\{\s*"\$schema":[^{]*\{\s*"tool":\s*\{\s*"driver":\s*\{\s*"name":\s*"advisor gate"'),
        (Kind.HTML, rb'<!doctype html>.{,200}<meta name="generator" content="advisor">'),
        (Kind.MARKDOWN, rb"<!-- advisor -->"),
        (Kind.JUNIT, rb'<\?xml [^>]*>\s*<testsuites name="advisor gate"'),
        (Kind.ORT_PROFILE, rb'\[\s*\{"cat"\s*:\s*"(Session|Node|Kernel|Api)"'),
    )
)


def check_writable(target: Path, *kinds: Kind) -> None:
    """Refuse, before anything is computed, a file that cannot or must not be written.

    Args:
        target: The file.
        kinds: What will be written, one of these; none where that is not known yet.

    Raises:
        BadInput: TARGET is a directory, its folder does not exist or cannot be written, or it holds something else.
    """
    if target.is_dir():
        raise BadInput(f"{target} is a directory: name a file to write")
    if not target.parent.is_dir():
        raise BadInput(f"cannot write {target}: there is no folder {target.parent}")
    # A device is written into; what is a file, or none yet, is made anew.
    place = target if target.exists() and not target.is_file() else target.parent
    if not os.access(place, os.W_OK):
        raise BadInput(f"cannot write {target}: no permission to write into {place}")
    if kinds and target.is_file():
        _check_kind(target, kinds)


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Yield a temporary path in TARGET's folder that is moved onto TARGET when the block ends well.

    Raises:
        BadInput: TARGET's folder does not exist or cannot be written, TARGET is a directory, or it holds something of
            another kind than what was written.
    """
    if target.is_dir():
        raise BadInput(f"{target} is a directory: name a file to write")
    named, target = target, target.resolve()
    if target.exists() and not target.is_file():
        # A device or a pipe is written into; a file in its place would be the end of it.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "output"
            yield path
            try:
                target.write_bytes(path.read_bytes())
            except OSError as error:
                raise BadInput(f"cannot write {target}: {error.strerror}") from None
        written.append(named)
        return
    try:
        # A name may be as long as a name can be.
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:LONGEST_PREFIX]}.", dir=target.parent)
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
        if target.exists():
            kind = _kind(path)
            _check_kind(target, () if kind is None else (kind,))
        path.replace(target)
        written.append(named)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_text(target: Path, text: str) -> None:
    """Write TEXT to TARGET as UTF-8, whole or not at all; what UTF-8 cannot hold becomes a question mark.

    Raises:
        BadInput: TARGET cannot be written.
    """
    with staged(target) as path:
        path.write_text(text, encoding="utf-8", errors="replace")


def _check_kind(target: Path, kinds: Collection[Kind]) -> None:
    held = _kind(target)
    if held is not None and (held in _OTHERS or held not in kinds):
        raise BadInput(f"{target} holds {held}, which is not written over: name another file, or remove it first")


def _kind(path: Path) -> Kind | None:
    """What a file holds, told from its first bytes; None of an empty one."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from None
    if not head:
        return None
    if head.startswith(b"SQLite format 3\0"):
        return Kind.EXPORT if _is_export(path) else Kind.DATABASE
    for kind, beginning in _BEGINNINGS:
        if beginning.match(head):
            return kind
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last letter may be cut
    except UnicodeDecodeError:
        return Kind.BINARY
    if _CONTROL.search(head):
        return Kind.BINARY
    return Kind.FOREIGN if head.lstrip().startswith((b"{", b"[")) else Kind.TEXT


def _is_export(path: Path) -> bool:
    """Whether an SQLite database has the tables of Nsight Systems; it is read only."""
    import sqlite3

    tables = "select count(*) from sqlite_master where name like 'TARGET_INFO%' or name = 'StringIds'"
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            return bool(database.execute(tables).fetchone()[0])
    except sqlite3.Error:
        return False

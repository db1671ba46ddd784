"""One module per trace format; each fills the same `Trace`."""

from __future__ import annotations

import re
import stat
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from advisor.errors import BadInput
from advisor.trace.readers.json_events import GZIP_MAGIC
from advisor.trace.readers.nsys import read_nsys_sqlite
from advisor.trace.readers.nsys_report import is_nsys_report, read_nsys_report
from advisor.trace.readers.ort_profile import is_ort_profile, read_ort_profile
from advisor.trace.readers.sqlite import OTHER_FORMATS, SQLITE_MAGIC
from advisor.trace.readers.torch_profile import is_torch_profile, read_torch_profile

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.trace.trace import Trace

__all__ = ["FORMATS", "Format", "read_trace"]


class Format(NamedTuple):
    """A format of traces."""

    name: str
    """What people call it."""
    recognise: Callable[[bytes], bool]
    """Whether a file with these first bytes (unpacked, where it is compressed with gzip) is of this format."""
    read: Callable[[Path, Callable[[str], None] | None], Trace]


# A new format is a module in this package and a line here; the first one that recognises a file reads it.
FORMATS = (
    Format("Nsight Systems SQLite exports", lambda head: head.startswith(SQLITE_MAGIC), read_nsys_sqlite),
    Format("Nsight Systems reports (.nsys-rep)", is_nsys_report, read_nsys_report),
    Format("ONNX Runtime profiles (JSON)", is_ort_profile, read_ort_profile),
    Format("PyTorch profiler traces (JSON, also .gz)", is_torch_profile, read_torch_profile),
)

EXPORT = "export the report with `nsys export --type sqlite REPORT.nsys-rep`"

# Other files that Nsight Systems writes: how each begins, what it is, and what to do.
NSYS_FILES = (
    (b"U3w[END]NVIDIA Nsight Systems Stream", "an unfinished recording (.qdstrm): make a report of it with nsys-ui"),
    (b"\x89HDF\r\n\x1a\n", f"an HDF5 file, which is not supported: {EXPORT}"),
    (b"\xff\xff\xff\xff", f"an Arrow file, which is not supported: {EXPORT}"),
    (b"ARROW1", f"an Arrow file, which is not supported: {EXPORT}"),
    (b"PAR1", f"a Parquet file, which is not supported: {EXPORT}"),
)
TABLE_SUFFIXES = frozenset({".parquet", ".arrow", ".arrows", ".feather"})
HEAD_BYTES = 1 << 16
LONGEST_DAYS = 10
LONGEST_NS = LONGEST_DAYS * 86_400 * 10**9
"""Far longer than any profile. Sums stay exact in float64, and 5,000 threads fit one after the other on one axis."""
BLANKS = b"\xef\xbb\xbf \t\r\n"
JSON_BEGINS = re.compile(rb"[\xef\xbb\xbf\s]*(?:\{|\[\s*[\]{\d\"-])")
"""An object or a list, but not the name of a table in TOML."""


def read_trace(path: str | Path, progress: Callable[[str], None] | None = None) -> Trace:
    """Read a profile, of a format that is told from its content.

    Args:
        path: A file in one of `FORMATS`. It is never written to or locked.
        progress: Called with a few words before each longer step.

    Raises:
        BadInput: The file cannot be read, or is of no such format.
        CannotDecide: It holds no work on a device, or not when that began.
    """
    path = Path(path)
    head = _first_bytes(path)
    for trace_format in FORMATS:
        if trace_format.recognise(head):
            trace = trace_format.read(path, progress)
            _check_times(trace)
            return trace
    raise BadInput(f"{path} is {_description(path, head)}")


def _check_times(trace: Trace) -> None:
    """Refuse times that no recording has: sums of them would no longer be exact.

    Raises:
        BadInput: They lie too far apart.
    """
    columns = [rows for rows in (trace.works, trace.calls, trace.ranges, trace.overheads) if len(rows)]
    first = min(int(rows.start.min()) for rows in columns)
    last = max(int(rows.end.max()) for rows in columns)
    if last - first > LONGEST_NS:
        days = (last - first) / LONGEST_NS * LONGEST_DAYS
        raise BadInput(f"{trace.path}: its times lie {days:,.0f} days apart, so it is damaged: {EXPORT}")


def _first_bytes(path: Path) -> bytes:
    """The first bytes of a file, unpacked where it is compressed with gzip."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise BadInput(f"{path} is {_directory(path)}")
        if not stat.S_ISREG(mode):
            raise BadInput(f"{path} is not a regular file: a trace cannot be read from a pipe or a device")
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except FileNotFoundError:
        raise BadInput(f"{path} does not exist") from None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    if not head.startswith(GZIP_MAGIC):
        return head
    try:
        return zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
    except zlib.error:
        return b""


def _directory(path: Path) -> str:
    if any(entry.suffix in TABLE_SUFFIXES for entry in path.iterdir()):
        return f"a directory of Parquet or Arrow tables, which is not supported: {EXPORT}"
    return "a directory: name the trace file in it"


def _description(path: Path, head: bytes) -> str:
    """What a file is that no reader recognises, and what to do."""
    formats = ", ".join(entry.name for entry in FORMATS)
    if JSON_BEGINS.match(head):
        return f"JSON of another kind; what is read: {formats}"
    with path.open("rb") as file:
        packed = file.read(100).lstrip(BLANKS)
    if not packed:
        return "empty: the recording was not finished (ONNX Runtime writes at a session's end), or not copied"
    if packed.startswith(GZIP_MAGIC):
        if not head:
            return "compressed with gzip, but damaged or empty: copy it again"
        if head.startswith((SQLITE_MAGIC, *(magic for magic, _ in NSYS_FILES))):
            return "compressed with gzip: unpack it first"
        return f"compressed with gzip, and what is in it is of no format that is read: {formats}"
    for magic, words in (*NSYS_FILES, *OTHER_FORMATS):
        if packed.startswith(magic):
            return words
    return f"of no format that is read: {formats}"

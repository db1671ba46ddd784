"""SQLite tables as columns.

The file is opened read-only and immutable: no lock, no journal, nothing beside it, and no write permission needed.
Integers come through ADBC as Arrow arrays, without a Python object per value; texts, which are few, through `sqlite3`.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from adbc_driver_manager import AdbcConnection, AdbcStatement
from adbc_driver_manager import Error as AdbcError
from adbc_driver_sqlite import connect
from nanoarrow import c_array_stream  # type: ignore[import-untyped]

from advisor.errors import BadInput
from advisor.trace.readers.packing import packing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from advisor.trace.readers.packing import Packing

__all__ = ["Database", "cores", "joined"]

PIECE_ROWS = 1 << 19
"""Large tables are read in ranges of about so many row ids, each on a connection and a thread of its own."""
SAMPLE_ROWS = 128
"""Rows of a large table from which is guessed what its columns hold."""

EXPORT_AGAIN = "export it again with `nsys export --type sqlite REPORT.nsys-rep`"

INTEGER = "l"
"""Arrow's format for int64."""

SQLITE_MAGIC = b"SQLite format 3\x00"
HOT_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
HEADER_BYTES = 100

OTHER_FORMATS = (
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself: fetch it with `git lfs pull`"),
    (b"\x1f\x8b", "compressed with gzip: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first"),
    (b"\xfd7zXZ\x00", "compressed with xz: unpack it first"),
    (b"BZh", "compressed with bzip2: unpack it first"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"<", "HTML or XML, perhaps the web page instead of the file: download it again"),
    (b"{", f"JSON, not an SQLite database: {EXPORT_AGAIN}"),
    (b"[{", f"JSON, not an SQLite database: {EXPORT_AGAIN}"),
    (bytes(HEADER_BYTES), f"filled with zeros, an unfinished copy or download: copy it again, or {EXPORT_AGAIN}"),
)
REPORT_SUFFIXES = (".nsys-rep", ".qdrep", ".qdstrm")

# SQLite's own words for a database that breaks its rules, and for a file that cannot be read to its end.
BROKEN = ("malformed", "file is not a database", "unsupported file format")
UNREADABLE = ("disk I/O error", "unable to open database file")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a table's rows."""

    table: str
    columns: Mapping[str, str]
    where: str | None
    rows_at_most: int
    packing: Packing | None = None


class Database:
    """A database file, open for reading.

    Expressions are SQL over the columns of one table, e.g. `"correlationId"` or `COALESCE("text", 'none')`.
    """

    def __init__(self, path: Path) -> None:
        """Open the database at PATH.

        Raises:
            BadInput: There is no such file, it cannot be read, is cut off, is still being written, or is no database.
        """
        self._path = path
        self._size = _readable_size(path)
        self._uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        self._connection = sqlite3.connect(self._uri, uri=True)
        self._connection.text_factory = lambda text: text.decode("utf-8", errors="replace")
        try:
            self._tables = self._find_tables()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def tables(self) -> Mapping[str, frozenset[str]]:
        """The names of the tables and views, and of their columns."""
        return self._tables

    def read(self, table: str, columns: Mapping[str, str], where: str | None = None) -> dict[str, NDArray[np.int64]]:
        """Read integers.

        Args:
            table: Its name.
            columns: The SQL expression behind each name in the result. NULL becomes 0; for another value give it
                in the expression: `COALESCE("domainId", -1)`.
            where: A condition in SQL.

        Returns:
            An array of shape (rows,) for each name, in the order of the rows in the file; it may be read-only.

        Raises:
            BadInput: The database is corrupt, or a value is no integer.
        """
        pieces = self._read({table: columns}, where)[table]
        return {name: joined(pieces[name]) for name in columns}

    def read_many(self, requests: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, list[NDArray[np.int64]]]]:
        """Read integers of several tables at once, on all processor cores.

        Args:
            requests: For each table what `read` takes as `columns`.

        Returns:
            For each table and name the pieces in which its rows were read, in their order, for `joined`.

        Raises:
            BadInput: As `read`.
        """
        return self._read(requests, None)

    def read_text(self, table: str, columns: Mapping[str, str], where: str | None = None) -> dict[str, list[str]]:
        """Read texts: every value is a Python object, so this is for small tables and few rows.

        Args:
            table: Its name.
            columns: The SQL expression behind each name in the result. Numbers become text, NULL the empty text,
                and bytes that are no UTF-8 the replacement character.
            where: A condition in SQL.

        Raises:
            BadInput: The database is corrupt.
        """
        texts = [f"COALESCE(CAST({expression} AS TEXT), '')" for expression in columns.values()]
        rows = self._rows(_select(table, texts, where))
        return {name: [row[place] for row in rows] for place, name in enumerate(columns)}

    def strings(self, ids: NDArray[np.int64]) -> dict[int, str]:
        """Look up ids, shape (n,), in the table `StringIds(id, value)`; those that it lacks are left out.

        Raises:
            BadInput: The database is corrupt.
        """
        if not {"id", "value"} <= self._tables.get("StringIds", frozenset()):
            return {}
        # By key where the table has one, so that the other strings of a large table are never read.
        wanted = "id IN (SELECT value FROM json_each(?))"
        query = _select("StringIds", ["id", "COALESCE(CAST(value AS TEXT), '')"], wanted)
        return dict(self._rows(query, json.dumps(ids.tolist())))

    def _rows(self, query: str, *parameters: str) -> list[Any]:
        try:
            return self._connection.execute(query, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            self._raise_bad_input(error)

    def _find_tables(self) -> dict[str, frozenset[str]]:
        names = self._rows(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
        )
        tables = {}
        for (name,) in names:
            try:
                tables[name] = frozenset(row[1] for row in self._rows(f"PRAGMA table_xinfo({_quoted(name)})"))
            except sqlite3.OperationalError:
                continue  # a view of what is not there, or a virtual table whose module is not: nothing to read
        return tables

    def _read(
        self, requests: Mapping[str, Mapping[str, str]], where: str | None
    ) -> dict[str, dict[str, list[NDArray[np.int64]]]]:
        pieces = {table: [*self._pieces(table, columns, where)] for table, columns in requests.items()}
        result = {}
        with ThreadPoolExecutor(cores()) as pool:
            parts = pool.map(self._read_piece, chain.from_iterable(pieces.values()))
            for table, columns in requests.items():
                of_table = list(islice(parts, len(pieces[table])))
                result[table] = {name: [part[place] for part in of_table] for place, name in enumerate(columns)}
        return result

    def _pieces(self, table: str, columns: Mapping[str, str], where: str | None) -> Iterable[_Piece]:
        low, high = self._row_ids(table)
        # Where ids are sparse there are fewer rows than ids: never more than the file has bytes.
        count = min(-(-(high - low) // PIECE_ROWS), -(-self._size // PIECE_ROWS))
        if count <= 1:
            yield _Piece(table, columns, where, self._size)
            return
        sampled = ", ".join(str(low + (high - 1 - low) * part // (SAMPLE_ROWS - 1)) for part in range(SAMPLE_ROWS))
        sample = self._rows(_select(table, columns.values(), f"rowid IN ({sampled})"))
        found = packing([*columns.values()], sample)
        for first, stop in pairwise(low + (high - low) * part // count for part in range(count + 1)):
            condition = f"rowid >= {first} AND rowid < {stop}" + (f" AND ({where})" if where else "")
            yield _Piece(table, columns, condition, stop - first, found)

    def _row_ids(self, table: str) -> tuple[int, int]:
        """The lowest row id, and one more than the highest; (0, 0) where the table cannot be split by it."""
        if any(name.lower() == "rowid" for name in self._tables[table]):
            return 0, 0
        # Each in a query of its own: only then SQLite goes straight to that end of the table.
        ends = (f"({_select(table, [end])})" for end in ("min(rowid)", "max(rowid)"))
        try:
            ((low, high),) = self._rows(f"SELECT {', '.join(ends)}")
        except sqlite3.OperationalError:
            return 0, 0  # a view, or a table WITHOUT ROWID
        return (0, 0) if low is None else (low, high + 1)

    def _read_piece(self, piece: _Piece) -> list[NDArray[np.int64]]:
        if piece.packing is not None:
            formats, batches = self._fetch(piece, piece.packing.expressions())
            # NULL in the packed number: a row is unlike those of the sample.
            if {*formats} == {INTEGER} and not any(batch.child(0).view().null_count for batch in batches):
                return piece.packing.unpack(_columns(batches, len(formats)))
        formats, batches = self._fetch(piece, [*piece.columns.values()])
        for name, found in zip(piece.columns, formats, strict=True):
            if found != INTEGER:
                raise BadInput(
                    f"{self._path}: {name} of table {piece.table} holds values that are no integers: {EXPORT_AGAIN}"
                )
        return _columns(batches, len(formats))

    def _fetch(self, piece: _Piece, expressions: Sequence[str]) -> tuple[list[str], list[Any]]:
        """The Arrow formats of EXPRESSIONS, and their values in batches of rows."""
        try:
            with (
                connect(self._uri) as database,
                AdbcConnection(database) as connection,
                AdbcStatement(connection) as statement,
            ):
                # One batch for all rows: the driver fills the first one inside `execute_query`, without the GIL.
                statement.set_options(**{"adbc.sqlite.query.batch_rows": str(min(piece.rows_at_most, self._size))})
                statement.set_sql_query(_select(piece.table, expressions, piece.where))
                with c_array_stream(statement.execute_query()[0]) as stream:
                    return [child.format for child in stream.get_schema().children], list(stream)
        except (AdbcError, OSError, RuntimeError) as error:
            self._raise_bad_input(error)

    def _raise_bad_input(self, error: Exception) -> NoReturn:
        """Say in one line what SQLite found wrong with the file; what is wrong with the query stays as it is."""
        words = str(error)
        if any(broken in words for broken in BROKEN):
            raise BadInput(f"{self._path} is a damaged SQLite database: copy it again, or {EXPORT_AGAIN}") from None
        if "Type mismatch" in words:
            raise BadInput(
                f"{self._path} holds values that are no integers where such belong: {EXPORT_AGAIN}"
            ) from None
        if any(unreadable in words for unreadable in UNREADABLE):
            raise BadInput(f"{self._path} could not be read to its end: is the disk or the network at fault?") from None
        raise error


def _select(table: str, expressions: Iterable[str], where: str | None = None) -> str:
    condition = f" WHERE {where}" if where else ""
    return f"SELECT {', '.join(expressions)} FROM {_quoted(table)}{condition}"  # noqa: S608 - names are quoted


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _columns(batches: Sequence[Any], count: int) -> list[NDArray[np.int64]]:
    return [joined([_values(batch.child(place)) for batch in batches]) for place in range(count)]


def _values(column: Any) -> NDArray[np.int64]:
    """The values of an Arrow array of int64, NULL as 0; not copied, they keep the array's memory alive."""
    view = column.view()
    values = np.frombuffer(view.buffer(1), np.int64)
    if view.null_count == 0:
        return values
    valid = np.unpackbits(np.frombuffer(view.buffer(0), np.uint8), count=len(values), bitorder="little")
    return np.where(valid, values, 0)


def joined(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """One column of its pieces, shape (rows,); it may be read-only, and one value that stands in every row."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return np.zeros(0, np.int64)
    first = parts[0][0]
    if all(part[-1] == first and (part == first).all() for part in parts):
        # Processes, contexts, streams mostly: one number in place of a million.
        return np.broadcast_to(first, sum(len(part) for part in parts))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _readable_size(path: Path) -> int:
    """The size in bytes of a file that is a whole SQLite database by its first bytes.

    Raises:
        BadInput: It is not.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise BadInput(f"{path} is a directory: name the .sqlite file")
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(f"{path} is not a regular file: SQLite cannot read from a pipe or a device")
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
        _refuse_unfinished(path)
    except FileNotFoundError:
        raise BadInput(f"{path} does not exist") from None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    if not header:
        raise BadInput(f"{path} is empty (0 bytes): {EXPORT_AGAIN}")
    if not header.startswith(SQLITE_MAGIC[: len(header)]):
        raise BadInput(f"{path} is {_description(path, header)}")
    expected = _size_by_header(header)
    if status.st_size < expected:
        raise BadInput(
            f"{path} is cut off ({status.st_size:,} of {expected:,} bytes): copy it again, or {EXPORT_AGAIN}"
        )
    return status.st_size


def _refuse_unfinished(path: Path) -> None:
    """Changes beside the file are not in it, and a journal says that what is in it is half a change."""
    beside = path.resolve()
    log = beside.with_name(beside.name + "-wal")
    journal = beside.with_name(beside.name + "-journal")
    unfinished = None
    if log.is_file() and log.stat().st_size:
        unfinished = log
    elif journal.is_file():
        with journal.open("rb") as file:
            # Zeros in place of the magic are a journal that was committed and kept.
            if file.read(len(HOT_JOURNAL_MAGIC)) == HOT_JOURNAL_MAGIC:
                unfinished = journal
    if unfinished:
        raise BadInput(
            f"{path} is still being written, or its writer was interrupted ({unfinished.name} beside it): wait for the "
            f"program that has it open, close that, or {EXPORT_AGAIN}"
        )


def _description(path: Path, header: bytes) -> str:
    """What a file is that is no SQLite database, and what to do."""
    if path.suffix in REPORT_SUFFIXES:
        return f"a report of Nsight Systems, not its SQLite export: run `nsys export --type sqlite {path.name}`"
    for magic, words in OTHER_FORMATS:
        if header.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(magic):
            return words
    return f"not an SQLite database: {EXPORT_AGAIN}"


def _size_by_header(header: bytes) -> int:
    """The size in bytes that a database's header names; of an old writer that did not name it, one page.

    https://www.sqlite.org/fileformat2.html#the_database_header
    """
    if len(header) < HEADER_BYTES:
        return HEADER_BYTES
    page_size = int.from_bytes(header[16:18], "big")
    page_size = 65536 if page_size == 1 else page_size
    pages = int.from_bytes(header[28:32], "big")
    counted = header[24:28] == header[92:96]
    return page_size * (pages if counted else 1)

"""What reading a database promises: exact columns, the file left alone, one clear line for every bad file."""

from __future__ import annotations

import gzip
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.errors import BadInput
from advisor.trace.readers import sqlite as reader
from advisor.trace.readers.sqlite import Database, joined

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SCRIPT = """
    CREATE TABLE events (start INTEGER NOT NULL, "end" INTEGER, name TEXT);
    INSERT INTO events VALUES (5, 7, 'a'), (6, NULL, NULL), (1, 72057624000000000, 'é');
    CREATE TABLE empty (start INTEGER);
    CREATE TABLE "odd ""name" ("a b" INTEGER);
    INSERT INTO "odd ""name" VALUES (3);
    CREATE VIEW ends AS SELECT "end" FROM events;
    CREATE VIEW broken AS SELECT x FROM not_there;
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringIds VALUES (1, 'one'), (2, CAST(x'41ff42' AS TEXT)), (3, NULL), (-4, 'minus four');
"""


def write(path: Path, script: str = SCRIPT) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


def write_column(path: Path, values: Iterable[object], declared: str = "INTEGER") -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE t (v {declared})")
        connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "trace.sqlite")


def test_tables_and_views_with_their_columns(path: Path) -> None:
    with Database(path) as database:
        assert dict(database.tables()) == {
            "events": {"start", "end", "name"},
            "empty": {"start"},
            'odd "name': {"a b"},
            "ends": {"end"},
            "StringIds": {"id", "value"},
        }


def test_integers_keep_order_and_size_and_null_is_zero_or_what_the_expression_says(path: Path) -> None:
    with Database(path) as database:
        columns = database.read("events", {"start": "start", "end": '"end"', "or_one": 'COALESCE("end", 1)'})
        assert {name: values.tolist() for name, values in columns.items()} == {
            "start": [5, 6, 1],
            "end": [7, 0, 72057624000000000],
            "or_one": [7, 1, 72057624000000000],
        }
        assert all(values.dtype == np.int64 for values in columns.values())
        assert database.read("events", {"start": "start"}, where="start > 4 OR start < 0")["start"].tolist() == [5, 6]
        assert database.read('odd "name', {"a": '"a b"'})["a"].tolist() == [3]
        assert database.read("ends", {"end": '"end"'})["end"].tolist() == [7, 0, 72057624000000000]


def test_no_rows_are_empty_columns(path: Path) -> None:
    with Database(path) as database:
        many = database.read_many({"empty": {"start": "start"}, "events": {"one": "1"}})
        assert joined(many["empty"]["start"]).tolist() == []
        assert joined(many["empty"]["start"]).dtype == np.int64
        assert joined(many["events"]["one"]).tolist() == [1, 1, 1]
        assert database.read("events", {"start": "start"}, where="start < 0")["start"].shape == (0,)
        assert database.read_many({}) == {}
        assert database.read_text("empty", {"start": "start"}) == {"start": []}


def test_texts_survive_invalid_utf8_null_and_numbers(path: Path) -> None:
    with Database(path) as database:
        texts = database.read_text("events", {"name": "name", "start": "start"}, where="start < 6 OR name IS NULL")
        assert texts == {"name": ["a", "", "é"], "start": ["5", "6", "1"]}
        assert database.read_text("StringIds", {"value": "value"}, where="id = 2") == {"value": ["A\ufffdB"]}


def test_strings_are_looked_up_by_id(path: Path, tmp_path: Path) -> None:
    with Database(path) as database:
        assert database.strings(np.array([2, -4, 3, 9, 2])) == {2: "A\ufffdB", -4: "minus four", 3: ""}
        assert database.strings(np.array([], np.int64)) == {}
    with Database(write_column(tmp_path / "without.sqlite", [1])) as database:
        assert database.strings(np.array([1])) == {}


@settings(max_examples=30, deadline=None)
@given(
    first=st.integers(-(2**63), 2**63 - 700),
    rows=st.integers(0, 600),
    others=st.sets(st.integers(-(2**63), 2**63 - 1), max_size=5),
    nulls=st.booleans(),
    piece_rows=st.integers(100, 2000),
)
def test_a_table_read_in_pieces_equals_the_table(
    tmp_path_factory: pytest.TempPathFactory, first: int, rows: int, others: set[int], nulls: bool, piece_rows: int
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (v INTEGER)")
        ids = others | {*range(first, first + rows)}
        values = [(row, None if nulls and row % 3 else row) for row in ids]
        connection.executemany("INSERT INTO t (rowid, v) VALUES (?, ?)", values)
        whole = connection.execute("SELECT rowid, COALESCE(v, 0) FROM t").fetchall()
        odd = connection.execute("SELECT v FROM t WHERE v % 2 OR v = 4").fetchall()
    with pytest.MonkeyPatch.context() as patch, Database(path) as database:
        patch.setattr(reader, "PIECE_ROWS", piece_rows)
        columns = database.read("t", {"id": "rowid", "v": "v"})
        assert [*zip(columns["id"].tolist(), columns["v"].tolist(), strict=True)] == whole
        assert database.read("t", {"v": "v"}, where="v % 2 OR v = 4")["v"].tolist() == [v for (v,) in odd]


COLUMNS = st.one_of(
    st.just(st.just(7)),
    st.just(st.none()),
    st.just(st.integers(0, 40)),
    st.just(st.integers(-(2**63), 2**63 - 1)),
    st.just(st.integers(2**63 - 50, 2**63 - 1)),
    st.just(st.integers(-(2**63), -(2**63) + 50)),
    st.just(st.one_of(st.none(), st.integers(0, 3))),
)
"""What a column may hold, row by row."""


@settings(max_examples=60, deadline=None)
@given(data=st.data(), kinds=st.lists(COLUMNS, min_size=1, max_size=6), rows=st.integers(200, 400))
def test_columns_read_together_equal_the_table_whatever_a_few_rows_hold(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, kinds: list[st.SearchStrategy[int | None]], rows: int
) -> None:
    """Columns are packed by a sample of their rows; rows unlike those of the sample have to arrive all the same."""
    columns = [data.draw(st.lists(kind, min_size=8, max_size=8)) * (rows // 8) for kind in kinds]
    for column in columns:
        for place in data.draw(st.lists(st.integers(0, len(column) - 1), max_size=2)):
            column[place] = data.draw(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)))
    names = [f"c{number}" for number in range(len(columns))]
    path = tmp_path_factory.mktemp("packed") / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE t ({', '.join(names)})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", zip(*columns, strict=True))
    with pytest.MonkeyPatch.context() as patch, Database(path) as database:
        patch.setattr(reader, "PIECE_ROWS", 100)
        patch.setattr(reader, "SAMPLE_ROWS", 16)
        found = database.read("t", {name: f'"{name}"' for name in names})
    for name, column in zip(names, columns, strict=True):
        assert found[name].tolist() == [value or 0 for value in column]


@pytest.mark.parametrize("wrong", ["abc", "12", 1.5, b"bytes"])
@pytest.mark.parametrize("place", [0, 150, 511])
def test_no_integer_in_a_row_that_was_not_looked_at_is_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: object, place: int
) -> None:
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a, b, c)")
        rows: list[tuple[object, ...]] = [(row, 7, row % 5) for row in range(512)]
        rows[place] = (place, 7, wrong)
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    monkeypatch.setattr(reader, "PIECE_ROWS", 100)
    with Database(path) as database, pytest.raises(BadInput, match="no integers"):
        database.read("t", {"a": "a", "b": "b", "c": "c"})


@pytest.mark.parametrize(
    "table",
    [
        "CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER) WITHOUT ROWID; INSERT INTO t (k, v)",
        "CREATE TABLE t (rowid TEXT, v INTEGER); INSERT INTO t",
        "CREATE TABLE s (k INTEGER, v INTEGER); CREATE VIEW t AS SELECT * FROM s; INSERT INTO s",
    ],
)
def test_tables_without_row_ids_are_read_whole(tmp_path: Path, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PIECE_ROWS", 4)
    rows = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i, i * i FROM n"
    with Database(write(tmp_path / "t.sqlite", f"{table} {rows};")) as database:
        assert database.read("t", {"v": "v"})["v"].tolist() == [i * i for i in range(1, 101)]


def test_columns_outlive_the_database(tmp_path: Path) -> None:
    rows = 1_200_000  # more than two pieces, and batches that are returned to the system when freed
    path = write(
        tmp_path / "t.sqlite",
        f"CREATE TABLE t AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < {rows - 1}) "
        "SELECT i, -i AS j FROM n",
    )
    with Database(path) as database:
        pieces = database.read("t", {"i": "i", "j": "j"})
        whole = database.read("t", {"i": "i"}, where="i < 500000")
    assert (pieces["i"] == np.arange(rows)).all()
    assert (pieces["j"] == -np.arange(rows)).all()
    assert (whole["i"] == np.arange(500_000)).all()


@pytest.mark.parametrize("wrong", ["abc", 1.5, b"bytes"])
@pytest.mark.parametrize("rows_before", [0, 3, 5000])
def test_values_that_are_no_integers_are_bad_input(
    tmp_path: Path, wrong: object, rows_before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_column(tmp_path / "t.sqlite", [*range(rows_before), wrong], "")
    for piece_rows in (1000, 1 << 19):
        monkeypatch.setattr(reader, "PIECE_ROWS", piece_rows)
        with Database(path) as database, pytest.raises(BadInput, match="no integers"):
            database.read("t", {"v": "v"})


def test_a_wrong_query_is_no_fault_of_the_file(path: Path) -> None:
    with Database(path) as database, pytest.raises(Exception, match="no such column") as caught:
        database.read("events", {"x": "not_there"})
    assert not isinstance(caught.value, BadInput)


@pytest.mark.parametrize("name", ["a b.db", "what?.db", "x#y.db", "p%41.db", "ünï→.db", "'q\".db", "a&mode=rwc.db"])
def test_any_file_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "fol der?#%20"
    folder.mkdir()
    with Database(write(folder / name)) as database:
        assert database.read("events", {"start": "start"})["start"].tolist() == [5, 6, 1]
        assert len(database.read_text("events", {"name": "name"})["name"]) == 3
    assert [entry.name for entry in folder.iterdir()] == [name]


def test_a_relative_path_and_a_link(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(path)
    monkeypatch.chdir(tmp_path)
    for name in (path.name, "link"):
        with Database(type(path)(name)) as database:
            assert database.read("events", {"one": "1"})["one"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("journal", ["delete", "wal", "persist", "truncate"])
def test_the_file_and_its_folder_are_left_alone(tmp_path: Path, journal: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = write(folder / "t.sqlite", f"PRAGMA journal_mode = {journal}; {SCRIPT}")
    before = {entry.name: (entry.read_bytes(), entry.stat().st_mtime_ns) for entry in folder.iterdir()}
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        with Database(path) as database:
            assert database.read("events", {"start": "start"})["start"].tolist() == [5, 6, 1]
            assert database.strings(np.array([1])) == {1: "one"}
            assert {entry.name for entry in folder.iterdir()} == before.keys()
        assert {entry.name: (entry.read_bytes(), entry.stat().st_mtime_ns) for entry in folder.iterdir()} == before
    finally:
        folder.chmod(0o755)


def test_another_program_may_write_while_it_is_open(path: Path) -> None:
    with Database(path) as database, closing(sqlite3.connect(path, timeout=0)) as writer:
        database.read("events", {"start": "start"})
        writer.execute("INSERT INTO empty VALUES (1)")
        writer.commit()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", r"is empty \(0 bytes\)"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"),
        (gzip.compress(b"SQLite format 3\0", mtime=0), "gzip"),
        (b"\x28\xb5\x2f\xfd....", "zstd"),
        (b'{"traceEvents": []}', "JSON"),
        (b'\xef\xbb\xbf\n [{"ph": "X"}]', "JSON"),
        (b"<!DOCTYPE html><html>", "HTML"),
        (bytes(4096), "zeros"),
        (b"start,end\n1,2\n", "is not an SQLite database"),
        (b"SQLite", "cut off"),
        (b"SQLite format 3\0" + b"\x10\x00", "cut off"),
    ],
)
def test_other_files_are_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "trace.sqlite"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=words) as caught:
        Database(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_report_is_to_be_exported(tmp_path: Path) -> None:
    path = tmp_path / "run.nsys-rep"
    path.write_bytes(b"\x01\x02")
    with pytest.raises(BadInput, match=r"nsys export --type sqlite run\.nsys-rep"):
        Database(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        Database(tmp_path / "missing.sqlite")
    assert not (tmp_path / "missing.sqlite").exists()
    with pytest.raises(BadInput, match="is a directory"):
        Database(tmp_path)
    with pytest.raises(BadInput, match="cannot read"):
        Database(tmp_path / ("long" * 100))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="not a regular file"):
        Database(tmp_path / "pipe")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(path: Path) -> None:
    path.chmod(0)
    with pytest.raises(BadInput, match=r"cannot read .*: Permission denied"):
        Database(path)


def test_a_database_that_is_cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(BadInput, match="is cut off"):
        Database(path)


def test_changes_beside_the_file_are_not_overlooked(path: Path) -> None:
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = wal")
        writer.execute("INSERT INTO empty VALUES (1)")
        writer.commit()
        with pytest.raises(BadInput, match=r"trace\.sqlite-wal"):
            Database(path)
    with Database(path) as database:  # the writer's close moved the changes into the file
        assert database.read("empty", {"start": "start"})["start"].tolist() == [1]


def test_half_a_change_is_not_read(path: Path) -> None:
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("PRAGMA synchronous = off")
        writer.execute("BEGIN")
        writer.execute("UPDATE events SET start = 0")
        writer.execute("INSERT INTO empty SELECT 1 FROM events, events e, events f, events g")
        writer.execute("CREATE TABLE more AS SELECT randomblob(9000)")
        with pytest.raises(BadInput, match=r"trace\.sqlite-journal"):
            Database(path)
    with Database(path) as database:
        assert database.read("events", {"start": "start"})["start"].tolist() == [5, 6, 1]


@pytest.mark.parametrize("page", range(12))
def test_damage_is_bad_input_wherever_it_is(tmp_path: Path, page: int) -> None:
    numbers = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 4000) SELECT i FROM n"
    path = write(tmp_path / "t.sqlite", f"{SCRIPT} INSERT INTO empty {numbers};")
    content = bytearray(path.read_bytes())
    begin = page * 4096 + (100 if page == 0 else 0)
    content[begin : begin + 600] = b"\x7f" * 600
    path.write_bytes(content)

    def read_everything() -> None:
        with Database(path) as database:
            database.read_many({name: {"rows": "rowid", "v": "start"} for name in ("events", "empty")})
            for name, columns in database.tables().items():
                database.read_text(name, {column: f'"{column}"' for column in columns})

    with pytest.raises(BadInput, match="damaged SQLite database") as caught:
        read_everything()
    assert "\n" not in str(caught.value)


def test_real_bad_files(real_traces: Path) -> None:
    for name, words in {"lfs_pointer": "git lfs pull", "zero_byte": "is empty", "truncated": "is cut off"}.items():
        with pytest.raises(BadInput, match=words):
            Database(real_traces / "bad" / f"{name}.sqlite")


def test_every_real_table_equals_what_sqlite_says(real_traces: Path) -> None:
    path = real_traces / "gomory_rtx3090_2025_5.sqlite"
    with Database(path) as database, closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as plain:
        for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"):
            names = sorted(database.tables()[table])
            columns = database.read(table, {name: f'"{name}"' for name in names})
            query = ", ".join(f'COALESCE("{name}", 0)' for name in names)
            rows = plain.execute(f"SELECT {query} FROM {table}").fetchall()
            assert np.array_equal(np.array([*columns.values()]).T, np.array(rows))

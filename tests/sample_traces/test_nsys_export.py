"""The exports look like those of their years, and the committed samples are what the script writes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from sample_traces.nsys_export import GENERATIONS, write
from sample_traces.operations import (
    Fill,
    Host,
    Launch,
    LaunchGraph,
    Migrate,
    Operation,
    Overhead,
    Pop,
    Push,
    Synchronize,
)
from sample_traces.programs import SAMPLES, cuda_graph_replay
from sample_traces.simulator import Machine, simulate
from sample_traces.truth import explain
from sample_traces.write_samples import readme, write_samples

if TYPE_CHECKING:
    from pathlib import Path

    from sample_traces.run import Run

Table = tuple[str, list[tuple[Any, ...]]]


def tables(path: Path) -> dict[str, Table]:
    """Declaration and rows of every table."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        declared = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        return {name: (sql, database.execute(f"SELECT * FROM {name}").fetchall()) for name, sql in declared}


def columns(path: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


PROGRAM: list[Operation] = [
    Push("decode", "ML"),
    Launch("void ns::add<float, (int)4>(float *, int)", 1_000),
    Fill(500),
    Migrate(700),
    Overhead(900, "CUPTI Buffer flush"),
    Overhead(900, "Chunk Allocation"),
    Host(9_000),
    Synchronize(),
    Pop("ML"),
]


@pytest.fixture
def run() -> Run:
    return simulate(PROGRAM)


def test_the_committed_samples_are_what_the_script_writes(samples: Path, tmp_path: Path) -> None:
    write_samples(tmp_path)
    for name in SAMPLES:
        # Rows, not bytes: an SQLite file names the version of the library that wrote it.
        assert tables(samples / f"{name}.sqlite") == tables(tmp_path / f"{name}.sqlite")
        assert (samples / f"{name}.sqlite").stat().st_size < 300_000
    assert (samples / "README.md").read_text(encoding="utf-8") == (tmp_path / "README.md").read_text(encoding="utf-8")


def test_the_readme_tells_each_samples_truth() -> None:
    truth = explain(SAMPLES["sync_bound_loop"]())
    text = readme({"sync_bound_loop": truth})
    assert f"| idle: sync | {truth.causes['sync'] / 1e6:.3f} |" in text


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_same_run_gives_the_same_bytes(run: Run, tmp_path: Path, generation: str) -> None:
    for name in ("a", "b"):
        write(run, tmp_path / name, generation, permute=1, renumber=2, shift_ns=3)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("generation", "version", "present", "absent"),
    [
        ("old", None, {"globalPid"}, {"mangledName", "greenContextId", "graphId"}),
        ("2.9", "2.9.1", {"mangledName"}, {"greenContextId", "graphId"}),
        ("3.7", "3.7.2", {"greenContextId"}, {"graphId"}),
        ("3.17", "3.17.1", {"greenContextId"}, {"graphId"}),
        ("3.24", "3.24.0", {"greenContextId", "graphId", "clusterX"}, set()),
    ],
)
def test_each_generation_has_its_version_and_columns(
    run: Run, tmp_path: Path, generation: str, version: str | None, present: set[str], absent: set[str]
) -> None:
    path = tmp_path / "run.sqlite"
    write(run, path, generation)
    found = tables(path)
    told = found.get("EXPORT_META_DATA", ("", []))[1] + found.get("META_DATA_EXPORT", ("", []))[1]
    assert [value for name, value in told if name == "EXPORT_SCHEMA_VERSION"] == ([version] if version else [])
    kernel_columns = set(columns(path, "CUPTI_ACTIVITY_KIND_KERNEL"))
    assert present <= kernel_columns
    assert not absent & kernel_columns
    assert ("TARGET_INFO_CUDA_DEVICE" in found) == (generation in ("3.17", "3.24"))


def test_overheads_of_cupti_have_their_own_table_in_the_newest(run: Run, tmp_path: Path) -> None:
    rows = {}
    for generation in GENERATIONS:
        write(run, tmp_path / "run.sqlite", generation)
        found = tables(tmp_path / "run.sqlite")
        rows[generation] = [
            len(found[name][1]) if name in found else None
            for name in ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD")
        ]
    assert rows.pop("3.24") == [1, 1]
    assert list(rows.values()) == [[2, None]] * 4


def test_tables_without_rows_exist_only_when_asked_for(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    write(run, path)
    assert "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" not in tables(path)
    write(run, path, empty_tables=True)
    assert tables(path)["CUPTI_ACTIVITY_KIND_GRAPH_TRACE"][1] == []


def test_permuting_changes_only_the_order_and_shifting_only_the_times(run: Run, tmp_path: Path) -> None:
    plain, permuted, shifted = (tmp_path / name for name in ("plain", "permuted", "shifted"))
    write(run, plain)
    write(run, permuted, permute=7)
    write(run, shifted, shift_ns=1_000)
    one, other = tables(plain), tables(permuted)
    assert one != other
    assert {name: sorted(map(repr, rows)) for name, (_, rows) in one.items()} == {
        name: sorted(map(repr, rows)) for name, (_, rows) in other.items()
    }
    for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMSET"):
        for before, after in zip(one[table][1], tables(shifted)[table][1], strict=True):
            assert after == (before[0] + 1_000, before[1] + 1_000, *before[2:])


def test_renumbering_changes_every_kind_of_id(run: Run, tmp_path: Path) -> None:
    plain, renumbered = tmp_path / "plain", tmp_path / "renumbered"
    write(run, plain)
    write(run, renumbered, renumber=3)
    rows = []
    for path in (plain, renumbered):
        with closing(sqlite3.connect(path)) as database:
            database.row_factory = sqlite3.Row
            rows.append(dict(database.execute("SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()))
    for column in ("correlationId", "globalPid", "contextId", "streamId", "demangledName"):
        assert rows[0][column] != rows[1][column]
    assert rows[0]["start"] == rows[1]["start"]


def test_lost_calls_leave_their_works(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    write(run.losing(lambda call: "Launch" in call.name), path)
    found = tables(path)
    assert len(found["CUPTI_ACTIVITY_KIND_RUNTIME"][1]) == len(run.calls) - 1
    assert len(found["CUPTI_ACTIVITY_KIND_KERNEL"][1]) == 1


def test_graphs_as_a_whole_need_a_generation_that_has_them(tmp_path: Path) -> None:
    whole = [replace(part, whole=True) if isinstance(part, LaunchGraph) else part for part in cuda_graph_replay(2)]
    run = simulate(whole)
    with pytest.raises(ValueError, match="GRAPH_TRACE"):
        write(run, tmp_path / "run.sqlite", "old")
    with pytest.raises(ValueError, match=r"one of old, 2\.9"):
        write(run, tmp_path / "run.sqlite", "1.0")


def test_outer_and_inner_records_of_a_call_share_a_correlation(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    write(simulate([Launch("a", 1_000)], Machine(outer_records=True)), path)
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute(
            "SELECT value, start, end, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON nameId = id"
        ).fetchall()
    outer, inner = sorted(rows, key=lambda row: row[1])
    assert (outer[0], inner[0]) == ("cudaLaunchKernel", "cudaLaunchKernel_v7000")
    assert outer[1] < inner[1] < inner[2] < outer[2]
    assert outer[3] == inner[3]

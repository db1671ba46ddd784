"""Which GPU ran a work, and what it is called, in exports that say it, say half of it, or nothing."""

from __future__ import annotations

import shutil
import sqlite3
from typing import TYPE_CHECKING

import pytest

import advisor
from sample_traces import nsys_export
from sample_traces.operations import (
    BeginCapture,
    Copy,
    EndCapture,
    Host,
    Instantiate,
    Launch,
    LaunchGraph,
    Operation,
    Synchronize,
)
from sample_traces.simulator import Machine, simulate

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.trace.trace import Trace

UNMAPPED = "DROP TABLE TARGET_INFO_CUDA_DEVICE"


def changed(trace: Path, folder: Path, *statements: str) -> Trace:
    path = folder / "changed.sqlite"
    shutil.copy(trace, path)
    with sqlite3.connect(path) as database:
        for statement in statements:
            database.execute(statement)
    database.close()
    return advisor.read_trace(path)


@pytest.fixture
def sample(samples: Path) -> Path:
    return samples / "launch_bound_decode.sqlite"


def one_more_gpu(name: str) -> tuple[str, ...]:
    return (
        "CREATE TABLE more AS SELECT * FROM TARGET_INFO_GPU",
        f"UPDATE more SET id = 7, name = '{name}'",
        "INSERT INTO TARGET_INFO_GPU SELECT * FROM more",
    )


def test_without_a_map_a_gpu_is_named_where_all_are_of_one_kind(sample: Path, tmp_path: Path) -> None:
    (device,) = changed(sample, tmp_path, UNMAPPED, *one_more_gpu("Simulated GPU")).devices
    assert (device.name, device.physical) == ("Simulated GPU", False)
    (device,) = changed(sample, tmp_path, UNMAPPED, *one_more_gpu("Another GPU")).devices
    assert (device.name, device.physical) == ("", False)
    (device,) = changed(sample, tmp_path, *one_more_gpu("Another GPU")).devices
    assert (device.name, device.physical) == ("Simulated GPU", True)


def test_names_that_old_exports_hold_for_each_process_are_used(sample: Path, tmp_path: Path) -> None:
    pid = advisor.read_trace(sample).processes[0][0]
    trace = changed(
        sample,
        tmp_path,
        UNMAPPED,
        "DROP TABLE TARGET_INFO_GPU",
        "CREATE TABLE TARGET_INFO_CUDA_GPU (deviceId INTEGER, pid INTEGER, name TEXT)",
        f"INSERT INTO TARGET_INFO_CUDA_GPU VALUES (0, {pid}, 'Old GPU'), (0, 1, 'Stranger'), (1, {pid}, 'Neighbour')",
    )
    assert [device.name for device in trace.devices] == ["Old GPU"]


def test_graphs_that_begin_on_the_host_ran_where_their_process_ran(tmp_path: Path) -> None:
    replay: list[Operation] = [Copy(1_000), LaunchGraph(1, whole=True), Synchronize(), Host(20_000)]
    capture: list[Operation] = [BeginCapture(), Launch("relu", 2_000), EndCapture(1), Instantiate(1)]
    path = tmp_path / "graphs.sqlite"
    nsys_export.write(simulate([*capture, *(replay * 5)], Machine(module_load_ns=0)), path)
    as_it_was = advisor.analyze(advisor.read_trace(path)).to_dict()
    from_the_host = "UPDATE CUPTI_ACTIVITY_KIND_GRAPH_TRACE SET deviceId = 2147483647, contextId = 2147483647"
    now = advisor.analyze(changed(path, tmp_path, from_the_host)).to_dict()
    assert now["devices"] == as_it_was["devices"]
    assert now["coverage"]["graph_level"] == 5


def test_the_version_is_read_where_an_export_creates_every_table(sample: Path, tmp_path: Path) -> None:
    trace = changed(
        sample,
        tmp_path,
        "ALTER TABLE META_DATA_EXPORT RENAME TO EXPORT_META_DATA",
        "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)",
    )
    assert trace.schema_version == advisor.read_trace(sample).schema_version is not None

"""Nsight Systems SQLite exports, from 2020 to today.

Tables and columns came and went over the years: what an export has is looked up, never assumed, and an empty table is
the same as none. Absent values are NULL in newer exports and 0 in older ones; both become 0 here.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from advisor.errors import BadInput, CannotDecide
from advisor.trace.readers.sqlite import Database, cores, joined
from advisor.trace.trace import (
    Calls,
    Device,
    Overheads,
    Ranges,
    Trace,
    WorkKind,
    Works,
    as_slice,
    dense_codes,
    distinct_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Table = dict[str, NDArray[np.int64]]
    Pieces = dict[str, list[NDArray[np.int64]]]
    """A table as it was read: the pieces of each column."""

__all__ = ["read_nsys_sqlite"]

RECORD_AGAIN = "record it again with `nsys profile --trace=cuda,nvtx --cuda-graph-trace=node …`"

WORK_TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": WorkKind.KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": WorkKind.MEMCPY,
    "CUPTI_ACTIVITY_KIND_MEMSET": WorkKind.MEMSET,
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": WorkKind.GRAPH,
}
CALL_TABLES = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
OVERHEAD_TABLES = ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD")
RANGE_TABLES = ("NVTX_EVENTS", "NVTX_EVENTS_V2", "NVTX_EVENTS_V3")
VERSION_TABLES = ("META_DATA_EXPORT", "EXPORT_META_DATA")
MARKS = (*WORK_TABLES, *CALL_TABLES, *OVERHEAD_TABLES, *RANGE_TABLES, *VERSION_TABLES, "TARGET_INFO_", "OSRT_API")
"""What an export has at least one of."""

# What is read of each kind of table: our name, and the columns that may hold it, the better one first.
WORK_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "start": ("start",),
    "end": ("end",),
    "pid": ("globalPid",),
    "ordinal": ("deviceId",),
    "context": ("contextId",),
    "stream": ("streamId",),
    "correlation": ("correlationId",),
}
KIND_COLUMNS: Mapping[WorkKind, Mapping[str, tuple[str, ...]]] = {
    WorkKind.KERNEL: {"name": ("demangledName", "shortName"), "graph_node": ("graphNodeId",)},
    WorkKind.MEMCPY: {"name": ("copyKind",), "graph_node": ("graphNodeId",)},
    WorkKind.MEMSET: {"graph_node": ("graphNodeId",)},
    WorkKind.GRAPH: {"name": ("graphId",), "graph_node": ("graphId",)},
}
CALL_COLUMNS = {
    "start": ("start",),
    "end": ("end",),
    "tid": ("globalTid",),
    "correlation": ("correlationId",),
    "name": ("nameId",),
}
OVERHEAD_COLUMNS = {"start": ("start",), "end": ("end",), "tid": ("globalTid",)}
RANGE_COLUMNS = {
    "row": ("rowid",),
    "start": ("start",),
    "end": ("end",),
    "tid": ("globalTid",),
    "type": ("eventType",),
    "domain": ("domainId",),
    "text_id": ("textId",),
}

PUSH_POP_RANGE, START_END_RANGE, DOMAIN_CREATE = 59, 60, 75
_IS_RANGE = f"eventType IN ({PUSH_POP_RANGE}, {START_END_RANGE})"
FROM_THE_HOST = 2**31 - 1
"""The device of a CUDA graph that begins with a node on the host."""
CLOCKS_APART_NS = 1_000_000
"""Far more than the clocks of host and GPU differ in a recording (some µs), far less than a recording takes."""
WARNING, ERROR = 2, 3
LOST_EVENTS = re.compile(r"(?!No \w+ events collected).*(CUDA|not all|drop|lost|overflow|incomplete|buffer)", re.I)

COPY_KINDS = {
    1: "Host-to-Device",
    2: "Device-to-Host",
    3: "Host-to-Array",
    4: "Array-to-Host",
    5: "Array-to-Array",
    6: "Array-to-Device",
    7: "Device-to-Array",
    8: "Device-to-Device",
    9: "Host-to-Host",
    10: "Peer-to-Peer",
    11: "Unified Host-to-Device",
    12: "Unified Device-to-Host",
    13: "Unified Device-to-Device",
}


def read_nsys_sqlite(path: Path, progress: Callable[[str], None] | None = None) -> Trace:
    """Read an export made by `nsys export --type sqlite` or `nsys profile --export sqlite`.

    Args:
        path: The file; it is opened read-only.
        progress: Called with a few words before each longer step.

    Raises:
        BadInput: Not readable, or not an export of Nsight Systems.
        CannotDecide: An export without work on a GPU; the message says how to record it.
    """
    say = progress or (lambda _words: None)
    with Database(path) as database:
        names = database.tables()
        if not any(name.startswith(MARKS) for name in names):
            listed = ", ".join(sorted(names)[:3]) or "none"
            raise BadInput(
                f"{path} is an SQLite database but not an Nsight Systems export (its tables: {listed}): "
                "make one with `nsys export --type sqlite REPORT.nsys-rep`"
            )
        say("reading GPU work and API calls")
        tables = database.read_many(_requests(names))
        say("reading names and ranges")
        return _assemble(path, database, tables)


def _requests(names: Mapping[str, frozenset[str]]) -> dict[str, dict[str, str]]:
    wanted: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for table, kind in WORK_TABLES.items():
        wanted[table] = {**WORK_COLUMNS, **KIND_COLUMNS[kind]}
    wanted |= dict.fromkeys(CALL_TABLES, CALL_COLUMNS)
    wanted |= dict.fromkeys(OVERHEAD_TABLES, OVERHEAD_COLUMNS)
    wanted |= dict.fromkeys(RANGE_TABLES, RANGE_COLUMNS)
    requests = {}
    for table, columns in wanted.items():
        present = {
            alias: [f'"{name}"' for name in choices if name in names.get(table, ()) or name == "rowid"]
            for alias, choices in columns.items()
        }
        if table in WORK_TABLES and table in names and not (present["start"] and present["end"]):
            raise BadInput(
                f"the export's table {table} has no column start or no column end: "
                "export it again with `nsys export --type sqlite REPORT.nsys-rep`"
            )
        # A table without times holds no events, whatever it is.
        if present["start"] and present["end"]:
            requests[table] = {
                alias: columns[0] if len(columns) == 1 else f"COALESCE({', '.join(columns)})"
                for alias, columns in present.items()
                if columns
            }
    return requests


def _assemble(path: Path, database: Database, tables: Mapping[str, Pieces]) -> Trace:
    recorded = _works(tables)
    zero_time = int(((recorded["start"] == 0) | (recorded["end"] == 0)).sum())
    works, dropped = _closed(recorded)
    calls, _ = _closed(_stacked(tables, CALL_TABLES, CALL_COLUMNS))
    overheads, _ = _closed(_stacked(tables, OVERHEAD_TABLES, OVERHEAD_COLUMNS))
    ranges, unclosed_ranges = _closed(_ranges(tables))

    tids, thread = dense_codes(np.concatenate([calls["tid"], overheads["tid"], ranges["tid"]]))
    call_thread, overhead_thread, range_thread = np.split(thread, np.cumsum([len(calls["tid"]), len(overheads["tid"])]))
    pids, process, owner = _process_codes(tables, works["pid"], tids)
    lost = _start_is_lost(works, process, calls, owner[call_thread])
    if lost.any():
        zero_time += int((works["start"][lost] < 0).sum())
        dropped += int(lost.sum())
        works, process = {name: column[~lost] for name, column in works.items()}, process[~lost]
    if 2 * len(works["start"]) <= len(recorded["start"]):
        raise CannotDecide(_nothing_to_analyze(path, len(calls["start"]), dropped))

    work_names, work_name = _work_names(database, works)
    call_names, call_name = _names(database, calls["name"])
    range_names, range_name = _range_names(database, tables, ranges)
    devices, device = _devices(database, pids[process], _placed(works["ordinal"], process))
    first, stream = distinct_rows(process.astype(np.int64), works["context"], works["stream"])
    tool_version, schema_version = _versions(database)
    return Trace(
        path=path,
        kind="nsys-sqlite",
        tool_version=tool_version,
        schema_version=schema_version,
        works=Works(
            start=works["start"],
            end=works["end"],
            kind=works["kind"].astype(np.uint8),
            process=process,
            device=device,
            stream=stream.astype(np.int64),
            correlation=works["correlation"],
            name=work_name,
            graph_node=works["graph_node"],
        ),
        calls=Calls(calls["start"], calls["end"], call_thread, calls["correlation"], call_name),
        ranges=Ranges(ranges["start"], ranges["end"], range_thread, range_name),
        overheads=Overheads(overheads["start"], overheads["end"], overhead_thread),
        work_names=work_names,
        call_names=call_names,
        range_names=range_names,
        processes=_process_names(database, pids),
        threads=owner,
        devices=devices,
        streams=tuple(zip(works["context"][first].tolist(), works["stream"][first].tolist(), strict=True)),
        zero_time=zero_time,
        unclosed_ranges=unclosed_ranges,
        diagnostics=_diagnostics(database),
    )


def _nothing_to_analyze(path: Path, calls: int, dropped: int) -> str:
    if dropped:
        return f"{path}: {dropped:,} of its GPU records have no start, no end, or an end before it: {RECORD_AGAIN}"
    if calls:
        return (
            f"{path} has {calls:,} CUDA API calls but no work on a GPU (kernel tracing failed or was not permitted, "
            f"as under WSL): {RECORD_AGAIN} on a system where nsys may trace the GPU"
        )
    return f"{path} is an Nsight Systems export without CUDA events: {RECORD_AGAIN}"


def _rows(pieces: Pieces) -> int:
    return sum(len(piece) for piece in pieces["start"])


def _stacked(tables: Mapping[str, Pieces], names: Iterable[str], columns: Collection[str]) -> Table:
    """The rows of several tables as one; a column that a table lacks is 0."""
    parts = [tables[name] for name in names if name in tables and _rows(tables[name])]
    pieces = [
        [piece for part in parts for piece in part.get(column) or [np.zeros(_rows(part), np.int64)]]
        for column in columns
    ]
    with ThreadPoolExecutor(cores()) as pool:
        return dict(zip(columns, pool.map(joined, pieces), strict=True))


def _closed(rows: Table) -> tuple[Table, int]:
    """The rows that have an end, and how many have none.

    A start of 0 may be the beginning of the session, and calls may begin before it; an end of 0 is none.
    """
    closed = (rows["end"] != 0) & (rows["end"] >= rows["start"])
    dropped = len(closed) - int(closed.sum())
    return (rows if dropped == 0 else {name: column[closed] for name, column in rows.items()}), dropped


def _start_is_lost(
    works: Table, process: NDArray[np.int32], calls: Table, caller: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Which works begin at 0 or before though their launch call came later: no work does, so it was not recorded when.

    Args:
        works: The works.
        process: Shape (works,): each one's process.
        calls: The API calls.
        caller: Shape (calls,): each one's process.
    """
    lost = np.zeros(len(process), np.bool_)
    early = np.flatnonzero((works["start"] <= 0) & (works["correlation"] != 0))
    if not len(early) or not len(caller):
        return lost
    owners = np.concatenate([process[early], caller]).astype(np.int64)
    rows, pair = distinct_rows(owners, np.concatenate([works["correlation"][early], calls["correlation"]]))
    launched = np.full(len(rows), np.iinfo(np.int64).max)
    np.minimum.at(launched, pair[len(early) :], calls["start"])
    launched = launched[pair[: len(early)]]
    has_call = launched < np.iinfo(np.int64).max
    lost[early] = has_call & (launched - CLOCKS_APART_NS > works["start"][early])
    return lost


def _works(tables: Mapping[str, Pieces]) -> Table:
    present = {name: kind for name, kind in WORK_TABLES.items() if name in tables}
    rows = _stacked(tables, present, [*WORK_COLUMNS, "name", "graph_node"])
    counts = [_rows(tables[name]) for name in present]
    return rows | {"kind": np.repeat(np.array([*present.values()], np.int64), counts)}


def _range_table(tables: Mapping[str, Pieces]) -> str | None:
    return next((name for name in RANGE_TABLES if name in tables and _rows(tables[name])), None)


def _ranges(tables: Mapping[str, Pieces]) -> Table:
    table = _range_table(tables)
    rows = _stacked(tables, [table] if table else [], RANGE_COLUMNS)
    ranges = (rows["type"] == PUSH_POP_RANGE) | (rows["type"] == START_END_RANGE)
    return {name: column[ranges] for name, column in rows.items()}


def _process_codes(
    tables: Mapping[str, Pieces], pid: NDArray[np.int64], tids: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """The processes (global ids), each work's, and each thread's."""
    owner = tids & ~np.int64(0xFFFFFF)
    if all("pid" in tables[name] for name in WORK_TABLES if name in tables and _rows(tables[name])):
        pids, codes = dense_codes(np.concatenate([pid, owner]))
        return pids, codes[: len(pid)], codes[len(pid) :]
    # Works without a process (a reduced export) can be joined by correlation id alone: as if there were one process.
    only = owner[:1] if len(owner) and (owner == owner[0]).all() else np.zeros(1, np.int64)
    return only, np.zeros(len(pid), np.int32), np.zeros(len(tids), np.int32)


def _names(database: Database, ids: NDArray[np.int64]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The strings behind ids of the table StringIds, and each row's index into them."""
    distinct, codes = dense_codes(ids)
    texts = database.strings(distinct)
    return tuple(texts.get(int(number), f"[name {number} is not in the export]") for number in distinct), codes


def _work_names(database: Database, works: Table) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    names: list[str] = []
    codes = np.zeros(len(works["start"]), np.int32)
    for kind in WorkKind:
        found = np.flatnonzero(works["kind"] == kind)
        if not len(found):
            continue
        rows = as_slice(found)
        if kind is WorkKind.KERNEL:
            mine, index = _names(database, works["name"][rows])
        else:
            distinct, index = dense_codes(works["name"][rows])
            mine = tuple(_name_of(kind, int(value)) for value in distinct)
        codes[rows] = index + len(names)
        names += mine
    return tuple(names), codes


def _name_of(kind: WorkKind, value: int) -> str:
    if kind is WorkKind.MEMCPY:
        return f"[CUDA memcpy {COPY_KINDS.get(value, f'of kind {value}')}]"
    return "[CUDA memset]" if kind is WorkKind.MEMSET else f"[CUDA graph {value}]"


def _placed(ordinal: NDArray[np.int64], process: NDArray[np.int32]) -> NDArray[np.int64]:
    """The CUDA ordinals, of graphs that begin on the host that of all else in their process, where it is one."""
    nowhere = np.flatnonzero(ordinal == FROM_THE_HOST)
    if not len(nowhere):
        return ordinal
    placed = ordinal.copy()
    for owner in np.unique(process[nowhere]):
        known = np.unique(ordinal[(process == owner) & (ordinal != FROM_THE_HOST)])
        if len(known) == 1:
            placed[nowhere[process[nowhere] == owner]] = known[0]
    return placed


def _devices(
    database: Database, global_pid: NDArray[np.int64], ordinal: NDArray[np.int64]
) -> tuple[tuple[Device, ...], NDArray[np.int32]]:
    """The physical devices where the export maps (process, ordinal) to one; else each pair is a device of its own."""
    physical = _physical_devices(database)
    product, in_process = _product_names(database), _product_names_in_processes(database)
    # Which of several kinds of GPUs an ordinal is, their order does not tell: a process may see some of them only.
    kinds = set(product.values())
    only = kinds.pop() if len(kinds) == 1 else ""
    rows, code = distinct_rows(global_pid, ordinal)
    found: dict[tuple[int, int, bool], Device] = {}
    device_of_pair = []
    next_number = max([-1, *physical.values()]) + 1
    for row in rows:
        pid, number = int(global_pid[row] >> 24) & 0xFFFFFF, int(ordinal[row])
        gpu = physical.get((pid, number))
        key = (gpu, 0, True) if gpu is not None else (number, int(global_pid[row]), False)
        if key not in found:
            if gpu is None:
                found[key] = Device(next_number, number, False, pid, in_process.get((pid, number), only))
                next_number += 1
            else:
                found[key] = Device(gpu, number, True, 0, product.get(gpu, ""))
        device_of_pair.append([*found].index(key))
    return tuple(found.values()), np.array(device_of_pair, np.int32)[code]


def _physical_devices(database: Database) -> dict[tuple[int, int], int]:
    if not {"gpuId", "cudaId", "pid"} <= database.tables().get("TARGET_INFO_CUDA_DEVICE", frozenset()):
        return {}
    rows = database.read(
        "TARGET_INFO_CUDA_DEVICE", {"pid": '"pid"', "ordinal": '"cudaId"', "gpu": 'COALESCE("gpuId", -1)'}
    )
    columns = (rows["pid"].tolist(), rows["ordinal"].tolist(), rows["gpu"].tolist())
    return {(pid, ordinal): gpu for pid, ordinal, gpu in zip(*columns, strict=True) if gpu >= 0}


def _product_names(database: Database) -> dict[int, str]:
    columns = database.tables().get("TARGET_INFO_GPU", frozenset())
    number = next((name for name in ("id", "deviceId") if name in columns), None)
    if number is None or "name" not in columns:
        return {}
    rows = database.read_text("TARGET_INFO_GPU", {"id": f'"{number}"', "name": '"name"'})
    return {int(key): name for key, name in zip(rows["id"], rows["name"], strict=True) if key.isdigit()}


def _product_names_in_processes(database: Database) -> dict[tuple[int, int], str]:
    """By process id and CUDA ordinal, as exports before 2022 have them."""
    if not {"pid", "deviceId", "name"} <= database.tables().get("TARGET_INFO_CUDA_GPU", frozenset()):
        return {}
    rows = database.read_text("TARGET_INFO_CUDA_GPU", {"pid": '"pid"', "ordinal": '"deviceId"', "name": '"name"'})
    columns = zip(rows["pid"], rows["ordinal"], rows["name"], strict=True)
    return {(int(pid), int(ordinal)): name for pid, ordinal, name in columns if pid.isdigit() and ordinal.isdigit()}


def _process_names(database: Database, pids: NDArray[np.int64]) -> tuple[tuple[int, str], ...]:
    names: dict[str, str] = {}
    if {"globalPid", "name"} <= database.tables().get("PROCESSES", frozenset()):
        rows = database.read_text("PROCESSES", {"pid": '"globalPid"', "name": '"name"'})
        names = dict(zip(rows["pid"], rows["name"], strict=True))
    return tuple(((int(pid) >> 24) & 0xFFFFFF, names.get(str(pid), "")) for pid in pids.tolist())


def _range_names(
    database: Database, tables: Mapping[str, Pieces], ranges: Table
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Names as `domain:text`; a text stands in the row itself, or is registered in StringIds."""
    table = _range_table(tables)
    if table is None or not len(ranges["start"]):
        return (), np.zeros(0, np.int32)
    registered, code = _names(database, ranges["text_id"])
    texts = list(registered)
    if "text" in database.tables()[table]:
        own = database.read_text(table, {"row": "rowid", "text": '"text"'}, where=f"{_IS_RANGE} AND text IS NOT NULL")
        index = {text: place for place, text in enumerate(dict.fromkeys(own["text"]), start=len(texts))}
        texts += index
        places = np.array([index[text] for text in own["text"]], np.int32)
        # Rows come in the order of their ids, here and there.
        has_own = np.isin(ranges["row"], np.array(own["row"], np.int64))
        code[has_own] = places[np.isin(np.array(own["row"], np.int64), ranges["row"])]
    domains = _domains(database, table)
    rows, name = distinct_rows(ranges["domain"], code.astype(np.int64))
    names = []
    for row in rows:
        domain = domains.get(int(ranges["domain"][row]), "")
        names.append(f"{domain}:{texts[code[row]]}" if domain else texts[code[row]])
    return tuple(names), name


def _domains(database: Database, table: str) -> dict[int, str]:
    present = database.tables()[table]
    if "domainId" not in present:
        return {}
    # Like a range's, a domain's name stands in the row itself or is registered.
    registered = '(SELECT value FROM StringIds WHERE StringIds.id = "textId")'
    choices = [expression for column, expression in (("text", '"text"'), ("textId", registered)) if column in present]
    if not {"id", "value"} <= database.tables().get("StringIds", frozenset()):
        choices = [expression for expression in choices if expression != registered]
    columns = {"id": '"domainId"', "name": f"COALESCE({', '.join([*choices, chr(39) * 2])})"}
    rows = database.read_text(table, columns, where=f"eventType = {DOMAIN_CREATE}")
    return {int(number): name for number, name in zip(rows["id"], rows["name"], strict=True) if number and name}


def _versions(database: Database) -> tuple[str | None, str | None]:
    """The version of the exporter, and of the schema; exports before 2022 name neither."""
    for table in VERSION_TABLES:
        if {"name", "value"} <= database.tables().get(table, frozenset()):
            rows = database.read_text(table, {"name": '"name"', "value": '"value"'})
            facts = dict(zip(rows["name"], rows["value"], strict=True))
            if facts:
                return facts.get("EXPORT_PRODUCT_VERSION"), facts.get("EXPORT_SCHEMA_VERSION")
    return None, None


def _diagnostics(database: Database) -> tuple[str, ...]:
    """The profiler's warnings and errors that speak of missing CUDA events, each once."""
    if not {"severity", "text"} <= database.tables().get("DIAGNOSTIC_EVENT", frozenset()):
        return ()
    rows = database.read_text("DIAGNOSTIC_EVENT", {"text": '"text"'}, where=f"severity IN ({WARNING}, {ERROR})")
    return tuple(dict.fromkeys(" ".join(text.split()) for text in rows["text"] if LOST_EVENTS.match(text)))

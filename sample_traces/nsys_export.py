"""A simulated run as an SQLite file that looks like an Nsight Systems export, in the tables of several years.

The generations: `old` (2020: no version table, fewer columns), `2.9` (EXPORT_META_DATA), `3.7` (META_DATA_EXPORT,
green contexts), `3.17` (which physical GPU an ordinal is, diagnostics), `3.24` (graph ids, clusters, CUPTI's own
overhead table). The same run and options give the same bytes.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from sample_traces.operations import CallKind, Stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sample_traces.run import ApiCall, Run, Work

    Row = dict[str, int | str | None]

__all__ = ["GENERATIONS", "gpus_known", "write"]

GENERATIONS = ("old", "2.9", "3.7", "3.17", "3.24")
_VERSIONS = {
    "2.9": ("EXPORT_META_DATA", "2.9.1", "2022.2.1.31"),
    "3.7": ("META_DATA_EXPORT", "3.7.2", "2023.4.4.54"),
    "3.17": ("META_DATA_EXPORT", "3.17.1", "2025.1.1.110"),
    "3.24": ("META_DATA_EXPORT", "3.24.0", "2025.5.2.266"),
}

# Columns of each table: name, `!` for NOT NULL, and from which generation to which (exclusive) where not always.
_TABLES = {
    "StringIds": "id! value:TEXT!",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime:TEXT localTime:TEXT",
    "CUPTI_ACTIVITY_KIND_KERNEL": """
        start! end! deviceId! contextId! greenContextId@3.7 streamId! correlationId globalPid demangledName! shortName!
        mangledName@2.9 launchType cacheConfig registersPerThread! gridX! gridY! gridZ! blockX! blockY! blockZ!
        staticSharedMemory! dynamicSharedMemory! localMemoryPerThread! localMemoryTotal! gridId! sharedMemoryExecuted
        graphNodeId sharedMemoryLimitConfig@2.9 qmdBulkReleaseDone@3.24 qmdPreexitDone@3.24 qmdLastCtaDone@3.24
        graphId@3.24 clusterX@3.24 clusterY@3.24 clusterZ@3.24 clusterSchedulingPolicy@3.24
        maxPotentialClusterSize@3.24 maxActiveClusters@3.24""",
    "CUPTI_ACTIVITY_KIND_MEMCPY": """
        start! end! deviceId! contextId! greenContextId@3.7 streamId! correlationId globalPid bytes! copyKind!
        deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId migrationCause@2.9
        graphNodeId virtualAddress@2.9 copyCount@3.24""",
    "CUPTI_ACTIVITY_KIND_MEMSET": """
        start! end! deviceId! contextId! greenContextId@3.7 streamId! correlationId globalPid value! bytes! graphNodeId
        memKind""",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": """
        start! end! deviceId! contextId! greenContextId@3.7 streamId! correlationId globalPid graphId! graphExecId!""",
    "CUPTI_ACTIVITY_KIND_RUNTIME": """
        start! end! eventClass! globalTid correlationId nameId! returnValue! callchainId@2.9""",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": """
        start! end! deviceId! contextId! greenContextId@3.7 streamId! correlationId globalPid deprecatedSyncType@3.17
        syncType! eventId! eventSyncId@3.17""",
    "CUDA_GRAPH_EVENTS": "start! end! eventClass! globalTid nameId! graphNodeId! originalGraphNodeId",
    "NVTX_EVENTS": """
        start! end eventType! rangeId category color text:TEXT globalTid endGlobalTid textId domainId uint64Value
        int64Value doubleValue:REAL uint32Value int32Value floatValue:REAL jsonTextId jsonText:TEXT
        binaryData:TEXT@3.17""",
    "PROFILER_OVERHEAD": """
        start! end! globalTid correlationId@old-2.9 nameId! returnValue!@old-3.24 overheadType!@3.24""",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "start! end! eventClass! globalTid correlationId nameId overheadType!",
    "DIAGNOSTIC_EVENT": "timestamp! timestampType! source! severity! text:TEXT! globalPid",
    "TARGET_INFO_GPU": """
        vmId! id!@2.9 deviceId!@old-2.9 name:TEXT busLocation:TEXT isDiscrete smCount@2.9 cuDevice@2.9""",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId! pid! uuid:TEXT@3.24 numMultiprocessors@3.24",
    "PROCESSES": "globalPid pid name:TEXT",
    "EXPORT_META_DATA": "name:TEXT! value:TEXT",
    "META_DATA_EXPORT": "name:TEXT! value:TEXT",
}
_TABLES_SINCE = {
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "2.9",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "3.24",
    "DIAGNOSTIC_EVENT": "3.17",
    "TARGET_INFO_CUDA_DEVICE": "3.17",
    "PROCESSES": "2.9",
}
_COLUMN = re.compile(r"(\w+)(?::(\w+))?(!?)(?:@([\w.]+)(?:-([\w.]+))?)?$")

_COPY_KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8, "UVM HtoD": 11, "UVM DtoH": 12}
_WORK_TABLES = {
    "kernel": "CUPTI_ACTIVITY_KIND_KERNEL",
    "memcpy": "CUPTI_ACTIVITY_KIND_MEMCPY",
    "memset": "CUPTI_ACTIVITY_KIND_MEMSET",
    "graph": "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
}
_RUNTIME, _DRIVER, _BACKTRACE, _NODE_CREATION, _OVERHEAD_CLASS = 0, 1, 67, 77, 103
_MARK, _PUSH_POP, _START_END, _DOMAIN_CREATE = 34, 59, 60, 75
_EVENT_SYNC, _STREAM_SYNC, _CONTEXT_SYNC = 1, 3, 4
_CUPTI_OVERHEADS = {"CUPTI Buffer flush": 3, "CUPTI Instrumentation": 4, "CUPTI Resource Management": 5}
_BUSY_SMS = 82


def gpus_known(generation: str) -> bool:
    """Whether exports of the GENERATION say which physical GPU a process's ordinal is."""
    return _in_generation(_TABLES_SINCE["TARGET_INFO_CUDA_DEVICE"], None, generation)


def write(
    run: Run,
    path: Path,
    generation: str = "3.24",
    *,
    permute: int | None = None,
    shift_ns: int = 0,
    renumber: int | None = None,
    zero_time_rows: int = 0,
    warnings: Sequence[str] = (),
    empty_tables: bool = False,
) -> None:
    """Write RUN to a new SQLite file at PATH; a file that is there is replaced.

    Args:
        run: What was recorded.
        path: Where to.
        generation: One of `GENERATIONS`.
        permute: Seed for putting the rows of every table in a random order.
        shift_ns: Added to all times.
        renumber: Seed for other correlation, string, process, thread, stream, context and graph ids.
        zero_time_rows: Kernel rows with start and end 0 to add: times that could not be collected.
        warnings: Texts for DIAGNOSTIC_EVENT, from generation 3.17 on.
        empty_tables: Create every table that the generation knows, also those without rows.

    Raises:
        ValueError: GENERATION is unknown, or older than whole-graph records while RUN has one.
    """
    if generation not in GENERATIONS:
        raise ValueError(f"no generation {generation!r}: one of {', '.join(GENERATIONS)}")
    export = _Export(run, generation, shift_ns, _Ids(run, renumber))
    export.fill(zero_time_rows, warnings)
    shuffle = None if permute is None else Random(permute)  # noqa: S311
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    try:
        database.execute("PRAGMA journal_mode = OFF")
        for table, columns in _TABLES.items():
            rows = export.tables.get(table, [])
            since = _TABLES_SINCE.get(table, "old")
            known = _in_generation(since, None, generation) and table in _meta_tables(generation)
            if rows and not known:
                raise ValueError(f"generation {generation} has no {table}")
            if rows or (empty_tables and known):
                if shuffle is not None:
                    shuffle.shuffle(rows)
                _write_table(database, table, list(_parse(columns, generation)), rows, generation)
        database.commit()
    finally:
        database.close()


def _meta_tables(generation: str) -> set[str]:
    """The tables of the generation, of which only one tells versions."""
    version_table = _VERSIONS[generation][0] if generation in _VERSIONS else ""
    return set(_TABLES) - ({"EXPORT_META_DATA", "META_DATA_EXPORT"} - {version_table})


def _in_generation(since: str, until: str | None, generation: str) -> bool:
    index = GENERATIONS.index
    return index(since) <= index(generation) and (until is None or index(generation) < index(until))


def _parse(columns: str, generation: str) -> Iterator[tuple[str, str, bool]]:
    """(name, type, NOT NULL) of each column that the generation has."""
    for text in columns.split():
        match = _COLUMN.match(text)
        if match is None:
            raise ValueError(f"not a column: {text}")
        name, kind, required, since, until = match.groups()
        if _in_generation(since or "old", until, generation):
            yield name, kind or "INTEGER", bool(required)


def _write_table(
    database: sqlite3.Connection,
    table: str,
    columns: Sequence[tuple[str, str, bool]],
    rows: Sequence[Row],
    generation: str,
) -> None:
    declared = ", ".join(f'"{name}" {kind}{" NOT NULL" if required else ""}' for name, kind, required in columns)
    database.execute(f"CREATE TABLE {table} ({declared})")
    # What is absent is 0 in old exports and in columns that must have a value, NULL otherwise.
    defaults = [0 if required or (generation == "old" and name == "graphNodeId") else None
                for name, _, required in columns]  # fmt: skip
    names = [name for name, _, _ in columns]
    marks = ", ".join("?" * len(names))
    database.executemany(
        f"INSERT INTO {table} VALUES ({marks})",  # noqa: S608 - names of this module
        ([row.get(name, default) for name, default in zip(names, defaults, strict=True)] for row in rows),
    )


class _Ids:
    """The ids of the export: the run's own, or others that mean the same."""

    def __init__(self, run: Run, seed: int | None) -> None:
        self.run = run
        self.random = None if seed is None else Random(seed)  # noqa: S311
        self.strings: dict[str, int] = {}
        self.free_strings = self._sample(range(1, 100_000), 50_000)
        self.pids = [process.pid for process in run.processes]
        self.tids = [thread.tid for thread in run.threads]
        self.graph_offset = 0
        self.correlations: list[dict[int, int]] = []
        self.streams: dict[tuple[int, Stream], tuple[int, int]] = {}
        if self.random is not None:
            self.pids = self._sample(range(1000, 4_000_000), len(run.processes))
            self.tids = self._sample(range(1000, 16_000_000), len(run.threads))
            self.graph_offset = self.random.randrange(1, 1000)
            for index in range(len(run.processes)):
                known = [call.correlation for call in run.calls if run.threads[call.thread].process == index]
                others = self._sample(range(1, 40 * len(known) + 100), len(known))
                self.correlations.append(dict(zip(known, others, strict=True)))
            streams = sorted(
                {(work.process, work.stream) for work in run.works},
                key=lambda key: (key[0], key[1].device, key[1].context, key[1].id),
            )
            contexts = sorted({(process, stream.device, stream.context) for process, stream in streams})
            new_contexts = dict(zip(contexts, self._sample(range(1, 1000), len(contexts)), strict=True))
            new_ids = self._sample(range(1, 10_000), len(streams))
            for (process, stream), new_id in zip(streams, new_ids, strict=True):
                self.streams[process, stream] = (new_contexts[process, stream.device, stream.context], new_id)

    def _sample(self, numbers: range, count: int) -> list[int]:
        return list(numbers[:count]) if self.random is None else self.random.sample(numbers, count)

    def string(self, text: str) -> int:
        known = self.strings.get(text)
        if known is None:
            known = self.strings[text] = self.free_strings[len(self.strings)]
        return known

    def global_pid(self, process: int) -> int:
        return 1 << 48 | self.pids[process] << 24

    def global_tid(self, thread: int) -> int:
        return self.global_pid(self.run.threads[thread].process) | self.tids[thread]

    def correlation(self, call: ApiCall) -> int:
        process = self.run.threads[call.thread].process
        return self.correlations[process][call.correlation] if self.correlations else call.correlation

    def stream(self, process: int, stream: Stream) -> tuple[int, int]:
        """Context and stream id."""
        return self.streams.get((process, stream), (stream.context, stream.id))


@dataclass
class _Export:
    run: Run
    generation: str
    shift: int
    ids: _Ids

    def __post_init__(self) -> None:
        self.tables: dict[str, list[Row]] = defaultdict(list)

    def fill(self, zero_time_rows: int, warnings: Iterable[str]) -> None:
        for number, work in enumerate(self.run.works):
            self.tables[_WORK_TABLES[work.kind]].append(self.work(work, number))
        for call in self.run.recorded_calls:
            self.call(call)
        self.nvtx()
        for overhead in self.run.overheads:
            self.overhead(overhead.thread, overhead.start, overhead.end, overhead.name)
        for event in self.run.graph_nodes:
            time = event.time + self.shift
            self.tables["CUDA_GRAPH_EVENTS"].append(
                {
                    "start": time,
                    "end": time,
                    "eventClass": _NODE_CREATION,
                    "globalTid": self.ids.global_tid(event.thread),
                    "nameId": self.ids.string("CUDA graph node creation"),
                    "graphNodeId": self.node_id(event.graph, event.node),
                }
            )
        kernels = self.tables["CUPTI_ACTIVITY_KIND_KERNEL"][:zero_time_rows]
        self.tables["CUPTI_ACTIVITY_KIND_KERNEL"] += [row | {"start": 0, "end": 0} for row in kernels]
        self.about(warnings)
        self.tables["StringIds"] = [{"id": number, "value": text} for text, number in self.ids.strings.items()]
        for table in [table for table, rows in self.tables.items() if not rows]:
            del self.tables[table]

    def since(self, generation: str) -> bool:
        return _in_generation(generation, None, self.generation)

    def node_id(self, graph: int, node: int) -> int:
        return (graph + self.ids.graph_offset) << 32 | node

    def work(self, work: Work, number: int) -> Row:
        context, stream = self.ids.stream(work.process, work.stream)
        call = work.call
        absent = 0 if not self.since("3.7") else None
        row: Row = {
            "start": work.start + self.shift,
            "end": work.end + self.shift,
            "deviceId": work.stream.device,
            "contextId": context,
            "streamId": stream,
            # The device's record names the call even where the call's own record is lost.
            "correlationId": absent if call is None else self.ids.correlation(call),
            "globalPid": self.ids.global_pid(work.process),
        }
        if work.kind == "graph":
            graph = work.graph + self.ids.graph_offset
            return row | {"graphId": graph, "graphExecId": graph + 1}
        if work.node:
            row["graphNodeId"] = self.node_id(work.graph, work.node)
        if work.kind == "memcpy":
            return row | {"bytes": work.size, "copyKind": _COPY_KINDS[work.name]}
        if work.kind == "memset":
            return row | {"bytes": work.size}
        blocks = max(1, (work.end - work.start) * _BUSY_SMS // 10_000)
        return row | {
            "demangledName": self.ids.string(work.name),
            "shortName": self.ids.string(_short_name(work.name)),
            "launchType": 1,
            "cacheConfig": 1,
            "registersPerThread": 32,
            "gridX": blocks,
            "gridY": 1,
            "gridZ": 1,
            "blockX": 128,
            "blockY": 1,
            "blockZ": 1,
            "gridId": number + 1,
        }

    def call(self, call: ApiCall) -> None:
        rows = self.tables["CUPTI_ACTIVITY_KIND_RUNTIME"]
        row: Row = {
            "start": call.start + self.shift,
            "end": call.end + self.shift,
            "eventClass": _RUNTIME if call.name.startswith("cuda") else _DRIVER,
            "globalTid": self.ids.global_tid(call.thread),
            "correlationId": self.ids.correlation(call),
            "nameId": self.ids.string(call.name),
            "returnValue": 0,
        }
        if call.inner is not None:
            outer = re.sub(r"_v\d+$", "", call.name)
            rows.append(row | {"eventClass": _BACKTRACE, "nameId": self.ids.string(outer)})
            row |= {"start": call.inner[0] + self.shift, "end": call.inner[1] + self.shift}
        rows.append(row)
        if call.kind is CallKind.SYNC:
            kind = _EVENT_SYNC if "Event" in call.name else _STREAM_SYNC if "Stream" in call.name else _CONTEXT_SYNC
            self.tables["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"].append(
                {
                    "start": call.start + self.shift,
                    "end": call.end + self.shift,
                    "deviceId": 0,
                    "contextId": 1,
                    "streamId": 4294967295,
                    "correlationId": row["correlationId"],
                    "globalPid": self.ids.global_pid(self.run.threads[call.thread].process),
                    "syncType": kind,
                    "eventId": 4294967295,
                }
            )

    def nvtx(self) -> None:
        rows = self.tables["NVTX_EVENTS"]
        domains: dict[tuple[int, str], int] = {}
        # Names registered with NVTX come as StringIds, others as text; newer exports have more of the former.
        registered = self.since("3.7")
        for number, event in enumerate(self.run.nvtx):
            thread = self.ids.global_tid(event.thread)
            domain = 0
            if event.domain:
                key = (self.run.threads[event.thread].process, event.domain)
                if key not in domains:
                    domains[key] = 1 + sum(process == key[0] for process, _ in domains)
                    rows.append(
                        {
                            "start": event.start + self.shift,
                            "eventType": _DOMAIN_CREATE,
                            "text": event.domain,
                            "globalTid": thread,
                            "domainId": domains[key],
                        }
                    )
                domain = domains[key]
            row: Row = {
                "start": event.start + self.shift,
                "end": None if event.end is None else event.end + self.shift,
                "eventType": {"push": _PUSH_POP, "startend": _START_END, "mark": _MARK}[event.kind],
                "globalTid": thread,
                "domainId": domain,
            }
            if event.kind == "startend":
                row["rangeId"] = number
            if event.end_thread is not None and event.end_thread != event.thread:
                row["endGlobalTid"] = self.ids.global_tid(event.end_thread)
            if registered and number % 2:
                row["textId"] = self.ids.string(event.name)
            else:
                row["text"] = event.name
            rows.append(row)

    def overhead(self, thread: int, start: int, end: int, name: str) -> None:
        row: Row = {
            "start": start + self.shift,
            "end": end + self.shift,
            "globalTid": self.ids.global_tid(thread),
            "nameId": self.ids.string(name),
        }
        if self.since("3.24") and name in _CUPTI_OVERHEADS:
            row |= {"eventClass": _OVERHEAD_CLASS, "overheadType": _CUPTI_OVERHEADS[name]}
            self.tables["CUPTI_ACTIVITY_KIND_OVERHEAD"].append(row)
        else:
            self.tables["PROFILER_OVERHEAD"].append(row)

    def about(self, warnings: Iterable[str]) -> None:
        """The tables about the machine, the processes and the export itself."""
        vm = 1 << 48
        gpus = sorted({gpu for process in self.run.processes for gpu in process.gpus})
        for gpu in gpus:
            self.tables["TARGET_INFO_GPU"].append(
                {
                    "vmId": vm,
                    "id": gpu,
                    "deviceId": gpu,
                    "name": "Simulated GPU",
                    "busLocation": f"0000:{gpu + 1:02x}:00.0",
                    "isDiscrete": 1,
                    "smCount": _BUSY_SMS,
                    "cuDevice": gpu,
                }
            )
        for index, process in enumerate(self.run.processes):
            pid = self.ids.pids[index]
            if self.since("3.17"):
                self.tables["TARGET_INFO_CUDA_DEVICE"] += [
                    {"gpuId": gpu, "cudaId": ordinal, "pid": pid, "numMultiprocessors": _BUSY_SMS}
                    for ordinal, gpu in enumerate(process.gpus)
                ]
            if self.since("2.9"):
                self.tables["PROCESSES"].append(
                    {"globalPid": self.ids.global_pid(index), "pid": pid, "name": f"simulated-{index}"}
                )
        self.tables["TARGET_INFO_SESSION_START_TIME"].append({"utcEpochNs": 0, "utcTime": "1970-01-01T00:00:00"})
        if self.since("3.17"):
            texts = [(1, "Profiling has started."), *((2, text) for text in warnings)]
            self.tables["DIAGNOSTIC_EVENT"] += [
                {"timestamp": self.shift, "timestampType": 1, "source": 3, "severity": severity, "text": text}
                for severity, text in texts
            ]
        if self.generation in _VERSIONS:
            table, schema, product = _VERSIONS[self.generation]
            parts = zip(("MAJOR", "MINOR", "MICRO"), schema.split("."), strict=True)
            values: Mapping[str, str] = {
                "EXPORT_PRODUCT_NAME": "sample_traces, in the schema of NVIDIA Nsight Systems",
                "EXPORT_PRODUCT_VERSION": product,
                "EXPORT_SCHEMA_VERSION": schema,
                **{f"EXPORT_SCHEMA_VERSION_{part}": number for part, number in parts},
            }
            self.tables[table] = [{"name": name, "value": value} for name, value in values.items()]


def _short_name(demangled: str) -> str:
    """`void ns::kernel<float>(int)` → `kernel`, as the profiler shortens names."""
    plain = demangled.replace("<unnamed>", "unnamed")
    depth, kept = 0, []
    for character in plain:
        depth += character in "<("
        if not depth:
            kept.append(character)
        depth -= character in ">)"
    return "".join(kept).split("::")[-1].split(" ")[-1] or demangled

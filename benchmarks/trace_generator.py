"""Large traces: an SQLite file as Nsight Systems 2025.1 exports it (schema 3.17), of a program bound by its launches.

The program decodes token after token: 250 short kernels, a copy of the result, a synchronisation, a little host code.
The same options give the same rows.
"""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path  # noqa: TC003 - typer reads the types of a command's options when it runs
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from advisor.output import staged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Column = NDArray[np.int64] | Sequence[str] | Sequence[int] | int

__all__ = ["write_trace"]

LAYERS, LAYER_KERNELS = 10, 25
STEP_KERNELS = LAYERS * LAYER_KERNELS
BLOCK_STEPS = 800
"""Rows are made and written in blocks of so many steps, so that memory does not grow with the trace."""

PROCESS_ID = 4242
GLOBAL_PID = 1 << 48 | PROCESS_ID << 24
GLOBAL_TID = GLOBAL_PID | PROCESS_ID
FIRST_STREAM = 7

RUNTIME, DRIVER, COPY_TO_HOST, PUSH_POP_RANGE = 0, 1, 2, 59
PINNED, DEVICE_MEMORY = 1, 2

_OPERATIONS = ("add", "mul", "gelu", "silu", "layer_norm", "softmax", "rope", "copy", "index", "gemv", "gemm", "reduce")
KERNELS = [
    f"void ops::{operation}_kernel<{scalar}, ({vector}), true>(const {scalar} *, const {scalar} *, {scalar} *, long)"
    for operation in _OPERATIONS
    for scalar, vector in (("__half", 8), ("float", 4))
]
CALLS = ["cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaStreamSynchronize_v3020"]
STRINGS = {text: number for number, text in enumerate([*CALLS, *KERNELS, "decode step"], start=10)}

TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "TARGET_INFO_GPU": "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, smCount INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_RUNTIME": """
        start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
        correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER""",
    "CUPTI_ACTIVITY_KIND_KERNEL": """
        start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
        greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
        demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER,
        cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,
        gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
        staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
        localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
        sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER""",
    "CUPTI_ACTIVITY_KIND_MEMCPY": """
        start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
        greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
        bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER,
        srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER,
        graphNodeId INTEGER, virtualAddress INTEGER""",
}
NVTX_TABLE = """
    start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER,
    text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER,
    int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER,
    jsonText TEXT, binaryData TEXT"""


def write_trace(path: Path, kernels: int, *, streams: int = 1, nvtx: bool = False, seed: int = 0) -> None:
    """Write a trace with KERNELS kernels and a few more API calls.

    Args:
        path: The file, replaced where there is one.
        kernels: How many, rounded up to whole steps of 250.
        streams: The kernels of a step go to so many streams in turn.
        nvtx: With a range for each step, and for each of its ten layers.
        seed: For the random times.
    """
    random = np.random.default_rng(seed)
    kernel = np.tile(random.integers(0, len(KERNELS), LAYER_KERNELS), LAYERS)
    kernel[[0, -2, -1]] = random.integers(0, len(KERNELS), 3)  # the embedding before the layers, the head behind them
    work = _Pattern(kernel, random.lognormal(math.log(2800), 0.5, len(KERNELS)))
    with staged(path) as target, closing(sqlite3.connect(target, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN")
        _write_facts(database, nvtx)
        steps = -(-kernels // STEP_KERNELS)
        clock, first_step = 1_500_000_000, 0
        while first_step < steps:
            block = min(BLOCK_STEPS, steps - first_step)
            clock = _write_steps(database, random, work, block, first_step, clock, streams, nvtx)
            first_step += block
        database.execute("COMMIT")


class _Pattern:
    """The kernels of a step: which, shape (250,), and the typical duration of each in ns."""

    def __init__(self, kernel: NDArray[np.int64], typical: NDArray[np.float64]) -> None:
        self.kernel = kernel
        self.typical = typical[kernel]


def _write_steps(
    database: sqlite3.Connection,
    random: np.random.Generator,
    work: _Pattern,
    steps: int,
    first_step: int,
    clock: int,
    streams: int,
    nvtx: bool,
) -> int:
    """Write STEPS steps from the time CLOCK on.

    Returns:
        When the next step begins.
    """
    shape = (steps, STEP_KERNELS)

    def around(typical: float | NDArray[np.float64], spread: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return (typical * random.lognormal(0, spread, shape)).astype(np.int64) + 1

    # Within a step times count from its begin. The host dispatches, calls, dispatches, calls, …
    dispatch, call = around(6000, 0.3, shape), around(3500, 0.2, shape)
    call_end = np.cumsum(dispatch + call, axis=1)
    call_start = call_end - call
    # … and a stream runs what it was given, in order.
    duration = around(work.typical, 0.1, shape)
    start, end = np.empty_like(duration), np.empty_like(duration)
    for stream in range(streams):
        mine = (slice(None), slice(stream, None, streams))
        start[mine], end[mine] = _in_order((call_start + around(3800, 0.2, shape))[mine], duration[mine])
    # At the end of a step the result is copied to the host, which waits for it.
    copy_call = call_end[:, -1] + around(9000, 0.2, (steps,))
    copy_call_end = copy_call + around(5000, 0.2, (steps,))
    copy_start = np.maximum(end.max(axis=1), copy_call_end) + 1200
    copy_end = copy_start + around(1400, 0.1, (steps,))
    sync_call = copy_call_end + around(2000, 0.2, (steps,))
    sync_call_end = np.maximum(copy_end, sync_call) + around(4000, 0.2, (steps,))
    next_step = sync_call_end + around(90_000, 0.3, (steps,))

    begin = clock + np.cumsum(next_step) - next_step
    calls = STEP_KERNELS + 2
    correlation = (np.arange(steps)[:, None] + first_step) * calls + np.arange(1, calls + 1)
    name_ids = np.array([STRINGS[KERNELS[kernel]] for kernel in work.kernel])

    def on_clock(times: NDArray[np.int64]) -> NDArray[np.int64]:
        absolute: NDArray[np.int64] = times + (begin if times.ndim == 1 else begin[:, None])
        return absolute.ravel()

    def with_last_calls(launches: NDArray[np.int64], *last: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([launches, np.stack(last, axis=1)], axis=1)

    _insert(
        database,
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        {
            "start": on_clock(with_last_calls(call_start, copy_call, sync_call)),
            "end": on_clock(with_last_calls(call_end, copy_call_end, sync_call_end)),
            "eventClass": RUNTIME,
            "globalTid": GLOBAL_TID,
            "correlationId": correlation.ravel(),
            "nameId": np.tile([STRINGS[CALLS[0]]] * STEP_KERNELS + [STRINGS[CALLS[1]], STRINGS[CALLS[2]]], steps),
            "returnValue": 0,
        },
    )
    order = np.argsort(on_clock(start), kind="stable")  # as exported: by start, also across streams
    place = order % STEP_KERNELS
    names = name_ids[place]
    _insert(
        database,
        "CUPTI_ACTIVITY_KIND_KERNEL",
        {
            "start": on_clock(start)[order],
            "end": on_clock(end)[order],
            "deviceId": 0,
            "contextId": 1,
            "greenContextId": 0,
            "streamId": FIRST_STREAM + place % streams,
            "correlationId": correlation[:, :STEP_KERNELS].ravel()[order],
            "globalPid": GLOBAL_PID,
            "demangledName": names,
            "shortName": names,
            "mangledName": names,
            "launchType": 1,
            "cacheConfig": 1,
            "registersPerThread": 16 + 2 * names,
            "gridX": 1 + place * 7,
            "gridY": 1,
            "gridZ": 1,
            "blockX": 128,
            "blockY": 1,
            "blockZ": 1,
            "staticSharedMemory": 0,
            "dynamicSharedMemory": 0,
            "localMemoryPerThread": 0,
            "localMemoryTotal": 155_713_536,
            "gridId": first_step * STEP_KERNELS + order + 1,
            "sharedMemoryExecuted": 32_768,
            "sharedMemoryLimitConfig": 0,
        },
    )
    _insert(
        database,
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        {
            "start": on_clock(copy_start),
            "end": on_clock(copy_end),
            "deviceId": 0,
            "contextId": 1,
            "greenContextId": 0,
            "streamId": FIRST_STREAM,
            "correlationId": correlation[:, -2],
            "globalPid": GLOBAL_PID,
            "bytes": 4,
            "copyKind": COPY_TO_HOST,
            "srcKind": DEVICE_MEMORY,
            "dstKind": PINNED,
        },
    )
    if nvtx:
        # Begin and end lie in the API-free stretches round the calls they hold. A registered text, and texts in rows.
        layers = slice(None, None, LAYER_KERNELS)
        before = call_start[:, layers] - dispatch[:, layers] // 2
        after = np.column_stack([before[:, 1:], copy_call - 2000])
        ranges = {"eventType": PUSH_POP_RANGE, "globalTid": GLOBAL_TID, "domainId": 0}
        step_range = {"start": on_clock(before[:, 0] - 1), "end": on_clock(sync_call_end + 500)}
        _insert(database, "NVTX_EVENTS", step_range | ranges | {"textId": STRINGS["decode step"]})
        texts = [f"layer {layer}" for layer in range(LAYERS)] * steps
        _insert(
            database, "NVTX_EVENTS", {"start": on_clock(before), "end": on_clock(after - 1)} | ranges | {"text": texts}
        )
    return int(clock + next_step.sum())


def _in_order(ready: NDArray[np.int64], duration: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Start and end of the works of a stream in each step, shape (steps, works): one after the other, none too early.

    With the device's own pause of 900 ns between two works, work j starts at the largest of `ready[i]` + the durations
    and pauses of i … j - 1, over all i ≤ j.
    """
    occupied = duration + 900
    before = np.cumsum(occupied, axis=1) - occupied
    start = np.maximum.accumulate(ready - before, axis=1) + before
    return start, start + duration


def _write_facts(database: sqlite3.Connection, nvtx: bool) -> None:
    for name, columns in (TABLES | ({"NVTX_EVENTS": NVTX_TABLE} if nvtx else {})).items():
        database.execute(f"CREATE TABLE {name} ({columns})")
    _insert(database, "StringIds", {"id": [*STRINGS.values()], "value": [*STRINGS]})
    version = {"": "3.17.1", "_MAJOR": "3", "_MINOR": "17", "_MICRO": "1"}
    facts = {f"EXPORT_SCHEMA_VERSION{part}": text for part, text in version.items()}
    facts |= {"EXPORT_PRODUCT_NAME": "NVIDIA Nsight Systems", "EXPORT_PRODUCT_VERSION": "2025.1.1.110"}
    _insert(database, "META_DATA_EXPORT", {"name": [*facts], "value": [*facts.values()]})
    _insert(database, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs": [1_735_689_600_000_000_000]})
    gpu: dict[str, Column] = {
        "vmId": 1 << 48,
        "id": 0,
        "name": ["NVIDIA H100 80GB HBM3"],
        "busLocation": ["0000:45:00.0"],
        "smCount": 132,
    }
    _insert(database, "TARGET_INFO_GPU", gpu)
    _insert(database, "TARGET_INFO_CUDA_DEVICE", {"gpuId": 0, "cudaId": 0, "pid": [PROCESS_ID]})


def _insert(database: sqlite3.Connection, table: str, columns: Mapping[str, Column]) -> None:
    """Insert rows; a number stands in every row, columns that are not named are NULL."""
    values = ", ".join(str(column) if isinstance(column, int) else "?" for column in columns.values())
    varying = [column for column in columns.values() if not isinstance(column, int)]
    rows = zip(*(column.tolist() if isinstance(column, np.ndarray) else column for column in varying), strict=True)
    database.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})", rows)  # noqa: S608


def main(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The SQLite file to write.", show_default=False)],
    kernels: Annotated[int, typer.Option(min=1, help="How many kernels, rounded up to whole steps.")] = 1_000_000,
    streams: Annotated[int, typer.Option(min=1, help="Kernels go to so many streams in turn.")] = 1,
    nvtx: Annotated[bool, typer.Option("--nvtx", help="With NVTX ranges for steps and layers.")] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same rows.")] = 0,
) -> None:
    """Write a large trace of a launch-bound program."""
    write_trace(path, kernels, streams=streams, nvtx=nvtx, seed=seed)


if __name__ == "__main__":
    typer.run(main)

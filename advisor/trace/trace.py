"""A trace as columns: what every reader fills and every analysis reads."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from pathlib import Path  # noqa: TC003 - a dataclass field's type is part of the public interface
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "RUN_RETURNS",
    "Calls",
    "Columns",
    "Device",
    "Overheads",
    "Ranges",
    "Trace",
    "WorkKind",
    "Works",
    "dense_codes",
    "distinct_rows",
]

RUN_RETURNS = "InferenceSession::Run"
"""The API name that stands for the end of an execution of ONNX Runtime, which returns when all its work is done."""


class WorkKind(IntEnum):
    """What occupies a device."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2
    GRAPH = 3
    """A whole CUDA graph launch, recorded as one interval (graph-level capture)."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of equal length, one row an event."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Self:
        """The given rows (indices, or a mask) of every column."""
        return replace(self, **{field.name: getattr(self, field.name)[rows] for field in fields(self)})


@dataclass(frozen=True, slots=True)
class Works(Columns):
    """Intervals on a device, shape (works,). Times are ns on the trace's clock."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    kind: NDArray[np.uint8]
    """A `WorkKind`."""
    process: NDArray[np.int32]
    """Index into `Trace.processes`."""
    device: NDArray[np.int32]
    """Index into `Trace.devices`."""
    stream: NDArray[np.int64]
    """Index into `Trace.streams`: equal for works of one stream of one context of one process."""
    correlation: NDArray[np.int64]
    """Joins to `Calls.correlation` of the same process; 0: none."""
    name: NDArray[np.int32]
    """Index into `Trace.work_names` (a kernel's demangled name)."""
    graph_node: NDArray[np.int64]
    """The node of a CUDA graph that this work executes, or for kind GRAPH the graph's id; 0: none."""


@dataclass(frozen=True, slots=True)
class Calls(Columns):
    """Calls on host threads that may put work on a device, shape (calls,): CUDA's API, ONNX Runtime's executor."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    thread: NDArray[np.int32]
    """Index into `Trace.threads`."""
    correlation: NDArray[np.int64]
    """0: none."""
    name: NDArray[np.int32]
    """Index into `Trace.call_names`."""


@dataclass(frozen=True, slots=True)
class Ranges(Columns):
    """Closed ranges that mark steps of the program, shape (ranges,): NVTX, `record_function`, `model_run`."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    thread: NDArray[np.int32]
    """Index into `Trace.threads`."""
    name: NDArray[np.int32]
    """Index into `Trace.range_names`."""


@dataclass(frozen=True, slots=True)
class Overheads(Columns):
    """Recorded profiler overhead on host threads, shape (intervals,)."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    thread: NDArray[np.int32]
    """Index into `Trace.threads`."""


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU as the trace knows it, or the CPU that a model's nodes ran on."""

    number: int
    """How people and `--device` name it: the GPU's id where the trace maps to physical GPUs."""
    ordinal: int
    """The CUDA ordinal inside the process."""
    physical: bool
    """False where the trace does not say which GPU the ordinal was: each (process, ordinal) is then its own."""
    process: int
    """The process id, where `physical` is false; else 0."""
    name: str
    """The GPU's product name; empty where unknown."""
    gpu: bool = True
    """False: the works are a model's nodes, and their names its operators (ONNX Runtime on the CPU)."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What one profile recorded, in whatever format it came."""

    path: Path
    kind: str
    """The format: `nsys-sqlite`, `nsys-rep`, `ort-profile` or `torch-profile`."""
    tool_version: str | None
    schema_version: str | None
    works: Works = field(repr=False)
    calls: Calls = field(repr=False)
    ranges: Ranges = field(repr=False)
    overheads: Overheads = field(repr=False)
    work_names: tuple[str, ...] = field(repr=False)
    call_names: tuple[str, ...] = field(repr=False)
    """API names as recorded, version suffixes included. In profiles of ONNX Runtime the executor's calls are named by
    the model's nodes, and `RUN_RETURNS`."""
    range_names: tuple[str, ...] = field(repr=False)
    """`domain:text`, or the text alone in the default domain."""
    processes: tuple[tuple[int, str], ...]
    """(process id, name) each; an id of 0 where the trace does not name the process."""
    threads: NDArray[np.int32] = field(repr=False)
    """Shape (threads,): the process of each host thread, as an index into `processes`."""
    devices: tuple[Device, ...]
    streams: tuple[tuple[int, int], ...]
    """(context, number) each, as the profiler numbers them; context 0 where it does not name any."""
    zero_time: int
    """Rows of work whose start or end was not recorded (0 or absent). Left out are those without an end, and those
    without a start of which a later launch call tells that it is none."""
    unclosed_ranges: int
    diagnostics: tuple[str, ...]
    """The profiler's own warnings and errors, word by word."""
    notes: tuple[str, ...] = ()
    """What the reader has to say besides: what it left out, or could not tell."""


def as_slice(rows: NDArray[np.intp]) -> NDArray[np.intp] | slice:
    """ROWS as a slice where they follow one another, so that what is picked with them is no copy."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (rows[1:] > rows[:-1]).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def dense_codes(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Number the distinct VALUES, shape (n,), from 0.

    Returns:
        The distinct values in ascending order, and each row's index into them.
    """
    if len(values) == 0:
        return values, np.zeros(0, np.int32)
    low, high = int(values.min()), int(values.max())
    if low == high:
        return values[:1].copy(), np.zeros(len(values), np.int32)
    if high - low > 4 * len(values) + 1_000_000:
        distinct, codes = np.unique(values, return_inverse=True)
        return distinct, codes.astype(np.int32)
    # Ids of one export lie close together: a table is several times faster than sorting.
    shifted = values - low
    code_of = np.zeros(high - low + 1, np.int32)
    code_of[shifted] = 1
    present = np.flatnonzero(code_of)
    code_of[present] = np.arange(len(present), dtype=np.int32)
    return present + low, code_of[shifted]


def distinct_rows(*columns: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Number the distinct rows of COLUMNS, each of shape (n,), from 0 in ascending order.

    Returns:
        One row for each number, and each row's number.
    """
    varying = [codes for distinct, codes in map(dense_codes, columns) if len(distinct) > 1]
    if not varying:
        size = len(columns[0])
        return np.zeros(min(size, 1), np.intp), np.zeros(size, np.int32)
    code = np.zeros(len(varying[0]), np.int64)
    for codes in varying:
        code = code * (int(codes.max()) + 1) + codes
    distinct, number = dense_codes(code)
    representative = np.zeros(len(distinct), np.intp)
    representative[number] = np.arange(len(code))
    return representative, number

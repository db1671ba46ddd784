"""The selected part of a trace as trace events (JSON), for ui.perfetto.dev and chrome://tracing.

Tracks: for each host thread its NVTX ranges and API calls; for each device why it was idle, in pieces of one cause, and
its streams. An arrow leads from each launch call to its works. Times are those of the trace's clock: the format counts
microseconds, written here as decimals with three digits, and `args` repeats them as integers in ns.

A work that starts before its launch call does (the clocks differ) has no arrow: the format knows none back in time.

Source of the format: "Trace Event Format" of the Chromium project; events X (complete), M (metadata), s and f (flow).
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.report.lanes import lanes_of
from advisor.report.stream_names import stream_names
from advisor.trace.causes import Cause, ThreadActivity
from advisor.trace.kernel_classes import op_classes
from advisor.trace.launches import CallClass, plain_name
from advisor.trace.pieces import cut_gaps
from advisor.words import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TextIO

    from numpy.typing import NDArray

    from advisor.trace.analysis import Analysis

__all__ = ["write"]

CHUNK = 100_000
"""So many events are put into words at once, whatever the size of the trace."""


def write(analysis: Analysis, file: TextIO) -> None:
    """Write the works that the analysis counts, their gaps, and what the threads of their processes did meanwhile."""
    trace, evidence = analysis.trace, analysis.evidence
    works, calls, ranges = trace.works, trace.calls, trace.ranges
    launch = evidence.launches.call
    called = launch[launch >= 0]
    begin = int(min(works.start.min(), calls.start[called].min(initial=works.start.min())))
    end = int(works.end.max())

    head = {"written_by": "advisor", "source": plain(trace.path.name), "begin_ns": begin, "end_ns": end}
    file.write(f'{{"displayTimeUnit":"ns","otherData":{_json(head)},\n"traceEvents":[')
    tracks = _Tracks(analysis, file)

    active = np.zeros(len(trace.processes), np.bool_)
    active[works.process] = True
    rows = _rows(ranges.start, ranges.end, active[trace.threads[ranges.thread]], begin, end)
    thread, start, stop = ranges.thread[rows], ranges.start[rows], ranges.end[rows]
    tid = tracks.add("{}, NVTX", 0, thread, lanes_of(thread, start, stop))
    names = _names(trace.range_names)
    _slices(file, tracks.process[thread], tid, start, stop, names[ranges.name[rows]], "nvtx")

    rows = _rows(calls.start, calls.end, active[trace.threads[calls.thread]], begin, end)
    thread, start, stop = calls.thread[rows], calls.start[rows], calls.end[rows]
    tid_of_call = np.zeros(len(calls), np.int64)
    tid_of_call[rows] = tracks.add("{}", 1, thread, lanes_of(thread, start, stop))
    names = _names([plain_name(name) for name in trace.call_names])
    classes = np.array([f',"class":"{each.name.lower()}"' for each in CallClass], object)
    more = classes[evidence.launches.call_class[rows]]
    _slices(file, tracks.process[thread], tid_of_call[rows], start, stop, names[calls.name[rows]], "call", more)

    _gaps(analysis, file, tracks)

    tid = tracks.add_streams(lanes_of(works.stream, works.start, works.end))
    names = _names(trace.work_names)
    classes = np.array([f',"class":"{each}"' for each in op_classes(trace.work_names)], object)
    _slices(
        file, tracks.device[works.device], tid, works.start, works.end, names[works.name], "work", classes[works.name]
    )

    arrows = np.flatnonzero(launch >= 0)
    arrows = arrows[works.start[arrows] >= calls.start[launch[arrows]]]
    call = launch[arrows]
    _arrows(file, "s", arrows, tracks.process[calls.thread[call]], tid_of_call[call], calls.start[call])
    _arrows(file, "f", arrows, tracks.device[works.device[arrows]], tid[arrows], works.start[arrows])
    file.write("\n]}\n")


class _Tracks:
    """The numbers of processes and tracks, and their names, which are written as soon as they are known."""

    def __init__(self, analysis: Analysis, file: TextIO) -> None:
        self._trace, self._file = analysis.trace, file
        self._between = "\n"
        self._next = 1
        pids = [pid for pid, _ in self._trace.processes]
        free = (number for number in count(1) if number not in pids)
        # Several processes without an id, and devices, have the numbers that are free.
        known = [pid if pid and pids.count(pid) == 1 else next(free) for pid in pids]
        self.process = np.array(known, np.int64)[self._trace.threads]
        """Shape (threads,): the process that each thread's tracks stand in."""
        self.device = np.array([next(free) for _ in self._trace.devices], np.int64)
        """Shape (devices,): the process that each device's tracks stand in."""
        used = np.unique(self._trace.works.process)
        for place in used.tolist():
            pid, name = self._trace.processes[place]
            self._name("process", known[place], 0, name.rsplit("/", 1)[-1] or f"process {pid}", place)
        for place in np.unique(self._trace.works.device).tolist():
            device = self._trace.devices[place]
            kind = f"GPU {device.number}" if device.gpu else "CPU"
            name = f"{kind}, {device.name}" if device.name else kind
            self._name("process", int(self.device[place]), 0, name, len(known) + place)

    def _name(self, kind: str, pid: int, tid: int, name: str, order: int) -> None:
        where = {"ph": "M", "pid": pid, "tid": tid}
        for field, value in (("name", plain(name)), ("sort_index", order)):
            self._file.write(self._between + _json({**where, "name": f"{kind}_{field}", "args": {field: value}}))
            self._between = ",\n"

    def add(self, label: str, place: int, thread: NDArray[np.int32], lane: NDArray[np.intp]) -> NDArray[np.int64]:
        """The track of each event of the threads; PLACE orders the tracks of one thread."""

        def named(owner: int, number: int, tid: int) -> None:
            name = label.format(f"thread {owner + 1}") + _suffix(number)
            self._name("thread", int(self.process[owner]), tid, name, 2 * owner + place)

        return self._numbers(thread, lane, named)

    def add_gaps(self) -> NDArray[np.int64]:
        """The track of each device's gaps, shape (devices,)."""
        tids = np.zeros(len(self._trace.devices), np.int64)
        for place in np.unique(self._trace.works.device).tolist():
            tids[place] = self._next
            self._name("thread", int(self.device[place]), self._next, "idle, by cause", 0)
            self._next += 1
        return tids

    def add_streams(self, lane: NDArray[np.intp]) -> NDArray[np.int64]:
        """The track of each work."""
        works = self._trace.works
        streams, first, stream = np.unique(works.stream, return_index=True, return_inverse=True)
        device = works.device[first]
        known = stream_names(self._trace)

        def named(owner: int, lane_number: int, tid: int) -> None:
            name = f"{known[streams[owner]]}{_suffix(lane_number)}"
            self._name("thread", int(self.device[device[owner]]), tid, name, owner + 1)

        return self._numbers(stream.reshape(-1), lane, named)

    def _numbers(
        self, owner: NDArray[Any], lane: NDArray[np.intp], named: Callable[[int, int, int], None]
    ) -> NDArray[np.int64]:
        width = int(lane.max(initial=0)) + 1
        keys, code = np.unique(owner.astype(np.int64) * width + lane, return_inverse=True)
        tids: NDArray[np.int64] = code.reshape(-1).astype(np.int64) + self._next
        for tid, key in enumerate(keys.tolist(), start=self._next):
            named(key // width, key % width, tid)
        self._next += len(keys)
        return tids


def _suffix(lane: int) -> str:
    return f" ({lane + 1})" if lane else ""


def _rows(
    start: NDArray[np.int64], end: NDArray[np.int64], wanted: NDArray[np.bool_], begin: int, stop: int
) -> NDArray[np.intp]:
    """The wanted rows that overlap a window."""
    return np.flatnonzero(wanted & (end >= begin) & (start <= stop))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _names(names: Sequence[str]) -> NDArray[Any]:
    """Each name as a JSON string."""
    return np.array([_json(plain(name)) for name in names], object)


def _micros(ns: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
    """Times as microseconds: a sign, whole ones, and thousandths."""
    size = np.abs(ns)
    return np.where(ns < 0, "-", ""), size // 1000, size % 1000


def _events(file: TextIO, template: str, columns: Iterable[NDArray[Any]]) -> None:
    """Write an event for each row of the COLUMNS."""
    columns = list(columns)
    for first in range(0, len(columns[0]), CHUNK):
        rows = zip(*(column[first : first + CHUNK].tolist() for column in columns), strict=True)
        file.writelines(map(template.__mod__, rows))


def _slices(
    file: TextIO,
    pid: NDArray[np.int64],
    tid: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    name: NDArray[Any],
    category: str,
    more: NDArray[Any] | None = None,
) -> None:
    """Write a slice for each row; MORE of its arguments stands as JSON that begins with a comma."""
    template = (
        f',\n{{"ph":"X","cat":"{category}","name":%s,"pid":%d,"tid":%d,"ts":%s%d.%03d,"dur":%s%d.%03d,'
        '"args":{"start_ns":%d,"end_ns":%d%s}}'
    )
    rest = np.full(len(pid), "", object) if more is None else more
    _events(file, template, [name, pid, tid, *_micros(start), *_micros(end - start), start, end, rest])


def _arrows(
    file: TextIO,
    end: str,
    work: NDArray[np.intp],
    pid: NDArray[np.int64],
    tid: NDArray[np.int64],
    time: NDArray[np.int64],
) -> None:
    """Write one END of the arrows to works: `s`, where they begin, or `f`."""
    binding = ',"bp":"e"' if end == "f" else ""
    template = f',\n{{"ph":"{end}"{binding},"cat":"launch","name":"launch","id":%d,"pid":%d,"tid":%d,"ts":%s%d.%03d}}'
    _events(file, template, [work, pid, tid, *_micros(time)])


def _gaps(analysis: Analysis, file: TextIO, tracks: _Tracks) -> None:
    """Write why each device was idle, and when."""
    trace, evidence = analysis.trace, analysis.evidence
    activity = ThreadActivity(trace, evidence.launches, analysis.dispatch_limit_ns)
    tids = tracks.add_gaps()
    names = _names([cause.key for cause in Cause])
    for first in range(0, len(evidence.gap_places), CHUNK):
        gaps = np.arange(first, min(first + CHUNK, len(evidence.gap_places)))
        pieces = cut_gaps(trace, evidence, activity, gaps)
        place = evidence.gap_places[gaps[pieces.gap]]
        device = trace.works.device[evidence.timeline.order[place]]
        length = evidence.timeline.exposed_gap[place]
        more = np.array([f',"gap_ns":{ns}' for ns in length.tolist()], object)
        _slices(file, tracks.device[device], tids[device], pieces.start, pieces.end, names[pieces.cause], "idle", more)

"""Iterations found from the repeating kernel sequence, where neither NVTX nor CUDA graphs mark them.

The kernels of one process on one device, in launch order, are a sequence of names. Periods to try are the lags at which
most kernels equal the one a lag before; the one whose iterations cover most of the sequence is taken. That is the outer
one where loops are nested: the layers inside a step repeat only until the step ends.

An iteration begins where the host pauses longest in the longest exactly repeating stretch. The few kernels there (as
many as make the place unique) are the mark by which all iterations are found, also those that differ a little. What
lies before the first mark is warm-up, and what follows the last whole iteration is tail.

Where the kernels alone show no iterations, as many copies around one kernel do, copies and sets are taken into the
sequence; and where other work cuts the repetition again and again, all its stretches are taken, not the longest alone.

Everything is done on whole columns with polynomial hashes modulo 2**64, in O(n log n) for n kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.hashing import BASE, numbers_for
from advisor.trace.launches import launch_order
from advisor.trace.trace import WorkKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.launches import Launches
    from advisor.trace.trace import Trace

__all__ = ["Iterations", "Marks", "find_iterations", "find_marks"]

LEAST_ITERATIONS = 3
LEAST_CERTAINTY = 0.5
"""Of the kernels, at least this share lies in iterations with the most frequent sequence; else nothing repeats."""
SURE = 0.8
"""With less, the longest row of kernels is not all that is looked at; and nothing else is taken with less, since the
layers inside one run of a model repeat by half, too."""

CONTEXT = 4
"""How many kernels in a row are compared to find how far apart equal places lie."""

LAGS_MEASURED, LAGS_TRIED = 48, 6
LEAST_FIT = 0.3
CERTAIN = 0.95
"""With so much certainty no further lag is tried."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Iterations as places in a sequence of works, in their order."""

    begin: NDArray[np.intp]
    """Shape (iterations,): the first work of each."""
    end: NDArray[np.intp]
    """Shape (iterations,): behind the last one."""
    certainty: float
    """The share of the works (kernels) in iterations with the most frequent sequence."""

    def __len__(self) -> int:
        return len(self.begin)


_NOTHING = Marks(np.zeros(0, np.intp), np.zeros(0, np.intp), 0.0)


@dataclass(frozen=True, slots=True)
class Iterations:
    """The iterations of one process on one device."""

    process: int
    """Index into `Trace.processes`."""
    device: int
    """Index into `Trace.devices`."""
    of_work: NDArray[np.int32]
    """Shape (works,): an iteration's number; -1: none."""
    count: int
    certainty: float
    """The share of the kernels that lies in iterations with the most frequent sequence."""


def find_iterations(trace: Trace, launches: Launches) -> list[Iterations]:
    """The iterations of each process on each device; none where nothing repeats."""
    works = trace.works
    owner = works.process.astype(np.int64) * len(trace.devices) + works.device
    found = []
    for code, count in enumerate(np.bincount(owner)):
        mine = np.flatnonzero((owner == code) & (launches.call >= 0))
        if len(mine) <= LEAST_CERTAINTY * count:  # Works without launch call have no place in the sequence.
            continue
        mine = launch_order(trace, launches, mine)
        rows, marks = _marked(trace, launches, mine)
        if not len(marks):
            continue
        starts = trace.calls.start[launches.call[mine]]
        begin = trace.calls.start[launches.call[rows[marks.begin]]]
        if (np.diff(begin) <= 0).any():  # They begin inside one launch call: no executions of a program.
            continue
        first = np.searchsorted(starts, begin)
        # What follows an iteration's last kernel belongs to it where the next iteration follows at once.
        stop = np.searchsorted(starts, trace.calls.start[launches.call[rows[marks.end - 1]]], side="right")
        follows = marks.end[:-1] == marks.begin[1:]
        stop[:-1][follows] = first[1:][follows]
        place = np.arange(len(mine))
        latest = np.searchsorted(first, place, side="right") - 1
        inside = (latest >= 0) & (place < stop[latest])
        of_work = np.full(len(works), -1, np.int32)
        of_work[mine[inside]] = latest[inside]
        process, device = divmod(int(code), len(trace.devices))
        found.append(Iterations(process, device, of_work, len(marks), marks.certainty))
    return found


def _marked(trace: Trace, launches: Launches, mine: NDArray[np.intp]) -> tuple[NDArray[np.intp], Marks]:
    """The works that show iterations best, of MINE in launch order, and the iterations as places in them."""
    works = trace.works
    kernels = mine[works.kind[mine] == WorkKind.KERNEL]
    found = []
    for rows, stretches in ((kernels, False), (mine, False), (kernels, True)):
        counted = works.kind[rows] == WorkKind.KERNEL
        marks = find_marks(works.name[rows], _pauses(trace, launches, rows), counted, stretches=stretches)
        if marks.certainty >= SURE:
            return rows, marks
        found.append(marks)
    return kernels, found[0]


def _pauses(trace: Trace, launches: Launches, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """How long the host paused before launching each of the works, ns."""
    call = launches.call[rows]
    pauses = np.zeros(len(rows), np.int64)
    pauses[1:] = trace.calls.start[call[1:]] - trace.calls.end[call[:-1]]
    return pauses


def find_marks(
    names: NDArray[np.int32],
    pauses: NDArray[np.int64],
    counted: NDArray[np.bool_] | None = None,
    *,
    stretches: bool = False,
) -> Marks:
    """Where iterations begin and end in a sequence of works.

    Args:
        names: Shape (n,): the works in launch order.
        pauses: Shape (n,): how long the host paused before each.
        counted: Shape (n,): the works (kernels) whose share in iterations tells how sure they are; None: all.
        stretches: Take iterations wherever they are; else only the longest row of them without other work between.
    """
    sequence = _Sequence(names, counted)
    tried = []
    for period in _periods(sequence):
        marks = _marks_of(sequence, int(period), pauses, stretches)
        if marks.certainty >= CERTAIN:
            return marks
        tried.append((marks.certainty, -int(period), marks))
    certainty, _, marks = max(tried, key=lambda found: found[:2], default=(0.0, 0, _NOTHING))
    return marks if certainty >= LEAST_CERTAINTY else _NOTHING


def _marks_of(sequence: _Sequence, period: int, pauses: NDArray[np.int64], stretches: bool) -> Marks:
    """The iterations of about PERIOD works."""
    begin, repeats = _longest_repetition(sequence.names, period)
    if repeats < LEAST_ITERATIONS:
        return _NOTHING
    block = pauses[begin : begin + repeats * period].reshape(repeats, period)
    first = begin + int(np.argmax(np.median(block, axis=0)))
    places = _places_like(sequence, first, period)
    if stretches:
        starts, ends = _all_whole(sequence, places, period, first)
    else:
        marks = _whole(sequence, places, period, first)
        starts, ends = marks[:-1], marks[1:]
    if len(starts) < LEAST_ITERATIONS:
        return _NOTHING
    _, index, counts = np.unique(sequence.hashes_of(starts, ends - starts), return_inverse=True, return_counts=True)
    usual = index == np.argmax(counts)
    repeated = sequence.counted[ends[usual]] - sequence.counted[starts[usual]]
    return Marks(starts, ends, float(repeated.sum() / max(sequence.counted[-1], 1)))


class _Sequence:
    """A sequence of names, with a hash of any stretch of it at the cost of a subtraction."""

    def __init__(self, names: NDArray[np.int32], counted: NDArray[np.bool_] | None = None) -> None:
        self.names = names
        self.counted = np.zeros(len(names) + 1, np.int64)
        """Shape (n + 1,): how many of the names before each place count."""
        np.cumsum(np.ones(len(names), np.bool_) if counted is None else counted, out=self.counted[1:])
        values = numbers_for(int(names.max()) + 1 if len(names) else 0)[names]
        inverse = np.uint64(pow(int(BASE), -1, 2**64))
        powers = np.multiply.accumulate(np.full(len(names), BASE))
        self._back = np.multiply.accumulate(np.full(len(names) + 1, inverse))
        self._sums = np.zeros(len(names) + 1, np.uint64)
        np.cumsum(values * powers, out=self._sums[1:])

    def hashes(self, length: int) -> NDArray[np.uint64]:
        """The hash of the LENGTH names from each place on, for all places that have so many."""
        places = len(self.names) - length + 1
        hashes: NDArray[np.uint64] = (self._sums[length:] - self._sums[:places]) * self._back[:places]
        return hashes

    def hashes_of(self, begin: NDArray[np.intp], length: NDArray[np.intp]) -> NDArray[np.uint64]:
        """The hash of each stretch."""
        hashes: NDArray[np.uint64] = (self._sums[begin + length] - self._sums[begin]) * self._back[begin]
        return hashes


def _periods(sequence: _Sequence) -> NDArray[np.intp]:
    """The lags at which most kernels equal the one a lag before, the best first; of equal ones the shortest first."""
    names = sequence.names
    none = np.zeros(0, np.intp)
    if len(names) < CONTEXT + LEAST_ITERATIONS:
        return none
    distances = _distances(sequence.hashes(CONTEXT))
    distances = distances[(distances >= 2) & (distances <= len(names) // LEAST_ITERATIONS)]
    if not len(distances):
        return none
    votes = np.bincount(distances)
    lags = np.argsort(votes, kind="stable")[::-1][:LAGS_MEASURED]
    lags = np.sort(lags[votes[lags] >= LEAST_ITERATIONS - 1])
    fits = np.array([np.count_nonzero(names[lag:] == names[:-lag]) / (len(names) - lag) for lag in lags])
    best = np.argsort(-fits, kind="stable")[:LAGS_TRIED]
    return lags[best[fits[best] >= LEAST_FIT]]


def _distances(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How far each value lies behind the one before that equals it."""
    # The low bits make room for the place: sorting values is several times faster than sorting an index of them.
    bits = np.uint64(len(values).bit_length())
    places = np.arange(len(values), dtype=np.uint64)
    order = np.sort((values >> bits << bits) | places)
    equal = order[1:] >> bits == order[:-1] >> bits
    distances: NDArray[np.int64] = np.diff(order)[equal].astype(np.int64)
    return distances


def _longest_repetition(names: NDArray[np.int32], period: int) -> tuple[int, int]:
    """Where the longest exact repetition begins, and how many whole periods it has."""
    equal = np.concatenate([[False], names[period:] == names[:-period], [False]])
    edges = np.flatnonzero(equal[1:] != equal[:-1])
    if not len(edges):
        return 0, 0
    lengths = edges[1::2] - edges[::2]
    longest = int(np.argmax(lengths))
    return int(edges[2 * longest]), (int(lengths[longest]) + period) // period


def _places_like(sequence: _Sequence, first: int, period: int) -> NDArray[np.intp]:
    """All places where the kernels follow that follow FIRST: as many as occur only once in a period."""
    length = 1
    while True:
        hashes = sequence.hashes(length)
        if length >= period or np.count_nonzero(hashes[first : first + period] == hashes[first]) == 1:
            return np.flatnonzero(hashes == hashes[first])
        length = min(2 * length, period)


def _whole(sequence: _Sequence, marks: NDArray[np.intp], period: int, first: int) -> NDArray[np.intp]:
    """The marks of the longest chain of iterations that are about a period long, with the end of the last one."""
    size = len(sequence.names)
    typical = sequence.hashes_of(np.array([first]), np.array([period]))[0]
    if marks[-1] + period <= size and sequence.hashes_of(marks[-1:], np.array([period]))[0] == typical:
        marks = np.append(marks, marks[-1] + period)
    near = np.abs(np.diff(marks) - period) <= period // 2
    edges = np.flatnonzero(np.diff(np.concatenate([[False], near, [False]])))
    if not len(edges):
        return marks[:0]
    longest = int(np.argmax(edges[1::2] - edges[::2]))
    return marks[edges[2 * longest] : edges[2 * longest + 1] + 1]


def _all_whole(
    sequence: _Sequence, marks: NDArray[np.intp], period: int, first: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Begin and end of all iterations that are about a period long, whatever lies between them."""
    size = len(sequence.names)
    following = np.append(marks[1:], size)
    near = np.abs(following - marks - period) <= period // 2
    near[-1] = False
    # The last one before other work ends where its usual sequence does.
    room = ~near & (following - marks >= period)
    typical = sequence.hashes_of(np.array([first]), np.array([period]))[0]
    last = np.flatnonzero(room)
    last = last[sequence.hashes_of(marks[last], np.full(len(last), period)) == typical]
    end = np.where(near, following, marks)
    end[last] = marks[last] + period
    return marks[end > marks], end[end > marks]

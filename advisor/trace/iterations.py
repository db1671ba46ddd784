"""Iterations found from the repeating kernel sequence, where neither NVTX nor CUDA graphs mark them.

The kernels of one process on one device, in launch order, are a sequence of names. Periods to try are the lags at which
most kernels equal the one a lag before; the one whose iterations cover most of the sequence is taken. That is the outer
one where loops are nested: the layers inside a step repeat only until the step ends.

An iteration begins where the host pauses longest in the longest exactly repeating stretch. The few kernels there (as
many as make the place unique) are the mark by which all iterations are found, also those that differ a little. What
lies before the first mark is warm-up, and what follows the last whole iteration is tail.

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

__all__ = ["Iterations", "find_iterations", "find_marks"]

LEAST_ITERATIONS = 3
LEAST_CERTAINTY = 0.5
"""Of the kernels, at least this share lies in iterations with the most frequent sequence; else nothing repeats."""

CONTEXT = 4
"""How many kernels in a row are compared to find how far apart equal places lie."""

LAGS_MEASURED, LAGS_TRIED = 48, 6
LEAST_FIT = 0.3
CERTAIN = 0.95
"""With so much certainty no further lag is tried."""


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
        kernels = mine[works.kind[mine] == WorkKind.KERNEL]
        marks, certainty = find_marks(works.name[kernels], _pauses(trace, launches, kernels))
        if not len(marks):
            continue
        starts = trace.calls.start[launches.call[mine]]
        begin = trace.calls.start[launches.call[kernels[marks[:-1]]]]
        if (np.diff(begin) <= 0).any():  # They begin inside one launch call: no executions of a program.
            continue
        end = trace.calls.start[launches.call[kernels[marks[-1] - 1]]]
        bounds = [*np.searchsorted(starts, begin), int(np.searchsorted(starts, end, side="right"))]
        of_work = np.full(len(works), -1, np.int32)
        of_work[mine[bounds[0] : bounds[-1]]] = np.repeat(np.arange(len(begin)), np.diff(bounds))
        found.append(
            Iterations(int(code) // len(trace.devices), int(code) % len(trace.devices), of_work, len(begin), certainty)
        )
    return found


def _pauses(trace: Trace, launches: Launches, kernels: NDArray[np.intp]) -> NDArray[np.int64]:
    """How long the host paused before launching each kernel, ns."""
    call = launches.call[kernels]
    pauses = np.zeros(len(kernels), np.int64)
    pauses[1:] = trace.calls.start[call[1:]] - trace.calls.end[call[:-1]]
    return pauses


def find_marks(names: NDArray[np.int32], pauses: NDArray[np.int64]) -> tuple[NDArray[np.intp], float]:
    """Where iterations begin in a sequence of kernels.

    Args:
        names: Shape (n,): the kernels in launch order.
        pauses: Shape (n,): how long the host paused before each.

    Returns:
        The first kernel of each iteration and, last, the end of the last one; and the share of the kernels in
        iterations with the most frequent sequence. Nothing and 0 where nothing repeats.
    """
    nothing = np.zeros(0, np.intp), 0.0
    sequence = _Sequence(names)
    tried = []
    for period in _periods(sequence):
        marks, certainty = _marks_of(sequence, period, pauses)
        if certainty >= CERTAIN:
            return marks, certainty
        tried.append((certainty, -period, marks))
    certainty, _, marks = max(tried, key=lambda found: found[:2], default=(0.0, 0, nothing[0]))
    return (marks, certainty) if certainty >= LEAST_CERTAINTY else nothing


def _marks_of(sequence: _Sequence, period: int, pauses: NDArray[np.int64]) -> tuple[NDArray[np.intp], float]:
    """The iterations of about PERIOD kernels, and the share of all kernels that repeat their most frequent sequence."""
    begin, repeats = _longest_repetition(sequence.names, period)
    if repeats < LEAST_ITERATIONS:
        return np.zeros(0, np.intp), 0.0
    block = pauses[begin : begin + repeats * period].reshape(repeats, period)
    first = begin + int(np.argmax(np.median(block, axis=0)))
    marks = _whole(sequence, _places_like(sequence, first, period), period, first)
    if len(marks) <= LEAST_ITERATIONS:
        return np.zeros(0, np.intp), 0.0
    lengths = np.diff(marks)
    _, index, counts = np.unique(sequence.hashes_of(marks[:-1], lengths), return_inverse=True, return_counts=True)
    return marks, float(lengths[index == np.argmax(counts)].sum() / len(sequence.names))


class _Sequence:
    """A sequence of names, with a hash of any stretch of it at the cost of a subtraction."""

    def __init__(self, names: NDArray[np.int32]) -> None:
        self.names = names
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

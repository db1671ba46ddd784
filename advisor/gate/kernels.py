"""How two kernel sequences differ: which kernels are new, gone, or moved."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from advisor.trace.samples import Samples

__all__ = ["KernelChange", "KernelDifference", "difference", "likeness"]


@dataclass(frozen=True, slots=True)
class KernelChange:
    """So many launches of one kernel in an execution."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class KernelDifference:
    """What to do to one sequence to get the other."""

    new: tuple[KernelChange, ...] = ()
    gone: tuple[KernelChange, ...] = ()
    moved: tuple[KernelChange, ...] = ()
    """In both, but at another place."""

    def __bool__(self) -> bool:
        return bool(self.new or self.gone or self.moved)


def likeness(one: Samples, other: Samples) -> float:
    """The share of the longer sequence's kernels that the other has as well, wherever they stand."""
    left, right = _counted(one), _counted(other)
    longer = max(left.total(), right.total())
    return (left & right).total() / longer if longer else 1.0


def difference(before: Samples, after: Samples) -> KernelDifference:
    """The kernels outside of a longest common subsequence.

    Where a sequence is too long for its order to be kept, moved kernels are not known.
    """
    left, right = _counted(before), _counted(after)
    if before.order is None or after.order is None:
        return KernelDifference(_changes(right - left), _changes(left - right))
    index = {name: number for number, name in enumerate(dict.fromkeys((*before.names, *after.names)))}
    sequences = [
        np.array([index[samples.names[place]] for place in samples.order or ()], np.int64)
        for samples in (before, after)
    ]
    deleted, inserted = _outside_of_common(*sequences)
    names = list(index)
    gone, new = Counter(names[code] for code in deleted), Counter(names[code] for code in inserted)
    return KernelDifference(_changes(new - gone), _changes(gone - new), _changes(new & gone))


def _counted(samples: Samples) -> Counter[str]:
    return Counter(dict(zip(samples.names, samples.counts, strict=True)))


def _changes(counted: Counter[str]) -> tuple[KernelChange, ...]:
    return tuple(KernelChange(name, count) for name, count in counted.items())


def _outside_of_common(one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[Sequence[int], Sequence[int]]:
    """What of each sequence lies outside of a longest common subsequence; O(len * len) in time and space."""
    shorter = min(len(one), len(other))
    differs = np.flatnonzero(one[:shorter] != other[:shorter])
    head = int(differs[0]) if len(differs) else shorter
    one, other = one[head:], other[head:]
    shorter = min(len(one), len(other))
    differs = np.flatnonzero(one[::-1][:shorter] != other[::-1][:shorter])
    tail = int(differs[0]) if len(differs) else shorter
    one, other = one[: len(one) - tail], other[: len(other) - tail]

    # lengths[i, j]: of the longest common subsequence of the first i and the first j. Rows grow by steps of at most 1,
    # so a running maximum carries the step from j to j + 1.
    lengths = np.zeros((len(one) + 1, len(other) + 1), np.int16)
    for i, code in enumerate(one):
        longer = np.where(other == code, lengths[i, :-1] + 1, lengths[i, 1:])
        np.maximum.accumulate(longer, out=lengths[i + 1, 1:])
    i, j = len(one), len(other)
    deleted, inserted = [], []
    while i and j:
        if one[i - 1] == other[j - 1]:
            i, j = i - 1, j - 1
        elif lengths[i - 1, j] >= lengths[i, j - 1]:
            i -= 1
            deleted.append(int(one[i]))
        else:
            j -= 1
            inserted.append(int(other[j]))
    deleted += one[:i][::-1].tolist()
    inserted += other[:j][::-1].tolist()
    return deleted[::-1], inserted[::-1]

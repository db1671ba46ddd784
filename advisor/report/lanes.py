"""Intervals apart into lanes, for viewers that draw only what nests: in a lane, two intervals are apart or nested."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["lanes_of"]


def lanes_of(track: NDArray[np.signedinteger], start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.intp]:
    """The lane of each interval on its track, from 0.

    A track whose intervals all nest, as calls of one thread do, has one lane. Elsewhere (kernels of one stream that
    overlap, ranges that cross) no lane has two at a time, and there are no more lanes than intervals at one time.

    Args:
        track: Shape (n,).
        start: Shape (n,), ns.
        end: Shape (n,), at least `start`.
    """
    lane = np.zeros(len(track), np.intp)
    order = np.lexsort((-end, start, track))
    first = np.flatnonzero(np.diff(track[order], prepend=-1))
    for begin, stop in zip(first, np.append(first, len(order))[1:], strict=True):
        mine = order[begin:stop]
        # What takes no time takes a moment here: its place among its neighbours is then certain.
        until = np.maximum(end[mine], start[mine] + 1)
        if not _nests(start[mine], until):
            lane[mine] = _first_fit(start[mine], until)
    return lane


def _nests(start: NDArray[np.int64], end: NDArray[np.int64]) -> bool:
    """Whether of any two intervals, sorted by start and the longer one first, one contains the other or they are apart.

    With k intervals open at its start, each must end within the latest one before that had k - 1 open: its parent, as
    long as all before nest.
    """
    place = np.arange(len(start))
    depth = place - np.searchsorted(np.sort(end), start, side="right")
    by_depth = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[by_depth], np.arange(int(depth.max()) + 2))
    for level in range(1, len(bounds) - 1):
        outer = by_depth[bounds[level - 1] : bounds[level]]
        inner = by_depth[bounds[level] : bounds[level + 1]]
        parent = outer[np.maximum(np.searchsorted(outer, inner) - 1, 0)]
        if (end[parent] < end[inner]).any():
            return False
    return True


def _first_fit(start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.intp]:
    """Each interval in the first lane that is free at its start; intervals sorted by start."""
    lane = np.zeros(len(start), np.intp)
    rest = np.arange(len(start))
    number = 0
    while len(rest):
        # A lane holds the first interval, then the first that starts when it has ended, and so on: the path from 0.
        step = np.append(np.searchsorted(start[rest], end[rest]), len(rest))
        taken = np.zeros(len(rest) + 1, np.bool_)
        taken[0] = True
        while not taken[-1]:
            taken[step[taken]] = True
            step = step[step]
        lane[rest[taken[:-1]]] = number
        rest = rest[~taken[:-1]]
        number += 1
    return lane

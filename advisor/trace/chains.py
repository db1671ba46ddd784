"""Chains of kernels that one kernel could replace: consecutive on one stream inside one run, of classes that merge.

Whether the values of one kernel are what the next one reads, a trace does not tell. A chain is a place to look at, and
what it would save is a prediction.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from advisor.trace.causes import FUSIBLE
from advisor.trace.kernel_classes import OP_CLASSES
from advisor.trace.trace import dense_codes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from advisor.trace.figures import Evidence
    from advisor.trace.trace import Trace

__all__ = ["MAY_FOLLOW", "PRODUCTS", "Chains", "chains_of", "find_chains"]

_FOLDS = ("reduction", "norm", "softmax")

MAY_FOLLOW: Mapping[str, tuple[str, ...]] = {
    "elementwise": ("elementwise", *_FOLDS),
    "reduction": ("elementwise",),
    "norm": ("elementwise",),
    "softmax": ("elementwise",),
    "gemm": ("elementwise",),
    "conv": ("elementwise",),
}
"""For each class of kernel, the classes that a kernel right behind it may have to become one kernel with it.

Whatever has no row here (copies, sets, gathers, attention, collectives, what a compiler fused, other) ends a chain.
"""

PRODUCTS = ("gemm", "conv")
"""A chain that one of these begins goes on with element-wise kernels only: an epilogue sees one tile of the result, and
what folds values needs whole rows. It ends before the first fold, which begins the next chain."""


@dataclass(frozen=True, slots=True)
class Chains:
    """Maximal chains of at least two kernels; no kernel is in two of them. Times in ns."""

    run: NDArray[np.int32]
    """Shape (chains,): the number of the run, as in `Runs.of_work`."""
    first: NDArray[np.intp]
    """Shape (chains + 1,): chain i consists of `rows[first[i]:first[i + 1]]`."""
    rows: NDArray[np.intp]
    """Shape (kernels in chains,): rows of `Trace.works`, in the order of the stream."""
    gap: NDArray[np.int64]
    """Shape (kernels in chains,): the fusible gap before each, 0 before the first of its chain."""
    own: NDArray[np.int64]
    """Shape (kernels in chains,): the busy time that each adds to what other streams run, 0 for the first."""
    low: NDArray[np.int64]
    """Shape (chains,): the fusible gaps before its kernels, the first apart."""
    high: NDArray[np.int64]
    """Shape (chains,): that, and their own time."""

    def __len__(self) -> int:
        return len(self.run)


def find_chains(trace: Trace, evidence: Evidence, classes: Sequence[str]) -> Chains:
    """Find the chains of all runs.

    Args:
        trace: The trace.
        evidence: Its timeline, gaps and runs.
        classes: The class of each of `trace.work_names`.
    """
    places = _by_stream(trace, evidence)
    rows = evidence.timeline.order[places]
    joins = _joins(trace, evidence, rows, np.array([_CODE[name] for name in classes], np.uint8))
    # In a chain are the kernels that join the one before, and those that the next one joins.
    member = joins.copy()
    member[:-1] |= joins[1:]
    inside = np.flatnonzero(member)
    places, rows, inner = places[inside], rows[inside], joins[inside]
    first = np.append(np.flatnonzero(~inner), len(inside))
    if not len(inside):
        nothing = np.zeros(0, np.int64)
        return Chains(evidence.runs.of_work[:0], first, rows, nothing, nothing, nothing, nothing)

    gap = np.where(inner, _fusible_gaps(evidence)[places], 0)
    # Where another stream's work was running already, the device stays busy without this one.
    begin = np.maximum(trace.works.start[rows], evidence.timeline.idle_since[places])
    own = np.where(inner, np.maximum(trace.works.end[rows] - begin, 0), 0)
    low_of = np.add.reduceat(gap, first[:-1])
    return Chains(
        run=evidence.runs.of_work[rows[first[:-1]]],
        first=first,
        rows=rows,
        gap=gap,
        own=own,
        low=low_of,
        high=low_of + np.add.reduceat(own, first[:-1]),
    )


def chains_of(classes: Sequence[str]) -> list[range]:
    """The places of each chain in one sequence of works, or of a model's nodes, given by their classes."""
    code = np.array([_CODE[name] for name in classes], np.uint8)
    joins = _mergeable(code)
    _end_before_folds(joins, code)
    bounds = [*np.flatnonzero(~joins).tolist(), len(code)]
    return [range(*pair) for pair in pairwise(bounds) if pair[1] - pair[0] > 1]


_CODE = {name: code for code, name in enumerate(OP_CLASSES)}
_MERGES = np.zeros((len(_CODE), len(_CODE)), np.bool_)
for _before, _after in MAY_FOLLOW.items():
    _MERGES[_CODE[_before], [_CODE[name] for name in _after]] = True
_IS_PRODUCT = np.array([name in PRODUCTS for name in _CODE], np.bool_)
_IS_FOLD = np.array([name in _FOLDS for name in _CODE], np.bool_)


def _by_stream(trace: Trace, evidence: Evidence) -> NDArray[np.intp]:
    """Shape (works,): the places of the timeline, stream after stream."""
    stream = trace.works.stream[evidence.timeline.order]
    _, code = dense_codes(stream)
    if not code.any():
        return np.arange(len(stream))
    # Numbers of 16 bits are sorted by counting.
    small = code.astype(np.uint16) if int(code.max()) <= np.iinfo(np.uint16).max else code
    return np.argsort(small, kind="stable")


def _joins(
    trace: Trace, evidence: Evidence, rows: NDArray[np.intp], class_of_name: NDArray[np.uint8]
) -> NDArray[np.bool_]:
    """Shape (works,), in the order of ROWS: the work becomes one kernel with the one before it."""
    code = class_of_name[trace.works.name[rows]]
    joins = _mergeable(code)
    later = np.flatnonzero(joins)
    run = evidence.runs.of_work
    for column in (trace.works.stream, run):
        joins[later] &= column[rows[later]] == column[rows[later - 1]]
    joins[later] &= run[rows[later]] >= 0
    _end_before_folds(joins, code)
    return joins


def _mergeable(code: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Shape (works,): the class may become one kernel with the class before it."""
    joins = np.zeros(len(code), np.bool_)
    joins[1:] = _MERGES.ravel()[code[:-1] * np.uint8(len(_CODE)) + code[1:]]
    return joins


def _end_before_folds(joins: NDArray[np.bool_], code: NDArray[np.uint8]) -> None:
    """Where a product begins the chain: the first fold in it begins another one. Changes JOINS."""
    chained = np.append(joins, False)
    begin = np.flatnonzero(~joins & chained[1:] & _IS_PRODUCT[code])
    fold = np.flatnonzero(joins & _IS_FOLD[code])
    if len(begin) and len(fold):
        end = np.flatnonzero(~joins)
        end = np.append(end, len(code))[np.searchsorted(end, begin, side="right")]
        cut = np.append(fold, len(code))[np.searchsorted(fold, begin)]
        joins[cut[cut < end]] = False


def _fusible_gaps(evidence: Evidence) -> NDArray[np.int64]:
    """Shape (works,), in the order of the timeline, ns: what fusion can remove before each work."""
    gaps = np.zeros(len(evidence.timeline.order), np.int64)
    gaps[evidence.gap_places] = sum(evidence.gap_causes[cause] for cause in FUSIBLE)
    return gaps

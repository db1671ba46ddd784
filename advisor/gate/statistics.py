"""The statistics of a comparison: rank test, Student's t, Holm's correction. Pure functions of numbers."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["appears_by_chance", "combine", "holm", "mann_whitney", "median_error", "t_quantile", "t_tail"]

EXACT_PAIRS = 400
"""Up to so many pairs of values the rank test is exact: 20 against 20."""


def mann_whitney(low: ArrayLike, high: ArrayLike) -> float:
    """How likely HIGH would be so much larger than LOW if both came from one distribution: one-sided Mann-Whitney.

    Up to 20 against 20 values exact, with ties too; beyond that the normal approximation with the corrections for ties
    and for continuity (Mann and Whitney 1947).

    Args:
        low: Shape (n,).
        high: Shape (m,).

    Raises:
        ValueError: One of them is empty.
    """
    x, y = np.asarray(low, np.float64).ravel(), np.asarray(high, np.float64).ravel()
    n, m = len(x), len(y)
    if not n or not m:
        raise ValueError("no values to compare")
    _, code, tied = np.unique(np.concatenate([x, y]), return_inverse=True, return_counts=True)
    # Twice the mean rank of each distinct value: a whole number.
    rank = 2 * np.cumsum(tied) - tied + 1
    of_high = int(rank[code.reshape(-1)[n:]].sum())
    if n * m <= EXACT_PAIRS:
        if m <= n:
            return _tail_of_rank_sum(tuple(tied.tolist()), m, of_high)
        # The ranks of LOW sum up to what is left: as small as that or smaller.
        total = (n + m) * (n + m + 1)
        return 1.0 - _tail_of_rank_sum(tuple(tied.tolist()), n, total - of_high + 1)
    u = of_high / 2 - m * (m + 1) / 2
    size = n + m
    variance = n * m / 12 * (size + 1 - float((tied.astype(np.float64) ** 3 - tied).sum()) / (size * (size - 1)))
    if variance <= 0:
        return 1.0
    return normal_tail((u - n * m / 2 - 0.5) / math.sqrt(variance))


def _tail_of_rank_sum(tied: tuple[int, ...], chosen: int, least: int) -> float:
    """P(the doubled mean ranks of CHOSEN values, dealt at random, sum up to LEAST or more)."""
    tails = _tails_of_rank_sums(tied, chosen)
    return float(tails[min(max(least, 0), len(tails) - 1)])


@lru_cache(maxsize=64)
def _tails_of_rank_sums(tied: tuple[int, ...], chosen: int) -> NDArray[np.float64]:
    """P(sum >= s) for s = 0 … one more than the largest sum; TIED: how many values share each rank, ascending."""
    ranks = np.repeat(2 * np.cumsum(tied) - np.array(tied) + 1, tied)
    # ways[k, s]: how many sets of k values have doubled ranks that sum up to s. At most 1.4e11: exact in float64.
    ways = np.zeros((chosen + 1, int(ranks[len(ranks) - chosen :].sum()) + 2))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank].copy()
    tails: NDArray[np.float64] = np.cumsum(ways[chosen, ::-1])[::-1] / math.comb(len(ranks), chosen)
    return tails


def combine(p_values: Sequence[float]) -> float:
    """One p-value of several that may depend on each other in any way: about twice their median (Rüger 1978).

    Raises:
        ValueError: There is none.
    """
    if not p_values:
        raise ValueError("no p-values")
    middle = len(p_values) // 2 + 1
    return min(1.0, sorted(p_values)[middle - 1] * len(p_values) / middle)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number: those under a level are all real with probability 1 - level (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, p_values[index] * (len(p_values) - place)))
        adjusted[index] = highest
    return adjusted


def median_error(values: NDArray[np.float64]) -> float:
    """The standard error of the median: half of the order statistics' interval that holds it in 68 % of samples.

    McKean and Schrader (1984) take the 99 % interval; the inner one stands a few executions that were interrupted.

    Args:
        values: Shape (n,), n > 0. Of one value the error is not known, and 0 is returned.
    """
    count = len(values)
    place = max(1, round((count + 1) / 2 - math.sqrt(count / 4)))
    ordered = np.sort(values)
    return float(ordered[count - place] - ordered[place - 1]) / 2


def normal_tail(z: float) -> float:
    """P(Z > z) of a standard normal Z."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def t_tail(t: float, degrees: int) -> float:
    """P(T > t) of Student's t; the closed forms for whole degrees of freedom (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    theta = math.atan(t / math.sqrt(degrees))
    sine, cosine = math.sin(theta), math.cos(theta)
    if degrees % 2:
        terms = [cosine] if degrees > 1 else []
        for k in range(3, degrees - 1, 2):
            terms.append(terms[-1] * cosine * cosine * (k - 1) / k)
        inside = 2 / math.pi * (theta + sine * sum(terms))
    else:
        terms = [1.0]
        for k in range(2, degrees - 1, 2):
            terms.append(terms[-1] * cosine * cosine * (k - 1) / k)
        inside = sine * sum(terms)
    return min(1.0, max(0.0, (1 - inside) / 2))


@lru_cache(maxsize=256)
def t_quantile(tail: float, degrees: int) -> float:
    """The t that is exceeded with probability TAIL (0 < TAIL < 0.5)."""
    low, high = 0.0, 1.0
    while t_tail(high, degrees) > tail:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, degrees) > tail else (low, middle)
    return (low + high) / 2


def appears_by_chance(seen: int, among: int, of: int) -> float:
    """How likely all SEEN of an event's cases lie among these AMONG trials, if the other OF trials were like them."""
    return math.prod((among - k) / (among + of - k) for k in range(seen))

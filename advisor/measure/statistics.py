"""What paired samples say: a ratio with its interval, and the verdict that it allows.

Pure functions of numbers: nothing here runs a model or reads a clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CONFIDENCE", "Interval", "Verdict", "is_not_slower", "judge", "median_interval"]

CONFIDENCE = 0.95
RESAMPLES = 2000
"""Resamples of a bootstrap: its limits then move by less than a tenth of the interval's width between seeds."""
MARGIN = 0.02
"""How far over 1 the interval of a ratio may reach that counts as shown not to be slower."""
CELLS = 4_000_000
"""Resampled indices held in memory at one time."""


class Verdict(StrEnum):
    """What a latency ratio allows to say; nothing in between."""

    FASTER = "faster"
    SLOWER = "slower"
    UNCHANGED = "no measurable change"


@dataclass(frozen=True)
class Interval:
    """A latency ratio and the interval that holds it with 95 % confidence; under 1 is faster."""

    ratio: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the interval, as a share of the ratio."""
        return (self.high - self.low) / (2 * self.ratio)

    def to_dict(self) -> dict[str, float]:
        """The keys `ratio`, `low`, `high`."""
        return {"ratio": self.ratio, "low": self.low, "high": self.high}


def median_interval(values: ArrayLike, *, seed: int = 0, confidence: float = CONFIDENCE) -> Interval:
    """The median of paired ratios with its percentile bootstrap interval (Efron 1979).

    Args:
        values: Ratios, shape (rounds,), all positive.
        seed: Of the resampling: the same values and seed give the same interval.
        confidence: Of the interval.

    Raises:
        ValueError: There is no value, or one is not positive and finite.
    """
    ordered: NDArray[np.float64] = np.sort(np.asarray(values, dtype=np.float64).ravel())
    count = ordered.size
    if count == 0 or not np.isfinite(ordered).all() or ordered[0] <= 0:
        raise ValueError("ratios are positive, finite numbers, and at least one")
    # The values are sorted, so the median of a resample is the value at the resample's median rank: ranks are small
    # integers and cheap to select from. The lower and upper middle rank stand for an even count.
    rng = np.random.default_rng(seed)
    middle = ((count - 1) // 2, count // 2)
    medians = []
    done = 0
    while done < RESAMPLES:
        rows = min(RESAMPLES - done, max(1, CELLS // count))
        ranks = rng.integers(0, count, size=(rows, count), dtype=np.uint32)
        ranks.partition(middle, axis=1)
        medians.append((ordered[ranks[:, middle[0]]] + ordered[ranks[:, middle[1]]]) / 2)
        done += rows
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(np.concatenate(medians), [tail, 100 - tail])
    ratio = (ordered[middle[0]] + ordered[middle[1]]) / 2
    # Ratios of rounds that hold few distinct times can put the median on an end of its own interval, never outside.
    return Interval(float(ratio), float(min(low, ratio)), float(max(high, ratio)))


def judge(ratio: Interval, a_a: Interval) -> Verdict:
    """What RATIO allows to say beside its A/A control, measured in the same rounds.

    A ratio whose interval includes 1, or that lies within the A/A interval, is no measurable change. Two equal sessions
    that differ (memory layout, order) show what the difference of two sessions alone can be, to either side: so a ratio
    counts only when it is further from 1 than any end of the A/A interval.
    """
    noise = max(abs(a_a.low - 1), abs(a_a.high - 1))
    if abs(ratio.ratio - 1) <= noise:
        return Verdict.UNCHANGED
    if ratio.high < 1:
        return Verdict.FASTER
    if ratio.low > 1:
        return Verdict.SLOWER
    return Verdict.UNCHANGED


def is_not_slower(ratio: Interval, a_a: Interval) -> bool:
    """Whether it is shown that nothing was lost. Noise that would hide a loss shows nothing."""
    verdict = judge(ratio, a_a)
    return verdict is Verdict.FASTER or (verdict is Verdict.UNCHANGED and ratio.high <= 1 + MARGIN)

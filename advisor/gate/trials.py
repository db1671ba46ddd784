"""One measure on both sides: how far apart, and how sure.

Runs are blocks. The executions of one run share the run's clocks, memory layout and neighbours, so thousands of them in
two runs are still two samples of what a run is like. A difference counts when it passes two tests: inside the runs (a
rank test over executions), and between the runs (against how much runs of one build drift, which is measured as soon
as there are several, and assumed otherwise). See docs/design/gate.md for why this keeps equal builds green.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from advisor.gate.statistics import combine, mann_whitney, median_error, t_quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["PRIOR_DEGREES", "Trial", "enough_executions", "try_measure"]

PRIOR_DEGREES = 5
"""What the assumed drift is worth, in degrees of freedom: as much as six runs."""

DRIFT_TAIL = 0.01
"""How likely drift alone may exceed what it is allowed. Not divided by the number of comparisons: the drift of a run
moves all its measures together."""

QUIET = 0.4
"""The share of the executions, the fastest, whose order counts in the rank test."""

INTERVAL_TAIL = 0.05
_NORMAL_95 = 1.6449

FEW_PER_RUN = 5
"""With fewer executions a run, the rank test takes those of all runs together."""

MOST_EXECUTIONS = 100
"""More in one run are asked of nobody."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What the two tests say."""

    baseline: float
    current: float
    low: float
    high: float
    """90 % interval of current - baseline."""
    drift: float
    """What drift between runs may do to the difference."""
    error: float
    """The standard error that drift gives to the difference."""
    mean_change: float
    """The difference of the sides' means over runs: what the drift is held against. One odd run moves it and not the
    median; where runs fall into two groups, the median jumps and it does not."""
    p_more: float
    """Of the rank test: that current is larger only by chance."""
    p_less: float
    p_least: float
    """The smallest that so many executions can give, however far apart the sides are."""

    @property
    def change(self) -> float:
        """Current - baseline."""
        return self.current - self.baseline


def try_measure(
    before: Sequence[Values],
    after: Sequence[Values],
    *,
    scale: float,
    drift: float,
    paired: bool = False,
    mean: bool = False,
) -> Trial:
    """Compare one measure.

    Args:
        before: For each run of the baseline, shape (instances,).
        after: For each current run.
        scale: What the drift is a share of, in the measure's unit.
        drift: The assumed relative standard deviation between runs of one build.
        paired: Runs of the same number were recorded right after each other.
        mean: Runs are summed up by their mean, not their median: for counts.

    Raises:
        ValueError: A run is empty, or the pairs are incomplete.
    """
    center: Callable[[Values], float] = _mean if mean else _median
    old, new = np.array([center(run) for run in before]), np.array([center(run) for run in after])
    errors = [(_mean_error(run) if mean else median_error(run)) ** 2 for run in (*before, *after)]
    assumed, sampling = (drift * scale) ** 2, float(np.mean(errors))
    if paired:
        differences = np.array([b - a for a, b in zip(old, new, strict=True)])
        change, degrees, share = float(np.median(differences)), len(differences) - 1, 1 / len(differences)
        mean_change = float(differences.mean())
        squares = float(np.sum((differences - differences.mean()) ** 2))
        assumed, sampling = 2 * assumed, 2 * sampling
    else:
        change, degrees, share = (
            float(np.median(new) - np.median(old)),
            len(old) + len(new) - 2,
            1 / len(old) + 1 / len(new),
        )
        mean_change = float(new.mean() - old.mean())
        squares = float(np.sum((old - old.mean()) ** 2) + np.sum((new - new.mean()) ** 2))
    between = _drift(max(0.0, squares - degrees * sampling), degrees, assumed)

    freedom = PRIOR_DEGREES + degrees
    half = math.sqrt(share * (t_quantile(INTERVAL_TAIL, freedom) ** 2 * between + _NORMAL_95**2 * sampling))
    return Trial(
        baseline=float(np.median(old)),
        current=float(np.median(old)) + change,
        low=change - half,
        high=change + half,
        drift=t_quantile(DRIFT_TAIL, freedom) * math.sqrt(share * between),
        error=math.sqrt(share * between),
        mean_change=mean_change,
        p_more=_rank_test(before, after, paired),
        p_less=_rank_test(after, before, paired),
        p_least=_least_p(tuple(map(len, before)), tuple(map(len, after)), paired),
    )


def enough_executions(before: int, after: int, *, paired: bool, p: float) -> int | None:
    """How many executions in each run the rank test needs to come down to P.

    Args:
        before: Runs of the baseline.
        after: Current runs.
        paired: As in `try_measure`.
        p: The p-value.

    Returns:
        The number; None where it is over `MOST_EXECUTIONS`.
    """
    counts = range(FEW_PER_RUN, MOST_EXECUTIONS + 1)
    return next((n for n in counts if _least_p((n,) * before, (n,) * after, paired and before == after) <= p), None)


def _drift(squares: float, degrees: int, assumed: float) -> float:
    """The variance between runs. Less than assumed is believed only as far as the runs' number goes; more at once."""
    moderated = (PRIOR_DEGREES * assumed + squares) / (PRIOR_DEGREES + degrees)
    return max(moderated, squares / degrees) if degrees else assumed


def _rank_test(low: Sequence[Values], high: Sequence[Values], paired: bool) -> float:
    if min(float(np.median([len(run) for run in side])) for side in (low, high)) < FEW_PER_RUN:
        return _quiet_test(np.concatenate(low), np.concatenate(high))
    if paired:
        return combine([_quiet_test(a, b) for a, b in zip(low, high, strict=True)])
    return combine([_quiet_test(a, b) for a in low for b in high])


@lru_cache(maxsize=256)
def _least_p(before: tuple[int, ...], after: tuple[int, ...], paired: bool) -> float:
    """What the rank test says where every execution of AFTER, runs of so many each, is larger than all of BEFORE."""
    low = [np.arange(count, dtype=np.float64) for count in before]
    high = [max(before) + np.arange(count, dtype=np.float64) for count in after]
    return _rank_test(low, high, paired)


def _quiet_test(low: Values, high: Values) -> float:
    """The rank test with the slower 60 % of all executions tied: what disturbs a program only ever slows it.

    A few executions of the baseline that were interrupted would otherwise outrank a real regression. Which values are
    tied depends on all of them together, so that the test stays exact (percentile-modified ranks, Gastwirth 1965).
    """
    together = np.concatenate([low, high])
    place = math.ceil(QUIET * len(together)) - 1
    bound = np.partition(together, place)[place]
    return mann_whitney(*(np.where(side > bound, np.inf, side) for side in (low, high)))


def _median(run: Values) -> float:
    return float(np.median(run))


def _mean(run: Values) -> float:
    return float(np.mean(run))


def _mean_error(run: Values) -> float:
    return float(np.std(run, ddof=1) / math.sqrt(len(run))) if len(run) > 1 else 0.0

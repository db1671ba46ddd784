"""Paired latency: equal rounds of every contestant, alternated in one process."""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from advisor.measure.statistics import Interval, Verdict, is_not_slower, judge, median_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Run = Callable[[], object]
    """One execution of a model, inputs already in place."""
    Clock = Callable[[], int]
    """Nanoseconds of a monotonic clock."""

__all__ = ["PairedLatency", "measure_pair", "median_latency"]

RESOLUTION = 0.005
"""Measuring ends early when both intervals reach half a percent to either side of their median."""
SAMPLE_NS = 1_000_000
"""The least time of one sample: short models run several times in it, so that the clock and Python cost little."""
WARM_UP_RUNS = 2
WARM_UP_NS = 100_000_000
CACHED_NS = 50_000_000
"""A run that is longer fills the caches in a small part of its time, whatever ran before: it needs no untimed one."""
BLOCK = 6
"""Rounds come in blocks that hold every order of the three contestants once; one block is the least."""
FIRST_LOOK = 5
"""Blocks before the intervals are looked at, and then after each quarter more."""


@dataclass(frozen=True)
class PairedLatency:
    """Original and candidate, measured in the same rounds.

    Attributes:
        baseline_ns: Median latency of the original, ns.
        candidate_ns: Median latency of the candidate, ns.
        ratio: Candidate ÷ original, median of the rounds' ratios with its interval; under 1 is faster.
        a_a: The same for a second session of the original in the candidate's place.
        verdict: What the two allow to say.
        rounds: How many rounds, each with one sample of every contestant.
        runs: Executions in one sample.
    """

    baseline_ns: float
    candidate_ns: float
    ratio: Interval
    a_a: Interval
    verdict: Verdict
    rounds: int
    runs: int

    @property
    def is_not_slower(self) -> bool:
        """Whether it is shown that the candidate loses nothing."""
        return is_not_slower(self.ratio, self.a_a)


def measure_pair(
    baseline: Run,
    control: Run,
    candidate: Run,
    *,
    seconds: float,
    seed: int = 0,
    resolution: float = RESOLUTION,
    clock: Clock = time.perf_counter_ns,
) -> PairedLatency:
    """Measure CANDIDATE against BASELINE, beside CONTROL, an equal of BASELINE.

    Every round takes one sample of each, in an order that changes from round to round; before a sample its contestant
    runs once untimed, so that what it finds in the caches is its own. Where a run is long, that is left away: it would
    take half of the time.

    Args:
        baseline: Runs the original.
        control: Runs a second session of the original.
        candidate: Runs what is compared with it.
        seconds: Time to spend after warm-up. One block of rounds is measured however long it takes; measuring ends
            early when both intervals are narrower than RESOLUTION to either side.
        seed: Of the orders and of the bootstrap.
        resolution: Half width of both intervals that is narrow enough, as a share of the ratio.
        clock: Nanoseconds; for tests.
    """
    contestants = (baseline, control, candidate)
    # Warm-up is set apart: it pays for memory, threads, and kernels that are chosen at the first run.
    shortest = min([_warm_up(run, clock) for run in contestants])
    runs, is_short = max(1, round(SAMPLE_NS / shortest)), shortest < CACHED_NS
    deadline = clock() + int(seconds * 1e9)
    rng = np.random.default_rng(seed)
    orders = [list(order) for order in permutations(range(len(contestants)))]
    samples: list[list[float]] = []
    look = FIRST_LOOK * BLOCK
    with _quiet_collector():
        while True:
            for order in rng.permutation(orders):
                row = [0.0] * len(contestants)
                for index in order:
                    row[index] = _sample(contestants[index], runs, clock, untimed=is_short)
                samples.append(row)
            if clock() >= deadline:
                break
            if len(samples) >= look:
                look += max(BLOCK, look // 4)
                ratio, a_a = _intervals(samples, seed)
                if max(ratio.half_width, a_a.half_width) <= resolution:
                    break
    ratio, a_a = _intervals(samples, seed)
    medians = np.median(np.array(samples), axis=0)
    return PairedLatency(
        baseline_ns=float(medians[0]),
        candidate_ns=float(medians[2]),
        ratio=ratio,
        a_a=a_a,
        verdict=judge(ratio, a_a),
        rounds=len(samples),
        runs=runs,
    )


def median_latency(run: Run, *, seconds: float, clock: Clock = time.perf_counter_ns) -> float:
    """Median latency of RUN alone, ns, from about SECONDS of runs."""
    runs = max(1, round(SAMPLE_NS / _warm_up(run, clock)))
    deadline = clock() + int(seconds * 1e9)
    samples: list[float] = []
    with _quiet_collector():
        while len(samples) < BLOCK or clock() < deadline:
            samples.append(_sample(run, runs, clock))
    return float(np.median(samples))


def _warm_up(run: Run, clock: Clock) -> int:
    """Run it a few times; the shortest time, ns."""
    start, shortest, count = clock(), None, 0
    while count < WARM_UP_RUNS or (clock() - start < WARM_UP_NS and count < 100 * WARM_UP_RUNS):
        before = clock()
        run()
        elapsed = max(1, clock() - before)
        shortest = elapsed if shortest is None else min(shortest, elapsed)
        count += 1
    assert shortest is not None
    return shortest


def _sample(run: Run, runs: int, clock: Clock, *, untimed: bool = True) -> float:
    """Nanoseconds of one execution, a mean over RUNS of them, after one that is not timed if UNTIMED."""
    if untimed:
        run()
    start = clock()
    for _ in range(runs):
        run()
    return max(1, clock() - start) / runs


def _intervals(samples: Sequence[Sequence[float]], seed: int) -> tuple[Interval, Interval]:
    """Ratio of the candidate and of the control to the baseline."""
    times: NDArray[np.float64] = np.array(samples)
    return median_interval(times[:, 2] / times[:, 0], seed=seed), median_interval(times[:, 1] / times[:, 0], seed=seed)


@contextmanager
def _quiet_collector() -> Iterator[None]:
    """No garbage collection inside a sample."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

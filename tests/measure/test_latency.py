"""Paired latency, on a clock that the test turns: every figure is known beforehand."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import numpy as np
import pytest

from advisor.measure.latency import measure_pair, median_latency
from advisor.measure.statistics import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

MS = 1_000_000


class Clock:
    """Time that passes only when a model runs."""

    def __init__(self) -> None:
        self.now = 0
        self.order: list[str] = []

    def __call__(self) -> int:
        return self.now

    def model(self, name: str, nanoseconds: Callable[[], float]) -> Callable[[], None]:
        def run() -> None:
            self.order.append(name)
            self.now += int(nanoseconds())

        return run


def constant(nanoseconds: float) -> Callable[[], float]:
    return lambda: nanoseconds


def test_ratio_latencies_and_verdict_are_those_of_the_models() -> None:
    clock = Clock()
    original, fused = constant(2 * MS), constant(1.5 * MS)
    result = measure_pair(
        clock.model("a", original), clock.model("c", original), clock.model("b", fused), seconds=1, clock=clock
    )
    assert result.ratio.ratio == pytest.approx(0.75)
    assert (result.a_a.low, result.a_a.high) == (1.0, 1.0)
    assert (result.baseline_ns, result.candidate_ns) == (2 * MS, 1.5 * MS)
    assert result.verdict is Verdict.FASTER


def test_a_machine_that_slows_down_by_half_changes_no_ratio() -> None:
    clock = Clock()

    def drifting(base: float) -> Callable[[], float]:
        return lambda: base * (1 + clock.now / 1e10)

    result = measure_pair(
        clock.model("a", drifting(2 * MS)),
        clock.model("c", drifting(2 * MS)),
        clock.model("b", drifting(2 * MS)),
        seconds=5,
        resolution=0,
        clock=clock,
    )
    assert result.verdict is Verdict.UNCHANGED
    assert result.ratio.ratio == pytest.approx(1, abs=0.005)


def test_contestants_take_every_place_in_a_round_equally_often() -> None:
    clock = Clock()
    run = constant(MS)
    measure_pair(
        clock.model("a", run), clock.model("c", run), clock.model("b", run), seconds=1, resolution=-1, clock=clock
    )
    assert clock.order.count("a") == clock.order.count("b") == clock.order.count("c")
    # Every sample is one untimed run and one timed run of the same model; warm-up lies before the last 60 rounds.
    places = [clock.order[-360:][index::6] for index in (1, 3, 5)]
    for name in "abc":
        assert [place.count(name) for place in places] == [20, 20, 20]


def test_short_models_run_many_times_in_a_sample_and_long_ones_once() -> None:
    for nanoseconds, runs in ((10_000, 100), (50 * MS, 1)):
        clock = Clock()
        run = constant(nanoseconds)
        result = measure_pair(
            clock.model("a", run), clock.model("c", run), clock.model("b", run), seconds=0.5, clock=clock
        )
        assert result.runs == runs


def test_an_untimed_run_before_each_sample_only_where_it_is_short() -> None:
    for nanoseconds, share in ((2 * MS, 2), (200 * MS, 1)):
        clock = Clock()
        run = constant(nanoseconds)
        result = measure_pair(
            clock.model("a", run), clock.model("c", run), clock.model("b", run), seconds=0, clock=clock
        )
        samples = clock.order[-18 * share :]
        assert result.rounds == 6
        assert all(samples.count(name) == 6 * share for name in "abc")
        assert len(clock.order) - len(samples) <= 3 * max(2, 100 * MS // nanoseconds)


def test_it_ends_early_when_the_intervals_are_narrow_and_near_the_budget_when_not() -> None:
    rng = np.random.default_rng(3)
    for noise, least, most in ((0.0, 0.0, 2.0), (0.5, 9.9, 11.0)):
        clock = Clock()

        def noisy(level: float = noise) -> float:
            return 2 * MS * float(rng.lognormal(0, level))

        measure_pair(clock.model("a", noisy), clock.model("c", noisy), clock.model("b", noisy), seconds=10, clock=clock)
        assert least <= clock.now / 1e9 <= most


def test_a_model_slower_than_the_budget_still_gets_six_rounds() -> None:
    clock = Clock()
    run = constant(3_000 * MS)
    result = measure_pair(clock.model("a", run), clock.model("c", run), clock.model("b", run), seconds=1, clock=clock)
    assert result.rounds == 6


def test_the_garbage_collector_is_off_while_timing_and_back_afterwards() -> None:
    clock = Clock()
    states: list[bool] = []

    def run() -> None:
        states.append(gc.isenabled())
        clock.now += MS

    assert gc.isenabled()
    measure_pair(run, run, run, seconds=0.01, clock=clock)
    assert gc.isenabled()
    assert not any(states[-18:])

    def stop() -> None:
        if len(states) > 400:
            raise KeyboardInterrupt
        run()

    with pytest.raises(KeyboardInterrupt):
        measure_pair(stop, stop, stop, seconds=100, resolution=-1, clock=clock)
    assert gc.isenabled()


def test_latency_alone_is_the_median() -> None:
    clock = Clock()
    times = iter([9 * MS, 9 * MS, 9 * MS] + [2 * MS] * 10_000)
    assert median_latency(clock.model("a", lambda: next(times)), seconds=0.5, clock=clock) == 2 * MS

"""Intervals and verdicts: what a gain may be claimed from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.measure.statistics import Interval, Verdict, is_not_slower, judge, median_interval

ratios = st.floats(0.1, 10.0)


@given(st.lists(ratios, min_size=1, max_size=60), st.integers(0, 1000))
def test_the_interval_holds_the_median_and_lies_within_the_data(values: list[float], seed: int) -> None:
    interval = median_interval(values, seed=seed)
    assert interval.ratio == pytest.approx(float(np.median(values)))
    assert min(values) <= interval.low <= interval.ratio <= interval.high <= max(values)
    assert median_interval(values, seed=seed) == interval


@given(st.lists(ratios, min_size=1, max_size=40), st.floats(0.01, 100.0))
def test_the_order_of_rounds_and_the_unit_do_not_matter(values: list[float], factor: float) -> None:
    interval = median_interval(values)
    assert median_interval(values[::-1]) == interval
    scaled = median_interval([factor * value for value in values])
    assert (scaled.low, scaled.ratio, scaled.high) == pytest.approx(
        (factor * interval.low, factor * interval.ratio, factor * interval.high)
    )


@pytest.mark.parametrize("count", [6, 12, 30, 120])
def test_the_interval_holds_the_true_median_about_95_times_of_100(count: int) -> None:
    rng = np.random.default_rng(7)
    intervals = [median_interval(rng.lognormal(0.0, 0.05, count), seed=trial) for trial in range(300)]
    held = sum(interval.low <= 1.0 <= interval.high for interval in intervals)
    # A binomial of 300 at 0.94, what six rounds reach, is less in one of 1,000 cases.
    assert held >= 268


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, float("nan")], [1.0, float("inf")], [-1.0]])
def test_what_is_no_ratio_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="ratios"):
        median_interval(values)


def test_many_rounds_take_little_memory_and_time() -> None:
    values = np.random.default_rng(0).lognormal(0.0, 0.1, 20_000)
    assert median_interval(values).half_width < 0.005


def interval(low: float, ratio: float, high: float) -> Interval:
    return Interval(ratio, low, high)


CONTROL = interval(0.995, 1.0, 1.005)


@pytest.mark.parametrize(
    ("ratio", "a_a", "verdict"),
    [
        (interval(0.88, 0.9, 0.92), CONTROL, Verdict.FASTER),
        (interval(1.08, 1.1, 1.12), CONTROL, Verdict.SLOWER),
        (interval(0.98, 0.99, 1.001), CONTROL, Verdict.UNCHANGED),  # includes 1
        (interval(0.996, 0.997, 0.998), CONTROL, Verdict.UNCHANGED),  # within the A/A interval
        (interval(1.001, 1.002, 1.003), CONTROL, Verdict.UNCHANGED),
        # Two equal sessions differ by 4 %: a difference of 2 % the same way is no gain either.
        (interval(0.97, 0.98, 0.99), interval(0.95, 0.96, 0.97), Verdict.UNCHANGED),
        (interval(1.01, 1.02, 1.03), interval(1.03, 1.04, 1.05), Verdict.UNCHANGED),
        (interval(0.90, 0.91, 0.92), interval(0.95, 0.96, 0.97), Verdict.FASTER),
    ],
)
def test_verdicts(ratio: Interval, a_a: Interval, verdict: Verdict) -> None:
    assert judge(ratio, a_a) is verdict


@given(ratios, st.floats(0, 0.5), st.floats(0, 0.5), ratios, st.floats(0, 0.5))
def test_a_gain_is_claimed_only_outside_of_both_intervals(
    middle: float, below: float, above: float, control: float, width: float
) -> None:
    ratio = Interval(middle, middle * (1 - below), middle * (1 + above))
    a_a = Interval(control, control * (1 - width), control * (1 + width))
    verdict = judge(ratio, a_a)
    if ratio.low <= 1 <= ratio.high or a_a.low <= ratio.ratio <= a_a.high:
        assert verdict is Verdict.UNCHANGED
    if verdict is Verdict.FASTER:
        assert ratio.high < 1
    if verdict is Verdict.SLOWER:
        assert ratio.low > 1


def test_equal_models_are_seldom_called_faster() -> None:
    """Noise of one machine: rounds share drift, samples have long tails, sessions differ a little."""
    rng = np.random.default_rng(11)
    trials, faster, slower = 300, 0, 0
    for trial in range(trials):
        drift = np.exp(np.cumsum(rng.normal(0, 0.01, 60)))
        samples = drift[:, None] * rng.lognormal(0, 0.03, (60, 3)) * (1 + rng.pareto(3, (60, 3)) * 0.05)
        ratio = median_interval(samples[:, 2] / samples[:, 0], seed=trial)
        a_a = median_interval(samples[:, 1] / samples[:, 0], seed=trial)
        verdict = judge(ratio, a_a)
        faster += verdict is Verdict.FASTER
        slower += verdict is Verdict.SLOWER
    assert faster < 0.05 * trials
    assert slower < 0.05 * trials


def test_a_real_gain_of_five_percent_is_found() -> None:
    rng = np.random.default_rng(12)
    found = 0
    for trial in range(100):
        samples = rng.lognormal(0, 0.03, (200, 3)) * np.array([1.0, 1.0, 0.95])
        ratio = median_interval(samples[:, 2] / samples[:, 0], seed=trial)
        a_a = median_interval(samples[:, 1] / samples[:, 0], seed=trial)
        found += judge(ratio, a_a) is Verdict.FASTER
    assert found >= 99


@pytest.mark.parametrize(
    ("ratio", "kept"),
    [
        (interval(0.88, 0.9, 0.92), True),
        (interval(0.99, 1.0, 1.01), True),
        (interval(1.01, 1.03, 1.05), False),  # slower
        (interval(0.7, 1.0, 1.4), False),  # a loss may hide in it
        (interval(0.5, 0.8, 0.99), True),
    ],
)
def test_what_noise_leaves_open_is_not_shown_to_be_as_fast(ratio: Interval, *, kept: bool) -> None:
    assert is_not_slower(ratio, CONTROL) is kept

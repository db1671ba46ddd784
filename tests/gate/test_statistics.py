"""The gate's statistics against brute force and against printed tables."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.gate.statistics import (
    appears_by_chance,
    combine,
    holm,
    mann_whitney,
    median_error,
    t_quantile,
    t_tail,
)

few = st.lists(st.integers(0, 1000), min_size=1, max_size=6)


def by_permutation(low: list[int], high: list[int]) -> float:
    """P(U >= u) over all ways to deal the values into groups of these sizes."""
    values = [*low, *high]

    def u(chosen: tuple[int, ...]) -> float:
        rest = [values[i] for i in range(len(values)) if i not in chosen]
        return sum((values[i] > x) + (values[i] == x) / 2 for i in chosen for x in rest)

    observed = u(tuple(range(len(low), len(values))))
    ways = [u(chosen) >= observed for chosen in combinations(range(len(values)), len(high))]
    return sum(ways) / len(ways)


@given(few, few)
@settings(max_examples=80, deadline=None)
def test_the_rank_test_counts_permutations_with_and_without_ties(low: list[int], high: list[int]) -> None:
    assert mann_whitney(low, high) == pytest.approx(by_permutation(low, high), abs=1e-12)
    few_values = [value % 4 for value in low], [value % 4 for value in high]
    assert mann_whitney(*few_values) == pytest.approx(by_permutation(*few_values), abs=1e-12)


def test_the_approximation_continues_the_exact_test() -> None:
    rng = np.random.default_rng(0)
    low, high = rng.normal(size=20), rng.normal(0.7, size=20)
    exact = mann_whitney(low, high)
    approximate = mann_whitney(np.append(low, -99.0), np.append(high, 99.0))
    assert 0.2 < approximate / exact < 1.5


@given(few, few, st.sampled_from([2.0, 0.5, 1000.0]))
def test_only_the_order_counts(low: list[int], high: list[int], factor: float) -> None:
    assert mann_whitney(low, high) == mann_whitney(np.array(low) * factor, np.array(high) * factor)


def test_equal_samples_are_no_evidence() -> None:
    assert mann_whitney([5, 5, 5], [5, 5, 5]) == 1.0
    assert mann_whitney(range(30), range(30)) > 0.4
    with pytest.raises(ValueError, match="no values"):
        mann_whitney([], [1])


@pytest.mark.parametrize(
    ("degrees", "tail", "t"),
    # A printed table of Student's t.
    [
        (1, 0.05, 6.3138),
        (2, 0.01, 6.9646),
        (4, 0.01, 3.7469),
        (5, 0.025, 2.5706),
        (8, 0.01, 2.8965),
        (30, 0.005, 2.7500),
    ],
)
def test_students_t_is_that_of_the_tables(degrees: int, tail: float, t: float) -> None:
    assert t_quantile(tail, degrees) == pytest.approx(t, abs=2e-4)
    assert t_tail(t, degrees) == pytest.approx(tail, abs=1e-5)
    assert t_tail(-t, degrees) == pytest.approx(1 - tail, abs=1e-5)


def test_students_t_is_its_densitys_integral() -> None:
    for degrees in (1, 3, 6, 7):
        t = np.linspace(1.3, 4000, 4_000_001)
        scale = math.gamma((degrees + 1) / 2) / (math.sqrt(degrees * math.pi) * math.gamma(degrees / 2))
        area = np.trapezoid(scale * (1 + t * t / degrees) ** (-(degrees + 1) / 2), t)
        assert t_tail(1.3, degrees) == pytest.approx(float(area), abs=2e-4)


def test_holm_is_the_step_down_of_the_paper() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_adjusted_and_combined_p_values_stay_p_values(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(old <= new <= 1 for old, new in zip(values, adjusted, strict=True))
    assert min(values) <= combine(values) <= 1
    assert combine([values[0]]) == values[0]


def test_one_odd_run_decides_nothing() -> None:
    assert combine([0.0001, 0.9, 0.8]) > 0.5
    assert combine([0.0001, 0.0002, 0.9]) < 0.001


def test_the_error_of_a_median_shrinks_with_the_sample() -> None:
    rng = np.random.default_rng(1)
    small = float(np.mean([median_error(rng.normal(size=15)) for _ in range(400)]))
    large = float(np.mean([median_error(rng.normal(size=240)) for _ in range(400)]))
    # Of a normal sample: 1.2533 / sqrt(n).
    assert small == pytest.approx(1.2533 / math.sqrt(15), rel=0.25)
    assert large == pytest.approx(1.2533 / math.sqrt(240), rel=0.15)
    assert median_error(np.array([7.0])) == 0


def test_what_is_rare_appears_by_chance() -> None:
    assert appears_by_chance(1, 30, 30) == 0.5
    assert appears_by_chance(2, 2, 2) == pytest.approx(1 / 6)
    assert appears_by_chance(30, 30, 30) < 1e-15
    assert appears_by_chance(0, 30, 30) == 1

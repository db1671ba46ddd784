"""Intervals in lanes: what a viewer may draw on one line."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from advisor.report.lanes import lanes_of

INTERVALS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 15)).map(
        lambda row: (row[0], row[1], sum(row[1:]))
    ),
    max_size=30,
)


def lanes(intervals: list[tuple[int, int, int]]) -> list[int]:
    columns = np.array(intervals, np.int64).reshape(-1, 3).T
    return lanes_of(*columns).tolist()  # type: ignore[no-any-return]


@given(INTERVALS)
def test_in_a_lane_two_intervals_are_apart_or_one_contains_the_other(intervals: list[tuple[int, int, int]]) -> None:
    placed = list(zip(intervals, lanes(intervals), strict=True))
    for index, ((track, start, end), lane) in enumerate(placed):
        for (other_track, other_start, other_end), other_lane in placed[:index]:
            if (track, lane) == (other_track, other_lane):
                apart = end <= other_start or other_end <= start
                nested = (start <= other_start and other_end <= end) or (other_start <= start and end <= other_end)
                assert apart or nested


@given(INTERVALS)
def test_there_are_no_more_lanes_than_intervals_at_one_time(intervals: list[tuple[int, int, int]]) -> None:
    for track in range(3):
        mine = [(start, max(end, start + 1)) for owner, start, end in intervals if owner == track]
        most = max((sum(start <= moment < end for start, end in mine) for moment, _ in mine), default=0)
        used = {lane for (owner, _, _), lane in zip(intervals, lanes(intervals), strict=True) if owner == track}
        assert len(used) <= most


def test_what_nests_stays_in_one_lane_and_overlapping_kernels_take_turns() -> None:
    assert lanes([(0, 0, 100), (0, 10, 20), (0, 12, 15), (0, 20, 30), (0, 100, 110)]) == [0] * 5
    assert lanes([(0, 0, 10), (0, 8, 20), (0, 18, 30), (0, 28, 40)]) == [0, 1, 0, 1]


def test_a_million_overlapping_intervals_are_placed_at_once() -> None:
    start = np.arange(1_000_000, dtype=np.int64) * 10
    assert lanes_of(np.zeros(len(start), np.int64), start, start + 12).max() == 1

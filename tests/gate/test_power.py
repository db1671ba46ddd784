"""A small, seeded piece of the table in docs/gate-power.md: equal builds stay green, regressions are found."""

from __future__ import annotations

import pytest

from advisor.gate.compare import compare
from advisor.gate.result import Verdict
from benchmarks.gate import Row, record, table


def test_equal_builds_stay_green() -> None:
    runs = [record("decode", seed) for seed in range(16)]
    verdicts = [compare([one], [other]).verdict for one in runs for other in runs if one is not other]
    # Of 1,000 independent pairs fewer than 10 are red; of these 240, which share runs, none should be.
    assert verdicts.count(Verdict.FAIL) == 0
    assert verdicts.count(Verdict.UNDECIDED) == 0


@pytest.mark.parametrize("build", ["decode, +10 % fusible gap", "decode, +1 kernel", "decode, +1 synchronisation"])
def test_regressions_are_found(build: str) -> None:
    before = [record("decode", seed) for seed in range(6)]
    after = [record(build, 50 + seed) for seed in range(6)]
    assert {compare([one], [other]).verdict for one in before for other in after} == {Verdict.FAIL}


def test_a_slower_launch_call_is_found_on_an_unchanged_gpu_timeline() -> None:
    row = Row("cnn", "cnn, launch call 4 → 7 µs", 1)
    results = table(6, [Row("cnn", "cnn", 1), row], processes=1)
    assert results[row].red == 1
    assert results[Row("cnn", "cnn", 1)].red == 0

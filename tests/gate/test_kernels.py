"""The difference of two kernel sequences."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from advisor.gate.kernels import KernelChange, difference, likeness
from advisor.trace.samples import Samples

words = st.lists(st.sampled_from("abcde"), max_size=30)


def samples(sequence: list[str], *, ordered: bool = True) -> Samples:
    names = tuple(dict.fromkeys(sequence))
    counts = Counter(sequence)
    order = tuple(names.index(name) for name in sequence) if ordered else None
    return Samples("g", "nvtx", 1, 0, (0, 1), names, tuple(counts[name] for name in names), order, {})


def test_one_more_kernel_is_named() -> None:
    before, after = list("normgemm"), list("normXgemm")
    found = difference(samples(before), samples(after))
    assert found.new == (KernelChange("X", 1),)
    assert not found.gone
    assert not found.moved


def test_a_kernel_that_changed_places_has_moved() -> None:
    found = difference(samples(list("abcdef")), samples(list("bcdefa")))
    assert found.moved == (KernelChange("a", 1),)
    assert not found.new
    assert not found.gone


def common(one: list[str], other: list[str]) -> int:
    """The length of a longest common subsequence, by the textbook's recurrence."""
    row = [0] * (len(other) + 1)
    for a in one:
        previous = row
        row = [0]
        for j, b in enumerate(other):
            row.append(previous[j] + 1 if a == b else max(previous[j + 1], row[j]))
    return row[-1]


@given(words, words)
def test_as_few_kernels_as_possible_are_named(before: list[str], after: list[str]) -> None:
    found = difference(samples(before), samples(after))
    total = {part: sum(change.count for change in getattr(found, part)) for part in ("new", "gone", "moved")}
    shared = common(before, after)
    assert total["gone"] + total["moved"] == len(before) - shared
    assert total["new"] + total["moved"] == len(after) - shared
    assert bool(found) == (before != after)


@given(words, words)
def test_without_their_order_kernels_are_counted(before: list[str], after: list[str]) -> None:
    found = difference(samples(before, ordered=False), samples(after))
    assert {change.name: change.count for change in found.new} == dict(Counter(after) - Counter(before))
    assert {change.name: change.count for change in found.gone} == dict(Counter(before) - Counter(after))


@given(words, words)
def test_likeness_is_a_share(one: list[str], other: list[str]) -> None:
    value = likeness(samples(one), samples(other))
    assert 0 <= value <= 1
    assert value == likeness(samples(other), samples(one))
    assert likeness(samples(one), samples(one)) == 1


def test_the_longest_sequences_take_no_time() -> None:
    rng = np.random.default_rng(0)
    before, after = (["k" + str(n) for n in rng.integers(0, 3, 4096)] for _ in range(2))
    begin = time.process_time()  # other programs' time is not in it
    difference(samples(before), samples(after))
    assert time.process_time() - begin < 5

"""Hashes of sequences of names: polynomials over numbers for the names, modulo 2**64; the same in every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BASE", "hashes_of_stretches", "numbers_for"]

BASE = np.uint64(0x9E3779B97F4A7C15)
"""What the polynomials are evaluated at: odd, so that powers of it can be divided by."""


def numbers_for(count: int) -> NDArray[np.uint64]:
    """Well mixed odd numbers for COUNT names, shape (count,).

    SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014) of 1, 2, …; to import
    `numpy.random` would take as long as all the rest of the hashing.
    """
    mixed = np.arange(1, count + 1, dtype=np.uint64) * BASE
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)


def hashes_of_stretches(names: NDArray[np.int32], first: NDArray[np.intp], count: int) -> NDArray[np.uint64]:
    """The hash of each stretch of a sequence.

    Args:
        names: Shape (n,): numbers of names, from 0.
        first: Shape (stretches,): where each begins, ascending from 0; it ends where the next one begins.
        count: How many names there are.
    """
    sizes = np.diff(first, append=len(names))
    powers = np.multiply.accumulate(np.full(int(sizes.max(initial=0)), BASE))
    place = np.arange(len(names)) - np.repeat(first, sizes)
    return np.add.reduceat(numbers_for(count)[names] * powers[place], first)

"""Numbers for names, from which hashes of sequences are made; the same in every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["numbers_for"]


def numbers_for(count: int) -> NDArray[np.uint64]:
    """Well mixed odd numbers for COUNT names, shape (count,).

    SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014) of 1, 2, …; to import
    `numpy.random` would take as long as all the rest of the hashing.
    """
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)

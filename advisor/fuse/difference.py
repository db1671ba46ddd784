"""How two values differ, and whether that is more than rounding."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

__all__ = [
    "QUANTIZED",
    "TOLERANCES",
    "Difference",
    "Tolerance",
    "compare_arrays",
    "compare_values",
    "leaves",
    "tolerance",
]


class Tolerance(NamedTuple):
    """How far a value may be from the original's: |difference| ≤ relative · (|expected| + typical + floor).

    `typical` is the root mean square of the value's elements, the largest hundredth left out. It stands in for the
    size of what was added up in an element: one near zero is a difference of larger ones, and no more exact than they
    are. The largest are left out because some models write -1e9 where they mean minus infinity. Where more than those
    are of quite another size than the rest, an element is compared with its own kind, see `_typical_sizes`.
    """

    relative: float
    floor: float


QUANTIZED = "quantized"
TOLERANCES = {
    # Reordered sums and another exp or erf give a few units in the last place (2⁻⁵²), times the depth of the model;
    # a kernel that computes in float32 inside (1e-7) is not let through.
    "float64": Tolerance(1e-9, 1e-5),
    # 45 real models at ORT_ENABLE_ALL are 1e-7 to 1e-5 from themselves unoptimised, three of them up to 2e-4 on one set
    # of inputs; tanh-GELU in place of erf-GELU (5e-4 of an activation of size 1) must fail.
    "float32": Tolerance(1e-4, 1e-2),
    # One rounding is 5e-4; fused kernels round once where the original rounds after every operator.
    "float16": Tolerance(1e-2, 1e-1),
    # The same with eight bits fewer than float32: one rounding is 4e-3.
    "bfloat16": Tolerance(5e-2, 2e-1),
    # A last bit decides between two neighbouring integers, and a step between those is 1/127 of the largest value of a
    # tensor, at every layer.
    QUANTIZED: Tolerance(1e-1, 1e-2),
}
"""By dtype of the value, or by what it was computed in where that is coarser."""
GAP = 100.0
"""Numbers of one kind that stand side by side in size are no further apart than this, as a quotient."""
SHARE = 0.01
FAR = 1e6
"""Fewer numbers than this share are no kind of their own, unless they are as far from the others as this."""
CHANCE = 1e-4
"""Nor are numbers that stand so far below the others by chance."""
FILL = 2.5
"""Numbers within this quotient are one that a model fills in, twice at most where two masks lie on one place."""


class Difference(NamedTuple):
    """How two values differ: errors (None where they cannot be told), and why that is too much, if it is."""

    absolute: float | None
    relative: float | None
    reason: str = ""


def compare_values(expected: Any, actual: Any, *, arithmetic: str | None = None) -> Difference:
    """Compare one value of two models as an output is compared; of a sequence or map, the first part that differs."""
    worst = Difference(0.0, 0.0)
    for _, wanted, found in leaves("", expected, actual):
        difference = compare_arrays(wanted, found, tolerance(wanted, arithmetic))
        if difference.reason:
            return difference
        worst = max(worst, difference, key=lambda each: each.relative or 0.0)
    return worst


def leaves(name: str, expected: Any, actual: Any) -> Iterator[tuple[str, Any, Any]]:
    """The arrays of an output: itself, or those in a sequence or map."""
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from leaves(f"{name}[{number}]", one, other)
    elif isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        for key, one in expected.items():
            yield from leaves(f"{name}[{key}]", one, actual[key])
    else:
        yield name, np.asarray(expected), np.asarray(actual)


def tolerance(expected: NDArray[Any], arithmetic: str | None, *, is_product: bool = False) -> Tolerance | None:
    """For floating-point numbers, and for what quantised models round to and multiply; other integers are exact.

    Args:
        expected: The value.
        arithmetic: What it was computed in, where that may be coarser than its dtype.
        is_product: Whether it is a sum of products of quantised numbers.
    """
    if arithmetic == QUANTIZED and (is_product or expected.dtype.name in {"int8", "uint8"}):
        return TOLERANCES[QUANTIZED]
    own = TOLERANCES.get(expected.dtype.name)
    if own is None or arithmetic is None:
        return own
    return max(own, TOLERANCES[arithmetic])


def compare_arrays(
    expected: NDArray[Any], actual: NDArray[Any], within: Tolerance | None, *, allowed: float | None = None
) -> Difference:
    """Compare two arrays.

    Args:
        expected: What is right.
        actual: The other one.
        within: The tolerance; None where they have to be equal.
        allowed: The relative error that is allowed, in place of the tolerance's own.
    """
    if expected.dtype != actual.dtype:
        return Difference(None, None, f"has the dtype {actual.dtype} in place of {expected.dtype}")
    if expected.shape != actual.shape:
        return Difference(None, None, f"has the shape {list(actual.shape)} in place of {list(expected.shape)}")
    if within is None:
        return _compare_exactly(expected, actual)
    allowed = within.relative if allowed is None else allowed
    with np.errstate(all="ignore"):
        return _compare_floats(expected.astype(np.float64), actual.astype(np.float64), within, allowed)


def _compare_exactly(expected: NDArray[Any], actual: NDArray[Any]) -> Difference:
    """Integers, booleans and text are equal or they are not."""
    wrong = expected != actual
    if not wrong.any():
        return Difference(0.0, 0.0)
    error = None
    if expected.dtype.kind in "iu":
        error = float(np.abs(expected.astype(np.float64) - actual.astype(np.float64)).max())
    return Difference(error, None, f"differs in {np.count_nonzero(wrong):,} of {expected.size:,} elements")


def _compare_floats(
    expected: NDArray[np.float64], actual: NDArray[np.float64], within: Tolerance, allowed: float
) -> Difference:
    checks: tuple[tuple[str, Callable[[NDArray[np.float64]], NDArray[np.bool_]]], ...] = (
        ("NaN", np.isnan),
        ("infinite", np.isposinf),
        ("infinite", np.isneginf),
    )
    for word, where in checks:
        wrong = where(expected) != where(actual)
        if wrong.any():
            return Difference(None, None, f"is {word} in other places ({np.count_nonzero(wrong):,} elements)")
    finite = np.isfinite(expected)
    expected, actual = expected[finite], actual[finite]
    if expected.size == 0:
        return Difference(0.0, 0.0)
    difference = np.abs(expected - actual)
    errors = difference / (np.abs(expected) + _typical_sizes(np.abs(expected), within) + within.floor)
    relative = float(errors.max())
    if relative > allowed:
        # Of other elements it may be larger, and no fault: they may be fill values.
        absolute = float(difference[errors > allowed].max())
        words = f"{relative:.1e} of its size where {allowed:.1e} is allowed"
        return Difference(absolute, relative, f"is off by {absolute:.1e}, {words}")
    return Difference(float(difference.max()), relative)


def _typical_sizes(sizes: NDArray[np.float64], within: Tolerance) -> NDArray[np.float64] | float:
    """How large the numbers are that an element may be made of: one number, or one for each element.

    Values such as -1e9, which models fill in for masked places, say nothing of the others. So numbers that a gap
    divides are of two kinds, and each element is compared with its own kind. Where the larger ones are no fill values
    but of many sizes, the smaller ones may be what is left of such when they cancel, exact to the larger ones' last
    bits. The root of the tolerance stands in for those: 1e-6 of the larger ones' size is allowed in float32 then. No
    element is compared with larger numbers than those of all kinds together.
    """
    overall = _typical(sizes)
    bounds = _bounds(sizes, within.floor)
    if not bounds:
        return overall
    kinds = np.searchsorted(bounds, sizes, side="right")
    own = np.empty(len(bounds) + 1)
    above = 0.0
    for kind in range(len(bounds), -1, -1):
        members = sizes[kinds == kind]
        typical = _typical(members)
        own[kind] = min(overall, typical + within.relative**0.5 * above)
        if members.max() > FILL * members.min():
            above = max(above, typical)
    return own[kinds]


def _typical(sizes: NDArray[np.float64]) -> float:
    """Root mean square of the elements without the largest hundredth."""
    count = -(-sizes.size * 99 // 100)
    sizes = np.partition(sizes, count - 1)[:count]
    largest = float(sizes[-1])
    # Scaled first: squares of large float64 numbers would be infinite.
    return largest * float(np.sqrt(np.mean(np.square(sizes / largest)))) if largest > 0 else 0.0


def _bounds(sizes: NDArray[np.float64], floor: float) -> list[float]:
    """The smallest number of each kind but the first; zeros are of the first one, with FLOOR for their size.

    Numbers spread evenly around zero stand as far below the next ones with a chance of gap⁻ᶜᵒᵘⁿᵗ: what may be by chance
    is no kind.
    """
    powers = sizes.view(np.int64) >> 52  # exponents of two: sorting would take long, and few values have a gap
    counts = np.bincount(powers)
    zeros, counts[0] = counts[0], 0
    occupied = np.flatnonzero(counts)
    bounds = []
    if zeros and occupied.size:
        first = float(sizes[powers == occupied[0]].min())
        if first >= FAR * floor:
            bounds.append(first)
    for before, after in pairwise(occupied.tolist()):
        if after - before + 1 <= math.log2(GAP):
            continue
        first = float(sizes[powers >= after].min())
        gap = first / float(sizes[powers <= before].max())
        below = int(counts[:after].sum())
        is_kind = gap >= FAR or (gap >= GAP and below >= SHARE * counts.sum())
        if is_kind and below * math.log(gap) >= -math.log(CHANCE):
            bounds.append(first)
    return bounds

"""Whether another model computes what the original computes, on every output of every set of inputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from advisor.measure.session import NotRunnable, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import onnxruntime as ort  # type: ignore[import-untyped]
    from numpy.typing import NDArray

    from advisor.measure.inputs import Inputs, InputSet

    Errors = Mapping[tuple[str, str], float]
    """(set, output) to relative error."""

__all__ = [
    "Difference",
    "Reference",
    "Verification",
    "compare_values",
    "proof_notes",
    "record",
    "signature",
    "verify",
    "verify_roughly",
    "verify_runtime",
]


class Tolerance(NamedTuple):
    """How far an output may be from the original's: |difference| ≤ relative · (|expected| + typical + floor).

    `typical` is the root mean square of the output's elements, the largest hundredth left out. It stands in for the
    size of what was added up in an element: one near zero is a difference of larger ones, and no more exact than they
    are. The largest are left out because some models write -1e9 where they mean minus infinity.
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
"""By dtype of the output, or by what the model computes in where that is coarser."""
RUNTIME_FACTOR = 10.0
"""What ONNX Runtime's own optimisation may differ by, in tolerances, before the report says that it changes a model:
three of 45 real models, badly conditioned on one set of inputs, are at two."""
UNDETERMINED = 0.5
"""Share of its size by which last bits may move an output of a model that quantises; of others RUNTIME_FACTOR
tolerances. One that they move further is no answer to compare with."""


@dataclass(frozen=True)
class Verification:
    """The comparison of one model with the original.

    Attributes:
        passed: Every output of every set is within its tolerance, with the same name, dtype and shape, and is NaN or
            infinite in the same places.
        inputs: How many sets of inputs were compared.
        max_abs_error: Largest |difference|; None where nothing could be compared.
        max_rel_error: Largest |difference| ÷ (|expected| + typical + floor): the figure that a tolerance limits.
        worst_output: The output with the largest relative error, or the one that failed.
        reason: Why it failed, for people; empty when it passed.
        errors: (set, output) to relative error, for every output that has one.
        between: Largest relative error between quantisers; None where that was not looked at.
        last_bits: The most that was allowed besides, because last bits alone move the original's outputs by as much;
            None where that was not needed.
        is_undetermined: It failed on an output that last bits move too far for an answer.
    """

    passed: bool
    inputs: int
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    worst_output: str | None = None
    reason: str = ""
    errors: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)
    between: float | None = None
    last_bits: float | None = None
    is_undetermined: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The keys of `verification` in advisor.fusion/1."""
        return {
            "passed": self.passed,
            "inputs": self.inputs,
            "max_abs_error": self.max_abs_error,
            "max_rel_error": self.max_rel_error,
            "worst_output": self.worst_output,
            "reason": self.reason,
            "between": self.between,
            "last_bits": self.last_bits,
        }


class Difference(NamedTuple):
    """How two values differ: errors (None where they cannot be told), and why that is too much, if it is."""

    absolute: float | None
    relative: float | None
    reason: str = ""


@dataclass(frozen=True)
class Reference:
    """What the original computes with optimisation off.

    Attributes:
        sets: The sets of inputs that the original runs on, the first to measure with.
        outputs: For each set, output name to value.
        signature: Names and types of inputs, overridable initialisers and outputs.
        skipped: Set name to reason, for sets that the original itself does not run on.
        arithmetic: What the model computes in, where that is coarser than its outputs: `float16`, `bfloat16` or
            `quantized`.
        products: Outputs that are sums of products of quantised numbers, not yet scaled.
    """

    sets: tuple[InputSet, ...]
    outputs: tuple[dict[str, Any], ...]
    signature: tuple[tuple[str, str, str], ...]
    skipped: dict[str, str]
    arithmetic: str | None = None
    products: frozenset[str] = frozenset()


def record(
    session: ort.InferenceSession,
    inputs: Inputs,
    *,
    arithmetic: str | None = None,
    products: Iterable[str] = (),
) -> Reference:
    """Run the original, unoptimised, on every set of inputs. Only the first set must run: the others may not fit it.

    Raises:
        NotRunnable: The original does not run on the first set.
    """
    sets, outputs, skipped = [], [], {}
    for number, candidate in enumerate(inputs.sets):
        try:
            outputs.append(run(session, candidate.feed))
        except NotRunnable as error:
            if number == 0:
                raise
            skipped[candidate.name] = str(error)
        else:
            sets.append(candidate)
    return Reference(tuple(sets), tuple(outputs), signature(session), skipped, arithmetic, frozenset(products))


def verify_runtime(reference: Reference, session: ort.InferenceSession) -> Verification:
    """Compare the original as ONNX Runtime optimises it with itself, unoptimised."""
    return _verify(reference, session, _Allowance(RUNTIME_FACTOR))


def verify_roughly(reference: Reference, session: ort.InferenceSession) -> Verification:
    """How far another model is, however far: only NaN, infinities, shapes and dtypes have to be the same."""
    return _verify(reference, session, _Allowance(float("inf")))


def verify(
    reference: Reference,
    session: ort.InferenceSession,
    *,
    runtime: Verification | None = None,
    last_bits: Callable[[], Errors] | None = None,
) -> Verification:
    """Run another model on the same inputs and compare every output. A model that does not run has failed.

    Args:
        reference: The original's outputs.
        session: The model to compare.
        runtime: Where ONNX Runtime optimises the model, what it does to the original: that much is not the model's
            fault, and is added to the tolerance of each output of each set.
        last_bits: What last bits alone do to the original, by set and output; asked for, and added to the tolerance,
            where the model fails without. None allows nothing for them.
    """
    return _verify(reference, session, _Allowance(1.0, {} if runtime is None else runtime.errors, last_bits))


def proof_notes(checks: Iterable[Verification], whose: str, arithmetic: str | None) -> Iterator[str]:
    """What a reader has to know of a proof besides its largest difference.

    Args:
        checks: Of one model.
        whose: `the original's`, or what else people call the model that it is compared with.
        arithmetic: Of that model.
    """
    checks = list(checks)
    between = [check.between for check in checks if check.between is not None]
    last_bits = [check.last_bits for check in checks if check.last_bits is not None]
    if between:
        yield f"fed with what {whose} quantisers gave, it is within {max(between):.1e} of the size of every value"
    elif arithmetic == QUANTIZED and checks and all(check.passed for check in checks):
        yield f"its quantisers are not {whose}, so what lies between them was not compared by itself"
    if last_bits:
        moved = f"by {max(last_bits):.1e} of their size: as much was allowed besides"
        yield f"last bits of {whose} weights alone move its outputs {moved}"


def compare_values(expected: Any, actual: Any, *, arithmetic: str | None = None) -> Difference:
    """Compare one value of two models as an output is compared; of a sequence or map, the first part that differs."""
    worst = Difference(0.0, 0.0)
    for _, wanted, found in _leaves("", expected, actual):
        difference = _compare(wanted, found, _tolerance(wanted, arithmetic))
        if difference.reason:
            return difference
        worst = max(worst, difference, key=lambda each: each.relative or 0.0)
    return worst


def _verify(reference: Reference, session: ort.InferenceSession, allowance: _Allowance) -> Verification:
    if signature(session) != reference.signature:
        return Verification(False, 0, reason="its inputs and outputs have other names or types")
    errors: dict[tuple[str, str], float] = {}
    largest, moved = 0.0, None
    for number, (inputs, expected) in enumerate(zip(reference.sets, reference.outputs, strict=True)):
        try:
            actual = run(session, inputs.feed)
        except NotRunnable as error:
            return Verification(False, number, reason=f"it does not run on the {inputs.name} inputs: {error}")
        for name, value in expected.items():
            for leaf, wanted, found in _leaves(name, value, actual[name]):
                key = (inputs.name, leaf)
                difference, own = allowance.compare(reference, key, wanted, found)
                if difference.reason:
                    reason = f"output {leaf!r} {difference.reason} ({inputs.name} inputs)"
                    failed = Verification(False, number + 1, difference.absolute, difference.relative, leaf, reason)
                    if own is None:
                        return failed
                    words = f"last bits alone move it by {own:.1e}, so it cannot be told whether that is wrong"
                    return replace(failed, reason=f"{reason}; {words}", is_undetermined=True)
                largest = max(largest, difference.absolute or 0.0)
                errors[key] = difference.relative or 0.0
                if own is not None:
                    moved = max(own, moved or 0.0)
    if not errors:
        return Verification(True, len(reference.sets), 0.0, 0.0)
    worst = max(errors, key=lambda key: errors[key])
    return Verification(True, len(reference.sets), largest, errors[worst], worst[1], errors=errors, last_bits=moved)


@dataclass(frozen=True)
class _Allowance:
    """How far outputs may be from the original's.

    Attributes:
        factor: In tolerances.
        known: And besides, by set and output.
        last_bits: And what last bits do, where that is needed, if they do not do too much; not in half precision.
    """

    factor: float
    known: Errors = field(default_factory=dict)
    last_bits: Callable[[], Errors] | None = None

    def compare(
        self, reference: Reference, key: tuple[str, str], wanted: NDArray[Any], found: NDArray[Any]
    ) -> tuple[Difference, float | None]:
        """The difference, and what last bits do where that decided: a failure that they explain is undetermined."""
        own = _tolerance(wanted, reference.arithmetic, is_product=key[1] in reference.products)
        if own is None:
            return _compare(wanted, found, None), None
        allowed = self.factor * own.relative + self.known.get(key, 0.0)
        difference = _compare(wanted, found, own._replace(relative=allowed))
        is_quantized = reference.arithmetic == QUANTIZED
        error, most = difference.relative, UNDETERMINED if is_quantized else RUNTIME_FACTOR * own.relative
        if not difference.reason or error is None or self.last_bits is None:
            return difference, None
        if not is_quantized and reference.arithmetic is not None:
            return difference, None  # the tolerances of half precision are made for its last bits
        if not is_quantized and error > allowed + most:
            return difference, None  # measuring them takes time, and would not help
        moved = self.last_bits().get(key, 0.0)
        if error > allowed + moved:
            return difference, None
        return (difference if moved > most else difference._replace(reason="")), moved


def signature(session: ort.InferenceSession) -> tuple[tuple[str, str, str], ...]:
    """What a caller sees of a model."""
    parts = (
        ("input", session.get_inputs()),
        ("initialiser", session.get_overridable_initializers()),
        ("output", session.get_outputs()),
    )
    # An initialiser's place among its like means nothing; inputs and outputs keep theirs.
    return tuple(
        (kind, value.name, value.type)
        for kind, values in parts
        for value in (sorted(values, key=lambda value: str(value.name)) if kind == "initialiser" else values)
    )


def _leaves(name: str, expected: Any, actual: Any) -> Iterator[tuple[str, Any, Any]]:
    """The arrays of an output: itself, or those in a sequence or map."""
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from _leaves(f"{name}[{number}]", one, other)
    elif isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        for key, one in expected.items():
            yield from _leaves(f"{name}[{key}]", one, actual[key])
    else:
        yield name, np.asarray(expected), np.asarray(actual)


def _tolerance(expected: NDArray[Any], arithmetic: str | None, *, is_product: bool = False) -> Tolerance | None:
    """For floating-point numbers, and for what quantised models round to and multiply; other integers are exact."""
    if arithmetic == QUANTIZED and (is_product or expected.dtype.name in {"int8", "uint8"}):
        return TOLERANCES[QUANTIZED]
    own = TOLERANCES.get(expected.dtype.name)
    if own is None or arithmetic is None:
        return own
    return max(own, TOLERANCES[arithmetic])


def _compare(expected: NDArray[Any], actual: NDArray[Any], tolerance: Tolerance | None) -> Difference:
    if expected.dtype != actual.dtype:
        return Difference(None, None, f"has the dtype {actual.dtype} in place of {expected.dtype}")
    if expected.shape != actual.shape:
        return Difference(None, None, f"has the shape {list(actual.shape)} in place of {list(expected.shape)}")
    if tolerance is None:
        return _compare_exactly(expected, actual)
    with np.errstate(all="ignore"):
        return _compare_floats(expected.astype(np.float64), actual.astype(np.float64), tolerance)


def _compare_exactly(expected: NDArray[Any], actual: NDArray[Any]) -> Difference:
    """Integers, booleans and text are equal or they are not."""
    wrong = expected != actual
    if not wrong.any():
        return Difference(0.0, 0.0)
    error = None
    if expected.dtype.kind in "iu":
        error = float(np.abs(expected.astype(np.float64) - actual.astype(np.float64)).max())
    return Difference(error, None, f"differs in {np.count_nonzero(wrong):,} of {expected.size:,} elements")


def _compare_floats(expected: NDArray[np.float64], actual: NDArray[np.float64], tolerance: Tolerance) -> Difference:
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
    relative = float((difference / (np.abs(expected) + _typical(expected) + tolerance.floor)).max())
    absolute = float(difference.max())
    if relative > tolerance.relative:
        allowed = f"{relative:.1e} of its size where {tolerance.relative:.1e} is allowed"
        return Difference(absolute, relative, f"is off by {absolute:.1e}, {allowed}")
    return Difference(absolute, relative)


def _typical(values: NDArray[np.float64]) -> float:
    """Root mean square of the elements without the largest hundredth."""
    sizes = np.abs(values)
    count = -(-sizes.size * 99 // 100)
    sizes = np.partition(sizes, count - 1)[:count]
    largest = float(sizes[-1])
    # Scaled first: squares of large float64 numbers would be infinite.
    return largest * float(np.sqrt(np.mean(np.square(sizes / largest)))) if largest > 0 else 0.0

"""Whether another model computes what the original computes, on every output of every set of inputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.fuse.difference import QUANTIZED, TOLERANCES, compare_arrays, leaves, tolerance
from advisor.measure.session import NotRunnable, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import onnxruntime as ort  # type: ignore[import-untyped]
    from numpy.typing import NDArray

    from advisor.fuse.difference import Difference
    from advisor.measure.inputs import Inputs, InputSet

    Errors = Mapping[tuple[str, str], float]
    """(set, output) to relative error."""

__all__ = [
    "Reference",
    "Verification",
    "arithmetic_notes",
    "proof_notes",
    "record",
    "signature",
    "summed_up",
    "verify",
    "verify_roughly",
    "verify_runtime",
]

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
        max_abs_error: Largest |difference| of the worst output; None where nothing could be compared.
        max_rel_error: Largest |difference| ÷ (|expected| + typical + floor): the figure that a tolerance limits.
        worst_output: The output with the largest relative error, or the one that failed.
        reason: Why it failed, for people; empty when it passed.
        errors: (set, output) to relative error, for every output that has one.
        between: Largest relative error between quantisers; None where that was not looked at.
        last_bits: The most that was allowed besides, because last bits alone move the original's outputs by as much;
            None where that was not needed.
        is_undetermined: It failed on an output that last bits move too far for an answer.
        not_compared: Outputs that tell nothing: on every set empty, or NaN or infinite throughout.
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
    not_compared: tuple[str, ...] = ()

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
            "not_compared": list(self.not_compared),
        }


@dataclass(frozen=True)
class Reference:
    """What the original computes with optimisation off.

    Attributes:
        sets: The sets of inputs that the original runs on, the first to measure with.
        outputs: For each set, output name to value.
        signature: Names and types of inputs, overridable initialisers and outputs.
        skipped: Set name to reason, for sets that the original itself does not run on.
        arithmetic: Output name to what feeds it, where that is coarser than its dtype: `float16`, `bfloat16` or
            `quantized`.
        products: Outputs that are sums of products of quantised numbers, not yet scaled.
    """

    sets: tuple[InputSet, ...]
    outputs: tuple[dict[str, Any], ...]
    signature: tuple[tuple[str, str, str], ...]
    skipped: dict[str, str]
    arithmetic: Mapping[str, str] = field(default_factory=dict)
    products: frozenset[str] = frozenset()

    @property
    def quantizes(self) -> bool:
        """Whether quantisers feed an output."""
        return QUANTIZED in self.arithmetic.values()


def record(
    session: ort.InferenceSession,
    inputs: Inputs,
    *,
    arithmetic: Mapping[str, str] | None = None,
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
    feeding = {} if arithmetic is None else dict(arithmetic)
    return Reference(tuple(sets), tuple(outputs), signature(session), skipped, feeding, frozenset(products))


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
    is_proven: bool = True,
) -> Verification:
    """Run another model on the same inputs and compare every output. A model that does not run has failed.

    Args:
        reference: The original's outputs.
        session: The model to compare.
        runtime: Where ONNX Runtime optimises the model, what it does to the original: that much is not the model's
            fault, and is added to the tolerance of each output of each set.
        last_bits: What last bits alone do to the original, by set and output; asked for, and added to the tolerance,
            where the model fails without. None allows nothing for them.
        is_proven: Whether what the model computes between quantisers is proven: otherwise outputs that quantisers feed
            are allowed nothing for last bits.
    """
    known = {} if runtime is None else runtime.errors
    return _verify(reference, session, _Allowance(1.0, known, last_bits, is_proven))


def arithmetic_notes(reference: Reference, model: str) -> Iterator[str]:
    """Which outputs have another tolerance than that of their dtype; MODEL is what people call the model."""
    outputs = [name for kind, name, _ in reference.signature if kind == "output"]
    for arithmetic in dict.fromkeys(reference.arithmetic.values()):
        within = f"compared within {100 * TOLERANCES[arithmetic].relative:.0f} % of their size"
        numbers = {QUANTIZED: "quantized numbers"}.get(arithmetic, arithmetic)
        fed = [name for name in outputs if reference.arithmetic.get(name) == arithmetic]
        if len(fed) == len(outputs):
            yield f"{model} computes in {numbers}: outputs were {within}"
        else:
            yield f"{model} computes {', '.join(fed)} in {numbers}: {within}"


def proof_notes(checks: Iterable[Verification], whose: str, *, quantizes: bool) -> Iterator[str]:
    """What a reader has to know of a proof besides its largest difference.

    Args:
        checks: Of one model.
        whose: `the original's`, or what else people call the model that it is compared with.
        quantizes: Whether quantisers feed an output of that model.
    """
    checks = list(checks)
    between = [check.between for check in checks if check.between is not None]
    last_bits = [check.last_bits for check in checks if check.last_bits is not None]
    if between:
        yield f"fed with what {whose} quantisers gave, it is within {max(between):.1e} of the size of every value"
    elif quantizes and checks and all(check.passed for check in checks):
        yield f"its quantisers are not {whose}, so what lies between them was not compared by itself"
    if last_bits:
        moved = f"by {max(last_bits):.1e} of their size: as much was allowed besides"
        yield f"last bits of {whose} weights alone move its outputs {moved}"
    if checks and checks[0].not_compared:
        names = ", ".join(checks[0].not_compared)
        yield f"nothing of the outputs {names} was compared: on these inputs they are empty, or no numbers throughout"


def _verify(reference: Reference, session: ort.InferenceSession, allowance: _Allowance) -> Verification:
    if signature(session) != reference.signature:
        return Verification(False, 0, reason="its inputs and outputs have other names or types")
    differences: dict[tuple[str, str], Difference] = {}
    silent = {name for kind, name, _ in reference.signature if kind == "output"}
    moved = None
    for number, (inputs, expected) in enumerate(zip(reference.sets, reference.outputs, strict=True)):
        try:
            actual = run(session, inputs.feed)
        except NotRunnable as error:
            return Verification(False, number, reason=f"it does not run on the {inputs.name} inputs: {error}")
        for name, value in expected.items():
            for leaf, wanted, found in leaves(name, value, actual[name]):
                key = (inputs.name, leaf)
                difference, own = allowance.compare(reference, name, key, wanted, found)
                if difference.reason:
                    reason = f"output {leaf!r} {difference.reason} ({inputs.name} inputs)"
                    failed = Verification(False, number + 1, difference.absolute, difference.relative, leaf, reason)
                    if own is None:
                        return failed
                    words = f"last bits alone move it by {own:.1e}, so it cannot be told whether that is wrong"
                    return replace(failed, reason=f"{reason}; {words}", is_undetermined=True)
                differences[key] = difference
                if own is not None:
                    moved = max(own, moved or 0.0)
                if name in silent and _tells(wanted):
                    silent.discard(name)
    return replace(
        summed_up(differences, len(reference.sets)),
        last_bits=moved,
        not_compared=tuple(name for kind, name, _ in reference.signature if kind == "output" and name in silent),
    )


def summed_up(differences: Mapping[tuple[str, str], Difference], inputs: int) -> Verification:
    """The verification of values that are all within their tolerances, by set and output, on so many INPUTS."""
    if not differences:
        return Verification(True, inputs, 0.0, 0.0)
    errors = {key: difference.relative or 0.0 for key, difference in differences.items()}
    worst = max(errors, key=lambda key: errors[key])
    largest = max(difference.absolute or 0.0 for (_, name), difference in differences.items() if name == worst[1])
    return Verification(True, inputs, largest, errors[worst], worst[1], errors=errors)


def _tells(expected: NDArray[Any]) -> bool:
    """Whether there is an element to compare: of floating-point numbers, one that is neither NaN nor infinite."""
    if expected.dtype.name in TOLERANCES:
        return bool(np.isfinite(expected).any())
    return expected.size > 0


@dataclass(frozen=True)
class _Allowance:
    """How far outputs may be from the original's.

    Attributes:
        factor: In tolerances.
        known: And besides, by set and output.
        last_bits: And what last bits do, where that is needed, if they do not do too much; not in half precision.
        is_proven: Whether that holds for outputs that quantisers feed, too.
    """

    factor: float
    known: Errors = field(default_factory=dict)
    last_bits: Callable[[], Errors] | None = None
    is_proven: bool = True

    def compare(
        self, reference: Reference, name: str, key: tuple[str, str], wanted: NDArray[Any], found: NDArray[Any]
    ) -> tuple[Difference, float | None]:
        """The difference, and what last bits do where that decided: a failure that they explain is undetermined.

        Args:
            reference: The original.
            name: The output.
            key: The set of inputs, and the output or the part of it that these are.
            wanted: What the original gives.
            found: What the other model gives.
        """
        arithmetic = reference.arithmetic.get(name)
        own = tolerance(wanted, arithmetic, is_product=name in reference.products)
        if own is None:
            return compare_arrays(wanted, found, None), None
        allowed = self.factor * own.relative + self.known.get(key, 0.0)
        difference = compare_arrays(wanted, found, own, allowed=allowed)
        is_quantized = arithmetic == QUANTIZED
        error, most = difference.relative, UNDETERMINED if is_quantized else RUNTIME_FACTOR * own.relative
        if not difference.reason or error is None or self.last_bits is None:
            return difference, None
        if is_quantized and not self.is_proven:
            return difference, None
        if not is_quantized and arithmetic is not None:
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

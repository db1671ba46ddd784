"""`compare_models`: whether two ONNX models compute the same, and where they part if they do not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from advisor.errors import BadInput, CannotDecide
from advisor.fuse.arithmetic import Arithmetic, products
from advisor.fuse.bench import described
from advisor.fuse.departure import Departure, Pair, bisect_departure, first_departure
from advisor.fuse.interface import Renamed, differences, name_alike
from advisor.fuse.model import ModelFile, count_nodes, load, opset, runnable
from advisor.fuse.quantizers import Quantizers
from advisor.fuse.randomness import check_draws_nothing
from advisor.fuse.sensitivity import sensitivity
from advisor.fuse.session import libraries_of
from advisor.fuse.verify import (
    Verification,
    arithmetic_notes,
    proof_notes,
    record,
    signature,
    verify,
    verify_runtime,
)
from advisor.measure.inputs import generate_inputs, read_inputs
from advisor.measure.session import (
    CUDA,
    Level,
    NotRunnable,
    has_provider,
    nodes_elsewhere,
    open_session,
    provider_name,
    provider_of,
    version,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import onnx_ir as ir
    import onnxruntime as ort  # type: ignore[import-untyped]

    from advisor.fuse.verify import Reference

__all__ = ["LEVELS", "ModelComparison", "compare_models"]

SCHEMA = "advisor.verification/1"
LEVELS = (Level.OFF, Level.ALL)

Result = TypeVar("Result")


@dataclass(frozen=True)
class ModelComparison:
    """The result of `compare_models`.

    Attributes:
        a: The first model, which counts as right.
        b: The second one.
        asked: Full name of the provider that was asked for; None where the choice was free.
        provider: Provider that the sessions really had.
        onnxruntime: ONNX Runtime's version.
        interface: How names and types of inputs, overridable initialisers and outputs differ; values are compared only
            where they do not.
        renamed: Inputs and outputs that B calls differently, and that were taken for the same by their place.
        is_coarse: Whether equal means within the tolerance of numbers that are quantised, and no more: A quantises, B's
            quantisers are not the same, and nor are the outputs but for rounding.
        checks: B at each level against A with optimisation off.
        runtime: A at ORT_ENABLE_ALL against itself with optimisation off; None where that did not matter.
        departure: The first value that differs; None where the models are equal, or it was not found.
        sets: Names of the sets of inputs that were compared.
        shapes: Shape of every input of the first set.
        assumed: Sizes of dynamic dimensions that nobody gave.
        notes: What a reader has to know besides, one sentence each.
    """

    a: ModelFile
    b: ModelFile
    asked: str | None
    provider: str
    onnxruntime: str
    interface: tuple[str, ...]
    renamed: tuple[Renamed, ...]
    checks: dict[Level, Verification]
    runtime: Verification | None
    departure: Departure | None
    sets: tuple[str, ...]
    shapes: dict[str, tuple[int, ...]]
    assumed: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    is_coarse: bool = False

    @property
    def equal(self) -> bool:
        """Whether no difference was found."""
        return not self.interface and all(check.passed for check in self.checks.values())

    @property
    def failed_at(self) -> Level | None:
        """The level at which B differs; None where it does at none that was run."""
        return next((level for level, check in self.checks.items() if not check.passed), None)

    def to_dict(self) -> dict[str, Any]:
        """The document `advisor.verification/1`, see `advisor schema verification`."""
        departure, failed_at = self.departure, self.failed_at
        return {
            "schema": SCHEMA,
            "equal": self.equal,
            "coarse": self.is_coarse,
            "a": _file(self.a),
            "b": _file(self.b),
            "provider": self.provider,
            "onnxruntime": self.onnxruntime,
            "interface": list(self.interface),
            "renamed": [each.to_dict() for each in self.renamed],
            "checks": [{"level": level.value, **check.to_dict()} for level, check in self.checks.items()],
            "runtime": None if self.runtime is None else self.runtime.to_dict(),
            "departure": None
            if departure is None or failed_at is None
            else {"level": failed_at.value, **departure.to_dict()},
            "inputs": {
                "sets": list(self.sets),
                "shapes": {name: list(shape) for name, shape in self.shapes.items()},
                "assumed": self.assumed,
            },
            "notes": list(self.notes),
        }


def compare_models(
    a: str | Path,
    b: str | Path,
    *,
    provider: str | None = None,
    dims: Mapping[str, int] | None = None,
    batch: int | None = None,
    inputs: str | Path | None = None,
    threads: int | None = None,
    levels: Sequence[Level] = LEVELS,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> ModelComparison:
    """Run both models on the same inputs and compare every output; where one differs, find where that begins.

    A with optimisation off is what is right. B is run with optimisation off, which compares the models as their files
    say, and at ORT_ENABLE_ALL, which is how programs run it; what ONNX Runtime's optimisation does to A is allowed to B
    there, too. Where it changes A more than rounding does, B is judged with optimisation off alone; where LEVELS asks
    for ORT_ENABLE_ALL alone, nothing can be told.

    Where A quantises and B has the same quantisers, what B computes between them is compared first, as in models that
    do not quantise; then what last bits alone do to A's outputs is allowed to B.

    Inputs and outputs that are called differently are taken for the same where their places, types and shapes agree.

    Args:
        a: ONNX file.
        b: ONNX file.
        provider: Execution provider to ask ONNX Runtime for, as in `fuse`.
        dims: Sizes of dynamic dimensions, by name or `INPUT:AXIS`.
        batch: Size of the batch, 1 unless given.
        inputs: An .npz file with inputs to use in place of generated ones.
        threads: Threads inside an operator; None leaves it to ONNX Runtime.
        levels: How much ONNX Runtime may optimise B.
        seed: Of generated values.
        progress: Called with a few words at every step.

    Raises:
        BadInput: A model cannot be read, ONNX Runtime does not take it, or an option or the inputs are wrong.
        CannotDecide: The provider lacks what one of the models needs, or it does not load on that of the other; or one
            draws random numbers; or an output is not equal, and last bits alone move it too far to tell whether that
            is wrong; or no output had a number to compare on any set; or ORT_ENABLE_ALL alone was asked for, and
            changes A itself.
    """
    say = progress or (lambda _: None)
    path_a, path_b = Path(a), Path(b)
    if inputs is not None and (dims or batch is not None):
        raise BadInput("the inputs of --inputs have sizes of their own: leave --dim and --batch away")
    wanted = None if provider is None else provider_name(provider)
    say("loading the models")
    model_a, model_b = load(path_a), load(path_b)
    libraries_a, libraries_b = libraries_of(model_a, path_a), libraries_of(model_b, path_b)
    check_draws_nothing(model_a, path_a)
    check_draws_nothing(model_b, path_b)
    renamed = name_alike(model_a, model_b)
    if inputs is None:
        made = generate_inputs(model_a, dims=dims, batch=batch, seed=seed)
    else:
        made = read_inputs(Path(inputs), model_a)

    say("running the first model with optimisation off")
    session = _try(path_a, partial(_open, model_a, Level.OFF, libraries_a, provider=wanted, threads=threads))
    got = provider_of(session)
    open_here = partial(_open, provider=got, threads=threads, pinned=True)
    other = _try(path_b, partial(open_here, model_b, levels[0], libraries_b))
    interface = tuple(differences(signature(session), signature(other)))
    numbers = Arithmetic(model_a)
    recording = partial(record, session, made, arithmetic=numbers.of_outputs(), products=products(model_a))
    reference = _try(path_a, recording, on=described(made))
    elsewhere = nodes_elsewhere(session)
    del session, other  # memory for those to come
    open_a = partial(open_here, level=Level.OFF, libraries=libraries_a)
    open_b = partial(open_here, level=Level.OFF, libraries=libraries_b)
    quantizers = None
    between: Verification | None = None
    if reference.quantizes and not interface:
        say("comparing what lies between the quantisers")
        quantizers = Quantizers(model_a, open_a, computes_in=None)
        between = quantizers.verify(model_b, open_b, reference.sets)
    is_proven = between.passed if between is not None else not reference.quantizes
    last_bits = cache(partial(sensitivity, reference, model_a, open_a))

    checks: dict[Level, Verification] = {}
    if between is not None and not between.passed:
        checks[Level.OFF] = between
    is_coarse = not is_proven
    runtime = None
    for level in () if interface or checks else levels:
        say(f"comparing at {level.value}")
        if level is Level.ALL:
            runtime = verify_runtime(reference, _try(path_a, partial(open_here, model_a, level, libraries_a)))
            if not runtime.passed and not checks:
                raise CannotDecide(
                    f"ONNX Runtime's own optimisation changes what {path_a} computes: {runtime.reason}."
                    " Compare with optimisation off: --level off"
                )
            if not runtime.passed:
                break
        other = _try(path_b, partial(open_here, model_b, level, libraries_b))
        check = verify(reference, other, runtime=runtime, last_bits=last_bits, is_proven=is_proven)
        if check.is_undetermined:
            raise CannotDecide(f"{path_b} at {level.value}: {check.reason}")
        checks[level] = replace(check, between=between.max_rel_error) if between and between.passed else check
        if level is Level.OFF and is_coarse and check.passed:
            tight = replace(reference, arithmetic=numbers.of_outputs(quantized=False))
            is_coarse = not verify(tight, other).passed
        if not check.passed:
            break
        if len(check.not_compared) == len(reference.outputs[0]):
            raise CannotDecide(
                f"no output of {path_a} has a number to compare on any set of inputs: all are empty, NaN or infinite"
                " there. Give other inputs with --inputs, or other sizes with --dim"
            )
    comparison = ModelComparison(
        a=ModelFile(path_a, count_nodes(model_a), opset(model_a)),
        b=ModelFile(path_b, count_nodes(model_b), opset(model_b)),
        asked=wanted,
        provider=got,
        onnxruntime=version(),
        interface=interface,
        renamed=renamed,
        checks=checks,
        runtime=runtime,
        departure=None,
        sets=tuple(each.name for each in reference.sets) if checks else (),
        shapes={name: tuple(array.shape) for name, array in reference.sets[0].feed.items()},
        assumed=made.assumed,
        is_coarse=is_coarse and bool(checks) and all(check.passed for check in checks.values()),
    )
    failed_at = comparison.failed_at
    departure = None
    if failed_at is not None:
        check = checks[failed_at]
        if quantizers is not None and check is between:
            failing = reference.sets[check.inputs - 1]
            opened = quantizers.pair(model_b, open_b, failing)
            if opened is not None:
                departure = first_departure(opened[0], (), failing=opened[1], say=say)
        else:
            open_failed = partial(open_here, level=failed_at, libraries=libraries_b)
            pair = Pair(model_a, model_b, open_a, open_failed, numbers.of)
            departure = _find(pair, reference, check, failed_at, say)
    notes = tuple(_notes(comparison, reference, elsewhere, departure))
    return replace(comparison, departure=departure, notes=notes)


def _open(
    model: ir.Model,
    level: Level,
    libraries: Sequence[Path],
    *,
    provider: str | None,
    threads: int | None,
    pinned: bool = False,
) -> ort.InferenceSession:
    """A session; where PINNED, on that provider and no other."""
    with runnable(model) as source:
        session = open_session(source, level=level, provider=provider, threads=threads, exact=True, libraries=libraries)
    if pinned and provider_of(session) != provider:
        raise NotRunnable(RuntimeError(f"it does not load on {provider}"), unsupported=True)
    return session


def _try(path: Path, action: Callable[[], Result], *, on: str = "") -> Result:
    """What ACTION returns; a model that does not load, or run ON inputs, leaves nothing to compare."""
    try:
        return action()
    except NotRunnable as error:
        raise error.ending(path, on) from None


def _find(
    pair: Pair, reference: Reference, check: Verification, level: Level, say: Callable[[str], None]
) -> Departure | None:
    """Where B departs, if its outputs could be compared at all."""
    if check.worst_output is None:
        return None
    failing = reference.sets[check.inputs - 1]
    if level is Level.OFF:
        return first_departure(pair, reference.sets, failing=failing, say=say)
    return bisect_departure(pair, failing, say=say)


def _notes(
    comparison: ModelComparison, reference: Reference, elsewhere: int | None, departure: Departure | None
) -> Iterator[str]:
    """What a reader has to know besides the figures."""
    if comparison.is_coarse:
        yield (
            "what lies between quantisers that are not the same cannot be compared, and one step of theirs may be 10 %"
            " of an output: compare the models as they were before they were quantised, or take 10 % with --coarse-ok"
        )
    if comparison.asked not in {None, comparison.provider}:
        yield f"{comparison.asked} was asked for and did not load: everything here ran on {comparison.provider}"
    elif comparison.asked is None and comparison.provider != CUDA and has_provider(CUDA):
        yield f"{CUDA} did not load here: everything ran on {comparison.provider}"
    if elsewhere:
        yield f"{elsewhere} nodes of the first model run on another provider than {comparison.provider}"
    if comparison.assumed:
        sizes = ", ".join(f"{name}={size}" for name, size in comparison.assumed.items())
        yield f"sizes assumed for dynamic dimensions: {sizes} (choose others with --dim)"
    yield from arithmetic_notes(reference, "the first model")
    yield from proof_notes(comparison.checks.values(), "the first model's", quantizes=reference.quantizes)
    for name in reference.skipped:
        yield f"the first model does not run on the {name} inputs, so these were left out"
    runtime = comparison.runtime
    if runtime is not None and not runtime.passed:
        yield (
            f"ONNX Runtime's own optimisation changes what the first model computes: {runtime.reason}; the second one"
            " was judged with optimisation off only"
        )
    failed_at = comparison.failed_at
    if failed_at is None:
        return
    if failed_at is Level.ALL and Level.OFF in comparison.checks:
        yield (
            "with optimisation off the models are equal: it is ONNX Runtime's optimisation that changes the second one"
        )
    if departure is None and comparison.checks[failed_at].worst_output is not None:
        yield "the first value that differs was not found: none that both models name differs when it is looked at"
    elif departure is not None and failed_at is Level.ALL:
        yield "the value was found by bisection, and looking at it may keep ONNX Runtime from fusing what is around it"


def _file(model: ModelFile) -> dict[str, Any]:
    return {"path": str(model.path), "nodes": model.nodes, "opset": model.opset}

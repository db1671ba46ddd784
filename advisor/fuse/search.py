"""`fuse`: a model in, a fused model and its report out."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import onnx_ir as ir

from advisor.errors import BadInput
from advisor.fuse.batches import BATCH_SHARE, BatchLatency, measure_batches
from advisor.fuse.bench import Bench
from advisor.fuse.candidates import CANDIDATES
from advisor.fuse.gaps import Gaps, measure_gaps
from advisor.fuse.kernels.generated import compiled_in
from advisor.fuse.kernels.traffic import total
from advisor.fuse.model import RENAMED, ModelFile, count_nodes, load, opset, save
from advisor.fuse.predictions import predict
from advisor.fuse.randomness import check_draws_nothing
from advisor.fuse.result import FusionReport, GeneratedKernels, Settings
from advisor.fuse.screening import Screening
from advisor.fuse.selection import Selection, select
from advisor.fuse.session import libraries_of, remove_library, replaced_library, write_library
from advisor.fuse.verify import Verification, arithmetic_notes, proof_notes
from advisor.measure.inputs import generate_inputs, read_inputs
from advisor.measure.machine import driver
from advisor.measure.session import CPU, CUDA, Level, NotRunnable, has_provider, open_session, provider_name, version
from advisor.output import Kind, check_writable, staged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from advisor.fuse.transform import Applied
    from advisor.fuse.units import Candidate
    from advisor.measure.inputs import Inputs

__all__ = ["fuse"]

BUDGET_S = 60.0
BASELINE_SECONDS = 1.0
"""Where there is nothing to compare it with, the original's latency is told all the same."""
WIDE = 0.01
"""Half of an interval that is worth a note."""


def fuse(
    model: str | Path,
    *,
    output: str | Path | None = None,
    provider: str | None = None,
    dims: Mapping[str, int] | None = None,
    batch: int | None = None,
    inputs: str | Path | None = None,
    trace: str | Path | None = None,
    threads: int | None = None,
    budget_s: float = BUDGET_S,
    seed: int = 0,
    batch_sizes: Sequence[int] = (),
    candidates: Sequence[Candidate] = CANDIDATES,
    progress: Callable[[str], None] | None = None,
) -> FusionReport:
    """Fuse what is legal, proven equal and, by measurement, not slower on this machine and provider.

    Every fusion is tried on a part of the model first, then in the whole: verified against the original with
    optimisation off, and raced against the original at ORT_ENABLE_ALL. Those that are wrong, or make nothing faster,
    are left out; how, `advisor.fuse.selection` tells. Where nothing is left, the output is the original.

    Args:
        model: ONNX file; it is only read.
        output: File to write the result to; None writes nothing.
        provider: Execution provider to ask ONNX Runtime for: `cpu`, `cuda`, `tensorrt` or a full name; None takes CUDA
            where it loads, else the CPU. The report names the one that ran.
        dims: Sizes of dynamic dimensions, by name or `INPUT:AXIS`.
        batch: Size of the batch, 1 unless given.
        inputs: An .npz file with inputs to use in place of generated ones.
        trace: A recording of the model, in any format that `analyze` reads: what it predicts that fusions save decides
            which are tried first, and stands in the report beside what was measured.
        threads: Threads inside an operator; None leaves it to ONNX Runtime.
        budget_s: Seconds to spend on the search. Loading, the last proof and a last race, a quarter as long or 5 s,
            come on top.
        seed: Of generated values, orders and resampling.
        batch_sizes: Sizes of the batch to race the fused model at in the end; that takes two fifths of the budget.
        candidates: What to try, in the order in which it is applied.
        progress: Called with a few words at every step.

    Raises:
        BadInput: The model, an option, the inputs or the trace are wrong.
        KeyboardInterrupt: The user ended the search before anything was proven; later, what is proven is the result.
        CannotDecide: The provider lacks what the model needs, or the model draws random numbers, so nothing can be
            proven; or the trace tells no times.
    """
    path = Path(model)
    target = None if output is None else Path(output)
    given = None if inputs is None else Path(inputs)
    say = progress or (lambda _: None)
    if not 0 <= budget_s < float("inf"):  # NaN neither
        raise BadInput(f"a budget of {budget_s} s is no time: give seconds from 0 up")
    if given is not None and (dims or batch is not None or batch_sizes):
        raise BadInput("the inputs of --inputs have sizes of their own: leave --dim, --batch and --batch-sizes away")
    if target is not None:
        _check_target(target, [path, *(Path(source) for source in (given, trace) if source is not None)])
    wanted = None if provider is None else provider_name(provider)

    say("loading the model")
    original = load(path)
    if libraries_of(original, path):
        raise BadInput(f"{path} holds generated kernels already: fuse the model that it was made from")
    check_draws_nothing(original, path)
    sets = (
        generate_inputs(original, dims=dims, batch=batch, seed=seed) if given is None else read_inputs(given, original)
    )
    predictions = None if trace is None else predict(original, Path(trace), say)
    say("running the original with optimisation off")
    bench = Bench(original, sets, path=path, provider=wanted, threads=threads, seed=seed)
    telling = predictions if predictions is not None and predictions.links else None
    screening = Screening(original, bench, path=path)
    search_s = budget_s * (1 - BATCH_SHARE) if batch_sizes else budget_s
    selection = select(original, candidates, bench, screening, budget_s=search_s, progress=say, predictions=telling)
    fused, latency = selection.fused, selection.latency

    if fused is not None:
        verification = fused.verification
    else:
        verification = Verification(True, len(bench.reference.sets), max_abs_error=0.0, max_rel_error=0.0)
    assert verification is not None
    result = original if fused is None else fused.result.model
    library: Path | None = None
    removed: tuple[str, ...] = ()
    if target is not None:
        say("writing the result")
        replaced = replaced_library(target)
        if fused is None:
            _write_original(path, original, target, bench.provider)
        else:
            library = _write_fused(fused.result, target)
        if replaced is not None and (library is None or not library.samefile(replaced)):
            removed = (remove_library(replaced),)
    baseline_ns = latency.baseline_ns if latency else bench.baseline(seconds=min(BASELINE_SECONDS, budget_s))
    gaps: Gaps | None = None
    batches: tuple[BatchLatency, ...] = ()
    applied = None if fused is None else fused.result
    interrupted = selection.interrupted
    try:
        if not interrupted:
            say("recording the gaps of a run")
            gaps = measure_gaps(
                original,
                applied,
                sets,
                path=path,
                provider=bench.provider,
                threads=threads,
                latency_ns=baseline_ns,
                fused_ns=None if latency is None else latency.candidate_ns,
            )
        if batch_sizes and applied is not None and not interrupted:
            batches = measure_batches(
                original,
                applied,
                batch_sizes,
                path=path,
                provider=bench.provider,
                dims=dims,
                threads=threads,
                seed=seed,
                seconds=budget_s * BATCH_SHARE,
                measured=None if latency is None else (bench.feed, latency),
                progress=say,
            )
    except KeyboardInterrupt:
        interrupted = True  # the result is chosen and written: what is missing is only told
    return FusionReport(
        model=ModelFile(path, count_nodes(original), opset(original)),
        fused=ModelFile(target, count_nodes(result), opset(result), library),
        changed=fused is not None,
        provider=bench.provider,
        onnxruntime=version(),
        baseline_ns=baseline_ns,
        measured=latency,
        verification=verification,
        runtime=bench.runtime,
        fusions=selection.fusions,
        settings=Settings(
            provider=wanted,
            threads=threads,
            shapes={name: tuple(array.shape) for name, array in bench.feed.items()},
            assumed=sets.assumed,
            inputs=given,
            budget_s=budget_s,
            seed=seed,
        ),
        notes=(
            *(() if predictions is None else predictions.notes(bench.provider, _gpu(bench.provider))),
            *_notes(wanted, bench, sets, selection),
            *_mended(original),
            *(("no batch size was raced: the output is the original",) if batch_sizes and fused is None else ()),
            *(("interrupted before gaps and batch sizes were measured",) if interrupted else ()),
            *removed,
        ),
        trace=predictions,
        batches=batches,
        gaps=gaps,
        generated=None if applied is None else _generated(applied),
    )


def _generated(applied: Applied) -> GeneratedKernels | None:
    """What the generated kernels of a fused model save together."""
    saved = [site.traffic for site in applied.sites if site.status == "applied" and site.traffic is not None]
    if not saved:
        return None
    return GeneratedKernels(
        kernels=len(saved),
        traffic=total(saved),
        library_bytes=sum(library.stat().st_size for library in applied.libraries),
        compile_s=sum(map(compiled_in, applied.libraries)),
    )


def _check_target(target: Path, sources: Sequence[Path]) -> None:
    """Refuse, before anything is computed, a file that cannot or must not be written."""
    for source in sources:
        # Also through links: samefile compares what they lead to.
        if target.exists() and source.exists() and target.samefile(source):
            raise BadInput(f"{target} is the input {source}: an input is never overwritten, name another file")
    if str(target) == "-":
        raise BadInput(
            "a fused model is not written to standard output, since a library may lie beside it: name a file"
        )
    check_writable(target, Kind.BINARY)


def _write_original(path: Path, original: ir.Model, target: Path, provider: str) -> None:
    """Write the original: byte for byte where it is one file, and one that ONNX Runtime loads as it is."""
    try:
        open_session(path, level=Level.OFF, provider=provider)
    except NotRunnable:
        is_sound = False  # reading it mends names of nodes that are there twice
    else:
        is_sound = not _has_external_data(original)
    if not is_sound:
        save(original, target)
        return
    with staged(target) as temporary:
        shutil.copyfile(path, temporary)


def _write_fused(fused: Applied, target: Path) -> Path | None:
    """Write a fused model and, first, the library of custom operators that it needs, beside it; return that one.

    The library's name holds a hash of its bytes: a model never meets another one's.
    """
    if fused.libraries and target.exists() and not target.is_file():
        raise BadInput(f"{target} is no file: the fused model needs a library beside it, so name a file")
    target = target.resolve() if target.is_symlink() else target  # the library is looked for where the model lies
    library: Path | None = None
    before = set(target.parent.iterdir())
    for source in fused.libraries:
        library = write_library(fused.model, source, target)
    try:
        save(fused.model, target)
    except BaseException:  # Ctrl-C too: a library without its model is of no use
        if library is not None and library not in before:
            library.unlink(missing_ok=True)
        raise
    return library


def _has_external_data(model: ir.Model) -> bool:
    return any(
        isinstance(value.const_value, ir.ExternalTensor)
        for graph in (model.graph, *model.graph.subgraphs())
        for value in graph.initializers.values()
    )


def _gpu(provider: str) -> str:
    """The GPUs of this machine, if PROVIDER may use one."""
    return "" if provider == CPU else driver().detail


def _mended(original: ir.Model) -> Iterator[str]:
    """What reading changed in a model that ONNX Runtime would refuse."""
    if renamed := original.graph.meta.get(RENAMED):
        nodes = "a node had the name" if renamed == 1 else f"{renamed:,} nodes had the names"
        yield f"{nodes} of others, which ONNX Runtime refuses: a number was put behind, also in the output"


def _notes(wanted: str | None, bench: Bench, sets: Inputs, selection: Selection) -> Iterator[str]:
    """What a reader has to know besides the figures."""
    if selection.interrupted:
        yield "the search was interrupted: only what was proven until then is in the output"
    if wanted is not None and wanted != bench.provider:
        yield f"{wanted} was asked for and did not load: everything here ran on {bench.provider}"
    elif wanted is None and bench.provider != CUDA and has_provider(CUDA):
        yield f"{CUDA} did not load here: everything ran on {bench.provider}"
    if bench.elsewhere:
        yield f"{bench.elsewhere} nodes run on another provider than {bench.provider} (shapes, or no kernel there)"
    if sets.assumed:
        sizes = ", ".join(f"{name}={size}" for name, size in sets.assumed.items())
        yield f"sizes assumed for dynamic dimensions: {sizes} (choose others with --dim)"
    yield from arithmetic_notes(bench.reference, "the model")
    fused = None if selection.fused is None else selection.fused.verification
    if fused is not None:
        yield from proof_notes([fused], "the original's", quantizes=bench.reference.quantizes)
    for name in bench.reference.skipped:
        yield f"the original itself does not run on the {name} inputs, so these were left out"
    race = selection.latency
    if race is not None and max(race.ratio.half_width, race.a_a.half_width) > WIDE:
        yield (
            f"the machine was too noisy to resolve 1 % in the time given ({race.rounds} rounds): a quieter machine or"
            " a larger --budget tells more"
        )

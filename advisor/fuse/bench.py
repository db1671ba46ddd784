"""The original model on one provider: what candidates must compute, and what they race against."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from advisor.fuse.arithmetic import Arithmetic, products
from advisor.fuse.model import runnable
from advisor.fuse.quantizers import Quantizers
from advisor.fuse.sensitivity import sensitivity
from advisor.fuse.verify import Reference, Verification, record, verify, verify_runtime
from advisor.measure.inputs import Inputs, InputSet
from advisor.measure.latency import PairedLatency, measure_pair, median_latency
from advisor.measure.session import CPU, Level, NotRunnable, nodes_elsewhere, open_session, provider_of, runner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import onnx_ir as ir
    import onnxruntime as ort  # type: ignore[import-untyped]

    from advisor.fuse.transform import Applied
    from advisor.measure.session import Feed

__all__ = ["Bench", "described", "first_and_last"]


class Bench:
    """Holds sessions of the original open, so that every candidate meets the same ones.

    Attributes:
        provider: The provider that the sessions really have.
        elsewhere: How many nodes another provider runs; None where ONNX Runtime does not tell.
        reference: What the original computes with optimisation off.
        runtime: The original at ORT_ENABLE_ALL against that.
    """

    def __init__(
        self,
        original: ir.Model,
        inputs: Inputs,
        *,
        path: Path,
        provider: str | None = None,
        threads: int | None = None,
        seed: int = 0,
        computes_in: str | None = None,
    ) -> None:
        """Load the original and run it, unoptimised, on every set of inputs.

        Args:
            original: The model; it is only read.
            inputs: The first set is measured with.
            path: What messages call the model.
            provider: Full name of the provider to ask for; None takes CUDA where it loads.
            threads: Threads inside an operator; None leaves it to ONNX Runtime.
            seed: Of the order of races.
            computes_in: Of a part of a model, the coarsest floating-point type of the whole.

        Raises:
            BadInput: ONNX Runtime does not take the model, or not the inputs.
            CannotDecide: The provider lacks a kernel for the model.
        """
        self._threads, self._seed = threads, seed
        try:
            with runnable(original) as source:
                unoptimised = open_session(source, level=Level.OFF, provider=provider, threads=threads, exact=True)
                # What the first session got is asked for from then on: one try of a provider that does not load.
                self.provider = provider_of(unoptimised)
                optimised = self._open(source, Level.ALL, exact=True)
                racing = [self._open(source, Level.ALL) for _ in range(1 if self._is_exact else 2)]
        except NotRunnable as error:
            raise error.ending(path) from None
        if self._is_exact:
            racing.append(optimised)
        numbers = Arithmetic(original)
        whole = {} if computes_in is None else {output.name: computes_in for output in unoptimised.get_outputs()}
        feeding = whole | numbers.of_outputs()
        try:
            self.reference: Reference = record(unoptimised, inputs, arithmetic=feeding, products=products(original))
        except NotRunnable as error:
            raise error.ending(path, described(inputs)) from None
        self.elsewhere = nodes_elsewhere(optimised)
        self.runtime: Verification = verify_runtime(self.reference, optimised)
        self._runs = [runner(session, self.feed) for session in racing]
        self._last: tuple[Applied, ort.InferenceSession] | None = None
        self._precision = numbers.anywhere() or computes_in
        self._quantizers: Quantizers | None = None
        if self.reference.quantizes:
            self._quantizers = Quantizers(original, self._open_off, computes_in=computes_in)
        self._precise = whole | numbers.of_outputs(quantized=False)
        self._last_bits = cache(partial(sensitivity, self.reference, original, self._open_off))

    @property
    def feed(self) -> Feed:
        """The inputs to measure with."""
        return self.reference.sets[0].feed

    def verify(self, candidate: Applied, *, final: bool) -> Verification:
        """Compare a candidate with the original.

        It runs at ORT_ENABLE_ALL, as its users will run it, on a few sets of inputs; in the end on all, and with
        optimisation off as well. Where ONNX Runtime's own optimisation changes what the original computes, it can be
        judged only with optimisation off.

        Where the original quantises, what the candidate computes between the same quantisers is compared first, as in a
        model that does not. Where a candidate quantises otherwise, its outputs have to be equal as those of a model
        that does not quantise, with optimisation off. What last bits alone do to the original's outputs is allowed
        besides, but then not to those that quantisers feed.
        """
        reference = self.reference if final else first_and_last(self.reference)
        between = None
        if self._quantizers is not None:
            open_off = partial(self._open_off, libraries=candidate.libraries)
            between = self._quantizers.verify(candidate.model, open_off, reference.sets)
            if between is not None and not between.passed:
                return between
            if between is None:
                tight = self._verify_tightly(candidate, reference)
                if not tight.passed:
                    return replace(tight, reason=f"its quantisers are not the original's, and {tight.reason}")
        is_proven = between is not None or self._quantizers is None
        levels = [Level.ALL] if self.runtime.passed else []
        if final or not levels:
            levels.append(Level.OFF)
        results = []
        for level in levels:
            try:
                session = self._session(candidate, level, exact=True)
            except NotRunnable as error:
                return Verification(False, 0, reason=f"ONNX Runtime does not load it: {error}")
            runtime = self.runtime if level is Level.ALL else None
            results.append(verify(reference, session, runtime=runtime, last_bits=self._last_bits, is_proven=is_proven))
            if not results[-1].passed:
                return results[-1]
        worst = max(results, key=lambda result: result.max_rel_error or 0.0)
        allowed = max((each.last_bits for each in results if each.last_bits is not None), default=None)
        return replace(worst, between=None if between is None else between.max_rel_error, last_bits=allowed)

    def _verify_tightly(self, candidate: Applied, reference: Reference) -> Verification:
        """Compare a candidate whose quantisers are its own: a step anywhere is more than is allowed."""
        try:
            session = self._session(candidate, Level.OFF, exact=True)
        except NotRunnable as error:
            return Verification(False, 0, reason=f"ONNX Runtime does not load it: {error}")
        return verify(replace(reference, arithmetic=self._precise), session)

    def measure(self, candidate: Applied, *, seconds: float, resolution: float) -> PairedLatency:
        """Race a candidate that was verified against the original, both at ORT_ENABLE_ALL, for about SECONDS."""
        session = self._session(candidate, Level.ALL)
        baseline, control = self._runs
        return measure_pair(
            baseline, control, runner(session, self.feed), seconds=seconds, seed=self._seed, resolution=resolution
        )

    def baseline(self, *, seconds: float) -> float:
        """Median latency of the original alone, ns."""
        return median_latency(self._runs[0], seconds=seconds)

    def part(self, model: ir.Model, feed: Feed, *, name: Path) -> Bench:
        """A bench for a part of the original, with what the part reads.

        Raises:
            BadInput: ONNX Runtime does not run the part.
            CannotDecide: The provider lacks a kernel for it.
        """
        return Bench(
            model,
            Inputs((InputSet("cut out", feed),)),
            path=name,
            provider=self.provider,
            threads=self._threads,
            seed=self._seed,
            computes_in=self._precision,
        )

    def open_unoptimised(self, model: ir.Model, *, profile: Path) -> ort.InferenceSession:
        """A session that runs every node of MODEL as it is, and profiles them.

        Raises:
            NotRunnable: ONNX Runtime does not load it.
        """
        with runnable(model) as source:
            return open_session(
                source, level=Level.OFF, provider=self.provider, threads=self._threads, exact=True, profile=profile
            )

    @property
    def _is_exact(self) -> bool:
        """Whether a session computes in full precision anyway, so that the one that was verified may race."""
        return self.provider == CPU

    def _session(self, candidate: Applied, level: Level, *, exact: bool = False) -> ort.InferenceSession:
        """A session of CANDIDATE; the last one at ORT_ENABLE_ALL is kept, since it is verified and then raced."""
        is_kept = level is Level.ALL and (self._is_exact or not exact)
        if is_kept and self._last is not None and self._last[0] is candidate:
            return self._last[1]
        if is_kept:
            self._last = None  # before another one takes as much memory
        with runnable(candidate.model) as source:
            session = self._open(source, level, exact=exact, libraries=candidate.libraries)
        if is_kept:
            self._last = (candidate, session)
        return session

    def _open_off(self, model: ir.Model, *, libraries: Sequence[Path] = ()) -> ort.InferenceSession:
        with runnable(model) as source:
            return self._open(source, Level.OFF, exact=True, libraries=libraries)

    def _open(
        self, source: bytes | Path, level: Level, *, exact: bool = False, libraries: Sequence[Path] = ()
    ) -> ort.InferenceSession:
        session = open_session(
            source, level=level, provider=self.provider, threads=self._threads, exact=exact, libraries=libraries
        )
        if provider_of(session) != self.provider:
            raise NotRunnable(RuntimeError(f"it does not load on {self.provider}"), unsupported=True)
        return session


def first_and_last(reference: Reference) -> Reference:
    """The ordinary inputs, and the last set, whose shapes or values are of another kind."""
    if len(reference.sets) <= 2:
        return reference
    return replace(
        reference,
        sets=(reference.sets[0], reference.sets[-1]),
        outputs=(reference.outputs[0], reference.outputs[-1]),
    )


def described(inputs: Inputs) -> str:
    """What was tried, and what to give instead."""
    shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in inputs.sets[0].feed.items())
    if inputs.sets[0].name == "given":
        return f"the inputs given ({shapes})"
    assumed = ", ".join(f"{name}={size}" for name, size in inputs.assumed.items())
    sizes = f"; {assumed} was assumed: give real sizes with --dim NAME=N" if assumed else ""
    return f"the inputs made for it ({shapes}{sizes}; or give inputs with --inputs)"

"""The gain by batch size: original against fused model at each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from advisor.errors import AdvisorError, BadInput
from advisor.fuse.bench import Bench
from advisor.measure.inputs import Inputs, generate_inputs
from advisor.measure.session import NotRunnable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import onnx_ir as ir

    from advisor.fuse.transform import Applied
    from advisor.measure.latency import PairedLatency
    from advisor.measure.session import Feed

__all__ = ["BATCH_SHARE", "BatchLatency", "measure_batches"]

BATCH_SHARE = 0.4
"""Of the budget, where sizes of the batch are asked for; the choice of fusions keeps the rest."""
RESOLUTION = 0.01


@dataclass(frozen=True)
class BatchLatency:
    """Original and fused model at one size of the batch.

    Attributes:
        batch: The size.
        latency: Their race; None where there was none.
        reason: Why there was none, for people.
        is_wrong: The fused model does not compute there what the original computes.
    """

    batch: int
    latency: PairedLatency | None
    reason: str = ""
    is_wrong: bool = False

    def to_dict(self) -> dict[str, Any]:
        """One entry of `batches` in advisor.fusion/1."""
        race = self.latency
        if race is None:
            figures: dict[str, Any] = dict.fromkeys(("ratio", "low", "high", "verdict", "a_a"))
        else:
            figures = {**race.ratio.to_dict(), "verdict": race.verdict.value, "a_a": race.a_a.to_dict()}
        return {
            "batch": self.batch,
            **figures,
            "baseline_ns": None if race is None else round(race.baseline_ns),
            "latency_ns": None if race is None else round(race.candidate_ns),
            "wrong": self.is_wrong,
            "reason": self.reason,
        }


def measure_batches(
    original: ir.Model,
    fused: Applied,
    sizes: Sequence[int],
    *,
    path: Path,
    provider: str,
    dims: Mapping[str, int] | None = None,
    threads: int | None = None,
    seed: int = 0,
    seconds: float,
    measured: tuple[Feed, PairedLatency] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[BatchLatency, ...]:
    """Prove FUSED equal on one set of inputs of each size, then race it there against the original.

    Args:
        original: The model; it is only read.
        fused: The fused model, with the libraries that it needs.
        sizes: Sizes of the batch.
        path: What messages call the model.
        provider: Full name of the provider that has to run both.
        dims: Sizes of dynamic dimensions; one that is the batch gives way.
        threads: Threads inside an operator; None leaves it to ONNX Runtime.
        seed: Of values, orders and resampling.
        seconds: For all races together.
        measured: Inputs that both were raced on before, and that race: it is not run again at their size.
        progress: Called with a few words at every size.

    Returns:
        One entry for each size, in ascending order.
    """
    batch_dims = generate_inputs(original, dims=dims, seed=seed).batch
    others = {name: size for name, size in (dims or {}).items() if name not in batch_dims}
    ordered = sorted(set(sizes))

    def at(size: int) -> BatchLatency:
        try:
            inputs = generate_inputs(original, dims=others, batch=size, seed=seed)
        except BadInput as error:
            return BatchLatency(size, None, str(error) if batch_dims else "the model's batch is fixed")
        ordinary = inputs.sets[0]
        if measured is not None and _shapes(measured[0]) == _shapes(ordinary.feed):
            return BatchLatency(size, measured[1])
        progress(f"measuring at a batch of {size}")
        try:
            bench = Bench(original, Inputs((ordinary,)), path=path, provider=provider, threads=threads, seed=seed)
            if bench.provider != provider:
                return BatchLatency(size, None, f"it does not load on {provider}")
            proof = bench.verify(fused, final=True)
            if not proof.passed:
                return BatchLatency(size, None, f"the fused model is wrong there: {proof.reason}", is_wrong=True)
            race = bench.measure(fused, seconds=seconds / len(ordered), resolution=RESOLUTION)
        except (AdvisorError, NotRunnable) as error:
            # What a model was exported for may be in its nodes, where its inputs do not tell.
            return BatchLatency(size, None, str(error))
        return BatchLatency(size, race)

    return tuple(at(size) for size in ordered)


def _shapes(feed: Feed) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in feed.items()}

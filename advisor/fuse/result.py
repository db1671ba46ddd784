"""What `advisor fuse` found out: the fused model, its proof, its latency, and what became of every fusion."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from advisor.measure.statistics import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from advisor.fuse.batches import BatchLatency
    from advisor.fuse.gaps import Gaps
    from advisor.fuse.kernels.traffic import Traffic
    from advisor.fuse.model import ModelFile
    from advisor.fuse.predictions import Predicted, Predictions
    from advisor.fuse.verify import Verification
    from advisor.measure.latency import PairedLatency
    from advisor.measure.statistics import Interval

__all__ = ["Fusion", "FusionReport", "GeneratedKernels", "Settings", "Status", "count_sites"]

SCHEMA = "advisor.fusion/1"
NO_INTERVAL = {"ratio": None, "low": None, "high": None}


class Status(StrEnum):
    """What became of a fusion."""

    KEPT = "kept"
    NOT_FASTER = "not_faster"
    WRONG = "wrong"
    ILLEGAL = "illegal"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class Settings:
    """What a run was asked for.

    Attributes:
        provider: Full name of the execution provider that was asked for; None where the choice was free.
        threads: Threads inside an operator; None leaves it to ONNX Runtime.
        shapes: Shape of every input that was measured with.
        assumed: Sizes of dynamic dimensions that nobody gave.
        inputs: The file with inputs; None where they were generated.
        budget_s: Seconds for measuring.
        seed: Of input values, orders and resampling.
    """

    provider: str | None
    threads: int | None
    shapes: dict[str, tuple[int, ...]]
    assumed: dict[str, int]
    inputs: Path | None
    budget_s: float
    seed: int


@dataclass(frozen=True)
class Fusion:
    """One rule, and all its sites that ended alike.

    Attributes:
        rule: The rule's id.
        family: The rule's family.
        places: Names of the nodes that each of its places in the model replaces; several spellings of one place, too.
        status: What became of them.
        reason: Why, for people; empty when kept.
        ratio: Latency of the whole model with these alone ÷ the original's; None where it was not measured.
        screened: The same of a part of the model, cut around one of the places; None where none was measured.
        max_abs_error: Largest difference of any output, of the model or the part, with these alone; None where it was
            not compared.
        predicted: What a trace says that it saves; None where none was given, or it does not tell.
    """

    rule: str
    family: str
    places: tuple[tuple[str, ...], ...]
    status: Status
    reason: str = ""
    ratio: Interval | None = None
    screened: Interval | None = None
    max_abs_error: float | None = None
    predicted: Predicted | None = None

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes of all places."""
        return tuple(dict.fromkeys(name for nodes in self.places for name in nodes))

    @property
    def sites(self) -> int:
        """How many places in the model."""
        return count_sites((self,))

    def to_dict(self) -> dict[str, Any]:
        """One entry of `fusions` in advisor.fusion/1."""
        return {
            "rule": self.rule,
            "family": self.family,
            "nodes": list(self.nodes),
            "sites": self.sites,
            "status": self.status.value,
            "reason": self.reason,
            **_interval(self.ratio),
            "screened": None if self.screened is None else self.screened.to_dict(),
            "max_abs_error": self.max_abs_error,
            "predicted_saving_ns": None if self.predicted is None else list(self.predicted.saving_ns),
            "predicted_from": None if self.predicted is None else self.predicted.source,
        }


def count_sites(fusions: Iterable[Fusion]) -> int:
    """How many places FUSIONS have: those of one rule with a node in common are one, of which only one can be fused."""
    taken: dict[str, set[str]] = {}
    count = 0
    for fusion in fusions:
        covered = taken.setdefault(fusion.rule, set())
        for nodes in fusion.places:
            if covered.isdisjoint(nodes):
                covered.update(nodes)
                count += 1
    return count


@dataclass(frozen=True)
class GeneratedKernels:
    """The generated kernels of a fused model, together.

    Attributes:
        kernels: How many nodes are generated kernels.
        traffic: What they save in a run: tensors read and written for each element, bytes, launches.
        library_bytes: Size of the library that holds them, for every level of CPUs.
        compile_s: How long it took to compile, s.
    """

    kernels: int
    traffic: Traffic
    library_bytes: int
    compile_s: float

    def to_dict(self) -> dict[str, Any]:
        """The key `generated` of advisor.fusion/1."""
        return {
            "kernels": self.kernels,
            **self.traffic.to_dict(),
            "library_bytes": self.library_bytes,
            "compile_s": self.compile_s,
        }


@dataclass(frozen=True)
class FusionReport:
    """The result of `fuse`.

    Attributes:
        model: The original.
        fused: The output: the fused model, or the original where no fusion is kept.
        changed: The output is a fused model.
        provider: Provider that the sessions really had.
        onnxruntime: ONNX Runtime's version.
        baseline_ns: Median latency of the original at ORT_ENABLE_ALL, ns.
        measured: Original against the fused model, or against the last fused model that was turned down; None where
            none was measured.
        verification: The output against the original with optimisation off.
        runtime: The original at ORT_ENABLE_ALL against itself with optimisation off.
        fusions: Every rule that found a place, by status.
        settings: What was asked for.
        notes: What a reader has to know besides, one sentence each.
        trace: What a trace says about the model; None where none was given.
        batches: Original against fused model by size of the batch; empty where no sizes were asked for.
        gaps: How much of a run lies between nodes or kernels; None where it was not recorded.
        generated: The generated kernels in the output; None where there are none.
    """

    model: ModelFile
    fused: ModelFile
    changed: bool
    provider: str
    onnxruntime: str
    baseline_ns: float
    measured: PairedLatency | None
    verification: Verification
    runtime: Verification
    fusions: tuple[Fusion, ...]
    settings: Settings
    notes: tuple[str, ...] = field(default=())
    trace: Predictions | None = None
    batches: tuple[BatchLatency, ...] = ()
    gaps: Gaps | None = None
    generated: GeneratedKernels | None = None

    @property
    def gain_ends_at(self) -> int | None:
        """The smallest batch that was measured and at which no gain is shown; None where there is none."""
        ends = [each.batch for each in self.batches if each.latency is not None and each.latency.ratio.high >= 1]
        return min(ends, default=None)

    @property
    def verdict(self) -> Verdict:
        """What may be said about the output's latency: an output that is the original is never faster."""
        return self.measured.verdict if self.changed and self.measured else Verdict.UNCHANGED

    @property
    def kept(self) -> tuple[Fusion, ...]:
        """The fusions in the output."""
        return tuple(fusion for fusion in self.fusions if fusion.status is Status.KEPT)

    def to_dict(self) -> dict[str, Any]:
        """The document `advisor.fusion/1`, see `advisor schema fusion`."""
        measured = self.measured
        ratio = measured.ratio if self.changed and measured else None
        turned_down = measured if measured and not self.changed else None
        return {
            "schema": SCHEMA,
            "model": {"path": str(self.model.path), "nodes": self.model.nodes, "opset": self.model.opset},
            "provider": self.provider,
            "onnxruntime": self.onnxruntime,
            "fused": {
                "path": None if self.fused.path is None else str(self.fused.path),
                "nodes": self.fused.nodes,
                "library": None if self.fused.library is None else str(self.fused.library),
                "changed": self.changed,
            },
            "baseline": {"latency_ns": round(self.baseline_ns), "level": "ORT_ENABLE_ALL"},
            "result": {
                **_interval(ratio),
                "verdict": self.verdict.value,
                "a_a": _interval(measured.a_a if measured else None),
                "latency_ns": round(measured.candidate_ns if self.changed and measured else self.baseline_ns),
                "rounds": measured.rounds if measured else 0,
                "runs_per_round": measured.runs if measured else 0,
            },
            "turned_down": None
            if turned_down is None
            else {**_interval(turned_down.ratio), "verdict": turned_down.verdict.value},
            "verification": self.verification.to_dict(),
            "runtime": self.runtime.to_dict(),
            "fusions": [fusion.to_dict() for fusion in self.fusions],
            "trace": None if self.trace is None else self.trace.to_dict(),
            "generated": None if self.generated is None else self.generated.to_dict(),
            "batches": [each.to_dict() for each in self.batches],
            "gain_ends_at": self.gain_ends_at,
            "gaps": None if self.gaps is None else self.gaps.to_dict(),
            "settings": {
                "provider": self.settings.provider,
                "threads": self.settings.threads,
                "shapes": {name: list(shape) for name, shape in self.settings.shapes.items()},
                "assumed": self.settings.assumed,
                "inputs": None if self.settings.inputs is None else str(self.settings.inputs),
                "budget_s": self.settings.budget_s,
                "seed": self.settings.seed,
            },
            "notes": list(self.notes),
        }


def _interval(interval: Interval | None) -> dict[str, float | None]:
    return dict(NO_INTERVAL) if interval is None else dict(interval.to_dict())

"""How much of a run lies between the works of the device, before and after fusing; as `advisor profile` measures it."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.errors import CannotDecide
from advisor.fuse.model import count_nodes, save
from advisor.measure.profile import ON_GPU, Subject, missing_tools, recorded_run
from advisor.measure.session import Level

if TYPE_CHECKING:
    import onnx_ir as ir

    from advisor.fuse.transform import Applied
    from advisor.measure.inputs import Inputs

__all__ = ["GapFigures", "Gaps", "measure_gaps"]

SECONDS = 0.5
"""Of runs to record, each of the two models."""
FEWEST_RUNS, MOST_RUNS = 5, 50
MOST_EVENTS = 50_000
"""Nodes that run, all runs together: to read as many takes about a second."""


@dataclass(frozen=True, slots=True)
class GapFigures:
    """Medians over the recorded runs of one model. The profiler's own time is in them.

    Attributes:
        ratio: Gap ratio, as in `advisor analyze`: fusible gaps ÷ (fusible gaps + busy time); None where the recording
            does not tell, or ONNX Runtime's profiler hides them.
        gap_ns: Fusible gaps of a run, ns.
        busy_ns: Time inside nodes or kernels, ns.
        works: Nodes that ran, or kernels.
    """

    ratio: float | None
    gap_ns: int
    busy_ns: int
    works: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """Both models.

    Attributes:
        recorder: `nsys`, which sees gaps between kernels, or `onnxruntime`, whose profiler sees those between the nodes
            of the provider; None where nothing was recorded.
        before: The original.
        after: The fused model; None where there is none.
        reason: Why nothing was recorded, for people.
    """

    recorder: str | None
    before: GapFigures | None
    after: GapFigures | None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """`gaps` of advisor.fusion/1."""
        return {
            "recorder": self.recorder,
            "before": None if self.before is None else asdict(self.before),
            "after": None if self.after is None else asdict(self.after),
            "reason": self.reason,
        }


def measure_gaps(
    original: ir.Model,
    fused: Applied | None,
    inputs: Inputs,
    *,
    path: Path,
    provider: str,
    threads: int | None,
    latency_ns: float,
    fused_ns: float | None = None,
) -> Gaps:
    """Record some runs of the original and of the fused model.

    Args:
        original: The model.
        fused: The fused model, with the libraries that it needs; None where there is none.
        inputs: The first set is run.
        path: The original's file.
        provider: Full name of the provider that runs both.
        threads: Threads inside an operator; None leaves it to ONNX Runtime.
        latency_ns: Of the original: decides how many runs are recorded.
        fused_ns: Latency of the fused model; that of the original where it was not measured.
    """
    missing = missing_tools(provider, provider) if provider in ON_GPU else ()
    if missing:
        return Gaps(None, None, None, f"{missing[0].subject}: {missing[0].detail}")
    most = min(MOST_RUNS, MOST_EVENTS // max(count_nodes(original), 1))
    runs = int(max(min(SECONDS * 1e9 / latency_ns, most), FEWEST_RUNS))
    try:
        recorder, before = _figures(Subject(path, original, inputs, Level.ALL, threads), provider, runs, latency_ns)
        if fused is None:
            return Gaps(recorder, before, None)
        with tempfile.TemporaryDirectory(prefix="advisor-") as folder:
            file = Path(folder) / "fused.onnx"
            if provider in ON_GPU:  # another process runs it
                save(fused.model, file)
            subject = Subject(file, fused.model, inputs, Level.ALL, threads, tuple(fused.libraries))
            return Gaps(recorder, before, _figures(subject, provider, runs, fused_ns or latency_ns)[1])
    except CannotDecide as error:
        return Gaps(None, None, None, str(error))


def _figures(subject: Subject, provider: str, runs: int, latency_ns: float) -> tuple[str, GapFigures]:
    recorder, analysis = subject.recorded(provider, runs)
    run = recorded_run(recorder, analysis, latency_ns)
    return recorder, GapFigures(run.gap_ratio, run.fusible_gap_ns, run.busy_ns, run.kernels_per_instance)

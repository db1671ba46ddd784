"""Fusion reports made by hand: what the program writes about them has not to be measured first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from advisor.fuse.batches import BatchLatency
from advisor.fuse.gaps import GapFigures, Gaps
from advisor.fuse.model import ModelFile
from advisor.fuse.result import Fusion, FusionReport, Settings, Status
from advisor.fuse.verify import Verification
from advisor.measure.latency import PairedLatency
from advisor.measure.statistics import Interval, judge

A_A = Interval(1.001, 0.996, 1.004)


def race(ratio: float, low: float, high: float, a_a: Interval = A_A) -> PairedLatency:
    interval = Interval(ratio, low, high)
    return PairedLatency(8.9e6, 8.9e6 * ratio, interval, a_a, judge(interval, a_a), rounds=240, runs=1)


def spots(name: str, count: int = 1) -> tuple[tuple[str, ...], ...]:
    """COUNT places of one node each, the first called NAME."""
    return tuple((f"{name}/{n}" if n else name,) for n in range(count))


def report(name: str = "x", **changes: Any) -> FusionReport:
    """A fused model that is faster; NAME is that of an input, an output and nodes."""
    why = "the intermediate value '{0}' is also used by Mul '{0}'"
    fusions = (
        Fusion("hard-swish", "element-wise", spots(name, 12), Status.KEPT, ratio=Interval(0.86, 0.85, 0.87)),
        Fusion("hard-sigmoid", "element-wise", spots(f"{name} 2"), Status.KEPT, max_abs_error=3e-8),
        Fusion("rms-norm", "reduction", spots("c", 2), Status.WRONG, "output 'y' is off by 0.1", max_abs_error=0.1),
        *(Fusion("gelu", "element-wise", spots(f"gelu{n}"), Status.ILLEGAL, why.format(n)) for n in range(9)),
        Fusion("gelu", "element-wise", spots("d", 3), Status.UNSUPPORTED, f"no kernel for {name}"),
    )
    made = FusionReport(
        model=ModelFile(Path(f"{name}.onnx"), 234, 17),
        fused=ModelFile(Path("fused.onnx"), 131, 17),
        changed=True,
        provider="CPUExecutionProvider",
        onnxruntime="1.20.1",
        baseline_ns=8.9e6,
        measured=race(0.846, 0.837, 0.852),
        verification=Verification(True, 6, 2e-6, 1e-6, name, errors={("ordinary", name): 1e-6, ("zeros", name): 2e-7}),
        runtime=Verification(True, 6),
        fusions=fusions,
        settings=Settings(None, 2, {name: (1, 3, 224, 224)}, {}, None, 30.0, 0),
        notes=(f"sizes assumed for dynamic dimensions: {name}=1",),
        batches=(
            BatchLatency(1, race(0.846, 0.837, 0.852)),
            BatchLatency(2, race(0.90, 0.89, 0.915)),
            BatchLatency(4, race(0.985, 0.96, 1.01)),
            BatchLatency(8, race(1.08, 1.06, 1.1)),
            BatchLatency(16, None, f"the model does not take {name}"),
        ),
        gaps=Gaps(
            "onnxruntime", GapFigures(0.083, 901_000, 9_677_500, 234), GapFigures(0.059, 515_500, 8_166_000, 131)
        ),
    )
    return replace(made, **changes)

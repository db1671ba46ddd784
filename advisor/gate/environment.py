"""What must agree for a comparison, and whether the traces show enough for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from advisor.gate.policy import Thresholds
    from advisor.gate.runs import Recording

__all__ = ["environment_differences", "unreliable"]


def environment_differences(
    before: Sequence[Recording], after: Sequence[Recording]
) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Differences of the environment, and those that forbid a comparison."""
    differences, reasons = [], []
    for words, fact in FACTS.items():
        old, new = (", ".join(sorted({fact(run) for run in runs} - {""})) for runs in (before, after))
        if old == new:
            continue
        differences.append((words, old or "unknown", new or "unknown"))
        # What one side does not tell cannot be held against the other.
        if words != VERSION and old and new:
            reasons.append(f"not comparable: another {words} ({old} in the baseline, {new} now)")
        elif words == MODEL and new:
            # Whoever gives the model asks that it be the same.
            reasons.append("not comparable: the baseline does not tell which model ran: record it with --model as well")
    for key in sorted({key for run in (*before, *after) for key in run.labels}):
        old, new = (", ".join(sorted({run.labels.get(key, "unknown") for run in runs})) for runs in (before, after))
        if old != new:
            differences.append((key, old, new))
    return differences, reasons


def _format(run: Recording) -> str:
    # A report of Nsight Systems is read through its SQLite export: one recording, whichever of the two is given.
    return "nsys" if run.kind in ("nsys-rep", "nsys-sqlite") else run.kind


MODEL = "model"
VERSION = "version of the profiler or runtime"
FACTS: Mapping[str, Callable[[Recording], str]] = {
    "GPU": lambda run: ", ".join(run.gpus),
    "format": _format,
    MODEL: lambda run: run.model_sha256 or "",
    VERSION: lambda run: run.tool_version or "",
}
"""What a run says of where it ran, empty where it does not. Only the version may differ."""


def unreliable(run: Recording, thresholds: Thresholds) -> list[str]:
    """Why a run's trace does not show enough."""
    reasons = []
    if run.fusion is None and not run.work:
        reasons.append(f"{run.name}: no GPU work")
    elif run.matched < thresholds.min_coverage * run.work:
        share = run.matched / run.work
        reasons.append(f"{run.name}: only {share:.0%} of the GPU work has its launch call in the trace: low coverage")
    if run.kernels_missing > (1 - thresholds.min_coverage) * run.kernel_launches:
        missing = f"{run.kernels_missing:,} of {run.kernel_launches:,}"
        reasons.append(f"{run.name}: {missing} kernels that were launched are not in the trace: low coverage")
    if run.diagnostics:
        reasons.append(f"{run.name}: the profiler lost events: {run.diagnostics[0]}")
    return reasons

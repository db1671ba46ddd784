"""Writes the committed samples and the README that says what each shows: `python -m sample_traces.write_samples`."""

from __future__ import annotations

import sys
from pathlib import Path

from sample_traces.nsys_export import write
from sample_traces.programs import SAMPLES
from sample_traces.truth import CAUSES, Truth, explain

__all__ = ["GENERATION", "main", "readme", "write_samples"]

GENERATION = "3.24"

_SHOWS = {
    "launch_bound_decode": (
        "Transformer decode at batch 1 as ONNX Runtime runs it without fusion: 31 kernels per layer of a few "
        "microseconds each, every one launched by itself. NVTX ranges `decode_token` and `layer_N`. The GPU waits for "
        "launches: fusion, or a CUDA graph, is what helps."
    ),
    "gpu_bound_cnn": (
        "A residual network at batch 64: kernels of 10 to 300 µs, launched far ahead, so that the queue is never empty "
        "after the first image (whose kernels are loaded at their first launch). NVTX range `infer`. Fusing to save "
        "launches would gain next to nothing."
    ),
    "sync_bound_loop": (
        "Four kernels, then a value is read back with a blocking synchronisation, four times in each of 40 steps. NVTX "
        "range `step`. The GPU mostly waits inside the synchronising call, for the host to wake up: fusion does not "
        "help much, reading back less often does."
    ),
    "cuda_graph_replay": (
        "A decode step captured once as a CUDA graph (24 kernels and 3 memsets on two streams) and replayed 40 times, "
        "recorded node by node; no NVTX. The 27 calls made while capturing put nothing on the GPU. There is no launch "
        "left to save between the nodes, only the device's own steps from node to node."
    ),
}


def readme(truths: dict[str, Truth]) -> str:
    """The README's text, with the TRUTHS of the samples."""
    lines = [
        "# Sample traces",
        "",
        "Small traces in the schema of Nsight Systems' SQLite exports, for trying `advisor analyze` and for tests. "
        "They were not captured: a discrete-event simulator of a CUDA program (`simulator.py`) made them, and so "
        "the truth about every idle nanosecond is known. `python -m sample_traces.write_samples` writes them, "
        "and this file, anew.",
        "",
    ]
    for name, truth in truths.items():
        lines += [f"## {name}.sqlite", "", _SHOWS[name], "", *_table(truth), ""]
    lines += [
        "Times are milliseconds; the shares are of the device's span. What each cause means is what `advisor analyze` "
        "says it means; `truth.py` tells the same from what was simulated.",
        "",
    ]
    return "\n".join(lines)


def _table(truth: Truth) -> list[str]:
    rows = [("span", truth.span_ns), ("busy", truth.busy_ns), ("idle", truth.exposed_gap_ns)]
    rows += [(f"idle: {cause}", truth.causes[cause]) for cause in CAUSES if truth.causes[cause]]
    head = f"{truth.coverage.kernels} kernels in {truth.coverage.launch_calls} launch calls."
    return [
        head,
        "",
        "| | ms | share |",
        "| --- | ---: | ---: |",
        *(f"| {name} | {ns / 1e6:.3f} | {ns / truth.span_ns:.1%} |" for name, ns in rows),
    ]


def write_samples(folder: Path) -> None:
    """Write every sample, and the README, into FOLDER."""
    truths = {}
    for name, simulated in SAMPLES.items():
        run = simulated()
        write(run, folder / f"{name}.sqlite", GENERATION)
        truths[name] = explain(run)
    (folder / "README.md").write_text(readme(truths), encoding="utf-8")


def main() -> int:
    """Write the samples beside this script."""
    write_samples(Path(__file__).resolve().parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())

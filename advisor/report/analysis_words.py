"""What every report of an analysis says, in the same words: the verdict, what it is worth, and what to know besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import FUSIBLE, Cause
from advisor.trace.verdicts import CANNOT_DECIDE, GPU_BOUND
from advisor.words import duration, percent, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.analysis import Analysis
    from advisor.trace.figures import GraphFigures

__all__ = [
    "CAUSE_WORDS",
    "HEADLINES",
    "device_word",
    "headline",
    "notes",
    "subject",
    "verdict_words",
    "whole_trace",
    "worth",
]

HEADLINES = {
    GPU_BOUND: "GPU-bound: the GPU has enough to do, and fusing to save launches would gain little.",
    CANNOT_DECIDE: "undecided: the trace does not show enough to tell why the GPU waits.",
    "launch-bound": "launch-bound: the GPU waits while kernels are being launched.",
    "dispatch-bound": "dispatch-bound: the GPU waits for the framework between its launches.",
    "turnaround-bound": "turnaround-bound: many small kernels, and the step from one to the next costs most.",
    "graph-bound": "graph-bound: the GPU waits between the nodes inside CUDA graphs.",
    "sync-bound": "sync-bound: the GPU waits because the host waits for it (synchronisation, blocking copies).",
    "host-bound": "host-bound: the GPU waits for the program's own code.",
    "allocation-bound": "allocation-bound: the GPU waits for memory calls (malloc, free, registration).",
    "loading-bound": "loading-bound: the GPU waits for kernels to be loaded, which is warm-up.",
    "api-bound": "API-bound: the GPU waits for CUDA calls that launch nothing.",
    "wait-bound": "wait-bound: work was handed over and still waited (events, other contexts, clocks).",
    "profiler-bound": "profiler-bound: the GPU waits for the profiler itself. Record less.",
}

CAUSE_WORDS = {
    Cause.UNKNOWN: "no launch call recorded",
    Cause.GRAPH: "between the nodes of a CUDA graph",
    Cause.MODULE: "loading kernels (warm-up)",
    Cause.LAUNCH: "launch calls and their latency",
    Cause.TURNAROUND: "from one queued kernel to the next",
    Cause.WAIT: "handed over, but not started",
    Cause.PROFILER: "the profiler's own overhead",
    Cause.SYNC: "the host waits for the GPU",
    Cause.MEMORY: "malloc, free, register",
    Cause.API: "other CUDA calls",
    Cause.DISPATCH: "the framework between launches",
    Cause.HOST: "the program's own code",
}


def device_word(analysis: Analysis) -> str:
    """What waits: `GPU`, or `CPU` where the works are the nodes of a model that ran there."""
    return "GPU" if all(device.gpu for device in analysis.trace.devices) else "CPU"


def headline(analysis: Analysis) -> str:
    """The verdict on the graph that the report is about, in a sentence."""
    return f"{subject(analysis)} is {verdict_words(analysis)}"


def subject(analysis: Analysis) -> str:
    """What the verdict is on: a graph's name, or this trace."""
    graph = analysis.graph_figures[0]
    return "This trace" if graph.source == "trace" else plain(graph.name)


def verdict_words(analysis: Analysis) -> str:
    """The verdict and what it means."""
    return HEADLINES[analysis.graph_figures[0].verdict].replace("GPU", device_word(analysis))


def worth(analysis: Analysis) -> str:
    """Its gap ratio, and whether removing launches is worth it beside what else the GPU waits for."""
    graph = analysis.graph_figures[0]
    return " ".join([_gap_ratio(analysis, graph), _worth(analysis, graph)]).strip()


def _gap_ratio(analysis: Analysis, graph: GraphFigures) -> str:
    if graph.gap_ratio is None or graph.fusible_share is None:
        return (
            "The gap ratio is not told: works without a launch call, or CUDA graphs recorded as a whole, hide why the "
            "GPU waited. The notes below say more."
        )
    return (
        f"Gap ratio {percent(graph.gap_ratio)}, {'over' if graph.flagged else 'not over'} the threshold of "
        f"{percent(analysis.threshold)}. Fusion could save at most {percent(graph.fusible_share)} of its time."
    )


def _worth(analysis: Analysis, graph: GraphFigures) -> str:
    """Whether the saving is worth it beside what else the GPU waits for."""
    totals = analysis.totals
    largest = max(totals.causes, key=lambda cause: totals.causes[cause])
    if graph.flagged and largest not in FUSIBLE and totals.causes[largest] > totals.fusible_gap_ns:
        share, device = percent(totals.causes[largest] / totals.span_ns), device_word(analysis)
        return (
            f"But over the whole trace the {device} waits longest for `{largest.key}`, {share} of the time, which "
            "fusion does not remove: look there first."
        )
    if not graph.flagged:
        return ""
    capture = graph.verdict != "graph-bound" and device_word(analysis) == "GPU"
    return "Fusion, or CUDA graph capture, pays here." if capture else "Fusion pays here."


def whole_trace(analysis: Analysis) -> str:
    """What was recorded, and how long the devices were busy and idle."""
    totals, device = analysis.totals, device_word(analysis)
    shares = (
        f"Of {duration(totals.span_ns)} the {device} was busy for {duration(totals.busy_ns)} and idle for "
        f"{duration(totals.exposed_gap_ns)} ({percent(totals.exposed_gap_ns / totals.span_ns)})."
    )
    if device == "CPU":
        return f"{totals.kernels:,} nodes ran on the CPU. {shares}"
    devices = [figures.device for figures in analysis.device_figures]
    names = sorted({plain(device.name) for device in devices if device.name})
    where = f"{len(devices)} GPU{'s' if len(devices) > 1 else ''}" + (f" ({', '.join(names)})" if names else "")
    return f"{totals.kernels:,} kernels, {totals.launch_calls:,} launch calls on {where}. {shares}"


def notes(analysis: Analysis) -> Iterator[str]:
    """What the trace does not show, or shows only in part."""
    coverage = analysis.coverage
    if analysis.graph_figures[0].source == "iteration":
        yield (
            "the trace marks no executions; iterations were found from the repeating kernel sequence, and "
            f"{percent(analysis.graph_figures[0].certainty)} of the kernels lie in repetitions of it"
        )
    if coverage.orphans:
        share = percent(coverage.orphans / coverage.work)
        yield (
            f"{coverage.orphans:,} of {coverage.work:,} works ({share}) have no launch call: the cause of their gaps is"
            " unknown (a trimmed capture, or unified-memory migrations)"
        )
    if coverage.graph_level:
        yield (
            f"{coverage.graph_level:,} CUDA graph launches are recorded as a whole: gaps inside them are invisible;"
            " record with --cuda-graph-trace=node"
        )
    if coverage.launches_without_work:
        yield f"{coverage.launches_without_work:,} launch calls have no work in the trace (cut off, or not executed)"
    if coverage.skewed:
        yield f"{coverage.skewed:,} works start before their launch call: the clocks of host and GPU differ"
    if coverage.zero_time:
        yield f"{coverage.zero_time:,} GPU records have a start or an end of 0"
    if coverage.unclosed_ranges:
        yield f"{coverage.unclosed_ranges:,} NVTX ranges have no end and are left out"
    if coverage.outside_graphs:
        yield f"{coverage.outside_graphs:,} of {coverage.work:,} works lie outside of the graphs above"
    if not coverage.physical_devices and len(analysis.device_figures) > 1:
        yield "the trace does not name the physical GPUs: each CUDA device of each process counts as one"
    yield from (plain(text) for text in coverage.diagnostics[:5])
    if len(coverage.diagnostics) > 5:
        yield f"{len(coverage.diagnostics) - 5} more messages of the profiler: see `coverage.diagnostics` in the JSON"

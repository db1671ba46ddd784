"""What every report of an analysis says, in the same words: the verdict, what it is worth, and what to know besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import FUSIBLE, Cause
from advisor.trace.findings.finding import MEDIUM_SHARE
from advisor.trace.findings.remedies import WORTH_SHARE
from advisor.trace.graphs import LEAST_TIME
from advisor.trace.verdicts import CANNOT_DECIDE, GPU_BOUND, MOST_IDLE
from advisor.words import counted, duration, percent, plain, titled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.analysis import Analysis
    from advisor.trace.figures import GraphFigures

__all__ = [
    "CAUSE_WORDS",
    "HEADLINES",
    "LONGEST_TITLE",
    "device_word",
    "graph_names",
    "headline",
    "idle_title",
    "longest_gaps",
    "most_share",
    "notes",
    "overhead_words",
    "subject",
    "unit",
    "verdict_words",
    "whole_trace",
    "worth",
]

LONGEST_TITLE = "The longest idle intervals, with the options that show each"

SETUP_TOLD = 0.1
"""From this share of the idle time on it is said how much is set-up."""

WIDE = 0.25
"""Gap ratios of one graph's runs, from the 5th to the 95th percentile, lie this far apart where that is said."""

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


def unit(analysis: Analysis) -> str:
    """What a device works on: kernels, or nodes of a model that ran on the CPU."""
    return "kernel" if device_word(analysis) == "GPU" else "node"


def headline(analysis: Analysis) -> str:
    """The verdict on the graph that the report is about, in a sentence."""
    return f"{subject(analysis)} is {verdict_words(analysis)}"


def subject(analysis: Analysis) -> str:
    """What the verdict is on: a graph's name, or this trace."""
    graph = analysis.graph_figures[0]
    return "This trace" if graph.source == "trace" else titled(graph.name)


def graph_names(analysis: Analysis) -> list[str]:
    """How each graph is called in a table: those of one name and other kernel sequences have numbers."""
    return [
        f"{titled(graph.name)} (sequence {graph.variant + 1})" if graph.variant else titled(graph.name)
        for graph in analysis.graph_figures
    ]


def verdict_words(analysis: Analysis) -> str:
    """The verdict and what it means."""
    graph = analysis.graph_figures[0]
    words = HEADLINES[graph.verdict]
    share = most_share(graph) or 0
    if graph.verdict == GPU_BOUND and share >= MEDIUM_SHARE:
        words = f"GPU-bound: the GPU has enough to do, though its launches cost up to {percent(share)} of the time."
    # To most readers CPU-bound means that the host holds up a GPU.
    words = words if device_word(analysis) == "GPU" else words.replace("GPU-bound", "compute-bound")
    return words.replace("GPU", device_word(analysis))


def worth(analysis: Analysis) -> str:
    """Its share of the time, its gap ratio, and whether removing launches is worth it beside what else there is."""
    graph = analysis.graph_figures[0]
    return " ".join(filter(None, [_share(analysis), _gap_ratio(analysis, graph), _worth(analysis, graph)]))


def _share(analysis: Analysis) -> str:
    """How much of the trace the verdict is about; of many small graphs also what those take that are flagged."""
    graph = analysis.graph_figures[0]
    if graph.source == "trace":
        return ""
    warmup = ", warm-up included," if 0 < graph.warmup < graph.instances else ""
    runs = f"{graph.instances:,} runs{warmup} take" if graph.instances > 1 else "one run takes"
    only = graph.time_share < LEAST_TIME
    words = f"Its {runs} {'only ' if only else ''}{percent(graph.time_share)} of the trace's time."
    flagged = [each.time_share for each in analysis.graph_figures if each.flagged]
    if not only or len(flagged) < 2:
        return words
    return f"{words} The {len(flagged):,} graphs over the threshold take {percent(min(sum(flagged), 1.0))} together."


def _gap_ratio(analysis: Analysis, graph: GraphFigures) -> str:
    if not analysis.evidence.launches.complete:
        coverage = analysis.coverage
        return (
            f"The gap ratio is not told: {coverage.kernels_missing:,} of {coverage.kernel_launches:,} kernels that were"
            f" launched are not in the trace, and the {device_word(analysis)} may have worked where it seems to idle."
        )
    if graph.gap_ratio is None or graph.fusible_share is None:
        return (
            "The gap ratio is not told: works without a launch call, or CUDA graphs recorded as a whole, hide why the "
            "GPU waited. The notes below say more."
        )
    ratio = (
        f"Gap ratio {percent(graph.gap_ratio)}{_spread(graph)}, {'over' if graph.flagged else 'not over'} the "
        f"threshold of {percent(analysis.threshold)}."
    )
    if graph.kernels_per_instance == 1:
        return f"{ratio} It runs a single {unit(analysis)}: there is nothing to fuse that with."
    gaps = f"The gaps that fusion can remove are at most {percent(most_share(graph))} of its time"
    unknown = graph.causes[Cause.UNKNOWN] / max(graph.time_ns, 1)
    if unknown:
        gaps += f" ({percent(unknown)} is idle for a cause that the trace does not show)"
    return f"{ratio} {gaps}."


def _spread(graph: GraphFigures) -> str:
    """How far its runs lie apart, where the median says little of them."""
    if not varies(graph):
        return ""
    return f" in the median ({percent(graph.p5_gap_ratio)} to {percent(graph.p95_gap_ratio)} from run to run)"


def varies(graph: GraphFigures) -> bool:
    """Whether the gap ratios of its runs lie so far apart that their median says little."""
    low, high = graph.p5_gap_ratio, graph.p95_gap_ratio
    return low is not None and high is not None and high - low > WIDE


def most_share(graph: GraphFigures) -> float | None:
    """What the gaps that fusion can remove are at most, as a share of the graph's time; None where that is not told.

    Idle time of unknown cause counts, since it may be launches; gaps before copies between host and device do not. What
    fusion saves inside kernels is no part of it.
    """
    if graph.fusible_share is None:
        return None
    other = (graph.causes[Cause.UNKNOWN] - graph.host_copy_gap_ns) / max(graph.time_ns, 1)
    return min(max(graph.fusible_share + other, 0.0), 1.0)


def overhead_words(analysis: Analysis) -> str:
    """How much of the time is launch overhead, below the causes that are."""
    totals = analysis.totals
    whole = f"{duration(totals.fusible_gap_ns)} in all, {percent(totals.fusible_gap_ns / totals.span_ns)} of the time"
    if device_word(analysis) == "CPU":
        return f"fusion can remove it: {whole}"
    words = f"launch overhead, which fusion or CUDA graphs can remove at most: {whole}"
    if totals.host_copy_gap_ns < MEDIUM_SHARE * totals.fusible_gap_ns or not totals.host_copy_gap_ns:
        return words
    copies = duration(totals.host_copy_gap_ns)
    return f"{words}; {copies} of it before copies between host and device, which no fusion removes"


def _worth(analysis: Analysis, graph: GraphFigures) -> str:
    """Whether the saving is worth it beside what else the GPU waits for."""
    device = device_word(analysis)
    # Set-up comes once: it says nothing of what repeats.
    part = analysis.totals if analysis.phases is None else analysis.phases.runs
    when = "over the whole trace" if analysis.phases is None else "from the first run to the last"
    largest = max(part.causes, key=lambda cause: part.causes[cause])
    removable = sum(part.causes[cause] for cause in FUSIBLE)
    if graph.flagged and largest not in FUSIBLE and part.causes[largest] > removable:
        share = percent(part.causes[largest] / part.span_ns)
        return (
            f"But {when} the {device} waits longest for `{largest.key}`, {share} of the time, which fusion does not "
            "remove: look there first."
        )
    if graph.verdict == GPU_BOUND and part.exposed_gap_ns > min(analysis.threshold, MOST_IDLE) * part.span_ns:
        share = percent(part.exposed_gap_ns / part.span_ns)
        return f"But {when} the {device} idles {share} of the time, most of it for `{largest.key}`."
    return _ways(analysis, graph) if graph.flagged and graph.kernels_per_instance > 1 else ""


def _ways(analysis: Analysis, graph: GraphFigures) -> str:
    """Which of fusion and CUDA graph capture is predicted to save anything worth it."""
    levers = next(each for each in analysis.levers if (each.graph, each.variant) == (graph.name, graph.variant))
    savings = {"Fusion": levers.fusion_ns, "CUDA graph capture": levers.capture_ns}
    ways = [way for way, saving in savings.items() if saving and saving[1] >= WORTH_SHARE * graph.time_ns]
    if ways:
        pays = f"{', or '.join(ways)}{',' if len(ways) > 1 else ''} pays"
        return (
            f"{pays} here." if graph.time_share >= LEAST_TIME else f"{pays} in a run, and runs are little of the trace."
        )
    rival = "" if levers.capture_ns is None else ", nor would CUDA graph capture"
    return f"But no chain of {unit(analysis)}s that is known to merge would save 1 % of it{rival}."


def whole_trace(analysis: Analysis) -> str:
    """What was recorded, and how long the devices were busy and idle."""
    totals, device = analysis.totals, device_word(analysis)
    devices = [figures.device for figures in analysis.device_figures]
    together = f" ({len(devices)} {device}s together)" if len(devices) > 1 else ""
    was = f"{device}s were" if together else f"{device} was"
    shares = (
        f"Of {duration(totals.span_ns)}{together} the {was} busy for {duration(totals.busy_ns)} and idle for "
        f"{duration(totals.exposed_gap_ns)} ({percent(totals.exposed_gap_ns / totals.span_ns)})."
    )
    if device == "CPU":
        return f"{counted(totals.kernels, 'node')} ran on the CPU. {shares}"
    names = sorted({plain(device.name) for device in devices if device.name})
    where = counted(len(devices), "GPU") + (f" ({', '.join(names)})" if names else "")
    works = f"{counted(totals.kernels, 'kernel')}, {counted(totals.launch_calls, 'launch call')}"
    return f"{works} on {where}. {shares}{_setup(analysis)}{_busy_with(analysis)}"


def _setup(analysis: Analysis) -> str:
    """How much of the idle time comes before the runs, where it is enough to mistake it for theirs."""
    if analysis.phases is None or analysis.phases.setup.exposed_gap_ns < SETUP_TOLD * analysis.totals.exposed_gap_ns:
        return ""
    causes = analysis.phases.setup.causes
    largest = max(causes, key=lambda cause: causes[cause])
    idle = duration(analysis.phases.setup.exposed_gap_ns)
    return f" Of that, {idle} lie before the first run that was measured (set-up, mostly `{largest.key}`)."


def _busy_with(analysis: Analysis) -> str:
    """What else than computing the busy time holds, where that is much of it."""
    parts, busy = analysis.busy_parts, max(analysis.totals.busy_ns, 1)
    others = {"copies": parts.copies_ns, "communication": parts.communication_ns}
    told = {name: ns for name, ns in others.items() if ns >= MEDIUM_SHARE * busy}
    if not told:
        return ""
    listed = ", ".join(f"{name} {duration(ns)} ({percent(ns / busy)})" for name, ns in told.items())
    overlap = f"; {duration(parts.overlap_ns)} of that at the same time" if parts.overlap_ns else ""
    return f" Busy with kernels that compute {duration(parts.kernels_ns)}, {listed}{overlap}."


def longest_gaps(analysis: Analysis) -> Iterator[str]:
    """The longest idle intervals: how long, why, when, and the options that show each."""
    places = {"setup": ", before the runs", "run": ", inside a run", "between": ", between runs", "trace": ""}
    several = len(analysis.device_figures) > 1
    for interval in analysis.longest_gaps:
        on = f", {device_word(analysis)} {interval.device}" if several else ""
        begin, end = (f"{ns}ns" for ns in interval.window_ns)
        when = f"{duration(interval.gap_ns)} at {interval.start_ns / 1e9:.6f} s"
        yield f"{when}, `{interval.cause}`{places[interval.where]}{on}: `--from {begin} --to {end}`"


def idle_title(analysis: Analysis) -> str:
    """What stands above the causes of idleness."""
    was = "was" if analysis.evidence.launches.complete else "seems"
    return f"Why the {device_word(analysis)} {was} idle"


def notes(analysis: Analysis) -> Iterator[str]:
    """What the trace does not show, or shows only in part."""
    coverage = analysis.coverage
    if analysis.graph_figures[0].source == "iteration":
        yield (
            "the trace marks no executions; iterations were found from the repeating kernel sequence, and "
            f"{percent(analysis.graph_figures[0].certainty)} of the kernels lie in repetitions of it"
        )
    if varies(analysis.graph_figures[0]):
        yield (
            f"the runs of {subject(analysis)} differ: their gap ratios go from "
            f"{percent(analysis.graph_figures[0].p5_gap_ratio)} to {percent(analysis.graph_figures[0].p95_gap_ratio)} "
            "(5th to 95th percentile), and a median says little of any; look at one part alone (--process, --device, "
            "--region, --from and --to)"
        )
    small = [graph for graph in analysis.graph_figures if graph.flagged]
    if small and not analysis.flagged:
        share = percent(sum(graph.time_share for graph in small))
        yield (
            f"{counted(len(small), 'graph')} over the threshold, {share} of the trace's time: what takes under "
            f"{percent(LEAST_TIME)} of the time of all runs flags no report"
        )
    if coverage.orphans:
        share = percent(coverage.orphans / coverage.work)
        works = f"{coverage.orphans:,} of {counted(coverage.work, 'work')} ({share})"
        yield (
            f"{works} without a launch call: the cause of the gaps before them is unknown (a trimmed capture, or"
            " unified-memory migrations)"
        )
    if coverage.graph_level:
        yield (
            f"{counted(coverage.graph_level, 'CUDA graph launch', 'CUDA graph launches')} recorded as a whole: gaps"
            " inside are invisible; record with --cuda-graph-trace=node"
        )
    if coverage.graph_kernels_missing:
        kernels = counted(coverage.graph_kernels_missing, "kernel")
        yield f"{kernels} inside CUDA graphs not in the trace: other launches have them"
    graphs = coverage.graph_launches_without_work
    if graphs:
        yield (
            f"{counted(graphs, 'CUDA graph launch', 'CUDA graph launches')} without any work in the trace (lost, cut "
            f"off, or an empty graph): the {device_word(analysis)} seems idle where that ran"
        )
    if coverage.launches_without_work > graphs:
        calls = counted(coverage.launches_without_work - graphs, "other launch call" if graphs else "launch call")
        yield f"{calls} without work in the trace (cut off, or not executed)"
    if coverage.skewed:
        yield f"{counted(coverage.skewed, 'work')} begun before the launch call: the clocks of host and GPU differ"
    if coverage.zero_time:
        records = counted(coverage.zero_time, "GPU record")
        yield f"{records} with a start or an end of 0 or an end before the start, left out where that is certain"
    if coverage.unclosed_ranges:
        yield f"{counted(coverage.unclosed_ranges, 'NVTX range')} without an end, left out"
    if coverage.outside_graphs:
        yield f"{coverage.outside_graphs:,} of {counted(coverage.work, 'work')} outside of the graphs above"
    if not coverage.physical_devices and len(analysis.device_figures) > 1:
        yield "the trace does not name the physical GPUs: each CUDA device of each process counts as one"
    yield from (plain(text) for text in coverage.notes)
    yield from (plain(text) for text in coverage.diagnostics[:5])
    if len(coverage.diagnostics) > 5:
        rest = counted(len(coverage.diagnostics) - 5, "more message")
        yield f"{rest} of the profiler: see `coverage.diagnostics` in the JSON"

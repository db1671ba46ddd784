"""From a trace to its analysis: the stages in their order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from advisor.errors import BadInput, CannotDecide
from advisor.trace.analysis import Analysis
from advisor.trace.busy_parts import find_busy_parts
from advisor.trace.candidates import find_candidates
from advisor.trace.causes import DISPATCH_LIMIT_NS, FUSIBLE, Cause, ThreadActivity, split
from advisor.trace.chains import find_chains
from advisor.trace.copies import between_host_and_device
from advisor.trace.figures import (
    Causes,
    Coverage,
    DeviceFigures,
    Evidence,
    GraphFigures,
    KernelFigures,
    Totals,
    fusible_gap,
    launch_gap,
)
from advisor.trace.findings import find
from advisor.trace.findings.facts import Facts
from advisor.trace.findings.subjects import find_subjects
from advisor.trace.graphs import graph_figures
from advisor.trace.idle_intervals import longest_intervals
from advisor.trace.instances import Runs, measure_instances
from advisor.trace.kernel_classes import op_classes
from advisor.trace.launches import join
from advisor.trace.levers import find_levers
from advisor.trace.onnx_operators import operator_classes
from advisor.trace.phases import find_phases
from advisor.trace.readers import read_trace
from advisor.trace.regions import find_regions
from advisor.trace.select import calls_within, select
from advisor.trace.timeline import busy_before, device_timeline
from advisor.trace.trace import Trace, WorkKind, as_slice
from advisor.trace.verdicts import Judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from advisor.trace.launches import Launches
    from advisor.trace.regions import Regions
    from advisor.trace.timeline import Timeline

__all__ = ["THRESHOLD", "analyze"]

THRESHOLD = 0.20
"""Over this gap ratio fusion or graph capture pays."""


def analyze(
    trace: Trace | str | Path,
    *,
    threshold: float = THRESHOLD,
    device: int | None = None,
    process: int | str | None = None,
    from_ns: int | None = None,
    to_ns: int | None = None,
    region: str | None = None,
    dispatch_limit_ns: int = DISPATCH_LIMIT_NS,
    progress: Callable[[str], None] | None = None,
) -> Analysis:
    """Measure where the devices of a trace waited, and why.

    Args:
        trace: What `read_trace` returned, or the path of a file that it reads.
        threshold: Graphs with a gap ratio over it are flagged.
        device: Only the works of the device with this number.
        process: Only the works of the process with this id or name.
        from_ns: Only works that start at this time or later, ns on the trace's clock.
        to_ns: Only works that start before this time.
        region: A regular expression: the NVTX ranges that are executions of a model.
        dispatch_limit_ns: The longest stretch without API calls that counts as a framework's dispatch.
        progress: Called with a few words before each longer step.

    Raises:
        BadInput: The selection does not fit the trace, or the threshold is no ratio; or the file is no trace.
        CannotDecide: Kernels were launched, and none is in the trace.
    """
    if not 0 <= threshold <= 1:  # NaN neither
        raise BadInput(f"a threshold of {threshold} is no ratio: it lies between 0 and 1")
    if isinstance(trace, str | Path):
        trace = read_trace(trace, progress)
    elif not isinstance(trace, Trace):
        raise TypeError(f"analyze takes what read_trace returns, or a path, not {type(trace).__name__}")
    say = progress or (lambda _words: None)
    say("joining work to its launch calls")
    has_kernels = np.isin(trace.works.kind, (WorkKind.KERNEL, WorkKind.GRAPH)).any()
    recorded = trace
    trace = select(recorded, device=device, process=process, from_ns=from_ns, to_ns=to_ns)
    within = calls_within(recorded, process=process, from_ns=from_ns, to_ns=to_ns)
    launches = join(trace, recorded, within)
    judge = Judge(threshold, launches.complete)
    if launches.kernels_missing and not has_kernels:
        raise CannotDecide(
            f"{trace.path}: {launches.kernels_missing:,} launches of kernels and not one kernel: they were not "
            "recorded or got lost. Record again with `nsys profile --trace=cuda,nvtx --cuda-graph-trace=node …`"
        )
    timeline = device_timeline(trace, launches)
    on_gpu = any(entry.gpu for entry in trace.devices)
    classes = op_classes(trace.work_names) if on_gpu else operator_classes(trace.work_names)
    say("finding why the GPU waited")
    with ThreadPoolExecutor(1) as pool:  # what needs nothing of the rest: NumPy lets go of Python's lock
        found = pool.submit(find_regions, trace, launches, region)
        activity = ThreadActivity(trace, launches, dispatch_limit_ns)
        places = np.flatnonzero(timeline.exposed_gap)
        parts = split(trace, launches, activity, timeline.order[places], timeline.idle_since[places])
        figures = pool.submit(_kernel_figures, trace, launches, timeline, places, parts, judge, classes)
        regions = found.result()
        say("measuring graphs")
        instances = measure_instances(trace, launches, timeline, activity, regions, parts)
        totals = _totals(trace, launches, timeline, places, parts, judge)
        if len(regions):
            graphs, runs = graph_figures(regions, instances, judge, totals.span_ns)
        else:
            graphs, runs = (_whole_trace(launches, totals, judge),), _one_run(trace)
        evidence = Evidence(launches, timeline, places, parts, regions, instances, runs)
        coverage = _coverage(trace, launches, regions)
        say("looking for what would help")
        chains = find_chains(trace, evidence, classes)
        levers = find_levers(trace, evidence, graphs, chains)
        subjects = find_subjects(trace, totals, graphs, evidence, levers, judge)
        kernels = figures.result()
    return Analysis(
        trace=trace,
        threshold=threshold,
        dispatch_limit_ns=dispatch_limit_ns,
        coverage=coverage,
        totals=totals,
        device_figures=_device_figures(trace, timeline, places, parts),
        kernel_figures=kernels,
        graph_figures=graphs,
        candidates=find_candidates(trace, runs, graphs, chains, classes) if launches.complete else (),
        levers=levers,
        findings=find(Facts(trace, coverage, totals, graphs, kernels, evidence, threshold, subjects)),
        busy_parts=find_busy_parts(trace, timeline, classes, totals.busy_ns),
        longest_gaps=longest_intervals(trace, evidence),
        phases=find_phases(trace, evidence),
        evidence=evidence,
    )


def _coverage(trace: Trace, launches: Launches, regions: Regions) -> Coverage:
    matched = launches.call >= 0
    skewed = trace.works.start[matched] < trace.calls.start[launches.call[matched]]
    return Coverage(
        work=len(trace.works),
        matched=int(matched.sum()),
        orphans=int((~matched).sum()),
        skewed=int(skewed.sum()),
        zero_time=trace.zero_time,
        graph_level=int((trace.works.kind == WorkKind.GRAPH).sum()),
        launches_without_work=launches.without_work - launches.while_capturing,
        graph_launches_without_work=launches.graphs_without_work,
        captured_launches=launches.while_capturing,
        kernel_launches=launches.kernel_launches,
        kernels_missing=launches.kernels_missing,
        graph_kernels_missing=launches.graph_kernels_missing,
        unclosed_ranges=trace.unclosed_ranges,
        outside_graphs=int((regions.of_work < 0).sum()) if len(regions) else 0,
        physical_devices=all(
            trace.devices[device].physical for device in np.flatnonzero(np.bincount(trace.works.device))
        ),
        diagnostics=trace.diagnostics,
        notes=trace.notes,
    )


def _causes(parts: NDArray[np.int64]) -> Causes:
    """Sums over gaps; PARTS has the shape (causes, gaps)."""
    return {cause: int(parts[cause].sum()) for cause in Cause}


def _totals(
    trace: Trace,
    launches: Launches,
    timeline: Timeline,
    places: NDArray[np.intp],
    parts: NDArray[np.int64],
    judge: Judge,
) -> Totals:
    causes = _causes(parts)
    span = sum(part.span_ns for part in timeline.spans)
    busy = sum(part.busy_ns for part in timeline.spans)
    whole_graphs = trace.works.kind == WorkKind.GRAPH
    hidden = int((trace.works.end - trace.works.start)[whole_graphs].sum())
    ratio = judge.ratio(causes, busy, min(hidden, busy))
    leads = launches.first_of_call
    fixed = between_host_and_device(trace)[trace.works.name[timeline.order[places]]]
    return Totals(
        kernels=int((trace.works.kind == WorkKind.KERNEL).sum()),
        launch_calls=int(leads.sum()),
        graph_launches=int((leads & launches.graph).sum()),
        span_ns=span,
        busy_ns=busy,
        exposed_gap_ns=sum(part.exposed_gap_ns for part in timeline.spans),
        launch_gap_ns=launch_gap(causes),
        fusible_gap_ns=fusible_gap(causes),
        host_copy_gap_ns=int(parts[:, fixed][FUSIBLE, :].sum()),
        gap_ratio=ratio,
        fusible_share=None if ratio is None else fusible_gap(causes) / span,
        causes=causes,
    )


def _whole_trace(launches: Launches, totals: Totals, judge: Judge) -> GraphFigures:
    """The one graph of a trace in which no execution of a model could be told apart."""
    return GraphFigures(
        name="trace",
        source="trace",
        certainty=1.0,
        variant=0,
        instances=1,
        warmup=int(launches.first_of_kernel.any()),
        kernels_per_instance=totals.kernels,
        span_ns=totals.span_ns,
        time_ns=totals.span_ns,
        time_share=1.0,
        busy_ns=totals.busy_ns,
        exposed_gap_ns=totals.exposed_gap_ns,
        launch_gap_ns=totals.launch_gap_ns,
        fusible_gap_ns=totals.fusible_gap_ns,
        host_copy_gap_ns=totals.host_copy_gap_ns,
        gap_ratio=totals.gap_ratio,
        p5_gap_ratio=totals.gap_ratio,
        p95_gap_ratio=totals.gap_ratio,
        fusible_share=totals.fusible_share,
        flagged=judge.flags(totals.gap_ratio),
        verdict=judge.verdict(totals.causes, totals.busy_ns, totals.gap_ratio),
        causes=totals.causes,
    )


def _one_run(trace: Trace) -> Runs:
    return Runs(np.zeros(len(trace.works), np.int32), np.zeros(1, np.intp), np.ones(1, np.bool_))


def _device_figures(
    trace: Trace, timeline: Timeline, places: NDArray[np.intp], parts: NDArray[np.int64]
) -> tuple[DeviceFigures, ...]:
    figures = []
    for span in timeline.spans:
        begin, stop = np.searchsorted(places, [span.first, span.last])
        figures.append(
            DeviceFigures(
                device=trace.devices[span.device],
                span_ns=span.span_ns,
                busy_ns=span.busy_ns,
                exposed_gap_ns=span.exposed_gap_ns,
                causes=_causes(parts[:, begin:stop]),
            )
        )
    return tuple(sorted(figures, key=lambda figure: figure.device.number))


def _kernel_figures(
    trace: Trace,
    launches: Launches,
    timeline: Timeline,
    places: NDArray[np.intp],
    parts: NDArray[np.int64],
    judge: Judge,
    classes: Sequence[str],
) -> tuple[KernelFigures, ...]:
    works, calls = trace.works, trace.calls
    size = len(trace.work_names)
    name = works.name.astype(np.intp)  # as counting wants it, once for all

    def by_name(names: NDArray[np.intp], values: NDArray[np.int64]) -> list[int]:
        # Exact: sums of ns stay under 2**53 (104 days).
        return np.bincount(names, values, size).astype(np.int64).tolist()  # type: ignore[no-any-return]

    matched = as_slice(np.flatnonzero(launches.call >= 0))
    leads = as_slice(np.flatnonzero(launches.first_of_call))
    called = launches.call[leads]
    latency = np.maximum(works.start[matched] - calls.start[launches.call[matched]], 0)
    count = np.bincount(name, minlength=size).tolist()
    matched_count = np.bincount(name[matched], minlength=size).tolist()
    duration = by_name(name, works.end - works.start)
    launch_call = by_name(name[leads], calls.end[called] - calls.start[called])
    launch_latency = by_name(name[matched], latency)
    queue = by_name(name[timeline.rows], _queue_time(trace, launches, timeline))
    behind = name[timeline.order[places]]
    causes = np.array([by_name(behind, part) if part.any() else [0] * size for part in parts]).T.tolist()
    kind_of = np.zeros(size, np.uint8)
    kind_of[works.name] = works.kind
    figures = []
    for index in np.flatnonzero(count).tolist():
        mine = dict(zip(Cause, causes[index], strict=True))
        kind = WorkKind(kind_of[index])
        hidden = duration[index] if kind is WorkKind.GRAPH else 0
        figures.append(
            KernelFigures(
                name=trace.work_names[index],
                kind=kind.name.lower(),
                op_class=classes[index],
                count=count[index],
                duration_ns=duration[index],
                launch_call_ns=launch_call[index],
                launch_latency_ns=launch_latency[index],
                queue_ns=queue[index],
                exposed_gap_ns=sum(mine.values()),
                launch_gap_ns=launch_gap(mine),
                fusible_gap_ns=fusible_gap(mine),
                gap_ratio=judge.ratio(mine, duration[index], hidden) if matched_count[index] else None,
                causes=mine,
            )
        )
    return tuple(sorted(figures, key=lambda row: (-row.fusible_gap_ns, -row.duration_ns, row.name)))


def _queue_time(trace: Trace, launches: Launches, timeline: Timeline) -> NDArray[np.int64]:
    """Shape (works,), in timeline order: the part of [launch call's end, work's start] in which the device was busy."""
    queue = np.zeros(len(timeline.order), np.int64)
    for span in timeline.spans:
        part = slice(span.first, span.last)
        rows = timeline.rows if len(timeline.spans) == 1 else as_slice(timeline.order[part])
        start, end, gap = trace.works.start[rows], trace.works.end[rows], timeline.exposed_gap[part]
        call = launches.call[rows]
        waited = np.flatnonzero(call >= 0)
        handed_over = trace.calls.end[call[waited]]
        # Handed over to an idle device, a work waits for no other.
        queued = handed_over < np.minimum(start, timeline.idle_since[part])[waited]
        waited, handed_over = waited[queued], handed_over[queued]
        # Before its own start a device was busy for whatever was not idle.
        busy_at_start = start - start[0] - np.cumsum(gap)
        queue[span.first + waited] = busy_at_start[waited] - busy_before(handed_over, start, end, gap)
    return queue

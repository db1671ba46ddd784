"""A short part of a trace as columns for a picture: one run of a graph, with what the host did meanwhile.

Drawn is the run with the median span among those that its graph's figures are medians over. Where no runs could be told
apart, it is the part of the trace in which work follows work most closely. Long ones are cut off, and the words say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.report.chain_names import kernel_word
from advisor.report.stream_names import stream_names
from advisor.trace.launches import CallClass, plain_name
from advisor.trace.pieces import cut_gaps
from advisor.words import duration, short_names, shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from advisor.trace.analysis import Analysis
    from advisor.trace.causes import ThreadActivity

__all__ = ["CALLS", "DENSEST", "LONGEST_NAME", "RANGES", "WORKS", "Window", "draw", "median_run"]

WORKS, CALLS, RANGES = 4_000, 8_000, 1_000
"""So many of each are drawn at most: a page with more is slow to open, and nobody could read it."""

DENSEST = 1_000
"""Works in the part of a trace without runs."""

LONGEST_NAME = 90
"""So many letters of a kernel's name are shown before it is asked for."""

STREAMS, THREADS, DEPTH = 16, 6, 4
"""More streams and threads share one lane; ranges nested more deeply are left out."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a trace."""

    begin: int
    """ns on the trace's clock."""
    end: int
    works: NDArray[np.intp]
    """The works that it is about, rows of `Trace.works`."""
    words: str
    """What is shown, as a sentence."""


def median_run(analysis: Analysis, graph: int) -> Window:
    """The run of GRAPH, an index into `Analysis.graph_figures`, that is drawn."""
    evidence, runs = analysis.evidence, analysis.evidence.runs
    if not len(evidence.instances):
        return _densest(analysis)
    instances = evidence.instances
    mine = np.flatnonzero(runs.graph == graph)
    mine = mine[np.argsort(instances.start[mine], kind="stable")]
    measured = mine[runs.measured[mine]]
    run = int(measured[np.argsort(instances.span[measured], kind="stable")[(len(measured) - 1) // 2]])
    rows = np.flatnonzero(runs.of_work == run)
    # Works may start before their launch calls: clocks differ.
    begin = int(min(instances.start[run], analysis.trace.works.start[rows].min()))
    end = int(analysis.trace.works.end[rows].max())
    number = int(np.flatnonzero(mine == run)[0]) + 1
    words = f"Run {number:,} of {len(mine):,}, the one with the median span" if len(mine) > 1 else "Its only run"
    return Window(
        begin=begin,
        end=end,
        works=rows,
        words=f"{words}: {duration(end - begin)} from {begin / 1e9:.6f} s on the trace's clock.",
    )


def _densest(analysis: Analysis) -> Window:
    works = analysis.trace.works
    order = np.argsort(works.start, kind="stable")
    first, last = 0, len(order) - 1
    if len(order) > DENSEST:
        start = works.start[order]
        first = int(np.argmin(start[DENSEST - 1 :] - start[: len(start) - DENSEST + 1]))
        last = first + DENSEST - 1
    rows = order[first : last + 1]
    begin, end = int(works.start[rows[0]]), int(works.end[rows].max())
    begin -= (end - begin) // 50  # a little of what led to the first work
    what = (
        "The whole trace" if len(rows) == len(order) else f"Of {len(order):,} works the {len(rows):,} closest together"
    )
    return Window(
        begin=begin,
        end=end,
        works=rows,
        words=f"{what}, since no runs could be told apart: {duration(end - begin)} from {begin / 1e9:.6f} s on the "
        "trace's clock.",
    )


def draw(analysis: Analysis, graph: int, activity: ThreadActivity) -> dict[str, Any]:
    """What a picture of the median run of GRAPH shows, as plain values.

    Args:
        analysis: The analysis.
        graph: An index into its graphs.
        activity: What the threads of its trace were doing.

    Returns:
        Columns as lists of equal length; times in ns since `begin_ns`. Of the rest, numbers are places in the lists
        beside: `works.call` one in the columns `calls` (-1: none), `gaps.work` in `works`, `pieces.gap` in `gaps`.
    """
    trace = analysis.trace
    window = median_run(analysis, graph)
    works, calls, cut = _events(analysis, window)
    words = window.words
    if cut < window.end:
        words += (
            f" Only the first {duration(cut - window.begin)} are drawn: a picture holds {WORKS:,} works and {CALLS:,} "
            "calls at most."
        )
    threads, thread_labels = _threads(analysis, calls)
    place_of_call = np.full(len(trace.calls) + 1, -1)  # The last one stands for no call.
    place_of_call[calls] = np.arange(len(calls))
    place_of_work = np.full(len(trace.works), -1)
    place_of_work[works] = np.arange(len(works))
    return {
        "graph": graph,
        "words": words,
        "begin_ns": window.begin,
        "span_ns": cut - window.begin,
        "threads": thread_labels,
        **_works(analysis, window, works, place_of_call),
        **_calls(analysis, calls, threads[trace.calls.thread[calls]], window.begin),
        "ranges": _ranges(analysis, threads, window.begin, cut),
        **_gaps(analysis, activity, place_of_work, window.begin),
    }


def _events(analysis: Analysis, window: Window) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """The rows of works and of calls to draw, each by start, and where the picture ends.

    Works are all those of the devices, also of other runs: they explain why the device was busy. Calls are all those of
    the processes, and the launch calls of what is drawn, however long before they were.
    """
    trace = analysis.trace
    works, calls = trace.works, trace.calls
    devices, owners = np.unique(works.device[window.works]), np.unique(works.process[window.works])
    on_device = np.flatnonzero(np.isin(works.device, devices) & (works.end > window.begin) & (works.start < window.end))
    on_host = np.flatnonzero((calls.end > window.begin) & (calls.start < window.end))
    on_host = on_host[np.isin(trace.threads[calls.thread[on_host]], owners)]
    # The earliest time at which there is too much to draw, if any.
    too_many = [np.sort(works.start[on_device])[WORKS:], np.sort(calls.start[on_host])[CALLS:]]
    cut = min([window.end, *(max(int(times[0]), window.begin + 1) for times in too_many if len(times))])
    on_device = on_device[works.start[on_device] < cut][:WORKS]
    launch = analysis.evidence.launches.call[on_device]
    on_host = np.unique(np.concatenate([on_host[calls.start[on_host] < cut][:CALLS], launch[launch >= 0]]))
    return (
        on_device[np.argsort(works.start[on_device], kind="stable")],
        on_host[np.argsort(calls.start[on_host], kind="stable")],
        cut,
    )


def _works(
    analysis: Analysis, window: Window, rows: NDArray[np.intp], place_of_call: NDArray[np.intp]
) -> dict[str, Any]:
    trace = analysis.trace
    works = trace.works
    names, name = np.unique(works.name[rows], return_inverse=True)
    shown = [trace.work_names[index] for index in names]
    whole = short_names(shown)
    short = shortened(whole.values(), LONGEST_NAME)
    classes = {figures.name: figures.op_class for figures in analysis.kernel_figures}
    devices = np.unique(works.device[rows])
    # Streams stand device by device, each device's in the order of their first work; what is over shares the last lane.
    streams, first, stream = np.unique(works.stream[rows], return_index=True, return_inverse=True)
    order = np.lexsort((first, works.device[rows[first]]))
    lane = np.empty(len(streams), np.intp)
    lane[order] = np.minimum(np.arange(len(streams)), STREAMS - 1)
    lanes = min(len(streams), STREAMS)
    known = stream_names(trace)
    labels = [known[streams[place]] for place in order[:lanes]]
    if len(streams) > STREAMS:
        labels[-1] = f"{len(streams) - STREAMS + 1} more streams"
    own = np.zeros(len(works), np.int64)
    own[window.works] = 1
    return {
        "devices": [_device_label(analysis, int(index)) for index in devices],
        "streams": labels,
        "device_of_stream": np.searchsorted(devices, works.device[rows[first[order[:lanes]]]]).tolist(),
        "names": shown,
        "labels": [kernel_word(text) for text in shown],
        "short": [short[whole[text]] for text in shown],
        "op_classes": [classes[text] for text in shown],
        "works": {
            "start": (works.start[rows] - window.begin).tolist(),
            "duration": (works.end[rows] - works.start[rows]).tolist(),
            "name": name.reshape(-1).tolist(),
            "stream": lane[stream.reshape(-1)].tolist(),
            "call": place_of_call[analysis.evidence.launches.call[rows]].tolist(),
            "own": own[rows].tolist(),
        },
    }


def _calls(analysis: Analysis, rows: NDArray[np.intp], thread: NDArray[np.intp], begin: int) -> dict[str, Any]:
    calls = analysis.trace.calls
    names, name = np.unique(calls.name[rows], return_inverse=True)
    return {
        "call_names": [plain_name(analysis.trace.call_names[index]) for index in names],
        "call_classes": [each.name.lower() for each in CallClass],
        "calls": {
            "start": (calls.start[rows] - begin).tolist(),
            "duration": (calls.end[rows] - calls.start[rows]).tolist(),
            "name": name.reshape(-1).tolist(),
            "class": analysis.evidence.launches.call_class[rows].tolist(),
            "thread": thread.tolist(),
        },
    }


def _threads(analysis: Analysis, calls: NDArray[np.intp]) -> tuple[NDArray[np.intp], list[str]]:
    """The lane of each thread of the trace, -1 where none is drawn, and the label of each lane."""
    trace = analysis.trace
    number, count = np.unique(trace.calls.thread[calls], return_counts=True)
    order = number[np.argsort(-count, kind="stable")]
    lane = np.full(len(trace.threads), -1)
    lane[order] = np.minimum(np.arange(len(order)), THREADS - 1)
    labels = []
    for thread in order[:THREADS].tolist():
        pid, name = trace.processes[trace.threads[thread]]
        process = name.rsplit("/", 1)[-1]
        owner = f"{process} ({pid})" if process and pid else process or (f"process {pid}" if pid else "")
        labels.append(f"thread {thread + 1}" + (f" of {owner}" if owner else ""))
    if len(order) > THREADS:
        labels[-1] = f"{len(order) - THREADS + 1} more threads"
    return lane, labels


def _ranges(analysis: Analysis, lane: NDArray[np.intp], begin: int, end: int) -> dict[str, Any]:
    """NVTX ranges of the drawn threads, the longest ones; `depth` tells how many others they lie in."""
    trace = analysis.trace
    ranges = trace.ranges
    rows = np.flatnonzero((ranges.end > begin) & (ranges.start < end))
    rows = rows[lane[ranges.thread[rows]] >= 0]
    rows = rows[np.lexsort((-ranges.end[rows], ranges.start[rows]))]
    depth = np.zeros(len(rows), np.int64)
    for thread in np.unique(ranges.thread[rows]):
        mine = np.flatnonzero(ranges.thread[rows] == thread)
        start, stop = ranges.start[rows[mine]], np.sort(ranges.end[rows[mine]])
        depth[mine] = np.arange(len(mine)) - np.searchsorted(stop, start, side="right")
    kept = np.flatnonzero(depth < DEPTH)
    longest = np.argsort(ranges.start[rows[kept]] - ranges.end[rows[kept]], kind="stable")[:RANGES]
    kept = np.sort(kept[longest])
    rows, depth = rows[kept], depth[kept]
    return {
        "start": (ranges.start[rows] - begin).tolist(),
        "duration": (ranges.end[rows] - ranges.start[rows]).tolist(),
        "name": [trace.range_names[index] for index in ranges.name[rows]],
        "thread": lane[ranges.thread[rows]].tolist(),
        "depth": depth.tolist(),
    }


def _gaps(analysis: Analysis, activity: ThreadActivity, place_of_work: NDArray[np.intp], begin: int) -> dict[str, Any]:
    """The exposed gaps that the drawn works ended, and the pieces of one cause that they consist of."""
    trace, evidence = analysis.trace, analysis.evidence
    rows = evidence.timeline.order[evidence.gap_places]
    gaps = np.flatnonzero((place_of_work[rows] >= 0) & (trace.works.start[rows] > begin))
    rows, since = rows[gaps], evidence.timeline.idle_since[evidence.gap_places[gaps]]
    devices = np.unique(trace.works.device[place_of_work >= 0])
    pieces = cut_gaps(trace, evidence, activity, gaps)
    return {
        "gaps": {
            "start": (since - begin).tolist(),
            "duration": (trace.works.start[rows] - since).tolist(),
            "device": np.searchsorted(devices, trace.works.device[rows]).tolist(),
            "work": place_of_work[rows].tolist(),
        },
        "pieces": {
            "gap": pieces.gap.tolist(),
            "start": (pieces.start - begin).tolist(),
            "duration": (pieces.end - pieces.start).tolist(),
            "cause": pieces.cause.tolist(),
        },
    }


def _device_label(analysis: Analysis, index: int) -> str:
    device = analysis.trace.devices[index]
    if not device.gpu:
        return device.name or "CPU"
    return f"GPU {device.number}" + (f", {device.name}" if device.name else "")

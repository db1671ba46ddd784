"""Trace events for Perfetto: exact times, tracks that a viewer can draw, arrows with both ends."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import advisor
from advisor.report import analysis_perfetto
from advisor.trace.causes import Cause
from advisor.words import plain
from sample_traces.operations import Host, Launch, Pop, Push
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace
from tests.report.conftest import HOSTILE, written
from tests.simulated_programs import simulated

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.trace.analysis import Analysis
    from sample_traces.operations import Operation
    from tests.conftest import Advisor
    from tests.simulated_programs import Simulated

Event = dict[str, Any]


def events(analysis: Analysis) -> list[Event]:
    # Numbers with a point as they are written, not as the nearest binary one.
    document = json.loads(written(analysis, "perfetto"), parse_float=Decimal)
    found: list[Event] = document["traceEvents"]
    return found


def nanoseconds(number: Decimal | int) -> Decimal:
    return Decimal(number) * 1000


def names(found: list[Event], field: str) -> list[str]:
    return [event["args"]["name"] for event in found if event["ph"] == "M" and event["name"] == field]


def check(analysis: Analysis) -> None:
    found = events(analysis)
    slices = [event for event in found if event["ph"] == "X"]
    for event in slices:
        assert nanoseconds(event["ts"]) == event["args"]["start_ns"]
        assert nanoseconds(event["dur"]) == event["args"]["end_ns"] - event["args"]["start_ns"]

    trace, launches = analysis.trace, analysis.evidence.launches
    works = [event for event in slices if event["cat"] == "work"]
    assert sorted((event["args"]["start_ns"], event["args"]["end_ns"], event["name"]) for event in works) == sorted(
        zip(
            trace.works.start.tolist(),
            trace.works.end.tolist(),
            [plain(trace.work_names[name]) for name in trace.works.name],
            strict=True,
        )
    )
    idle: Counter[str] = Counter()
    for event in slices:
        if event["cat"] == "idle":
            idle[event["name"]] += event["args"]["end_ns"] - event["args"]["start_ns"]
    assert idle == Counter({cause.key: ns for cause, ns in analysis.totals.causes.items() if ns})

    tracks = defaultdict(list)
    for event in slices:
        tracks[event["pid"], event["tid"]].append((event["args"]["start_ns"], event["args"]["end_ns"]))
    named = {(event["pid"], event["tid"]) for event in found if event["name"] == "thread_name"}
    assert tracks.keys() <= named
    assert len({tid for _, tid in tracks}) == len(tracks)
    for track in tracks.values():
        track.sort(key=lambda times: (times[0], -times[1]))
        open_until: list[int] = []
        for start, end in track:
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], "two slices of a track overlap"
            open_until.append(end)

    begins = {(event["pid"], event["tid"], event["args"]["start_ns"]) for event in slices}
    arrows: dict[str, dict[int, Event]] = {"s": {}, "f": {}}
    for event in found:
        if event["ph"] in arrows:
            assert (event["pid"], event["tid"], nanoseconds(event["ts"])) in begins
            arrows[event["ph"]][event["id"]] = event
    matched = np.flatnonzero(launches.call >= 0)
    forward = trace.works.start[matched] >= trace.calls.start[launches.call[matched]]
    assert arrows["s"].keys() == arrows["f"].keys() == set(matched[forward].tolist())
    for number, begin in arrows["s"].items():
        assert nanoseconds(begin["ts"]) == int(trace.calls.start[launches.call[number]])
        assert nanoseconds(arrows["f"][number]["ts"]) == int(trace.works.start[number])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(simulated())
def test_times_are_exact_slices_nest_and_arrows_have_both_ends(case: Simulated) -> None:
    check(advisor.analyze(to_trace(case.run)))


@pytest.mark.parametrize("name", ["cudagraph_window_rtx3070", "mfu_2gpu_after", "hvd_v100_fusion"])
def test_so_they_do_on_real_traces(real_traces: Path, name: str) -> None:
    check(advisor.analyze(advisor.read_trace(real_traces / f"{name}.sqlite")))


def test_it_does_not_matter_how_many_events_are_written_at_once(
    monkeypatch: pytest.MonkeyPatch, decode: Analysis
) -> None:
    whole = written(decode, "perfetto")
    monkeypatch.setattr(analysis_perfetto, "CHUNK", 7)
    assert written(decode, "perfetto") == whole


def test_tracks_are_named(decode: Analysis) -> None:
    found = events(decode)
    assert names(found, "process_name") == ["simulated-0", "GPU 0, Simulated GPU"]
    assert names(found, "thread_name") == ["thread 1, NVTX", "thread 1", "idle, by cause", "stream 7"]
    ranges = Counter(event["name"] for event in found if event.get("cat") == "nvtx")
    assert ranges == {"decode_token": 10, "layer_0": 10, "layer_1": 10, "layer_2": 10}


def test_names_are_text(hostile: Analysis) -> None:
    shown = {event["name"] for event in events(hostile) if event.get("cat") in ("work", "nvtx")}
    assert shown >= {plain(name) for name in HOSTILE}


def test_a_clock_that_begins_later_is_no_error() -> None:
    program: list[Operation] = [Push("step"), Launch("gemm", 5_000), Host(1_234), Launch("add", 1_000), Pop()]
    trace = to_trace(simulate(program))
    shift = int(trace.works.start[0]) + 1_500
    works, calls, ranges = trace.works, trace.calls, trace.ranges
    earlier = replace(
        trace,
        works=replace(works, start=works.start - shift, end=works.end - shift),
        calls=replace(calls, start=calls.start - shift, end=calls.end - shift),
        ranges=replace(ranges, start=ranges.start - shift, end=ranges.end - shift),
    )
    analysis = advisor.analyze(earlier)
    assert analysis.trace.works.start[0] == -1_500
    check(analysis)


def test_kernels_of_one_stream_that_overlap_take_turns_on_two_tracks() -> None:
    trace = to_trace(simulate([Launch("gemm", 5_000) for _ in range(6)], Machine()))
    start = np.arange(len(trace.works)) * 1_000 + int(trace.works.start[0])
    analysis = advisor.analyze(replace(trace, works=replace(trace.works, start=start, end=start + 1_400)))
    check(analysis)
    assert names(events(analysis), "thread_name")[-2:] == ["stream 7", "stream 7 (2)"]


def test_only_what_was_selected_is_written(advisor_command: Advisor, samples: Path, tmp_path: Path) -> None:
    trace, out = samples / "launch_bound_decode.sqlite", tmp_path / "events.json"
    result = advisor_command("analyze", trace, "--perfetto", out, "--from", "5ms", "--to", "6ms")
    assert result.returncode == 0, result.stderr
    found = json.loads(out.read_text(encoding="utf-8"))["traceEvents"]
    works = [event["args"] for event in found if event.get("cat") == "work"]
    assert works
    assert all(5_000_000 <= work["start_ns"] < 6_000_000 for work in works)
    # What the host did before its first launch call belongs to no work of the window.
    calls = [event["args"] for event in found if event.get("cat") == "call"]
    assert min(call["end_ns"] for call in calls) >= 4_900_000
    assert {cause.key for cause in Cause} >= {event["name"] for event in found if event.get("cat") == "idle"}

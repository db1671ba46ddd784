"""The page as a file: one that may be sent to anybody, with one run of each graph in it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import HealthCheck, given, settings

import advisor
from advisor.report import drawing
from advisor.report.analysis_html import page_data
from advisor.report.colours import BUSY, CAUSE_COLOURS, ink
from advisor.report.drawing import draw, median_run
from advisor.trace.causes import Cause, ThreadActivity
from sample_traces.operations import Host, Launch, Pop, Push, Stream, Synchronize
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace
from tests.report.conftest import written
from tests.simulated_programs import simulated

if TYPE_CHECKING:
    import pytest

    from advisor.trace.analysis import Analysis
    from sample_traces.operations import Operation
    from tests.simulated_programs import Simulated


def drawn(analysis: Analysis, graph: int = 0) -> dict[str, Any]:
    return draw(analysis, graph, ThreadActivity(analysis.trace, analysis.evidence.launches, analysis.dispatch_limit_ns))


def test_script_and_style_are_the_ones_that_the_policy_names(hostile: Analysis) -> None:
    page = written(hostile, "html")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'")
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy[1]
    assert not re.search(r"""(src|href)=["']?(?!#)""", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))


def test_the_data_cannot_end_the_element_it_stands_in(hostile: Analysis) -> None:
    page = written(hostile, "html")
    (block,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert "<" not in block
    assert json.loads(block) == json.loads(json.dumps(page_data(hostile)))


def test_the_same_analysis_is_the_same_page(decode: Analysis) -> None:
    assert written(decode, "html") == written(decode, "html")


def test_the_run_with_the_median_span_is_drawn() -> None:
    program: list[Operation] = []
    for pause in (0, 0, 90_000, 30_000, 60_000):
        program += [Push("step"), Launch("gemm", 5_000), Host(pause), Launch("add", 1_000), Synchronize(), Pop()]
    analysis = advisor.analyze(to_trace(simulate(program)))
    assert analysis.graph_figures[0].warmup == 1
    window = median_run(analysis, 0)
    # Without the warm-up: 0, 30, 60 and 90 µs of pauses. Of two in the middle, the shorter one.
    assert "Run 4 of 5, the one with the median span" in window.words
    assert len(window.works) == 2
    spans = np.sort(analysis.evidence.instances.span[1:])
    assert window.end - window.begin == spans[1]


def test_what_is_drawn_are_the_works_of_the_run_with_their_calls_and_gaps(decode: Analysis) -> None:
    picture = drawn(decode)
    works, calls, gaps = picture["works"], picture["calls"], picture["gaps"]
    assert sum(works["own"]) == 98
    for start, call in zip(works["start"], works["call"], strict=True):
        assert call >= 0
        assert calls["start"][call] <= start
        assert picture["call_classes"][calls["class"][call]] == "launch"
    for start, length, work in zip(gaps["start"], gaps["duration"], gaps["work"], strict=True):
        assert works["start"][work] == start + length
    assert picture["ranges"]["name"] == ["decode_token", "layer_0", "layer_1", "layer_2"]
    assert picture["ranges"]["depth"] == [0, 1, 1, 1]


def test_launch_calls_from_long_before_are_there_for_works_that_stood_in_the_queue() -> None:
    step: list[Operation] = [Push("step"), *(Launch("gemm", 90_000) for _ in range(20)), Pop()]
    picture = drawn(advisor.analyze(to_trace(simulate(step * 6))))
    assert min(picture["calls"]["start"]) < 0
    assert -1 not in picture["works"]["call"]
    assert 0 in picture["works"]["own"]


def test_without_runs_the_densest_part_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "DENSEST", 3)
    pauses = (200_000, 7_000, 90_000, 500, 700, 400_000, 1_000, 600_000)
    program: list[Operation] = [Launch("first", 1_000)]
    for number, pause in enumerate(pauses):
        program += [Host(pause), Launch(f"kernel {number}", 1_000)]
    analysis = advisor.analyze(to_trace(simulate(program)))
    assert analysis.graph_figures[0].source == "trace"
    picture = drawn(analysis)
    own = [
        picture["names"][name]
        for name, mine in zip(picture["works"]["name"], picture["works"]["own"], strict=True)
        if mine
    ]
    assert own == ["kernel 2", "kernel 3", "kernel 4"]
    assert "Of 9 works the 3 closest together" in picture["words"]


def test_a_picture_holds_so_much_and_says_where_it_stops(monkeypatch: pytest.MonkeyPatch, decode: Analysis) -> None:
    whole = drawn(decode)
    monkeypatch.setattr(drawing, "WORKS", 40)
    picture = drawn(decode)
    assert len(picture["works"]["start"]) == 40
    assert "Only the first" in picture["words"]
    assert "a picture holds 40 works" in picture["words"]
    assert picture["span_ns"] < whole["span_ns"]
    assert picture["works"]["start"] == whole["works"]["start"][:40]
    monkeypatch.setattr(drawing, "CALLS", 10)
    assert len(drawn(decode)["works"]["start"]) <= 10


def test_streams_and_threads_beyond_what_is_legible_share_a_lane() -> None:
    streams = [Stream(number) for number in range(7, 7 + drawing.STREAMS + 3)]
    program: list[Operation] = [Launch("gemm", 9_000, stream) for stream in streams]
    picture = drawn(advisor.analyze(to_trace(simulate(program, Machine(concurrency=128)))))
    assert len(picture["streams"]) == drawing.STREAMS
    assert picture["streams"][-1] == "4 more streams"
    assert max(picture["works"]["stream"]) == drawing.STREAMS - 1


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(simulated())
def test_every_number_points_into_the_list_it_is_meant_for(case: Simulated) -> None:
    analysis = advisor.analyze(to_trace(case.run))
    for graph in range(min(len(analysis.graph_figures), 3)):
        picture = drawn(analysis, graph)
        works, calls, ranges, gaps, pieces = (picture[name] for name in ("works", "calls", "ranges", "gaps", "pieces"))
        for columns in (works, calls, ranges, gaps, pieces):
            assert len({len(column) for column in columns.values()}) == 1
        inside = {
            (tuple(works["name"]), len(picture["names"])),
            (tuple(works["stream"]), len(picture["streams"])),
            (tuple(calls["name"]), len(picture["call_names"])),
            (tuple(calls["class"]), len(picture["call_classes"])),
            (tuple(calls["thread"]), len(picture["threads"])),
            (tuple(ranges["thread"]), len(picture["threads"])),
            (tuple(gaps["device"]), len(picture["devices"])),
            (tuple(gaps["work"]), len(works["start"])),
            (tuple(pieces["gap"]), len(gaps["start"])),
            (tuple(pieces["cause"]), len(Cause)),
        }
        for places, size in inside:
            assert all(0 <= place < size for place in places)
        assert all(-1 <= call < len(calls["start"]) for call in works["call"])
        assert len(picture["device_of_stream"]) == len(picture["streams"])
        assert sum(works["own"]) > 0
        assert works["start"] == sorted(works["start"])
        sums = np.zeros(len(gaps["start"]), np.int64)
        np.add.at(sums, pieces["gap"], pieces["duration"])
        assert sums.tolist() == gaps["duration"]


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        full = colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])
        parts = [int(full[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_names_of_causes_are_legible_on_their_colours() -> None:
    assert set(CAUSE_COLOURS) == set(Cause)
    for colour in CAUSE_COLOURS.values():
        assert contrast(colour, ink(colour)) >= 4.5
    assert contrast(BUSY, "#fff") >= 4.5

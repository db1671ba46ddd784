"""Streams are called as the profiler calls them, and told apart where that is not enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import advisor
from advisor.report.stream_names import stream_names
from sample_traces import nsys_export, torch_export
from sample_traces.operations import Launch, Stream
from sample_traces.simulator import Process, simulate
from sample_traces.trace import to_trace

if TYPE_CHECKING:
    from pathlib import Path

    from sample_traces.run import Run


def launching(*processes: tuple[int, int, list[Stream]]) -> Run:
    """(process id, GPU, streams) each."""
    return simulate(
        [Process([[Launch("a", 9_000, stream) for stream in streams]], pid, (gpu,)) for pid, gpu, streams in processes]
    )


def test_a_number_that_one_stream_has_is_enough(tmp_path: Path) -> None:
    run = launching((10, 0, [Stream(7), Stream(14), Stream(15)]))
    assert sorted(stream_names(to_trace(run))) == ["stream 14", "stream 15", "stream 7"]
    nsys_export.write(run, tmp_path / "run.sqlite")
    torch_export.write(run, tmp_path / "run.json")
    for name in ("run.sqlite", "run.json"):
        assert sorted(stream_names(advisor.read_trace(tmp_path / name))) == ["stream 14", "stream 15", "stream 7"]


@pytest.mark.parametrize(
    ("processes", "names"),
    [
        ([(10, 0, [Stream(7)]), (11, 1, [Stream(7)])], ["stream 7", "stream 7"]),
        ([(10, 0, [Stream(7)]), (11, 0, [Stream(7)])], ["stream 7 of process 10", "stream 7 of process 11"]),
        (
            [(10, 0, [Stream(7, context=1), Stream(7, context=2), Stream(8, context=2)])],
            ["stream 7, context 1", "stream 7, context 2", "stream 8"],
        ),
    ],
)
def test_streams_of_one_number_on_one_device_are_told_apart(
    processes: list[tuple[int, int, list[Stream]]], names: list[str]
) -> None:
    assert sorted(stream_names(to_trace(launching(*processes)))) == names

"""Generated traces are what the benchmark says they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import advisor
from benchmarks import trace_generator
from benchmarks.trace_generator import write_trace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("streams", "nvtx"), [(1, False), (3, True)])
def test_a_generated_trace_is_a_launch_bound_program(tmp_path: Path, streams: int, nvtx: bool) -> None:
    write_trace(tmp_path / "t.sqlite", 2001, streams=streams, nvtx=nvtx)
    trace = advisor.read_trace(tmp_path / "t.sqlite")
    analysis = advisor.analyze(trace)
    assert analysis.totals.kernels == 2250
    assert analysis.coverage.orphans == analysis.coverage.skewed == analysis.coverage.zero_time == 0
    assert analysis.verdict == "launch-bound"
    assert len(np.unique(trace.works.stream)) == streams
    for stream in np.unique(trace.works.stream):
        mine = trace.works.take(trace.works.stream == stream)
        order = np.argsort(mine.start)
        assert (mine.start[order][1:] >= mine.end[order][:-1]).all()
    assert len(trace.ranges) == (9 * (1 + trace_generator.LAYERS) if nvtx else 0)
    if nvtx:
        assert [(graph.name, graph.kernels_per_instance) for graph in analysis.graph_figures[:1]] == [
            ("decode step", 250)
        ]


def test_the_same_seed_gives_the_same_file_and_blocks_follow_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / name for name in ("a", "b", "other")]
    for path, seed in zip(paths, (1, 1, 2), strict=True):
        write_trace(path, 1000, nvtx=True, seed=seed)
    first, second, other = (path.read_bytes() for path in paths)
    assert first == second != other
    monkeypatch.setattr(trace_generator, "BLOCK_STEPS", 3)
    write_trace(paths[1], 3000)
    works = advisor.read_trace(paths[1]).works
    assert len(works) == 3012
    assert len(np.unique(works.correlation)) == 3012

"""What an analysis says in a sentence: what waits, what is saved at most, whether fusion pays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

import advisor
from advisor.report.analysis_words import most_share, whole_trace, worth
from advisor.trace.causes import Cause
from advisor.words import percent
from sample_traces.operations import Host, Launch, Pop, Push, Synchronize
from sample_traces.simulator import simulate
from sample_traces.trace import to_trace
from tests.trace.test_ort_profile import chain, profile

if TYPE_CHECKING:
    from pathlib import Path

    from sample_traces.operations import Operation
    from tests.conftest import Advisor


def test_the_report_of_a_cpu_profile_is_about_the_cpu(tmp_path: Path, advisor_command: Advisor) -> None:
    recorded = profile(chain(), {"x0": np.ones(16, np.float32)}, tmp_path)
    result = advisor_command("analyze", recorded, "--findings", "9", "--threshold", "1%", columns=120)
    assert result.returncode == 0, result.stderr
    assert "Why the CPU was idle" in result.stdout
    assert not re.findall(r".*(?:GPU|CUDA).*", result.stdout)


def test_the_report_of_a_gpu_trace_is_about_the_gpu(samples: Path, advisor_command: Advisor) -> None:
    result = advisor_command("analyze", samples / "launch_bound_decode.sqlite", columns=120)
    assert "Why the GPU was idle" in result.stdout
    assert "CUDA graph capture" in result.stdout
    assert "CPU was idle" not in result.stdout


def test_what_is_saved_at_most_holds_whatever_the_gaps_of_unknown_cause_are() -> None:
    """Half of the launch calls lost, as a trimmed capture loses them."""
    program: list[Operation] = [
        Launch("a", 900_000),
        *(work for _ in range(20) for work in (Host(2_000), Launch("b", 50_000))),
    ]
    run = simulate(program)
    analysis = advisor.analyze(to_trace(run.losing(lambda call: call.correlation % 2 == 0)))
    graph = analysis.graph_figures[0]
    unknown = graph.causes[Cause.UNKNOWN]
    assert unknown
    assert most_share(graph) == pytest.approx((graph.fusible_gap_ns + unknown) / graph.span_ns)
    assert "for a cause that the trace does not show" in worth(analysis)
    (finding,) = (each for each in analysis.findings if each.id == "gpu-bound")
    assert f"would save {percent(most_share(graph))} at most" in finding.message


def test_one_kernel_is_not_told_to_be_fused() -> None:
    program: list[Operation] = [Host(1_000), Launch("only", 3_000), Synchronize()]
    analysis = advisor.analyze(to_trace(simulate(program)))
    assert "It runs a single kernel: there is nothing to fuse that with." in worth(analysis)
    assert "1 kernel, 1 launch call on 1 GPU" in whole_trace(analysis)


def test_a_full_run_in_an_idle_trace_says_that_the_trace_idles() -> None:
    run: list[Operation] = [
        Push("step"),
        Launch("a", 900_000),
        Launch("b", 900_000),
        Pop(),
        Synchronize(),
        Host(3_000_000),
    ]
    analysis = advisor.analyze(to_trace(simulate(run * 5)))
    assert analysis.graph_figures[0].verdict == "gpu-bound"
    assert "But over the whole trace the GPU idles" in worth(analysis)
    assert "most of it for `host`" in worth(analysis)


def test_fusion_pays_only_where_something_is_known_to_merge() -> None:
    """Matrix products in a row: launch-bound, but no chain of them merges, and nothing repeats."""
    program: list[Operation] = [
        work for number in range(40) for work in (Host(30_000), Launch(f"sgemm_{number}", 2_000))
    ]
    analysis = advisor.analyze(to_trace(simulate(program)))
    assert analysis.flagged
    assert "pays here" not in worth(analysis)

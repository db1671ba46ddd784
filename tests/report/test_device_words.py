"""What an analysis says in a sentence: what waits, what is saved at most, whether fusion pays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

import advisor
from advisor.report.analysis_words import most_share, notes, whole_trace, worth
from advisor.trace.causes import Cause
from advisor.words import duration, percent
from sample_traces.operations import Copy, Host, Launch, Pop, Push, Stream, Synchronize
from sample_traces.simulator import Machine, Process, simulate
from sample_traces.trace import to_trace
from tests.trace.test_ort_profile import chain, profile

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.trace.analysis import Analysis
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
    assert most_share(graph) == pytest.approx((graph.fusible_gap_ns + unknown) / graph.time_ns)
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
    assert "But from the first run to the last the GPU idles" in worth(analysis)
    assert "most of it for `host`" in worth(analysis)


def test_fusion_pays_only_where_something_is_known_to_merge() -> None:
    """Matrix products in a row: launch-bound, but no chain of them merges, and nothing repeats."""
    program: list[Operation] = [
        work for number in range(40) for work in (Host(30_000), Launch(f"sgemm_{number}", 2_000))
    ]
    analysis = advisor.analyze(to_trace(simulate(program)))
    assert analysis.flagged
    assert "pays here" not in worth(analysis)


def test_a_threshold_that_nothing_reaches_makes_no_idle_gpu_busy(samples: Path) -> None:
    analysis = advisor.analyze(advisor.read_trace(samples / "launch_bound_decode.sqlite"), threshold=1.0)
    graph = analysis.graph_figures[0]
    assert (graph.flagged, graph.verdict, analysis.verdict) == (False, "launch-bound", "launch-bound")
    assert "not over the threshold of 100 %" in worth(analysis)
    assert "gpu-bound" not in {finding.id for finding in analysis.findings}


def test_what_fusion_saves_inside_kernels_is_part_of_the_time_that_they_take() -> None:
    """Element-wise kernels in a full queue: no gaps to remove, and yet all of them but one."""
    run: list[Operation] = [Push("step"), *[Launch("relu_kernel", 90_000)] * 4, Pop()]
    analysis = advisor.analyze(to_trace(simulate(run * 5)))
    (finding,) = analysis.findings
    low, high = analysis.levers[0].fusion_ns
    assert high - low == 270_000
    assert "predicted at most 270 µs of the 360 µs that it works" in finding.advice


def test_the_gaps_are_not_all_that_fusion_could_save(decode: Analysis) -> None:
    assert "The gaps that fusion can remove are at most 71 % of its time." in worth(decode)


def test_runs_that_differ_are_said_to() -> None:
    run: dict[int, list[Operation]] = {
        pause: [Push("step"), *[part for _ in range(6) for part in (Host(pause), Launch("relu", 3_000))], Pop()]
        for pause in (1_000, 60_000)
    }
    same, apart = (
        advisor.analyze(to_trace(simulate([part for pause in pauses for part in (*run[pause], Synchronize())])))
        for pauses in ([1_000] * 12, [1_000, 60_000] * 6)
    )
    assert "from run to run" not in worth(same)
    assert not any("differ" in note for note in notes(same))
    graph = apart.graph_figures[0]
    assert graph.instances == 12
    spread = f"{percent(graph.p5_gap_ratio)} to {percent(graph.p95_gap_ratio)}"
    assert f"in the median ({spread} from run to run)" in worth(apart)
    assert any(note.startswith("the runs of step differ") for note in notes(apart))


def test_times_of_several_gpus_are_said_to_be_sums() -> None:
    both: list[Operation] = [Launch("a", 5_000), Launch("a", 5_000, Stream(7, device=1, context=2))]
    program = both * 4
    analysis = advisor.analyze(to_trace(simulate([Process([program], gpus=(0, 1))])))
    assert f"Of {duration(analysis.totals.span_ns)} (2 GPUs together) the GPUs were busy for" in whole_trace(analysis)


def test_the_kernel_to_look_at_is_one_of_the_runs() -> None:
    run: list[Operation] = [Push("step"), Launch("gemm", 400_000), Copy(900_000), Pop()]
    program: list[Operation] = [Copy(90_000_000), Launch("set up", 50_000_000), Synchronize(), *run * 5]
    (finding,) = advisor.analyze(to_trace(simulate(program, Machine(module_load_ns=0)))).findings
    assert finding.graph == "step"
    assert "`gemm` takes 31 % of the GPU's time there" in finding.advice


def test_a_run_that_waits_its_turn_lasts_longer_than_it_works_and_idles() -> None:
    run: list[Operation] = [Push("step"), *[Launch("gemm", 400_000)] * 3, Pop()]
    analysis = advisor.analyze(to_trace(simulate(run * 8, Machine(module_load_ns=0))))
    (finding,) = analysis.findings
    span = duration(analysis.graph_figures[0].span_ns)
    assert f"({span} from its first launch call to its end, with the work queued before its own)" in finding.message


def test_the_times_of_runs_add_up_where_the_queue_runs_ahead(samples: Path) -> None:
    analysis = advisor.analyze(samples / "gpu_bound_cnn.sqlite")
    (graph,) = analysis.graph_figures
    instances = analysis.evidence.instances
    assert int(instances.span.sum()) > 2 * analysis.totals.span_ns
    assert int(instances.time.sum()) <= analysis.totals.span_ns
    ends = instances.start + instances.span
    from_end_to_end = int(ends.max() - ends.min()) / (len(ends) - 1)
    assert graph.time_ns == pytest.approx(from_end_to_end, rel=0.01)
    assert graph.fusible_share == pytest.approx(graph.fusible_gap_ns / graph.time_ns, rel=0.01)
    assert f"at most {percent(graph.fusible_gap_ns / graph.time_ns)} of its time" in worth(analysis)

"""Findings: each on a program that has the fault, not on one that has not, and on real traces with the reason."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest

import advisor
from advisor.report.analysis_words import headline, notes, worth
from advisor.trace.findings import RULES, SEVERITIES
from advisor.trace.verdicts import CANNOT_DECIDE, GPU_BOUND, VERDICTS
from advisor.words import percent
from sample_traces.operations import (
    BeginCapture,
    Call,
    CallKind,
    Copy,
    EndCapture,
    Host,
    Instantiate,
    Launch,
    LaunchGraph,
    Operation,
    Overhead,
    Pop,
    Push,
    Stream,
    Synchronize,
)
from sample_traces.programs import SAMPLES
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from advisor.trace.analysis import Analysis
    from advisor.trace.findings import Finding

RUNS = 6
MACHINE = Machine(module_load_ns=0)
SHORT = Launch("relu_kernel", 1_500)
LONG = Launch("gemm", 400_000)


def runs(body: Sequence[Operation], between: Sequence[Operation] = (), name: str = "run") -> list[Operation]:
    return [part for _ in range(RUNS) for part in (Push(name), *body, Pop(), *between)]


def simulated(program: Sequence[Operation], machine: Machine = MACHINE) -> Analysis:
    return advisor.analyze(to_trace(simulate(program, machine)))


def analysed(body: Sequence[Operation], machine: Machine = MACHINE, between: Sequence[Operation] = ()) -> Analysis:
    return simulated(runs(body, between), machine)


def ids(analysis: Analysis) -> set[tuple[str, str | None]]:
    return {(finding.id, finding.graph) for finding in analysis.findings}


def the(analysis: Analysis, rule: str) -> Finding:
    """The worst finding of a rule."""
    return next(each for each in analysis.findings if each.id == rule)


HEALTHY: list[Operation] = [LONG] * 6


def test_a_program_without_fault_is_told_that_fusion_will_not_help() -> None:
    analysis = analysed(HEALTHY)
    assert ids(analysis) == {("gpu-bound", "run")}
    finding = the(analysis, "gpu-bound")
    assert finding.severity == "info"
    assert finding.saving_ns is None
    assert "would save" in finding.message
    assert "`gemm`" in finding.advice


SLOW_DEVICE = Machine(module_load_ns=0, launch_call_ns=400, launch_latency_ns=900, step_ns=4_000)
SLOW_WAKE = Machine(module_load_ns=0, return_ns=60_000)
MALLOC = Call("cudaMalloc_v3020", CallKind.MEMORY, 120_000)
LOAD = Call("cuModuleLoadDataEx", CallKind.MODULE, 400_000)
CREATE = Call("cudaStreamCreateWithFlags_v5000", CallKind.API, 90_000)
READ_BACK = Copy(1_500, direction="DtoH", call_ns=50_000)

FAULTS: dict[str, tuple[list[Operation], Machine, str]] = {
    "launch-bound": ([SHORT] * 12, MACHINE, "high"),
    "dispatch-bound": ([Host(30_000), SHORT] * 12, MACHINE, "high"),
    "turnaround-bound": ([LONG, *[SHORT] * 400], SLOW_DEVICE, "high"),
    "sync-bound": ([Launch("gemm", 30_000), Synchronize(Stream())] * 6, SLOW_WAKE, "high"),
    "host-bound": ([LONG, Host(1_500_000), LONG], MACHINE, "high"),
    "allocation-bound": ([LONG, Synchronize(Stream()), MALLOC, LONG], MACHINE, "medium"),
    "loading-bound": ([LONG, Synchronize(Stream()), LOAD, LONG], MACHINE, "high"),
    "api-bound": ([LONG, Synchronize(Stream()), CREATE, LONG], MACHINE, "medium"),
    "wait-bound": ([LONG, Synchronize(Stream()), Launch("gemm", 200_000, latency_ns=900_000)], MACHINE, "high"),
    "profiler-bound": ([LONG, Synchronize(Stream()), Overhead(500_000), LONG], MACHINE, "high"),
    "blocking-copies": ([Launch("gemm", 30_000), Copy(1_500, direction="DtoH", blocking=True)] * 6, SLOW_WAKE, "high"),
}


@pytest.mark.parametrize("rule", FAULTS)
def test_a_fault_is_found_in_a_run_that_has_it(rule: str) -> None:
    body, machine, severity = FAULTS[rule]
    finding = the(analysed(body, machine), rule)
    assert (finding.graph, finding.severity) == ("run", severity)
    assert 0 < finding.evidence["share"] <= 1
    assert finding.evidence["runs"] == RUNS - 1
    assert any(unit in finding.message for unit in (" µs", " ms"))


@pytest.mark.parametrize("rule", sorted(FAULTS.keys() - {"turnaround-bound"}))
def test_a_fault_is_not_found_where_the_gpu_is_full(rule: str) -> None:
    # The same operations behind 8 ms of queued work: nobody waits for them, or too little to matter.
    body, machine, _ = FAULTS[rule]
    hidden = [part for part in body if rule == "sync-bound" or not isinstance(part, Synchronize)]
    assert rule not in {name for name, _ in ids(analysed([*[LONG] * 20, *hidden, *HEALTHY], machine))}


def test_steps_from_kernel_to_kernel_are_nothing_between_long_ones() -> None:
    assert "turnaround-bound" not in {rule for rule, _ in ids(analysed(HEALTHY * 10, SLOW_DEVICE))}


def replays(node: Launch, *, whole: bool = False) -> Analysis:
    """Replays of a CUDA graph of 40 equal nodes."""
    capture: list[Operation] = [BeginCapture(), *[node] * 40, EndCapture(1), Instantiate(1)]
    replay: list[Operation] = [LaunchGraph(1, whole=whole), Synchronize()]
    return simulated([*capture, *replay * RUNS])


def test_the_nodes_of_a_cuda_graph_are_found_too_short() -> None:
    finding = the(replays(SHORT), "graph-bound")
    assert finding.severity == "high"
    assert finding.graph == "CUDA graph 1"
    # Its chain is the lever: a graph that is captured cannot be captured again.
    assert finding.evidence["capture_ns"] is None
    assert finding.saving_ns is not None
    assert list(finding.saving_ns) == finding.evidence["fusion_ns"]
    assert "graph-bound" not in {rule for rule, _ in ids(replays(LONG))}


def test_graphs_recorded_as_a_whole_cannot_be_decided_and_the_option_is_named() -> None:
    finding = the(replays(SHORT, whole=True), "cannot-decide")
    assert finding.severity == "high"
    assert "--cuda-graph-trace=node" in finding.advice


def test_lost_launch_calls_cannot_be_decided() -> None:
    run = simulate(runs([SHORT] * 12, [Synchronize()]), MACHINE)
    finding = the(advisor.analyze(to_trace(run.losing(lambda call: call.correlation % 3 > 0))), "cannot-decide")
    assert finding.severity == "high"
    assert "have no launch call" in finding.message
    assert "Start recording before the first launch" in finding.advice
    assert "cannot-decide" not in {rule for rule, _ in ids(advisor.analyze(to_trace(run)))}


def test_copies_to_pageable_memory_block_though_they_are_asynchronous() -> None:
    blocked = the(analysed([Launch("gemm", 30_000), READ_BACK] * 6), "blocking-copies")
    assert blocked.evidence["copies_per_run"] == blocked.evidence["asynchronous_per_run"] == 6
    assert "pageable" in blocked.message
    pinned = Copy(1_500, direction="DtoH")
    assert "blocking-copies" not in {rule for rule, _ in ids(analysed([Launch("gemm", 30_000), pinned] * 6))}


def test_what_happens_between_runs_is_told_of_the_time_between_runs() -> None:
    pause = analysed(HEALTHY, between=[Synchronize(), Host(900_000)])
    finding = the(pause, "host-bound")
    assert (finding.graph, finding.severity) == (None, "medium")
    assert finding.message.startswith("Between the runs")
    # Time before the first run and after the last one is not between runs.
    apart: list[Operation] = [Synchronize(), Host(9_000_000)]
    assert ids(simulated([LONG, *apart, *runs(HEALTHY), *apart, LONG])) == {("gpu-bound", "run")}


def test_allocation_once_before_the_loop_is_no_fault() -> None:
    assert "allocation-bound" not in {rule for rule, _ in ids(simulated([MALLOC, *runs([SHORT] * 12)]))}


def test_a_small_allocation_in_every_run_is_info() -> None:
    small = Call("cudaFree_v3020", CallKind.MEMORY, 30_000)
    finding = the(analysed([LONG, LONG, Synchronize(Stream()), small, LONG]), "allocation-bound")
    assert finding.severity == "info"
    assert finding.evidence["memory_calls_per_run"] == 1
    assert "cudaFree" in finding.message


def test_a_graph_that_takes_little_of_the_time_is_left_to_the_tables() -> None:
    analysis = simulated([*runs([SHORT] * 200, name="big"), Synchronize(), *runs([SHORT] * 4, name="small")])
    assert {graph.name for graph in analysis.graph_figures} == {"big", "small"}
    assert "small" not in {graph for _, graph in ids(analysis)}


def test_a_graph_that_takes_little_of_the_time_leads_no_report_and_flags_none() -> None:
    analysis = simulated([*runs(HEALTHY, name="big"), Synchronize(), *runs([SHORT] * 4, name="small")])
    big, small = analysis.graph_figures
    assert (big.name, small.name, analysis.verdict) == ("big", "small", "gpu-bound")
    assert small.flagged
    assert small.time_share < 0.05 < 0.9 < big.time_share
    assert not analysis.flagged
    assert not analysis.undecided
    assert {(each.id, each.graph) for each in analysis.findings} == {("gpu-bound", "big")}
    assert f"Its 6 runs, warm-up included, take {percent(big.time_share)} of the trace's time." in worth(analysis)
    assert any("1 graph over the threshold" in note for note in notes(analysis))


def test_many_small_graphs_that_wait_flag_a_trace_together() -> None:
    small = [part for number in range(4) for part in runs([SHORT] * (4 + number), name="abcd"[number])]
    analysis = simulated([*runs([Launch("gemm", 400_000)] * 2, name="big"), Synchronize(), *small])
    assert max(graph.time_share for graph in analysis.graph_figures if graph.flagged) < 0.05
    assert analysis.graph_figures[0].name == "big"
    assert analysis.flagged


def test_of_many_small_graphs_it_is_told_what_they_take_together() -> None:
    small = simulated([part for number in range(30) for part in runs([SHORT] * 4, name="n" * (number + 1))])
    assert max(graph.time_share for graph in small.graph_figures) < 0.05
    assert small.flagged
    assert "The 30 graphs over the threshold take" in worth(small)


def test_a_range_without_a_name_says_so() -> None:
    analysis = simulated(runs([SHORT] * 4, name=""))
    assert headline(analysis).startswith("(no name) is ")
    assert "In a run of `(no name)`" in analysis.findings[0].message


def test_a_graph_that_is_all_there_is_leads_and_its_share_is_told() -> None:
    analysis = simulated([*runs([SHORT] * 4, name="small"), Host(100_000_000), SHORT])
    assert analysis.verdict == "launch-bound"
    assert analysis.flagged
    assert worth(analysis).startswith("Its 6 runs, warm-up included, take only <0.1 % of the trace's time.")
    assert worth(analysis).endswith("pays in a run, and runs are little of the trace.")


@pytest.mark.parametrize("threshold", [0.0, 0.02, 0.1, 0.2, 0.5, 1.0])
def test_no_verdict_stands_without_its_finding_which_is_the_first(
    real_traces: Path, samples: Path, threshold: float
) -> None:
    names = ["beast_v100_a", "gtls_rtx3060", "vecadd_2025_5", "kmeans_rtx3080", "darknet19_infer_gtx1650"]
    for path in [*(real_traces / f"{name}.sqlite" for name in names), *sorted(samples.glob("*.sqlite"))]:
        analysis = advisor.analyze(path, threshold=threshold)
        graph = analysis.graph_figures[0]
        first = analysis.findings[0]
        assert (first.id, first.graph) == (graph.verdict, None if graph.source == "trace" else graph.name), path.name


def test_a_full_gpu_whose_launches_cost_something_is_told_what_removes_them() -> None:
    analysis = analysed([Host(115_000), Launch("gemm", 110_000)] * 8)
    finding = the(analysis, "gpu-bound")
    assert (analysis.verdict, finding.severity) == ("gpu-bound", "medium")
    assert finding.saving_ns
    assert "Capture a run as a CUDA graph" in finding.advice


def test_findings_stand_by_severity_and_then_by_saving() -> None:
    body: list[Operation] = [
        *[SHORT] * 12,
        Synchronize(Stream()),
        CREATE,
        *[SHORT] * 4,
        Synchronize(Stream()),
        MALLOC,
        SHORT,
    ]
    findings = analysed(body, SLOW_WAKE, between=[Host(700_000)]).findings
    assert len(findings) >= 4
    severities = [list(SEVERITIES).index(finding.severity) for finding in findings]
    assert severities == sorted(severities)
    # Savings are per run, or over the whole trace.
    savings = [
        (list(SEVERITIES).index(each.severity), -(each.saving_ns or (0, 0))[1] * max(each.evidence["runs"], 1))
        for each in findings
    ]
    assert savings == sorted(savings)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_page(rule: str) -> None:
    page = RULES[rule].page(60)
    assert page.startswith(f"{rule}: ")
    assert max(map(len, page.splitlines())) <= 60
    for heading in ("What it means", "How it is found", "What to do", "When it is wrong"):
        assert f"\n{heading}\n  " in page


def test_every_verdict_can_be_explained() -> None:
    assert {*VERDICTS.values(), GPU_BOUND, CANNOT_DECIDE} <= set(RULES)


def check(findings: Sequence[Finding]) -> None:
    """What every finding keeps to."""
    for finding in findings:
        assert finding.id in RULES
        assert finding.severity in SEVERITIES
        assert finding.evidence["share"] >= 0
        assert json.loads(json.dumps(asdict(finding)))["evidence"] == finding.evidence
        for text in (finding.message, finding.advice):
            assert text.endswith(".")
            assert "\n" not in text
        # A saving is predicted, and said to be.
        if "save" in finding.advice and finding.saving_ns and finding.saving_ns[0]:
            assert "predicted" in finding.advice


@pytest.mark.parametrize(
    ("sample", "first"),
    [
        ("launch_bound_decode", ("launch-bound", "decode_token", "high")),
        ("gpu_bound_cnn", ("gpu-bound", "infer", "info")),
        ("sync_bound_loop", ("sync-bound", "step", "high")),
        ("cuda_graph_replay", ("graph-bound", "CUDA graph 1", "high")),
    ],
)
def test_the_samples_are_found_to_be_what_they_were_made_to_be(
    samples: Path, sample: str, first: tuple[str, str, str]
) -> None:
    assert sample in SAMPLES
    findings = advisor.analyze(advisor.read_trace(samples / f"{sample}.sqlite")).findings
    assert (findings[0].id, findings[0].graph, findings[0].severity) == first
    check(findings)


# What we would tell the authors of these programs, and why.
REAL: dict[str, tuple[dict[tuple[str, str | None], str], set[str]]] = {
    # 24 kernels a token, and 8.1 of 8.7 ms in which no CUDA call runs: the simulated model sleeps on the CPU. Its gap
    # ratio is over the threshold, but removing every launch saves 3 %: that is worth a word, not an alarm.
    "llama3_sim_2024_6": (
        {("host-bound", "token_#_processing"): "high", ("launch-bound", "token_#_processing"): "info"},
        {"gpu-bound"},
    ),
    # Two kernels of 4 to 6 us in a data-dependent loop: launches cost 27 % of the trace. Its kernels are its own, so
    # no chain is offered. More than that is the host's: setting up, checking, and waiting with unified memory.
    "gomory_rtx3090_2025_5": ({("host-bound", None): "high", ("launch-bound", None): "high"}, {"gpu-bound"}),
    # Flash attention and large products keep both GPUs busy, before and after; fusing launches away is not the lever.
    "mfu_2gpu_before": ({("gpu-bound", "iteration on device 0"): "info"}, {"launch-bound", "dispatch-bound"}),
    "mfu_2gpu_after": ({("gpu-bound", "iteration on device 0"): "medium"}, {"launch-bound", "dispatch-bound"}),
    # Instant-NGP's training step is a CUDA graph already, its kernels overlap on four streams, and nothing idles.
    "cudagraph_window_rtx3070": ({("gpu-bound", "CUDA graph 2"): "info"}, {"graph-bound", "launch-bound"}),
    # One image: 77 kernels of 98 us on a small GPU. Launches are hidden; fusing normalisation into convolutions may
    # still save memory traffic.
    "darknet19_infer_gtx1650": ({("gpu-bound", None): "info"}, {"launch-bound", "turnaround-bound"}),
    # Training that creates streams and loads kernels all along; the figures are of start-up, and say so.
    "darknet19_train_gtx1650": ({("api-bound", None): "high", ("loading-bound", None): "medium"}, {"launch-bound"}),
    # DNN serving: 385 launches a request, 15 of 26 ms in the framework between them.
    "abacus_titanrtx_a": ({("dispatch-bound", "iteration"): "high"}, {"gpu-bound"}),
    # Six read-backs of 8 bytes around each kernel, and the host's routing code between them. What idles longest is the
    # set-up before.
    "brainstorm_moe_rtx3090": (
        {("host-bound", "iteration"): "high", ("blocking-copies", "iteration"): "high"},
        {"gpu-bound"},
    ),
    # A benchmark of one fused kernel a run: nothing left to fuse in it, and a graph would be launched as well.
    "hvd_v100_fusion": ({("launch-bound", "test"): "high", ("dispatch-bound", None): "high"}, {"gpu-bound"}),
    # Three quarters of the works are migrations of unified memory: no launch call tells why the GPU waited.
    "clue_t4_2streams": ({("cannot-decide", None): "high"}, {"launch-bound", "gpu-bound"}),
    # One kernel over a gigabyte of unified memory: migrations, which nobody launched, are all there is beside it.
    "uvm_a100": ({("cannot-decide", None): "medium"}, {"launch-bound"}),
    # Two kernels, recorded while they were loaded.
    "mock_rtx3080": ({("loading-bound", None): "high"}, {"gpu-bound"}),
    # A solver of 8,190 kernels of 350 us, each waited for: the GPU is full all the same.
    "rodinia_gaussian": ({("gpu-bound", "iteration"): "info"}, {"sync-bound", "launch-bound"}),
    # Setting parameters with small blocking copies in every step, and host code in between.
    "mordred_rtx6000": (
        {("host-bound", "iteration"): "high", ("blocking-copies", "iteration"): "medium"},
        {"launch-bound"},
    ),
}


@pytest.mark.parametrize("name", REAL)
def test_what_real_traces_are_told(real_traces: Path, name: str) -> None:
    expected, absent = REAL[name]
    findings = advisor.analyze(advisor.read_trace(real_traces / f"{name}.sqlite")).findings
    found: dict[Any, str] = {}
    for finding in findings:
        found.setdefault((finding.id, finding.graph), finding.severity)
    assert {key: found.get(key) for key in expected} == expected
    assert not absent & {rule for rule, _ in found}
    check(findings)


def test_the_prediction_for_a_real_decode_is_a_small_share(real_traces: Path) -> None:
    # 8 chains of 24 kernels a token: their launches are 2 % of a run that mostly sleeps.
    analysis = advisor.analyze(advisor.read_trace(real_traces / "llama3_sim_2024_6.sqlite"))
    (levers,) = (
        each for each, graph in zip(analysis.levers, analysis.graph_figures, strict=True) if graph.variant == 0
    )
    low, high = levers.fusion_ns
    assert 0 < low < high < 0.03 * analysis.graph_figures[0].span_ns


def test_nodes_on_the_cpu_wait_for_no_gpu_and_have_no_cuda_graph() -> None:
    trace = to_trace(simulate(runs([Host(30_000), Launch("Relu", 1_500)] * 12), MACHINE))
    cpu = replace(trace, devices=tuple(replace(device, name="CPU", gpu=False) for device in trace.devices))
    analysis = advisor.analyze(cpu)
    finding = the(analysis, "dispatch-bound")
    assert "the CPU waits" in finding.message
    assert "CUDA" not in finding.advice
    assert analysis.levers[0].capture_ns is None
    assert the(advisor.analyze(trace), "dispatch-bound").evidence["capture_ns"] is not None

"""What the gate says of two builds: the verdict that a user relies on, and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pytest

from advisor.gate.compare import compare
from advisor.gate.kernels import KernelChange
from advisor.gate.measures import TIMES
from advisor.gate.policy import Policy, Thresholds, Waiver
from advisor.gate.result import Comparison, GraphResult, Status, Verdict
from advisor.gate.runs import load_run
from advisor.report.comparison_annotations import comparison_annotations
from advisor.report.comparison_words import headline
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
    Synchronize,
)
from tests.gate.simulated import KERNELS, NOISY, drifting, loop, recording, step

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.gate.runs import Recording

BASE = recording(loop(step()))


def only(comparison: Comparison) -> GraphResult:
    (graph,) = comparison.graphs
    return graph


def regressed(comparison: Comparison) -> set[str]:
    return {row.measure for graph in comparison.graphs for row in graph.regressions}


def reasons(comparison: Comparison) -> str:
    return "; ".join(reason for _, reason in comparison.undecided)


def against_base(*extra: Operation, base: Recording = BASE, **changes: object) -> Comparison:
    return compare([base], [recording(loop(step(*extra, **changes)))])  # type: ignore[arg-type]


# Counts are certain


def test_a_run_against_itself_passes() -> None:
    comparison = compare([BASE], [BASE])
    assert comparison.verdict is Verdict.PASS
    assert only(comparison).status is Status.UNCHANGED
    assert not only(comparison).kernels


@pytest.mark.parametrize(
    ("extra", "measures"),
    [
        pytest.param(Launch("extra", 1_500), {"kernels", "launch_calls"}, id="kernel"),
        pytest.param(Synchronize(), {"synchronisations"}, id="synchronisation"),
        pytest.param(Call("cudaMalloc_v3020", CallKind.MEMORY, 9_000), {"allocations"}, id="allocation"),
        pytest.param(Copy(1_000), {"copies", "launch_calls"}, id="copy"),
    ],
)
def test_one_more_of_anything_per_execution_fails(extra: Operation, measures: set[str]) -> None:
    comparison = against_base(extra)
    assert comparison.verdict is Verdict.FAIL
    assert measures <= regressed(comparison)
    rows = {row.measure: row for row in only(comparison).measures}
    assert all(rows[measure].basis == "count" and rows[measure].change == 1 for measure in measures)


def test_the_new_kernel_is_named() -> None:
    kernels = only(against_base(Launch("extra", 1_500))).kernels
    assert kernels is not None
    assert kernels.new == (KernelChange("extra", 1),)
    assert not kernels.gone


def test_a_launch_between_executions_fails_too() -> None:
    current = recording(loop(step(), [Launch("outside", 1_000)]))
    assert regressed(compare([BASE], [current])) >= {"launches_between"}


def test_fewer_kernels_are_an_improvement() -> None:
    comparison = against_base(kernels=KERNELS[:-1])
    assert comparison.verdict is Verdict.PASS
    assert only(comparison).status is Status.IMPROVED
    assert only(comparison).kernels is not None


def test_another_kernel_in_a_ones_place_is_named_and_no_regression() -> None:
    comparison = against_base(kernels=("norm", "gemm", "fast_gelu", *KERNELS[3:]))
    assert comparison.verdict is Verdict.PASS
    kernels = only(comparison).kernels
    assert kernels is not None
    assert (kernels.new, kernels.gone) == ((KernelChange("fast_gelu", 1),), (KernelChange("gelu", 1),))


def captured(times: int = 12, kernels: tuple[str, ...] = KERNELS, *, whole: bool = False) -> list[Operation]:
    launches: list[Operation] = [Launch(kernel, 2_000) for kernel in kernels]
    capture: list[Operation] = [BeginCapture(), *launches, EndCapture(1), Instantiate(1)]
    replay: list[Operation] = [LaunchGraph(1, whole=whole), Synchronize(), Host(20_000)]
    return [*capture, *(replay * times)]


def test_a_kernel_more_inside_a_cuda_graph_fails() -> None:
    comparison = compare([recording(captured())], [recording(captured(kernels=(*KERNELS, "extra")))])
    assert "kernels" in regressed(comparison)


def test_capturing_the_launches_as_a_cuda_graph_is_no_regression() -> None:
    replays = [*captured(times=0), *loop(step(LaunchGraph(1), kernels=()))]
    comparison = compare([BASE], [recording(replays)])
    assert comparison.verdict is Verdict.PASS
    assert only(comparison).status is Status.IMPROVED


def test_more_kernels_in_place_of_launch_calls_are_left_to_the_times() -> None:
    replays = [*captured(times=0, kernels=(*KERNELS, "extra")), *loop(step(LaunchGraph(1), kernels=()))]
    comparison = compare([BASE], [recording(replays)])
    assert comparison.verdict is Verdict.PASS
    rows = {row.measure: row for row in only(comparison).measures}
    assert (rows["kernels"].status, rows["kernels"].reason) == (Status.WORSE, "for fewer launch calls")


def test_an_allocation_now_and_then_is_told_from_noise() -> None:
    allocate = Call("cudaMalloc_v3020", CallKind.MEMORY, 9_000)

    def run(every: int) -> Recording:
        steps = [step(allocate) if number % every == 0 else step() for number in range(60)]
        return recording([operation for part in steps for operation in part])

    assert compare([run(20)], [run(19)]).verdict is Verdict.PASS
    assert "allocations" in regressed(compare([run(20)], [run(2)]))


# Distributions


def test_a_longer_gap_fails_with_its_interval() -> None:
    before, after = (recording(loop(step(host_ns=ns), times=16), NOISY, seed) for seed, ns in ((1, 5_000), (2, 6_500)))
    comparison = compare([before], [after])
    row = next(row for row in only(comparison).regressions if row.measure == "fusible_gap")
    assert row.low is not None
    assert row.change is not None
    assert row.high is not None
    assert 0 < row.low < row.change < row.high
    assert row.p_adjusted is not None
    assert row.p_adjusted <= 0.01


def test_faster_kernels_are_no_regression_though_the_ratio_rises() -> None:
    before, after = (recording(loop(step(duration=ns)), NOISY, seed) for seed, ns in ((1, 3_500), (2, 2_500)))
    # The host launches at its own pace: the GPU idles longer by what its kernels became faster.
    comparison = compare([before], [after])
    rows = {row.measure: row for row in only(comparison).measures}
    assert rows["gap_ratio"].change is not None
    assert rows["gap_ratio"].change > 0.02
    assert rows["time"].change is not None
    assert rows["time"].change <= 0
    assert comparison.verdict is Verdict.PASS


def test_slower_kernels_are_shown_and_no_launch_overhead() -> None:
    queue = {"host_ns": 1_000, "duration": 40_000}
    before = recording(loop(step(**queue)))  # type: ignore[arg-type]
    after = recording(loop(step(**(queue | {"duration": 60_000}))))  # type: ignore[arg-type]
    comparison = compare([before], [after])
    assert comparison.verdict is Verdict.PASS
    assert {row.measure for row in only(comparison).measures if row.status is Status.WORSE} >= {"time", "busy"}
    judged = Policy(Thresholds(judge=("time", "span")))
    assert regressed(compare([before], [after], judged)) == {"time", "span"}


def test_a_slower_launch_call_is_found_before_the_gpu_feels_it() -> None:
    busy = {"duration": 60_000, "host_ns": 3_000}
    before = recording(loop(step(**busy)), NOISY, 1)  # type: ignore[arg-type]
    after = recording(loop(step(**busy)), replace(NOISY, launch_call_ns=7_000), 2)  # type: ignore[arg-type]
    comparison = compare([before], [after])
    assert regressed(comparison) == {"launch_call"}
    rows = {row.measure: row for row in only(comparison).measures}
    assert rows["time"].relative == pytest.approx(0, abs=0.02)


def test_a_pause_that_crosses_the_dispatch_limit_is_no_new_idle_time() -> None:
    # 248 us between launches are dispatch, 252 us are the host's own: the GPU idles as long.
    before = recording(loop(step(Host(248_000), Launch("last", 1_000)), times=16))
    after = recording(loop(step(Host(252_000), Launch("last", 1_000)), times=16))
    comparison = compare([before], [after])
    assert comparison.verdict is Verdict.PASS
    assert compare([after], [before]).verdict is Verdict.PASS


def test_a_new_pause_of_the_host_fails() -> None:
    before = recording(loop(step(), times=16))
    after = recording(loop(step(Synchronize(), Host(400_000), Launch("add", 2_000)), times=16))
    assert regressed(compare([before], [after])) >= {"host"}


def test_drift_between_runs_is_measured_once_there_are_several() -> None:
    machine = drifting(4)
    runs = [recording(loop(step()), machine, seed) for seed in range(8)]
    slower = [recording(loop(step(host_ns=6_000)), machine, 100 + seed) for seed in range(4)]
    assert compare(runs[:4], runs[4:]).verdict is Verdict.PASS
    row = next(row for row in only(compare(runs[:4], slower)).measures if row.measure == "fusible_gap")
    assert row.required is not None
    assert row.baseline is not None
    # More than the assumed 1 % would ask for.
    assert row.required > 0.053 * row.baseline


def test_too_few_runs_are_told_where_a_time_is_red() -> None:
    slower = recording(loop(step(host_ns=6_500)))
    assert any("three runs or more" in note for note in compare([BASE], [slower]).notes)
    assert not any("three runs or more" in note for note in compare([BASE] * 3, [slower] * 3).notes)
    # A count is certain, however few the runs.
    assert not any("three runs or more" in note for note in against_base(Synchronize()).notes)


def test_runs_of_two_speeds_are_no_regression() -> None:
    def runs(*paces: int) -> list[Recording]:
        return [recording(loop(step(host_ns=ns)), NOISY, seed) for seed, ns in enumerate(paces)]

    fast, slow = 5_000, 7_000
    mostly_fast, mostly_slow = runs(fast, slow, fast, fast, slow), runs(slow, fast, slow, fast, slow)
    assert compare(mostly_fast, mostly_slow).verdict is Verdict.PASS
    assert compare(runs(*[fast] * 5), runs(*[slow] * 5)).verdict is Verdict.FAIL


def test_runs_that_alternate_are_compared_in_pairs() -> None:
    # Each pair was recorded at another pace of the machine, by up to 30 %.
    paces = (1.0, 1.3, 0.8, 1.15, 0.9)

    def runs(host_ns: float, seed: int) -> list[Recording]:
        return [
            recording(loop(step(host_ns=round(host_ns * pace))), NOISY, seed + number)
            for number, pace in enumerate(paces)
        ]

    before, after = runs(6_000, 0), runs(7_200, 50)
    assert compare(before, after).verdict is Verdict.PASS
    assert compare(before, after, paired=True).verdict is Verdict.FAIL
    assert compare(before, runs(6_000, 90), paired=True).verdict is Verdict.PASS


# What cannot be compared is never green


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gpus": ("Another GPU",)}, "another GPU"),
        ({"kind": "pytorch"}, "another format"),
        ({"matched": BASE.work // 2}, "low coverage"),
        ({"kernel_launches": 100, "kernels_missing": 6}, "6 of 100 kernels that were launched are not in the trace"),
        ({"work": 0, "matched": 0, "samples": ()}, "no GPU work"),
        ({"diagnostics": ("Some events were lost.",)}, "lost events"),
        ({"samples": ()}, "not found in the current runs"),
    ],
)
def test_what_cannot_be_compared_is_undecided(change: dict[str, object], words: str) -> None:
    comparison = compare([BASE], [replace(BASE, **change)])  # type: ignore[arg-type]
    assert comparison.verdict is Verdict.UNDECIDED
    assert words in reasons(comparison)


def test_a_report_and_its_export_are_one_format() -> None:
    exported, reported = (replace(BASE, kind=kind) for kind in ("nsys-sqlite", "nsys-rep"))
    assert compare([exported], [reported]).verdict is Verdict.PASS
    assert compare([exported], [replace(BASE, kind="torch-profile")]).verdict is Verdict.UNDECIDED


def test_another_model_is_not_compared() -> None:
    before, after = (replace(BASE, model_sha256=digest) for digest in ("aa", "bb"))
    assert "another model" in reasons(compare([before], [after]))
    # Where one side does not tell, there is nothing to hold against it.
    assert compare([before], [BASE]).verdict is Verdict.PASS


def test_a_baseline_that_does_not_tell_its_model_is_held_against_none_that_is_given() -> None:
    given = replace(BASE, model_sha256="1" * 64)
    comparison = compare([BASE], [given])
    assert comparison.verdict is Verdict.UNDECIDED
    assert "which model ran" in reasons(comparison)
    assert compare([given], [BASE]).verdict is Verdict.PASS


def runs(
    percent: float, *, times: int = 16, host_ns: int = 5_000, seed: int = 0, name: str = "step"
) -> list[Recording]:
    """Three runs of one build that differ by so many per cent."""
    program = loop(step(host_ns=host_ns, name=name), times=times)
    return [recording(program, drifting(percent), seed + number, name=f"run {number}") for number in range(3)]


def test_where_no_time_could_be_red_nothing_is_decided() -> None:
    """Green would only say that the level is too strict for so few executions."""
    before, after = runs(1), runs(1, seed=10)
    assert compare(before, after).verdict is Verdict.PASS
    strict = compare(before, after, Policy(Thresholds(level=1e-9)))
    assert (strict.verdict, only(strict).status) == (Verdict.UNDECIDED, Status.UNDECIDED)
    needed = int(reasons(strict).split(" executions in each run")[0].rsplit(" ", 1)[-1])
    assert 16 < needed < 50
    more = compare(runs(1, times=needed + 1), runs(1, times=needed + 1, seed=10), Policy(Thresholds(level=1e-9)))
    assert not only(more).unguarded
    # A count that rose is certain all the same.
    worse = [recording(loop(step(Launch("extra", 1_500)), times=16), NOISY, seed) for seed in range(3)]
    assert compare(before, worse, Policy(Thresholds(level=1e-9))).verdict is Verdict.FAIL


def test_where_runs_of_one_build_differ_by_more_than_any_regression_nothing_is_decided() -> None:
    before, after = runs(90, seed=3), runs(90, seed=20)
    comparison = compare(before, after)
    assert comparison.verdict is Verdict.UNDECIDED
    assert "times could double unseen" in reasons(comparison)
    # Who says that counts are enough is taken at their word.
    times = tuple(measure.key for measure in TIMES)
    assert compare(before, after, Policy(Thresholds(ignore=times))).verdict is Verdict.PASS


def test_one_graph_of_several_whose_times_are_not_guarded_passes_loudly() -> None:
    rare = Policy(graphs={"rare": {"level": 1e-9}})
    before, after = (
        [recording(loop(step(), step(name="rare"), times=16), NOISY, seed + number) for number in range(3)]
        for seed in (0, 10)
    )
    comparison = compare(before, after, rare)
    assert comparison.verdict is Verdict.PASS
    assert {graph.name: bool(graph.unguarded) for graph in comparison.graphs} == {"step": False, "rare": True}
    assert headline(comparison).endswith("but in rare no time could be red, only counts.")
    assert any(line.startswith("::warning title=advisor gate%3A only") for line in comparison_annotations(comparison))


def test_a_time_that_the_policy_ignores_says_so() -> None:
    before, slower = (recording(loop(step(host_ns=ns), times=16), NOISY, seed) for seed, ns in ((1, 5_000), (2, 9_000)))
    comparison = compare([before], [slower], Policy(Thresholds(ignore=("fusible_gap",))))
    row = next(row for row in only(comparison).measures if row.measure == "fusible_gap")
    assert (row.status, row.reason) == (Status.WORSE, "ignored by the policy")


def test_quite_other_kernels_are_another_graph() -> None:
    comparison = against_base(kernels=("conv", "relu", "pool", "conv", "relu", "gemm"))
    assert comparison.verdict is Verdict.UNDECIDED
    assert "counterpart" in reasons(comparison)


def test_too_few_executions_are_undecided() -> None:
    comparison = compare([BASE], [recording(loop(step(), times=5))])
    assert comparison.verdict is Verdict.UNDECIDED
    assert "statistics need 8" in reasons(comparison)


def test_a_renamed_range_is_undecided_and_the_likely_name_told() -> None:
    comparison = against_base(name="step_v2")
    assert comparison.verdict is Verdict.UNDECIDED
    assert "step_v2 has similar kernels (renamed?)" in reasons(comparison)


def test_cuda_graphs_recorded_as_a_whole_are_undecided() -> None:
    whole = recording(captured(whole=True))
    comparison = compare([whole], [whole])
    assert comparison.verdict is Verdict.UNDECIDED
    assert "--cuda-graph-trace=node" in reasons(comparison)


def test_a_slow_path_that_is_taken_more_often_is_not_green() -> None:
    def run(share: int) -> Recording:
        steps = [step() if number % 10 < share else step(kernels=(*KERNELS, "slow_path")) for number in range(60)]
        return recording([operation for part in steps for operation in part])

    assert compare([run(9)], [run(9)]).verdict is Verdict.PASS
    comparison = compare([run(9)], [run(3)])
    assert comparison.verdict is Verdict.UNDECIDED
    assert "same inputs" in reasons(comparison)


def test_an_odd_execution_is_no_regression_and_half_of_them_are_one() -> None:
    def run(odd: int) -> Recording:
        steps = [step(Launch("odd", 1_000)) if number < odd else step() for number in range(20)]
        return recording([operation for part in reversed(steps) for operation in part])

    assert compare([run(0)], [run(1)]).verdict is Verdict.PASS
    assert "kernels" in regressed(compare([run(0)], [run(10)]))


def test_a_certain_regression_is_red_though_another_graph_is_missing() -> None:
    before = recording(loop(step(), step(name="other", kernels=("a", "b", "c"))))
    after = recording(loop(step(Launch("extra", 1_000))))
    comparison = compare([before], [after])
    assert comparison.verdict is Verdict.FAIL
    assert "not found" in reasons(comparison)


def test_whole_programs_of_different_length_are_undecided() -> None:
    def program(kernels: int) -> Recording:
        return recording([Launch(f"k{number * number % 97}", 1_000 + number) for number in range(kernels)])

    comparison = compare([program(40)], [program(44)])
    assert comparison.verdict is Verdict.UNDECIDED
    assert "different length" in reasons(comparison)
    # Equal counts say nothing about one execution's times.
    assert compare([program(40)], [program(40)]).verdict is Verdict.UNDECIDED
    many = [program(40) for _ in range(8)]
    assert compare(many, many).verdict is Verdict.PASS


def test_cuda_graphs_are_found_again_under_another_number() -> None:
    other: list[Operation] = [
        BeginCapture(), Launch("a", 900), Launch("b", 900), EndCapture(5), Instantiate(5)
    ]  # fmt: skip
    before, after = recording(captured(20)), recording([*other, LaunchGraph(5), *captured(20)])
    assert {samples.graph for samples in before.samples} != {samples.graph for samples in after.samples}
    comparison = compare([before], [after])
    assert comparison.verdict is Verdict.PASS, reasons(comparison)


# Budgets and waivers


def test_a_budget_needs_no_baseline() -> None:
    def verdict(**budgets: float) -> Verdict:
        return compare([], [BASE], Policy(budgets=budgets)).verdict

    assert verdict(launches=8) is Verdict.PASS
    assert verdict(launches=7) is Verdict.FAIL
    assert verdict(gap_ratio=0.95, synchronisations=1) is Verdict.PASS
    assert verdict(gap_ratio=0.20) is Verdict.FAIL
    assert verdict(latency_ratio=1.0) is Verdict.UNDECIDED


def test_a_budget_that_the_trace_cannot_decide_is_undecided() -> None:
    whole = recording(captured(whole=True))
    assert compare([], [whole], Policy(budgets={"gap_ratio": 0.5})).verdict is Verdict.UNDECIDED


def test_a_graphs_own_policy_wins() -> None:
    current = recording(loop(step(host_ns=5_700)))
    assert compare([BASE], [current]).verdict is Verdict.FAIL
    assert compare([BASE], [current], Policy(graphs={"st*": {"min_effect": 0.3}})).verdict is Verdict.PASS
    assert compare([BASE], [BASE], Policy(graphs={"step": {"budgets": {"kernels": 3.0}}})).verdict is Verdict.FAIL


def test_a_graphs_own_budget_that_holds_nothing_is_undecided() -> None:
    policy = Policy(graphs={"decode_*": {"budgets": {"launches": 100.0}}})
    comparison = compare([], [BASE], policy)
    assert comparison.verdict is Verdict.UNDECIDED
    assert comparison.undecided == (("decode_*", "launches: no graph to hold it against"),)


def test_a_waiver_holds_until_its_day() -> None:
    current = recording(loop(step(Synchronize())))
    waiver = Waiver("step/*", "the new sampler", date(2027, 1, 31))
    policy = Policy(waivers=(waiver,))
    waived = compare([BASE], [current], policy, today=date(2027, 1, 31))
    assert waived.verdict is Verdict.PASS
    assert only(waived).status is Status.WAIVED
    late = compare([BASE], [current], policy, today=date(2027, 2, 1))
    assert late.verdict is Verdict.FAIL
    assert any("ended on 2027-01-31" in note for note in late.notes)
    unused = compare([BASE], [BASE], policy, today=date(2027, 1, 1))
    assert any("covers nothing any more" in note for note in unused.notes)


def test_a_name_with_brackets_is_meant_as_it_is_written() -> None:
    before, after = (recording(loop(step(*extra, name="batch[0]"))) for extra in ((), (Synchronize(),)))
    assert compare([before], [after]).verdict is Verdict.FAIL
    waiver = Waiver("batch[0]/synchronisations", "planned", date(2027, 1, 31))
    waived = compare([before], [after], Policy(waivers=(waiver,)), today=date(2027, 1, 1))
    assert {row.measure for row in only(waived).measures if row.status is Status.WAIVED} == {"synchronisations"}
    own = Policy(graphs={"batch[0]": {"budgets": {"launches": 1.0}}})
    assert compare([], [before], own).verdict is Verdict.FAIL


def test_a_waiver_covers_nothing_else() -> None:
    current = recording(loop(step(Synchronize())))
    policy = Policy(waivers=(Waiver("step/kernels", "planned", date(2027, 1, 31)),))
    assert compare([BASE], [current], policy, today=date(2026, 1, 1)).verdict is Verdict.FAIL


# Real traces


def test_a_real_trace_against_itself_is_green(real_traces: Path) -> None:
    run = load_run(real_traces / "mfu_2gpu_before.sqlite")
    comparison = compare([run], [run])
    assert comparison.verdict is Verdict.PASS
    assert len(comparison.graphs) == 2


def test_the_verdict_on_a_real_change(real_traces: Path) -> None:
    """Two windows of 300 ms of one diffusion job, without NVTX, on two GPUs.

    Both builds launch the same 119 kernels an iteration in the same order, and each kernel takes the same time (busy
    time per iteration differs by 2 %). What changed is the time between them: launch calls take 40 to 60 % longer,
    the launch gap of an iteration is 3 to 7 times as long, and an iteration takes 18.6 instead of 16.6 ms. Whatever
    the change was meant to do, in these windows the GPUs wait longer for launches: that is a regression of launch
    overhead, on both devices, and no count explains it. The windows hold 15 and 14 iterations: per iteration they
    compare, as whole programs (4,010 and 3,587 kernels) they would not.
    """
    before, after = (load_run(real_traces / f"mfu_2gpu_{name}.sqlite") for name in ("before", "after"))
    comparison = compare([before], [after])
    assert comparison.verdict is Verdict.FAIL
    for graph in comparison.graphs:
        assert graph.status is Status.REGRESSED
        assert not graph.kernels
        rows = {row.measure: row for row in graph.measures}
        assert {"fusible_gap"} <= {row.measure for row in graph.regressions} <= {"fusible_gap", "launch_call"}
        assert all(row.change == 0 for row in graph.measures if row.basis == "count")
        assert rows["kernels"].baseline == 119
        assert rows["busy"].relative == pytest.approx(0, abs=0.03)
        assert rows["fusible_gap"].relative is not None
        assert rows["fusible_gap"].relative > 1.5
    assert compare([after], [before]).verdict is Verdict.PASS


def test_two_real_programs_are_never_compared(real_traces: Path) -> None:
    one, other = (load_run(real_traces / f"{name}.sqlite") for name in ("llama3_sim_2024_6", "rodinia_gaussian"))
    assert compare([one], [other]).verdict is Verdict.UNDECIDED

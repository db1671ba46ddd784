"""The analysis equals the truth of simulated programs, to the nanosecond, whatever form the export takes.

The simulator knows why each device was idle because it made it so; it shares no code with the analysis.
"""

from __future__ import annotations

import statistics
import tempfile
from collections import defaultdict
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import advisor
from sample_traces.nsys_export import GENERATIONS, gpus_known, write
from sample_traces.operations import (
    Call,
    CallKind,
    Host,
    Launch,
    Migrate,
    Operation,
    Overhead,
    Push,
    Stream,
    Synchronize,
)
from sample_traces.programs import SAMPLES
from sample_traces.simulator import Jitter, Machine, Process, simulate
from sample_traces.trace import to_trace
from sample_traces.truth import CAUSES, explain
from tests.simulated_programs import machines, programs, simulated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sample_traces.run import NvtxEvent, Run
    from sample_traces.truth import RegionTruth, Truth
    from tests.simulated_programs import Simulated

many = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
some = settings(many, max_examples=40)

ADDITIVE = ("exposed_gap_ns", "launch_gap_ns", "fusible_gap_ns")
GRAPH_FIGURES = ("instances", "warmup", "kernels_per_instance", "span_ns", "busy_ns", *ADDITIVE)


def analysed(
    run: Run,
    generation: str = "3.24",
    *,
    region: str | None = None,
    dispatch_limit_ns: int = 250_000,
    **options: Any,
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.sqlite"
        write(run, path, generation, **options)
        trace = advisor.read_trace(path)
        return advisor.analyze(trace, region=region, dispatch_limit_ns=dispatch_limit_ns).to_dict()


def causes_of(row: dict[str, Any]) -> dict[str, int]:
    return {str(cause): ns for cause, ns in row["causes"].items() if ns}


def present(causes: dict[str, int]) -> dict[str, int]:
    return {cause: ns for cause, ns in causes.items() if ns}


def said(document: dict[str, Any]) -> dict[str, Any]:
    """The figures of an analysis that the simulator knows."""
    totals, coverage = document["totals"], document["coverage"]
    return {
        "totals": {key: totals[key] for key in ("span_ns", "busy_ns", *ADDITIVE)} | {"causes": causes_of(totals)},
        "calls": {key: totals[key] for key in ("kernels", "launch_calls", "graph_launches")},
        "coverage": {key: coverage[key] for key in ("work", "matched", "orphans", "skewed", "graph_level")},
        "unclosed_ranges": coverage["unclosed_ranges"],
        "devices": sorted(
            (row["span_ns"], row["busy_ns"], row["exposed_gap_ns"], sorted(causes_of(row).items()))
            for row in document["devices"]
        ),
        "kernels": {
            row["name"]: {key: row[key] for key in ("count", "duration_ns", "queue_ns", "launch_latency_ns", *ADDITIVE)}
            | {"causes": causes_of(row)}
            for row in document["kernels"]
            if row["kind"] == "kernel"
        },
    }


def known(truth: Truth) -> dict[str, Any]:
    """The same figures as the simulator knows them."""
    coverage = truth.coverage
    works = defaultdict(list)
    for part in truth.works:
        if part.work.kind == "kernel":
            works[part.work.name].append(part)
    return {
        "totals": {key: getattr(truth, key) for key in ("span_ns", "busy_ns", *ADDITIVE)}
        | {"causes": present(truth.causes)},
        "calls": {key: getattr(coverage, key) for key in ("kernels", "launch_calls", "graph_launches")},
        "coverage": {key: getattr(coverage, key) for key in ("work", "matched", "orphans", "skewed", "graph_level")},
        "unclosed_ranges": coverage.unclosed_ranges,
        "devices": sorted(
            (device.span_ns, device.busy_ns, device.exposed_gap_ns, sorted(present(device.causes).items()))
            for device in truth.devices
        ),
        "kernels": {
            kernel.name: {key: getattr(kernel, key) for key in ("count", "duration_ns", *ADDITIVE)}
            | {
                "queue_ns": sum(part.queue_ns for part in works[kernel.name]),
                "launch_latency_ns": sum(part.launch_latency_ns for part in works[kernel.name]),
                "causes": present(kernel.causes),
            }
            for kernel in truth.kernels
        },
    }


@given(simulated())
@many
def test_the_analysis_says_what_was_simulated(case: Simulated) -> None:
    truth = explain(case.run, gpus_known=gpus_known(case.generation))
    assert said(analysed(case.run, case.generation)) == known(truth)


FORMS = {
    "permute": st.integers(0, 9),
    "renumber": st.integers(0, 9),
    "shift_ns": st.integers(0, 1 << 50),
    "empty_tables": st.just(True),
}


@given(simulated(), st.fixed_dictionaries({}, optional=FORMS))
@some
def test_the_form_of_the_export_changes_no_figure(case: Simulated, form: dict[str, Any]) -> None:
    assume(form)
    plain = said(analysed(case.run, case.generation))
    assert said(analysed(case.run, case.generation, **form)) == plain


def renamed(program: list[Operation]) -> list[Operation]:
    return [Launch(f"other {part.kernel}", part.duration, Stream()) if isinstance(part, Launch) else part
            for part in program if isinstance(part, Launch | Host | Call)]  # fmt: skip


@given(programs(), programs(), machines(), st.sampled_from(("3.17", "3.24")))
@some
def test_an_unrelated_process_on_another_device_changes_no_figure(
    program: list[Operation], other: list[Operation], machine: Machine, generation: str
) -> None:
    machine = replace(machine, jitter=Jitter(), start_spacing_ns=1)
    mine = Process([program], pid=4242, gpus=(0,))
    unrelated = Process([renamed(other)], pid=99, gpus=(5,))
    alone = simulate([mine], machine)
    document, beside = (analysed(run, generation) for run in (alone, simulate([mine, unrelated], machine)))
    assert [row for row in beside["devices"] if row["device"] == 0] == document["devices"]
    kernels = [row for row in beside["kernels"] if row["kind"] == "kernel" and not row["name"].startswith("other")]
    of_kernels = [row for row in document["kernels"] if row["kind"] == "kernel"]
    assert sorted(kernels, key=itemgetter("name")) == sorted(of_kernels, key=itemgetter("name"))


@given(simulated(), st.sampled_from((1_000, 5_000, 100_000)))
@some
def test_the_dispatch_limit_is_the_one_asked_for(case: Simulated, limit: int) -> None:
    truth = explain(case.run, gpus_known=gpus_known(case.generation), dispatch_limit_ns=limit)
    assert said(analysed(case.run, case.generation, dispatch_limit_ns=limit)) == known(truth)


def figures(regions: list[RegionTruth]) -> dict[str, Any]:
    """What a graph's row says of its instances."""
    measured = [region for region in regions if not region.warmup] or regions

    def middle(values: Iterable[int]) -> int:
        return round(statistics.median(values))

    return {
        "instances": len(regions),
        "warmup": sum(region.warmup for region in regions),
        "kernels_per_instance": middle(len(region.kernels) for region in measured),
        "span_ns": middle(region.span_ns for region in measured),
        "busy_ns": middle(region.busy_ns for region in measured),
        "exposed_gap_ns": middle(region.exposed_gap_ns for region in measured),
        "launch_gap_ns": middle(region.launch_gap_ns for region in measured),
        "fusible_gap_ns": middle(region.fusible_gap_ns for region in measured),
        "causes": present({cause: middle(region.causes[cause] for region in measured) for cause in CAUSES}),
    }


def same_figures(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in GRAPH_FIGURES} | {"causes": causes_of(row)}


def as_multiset(rows: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items(), key=itemgetter(0))) for row in rows)


@given(simulated(graphs=True, ranges=False))
@some
def test_each_cuda_graph_launch_is_an_execution(case: Simulated) -> None:
    truth = explain(case.run, gpus_known=gpus_known(case.generation))
    graphs: dict[object, list[RegionTruth]] = defaultdict(list)
    for region in truth.regions:
        graphs[region.works[0].work.process, region.name, region.kernels].append(region)
    assume(graphs)
    rows = [row for row in analysed(case.run, case.generation)["graphs"] if row["source"] == "cuda_graph"]
    assert as_multiset(map(same_figures, rows)) == as_multiset(map(figures, graphs.values()))


@given(simulated())
@some
def test_each_range_that_launches_kernels_is_an_execution(case: Simulated) -> None:
    truth = explain(case.run, gpus_known=gpus_known(case.generation))
    decodes = [
        region for region in truth.regions
        if region.name == "decode" and any(part.work.kind in ("kernel", "graph") for part in region.works)
    ]  # fmt: skip
    graphs: dict[object, list[RegionTruth]] = defaultdict(list)
    for region in decodes:
        if not any(is_inside(region, other) for other in decodes):
            graphs[range_of(region).domain, region.kernels].append(region)
    assume(graphs)
    rows = analysed(case.run, case.generation, region=r"(^|:)decode$")["graphs"]
    assert {row["source"] for row in rows} == {"nvtx"}
    assert as_multiset(map(same_figures, rows)) == as_multiset(map(figures, graphs.values()))


def range_of(region: RegionTruth) -> NvtxEvent:
    assert region.range is not None
    return region.range


def is_inside(region: RegionTruth, other: RegionTruth) -> bool:
    inner, outer = range_of(region), range_of(other)
    assert inner.end is not None
    assert outer.end is not None
    return inner.thread == outer.thread and outer.start < inner.start and inner.end < outer.end


@pytest.mark.parametrize("name", SAMPLES)
def test_the_committed_samples_show_their_truth(samples: Path, name: str) -> None:
    truth = explain(SAMPLES[name]())
    assert said(advisor.analyze(advisor.read_trace(samples / f"{name}.sqlite")).to_dict()) == known(truth)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_generation_of_the_export_says_the_same(generation: str) -> None:
    run = SAMPLES["cuda_graph_replay"]()
    assert said(analysed(run, generation)) == said(analysed(run))


def test_rows_without_time_are_counted_and_left_out() -> None:
    run = SAMPLES["sync_bound_loop"]()
    document = analysed(run, zero_time_rows=3)
    assert document["coverage"]["zero_time"] == 3
    assert said(document) == said(analysed(run))


def test_the_profilers_warnings_are_part_of_the_result() -> None:
    document = analysed(SAMPLES["sync_bound_loop"](), warnings=["Not all CUDA events might have been collected."])
    assert any("Not all CUDA events" in text for text in document["coverage"]["diagnostics"])


def test_launches_recorded_while_capturing_are_counted_apart() -> None:
    coverage = analysed(SAMPLES["cuda_graph_replay"]())["coverage"]
    assert coverage["captured_launches"] == 24
    assert coverage["launches_without_work"] == 0


def test_an_open_range_is_counted_and_no_execution() -> None:
    program: list[Operation] = [Push("decode"), Launch("a", 1_000), Host(9_000), Launch("a", 1_000)]
    document = analysed(simulate(program))
    assert document["coverage"]["unclosed_ranges"] == 1
    assert [row["source"] for row in document["graphs"]] == ["trace"]


A = Launch("a", 1_000)  # its call takes 4,000 ns, and it starts 5,500 ns after the call began, on an idle device


@pytest.mark.parametrize(
    ("between", "second", "causes"),
    [
        # The first kernel ends 6,500 ns after its call began, 2,500 ns after the call.
        pytest.param([Host(10_000)], A, {"dispatch": 7_500, "launch": 5_500}, id="dispatch"),
        pytest.param([Host(250_000)], A, {"dispatch": 247_500, "launch": 5_500}, id="dispatch at its limit"),
        pytest.param([Host(250_001)], A, {"host": 247_501, "launch": 5_500}, id="host"),
        pytest.param([], Launch("a", 1_000, latency_ns=150_000), {"launch": 101_500, "wait": 46_000}, id="wait"),
        pytest.param([Host(10_000), Migrate(500)], A, {"unknown": 7_500, "launch": 5_000}, id="unknown"),
        pytest.param([Synchronize()], A, {"sync": 3_000, "launch": 5_500}, id="sync"),
        pytest.param([Synchronize(), Host(9_000)], A, {"sync": 3_000, "host": 9_000, "launch": 5_500}, id="sync, host"),
        pytest.param(
            [Host(5_000), Call("cudaMalloc_v3020", CallKind.MEMORY, 8_000), Host(1_000)],
            A,
            {"dispatch": 2_500, "memory": 8_000, "host": 1_000, "launch": 5_500},
            id="memory",
        ),
        pytest.param(
            [Host(5_000), Call("cuModuleLoadData", CallKind.MODULE, 8_000)],
            A,
            {"dispatch": 2_500, "module": 8_000, "launch": 5_500},
            id="module",
        ),
        pytest.param(
            [Host(5_000), Call("cudaGetLastError_v3020", CallKind.API, 800), Host(1_000)],
            A,
            {"dispatch": 3_500, "api": 800, "launch": 5_500},
            id="api, which does not end dispatch",
        ),
        pytest.param(
            [Host(5_000), Overhead(8_000), Host(1_000)],
            A,
            {"dispatch": 3_500, "profiler": 8_000, "launch": 5_500},
            id="profiler",
        ),
        pytest.param([Launch("a", 50_000)], A, {"launch": 3_000, "turnaround": 900}, id="turnaround"),
        pytest.param(
            # The third call ends in the nanosecond in which the second kernel ends: it counts as queued.
            [Launch("a", 2_500)],
            A,
            {"launch": 3_000, "turnaround": 1_500},
            id="turnaround, at its border",
        ),
        pytest.param(
            [Host(10_000)], Launch("b", 1_000), {"dispatch": 7_500, "module": 4_000, "launch": 1_500}, id="first launch"
        ),
    ],
)
def test_a_gap_is_cut_as_defined(between: list[Operation], second: Operation, causes: dict[str, int]) -> None:
    warm: list[Operation] = [A, Synchronize(), Host(1_000_000)]  # the kernel's first launch is elsewhere
    run = simulate([*warm, A, *between, second], Machine(module_load_ns=0))
    before = analysed(simulate([*warm, A], Machine(module_load_ns=0)))["totals"]["causes"]
    totals = analysed(run)["totals"]["causes"]
    assert present({str(cause): ns - before[cause] for cause, ns in totals.items()}) == causes


@given(simulated())
@some
def test_a_run_can_be_analysed_without_a_file(case: Simulated) -> None:
    in_memory = advisor.analyze(to_trace(case.run)).to_dict()
    from_file = analysed(case.run, "3.24")
    assert said(in_memory) == said(from_file)
    assert as_multiset(map(same_figures, in_memory["graphs"])) == as_multiset(map(same_figures, from_file["graphs"]))


def test_a_launch_call_that_loads_code_inside_is_followed_by_dispatch() -> None:
    # The module load inside is not the thread's latest call: the launch call around it ended later.
    machine = Machine(module_load_ns=30_000, nested_loading=True)
    start: list[Operation] = [A, Synchronize(), Host(1_000_000), Launch("b", 1_000)]
    before, after = (
        analysed(simulate(program, machine))["totals"]["causes"] for program in (start, [*start, Host(50_000), A])
    )
    # The second kernel ends 2,500 ns after its call.
    assert present({str(cause): ns - before[cause] for cause, ns in after.items()}) == {
        "dispatch": 47_500,
        "launch": 5_500,
    }

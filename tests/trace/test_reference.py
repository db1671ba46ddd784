"""Real traces: the figures equal those of a separate, slow, row-by-row reading of the same definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import advisor

TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"
REFERENCE: dict[str, Any] = (
    json.loads((TRACES / "reference.json").read_text(encoding="utf-8")) if TRACES.is_dir() else {}
)
SCHEMA = json.loads(
    (Path(advisor.__file__).parent / "report" / "schemas" / "analysis-1.json").read_text(encoding="utf-8")
)

EXACT_CAUSES = ("launch", "turnaround", "wait", "graph", "unknown")
OTHER_CAUSES = ("api", "dispatch", "host", "memory", "module", "profiler", "sync")


ABSENT = pytest.param("", marks=pytest.mark.skip("../shared/traces is not here"))
NAMES: list[Any] = [*sorted(REFERENCE)] or [ABSENT]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def document(name: str) -> dict[str, Any]:
    return advisor.analyze(advisor.read_trace(TRACES / name)).to_dict()


def test_totals_and_causes_are_exact(name: str, document: dict[str, Any]) -> None:
    totals, coverage = document["totals"], document["coverage"]
    expected = REFERENCE[name]
    found = {key: totals.get(key, coverage.get(key)) for key in expected["totals"]}
    assert found == expected["totals"]
    assert len(document["devices"]) == expected["devices"]
    for cause in EXACT_CAUSES:
        assert totals["causes"][cause] == expected["causes"].get(cause, 0), cause


def test_the_remaining_causes_agree_within_a_few_per_cent(name: str, document: dict[str, Any]) -> None:
    # They depend on how API names are classed.
    for cause in OTHER_CAUSES:
        expected = REFERENCE[name]["causes"].get(cause, 0)
        assert document["totals"]["causes"][cause] == pytest.approx(expected, rel=0.03, abs=10_000), cause


def test_kernel_figures_are_exact(name: str, document: dict[str, Any]) -> None:
    rows = {row["name"]: row for row in document["kernels"]}
    for expected in REFERENCE[name]["top_kernels"]:
        found = rows[expected["name"]]
        assert {key: found[key] for key in expected} == expected


def test_everything_adds_up(document: dict[str, Any]) -> None:
    totals = document["totals"]
    assert totals["busy_ns"] + totals["exposed_gap_ns"] == totals["span_ns"]
    for rows in ([totals], document["devices"], document["kernels"]):
        for row in rows:
            assert sum(row["causes"].values()) == row["exposed_gap_ns"]
    for key in ("exposed_gap_ns", "launch_gap_ns", "fusible_gap_ns"):
        assert sum(row[key] for row in document["kernels"]) == totals[key]
    assert sum(row["count"] for row in document["kernels"]) == document["coverage"]["work"]
    assert sum(row["count"] for row in document["kernels"] if row["kind"] == "kernel") == totals["kernels"]
    for graph in document["graphs"]:
        assert graph["exposed_gap_ns"] <= graph["span_ns"] * len(document["devices"])


def test_the_document_fits_its_schema(document: dict[str, Any]) -> None:
    jsonschema.validate(document, SCHEMA)


@pytest.mark.skipif(not REFERENCE, reason="../shared/traces is not here")
def test_unmatched_works_are_no_verdict() -> None:
    # 74 % of this trace's works lack a launch call, and most of the idle time is theirs.
    document = advisor.analyze(advisor.read_trace(TRACES / "clue_t4_2streams.sqlite")).to_dict()
    assert document["totals"]["gap_ratio"] is None
    assert document["verdict"] == "cannot-decide"


@pytest.mark.skipif(not REFERENCE, reason="../shared/traces is not here")
@pytest.mark.parametrize(
    ("file", "graph", "source", "instances", "verdict"),
    [
        # 64 tokens, of which 95 % of the idle time is the program's own code: fusion saves 3 %.
        ("llama3_sim_2024_6", "token_#_processing", "nvtx", 64, "host-bound"),
        # A benchmark of one fused kernel, 1,000 times: the launch is all there is to wait for.
        ("hvd_v100_fusion", "test", "nvtx", 1000, "launch-bound"),
        # A training step replayed as a CUDA graph: the GPU is full.
        ("cudagraph_window_rtx3070", "CUDA graph 2", "cuda_graph", 116, "gpu-bound"),
    ],
)
def test_graphs_of_real_traces(file: str, graph: str, source: str, instances: int, verdict: str) -> None:
    first = advisor.analyze(advisor.read_trace(TRACES / f"{file}.sqlite")).graph_figures[0]
    assert (first.name, first.source, first.instances, first.verdict) == (graph, source, instances, verdict)

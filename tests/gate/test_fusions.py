"""What the gate says of fusion reports."""

from __future__ import annotations

from datetime import date

from advisor.gate.compare import compare
from advisor.gate.policy import Policy, Waiver
from advisor.gate.result import Status, Verdict
from advisor.gate.runs import FusionFigures, Recording

TODAY = date(2027, 1, 1)


def report(
    ratio: float | None = 0.8, *, nodes: int = 90, verified: bool = True, model: str = "model.onnx"
) -> Recording:
    low, high = (None, None) if ratio is None else (ratio - 0.01, ratio + 0.01)
    figures = FusionFigures(
        model=model,
        nodes=120,
        opset=17,
        provider="CPUExecutionProvider",
        onnxruntime="1.31.1",
        level="ORT_ENABLE_ALL",
        fused_nodes=nodes,
        latency_ns=8e5,
        ratio=ratio,
        low=low,
        high=high,
        verified=verified,
    )
    return Recording(f"{model}.json", "fusion", figures.onnxruntime, (), fusion=figures)


def test_accepted_latency_does_not_cover_wrong_outputs() -> None:
    waivers = (Waiver("model.onnx/latency_ratio", "the new layer", date(2027, 1, 31)),)
    slower = report(0.95, nodes=95)
    assert compare([report()], [slower]).verdict is Verdict.FAIL
    assert compare([report()], [slower], Policy(waivers=waivers), today=TODAY).verdict is Verdict.PASS
    wrong = report(0.95, nodes=95, verified=False)
    comparison = compare([report()], [wrong], Policy(waivers=waivers), today=TODAY)
    assert comparison.verdict is Verdict.FAIL
    (graph,) = comparison.graphs
    (row,) = graph.regressions
    assert row.reason == "the fused model's outputs differ from the original's"
    assert row.change == 1


def test_a_fusion_more_or_less_at_the_same_latency_is_no_regression() -> None:
    comparison = compare([report()], [report(nodes=97)])
    assert comparison.verdict is Verdict.PASS
    shown = {row.measure: (row.baseline, row.current) for row in comparison.graphs[0].measures}
    assert shown["fused_nodes"] == (report().fusion.fused_nodes, 97)  # type: ignore[union-attr]


def test_a_models_own_policy_wins() -> None:
    assert compare([report()], [report(0.9)]).verdict is Verdict.FAIL
    assert compare([report()], [report(0.9)], Policy(graphs={"model*": {"min_effect": 0.3}})).verdict is Verdict.PASS
    own = Policy(budgets={"latency_ratio": 0.85}, graphs={"small.onnx": {"budgets": {"latency_ratio": 0.7}}})
    comparison = compare([], [report(), report(model="small.onnx")], own)
    assert {(row.graph, row.limit, row.status) for row in comparison.budgets} == {
        ("model.onnx", 0.85, Status.UNCHANGED),
        ("small.onnx", 0.7, Status.REGRESSED),
    }

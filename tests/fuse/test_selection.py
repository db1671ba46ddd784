"""Which fusions stay, told by a bench whose answers the test writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from advisor.fuse.result import Status
from advisor.fuse.selection import Selection, select
from advisor.fuse.verify import Verification
from advisor.measure.latency import PairedLatency
from advisor.measure.session import CPU
from advisor.measure.statistics import Interval, judge
from tests.fuse.graphs import model, operators
from tests.fuse.trial_rules import replacing

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx_ir as ir

    from advisor.fuse.bench import Bench

MODEL = "(float[4] x) => (float[4] y) { a = Sin(x)  b = Tanh(a)  y = Abs(b) }"
RULES = [replacing("Sin", "Cos"), replacing("Tanh", "Sigmoid"), replacing("Abs", "Relu")]
A_A = Interval(1.0, 0.995, 1.005)


class ScriptedBench:
    """Answers from the operators in a model."""

    provider = CPU

    def __init__(
        self,
        ratio: Callable[[set[str]], float],
        wrong: Callable[[set[str]], bool] = lambda _: False,
        noise: float = 0.005,
    ) -> None:
        self.ratio, self.wrong, self.noise = ratio, wrong, noise
        self.raced: list[tuple[set[str], float]] = []

    def verify(self, candidate: ir.Model, *, final: bool) -> Verification:
        assert isinstance(final, bool)
        failed = self.wrong(set(operators(candidate)))
        return Verification(not failed, 5, 0.1 if failed else 1e-7, 0.1, "y", "output 'y' is off" if failed else "")

    def measure(self, candidate: ir.Model, *, seconds: float, resolution: float) -> PairedLatency:
        assert resolution > 0
        present = set(operators(candidate))
        self.raced.append((present, seconds))
        middle = self.ratio(present)
        ratio = Interval(middle, middle * (1 - self.noise), middle * (1 + self.noise))
        return PairedLatency(100.0, 100 * middle, ratio, A_A, judge(ratio, A_A), 60, 10)


def selected(bench: ScriptedBench, budget_s: float = 20.0) -> tuple[Selection, dict[str, Status]]:
    found = select(model(MODEL), RULES, cast("Bench", bench), budget_s=budget_s, progress=lambda _: None)
    return found, {fusion.rule: fusion.status for fusion in found.fusions}


def test_what_wins_stays_and_what_makes_the_model_slower_goes() -> None:
    bench = ScriptedBench(lambda ops: (0.9 if "Cos" in ops else 1) * (1.1 if "Sigmoid" in ops else 1))
    found, statuses = selected(bench)
    assert statuses == {"sin": Status.KEPT, "tanh": Status.NOT_FASTER, "abs": Status.KEPT}
    assert found.fused is not None
    assert operators(found.fused.model) == ["Cos", "Tanh", "Relu"]
    assert [fusion.ratio.ratio for fusion in found.fusions if fusion.ratio] == [0.9, 1.1, 1.0]


def test_what_is_wrong_is_never_raced_and_says_its_error() -> None:
    bench = ScriptedBench(lambda _: 0.5, wrong=lambda ops: "Sigmoid" in ops)
    found, statuses = selected(bench)
    assert statuses == {"sin": Status.KEPT, "tanh": Status.WRONG, "abs": Status.KEPT}
    assert not any("Sigmoid" in ops for ops, _ in bench.raced)
    wrong = next(fusion for fusion in found.fusions if fusion.status is Status.WRONG)
    assert (wrong.max_abs_error, wrong.ratio) == (0.1, None)
    assert "'y' is off" in wrong.reason


def test_right_alone_and_wrong_together_loses_one() -> None:
    bench = ScriptedBench(lambda ops: 0.9 if "Cos" in ops else 0.95, wrong=lambda ops: {"Cos", "Relu"} <= ops)
    found, statuses = selected(bench)
    assert found.fused is not None
    assert not {"Cos", "Relu"} <= set(operators(found.fused.model))
    assert list(statuses.values()).count(Status.WRONG) >= 1
    assert any("together with" in fusion.reason for fusion in found.fusions)


def test_slower_together_loses_the_one_that_did_worst_alone() -> None:
    def ratio(ops: set[str]) -> float:
        if {"Cos", "Sigmoid"} <= ops:
            return 1.2
        return 0.8 if "Cos" in ops else 0.9

    found, statuses = selected(ScriptedBench(ratio))
    assert statuses["sin"] is Status.KEPT
    assert statuses["tanh"] is Status.NOT_FASTER
    assert found.latency is not None
    assert found.latency.ratio.ratio == 0.8


def test_nothing_that_wins_leaves_the_original_and_claims_nothing() -> None:
    found, statuses = selected(ScriptedBench(lambda ops: 1.3 if ops & {"Cos", "Sigmoid", "Relu"} else 1.0))
    assert found.fused is None
    assert set(statuses.values()) == {Status.NOT_FASTER}


def test_noise_that_would_hide_a_loss_keeps_nothing() -> None:
    found, statuses = selected(ScriptedBench(lambda _: 1.0, noise=0.1))
    assert found.fused is None
    assert set(statuses.values()) == {Status.NOT_FASTER}
    assert any("noise" in fusion.reason for fusion in found.fusions)


def test_equal_speed_shown_within_the_margin_is_kept() -> None:
    found, statuses = selected(ScriptedBench(lambda _: 1.0))
    assert found.fused is not None
    assert set(statuses.values()) == {Status.KEPT}


def test_a_single_rule_is_raced_once_with_the_whole_budget() -> None:
    bench = ScriptedBench(lambda _: 0.9)
    found = select(model(MODEL), RULES[:1], cast("Bench", bench), budget_s=20, progress=lambda _: None)
    assert len(bench.raced) == 1
    assert bench.raced[0][1] > 19
    assert found.fusions[0].ratio is not None


def test_races_share_the_budget() -> None:
    bench = ScriptedBench(lambda _: 0.9)
    selected(bench, budget_s=20)
    assert [round(seconds, 1) for _, seconds in bench.raced[:3]] == [3.3, 3.3, 3.3]
    assert bench.raced[3][1] > 9


def test_refused_places_are_told_with_their_reason() -> None:
    rules = [replacing("Sin", "Cos", refusal="it is in use"), replacing("Abs", "Relu")]
    bench = cast("Bench", ScriptedBench(lambda _: 0.9))
    found = select(model(MODEL), rules, bench, budget_s=20, progress=lambda _: None)
    refused = found.fusions[0]
    assert (refused.rule, refused.status, refused.reason, refused.sites) == ("sin", Status.ILLEGAL, "it is in use", 1)
    assert len(refused.nodes) == 1


def test_no_place_at_all_races_nothing() -> None:
    bench = ScriptedBench(lambda _: 0.9)
    plain = model("(float[4] x) => (float[4] y) { y = Neg(x) }")
    found = select(plain, RULES, cast("Bench", bench), budget_s=20, progress=lambda _: None)
    assert (found.fused, found.latency, found.fusions, bench.raced) == (None, None, (), [])

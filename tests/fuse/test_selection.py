"""Which fusions stay, told by a bench and parts whose answers the test writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from advisor.fuse.outcomes import Fate, listed
from advisor.fuse.pattern import Op, Var
from advisor.fuse.result import Fusion, Status
from advisor.fuse.rule import New, Rule
from advisor.fuse.screening import Screened
from advisor.fuse.selection import STEP_RESOLUTION, Selection, select
from advisor.fuse.transform import Applied, NotApplicable
from advisor.fuse.trial import apply
from advisor.fuse.units import survey
from advisor.fuse.verify import Verification
from advisor.measure.latency import PairedLatency
from advisor.measure.session import CPU
from advisor.measure.statistics import Interval, judge
from tests.fuse.graphs import model, operators
from tests.fuse.trial_rules import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import onnx_ir as ir

    from advisor.fuse.bench import Bench
    from advisor.fuse.rewrite import Site
    from advisor.fuse.rule import Family
    from advisor.fuse.screening import Screening
    from advisor.fuse.units import Candidate, Unit

    Operators = set[str]

MODEL = "(float[4] x) => (float[4] y) { a = Sin(x)  b = Tanh(a)  y = Abs(b) }"
RULES = [replacing("Sin", "Cos"), replacing("Tanh", "Sigmoid"), replacing("Abs", "Relu")]
A_A = Interval(1.0, 0.995, 1.005)
SECONDS_OF_A_RACE = 1.0


def race(ratio: float, noise: float = 0.003) -> PairedLatency:
    interval = Interval(ratio, ratio * (1 - noise), ratio * (1 + noise))
    return PairedLatency(100.0, 100 * ratio, interval, A_A, judge(interval, A_A), 60, 10)


def proof(*, passed: bool = True) -> Verification:
    return Verification(passed, 5, 1e-7 if passed else 0.1, 0.1, "y", "" if passed else "output 'y' is off")


@dataclass
class Scripted:
    """A bench, its parts and its clock: answers from the operators in a model, and from the names of units."""

    ratio: Callable[[Operators], float] = lambda _: 1.0
    wrong: Callable[[Operators], bool] = lambda _: False
    wrong_at_last: Callable[[Operators], bool] = lambda _: False
    noise: float = 0.003
    noise_at_last: float = 0.0
    parts: dict[str, float | None] = field(default_factory=dict)
    """Ratio of a unit on its part, by the rule's id; None is wrong there, what is not in it cannot be cut out."""
    seconds_of_a_part: float = 0.0
    screened: list[Unit] = field(default_factory=list)
    shares: dict[str, float] = field(default_factory=dict)
    provider: str = CPU
    now: float = 0.0
    raced: list[tuple[Operators, float]] = field(default_factory=list)
    proven: list[tuple[Operators, bool]] = field(default_factory=list)
    interrupt_at: int | None = None

    def verify(self, candidate: Applied, *, final: bool) -> Verification:
        present = set(operators(candidate.model))
        self.proven.append((present, final))
        return proof(passed=not (self.wrong(present) or (final and self.wrong_at_last(present))))

    def measure(self, candidate: Applied, *, seconds: float, resolution: float) -> PairedLatency:
        assert resolution > 0
        if len(self.raced) == self.interrupt_at:
            raise KeyboardInterrupt
        present = set(operators(candidate.model))
        self.raced.append((present, seconds))
        self.now += SECONDS_OF_A_RACE
        is_last = resolution < STEP_RESOLUTION
        return race(self.ratio(present), (is_last and self.noise_at_last) or self.noise)

    def prepare(self, units: Sequence[Unit]) -> None:
        assert len(set(units)) == len(units)

    def share(self, unit: Unit, *, heavy: float = 1.0) -> float | None:
        assert 0 < heavy <= 1
        return self.shares.get(unit.name)

    def race(self, unit: Unit, *, seconds: float) -> Screened | None:
        assert seconds >= 0
        if unit.name not in self.parts:
            return None
        self.now += self.seconds_of_a_part
        self.screened.append(unit)
        ratio = self.parts[unit.name]
        return Screened(proof(passed=ratio is not None), None if ratio is None else race(ratio), 1)


def selected(
    script: Scripted, candidates: Sequence[Candidate] = RULES, *, budget_s: float = 20.0, text: str = MODEL
) -> tuple[Selection, dict[str, Fusion]]:
    found = select(
        model(text),
        candidates,
        cast("Bench", script),
        cast("Screening", script),
        budget_s=budget_s,
        progress=lambda _: None,
        clock=lambda: script.now,
    )
    return found, {fusion.rule: fusion for fusion in found.fusions}


def statuses(fusions: dict[str, Fusion]) -> dict[str, Status]:
    return {rule: fusion.status for rule, fusion in fusions.items()}


def product(ratios: dict[str, float]) -> Callable[[Operators], float]:
    """The ratio of a model in which each of the operators there counts alone."""

    def ratio(present: Operators) -> float:
        result = 1.0
        for operator, factor in ratios.items():
            result *= factor if operator in present else 1.0
        return result

    return ratio


def test_what_wins_stays_and_what_makes_the_model_slower_goes() -> None:
    script = Scripted(product({"Cos": 0.9, "Sigmoid": 1.1}))
    found, fusions = selected(script)
    assert statuses(fusions) == {"sin": Status.KEPT, "tanh": Status.NOT_FASTER, "abs": Status.NOT_FASTER}
    assert found.fused is not None
    assert operators(found.fused.result.model) == ["Cos", "Tanh", "Abs"]
    assert fusions["sin"].ratio is not None
    assert "no gain" in fusions["abs"].reason


def test_what_is_wrong_is_never_raced_and_says_its_error() -> None:
    script = Scripted(lambda _: 0.5, wrong=lambda ops: "Sigmoid" in ops)
    _, fusions = selected(script)
    assert statuses(fusions)["tanh"] is Status.WRONG
    assert not any("Sigmoid" in ops for ops, _ in script.raced)
    assert "'y' is off" in fusions["tanh"].reason


def test_what_is_wrong_or_slower_on_a_part_never_meets_the_whole_model() -> None:
    script = Scripted(lambda _: 0.9, parts={"sin": None, "tanh": 1.2, "abs": 0.8})
    _, fusions = selected(script)
    assert statuses(fusions) == {"sin": Status.WRONG, "tanh": Status.NOT_FASTER, "abs": Status.KEPT}
    assert (fusions["sin"].max_abs_error, fusions["sin"].ratio, fusions["sin"].screened) == (0.1, None, None)
    assert fusions["tanh"].screened is not None
    assert fusions["tanh"].screened.ratio == 1.2
    assert {frozenset(ops) for ops, _ in script.proven} == {frozenset({"Sin", "Tanh", "Relu"})}


def test_what_won_on_parts_is_raced_together_once_and_kept_though_each_gain_is_small() -> None:
    script = Scripted(product({"Cos": 0.997, "Sigmoid": 0.997, "Relu": 0.997}), parts=dict.fromkeys(RULE_IDS, 0.8))
    found, fusions = selected(script)
    assert set(statuses(fusions).values()) == {Status.KEPT}
    assert found.fused is not None
    assert [ops for ops, _ in script.raced] == [{"Cos", "Sigmoid", "Relu"}]


RULE_IDS = [rule.id for rule in RULES]


def test_gains_too_small_to_be_seen_alone_are_seen_together() -> None:
    # On its part each only seems faster; a race of the whole model resolves 3 %.
    script = Scripted(product({"Cos": 0.98, "Sigmoid": 0.98, "Relu": 0.98}), noise=0.03, parts=LEANING)
    _, fusions = selected(script)
    assert set(statuses(fusions).values()) == {Status.KEPT}


def test_what_only_seemed_faster_goes_again_where_the_model_is_faster_without() -> None:
    script = Scripted(product({"Cos": 0.9, "Sigmoid": 1.05, "Relu": 0.9}), parts=LEANING)
    found, fusions = selected(script)
    assert statuses(fusions) == {"sin": Status.KEPT, "tanh": Status.NOT_FASTER, "abs": Status.KEPT}
    assert fusions["tanh"].reason == "the model is faster without it"
    assert found.fused is not None
    assert found.latency is not None
    assert found.latency.ratio.ratio == pytest.approx(0.81)


LEANING: dict[str, float | None] = dict.fromkeys(RULE_IDS, 0.999)
"""On parts: under 1, and no more than the noise there."""


def test_right_on_parts_and_wrong_together_loses_no_more_than_it_must() -> None:
    script = Scripted(
        product({"Cos": 0.9, "Sigmoid": 0.9, "Relu": 0.9}),
        wrong=lambda ops: {"Cos", "Relu"} <= ops,
        parts=dict.fromkeys(RULE_IDS, 0.8),
    )
    found, fusions = selected(script)
    assert sorted(statuses(fusions).values()) == [Status.KEPT, Status.KEPT, Status.WRONG]
    assert found.fused is not None
    assert any("together with" in fusion.reason for fusion in fusions.values())


def test_slower_in_the_whole_model_than_on_a_part_is_found_by_halves() -> None:
    script = Scripted(product({"Cos": 0.9, "Sigmoid": 1.2, "Relu": 0.95}), parts=dict.fromkeys(RULE_IDS, 0.8))
    _, fusions = selected(script)
    assert statuses(fusions) == {"sin": Status.KEPT, "tanh": Status.NOT_FASTER, "abs": Status.KEPT}


def test_wrong_only_on_inputs_of_the_last_proof_is_found_and_the_rest_kept() -> None:
    script = Scripted(
        product({"Cos": 0.9, "Sigmoid": 0.9}),
        wrong_at_last=lambda ops: "Sigmoid" in ops,
        parts={"sin": 0.8, "tanh": 0.8},
    )
    found, fusions = selected(script)
    assert statuses(fusions)["tanh"] is Status.WRONG
    assert found.fused is not None
    assert operators(found.fused.result.model) == ["Cos", "Tanh", "Abs"]
    assert script.proven[-1] == ({"Cos", "Tanh", "Abs"}, True)
    assert found.latency is not None
    assert found.latency.ratio.ratio == 0.9


def test_whatever_is_kept_was_proven_on_all_inputs_at_the_end() -> None:
    script = Scripted(product({"Cos": 0.9}), wrong_at_last=lambda ops: "Cos" in ops)
    found, fusions = selected(script)
    assert found.fused is None
    assert statuses(fusions)["sin"] is Status.WRONG


def test_nothing_that_wins_leaves_the_original_and_claims_nothing() -> None:
    found, fusions = selected(Scripted(lambda ops: 1.3 if ops & {"Cos", "Sigmoid", "Relu"} else 1.0))
    assert found.fused is None
    assert set(statuses(fusions).values()) == {Status.NOT_FASTER}


def test_equal_speed_is_no_gain_and_leaves_the_original() -> None:
    found, fusions = selected(Scripted())
    assert found.fused is None
    assert set(statuses(fusions).values()) == {Status.NOT_FASTER}
    assert all("no gain" in fusion.reason for fusion in fusions.values())


def test_noise_that_would_hide_a_loss_keeps_nothing() -> None:
    found, fusions = selected(Scripted(noise=0.1, parts=dict.fromkeys(RULE_IDS, 0.8)))
    assert found.fused is None
    assert set(statuses(fusions).values()) == {Status.NOT_FASTER}
    assert any("noise" in fusion.reason for fusion in fusions.values())


def test_what_won_on_parts_and_noise_hides_in_the_whole_is_told_by_the_last_race() -> None:
    libraries = [Library("one", becoming("Sin", "Cosh"))]
    script = Scripted(product({"Cos": 0.95}), noise=0.1, noise_at_last=0.01, parts={"sin": 0.8})
    found, fusions = selected(script, [*libraries, *RULES], budget_s=60)
    assert found.fused is not None
    assert found.latency is not None
    assert found.latency.ratio.ratio == 0.95
    assert statuses(fusions)["sin"] is Status.KEPT
    assert script.raced[-1][1] > 40  # nothing else takes time, for nothing else could be told
    assert len(script.raced) == 2
    assert "larger --budget" in fusions["tanh"].reason
    assert "larger --budget" in fusions["one"].reason


def test_a_gain_too_small_for_the_search_is_told_by_the_last_race_where_nothing_better_is_found() -> None:
    for ratio, status in ((0.985, Status.KEPT), (1.0, Status.NOT_FASTER)):
        script = Scripted(product({"Cos": ratio}), noise=0.02, noise_at_last=0.004, parts={"sin": 0.999})
        _, fusions = selected(script, budget_s=60)
        assert statuses(fusions) == {"sin": status, "tanh": Status.NOT_FASTER, "abs": Status.NOT_FASTER}


def test_noise_that_turns_the_sign_leaves_the_last_race_to_what_gained_on_parts() -> None:
    script = Scripted(noise=0.1, noise_at_last=0.01, parts={"sin": 0.8})
    script.ratio = lambda ops: (1.03 if not script.raced[1:] else 0.95) if "Cos" in ops else 1.0
    _, fusions = selected(script, budget_s=60)
    assert statuses(fusions)["sin"] is Status.KEPT


def test_places_that_there_was_no_time_to_try_go_with_those_of_their_candidate_that_gained() -> None:
    text = """(float[4] x, float[2, 2] z, float[3] w) => (float[4] y, float[2, 2] u, float[3] v) {
        v = Abs(w)  y = Sin(x)  u = Sin(z)
    }"""
    script = Scripted(product({"Cos": 0.9}), parts={"sin": 0.8, "abs": 0.9}, seconds_of_a_part=3)
    found, _ = selected(script, [RULES[0], RULES[2]], text=text, budget_s=5)
    assert [unit.name for unit in script.screened] == ["sin"]
    assert script.raced[0][0] == {"Cos", "Abs"}
    assert found.fused is not None
    assert operators(found.fused.result.model) == ["Abs", "Cos", "Cos"]


def test_no_race_begins_that_would_not_end_in_time() -> None:
    script = Scripted(product({"Cos": 0.9, "Sigmoid": 0.9, "Relu": 0.9}))
    selected(script, budget_s=1.2)  # a race takes a second, whatever it is given
    assert [ops for ops, _ in script.raced] == [{"Sin", "Tanh", "Relu"}] * 2  # the search's one, and the last race


def test_nodes_that_take_too_little_to_be_measured_are_not_tried() -> None:
    script = Scripted(lambda _: 0.9, shares={"sin": 0.002, "tanh": 0.5, "abs": 0.004})
    _, fusions = selected(script)
    assert fusions["sin"].reason == "its nodes take 0.2 % of a run, less than can be measured"
    assert statuses(fusions)["tanh"] is Status.KEPT
    assert {frozenset(ops) for ops, _ in script.raced} == {frozenset({"Sin", "Sigmoid", "Abs"})}


def test_small_places_of_one_rule_count_together() -> None:
    text = "(float[4] x, float[2, 2] z) => (float[4] y, float[2, 2] u) { y = Sin(x)  u = Sin(z) }"
    script = Scripted(product({"Cos": 0.9}), shares={"sin": 0.003})
    found, _ = selected(script, RULES[:1], text=text)
    assert [(fusion.sites, fusion.status) for fusion in found.fusions] == [(2, Status.KEPT)]


def test_a_row_has_the_ratio_alone_only_of_what_was_in_that_race() -> None:
    """Two kinds of place of one rule: what was never applied has no figure of the other."""
    text = "(float[4] x, float[2, 2] z) => (float[4] y, float[2, 2] u) { y = Sin(x)  u = Sin(z) }"
    units = survey(model(text), RULES[:1], provider=CPU).units
    one, other = units
    fused = apply(model(text), [one], RULES[:1], provider=CPU, optimised={})
    fused.latency = race(0.8)
    rows = listed(
        units,
        (),
        (),
        fused=fused,
        fates={other: Fate(Status.NOT_FASTER, "the time was over")},
        screened={},
        alone={},
        predictions=None,
    )
    assert [(row.status, row.ratio) for row in rows] == [(Status.KEPT, fused.latency.ratio), (Status.NOT_FASTER, None)]


def test_a_single_unit_is_raced_once_with_the_whole_budget() -> None:
    script = Scripted(lambda _: 0.9)
    found, _ = selected(script, RULES[:1])
    assert [seconds for _, seconds in script.raced] == [20]
    assert found.fusions[0].ratio is not None


def test_races_share_the_budget_and_end_with_it() -> None:
    script = Scripted(product({"Cos": 0.99, "Sigmoid": 0.9, "Relu": 0.9}))
    _, fusions = selected(script, budget_s=2)
    assert sum(seconds for _, seconds in script.raced[:2]) <= 2
    assert sorted(statuses(fusions).values()) == [Status.KEPT, Status.KEPT, Status.NOT_FASTER]
    assert any("larger --budget" in fusion.reason for fusion in fusions.values())
    assert script.raced[-1][1] == 2  # the last race has its time, whatever was spent


@pytest.mark.parametrize(("budget_s", "seconds"), [(1, 1), (8, 5), (100, 25)])
def test_the_last_race_has_a_quarter_of_the_budget_or_five_seconds(budget_s: float, seconds: float) -> None:
    script = Scripted(product({"Cos": 0.9}), parts={"sin": 0.8}, seconds_of_a_part=budget_s)
    selected(script, budget_s=budget_s)
    assert script.raced[-1][1] == seconds


def test_refused_places_are_told_with_their_reason() -> None:
    rules = [replacing("Sin", "Cos", refusal="it is in use"), replacing("Abs", "Relu")]
    _, fusions = selected(Scripted(lambda _: 0.9), rules)
    refused = fusions["sin"]
    assert (refused.status, refused.reason, refused.sites) == (Status.ILLEGAL, "it is in use", 1)
    assert len(refused.nodes) == 1


def test_no_place_at_all_races_nothing() -> None:
    script = Scripted(lambda _: 0.9)
    found, _ = selected(script, text="(float[4] x) => (float[4] y) { y = Neg(x) }")
    assert (found.fused, found.latency, found.fusions, script.raced) == (None, None, (), [])


def test_a_larger_window_and_a_smaller_one_are_decided_by_measurement() -> None:
    smaller, larger = replacing("Tanh", "Sigmoid"), windowed("tanh-abs")
    for better, kept in ((0.7, "tanh-abs"), (0.95, "tanh")):
        script = Scripted(product({"Sigmoid": 0.9, "Softplus": better}))
        _, fusions = selected(script, [smaller, larger])
        assert {rule for rule, fusion in fusions.items() if fusion.status is Status.KEPT} == {kept}


def test_of_winners_that_meet_in_some_places_only_the_other_is_tried_on_top() -> None:
    """Three Tanh save more than one Tanh and Abs; where these meet the two may still be the better ones."""
    text = "(float[4] x) => (float[4] y) { a = Tanh(x)  b = Abs(a)  c = Tanh(b)  d = Sin(c)  e = Tanh(d)  y = Exp(e) }"
    both = Op("Abs", Op("Tanh", Var("x")))
    window = Rule("both", "elementwise", "two in one", (both,), lambda _: None, lambda m: [New("Softplus", m["x"])])
    for better, kept in ((0.6, {"tanh", "both"}), (1.2, {"tanh"})):
        script = Scripted(product({"Sigmoid": 0.9, "Softplus": better}), parts={"tanh": 0.9, "both": 0.8})
        found, fusions = selected(script, [replacing("Tanh", "Sigmoid"), window], text=text)
        assert {rule for rule, fusion in fusions.items() if fusion.status is Status.KEPT} == kept
        assert found.fused is not None
        assert ("Softplus" in operators(found.fused.result.model)) is ("both" in kept)


def test_little_gains_that_nothing_tells_of_are_tried_together_beside_the_winners() -> None:
    """Two rules of which no race would tell are 4 % together; one that is slower on its part is not among them."""
    text = "(float[4] x) => (float[4] y) { a = Sin(x)  b = Tanh(a)  c = Exp(b)  y = Abs(c) }"
    rules = [*RULES, replacing("Exp", "Neg")]
    gains = {"Cos": 0.98, "Sigmoid": 0.98, "Relu": 0.9, "Neg": 1.1}
    small = {"sin": 0.001, "tanh": 0.001}
    script = Scripted(product(gains), parts={"abs": 0.9, "exp": 1.1}, shares=small)
    found, fusions = selected(script, rules, text=text)
    assert {rule for rule, fusion in fusions.items() if fusion.status is Status.KEPT} == {"sin", "tanh", "abs"}
    assert found.latency is not None
    assert found.latency.ratio.ratio == pytest.approx(0.9 * 0.98 * 0.98)
    worse = Scripted(product(gains | {"Cos": 1.02, "Sigmoid": 1.02}), parts={"abs": 0.9, "exp": 1.1}, shares=small)
    _, fusions = selected(worse, rules, text=text)
    assert {rule for rule, fusion in fusions.items() if fusion.status is Status.KEPT} == {"abs"}
    assert "less than can be measured" in fusions["sin"].reason


def test_what_all_that_nothing_speaks_against_makes_possible_goes_with_it() -> None:
    """Neither gains alone: the one is not kept where it is not built on, the other is not there without it."""
    rules = [replacing("Sin", "Cos"), replacing("Cos", "Erf"), replacing("Tanh", "Neg"), replacing("Abs", "Relu")]
    for factor, kept in ((0.9, {"sin", "cos", "abs"}), (1.2, {"abs"})):
        gains = {"Erf": factor, "Neg": 1.1, "Relu": 0.9}
        script = Scripted(product(gains), parts={"abs": 0.9, "tanh": 1.1}, shares={"sin": 0.001})
        found, fusions = selected(script, rules)
        assert {rule for rule, fusion in fusions.items() if fusion.status is Status.KEPT} == kept
        assert found.fused is not None
        assert ("Erf" in operators(found.fused.result.model)) is ("cos" in kept)


def test_changes_of_structure_go_with_the_winners_and_leave_where_they_cost() -> None:
    for factor, status in ((0.99, Status.KEPT), (1.05, Status.NOT_FASTER)):
        structure = Library("tidy", becoming("Sin", "Cosh"), family="structure")
        script = Scripted(product({"Relu": 0.95, "Cosh": factor}), parts={"abs": 0.95})
        _, fusions = selected(script, [structure, replacing("Abs", "Relu")])
        assert script.raced[0][0] == {"Cosh", "Tanh", "Relu"}
        assert statuses(fusions) == {"tidy": status, "abs": Status.KEPT}


def test_what_another_fusion_makes_possible_is_tried_with_it() -> None:
    rules = [replacing("Sin", "Cos"), replacing("Cos", "Erf")]
    script = Scripted(product({"Erf": 0.8}))
    found, fusions = selected(script, rules)
    assert statuses(fusions) == {"sin": Status.KEPT, "cos": Status.KEPT}
    assert found.fused is not None
    assert operators(found.fused.result.model) == ["Erf", "Tanh", "Abs"]


def test_an_interruption_keeps_what_was_the_best_and_proves_it() -> None:
    script = Scripted(product({"Cos": 0.9, "Sigmoid": 0.9, "Relu": 0.9}), interrupt_at=2)
    found, fusions = selected(script)
    assert found.interrupted
    assert found.fused is not None
    assert found.fused.latency is not None
    assert sum(fusion.status is Status.KEPT for fusion in fusions.values()) == 2
    assert "interrupted" in next(fusion.reason for fusion in fusions.values() if fusion.status is not Status.KEPT)
    assert script.proven[-1] == (set(operators(found.fused.result.model)), True)


def test_an_interruption_before_anything_is_proven_ends_all() -> None:
    with pytest.raises(KeyboardInterrupt):
        selected(Scripted(lambda _: 0.9, interrupt_at=0))


@dataclass(frozen=True)
class Library:
    """An optimiser of somebody else's."""

    id: str
    change: Callable[[ir.Model], None]
    family: Family = "optimizer"
    description: str = "…"
    is_installed: bool = True
    given: list[float] = field(default_factory=list, compare=False)

    def check(self) -> None:
        if not self.is_installed:
            raise NotApplicable(f"{self.id} is not installed", is_missing=True)

    def within(self, seconds: float) -> Library:
        self.given.append(seconds)
        return self

    def apply(self, subject: ir.Model, *, provider: str, accept: Callable[[Site], bool]) -> Applied:
        from advisor.fuse.rewrite import Site

        assert provider == CPU
        site = Site(self.id, self.family, tuple(node.name or "" for node in subject.graph), "y", "applied", "", "")
        if not accept(site):
            return Applied(subject, ())
        self.change(subject)
        return Applied(subject, (site,))


def becoming(old: str, new: str) -> Callable[[ir.Model], None]:
    def change(subject: ir.Model) -> None:
        for node in subject.graph:
            node.op_type = new if node.op_type == old else node.op_type

    return change


def windowed(name: str) -> Library:
    """A transform that takes Tanh and Abs as one."""

    @dataclass(frozen=True)
    class Window(Library):
        def apply(self, subject: ir.Model, *, provider: str, accept: Callable[[Site], bool]) -> Applied:
            from advisor.fuse.rewrite import Site, rewrite

            assert not rewrite(subject, (), provider=provider)
            tanh, last = list(subject.graph)[-2:]
            if tanh.op_type != "Tanh":
                return Applied(subject, ())
            nodes = tuple(f"{node.op_type} → {node.outputs[0].name}" for node in (tanh, last))
            site = Site(self.id, self.family, nodes, "y", "applied", "", "two")
            if not accept(site):
                return Applied(subject, ())
            self.change(subject)
            return Applied(subject, (site,))

    return Window(name, becoming("Tanh", "Softplus"), family="elementwise")


def test_at_most_one_library_stays_and_fusions_go_on_top() -> None:
    libraries = [Library("one", becoming("Sin", "Cosh")), Library("two", becoming("Sin", "Sinh"))]
    script = Scripted(product({"Cosh": 0.9, "Sinh": 0.8, "Relu": 0.9}))
    found, fusions = selected(script, [*libraries, RULES[2]])
    assert statuses(fusions) == {"abs": Status.KEPT, "one": Status.NOT_FASTER, "two": Status.KEPT}
    assert found.fused is not None
    assert operators(found.fused.result.model) == ["Sinh", "Tanh", "Relu"]


def test_a_library_that_wins_only_alone_is_found() -> None:
    script = Scripted(lambda ops: 1.1 if {"Cosh", "Relu"} <= ops else 0.7 if "Cosh" in ops else 0.9)
    found, fusions = selected(script, [Library("one", becoming("Sin", "Cosh")), RULES[2]])
    assert fusions["one"].status is Status.KEPT
    assert found.fused is not None
    assert operators(found.fused.result.model) == ["Cosh", "Tanh", "Abs"]


def test_a_library_that_is_not_installed_is_said_so_and_others_have_a_share_of_the_time() -> None:
    late = Library("late", becoming("Sin", "Cosh"), is_installed=False)
    there = [Library(name, becoming("Sin", "Cosh")) for name in ("one", "two")]
    text = f"(float[4] x) => (float[4] y) {{ {' '.join(f'a{n} = Abs(x)' for n in range(9))} y = Sin(x) }}"
    script = Scripted(product({"Relu": 1.0, "Cos": 1.0}))
    _, fusions = selected(script, [late, *there, *RULES], budget_s=12, text=text)
    assert (fusions["late"].status, fusions["late"].reason) == (Status.UNSUPPORTED, "late is not installed")
    assert all(seconds > 2 for library in there for seconds in library.given)
    _, fusions = selected(Scripted(), [late, *there, *RULES], budget_s=0, text=text)
    assert fusions["late"].reason == "late is not installed"
    assert "larger --budget" in fusions["one"].reason


@pytest.mark.parametrize(("budget_s", "is_given"), [(3.9, False), (4.1, True)])
def test_no_library_is_started_that_has_no_time_to_start(budget_s: float, is_given: bool) -> None:
    one = Library("one", becoming("Sin", "Cosh"))
    _, fusions = selected(Scripted(product({"Cosh": 0.9})), [one], budget_s=budget_s)
    assert bool(one.given) == is_given
    if not is_given:
        assert fusions["one"].status is Status.NOT_FASTER
        assert "larger --budget" in fusions["one"].reason


def test_what_a_library_cannot_do_is_a_line_in_the_report() -> None:
    def missing(_: ir.Model) -> None:
        raise NotApplicable("onnxslim is not installed", is_missing=True)

    def crash(_: ir.Model) -> None:
        raise IndexError("list index out of range")

    def slow(_: ir.Model) -> None:
        raise NotApplicable("it took longer than 7 s and was stopped", is_unfinished=True)

    libraries = [Library("missing", missing), Library("crashing", crash), Library("slow", slow)]
    _, fusions = selected(Scripted(product({"Cos": 0.9})), [*libraries, RULES[0]])
    assert statuses(fusions) == {
        "sin": Status.KEPT,
        "missing": Status.UNSUPPORTED,
        "crashing": Status.ILLEGAL,
        "slow": Status.NOT_FASTER,
    }
    assert "IndexError: list index out of range" in fusions["crashing"].reason

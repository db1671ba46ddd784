"""Units applied together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from advisor.fuse.kernels.generated import GENERATED
from advisor.fuse.structure import NO_OPS, RESHAPE_TARGETS
from advisor.fuse.trial import apply
from advisor.fuse.units import survey
from advisor.measure.session import CPU
from tests.fuse.graphs import model, operators
from tests.fuse.structure.test_reshape_targets import HEADS
from tests.fuse.trial_rules import replacing

if TYPE_CHECKING:
    from advisor.fuse.units import Candidate, Unit


def applied(text: str, candidates: list[Candidate]) -> tuple[list[str], dict[str, int], tuple[Unit, ...]]:
    """Operators that are left, the number of places of each candidate, and all units; all of them together."""
    subject = model(text)
    units = survey(subject, candidates, provider=CPU).units
    trial = apply(subject, units, candidates, known=units, provider=CPU, optimised={})
    return operators(trial.result.model), {unit.name: len(trial.places(unit)) for unit in units}, units


def test_a_place_is_found_again_where_more_is_certain_of_its_shapes() -> None:
    relu = replacing("Relu", "Abs")
    left, places, units = applied(HEADS, [RESHAPE_TARGETS, relu])
    after = apply(
        model(HEADS), [unit for unit in units if unit.is_structure], [RESHAPE_TARGETS], provider=CPU, optimised={}
    ).result.model
    (before, now) = (survey(each, [relu], provider=CPU).units[0].groups for each in (model(HEADS), after))
    assert before != now
    assert left == ["Sigmoid", "Reshape", "Transpose", "Abs", "Transpose", "Reshape"]
    assert places["relu"] == 1


def test_places_that_grow_together_behind_a_change_of_structure_are_those_of_the_nearest() -> None:
    text = """(float[N,64] x) => (float[N,64] y) {
        a = Abs(x) b = Tanh(a) c = Reshape(b, shape) d = Neg(c) e = Sqrt(d) y = Abs(e)
    }"""
    subject = model(text, shape=np.array([0, 0]))
    candidates: list[Candidate] = [NO_OPS, GENERATED]
    units = survey(subject, candidates, provider=CPU).units
    structure = [unit for unit in units if unit.is_structure]
    two, three = sorted((unit for unit in units if not unit.is_structure), key=lambda unit: len(unit.nodes))
    for chosen, left, places in (
        ([two, three], 1, {two: 0, three: 1}),
        ([three], 1, {three: 1}),
        ([two], 5, {two: 0}),  # most of what it would compute was not chosen
    ):
        trial = apply(subject, [*structure, *chosen], candidates, known=units, provider=CPU, optimised={})
        assert len(trial.result.model.graph) == left
        assert {unit: len(trial.places(unit)) for unit in chosen} == places


def test_changes_of_structure_take_no_places_from_one_another_or_from_fusions() -> None:
    text = HEADS.replace("t = Unsqueeze(t0, first)", "i = Identity(t0) t = Unsqueeze(i, first)")
    left, places, _ = applied(text, [RESHAPE_TARGETS, NO_OPS, replacing("Gather", "GatherElements")])
    assert left == ["Sigmoid", "Reshape", "Transpose", "Relu", "Transpose", "Reshape"]
    assert places["reshape-targets"] > 0

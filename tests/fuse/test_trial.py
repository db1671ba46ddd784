"""Units applied together."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


def test_changes_of_structure_take_no_places_from_one_another_or_from_fusions() -> None:
    text = HEADS.replace("t = Unsqueeze(t0, first)", "i = Identity(t0) t = Unsqueeze(i, first)")
    left, places, _ = applied(text, [RESHAPE_TARGETS, NO_OPS, replacing("Gather", "GatherElements")])
    assert left == ["Sigmoid", "Reshape", "Transpose", "Relu", "Transpose", "Reshape"]
    assert places["reshape-targets"] > 0

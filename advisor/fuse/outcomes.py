"""What became of everything that found a place, as the report lists it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.fuse.result import Fusion, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from advisor.fuse.predictions import Predicted, Predictions
    from advisor.fuse.rewrite import Site
    from advisor.fuse.screening import Screened
    from advisor.fuse.trial import Trial
    from advisor.fuse.units import Failure, Unit

__all__ = ["Fate", "listed"]


@dataclass(frozen=True)
class Fate:
    """Why a unit was left out.

    Attributes:
        status: What is reported.
        reason: Why, for people.
        is_neutral: It is right and was not slower: it may go in where it makes something else possible.
    """

    status: Status
    reason: str
    is_neutral: bool = False


def listed(
    units: Sequence[Unit],
    refused: Sequence[Site],
    failures: Sequence[Failure],
    *,
    fused: Trial | None,
    fates: Mapping[Unit, Fate],
    screened: Mapping[Unit, Screened],
    alone: Mapping[Unit, Trial],
    predictions: Predictions | None,
) -> Iterator[Fusion]:
    """Every unit with its figures, then the places and candidates that were refused.

    Args:
        units: What was tried.
        refused: Places where nothing may be applied.
        failures: Candidates that could not be tried.
        fused: The output; None where that is the original.
        fates: Why units are not in it.
        screened: Units on a part of the model.
        alone: Units alone in the whole model.
        predictions: What a trace says that fusions save.
    """
    entries: dict[tuple[object, ...], list[tuple[Unit, tuple[Site, ...]]]] = {}
    fate_of: dict[Unit, Fate] = {}
    for unit in units:
        places = fused.places(unit) if fused is not None and unit in fused.units else ()
        taken = Fate(Status.NOT_FASTER, "another fusion takes its nodes")
        fate = fate_of[unit] = Fate(Status.KEPT, "") if places else fates.get(unit, taken)
        figures = id(alone[unit]) if unit in alone else unit if unit in screened else None
        entries.setdefault((unit.name, fate.status, fate.reason, figures), []).append((unit, places or unit.sites))
    for entry in entries.values():
        unit = entry[0][0]
        sites = tuple(site for _, places in entry for site in places)
        trial, part = alone.get(unit), screened.get(unit)
        latency = trial.latency if trial else None
        is_alone = fused is not None and {each.name for each in fused.units} == {unit.name}
        if fused is not None and is_alone and latency is None and fate_of[unit].status is Status.KEPT:
            trial, latency = fused, fused.latency
        proof = (trial.verification if trial else None) or (part.verification if part else None)
        yield Fusion(
            rule=unit.name,
            family=unit.candidate.family,
            places=tuple(site.nodes for site in sites),
            status=fate_of[unit].status,
            reason=fate_of[unit].reason,
            ratio=latency.ratio if latency else None,
            screened=part.latency.ratio if part and part.latency else None,
            max_abs_error=proof.max_abs_error if proof else None,
            predicted=_predicted(sites, predictions),
        )
    yield from _refused(refused, predictions)
    for failed in failures:
        yield Fusion(failed.candidate.id, failed.candidate.family, (), failed.status, failed.reason)


def _refused(refused: Iterable[Site], predictions: Predictions | None) -> Iterator[Fusion]:
    """The places where a candidate must not be applied, by reason."""
    groups: dict[tuple[str, str, str], list[Site]] = {}
    for site in refused:
        groups.setdefault((site.rule, site.status, site.reason), []).append(site)
    for (rule, status, reason), sites in groups.items():
        predicted = _predicted(sites, predictions)
        places = tuple(site.nodes for site in sites)
        yield Fusion(rule, sites[0].family, places, Status(status), reason, predicted=predicted)


def _predicted(sites: Sequence[Site], predictions: Predictions | None) -> Predicted | None:
    return None if predictions is None else predictions.of(site.nodes for site in sites)

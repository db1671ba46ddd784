"""Units applied together to a copy of the original."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from advisor.fuse.compose import compose
from advisor.fuse.transform import Applied
from advisor.fuse.units import is_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx_ir as ir

    from advisor.fuse.rewrite import Site
    from advisor.fuse.units import Candidate, Unit
    from advisor.fuse.verify import Verification
    from advisor.measure.latency import PairedLatency

__all__ = ["Trial", "apply"]


@dataclass
class Trial:
    """Some units, applied together.

    Attributes:
        units: The units; where places overlap, the later ones have theirs.
        result: The changed model, and what was done.
        verification: The comparison with the original; None until it is made.
        latency: The race against the original; None until it is run.
        seconds: How long the race was allowed to take.
    """

    units: tuple[Unit, ...]
    result: Applied
    verification: Verification | None = None
    latency: PairedLatency | None = None
    seconds: float = 0.0

    @property
    def applied(self) -> tuple[Site, ...]:
        """The sites that were changed; where there is none, the model is the original."""
        return tuple(site for site in self.result.sites if site.status == "applied")

    @property
    def is_proven(self) -> bool:
        """Verified, and equal to the original."""
        return self.verification is not None and self.verification.passed

    def places(self, unit: Unit) -> tuple[Site, ...]:
        """The sites of UNIT that were changed; where others went before, what is there in their place."""
        return tuple(self._places.get(unit, ()))

    @cached_property
    def _places(self) -> dict[Unit, list[Site]]:
        found: dict[Unit, list[Site]] = {}
        for site in self.applied:
            own = [each for each in self.units if each.has(site)]
            if not own and (near := _nearest(site, self.units)):
                own = [near]
            for unit in own:
                found.setdefault(unit, []).append(site)
        return found


def apply(
    original: ir.Model,
    units: Sequence[Unit],
    candidates: Sequence[Candidate],
    *,
    known: Sequence[Unit] = (),
    provider: str,
    optimised: Mapping[str, Applied],
) -> Trial:
    """Apply UNITS together.

    Args:
        original: The model; it is only read.
        units: What to apply; where places overlap, the later ones have theirs.
        candidates: The registry, for its order.
        known: Everything that found a place in the original.
        provider: Execution provider that will run the result, as ONNX Runtime names it.
        optimised: By id of a library's optimiser the original as that leaves it: it takes long, and goes first.

    Raises:
        NotApplicable: A transform cannot be applied after the others.
    """
    chosen = {unit.candidate.id for unit in units}
    base = next((optimised[unit.candidate.id] for unit in units if is_optimizer(unit.candidate)), None)
    rest = [each for each in candidates if each.id in chosen and not is_optimizer(each)]
    start = Applied(original, ()) if base is None else base
    changed = compose(start.model, rest, provider=provider, accept=_in_turn(units, known))
    return Trial(tuple(units), Applied(changed.model, start.sites + changed.sites, start.libraries + changed.libraries))


def _in_turn(units: Sequence[Unit], known: Sequence[Unit]) -> Callable[[Site], bool]:
    """Whether a site is one of a unit's, and no later unit has a place on its nodes.

    Where changes of structure or another library went before, more may be certain of a site's shapes than in the
    original, or nodes beside it are gone: its group is a new one then, and it is a place of the known unit of its
    candidate that it has most in common with. Changes of structure leave the nodes to others.
    """
    of_group = {(unit.candidate.id, group): unit for unit in units for group in unit.groups}
    old = {(unit.candidate.id, group) for unit in known for group in unit.groups}
    chosen = set(units)
    owner = {node: unit for unit in units if not unit.is_structure for node in unit.nodes}

    def accept(site: Site) -> bool:
        unit = of_group.get((site.rule, site.group))
        is_new = unit is None or not unit.sites
        if unit is None and (site.rule, site.group) not in old:
            unit = _nearest(site, known)
        if unit is None or unit not in chosen or unit.is_structure:
            return unit in chosen
        owners = [owner.get(node, unit) for node in site.nodes]
        return all(each is unit or (is_new and each.candidate is unit.candidate) for each in owners)

    return accept


def _nearest(site: Site, units: Sequence[Unit]) -> Unit | None:
    """The unit of the site's candidate that has a place with most of the same nodes, and fewest others."""
    nodes = frozenset(site.nodes)
    best, unit = 0.0, None
    for each in units:
        if each.candidate.id != site.rule or nodes.isdisjoint(each.nodes):
            continue
        alike = max(len(nodes & place) / len(nodes | place) for place in each.places)
        if alike > best:
            best, unit = alike, each
    return unit

"""Units applied together to a copy of the original."""

from __future__ import annotations

from dataclasses import dataclass
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
        """The sites of UNIT that were changed."""
        return tuple(site for site in self.applied if unit.has(site))


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
    original, and its group be a new one: then it is told by its nodes. Changes of structure leave the nodes to others.
    """
    of_group = {(unit.candidate.id, group): unit for unit in units for group in unit.groups}
    of_nodes = {(unit.candidate.id, frozenset(site.nodes)): unit for unit in units for site in unit.sites}
    old = {(unit.candidate.id, group) for unit in known for group in unit.groups}
    owner = {node: unit for unit in units if not unit.is_structure for node in unit.nodes}

    def accept(site: Site) -> bool:
        unit = of_group.get((site.rule, site.group))
        if unit is None and (site.rule, site.group) not in old:
            unit = of_nodes.get((site.rule, frozenset(site.nodes)))
        if unit is None or unit.is_structure:
            return unit is not None
        return all(owner.get(node, unit) is unit for node in site.nodes)

    return accept

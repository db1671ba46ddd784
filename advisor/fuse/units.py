"""What can be tried on a model: equal places of one candidate, together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeGuard

from advisor.fuse.compose import compose
from advisor.fuse.result import Status
from advisor.fuse.rule import Rule
from advisor.fuse.transform import NotApplicable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import onnx_ir as ir

    from advisor.fuse.rewrite import Site
    from advisor.fuse.transform import Library, Transform

    Candidate = Rule | Transform

__all__ = [
    "Candidate",
    "Failure",
    "Survey",
    "Unit",
    "accepting",
    "apart",
    "enabled",
    "failure",
    "is_optimizer",
    "merged",
    "survey",
]


@dataclass(frozen=True)
class Unit:
    """Sites of one candidate that are kept or left out together, because they are worth the same.

    Attributes:
        candidate: The rule or transform.
        groups: `Site.group` of its sites.
        sites: The places in the original; empty for what only other fusions make possible.
    """

    candidate: Candidate
    groups: tuple[str, ...]
    sites: tuple[Site, ...]

    @property
    def name(self) -> str:
        """What progress and reasons call it."""
        return self.candidate.id

    @cached_property
    def nodes(self) -> frozenset[str]:
        """Names of the nodes that its sites cover."""
        return frozenset(node for site in self.sites for node in site.nodes)

    @cached_property
    def places(self) -> tuple[frozenset[str], ...]:
        """The nodes of each of its sites."""
        return tuple(frozenset(site.nodes) for site in self.sites)

    @property
    def is_structure(self) -> bool:
        """Whether it changes the structure of the model: worth something for what that makes possible, too."""
        return self.candidate.family == "structure"

    def overlaps(self, others: Iterable[Unit]) -> bool:
        """Whether some node is in a place of this unit and of one of OTHERS."""
        return any(self.nodes & other.nodes for other in others)

    def meets_everywhere(self, other: Unit) -> bool:
        """Whether every place of each of the two has nodes of the other: then one of them is the better everywhere."""
        return all(
            not one.nodes.isdisjoint(site.nodes) for one, two in ((self, other), (other, self)) for site in two.sites
        )

    def has(self, site: Site) -> bool:
        """Whether SITE is one of its places, in the original or a model that others have changed."""
        is_there = site.group in self.groups or any(set(site.nodes) == set(own.nodes) for own in self.sites)
        return site.rule == self.candidate.id and is_there


@dataclass(frozen=True)
class Failure:
    """A candidate that could not be tried, and why."""

    candidate: Candidate
    status: Status
    reason: str


@dataclass(frozen=True)
class Survey:
    """Everything that candidates find in a model.

    Attributes:
        units: What may be tried, in the order of the candidates.
        refused: Places where a candidate must not be applied.
        failures: Candidates that cannot be tried at all.
    """

    units: tuple[Unit, ...]
    refused: tuple[Site, ...]
    failures: tuple[Failure, ...]


def survey(original: ir.Model, candidates: Sequence[Candidate], *, provider: str) -> Survey:
    """Find what CANDIDATES could do, each by itself, without doing it.

    Args:
        original: The model; it is only read.
        candidates: What to look for.
        provider: Execution provider that will run the result, as ONNX Runtime names it.
    """
    found: list[tuple[Candidate, Site]] = []
    refused: list[Site] = []
    failures: list[Failure] = []
    rules = [candidate for candidate in candidates if isinstance(candidate, Rule)]
    # Rules that apply nothing do not meet: all are asked at once. A transform may change what it does not ask about.
    for group in ([rules] if rules else []) + [[each] for each in candidates if not isinstance(each, Rule)]:
        seen: list[Site] = []

        def leave(site: Site, seen: list[Site] = seen) -> bool:
            seen.append(site)
            return False

        try:
            sites = compose(original, group, provider=provider, accept=leave).sites
        except Exception as error:
            if group is rules:
                raise
            failures.append(failure(group[0], error))
            continue
        refused += [site for site in sites if site.status != "applied"]
        by_id = {candidate.id: candidate for candidate in group}
        found += [(by_id[site.rule], site) for site in (*seen, *(site for site in sites if site.status == "applied"))]
    values = {(candidate.id, site.value) for candidate, site in found}
    return Survey(
        units=_units(found),
        refused=tuple(site for site in refused if (site.rule, site.value) not in values),
        failures=tuple(failures),
    )


def enabled(
    original: ir.Model, units: Sequence[Unit], candidates: Sequence[Candidate], *, known: Sequence[Unit], provider: str
) -> list[Unit]:
    """What CANDIDATES find only where UNITS were applied before; without sites, since the original has none.

    Args:
        original: The model; it is only read.
        units: What to apply.
        candidates: What to look for, and the order.
        known: What is found in the original.
        provider: Execution provider that will run the result, as ONNX Runtime names it.

    Raises:
        NotApplicable: A transform does not work together with UNITS.
    """
    is_wanted, is_known = accepting(units), accepting(known)
    by_id = {candidate.id: candidate for candidate in candidates}
    more: dict[tuple[str, str], Unit] = {}

    def take(site: Site) -> bool:
        if is_known(site) or site.rule not in by_id:
            return is_wanted(site)
        more[site.rule, site.group] = Unit(by_id[site.rule], (site.group,), ())
        return True

    compose(original, candidates, provider=provider, accept=take)
    return list(more.values())


def failure(candidate: Candidate, error: Exception) -> Failure:
    """What is told of a candidate that could not be applied: ERROR is its own, or some library's."""
    if isinstance(error, NotApplicable):
        unfinished = Status.NOT_FASTER if error.is_unfinished else Status.ILLEGAL
        return Failure(candidate, Status.UNSUPPORTED if error.is_missing else unfinished, str(error))
    lines = str(error).strip().splitlines()
    what = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return Failure(candidate, Status.ILLEGAL, f"it failed on this model ({what})")


def accepting(units: Iterable[Unit]) -> Callable[[Site], bool]:
    """Whether a site belongs to one of UNITS."""
    known = {(unit.candidate.id, group) for unit in units for group in unit.groups}
    return lambda site: (site.rule, site.group) in known


def is_optimizer(candidate: Candidate) -> TypeGuard[Library]:
    """Whether CANDIDATE is a library's optimiser: it takes a whole model, before anything else, and only one may."""
    return candidate.family == "optimizer" and not isinstance(candidate, Rule)


def apart(units: Iterable[Unit]) -> list[Unit]:
    """Those of UNITS that have no node in common, the earlier ones first."""
    chosen: list[Unit] = []
    for unit in units:
        if not unit.overlaps(chosen):
            chosen.append(unit)
    return chosen


def merged(units: Sequence[Unit]) -> Unit:
    """Units of one candidate as one."""
    groups = tuple(group for unit in units for group in unit.groups)
    return replace(units[0], groups=groups, sites=tuple(site for unit in units for site in unit.sites))


def _units(found: Iterable[tuple[Candidate, Site]]) -> tuple[Unit, ...]:
    """Places by candidate and group; a place found in several spellings counts once."""
    groups: dict[tuple[str, str], tuple[Candidate, dict[tuple[str, frozenset[str]], Site]]] = {}
    for candidate, site in found:
        _, sites = groups.setdefault((candidate.id, site.group), (candidate, {}))
        sites.setdefault((site.value, frozenset(site.nodes)), site)
    return tuple(Unit(candidate, (group,), tuple(sites.values())) for (_, group), (candidate, sites) in groups.items())

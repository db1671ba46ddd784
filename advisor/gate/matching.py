"""Which graph of the baseline is which graph of the current runs.

NVTX names are the program's own and must agree. Numbers of CUDA graphs, processes and devices are not: what they name
is matched by name first and by its kernels otherwise. Inside a graph, executions with one kernel sequence are a
*variant*: equal sequences are compared with each other; one that is new is compared with the most similar of the
baseline, while at least half of its kernels match.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from advisor.gate.kernels import likeness
from advisor.gate.statistics import appears_by_chance

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from advisor.gate.runs import Recording
    from advisor.trace.samples import Samples

__all__ = ["LIKENESS", "Matched", "Pair", "Variant", "match", "strangers"]

LIKENESS = 0.5
"""Graphs with fewer kernels in common are two graphs."""

SHARE = 0.80
"""Of the time of a graph's executions, so much must have a counterpart; else the graph was not compared."""

MIX = 0.20
"""A variant's share of the executions may change by so much."""


@dataclass(frozen=True)
class Variant:
    """Executions with one kernel sequence, by run."""

    runs: dict[int, Samples]
    """By the run's number; runs without it are absent."""

    @property
    def instances(self) -> int:
        """Over all runs."""
        return sum(samples.instances for samples in self.runs.values())

    @property
    def time(self) -> float:
        """Roughly how long its executions took together, ns."""
        return sum(float(samples.columns["span"].mean()) * samples.instances for samples in self.runs.values())

    @property
    def typical(self) -> Samples:
        """The run with the most executions."""
        return max(self.runs.values(), key=lambda samples: samples.instances)


@dataclass(frozen=True)
class Group:
    """All variants of one graph."""

    source: str
    name: str
    variants: dict[Hashable, Variant]

    @property
    def instances(self) -> int:
        return sum(variant.instances for variant in self.variants.values())

    @property
    def time(self) -> float:
        return sum(variant.time for variant in self.variants.values())

    @property
    def typical(self) -> Samples:
        return max(self.variants.values(), key=lambda variant: variant.instances).typical


@dataclass(frozen=True)
class Pair:
    """One graph, or one of its variants, on both sides."""

    name: str
    source: str
    before: Variant
    after: Variant


@dataclass
class Matched:
    """What can be compared, and what cannot."""

    pairs: list[Pair] = field(default_factory=list)
    new: list[tuple[str, str]] = field(default_factory=list)
    """(name, source) of graphs that only the current runs have."""
    undecided: list[tuple[str, str]] = field(default_factory=list)
    """(graph, why it cannot be compared)."""
    notes: list[str] = field(default_factory=list)


def match(before: Sequence[Recording], after: Sequence[Recording], *, level: float, min_instances: int) -> Matched:
    """Find each graph's counterpart.

    Args:
        before: The baseline's runs.
        after: The current runs.
        level: Variants that are rarer than chance explains at this level are not noise.
        min_instances: Graphs with fewer executions in the baseline may be missing.
    """
    old, new = _groups(before), _groups(after)
    found = Matched()
    graphs = _same_graphs(old, new)
    for group, other in graphs:
        if other is None:
            _missing(group, new, found, min_instances)
        else:
            _match_variants(group, other, found, level)
    taken = {id(other) for _, other in graphs}
    found.new = [(group.name, group.source) for group in new if id(group) not in taken]
    return found


def strangers(runs: Sequence[Recording]) -> list[tuple[str, str]]:
    """The runs, by name, that share no graph with the first one: neither a name nor similar kernels."""
    traced = [run for run in runs if run.samples]
    return [(traced[0].name, run.name) for run in traced[1:] if not _share_a_graph(traced[0], run)]


def _share_a_graph(one: Recording, other: Recording) -> bool:
    return any(
        mine.graph == theirs.graph if mine.source == theirs.source == "nvtx" else likeness(mine, theirs) >= LIKENESS
        for mine in one.samples
        for theirs in other.samples
    )


def _groups(runs: Sequence[Recording]) -> list[Group]:
    groups: dict[tuple[str, str], dict[Hashable, dict[int, Samples]]] = defaultdict(lambda: defaultdict(dict))
    for number, run in enumerate(runs):
        for samples in run.samples:
            # A window over a whole program has no sequence of its own: all of them are one variant.
            kernels = samples.order if samples.order is not None else samples.counts
            sequence = () if samples.source == "trace" else (samples.names, kernels)
            groups[samples.source, samples.graph][sequence].setdefault(number, samples)
    return [
        Group(source, name, {sequence: Variant(of_run) for sequence, of_run in variants.items()})
        for (source, name), variants in groups.items()
    ]


def _same_graphs(old: list[Group], new: list[Group]) -> list[tuple[Group, Group | None]]:
    left = {(group.source, group.name): group for group in new}
    pairs: list[tuple[Group, Group | None]] = []
    alone = []
    for group in old:
        other = left.get((group.source, group.name))
        if other is not None and (group.source == "nvtx" or likeness(group.typical, other.typical) >= LIKENESS):
            del left[group.source, group.name]
            pairs.append((group, other))
        else:
            alone.append(group)
    for group in alone:
        same_source = [other for other in left.values() if other.source == group.source != "nvtx"]
        other = max(same_source, key=lambda candidate: likeness(group.typical, candidate.typical), default=None)
        if other is not None and likeness(group.typical, other.typical) >= LIKENESS:
            del left[other.source, other.name]
            pairs.append((group, other))
        else:
            pairs.append((group, None))
    return pairs


def _missing(group: Group, new: list[Group], found: Matched, min_instances: int) -> None:
    if group.instances < min_instances:
        found.notes.append(f"{group.name}: {group.instances} executions in the baseline, none now: not compared")
        return
    others = [other for other in new if likeness(group.typical, other.typical) >= LIKENESS]
    hint = f": {others[0].name} has similar kernels (renamed?)" if others else ""
    if not others and any(other.source == group.source and other.name == group.name for other in new):
        hint = ": one with this name has other kernels"
    found.undecided.append((group.name, f"not found in the current runs{hint}"))


def _match_variants(group: Group, other: Group, found: Matched, level: float) -> None:
    exact = [(group.variants[key], other.variants[key]) for key in group.variants if key in other.variants]
    appeared = [variant for key, variant in other.variants.items() if key not in group.variants]
    vanished = [variant for key, variant in group.variants.items() if key not in other.variants]
    pairs = list(exact)
    partners = set()
    for variant in appeared:
        partner = max(vanished or group.variants.values(), key=lambda old: likeness(old.typical, variant.typical))
        if likeness(partner.typical, variant.typical) < LIKENESS:
            found.notes.append(f"{group.name}: {variant.instances} executions with quite other kernels: not compared")
            continue
        if exact and appears_by_chance(variant.instances, other.instances, group.instances) > level:
            found.notes.append(f"{group.name}: {variant.instances} executions with another kernel sequence: too few")
            continue
        partners.add(id(partner))
        pairs.append((partner, variant))
    for variant in vanished:
        rare = exact and appears_by_chance(variant.instances, group.instances, other.instances) > level
        if id(variant) not in partners and not rare:
            found.undecided.append(
                (group.name, f"the kernel sequence of {variant.instances} executions is not seen any more")
            )
    _check_shares(group, other, pairs, found)
    _check_mix(group, other, exact, found)
    several = len(pairs) > 1
    for number, (old, new) in enumerate(sorted(pairs, key=lambda pair: -pair[0].time)):
        name = f"{group.name} (variant {number})" if several else group.name
        found.pairs.append(Pair(name, group.source, old, new))


def _check_shares(group: Group, other: Group, pairs: list[tuple[Variant, Variant]], found: Matched) -> None:
    for words, whole, variants in (
        ("baseline's", group, [old for old, _ in pairs]),
        ("current", other, [new for _, new in pairs]),
    ):
        compared = sum({id(variant): variant.time for variant in variants}.values())
        if compared < SHARE * whole.time:
            share = compared / whole.time if whole.time else 0
            found.undecided.append(
                (group.name, f"only {share:.0%} of the {words} executions have a counterpart with similar kernels")
            )


def _check_mix(group: Group, other: Group, exact: list[tuple[Variant, Variant]], found: Matched) -> None:
    """Each variant may be as fast as ever, and the program take the slow one more often."""
    for old, new in exact:
        before, after = old.instances / group.instances, new.instances / other.instances
        pooled = (old.instances + new.instances) / (group.instances + other.instances)
        error = (pooled * (1 - pooled) * (1 / group.instances + 1 / other.instances)) ** 0.5
        if len(group.variants) > 1 and abs(after - before) > max(MIX, 3 * error):
            found.undecided.append(
                (
                    group.name,
                    f"a kernel sequence with {old.typical.columns['kernels'][0]:.0f} kernels was {before:.0%} of the"
                    f" executions and is now {after:.0%}: record both with the same inputs",
                )
            )
            return

"""Which units are worth a race of the whole model, and which of them together.

Told by their share of a run, by what a trace predicts, and by what they saved on parts of the model.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from advisor.fuse.outcomes import Fate
from advisor.fuse.result import Status
from advisor.fuse.units import apart, merged
from advisor.measure.statistics import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from advisor.fuse.predictions import Predictions
    from advisor.fuse.screening import Screened, Screening
    from advisor.fuse.units import Unit

__all__ = ["Shortlist"]

SMALL = 0.005
"""Share of a run under which no race tells anything."""
MOST_UNITS = 40
"""Units that are tried; those whose nodes take longest."""
HEAVY_COUNTS = 0.1
"""Part of the time of products and convolutions that a fusion may be expected to save: little but what is beside."""
LONGEST_RACE_S = 1.0
"""Of a part: its latency is a small one."""


class Shortlist:
    """What is known of units before the whole model is raced with them.

    Attributes:
        units: Everything that was found; small places of one candidate are one unit.
        fates: Why the others are left out, and those that fail on their part.
        screened: Units on a part of the model.
    """

    def __init__(self, screening: Screening, predictions: Predictions | None) -> None:
        """Know nothing yet; SCREENING has the parts, PREDICTIONS are a trace's."""
        self._screening, self._predictions = screening, predictions
        self._unheard: set[Unit] = set()
        self.units: list[Unit] = []
        self.fates: dict[Unit, Fate] = {}
        self.screened: dict[Unit, Screened] = {}

    def take(self, found: Sequence[Unit]) -> list[Unit]:
        """Those of the units FOUND that are to be tried, the most promising first."""
        self._screening.prepare(found)
        share = {unit: self._screening.share(unit) for unit in found}
        light = {unit: self._screening.share(unit, heavy=HEAVY_COUNTS) or 0.0 for unit in found}
        small: dict[str, list[Unit]] = {}
        for unit in found:
            is_small = (share[unit] or math.inf) < SMALL and not unit.is_structure
            (small.setdefault(unit.candidate.id, []) if is_small else self.units).append(unit)
        for group in small.values():
            together = merged(sorted(group, key=lambda unit: share[unit] or 0.0, reverse=True))
            share[together] = sum(share[unit] or 0.0 for unit in group)
            light[together] = sum(light[unit] for unit in group)
            self.units.append(together)
        units = sorted(self.units, key=lambda unit: (self._promise(unit), light[unit]), reverse=True)
        if not any(map(self._promise, units)):  # every candidate is heard before one is heard twice
            turn: Counter[str] = Counter()
            turns = {unit: (turn.update([unit.name]), turn[unit.name])[1] for unit in units}
            units.sort(key=turns.__getitem__)
        for place, unit in enumerate(units):
            part = share[unit]
            if place >= MOST_UNITS:
                self.fates[unit] = Fate(Status.NOT_FASTER, f"not tried: {MOST_UNITS} others take longer")
            elif part is not None and part < SMALL and not unit.is_structure:
                reason = f"its nodes take {100 * part:.1g} % of a run, less than can be measured"
                self.fates[unit] = Fate(Status.NOT_FASTER, reason)
        return [unit for unit in units if unit not in self.fates]

    def screen(self, units: Sequence[Unit], seconds_left: Callable[[], float], say: Callable[[str], None]) -> None:
        """Try UNITS on parts of the model, at least one, until no SECONDS_LEFT."""
        self._unheard = set(units)
        for number, unit in enumerate(units, 1):
            left = max(seconds_left(), 0.0)
            if not left and number > 1:
                return
            say(f"trying {unit.name} on a part of the model, {number} of {len(units)}")
            self._unheard.remove(unit)
            found = self._screening.race(unit, seconds=min(left / (len(units) - number + 1), LONGEST_RACE_S))
            if found is None:
                continue
            self.screened[unit] = found
            if not found.verification.passed:
                self.fates[unit] = Fate(Status.WRONG, found.verification.reason)
            elif found.latency is not None and found.latency.verdict is Verdict.SLOWER:
                self.fates[unit] = Fate(Status.NOT_FASTER, "slower, tried on a part of the model")

    def is_trusted(self, unit: Unit) -> bool:
        """Whether UNIT was faster where it was tried: the whole model then only has to be not slower with it."""
        screened = self.screened.get(unit)
        return screened is not None and screened.latency is not None and screened.latency.verdict is Verdict.FASTER

    def winners(self, units: Iterable[Unit]) -> tuple[list[Unit], list[Unit]]:
        """Those of UNITS that won on their parts, the largest saving first, and apart from them their rivals.

        Of such that take the same nodes it is the size that saved most.
        """
        won = sorted(filter(self.is_trusted, units), key=self._saving, reverse=True)
        chosen: list[Unit] = []
        for unit in won:
            inside = apart([other for other in won if other.nodes < unit.nodes])
            if not unit.overlaps(chosen) and sum(map(self._saving, inside)) <= self._saving(unit):
                chosen.append(unit)
        chosen = apart([*chosen, *(unit for unit in won if unit not in chosen)])
        return chosen, [unit for unit in won if unit not in chosen]

    def leaning(self, units: Iterable[Unit]) -> list[Unit]:
        """Those of UNITS that seem faster on their parts, sure or not, the largest saving first."""
        left = [unit for unit in units if unit in self.screened and unit not in self.fates and self._saving(unit) > 0]
        return sorted(left, key=self._saving, reverse=True)

    def likely(self, units: Iterable[Unit], *, beside: Sequence[Unit]) -> list[Unit]:
        """Those of UNITS that are likely to gain, and fit BESIDE others; the surest come first.

        They seem faster on their parts, which is not sure, or there was no time to try them and their candidate saved
        something elsewhere.
        """
        saved: Counter[str] = Counter()
        for unit in self.screened:
            saved[unit.candidate.id] += round(self._saving(unit))
        left = [unit for unit in units if unit not in self.fates and unit not in beside]
        unheard = [unit for unit in left if unit in self._unheard and saved[unit.candidate.id] > 0]
        return apart([*beside, *self.leaning(left), *unheard])[len(beside) :]

    def by_candidate(self, units: Iterable[Unit]) -> list[list[Unit]]:
        """UNITS that are not left out, those of one candidate together; those that seem slower, and windows, apart."""
        batches: dict[object, list[Unit]] = {}
        for unit in units:
            if unit in self.fates:
                continue
            screened = self.screened.get(unit)
            seems_slower = screened and screened.latency and screened.latency.ratio.ratio > 1
            is_window = unit.overlaps(batches.get(unit.candidate.id, ()))
            batches.setdefault(unit if seems_slower or is_window else unit.candidate.id, []).append(unit)
        return list(batches.values())

    def _promise(self, unit: Unit) -> float:
        """What a trace says that UNIT saves at least, ns per run."""
        predicted = None if self._predictions is None else self._predictions.of(site.nodes for site in unit.sites)
        return 0.0 if predicted is None else float(predicted.saving_ns[0])

    def _saving(self, unit: Unit) -> float:
        """What UNIT saved on its part, for all its places, ns."""
        return self.screened[unit].saving_ns(len(unit.sites))

"""The choice of fusions that pay: tried on parts of the model, then added to the whole while that gets faster.

1. Equal places of one candidate are a unit. Units whose nodes take less of a run than can be measured are put together
   or left out.
2. Every unit is proven and raced on a part of the model.
3. Those that won there and those that seem faster, which is not sure, are applied together, proven and raced in the
   whole model; then without each candidate that only seems faster. Where that fails, the winners alone. Then those of
   which the part did not tell, by candidate: they have to make the whole model measurably faster. What fails is tried
   again in halves.
4. The work of a library's optimiser is one more unit: at most one of them stays, and everything else goes on top.
5. What only other fusions make possible is tried with all of them together.
6. The result is proven on every set of inputs and raced for longer. Where it fails, the last addition is taken back.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from advisor.fuse.compose import compose
from advisor.fuse.outcomes import Fate, listed
from advisor.fuse.result import Status
from advisor.fuse.rule import Rule
from advisor.fuse.transform import NotApplicable
from advisor.fuse.trial import Trial, apply
from advisor.fuse.units import Failure, Unit, enabled, failure, is_optimizer, merged, survey
from advisor.measure.statistics import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import onnx_ir as ir

    from advisor.fuse.bench import Bench
    from advisor.fuse.predictions import Predictions
    from advisor.fuse.result import Fusion
    from advisor.fuse.rewrite import Site
    from advisor.fuse.screening import Screened, Screening
    from advisor.fuse.transform import Applied
    from advisor.fuse.units import Candidate
    from advisor.measure.latency import PairedLatency

    Progress = Callable[[str], None]
    Seconds = Callable[[], float]
    """A monotonic clock."""

__all__ = ["Selection", "select"]

SCREEN_SHARE = 0.35
"""Share of the budget for parts of the model, at most."""
SCREEN_SECONDS = 1.0
"""A part is raced no longer: its latency is a small one."""
FINAL_SHARE = 0.25
"""Share of the budget that the last race gets at least, also when the others took it all."""
STEP_RESOLUTION = 0.01
FINAL_RESOLUTION = 0.005
SMALL = 0.005
"""Share of a run under which no race tells anything."""
MOST_UNITS = 40
"""Units that are tried; those whose nodes take longest."""
INTERRUPTED = "the search was interrupted before this was decided"
NO_TIME = "the time was over before it could be measured (a larger --budget tells)"


@dataclass(frozen=True)
class Selection:
    """What is left of the candidates.

    Attributes:
        fused: The fused model, proven equal and not slower; None where the original is the best.
        latency: The last race of a fused model, also of one that was turned down; None where there was none.
        fusions: Everything that found a place, and what became of it.
        interrupted: The user ended the search: what was proven until then is kept.
    """

    fused: Trial | None
    latency: PairedLatency | None
    fusions: tuple[Fusion, ...]
    interrupted: bool = False


def select(
    original: ir.Model,
    candidates: Sequence[Candidate],
    bench: Bench,
    screening: Screening,
    *,
    budget_s: float,
    progress: Progress,
    predictions: Predictions | None = None,
    clock: Seconds = time.monotonic,
) -> Selection:
    """Choose the fusions that go into the output.

    Args:
        original: The model; it is only read.
        candidates: What to try, in the order in which it is applied.
        bench: The original on the provider that counts.
        screening: Parts of the original there.
        budget_s: Seconds for all of it but the last proof and a short last race.
        progress: Called with a few words at every step.
        predictions: What a trace says that fusions save: those that would save most are tried first.
        clock: For tests.

    Raises:
        KeyboardInterrupt: The user ended the search before anything was proven.
    """
    search = _Search(original, candidates, bench, screening, budget_s, progress, predictions, clock)
    is_interrupted = False
    try:
        search.run()
        search.finish()
    except KeyboardInterrupt:
        if search.best is None:
            raise
        is_interrupted = True
        progress("interrupted: proving the best so far")
        search.finish(is_interrupted=True)
    fusions = listed(
        search.units,
        search.refused,
        search.failures,
        fused=search.best,
        fates=search.fates,
        screened=search.screened,
        alone=search.alone,
        predictions=predictions,
    )
    return Selection(search.best, search.latency, tuple(fusions), is_interrupted)


class _Search:
    """The state of a search: what is applied by now, and why the rest is not."""

    def __init__(
        self,
        original: ir.Model,
        candidates: Sequence[Candidate],
        bench: Bench,
        screening: Screening,
        budget_s: float,
        progress: Progress,
        predictions: Predictions | None,
        clock: Seconds,
    ) -> None:
        self._original, self._candidates = original, candidates
        self._bench, self._screening = bench, screening
        self._budget_s, self._predictions, self._clock = budget_s, predictions, clock
        self._say = progress
        self._start = clock()
        self._steps_left = 0
        self._optimised: dict[str, Applied] = {}
        self._history: list[Trial] = []
        self._so_far: dict[Unit, Fate] = {}
        """What batches came to; a unit may still do better with fewer others."""
        self.units: list[Unit] = []
        self.refused: list[Site] = []
        self.failures: list[Failure] = []
        self.fates: dict[Unit, Fate] = {}
        self.screened: dict[Unit, Screened] = {}
        self.alone: dict[Unit, Trial] = {}
        self.latency: PairedLatency | None = None

    @property
    def best(self) -> Trial | None:
        """The best model until now."""
        return self._history[-1] if self._history else None

    def run(self) -> None:
        """Add what makes the model faster, as far as the budget goes."""
        optimizers = [each for each in self._candidates if is_optimizer(each)]
        others = [each for each in self._candidates if not is_optimizer(each)]
        self._say("looking for places to fuse")
        found = survey(self._original, others, provider=self._bench.provider)
        self.refused += found.refused
        self.failures += found.failures
        units = self._measurable(found.units)
        structure = [unit for unit in units if unit.candidate.family == "structure"]
        fusions = [unit for unit in units if unit not in structure]
        winners = self._screen(fusions) if len(units) + len(optimizers) > 1 else []
        chosen, rivals = self._windows(winners)
        hopeful = self._hopeful(chosen, [unit for unit in fusions if unit not in winners])
        if hopeful:
            # With so many races before it none would have time: a third of it goes to all of them at once.
            self._steps_left = 2
            if self._add_batch([*chosen, *hopeful]):
                self._drop_slow(hopeful)
        kept = self.best.units if self.best else ()
        rivals = [*rivals, *(unit for unit in fusions if unit not in (*rivals, *kept) and unit.overlaps(kept))]
        rest = (unit for unit in fusions if unit not in (*winners, *rivals, *kept))
        batches = [[] if kept else chosen, *self._by_candidate(rest), structure]
        batches = [batch for batch in batches if batch]
        failed = []
        for number, batch in enumerate(batches, 1):
            self._steps_left = len(batches) - number + len(optimizers)
            if not self._add_batch(batch):
                failed.append(batch)
        for number, optimizer in enumerate(optimizers, 1):
            self._steps_left = len(optimizers) - number
            self._announce(f"running {optimizer.id}, {number} of {len(optimizers)}")
            self._add_optimizer(optimizer)
        kept = self.best.units if self.best else ()
        reason = "its nodes, taken with more or fewer others, save more"
        self._leave((unit for unit in rivals if unit.overlaps(kept)), Fate(Status.NOT_FASTER, reason))
        failed += [[unit] for unit in rivals if unit not in self.fates and not self._add_batch([unit])]
        self._add_halves(batch for batch in failed if batch is not structure or not self._is_neutral(batch))
        self._add_enabled(others)

    def finish(self, *, is_interrupted: bool = False) -> None:
        """Prove and race the best model once more; take back the last addition as long as it fails there.

        Args:
            is_interrupted: Nobody wants to wait: a race that there is will do.
        """
        while self._prove():
            best = self._history[-1]
            seconds = 0.0 if is_interrupted else max(self._left(), self._budget_s * FINAL_SHARE)
            if best.latency is None or best.seconds < seconds:
                self._say("measuring the fused model")
                self._race(best, seconds=seconds, resolution=FINAL_RESOLUTION)
            assert best.latency is not None
            self.latency = best.latency
            if best.latency.verdict is Verdict.FASTER:
                break
            self._take_back(Fate(Status.NOT_FASTER, _finding(best.latency)))
        if is_interrupted:
            kept = self.best.units if self.best else ()
            self._leave((unit for unit in self.units if unit not in kept), Fate(Status.NOT_FASTER, INTERRUPTED))

    def _prove(self) -> bool:
        """Prove the best model on every set of inputs, or the next best; False where none is left."""
        while self._history:
            best = self._history[-1]
            self._say("verifying the fused model")
            best.verification = self._bench.verify(best.result, final=True)
            if best.verification.passed:
                return True
            self._drop_wrong(best)
        return False

    def _leave(self, units: Iterable[Unit], fate: Fate) -> None:
        """Leave UNITS out, for what they came to with others or for FATE; the first reason for a unit stays."""
        for unit in units:
            self.fates.setdefault(unit, self._so_far.get(unit, fate) if fate.reason == NO_TIME else fate)

    def _measurable(self, found: Sequence[Unit]) -> list[Unit]:
        """The units to try, those that promise most first; small ones of a candidate are one."""
        self._say("profiling the nodes of the original")
        self._screening.prepare(found)
        share = {unit: self._screening.share(unit) for unit in found}
        small: dict[str, list[Unit]] = {}
        units: list[Unit] = []
        for unit in found:
            is_small = (share[unit] or math.inf) < SMALL and unit.candidate.family != "structure"
            (small.setdefault(unit.candidate.id, []) if is_small else units).append(unit)
        for group in small.values():
            together = merged(sorted(group, key=lambda unit: share[unit] or 0.0, reverse=True))
            share[together] = sum(share[unit] or 0.0 for unit in group)
            units.append(together)
        self.units = units
        units = sorted(units, key=lambda unit: (self._promise(unit), share[unit] or 0.0), reverse=True)
        if not any(map(self._promise, units)):  # every candidate is heard before one is heard twice
            turn: Counter[str] = Counter()
            turns = {unit: (turn.update([unit.name]), turn[unit.name])[1] for unit in units}
            units.sort(key=turns.__getitem__)
        for unit in units[MOST_UNITS:]:
            self._leave([unit], Fate(Status.NOT_FASTER, f"not tried: {MOST_UNITS} others take longer"))
        for unit in units:
            part = share[unit]
            if part is not None and part < SMALL and unit.candidate.family != "structure":
                reason = f"its nodes take {100 * part:.1g} % of a run, less than can be measured"
                self._leave([unit], Fate(Status.NOT_FASTER, reason))
        return [unit for unit in units if unit not in self.fates]

    def _promise(self, unit: Unit) -> float:
        """What a trace says that UNIT saves at least, ns per run."""
        predicted = None if self._predictions is None else self._predictions.of(site.nodes for site in unit.sites)
        return 0.0 if predicted is None else float(predicted.saving_ns[0])

    def _screen(self, units: Sequence[Unit]) -> list[Unit]:
        """Try UNITS on parts of the model; those that win there, the largest saving first."""
        end = self._start + self._budget_s * SCREEN_SHARE
        for number, unit in enumerate(units, 1):
            left = end - self._clock()
            if left <= 0 and number > 1:
                break
            self._say(f"trying {unit.name} on a part of the model, {number} of {len(units)}")
            seconds = min(max(left, 0.0) / (len(units) - number + 1), SCREEN_SECONDS)
            found = self._screening.race(unit, seconds=seconds)
            if found is None:
                continue
            self.screened[unit] = found
            if not found.verification.passed:
                self._leave([unit], Fate(Status.WRONG, found.verification.reason))
            elif found.latency is not None and found.latency.verdict is Verdict.SLOWER:
                self._leave([unit], Fate(Status.NOT_FASTER, "slower, tried on a part of the model"))
        won = [unit for unit in units if self._is_trusted(unit)]
        return sorted(won, key=self._saving, reverse=True)

    def _is_trusted(self, unit: Unit) -> bool:
        """Whether UNIT was faster where it was tried: the whole model then only has to be not slower with it."""
        screened = self.screened.get(unit)
        return screened is not None and screened.latency is not None and screened.latency.verdict is Verdict.FASTER

    def _saving(self, unit: Unit) -> float:
        """What UNIT saved on its part, for all its places, ns."""
        return self.screened[unit].saving_ns(len(unit.sites))

    def _hopeful(self, chosen: Sequence[Unit], others: Sequence[Unit]) -> list[Unit]:
        """Of OTHERS those that seem faster on their parts, by what they seem to save, and fit beside CHOSEN."""
        leaning = [
            unit for unit in others if unit not in self.fates and unit in self.screened and self._saving(unit) > 0
        ]
        apart, _ = _apart([*chosen, *sorted(leaning, key=self._saving, reverse=True)])
        return [unit for unit in apart if unit not in chosen]

    def _drop_slow(self, units: Sequence[Unit]) -> None:
        """Take those of UNITS out again, candidate by candidate, without which the best model is faster."""
        batches: dict[str, list[Unit]] = {}
        for unit in units:
            batches.setdefault(unit.candidate.id, []).append(unit)
        for number, (name, batch) in enumerate(batches.items(), 1):
            best = self.best
            assert best is not None
            assert best.latency is not None
            rest = [unit for unit in best.units if unit not in batch]
            if not rest or not self._has_time():
                return
            self._announce(f"trying without {name}, {number} of {len(batches)}")
            trial = self._apply(rest)
            trial.verification = self._bench.verify(trial.result, final=False)
            if not trial.verification.passed:
                continue
            # Half of the time that is left goes to all of these together: what was not tried yet may gain more.
            seconds = self._left() / (2 * (len(batches) - number + 1))
            self._race(trial, seconds=seconds, resolution=STEP_RESOLUTION)
            assert trial.latency is not None
            if _change(trial.latency, best.latency) is Verdict.FASTER:
                self._history.append(trial)
                self._leave(batch, Fate(Status.NOT_FASTER, "the model is faster without it"))

    def _by_candidate(self, units: Iterable[Unit]) -> list[list[Unit]]:
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

    def _add_batch(self, units: Sequence[Unit], *, after: Sequence[Unit] = ()) -> bool:
        """Add UNITS together, and AFTER with them."""
        self._announce(f"adding {', '.join(dict.fromkeys(unit.name for unit in units))}")
        return self._add([*after, *units])

    def _add_halves(self, failed: Iterable[Sequence[Unit]], *, after: Sequence[Unit] = ()) -> None:
        """Add what does no harm of batches that failed: their halves, then the halves of those that fail again."""
        waiting = deque(batch for batch in failed if len(batch) > 1)
        while waiting:
            batch = waiting.popleft()
            middle = len(batch) // 2
            for half in (batch[:middle], batch[middle:]):
                self._steps_left = 2 * len(waiting) + 1
                if not self._has_time():
                    self._leave(half, Fate(Status.NOT_FASTER, NO_TIME))
                elif not self._add_batch(half, after=after) and len(half) > 1:
                    waiting.append(half)

    def _is_neutral(self, units: Iterable[Unit]) -> bool:
        return all(unit in self.fates and self.fates[unit].is_neutral for unit in units)

    def _windows(self, winners: Sequence[Unit]) -> tuple[list[Unit], list[Unit]]:
        """Of units that take the same nodes the size that saved most on parts of the model, and the others."""
        chosen: list[Unit] = []
        for unit in winners:  # the largest saving first
            inside, _ = _apart([other for other in winners if other.nodes < unit.nodes])
            if not unit.overlaps(chosen) and sum(map(self._saving, inside)) <= self._saving(unit):
                chosen.append(unit)
        more, _ = _apart([*chosen, *(unit for unit in winners if unit not in chosen)])
        return more, [unit for unit in winners if unit not in more]

    def _add_optimizer(self, optimizer: Candidate) -> None:
        """Try a library's optimiser below what is applied, and then alone."""
        if not self._has_time():
            self.failures.append(Failure(optimizer, Status.NOT_FASTER, NO_TIME))
            return
        try:
            applied = compose(self._original, [optimizer], provider=self._bench.provider)
        except Exception as error:  # whatever a library raises
            self.failures.append(failure(optimizer, error))
            return
        if not any(site.status == "applied" for site in applied.sites):
            self.failures.append(Failure(optimizer, Status.NOT_FASTER, "it changes nothing in this model"))
            return
        unit = Unit(optimizer, tuple({site.group for site in applied.sites}), applied.sites)
        self.units.append(unit)
        self._optimised = {**self._optimised, optimizer.id: applied}
        below = [each for each in (self.best.units if self.best else ()) if not is_optimizer(each.candidate)]
        if not self._add([unit], onto=below, is_last=not below) and below:
            self._add([unit], onto=())

    def _add_enabled(self, candidates: Sequence[Candidate]) -> None:
        """Try what only other fusions make possible, with all that are right and not slower."""
        usable = {each.id for each in candidates} - {failed.candidate.id for failed in self.failures}
        candidates = [each for each in candidates if each.id in usable]
        kept = list(self.best.units) if self.best else []
        neutral = [unit for unit, fate in self.fates.items() if fate.is_neutral and not is_optimizer(unit.candidate)]
        rest = [each for each in (*kept, *neutral) if not is_optimizer(each.candidate)]
        try:
            provider = self._bench.provider
            more = enabled(self._original, rest, candidates, known=self.units, provider=provider) if rest else []
        except NotApplicable:
            return
        if more and self._has_time():
            self.units += more
            self._announce("adding what only other fusions make possible")
            if not self._add_batch(more, after=neutral):
                self._add_halves([more], after=neutral)
            added = self.best.units if self.best else ()
            fate = Fate(Status.NOT_FASTER, "possible only after other fusions, and no gain was measured")
            self._leave((unit for unit in more if unit not in added), fate)

    def _add(self, units: Sequence[Unit], *, onto: Sequence[Unit] | None = None, is_last: bool = True) -> bool:
        """Prove and race the best model with UNITS added; whether that is the best model now.

        Args:
            units: What to add. One that fails alone is left out for good, with the reason.
            onto: What to add it to; None is what the best model has.
            is_last: Nothing else is going to be tried with one unit.
        """
        if not self._has_time():
            self._leave(units, Fate(Status.NOT_FASTER, NO_TIME))
            return False
        before = (self.best.units if self.best else ()) if onto is None else onto
        fate = self._try(units, before)
        if fate is not None and is_last:
            is_structure = all(unit.candidate.family == "structure" for unit in units)
            if len(units) == 1 or (is_structure and fate.is_neutral):
                self._leave(units, fate)
            else:
                self._so_far |= dict.fromkeys(units, replace(fate, reason=f"all such together: {fate.reason}"))
        return fate is None

    def _try(self, units: Sequence[Unit], before: Sequence[Unit]) -> Fate | None:
        """Prove and race UNITS with those BEFORE: None where that is the best model now, else what is wrong with it."""
        try:
            trial = self._apply([*(unit for unit in before if unit not in units), *units])
        except Exception as error:
            if all(isinstance(unit.candidate, Rule) for unit in (*before, *units)):
                raise
            failed = failure(units[0].candidate, error)
            return Fate(failed.status, failed.reason)
        if not any(trial.places(unit) for unit in units):
            return Fate(Status.NOT_FASTER, "another fusion takes its nodes")
        if len({unit.name for unit in trial.units}) == 1:
            for unit in units:
                self.alone.setdefault(unit, trial)
        trial.verification = self._bench.verify(trial.result, final=False)
        if not trial.verification.passed:
            return Fate(Status.WRONG, _together(units, before) + trial.verification.reason)
        self._race(trial, seconds=self._left() / (self._steps_left + 1), resolution=STEP_RESOLUTION)
        assert trial.latency is not None
        self.latency = trial.latency
        change = _change(trial.latency, self.best.latency if self.best else None)
        is_unchanged = change is Verdict.UNCHANGED and trial.latency.is_not_slower
        if change is Verdict.FASTER or (
            is_unchanged and all(self._is_trusted(unit) and not unit.overlaps(before) for unit in units)
        ):
            self._history.append(trial)
            return None
        reason = _finding(trial.latency) if trial.latency.verdict is not Verdict.FASTER else _against(change)
        return Fate(Status.NOT_FASTER, _together(units, before) + reason, is_neutral=is_unchanged)

    def _drop_wrong(self, best: Trial) -> None:
        """Leave out what makes BEST fail the last proof: units that fail it alone, or else the last addition."""
        assert best.verification is not None
        wrong: list[Unit] = []
        for unit in best.units:
            if len(best.units) > 1:
                alone = self._apply([unit])
                self._say(f"verifying {unit.name} alone")
                verification = self._bench.verify(alone.result, final=True)
                if not verification.passed:
                    alone.verification = verification
                    self.alone[unit] = alone
                    wrong.append(unit)
                    self._leave([unit], Fate(Status.WRONG, verification.reason))
        if not wrong:
            if len(best.units) == 1:
                self.alone[best.units[0]] = best
            self._take_back(Fate(Status.WRONG, best.verification.reason))
            return
        # No earlier model with one of them is right; what remains of this one has to be proven and raced anew.
        self._history = [trial for trial in self._history if not set(wrong) & set(trial.units)]
        rest = [unit for unit in best.units if unit not in wrong]
        if rest:
            self._history.append(self._apply(rest))

    def _take_back(self, fate: Fate) -> None:
        """Go back to the best model before the last addition."""
        last = self._history.pop()
        kept = self._history[-1].units if self._history else ()
        added = [unit for unit in last.units if unit not in kept]
        self._leave(added, Fate(fate.status, _together(added, kept) + fate.reason))

    def _apply(self, units: Sequence[Unit]) -> Trial:
        return apply(self._original, units, self._candidates, provider=self._bench.provider, optimised=self._optimised)

    def _race(self, trial: Trial, *, seconds: float, resolution: float) -> None:
        seconds = max(seconds, 0.0)
        trial.latency = self._bench.measure(trial.result, seconds=seconds, resolution=resolution)
        trial.seconds = seconds

    def _left(self) -> float:
        """Seconds of the budget that are left."""
        return self._budget_s - (self._clock() - self._start)

    def _has_time(self) -> bool:
        """Whether another race may begin: the first one always may."""
        return self._left() > 0 or self.latency is None

    def _announce(self, words: str) -> None:
        best = self.best.latency if self.best else None
        self._say(f"{words}; best so far {best.ratio.ratio:.3f}" if best else words)


def _apart(units: Sequence[Unit]) -> tuple[list[Unit], list[Unit]]:
    """UNITS that have no node in common, the earlier ones first, and the others: alternatives to them."""
    apart: list[Unit] = []
    others: list[Unit] = []
    for unit in units:
        (others if unit.overlaps(apart) else apart).append(unit)
    return apart, others


def _change(latency: PairedLatency, best: PairedLatency | None) -> Verdict:
    """How a model compares with the best until now, each by its race against the original."""
    if best is None:
        return latency.verdict
    change = latency.ratio.ratio / best.ratio.ratio - 1
    noise = max(interval.half_width for race in (latency, best) for interval in (race.ratio, race.a_a))
    if abs(change) <= noise:
        return Verdict.UNCHANGED
    return Verdict.FASTER if change < 0 else Verdict.SLOWER


def _together(units: Sequence[Unit], others: Sequence[Unit]) -> str:
    """Begins a reason that holds for UNITS with OTHERS."""
    names = dict.fromkeys(unit.name for unit in others if unit not in units)
    return f"together with {', '.join(names)} " if names else ""


def _against(change: Verdict) -> str:
    """Why a model that is faster than the original was turned down: it is not faster than the best one."""
    return "the model is slower than without it" if change is Verdict.SLOWER else "no further gain was measured"


def _finding(latency: PairedLatency) -> str:
    """Why a race turned a model down."""
    if latency.verdict is Verdict.SLOWER:
        return "the model is slower"
    if latency.is_not_slower:
        return "no gain was measured"
    return "the model was not shown to be as fast as before: too much noise"

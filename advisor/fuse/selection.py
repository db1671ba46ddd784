"""The choice of fusions that pay: tried on parts of the model, then added to the whole while that gets faster.

1. Equal places of one candidate are a unit. Every unit is proven and raced on a part of the model, as far as the time
   goes (`advisor.fuse.shortlist`).
2. Those that won there, those that are likely to gain, which is not sure, and changes of structure are applied
   together, proven and raced in the whole model; where that fails, the winners alone. What gains on parts and wants
   nodes of theirs in some places only is tried on top, then all that nothing speaks against beside it; then all without
   each candidate that is not sure. Where the race does not tell and nothing better is found, the last one decides; on a
   noisy machine it gets the rest of the time.
3. The work of a library's optimiser is one more unit: at most one of them stays, and everything else goes on top.
4. Those of which the part did not tell, by candidate: they have to make the whole model measurably faster. What fails
   is tried again in halves.
5. What only other fusions make possible is tried with all of them together.
6. The result is proven on every set of inputs and raced for longer. Where it fails, the last addition is taken back.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from advisor.fuse.compose import compose
from advisor.fuse.outcomes import Fate, listed
from advisor.fuse.result import Status
from advisor.fuse.rule import Rule
from advisor.fuse.shortlist import Shortlist
from advisor.fuse.transform import NotApplicable
from advisor.fuse.trial import Trial, apply
from advisor.fuse.units import Failure, Unit, enabled, failure, is_optimizer, survey
from advisor.measure.statistics import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    import onnx_ir as ir

    from advisor.fuse.bench import Bench
    from advisor.fuse.predictions import Predictions
    from advisor.fuse.result import Fusion
    from advisor.fuse.rewrite import Site
    from advisor.fuse.screening import Screening
    from advisor.fuse.transform import Applied, Library
    from advisor.fuse.units import Candidate
    from advisor.measure.latency import PairedLatency

    Progress = Callable[[str], None]
    Seconds = Callable[[], float]
    """A monotonic clock."""

__all__ = ["Selection", "select"]

SCREEN_SHARE = 0.4
"""Share of the time left that goes to parts of the model, at most."""
OPTIMIZER_SHARE = 0.5
"""Share of the time left that a library's optimiser may take for its work."""
OPTIMIZER_SECONDS = 2.0
"""With less than that none is started: importing the libraries takes as long."""
FINAL_SHARE = 0.25
"""Share of the budget that the last race gets at least, also when the others took it all."""
FINAL_SECONDS = 5.0
"""What it gets where that share is less, though no more than the budget: this race decides, the others only choose."""
STEP_RESOLUTION = 0.01
FINAL_RESOLUTION = 0.005
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
        screened=search.shortlist.screened,
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
        self._bench, self._budget_s, self._clock = bench, budget_s, clock
        self._say = progress
        self._start = clock()
        self._steps_left = 0
        self._race_s = 0.0
        """What the last race was given."""
        self._overhead_s = 0.0
        """What the last trial took besides: proof, sessions, and a race that cannot be shorter."""
        self._optimised: dict[str, Applied] = {}
        self._history: list[Trial] = []
        self._undecided: Trial | None = None
        """What gained on parts, where the whole model did not tell: with nothing better the last race decides."""
        self._so_far: dict[Unit, Fate] = {}
        """What batches came to; a unit may still do better with fewer others."""
        self.refused: list[Site] = []
        self.failures: list[Failure] = []
        self.shortlist = Shortlist(screening, predictions)
        self.alone: dict[Unit, Trial] = {}
        self.latency: PairedLatency | None = None

    @property
    def best(self) -> Trial | None:
        """The best model until now."""
        return self._history[-1] if self._history else None

    @property
    def units(self) -> list[Unit]:
        """Everything that found a place."""
        return self.shortlist.units

    @property
    def fates(self) -> dict[Unit, Fate]:
        """Why units are left out."""
        return self.shortlist.fates

    @property
    def kept(self) -> tuple[Unit, ...]:
        """What the best model until now has."""
        return self.best.units if self.best else ()

    def run(self) -> None:
        """Add what makes the model faster, as far as the budget goes."""
        optimizers = self._installed()
        others = [each for each in self._candidates if not is_optimizer(each)]
        self._say("looking for places to fuse")
        found = survey(self._original, others, provider=self._bench.provider)
        self.refused += found.refused
        self.failures += found.failures
        self._say("profiling the nodes of the original")
        shortlist = self.shortlist
        units = shortlist.take(found.units)
        untold = set(self.fates)
        structure = [unit for unit in units if unit.is_structure]
        fusions = [unit for unit in units if not unit.is_structure]
        if len(units) + len(optimizers) > 1:
            end = self._left() * (1 - SCREEN_SHARE)
            shortlist.screen(fusions, lambda: self._left() - end, self._say)
        chosen, rivals = shortlist.winners(fusions)
        likely = [*shortlist.likely((unit for unit in fusions if unit not in rivals), beside=chosen), *structure]
        # With so many races before it none would have time: a third of it goes to all of them at once.
        self._steps_left = 2 if likely or optimizers or len(units) > len(chosen) else 0
        failed = []
        unsure = likely if likely and self._add_batch([*chosen, *likely], on_trust=True) else []
        if not unsure and chosen and not self._add_batch(chosen, on_trust=True):
            failed.append(chosen)
        self._add_on_top(shortlist.leaning(fusions))
        self._add_everything(untold, others)
        self._drop_slow(unsure)
        if self._is_too_noisy():  # to tell more than that: what is left of the time goes to the last race
            self.failures += [Failure(each, Status.NOT_FASTER, NO_TIME) for each in optimizers]
            raced = self._undecided.units if self._undecided else ()
            self._leave((unit for unit in self.units if unit not in raced), Fate(Status.NOT_FASTER, NO_TIME))
            return
        rivals += [unit for unit in fusions if unit not in (*rivals, *self.kept) and unit.overlaps(self.kept)]
        batches = shortlist.by_candidate(unit for unit in fusions if unit not in (*chosen, *rivals, *self.kept))
        left = [unit for unit in structure if unit not in self.kept]
        failed += self._take_turns([*batches, left] if left else batches, optimizers)
        reason = "what takes its nodes with more or fewer others was raced in its place"
        self._leave((unit for unit in rivals if unit.overlaps(self.kept)), Fate(Status.NOT_FASTER, reason))
        failed += [[unit] for unit in rivals if unit not in self.fates and not self._add_batch([unit])]
        self._add_halves(batch for batch in failed if batch is not left or not self._is_neutral(batch))
        self._add_enabled(others)

    def finish(self, *, is_interrupted: bool = False) -> None:
        """Prove and race the best model once more; take back the last addition as long as it fails there.

        Args:
            is_interrupted: Nobody wants to wait: a race that there is will do.
        """
        if self._undecided is not None and not self._history:
            self._history.append(self._undecided)
        while self._prove():
            best = self._history[-1]
            least = max(self._budget_s * FINAL_SHARE, min(self._budget_s, FINAL_SECONDS))
            seconds = 0.0 if is_interrupted else max(self._left(), least)
            if best.latency is None or best.seconds < seconds:
                self._say("measuring the fused model")
                self._race(best, seconds=seconds, resolution=FINAL_RESOLUTION)
            assert best.latency is not None
            self.latency = best.latency
            if best.latency.verdict is Verdict.FASTER:
                break
            self._take_back(Fate(Status.NOT_FASTER, _finding(best.latency)))
        if is_interrupted:
            self._leave((unit for unit in self.units if unit not in self.kept), Fate(Status.NOT_FASTER, INTERRUPTED))

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

    def _add_on_top(self, units: Iterable[Unit]) -> None:
        """Try those of UNITS that want nodes of what is kept in some places only: there they may be the better ones."""
        for unit in units:
            met = [other for other in self.kept if unit.overlaps([other])]
            if unit not in self.kept and not all(unit.meets_everywhere(other) for other in met):
                self._add_batch([unit])

    def _add_everything(self, untold: Container[Unit], candidates: Sequence[Candidate]) -> None:
        """Try all that nothing speaks against, beside what is kept: little gains, also of what is UNTOLD, add up.

        What CANDIDATES find only where all of that was applied goes with it.
        """
        if not self.kept:
            return
        order = {candidate.id: place for place, candidate in enumerate(self._candidates)}
        chosen: list[Unit] = []
        for unit in sorted(self.units, key=lambda unit: order[unit.candidate.id]):
            windows = [each for each in (*self.kept, *chosen) if each.candidate is unit.candidate and each is not unit]
            is_open = unit in untold or unit not in self.fates
            if unit in self.kept or (is_open and not unit.overlaps(windows)):
                chosen.append(unit)
        if set(chosen) > set(self.kept) and self._has_time():
            self._announce("adding everything")
            more = self._enabled_by(chosen, candidates)
            if not self._add([*chosen, *more], onto=(), is_last=False):
                self.units[:] = (unit for unit in self.units if unit not in more)  # found again where they may gain

    def _drop_slow(self, units: Sequence[Unit]) -> None:
        """Take those of UNITS out again, candidate by candidate, without which the best model is faster."""
        batches: dict[str, list[Unit]] = {}
        for unit in units:
            batches.setdefault("structure" if unit.is_structure else unit.candidate.id, []).append(unit)
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
            # A third of the time that is left goes to all of these together: what was not tried yet may gain more.
            seconds = self._left() / (3 * (len(batches) - number + 1))
            self._race(trial, seconds=seconds, resolution=STEP_RESOLUTION)
            assert trial.latency is not None
            if _change(trial.latency, best.latency) is Verdict.FASTER:
                self._history.append(trial)
                self._leave(batch, Fate(Status.NOT_FASTER, "the model is faster without it"))

    def _add_batch(self, units: Sequence[Unit], *, after: Sequence[Unit] = (), on_trust: bool = False) -> bool:
        """Add UNITS together, and AFTER with them."""
        if self._has_time():
            self._announce(f"adding {', '.join(dict.fromkeys(unit.name for unit in units))}")
        return self._add([*after, *units], on_trust=on_trust)

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

    def _installed(self) -> list[Library]:
        """The optimisers that can be tried; why the others can not."""
        installed = []
        for each in filter(is_optimizer, self._candidates):
            try:
                each.check()
            except NotApplicable as error:
                self.failures.append(failure(each, error))
            else:
                installed.append(each)
        return installed

    def _is_too_noisy(self) -> bool:
        """Whether what gained on parts is all there is, and its race did not even tell that it is not slower."""
        latency = self._undecided.latency if self._undecided and not self.best else None
        return latency is not None and not latency.is_not_slower

    def _take_turns(self, batches: Sequence[list[Unit]], optimizers: Sequence[Library]) -> list[list[Unit]]:
        """Try BATCHES and OPTIMIZERS in turn, so that neither takes all the time; the batches that failed."""
        failed = []
        # What the parts did not tell of seldom gains where they told of a gain.
        order = (optimizers, batches) if self.best else (batches, optimizers)
        steps = [step for turn in zip_longest(*order) for step in turn if step is not None]
        for number, step in enumerate(steps, 1):
            self._steps_left = len(steps) - number
            if not isinstance(step, list):
                self._add_optimizer(step)
            elif not self._add_batch(step):
                failed.append(step)
        return failed

    def _add_optimizer(self, optimizer: Library) -> None:
        """Try a library's optimiser below what is applied, and then alone."""
        seconds = self._left() * OPTIMIZER_SHARE
        if seconds < OPTIMIZER_SECONDS or not self._has_time():
            self.failures.append(Failure(optimizer, Status.NOT_FASTER, NO_TIME))
            return
        self._announce(f"running {optimizer.id}")
        try:
            applied = compose(self._original, [optimizer.within(seconds)], provider=self._bench.provider)
        except Exception as error:  # whatever a library raises
            self.failures.append(failure(optimizer, error))
            return
        if not any(site.status == "applied" for site in applied.sites):
            self.failures.append(Failure(optimizer, Status.NOT_FASTER, "it changes nothing in this model"))
            return
        unit = Unit(optimizer, tuple({site.group for site in applied.sites}), applied.sites)
        self.units.append(unit)
        self._optimised = {**self._optimised, optimizer.id: applied}
        below = [each for each in self.kept if not is_optimizer(each.candidate)]
        if not self._add([unit], onto=below, is_last=not below) and below:
            self._add([unit], onto=())

    def _add_enabled(self, candidates: Sequence[Candidate]) -> None:
        """Try what only other fusions make possible, with all that are right and not slower."""
        if not self._has_time():
            return
        neutral = [unit for unit, fate in self.fates.items() if fate.is_neutral and not is_optimizer(unit.candidate)]
        rest = [each for each in (*self.kept, *neutral) if not is_optimizer(each.candidate)]
        if more := self._enabled_by(rest, candidates):
            self._announce("adding what only other fusions make possible")
            if not self._add_batch(more, after=neutral):
                self._add_halves([more], after=neutral)
            fate = Fate(Status.NOT_FASTER, "possible only after other fusions, and no gain was measured")
            self._leave((unit for unit in more if unit not in self.kept), fate)

    def _enabled_by(self, units: Sequence[Unit], candidates: Sequence[Candidate]) -> list[Unit]:
        """What CANDIDATES find only where UNITS were applied, and was not found before."""
        usable = {each.id for each in candidates} - {failed.candidate.id for failed in self.failures}
        candidates = [each for each in candidates if each.id in usable]
        provider = self._bench.provider
        try:
            more = enabled(self._original, units, candidates, known=self.units, provider=provider) if units else []
        except NotApplicable:
            return []
        self.units.extend(more)
        return more

    def _add(
        self,
        units: Sequence[Unit],
        *,
        onto: Sequence[Unit] | None = None,
        is_last: bool = True,
        on_trust: bool = False,
    ) -> bool:
        """Prove and race the best model with UNITS added; whether that is the best model now.

        Args:
            units: What to add. One that fails alone is left out for good, with the reason.
            onto: What to add it to; None is what the best model has.
            is_last: Nothing else is going to be tried with one unit.
            on_trust: They gained on parts of the model: where noise hides what they do, the last race tells.
        """
        if not self._has_time():
            self._leave(units, Fate(Status.NOT_FASTER, NO_TIME))
            return False
        before = self.kept if onto is None else onto
        start = self._clock()
        fate = self._try(units, before, on_trust=on_trust)
        self._overhead_s = max(self._clock() - start - self._race_s, 0.0)
        if fate is not None and is_last:
            is_structure = all(unit.is_structure for unit in units)
            if len(units) == 1 or (is_structure and fate.is_neutral):
                self._leave(units, fate)
            else:
                self._so_far |= dict.fromkeys(units, replace(fate, reason=f"all such together: {fate.reason}"))
        return fate is None

    def _try(self, units: Sequence[Unit], before: Sequence[Unit], *, on_trust: bool) -> Fate | None:
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
            for unit in filter(trial.places, units):
                self.alone.setdefault(unit, trial)
        trial.verification = self._bench.verify(trial.result, final=False)
        if not trial.verification.passed:
            return Fate(Status.WRONG, _together(units, before) + trial.verification.reason)
        self._race(trial, seconds=self._left() / (self._steps_left + 1), resolution=STEP_RESOLUTION)
        assert trial.latency is not None
        self.latency = trial.latency
        change = _change(trial.latency, self.best.latency if self.best else None)
        is_unchanged = change is Verdict.UNCHANGED and trial.latency.is_not_slower
        may_gain = trial.latency.ratio.ratio < 1 or not trial.latency.is_not_slower  # noise takes the sign, too
        if on_trust and change is Verdict.UNCHANGED and may_gain:
            self._undecided = self._undecided or trial
        if change is Verdict.FASTER or (
            is_unchanged and all(self.shortlist.is_trusted(unit) and not unit.overlaps(before) for unit in units)
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
        return apply(
            self._original,
            units,
            self._candidates,
            known=self.units,
            provider=self._bench.provider,
            optimised=self._optimised,
        )

    def _race(self, trial: Trial, *, seconds: float, resolution: float) -> None:
        seconds = max(seconds, 0.0)
        trial.latency = self._bench.measure(trial.result, seconds=seconds, resolution=resolution)
        trial.seconds = self._race_s = seconds

    def _left(self) -> float:
        """Seconds of the budget that are left."""
        return self._budget_s - (self._clock() - self._start)

    def _has_time(self) -> bool:
        """Whether another race may begin: the first one always may."""
        return self._left() > self._overhead_s or self.latency is None

    def _announce(self, words: str) -> None:
        best = self.best.latency if self.best else None
        self._say(f"{words}; best so far {best.ratio.ratio:.3f}" if best else words)


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

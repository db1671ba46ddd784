"""The choice of fusions that pay: each alone, then all together that are right and not slower."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.fuse.model import clone
from advisor.fuse.result import Fusion, Status
from advisor.fuse.rewrite import rewrite
from advisor.measure.statistics import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import onnx_ir as ir

    from advisor.fuse.bench import Bench
    from advisor.fuse.predictions import Predicted, Predictions
    from advisor.fuse.rewrite import Site
    from advisor.fuse.rule import Rule
    from advisor.fuse.verify import Verification
    from advisor.measure.latency import PairedLatency
    from advisor.trace.candidates import Saving

    Progress = Callable[[str], None]

__all__ = ["Selection", "select"]

SCREEN_SHARE = 0.5
"""Share of the budget for rules alone; the rest is for the original against the fused model."""
LEAST_SHARE = 0.25
"""What every race of a fused model gets at least, also when an earlier one was turned down."""
SCREEN_RESOLUTION = 0.01
FINAL_RESOLUTION = 0.005


@dataclass
class Trial:
    """Some rules, applied to a copy of the original.

    Attributes:
        rules: The rules.
        model: The rewritten model.
        sites: Every place that the rules found, applied or not.
        verification: The comparison with the original; None until it is made.
        latency: The race against the original; None until it is run.
        fate: Why a rule alone was left out, once it is.
    """

    rules: tuple[Rule, ...]
    model: ir.Model
    sites: tuple[Site, ...]
    verification: Verification | None = None
    latency: PairedLatency | None = None
    fate: tuple[Status, str] | None = None

    @property
    def applied(self) -> tuple[Site, ...]:
        """The sites that were rewritten; where there is none, the model is the original."""
        return tuple(site for site in self.sites if site.status == "applied")

    @property
    def is_proven(self) -> bool:
        """Verified, and equal to the original."""
        return self.verification is not None and self.verification.passed

    @property
    def is_kept(self) -> bool:
        """Proven, raced, and shown not to be slower than the original."""
        return self.is_proven and self.latency is not None and self.latency.is_not_slower


@dataclass(frozen=True)
class Selection:
    """What is left of the rules.

    Attributes:
        fused: The fused model, proven equal and not slower; None where the original is the best.
        latency: The last race of a fused model, also of one that was turned down; None where there was none.
        fusions: Every rule that found a place, and what became of it.
    """

    fused: Trial | None
    latency: PairedLatency | None
    fusions: tuple[Fusion, ...]


def select(
    original: ir.Model,
    rules: Sequence[Rule],
    bench: Bench,
    *,
    budget_s: float,
    progress: Progress,
    predictions: Predictions | None = None,
) -> Selection:
    """Choose the fusions that go into the output.

    Args:
        original: The model; it is only read.
        rules: What to try.
        bench: The original on the provider that counts.
        budget_s: Seconds for races.
        progress: Called with a few words at every step.
        predictions: What a trace says that fusions save. Those that would save most are then raced first, each alone,
            and when the time for that is over, the others only together with them.
    """
    alone = [_apply(original, [rule], bench) for rule in rules]
    start = time.monotonic()
    _screen(alone, bench, seconds=budget_s * SCREEN_SHARE, progress=progress, predictions=predictions)
    last: Trial | None = None
    while any(trial.applied for trial in alone if trial.fate is None):
        # A rule that finds nothing alone is tried too: another may make a place for it.
        remaining = [trial for trial in alone if trial.fate is None]
        last = _apply(original, [trial.rules[0] for trial in remaining], bench)
        spent = time.monotonic() - start
        _finish(last, bench, seconds=max(budget_s - spent, budget_s * LEAST_SHARE), progress=progress)
        if last.is_kept:
            return Selection(last, last.latency, tuple(_fusions(alone, last, predictions)))
        _turn_down(last, [trial for trial in remaining if trial.applied])
    return Selection(None, last.latency if last else None, tuple(_fusions(alone, None, predictions)))


def _apply(original: ir.Model, rules: Sequence[Rule], bench: Bench) -> Trial:
    model = clone(original)
    sites = rewrite(model, rules, provider=bench.provider)
    return Trial(tuple(rules), model, sites)


def _screen(
    alone: Sequence[Trial], bench: Bench, *, seconds: float, progress: Progress, predictions: Predictions | None
) -> None:
    """Leave out the rules that are wrong, and those that make the model slower, each by itself.

    A short race may not tell: what it leaves open, the fused model's race decides.
    """
    for trial in alone:
        if trial.applied:
            progress(f"verifying {trial.rules[0].id}")
            trial.verification = bench.verify(trial.model, final=False)
            if not trial.verification.passed:
                trial.fate = (Status.WRONG, trial.verification.reason)
    sound = [trial for trial in alone if trial.is_proven]
    if len(sound) < 2:
        return  # one rule alone is the fused model: its race comes next
    start = time.monotonic()
    if predictions is not None:
        sound.sort(key=lambda trial: _promise(trial, predictions), reverse=True)
    for trial in sound:
        if predictions is not None and trial is not sound[0] and time.monotonic() - start > seconds:
            break
        progress(f"measuring {trial.rules[0].id}")
        trial.latency = bench.measure(trial.model, seconds=seconds / len(sound), resolution=SCREEN_RESOLUTION)
        if trial.latency.verdict is Verdict.SLOWER:
            trial.fate = (Status.NOT_FASTER, "the model is slower with it")


def _promise(trial: Trial, predictions: Predictions) -> Saving:
    """What TRIAL is predicted to save, ns per run."""
    predicted = _predicted(trial.applied, predictions)
    return (0, 0) if predicted is None else predicted.saving_ns


def _finish(trial: Trial, bench: Bench, *, seconds: float, progress: Progress) -> None:
    """Prove and measure a model that is about to be written."""
    progress("verifying the fused model")
    trial.verification = bench.verify(trial.model, final=True)
    if trial.verification.passed:
        progress("measuring the fused model")
        trial.latency = bench.measure(trial.model, seconds=seconds, resolution=FINAL_RESOLUTION)


def _turn_down(together: Trial, applied: Sequence[Trial]) -> None:
    """Leave out the rule that did worst alone, because all together were wrong or not shown to be as fast."""
    # One that was not raced alone, since others promised more, goes first.
    worst = max(applied, key=lambda trial: trial.latency.ratio.ratio if trial.latency else math.inf)
    others = ", ".join(trial.rules[0].id for trial in applied if trial is not worst)
    place = f"together with {others} " if others else ""
    if not together.is_proven:
        assert together.verification is not None
        worst.fate = (Status.WRONG, place + together.verification.reason)
        return
    assert together.latency is not None
    is_slower = together.latency.verdict is Verdict.SLOWER
    finding = "the model is slower" if is_slower else "the model was not shown to be as fast as before: too much noise"
    worst.fate = (Status.NOT_FASTER, place + finding)
    if not others:
        worst.latency = together.latency


def _fusions(alone: Sequence[Trial], fused: Trial | None, predictions: Predictions | None) -> Iterator[Fusion]:
    """Every rule's places, those that ended alike in one entry, the applied ones first."""
    for trial in alone:
        status, reason = trial.fate or (Status.KEPT, "")
        applied = trial.applied
        if fused is not None and trial.fate is None:
            in_output = tuple(site for site in fused.applied if site.rule == trial.rules[0].id)
            if applied and not in_output:
                status, reason = Status.NOT_FASTER, "another fusion takes its nodes"
            applied = in_output or applied
        # The race of the fused model is that of its only rule.
        only = fused is not None and {site.rule for site in fused.applied} == {trial.rules[0].id}
        latency = trial.latency or (fused.latency if fused is not None and only else None)
        if applied:
            yield Fusion(
                rule=trial.rules[0].id,
                family=trial.rules[0].family,
                nodes=_nodes(applied),
                sites=len(applied),
                status=status,
                reason=reason,
                ratio=latency.ratio if latency else None,
                max_abs_error=trial.verification.max_abs_error if trial.verification else None,
                predicted=_predicted(applied, predictions),
            )
        yield from _refused(trial, predictions)


def _refused(trial: Trial, predictions: Predictions | None) -> Iterator[Fusion]:
    """The places where a rule must not be applied, by reason."""
    groups: dict[tuple[str, str], list[Site]] = {}
    for site in trial.sites:
        if site.status != "applied":
            groups.setdefault((site.status, site.reason), []).append(site)
    rule = trial.rules[0]
    for (status, reason), sites in groups.items():
        predicted = _predicted(sites, predictions)
        yield Fusion(rule.id, rule.family, _nodes(sites), len(sites), Status(status), reason, predicted=predicted)


def _predicted(sites: Sequence[Site], predictions: Predictions | None) -> Predicted | None:
    return None if predictions is None else predictions.of(site.nodes for site in sites)


def _nodes(sites: Sequence[Site]) -> tuple[str, ...]:
    return tuple(name for site in sites for name in site.nodes)

"""What became of each graph that is on both sides: counts first, which are certain, then times as distributions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from advisor.gate.kernels import difference
from advisor.gate.measures import COUNTS, MEASURES, TIMES, Measure, Unit
from advisor.gate.result import GraphResult, MeasureResult, Status, heaviest
from advisor.gate.statistics import holm
from advisor.gate.trials import Trial, enough_executions, try_measure
from advisor.trace.causes import Cause
from advisor.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from advisor.gate.matching import Matched, Pair, Variant
    from advisor.gate.policy import Policy, Thresholds
    from advisor.gate.runs import Recording

    Values = NDArray[np.float64]

__all__ = ["Judged", "judge"]

CERTAIN_FROM = 3
"""A count that is the same in so many executions of each side is what the program does, not chance."""

HIDDEN = 0.10
"""Of the busy time, so much may lie inside CUDA graphs recorded as a whole."""


@dataclass
class Judged:
    """What became of all graphs."""

    graphs: list[GraphResult] = field(default_factory=list)
    undecided: list[tuple[str, str]] = field(default_factory=list)
    time: tuple[float, float] = (0.0, 0.0)
    """Of executions that were judged by distributions: baseline, current."""


@dataclass
class _Case:
    """One measure of one graph on its way through the tests."""

    graph: int
    measure: Measure
    trial: Trial
    required: float
    judged: bool
    noise: float
    """A rise up to here is no regression whatever the executions say: runs of one build differ by as much."""
    noticed: float
    """A rise of this must be seen, or the measure guards nothing: as much again, and what people feel of its time."""


def judge(matched: Matched, policy: Policy, paired: bool, runs: Sequence[Recording]) -> Judged:
    """Judge every graph of MATCHED.

    Args:
        matched: What of both sides belongs together.
        policy: Thresholds.
        paired: The runs alternate, as in `compare`.
        runs: The current runs, as MATCHED numbers them.
    """
    judged = Judged()
    rows: list[list[MeasureResult]] = [[] for _ in matched.pairs]
    cases: list[_Case] = []
    times = [0.0, 0.0]
    reasons = [""] * len(matched.pairs)
    for number, pair in enumerate(matched.pairs):
        thresholds = policy.of_graph(pair.name)
        reasons[number] = _why_not(pair, thresholds)
        if reasons[number] and pair.source == "trace":
            continue
        certain, varying = _counts(pair, thresholds)
        rows[number] += certain
        if reasons[number]:
            continue
        for side, variant in enumerate((pair.before, pair.after)):
            times[side] += variant.time
        cases += _cases(number, pair, varying, thresholds, paired)
    unguarded = _unguarded(cases, policy, matched.pairs, paired)
    if len(unguarded) == len({case.graph for case in cases}):
        # Where no time of any graph could be red, green would mean nothing.
        judged.undecided += [(matched.pairs[number].name, reason) for number, reason in unguarded.items()]
        reasons = [unguarded.get(number, reason) for number, reason in enumerate(reasons)]
    _decide(cases, rows, policy, matched.pairs)
    for number, (pair, measures) in enumerate(zip(matched.pairs, rows, strict=True)):
        judged.graphs.append(_graph_result(pair, measures, reasons[number], unguarded.get(number, ""), runs))
    judged.graphs += [
        GraphResult(name, source, Status.NEW, "not in the baseline: not judged") for name, source in matched.new
    ]
    judged.time = (times[0], times[1])
    return judged


def _why_not(pair: Pair, thresholds: Thresholds) -> str:
    """Why a graph's distributions cannot be compared; empty where they can."""
    counts = [variant.instances for variant in (pair.before, pair.after)]
    if pair.source == "trace":
        kernels = [_all(variant, MEASURES["kernels"]) for variant in (pair.before, pair.after)]
        if not np.array_equal(np.unique(kernels[0]), np.unique(kernels[1])) and min(counts) < thresholds.min_instances:
            before, after = (f"{np.median(values):,.0f}" for values in kernels)
            return (
                f"whole programs of different length ({before} and {after} kernels): mark executions with NVTX ranges,"
                " or give --region"
            )
    if min(counts) < thresholds.min_instances:
        advice = "give more runs, or mark executions with NVTX ranges" if pair.source == "trace" else "record more"
        return (
            f"{counts[0]} executions in the baseline and {counts[1]} now: statistics need"
            f" {thresholds.min_instances} each: {advice}"
        )
    for words, variant in (("baseline", pair.before), ("current run", pair.after)):
        hidden = sum(float(samples.columns["hidden"].sum()) for samples in variant.runs.values())
        busy = sum(float(samples.columns["busy"].sum()) for samples in variant.runs.values())
        if hidden > HIDDEN * busy:
            return f"CUDA graphs are recorded as a whole in the {words}: record with --cuda-graph-trace=node"
    return ""


def _per_run(variant: Variant, measure: Measure) -> list[Values]:
    values = [measure.of(samples) for _, samples in sorted(variant.runs.items())]
    known = [run[~np.isnan(run)] for run in values]
    return [run for run in known if len(run)]


def _all(variant: Variant, measure: Measure) -> Values:
    runs = _per_run(variant, measure)
    return np.concatenate(runs) if runs else np.zeros(0)


def _counts(pair: Pair, thresholds: Thresholds) -> tuple[list[MeasureResult], list[Measure]]:
    """Counts that are the same in every execution of a side, which are certain, and the measures that vary."""
    sides = {measure.key: [_all(variant, measure) for variant in (pair.before, pair.after)] for measure in COUNTS}
    known = [measure for measure in COUNTS if all(len(values) for values in sides[measure.key])]
    steady = {
        measure.key: (float(before[0]), float(after[0]))
        for measure in known
        for before, after in [sides[measure.key]]
        if (before == before[0]).all() and (after == after[0]).all()
    }
    certain = []
    for measure in known:
        if measure.key not in steady:
            continue
        before, after = steady[measure.key]
        if before != after and min(map(len, sides[measure.key])) < CERTAIN_FROM:
            certain.append(_count_result(measure, (before, after), Status.UNDECIDED, "seen too few times"))
        else:
            certain.append(_certain(measure, steady, thresholds))
    return certain, [measure for measure in known if measure.key not in steady]


def _certain(measure: Measure, steady: Mapping[str, tuple[float, float]], thresholds: Thresholds) -> MeasureResult:
    """What became of a count that is STEADY, as those of the same graph are that it is weighed against."""
    before, after = steady[measure.key]
    status, reason = Status.UNCHANGED, ""
    if after < before:
        status = Status.IMPROVED
    elif after > before:
        calls = steady.get("launch_calls")
        traded = measure.key in ("kernels", "graph_launches") and calls is not None and calls[1] < calls[0]
        # Kernels that moved into a CUDA graph cost fewer launch calls: whether that pays, the times tell.
        status = Status.WORSE if traded else Status.REGRESSED
        reason = "for fewer launch calls" if traded else ""
        if measure.key in thresholds.ignore:
            status, reason = Status.WORSE, "ignored by the policy"
    return _count_result(measure, (before, after), status, reason)


def _count_result(measure: Measure, values: tuple[float, float], status: Status, reason: str) -> MeasureResult:
    return MeasureResult(measure.key, measure.unit, status, "count", *values, reason=reason)


def _cases(number: int, pair: Pair, varying: Sequence[Measure], thresholds: Thresholds, paired: bool) -> list[_Case]:
    cases = []
    time = _center(pair.before, MEASURES["time"])
    told = [measure for measure in TIMES if not measure.on_demand or measure.key in thresholds.judge]
    paired = paired and all(len(variant.runs) > 1 for variant in (pair.before, pair.after))
    for measure in (*varying, *told):
        before, after = _per_run(pair.before, measure), _per_run(pair.after, measure)
        if not before or not after:
            continue
        scale = _center(pair.before, MEASURES[measure.scale or measure.key])
        trial = try_measure(
            before,
            after,
            scale=scale,
            drift=thresholds.drift,
            paired=paired and len(before) == len(after),
            mean=measure.unit is Unit.COUNT,
        )
        floor = {
            Unit.COUNT: thresholds.count_floor,
            Unit.RATIO: thresholds.ratio_floor,
            Unit.NS: max(thresholds.gap_floor_ns, thresholds.share_floor * time),
        }[measure.unit]
        effect = max(thresholds.min_effect, measure.least_effect) * scale
        judged = (measure.judged or measure.key in thresholds.judge) and measure.key not in thresholds.ignore
        cases.append(
            _Case(
                number,
                measure,
                trial,
                required=max(floor, effect, trial.drift),
                judged=judged,
                noise=max(trial.drift, trial.change - trial.low),
                noticed=max(scale, thresholds.min_effect * time),
            )
        )
    return cases


def _center(variant: Variant, measure: Measure) -> float:
    runs = _per_run(variant, measure)
    return float(np.median([np.median(run) for run in runs])) if runs else 0.0


def _decide(cases: Sequence[_Case], rows: list[list[MeasureResult]], policy: Policy, pairs: Sequence[Pair]) -> None:
    """Add each case's result to its graph's ROWS."""
    adjusted: dict[int, tuple[float, float]] = {}
    # Only what can turn the gate red counts as a comparison; the other measures are corrected among themselves.
    for judged in (True, False):
        family = _family(cases, judged=judged)
        more = holm([case.trial.p_more for case in family])
        less = holm([case.trial.p_less for case in family])
        adjusted |= {id(case): (up, down) for case, up, down in zip(family, more, less, strict=True)}
    busy = {case.graph: case.trial for case in cases if case.measure.key == "busy"}
    for case in cases:
        trial, thresholds = case.trial, policy.of_graph(pairs[case.graph].name)
        level = thresholds.level
        up, down = adjusted.get(id(case), (1.0, 1.0))
        risen = min(trial.change, trial.mean_change) >= case.required and trial.low > 0 and up <= level
        fallen = max(trial.change, trial.mean_change) <= -case.required and trial.high < 0 and down <= level
        by_kernels = _by_kernels(busy[case.graph]) if case.measure.idle else 0.0
        status, reason = Status.UNCHANGED, ""
        if risen:
            status = Status.REGRESSED if case.judged else Status.WORSE
            reason = "ignored by the policy" if case.measure.key in thresholds.ignore else ""
            if trial.change - by_kernels < case.required:
                status, reason = Status.WORSE, "the kernels became faster by as much"
            elif case.judged and _only_renamed(case, pairs[case.graph]):
                status, reason = Status.WORSE, "host pauses crossed the dispatch limit: the idle time is the same"
        elif fallen and by_kernels - trial.change >= case.required:
            status = Status.IMPROVED
        rows[case.graph].append(
            MeasureResult(
                case.measure.key,
                case.measure.unit,
                status,
                "distribution" if case.judged else "shown",
                trial.baseline,
                trial.current,
                reason=reason,
                low=trial.low,
                high=trial.high,
                p=trial.p_more if trial.change >= 0 else trial.p_less,
                p_adjusted=up if trial.change >= 0 else down,
                required=case.required,
            )
        )


def _family(cases: Sequence[_Case], *, judged: bool) -> list[_Case]:
    """What counts as a comparison: what is the same in every execution cannot be significant (Tarone 1990)."""
    return [case for case in cases if case.judged is judged and min(case.trial.p_more, case.trial.p_less) < 1]


def _unguarded(cases: Sequence[_Case], policy: Policy, pairs: Sequence[Pair], paired: bool) -> dict[int, str]:
    """Why no time of a graph could be red whatever it is, for each graph where that is so."""
    family = _family(cases, judged=True)
    found: dict[int, str] = {}
    for graph in dict.fromkeys(case.graph for case in family):
        times = [case for case in family if case.graph == graph and case.measure.unit is not Unit.COUNT]
        # A single cause is held against all idle time: what is next to nothing seems quiet and guards nothing.
        times = [case for case in times if not case.measure.scale] or times
        if not times:
            continue
        pair, level = pairs[graph], policy.of_graph(pairs[graph].name).level
        if all(case.trial.p_least * len(family) > level for case in times):
            sides = len(pair.before.runs), len(pair.after.runs)
            enough = enough_executions(*sides, paired=paired, p=level / len(family))
            found[graph] = (
                f"no time could be red: {counted(len(family), 'comparison')} at a level of {level:.2g} need"
                f" {enough or 'far more'} executions in each run, warm-up apart"
            )
        elif all(case.noise > case.noticed for case in times):
            found[graph] = (
                "no time could be red: runs of one build differ so much that times could double unseen; record more"
                " runs, on a quieter machine, or both builds in turns (--paired)"
            )
    return found


def _by_kernels(busy: Trial) -> float:
    """What kernels alone add to the idle time: where the host sets the pace, the GPU idles longer by what they save."""
    return -busy.change if abs(busy.change) > busy.error else 0.0


def _only_renamed(case: _Case, pair: Pair) -> bool:
    """Whether time only went from `host` to `dispatch` or back: a pause of about the dispatch limit is either."""
    if case.measure.key not in ("fusible_gap", "launch_gap", "host"):
        return False

    def together(variant: Variant) -> float:
        either = [samples.fusible_gap + samples.gap((Cause.HOST,)) for samples in variant.runs.values()]
        return float(np.median([np.median(run) for run in either]))

    return together(pair.after) - together(pair.before) < case.trial.change / 2


def _graph_result(
    pair: Pair, measures: list[MeasureResult], reason: str, unguarded: str, runs: Sequence[Recording]
) -> GraphResult:
    status = heaviest(measures)
    if reason and status is not Status.REGRESSED:
        status = Status.UNDECIDED
    typical = pair.after.typical
    number = next(number for number, samples in pair.after.runs.items() if samples is typical)
    path = runs[number].path
    changed = difference(pair.before.typical, typical) if pair.source != "trace" else None
    return GraphResult(
        name=pair.name,
        source=pair.source,
        status=status,
        reason=reason,
        instances=(_instances(pair.before), _instances(pair.after)),
        kernels=changed,
        measures=tuple(measures),
        place=None if path is None else (str(path), *typical.window_ns),
        unguarded=unguarded,
    )


def _instances(variant: Variant) -> tuple[int, ...]:
    return tuple(samples.instances for _, samples in sorted(variant.runs.items()))

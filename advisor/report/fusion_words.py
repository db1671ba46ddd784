"""What a fusion report says, in words that terminal and page share."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.fuse.result import Status, count_sites
from advisor.measure.statistics import Verdict
from advisor.words import counted, duration, percent, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from advisor.fuse.batches import BatchLatency
    from advisor.fuse.result import Fusion, FusionReport
    from advisor.measure.statistics import Interval

__all__ = [
    "OUTCOMES",
    "Cause",
    "Outcome",
    "batch_end",
    "batch_verdict",
    "causes",
    "conditions",
    "figure",
    "fused_places",
    "gaps",
    "headline",
    "kernels",
    "latency",
    "main_reason",
    "measured",
    "outcomes",
    "places",
    "predictions",
    "proof",
    "ratio",
    "reasons",
    "snippet",
    "span",
    "summary",
    "unmeasured",
    "warning",
]

OUTCOMES = {
    Status.KEPT: "kept",
    Status.NOT_FASTER: "not faster",
    Status.WRONG: "wrong",
    Status.ILLEGAL: "illegal",
    Status.UNSUPPORTED: "unsupported",
}
NOT_MEASURED = "not measured"
TOO_NOISY = "too noisy"
ORDER = (OUTCOMES[Status.KEPT], OUTCOMES[Status.NOT_FASTER], NOT_MEASURED, *list(OUTCOMES.values())[2:])
"""Outcomes as they are listed."""
NOISY = 0.01
"""Half of an interval from which on the near end is told before the middle."""
TOO_WIDE = 0.5
"""Half of an interval around 1, as a share of the ratio, beyond which a race told nothing."""
SHOWN_REASONS = 3
"""So many reasons why a trace's candidates match nothing are told."""
_NAMES = re.compile(r"(?:\w+ )?'[^']*'|\d[\d.e+-]*")


@dataclass(frozen=True)
class Outcome:
    """Fusions of one rule that ended alike: what a reader sees as one.

    Attributes:
        fusions: The fusions, in the order of the report.
    """

    fusions: tuple[Fusion, ...]

    @property
    def rule(self) -> str:
        """The rule's id."""
        return self.fusions[0].rule

    @property
    def status(self) -> Status:
        """How they ended."""
        return self.fusions[0].status

    @property
    def sites(self) -> int:
        """Places of all."""
        return count_sites(self.fusions)

    @property
    def ratios(self) -> tuple[Interval, ...]:
        """Latencies of the whole model with one of them alone ÷ the original's, where that was raced."""
        return tuple(fusion.ratio for fusion in self.fusions if fusion.ratio is not None)

    @property
    def parts(self) -> tuple[Interval, ...]:
        """The same of the parts of the model that they were tried on."""
        return tuple(fusion.screened for fusion in self.fusions if fusion.screened is not None)

    @property
    def word(self) -> str:
        """How they ended, for people."""
        return _word(self.fusions[0])

    @property
    def max_abs_error(self) -> float | None:
        """The largest error of any; None where none was compared."""
        return max((fusion.max_abs_error for fusion in self.fusions if fusion.max_abs_error is not None), default=None)

    @property
    def error(self) -> str:
        """That in a few characters."""
        error = self.max_abs_error
        return "-" if error is None else f"{error:.0e}" if error else "0"


@dataclass(frozen=True)
class Cause:
    """A reason that holds for several fusions, but for the names and numbers in it.

    Attributes:
        status: How they ended.
        word: That for people.
        reason: Why; an example where the reasons are not the same to the letter.
        fusions: The fusions.
    """

    status: Status
    word: str
    reason: str
    fusions: tuple[Fusion, ...]

    @property
    def sites(self) -> int:
        """Places of all."""
        return count_sites(self.fusions)

    @property
    def subjects(self) -> str:
        """The rules, each with how many places it has, or where its only one is."""
        by_rule: dict[str, list[Fusion]] = {}
        for fusion in self.fusions:
            by_rule.setdefault(fusion.rule, []).append(fusion)
        return ", ".join(_subject(rule, fusions) for rule, fusions in by_rule.items())


def outcomes(fusions: Iterable[Fusion]) -> list[Outcome]:
    """FUSIONS by how they ended, and by rule."""
    groups: dict[tuple[str, str], list[Fusion]] = {}
    for fusion in fusions:
        groups.setdefault((_word(fusion), fusion.rule), []).append(fusion)
    return [Outcome(tuple(groups[key])) for key in sorted(groups, key=lambda key: (ORDER.index(key[0]), key[1]))]


def causes(report: FusionReport, fusions: Iterable[Fusion] | None = None) -> list[Cause]:
    """Why FUSIONS (all unless given) are not in the output, or are only together with others; by status, most first."""
    groups: dict[tuple[str, str], list[tuple[Fusion, str]]] = {}
    for fusion in report.fusions if fusions is None else fusions:
        reason = _why(report, fusion)
        if reason:
            groups.setdefault((_word(fusion), _NAMES.sub("…", reason)), []).append((fusion, reason))
    found = []
    for (word, _), pairs in groups.items():
        texts = [reason for _, reason in pairs]
        example = " (for example)" if len(set(texts)) > 1 else ""
        of = tuple(fusion for fusion, _ in pairs)
        found.append(Cause(of[0].status, word, texts[0] + example, of))
    return sorted(found, key=lambda cause: (ORDER.index(cause.word), -cause.sites))


def _word(fusion: Fusion) -> str:
    """How FUSION ended: what nobody raced is not said to be no faster."""
    raced = any(interval is not None and _tells(interval) for interval in (fusion.ratio, fusion.screened))
    return OUTCOMES[fusion.status] if raced or fusion.status is not Status.NOT_FASTER else NOT_MEASURED


def figure(intervals: Sequence[Interval]) -> str:
    """Ratios in a few characters: one with the wider half of its interval, of several the smallest and the largest."""
    if not intervals:
        return "-"
    telling = [interval for interval in intervals if _tells(interval)]
    if not telling:
        return TOO_NOISY
    if len(telling) == 1:
        (one,) = telling
        return f"{one.ratio:.3f} ± {max(one.high - one.ratio, one.ratio - one.low):.3f}"
    ratios = [interval.ratio for interval in telling]
    return f"{min(ratios):.3f} to {max(ratios):.3f}"


def ratio(interval: Interval) -> str:
    """The ratio, where its interval tells something."""
    return f"{interval.ratio:.3f}" if _tells(interval) else TOO_NOISY


def _tells(interval: Interval) -> bool:
    """Whether it is narrow, or at least on one side of 1."""
    return interval.half_width <= TOO_WIDE or not interval.low <= 1 <= interval.high


def main_reason(report: FusionReport) -> str | None:
    """Why nothing is kept, for most places; None where something is, or nothing was found."""
    if report.changed or not report.fusions:
        return None
    found = [cause for cause in causes(report) if cause.sites]
    if not found:
        return None
    most = max((cause for cause in found if cause.status is found[0].status), key=lambda cause: cause.sites)
    if len(found) == 1:
        return f"The reason: {plain(most.reason)}."
    share = f"{most.sites:,} of {counted(count_sites(report.fusions), 'place')}"
    return f"Most common reason ({share}): {plain(most.reason)}."


def headline(report: FusionReport) -> str:
    """The verdict in one sentence. On a noisy machine the interval's near end is claimed, not its middle."""
    race = report.measured
    if report.changed and race is not None:
        if report.verdict is not Verdict.FASTER:
            return "No measurable change: fused, but a run takes as long as before."
        saved, interval = (
            percent(1 - race.ratio.ratio),
            f"{percent(1 - race.ratio.high)} to {percent(1 - race.ratio.low)}",
        )
        if race.ratio.half_width > NOISY:
            return (
                f"Faster: a run takes at least {percent(1 - race.ratio.high)} less time (measured {saved}, {interval})."
            )
        return f"Faster: a run takes {saved} less time ({interval})."
    statuses = {fusion.status for fusion in report.fusions}
    if not count_sites(report.fusions) and race is None:
        return "Nothing to fuse: no rule found a place in this model. The output is the original."
    if Status.NOT_FASTER in statuses and race is None:
        return (
            "Nothing gained: no fusion that was tried is shown to make this model faster. The output is the original."
        )
    if Status.NOT_FASTER in statuses:
        return "Nothing gained: fused, this model is not shown to be as fast. The output is the original."
    if Status.WRONG in statuses:
        return "Nothing kept: fusing changed what this model computes. The output is the original."
    return "Nothing to fuse: no place that was found may be fused here. The output is the original."


def latency(report: FusionReport) -> str:
    """Before and after, with the intervals."""
    race = report.measured
    if race is None:
        return f"A run takes {duration(report.baseline_ns)} at ORT_ENABLE_ALL."
    times = f"{duration(race.baseline_ns)} → {duration(race.candidate_ns)} a run at ORT_ENABLE_ALL"
    # A reader divides: where noise makes the medians' quotient another number, what the ratio is has to be said.
    is_quotient = race.ratio.low <= race.candidate_ns / race.baseline_ns <= race.ratio.high
    what = "ratio" if is_quotient else "median ratio of paired rounds"
    figures = f"{what} {ratio(race.ratio)}, 95 % interval {span(race.ratio)}, A/A control {span(race.a_a)}"
    if report.changed:
        return f"{times} ({figures})."
    return f"The fused model was turned down: {times} ({figures})."


def proof(report: FusionReport) -> str | None:
    """What was compared, and whether a gain is claimed; None where the output is the original."""
    verification = report.verification
    if not report.changed:
        return None
    sets = f"{counted(verification.inputs, 'set')} of inputs"
    error = "no difference at all"
    if verification.max_abs_error:
        output = plain(verification.worst_output or "")
        error = f"largest difference {verification.max_abs_error:.1e} (output {output})"
    gain = "" if report.verdict is Verdict.FASTER else " No gain is claimed."
    but = "" if verification.last_bits is None else ", but for what last bits alone do to that,"
    which = "every output that has numbers" if verification.not_compared else "every output"
    return f"Proven: {which} equals the unoptimised original's{but} on {sets}; {error}.{gain}"


def gaps(report: FusionReport) -> str | None:
    """How much of a run lies between nodes or kernels; None where nobody looked."""
    measured = report.gaps
    if measured is None:
        return None
    if measured.before is None:
        return f"Gaps were not recorded: {plain(measured.reason)}."
    kernels = measured.recorder == "nsys"
    what = "Gaps between kernels" if kernels else f"Dispatch gaps between the nodes of {report.provider}"
    unit = "kernel" if kernels else "node"
    sides = [measured.before] if measured.after is None else [measured.before, measured.after]
    if any(side.ratio is None for side in sides):
        why = "the recording does not show enough of them"
        return f"{what}: cannot decide, {why if kernels else f'{why}, or the profiler hides them'}."
    ratios = " → ".join(percent(side.ratio) for side in sides)
    times = " → ".join(duration(side.gap_ns) for side in sides)
    counts = "".join(f"{side.works:,} → " for side in sides[:-1]) + counted(sides[-1].works, unit)
    return f"{what}: gap ratio {ratios} ({times} a run; {counts}, the profiler's own time included)."


def kernels(report: FusionReport) -> str | None:
    """What the generated kernels save; None where the output has none."""
    made = report.generated
    if made is None:
        return None
    saved, count = made.traffic, made.kernels
    loads, stores = (f"{saved.loads_before} → {saved.loads_after}", f"{saved.stores_before} → {saved.stores_after}")
    return (
        f"{counted(count, 'generated kernel')} in place of {count + saved.kernels_saved:,}:"
        f" {loads} tensors read, {stores} written; compiled in {made.compile_s:.1f} s,"
        f" {made.library_bytes / 1024:,.0f} KiB."
    )


def warning(report: FusionReport) -> str | None:
    """What a reader has to know before any verdict; None where there is nothing."""
    if report.runtime.passed:
        return None
    return (
        "ONNX Runtime's own optimisation changes what this model computes, before any fusion:"
        f" {plain(report.runtime.reason)}."
    )


def fused_places(report: FusionReport) -> str | None:
    """In how many places, and what became of the nodes; None where the output is the original."""
    if not report.changed:
        return None
    places = counted(count_sites(report.kept), "place")
    return f"Fused in {places}: {counted(report.model.nodes, 'node')} became {report.fused.nodes:,}."


def summary(report: FusionReport) -> list[str]:
    """What stands below the headline."""
    lines = (
        main_reason(report),
        latency(report),
        proof(report),
        fused_places(report),
        kernels(report),
        gaps(report),
        conditions(report),
    )
    return [line for line in lines if line is not None]


def batch_end(report: FusionReport) -> str:
    """The size from which the gain is gone."""
    end = report.gain_ends_at
    if end is not None:
        return f"The gain is gone at a batch of {end}."
    if any(each.latency is not None for each in report.batches):
        return "The gain is there at every size that was measured."
    return "No size could be measured."


def batch_verdict(each: BatchLatency) -> str:
    """What is said about one size."""
    if each.latency is None:
        return "wrong" if each.is_wrong else "not measured"
    return each.latency.verdict.value


def unmeasured(report: FusionReport) -> Iterator[str]:
    """Sizes that were not measured, each with the reason."""
    for each in report.batches:
        if each.latency is None:
            yield f"batch {each.batch}: {plain(each.reason)}"


def predictions(report: FusionReport) -> Iterator[str]:
    """What the trace predicts, and then line by line what was measured here; nothing where there is no trace."""
    trace = report.trace
    if trace is None:
        return
    of = f"{plain(str(trace.path))}, recorded on {plain(trace.device)}"
    if trace.graph is None:
        yield f"The trace predicts nothing: {plain(trace.reason)} ({of})."
        return
    count = len(trace.matched) + len(trace.unmatched)
    yield f"Predicted from {of}, graph {plain(trace.graph)}: {len(trace.matched)} of {count} candidates matched."
    for fusion in report.fusions:
        if fusion.predicted is not None:
            low, high = (duration(ns) for ns in fusion.predicted.saving_ns)
            yield (
                f"{plain(fusion.rule)}, {places(fusion)}: predicted {low} to {high} a run"
                f" ({plain(fusion.predicted.source)}), {measured(report, fusion)}"
            )
    for reason, rest in Counter(each.reason for each in trace.unmatched).most_common(SHOWN_REASONS):
        yield f"{counted(rest, 'candidate')} not matched: {plain(reason)}"


def conditions(report: FusionReport) -> str:
    """What it was measured on."""
    settings = report.settings
    threads = f", {counted(settings.threads, 'thread')}" if settings.threads else ""
    shapes = ", ".join(f"{plain(name)} {list(shape)}" for name, shape in list(settings.shapes.items())[:4])
    more = f" and {len(settings.shapes) - 4} more inputs" if len(settings.shapes) > 4 else ""
    where = f"Measured on {report.provider}, onnxruntime {report.onnxruntime}"
    return f"{where}{threads}, {shapes}{more}." if shapes else f"{where}{threads}."


def snippet(report: FusionReport) -> str | None:
    """Three lines of Python that load the output; None where nothing was written."""
    if report.fused.path is None:
        return None
    feed = ", ".join(f"{name!r}: …" for name in report.settings.shapes)
    path, lines = str(report.fused.path), []
    if report.fused.library is not None:
        lines = ["import advisor", f"session = advisor.session({path!r}, providers=[{report.provider!r}])"]
    else:
        lines = [
            "import onnxruntime",
            f"session = onnxruntime.InferenceSession({path!r}, providers=[{report.provider!r}])",
        ]
    return "\n".join([*lines, f"outputs = session.run(None, {{{feed}}})"])


def span(interval: Interval) -> str:
    """An interval's ends."""
    return f"{interval.low:.3f} to {interval.high:.3f}"


def places(fusion: Fusion, sites: int | None = None) -> str:
    """How many places, and where one is."""
    count = fusion.sites if sites is None else sites
    first = f" ({plain(fusion.nodes[0])})" if count == 1 and fusion.nodes else ""
    return f"{counted(count, 'place')}{first}"


def measured(report: FusionReport, fusion: Fusion) -> str:
    """What FUSION alone was measured to save a run, as a share of the original's latency."""
    if fusion.ratio is None:
        return "not measured alone"
    if fusion.ratio.low <= 1 <= fusion.ratio.high:
        return "measured: no measurable change"
    saved, ends = 1 - fusion.ratio.ratio, sorted(abs(1 - end) for end in (fusion.ratio.low, fusion.ratio.high))
    low, high = (duration(end * report.baseline_ns) for end in ends)
    what = "measured" if saved > 0 else "measured to cost"
    return f"{what} {duration(abs(saved) * report.baseline_ns)} ({low} to {high})"


def _why(report: FusionReport, fusion: Fusion) -> str:
    """The reason of what is not in the output; of what is kept, whether that was decided together with others."""
    if fusion.status is not Status.KEPT or fusion.reason:
        return fusion.reason
    others = len(report.kept) > 1
    undecided = all(each is None or each.high >= 1 for each in (fusion.ratio, fusion.screened))
    return "shown to pay only together with the others" if others and undecided else ""


def _subject(rule: str, fusions: Sequence[Fusion]) -> str:
    sites = count_sites(fusions)
    if not sites:
        return plain(rule)  # it takes the whole model
    where = next((name for fusion in fusions for name in fusion.nodes), "") if sites == 1 else ""
    return f"{plain(rule)} ({plain(where) or counted(sites, 'place')})"


def reasons(report: FusionReport) -> Iterator[str]:
    """Every cause with what it holds for."""
    for cause in causes(report):
        yield f"{cause.word}, {plain(cause.reason)}: {cause.subjects}"

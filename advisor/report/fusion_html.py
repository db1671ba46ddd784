"""A fusion report as one page that opens without a network: verdict, latency, every fusion, errors, batches, settings.

It is read without its script, which only sorts tables.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from advisor.measure.statistics import Verdict
from advisor.report import fusion_words as words
from advisor.report.elements import Child, el, html
from advisor.report.intervals import Bar, bars, curve
from advisor.report.page import fill
from advisor.words import counted, duration, duration_range, percent, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO
    from xml.etree.ElementTree import Element

    from advisor.fuse.result import FusionReport
    from advisor.measure.statistics import Interval

__all__ = ["write"]

KINDS = {Verdict.FASTER: "gain", Verdict.SLOWER: "loss", Verdict.UNCHANGED: "noise"}
OUTPUTS = 100
"""So many outputs are listed, those with the largest errors."""
NODES = 200
"""So many nodes of one fusion are listed."""


def write(report: FusionReport, file: TextIO) -> None:
    """Write the page."""
    sections = [
        section
        for section in (
            _latency(report),
            _fusions(report),
            _predictions(report),
            _batches(report),
            _errors(report),
            _use(report),
            _conditions(report),
        )
        if section is not None
    ]
    links = [el("a", {"href": f"#{section.get('id')}"}, section.findtext("h2")) for section in sections]
    content = {
        "title": escape(plain(f"{_name(report)}: {words.headline(report)}")),
        "header": html(*_header(report)),
        "contents": html(*links),
        "main": html(*sections),
    }
    file.write(fill("fusion.html", styles=["style.css", "fusion.css"], script="fusion.js", content=content))


def _name(report: FusionReport) -> str:
    return report.model.path.name if report.model.path else "model"


def _header(report: FusionReport) -> Iterator[Element]:
    yield el("p", {"class": "source"}, str(report.model.path or ""))
    yield el("h1", {}, words.headline(report))
    warning = words.warning(report)
    if warning is not None:
        yield el("p", {"class": "warning"}, warning)
    worth = words.proof(report) or words.main_reason(report)
    if worth is not None:
        yield el("p", {"class": "worth"}, worth)
    yield el("p", {"class": "whole"}, words.conditions(report))
    yield el("dl", {"id": "figures"}, *(_figure(*figure) for figure in _figures(report)))


def _figure(term: str, value: str, note: str) -> Element:
    return el("div", {}, el("dt", {}, term), el("dd", {}, value, el("small", {}, note)))


def _figures(report: FusionReport) -> Iterator[tuple[str, str, str]]:
    race = report.measured if report.changed else None
    if race is not None:
        yield "Ratio", words.ratio(race.ratio), f"95 % interval {words.span(race.ratio)}"
        yield "Before", duration(race.baseline_ns), "a run at ORT_ENABLE_ALL"
        yield "After", duration(race.candidate_ns), f"{race.rounds:,} rounds in turns"
    else:
        yield "A run takes", duration(report.baseline_ns), "at ORT_ENABLE_ALL"
    nodes = f"{report.fused.nodes:,}" if report.changed else f"{report.model.nodes:,}"
    yield "Nodes", nodes, f"before {report.model.nodes:,}" if report.changed else "unchanged"
    gaps = report.gaps
    if gaps is not None and gaps.before is not None:
        side = gaps.after or gaps.before
        yield "Gap ratio", percent(side.ratio), f"before {percent(gaps.before.ratio)}" if gaps.after else "of the model"


def _section(name: str, title: str, *children: Child) -> Element:
    return el("section", {"id": name}, el("h2", {}, title), *children)


def _latency(report: FusionReport) -> Element:
    parts: list[Child] = [el("p", {}, words.latency(report))]
    race = report.measured
    if race is not None:
        rows = [
            Bar("fused", race.ratio, KINDS[race.verdict]),
            Bar("A/A control", race.a_a, "noise"),
        ]
        said = f"Latency by that of the original: fused {_said(race.ratio)}; A/A control {_said(race.a_a)}."
        parts.append(bars(rows, label=said))
        parts.append(
            el(
                "p",
                {"class": "hint"},
                "Latency ÷ the original's, with 95 % intervals; under 1 is faster. The control is the original against"
                " itself: what lies within its interval is noise.",
            )
        )
    lines = (words.kernels(report), words.gaps(report))
    parts += [el("p", {"class": "note"}, line) for line in lines if line is not None]
    return _section("latency", "Before and after", *parts)


def _said(interval: Interval) -> str:
    return f"{words.ratio(interval)}, interval {words.span(interval)}"


def _fusions(report: FusionReport) -> Element | None:
    outcomes = words.outcomes(report.fusions)
    if not outcomes:
        return None
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        counts[outcome.word] += outcome.sites
    summary = ", ".join(f"{word} {count:,}" for word, count in counts.items() if count)
    rows = []
    for outcome in outcomes:
        nodes = [name for fusion in outcome.fusions for name in fusion.nodes]
        more = f" … and {len(nodes) - NODES:,} more" if len(nodes) > NODES else ""
        listed = el("code", {}, ", ".join(nodes[:NODES]) + more)
        details = el("details", {}, el("summary", {}, counted(len(nodes), "node")), listed) if nodes else None
        family, error = outcome.fusions[0].family, outcome.max_abs_error
        rows.append(
            [
                el("th", {"scope": "row"}, outcome.rule, el("small", {"class": "muted"}, f" {family}")),
                el(
                    "td",
                    {"data-label": "outcome", "data-key": str(words.ORDER.index(outcome.word))},
                    el("span", {"class": "outcome", "data-status": outcome.status.value}, outcome.word),
                ),
                _cell("places", f"{outcome.sites:,}" if outcome.sites else "-", key=str(outcome.sites)),
                _ratios("ratio alone", outcome.ratios),
                _ratios("on a part", outcome.parts),
                _cell("error", outcome.error, key="" if error is None else str(error)),
                el("td", {"data-label": "why", "class": "reason"}, *_why(report, outcome), details),
            ]
        )
    headings = [
        ("fusion", False),
        ("outcome", False),
        ("places", True),
        ("ratio alone", True),
        ("on a part", True),
        ("error", True),
        ("why", False),
    ]
    return _section("fusions", "Fusions", el("p", {"class": "hint"}, f"Places: {summary}."), _table(headings, rows))


def _ratios(label: str, intervals: Sequence[Interval]) -> Element:
    """One ratio with its interval, or the smallest and the largest of several."""
    if len(intervals) == 1:
        ratio = intervals[0]
        return _cell(label, words.ratio(ratio), el("small", {}, words.span(ratio)), key=str(ratio.ratio))
    key = str(min(interval.ratio for interval in intervals)) if intervals else ""
    return _cell(label, words.figure(intervals), key=key)


def _why(report: FusionReport, outcome: words.Outcome) -> Iterator[Element]:
    """Every reason in a row, with its places where it does not hold for all."""
    causes = words.causes(report, outcome.fusions)
    for cause in causes:
        count = f"{counted(cause.sites, 'place')}: " if cause.sites != outcome.sites else ""
        yield el("p", {}, count + cause.reason)


def _cell(label: str, *children: Child, key: str | None = None) -> Element:
    """A cell with a figure; KEY is what it is sorted by."""
    sorting = {} if key is None else {"data-key": key}
    return el("td", {"class": "number", "data-label": label, **sorting}, *children)


def _table(headings: Sequence[tuple[str, bool]], rows: Sequence[Sequence[Element]]) -> Element:
    """A table; a heading says whether its column holds figures."""
    head = [el("th", {"scope": "col", **({"class": "number"} if number else {})}, title) for title, number in headings]
    return el(
        "table",
        {"class": "cards sortable"},
        el("thead", {}, el("tr", {}, *head)),
        el("tbody", {}, *(el("tr", {}, *row) for row in rows)),
    )


def _predictions(report: FusionReport) -> Element | None:
    trace = report.trace
    if trace is None:
        return None
    of = f"{trace.path}, recorded on {trace.device}"
    if trace.graph is None:
        return _section("predictions", "Predicted", el("p", {}, f"The trace predicts nothing: {trace.reason} ({of})."))
    count = len(trace.matched) + len(trace.unmatched)
    rows = []
    for fusion in report.fusions:
        if fusion.predicted is not None:
            rows.append(
                [
                    el("th", {"scope": "row"}, f"{fusion.rule}, {words.places(fusion)}"),
                    _cell(
                        "predicted", duration_range(*fusion.predicted.saving_ns), key=str(fusion.predicted.saving_ns[1])
                    ),
                    el("td", {"data-label": "matched"}, fusion.predicted.source),
                    el("td", {"data-label": "measured", "class": "reason"}, words.measured(report, fusion)),
                ]
            )
    return _section(
        "predictions",
        "Predicted and measured",
        el("p", {}, f"From {of}, graph {trace.graph}: {len(trace.matched)} of {count} candidates matched."),
        _table([("fusion", False), ("predicted a run", True), ("matched", False), ("measured", False)], rows)
        if rows
        else None,
    )


def _batches(report: FusionReport) -> Element | None:
    if not report.batches:
        return None
    points = [(each.batch, each.latency.ratio) for each in report.batches if each.latency is not None]
    said = "Ratio by batch: " + "; ".join(f"{batch}: {_said(interval)}" for batch, interval in points)
    rows = []
    for each in report.batches:
        race = each.latency
        figures = (
            ["-", "-", "-", "-"]
            if race is None
            else [
                duration(race.baseline_ns),
                duration(race.candidate_ns),
                words.ratio(race.ratio),
                words.span(race.ratio),
            ]
        )
        keys = (
            [""] * 4
            if race is None
            else [str(v) for v in (race.baseline_ns, race.candidate_ns, race.ratio.ratio, race.ratio.low)]
        )
        labels = ("original", "fused", "ratio", "95 % interval")
        rows.append(
            [
                _cell("batch", str(each.batch), key=str(each.batch)),
                *(_cell(label, text, key=key) for label, text, key in zip(labels, figures, keys, strict=True)),
                el(
                    "td",
                    {"data-label": "verdict", "class": "reason flagged" if each.is_wrong else "reason"},
                    plain(each.reason) or words.batch_verdict(each),
                ),
            ]
        )
    headings = [("batch", True), ("original", True), ("fused", True), ("ratio", True), ("95 % interval", True)]
    return _section(
        "batches",
        "By size of the batch",
        el("p", {}, words.batch_end(report)),
        curve(points, label=said) if points else None,
        _table([*headings, ("verdict", False)], rows),
    )


def _errors(report: FusionReport) -> Element | None:
    """The largest error of each output, over all sets of inputs."""
    worst: dict[str, tuple[float, str]] = {}
    for (inputs, output), error in report.verification.errors.items():
        if output not in worst or error > worst[output][0]:
            worst[output] = (error, inputs)
    if not worst or not report.changed:
        return None
    ordered = sorted(worst.items(), key=lambda item: -item[1][0])
    rows = [
        [
            el("th", {"scope": "row", "class": "mono"}, output),
            _cell("largest error", f"{error:.1e}", key=str(error)),
            el("td", {"data-label": "inputs"}, inputs if error else "all"),
        ]
        for output, (error, inputs) in ordered[:OUTPUTS]
    ]
    more = f" The {OUTPUTS} largest of {len(ordered):,} are listed." if len(ordered) > OUTPUTS else ""
    return _section(
        "errors",
        "Errors by output",
        el(
            "p",
            {"class": "hint"},
            f"Largest difference from the unoptimised original, as a share of the output's size.{more}",
        ),
        _table([("output", False), ("largest error", True), ("on inputs", False)], rows),
    )


def _use(report: FusionReport) -> Element | None:
    code = words.snippet(report)
    if code is None:
        return None
    what = "the fused model" if report.changed else "the original, unchanged"
    return _section("use", "How to load it", el("p", {}, f"{report.fused.path} is {what}."), el("pre", {}, code))


def _conditions(report: FusionReport) -> Element:
    settings = report.settings
    facts = [
        ("provider", report.provider),
        ("ONNX Runtime", report.onnxruntime),
        ("operators (opset)", str(report.model.opset)),
        ("threads", "ONNX Runtime's choice" if settings.threads is None else str(settings.threads)),
        ("budget", f"{settings.budget_s:g} s"),
        ("seed", str(settings.seed)),
        ("inputs", "generated" if settings.inputs is None else str(settings.inputs)),
        *((f"shape of {name}", str(list(shape))) for name, shape in settings.shapes.items()),
    ]
    listed = [el("div", {}, el("dt", {}, term), el("dd", {}, value)) for term, value in facts]
    notes = [el("li", {}, note) for note in report.notes]
    return _section(
        "conditions",
        "What to know",
        el("ul", {"class": "notes"}, *notes) if notes else None,
        el("dl", {"class": "facts"}, *listed),
    )

"""An analysis in a notebook: a few lines of HTML without script, which every viewer of notebooks shows."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from advisor.report.analysis_words import CAUSE_WORDS, device_word, graph_names, headline, notes, whole_trace, worth
from advisor.report.colours import BUSY, CAUSE_COLOURS
from advisor.words import duration, percent, plain, short_names

if TYPE_CHECKING:
    from advisor.trace.analysis import Analysis
    from advisor.trace.figures import Causes

__all__ = ["summary_html"]

GRAPHS, KERNELS, FINDINGS = 8, 8, 3
"""So many of each are listed."""

_CELL = "text-align:left;padding:2px 12px 2px 0;overflow-wrap:anywhere"
_NUMBER = "text-align:right;padding:2px 12px 2px 0;white-space:nowrap"


def summary_html(analysis: Analysis) -> str:
    """The verdict, what to do, why the device was idle, graphs and kernels; `--html` writes a page with the rest."""
    parts = [
        f"<p><strong>{_text(headline(analysis))}</strong><br>{_text(worth(analysis))}<br>"
        f"{_text(whole_trace(analysis))}</p>"
    ]
    if analysis.findings:
        said = (f"<li>{_text(each.message)}<br>→ {_text(each.advice)}</li>" for each in analysis.findings[:FINDINGS])
        parts.append(f"<ul>{''.join(said)}</ul>")
    parts += [_causes(analysis), _graphs(analysis), _kernels(analysis)]
    parts += [f"<p>note: {_text(note)}</p>" for note in notes(analysis)]
    return f'<div style="max-width:60em">{"".join(parts)}</div>'


def _text(text: str) -> str:
    return escape(plain(text))


def _bar(causes: Causes, busy_ns: int) -> str:
    """The device's time as a bar: busy, then each cause of idleness, the largest first."""
    whole = busy_ns + sum(causes.values())
    parts = [("busy", BUSY, busy_ns)]
    parts += [(cause.key, CAUSE_COLOURS[cause], ns) for cause, ns in sorted(causes.items(), key=lambda item: -item[1])]
    spans = (
        f'<span title="{name} {duration(ns)}" style="display:inline-block;height:12px;background:{colour};'
        f'width:{100 * ns / whole:.2f}%"></span>'
        for name, colour, ns in parts
        if ns
    )
    return f'<div style="width:16em;font-size:0;white-space:nowrap">{"".join(spans)}</div>' if whole else ""


def _table(heads: list[str], rows: list[list[str]], names: int = 1) -> str:
    """The first NAMES columns are text, the others figures; cells are HTML."""
    styles = [_CELL] * names + [_NUMBER] * (len(heads) - names)

    def line(tag: str, cells: list[str]) -> str:
        inside = (f'<{tag} style="{style}">{cell}</{tag}>' for cell, style in zip(cells, styles, strict=True))
        return f"<tr>{''.join(inside)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', heads)}</thead><tbody>{body}</tbody></table>"


def _causes(analysis: Analysis) -> str:
    totals = analysis.totals
    if not totals.exposed_gap_ns:
        return ""
    rows = [
        [
            f'<span style="display:inline-block;width:12px;height:12px;background:{CAUSE_COLOURS[cause]}"></span> '
            f"{cause.key}",
            CAUSE_WORDS[cause],
            duration(ns),
            percent(ns / totals.exposed_gap_ns),
        ]
        for cause, ns in sorted(totals.causes.items(), key=lambda item: -item[1])
        if ns
    ]
    return _table([f"{device_word(analysis)} idle for", "", "time", "share"], rows, names=2)


def _graphs(analysis: Analysis) -> str:
    rows = [
        [
            _text(name),
            _bar(graph.causes, graph.busy_ns),
            graph.verdict,
            f"{graph.instances:,}",
            duration(graph.time_ns),
            percent(graph.time_share),
            percent(graph.gap_ratio),
        ]
        for graph, name in zip(analysis.graph_figures[:GRAPHS], graph_names(analysis), strict=False)
    ]
    return _table(["graph", "a run's time", "verdict", "runs", "time", "all runs", "gap ratio"], rows, names=3)


def _kernels(analysis: Analysis) -> str:
    names = short_names(kernel.name for kernel in analysis.kernel_figures)
    rows = [
        [
            f"<code>{_text(names[kernel.name])}</code>",
            f"{kernel.count:,}",
            duration(kernel.duration_ns),
            duration(kernel.fusible_gap_ns),
            percent(kernel.gap_ratio),
        ]
        for kernel in analysis.kernel_figures[:KERNELS]
    ]
    return _table(["largest fusible gaps", "count", "busy", "fusible", "gap ratio"], rows)

"""An analysis as one page that opens without a network: verdict, findings, causes, a timeline, graphs, kernels.

The page is `html/analysis.html` with its style, its script and the data inside. Names of kernels and ranges come from
strangers: they are data, in a JSON block in which `<` is escaped, and the script puts them into the page as text. A
content security policy forbids every request, and every script and style but these.
"""

from __future__ import annotations

import json
import re
from html import escape
from typing import TYPE_CHECKING, Any

from advisor.report.analysis_words import (
    CAUSE_WORDS,
    LONGEST_TITLE,
    device_word,
    headline,
    longest_gaps,
    most_share,
    notes,
    whole_trace,
    worth,
)
from advisor.report.chain_names import chain_names, kernel_word
from advisor.report.colours import BUSY, CAUSE_COLOURS, ink
from advisor.report.drawing import LONGEST_NAME, draw
from advisor.report.page import fill
from advisor.trace.causes import FUSIBLE, Cause, ThreadActivity
from advisor.words import plain, short_names, shortened

if TYPE_CHECKING:
    from typing import TextIO

    from advisor.trace.analysis import Analysis

__all__ = ["DRAWN", "KERNELS", "page_data", "write"]

DRAWN = 6
"""Graphs with a timeline, those that stand first."""

KERNELS, GRAPHS = 1_000, 200
"""So many are listed."""


def write(analysis: Analysis, file: TextIO) -> None:
    """Write the page."""
    content = {
        "title": escape(f"{plain(analysis.trace.path.name)}: {analysis.graph_figures[0].verdict}"),
        "source": escape(_source(analysis)),
        "headline": _sentence(headline(analysis)),
        "worth": _sentence(worth(analysis)),
        "whole": _sentence(whole_trace(analysis)),
        "data": _embedded(page_data(analysis)),
    }
    file.write(fill("analysis.html", styles=["style.css"], script="analysis.js", content=content))


def page_data(analysis: Analysis) -> dict[str, Any]:
    """What the page's script shows: the analysis, the words around it, and the timelines."""
    document = analysis.to_dict()
    graphs = range(min(len(analysis.graph_figures), DRAWN))
    activity = ThreadActivity(analysis.trace, analysis.evidence.launches, analysis.dispatch_limit_ns)
    kernels = document["kernels"][:KERNELS]
    whole = short_names(row["name"] for row in document["kernels"])
    short = shortened(whole.values(), LONGEST_NAME)
    for row in kernels:
        row["whole"], row["label"] = whole[row["name"]], kernel_word(row["name"])
        row["short"] = short[row["whole"]]
    for row, name in zip(document["candidates"], chain_names(analysis.candidates), strict=True):
        row["chain"] = name
    for row, graph in zip(document["graphs"], analysis.graph_figures, strict=True):
        row["most_share"] = most_share(graph)
    shown: dict[str, Any] = _plain(
        {
            "device": device_word(analysis),
            "busy": BUSY,
            "causes": [
                {
                    "key": cause.key,
                    "words": CAUSE_WORDS[cause].replace("GPU", device_word(analysis)),
                    "colour": CAUSE_COLOURS[cause],
                    "ink": ink(CAUSE_COLOURS[cause]),
                    "fusible": cause in FUSIBLE,
                }
                for cause in Cause
            ],
            "notes": list(notes(analysis)),
            "longest": {"title": LONGEST_TITLE, "lines": list(longest_gaps(analysis))},
            "kernels": kernels,
            "kernels_in_all": len(document["kernels"]),
            "graphs": document["graphs"][:GRAPHS],
            "graphs_in_all": len(document["graphs"]),
            "drawings": [draw(analysis, graph, activity) for graph in graphs],
        }
        | {name: document[name] for name in _TAKEN}
    )
    return shown


_TAKEN = ("source", "threshold", "coverage", "totals", "devices", "candidates", "levers", "findings")


def _sentence(text: str) -> str:
    """TEXT as HTML, names between backticks as code, and no end of line between a number and its unit."""
    parts = escape(re.sub(r"(?<=\d) (?=%|[nµm]?s\b)", "\N{NO-BREAK SPACE}", text)).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def _source(analysis: Analysis) -> str:
    trace = analysis.trace
    recorded = f"{trace.kind} {trace.tool_version or ''}".strip()
    return plain(f"{trace.path.name} ({recorded})")


def _plain(value: Any) -> Any:
    """VALUE with every text in it made harmless; causes that took no time are left out."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {
            key: {cause: ns for cause, ns in each.items() if ns}
            if key == "causes" and isinstance(each, dict)
            else _plain(each)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        # Columns of numbers are most of the page, and as they are.
        return value if value and isinstance(value[0], int) else [_plain(each) for each in value]
    return value


def _embedded(data: dict[str, Any]) -> str:
    """DATA as JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")

"""No report loses a part of a kernel's name that tells it from another's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

import advisor
from advisor.gate.compare import compare
from advisor.report.analysis_html import page_data
from advisor.report.analysis_text import render_analysis
from advisor.report.comparison_text import render_comparison
from advisor.report.comparison_words import kernel_lines
from advisor.words import plain, short_names
from sample_traces.operations import Host, Launch, Pop, Push, Synchronize
from sample_traces.simulator import simulate
from sample_traces.trace import to_trace
from tests.gate.simulated import recording
from tests.report.conftest import written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from advisor.trace.analysis import Analysis
    from sample_traces.operations import Operation

LONG = "void at::native::vectorized_elementwise_kernel<4, " + "at::detail::Array<char*, 3>, " * 9
NAMES = (
    *(f"{LONG}at::native::{what}Functor<float>>(int)" for what in ("Add", "Mul")),
    *(f"{LONG}4>(float, {kind})" for kind in ("int", "long", "long long")),
    "void (anonymous namespace)::scale(float*)",
    "void scale(float*)",
)


def program(names: tuple[str, ...] = NAMES, times: int = 12, nanoseconds: int = 2_000) -> Iterator[Operation]:
    for _ in range(times):
        yield Push("step")
        for name in names:
            yield from (Host(5_000), Launch(name, nanoseconds))
        yield from (Synchronize(), Pop(), Host(9_000))


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return advisor.analyze(to_trace(simulate(program())))


def printed(renderable: RenderableType, columns: int) -> str:
    console = Console(width=columns, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(renderable)
    return console.export_text()


def test_summaries_hold_whole_names(analysis: Analysis) -> None:
    whole = short_names(NAMES)
    assert len(set(whole.values())) == len(NAMES)
    markdown = written(analysis, "markdown")
    notebook = re.sub(
        r"&lt;|&gt;|&#x27;", lambda found: {"&lt;": "<", "&gt;": ">"}.get(found[0], "'"), analysis._repr_html_()
    )
    for text in whole.values():
        assert f"`{text}` | " in markdown
        assert f"<code>{text}</code>" in notebook
    assert "…" not in markdown + notebook
    for kernel in max((candidate.kernels for candidate in analysis.candidates), key=len):
        assert whole[kernel] in markdown.partition("of these chains")[2].partition("</details>")[0]


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_no_two_rows_of_the_terminal_are_the_same_text(analysis: Analysis, columns: int) -> None:
    text = printed(render_analysis(analysis, top=10, width=columns), columns)
    assert max(map(len, text.splitlines())) <= columns
    table = text.partition("largest fusible gaps")[2].partition("Graphs,")[0]
    names = [line.split("  ")[0].strip() for line in table.splitlines() if line.rstrip().endswith("%")]
    assert len(set(names)) == len(NAMES)


def test_the_page_shows_names_that_differ_and_has_them_whole(analysis: Analysis) -> None:
    data = page_data(analysis)
    assert len({row["short"] for row in data["kernels"]}) == len(NAMES)
    assert {row["name"] for row in data["kernels"]} == set(map(plain, NAMES))
    for drawing in data["drawings"]:
        assert len(set(drawing["short"])) == len(drawing["names"])


def test_a_kernel_that_takes_all_the_time_is_named_whole_but_in_a_terminal() -> None:
    name = NAMES[2]
    bound = advisor.analyze(to_trace(simulate(program((name,), nanoseconds=900_000))))
    assert f"`{short_names([name])[name]}`" in written(bound, "markdown")
    assert any(short_names([name])[name] in finding.advice for finding in bound.findings)
    said = printed(render_analysis(bound, top=3, width=200), 200).partition("Look at the kernels")[2]
    assert "…" in said.splitlines()[0]


@pytest.mark.parametrize("columns", [40, 120])
def test_a_comparison_tells_apart_what_is_new_and_what_is_gone(columns: int) -> None:
    before, after = (recording(program((*NAMES[:3], last))) for last in NAMES[3:5])
    (graph,) = compare([before], [after]).graphs
    new, gone = kernel_lines(graph)
    whole = short_names(NAMES)
    assert (new, gone) == (f"new: 1 x {whole[NAMES[4]]}", f"gone: 1 x {whole[NAMES[3]]}")
    text = " ".join(printed(render_comparison(compare([before], [after]), columns, verdict=False), columns).split())
    assert "(float, long)" not in text.partition("new: 1 x")[2].partition("gone:")[0]
    assert "long)" in text.partition("gone: 1 x")[2]

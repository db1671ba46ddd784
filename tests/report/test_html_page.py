"""The page in a browser: it opens alone, shows what the analysis says, and answers mouse, wheel, touch and keyboard."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import advisor
from advisor.report.analysis_html import page_data
from advisor.report.analysis_words import headline, longest_gaps
from advisor.words import duration, percent, plain
from sample_traces.operations import Launch
from sample_traces.simulator import simulate
from sample_traces.trace import to_trace
from tests.report.conftest import HOSTILE, written

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.trace.analysis import Analysis
    from tests.report.chromium import Page

PRESS = "[...document.querySelectorAll('#timeline button')].find((each) => each.title === {title!r}).click()"
NEXT, LONGEST = PRESS.format(title="Next gap"), PRESS.format(title="Select the longest gap")
ENTER = """(() => {{
  const field = document.querySelector({field!r});
  field.value = {value!r};
  field.dispatchEvent(new Event({event!r}));
}})()"""


def opened(page: Page, analysis: Analysis, folder: Path) -> None:
    path = folder / "report.html"
    path.write_text(written(analysis, "html"), encoding="utf-8")
    page.open(path)
    assert page.problems == []
    assert page.requests == [path.resolve().as_uri()]


def texts(page: Page, selector: str) -> list[str]:
    found = page.value(f"[...document.querySelectorAll({selector!r})].map((each) => each.textContent)")
    return [text.replace("\N{NO-BREAK SPACE}", " ") for text in found]


def view(page: Page) -> tuple[float, float]:
    """What part of the run the timeline shows, ns since its beginning."""
    shown = page.value("(({from, to}) => [Number(from), Number(to)])(document.querySelector('canvas').dataset)")
    return shown[0], shown[1]


def place(page: Page, kind: str, time: float) -> tuple[float, float]:
    """Where a moment on the first lane of a kind lies in the window."""
    page.value("document.querySelector('canvas').scrollIntoView({block: 'center'})")
    left, top, width, lanes = page.value(
        "(() => { const c = document.querySelector('canvas'); const b = c.getBoundingClientRect();"
        " return [b.left + c.clientLeft, b.top + c.clientTop, c.clientWidth, JSON.parse(c.dataset.lanes)]; })()"
    )
    _, _, y, height = next(lane for lane in lanes if lane[0] == kind)
    begin, end = view(page)
    return left + (time - begin) / (end - begin) * width, top + y + height / 2


def longest_gap(data: dict[str, Any]) -> int:
    return int(np.argmax(data["drawings"][0]["gaps"]["duration"]))


@pytest.mark.parametrize("sample", ["launch_bound_decode", "gpu_bound_cnn", "sync_bound_loop", "cuda_graph_replay"])
def test_it_opens_without_an_error_and_asks_for_nothing(page: Page, samples: Path, tmp_path: Path, sample: str) -> None:
    analysis = advisor.analyze(advisor.read_trace(samples / f"{sample}.sqlite"))
    opened(page, analysis, tmp_path)
    assert texts(page, "h1") == [headline(analysis)]
    assert texts(page, "#findings .severity") == [finding.severity for finding in analysis.findings]
    assert len(texts(page, "#kernels tbody tr")) == len(analysis.kernel_figures)
    windows = [words.split("`")[-2] for words in longest_gaps(analysis)]
    assert texts(page, "#causes > ul code:last-child") == windows
    assert "[object" not in "".join(texts(page, "body"))
    assert page.value("document.querySelectorAll('section[hidden]').length") == (not analysis.candidates)


def test_a_trace_of_one_kernel_is_a_page_too(page: Page, tmp_path: Path) -> None:
    opened(page, advisor.analyze(to_trace(simulate([Launch("only", 5_000)]))), tmp_path)
    assert "never idle" in texts(page, "#causes")[0]
    page.value(NEXT)
    assert "Nothing selected" in texts(page, ".details")[0]


def test_a_real_trace_without_ranges_is_shown_where_work_is_densest(
    page: Page, real_traces: Path, tmp_path: Path
) -> None:
    opened(page, advisor.analyze(advisor.read_trace(real_traces / "gomory_rtx3090_2025_5.sqlite")), tmp_path)
    assert "closest together, since no runs could be told apart" in texts(page, "#timeline .hint")[0]


def test_a_click_on_a_gap_tells_its_causes_what_ended_it_and_its_launch_call(
    page: Page, decode: Analysis, tmp_path: Path
) -> None:
    opened(page, decode, tmp_path)
    data = page_data(decode)
    drawing = data["drawings"][0]
    gaps, pieces = drawing["gaps"], drawing["pieces"]
    gap = longest_gap(data)
    page.click(*place(page, "gaps", max(gaps["start"][gap] + gaps["duration"][gap] - 1_000, 100)))
    (said,) = texts(page, ".details")
    work = gaps["work"][gap]
    call = drawing["works"]["call"][work]
    assert f"Idle for {duration(gaps['duration'][gap])}, ended by" in said
    assert drawing["names"][drawing["works"]["name"][work]] in said
    assert drawing["call_names"][drawing["calls"]["name"][call]] in said
    assert f"took {duration(drawing['calls']['duration'][call])}" in said
    for piece in (index for index, owner in enumerate(pieces["gap"]) if owner == gap):
        assert data["causes"][pieces["cause"][piece]]["words"] in said
    assert page.problems == []


def test_calls_ranges_and_works_tell_about_themselves(page: Page, decode: Analysis, tmp_path: Path) -> None:
    opened(page, decode, tmp_path)
    drawing = page_data(decode)["drawings"][0]
    names = {
        "calls": [drawing["call_names"][name] for name in drawing["calls"]["name"]],
        "works": [drawing["names"][name] for name in drawing["works"]["name"]],
        "ranges": drawing["ranges"]["name"],
    }
    for kind, name in names.items():
        column = drawing[kind]
        longest = int(np.argmax(column["duration"]))
        page.click(*place(page, kind, column["start"][longest] + column["duration"][longest] / 2))
        assert name[longest] in texts(page, ".details")[0], kind


def test_keys_move_and_zoom_and_go_from_gap_to_gap(page: Page, decode: Analysis, tmp_path: Path) -> None:
    opened(page, decode, tmp_path)
    page.value("document.querySelector('canvas').focus()")
    begin, end = view(page)
    page.press("+")
    closer = view(page)
    assert closer[1] - closer[0] < end - begin
    page.press("ArrowRight", 39)
    assert view(page)[0] > closer[0]
    page.press("ArrowLeft", 37)
    assert view(page) == pytest.approx(closer)
    page.press("n")
    first = texts(page, ".details h3")
    page.press("n")
    assert texts(page, ".details h3") != first
    page.press("p")
    assert texts(page, ".details h3") == first
    page.press("0")
    assert view(page) == (begin, end)
    page.press("Escape", 27)
    assert "Nothing selected" in texts(page, ".details")[0]


def test_the_wheel_zooms_only_when_the_timeline_was_chosen_and_a_drag_moves_it(
    page: Page, decode: Analysis, tmp_path: Path
) -> None:
    opened(page, decode, tmp_path)
    whole = view(page)
    x, y = place(page, "works", (whole[0] + whole[1]) / 2)
    page.wheel(x, y, -120)
    assert view(page) == whole
    x, y = place(page, "works", (whole[0] + whole[1]) / 2)
    page.click(x, y)
    page.wheel(x, y, -120)
    closer = view(page)
    assert closer[1] - closer[0] < whole[1] - whole[0]
    page.drag(x, y, x - 200)
    assert view(page)[0] > closer[0]
    assert view(page)[1] - view(page)[0] == pytest.approx(closer[1] - closer[0])


def test_two_fingers_zoom_and_one_finger_moves(page: Page, decode: Analysis, tmp_path: Path) -> None:
    page.look(width=360, height=740, phone=True)
    opened(page, decode, tmp_path)
    whole = view(page)
    _, y = place(page, "gaps", 0)
    page.touch([(150, y), (210, y)], [(110, y), (250, y)], [(70, y), (290, y)])
    closer = view(page)
    assert closer[1] - closer[0] < (whole[1] - whole[0]) / 2
    page.touch([(250, y)], [(200, y)], [(150, y)])
    assert view(page)[0] > closer[0]
    assert page.problems == []


def test_the_longest_gap_is_found_by_its_button_and_in_the_table(page: Page, decode: Analysis, tmp_path: Path) -> None:
    opened(page, decode, tmp_path)
    data = page_data(decode)
    length = duration(data["drawings"][0]["gaps"]["duration"][longest_gap(data)])
    page.value(LONGEST)
    page.settle()
    assert f"Idle for {length}" in texts(page, ".details h3")[0]
    assert texts(page, ".longest tbody button")[0] == length


def test_kernels_are_sorted_and_searched(page: Page, decode: Analysis, tmp_path: Path) -> None:
    opened(page, decode, tmp_path)
    rows = texts(page, "#kernels tbody tr td:nth-child(7)")
    assert rows == [duration(row.fusible_gap_ns) for row in decode.kernel_figures]
    by_count = (
        "[...document.querySelectorAll('#kernels th button')].find((each) => each.textContent === 'count').click()"
    )
    page.value(by_count)
    counts = sorted((row.count for row in decode.kernel_figures), reverse=True)
    assert texts(page, "#kernels tbody tr td:nth-child(3)") == [f"{count:,}" for count in counts]
    assert page.value("document.querySelector('#kernels th:nth-child(3)').ariaSort") == "descending"
    page.value(by_count)
    assert texts(page, "#kernels tbody tr td:nth-child(3)") == [f"{count:,}" for count in counts[::-1]]
    page.value(ENTER.format(field="input", value="gemm", event="input"))
    matching = [row for row in decode.kernel_figures if "gemm" in row.name.lower() or "gemm" in row.op_class]
    assert len(texts(page, "#kernels tbody tr")) == len(matching)
    assert texts(page, "#kernels .tools .hint") == [f"{len(matching)} of {len(decode.kernel_figures)} names"]


def test_figures_are_written_as_in_the_terminal(page: Page, decode: Analysis, tmp_path: Path) -> None:
    opened(page, decode, tmp_path)
    columns = {4: "duration_ns", 5: "exposed_gap_ns", 7: "fusible_gap_ns"}
    for column, field in columns.items():
        shown = texts(page, f"#kernels tbody tr td:nth-child({column})")
        assert shown == [duration(getattr(row, field)) for row in decode.kernel_figures]
    assert texts(page, "#kernels tbody tr td:nth-child(8)") == [percent(row.gap_ratio) for row in decode.kernel_figures]


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_and_follows_the_preferred_colours(
    page: Page, decode: Analysis, hostile: Analysis, tmp_path: Path, dark: bool
) -> None:
    page.look(width=360, height=740, phone=True, dark=dark)
    for analysis in (decode, hostile):
        page.requests.clear()
        opened(page, analysis, tmp_path)
        page.value(NEXT)
        page.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        page.value("document.querySelectorAll('button.name').forEach((each) => each.click())")
        page.settle()
        assert page.value("document.documentElement.scrollWidth") == 360
        red = page.value("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
        assert (int(red) < 64) == dark


def test_names_are_text_and_nothing_else(page: Page, hostile: Analysis, tmp_path: Path) -> None:
    opened(page, hostile, tmp_path)
    page.value("document.querySelectorAll('button.name').forEach((each) => each.click())")
    assert page.value("document.title") == f"simulated: {hostile.graph_figures[0].verdict}"
    assert page.value("document.querySelectorAll('script').length") == 2
    assert page.value("document.querySelectorAll('img, iframe, object, link').length") == 0
    shown = "\n".join(texts(page, "#kernels .name span"))
    for name in HOSTILE:
        assert plain(name) in shown
    assert "\x1b" not in shown
    assert "\u202e" not in page.value("document.documentElement.outerHTML")
    for index in range(len(page_data(hostile)["drawings"])):
        page.value(ENTER.format(field="select", value=str(index), event="change"))
        page.value(NEXT)
        page.settle()
    assert page.problems == []


def test_the_policy_lets_nothing_out_and_no_other_script_in(page: Page, decode: Analysis, tmp_path: Path) -> None:
    opened(page, decode, tmp_path)
    page.requests.clear()
    tried = page.value(
        """(async () => {
          const refused = [];
          document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
          try { await fetch("https://example.invalid/"); } catch {}
          const add = (tag, what) => document.body.append(Object.assign(document.createElement(tag), what));
          add("img", { src: "https://example.invalid/a.png" });
          add("script", { textContent: "document.title = 'owned'" });
          await new Promise((done) => setTimeout(done, 100));
          return JSON.stringify([document.title, refused.sort()]);
        })()"""
    )
    title, refused = json.loads(tried)
    assert title != "owned"
    assert refused == ["connect-src", "img-src", "script-src-elem"]

"""What terminal and page say about a fusion."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from rich.console import Console

from advisor.fuse.batches import BatchLatency
from advisor.fuse.result import Fusion, ModelFile, Status
from advisor.measure.statistics import Interval
from advisor.report.fusion_html import page as written
from advisor.report.fusion_text import render_fusion
from advisor.report.fusion_words import headline, outcomes, snippet
from tests.report.fusion_reports import race, report

if TYPE_CHECKING:
    from pathlib import Path

    from tests.report.chromium import Page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x1b[31m\u202e"
VOID = {"meta", "img", "br", "input", "link"}


class Structure(HTMLParser):
    """Elements of a page: that each is closed, and which there are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def text(columns: int, **changes: Any) -> str:
    console = Console(width=columns, file=StringIO(), color_system=None)
    console.print(render_fusion(report(**changes), columns))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_document_fits_its_schema() -> None:
    schema = json.loads((files("advisor.report") / "schemas" / "fusion-1.json").read_text(encoding="utf-8"))
    for subject in (report(), report(gaps=None, batches=(), measured=None, changed=False)):
        document = json.loads(json.dumps(subject.to_dict(), allow_nan=False))
        jsonschema.validate(document, schema)
    document = report().to_dict()
    assert [each["batch"] for each in document["batches"]] == [1, 2, 4, 8, 16]
    assert document["batches"][1]["ratio"] == 0.90
    assert document["batches"][1]["verdict"] == "faster"
    assert document["batches"][4]["ratio"] is None
    assert document["gain_ends_at"] == 4
    assert document["gaps"]["after"]["ratio"] == 0.059


def test_the_gain_ends_where_an_interval_first_reaches_one() -> None:
    short = (BatchLatency(1, race(0.9, 0.89, 0.91)), BatchLatency(2, None, "no"))
    assert report(batches=short).gain_ends_at is None
    assert report(batches=(*short, BatchLatency(4, race(0.99, 0.98, 1.0)))).gain_ends_at == 4


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_nothing_is_lost_on_a_narrow_terminal(columns: int) -> None:
    shown = text(columns)
    assert max(map(len, shown.splitlines())) <= columns
    for fusion in report().fusions:
        assert fusion.rule in shown
    assert "unsupported" in shown
    assert "0.890 to 0.915" in shown
    assert "The gain is gone at a batch of 4." in shown
    assert "batch 16: the model does not take x" in " ".join(shown.split())


def test_equal_reasons_are_one_line_with_a_count_and_an_example() -> None:
    shown = [line for line in text(200).splitlines() if line.startswith("- gelu")]
    assert shown == [
        "- gelu, 9 places: illegal: the intermediate value '0' is also used by Mul '0' (for example)",
        "- gelu, 3 places: unsupported: no kernel for x",
    ]
    other = Fusion("gelu", "element-wise", ("z",), 1, Status.ILLEGAL, "the axes are not constant")
    assert len(outcomes((*report().fusions, other))) == len(outcomes(report().fusions)) + 1


def test_what_is_kept_only_with_others_says_so() -> None:
    assert "hard-sigmoid, 1 place (x 2): kept: shown to pay only together with the others" in text(200)
    assert "hard-swish, 12 places: kept" not in text(200)


def test_a_noisy_run_claims_the_near_end() -> None:
    noisy = report(measured=race(0.88, 0.80, 0.95, Interval(1.0, 0.97, 1.03)))
    assert headline(noisy) == "Faster: a run takes at least 5.0 % less time (measured 0.88, 0.80 to 0.95)."
    assert headline(report()) == "Faster: a run takes 15 % less time."


def test_the_snippet_is_three_lines_that_compile() -> None:
    for library in (None, report().model.path):
        code = snippet(report('a"b', fused=ModelFile(report().model.path, 3, 17, library)))
        assert code is not None
        assert len(code.splitlines()) == 3
        compile(code.replace("…", "None"), "snippet", "exec")
        assert ("advisor.session" in code) is (library is not None)
    assert snippet(report(fused=ModelFile(None, 3, 17))) is None


def test_the_page_is_whole_and_asks_for_nothing() -> None:
    structure = Structure(written(report()))
    assert structure.tags.count("section") == 6
    assert structure.tags.count("svg") == 2
    assert structure.tags.count("script") == 1
    assert not any(name in {"src", "style"} or name.startswith("on") for name, _ in structure.attributes)
    assert all((value or "").startswith("#") for name, value in structure.attributes if name == "href")


def test_names_that_want_to_be_markup_are_text() -> None:
    shown = written(report(HOSTILE))
    assert Structure(shown).tags == Structure(written(report())).tags
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_report_without_a_gain_is_a_page_too() -> None:
    fused = ModelFile(None, 234, 17)
    shown = written(report(changed=False, measured=None, fusions=(), batches=(), gaps=None, fused=fused))
    Structure(shown)
    assert "Nothing to fuse" in shown
    assert "Fusions</h2>" not in shown


def test_in_a_browser_tables_sort_and_names_do_nothing(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "fusion.html"
    path.write_text(written(report(HOSTILE)), encoding="utf-8")
    for width, dark in ((1200, False), (400, True)):
        page.look(width=width, dark=dark, phone=width < 500)
        page.open(path)
        assert page.problems == []
        assert page.value("document.documentElement.scrollWidth") == width
    places = "[...document.querySelectorAll('#fusions tbody tr')].map((row) => Number(row.cells[2].textContent))"
    before = page.value(places)
    page.value("document.querySelectorAll('#fusions th[scope=col] button')[2].click()")
    assert page.value(places) == sorted(before)
    page.value("document.querySelectorAll('#fusions th[scope=col] button')[2].click()")
    assert page.value(places) == sorted(before, reverse=True)

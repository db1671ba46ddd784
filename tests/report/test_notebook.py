"""What a notebook shows of an analysis."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

from advisor.report.analysis_words import headline
from advisor.words import plain
from tests.report.conftest import HOSTILE

if TYPE_CHECKING:
    from advisor.trace.analysis import Analysis

TAGS = {"div", "p", "strong", "br", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "span", "code"}


class Reader(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.open = "", list[str]()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        assert {name for name, _ in attrs} <= {"style", "title"}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_an_analysis_shows_itself_without_script(decode: Analysis) -> None:
    shown = Reader(decode._repr_html_())
    assert shown.open == []
    assert headline(decode) in shown.text
    assert decode.findings[0].advice.split("`")[0] in shown.text
    assert "launch calls and their latency" in shown.text
    assert len(decode._repr_html_()) < 20_000


def test_names_are_text(hostile: Analysis) -> None:
    shown = Reader(hostile._repr_html_())
    for name in HOSTILE[:6]:
        assert plain(name)[:60] in shown.text
    assert "\x1b" not in shown.text

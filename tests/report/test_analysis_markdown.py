"""The summary for pull requests: names stay names, tables keep their columns, nobody is called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from advisor.report.analysis_words import headline
from advisor.report.markdown import code, escaped, prose, row
from advisor.words import plain
from tests.report.conftest import HOSTILE, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

    from advisor.trace.analysis import Analysis

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
NAMES = st.one_of(st.sampled_from(HOSTILE), st.text("`|\\ <a>&*_[]()!~@#$\n:", max_size=12), st.text(max_size=20))


def tokens(text: str) -> Iterator[Token]:
    for token in RENDERER.parse(text):
        yield token
        yield from token.children or ()


def cells(text: str) -> list[list[Token]]:
    """The rows of all tables in a document, a cell as its inline token."""
    rows: list[list[Token]] = []
    found = RENDERER.parse(text)
    for index, token in enumerate(found):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("td_open", "th_open"):
            rows[-1].append(found[index + 1])
    return rows


def test_the_verdict_is_the_heading_in_the_words_of_the_terminal(decode: Analysis) -> None:
    first = written(decode, "markdown").splitlines()[1]
    assert first.replace("`", "") == f"## {headline(decode)}"


def test_hostile_names_become_no_markup(hostile: Analysis) -> None:
    text = written(hostile, "markdown")
    allowed = {"<br>", "<details><summary>GPU work with the largest fusible gaps</summary>", "</details>"}
    for token in tokens(text):
        if token.type in ("html_inline", "html_block"):
            assert token.content.strip() in allowed | {"<!-- -->", "<!-- advisor -->"}
        assert token.type not in ("image", "link_open", "em_open", "s_open", "fence", "code_block", "blockquote_open")
    assert {len(line) for line in cells(text)} <= {4, 5, 7, 9}
    outside_of_code = re.sub(r"(`+).+?\1", "", text)
    assert "@everyone" not in outside_of_code
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e\u200b]", text)


def test_every_kernel_of_a_hostile_trace_stands_in_the_table_under_its_own_name(hostile: Analysis) -> None:
    shown = [
        child.content
        for line in cells(written(hostile, "markdown"))
        for cell in line
        for child in cell.children or ()
        if child.type == "code_inline"
    ]
    for name in HOSTILE:
        assert plain(name)[:60].strip() in " ".join(shown)


@given(NAMES)
def test_a_name_as_code_is_that_name(name: str) -> None:
    (paragraph,) = [token for token in RENDERER.parse("name " + code(name)) if token.type == "inline"]
    children = [child for child in paragraph.children or () if child.content != "name "]
    (child,) = children
    assert child.type == "code_inline"
    assert child.content.strip() == plain(name).strip()


@given(st.lists(NAMES, min_size=3, max_size=3))
def test_a_row_of_names_has_as_many_cells(names: list[str]) -> None:
    table = "\n".join([row("a", "b", "c"), "| --- | --- | --- |", row(*map(code, names)), row(*map(escaped, names))])
    _, coded, plainly = cells(table)
    for cell, name in zip(coded, names, strict=True):
        (child,) = list(cell.children or ())
        assert child.content.strip() == plain(name).strip()
    for cell, name in zip(plainly, names, strict=True):
        shown = "".join(child.content for child in cell.children or () if child.type == "text")
        assert shown.strip() == plain(name).strip()


@given(NAMES)
def test_escaped_text_is_text_and_nothing_else(name: str) -> None:
    found = list(tokens(escaped(name)))
    assert {token.type for token in found} <= {"paragraph_open", "paragraph_close", "inline", "text", "html_inline"}
    assert {token.content for token in found if token.type == "html_inline"} <= {"<!-- -->"}
    assert "".join(token.content for token in found if token.type == "text").strip() == plain(name).strip()


@pytest.mark.parametrize("sign", ["@", "#"])
def test_nobody_is_called_and_no_issue_is_named(sign: str) -> None:
    assert f"{sign}1" not in escaped(f"{sign}1 {sign}everyone")
    assert f"{sign}everyone" not in prose(f"{sign}1 {sign}everyone")

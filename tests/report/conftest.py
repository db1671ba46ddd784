"""Analyses to report on, and a browser to look at pages with."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

import pytest

import advisor
from advisor.report.formats import ANALYSIS
from sample_traces.operations import Copy, Host, Launch, Pop, Push, Synchronize
from sample_traces.simulator import simulate
from sample_traces.trace import to_trace
from tests.report.chromium import Page, find_chromium

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from advisor.trace.analysis import Analysis
    from sample_traces.operations import Operation

HOSTILE = (
    "</script><script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "<!--<script>",
    "a|b `c` ``d`` \\| [link](javascript:alert(1)) @everyone #1 *bold* _it_ $x$ ~~no~~",
    "\x1b[31mred\x1b[0m \u202etxet\u202c \u200bzero\nline\r\x00",
    "'); alert(1); //",
    "{{data}} %s %d {0} ${x}",
    "- item",
    "`",
    "\u2028\u2029",
)
"""Names as somebody might choose them who wants to do harm."""


@pytest.fixture(scope="session")
def decode(samples: Path) -> Analysis:
    """The sample that waits for launches."""
    return advisor.analyze(advisor.read_trace(samples / "launch_bound_decode.sqlite"))


@pytest.fixture(scope="session")
def hostile() -> Analysis:
    """An analysis in which every name wants to be more than a name."""
    program: list[Operation] = []
    for _ in range(3):
        for name in HOSTILE:
            program += [Push(name), Launch(name, 3_000), Host(4_000), Launch("add", 1_000), Pop()]
        program += [Copy(1_000), Synchronize()]
    return advisor.analyze(to_trace(simulate(program)))


def written(analysis: Analysis, option: str) -> str:
    """The report of one format."""
    file = StringIO()
    next(form for form in ANALYSIS if form.option == option).write(analysis, file)
    return file.getvalue()


@pytest.fixture(scope="session")
def browser() -> Iterator[Page]:
    command = find_chromium()
    if command is None:
        pytest.skip("needs Chromium or Chrome (Debian: apt-get install chromium)")
    with Page(command) as page:
        yield page


@pytest.fixture
def page(browser: Page) -> Page:
    """A desktop browser without a page, and nothing wrong so far."""
    browser.look()
    browser.problems.clear()
    browser.requests.clear()
    return browser

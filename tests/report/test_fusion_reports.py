"""What terminal and page say about a fusion."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from advisor.fuse.batches import BatchLatency
from advisor.fuse.kernels.traffic import Traffic
from advisor.fuse.model import ModelFile
from advisor.fuse.result import Fusion, GeneratedKernels, Status
from advisor.measure.statistics import Interval
from advisor.report.formats import FUSION
from advisor.report.fusion_text import render_fusion
from advisor.report.fusion_words import figure, headline, latency, main_reason, outcomes, snippet
from tests.report.fusion_reports import race, report, spots

if TYPE_CHECKING:
    from advisor.fuse.result import FusionReport
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


def written(subject: FusionReport, option: str = "html") -> str:
    file = StringIO()
    next(form for form in FUSION if form.option == option).write(subject, file)
    return file.getvalue()


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


@pytest.mark.parametrize("columns", [40, 60, 66, 76, 80, 100])
def test_nothing_is_lost_on_a_narrow_terminal(columns: int) -> None:
    shown = text(columns)
    assert max(map(len, shown.splitlines())) <= columns
    for fusion in report().fusions:
        assert fusion.rule in shown
    assert "unsupported" in shown
    assert "…" not in shown
    assert "0.890 to 0.915" in shown
    assert "The gain is gone at a batch of 4." in shown
    assert "batch 16: the model does not take x" in " ".join(shown.split())


def lines(columns: int, **changes: Any) -> list[str]:
    return [line.rstrip() for line in text(columns, **changes).splitlines()]


def test_a_rule_is_one_row_for_each_outcome_and_what_is_kept_comes_first() -> None:
    """Ten places of GELU that ended alike for two reasons, and three that ended otherwise; the JSON has each."""
    other = Fusion("gelu", "element-wise", spots("z"), Status.ILLEGAL, "the axes are not constant")
    subject = report(fusions=(other, *report().fusions))
    found = [(each.rule, each.status, each.sites) for each in outcomes(subject.fusions)]
    assert found == [
        ("hard-sigmoid", Status.KEPT, 1),
        ("hard-swish", Status.KEPT, 12),
        ("rms-norm", Status.WRONG, 2),
        ("gelu", Status.ILLEGAL, 10),
        ("gelu", Status.UNSUPPORTED, 3),
    ]
    assert len(subject.to_dict()["fusions"]) == 14


def test_the_gain_of_parts_is_told_beside_that_of_the_whole() -> None:
    part = Interval(0.71, 0.70, 0.73)
    tried = (
        Fusion("gelu", "element-wise", spots("a", 4), Status.KEPT, ratio=Interval(0.86, 0.85, 0.87), screened=part),
        Fusion(
            "gelu", "element-wise", spots("b", 2), Status.KEPT, screened=Interval(0.9, 0.88, 0.93), max_abs_error=3e-7
        ),
        Fusion("onnxslim", "whole model", (), Status.NOT_FASTER, "it changes nothing in this model"),
    )
    rows = {
        line.split()[0]: " ".join(line.split())
        for line in lines(100, fusions=tried)
        if line.split()[-1:] in (["measured"], ["kept"])
    }
    assert rows["gelu"] == "gelu 6 0.860 ± 0.010 0.710 to 0.900 3e-07 kept"
    assert rows["onnxslim"] == "onnxslim - - - - not measured"


def test_what_was_not_raced_is_not_said_to_be_no_faster() -> None:
    """Places of one rule of which some were raced before the time was over."""
    tried = (
        Fusion("gelu", "", spots("a", 4), Status.NOT_FASTER, "too much noise", screened=Interval(1.0, 0.9, 1.1)),
        Fusion("gelu", "", spots("b", 2), Status.NOT_FASTER, "the time was over", max_abs_error=0.0),
    )
    shown = [" ".join(line.split()) for line in lines(100, fusions=tried)]
    assert "gelu 4 - 1.000 ± 0.100 - not faster" in shown
    assert "gelu 2 - - 0 not measured" in shown
    assert "- not measured, the time was over: gelu (2 places)" in shown
    assert "Places: not faster 4, not measured 2." in written(report(fusions=tried))


def test_an_interval_that_tells_nothing_is_no_measurement() -> None:
    wild, sound = Interval(0.911, 0.5, 3.518), Interval(0.9, 0.88, 0.93)
    tried = (
        Fusion("gelu", "", spots("a", 4), Status.NOT_FASTER, "too much noise", screened=wild),
        Fusion("silu", "", spots("b"), Status.KEPT, screened=wild),
        Fusion("silu", "", spots("c"), Status.KEPT, screened=sound),
    )
    noisy = race(0.911, 0.5, 3.518)
    changes: dict[str, Any] = {"fusions": tried, "measured": noisy, "batches": (BatchLatency(1, noisy),)}
    shown = [" ".join(line.split()) for line in lines(100, **changes)]
    assert "gelu 4 - too noisy - not measured" in shown
    assert "silu 2 - 0.900 ± 0.030 - kept" in shown
    assert figure([Interval(0.3, 0.1, 0.9)]) == "0.300 ± 0.600"  # wide, and yet faster
    assert "too noisy" in latency(report(**changes))
    for page in ("\n".join(shown), written(report(**changes), "markdown")):
        assert "too noisy" in page
        assert "0.911" not in page
    assert ">too noisy<" in written(report(**changes))
    assert report(**changes).to_dict()["fusions"][0]["screened"]["ratio"] == 0.911


def test_equal_reasons_are_one_line_with_their_places_and_an_example() -> None:
    slow = [
        Fusion(rule, "", spots(f"{rule} {n}"), Status.NOT_FASTER, "the time was over")
        for rule, count in (("silu", 2), ("gelu", 1))
        for n in range(count)
    ]
    slow.append(Fusion("onnxslim", "", (), Status.NOT_FASTER, "the time was over"))
    shown = [line for line in lines(200, fusions=(*report().fusions, *slow)) if line.startswith("- ")][:5]
    assert shown == [
        "- kept, shown to pay only together with the others: hard-sigmoid (x 2)",
        "- not measured, the time was over: silu (2 places), gelu (gelu 0), onnxslim",
        "- wrong, output 'y' is off by 0.1: rms-norm (2 places)",
        "- illegal, the intermediate value '0' is also used by Mul '0' (for example): gelu (9 places)",
        "- unsupported, no kernel for x: gelu (3 places)",
    ]


def test_a_report_of_many_reasons_still_fits_a_screen() -> None:
    many = tuple(
        Fusion(rule, "", spots(rule), Status.ILLEGAL, f"reason {chr(97 + number)}")
        for number in range(26)
        for rule in ("gelu", "silu")
    )
    shown = lines(80, fusions=many, batches=())
    assert len(shown) < 40
    assert "- 16 more reasons: --html or --json tells all" in shown
    assert "reason z" in written(report(fusions=many))


def test_what_keeps_most_places_out_is_said_first() -> None:
    tried = (
        Fusion("silu", "", spots("a"), Status.NOT_FASTER, "the model is slower"),
        Fusion("gelu", "", spots("b", 4), Status.NOT_FASTER, "the time was over"),
        Fusion("rms-norm", "", spots("c", 9), Status.ILLEGAL, "the axes are not constant"),
    )
    kept_out = report(changed=False, measured=None, fusions=tried)
    assert headline(kept_out).startswith("Nothing gained: no fusion that was tried")
    assert main_reason(kept_out) == "Most common reason (4 of 14 places): the time was over."
    assert "4 of 14 places" in " ".join(lines(80, changed=False, measured=None, fusions=tried)[:4])
    assert main_reason(report(changed=False, fusions=tried[2:])) == "The reason: the axes are not constant."
    assert main_reason(report()) is None
    untouched = (Fusion("onnxslim", "", (), Status.NOT_FASTER, "it changes nothing in this model"),)
    assert headline(report(changed=False, measured=None, fusions=untouched)).startswith("Nothing to fuse: no rule")
    assert main_reason(report(changed=False, measured=None, fusions=untouched)) is None
    refused = (*untouched, *tried[2:])  # what holds for no place at all is not what keeps places out
    assert (
        main_reason(report(changed=False, measured=None, fusions=refused)) == "The reason: the axes are not constant."
    )


def test_spellings_of_one_place_count_once() -> None:
    """Four blocks of attention, each found with and without its mask and its last Reshape."""
    blocks = [(f"softmax {n}", f"product {n}") for n in range(4)]
    masked = tuple((*nodes, nodes[0].replace("softmax", "mask")) for nodes in blocks)
    tried = (
        Fusion("attention", "", (*masked, *blocks), Status.NOT_FASTER, "the model is slower"),
        Fusion("attention", "", tuple(blocks), Status.NOT_FASTER, "the time was over"),
        Fusion("gelu", "", (blocks[0],), Status.ILLEGAL, "the axes are not constant"),
    )
    assert tried[0].sites == 4
    assert len(tried[0].nodes) == 12
    assert [each.sites for each in outcomes(tried)] == [4, 1]
    said = main_reason(report(changed=False, fusions=tried))
    assert said == "Most common reason (4 of 5 places): the model is slower."


def test_where_the_latencies_give_another_ratio_the_report_says_what_it_is() -> None:
    """On a busy machine the median of the rounds' ratios and the ratio of the medians part."""
    steady = race(0.86, 0.85, 0.87)
    assert "(ratio 0.860," in latency(report(measured=steady))
    assert "(median ratio of paired rounds 0.860," in latency(report(measured=replace(steady, candidate_ns=2e6)))


def test_what_is_kept_only_with_others_says_so() -> None:
    kept = [line for line in lines(200) if line.startswith("- kept")]
    assert kept == ["- kept, shown to pay only together with the others: hard-sigmoid (x 2)"]


def test_generated_kernels_and_their_library_are_told() -> None:
    made = GeneratedKernels(3, Traffic(20, 9, 7, 3, 6, None), library_bytes=204_800, compile_s=1.26)
    fused = ModelFile(Path("fused.onnx"), 131, 17, Path("fused.0123.so"))
    said = "3 generated kernels in place of 9: 20 → 7 tensors read, 9 → 3 written; compiled in 1.3 s, 200 KiB."
    shown = " ".join(text(80, generated=made, fused=fused).replace("│", "").split())
    assert said in shown
    assert "Written: fused.onnx (the fused model) and fused.0123.so beside it" in shown
    assert said in written(report(generated=made))
    assert "generated kernel" not in text(80)


def test_a_noisy_run_claims_the_near_end() -> None:
    noisy = report(measured=race(0.88, 0.80, 0.95, Interval(1.0, 0.97, 1.03)))
    assert headline(noisy) == "Faster: a run takes at least 5.0 % less time (measured 12 %, 5.0 % to 20 %)."
    assert headline(report()) == "Faster: a run takes 15 % less time (15 % to 16 %)."


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


def test_the_summary_for_pull_requests_says_what_the_terminal_says() -> None:
    shown = written(report(), "markdown")
    assert shown.splitlines()[1] == f"## {headline(report())}"
    for line in ("Fused in 13 places: 234 nodes became 131.", "95 % interval 0.837 to 0.852"):
        assert line in shown
    assert "| hard-swish | 12 | 0.860 ± 0.010 | - | - | kept |" in shown
    assert "| 8 | 8.90 ms | 9.61 ms | 1.080 | 1.060 to 1.100 | slower |" in shown
    assert "The gain is gone at a batch of 4." in shown


def test_a_summary_without_a_gain_has_no_empty_parts() -> None:
    shown = written(report(changed=False, measured=None, fusions=(), batches=(), gaps=None, notes=()), "markdown")
    assert shown.splitlines()[1].startswith("## Nothing to fuse: no rule found a place in this model.")
    assert "###" not in shown
    assert "|" not in shown


def test_names_are_no_markup_in_the_summary() -> None:
    shown = written(report(HOSTILE + "|@all#1"), "markdown")
    kinds = {token.type for token in MarkdownIt("commonmark").enable("table").parse(shown)}
    assert not kinds & {"fence", "code_block", "blockquote_open"}
    assert not re.search(r"<(?!/?(details|summary)>|!-- -->|!-- advisor -->)", re.sub(r"(`+).+?\1", "", shown))
    assert "\x1b" not in shown
    assert {line.count(" | ") for line in shown.splitlines() if line.startswith("|")} == {5}

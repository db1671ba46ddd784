"""Policies: what a project writes into advisor.toml or pyproject.toml."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from advisor.errors import BadInput
from advisor.gate.policy import Policy, find_policy, load_policy, parse_budget

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = """
[gate]
level = 0.02
min_effect = "8%"
gap_floor = "1.5us"
drift = 0.03
min_instances = 20
judge = ["span"]
ignore = ["host", "wait"]
budget = { gap_ratio = "25%", launches = 120, fusible_gap = "1ms" }

[gate.graphs."decode_*"]
min_effect = 0.2
budget = { gap_ratio = 0.5 }

[[gate.waivers]]
id = "prefill/*"
reason = "see #12"
until = 2027-01-31
"""


def written(folder: Path, text: str, name: str = "advisor.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_everything_that_can_be_set(tmp_path: Path) -> None:
    policy = load_policy(written(tmp_path, WHOLE))
    thresholds = policy.thresholds
    assert (thresholds.level, thresholds.min_effect, thresholds.gap_floor_ns) == (0.02, 0.08, 1_500)
    assert (thresholds.drift, thresholds.min_instances) == (0.03, 20)
    assert (thresholds.judge, thresholds.ignore) == (("span",), ("host", "wait"))
    assert policy.budgets == {"gap_ratio": 0.25, "launches": 120, "fusible_gap": 1_000_000}
    assert policy.of_graph("decode_token").min_effect == 0.2
    assert policy.of_graph("prefill").min_effect == 0.08
    assert policy.budgets_of("decode_token") == {"gap_ratio": 0.5, "launches": 120, "fusible_gap": 1_000_000}
    assert policy.waivers[0].until == date(2027, 1, 31)


def test_no_file_is_the_default_policy() -> None:
    assert load_policy(None) == Policy()


def test_a_policy_is_found_in_the_folder(tmp_path: Path) -> None:
    assert find_policy(tmp_path) is None
    project = written(tmp_path, '[project]\nname = "x"\n', "pyproject.toml")
    assert find_policy(tmp_path) is None
    project.write_text("[tool.advisor.gate]\nlevel = 0.05\n", encoding="utf-8")
    assert find_policy(tmp_path) == project
    assert load_policy(project).thresholds.level == 0.05
    own = written(tmp_path, "[gate]\n")
    assert find_policy(tmp_path) == own


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[gate]\nlevl = 0.1", "unknown key 'levl'"),
        ("[gate]\nlevel = 7", "more than 100 %"),
        ("[gate]\nlevel = true", "not understood"),
        ("[gate]\nlevel = 0", "lies between 0 and 1"),
        ("[gate]\nlevel = '100%'", "lies between 0 and 1"),
        ("[gate.graphs.decode]\nlevel = 0.0", "graph decode: level lies between 0 and 1"),
        ("[gate]\n[budget]\nlaunches = 120", "'budget' outside of [gate]"),
        ('[gate]\njudge = ["span"]\nignore = ["busy", "span"]', "span cannot be judged and ignored"),
        ("[gate]\ngap_floor = 5", "write 50us"),
        ("[gate]\nmin_instances = 'many'", "not understood"),
        ("[gate]\nbudget = { latncy = 3 }", "no budget 'latncy'"),
        ("[gate]\nbudget = 3", "write budget ="),
        ('[gate]\njudge = ["sapn"]', "is a list of measures"),
        ("[gate]\ngraphs = 3", "write [gate.graphs"),
        ('[gate.graphs]\ndecode = "x"', "no table of settings"),
        ("[other]", "has no [gate]"),
        ("[gate", "is no TOML"),
        ('[[gate.waivers]]\nid = "a"\nreason = "b"', "a waiver has an id"),
        ('[[gate.waivers]]\nid = "a"\nreason = " "\nuntil = 2027-01-01', "has no reason"),
        ('[[gate.waivers]]\nid = "a"\nreason = "b"\nuntil = "soon"', "is a date without quotes"),
    ],
)
def test_what_is_no_policy_is_told(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(BadInput) as told:
        load_policy(written(tmp_path, text))
    assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_settings_of_a_project_that_would_hold_nothing_are_told(tmp_path: Path) -> None:
    project = written(tmp_path, "[tool.advisor.gates]\nlevel = 0.05\n", "pyproject.toml")
    assert find_policy(tmp_path) == project
    with pytest.raises(BadInput, match=r"has no \[tool.advisor.gate\]"):
        load_policy(project)


def test_what_is_no_text_is_no_policy(tmp_path: Path) -> None:
    (tmp_path / "trace").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="no TOML: it is not UTF-8"):
        load_policy(tmp_path / "trace")


def test_a_graphs_own_policy_may_judge_what_is_ignored_elsewhere(tmp_path: Path) -> None:
    text = """
[gate]
ignore = ["host", "span"]
[gate.graphs.decode]
judge = ["span"]
[gate.graphs."decode*"]
ignore = ["span"]
"""
    policy = load_policy(written(tmp_path, text))
    assert policy.of_graph("prefill").ignore == ("host", "span")
    assert policy.of_graph("decode_2").ignore == ("span",)
    first = load_policy(written(tmp_path, text.partition('[gate.graphs."')[0]))
    assert first.of_graph("decode").ignore == ("host",)


def test_a_policy_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot read"):
        load_policy(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("gap_ratio=0.20", "gap_ratio", 0.2),
        ("gap_ratio = 20%", "gap_ratio", 0.2),
        ("launches=120", "launches", 120),
        ("fusible_gap=50us", "fusible_gap", 50_000),
        ("sync=1.5ms", "sync", 1_500_000),
        ("latency_ratio=1.05", "latency_ratio", 1.05),
    ],
)
def test_budgets_on_the_command_line(text: str, key: str, value: float) -> None:
    assert parse_budget(text) == (key, value)


@pytest.mark.parametrize("text", ["gap_ratio", "gap_ratio=", "gap_ratio=20", "nothing=3", "launches=-1", "sync=5"])
def test_what_is_no_budget_is_told(text: str) -> None:
    with pytest.raises(BadInput):
        parse_budget(text)

"""The table tells whether any model is slower than the best of the others, and survives an interruption."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer

from advisor.measure.statistics import Interval
from benchmarks import zoo
from benchmarks.zoo_table import ADVISOR, ALONE, Row, as_markdown, faster_than_advisor, reaches

if TYPE_CHECKING:
    from collections.abc import Sequence

QUIET = (0.99, 1.01)


def row(contestant: str, ratio: float, spread: float = 0.02, a_a: tuple[float, float] = QUIET, **more: float) -> Row:
    return Row(contestant, Interval(ratio, ratio - spread, ratio + spread), Interval(1.0, *a_a), **more)  # type: ignore[arg-type]


def section(text: str, title: str) -> str:
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize(
    ("rows", "faster"),
    [
        ([row(ADVISOR, 0.9), row("onnxslim", 1.0)], []),
        ([row(ADVISOR, 1.05), row("onnxslim", 1.04)], [ALONE]),
        ([row(ADVISOR, 1.05, a_a=(0.93, 1.0)), row("onnxslim", 1.04)], []),
        ([row(ADVISOR, 1.05, spread=0.06), row("onnxslim", 1.04)], []),
        ([row(ADVISOR, 0.95), row("onnxslim", 0.90)], ["onnxslim"]),
        ([row(ADVISOR, 0.95, spread=0.03), row("onnxslim", 0.90, spread=0.03)], []),
        ([row(ADVISOR, 0.95), row("onnxslim", 0.90, a_a=(0.99, 1.08))], []),
        ([row(ADVISOR, 1.05), row("onnxslim", 0.80, spread=0.3), row("transformers", 0.9)], ["transformers", ALONE]),
        ([row(ADVISOR, 1.05), Row("onnxslim", reason="wrong: output y")], [ALONE]),
        ([Row(ADVISOR, reason="not done"), row("onnxslim", 0.90)], []),
    ],
)
def test_faster_than_advisor_is_who_is_so_by_more_than_intervals_and_noise(rows: list[Row], faster: list[str]) -> None:
    assert faster_than_advisor(rows) == faster
    found = section(as_markdown({"m": rows}, "Now.", "zoo"), "Against the best of the others")
    compared = int(rows[0].ratio is not None)
    assert f"{len(faster[:1]) or 'none'} of {compared} compared." in found
    assert ("- m: advisor" in found) == bool(faster)
    assert all(name in found for name in faster)
    assert ("Not compared, for want of a result of advisor: m." in found) == (not compared)


def test_what_noise_would_hide_is_said() -> None:
    table = {"quiet": [row(ADVISOR, 0.99)], "noisy": [row(ADVISOR, 0.99, spread=0.2)], "lost": [row(ADVISOR, 1.2)]}
    found = section(as_markdown(table, "Now.", "zoo"), "Against the best of the others")
    assert "1 of 3 compared." in found
    assert "- lost: advisor 1.200 (1.180 to 1.220), which is the original: it kept nothing; faster: ONNX" in found
    assert "The interval would hide a loss of over 2 % against ONNX Runtime alone on: noisy." in found


def test_a_goal_of_1_is_reached_by_what_is_faster_beyond_noise() -> None:
    assert reaches(row(ADVISOR, 0.96), 1.0)
    assert not reaches(row(ADVISOR, 0.999, spread=0.0005), 1.0)
    assert not reaches(row(ADVISOR, 0.98, spread=0.03), 1.0)
    assert not reaches(row(ADVISOR, 0.96, a_a=(0.95, 1.0)), 1.0)
    assert reaches(row(ADVISOR, 0.88), 0.88)
    assert not reaches(row(ADVISOR, 0.881), 0.88)
    goals = section(
        as_markdown({"conformer": [row(ADVISOR, 0.999)], "ppocr_cls": [row(ADVISOR, 0.7)]}, "Now.", "zoo"),
        "Against the goals",
    )
    assert "conformer: 0.999 (0.979 to 1.019), missed (faster beyond noise)" in goals
    assert "ppocr_cls: 0.700 (0.680 to 0.720), reached (≤ 0.77)" in goals


def test_the_fastest_of_a_row_is_bold_and_none_is_where_the_runtime_alone_is() -> None:
    table = {
        "a": [row(ADVISOR, 0.8, seconds=60.0), row("onnxslim", 0.9, seconds=1.0)],
        "b": [row(ADVISOR, 0.9, seconds=70.0), row("onnxslim", 0.85, seconds=2.0)],
        "c": [row(ADVISOR, 1.02, seconds=65.0), row("onnxslim", 1.01, seconds=0.5)],
    }
    text = as_markdown(table, "Now.", "zoo")
    assert "| a | **0.800** (0.780 to 0.820) | 0.900 (0.880 to 0.920) |" in text
    assert "| b | 0.900 (0.880 to 0.920) | **0.850** (0.830 to 0.870) |" in text
    assert "| c | 1.020 (1.000 to 1.040) | 1.010 (0.990 to 1.030) |" in text
    assert "took advisor 65.0 s (median; most 70.0 s, b); onnxslim 1.0 s (median; most 2.0 s, b)." in text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    models = tmp_path / "models"
    models.mkdir()
    for name, size in (("big", 300), ("small", 10), ("middle", 200)):
        (models / f"{name}.onnx").write_bytes(b"x" * size)
    return models


def test_an_interrupted_run_leaves_its_table_and_is_taken_up_again(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ending: set[str] = {"big"}

    def measured(arguments: Sequence[str]) -> list[Row]:
        name = arguments[2].rpartition("/")[2].removesuffix(".onnx")
        asked.append(name)
        if name in ending:
            raise KeyboardInterrupt
        ratio = row(ADVISOR, 0.9, seconds=60.0)
        return [Row(ADVISOR, reason="killed")] if name == "small" and ending else [ratio, row("onnxslim", 1.0)]

    monkeypatch.setattr(zoo, "in_process", measured)
    names, table = ["big", "middle", "small"], tmp_path / "zoo.md"
    with pytest.raises(KeyboardInterrupt):
        zoo.main(folder, only=names, write=table)
    assert asked == ["small", "middle", "big"]
    text = table.read_text()
    assert "| middle | **0.900** (0.880 to 0.920) |" in text
    assert "| small | no result |" in text
    assert "| big |" not in text

    asked.clear()
    ending.clear()
    zoo.main(folder, only=names, write=table, resume=True)
    assert asked == ["small", "big"]  # what has no result is tried again
    for name in names:
        assert f"| {name} | **0.900** (0.880 to 0.920) |" in table.read_text()

    with pytest.raises(SystemExit, match=r"budget 60.0, now 5.0"):
        zoo.main(folder, only=names, write=table, resume=True, budget=5.0)
    with pytest.raises(typer.BadParameter, match="--write"):
        zoo.main(folder, only=names, resume=True)
    (tmp_path / "zoo.rows.json").write_text('{"schema": "advisor.fusion/1"}')
    with pytest.raises(SystemExit, match="does not hold rows"):
        zoo.main(folder, only=names, write=table, resume=True)


def test_what_cannot_be_written_ends_it_before_the_first_race(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zoo, "in_process", lambda _: pytest.fail("it measured"))
    (folder / "big.onnx").write_bytes(b"\x08\x00")
    for target in (folder / "big.onnx", tmp_path / "nowhere" / "zoo.md", tmp_path):
        with pytest.raises(SystemExit, match=r"not written over|no folder|is a directory"):
            zoo.main(folder, only=["small"], write=target)


def test_the_conformer_is_made_where_the_folder_has_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(arguments: Sequence[str]) -> list[Row]:
        return [row(ADVISOR, 0.9 if Path(arguments[2]).stat().st_size > 1_000_000 else 0.8)]

    monkeypatch.setattr(zoo, "in_process", measured)
    zoo.main(folder)
    assert "| conformer | **0.900**" in capsys.readouterr().out
    (folder / "conformer.onnx").write_bytes(b"mine")
    zoo.main(folder)
    assert "| conformer | **0.800**" in capsys.readouterr().out


def test_rows_survive_json() -> None:
    for each in (row(ADVISOR, 0.9, seconds=3.0), Row(ADVISOR, reason="not done"), Row(ADVISOR, kept=("silu",))):
        assert Row.read(json.loads(json.dumps(asdict(each)))) == each

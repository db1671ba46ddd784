"""What `advisor fuse` gains on real models, beside ONNX Runtime alone and every other optimiser that is installed.

A model's contestants are fused and optimised first, then each is proven and raced against the original, all in one
process for each model, at ORT_ENABLE_ALL. A ratio is latency over that of ONNX Runtime alone: under 1 is faster.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ADVISOR = "advisor"
FEW = (
    "minilm.dynamo",
    "minilm.ts",
    "minilm_dynint8.ts",
    "minilm_fp16.ts",
    "mobilenetv3.ts",
    "ppocr_cls",
    "ppocrv4_det",
    "dit_6L.ts",
    "whisper_tiny_enc.ts",
    "mlp_ln.ts",
)
"""Names of the models that are measured without --all: one of each kind, none large."""
GOALS = {
    "mobilenetv3": 0.88,
    "ppocr_cls": 0.77,
    "minilm.dynamo": 0.93,
    "minilm_dynint8": 0.90,
    "dit_6L": 1.0,
    "whisper_tiny_enc": 1.0,
}
"""Ratios to be reached at most, by the beginning of a model's name."""
PATIENCE_S = 1800
NOTHING = "-"
RESOLUTION = 0.01


@dataclass(frozen=True, slots=True)
class Row:
    """One contestant on one model; a reason stands where there is no ratio."""

    contestant: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    a_a_low: float | None = None
    a_a_high: float | None = None
    reason: str = ""
    seconds: float = 0.0
    """To fuse or optimise."""
    kept: tuple[str, ...] = ()


def main(
    folder: Annotated[Path, typer.Argument(help="Folder with ONNX models.", show_default=False)],
    everything: Annotated[bool, typer.Option("--all", help="All models; else a few, one of each kind.")] = False,
    only: Annotated[list[str] | None, typer.Option(help="Names, with * and ?; may be given several times.")] = None,
    budget: Annotated[float, typer.Option(help="Seconds for advisor to find what pays.")] = 60.0,
    seconds: Annotated[float, typer.Option(help="Of the last race of each contestant.")] = 10.0,
    threads: Annotated[int | None, typer.Option(help="Threads inside an operator.")] = None,
    write: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table as Markdown.")] = None,
    one: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    """Race every contestant on the models of FOLDER."""
    if one is not None:
        print(json.dumps([asdict(row) for row in measured(one, budget, seconds, threads)]))
        return
    models = [path for path in sorted(folder.glob("*.onnx")) if _is_wanted(path.stem, only, everything)]
    if not models:
        sys.exit(f"{folder}: no such ONNX models")
    table: dict[str, list[Row]] = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(models))
        for path in models:
            progress.update(task, description=path.stem)
            options = ["--budget", str(budget), "--seconds", str(seconds)]
            options += [] if threads is None else ["--threads", str(threads)]
            table[path.stem] = in_process([str(folder), "--one", str(path), *options])
            progress.advance(task)
            print(f"{path.stem}: {'; '.join(map(_cell, table[path.stem]))}", file=sys.stderr)
    chosen = " --all" if everything else "".join(f" --only {name}" for name in only or ())
    command = f"python -m benchmarks.zoo FOLDER{chosen} --budget {budget:g}"
    text = as_markdown(table, f"{command} --seconds {seconds:g}", threads)
    print(text)
    if write is not None:
        write.write_text(text, encoding="utf-8")
    wrong = [name for name, rows in table.items() for row in rows if row.contestant == ADVISOR and row.ratio is None]
    if wrong:
        sys.exit(f"no result of advisor on {', '.join(wrong)}")


def in_process(arguments: Sequence[str]) -> list[Row]:
    """The rows of one model, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.zoo", *arguments]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return [Row(ADVISOR, reason=f"not done in {PATIENCE_S} s")]
    if result.returncode:
        last = (result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1]
        return [Row(ADVISOR, reason=last[:200])]
    return [Row(**(row | {"kept": tuple(row["kept"])})) for row in json.loads(result.stdout.splitlines()[-1])]


def measured(path: Path, budget: float, seconds: float, threads: int | None) -> list[Row]:
    """Fuse and optimise the model in PATH, and race each result against it."""
    from time import monotonic

    import advisor
    from advisor.fuse.bench import Bench
    from advisor.fuse.model import clone, load
    from advisor.fuse.optimizers import OPTIMIZERS
    from advisor.fuse.transform import Applied, NotApplicable
    from advisor.measure.inputs import generate_inputs

    rows = []
    with tempfile.TemporaryDirectory(prefix="advisor-zoo-") as folder:
        start = monotonic()
        report = advisor.fuse(path, output=Path(folder, "fused.onnx"), budget_s=budget, threads=threads)
        spent = monotonic() - start
        original = load(path)
        bench = Bench(original, generate_inputs(original), path=path, threads=threads)
        libraries = () if report.fused.library is None else (report.fused.library,)
        kept = tuple(dict.fromkeys(fusion.rule for fusion in report.kept))
        assert report.fused.path is not None
        contestants: list[tuple[str, Applied | str, float, tuple[str, ...]]] = [
            (ADVISOR, Applied(load(report.fused.path), (), libraries), spent, kept)
        ]
        for optimizer in OPTIMIZERS:
            start = monotonic()
            try:
                result: Applied | str = optimizer.apply(clone(original), provider=bench.provider, accept=lambda _: True)
            except NotApplicable as error:
                result = str(error)
            contestants.append((optimizer.id, result, monotonic() - start, ()))
        for name, applied, spent, fusions in contestants:
            if isinstance(applied, str):
                rows.append(Row(name, reason=applied, seconds=spent))
                continue
            proof = bench.verify(applied, final=True)
            if not proof.passed:
                rows.append(Row(name, reason=f"wrong: {proof.reason}", seconds=spent))
                continue
            race = bench.measure(applied, seconds=seconds, resolution=RESOLUTION)
            rows.append(
                Row(
                    name,
                    race.ratio.ratio,
                    race.ratio.low,
                    race.ratio.high,
                    race.a_a.low,
                    race.a_a.high,
                    seconds=spent,
                    kept=fusions,
                )
            )
    return rows


def as_markdown(table: dict[str, list[Row]], command: str, threads: int | None) -> str:
    """The table, with what it was measured on."""
    names = list(dict.fromkeys(row.contestant for rows in table.values() for row in rows))
    lines = [
        "# What fusing gains on real models",
        "",
        f"Latency over that of ONNX Runtime {version_of('onnxruntime-gpu', 'onnxruntime')} alone at ORT_ENABLE_ALL, on"
        " its CPU provider, with the 95 % interval; under 1 is faster. Each contestant is proven against the"
        " unoptimised model and raced against the original in the same rounds; *A/A* is a second session of it in a"
        " contestant's place: what it spans is noise. Where advisor kept nothing, its contestant is the original.",
        "",
        f"{datetime.datetime.now(tz=datetime.UTC).date()}, {platform.processor() or platform.machine()},"
        f" {os.cpu_count()} cores, threads: {'as ONNX Runtime chooses' if threads is None else threads};"
        f" onnxslim {version_of('onnxslim')}, onnxscript {version_of('onnxscript')}. Made by",
        "",
        f"    {command}",
        "",
        f"| model | {' | '.join(names)} | A/A | kept |",
        f"| --- | {'---: | ' * len(names)}---: | --- |",
    ]
    for model, rows in table.items():
        cells = {row.contestant: _cell(row) for row in rows}
        mine = next((row for row in rows if row.contestant == ADVISOR), rows[0])
        noise = NOTHING if mine.a_a_low is None else f"{mine.a_a_low:.3f} to {mine.a_a_high:.3f}"
        row = [model, *(cells.get(name, NOTHING) for name in names), noise, ", ".join(mine.kept) or NOTHING]
        lines.append(f"| {' | '.join(row)} |")
    means = [_mean(row.ratio for rows in table.values() for row in rows if row.contestant == name) for name in names]
    lines.append(f"| geometric mean | {' | '.join(means)} | | |")
    lines += ["", "## Against the goals", ""]
    for begin, goal in GOALS.items():
        for model, rows in table.items():
            mine = next((row for row in rows if row.contestant == ADVISOR), rows[0])
            if model.startswith(begin) and mine.ratio is not None:
                lines.append(f"- {model}: {mine.ratio:.3f}, {'reached' if mine.ratio <= goal else 'missed'} (≤ {goal})")
    reasons = [
        f"- {model}, {row.contestant}: {row.reason}" for model, rows in table.items() for row in rows if row.reason
    ]
    if reasons:
        lines += ["", "## Without a result", "", *reasons]
    return "\n".join(lines) + "\n"


def _cell(row: Row) -> str:
    if row.ratio is None:
        return "wrong" if row.reason.startswith("wrong") else "no result"
    return f"{row.ratio:.3f} ({row.low:.3f} to {row.high:.3f})"


def _mean(ratios: Iterable[float | None]) -> str:
    known = [ratio for ratio in ratios if ratio is not None]
    return f"{math.exp(sum(map(math.log, known)) / len(known)):.3f} of {len(known)}" if known else NOTHING


def _is_wanted(name: str, only: list[str] | None, everything: bool) -> bool:
    if only:
        return any(fnmatch(name, pattern) for pattern in only)
    return everything or name in FEW


def version_of(*packages: str) -> str:
    """The version of the first of PACKAGES that is installed."""
    for package in packages:
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    return "not installed"


if __name__ == "__main__":
    typer.run(main)

"""What `advisor fuse` gains on real models, beside ONNX Runtime alone and every other optimiser that is installed.

A model's contestants are fused and optimised first, then each is proven and raced against the original, all in one
process for each model, at ORT_ENABLE_ALL. A ratio is latency over that of ONNX Runtime alone: under 1 is faster.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import onnx_ir as ir
import typer
from rich.console import Console
from rich.progress import Progress

from advisor.errors import BadInput
from advisor.output import MARKDOWN_BEGINS, Kind, check_writable, write_text
from benchmarks.conformer import conformer
from benchmarks.zoo_table import ADVISOR, Row, Table, as_markdown, cell

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFORMER = "conformer"
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
    CONFORMER,
)
"""Names of the models that are measured without --all: one of each kind, none large."""
PATIENCE_S = 1800
RESOLUTION = 0.01
SCHEMA = "advisor.zoo/1"

Settings = dict[str, str | float | None]


def main(
    folder: Annotated[Path, typer.Argument(help="Folder with ONNX models.", exists=True, file_okay=False)],
    everything: Annotated[bool, typer.Option("--all", help="All models; else a few, one of each kind.")] = False,
    only: Annotated[list[str] | None, typer.Option(help="Names, with * and ?; may be given several times.")] = None,
    budget: Annotated[float, typer.Option(help="Seconds for advisor to find what pays.")] = 60.0,
    seconds: Annotated[float, typer.Option(help="Of the last race of each contestant.")] = 10.0,
    threads: Annotated[int | None, typer.Option(help="Threads inside an operator.")] = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the table as Markdown after each model, and its rows as JSON beside."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the rows that --write left, measure the rest.")
    ] = False,
    one: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    """Race every contestant on the models of FOLDER and on a conformer made on the fly, the smallest first."""
    if one is not None:
        print(json.dumps([asdict(row) for row in measured(one, budget, seconds, threads)]))
        return
    if resume and write is None:
        raise typer.BadParameter("--resume needs --write FILE: the rows lie beside it")
    settings = _settings(budget, seconds, threads)
    beside = None if write is None else write.with_name(f"{write.stem}.rows.json")
    try:
        if write is not None and beside is not None:
            check_writable(write, Kind.MARKDOWN)
            check_writable(beside, Kind.JSON)
    except BadInput as error:
        sys.exit(str(error))
    table = read_rows(beside, settings) if resume and beside is not None else {}
    chosen = " --all" if everything else "".join(f" --only '{name}'" for name in only or ())
    command = f"python -m benchmarks.zoo FOLDER{chosen} --budget {budget:g} --seconds {seconds:g}"
    command += ("" if threads is None else f" --threads {threads}") + (" --resume" if resume else "")
    text = ""
    with (
        tempfile.TemporaryDirectory(prefix="advisor-zoo-") as made,
        Progress(console=Console(stderr=True), transient=True) as progress,
    ):
        models = _chosen(folder, Path(made), only, everything)
        if not models:
            sys.exit(f"{folder}: no such ONNX models")
        task = progress.add_task("", total=len(models))
        for path in models:
            progress.update(task, description=path.stem)
            if not any(row.contestant == ADVISOR and row.ratio for row in table.get(path.stem, ())):
                options = ["--budget", str(budget), "--seconds", str(seconds)]
                options += [] if threads is None else ["--threads", str(threads)]
                table[path.stem] = in_process([str(folder), "--one", str(path), *options])
                print(f"{path.stem}: {'; '.join(map(cell, table[path.stem]))}", file=sys.stderr)
            progress.advance(task)
            text = as_markdown(table, _in_words(settings), command)
            if write is not None and beside is not None:
                write_text(write, MARKDOWN_BEGINS + text)
                write_rows(beside, table, settings)
    print(text)
    wrong = [name for name, rows in table.items() for row in rows if row.contestant == ADVISOR and row.ratio is None]
    if wrong:
        sys.exit(f"no result of advisor on {', '.join(wrong)}")


def write_rows(path: Path, table: Table, settings: Settings) -> None:
    """Write what is known so far, for `read_rows`."""
    rows = {model: [asdict(row) for row in rows] for model, rows in table.items()}
    write_text(path, json.dumps({"schema": SCHEMA, "settings": settings, "models": rows}, indent=1) + "\n")


def read_rows(path: Path, settings: Settings) -> Table:
    """The rows that `write_rows` left in PATH; none where there is no such file.

    Rows that were measured with other settings do not belong in one table with new ones: the program ends.
    """
    if not path.exists():
        return {}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        sys.exit(f"{path} does not hold rows of this program")
    other = [name for name, value in settings.items() if document["settings"].get(name) != value]
    if other:
        was = ", ".join(f"{name} {document['settings'].get(name)}, now {settings[name]}" for name in other)
        sys.exit(f"{path} was measured otherwise ({was}): leave out --resume, or write to another file")
    return {model: [Row.read(row) for row in rows] for model, rows in document["models"].items()}


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
    return [Row.read(row) for row in json.loads(result.stdout.splitlines()[-1])]


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
            rows.append(Row(name, race.ratio, race.a_a, seconds=spent, kept=fusions))
    return rows


def _chosen(folder: Path, made: Path, only: list[str] | None, everything: bool) -> list[Path]:
    """The models to measure, the smallest first; one that is not in FOLDER is made in MADE."""
    models = list(folder.glob("*.onnx"))
    if CONFORMER not in {path.stem for path in models} and _is_wanted(CONFORMER, only, everything):
        models.append(made / f"{CONFORMER}.onnx")
        ir.save(conformer(), models[-1])
    wanted = (path for path in models if _is_wanted(path.stem, only, everything))
    return sorted(wanted, key=lambda path: (path.stat().st_size, path.name))


def _is_wanted(name: str, only: list[str] | None, everything: bool) -> bool:
    if only:
        return any(fnmatch(name, pattern) for pattern in only)
    return everything or name in FEW


def _settings(budget: float, seconds: float, threads: int | None) -> Settings:
    """All that makes rows comparable."""
    return {
        "budget": budget,
        "seconds": seconds,
        "threads": threads,
        "onnxruntime": version_of("onnxruntime-gpu", "onnxruntime"),
        "onnxslim": version_of("onnxslim"),
        "onnxscript": version_of("onnxscript"),
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
    }


def _in_words(settings: Settings) -> str:
    threads = "as ONNX Runtime chooses" if settings["threads"] is None else settings["threads"]
    return (
        f"{datetime.datetime.now(tz=datetime.UTC).date()}, {settings['machine']}, threads: {threads}; ONNX Runtime"
        f" {settings['onnxruntime']}, onnxslim {settings['onnxslim']}, onnxscript {settings['onnxscript']}."
    )


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

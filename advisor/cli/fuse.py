"""`advisor fuse MODEL`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["fuse"]


def fuse(
    model: Annotated[Path, typer.Argument(help="ONNX model.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the fused model here.")
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Execution provider: cpu, cuda, tensorrt or a full name. Without: cuda where it loads, else cpu.",
        ),
    ] = None,
    dim: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=N", help="Size of a dynamic dimension, by name or INPUT:AXIS; may be given several times."
        ),
    ] = None,
    batch: Annotated[int | None, typer.Option(min=0, help="Size of the batch; 1 unless given.")] = None,
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Inputs to use in place of generated ones (numpy.savez).")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the report as JSON; - is standard output.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads inside an operator; ONNX Runtime's choice unless given.")
    ] = None,
    budget: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="Time for measuring; proving comes on top.")
    ] = 30.0,
    seed: Annotated[int, typer.Option(min=0, help="Of generated inputs and of the order of measurements.")] = 0,
) -> None:
    """Fuse an ONNX model: every fusion proven equal and measured, only what is not slower kept."""
    import json

    from advisor.fuse.search import fuse as fuse_model
    from advisor.output import write_text

    dims = _dims(dim or [])
    if json_file is not None and str(json_file) != "-":
        _check_apart(json_file, [model, inputs, output])
    with _progress() as progress:
        report = fuse_model(
            model,
            output=output,
            provider=provider,
            dims=dims,
            batch=batch,
            inputs=inputs,
            threads=threads,
            budget_s=budget,
            seed=seed,
            progress=progress,
        )
    if report.settings.provider not in {None, report.provider}:
        print(f"warning: {report.settings.provider} did not load: this ran on {report.provider}", file=sys.stderr)
    if json_file is not None:
        text = json.dumps(report.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        if str(json_file) == "-":
            sys.stdout.write(text)
        else:
            write_text(json_file, text)
    if str(json_file) != "-":
        from rich.console import Console

        from advisor.report.fusion_text import render_fusion

        Console().print(render_fusion(report))


def _dims(options: list[str]) -> dict[str, int]:
    """`NAME=N` options as sizes."""
    dims = {}
    for option in options:
        name, equals, size = option.rpartition("=")
        if not equals or not name or not size.strip().isdecimal():
            raise BadInput(f"--dim {option!r} is no NAME=N, such as --dim sequence_length=128")
        dims[name.strip()] = int(size)
    return dims


def _check_apart(json_file: Path, others: list[Path | None]) -> None:
    """The report never takes the place of another file of this run, also not through a link."""
    for other in others:
        if other is not None and (
            json_file.resolve() == other.resolve()
            or (json_file.exists() and other.exists() and json_file.samefile(other))
        ):
            raise BadInput(f"--json {json_file} is also {other}: name another file")


@contextmanager
def _progress() -> Iterator[Callable[[str], None] | None]:
    """What is being done, on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda words: bar.update(task, description=words)

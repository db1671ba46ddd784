"""Options of the commands that run a model, and what these print while they work."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Batch", "Dim", "Inputs", "Provider", "Seed", "Threads", "parse_dims", "progress"]

Provider = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Execution provider: cpu, cuda, tensorrt or a full name. Without: cuda where it loads, else cpu.",
    ),
]
Dim = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=N", help="Size of a dynamic dimension, by name or INPUT:AXIS; may be given several times."
    ),
]
Batch = Annotated[int | None, typer.Option(min=0, metavar="N", help="Size of the batch; 1 unless given.")]
Inputs = Annotated[
    Path | None, typer.Option(metavar="FILE.npz", help="Inputs to use in place of generated ones (numpy.savez).")
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, max=512, metavar="N", help="Threads inside an operator; ONNX Runtime's choice unless given."),
]
Seed = Annotated[
    int, typer.Option(min=0, metavar="N", help="Seed of generated inputs and of the order of measurements.")
]


def parse_dims(options: Iterable[str]) -> dict[str, int]:
    """`NAME=N` options as sizes."""
    dims = {}
    for option in options:
        name, equals, size = option.rpartition("=")
        if not equals or not name or not size.strip().isdecimal():
            raise BadInput(f"--dim {option!r} is no NAME=N, such as --dim sequence_length=128")
        dims[name.strip()] = int(size)
    return dims


@contextmanager
def progress() -> Iterator[Callable[[str], None] | None]:
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

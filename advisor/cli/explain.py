"""`advisor explain [ID]`, and `advisor explain --ir MODEL [GROUP]`."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated

import typer

from advisor.errors import BadInput

__all__ = ["explain"]

WIDEST = 100


def explain(
    rule_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="A finding's id, such as launch-bound; without it, all ids.")
    ] = None,
    ir: Annotated[
        Path | None,
        typer.Option(
            "--ir",
            metavar="MODEL",
            help="List the generated kernels that an ONNX model may get; with the number of one in place of ID, print"
            " its LLVM IR before and after fusion.",
        ),
    ] = None,
) -> None:
    """Say what a finding of `advisor analyze` means, how it is found, what to do, and when it is wrong."""
    from rich.console import Console

    width = min(Console().width, WIDEST)
    if ir is not None:
        from advisor.fuse.kernels.listing import group_listing, list_groups
        from advisor.fuse.model import load

        model = load(ir)
        print(list_groups(model, width) if rule_id is None else group_listing(model, rule_id, width))
        return
    from advisor.trace.findings import RULES

    if rule_id is None:
        column = max(map(len, RULES)) + 2
        for rule in RULES.values():
            first, rest = f"{rule.id:{column}}", " " * column
            print(textwrap.fill(rule.title, width, initial_indent=first, subsequent_indent=rest))
        return
    if rule_id not in RULES:
        raise BadInput(f"no finding {rule_id!r}: there are {', '.join(RULES)}")
    print(RULES[rule_id].page(width))

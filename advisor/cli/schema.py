"""`advisor schema NAME`."""

from __future__ import annotations

from typing import Annotated

import typer

from advisor.errors import BadInput

__all__ = ["schema"]


def schema(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="analysis, fusion, …; without it, the names.")
    ] = None,
) -> None:
    """Print the JSON Schema of what other commands write."""
    from importlib.resources import files

    folder = files("advisor.report") / "schemas"
    known = sorted(entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json"))
    if name is None:
        print("\n".join(known))
        return
    wanted = name.removeprefix("advisor.").replace("/", "-")
    match = next((entry for entry in known if wanted in {entry, entry.rsplit("-", 1)[0]}), None)
    if match is None:
        raise BadInput(f"no schema {name!r}: there are {', '.join(known)}")
    print((folder / f"{match}.json").read_text(encoding="utf-8"), end="")

"""`advisor init-ci github|gitlab`."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from advisor.errors import BadInput

__all__ = ["init_ci"]


class Host(StrEnum):
    """Where the repository lies."""

    GITHUB = "github"
    GITLAB = "gitlab"


def init_ci(
    host: Annotated[Host, typer.Argument(metavar="github|gitlab", help="Whose CI.", show_default=False)],
    folder: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="The repository's folder.")] = Path(),
) -> None:
    """Write a CI job with `advisor gate` into a repository. Asks nothing, and leaves files that exist as they are."""
    from advisor.gate.ci_jobs import GITHUB, GITLAB, GITLAB_INCLUDE, RECORD, RECORD_SCRIPT
    from advisor.output import write_text

    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise BadInput(f"{folder} {what}: name the repository's folder with --to")
    files = {RECORD: RECORD_SCRIPT}
    if host is Host.GITHUB:
        files[".github/workflows/launch-overhead.yml"] = GITHUB
    else:
        files["ci/launch-overhead.gitlab-ci.yml"] = GITLAB
        files[".gitlab-ci.yml"] = GITLAB_INCLUDE
    for name in files:
        _check(folder / name)
    for name, text in files.items():
        path = folder / name
        if path.exists():
            print(f"left as it is: {name}")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        print(f"written: {name}")
    if host is Host.GITLAB and GITLAB_INCLUDE.split()[-1].encode() not in (folder / ".gitlab-ci.yml").read_bytes():
        print(f"add to .gitlab-ci.yml:\n{GITLAB_INCLUDE}", end="")
    print(
        f"Now fill in {RECORD}, run it on the CI's machine (sh {RECORD} runs),\n"
        "record the baseline (advisor baseline runs/*.sqlite -o launch-overhead.json), and commit all of them."
    )


def _check(path: Path) -> None:
    """Refuse, before any file is written, one that cannot be: what is half set up is worse than nothing."""
    if path.exists():
        if not path.is_file():
            raise BadInput(f"{path} is no file: move it away first")
        return
    place = next(parent for parent in path.parents if parent.exists() or parent.is_symlink())
    if not place.is_dir():
        raise BadInput(f"cannot write {path}: {place} is no folder")
    if not os.access(place, os.W_OK):
        raise BadInput(f"cannot write {path}: no permission to write into {place}")

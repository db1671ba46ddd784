"""Runs of two builds to try `advisor gate` on: `python -m sample_traces.two_builds FOLDER`.

Three runs each of a small decode loop, simulated: `main-1.sqlite` … and `change-1.sqlite` …. The change launches one
kernel more per token and waits for the GPU once more. `again-1.sqlite` … are main's build, recorded another day.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sample_traces.nsys_export import write
from sample_traces.operations import Launch, Operation, Pop, Push, Synchronize
from sample_traces.programs import MAIN, NOISE, TORCH_ADD, launch_bound_decode
from sample_traces.simulator import Machine, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BUILDS", "main", "write_builds"]

RUNS = 3
MACHINE = Machine(jitter=replace(NOISE, drift=0.01), module_load_ns=160_000)


def main_build() -> Iterator[Operation]:
    """What is on the main branch."""
    return launch_bound_decode(tokens=13, layers=1)


def change() -> Iterator[Operation]:
    """The same with one more kernel and one more synchronisation at the end of each token."""
    depth = 0
    for operation in main_build():
        depth += isinstance(operation, Push) - isinstance(operation, Pop)
        if isinstance(operation, Pop) and depth == 0:
            yield Launch(TORCH_ADD, 1_500, MAIN)
            yield Synchronize(MAIN)
        yield operation


BUILDS = {"main": main_build, "again": main_build, "change": change}


def write_builds(folder: Path) -> None:
    """Write the runs of every build into FOLDER, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, build) in enumerate(BUILDS.items()):
        for run in range(1, RUNS + 1):
            write(simulate(build(), MACHINE, seed=100 * number + run), folder / f"{name}-{run}.sqlite")


def main() -> int:
    """Write the runs into the folder that was named."""
    if len(sys.argv) != 2:
        print("usage: python -m sample_traces.two_builds FOLDER", file=sys.stderr)
        return 2
    write_builds(Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

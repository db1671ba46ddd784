"""Runs a model again and again, each run in an NVTX range of the domain `advisor`.

As a program, `python -m advisor.measure.marked_runs JSON`, it is what `nsys profile` watches; JSON is an `Order`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import nvtx  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DOMAIN", "RUN", "WARM_UP", "Order", "run_marked"]

DOMAIN = "advisor"
RUN = "run"
WARM_UP = "warm-up"


@dataclass(frozen=True)
class Order:
    """What to run.

    Attributes:
        model: ONNX file.
        inputs: An .npz file with the inputs.
        provider: Full name of the provider that has to run it.
        level: Name of a `Level`.
        threads: Threads inside an operator; None leaves it to ONNX Runtime.
        warm_up: Runs before those that count.
        runs: Runs that count.
        libraries: Custom-operator libraries that the model needs.
    """

    model: str
    inputs: str
    provider: str
    level: str
    threads: int | None
    warm_up: int
    runs: int
    libraries: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        """The order on one line."""
        return json.dumps(asdict(self))


def run_marked(call: Callable[[], object], *, warm_up: int, runs: int) -> None:
    """Call CALL, each time in a range: first `advisor:warm-up`, then `advisor:run`."""
    for name, count in ((WARM_UP, warm_up), (RUN, runs)):
        for _ in range(count):
            with nvtx.annotate(name, domain=DOMAIN):
                call()


def main(text: str) -> None:
    """Carry out the order TEXT."""
    from advisor.fuse.model import load, runnable
    from advisor.measure.inputs import read_inputs
    from advisor.measure.session import Level, open_session, provider_of, runner

    order = Order(**json.loads(text))
    model = load(Path(order.model))
    feed = read_inputs(Path(order.inputs), model).sets[0].feed
    with runnable(model) as source:
        session = open_session(
            source,
            level=Level[order.level],
            provider=order.provider,
            threads=order.threads,
            libraries=[Path(library) for library in order.libraries],
        )
    if provider_of(session) != order.provider:
        sys.exit(f"the model runs on {provider_of(session)} under nsys, not on {order.provider}")
    run_marked(runner(session, feed), warm_up=order.warm_up, runs=order.runs)


if __name__ == "__main__":
    main(sys.argv[1])

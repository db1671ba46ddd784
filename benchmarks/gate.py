"""How often `advisor gate` is red for equal builds, and how often it finds a regression, on simulated runs.

    python -m benchmarks.gate --write docs/gate-power.md

Two programs (transformer decode that waits for launches, a convolutional network that keeps the GPU busy), each of 12
executions and a warm-up, with the noise of `sample_traces`: host, call, latency and kernel times scatter, one in a
thousand host times is ten times as long, and every run has its own pace of host and GPU (drift).
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from multiprocessing import Pool
from pathlib import Path  # noqa: TC003 - typer reads the types of the options when it runs
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

import advisor
from advisor.gate.compare import compare
from advisor.gate.result import Verdict
from advisor.gate.runs import Recording
from advisor.trace.samples import graph_samples
from sample_traces.operations import Launch, Pop, Synchronize
from sample_traces.programs import MAIN, NOISE, TORCH_ADD, gpu_bound_cnn, launch_bound_decode
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sample_traces.operations import Operation

__all__ = ["BUILDS", "Outcome", "Row", "judge", "record", "table"]

EXECUTIONS = 12
COMMAND = "python -m benchmarks.gate --write docs/gate-power.md"


def _decode(dispatch_ns: int = 5_500) -> Iterator[Operation]:
    return launch_bound_decode(tokens=EXECUTIONS + 1, dispatch_ns=dispatch_ns)


def _cnn() -> Iterator[Operation]:
    return _before_each_pop(gpu_bound_cnn(images=EXECUTIONS + 1, blocks=(1, 1, 1, 1)), Synchronize(MAIN))


def _before_each_pop(program: Iterable[Operation], extra: Operation) -> Iterator[Operation]:
    """One more operation at the end of each execution: of the outermost ranges, which have no domain of their own."""
    depth = 0
    for operation in program:
        depth += type(operation).__name__ == "Push"
        if isinstance(operation, Pop):
            depth -= 1
            if not depth:
                yield extra
        yield operation


_QUIET = Machine(jitter=NOISE, module_load_ns=160_000)
_DRIFTING = replace(_QUIET, jitter=replace(NOISE, drift=0.02))

BUILDS: dict[str, tuple[Callable[[], Iterable[Operation]], Machine]] = {
    "decode": (_decode, _QUIET),
    "decode, +10 % fusible gap": (partial(_decode, 6_202), _QUIET),
    "decode, +1 kernel": (lambda: _before_each_pop(_decode(), Launch(TORCH_ADD, 1_500, MAIN)), _QUIET),
    "decode, +1 synchronisation": (lambda: _before_each_pop(_decode(), Synchronize(MAIN)), _QUIET),
    "decode, runs drift by 2 %": (_decode, _DRIFTING),
    "decode, runs drift by 2 %, +10 % fusible gap": (partial(_decode, 6_202), _DRIFTING),
    "cnn": (_cnn, _QUIET),
    "cnn, launch call 4 → 7 µs": (_cnn, replace(_QUIET, launch_call_ns=7_000)),
}
"""What is simulated: a program and a machine each."""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    before: str
    after: str
    runs: int
    """On each side."""
    share: float = 1.0
    """Of the pairs: rows that show where the limits lie need fewer."""


ROWS = (
    Row("decode", "decode", 1),
    Row("decode", "decode, +10 % fusible gap", 1),
    Row("decode", "decode, +1 kernel", 1),
    Row("decode", "decode, +1 synchronisation", 1),
    Row("cnn", "cnn", 1),
    Row("cnn", "cnn, launch call 4 → 7 µs", 1),
    Row("decode", "decode", 3),
    Row("decode", "decode, +10 % fusible gap", 3),
    Row("decode, runs drift by 2 %", "decode, runs drift by 2 %", 1, 0.3),
    Row("decode, runs drift by 2 %", "decode, runs drift by 2 %", 3, 0.3),
    Row("decode, runs drift by 2 %", "decode, runs drift by 2 %", 5, 0.3),
    Row("decode, runs drift by 2 %", "decode, runs drift by 2 %, +10 % fusible gap", 5, 0.3),
)


@dataclass(frozen=True)
class Outcome:
    """What the gate said of many pairs."""

    pairs: int
    verdicts: Counter[Verdict]

    @property
    def red(self) -> float:
        """The share that failed."""
        return self.verdicts[Verdict.FAIL] / self.pairs


def record(build: str, seed: int) -> Recording:
    """One simulated run of a build."""
    program, machine = BUILDS[build]
    analysis = advisor.analyze(to_trace(simulate(program(), machine, seed=seed)))
    coverage = analysis.coverage
    return Recording(
        name=f"{build} {seed}",
        kind=analysis.trace.kind,
        tool_version=None,
        gpus=(),
        work=coverage.work,
        matched=coverage.matched,
        samples=graph_samples(analysis),
    )


def judge(before: Sequence[Recording], after: Sequence[Recording], pairs: int, runs: int) -> Outcome:
    """Compare PAIRS of RUNS on each side; with one run each, every run is used in one pair only."""
    rng = np.random.default_rng(0)
    verdicts: Counter[Verdict] = Counter()
    for number in range(pairs):
        old, new = [before[number]], [after[number]]
        if runs > 1:
            old, new = ([pool[i] for i in rng.choice(len(pool), runs, replace=False)] for pool in (before, after))
        verdicts[compare(old, new).verdict] += 1
    return Outcome(pairs, verdicts)


def table(pairs: int, rows: Sequence[Row] = ROWS, processes: int | None = None) -> dict[Row, Outcome]:
    """Simulate and judge every row. Builds that stand on both sides have twice the runs, half of them for each."""
    wanted: dict[str, int] = {}
    for row in rows:
        count = round(pairs * row.share)
        wanted[row.before] = max(wanted.get(row.before, 0), count)
        wanted[row.after] = max(wanted.get(row.after, 0), 2 * count if row.after == row.before else count)
    jobs = [(build, seed) for build, count in wanted.items() for seed in _seeds(build, count)]
    with Pool(processes or min(2, os.cpu_count() or 1)) as pool:
        recordings = pool.starmap(record, jobs, chunksize=20)
    pools: dict[str, list[Recording]] = {build: [] for build in wanted}
    for (build, _), recording in zip(jobs, recordings, strict=True):
        pools[build].append(recording)
    results = {}
    for row in rows:
        count = round(pairs * row.share)
        results[row] = judge(pools[row.before][:count], pools[row.after][-count:], count, row.runs)
    return results


def _seeds(build: str, count: int) -> range:
    """No two builds share a seed."""
    first = 1_000_000 * list(BUILDS).index(build)
    return range(first, first + count)


def _document(results: dict[Row, Outcome]) -> str:
    lines = [
        "# How sure is `advisor gate`?",
        "",
        f"Made by `{COMMAND}` on {datetime.now(tz=UTC).date()} with advisor {_version('fusion-advisor')}, numpy"
        f" {version('numpy')}, Python {platform.python_version()}: {EXECUTIONS} executions and a warm-up a run, default"
        " thresholds. With several runs a side, each pair draws them from as many simulated ones as the row has pairs.",
        "",
        "| baseline | current | runs | pairs | red | cannot decide |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row, outcome in results.items():
        after = "the same" if row.after == row.before else row.after.removeprefix(row.before).strip(", ")
        undecided = outcome.verdicts[Verdict.UNDECIDED] / outcome.pairs
        lines.append(
            f"| {row.before} | {after} | {row.runs} | {outcome.pairs:,} | {outcome.red:.1%} | {undecided:.1%} |"
        )
    lines += [
        "",
        "Rows whose two sides are the same show false alarms; the others what is found. Noise: host, call, latency and"
        f" kernel times scatter by {NOISE.host:.0%}, {NOISE.call:.0%}, {NOISE.latency:.0%} and {NOISE.duration:.0%},"
        f" one host time in {1 / NOISE.spikes:,.0f} is ten times as long, and each run has its own pace of host and"
        f" GPU, {NOISE.drift:.1%} apart (standard deviation) unless the row says 2 %.",
        "",
        "One run a side cannot tell drift between runs from a change: 1 % is assumed, and where runs drift by more,"
        " equal builds turn red. Several runs a side measure it. How the gate decides is in"
        " [design/gate.md](design/gate.md).",
    ]
    return "\n".join(lines) + "\n"


def _version(name: str) -> str:
    try:
        return version(name)
    except ImportError:
        return "from a checkout"


def main(
    pairs: Annotated[int, typer.Option(min=10, help="Of each row.")] = 1000,
    write: Annotated[Path | None, typer.Option(help="The Markdown file to write.")] = None,
) -> None:
    """Simulate, judge, and print or write the table."""
    text = _document(table(pairs))
    if write is None:
        print(text, end="")
    else:
        write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)

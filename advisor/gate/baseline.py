"""Baselines: what a build's runs were like, in one small JSON file, changed on purpose only.

A baseline holds what a comparison needs and nothing else: samples per execution, kernel names, the GPUs' names, the
profiler's version. No environment variables, no command lines, no paths.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from advisor.errors import BadInput
from advisor.gate.documents import BASELINE, damaged, read_document
from advisor.gate.matching import strangers
from advisor.gate.result import Status, advisor_version
from advisor.gate.runs import Recording, load_run
from advisor.output import write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from advisor.gate.result import Comparison

__all__ = ["Baseline", "load_baseline", "record", "stored_baseline"]


@dataclass(frozen=True)
class Baseline:
    """The runs of one build, and how they came to be the measure of others."""

    runs: tuple[Recording, ...]
    region: str | None = None
    """The NVTX ranges that are executions; given again for the runs that are compared."""
    history: tuple[Mapping[str, Any], ...] = ()
    """The latest last: date, reason, runs, and what changed against the runs before."""

    @property
    def environment(self) -> dict[str, Any]:
        """Where the runs ran: what must agree, and what is told when it differs."""

        def distinct(values: list[str | None]) -> list[str]:
            return sorted({value for value in values if value})

        fusions = [run.fusion for run in self.runs if run.fusion is not None]
        return {
            "gpus": distinct([gpu for run in self.runs for gpu in run.gpus]),
            "formats": distinct([run.kind for run in self.runs]),
            "tool_versions": distinct([run.tool_version for run in self.runs]),
            "onnxruntime": distinct([fusion.onnxruntime for fusion in fusions]),
            "providers": distinct([fusion.provider for fusion in fusions]),
            "model_sha256": distinct([run.model_sha256 for run in self.runs]),
            "labels": {
                key: distinct([run.labels.get(key) for run in self.runs])
                for key in sorted({key for run in self.runs for key in run.labels})
            },
        }

    def to_dict(self) -> dict[str, Any]:
        """The document `advisor.baseline/1`."""
        return {
            "schema": BASELINE,
            "advisor": advisor_version(),
            "environment": self.environment,
            "region": self.region,
            "runs": [run.to_dict() for run in self.runs],
            "history": [dict(entry) for entry in self.history],
        }

    @property
    def strangers(self) -> list[tuple[str, str]]:
        """Pairs of runs that share no graph, by name: hardly runs of one build."""
        return strangers(self.runs)

    def write(self, path: Path) -> None:
        """Write it to PATH, whole or not at all.

        Raises:
            BadInput: PATH cannot be written.
        """
        write_text(path, self.to_text())

    def to_text(self) -> str:
        """The file's content."""
        document = self.to_dict()
        runs = document.pop("runs")
        history = document.pop("history")
        # A line a run and a line an entry of the history: small files, and diffs that people can read.
        parts = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in document.items()]
        for key, rows in (("runs", runs), ("history", history)):
            lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False, separators=(',', ':'))}" for row in rows)
            parts.append(f" {json.dumps(key)}: [\n{lines}\n ]")
        return "{\n" + ",\n".join(parts) + "\n}\n"


def record(
    runs: Sequence[Recording],
    *,
    reason: str,
    region: str | None = None,
    before: Baseline | None = None,
    comparison: Comparison | None = None,
) -> Baseline:
    """A baseline of RUNS.

    Args:
        runs: Several runs of one build.
        reason: Why these are the measure from now on.
        region: As given when they were read.
        before: The baseline that they take the place of; its history is kept.
        comparison: Of the runs with that baseline: what is accepted goes into the history.
    """
    entry: dict[str, Any] = {
        "date": datetime.now(tz=UTC).date().isoformat(),
        "reason": reason,
        "runs": [run.name for run in runs],
        "changes": [] if comparison is None else _changes(comparison),
    }
    history = () if before is None else before.history
    return Baseline(tuple(replace(run, path=None) for run in runs), region, (*history, entry))


def _changes(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "graph": graph.name,
            "measure": row.measure,
            "status": row.status.value,
            "from": row.baseline,
            "to": row.current,
        }
        for graph in comparison.graphs
        for row in graph.measures
        if row.status is not Status.UNCHANGED and row.basis != "shown"
    ]


def load_baseline(path: Path, *, region: str | None = None) -> Baseline:
    """The baseline in PATH; any run (trace, analysis, fusion report) is a baseline of one run.

    Args:
        path: The file.
        region: For a trace: the NVTX ranges that are executions.

    Raises:
        BadInput: PATH is neither.
        CannotDecide: A trace without work on a GPU.
    """
    return _stored(path) or Baseline((load_run(path, region=region),), region)


def stored_baseline(path: Path) -> Baseline:
    """The baseline in PATH, which another one is to replace: nothing else is ever written over.

    Raises:
        BadInput: PATH is no baseline.
    """
    stored = _stored(path)
    if stored is None:
        raise BadInput(f"{path} is no baseline: name the runs first, then the baseline whose place they take")
    return stored


def _stored(path: Path) -> Baseline | None:
    document = read_document(path)
    if document is None or not document["schema"].startswith("advisor.baseline/"):
        return None
    if document["schema"] != BASELINE:
        raise BadInput(f"{path} was made by a newer advisor: this one reads {BASELINE}")
    try:
        runs = tuple(Recording.from_dict(entry) for entry in document["runs"])
        history = tuple(dict(entry) for entry in document["history"])
        region = None if document["region"] is None else str(document["region"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise damaged(path, BASELINE, error, "record it again with `advisor baseline`") from None
    if not runs:
        raise BadInput(f"{path} holds no runs: record it again with `advisor baseline`")
    return Baseline(runs, region, history)

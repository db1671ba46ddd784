"""What can be compared: a trace that is analyzed now, a stored analysis, or a fusion report, all as a `Recording`."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.errors import BadInput
from advisor.gate.documents import ANALYSIS, BASELINE, FUSION, damaged, read_document
from advisor.trace.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["FusionFigures", "Recording", "load_run", "load_runs", "parse_labels", "sha256_of"]

_LOST = re.compile(r"dropped|\blost\b|overflow|not all .* collected|incomplete", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FusionFigures:
    """What a fusion report says of a fused model's latency."""

    model: str
    """The original's file name."""
    nodes: int
    opset: int
    provider: str
    onnxruntime: str
    level: str
    fused_nodes: int
    latency_ns: float
    ratio: float | None
    """Fused over original, paired in one process; None where no fusion was kept."""
    low: float | None
    high: float | None
    verified: bool

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> FusionFigures:
        """What `dataclasses.asdict` made of one.

        Raises:
            KeyError, TypeError, ValueError: It is something else.
        """
        ratio, low, high = (None if entry[key] is None else float(entry[key]) for key in ("ratio", "low", "high"))
        return cls(
            model=str(entry["model"]),
            nodes=int(entry["nodes"]),
            opset=int(entry["opset"]),
            provider=str(entry["provider"]),
            onnxruntime=str(entry["onnxruntime"]),
            level=str(entry["level"]),
            fused_nodes=int(entry["fused_nodes"]),
            latency_ns=float(entry["latency_ns"]),
            ratio=ratio,
            low=low,
            high=high,
            verified=bool(entry["verified"]),
        )


@dataclass(frozen=True, slots=True)
class Recording:
    """One run, as far as a comparison needs it."""

    name: str
    """The file's name."""
    kind: str
    """The trace's format, or `fusion`."""
    tool_version: str | None
    gpus: tuple[str, ...]
    """Product names, where known."""
    work: int = 0
    matched: int = 0
    """Works with a launch call."""
    kernel_launches: int = 0
    kernels_missing: int = 0
    """Launch calls of kernels, and those whose kernel is not in the trace."""
    graph_level: int = 0
    """CUDA graph launches recorded as a whole."""
    outside_graphs: int = 0
    diagnostics: tuple[str, ...] = ()
    """The profiler's own words about lost events."""
    samples: tuple[Samples, ...] = ()
    fusion: FusionFigures | None = None
    model_sha256: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the trace does not tell of where it ran, such as the driver: given by whoever recorded it."""
    path: Path | None = None
    """The trace that it was read from, if any; baselines do not keep it."""

    def to_dict(self) -> dict[str, Any]:
        """A run of `advisor.baseline/1`."""
        names = list(dict.fromkeys(name for samples in self.samples for name in samples.names))
        place = {name: index for index, name in enumerate(names)}
        return {
            "name": self.name,
            "kind": self.kind,
            "tool_version": self.tool_version,
            "gpus": list(self.gpus),
            "model_sha256": self.model_sha256,
            "labels": dict(self.labels),
            "coverage": {
                "work": self.work,
                "matched": self.matched,
                "kernel_launches": self.kernel_launches,
                "kernels_missing": self.kernels_missing,
                "graph_level": self.graph_level,
                "outside_graphs": self.outside_graphs,
                "diagnostics": list(self.diagnostics),
            },
            "kernels": names,
            "samples": [samples.to_dict(place) for samples in self.samples],
            "fusion": None if self.fusion is None else asdict(self.fusion),
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Recording:
        """What `to_dict` wrote.

        Raises:
            KeyError, TypeError, ValueError, IndexError: It is something else.
        """
        coverage = entry["coverage"]
        return cls(
            name=str(entry["name"]),
            kind=str(entry["kind"]),
            tool_version=_optional(entry["tool_version"]),
            gpus=tuple(map(str, entry["gpus"])),
            work=int(coverage["work"]),
            matched=int(coverage["matched"]),
            kernel_launches=int(coverage.get("kernel_launches", 0)),
            kernels_missing=int(coverage.get("kernels_missing", 0)),
            graph_level=int(coverage["graph_level"]),
            outside_graphs=int(coverage["outside_graphs"]),
            diagnostics=tuple(map(str, coverage["diagnostics"])),
            samples=tuple(Samples.from_dict(samples, entry["kernels"]) for samples in entry["samples"]),
            fusion=None if entry["fusion"] is None else FusionFigures.from_dict(entry["fusion"]),
            model_sha256=_optional(entry["model_sha256"]),
            labels={str(key): str(value) for key, value in entry["labels"].items()},
        )


def load_run(
    path: Path, *, region: str | None = None, model: Path | None = None, labels: Mapping[str, str] | None = None
) -> Recording:
    """The run in PATH: a trace of any supported format, an analysis JSON or a fusion JSON, told by the content.

    Args:
        path: The file.
        region: The NVTX ranges that are executions, as for `analyze`; for traces only.
        model: The model that ran, for its hash.
        labels: What else is known of where it ran, such as the driver.

    Raises:
        BadInput: PATH is none of those.
        CannotDecide: A trace without work on a GPU.
    """
    document = read_document(path)
    traced = document is None
    if document is None:
        import advisor

        document = advisor.analyze(advisor.read_trace(path), region=region).to_dict()
    if document["schema"] == BASELINE:
        raise BadInput(f"{path} is a baseline: give it with --baseline, or compare with `advisor diff`")
    if document["schema"] not in (ANALYSIS, FUSION):
        raise BadInput(f"{path} is {document['schema']}: a run is a trace, an {ANALYSIS} or an {FUSION}")
    try:
        recording = _recording(document, path)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise damaged(path, document["schema"], error, "make it again") from None
    return replace(
        recording,
        path=path if traced else None,
        model_sha256=None if model is None else sha256_of(model),
        labels=labels or {},
    )


def load_runs(
    paths: Sequence[Path],
    *,
    region: str | None = None,
    model: Path | None = None,
    labels: Mapping[str, str] | None = None,
) -> list[Recording]:
    """Several runs of one build on one kind of machine, each as by `load_run`.

    Raises:
        BadInput: One is none; a file stands there twice, which would pass for a run without any noise; or the runs are
            of different GPUs.
        CannotDecide: A trace without work on a GPU.
    """
    seen: dict[Path, Path] = {}
    for path in paths:
        real = path.resolve()
        if real in seen:
            raise BadInput(f"{path} and {seen[real]} are one file: give every run once")
        seen[real] = path
    recordings = [load_run(path, region=region, model=model, labels=labels) for path in paths]
    known = [recording for recording in recordings if recording.gpus]
    for recording in known[1:]:
        if recording.gpus != known[0].gpus:
            raise BadInput(
                f"{known[0].name} ran on {', '.join(known[0].gpus)} and {recording.name} on"
                f" {', '.join(recording.gpus)}: runs that count together are of one kind of machine"
            )
    return recordings


def parse_labels(texts: Sequence[str]) -> dict[str, str]:
    """KEY=VALUE each.

    Raises:
        BadInput: One is not.
    """
    labels = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise BadInput(f"--environment {text!r}: write KEY=VALUE, for example driver=570.86")
        labels[key.strip()] = value.strip()
    return labels


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file.

    Raises:
        BadInput: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None


def _recording(document: Mapping[str, Any], path: Path) -> Recording:
    if document["schema"] == FUSION:
        return _of_fusion(document, path)
    if "samples" not in document:
        raise BadInput(f"{path} holds no samples of its graphs: make it again with `advisor analyze TRACE --json FILE`")
    coverage = document["coverage"]
    names = [_text(row["name"]) for row in document["kernels"]]
    return Recording(
        name=path.name,
        kind=str(document["source"]["kind"]),
        tool_version=_optional(document["source"]["tool_version"]),
        gpus=tuple(sorted(_text(row["name"]) for row in document["devices"] if row.get("name"))),
        work=int(coverage["work"]),
        matched=int(coverage["matched"]),
        kernel_launches=int(coverage.get("kernel_launches", 0)),
        kernels_missing=int(coverage.get("kernels_missing", 0)),
        graph_level=int(coverage["graph_level"]),
        outside_graphs=int(coverage.get("outside_graphs", 0)),
        diagnostics=tuple(_text(text) for text in coverage["diagnostics"] if _LOST.search(text)),
        samples=tuple(
            Samples.from_dict({**entry, "graph": _text(entry["graph"])}, names) for entry in document["samples"]
        ),
    )


def _text(value: object) -> str:
    """What can be written as UTF-8 again: JSON can hold half of a surrogate pair."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _optional(value: object) -> str | None:
    return None if value is None else str(value)


def _of_fusion(document: Mapping[str, Any], path: Path) -> Recording:
    result, model = document["result"], document["model"]
    figures = FusionFigures.from_dict(
        {
            "model": _text(Path(str(model["path"])).name),
            "nodes": model["nodes"],
            "opset": model["opset"],
            "provider": document["provider"],
            "onnxruntime": document["onnxruntime"],
            "level": document["baseline"]["level"],
            "fused_nodes": document["fused"]["nodes"],
            "latency_ns": result["latency_ns"],
            "ratio": result["ratio"],
            "low": result["low"],
            "high": result["high"],
            "verified": document["verification"]["passed"],
        }
    )
    return Recording(path.name, "fusion", figures.onnxruntime, (), fusion=figures)

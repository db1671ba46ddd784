"""`profile`: where the time of one execution of a model goes, node by node, and how much of it lies between nodes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.errors import BadInput, CannotDecide
from advisor.fuse.bench import described
from advisor.fuse.model import ModelFile, count_nodes, load, opset, runnable
from advisor.fuse.session import libraries_of
from advisor.measure.inputs import generate_inputs, read_inputs
from advisor.measure.latency import median_latency
from advisor.measure.machine import Fact, driver, nsys
from advisor.measure.marked_runs import DOMAIN, RUN, Order, run_marked
from advisor.measure.session import (
    CPU,
    CUDA,
    TENSORRT,
    Level,
    NotRunnable,
    has_provider,
    open_session,
    provider_name,
    provider_of,
    run,
    runner,
    version,
)
from advisor.output import staged
from advisor.trace.analyze import THRESHOLD, analyze
from advisor.trace.readers import read_trace
from advisor.trace.verdicts import CANNOT_DECIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx_ir as ir
    import onnxruntime as ort  # type: ignore[import-untyped]

    from advisor.measure.inputs import Inputs
    from advisor.measure.session import Feed
    from advisor.trace.analysis import Analysis
    from advisor.trace.figures import GraphFigures

__all__ = ["ON_GPU", "ClassTime", "ModelProfile", "NodeTime", "Subject", "missing_tools", "profile", "recorded_run"]

SCHEMA = "advisor.profile/1"
ON_GPU = frozenset({CUDA, TENSORRT})
"""Providers whose work Nsight Systems sees."""
WARM_UP_RUNS = 3
LATENCY_SECONDS = 1.0
PROFILE_SECONDS = 2.0
FEWEST_RUNS, MOST_RUNS = 10, 100
NSYS_LIMIT_S = 1800
NSYS_OPTIONS = ("--trace=cuda,nvtx", "--cuda-graph-trace=node", "--sample=none", "--cpuctxsw=none", "--export=sqlite")


@dataclass(frozen=True, slots=True)
class NodeTime:
    """The executions of all nodes of one name and operator, in one run of the model on average.

    Attributes:
        name: The nodes' name, as ONNX Runtime's optimiser left it.
        op_type: Their operator.
        op_class: What that computes, as in `advisor analyze`.
        count: Executions a run.
        time_ns: Time inside their kernels a run.
        share: Of the time of all nodes.
    """

    name: str
    op_type: str
    op_class: str
    count: float
    time_ns: float
    share: float


@dataclass(frozen=True, slots=True)
class ClassTime:
    """All works of one class, in one run of the model on average; attributes as in `NodeTime`."""

    op_class: str
    count: float
    time_ns: float
    share: float


@dataclass(frozen=True)
class ModelProfile:
    """The result of `profile`.

    Attributes:
        model: The model.
        asked: Full name of the provider that was asked for; None where the choice was free.
        provider: The provider that was profiled.
        onnxruntime: ONNX Runtime's version.
        level: How much ONNX Runtime optimised the model.
        threads: Threads inside an operator; None left it to ONNX Runtime.
        warm_up: Runs before those that count.
        runs: Runs that count.
        latency_ns: Median latency of a run on that provider without any profiler, ns.
        recorder: `nsys`, or `onnxruntime`, its own profiler.
        analysis: Of the runs that count, as `advisor analyze` makes it.
        nodes: Those that take longest first; empty where `nsys` recorded, which knows kernels and not nodes.
        op_classes: Those that take longest first.
        missing: What this machine lacks to record a GPU; empty where one was recorded or the CPU was asked for.
        shapes: Shape of every input.
        assumed: Sizes of dynamic dimensions that nobody gave.
        notes: What a reader has to know besides, one sentence each.
    """

    model: ModelFile
    asked: str | None
    provider: str
    onnxruntime: str
    level: Level
    threads: int | None
    warm_up: int
    runs: int
    latency_ns: float
    recorder: str
    analysis: Analysis
    nodes: tuple[NodeTime, ...]
    op_classes: tuple[ClassTime, ...]
    missing: tuple[Fact, ...]
    shapes: dict[str, tuple[int, ...]]
    assumed: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def gaps_hidden(self) -> bool:
        """The gaps between nodes while recorded alone last longer than a whole run without ONNX Runtime's profiler."""
        return _hides_gaps(self.recorder, self.analysis.graph_figures[0], self.latency_ns)

    @property
    def run(self) -> GraphFigures:
        """Medians over the runs, see `recorded_run`."""
        return recorded_run(self.recorder, self.analysis, self.latency_ns)

    def to_dict(self) -> dict[str, Any]:
        """The document `advisor.profile/1`, see `advisor schema profile`."""
        medians = self.run
        return {
            "schema": SCHEMA,
            "model": {"path": str(self.model.path), "nodes": self.model.nodes, "opset": self.model.opset},
            "provider": self.provider,
            "onnxruntime": self.onnxruntime,
            "level": self.level.value,
            "recorder": self.recorder,
            "warm_up": self.warm_up,
            "runs": self.runs,
            "latency_ns": round(self.latency_ns),
            "profiled": {
                "span_ns": medians.span_ns,
                "busy_ns": medians.busy_ns,
                "fusible_gap_ns": medians.fusible_gap_ns,
                "gap_ratio": medians.gap_ratio,
            },
            "threshold": self.analysis.threshold,
            "flagged": medians.flagged,
            "verdict": medians.verdict,
            "nodes": [
                {
                    "name": node.name,
                    "op_type": node.op_type,
                    "op_class": node.op_class,
                    "count": node.count,
                    "time_ns": round(node.time_ns),
                    "share": node.share,
                }
                for node in self.nodes
            ],
            "op_classes": [
                {
                    "op_class": row.op_class,
                    "count": row.count,
                    "time_ns": round(row.time_ns),
                    "share": row.share,
                }
                for row in self.op_classes
            ],
            "missing": [
                {"subject": fact.subject, "detail": fact.detail, "advice": fact.advice} for fact in self.missing
            ],
            "settings": {
                "provider": self.asked,
                "threads": self.threads,
                "shapes": {name: list(shape) for name, shape in self.shapes.items()},
                "assumed": self.assumed,
            },
            "notes": list(self.notes),
        }


def recorded_run(recorder: str, analysis: Analysis, latency_ns: float) -> GraphFigures:
    """Medians over runs as they were recorded: span, busy time, gaps, their ratio, and the flag.

    What ONNX Runtime's profiler itself takes is in them. Where that hides the gaps there is no ratio, no flag, and the
    verdict is that it cannot be decided.

    Args:
        recorder: As in `ModelProfile`.
        analysis: Of what was recorded.
        latency_ns: Of a run without any profiler.
    """
    medians = analysis.graph_figures[0]
    if not _hides_gaps(recorder, medians, latency_ns):
        return medians
    return replace(
        medians,
        gap_ratio=None,
        p5_gap_ratio=None,
        p95_gap_ratio=None,
        fusible_share=None,
        flagged=False,
        verdict=CANNOT_DECIDE,
    )


def _hides_gaps(recorder: str, medians: GraphFigures, latency_ns: float) -> bool:
    return recorder == "onnxruntime" and medians.fusible_gap_ns >= latency_ns


def profile(
    model: str | Path,
    *,
    provider: str | None = None,
    dims: Mapping[str, int] | None = None,
    batch: int | None = None,
    inputs: str | Path | None = None,
    threads: int | None = None,
    level: Level = Level.ALL,
    runs: int | None = None,
    threshold: float = THRESHOLD,
    keep: str | Path | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> ModelProfile:
    """Run a model under a profiler and measure where the time of a run goes.

    Where the model runs on an NVIDIA GPU and `nsys` is installed, a process of its own runs the model under it. Else
    the CPU provider runs it under ONNX Runtime's own profiler. Either way the recording is what `analyze` takes.

    Args:
        model: ONNX file; it is only read.
        provider: Execution provider to ask ONNX Runtime for, as in `fuse`.
        dims: Sizes of dynamic dimensions, by name or `INPUT:AXIS`.
        batch: Size of the batch, 1 unless given.
        inputs: An .npz file with inputs to use in place of generated ones.
        threads: Threads inside an operator; None leaves it to ONNX Runtime.
        level: How much ONNX Runtime optimises the model.
        runs: Executions to record; None takes as many as fit into two seconds, from 10 to 100.
        threshold: A gap ratio over it is flagged.
        keep: File to keep the recording in, for `advisor analyze`.
        seed: Of generated values.
        progress: Called with a few words at every step.

    Raises:
        BadInput: The model cannot be read, ONNX Runtime does not take it, an option or the inputs are wrong, or `keep`
            cannot be written.
        CannotDecide: The provider lacks what the model needs, or the recording does not tell when the device worked.
    """
    say = progress or (lambda _: None)
    path = Path(model)
    if inputs is not None and (dims or batch is not None):
        raise BadInput("the inputs of --inputs have sizes of their own: leave --dim and --batch away")
    if keep is not None and not Path(keep).absolute().parent.is_dir():
        raise BadInput(f"cannot write {keep}: there is no folder {Path(keep).parent}")
    wanted = None if provider is None else provider_name(provider)
    say("loading the model")
    graph = load(path)
    if inputs is None:
        made = generate_inputs(graph, dims=dims, batch=batch, seed=seed)
    else:
        made = read_inputs(Path(inputs), graph)
    subject = Subject(path, graph, made, level, threads, libraries_of(graph, path))
    say("measuring the latency without a profiler")
    got, latency = subject.latency(wanted)
    missing = missing_tools(wanted, got)
    notes = []
    if got in ON_GPU and missing:
        notes.append(f"the model runs on {got} in {latency / 1e6:.3g} ms; without nsys these are the CPU's figures")
        got, latency = subject.latency(CPU)
    count = runs or int(min(max(PROFILE_SECONDS * 1e9 / latency, FEWEST_RUNS), MOST_RUNS))
    say(f"recording {count:,} runs")
    recorder, analysis = subject.recorded(got, count, threshold=threshold, keep=None if keep is None else Path(keep))
    nodes, op_classes = _times(analysis, by_node=recorder == "onnxruntime")
    if wanted not in {None, got} and not notes:
        notes.append(f"{wanted} was asked for and did not load: everything here ran on {got}")
    if made.assumed:
        sizes = ", ".join(f"{name}={size}" for name, size in made.assumed.items())
        notes.append(f"sizes assumed for dynamic dimensions: {sizes} (choose others with --dim)")
    return ModelProfile(
        model=ModelFile(path, count_nodes(graph), opset(graph)),
        asked=wanted,
        provider=got,
        onnxruntime=version(),
        level=level,
        threads=threads,
        warm_up=WARM_UP_RUNS,
        runs=count,
        latency_ns=latency,
        recorder=recorder,
        analysis=analysis,
        nodes=nodes,
        op_classes=op_classes,
        missing=missing,
        shapes={name: tuple(array.shape) for name, array in subject.feed.items()},
        assumed=made.assumed,
        notes=(*notes, *analysis.coverage.notes, *analysis.coverage.diagnostics),
    )


@dataclass(frozen=True)
class Subject:
    """A model with what it is run with.

    Attributes:
        path: Its file.
        model: The same, read.
        inputs: The first set is run.
        level: How much ONNX Runtime optimises it.
        threads: Threads inside an operator; None leaves it to ONNX Runtime.
        libraries: Custom-operator libraries that it needs.
    """

    path: Path
    model: ir.Model
    inputs: Inputs
    level: Level
    threads: int | None
    libraries: tuple[Path, ...] = ()

    @property
    def feed(self) -> Feed:
        """What the model is run with."""
        return self.inputs.sets[0].feed

    def latency(self, provider: str | None) -> tuple[str, float]:
        """The provider that a session really gets, and the median latency there, ns."""
        session = self._open(provider)
        self._try(partial(run, session, self.feed), on=described(self.inputs))
        return provider_of(session), median_latency(runner(session, self.feed), seconds=LATENCY_SECONDS)

    def recorded(
        self, provider: str, runs: int, *, threshold: float = THRESHOLD, keep: Path | None = None
    ) -> tuple[str, Analysis]:
        """Run under the profiler for PROVIDER: which one it was, and the analysis of the runs that count.

        Raises:
            BadInput: ONNX Runtime does not take the model.
            CannotDecide: The provider lacks what it needs, or the recording does not tell when the device worked.
        """
        with tempfile.TemporaryDirectory(prefix="advisor-") as folder:
            if provider in ON_GPU:
                recorder, recording = "nsys", self._record_gpu(Path(folder), provider, runs)
            else:
                recorder, recording = "onnxruntime", self._record_nodes(Path(folder), provider, runs)
            if keep is not None:
                with staged(keep) as target:
                    shutil.copyfile(recording, target)
            return recorder, _analyze(recording, recorder, threshold)

    def _record_nodes(self, folder: Path, provider: str, runs: int) -> Path:
        """Run under ONNX Runtime's own profiler."""
        session = self._open(provider, profile=folder / "nodes")
        call = runner(session, self.feed)  # has run once
        run_marked(call, warm_up=WARM_UP_RUNS - 1, runs=runs)
        return Path(session.end_profiling())

    def _record_gpu(self, folder: Path, provider: str, runs: int) -> Path:
        """Run in a process of its own under Nsight Systems."""
        inputs, recording = folder / "inputs.npz", folder / "recording.sqlite"
        _write_inputs(inputs, self.feed)
        order = Order(
            model=str(self.path.resolve()),
            inputs=str(inputs),
            provider=provider,
            level=self.level.name,
            threads=self.threads,
            warm_up=WARM_UP_RUNS,
            runs=runs,
            libraries=[str(library.resolve()) for library in self.libraries],
        )
        program = [sys.executable, "-m", "advisor.measure.marked_runs", order.to_json()]
        command = ["nsys", "profile", *NSYS_OPTIONS, "--output", str(folder / "recording"), *program]
        _run_nsys(command)
        if not recording.is_file():
            raise CannotDecide("nsys ended well but left no SQLite export: it is too old, or cannot write to the disk")
        return recording

    def _open(self, provider: str | None, profile: Path | None = None) -> ort.InferenceSession:
        with runnable(self.model) as source:
            return self._try(
                partial(
                    open_session,
                    source,
                    level=self.level,
                    provider=provider,
                    threads=self.threads,
                    profile=profile,
                    libraries=self.libraries,
                )
            )

    def _try(self, action: Callable[[], Any], *, on: str = "") -> Any:
        """What ACTION returns; a model that does not load, or run ON inputs, leaves nothing to profile."""
        try:
            return action()
        except NotRunnable as error:
            raise error.ending(self.path, on) from None


def _write_inputs(path: Path, feed: Feed) -> None:
    """What `numpy.savez` writes, which takes no array called `file`."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in feed.items():
            plain = array.astype(str) if array.dtype == object else array
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, plain, allow_pickle=False)


def missing_tools(wanted: str | None, got: str) -> tuple[Fact, ...]:
    """What this machine lacks to record a model on a GPU; nothing where another provider was asked for and had."""
    if got not in ON_GPU and wanted not in {None, *ON_GPU}:
        return ()
    facts = [nsys()]
    if got not in ON_GPU:
        name = wanted or CUDA
        detail = "is in this onnxruntime, but does not load" if has_provider(name) else "is not in this onnxruntime"
        facts = [driver(), Fact(name, False, detail, "`advisor doctor` tells more"), *facts]
    return tuple(fact for fact in facts if not fact.works)


def _run_nsys(command: Sequence[str]) -> None:
    """Record; what the program prints is kept for the message of a failure."""
    # The child finds this package where it was imported from, installed or not.
    package = str(Path(__file__).resolve().parents[2])
    paths = [package, os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else [package]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    try:
        done = subprocess.run(  # noqa: S603 - the user's own nsys, and no shell
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=NSYS_LIMIT_S,
            check=False,
        )
    except OSError as error:
        raise CannotDecide(f"cannot run nsys: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise CannotDecide(f"nsys took over {NSYS_LIMIT_S // 60} minutes: take fewer --runs") from None
    if done.returncode:
        lines = done.stdout.decode(errors="replace").strip().splitlines()
        raise CannotDecide(
            f"`nsys profile` failed (exit {done.returncode}): {lines[-1] if lines else 'it says nothing'}"
        )


def _analyze(recording: Path, recorder: str, threshold: float) -> Analysis:
    """The analysis of the runs that count: what came before them, loading and warm-up, is left out."""
    try:
        trace = read_trace(recording)
    except CannotDecide as error:
        raise CannotDecide(str(error).replace(str(recording), "the recording")) from None
    starts = np.sort(trace.ranges.start)
    if recorder == "onnxruntime":
        return analyze(trace, threshold=threshold, from_ns=int(starts[WARM_UP_RUNS]))
    name = f"{DOMAIN}:{RUN}"
    marked = np.array([text == name for text in trace.range_names], np.bool_)[trace.ranges.name]
    if not marked.any():
        raise CannotDecide(
            f"nsys recorded no NVTX range {name}: without it, runs cannot be told from loading the model"
        )
    first = int(trace.ranges.start[marked].min())
    return analyze(trace, threshold=threshold, from_ns=first, region=f"^{name}$")


def _times(analysis: Analysis, *, by_node: bool) -> tuple[tuple[NodeTime, ...], tuple[ClassTime, ...]]:
    """Time by node and by class, the longest first."""
    trace, runs = analysis.trace, max(len(analysis.evidence.regions), 1)
    whole = sum(row.duration_ns for row in analysis.kernel_figures) or 1
    sums: dict[str, list[int]] = {}
    for row in analysis.kernel_figures:
        total = sums.setdefault(row.op_class, [0, 0])
        total[0] += row.count
        total[1] += row.duration_ns
    op_classes = [ClassTime(name, count / runs, ns / runs, ns / whole) for name, (count, ns) in sums.items()]
    op_classes.sort(key=lambda row: -row.time_ns)
    nodes: list[NodeTime] = []
    if by_node:
        class_of = {row.name: row.op_class for row in analysis.kernel_figures}
        node_of_work = trace.calls.name[analysis.evidence.launches.call]
        pairs, row_of, counts = np.unique(
            np.stack([node_of_work, trace.works.name]), axis=1, return_inverse=True, return_counts=True
        )
        times = np.bincount(row_of.reshape(-1), weights=trace.works.end - trace.works.start)
        for (node, op), count, ns in zip(pairs.T.tolist(), counts.tolist(), times.tolist(), strict=True):
            name = trace.work_names[op]
            nodes.append(NodeTime(trace.call_names[node], name, class_of[name], count / runs, ns / runs, ns / whole))
        nodes.sort(key=lambda row: -row.time_ns)
    return tuple(nodes), tuple(op_classes)

"""Simulated runs for the gate's tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import advisor
from advisor.gate.runs import Recording
from advisor.trace.samples import graph_samples
from sample_traces.operations import Host, Launch, Pop, Push, Synchronize
from sample_traces.programs import NOISE
from sample_traces.simulator import Machine, simulate
from sample_traces.trace import to_trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sample_traces.operations import Operation

__all__ = ["KERNELS", "NOISY", "STEADY", "loop", "recording", "step"]

STEADY = Machine(module_load_ns=0)
NOISY = Machine(module_load_ns=0, jitter=NOISE)

KERNELS = ("norm", "gemm", "gelu", "gemm", "add", "softmax", "gemm", "add")


def step(
    *extra: Operation, kernels: Sequence[str] = KERNELS, duration: int = 2_000, host_ns: int = 5_000, name: str = "step"
) -> list[Operation]:
    """One execution: small kernels with some host time before each, then a synchronisation."""
    body: list[Operation] = [Push(name)]
    for kernel in kernels:
        body += [Host(host_ns), Launch(kernel, duration)]
    return [*body, *extra, Synchronize(), Pop(), Host(20_000)]


def loop(*steps: Iterable[Operation], times: int = 12) -> list[Operation]:
    """The steps one after the other, again and again."""
    return [operation for _ in range(times) for part in steps for operation in part]


def recording(program: Iterable[Operation], machine: Machine = STEADY, seed: int = 0, name: str = "run") -> Recording:
    """The run of a program, as if it had been read from a trace."""
    analysis = advisor.analyze(to_trace(simulate(program, machine, seed=seed)))
    coverage = analysis.coverage
    return Recording(
        name=name,
        kind=analysis.trace.kind,
        tool_version=None,
        gpus=("Simulated GPU",),
        work=coverage.work,
        matched=coverage.matched,
        graph_level=coverage.graph_level,
        samples=graph_samples(analysis),
    )


def drifting(percent: float) -> Machine:
    """Noise whose runs differ by so many per cent."""
    return replace(NOISY, jitter=replace(NOISE, drift=percent / 100))

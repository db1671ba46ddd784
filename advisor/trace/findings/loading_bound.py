"""Kernels are loaded inside the window that is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import Cause
from advisor.trace.findings.finding import MEDIUM_SHARE, OR_VERDICT, Finding, Rule, severity
from advisor.trace.launches import CallClass
from advisor.words import duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import Facts

__all__ = ["RULE"]


def _find(facts: Facts) -> Iterator[Finding]:
    for subject in facts.subjects:
        ns, share = facts.mean(subject, Cause.MODULE)
        if share < MEDIUM_SHARE and not subject.called(RULE.id):
            continue
        graph = None if subject.index is None else facts.graphs[subject.index]
        warmup = graph is not None and graph.warmup == graph.instances
        advice = "Find what is compiled or loaded anew in running operation, and do it before: warm up all shapes."
        if warmup:
            advice = "This is warm-up: record later, when every kernel has run once, before you judge anything."
        yield Finding(
            id=RULE.id,
            severity=severity(share),
            graph=subject.graph,
            message=(
                f"{subject.where} the {subject.device} waits {duration(ns)} ({percent(share)} of the time) while "
                f"kernels are loaded{' (every run is a first one)' if warmup and subject.graph is not None else ''}."
            ),
            advice=advice,
            saving_ns=None,
            evidence=subject.evidence(share, Cause.MODULE)
            | {"warmup": warmup, "longest_calls": facts.longest_calls(CallClass.MODULE)},
        )


RULE = Rule(
    id="loading-bound",
    title="kernels are loaded inside the window that is measured",
    means=(
        "CUDA loads a kernel's code at its first launch, and libraries load or compile modules. That takes "
        "milliseconds and happens once, or should."
    ),
    found=(
        "At least 5 % of the time of all measured runs together (or of the time between them, or of the whole trace "
        "where nothing marks runs) is idle time inside module, library or function loading calls, or inside the "
        "first launch of a kernel in its process. Runs with such a first launch are warm-up and set apart, unless "
        "there are no others. Severity: high from 20 %, else medium." + OR_VERDICT
    ),
    advice=(
        "If the recording is of a warm-up, record later (`nsys profile --delay=…`, or start it from the program with "
        "cudaProfilerStart and --capture-range=cudaProfilerApi). If it happens in running operation, look for shapes "
        "that make a compiler or cuDNN try again, and warm them up; CUDA_MODULE_LOADING=EAGER loads all code at start."
    ),
    doubt="A first launch may be slow for other reasons too; all of the idle time inside it counts as loading.",
    find=_find,
)

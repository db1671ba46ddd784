"""The GPU waits for the program's own code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.causes import Cause
from advisor.trace.findings.finding import HIGH, MEDIUM, MEDIUM_SHARE, OR_VERDICT, Finding, Rule, severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import Facts

__all__ = ["RULE"]


def _find(facts: Facts) -> Iterator[Finding]:
    for subject, ns, share in facts.with_share(Cause.HOST, MEDIUM_SHARE):
        worst = severity(share)
        calls = "CUDA call" if subject.device == "GPU" else "node"
        advice = f"Look at the CPU first: {subject.fusible_gaps}."
        if subject.index is None:
            advice = "If runs should follow each other at once, prepare the next one while this one runs."
        elif subject.graph is None:
            advice += (
                " Nothing marks the runs here: set-up counts too. Mark them with NVTX, or cut with --from and --to: "
                "the longest idle intervals are listed."
            )
        yield Finding(
            id=RULE.id,
            severity=MEDIUM if subject.index is None and worst == HIGH else worst,
            graph=subject.graph,
            message=f"{subject.waits(ns)} for the program's own code: no {calls} runs.",
            advice=advice,
            saving_ns=None,
            evidence=subject.evidence(share, Cause.HOST) | {"fusible_ns": subject.fusible_ns},
        )


RULE = Rule(
    id="host-bound",
    title="the GPU waits for the program's own code",
    means=(
        "The launching thread runs no CUDA call, and for longer than a framework needs from operator to operator: "
        "Python between steps, pre- and post-processing, I/O, locks, garbage collection. Neither fusion nor a CUDA "
        "graph touches it."
    ),
    found=(
        "In a run (or between runs, or in the whole trace where nothing marks runs) at least 5 % of the time is idle "
        "time in which the launching thread was in no API call, in a stretch that is too long for dispatch or does not "
        "follow a launch. Severity: high from 20 %, else medium; between runs never more than medium." + OR_VERDICT
    ),
    advice=(
        "Profile the CPU (`nsys profile --sample=process-tree`, py-spy) in the gaps. Move work to other threads, "
        "prepare the next run while this one is on the GPU, leave out logging and conversions inside the loop."
    ),
    doubt=(
        "A server without requests waits and has no fault; so does a benchmark that sleeps. Where nothing marks the "
        "runs, start-up counts: mark them with NVTX, or cut the window. What other threads compute for this one is not "
        "seen."
    ),
    find=_find,
)

"""The GPU has enough to do: fusing to save launches will not help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.findings.finding import INFO, MEDIUM_SHARE, Finding, Rule
from advisor.trace.verdicts import GPU_BOUND
from advisor.words import counted, duration, percent, short_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import Facts
    from advisor.trace.findings.subjects import Subject

__all__ = ["RULE"]

NAME_SHOWN = 60


def _find(facts: Facts) -> Iterator[Finding]:
    for subject in facts.subjects:
        if subject.verdict != GPU_BOUND or subject.index is None:
            continue
        longest = max(facts.kernels, key=lambda row: row.duration_ns)
        whole = sum(row.duration_ns for row in facts.kernels)
        idle = sum(subject.causes.values())
        where = f"{subject.where} the {subject.device}"
        yield Finding(
            id=RULE.id,
            severity=INFO,
            graph=subject.graph,
            message=(
                f"{where} works for {duration(subject.busy_ns)} and idles for {duration(idle)}: removing every launch "
                f"would {subject.at_most}."
            ),
            advice=(
                f"Look at the kernels: `{_cut(short_name(longest.name))}` takes "
                f"{percent(longest.duration_ns / whole)} of all {subject.device} time.{_traffic(subject)}"
            ),
            saving_ns=None,
            evidence=subject.evidence(subject.share(subject.fusible_ns))
            | {"exposed_gap_ns": idle, "fusible_ns": subject.fusible_ns},
        )


def _cut(name: str) -> str:
    return name if len(name) <= NAME_SHOWN else name[: NAME_SHOWN - 1] + "…"


def _traffic(subject: Subject) -> str:
    levers = subject.levers
    if levers is None or levers.fusion_ns[1] < MEDIUM_SHARE * subject.busy_ns:
        return ""
    return (
        f" Fusing its {counted(levers.chains, 'chain')} may still save memory traffic, predicted at most "
        f"{duration(levers.fusion_ns[1])} of its {duration(subject.busy_ns)}."
    )


RULE = Rule(
    id="gpu-bound",
    title="the GPU has enough to do",
    means=(
        "The queue is rarely empty. Launches, however many, happen while the GPU is busy and cost nothing. Fusing to "
        "save them gains next to nothing; only shorter kernels make a run faster."
    ),
    found=(
        "The graph's gap ratio is not over the threshold (20 % unless --threshold says otherwise), and neither is its "
        "idle time as a share of idle plus busy time. Severity: info."
    ),
    advice=(
        "Look at the longest kernels: a lower precision, better libraries or algorithms, less to compute. Fusing "
        "chains of kernels that only pass values through memory may still pay, for the traffic that it saves: the "
        "upper end of a candidate's range says how much at most."
    ),
    doubt=(
        "Busy is not the same as well used: a kernel that fills a tenth of the GPU counts as busy. For that, use "
        "Nsight Compute."
    ),
    find=_find,
)

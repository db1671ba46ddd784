"""The GPU has enough to do: fusing to save launches will not help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.trace.findings.finding import MEDIUM_SHARE, Finding, Rule, severity
from advisor.trace.findings.remedies import remedies
from advisor.trace.verdicts import GPU_BOUND
from advisor.words import counted, duration, percent, short_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.trace.findings.facts import Facts
    from advisor.trace.findings.subjects import Subject

__all__ = ["RULE"]


def _find(facts: Facts) -> Iterator[Finding]:
    for subject in facts.subjects:
        if subject.verdict != GPU_BOUND or subject.index is None:
            continue
        idle = sum(subject.causes.values())
        where = f"{subject.where} the {subject.device}"
        longest = facts.longest_kernel(subject)
        # Launches may still cost enough to act on, though under the threshold.
        worth = subject.share(subject.most_ns)
        remedy, saving = remedies(subject) if worth >= MEDIUM_SHARE else ("", None)
        look = "" if longest is None else _look(*longest, subject)
        yield Finding(
            id=RULE.id,
            severity=severity(worth),
            graph=subject.graph,
            message=(
                f"{where} works for {duration(subject.busy_ns)} and idles for {duration(idle)}{_rest(subject, idle)}: "
                f"removing every launch would {subject.at_most}."
            ),
            advice=f"{remedy} Look at the kernels{look}.{'' if remedy else _traffic(subject)}".lstrip(),
            saving_ns=saving,
            evidence=subject.evidence(subject.share(subject.fusible_ns))
            | {"exposed_gap_ns": idle, "fusible_ns": subject.fusible_ns},
        )


def _rest(subject: Subject, idle: int) -> str:
    """What else there is of its time: from its first launch call on, the device may work for others."""
    if subject.span_ns - subject.busy_ns - idle < MEDIUM_SHARE * subject.span_ns:
        return ""
    return f" ({duration(subject.span_ns)} from its first launch call to its end, with the work queued before its own)"


def _look(name: str, share: float, subject: Subject) -> str:
    return f": `{short_name(name)}` takes {percent(share)} of the {subject.device}'s time there"


def _traffic(subject: Subject) -> str:
    """What fusion may save inside kernels, beside the gaps between them."""
    levers = subject.levers
    if levers is None:
        return ""
    low, high = levers.fusion_ns
    inside = min(high - low, subject.busy_ns)
    if inside < MEDIUM_SHARE * subject.busy_ns:
        return ""
    return (
        f" Fusing its {counted(levers.chains, 'chain')} may still save memory traffic, predicted at most "
        f"{duration(inside)} of the {duration(subject.busy_ns)} that it works."
    )


RULE = Rule(
    id="gpu-bound",
    title="the GPU has enough to do",
    means=(
        "The queue is mostly full. Launches, however many, happen while the GPU is busy, and then cost nothing. What "
        "removing all of them would save is in the message: mostly next to nothing, and only shorter kernels make a "
        "run faster; up to the threshold it may be worth doing all the same."
    ),
    found=(
        "The graph's gap ratio is not over the threshold (20 % unless --threshold says otherwise, and never more than "
        "half), and neither is its idle time as a share of idle plus busy time. Severity: info; medium "
        "where the gaps that fusion can remove are 5 % of a run or more, high from 20 %, and then the advice begins "
        "with what removes them."
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

"""What removes launch overhead, with the saving that is predicted: the same advice for every rule that finds some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.words import duration, duration_range, percent

if TYPE_CHECKING:
    from advisor.trace.candidates import Saving
    from advisor.trace.findings.subjects import Subject

__all__ = ["remedies"]

WORTH_SHARE = 0.01


def remedies(subject: Subject) -> tuple[str, Saving | None]:
    """Fusion and CUDA graph capture, the one that saves more first; and what that one saves."""
    levers = subject.levers
    if levers is None:
        return (
            "Launch ahead: hand the next run over before this one is done, or capture several runs in one graph.",
            None,
        )
    options: list[tuple[Saving, str]] = []
    if levers.chains and levers.fusion_ns[1]:
        chains = f"its {levers.chains:,} chains" if levers.chains > 1 else "its one chain"
        options.append((levers.fusion_ns, f"fuse {chains} of kernels ({_saving_words(subject, levers.fusion_ns)})"))
    if levers.capture_ns and levers.capture_ns[1]:
        words = _saving_words(subject, levers.capture_ns)
        options.append((levers.capture_ns, f"capture a run as a CUDA graph and replay it ({words})"))
    options.sort(key=lambda option: option[0], reverse=True)
    if not options:
        return f"No chain of its kernels is known to merge, and {levers.capture_basis}.", None
    if subject.share(options[0][0][1]) < WORTH_SHARE:
        return "Neither fusion nor CUDA graph capture is predicted to save 1 % of this time.", options[0][0]
    text = "; or ".join(words for _, words in options)
    return f"{text[0].upper()}{text[1:]}.", options[0][0]


def _saving_words(subject: Subject, saving: Saving) -> str:
    """A predicted saving for people: `predicted to save 310 to 420 µs, at most 44 %`."""
    low, high = saving
    most = f"at most {percent(subject.share(high))}"
    if not low:
        return f"predicted to save {most} ({duration(high)})"
    return f"predicted to save {duration_range(low, high)}, {most}"
